"""A check that takes too long is given up, and the server answers meanwhile."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.loader import MAX_BYTES
from gamedsl.lsp.checking import Checker
from gamedsl.lsp.server import make_server

SECONDS = 2
GOOD = "game: good\nroles: [ann, bob]\nturns:\n" + (
    "  - {role: all, choose: move, from: [stag, hare]}\npayoffs: 1\n"
)
STATE = ", ".join(f"x{number}: {number}" for number in range(49_000))
SLOW = GOOD.replace("turns:", f"state: {{{STATE}}}\nturns:").replace("good", "slow")


def test_a_slow_check_is_given_up_meanwhile(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(_session(tmp_path), 240))


async def _session(folder: Path) -> None:
    slow, good = ((folder / name).as_uri() for name in ("slow.yaml", "good.yaml"))
    client = LanguageClient("test", "1")
    published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params: lsp.PublishDiagnosticsParams) -> None:
        published.put_nowait(params)

    def opens(uri: str, text: str) -> None:
        item = lsp.TextDocumentItem(uri, "yaml", 1, text)
        client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def changes(uri: str, version: int, text: str) -> None:
        identifier = lsp.VersionedTextDocumentIdentifier(version, uri)
        event = lsp.TextDocumentContentChangeWholeDocument(text)
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [event]))

    async def next_problems() -> tuple[str, list[str]]:
        found = await published.get()
        return found.uri, [problem.message for problem in found.diagnostics]

    await client.start_io(sys.executable, "-m", "gamedsl", "lsp", "--seconds", str(SECONDS))
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    opens(good, GOOD)
    assert await next_problems() == (good, [])

    opens(slow, SLOW)
    await asyncio.sleep(0.5)
    asked = lsp.HoverParams(lsp.TextDocumentIdentifier(good), lsp.Position(1, 9))
    assert await client.text_document_hover_async(asked) is not None
    assert published.empty()
    uri, [message] = await next_problems()
    assert uri == slow
    assert "took longer than 2 seconds" in message
    assert await next_problems() == (good, [])

    changes(good, 2, GOOD.replace("payoffs: 1", "payoffs: nosuch"))
    uri, [message] = await next_problems()
    assert uri == good
    assert "nosuch" in message

    changes(slow, 2, GOOD.replace("game: good", "game: slow"))
    assert await next_problems() == (slow, [])
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


@pytest.fixture
def checker() -> Checker:
    return Checker()


def _messages(checker: Checker, path: Path, texts: Mapping[Path, str]) -> list[str]:
    return [problem.message for problem in checker.check(path, texts).problems]


def test_open_documents_are_bounded_like_files(checker: Checker, tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    found = _messages(checker, path, {path: GOOD + "#" * MAX_BYTES})
    checker.close()
    assert len(found) == 1
    assert f"a file may have at most {MAX_BYTES}" in found[0]


def test_places_count_the_compilers_lines() -> None:
    """A line separator, U+2028, ends no line of an editor's."""
    from pygls.workspace import Workspace

    server = make_server()
    server.protocol._workspace = Workspace(None)
    source = Source("a.yaml", "one\u2028two\nthr\U0001f600e four\n")
    at = source.text.index("four")
    place = server.range(Span(source, at, at + 4))
    assert place == lsp.Range(lsp.Position(1, 7), lsp.Position(1, 11))
