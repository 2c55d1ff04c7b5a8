"""`gamedsl new`: a game file to begin with, from one of the starters.

A starter is a valid game file of `gamedsl/starters`; its first line says what it is. Exit codes: 0
written, 2 usage.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from gamedsl.cli import CLEAN, USAGE
from gamedsl.storage.reader import read_text

HELP = "Write a game file to begin with: NAME.yaml, valid and ready to train, from a template."

STARTERS = Path(__file__).parent.parent / "starters"

DEFAULT = "matrix"

_GAME = re.compile(r"^game: .*$", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,199}")


def configure(parser: argparse.ArgumentParser) -> None:
    content = parser.add_argument_group("what is written")
    parser.add_argument(
        "name", nargs="?", metavar="NAME",
        help="the name of the game, such as my_game; without it, the templates are listed",
    )  # fmt: skip
    content.add_argument(
        "--template", metavar="KIND", default=DEFAULT,
        help=f"the game to begin with: {', '.join(templates())} (default: {DEFAULT})",
    )  # fmt: skip


def templates() -> dict[str, str]:
    """Returns the starters by name, each with the sentence that says what it is."""
    found = {}
    for path in sorted(STARTERS.glob("*.yaml")):
        found[path.stem] = _read(path).partition("\n")[0].removeprefix("#").strip()
    return found


def run(args: argparse.Namespace) -> int:
    known = templates()
    if args.name is None:
        _list(known)
        return CLEAN
    if args.template not in known:
        return _usage(*_unknown(args.template, known))
    if not _NAME.fullmatch(args.name):
        return _usage(f"`{args.name}` cannot be a game's name", _better(args.name))
    path = Path(f"{args.name}.yaml")
    if path.exists() or path.is_symlink():
        return _usage(f"{path} is there already", "take another name, or move that file away")
    from gamedsl.storage.writer import write_output

    write_output(path, text_of(args.template, args.name))
    print(f"{path} is written: {known[args.template]}\n\nNext:")
    for command, what in (
        (f"gamedsl validate {path}", "check it after each change"),
        (f"gamedsl prompts {path}", "read what each role is sent"),
        (f"gamedsl play {path}", "play it yourself"),
        (f"gamedsl train {path}", "train a model on it"),
    ):
        print(f"  {command:<{len(path.name) + 18}}  # {what}")
    return CLEAN


def text_of(template: str, name: str) -> str:
    """Returns the file of a starter under the name of a new game."""
    text = _read(STARTERS / f"{template}.yaml")
    return _GAME.sub(f"game: {name}", text, count=1)


def _read(path: Path) -> str:
    return read_text(path, limit=1 << 16)


def _list(known: dict[str, str]) -> None:
    width = max(map(len, known))
    for name, about in known.items():
        print(f"  {name:<{width}}  {about}")
    print(f"\nWrite one: gamedsl new my_game --template {DEFAULT}")


def _unknown(template: str, known: dict[str, str]) -> tuple[str, str]:
    from gamedsl.diagnostics.suggest import did_you_mean

    near = did_you_mean(template, known)
    fix = f"did you mean `--template {near}`?" if near else f"there are {', '.join(known)}"
    return f"there is no template `{template}`", fix


def _better(name: str) -> str:
    """Returns the advice for a name that no file may have."""
    stem = re.sub(r"\.ya?ml$", "", Path(name).name.lower())
    better = re.sub(r"[^a-z0-9]+", "_", stem).strip("_")
    if not _NAME.fullmatch(better):
        return "take small letters, digits and `_`, a letter first, such as my_game"
    return f"write `gamedsl new {better}`: small letters, digits and `_`, a letter first"


def _usage(fact: str, fix: str) -> int:
    print(f"gamedsl new: {fact}\n  fix: {fix}", file=sys.stderr)
    return USAGE
