"""No error follows from another one: a misspelt word is one error, wherever it stands."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

from gamedsl.compiler import check_names, compile_file
from gamedsl.diagnostics import Diagnostic

GAMES = Path(__file__).parents[2] / "games"

STRIDE = 16
"""Of the words of the shipped games, one in so many is misspelt."""

_WORD = re.compile(r"(?<![\w.$])[A-Za-z_]\w+")


def _errors(path: Path) -> list[Diagnostic]:
    return [d for d in check_names(path).diagnostics if d.severity == "error"]


def _words(text: str) -> list[re.Match[str]]:
    """Returns the words between a game's roles and its prompts, less those in comments."""
    end = text.find("\nprompts:")
    found = _WORD.finditer(text, max(0, text.find("roles:")), len(text) if end < 0 else end)
    return [m for m in found if "#" not in text[text.rfind("\n", 0, m.start()) : m.start()]]


def test_one_misspelling_is_one_error(tmp_path: Path) -> None:
    """A letter is left out of a word of a shipped game; what is left may be another name of the
    file, which is then told twice. At most one misspelling in a hundred gives a second error."""
    for folder in ("data", "words"):
        shutil.copytree(GAMES / folder, tmp_path / folder)
    several: list[str] = []
    tried = 0
    for game in sorted(GAMES.glob("*.yaml")):
        text = game.read_text(encoding="utf-8")
        path = tmp_path / game.name
        for word in _words(text)[::STRIDE]:
            short = word[0][:-1] if len(word[0]) > 2 else word[0] + word[0][-1]
            path.write_text(text[: word.start()] + short + text[word.end() :], encoding="utf-8")
            found = _errors(path)
            tried += 1
            if len(found) > 1:
                codes = Counter(d.code for d in found)
                several.append(f"{game.name}: {word[0]} as {short}: {dict(codes)}")
        path.write_text(text, encoding="utf-8")  # another game may extend it
    assert tried > 250
    assert len(several) <= tried // 100, "\n".join(several)


def _codes(text: str, tmp_path: Path) -> list[str]:
    path = tmp_path / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return [d.code for d in compile_file(path).diagnostics if d.severity == "error"]


HEAD = "game: case\nroles: [ann, bob]\n"


def test_a_misspelt_key_is_not_missing_too(tmp_path: Path) -> None:
    text = HEAD + "turns:\n  - {rol: all, choose: move, from: [up, down]}\npayoffs: 1\n"
    assert _codes(text, tmp_path) == ["GD0101"]


def test_fields_of_nobodys_reply_are_forgiven(tmp_path: Path) -> None:
    text = (
        HEAD + "turns:\n  - repeat: 2\n    until: said.verdict == approve\n    turns:\n"
        "      - {role: bobb, say: said, read: {verdict: [approve, revise]}, max_tokens: 9}\n"
        "payoffs: 1\n"
    )
    assert _codes(text, tmp_path) == ["GD0320"]


def test_independent_errors_both_stay(tmp_path: Path) -> None:
    text = (
        HEAD + "turns:\n  - {role: all, choose: move, from: [up, down]}\n"
        "payoffs: {ann: 1 if move.ann == upp else 0, bob: 1 + true}\n"
    )
    assert _codes(text, tmp_path) == ["GD0301", "GD0305"]


def test_options_that_leak_are_not_also_missing(tmp_path: Path) -> None:
    """Whether an option is left depends on the secret; once nothing does, it may be otherwise."""
    text = (
        HEAD + "types: {Coin: [heads, tails, edge]}\nturns:\n"
        "  - {deal: coin, from: Coin, seen_by: owner}\n"
        "  - {role: ann, choose: claim, from: Coin}\n"
        "  - {role: bob, choose: guess, "
        'from: "[c for c in Coin if c != coin.ann and c != coin.bob and c != claim]"}\n'
        "payoffs: {ann: 0, bob: 1 if guess == claim else 0}\n"
    )
    assert _codes(text, tmp_path) == ["GD0440"]


def test_a_wrong_test_is_one_error(tmp_path: Path) -> None:
    """What the test would have proved is not known: nothing is said of what stands under it."""
    text = (
        HEAD + "types: {Bid: 1..3}\nstate: {last: none}\nturns:\n"
        "  - each: cycle(roles)\n    at_most: 4\n    choose: bid\n"
        '    from: "[b for b in Bid if lasst == none or b > last]"\n'
        "  - {do: last = 1}\npayoffs: 1\n"
    )
    assert _codes(text, tmp_path) == ["GD0301"]
