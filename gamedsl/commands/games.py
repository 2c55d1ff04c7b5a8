"""`gamedsl games`: the shipped games and those of folders, with tags.

Tags are features that are read off a game's program (`gamedsl.ir.features`), the number of its
seats, such as `2-seats`, and the theme of a shipped game. Nothing is proved. Exit codes: 0 listed,
1 no game has the tags, 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, use_colour
from gamedsl.ir.features import FEATURES, features
from gamedsl.tables.model import Cell, Column, Table, text_columns

HELP = "List the shipped games, and those in FOLDERs, with tags: gamedsl games --tag bluffing"


class Theme(NamedTuple):
    """A group of shipped games: the heading of the gallery, and the names."""

    title: str
    games: tuple[str, ...]


THEMES: dict[str, Theme] = {
    "one-shot": Theme("One choice each", (
        "stag_hunt", "stag_hunt_n", "prisoners_dilemma", "chicken", "battle_of_the_sexes",
        "matching_pennies", "rock_paper_scissors", "biased_rock_paper_scissors",
        "pure_coordination", "public_goods", "colonel_blotto",
    )),
    "repeated": Theme("Several rounds", (
        "repeated_prisoners_dilemma", "iterated_prisoners_dilemma", "repeated_stag_hunt",
        "centipede", "commons",
    )),
    "bargaining": Theme("Bargains and auctions", (
        "ultimatum", "ultimatum_n", "first_price_auction", "bargaining", "bargaining_in_words",
        "negotiation", "deal_or_no_deal", "serial_dictatorship",
    )),
    "bluffing": Theme("Cards, dice and bluffs", (
        "kuhn_poker", "kuhn_poker_n", "kuhn_poker_thinking", "kuhn_poker_tools", "leduc_poker",
        "liars_dice", "goofspiel", "blackjack", "battleship",
    )),
    "cooperation": Theme("Signals and teams", (
        "lewis_signaling", "advice", "trade_comm", "running_total", "information_cascade", "jury",
        "tiny_hanabi", "small_hanabi", "small_hanabi_told", "small_hanabi_thinking",
        "small_hanabi_tools", "hanabi", "hanabi_thinking", "hanabi_tools", "spread", "pursuit",
    )),
    "boards": Theme("Boards", (
        "tic_tac_toe", "connect_four", "nim", "hex", "dark_hex", "y", "go", "nine_mens_morris",
    )),
    "hidden-roles": Theme("Hidden roles and villages", ("werewolf", "village")),
    "debate": Theme("Debates, judges and writing", (
        "debate", "debate_by_rule", "consensus_debate", "generator_judge", "writing_contest",
        "proposer_solver",
    )),
    "questions": Theme("Questions, tools and code", (
        "guess_the_number", "guess_in_words", "twenty_questions", "twenty_questions_by_attributes",
        "tool_agent", "support", "code_team",
    )),
}  # fmt: skip
"""Every shipped game, in one theme, by tag; a test notices an omission."""


@dataclass(frozen=True)
class Listed:
    """A game of the list: its name, the name or path that commands take, tags, and its `about`, or
    the first problem of a file that is none. `seats` is 0 there, and `in_words` false."""

    name: str
    file: str
    seats: int
    in_words: bool
    tags: tuple[str, ...]
    about: str
    problem: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    games = parser.add_argument_group("which games")
    output = parser.add_argument_group("output")
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER",
        help="folders with games of yours (default: this one, and its folder games)",
    )  # fmt: skip
    games.add_argument(
        "--tag", action="append", default=[], metavar="TAG", dest="tags",
        help="list the games that have this tag; may be repeated",
    )  # fmt: skip
    output.add_argument(
        "--format", choices=("text", "json"), default="text",
        help="for people, or for programs (default: text)",
    )  # fmt: skip
    tags = tag_meanings()
    width = max(map(len, tags))
    rows = "\n".join(f"  {tag:<{width}}  {meaning}" for tag, meaning in tags.items())
    parser.epilog = f"tags, with the number of seats, such as 2-seats:\n{rows}"


def tag_meanings() -> dict[str, str]:
    """Returns the tags that do not depend on a game, each with its meaning."""
    return {tag: theme.title for tag, theme in THEMES.items()} | FEATURES | {"own": "not shipped"}


def run(args: argparse.Namespace) -> int:
    for folder in args.folders:
        if not folder.is_dir():
            print(f"gamedsl games: {folder} is no folder", file=sys.stderr)
            print("  fix: name a folder that holds game files", file=sys.stderr)
            return USAGE
    found = list(_games(args.folders or [Path(), Path("games")]))
    if unknown := [tag for tag in args.tags if tag not in known_tags(found)]:
        return _unknown(unknown[0], found)
    chosen = [game for game in found if set(args.tags) <= set(game.tags)]
    if args.format == "json":
        print(json.dumps([asdict(game) for game in chosen], indent=2, ensure_ascii=False))
    else:
        _print(chosen)
    return CLEAN if chosen else PROBLEMS


def known_tags(found: list[Listed]) -> list[str]:
    """Returns the tags of games, each once, in alphabetical order."""
    return sorted({tag for game in found for tag in game.tags})


def _games(folders: list[Path]) -> Iterator[Listed]:
    """The shipped games by theme, then those of folders; a shipped file is listed once."""
    from gamedsl.frontend.source.loader import display_name
    from gamedsl.sema.library import resolve_argument
    from gamedsl.storage.shipped import shipped_folder

    shipped = {name: tag for tag, theme in THEMES.items() for name in theme.games}
    for name, theme in shipped.items():
        yield listed(shipped_folder() / "games" / f"{name}.yaml", name, (theme,))
    seen = {(shipped_folder() / "games" / f"{name}.yaml").resolve() for name in shipped}
    for folder in folders:
        for path in sorted(folder.glob("*.yaml")):
            if path.resolve() not in seen and _is_game(path):
                seen.add(path.resolve())
                yield listed(path, display_name(resolve_argument(str(path))), ("own",))


def _is_game(path: Path) -> bool:
    from gamedsl.sema.library import kind_of_file

    return kind_of_file(path) == "game"


def listed(path: Path, file: str, more: tuple[str, ...]) -> Listed:
    """Returns the row of a game's file; `more` are tags besides those that are read off it."""
    from gamedsl.compiler import check_names

    result = check_names(path)
    if result.ir is None:
        errors = [found for found in result.diagnostics if found.severity == "error"]
        problem = errors[0].message if errors else "no game"
        return Listed(path.stem, file, 0, False, more, "", problem)
    ir = result.ir
    seats = f"{len(ir.seats)}-seat{'s' if len(ir.seats) != 1 else ''}"
    tags, about = (*more, seats, *features(ir)), " ".join(ir.about.split())
    return Listed(ir.name, file, len(ir.seats), ir.open, tags, about)


def _print(games: list[Listed]) -> None:
    from shutil import get_terminal_size

    from gamedsl.tables.text import rendered, table_lines

    rows = [
        (game.file, " ".join(game.tags), game.about or Cell(f"error: {game.problem}", "strong"))
        for game in games
    ]
    table = Table((*text_columns("game", "tags"), Column("about")), rows)
    width = get_terminal_size((120, 24)).columns if sys.stdout.isatty() else None
    lines = table_lines(table, rule=True, width=width)
    print(rendered(lines, width=width, colour=use_colour(sys.stdout)))


def _unknown(tag: str, found: list[Listed]) -> int:
    from gamedsl.diagnostics.suggest import did_you_mean

    known = known_tags(found)
    near = did_you_mean(tag, known)
    fix = f"did you mean `{near}`?" if near else f"there are {', '.join(known)}"
    print(f"gamedsl games: no game has the tag `{tag}`\n  fix: {fix}", file=sys.stderr)
    return USAGE
