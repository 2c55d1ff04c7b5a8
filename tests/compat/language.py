"""Files of version 1 of the language, and what they mean: `python -m tests.compat.language`.

    language_1/rules_hashes.json    the rules hash of each shipped game, and of each of `users/`
    language_1/users/               games that use those shipped files which no shipped game uses
    language_1/compiled/            compiled games, as the version that wrote them had them

The command adds what is not there yet, such as the hash of a new game. It changes nothing that is:
while the version of the language is 1, these files keep their meaning.
"""

from __future__ import annotations

import json
from pathlib import Path

from gamedsl.cli import main as command
from gamedsl.diagnostics import Problems
from gamedsl.frontend.source import loader
from gamedsl.ir.game import GameIR
from gamedsl.sema.game import build_game
from gamedsl.sema.library import load_document, shipped
from gamedsl.storage.shipped import shipped_folder

HERE = Path(__file__).parent / "language_1"
HASHES = HERE / "rules_hashes.json"
USERS = tuple(sorted(path.stem for path in (HERE / "users").glob("*.yaml")))
COMPILED = (
    "goofspiel", "guess_in_words", "jury", "kuhn_poker", "leduc_poker", "lewis_signaling", "nim",
    "repeated_prisoners_dilemma", "small_hanabi", "stag_hunt", "tic_tac_toe", "ultimatum",
)  # fmt: skip
"""Shipped games that use, together, each kind of step, of state and of protocol."""


def names() -> list[str]:
    """Returns the shipped games and the games of `users/`."""
    return [*shipped("game"), *USERS]


def built(name: str) -> tuple[GameIR, set[Path]]:
    """Returns a game, on which no pass has run, and the files that it was read from."""
    own = HERE / "users" / f"{name}.yaml"
    path = own if name in USERS else shipped_folder() / "games" / f"{name}.yaml"
    problems = Problems()
    with loader.recording() as files:
        document = load_document(path, problems)
        ir = None if document is None else build_game(document, {}, problems)
    assert ir is not None, [problem.message for problem in problems.found]
    return ir, {file.resolve() for file in files}


def kept_hashes() -> dict[str, str]:
    found: dict[str, str] = json.loads(HASHES.read_text("utf-8")) if HASHES.exists() else {}
    return found


def main() -> None:
    kept = kept_hashes()
    table = {name: kept.get(name) or built(name)[0].rules_hash for name in names()}
    HASHES.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    for name in COMPILED:
        out = HERE / "compiled" / f"{name}.json"
        if not out.exists():
            command(["compile", name, "-o", str(out)])


if __name__ == "__main__":
    main()
