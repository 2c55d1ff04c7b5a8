"""`gamedsl import`: turns a game of another program into a game file.

Reading and writing are exact: same players, information sets, probabilities and payoffs. A wrong
file, or a game that the language does not have, gives problems with places. A game of OpenSpiel has
a name instead of a file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, use_colour
from gamedsl.commands._streams import print_document
from gamedsl.storage.writer import write_output

HELP = (
    "Make a game file of one of Gambit's, an extensive (.efg) or a strategic (.nfg) game, or of a "
    "game of OpenSpiel."
)


def configure(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    parser.add_argument(
        "file", metavar="FILE",
        help="a file of Gambit's, or the name of a game of OpenSpiel, such as "
        "`kuhn_poker(players=3)`",
    )  # fmt: skip
    parser.add_argument_group("what may be read").add_argument(
        "--from", choices=("gambit", "openspiel"), default="gambit", dest="origin",
        help="what FILE is (default: gambit)",
    )  # fmt: skip
    output.add_argument(
        "-o", "--output", metavar="OUT", type=Path, help="where to write (default: print it)"
    )
    output.add_argument(
        "--format",
        choices=("pretty", "concise", "json"),
        default="pretty",
        help="of problems: for people, one line each, or one JSON array (default: pretty)",
    )


def run(args: argparse.Namespace) -> int:
    from gamedsl.diagnostics import Problems
    from gamedsl.diagnostics.render import render
    from gamedsl.imports import import_file

    problems = Problems()
    name = None if args.output is None else args.output.stem
    if args.origin == "openspiel":
        from gamedsl.imports.openspiel import GameRefused, import_openspiel

        try:
            text = import_openspiel(args.file, problems, name)
        except GameRefused as error:
            print(f"gamedsl import: {error}", file=sys.stderr)
            return USAGE
    else:
        text = import_file(args.file, problems, name)
    if problems.found:
        print(render(problems.sorted(), args.format, use_colour(sys.stderr)), file=sys.stderr)
    if text is None:
        return PROBLEMS
    if args.output is None:
        print_document(text)
    else:
        write_output(args.output, text)
    return CLEAN
