"""The protocol: what an editor asks, answered from `gamedsl.lsp.files`.

Open documents stand in the place of their files, also of those that another file extends. Each
change is checked after a pause, up to the types; proofs follow (`gamedsl.lsp.proofs`). Both run in
other processes, each for a bounded time (`gamedsl.lsp.checking`); here runs what is quick.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from gamedsl import __version__
from gamedsl.diagnostics import Diagnostic
from gamedsl.diagnostics.safety import is_safe
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.loader import from_text
from gamedsl.lsp import files
from gamedsl.lsp.checking import SECONDS, Checker, CheckGivenUp
from gamedsl.lsp.occurrences import Occurrence
from gamedsl.lsp.proofs import Proofs
from gamedsl.lsp.rename import RenameRefused, Shared

PAUSE = 0.02
"""Seconds without a keystroke before a file is checked."""

MOST_PROBLEMS = 300
"""Problems of a file that an editor is sent, the first ones."""

MOST_ENTRIES = 2_000
"""Entries of an outline."""

_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}

_BEGINNING = {"line": 1, "column": 1, "end_line": 1, "end_column": 2}
"""The place of what a file is told of and does not refer to."""


class Server(LanguageServer):
    """The server of one editor, with what is known of each open file. Of a file in `given_up` the
    check took too long: it is checked again when its own text changes. `shut_down` is whether the
    editor has asked for the end."""

    def __init__(self, seconds: float) -> None:
        super().__init__("gamedsl", __version__)
        self.checker = Checker(seconds)
        self.checked: dict[str, files.Checked] = {}
        self.given_up: set[str] = set()
        self.changes: dict[str, int] = {}
        self.proofs: dict[str, Proofs] = {}
        self.lock = asyncio.Lock()
        self.shut_down = False

    def serve(self) -> bool:
        """Serves an editor over standard input and output until it says `exit` or is gone. Returns
        whether it asked for the end before. What the protocol closes at the end is a stream of its
        own: standard output stays open."""
        with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
            self.start_io(stdout=output)
        return self.shut_down

    def texts(self) -> dict[Path, str]:
        """Returns the open documents by their paths."""
        documents = self.workspace.text_documents
        return {_path(uri): document.source for uri, document in documents.items()}

    def line(self, uri: str, position: lsp.Position) -> tuple[str, int]:
        """Returns the line of a position, and its column in characters."""
        lines = self.workspace.get_text_document(uri).lines
        inside = self.workspace.position_codec.position_from_client_units(lines, position)
        text = lines[inside.line].rstrip("\r\n") if inside.line < len(lines) else ""
        return text, inside.character

    def range(self, span: Span) -> lsp.Range:
        """Returns a span in the units of the client."""
        return lsp.Range(self._place(span.source, span.start), self._place(span.source, span.end))

    def _place(self, source: Source, offset: int) -> lsp.Position:
        line, column = source.position(offset)
        before = source.text[offset - column + 1 : offset]
        if before.isascii():
            return lsp.Position(line - 1, column - 1)
        return lsp.Position(line - 1, self.workspace.position_codec.client_num_units(before))

    def diagnostic(self, found: Diagnostic) -> lsp.Diagnostic:
        """Returns a problem as the protocol writes it."""
        parts = (found.message, found.why, found.help and f"fix: {found.help}")
        return lsp.Diagnostic(
            range=self.range(found.span), message="\n".join(part for part in parts if part),
            severity=_SEVERITIES[found.severity], code=found.code, source="gamedsl",
            related_information=[
                lsp.DiagnosticRelatedInformation(
                    lsp.Location(_uri(note.span), self.range(note.span)), note.text
                )
                for note in found.notes
            ],
        )  # fmt: skip

    def proved(self, found: dict[str, Any], name: str) -> lsp.Diagnostic:
        """Returns a problem of `gamedsl validate --report json` as the protocol writes it, in the
        file of this name: at its place, or at that which refers to it, or at the beginning."""
        places = (place for place in (found, *found["notes"]) if Path(place["file"]).name == name)
        parts = (found["message"], found["why"], found["help"] and f"fix: {found['help']}")
        text = "\n".join(part for part in parts if part)
        return lsp.Diagnostic(
            self.place(next(places, _BEGINNING)), text, severity=_SEVERITIES[found["severity"]],
            code=found["code"], source="gamedsl",
        )  # fmt: skip

    def place(self, found: dict[str, Any]) -> lsp.Range:
        """Returns the place of a problem in JSON; its columns count characters of this file."""
        first = lsp.Position(found["line"] - 1, found["column"] - 1)
        return lsp.Range(first, lsp.Position(found["end_line"] - 1, found["end_column"] - 1))

    async def locations(
        self, uri: str, position: lsp.Position, new: str | None = None
    ) -> dict[Path, list[Occurrence]]:
        """Returns the places of the name at a position in all files that share it; with a new name
        those that a rename replaces. Raises RenameRefused."""
        line, column = self.line(uri, position)
        word, texts, path = files.word_at(line, column), self.texts(), _path(uri)
        async with self.lock:
            shared = await asyncio.to_thread(Shared, path, texts)
            if new is None:
                return await asyncio.to_thread(shared.find, word)
            return await asyncio.to_thread(shared.rename, word, new)

    async def check_all(self, changed: str) -> None:
        """Checks the file that has changed, and then those that may use it."""
        self.given_up.discard(changed)
        others = set(self.workspace.text_documents) - self.given_up - {changed}
        await asyncio.gather(*(self.check(uri) for uri in (changed, *sorted(others))))

    async def check(self, uri: str) -> None:
        """Shows the problems of a file after a pause, and then what proofs find; nothing more once
        the file has changed."""
        turn = self.changes[uri] = self.changes.get(uri, 0) + 1
        proofs = self.proofs.setdefault(uri, Proofs(_path(uri)))
        proofs.stop()
        await asyncio.sleep(PAUSE)
        async with self.lock:
            if self.changes.get(uri) != turn:
                return
            try:
                checked = await asyncio.to_thread(self.checker.check, _path(uri), self.texts())
            except CheckGivenUp as error:
                if self.changes.get(uri) == turn:
                    self.given_up.add(uri)
                    self.show(uri, [_given_up(str(error))])
                return
        if self.changes.get(uri) != turn:
            return
        self.checked[uri] = checked = checked.after(self.checked.get(uri))
        text = self.texts().get(_path(uri), "")
        if files.KINDS.search(text) is None:  # some other YAML
            self.show(uri, [])
            return
        seen = (files.placed_in(_path(uri), one) for one in checked.problems[:MOST_PROBLEMS])
        shown = [self.diagnostic(problem) for problem in seen]
        self.show(uri, shown)
        if any(problem.severity == "error" for problem in checked.problems):
            return
        found = await proofs.run(text)
        if found is not None and self.changes.get(uri) == turn:
            self.show(uri, [*shown, *self._new_from_proofs(uri, found, shown)])

    def _new_from_proofs(
        self, uri: str, found: dict[str, Any] | str, shown: list[lsp.Diagnostic]
    ) -> list[lsp.Diagnostic]:
        """Returns what proofs found and is not shown yet, or why they found nothing."""
        if isinstance(found, str):
            text = f"{found}\nfix: run `gamedsl validate`, which has no bound"
            level = lsp.DiagnosticSeverity.Information
            return [lsp.Diagnostic(self.place(_BEGINNING), text, severity=level, source="gamedsl")]
        name = _path(uri).name
        known = {(d.code, d.range.start.line, d.message) for d in shown}
        proved = (self.proved(problem, name) for problem in found["problems"])
        return [d for d in proved if (d.code, d.range.start.line, d.message) not in known]

    def show(self, uri: str, problems: list[lsp.Diagnostic]) -> None:
        """Sends the problems of a file to the editor, in place of those before."""
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, problems))

    def quick_fix(self, found: Diagnostic) -> lsp.CodeAction:
        """Returns the help of a problem as an action that applies its edits."""
        edits: dict[str, list[lsp.TextEdit]] = {}
        for edit in found.edits:
            edits.setdefault(_uri(edit.span), []).append(
                lsp.TextEdit(self.range(edit.span), edit.text)
            )
        return lsp.CodeAction(
            found.help,
            kind=lsp.CodeActionKind.QuickFix,
            is_preferred=is_safe(found),
            diagnostics=[self.diagnostic(found)],
            edit=lsp.WorkspaceEdit(changes=edits),
        )


def _path(uri: str) -> Path:
    return Path(to_fs_path(uri) or uri)


def _uri(span: Span) -> str:
    path = span.source.folder.absolute() / Path(span.source.name).name
    return from_fs_path(str(path)) or path.as_uri()


def _given_up(fact: str) -> lsp.Diagnostic:
    """Returns the note that stands at the first line of a file that could not be checked."""
    return lsp.Diagnostic(
        lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)), source="gamedsl",
        message=f"{fact}\nfix: make it smaller, or check it by `gamedsl validate`",
        severity=lsp.DiagnosticSeverity.Warning,
    )  # fmt: skip


def make_server(seconds: float = SECONDS) -> Server:
    """Returns a server whose features are registered. A check may take so many seconds."""
    server = Server(seconds)
    for register in _FEATURES:
        register(server)
    return server


def _add_checks(server: Server) -> None:
    """Registers what happens to documents: each change is checked."""

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(_: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        await server.check_all(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(_: Server, params: lsp.DidChangeTextDocumentParams) -> None:
        await server.check_all(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(_: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.changes.pop(uri, None)
        server.checked.pop(uri, None)
        server.given_up.discard(uri)
        if (proofs := server.proofs.pop(uri, None)) is not None:
            proofs.stop()
        server.show(uri, [])


def _add_fixes(server: Server) -> None:
    """Registers the helps of problems as quick fixes."""

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    )
    def fixes(_: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri, asked = params.text_document.uri, params.range
        checked, actions = server.checked.get(uri), []
        for found in checked.problems[:MOST_PROBLEMS] if checked else ():
            place = server.range(found.span)
            apart = place.end.line < asked.start.line or asked.end.line < place.start.line
            if apart or not found.edits or not files.is_of(_path(uri), found.span):
                continue
            now = server.workspace.get_text_document(uri).source
            if found.span.source.text != from_text("", now).text:
                continue  # the text has changed since
            actions.append(server.quick_fix(found))
        return actions


def _add_lookups(server: Server) -> None:
    """Registers what is told of the word under the cursor."""

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(_: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        uri = params.text_document.uri
        text = files.describe(*server.line(uri, params.position), server.checked.get(uri))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION)
    def completion(_: Server, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        uri = params.text_document.uri
        known = files.complete(*server.line(uri, params.position), server.checked.get(uri))
        return [lsp.CompletionItem(text, detail=about) for text, about in known]

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(_: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
        uri = params.text_document.uri
        line, column = server.line(uri, params.position)
        found = files.definition(_path(uri), line, column, server.checked.get(uri))
        if isinstance(found, Path):
            start = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
            return lsp.Location(from_fs_path(str(found.absolute())) or "", start)
        return None if found is None else lsp.Location(_uri(found), server.range(found))


def _add_names(server: Server) -> None:
    """Registers the uses of a name, and its renaming."""

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    async def references(_: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
        places = await server.locations(params.text_document.uri, params.position)
        return [
            lsp.Location(_uri(one.span), server.range(one.span))
            for ones in places.values()
            for one in ones
            if params.context.include_declaration or one.use not in ("declared", "bound")
        ]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare(_: Server, params: lsp.PrepareRenameParams) -> lsp.Range | None:
        uri, at = params.text_document.uri, params.position
        for ones in (await server.locations(uri, at)).values():
            for one in ones:
                place = server.range(one.span)
                if files.is_of(_path(uri), one.span) and place.start <= at <= place.end:
                    return place
        return None

    @server.feature(
        lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True)
    )  # fmt: skip
    async def rename(_: Server, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        uri, new = params.text_document.uri, params.new_name
        try:
            places = await server.locations(uri, params.position, new)
        except RenameRefused as error:
            said = f"{error.fact}: {error.fix}"
            raise JsonRpcException(said, lsp.LSPErrorCodes.RequestFailed.value) from error
        changes = {
            _uri(ones[0].span): [lsp.TextEdit(server.range(one.span), new) for one in ones]
            for ones in places.values()
        }
        return lsp.WorkspaceEdit(changes=changes)


def _add_structure(server: Server) -> None:
    """Registers the colours of expressions and the outline."""

    @server.feature(
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lsp.SemanticTokensLegend(list(files.TOKENS), [])
    )
    def tokens(_: Server, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        checked = server.checked.get(params.text_document.uri)
        data: list[int] = []
        if checked is None or checked.tree is None:
            return lsp.SemanticTokens(data)
        line = column = 0
        for span, kind in files.tokens(checked.tree, checked.names):
            place = server.range(span)
            start = place.start
            if place.end.line != start.line:
                continue
            column = column if start.line == line else 0
            length = place.end.character - start.character
            data += [
                start.line - line, start.character - column, length, files.TOKENS.index(kind), 0
            ]  # fmt: skip
            line, column = start.line, start.character
        return lsp.SemanticTokens(data)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(_: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        checked = server.checked.get(params.text_document.uri)
        found, left = [], MOST_ENTRIES
        for section, entries in files.outline(checked.tree if checked else None):
            shown = entries[:left]
            inner = [_symbol(server, e.key.text, e.key.span, e.value.span) for e in shown]
            left -= len(shown)
            found.append(_symbol(server, section.key.text, section.key.span, section.value.span))
            found[-1].children = inner
        return found


def _add_layout(server: Server) -> None:
    """Registers the layout of a document, which is that of `gamedsl fmt`."""

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    async def formatting(_: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        document = server.workspace.get_text_document(params.text_document.uri)
        texts, version = server.texts(), document.version
        async with server.lock:
            try:
                done = await asyncio.to_thread(server.checker.lay_out, Path(document.path), texts)
            except CheckGivenUp as error:
                said = f"{error}: run `gamedsl fmt`, which has no bound"
                raise JsonRpcException(said, lsp.LSPErrorCodes.RequestFailed.value) from error
        if done.after is None or not done.changed or document.version != version:
            return []
        first, last, text = files.changed_lines(done.before, done.after)
        if "\r\n" in document.source:
            text = text.replace("\n", "\r\n")
        return [lsp.TextEdit(lsp.Range(lsp.Position(first, 0), lsp.Position(last, 0)), text)]


def _add_end(server: Server) -> None:
    """Registers that the editor asks for the end, which the exit code depends on."""

    @server.feature(lsp.SHUTDOWN)
    def shutdown(_: Server, params: None) -> None:
        server.shut_down = True


_FEATURES = (
    _add_checks, _add_fixes, _add_lookups, _add_names, _add_structure, _add_layout, _add_end,
)  # fmt: skip


def _symbol(server: Server, name: str, key: Span, value: Span) -> lsp.DocumentSymbol:
    whole = Span(key.source, key.start, max(key.end, value.end))
    return lsp.DocumentSymbol(
        name or "(empty)", lsp.SymbolKind.Field, server.range(whole), server.range(key)
    )
