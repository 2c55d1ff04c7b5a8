"""`gamedsl fmt`: files written anew in the layout of the house. Comments and meaning stay."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gamedsl.cli import CLEAN, PROBLEMS, use_colour
from gamedsl.diagnostics.render import render
from gamedsl.formatter import Formatted, format_file
from gamedsl.frontend.source.loader import as_written, display_name
from gamedsl.storage.writer import write_output

HELP = (
    "Lay files out: indents, spaces, quotes, the columns of payoff tables. Comments, empty lines "
    "and the order of keys stay, and so does the meaning."
)


def configure(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument_group("changes of files")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a path")
    files.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a file would change"
    )
    files.add_argument(
        "--diff", action="store_true", help="write nothing; print what would change, as --check"
    )


def run(args: argparse.Namespace) -> int:
    passed = True
    for name in dict.fromkeys(args.files):
        path = Path(name)
        done = format_file(path)
        if done.after is None:
            passed = False
            _complain(path, done)
        elif done.changed and (args.check or args.diff):
            passed = False
            _show(path, done.before, done.after, args.diff)
        elif done.changed:
            write_output(path, as_written(path, done.after))
            print(f"{display_name(path)}: formatted")
    return CLEAN if passed else PROBLEMS


def _complain(path: Path, done: Formatted) -> None:
    if done.refused:
        print(
            f"gamedsl fmt: {display_name(path)} is left as it is: laid out, it would not mean the "
            "same\n  fix: give each comment a line of its own, above a key",
            file=sys.stderr,
        )
    else:
        print(render(list(done.problems), "pretty", use_colour(sys.stderr)), file=sys.stderr)


def _show(path: Path, before: str, after: str, diff: bool) -> None:
    name = display_name(path)
    if not diff:
        print(f"{name}: would be formatted")
        return
    from difflib import unified_diff

    old, new = (text.splitlines(keepends=True) for text in (before, after))
    for line in unified_diff(old, new, name, name):
        print(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n", end="")
