"""`gamedsl export`: writes a game as a file of another program.

Without `-o` the text goes to the output, so that it can be piped. The file is exact; a game that is
too large for the format is not written at all.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.commands._arguments import count_to
from gamedsl.commands._streams import print_document
from gamedsl.export.table import EXPORTERS
from gamedsl.storage.writer import write_output

HELP = "Write a game for another program. FILE is a path or the name of a shipped game."
LIMIT = 200_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a path or a shipped name")
    about = "; ".join(f"{row.name}: {row.about}" for row in EXPORTERS.values())
    parser.add_argument(
        "--to", choices=tuple(EXPORTERS), help=f"{about} (default: as OUT is called)"
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="where to write (default: print it)")
    parser.add_argument(
        "--limit", type=count_to(100_000_000), default=LIMIT, metavar="N",
        help=f"the most nodes that a tree may have (default: {LIMIT:,})",
    )  # fmt: skip
    add_params(parser)


def run(args: argparse.Namespace) -> int:
    from gamedsl.compiler import compile_file
    from gamedsl.diagnostics.render import render
    from gamedsl.runtime.game import Game
    from gamedsl.solve.tree import TooLarge

    exporter = EXPORTERS.get(args.to or Path(args.output or "").suffix.removeprefix("."))
    if exporter is None:
        return _stop(f"say which format: {' or '.join(f'`--to {name}`' for name in EXPORTERS)}")
    try:
        params = read_params(args.param)
    except ValueError as error:
        return _stop(str(error))
    result = compile_file(args.file, params)
    if result.diagnostics:
        shown = render(result.diagnostics, "pretty", use_colour(sys.stderr))
        print(shown, file=sys.stderr)
    if result.ir is None or result.document is None:
        if result.ok and result.document is not None:
            return _stop(f"{args.file} is a {result.document.kind} file, not a game")
        return PROBLEMS
    game = Game(result.ir, result.document.files)
    try:
        text = exporter.write(game, args.limit)
    except (TooLarge, ValueError) as error:
        return _stop(f"{game.name}: {error}", PROBLEMS)
    if args.output is None:
        print_document(text)
    else:
        write_output(Path(args.output), text)
    return CLEAN


def _stop(message: str, code: int = USAGE) -> int:
    print(f"gamedsl export: {message}", file=sys.stderr)
    return code
