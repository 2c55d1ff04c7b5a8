"""The command `gamedsl`: finds the command's module and calls it.

A command is one module of `gamedsl.commands`, imported only when it is called; what each needs it
imports itself, so that `validate` never waits for `train`. Exit codes: 0 clean, 1 problems,
2 usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import NoReturn

COMMANDS: dict[str, str] = {
    "validate": "check files and say what is wrong, with places and remedies",
    "explain": "print the long form of a diagnostic code",
    "prompts": "print what each role is shown",
    "show": "draw a game: payoff table, tree, turn program, who sees what",
    "solve": "find equilibria, values and optimal play, with the regret of every answer",
    "export": "write a game for another program: Gambit's .efg and .nfg",
    "import": "make a game file of Gambit's .efg or .nfg",
    "replay": "verify a transcript against its game and print it",
    "train": "train language models to play",
    "report": "write the page of a run anew, or compare several",
    "eval": "play matches between players, runs and models; exploitability, leaderboards",
}
CLEAN, PROBLEMS, USAGE, INTERRUPTED = 0, 1, 2, 130


class _Parser(argparse.ArgumentParser):
    """argparse whose complaints are one line and a hint."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"{self.prog}: {message}\nusage: {self.format_usage()[7:]}")
        raise SystemExit(USAGE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code and never lets an interruption print a traceback."""
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PROBLEMS
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE


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
        from gamedsl import __version__

        sys.stdout.write(f"gamedsl {__version__}\n")
        return CLEAN
    if name not in COMMANDS:
        return _unknown(name)
    module = f"{name}_" if iskeyword(name) else name
    command = import_module(f"gamedsl.commands.{module}")
    parser = _Parser(prog=f"gamedsl {name}", description=command.HELP)
    command.configure(parser)
    return int(command.run(parser.parse_args(rest)))


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


def add_params(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Let a command take params; `more` is added to the help."""
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="K=V",
        help=f"set a param; may be repeated{more}",
    )


def read_params(given: Iterable[str]) -> dict[str, str]:
    """The params as a map of text. Raises ValueError for one that is not `name=value`."""
    params = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"`--param {item}` is not of the form name=value")
        params[name.strip()] = value.strip()
    return params
