"""The whole pipeline, top to bottom: a file's text to a checked `GameIR`.

    text -source-> span tree -schema-> shape ok -syntax, sema-> GameIR -passes-> proofs and problems

Within a stage every problem is collected; the next stage does not start on errors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.collector import collector_paused
from gamedsl.diagnostics import CompileError, Diagnostic, FloodError, Problems
from gamedsl.diagnostics.consequences import without_consequences
from gamedsl.frontend.source.loader import display_name, recording, replacing
from gamedsl.ir import GameIR
from gamedsl.sema.library import Document, load_document, resolve_argument, with_used_files

if TYPE_CHECKING:
    from gamedsl.analysis.history_prompts import Tokenizer
    from gamedsl.analysis.proof import Proof


SUFFIX = ".json"
"""The ending of the names of compiled games; every other file is YAML."""

MAX_ERRORS = 1_000
"""Errors after which a file is read no further."""


@dataclass(frozen=True)
class Result:
    """The outcome of compiling a file.

    `ir` is None after errors, and for protocol and reward files; `proofs` are the claims about a
    game, each with its grade.
    """

    document: Document | None
    ir: GameIR | None
    diagnostics: list[Diagnostic]
    summary: str = ""
    proofs: tuple[Proof, ...] = ()

    @property
    def ok(self) -> bool:
        return not any(d.severity == "error" for d in self.diagnostics)


def compile_file(
    path: Path | str, params: Mapping[str, Any] | None = None, histories: int | None = None,
    tokenizer: Tokenizer | None = None,
) -> Result:  # fmt: skip
    """Compiles a game file, or checks a protocol or reward file. Never raises for a file's content.

    `path` may be the name of a shipped file, or a compiled game, which ends in `.json`; `params`
    override the file's defaults. `histories` is
    the number of histories that proofs may enumerate, by default
    `gamedsl.analysis.history_sample.USUAL`; prompts are measured with the `tokenizer` of a model,
    if one is given.
    """
    problems = Problems(MAX_ERRORS)
    with _room_on_the_stack(), collector_paused(), recording() as read:
        try:
            if Path(path).suffix == SUFFIX:
                result = _compile_again(Path(path), params, histories, tokenizer, problems)
            else:
                result = _compile(path, params, histories, tokenizer, problems)
        except FloodError:
            return Result(None, None, problems.sorted())
    if result.document is None:
        return result
    result = replace(result, document=with_used_files(result.document, read))
    return _with_origins(result, params)


def check_names(path: Path) -> Result:
    """Checks a file up to its names and types, and proves nothing: what an editor asks while one
    types. Never raises for a file's content."""
    problems = Problems(MAX_ERRORS)
    with _room_on_the_stack(), collector_paused():
        try:
            return _with_origins(_read(path, None, problems), None)
        except FloodError:
            return Result(None, None, problems.sorted())


def _with_origins(result: Result, params: Mapping[str, Any] | None) -> Result:
    """Returns a result whose problems tell what they come from, where they stand elsewhere."""
    document = result.document
    if document is None or not result.diagnostics or not (document.extends or params):
        return result
    from gamedsl.sema.origins import with_origins

    found = [with_origins(problem, document, params) for problem in result.diagnostics]
    return replace(result, diagnostics=found)


def _compile_again(
    path: Path, params: Mapping[str, Any] | None, histories: int | None,
    tokenizer: Tokenizer | None, problems: Problems,
) -> Result:  # fmt: skip
    """Compiles the files in a compiled file. Without other params, the game must be the one that
    the file states."""
    from gamedsl.compiled import check_same, open_compiled

    compiled = open_compiled(path, problems)
    if compiled is None:
        return Result(None, None, problems.sorted())
    given = {**compiled.params, **(params or {})}
    result = _compile(compiled.main, given, histories, tokenizer, problems)
    if result.ir is None or params:
        return result
    check_same(compiled, result.ir, problems)
    return replace(result, ir=None if problems.errors else result.ir, diagnostics=problems.sorted())


def _read(path: Path | str, params: Mapping[str, Any] | None, problems: Problems) -> Result:
    """Goes through the stages up to sema, which need nothing but the files; leaves out the errors
    that follow from others."""
    result = _parse_and_type(path, params, problems)
    name = display_name(path)
    source = next((d.span.source for d in problems.found if d.span.source.name == name), None)
    if source is None or problems.count_errors() < 2:
        return result

    def diagnose(text: str) -> list[Diagnostic]:
        found = Problems(MAX_ERRORS)
        with suppress(FloodError), replacing({Path(path): text}):
            _parse_and_type(path, params, found)
        return found.sorted()

    found = without_consequences(result.diagnostics, source, diagnose)
    return replace(result, diagnostics=found)


def _parse_and_type(
    path: Path | str, params: Mapping[str, Any] | None, problems: Problems
) -> Result:
    document = load_document(path, problems)
    if document is None or problems.errors:
        return Result(document, None, problems.sorted())
    if document.kind != "game":
        from gamedsl.sema.used_files import check_part

        summary = check_part(document, problems)
        return Result(document, None, problems.sorted(), summary)
    from gamedsl.sema.game import build_game

    ir = build_game(document, params, problems)
    return Result(document, ir, problems.sorted())


def _compile(
    path: Path | str, params: Mapping[str, Any] | None, histories: int | None,
    tokenizer: Tokenizer | None, problems: Problems,
) -> Result:  # fmt: skip
    read = _read(resolve_argument(str(path)), params, problems)
    if read.ir is None:
        return read
    ir = read.ir
    from gamedsl.analysis import PASSES
    from gamedsl.analysis.history_sample import USUAL, HistorySample
    from gamedsl.analysis.passes import prove
    from gamedsl.sema.uses import with_uses

    uses, before = dict(ir.uses), len(problems.found)
    sample = HistorySample(ir, USUAL if histories is None else histories, tokenizer)
    proofs = prove(PASSES, sample, problems)
    problems.found[before:] = [with_uses(found, uses) for found in problems.found[before:]]
    if ir.settings:
        from gamedsl.analysis.rewards import check_equilibria
        from gamedsl.recipe.resolve import resolve

        recipe = resolve(ir, (), problems)
        check_equilibria(ir, recipe, {s.key: s.span for s in ir.settings}, proofs, problems)
    sound = None if problems.errors else ir
    return Result(read.document, sound, problems.sorted(), summarise(ir), proofs)


@contextmanager
def _room_on_the_stack() -> Iterator[None]:
    """Raises the recursion limit: files nest up to 100 deep; a level may take a dozen calls."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, 5000))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def compile_game(
    path: Path | str, params: Mapping[str, Any] | None = None
) -> tuple[GameIR, Document]:
    """Compiles a game. Raises `CompileError` with every problem of the stage that failed.

    Proofs enumerate small games only; `gamedsl validate` enumerates more.
    """
    from gamedsl.analysis.history_sample import QUICK

    result = compile_file(path, params, QUICK)
    if result.document is not None and result.document.kind != "game":
        raise ValueError(f"{path} is a {result.document.kind} file, not a game")
    if result.ir is None or result.document is None:
        raise CompileError(result.diagnostics)
    return result.ir, result.document


def summarise(ir: GameIR) -> str:
    """Returns one line that describes the kind of game."""
    count = len(ir.seats)
    roles = f"{count} role{'s' if count != 1 else ''}"
    labels = "partly masked" if ir.labels.kind == "partly" else ir.labels.kind
    return f"{roles}, {_form(ir)}, {labels} labels, rewards {ir.reward.name}"


def _form(ir: GameIR) -> str:
    """Describes a normal form by its sizes, any other game by its decisions."""
    count = len(ir.seats)
    if ir.plain and len(ir.steps) == 1 and len(ir.steps[0].actors) == count:
        sizes = [len(options) for options in ir.steps[0].options]
        uniform = len(set(sizes)) == 1 and count > 3
        return "normal form, " + (f"{sizes[0]}^{count}" if uniform else "×".join(map(str, sizes)))
    from gamedsl.ir.features import features

    known = set(features(ir))
    words = [f"{len(ir.steps)} decision{'s' if len(ir.steps) != 1 else ''}"]
    words += ["in stages"] if "stages" in known else []
    words += ["in a loop"] if "loop" in known else []
    words += [word for word in ("simultaneous", "chance") if word in known]
    words += ["hidden information"] if "hidden" in known else []
    return ", ".join(words)
