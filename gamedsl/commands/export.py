"""`gamedsl export`: writes a game as a file of another program, or as a package for its loop.

Without `-o` the text of a file goes to the output, so that it can be piped. The file is exact; a
game that is too large for the format is not written at all. A package is a folder, and needs `-o`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.commands._arguments import count_to
from gamedsl.commands._streams import print_document
from gamedsl.export.table import EXPORTERS, PEERS
from gamedsl.storage.writer import write_output

if TYPE_CHECKING:
    from gamedsl.runtime.game import Game

HELP = (
    "Write a game for another program: as a file, or as a package that its own loop runs. FILE is "
    "a path or the name of a shipped game."
)
LIMIT = 200_000


def configure(parser: argparse.ArgumentParser) -> None:
    add_params(parser)
    players = parser.add_argument_group("players")
    output = parser.add_argument_group("output")
    parser.add_argument("file", metavar="FILE", help="a path or a shipped name")
    abouts = {one.name: one.about for one in EXPORTERS.values()}
    abouts |= {one.name: one.about for one in PEERS.values()}
    about = "; ".join(f"{name}: {said}" for name, said in abouts.items())
    output.add_argument(
        "--to", choices=tuple(abouts), metavar="NAME",
        help=f"{about} (default: as OUT is called)",
    )  # fmt: skip
    output.add_argument(
        "-o", "--output", metavar="OUT",
        help="the file to write (default: print it), or the folder of a package",
    )  # fmt: skip
    players.add_argument(
        "--as", action="append", default=[], metavar="SEATS", dest="seats",
        help="the seats that the other library's loop holds, with commas between them (default: "
        "all, or the first where its loop holds one)",
    )  # fmt: skip
    players.add_argument(
        "--against", action="append", default=[], metavar="PLAYER",
        help="the player of all other seats (default: random); SEAT=PLAYER for one seat; may be "
        "repeated",
    )  # fmt: skip
    output.add_argument(
        "--tokenizer", metavar="MODEL", default="",
        help="a package counts limits such as `max_tokens` in tokens of this model, a folder or an "
        "id of the hub (default: in those of the trained model with trl and tinker, else in words)",
    )  # fmt: skip
    output.add_argument(
        "--limit", type=count_to(100_000_000), default=LIMIT, metavar="N",
        help=f"the most nodes that a tree may have (default: {LIMIT:,})",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from gamedsl.compiler import compile_file
    from gamedsl.diagnostics.render import render
    from gamedsl.runtime.game import Game

    name = args.to or Path(args.output or "").suffix.removeprefix(".")
    if name not in EXPORTERS and name not in PEERS:
        return _stop(f"say which format: {' or '.join(f'`--to {one}`' for one in EXPORTERS)}")
    if name in PEERS and args.output is None:
        return _stop(f"`--to {name}` writes a folder; fix: name it with `-o FOLDER`")
    if name in EXPORTERS and (args.seats or args.against):
        return _stop(f"`--to {name}` has all seats; fix: leave out `--as` and `--against`")
    if name in EXPORTERS and args.tokenizer:
        return _stop(f"`--to {name}` counts no tokens; fix: leave out `--tokenizer`")
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
    return (
        _write_file(game, name, args) if name in EXPORTERS else _package(game, name, args, params)
    )


def _write_file(game: Game, name: str, args: argparse.Namespace) -> int:
    from gamedsl.solve.tree import TooLarge

    try:
        text = EXPORTERS[name].write(game, args.limit)
    except (TooLarge, ValueError) as error:
        return _stop(f"{game.name}: {error}", PROBLEMS)
    if args.output is None:
        print_document(text)
    else:
        write_output(Path(args.output), text)
    return CLEAN


def _package(game: Game, name: str, args: argparse.Namespace, params: Mapping[str, str]) -> int:
    from gamedsl.export.package import write_package
    from gamedsl.players.base import PlayerError

    folder = Path(args.output)
    try:
        written = write_package(
            game, PEERS[name], folder, args.seats, args.against, params, args.tokenizer
        )
    except PlayerError as error:
        return _stop(f"{error.message}\n  fix: {error.help}")
    except ValueError as error:
        return _stop(str(error))
    print(f"{folder}: {len(written)} files; {folder / 'README.md'} says how to run it")
    return CLEAN


def _stop(message: str, code: int = USAGE) -> int:
    print(f"gamedsl export: {message}", file=sys.stderr)
    return code
