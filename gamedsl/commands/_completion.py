"""Completion in a shell: commands, flags, choices, shipped names, settings, codes.

argcomplete asks the parsers that the commands have anyway, so that there is no second list of
flags. The shell runs `gamedsl` for each completion; of the commands only the one is imported that
stands on its line.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping

VARIABLE = "_ARGCOMPLETE"
"""The environment variable by which the shell asks."""

Complete = Callable[..., Iterable[str]]
Configure = Callable[[str, argparse.ArgumentParser], object]


def answer(commands: Mapping[str, str], configure: Configure) -> None:
    """Writes what may follow on the shell's line, and ends the process. Returns where the library
    is missing. `configure` gives a parser the arguments of a command."""
    try:
        from argcomplete import autocomplete
    except ImportError:
        return
    words = os.environ.get("COMP_LINE", "").split()
    parser = parser_of(words[1] if len(words) > 1 else "", commands, configure)
    autocomplete(parser, always_complete_options=True)


def parser_of(
    name: str, commands: Mapping[str, str], configure: Configure
) -> argparse.ArgumentParser:
    """Returns a parser that knows all commands, and of the named one its arguments."""
    whole = argparse.ArgumentParser(prog="gamedsl")
    whole.add_argument("-V", "--version", action="store_true", help="what is installed")
    parsers = whole.add_subparsers(dest="command")
    for command, about in commands.items():
        parser = parsers.add_parser(command, help=about)
        if command == name:
            configure(command, parser)
            for action in parser._actions:
                _add_completer(command, action)
    return whole


def _add_completer(command: str, action: argparse.Action) -> None:
    """Has the values of an argument completed that are more than a list of choices."""
    complete = _COMPLETERS.get((command, action.dest)) or _COMPLETERS.get(("", action.dest))
    if complete is not None and action.choices is None:
        vars(action)["completer"] = complete  # by this name argcomplete finds it


def _games(prefix: str, **_: object) -> Iterable[str]:
    from gamedsl.sema.library import shipped

    return [*shipped("game"), *_files(prefix, (".yaml", ".yml", ".json"))]


def _checked(prefix: str, **_: object) -> Iterable[str]:
    from gamedsl.sema.library import shipped

    names = (*shipped("game"), *shipped("protocol"), *shipped("reward"))
    return [*names, *_files(prefix, (".yaml", ".yml", ".json"))]


def _own(prefix: str, **_: object) -> Iterable[str]:
    return _files(prefix, (".yaml", ".yml"))


def _files(prefix: str, endings: tuple[str, ...]) -> Iterable[str]:
    from argcomplete.completers import FilesCompleter

    found: list[str] = FilesCompleter(endings)(prefix)
    return found


def _settings(prefix: str, **_: object) -> Iterable[str]:
    """The keys of settings, each with its `=`; behind one, the words that it accepts."""
    from gamedsl.recipe.setting import specs
    from gamedsl.recipe.table import Recipe

    known = {spec.name: spec for spec in specs(Recipe)}
    key = prefix.partition("=")[0]
    if key == prefix:
        return [f"{name}=" for name in known]
    if key not in known:
        return ()
    words = ("true", "false") if known[key].kind == "truth" else known[key].choices
    return [f"{key}={word}" for word in words]


def _models(**_: object) -> Iterable[str]:
    from gamedsl.policies.names import NAMES

    return NAMES


def _players(**_: object) -> Iterable[str]:
    from gamedsl.players.table import PLAYERS

    return PLAYERS


def _codes(**_: object) -> Iterable[str]:
    from gamedsl.diagnostics.codes import codes

    return codes()


def _templates(**_: object) -> Iterable[str]:
    from gamedsl.commands.new import templates

    return templates()


def _tags(**_: object) -> Iterable[str]:
    from gamedsl.commands.games import tag_meanings

    return tag_meanings()


def _methods(**_: object) -> Iterable[str]:
    from gamedsl.solve.solver import METHODS

    return METHODS


_COMPLETERS: dict[tuple[str, str], Complete] = {
    ("", "file"): _games,
    ("", "game"): _games,
    ("validate", "files"): _checked,
    ("fmt", "files"): _own,
    ("train", "settings"): _settings,
    ("sweep", "settings"): _settings,
    ("", "model"): _models,
    ("eval", "contestants"): _players,
    ("", "against"): _players,
    ("explain", "code"): _codes,
    ("new", "template"): _templates,
    ("games", "tags"): _tags,
    ("solve", "method"): _methods,
}
"""By command and argument, or of all commands; an import's FILE is Gambit's, and not here."""
