"""References, rename, coloured tokens and proofs, asked of the server over stdio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

BASE = """game: base
roles: [ann, bob]
params: {price: 3}
turns:
  - {role: all, choose: move, from: [stag, hare]}
payoffs: "price if move.me == stag else 0"
prompts:
  rules: "The price is {{ price }}."
"""
CHILD = "game: child\nextends: base\npayoffs: price + 1\n"
PROTOCOL = """protocol: asks
params: {size: {default: 2}}
turns:
  - {role: all, choose: word, from: 1..size}
"""
USER = """game: user
roles: [ann, bob]
turns:
  - {use: asks, size: 3}
payoffs: word.me
"""
UNSOUND = BASE + "claims: zero_sum\n"


class Session:
    """A client with a folder of files, and what the server published last for each."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder = folder
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        self.client = LanguageClient("test", "1")
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

    async def begin(self) -> None:
        await self.client.start_io(sys.executable, "-m", "gamedsl", "lsp")
        await self.client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))
        self.client.initialized(lsp.InitializedParams())

    async def open(self, name: str) -> list[lsp.Diagnostic]:
        text = (self.folder / name).read_text(encoding="utf-8")
        item = lsp.TextDocumentItem(self.uri(name), "yaml", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return list((await self.published.get()).diagnostics)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def change(self, name: str, text: str) -> None:
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(2, self.uri(name)),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def references(self, name: str, line: int, column: int) -> set[tuple[str, int, int]]:
        found = await self.client.text_document_references_async(
            lsp.ReferenceParams(
                lsp.ReferenceContext(include_declaration=True),
                lsp.TextDocumentIdentifier(self.uri(name)), lsp.Position(line, column),
            )
        )  # fmt: skip
        return {
            (Path(one.uri).name, one.range.start.line, one.range.start.character)
            for one in found or ()
        }

    async def rename(self, name: str, line: int, column: int, new: str) -> dict[str, int]:
        found = await self.client.text_document_rename_async(
            lsp.RenameParams(
                lsp.TextDocumentIdentifier(self.uri(name)), lsp.Position(line, column), new
            )
        )
        assert found is not None
        return {Path(uri).name: len(edits) for uri, edits in (found.changes or {}).items()}


def drive(folder: Path, files: dict[str, str], steps: Callable[[Session], Awaitable[None]]) -> None:
    async def whole() -> None:
        session = Session(folder, files)
        await session.begin()
        await steps(session)
        await session.client.shutdown_async(None)
        session.client.exit(None)
        await session.client.stop()

    asyncio.run(asyncio.wait_for(whole(), 120))


def test_references_and_rename_follow_extends(tmp_path: Path) -> None:
    async def steps(session: Session) -> None:
        await session.open("child.yaml")
        found = await session.references("child.yaml", 2, 10)
        assert found == {
            ("base.yaml", 2, 9), ("base.yaml", 5, 10), ("base.yaml", 7, 26), ("child.yaml", 2, 9),
        }  # fmt: skip
        edits = await session.rename("child.yaml", 2, 10, "cost")
        assert edits == {"base.yaml": 3, "child.yaml": 1}
        place = await session.client.text_document_prepare_rename_async(
            lsp.PrepareRenameParams(
                lsp.TextDocumentIdentifier(session.uri("child.yaml")), lsp.Position(2, 10)
            )
        )
        assert place == lsp.Range(lsp.Position(2, 9), lsp.Position(2, 14))

    drive(tmp_path, {"base.yaml": BASE, "child.yaml": CHILD}, steps)


def test_rename_follows_protocols(tmp_path: Path) -> None:
    async def steps(session: Session) -> None:
        await session.open("user.yaml")
        assert await session.rename("user.yaml", 4, 10, "said") == {"asks.yaml": 1, "user.yaml": 1}
        assert await session.rename("user.yaml", 3, 16, "limit") == {"asks.yaml": 2, "user.yaml": 1}

    drive(tmp_path, {"asks.yaml": PROTOCOL, "user.yaml": USER}, steps)


@pytest.mark.parametrize(
    ("new", "why"),
    [("move", "already written"), ("max", "meaning of its own"), ("a b", "is no name")],
)
def test_rename_refuses_a_clash(tmp_path: Path, new: str, why: str) -> None:
    async def steps(session: Session) -> None:
        await session.open("base.yaml")
        with pytest.raises(JsonRpcException, match=why):
            await session.rename("base.yaml", 2, 10, new)

    drive(tmp_path, {"base.yaml": BASE}, steps)


def test_rename_refuses_shipped_files(tmp_path: Path) -> None:
    async def steps(session: Session) -> None:
        await session.open("mine.yaml")
        with pytest.raises(JsonRpcException, match="shipped file `hanabi`"):
            await session.rename("mine.yaml", 2, 10, "signals")

    drive(tmp_path, {"mine.yaml": "game: mine\nextends: hanabi\nparams: {clues: 4}\n"}, steps)


def test_words_of_expressions_are_coloured(tmp_path: Path) -> None:
    async def steps(session: Session) -> None:
        await session.open("base.yaml")
        found = await session.client.text_document_semantic_tokens_full_async(
            lsp.SemanticTokensParams(lsp.TextDocumentIdentifier(session.uri("base.yaml")))
        )
        assert found is not None
        from gamedsl.lsp.files import TOKENS

        line = column = 0
        kinds = {}
        data = found.data
        for at in range(0, len(data), 5):
            column = data[at + 1] + (0 if data[at] else column)
            line += data[at]
            written = BASE.splitlines()[line][column : column + data[at + 2]]
            kinds[line, written] = TOKENS[data[at + 3]]
        assert kinds[5, "price"] == kinds[7, "price"] == "parameter"
        assert kinds[5, "if"] == "keyword"
        assert kinds[5, "move"] == "variable"
        assert kinds[5, "=="] == "operator"
        assert kinds[5, "0"] == "number"
        assert (7, "The") not in kinds

    drive(tmp_path, {"base.yaml": BASE}, steps)


def test_proofs_follow_and_a_change_ends_them(tmp_path: Path) -> None:
    async def steps(session: Session) -> None:
        assert await session.open("base.yaml") == []
        proved = (await asyncio.wait_for(session.published.get(), 60)).diagnostics
        assert any(found.range.start == lsp.Position(8, 8) for found in proved)
        session.change("base.yaml", UNSOUND + "\n")
        assert list((await session.published.get()).diagnostics) == []
        session.change("base.yaml", BASE.replace("else 0", "else pric"))
        (unknown,) = (await session.published.get()).diagnostics
        assert "pric" in unknown.message
        with pytest.raises(asyncio.TimeoutError):  # the proofs of the text before never arrive
            await asyncio.wait_for(session.published.get(), 3)

    drive(tmp_path, {"base.yaml": UNSOUND}, steps)


def test_other_yaml_is_passed_over(tmp_path: Path) -> None:
    async def steps(session: Session) -> None:
        assert await session.open("compose.yaml") == []

    drive(tmp_path, {"compose.yaml": "services:\n  web: {image: nginx}\n"}, steps)
