"""The language server over stdio, driven by pygls' own client through one editing session."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from editing import BASE

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

GAME = "game: mine\nextends: base\nparams: {extra: 1}\npayoffs: max(pric, extra)\n"


def test_editing_session(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(_session(tmp_path), 60))


async def _session(folder: Path) -> None:
    (folder / "base.yaml").write_text(BASE, encoding="utf-8")
    (folder / "mine.yaml").write_text("game: saved\n", encoding="utf-8")
    uri = (folder / "mine.yaml").as_uri()
    client = LanguageClient("test", "1")
    published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params: lsp.PublishDiagnosticsParams) -> None:
        published.put_nowait(params)

    await client.start_io(sys.executable, "-m", "gamedsl", "lsp")
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    item = lsp.TextDocumentItem(uri, "yaml", 1, GAME)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    (found,) = (await published.get()).diagnostics
    assert "pric" in found.message
    assert found.range.start == lsp.Position(3, 13)

    document = lsp.TextDocumentIdentifier(uri)
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(document, found.range, lsp.CodeActionContext([found]))
    )
    assert actions
    assert isinstance(actions[0], lsp.CodeAction)
    (action,) = actions
    assert action.edit
    assert action.edit.changes
    (edit,) = action.edit.changes[uri]
    assert edit.new_text == "price"
    assert edit.range == found.range

    async def change(version: int, text: str) -> list[lsp.Diagnostic]:
        event = lsp.TextDocumentContentChangeWholeDocument(text)
        client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(version, uri), [event]
            )
        )
        return list((await published.get()).diagnostics)

    assert await change(2, GAME.replace("pric,", "price,")) == []

    async def hover(line: int, column: int) -> str:
        found = await client.text_document_hover_async(
            lsp.HoverParams(document, lsp.Position(line, column))
        )
        assert found is not None
        assert isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value

    assert "max(" in await hover(3, 10)
    assert "params" in await hover(3, 14)
    assert "merged" in await hover(1, 2)

    place = await client.text_document_definition_async(
        lsp.DefinitionParams(document, lsp.Position(3, 14))
    )
    assert isinstance(place, lsp.Location)
    assert place.uri == (folder / "base.yaml").as_uri()
    assert place.range.start.line == 2

    messy = GAME.replace("max(pric, extra)", "max( price,extra )   # 💡 most")
    assert await change(3, messy) == []
    edits = await client.text_document_formatting_async(
        lsp.DocumentFormattingParams(document, lsp.FormattingOptions(4, False))
    )
    assert edits
    (edit,) = edits
    assert edit.new_text == "payoffs: max(price, extra)    # 💡 most\n"
    assert edit.range == lsp.Range(lsp.Position(3, 0), lsp.Position(4, 0))
    assert await change(4, GAME.replace("max(pric, extra)", '"open')) != []
    assert not await client.text_document_formatting_async(
        lsp.DocumentFormattingParams(document, lsp.FormattingOptions(4, False))
    )
    items = await client.text_document_completion_async(
        lsp.CompletionParams(document, lsp.Position(3, 10))
    )
    assert isinstance(items, list)
    assert {"price", "extra", "ann", "max"} <= {item.label for item in items}
    symbols = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    assert symbols
    assert [s.name for s in symbols][:2] == ["game", "extends"]

    (folder / "base.yaml").write_text(BASE.replace("payoffs: price", "payoffs: 1 / 0"))
    (found,) = await change(5, "game: mine\nextends: base\n")
    assert "zero" in found.message
    assert found.range == lsp.Range(lsp.Position(1, 9), lsp.Position(1, 13))
    assert found.related_information
    assert found.related_information[0].location.uri == (folder / "base.yaml").as_uri()

    client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))
    assert list((await published.get()).diagnostics) == []
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


@pytest.mark.parametrize(("methods", "code"), [(("shutdown", "exit"), 0), (("exit",), 1)])
def test_exit_code_says_whether_the_end_was_asked_for(methods: tuple[str, ...], code: int) -> None:
    sent = b""
    for number, method in enumerate(("initialize", "initialized", *methods)):
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method}
        if method in ("initialize", "shutdown"):
            message["id"] = number
        if method.startswith("initialize"):
            message["params"] = {"capabilities": {}} if method == "initialize" else {}
        body = json.dumps(message).encode()
        sent += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    command = [sys.executable, "-m", "gamedsl", "lsp"]
    ended = subprocess.run(command, input=sent, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (code, b"")
