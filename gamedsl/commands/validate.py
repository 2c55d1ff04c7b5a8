"""`gamedsl validate`: every problem of every file named, and what is true of each that is clean.

Nothing is remembered between runs. Problems of a file that several files share are printed once.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.commands._arguments import whole
from gamedsl.commands._progress import progress
from gamedsl.diagnostics.model import Diagnostic
from gamedsl.diagnostics.render import render
from gamedsl.tables.model import Table, text_columns
from gamedsl.tables.text import rendered, table_lines

if TYPE_CHECKING:
    from gamedsl.analysis.history_prompts import Tokenizer
    from gamedsl.analysis.proof import Grade, Proof
    from gamedsl.compiler import Result

HELP = "Check files. A FILE is a path, or the name of a shipped game, protocol or reward."

GRADES: tuple[Grade, ...] = ("refuted", "undecided", "sampled", "enumerated", "proved")
"""Grades of proofs, in the order of a report."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_params(parser, ", for each FILE that is a game")
    checks = parser.add_argument_group("checks")
    files = parser.add_argument_group("changes of files")
    output = parser.add_argument_group("output")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a path or a shipped name")
    output.add_argument(
        "--format",
        choices=("pretty", "concise", "json"),
        default="pretty",
        help="for people, one line a problem, or one JSON array (default: pretty)",
    )
    files.add_argument(
        "--fix",
        action="store_true",
        help="first write each FILE anew with its safe fixes, those that respell a name or mend "
        "syntax and leave one error fewer; what was done goes to standard error",
    )
    output.add_argument(
        "--report",
        choices=("text", "json"),
        help="all that is said of each game, with its grade: proved, enumerated, sampled, refuted",
    )
    checks.add_argument(
        "--thorough",
        nargs="?",
        type=whole,
        const=-1,
        metavar="N",
        help="go through games of up to N histories (by itself: 300,000) instead of 20,000",
    )
    checks.add_argument(
        "--model", metavar="NAME", help="measure prompts in the tokens of this model"
    )
    files.add_argument(
        "--watch", action="store_true",
        help="check again when a file, or one that it uses, has changed, until Ctrl-C; the exit "
        "code is that of the last check",
    )  # fmt: skip
    checks.add_argument("--strict", action="store_true", help="warnings and notes are errors too")


class _Checked(NamedTuple):
    """The result of one file. `fresh` are the problems that no file before it had."""

    name: str
    result: Result
    fresh: list[Diagnostic]
    passed: bool


def run(args: argparse.Namespace) -> int:
    try:
        params = read_params(args.param)
    except ValueError as error:
        print(f"gamedsl validate: {error}", file=sys.stderr)
        return USAGE
    if args.watch and args.fix:
        print(
            "gamedsl validate: --watch looks at files, and --fix writes them\n"
            "  fix: leave one of the two out",
            file=sys.stderr,
        )
        return USAGE
    tokenizer = None
    if args.model is not None:
        from gamedsl.commands.prompts import tokenizer_of
        from gamedsl.policies.errors import ModelError

        try:
            tokenizer = tokenizer_of(args.model)
        except ModelError as error:
            print(f"gamedsl validate: {error}", file=sys.stderr)
            return USAGE
    if args.fix:
        _mend(args.files, params)
    if args.watch:
        from gamedsl.commands._watch import watch
        from gamedsl.sema.library import resolve_argument

        named = [resolve_argument(file) for file in args.files]
        return watch(lambda: _check(args, params, tokenizer), named)
    return _check(args, params, tokenizer)


def _check(args: argparse.Namespace, params: dict[str, str], tokenizer: Tokenizer | None) -> int:
    """Checks all files, and prints what is found. Returns the exit code."""
    checked = []
    for file in _checked(args, params, tokenizer):
        checked.append(file)
        if args.report != "json" and args.format != "json":
            _print(file, args)
    if args.report == "json":
        import json

        print(json.dumps([_as_data(file) for file in checked], indent=2))
    elif args.format == "json":
        print(render([d for file in checked for d in file.fresh], "json"))
    return CLEAN if all(file.passed for file in checked) else PROBLEMS


def _mend(arguments: list[str], params: dict[str, str]) -> None:
    """Writes files anew with their safe fixes, and says on standard error what it did. A shipped
    game that is named, and not given as a path, stays as it is. WriteRefused passes through."""
    from gamedsl.diagnostics.render import render
    from gamedsl.frontend.source.loader import as_written, display_name
    from gamedsl.repair import repair
    from gamedsl.storage.writer import write_output

    for argument in dict.fromkeys(arguments):
        path = Path(argument)
        if path.suffix == ".json" or not path.is_file():
            continue
        done = repair(path, params)
        if done.after is None or not done.changed:
            continue
        write_output(path, as_written(path, done.after))
        count = len(done.mended)
        print(
            f"{display_name(path)}: {count} fix{'es' if count > 1 else ''} applied\n"
            f"{render(done.mended, 'concise')}",
            file=sys.stderr,
        )


def _checked(
    args: argparse.Namespace, params: dict[str, str], tokenizer: Tokenizer | None
) -> Iterator[_Checked]:
    """The files in order, each checked when it is asked for."""
    from gamedsl.compiler import compile_file
    from gamedsl.frontend.source.loader import display_name
    from gamedsl.sema.library import resolve_argument

    seen: set[tuple[object, ...]] = set()
    for argument in args.files:
        path = resolve_argument(argument)
        with progress(f"checking {display_name(path)}"):
            result = compile_file(path, params, _histories(args.thorough), tokenizer)
        fresh = [d for d in result.diagnostics if _key(d) not in seen]
        seen.update(map(_key, fresh))
        passed = not any(_fails(d, args.strict) for d in result.diagnostics)
        yield _Checked(display_name(path), result, fresh, passed)


def _histories(thorough: int | None) -> int | None:
    if thorough is None or thorough >= 0:
        return thorough
    from gamedsl.analysis.history_sample import THOROUGH

    return THOROUGH


def _print(file: _Checked, args: argparse.Namespace) -> None:
    if file.fresh:
        print(render(file.fresh, args.format, use_colour(sys.stdout)))
        if args.format == "pretty":
            print()
    if file.passed:
        print(_ok(file.name, file.result))
    elif args.report:
        print(f"{file.name}: problems")
    if args.report:
        print(_report(file.result.proofs))
    elif file.passed and file.result.proofs and args.format == "pretty":
        print(_facts(file.result.proofs))


def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
    span = diagnostic.span
    return diagnostic.code, span.source.name, span.start, span.end, diagnostic.message


def _fails(diagnostic: Diagnostic, strict: bool) -> bool:
    return diagnostic.severity == "error" or strict


def _ok(name: str, result: Result) -> str:
    return f"{name}: ok" + (f" — {result.summary}" if result.summary else "")


def _facts(proofs: tuple[Proof, ...]) -> str:
    """The facts of a game in one line, with the number of claims of each grade."""
    sure = [p.short for p in proofs if p.short and p.grade in ("proved", "enumerated")]
    seen = [p.short for p in proofs if p.short and p.grade == "sampled"]
    grades = Counter(proof.grade for proof in proofs)
    counts = ", ".join(f"{grades[grade]} {grade}" for grade in GRADES[::-1] if grades[grade])
    parts = [", ".join(sure), f"sampled: {', '.join(seen)}" if seen else ""]
    return f"  {'; '.join(filter(None, parts))} ({counts})"


def _report(proofs: tuple[Proof, ...]) -> str:
    """Every proof: its grade and claim, the extent of the check, and the witness against it."""
    rows: list[tuple[str, str]] = []
    for proof in sorted(proofs, key=lambda proof: GRADES.index(proof.grade)):
        codes = f" {' '.join(proof.codes)}" if proof.codes else ""
        rows.append((proof.grade, f"{proof.name}: {proof.claim}{codes}"))
        rows += [("", f"  {proof.extent}")] if proof.extent else []
        rows += [("", f"  | {line}") for line in proof.witness]
    return rendered(table_lines(Table(text_columns("", ""), rows), indent=2))


def _as_data(file: _Checked) -> dict[str, Any]:
    import json
    from dataclasses import asdict

    problems = json.loads(render(file.result.diagnostics, "json"))
    proofs = [{k: v for k, v in asdict(p).items() if k != "short"} for p in file.result.proofs]
    return {
        "file": file.name,
        "ok": file.passed,
        "summary": file.result.summary,
        "problems": problems,
        "proofs": proofs,
    }
