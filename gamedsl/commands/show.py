"""`gamedsl show`: shows a game in the terminal or as a picture.

There are four views: the payoff table with best responses, the tree with its information sets, the
turn program as a flow chart, and the visibility of each step for each role. By default those that
fit the game are shown. Pictures are SVG, the same for the same game.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.commands._arguments import count, count_to
from gamedsl.commands._progress import progress
from gamedsl.commands._streams import print_document
from gamedsl.storage.writer import write_output

if TYPE_CHECKING:
    from gamedsl.view.game.views import View, Views

HELP = (
    "Draw a game: payoff table, tree, turn program, who sees what. FILE is a path or the name of a "
    "shipped game."
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_params(parser)
    picture = parser.add_argument_group("the picture")
    output = parser.add_argument_group("output")
    parser.add_argument("file", metavar="FILE", help="a path or a shipped name")
    picture.add_argument(
        "--view",
        choices=("table", "tree", "flow", "sight", "all"),
        help="what to show (default: what fits the game)",
    )
    output.add_argument(
        "-o", "--output", metavar="SVG",
        help="write a picture; several views get their name in the file's; `-` prints it",
    )  # fmt: skip
    picture.add_argument(
        "--width", type=count_to(100_000), metavar="N",
        help="columns of text, or units across a picture (default: the terminal's, or a page)",
    )  # fmt: skip
    picture.add_argument(
        "--limit",
        type=count_to(100_000),
        default=200,
        metavar="N",
        help="draw at most N nodes of a tree",
    )
    picture.add_argument("--depth", type=count, metavar="N", help="and at most N moves deep")


def run(args: argparse.Namespace) -> int:
    import gamedsl
    from gamedsl.diagnostics import CompileError
    from gamedsl.diagnostics.render import render
    from gamedsl.ir.evaluate import EvaluationError
    from gamedsl.view.game.views import Views, check_suffix

    try:
        check_suffix(Path(args.output or ""))
        with progress(f"checking {args.file}"):
            game = gamedsl.load(args.file, read_params(args.param))
    except CompileError as error:
        print(render(error.diagnostics, "pretty", use_colour(sys.stderr)), file=sys.stderr)
        return PROBLEMS
    except ValueError as error:
        return _usage(str(error))
    try:
        return _show(Views(game, args.limit, args.depth), args)
    except ValueError as error:
        return _usage(str(error))
    except EvaluationError as error:
        print(f"gamedsl show: the rules fail: {error}", file=sys.stderr)
        return PROBLEMS


def _show(shown: Views, args: argparse.Namespace) -> int:
    from gamedsl.view.game.views import VIEWS

    views: tuple[View, ...] = shown.fitting if args.view is None else (args.view,)
    if args.view == "all":
        absent = {"table"} if shown.table is None else set()
        absent |= set() if shown.listed else {"tree"}
        views = tuple(view for view in VIEWS if view not in absent)
    return _pictures(shown, views, args) if args.output else _texts(shown, views, args)


def _texts(shown: Views, views: tuple[View, ...], args: argparse.Namespace) -> int:
    from gamedsl.tables.text import rendered

    width = args.width
    if width is None and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    colour, encoding = use_colour(sys.stdout), sys.stdout.encoding
    with progress(f"drawing {shown.game.name}"):
        parts = [
            rendered(shown.text(view), width=width, colour=colour, encoding=encoding)
            for view in views
        ]
    print("\n\n".join(parts))
    if args.view is None and shown.hint:
        print(f"\n{shown.hint}")
    return CLEAN


def _pictures(shown: Views, views: tuple[View, ...], args: argparse.Namespace) -> int:
    """Write one picture, or one for each view where all are asked for."""
    from gamedsl.view.game.views import PAGE

    if args.view != "all":
        views = views[:1]
    for view in views:
        with progress(f"drawing {shown.game.name}"):
            drawn = shown.picture(view, args.width or PAGE)
        if args.output == "-":
            print_document(drawn)
            continue
        path = Path(args.output)
        if len(views) > 1:
            path = path.with_name(f"{path.stem}-{view}{path.suffix or '.svg'}")
        write_output(path, drawn)
        print(f"{path}: the {view} of {shown.game.name}")
    return CLEAN


def _usage(message: str) -> int:
    print(f"gamedsl show: {message}", file=sys.stderr)
    return USAGE
