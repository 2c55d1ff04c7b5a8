"""The command `gamedsl`: finds the command's module and calls it.

A command is one module of `gamedsl.commands`, imported only when it is called; what each needs it
imports itself, so that `validate` never waits for `train`. Exit codes: 0 clean, 1 problems,
2 usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from gamedsl.collector import skip_last_collection
from gamedsl.storage.bytecode import keep_bytecode

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

COMMANDS: dict[str, str] = {
    "new": "write a game file to begin with, from a template",
    "games": "list the shipped games and yours, by tags",
    "validate": "check files and say what is wrong, with places and remedies",
    "fmt": "lay files out; comments and meaning stay",
    "completion": "print the script by which your shell completes commands, flags and names",
    "schema": "print the JSON Schema by which editors complete and check files",
    "explain": "print the long form of a diagnostic code",
    "calls": "list the functions that games may call, with their signatures",
    "prompts": "print what each role is shown",
    "show": "draw a game: payoff table, tree, turn program, who sees what",
    "solve": "find equilibria, values and optimal play, with the regret of every answer",
    "compile": "write a checked game as JSON, for programs in other languages",
    "export": "write a game for Gambit, or as a package for other libraries' loops",
    "import": "make a game file of Gambit's .efg or .nfg, or of a game of OpenSpiel",
    "replay": "verify a transcript against its game and print it",
    "play": "play a game yourself, at the terminal",
    "studio": "serve pages in which to read, write, play and replay games",
    "train": "train language models to play",
    "sweep": "train with each value of some settings and each seed",
    "report": "write the page of a run anew, or compare several",
    "push": "write a run as a model card folder, and upload it to the Hugging Face Hub",
    "eval": "play matches between players, runs and models; exploitability, leaderboards",
    "lsp": "serve an editor: problems, fixes, hover, completion, definition, outline",
    "mcp": "serve tools to coding assistants: validate, explain, prompts, solve, play",
}
EXAMPLES: dict[str, tuple[str, str]] = {
    "new": ("new my_game --template auction", "tutorial/first-game.md"),
    "games": ("games --tag bluffing", "gallery/index.md"),
    "validate": ("validate kuhn_poker --report text", "validate.md"),
    "fmt": ("fmt my_game.yaml --diff", "format.md"),
    "completion": ("completion bash", "completion.md"),
    "explain": ("explain GD0414", "validate.md"),
    "schema": ("schema game", "editors.md"),
    "calls": ("calls", "calls.md"),
    "prompts": ('prompts kuhn_poker --at "card=Q, open=bet"', "concepts/labels.md"),
    "show": ("show kuhn_poker --view tree -o kuhn.svg", "show.md"),
    "solve": ("solve kuhn_poker --save kuhn.json", "solve.md"),
    "compile": ("compile kuhn_poker -o kuhn.json", "versions.md"),
    "export": ("export kuhn_poker -o kuhn.efg", "how-to/export.md"),
    "import": ("import poker.efg -o poker.yaml", "gambit.md"),
    "replay": ("replay kuhn_poker plays/kuhn_poker-1.jsonl", "how-to/play.md"),
    "play": ("play kuhn_poker --against equilibrium", "how-to/play.md"),
    "studio": ("studio games runs", "how-to/studio.md"),
    "train": ("train stag_hunt --steps 20", "training/index.md"),
    "sweep": ("sweep stag_hunt --set lr=0.01,0.1 --seeds 0,1,2", "how-to/sweep.md"),
    "report": ("report runs/first runs/second", "how-to/read-a-report.md"),
    "push": ("push runs/first -o card", "training/runs.md"),
    "eval": ("eval minimax random --game tic_tac_toe", "eval.md"),
    "lsp": ("lsp", "editors.md"),
    "mcp": ("mcp", "assistants.md"),
}
"""An example of each command, and the page that tells more, in `docs`."""

VERSIONS = (
    "torch", "transformers", "peft", "vllm", "numpy", "scipy", "rich", "pygls", "mcp", "open_spiel",
    "pettingzoo",
)  # fmt: skip
"""Packages of extras that `--version` names where they are installed."""

OF_GAMES = (
    "validate", "calls", "prompts", "show", "solve", "compile", "export", "replay", "play", "train",
    "sweep", "eval",
)  # fmt: skip
"""The commands that read games, and so may be told of files with functions for them."""

GAME = "the game"
"""The group of a command's options about its game, in its help."""

CLEAN, PROBLEMS, USAGE, INTERRUPTED = 0, 1, 2, 130


class _HelpFormatter(argparse.HelpFormatter):
    """Wraps paragraphs, and keeps the lines of texts of several lines."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        lines = text.split("\n")
        if len(lines) == 1:
            return super()._split_lines(text, width)
        return [part for line in lines for part in textwrap.wrap(line, width)]

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class _Parser(argparse.ArgumentParser):
    """argparse whose complaints are one line and a hint."""

    def error(self, message: str) -> NoReturn:
        hint = self._similar(message)
        sys.stderr.write(f"{self.prog}: {message}{hint}\nusage: {self.format_usage()[7:]}")
        raise SystemExit(USAGE)

    def _similar(self, message: str) -> str:
        """Returns a question after the flag, or the choice of a flag, that a misspelt one
        resembles; empty for none."""
        from gamedsl.diagnostics.suggest import did_you_mean

        choice = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message)
        if choice:
            near = did_you_mean(choice[1], re.split(r"[ ,']+", choice[2]))
        else:
            head, _, rest = message.partition("unrecognized arguments: ")
            given = rest.split(" ")[0].partition("=")[0]
            if head or not given.startswith("--"):
                return ""
            near = did_you_mean(given, (f for f in self._option_string_actions if f[:2] == "--"))
        return f"; did you mean `{near}`?" if near else ""

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Writes the help as argparse does; a stream that fails is no success."""
        (sys.stdout if file is None else file).write(self.format_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. An interruption, a file or a stream that the system
    refuses, and a lack of memory are a line of text; only a defect of gamedsl is a traceback."""
    if argv is None:  # the process is ours, so its imports are too
        keep_bytecode()
    from gamedsl.commands import _streams as streams

    if argv is None and "_ARGCOMPLETE" in os.environ:
        import_module("gamedsl.commands._completion").answer(COMMANDS, configured)
    arguments = list(sys.argv[1:] if argv is None else argv)
    skip_last_collection()
    try:
        streams.prepare()
        with streams.visible():
            code = _exit_code(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        streams.discard_output()
        return PROBLEMS
    except OSError as error:
        return _refuse(error, arguments)
    except MemoryError:
        _complain(arguments, "there is not enough memory", "make the sizes smaller, or free some")
        return USAGE


def _exit_code(arguments: list[str]) -> int:
    try:
        return _dispatch(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE


def _refuse(error: OSError, arguments: list[str]) -> int:
    """Says which file or stream the system refuses, and why; raises the error again where it is
    about neither, or about a file of gamedsl's own."""
    from gamedsl.commands import _streams as streams
    from gamedsl.storage.refusals import OF_STREAMS, WriteRefused, reason, remedy

    if error.filename is not None:
        file = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
        if Path(__file__).parent in Path(str(file)).parents:
            raise error
        verb = "cannot be written" if isinstance(error, WriteRefused) else "cannot be used"
        _complain(arguments, f"{file} {verb}: {reason(error)}", remedy(error))
    elif error.errno == errno.ENOENT and not _has_folder():
        _complain(arguments, "the current folder was deleted", "change to another folder")
    elif error.errno in OF_STREAMS:
        streams.discard_output()
        fix = "send the output to a file, or to /dev/null"
        _complain(arguments, f"standard output cannot be written: {reason(error)}", fix)
    else:
        raise error
    return USAGE


def _has_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _complain(arguments: list[str], message: str, fix: str) -> None:
    """Prints a message of two lines; nowhere, where the error stream cannot be written either."""
    from gamedsl.commands import _streams as streams

    command = f"gamedsl {arguments[0]}" if arguments and arguments[0] in COMMANDS else "gamedsl"
    with suppress(OSError), streams.visible():
        print(f"{command}: {message}\n  fix: {fix}", file=sys.stderr, flush=True)


def _dispatch(argv: list[str]) -> int:
    if not argv:
        sys.stderr.write(_usage())
        return USAGE
    name, rest = argv[0], argv[1:]
    if name in ("-h", "--help", "help"):
        if name == "help" and rest:
            return _dispatch([rest[0], "--help"])
        sys.stdout.write(_usage())
        return CLEAN
    if name in ("-V", "--version"):
        sys.stdout.write(_versions())
        return CLEAN
    if name not in COMMANDS:
        return _unknown(name)
    parser = _Parser(prog=f"gamedsl {name}", formatter_class=_HelpFormatter)
    run = configured(name, parser)
    given = parser.parse_args(list(map(_checked, rest)))
    if name in OF_GAMES and not _allow_calls(name, given.call_files):
        return USAGE
    if "json" in (getattr(given, "format", None), getattr(given, "report", None)):
        from gamedsl.commands._streams import write_exactly

        write_exactly()
    return run(given)


def configured(name: str, parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Gives a parser the arguments and the help of a command; returns what runs the command."""
    module = f"{name}_" if iskeyword(name) else name
    command = import_module(f"gamedsl.commands.{module}")
    parser.description = command.HELP
    command.configure(parser)
    parser.epilog = "\n\n".join(part for part in (parser.epilog, _epilog(name)) if part)
    if name in OF_GAMES:
        add_calls(parser)
    run: Callable[[argparse.Namespace], int] = command.run
    return run


def _epilog(command: str) -> str:
    example, page = EXAMPLES[command]
    return f"example:\n  gamedsl {example}\n\nmore: docs/{page}"


def _versions() -> str:
    """Returns what is installed, a line each; nothing of it is imported."""
    from importlib.metadata import PackageNotFoundError, version
    from platform import platform, python_version

    from gamedsl import __version__

    lines = [f"gamedsl {__version__}", f"Python {python_version()} on {platform()}"]
    for package in VERSIONS:
        with suppress(PackageNotFoundError):
            lines.append(f"{package} {version(package)}")
    return "\n".join(lines) + "\n"


def _checked(argument: str) -> str:
    """The argument. Raises SystemExit, with a message, for one that can be no text of ours."""
    if "\0" in argument:
        fix = "leave it out: no name and no number has one"
        raise _stop(f"{argument!r} has a NUL character", fix)
    if any("\ud800" <= sign <= "\udfff" for sign in argument):
        fix = "rename the file, or set a UTF-8 locale, such as LC_ALL=C.UTF-8"
        raise _stop(f"{argument!r} is no text in this locale", fix)
    return argument


def _stop(message: str, fix: str) -> SystemExit:
    sys.stderr.write(f"gamedsl: {message}\n  fix: {fix}\n")
    return SystemExit(USAGE)


def _usage() -> str:
    rows = "".join(f"  {name:<10} {what}\n" for name, what in COMMANDS.items())
    return (
        "usage: gamedsl COMMAND ...\n\n"
        "Games in YAML that language models learn to play.\n\n"
        f"commands:\n{rows}\n"
        "`gamedsl COMMAND --help` says more; `gamedsl --version` prints the version.\n"
    )


def _unknown(name: str) -> int:
    from gamedsl.diagnostics.suggest import did_you_mean

    near = did_you_mean(name, COMMANDS)
    if near:
        fix = f"did you mean `gamedsl {near}`?"
    elif name.endswith((".yaml", ".yml")):
        fix = f"did you mean `gamedsl validate {name}`?"
    else:
        fix = f"known: {', '.join(COMMANDS)}"
    sys.stderr.write(f"gamedsl: there is no command `{name}`; {fix}\n")
    return USAGE


def use_colour(stream: object) -> bool:
    """Whether to write colours: only to a terminal, and not where NO_COLOR is set."""
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty()) and not os.environ.get("NO_COLOR")


def game_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Returns the group of a command's options about its game, made when it is first asked for."""
    groups = {group.title: group for group in parser._action_groups}
    return groups.get(GAME) or parser.add_argument_group(GAME)


def add_params(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Let a command take params; `more` is added to the help."""
    game_options(parser).add_argument(
        "--param",
        action="append",
        default=[],
        metavar="K=V",
        help=f"set a param; may be repeated{more}",
    )


def add_calls(parser: argparse.ArgumentParser) -> None:
    """Let a command execute files that bring functions for games."""
    game_options(parser).add_argument(
        "--allow-calls",
        action="append",
        default=[],
        metavar="FILE.py",
        dest="call_files",
        help="execute this Python file, whose functions the game may then call; may be repeated",
    )


def _allow_calls(command: str, files: Iterable[str]) -> bool:
    """Executes files of functions; False, with a message, where one cannot be used."""
    for file in files:
        from gamedsl.calls.files import CallFileError, allow_calls

        try:
            allow_calls(file)
        except CallFileError as error:
            sys.stderr.write(f"gamedsl {command}: {error.fact}\n  fix: {error.fix}\n")
            return False
    return True


def read_params(given: Iterable[str]) -> dict[str, str]:
    """The params as a map of text. Raises ValueError for one that is not `name=value`."""
    params = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"`--param {item}` is not of the form name=value")
        params[name.strip()] = value.strip()
    return params
