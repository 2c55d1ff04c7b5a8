"""The package or script that `gamedsl export` writes for a peer of `gamedsl.export.table`.

Its files are those of `packages/NAME`, with the game's own words in place of `$game` and the like,
and a copy of the game with the files that it names. The code in it is a few lines: what it does is
in the peer's module here, so a package that was written once keeps up with both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from string import Template

from gamedsl.calls.files import files_of
from gamedsl.export.peer_play import PeerGame
from gamedsl.export.table import Peer
from gamedsl.runtime.game import Game
from gamedsl.storage import writer
from gamedsl.storage.reader import read_bytes, read_text

PACKAGES = Path(__file__).parent / "packages"
SUFFIX = ".in"
"""The ending of the files of `packages`, so that no tool takes them for what they will be."""

MAX_BYTES = 1 << 26
"""The most bytes of a file that is copied."""


def write_package(
    game: Game,
    peer: Peer,
    folder: Path,
    held: Iterable[str] = (),
    against: Iterable[str] = (),
    params: Mapping[str, str] | None = None,
    tokenizer: str = "",
) -> list[Path]:
    """Writes the package of a game for a peer into a folder, and returns its files.

    `held` and `against` are as in `PeerGame`, and `params` those with which the game was loaded.
    `tokenizer` names the model in whose tokens the package counts limits.
    Files of the same names are replaced, others stay. Raises as `PeerGame`.
    """
    held, against = tuple(held), tuple(against)
    if peer.single:
        table = PeerGame.of_one(game, ",".join(held), against)
    else:
        table = PeerGame(game, held, against)
    words = _words(table, peer, against, params or {}, tokenizer)
    written = []
    for name, text in _filled(PACKAGES / peer.name, words, closed=not table.in_words):
        writer.write_text(folder / name, text)
        written.append(folder / name)
    for source, name in _copied(game):
        path = folder / words["module"] / "game" / name
        writer.write_bytes(path, read_bytes(source, limit=MAX_BYTES))
        written.append(path)
    return written


def module_of(game: Game, peer: Peer) -> str:
    """Returns the name of the Python package that holds a game for a peer."""
    return f"{game.name}_{peer.name}"


def _words(
    table: PeerGame, peer: Peer, against: tuple[str, ...], params: Mapping[str, str],
    tokenizer: str,
) -> dict[str, str]:  # fmt: skip
    """Returns what stands for each `$name` of the files."""
    game, module = table.game, module_of(table.game, peer)
    calls = [file.path.name for file in files_of(game.ir.functions)]
    options = []
    if against:
        options.append(f"against={_literal(list(against))}")
    if params:
        options.append(f"params={_literal(dict(params))}")
    if calls:
        options.append(f"calls=[{', '.join(f'FOLDER / {_literal(name)}' for name in calls)}]")
    if tokenizer:
        options.append(f"tokenizer={_literal(tokenizer)}")
    others = [f"{seat}: {spec}" for seat, spec in table.players.items()]
    about = game.ir.about or f"The game {game.name}."
    return {
        "game": game.name,
        "about": about,
        "module": module,
        "project": module.replace("_", "-"),
        "file": _literal(game.files[0].name),
        "seat": table.held[0],
        "held": ", ".join(table.held),
        "others": f"; players of gamedsl hold the others: {', '.join(others)}" if others else "",
        "seats": _literal(list(table.held)),
        "options": "".join(f", {option}" for option in options),
        "extra": peer.needs.extra,
        "library": peer.needs.library,
        "low": peer.needs.low,
        "below": peer.needs.below,
        "hash": game.hash,
        "Game": "".join(part.capitalize() for part in game.name.split("_")),
    }


def _literal(value: object) -> str:
    """Returns texts, or lists and maps of them, as Python writes them."""
    return json.dumps(value, ensure_ascii=False)


def _filled(folder: Path, words: Mapping[str, str], *, closed: bool) -> Iterator[tuple[str, str]]:
    """Yields the files of a package by name. A folder `module` has the package's name; those in
    `closed` are of closed games alone, and those in `words` of all others."""
    skipped = "words/" if closed else "closed/"
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        name = path.relative_to(folder).as_posix().removesuffix(SUFFIX)
        if name.startswith(skipped):
            continue
        name = name.removeprefix("closed/").removeprefix("words/")
        name = name.replace("module/", f"{words['module']}/")
        yield name, Template(read_text(path, limit=MAX_BYTES)).substitute(words)


def _copied(game: Game) -> Iterator[tuple[Path, str]]:
    """Yields the files of a game, and those of the functions that it calls, with their names."""
    for file in reversed(game.files):  # the game itself last: a base may have its name
        yield file, file.name
    yield from game.named_files()
    for call in files_of(game.ir.functions):
        yield call.path, call.path.name
