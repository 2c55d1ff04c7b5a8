"""Registered functions in `valid`: what they refuse, who may ask, and whose fault is what.

What the small codenames pays is worked out here, from the words that were drawn and said.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.calls import registry
from gamedsl.cli import main
from gamedsl.compiler import compile_file
from gamedsl.diagnostics.errors import CompileError
from gamedsl.ir.evaluate import ConsultError
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read

CODENAMES = """
game: small_codenames
roles: [spymaster, guesser]
types: {Word: [apple, river, stone, cloud, horse], Verdict: [hit, deadly, neither]}
let: {board: "[w for w in Word if w != absent]"}
turns:
  - {draw: absent, from: Word, seen_by: all}
  - {draw: target, from: board, seen_by: spymaster}
  - {draw: assassin, from: "[w for w in board if w != target]", seen_by: spymaster}
  - role: spymaster
    say: clue
    read: {word: text(20), number: 1..2}
    valid:
      - {when: "not any(exact(clue.word, w) for w in board)", say: A word of the board is no clue.}
      - {when: "not exact(clue.word, clue.number)", say: Say a word.}
  - {role: guesser, choose: first, from: board, seen_by: all}
  - show: Verdict.hit if first == target else
      Verdict.deadly if first == assassin else Verdict.neither
    as: verdict
    seen_by: all
  - role: guesser
    choose: second
    from: "[w for w in board if w != first]"
    if: clue.number == 2 and verdict == neither
    seen_by: all
payoffs: -1 if first == assassin or second == assassin else
  2 if first == target else 1 if second == target else 0
respond: tag
on_invalid: {retry: 1, then: forfeit, pay: -3}
"""
WORDS = ["apple", "river", "stone", "cloud", "horse"]
LINE = """
game: case
roles: [ann, bob]
turns:
  - {draw: secret, from: [red, blue], seen_by: READERS}
  - {role: ann, say: line, max_tokens: 9, valid: "TEST"}
  - {role: bob, choose: guess, from: [red, blue]}
payoffs: 1 if guess == secret else 0
on_invalid: {then: forfeit, pay: -1}
"""


def written(folder: Path, text: str, **parts: str) -> Path:
    for name, part in parts.items():
        text = text.replace(name, part)
    path = folder / "case.yaml"
    path.write_text(text.lstrip(), encoding="utf-8")
    return path


def line(folder: Path, test: str, readers: str = "ann") -> Path:
    return written(folder, LINE, READERS=readers, TEST=test)


def codes(path: Path) -> list[str]:
    with pytest.raises(CompileError) as error:
        gamedsl.load(path)
    return [found.code for found in error.value.diagnostics]


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replaces parts of `exact` for one test."""

    def change(**parts: Any) -> None:
        found = registry.lookup("exact")
        assert found is not None
        fresh = replace(found, _kept=registry.ResultCache(), **parts)
        monkeypatch.setitem(registry._FUNCTIONS, "exact", fresh)

    return change


def test_a_small_codenames_pays_what_its_words_say(tmp_path: Path) -> None:
    """A clue of the board is refused with its own message, and so is its capital; the word that is
    not on the board is a clue. Every play is told again alike."""
    game = gamedsl.load(written(tmp_path, CODENAMES))
    env, refused = game.env(), 0
    for seed in range(100):
        rng = random.Random(seed)
        episode = env.reset(seed=seed)
        known = episode.state.variables
        absent, target, assassin = (known[name] for name in ("absent", "target", "assassin"))
        board = [word for word in WORDS if word != absent]
        number = rng.choice([1, 2])
        if rng.random() < 0.5:
            wrong = rng.choice([rng.choice(board).upper(), f" {rng.choice(board)} ", str(number)])
            episode.step({"spymaster": json.dumps({"word": wrong, "number": number})})
            told = "Say a word." if wrong.isdigit() else "A word of the board is no clue."
            assert told in episode.decisions[0].messages[-1][1]
            assert episode.seen("guesser") == env.reset(seed=seed).seen("guesser")
            refused += 1
        word = rng.choice([absent, "fruit", target[:-1]])
        episode.step({"spymaster": json.dumps({"word": word, "number": number})})
        guesses = rng.sample(board, 2)
        asked = 0
        while not episode.done:
            assert episode.decisions[0].seat == "guesser"
            episode.step({"guesser": f"<answer>{guesses[asked]}</answer>"})
            asked += 1
        first, second = guesses[0], guesses[1] if asked == 2 else None
        assert (asked == 2) == (number == 2 and first not in (target, assassin))
        pays = 0
        if assassin in (first, second):
            pays = -1
        elif target in (first, second):
            pays = 2 if first == target else 1
        assert episode.payoffs == {"spymaster": pays, "guesser": pays}
        again = replay(game, next(read(dump(episode))))
        assert not again.faults
        assert again.episode.payoffs == episode.payoffs
    assert 30 < refused < 70


def test_two_words_of_the_board_cost_the_spymaster(tmp_path: Path) -> None:
    env = gamedsl.load(written(tmp_path, CODENAMES)).env()
    episode = env.reset(seed=1)
    word = next(word for word in WORDS if word != episode.state.variables["absent"])
    for _ in range(2):
        episode.step({"spymaster": json.dumps({"word": word, "number": 1})})
    assert episode.done
    assert episode.payoffs == {"spymaster": -3, "guesser": None}


def test_proofs_try_valid_replies_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is sampled goes through the calls: where nothing passes, no play gets behind it."""
    assert main(["validate", str(line(tmp_path, "not exact(line, secret)"))]) == 0
    assert "not met" not in capsys.readouterr().out
    assert main(["validate", str(line(tmp_path, "exact(line, 1) and exact(line, 2)"))]) == 0
    assert "3 of 7 steps, branches and ends not met" in capsys.readouterr().out


def test_hidden_argument_is_refused(tmp_path: Path) -> None:
    assert gamedsl.load(line(tmp_path, "not exact(line, secret)")).hash
    assert codes(line(tmp_path, "not exact(line, secret)", "bob")) == ["GD0440"]


def test_hash_and_compiled_games_keep_the_version(tmp_path: Path, functions: Any) -> None:
    path = line(tmp_path, "not exact(line, secret)")
    game = gamedsl.load(path)
    out = tmp_path / "compiled.json"
    assert main(["compile", str(path), "-o", str(out)]) == 0
    assert gamedsl.load(out).ir == game.ir
    assert game.ir.functions == {"exact"}
    functions(version=2)
    assert gamedsl.load(path).ir.rules_hash != game.ir.rules_hash


def fails(text: str, value: Any) -> bool:
    raise OSError("no disk")


def test_failed_call_is_nobodys_invalid_reply(tmp_path: Path, functions: Any) -> None:
    path = line(tmp_path, "not exact(line, secret)")
    episode = gamedsl.load(path).env().reset()
    functions(body=fails)
    with pytest.raises(ConsultError, match="`exact` gave no result: failed: OSError: no disk"):
        episode.step({"ann": "green"})
    assert not episode.done
    assert not episode.mistakes
    assert not compile_file(path).ok


def test_only_pure_and_quick_functions_may_be_asked(tmp_path: Path, functions: Any) -> None:
    path = line(tmp_path, "not exact(line, secret)")
    assert compile_file(path).ok
    functions(pure=False)
    assert codes(path) == ["GD0496"]
    functions(time_limit=5)
    assert codes(path) == ["GD0496"]


def test_results_may_be_records_and_lists(tmp_path: Path) -> None:
    test = "arithmetic(line).ok and len(search(line, [line], 3)) == 1"
    env = gamedsl.load(line(tmp_path, test)).env()
    for said, valid in (("2 + 2", True), ("2 +", False), ("four", False)):
        episode = env.reset()
        episode.step({"ann": said})
        assert episode.done != valid


def test_rules_say_what_is_asked(tmp_path: Path) -> None:
    decision = gamedsl.load(written(tmp_path, CODENAMES)).env().reset(seed=0).decisions[0]
    rules = decision.messages[0][1]
    assert "exact(clue's word, w) is false" in rules
    assert "exact(…): whether a text is a value's text and nothing else" in rules


NAMED = """
game: taboo
roles: [giver, guesser]
types: {Word: [cold_soup, tea], Thing: Word | role}
turns:
  - {draw: word, from: WORDS, seen_by: giver}
  - {role: giver, say: hint, max_tokens: 20, valid: "not names(hint, word)"}
  - {role: guesser, choose: guess, from: WORDS}
  - {call: names, with: {text: hint, name: guess}, gives: named}
payoffs: 1 if guess == word and not named else 0
respond: tag
on_invalid: {retry: 0, then: forfeit, pay: -1}
"""


@pytest.mark.parametrize("type", ["Word", "roles", "Thing"])
def test_names_are_texts_for_functions(tmp_path: Path, type: str) -> None:
    path = tmp_path / "taboo.yaml"
    path.write_text(NAMED.replace("WORDS", type), encoding="utf-8")
    env = gamedsl.load(path).env()
    for seed in range(6):
        episode = env.reset(seed=seed)
        word = episode.state.variables["word"]
        episode.step({"giver": f"The {word.replace('_', ' ').upper()}!"})
        assert episode.done
        episode = env.reset(seed=seed)
        episode.step({"giver": "It is not said."})
        assert [decision.seat for decision in episode.decisions] == ["guesser"]
        episode.step({"guesser": f"<answer>{word}</answer>"})
        assert episode.payoffs == {"giver": 1, "guesser": 1}
