"""`gamedsl replay`: holds a transcript against the game and prints it for people.

Every episode of the file is played again. A disagreement is one line on the error stream, with the
transcript's line; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, use_colour

if TYPE_CHECKING:
    from gamedsl.runtime.game import Game
    from gamedsl.runtime.transcripts import Transcript

HELP = (
    "Verify a transcript against a game and print it. FILE is a path or the name of a shipped "
    "game; TRANSCRIPT is a file of JSON lines."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a path or a shipped name")
    parser.add_argument("transcript", metavar="TRANSCRIPT", type=Path, help="JSON lines")
    parser.add_argument(
        "--param", action="append", default=[], metavar="K=V",
        help="set a param; may be repeated (default: as the transcript says)",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="print the last line only")


def run(args: argparse.Namespace) -> int:
    from gamedsl.runtime.transcripts import TranscriptError, read

    try:
        params = _params(args.param)
        text = args.transcript.read_text(encoding="utf-8")
    except (ValueError, OSError) as error:
        return _usage(getattr(error, "strerror", None) or str(error), args.transcript)
    games: dict[str, Game | None] = {}
    total = wrong = 0
    try:
        for transcript in read(text):
            game = _game(args.file, params, transcript, games)
            if game is None:
                return PROBLEMS
            total += 1
            wrong += not _verified(game, transcript, args)
    except TranscriptError as error:
        total, wrong = total + 1, wrong + 1
        _complain(args.transcript, error.line, error.message)
    except ValueError as error:
        return _usage(str(error))
    episodes = f"{total} episode{'s' if total != 1 else ''}"
    found = f"{wrong} disagree" if wrong else "ok"
    print(f"{args.transcript}: {episodes}, {found}" if total else f"{args.transcript}: no episodes")
    return PROBLEMS if wrong or not total else CLEAN


def _game(
    file: str, params: dict[str, str], transcript: Transcript, games: dict[str, Game | None]
) -> Game | None:
    """The game with the params of the transcript; None, with its problems printed, where it does
    not compile. ValueError: the file is no game."""
    from gamedsl.runtime.replay import params_of

    found = _compiled(file, params, games)
    if found is None or params or found.hash == transcript.head["hash"]:
        return found
    meant = params_of(found, transcript)
    return _compiled(file, meant, games, quietly=True) or found if meant else found


def _compiled(
    file: str, params: dict[str, Any], games: dict[str, Game | None], *, quietly: bool = False
) -> Game | None:
    """A game, compiled once for each choice of params."""
    import gamedsl
    from gamedsl.diagnostics import CompileError
    from gamedsl.diagnostics.render import render

    key = repr(sorted(params.items()))
    if key not in games:
        try:
            games[key] = gamedsl.load(file, params)
        except CompileError as error:
            games[key] = None
            if not quietly:
                shown = render(error.diagnostics, "pretty", use_colour(sys.stderr))
                print(shown, file=sys.stderr)
    return games[key]


def _verified(game: Game, transcript: Transcript, args: argparse.Namespace) -> bool:
    from gamedsl.runtime.replay import replay

    played = replay(game, transcript)
    if not args.quiet:
        print(f"{played.text}\n")
    for fault in played.faults:
        _complain(args.transcript, fault.line, str(fault))
    return not played.faults


def _complain(path: Path, line: int, message: str) -> None:
    sys.stdout.flush()
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)
    print(f"{path}:{line}: error: {shown}", file=sys.stderr)


def _params(given: list[str]) -> dict[str, str]:
    """`--param k=v` as a map. ValueError for what is not of that form."""
    from gamedsl.commands.prompts import _params

    return _params(given)


def _usage(message: str, path: Path | None = None) -> int:
    place = f"{path}: " if path is not None else ""
    print(f"gamedsl replay: {place}{message}", file=sys.stderr)
    return USAGE
