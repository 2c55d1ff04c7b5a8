"""`gamedsl explain`: what a diagnostic code means, with a wrong and a right example.

Codes about a closed list of names are followed by that list, from the compiler's own table.
"""

from __future__ import annotations

import argparse
import sys

from gamedsl.cli import CLEAN, USAGE
from gamedsl.diagnostics import codes
from gamedsl.diagnostics.suggest import did_you_mean

HELP = "Print the long form of a diagnostic code, such as GD0101; without one, list all codes."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", metavar="CODE", help="a code such as GD0101")


def run(args: argparse.Namespace) -> int:
    if args.code is None:
        for code in codes.codes():
            print(f"{code}  {codes.explain(code).partition(chr(10))[0].removeprefix('# ')}")
        return CLEAN
    code = _normal(args.code)
    try:
        print("\n".join([code, codes.explain(code).rstrip(), *_lists(code)]))
    except KeyError:
        near = did_you_mean(code, codes.codes())
        fix = f"did you mean {near}?" if near else "`gamedsl explain` lists all codes"
        sys.stderr.write(f"gamedsl explain: there is no code `{args.code}`; {fix}\n")
        return USAGE
    return CLEAN


def _lists(code: str) -> list[str]:
    """Returns the lines of the list of names that a code is about; nothing of most codes."""
    if code not in ("GD0512", "GD0515", "GD0517"):
        return []
    from gamedsl.prompting.templates import construct_table, word_table
    from gamedsl.tables.markdown import markdown_rows

    head, table = "Words", word_table()
    if code == "GD0517":
        head, table = "Constructs", construct_table()
    return ["", f"## {head}", "", *markdown_rows(table)]


def _normal(text: str) -> str:
    """`gd0101`, `GD101` and `101` all mean GD0101."""
    bare = text.strip().upper().removeprefix("GD")
    return f"GD{bare:0>4}" if bare.isascii() and bare.isdigit() else text
