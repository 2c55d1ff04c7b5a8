"""`gamedsl replay`: holds a transcript against the game, and prints it as a conversation.

Every episode of the file is played again. On a terminal the seats have colours, where rich is
installed; elsewhere the lines are plain. A disagreement is one line on the error stream, with the
transcript's line, and a second with the remedy, where there is one; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.storage.characters import escaped
from gamedsl.tables.text import plural

if TYPE_CHECKING:
    from gamedsl.runtime.env import Env
    from gamedsl.runtime.game import Game
    from gamedsl.runtime.transcripts import Transcript
    from gamedsl.view.conversation import Conversation

HELP = (
    "Verify a transcript against a game and print it. FILE is a path or the name of a shipped "
    "game; TRANSCRIPT is a file of JSON lines."
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_params(parser, " (default: as the transcript says)")
    output = parser.add_argument_group("output")
    parser.add_argument("file", metavar="FILE", help="a path or a shipped name")
    parser.add_argument("transcript", metavar="TRANSCRIPT", type=Path, help="JSON lines")
    output.add_argument("--prompts", action="store_true", help="print what each seat was sent, too")
    output.add_argument("--quiet", action="store_true", help="print the last line only")


def run(args: argparse.Namespace) -> int:
    from gamedsl.runtime.transcripts import TranscriptError, read_file
    from gamedsl.storage.reader import FileRefused

    try:
        params = read_params(args.param)
        transcripts = read_file(args.transcript)
    except ValueError as error:
        return _usage(str(error))
    except FileRefused as error:
        fix = "give a file of JSON lines, such as one of a run's transcripts/"
        return _usage(f"{error.strerror or error.reason}; {fix}", args.transcript)
    library = _Library(args.file, params)
    total = wrong = 0
    try:
        for transcript in transcripts:
            game = library.game(transcript)
            if game is None:
                return PROBLEMS
            total += 1
            wrong += not _verified(library.env(game, transcript), game, transcript, args)
    except TranscriptError as error:
        total, wrong = total + 1, wrong + 1
        _complain(args.transcript, error.line, error.message)
    except _NoGameError as error:
        return _usage(str(error))
    episodes = plural(total, "episode")
    found = f"{wrong} disagree" if wrong else "ok"
    print(f"{args.transcript}: {episodes}, {found}" if total else f"{args.transcript}: no episodes")
    return PROBLEMS if wrong or not total else CLEAN


class _NoGameError(Exception):
    """The file is a protocol or a reward."""


class _Library:
    """The game of a file with the params that transcripts want, each version compiled once."""

    def __init__(self, file: str, params: dict[str, Any]) -> None:
        self._file = file
        self._params = params
        self._games: dict[str, Game | None] = {}
        self._envs: dict[tuple[str, str, int], Env] = {}

    def game(self, transcript: Transcript) -> Game | None:
        """The game with the params of a transcript, or else those given; None, with its problems
        printed, where it does not compile."""
        from gamedsl.runtime.replay import params_of

        found = self._compiled(self._params)
        if found is None or self._params or found.hash == transcript.head["hash"]:
            return found
        meant = params_of(found, transcript)
        return self._compiled(meant, quietly=True) or found if meant else found

    def env(self, game: Game, transcript: Transcript) -> Env:
        """An environment with the run seed of a transcript."""
        from gamedsl.runtime.replay import game_of

        game = game_of(game, transcript)
        place = game.hash, game.ir.rows, transcript.head["run_seed"]
        if place not in self._envs:
            self._envs[place] = game.env(run_seed=transcript.head["run_seed"])
        return self._envs[place]

    def _compiled(self, params: dict[str, Any], *, quietly: bool = False) -> Game | None:
        import gamedsl
        from gamedsl.diagnostics import CompileError
        from gamedsl.diagnostics.render import render

        key = repr(sorted(params.items()))
        if key in self._games:
            return self._games[key]
        self._games[key] = None
        try:
            self._games[key] = gamedsl.load(self._file, params)
        except CompileError as error:
            if not quietly:
                shown = render(error.diagnostics, "pretty", use_colour(sys.stderr))
                print(shown, file=sys.stderr)
        except ValueError as error:
            raise _NoGameError(str(error)) from None
        return self._games[key]


def _verified(env: Env, game: Game, transcript: Transcript, args: argparse.Namespace) -> bool:
    from gamedsl.runtime.replay import replay
    from gamedsl.view.conversation import conversation_of

    played = replay(game, transcript, env)
    if not args.quiet:
        _print(conversation_of(played), prompts=args.prompts)
    for fault in played.faults:
        _complain(args.transcript, fault.line, str(fault), fault.help)
    return not played.faults


def _print(talk: Conversation, *, prompts: bool) -> None:
    from gamedsl.view.conversation import print_conversation, text_of

    if use_colour(sys.stdout):
        try:
            from rich.console import Console
        except ImportError:
            pass  # rich comes with an extra; the lines say the same
        else:
            console = Console(highlight=False)
            print_conversation(talk, console, prompts=prompts)
            console.print()
            return
    print(text_of(talk, prompts=prompts) + "\n")


def _complain(path: Path, line: int, message: str, help: str = "") -> None:
    sys.stdout.flush()
    print(f"{path}:{line}: error: {escaped(message)}", file=sys.stderr)
    if help:
        print(f"  = help: {escaped(help)}", file=sys.stderr)


def _usage(message: str, path: Path | None = None) -> int:
    place = f"{path}: " if path is not None else ""
    print(f"gamedsl replay: {place}{message}", file=sys.stderr)
    return USAGE
