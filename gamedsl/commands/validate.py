"""`gamedsl validate`: every problem of every file named, and one line for each file that is clean.

Nothing is remembered between runs. Problems of a file that several files share are printed once.
"""

from __future__ import annotations

import argparse
import sys

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.diagnostics.model import Diagnostic
from gamedsl.diagnostics.render import render

HELP = "Check files. A FILE is a path, or the name of a shipped game, protocol or reward."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a path or a shipped name")
    parser.add_argument(
        "--format",
        choices=("pretty", "concise", "json"),
        default="pretty",
        help="for people, one line a problem, or one JSON array (default: pretty)",
    )
    add_params(parser, ", for each FILE that is a game")
    parser.add_argument("--strict", action="store_true", help="a warning is an error too")


def run(args: argparse.Namespace) -> int:
    from gamedsl.compiler import compile_file
    from gamedsl.sema.library import resolve_argument
    from gamedsl.source.loader import display_name

    try:
        params = read_params(args.param)
    except ValueError as error:
        print(f"gamedsl validate: {error}", file=sys.stderr)
        return USAGE
    clean = True
    seen: set[tuple[object, ...]] = set()
    everything: list[Diagnostic] = []
    for argument in args.files:
        path = resolve_argument(argument)
        result = compile_file(path, params)
        fresh = [d for d in result.diagnostics if _key(d) not in seen]
        seen.update(map(_key, fresh))
        passed = not any(_fails(d, args.strict) for d in result.diagnostics)
        clean = clean and passed
        if args.format == "json":
            everything += fresh
            continue
        if fresh:
            print(render(fresh, args.format, use_colour(sys.stdout)))
            if args.format == "pretty":
                print()
        if passed:
            print(_ok(display_name(path), result))
    if args.format == "json":
        print(render(everything, "json"))
    return CLEAN if clean else PROBLEMS


def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
    span = diagnostic.span
    return diagnostic.code, span.source.name, span.start, span.end, diagnostic.message


def _fails(diagnostic: Diagnostic, strict: bool) -> bool:
    return diagnostic.severity == "error" or (strict and diagnostic.severity == "warning")


def _ok(name: str, result: object) -> str:
    summary = getattr(result, "summary", "")
    return f"{name}: ok" + (f" — {summary}" if summary else "")
