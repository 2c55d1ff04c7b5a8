"""Teams, a customer and an agent, villagers, poker and Hanabi with thoughts: shipped games that are
played in words, by players that are written here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

import gamedsl
from gamedsl import Action
from gamedsl.calls.registry import lookup
from gamedsl.prompting.replies import write_choice
from gamedsl.runtime import Decision, Episode
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read

ROOT = Path(__file__).parents[2]

Speaker = Callable[[Decision, Random], str]


@cache
def game_of(name: str, **params: Any) -> gamedsl.Game:
    return gamedsl.load(name, params=params or None)


@cache
def env_of(name: str, **params: Any) -> gamedsl.Env:
    return game_of(name, **params).env()


def rows(file: str) -> list[dict[str, Any]]:
    text = (ROOT / "games" / "data" / file).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def played(env: gamedsl.Env, seed: int, speaker: Speaker) -> Episode:
    """An episode in which everyone speaks by a function; where there is a further try, one choice
    in ten is mumbled first."""
    tries = env.ir.costs
    episode, random = env.reset(seed=seed), Random(seed)
    while not episode.done:
        episode.step({
            d.seat: "hm…"
            if d.legal and len(d.failed) < tries[d.seat].retry and random.random() < 0.1
            else speaker(d, random)
            for d in episode.decisions
        })  # fmt: skip
    return episode


def answered(decision: Decision, label: str, thought: str = "Which one? This one.") -> str:
    """A label in the form that the game asks for."""
    opened = "" if decision.form.think is None else f"<think>{thought}</think>"
    return f"{opened}{decision.write(decision.legal[decision.labels.index(label)])}"


def block(code: str) -> str:
    return f"Here:\n```python\n{code}\n```"


def last_seen(decision: Decision, step: str) -> str | None:
    return next((e.name for e in reversed(decision.seen) if e.step == step), None)


# who speaks


@cache
def tasks() -> dict[str, dict[str, str]]:
    return {f"task={json.dumps(row['task'])}": row for row in rows("python_tasks.jsonl")}


def stub(row: dict[str, str]) -> str:
    """A function of the right name, which does nothing."""
    name = row["task"].removeprefix("Write ").split("(")[0]
    return f"def {name}(*arguments):\n    return None"


def team(decision: Decision, random: Random) -> str:
    """The planner says little, the tester knows some right tests, the coder begins with a stub half
    of the time, and the reviewer goes by the tests."""
    seen = last_seen(decision, "row")
    assert seen is not None
    row = tasks()[seen]
    if decision.step == "plan":
        return "Look at the smallest inputs first."
    if decision.step == "tests":
        return block(row["hidden"])
    if decision.step == "draft":
        first = not decision.occurrence
        return block(stub(row) if first and random.random() < 0.5 else row["solution"])
    run = last_seen(decision, "run")
    assert run is not None
    if not decision.failed and random.random() < 0.1:
        return "It looks fine to me."
    verdict = "approve" if ",failed=0," in run else "revise"
    return f'My view: {{"verdict": "{verdict}", "notes": "See the tests."}}'


def helpdesk(decision: Decision, random: Random) -> str:
    if decision.step == "message":
        return random.choice(["I need a plan.", "Can it be less?", "And for films?\nI like films."])
    if decision.step == "reply":
        return random.choice(["What is it for?", 'Take {"plus"}.', "It is <answer>good</answer>."])
    return answered(decision, random.choice(decision.labels))


def neighbour(decision: Decision, random: Random) -> str:
    if decision.said is not None:
        return random.choice(["I farm.", "Who chops today?", "Let us rest.", "…"])
    return answered(decision, random.choice(decision.labels))


def thinker(decision: Decision, random: Random) -> str:
    """Thinks of every option, and takes one."""
    thought = " ".join(write_choice(label, decision.form) for label in decision.labels)
    return answered(decision, random.choice(decision.labels), thought)


SPEAKERS: dict[str, Speaker] = {
    "code_team": team, "support": helpdesk, "village": neighbour, "kuhn_poker_thinking": thinker,
    "kuhn_poker_tools": thinker, "small_hanabi_thinking": thinker, "small_hanabi_tools": thinker,
    "hanabi_thinking": thinker, "hanabi_tools": thinker,
}  # fmt: skip


SHORT: dict[str, Any] = {"hand_size": 3, "lives": 1}
FEWER: dict[str, dict[str, Any]] = {
    "village": {"days": 2}, "hanabi_thinking": SHORT, "hanabi_tools": SHORT,
}  # fmt: skip
"""Shorter games, where a hundred long ones take too long."""


def check_episodes(name: str, seeds: Sequence[int]) -> None:
    params = FEWER.get(name, {})
    env = env_of(name, **params)
    for seed in seeds:
        episode = played(env, seed, SPEAKERS[name])
        assert not episode.failures
        assert None not in {*episode.payoffs.values(), *episode.rewards.values()}
        (transcript,) = read(dump(episode))
        again = replay(game_of(name, **params), transcript, env)
        assert again.faults == ()
        assert again.episode.payoffs == episode.payoffs


@pytest.mark.parametrize("name", [name for name in SPEAKERS if name != "code_team"])
def test_a_hundred_episodes(name: str) -> None:
    check_episodes(name, range(100))


needs_sandbox = pytest.mark.skipif(
    (found := lookup("run_python")) is None or found.missing_here() is not None,
    reason="nothing can be confined here",
)


@needs_sandbox
def test_five_episodes_of_a_team() -> None:
    check_episodes("code_team", range(5))


@needs_sandbox
@pytest.mark.slow
def test_a_hundred_episodes_of_a_team() -> None:
    check_episodes("code_team", range(100))


def test_mumbling_costs_a_try_and_no_more() -> None:
    env = env_of("village", days=2)
    mistakes = [m for seed in range(20) for m in played(env, seed, neighbour).mistakes]
    assert mistakes
    assert not any(m.last for m in mistakes)


# tasks


@needs_sandbox
@pytest.mark.slow
def test_solutions_pass_and_stubs_fail() -> None:
    run = lookup("run_python")
    assert run is not None
    for row in tasks().values():
        right = run.call(code=row["solution"], tests=row["hidden"])
        assert right["ok"], (row["task"], right)
        assert right["passed"] >= 4, row["task"]
        wrong = run.call(code=stub(row), tests=row["hidden"])
        assert wrong["passed"] == 0, (row["task"], wrong)


def test_there_are_tasks_enough_and_none_twice() -> None:
    assert len(tasks()) == len(rows("python_tasks.jsonl")) >= 40
    assert len({stub(row) for row in tasks().values()}) == len(tasks())


# what hand-made plays pay


def drawn(name: str, **wanted: str) -> Episode:
    """An episode in which chance brings outcomes whose names begin so."""
    episode = env_of(name).reset(chance="asked", forced="asked")
    while episode.chance:
        begin = wanted[episode.drawing[0]]
        episode.draw([o.name.startswith(begin) for o in episode.chance].index(True))
    return episode


def say(episode: Episode, *replies: str | Sequence[str]) -> Episode:
    """Reply in turn; several who are asked at once reply in a list."""
    for reply in replies:
        asked = episode.decisions
        each = [reply] if isinstance(reply, str) else reply
        episode.step({d.seat: text for d, text in zip(asked, each, strict=True)})
    return episode


@needs_sandbox
def test_what_a_team_earns() -> None:
    episode = drawn("code_team", row="Write is_leap")
    revise, approve = (f'{{"verdict": "{v}", "notes": ""}}' for v in ("revise", "approve"))
    say(
        episode, "By four, by a hundred, by four hundred.",
        block("assert is_leap(2024)\nassert not is_leap(2023)\nassert is_leap(1900)"),
        block("def is_leap(year): return year % 4 == 0"), revise,
        block("def is_leap(year): return year % 4 == 0 and year % 100 != 0"), approve,
    )  # fmt: skip
    # of five hidden tests the second draft fails that of the year 2000; of the tester's three it
    # fails the wrong one, which the right solution fails too
    outcome = Fraction(4, 5)
    assert episode.payoffs == dict.fromkeys(("planner", "coder", "reviewer", "tester"), outcome)
    process = {
        "planner": Fraction(2, 3), "coder": Fraction(2, 3), "reviewer": Fraction(1, 2),
        "tester": Fraction(2, 3) * Fraction(1, 2),
    }  # fmt: skip
    assert episode.paid["process"] == process
    for role, own in process.items():
        assert episode.rewards[role] == Fraction(6, 10) * outcome + Fraction(4, 10) * own


def test_who_sees_the_tests_of_a_team() -> None:
    episode = drawn("code_team", row="Write is_leap")
    say(episode, "A plan.", block("assert is_leap(4)"))
    seen = {seat: {e.step for e in episode.seen(seat)} for seat in episode.env.seats}
    assert [seat for seat, steps in seen.items() if "tests" in steps] == [
        "coder", "reviewer", "tester"
    ]  # fmt: skip
    assert all("1900" not in str(e) for seat in seen for e in episode.seen(seat))


CASE = "You teach the piano"
"""Needs plus, with a budget of 24."""

SUPPORT: list[tuple[str, list[str], list[Any], list[Any]]] = [
    ("yes", ["offer(plus,0)", "accept"], [4, 20],
     [Fraction(4, 10) + Fraction(3, 10) * Fraction(1, 6) + Fraction(1, 10),
      Fraction(4, 10) + Fraction(3, 10) * Fraction(2, 3) + Fraction(2, 10) + Fraction(1, 10)]),
    ("yes", ["ask", "offer(plus,20)", "accept"], [8, 16],
     [Fraction(4, 10) + Fraction(3, 10) * Fraction(1, 3) + Fraction(1, 10) * Fraction(2, 3),
      Fraction(4, 10) + Fraction(3, 10) * Fraction(16, 30) + Fraction(2, 10)
      + Fraction(1, 10) * Fraction(2, 3)]),
    ("no", ["offer(plus,10)", "refuse", "offer(basic,0)", "accept"], [-10, 10],
     [Fraction(3, 10) * Fraction(14, 24) + Fraction(1, 10) * Fraction(2, 3),
      Fraction(3, 10) * Fraction(1, 3) + Fraction(1, 10) * Fraction(2, 3)]),
    ("no", ["offer(pro,0)", "leave"], [0, 0], [0, Fraction(2, 10)]),
    ("no", ["ask", "ask", "ask"], [0, 0], [0, Fraction(2, 10)]),
]  # fmt: skip


@pytest.mark.parametrize(("loyal", "moves", "payoffs", "rewards"), SUPPORT)
def test_what_support_earns(
    loyal: str, moves: list[str], payoffs: list[Any], rewards: list[Any]
) -> None:
    episode, rest = drawn("support", case=CASE, loyal=loyal), iter(moves)
    while not episode.done:
        say(episode, "Hello." if episode.decisions[0].said else next(rest))
    assert next(rest, None) is None
    assert list(episode.payoffs.values()) == payoffs
    assert list(episode.rewards.values()) == rewards


def test_what_customers_and_agents_do_not_see() -> None:
    one, other = (drawn("support", case=CASE, loyal=loyal) for loyal in ("yes", "no"))
    for episode in (one, other):
        say(episode, "Hello.", "Hello.", "offer(plus,10)")
    assert one.information("customer") == other.information("customer")
    assert one.information("agent") != other.information("agent")
    rich = say(drawn("support", case="You listen to concerts", loyal="yes"), "Hello.")
    poor = say(drawn("support", case=CASE, loyal="yes"), "Hello.")
    assert rich.decisions[0].messages == poor.decisions[0].messages


def test_what_a_village_earns() -> None:
    episode = drawn("village")
    talk = ["Good day."] * 3
    for jobs in (["farm", "farm", "chop"], ["farm", "chop", "visit"], ["rest"] * 3,
                 ["visit", "visit", "chop"], ["chop", "rest", "visit"]):  # fmt: skip
        say(episode, talk, jobs)
    say(episode, ["It was cold."] * 3)
    # food, warmth and company of each in the evening, from 3, 3 and 3
    # 1: 3 3 2, all; 2: 2 3 2, 2 3 2, 2 3 3; 3: 2 2 1, 2 2 1, 2 2 2
    # 4: 1 2 2, 1 2 2, 1 2 3; 5: 0 2 2, 1 2 2, 0 2 4
    comfort = [Fraction(n, 5) for n in (2 + 2 + 1 + 1 + 0, 2 + 2 + 1 + 1 + 1, 2 + 2 + 2 + 1 + 0)]
    assert list(episode.payoffs.values()) == comfort
    apart = min(comfort) - max(comfort)
    assert list(episode.rewards.values()) == [
        Fraction(7, 10) * c + Fraction(3, 10) * apart for c in comfort
    ]


def test_a_diary_is_for_its_owner() -> None:
    diaries = [[f"Secret {number}." for number in numbers] for numbers in ((1, 2, 3), (1, 4, 5))]
    ends = []
    for diary in diaries:
        episode = drawn("village")
        for _ in range(5):
            say(episode, ["Hello."] * 3, ["rest"] * 3)
        ends.append(say(episode, diary))
    assert ends[0].information("villager_1") == ends[1].information("villager_1")
    assert ends[0].information("villager_2") != ends[1].information("villager_2")


# the full game of Hanabi


@cache
def env_with(params: str) -> gamedsl.Env:
    return gamedsl.load("hanabi_thinking", params=yaml.safe_load(params)).env()


def hanabi(names: str, params: str = "hand_size: 3") -> Episode:
    """An episode of the full game in words, after draws and choices."""
    episode = env_with(params).reset(chance="asked")
    for name in names.split():
        if episode.chance:
            episode.draw([outcome.name for outcome in episode.chance].index(name))
        else:
            (decision,) = episode.decisions
            episode.step({decision.seat: answered(decision, name)})
    return episode


def told(episode: Episode) -> str:
    """The prompt of who is asked."""
    return "\n".join(text for _, text in episode.decisions[0].messages)


DEAL = "red,1 blue,5 red,2 blue,1 red,3 green,4"


def test_a_hint_is_told_by_what_it_leaves() -> None:
    first = hanabi(DEAL)
    assert "player_2 holds: blue,1; red,3; green,4." in told(first)
    assert "The clues leave your cards: {unknown}, {unknown}, {unknown}." in told(first)
    hinted = told(hanabi(f"{DEAL} hint(player_2,red)"))
    others = "{blue green white yellow}"
    assert f"The clues leave your cards: {others}, {{red}}, {others}." in hinted
    assert "player_1 chose hint(player_2,red).\nIt touches {1}." in hinted
    assert "Clues: 7." in hinted
    twice = told(hanabi(f"{DEAL} hint(player_2,red) hint(player_1,2) hint(player_2,3)"))
    neither = "{1 2 4 5 blue green white yellow}"
    assert f"The clues leave your cards: {neither}, {{3 red}}, {neither}." in twice
    assert "The clues leave it: {1 3 4 5}, {1 3 4 5}, {2}." in twice
    assert "You chose hint(player_1,2).\nIt touches {2}.\nplayer_1 chose" in twice
    assert "hint(player_2,red)" not in twice.partition("Options")[0]


def test_what_is_discarded_lies_on_no_pile() -> None:
    after = told(hanabi(f"{DEAL} hint(player_2,red) discard(0) white,4 play(0) red,5"))
    assert "Piles: red 1, yellow 0, green 0, white 0, blue 0. Lives: 3. Clues: 8." in after
    assert "Discarded: blue,1." in after
    assert "The clues leave your cards: {red}, {blue green white yellow}, {unknown}." in after
    assert "player_1 chose play(0).\nIt was colour red, rank 1." in after


def test_the_last_turns_are_counted() -> None:
    few = "{colours: [red], copies: {1: 2, 2: 1, 3: 1, 4: 1}, hand_size: 2}"
    deal = "red,1 red,2 red,1 red,3"
    assert "Cards in the deck: 1." in told(hanabi(deal, few))
    last = told(hanabi(f"{deal} play(0)", few))
    assert "The deck is empty. Turns left with this one: 2." in last
    assert "Turns left with this one: 1." in told(hanabi(f"{deal} play(0) play(1)", few))


@pytest.mark.parametrize(
    ("lost", "rule"),
    [("zero", "but 0 after the last life."), ("keep", "also after the last life.")],
)
def test_rules_say_what_the_last_life_costs(lost: str, rule: str) -> None:
    assert rule in told(hanabi(DEAL, f"{{hand_size: 3, lost: {lost}}}"))


@pytest.mark.parametrize("players", [2, 5])
def test_all_hands_but_the_own_are_told(players: int) -> None:
    episode = env_of("hanabi_tools", players=players).reset(seed=1)
    (decision,) = episode.decisions
    others = [f"player_{n}" for n in range(2, players + 1)]
    assert re.findall(r"^(\w+) holds: ", told(episode), re.MULTILINE) == others
    assert f"Each holds {5 if players < 4 else 4} cards" in told(episode)
    assert decision.seat == "player_1"


# forms change no rules


@pytest.mark.parametrize(
    ("variant", "plain"),
    [("kuhn_poker_thinking", "kuhn_poker"), ("kuhn_poker_tools", "kuhn_poker"),
     ("small_hanabi_thinking", "small_hanabi"), ("small_hanabi_tools", "small_hanabi"),
     ("hanabi_tools", "hanabi_thinking")],
)  # fmt: skip
def test_rules_stay_what_they_are(variant: str, plain: str) -> None:
    games = [game_of(name).ir for name in (variant, plain)]
    assert games[0].turns == games[1].turns
    assert games[0].payoffs == games[1].payoffs
    assert games[0].rendering_hash != games[1].rendering_hash


@pytest.mark.parametrize("backend", ["interpreter", "tabulated", "generated"])
@pytest.mark.parametrize("name", ["kuhn_poker_thinking", "kuhn_poker_tools"])
def test_every_backend_reads_every_form(name: str, backend: str) -> None:
    episode = game_of(name).env(backend=backend).reset(chance="asked")
    for card in ("K", "Q"):
        episode.draw([o.name for o in episode.chance].index(card))
    for label in ("bet", "call"):
        (decision,) = episode.decisions
        episode.step({decision.seat: answered(decision, label)})
    assert episode.payoffs == {"first": 2, "second": -2}


MASKED = """
game: masked
extends: {plain}
rules: Two choose one of the words below, at the same time.
labels: masked
respond: {respond}
"""


@pytest.mark.parametrize("respond", ["label", "{form: tag, think: 8}", "{form: tool, think: 8}"])
@pytest.mark.parametrize("plain", ["stag_hunt", "repeated_stag_hunt"])
def test_forms_tell_nothing_in_masked_games(tmp_path: Path, plain: str, respond: str) -> None:
    path = tmp_path / "masked.yaml"
    path.write_text(MASKED.format(plain=plain, respond=respond), encoding="utf-8")
    game = gamedsl.load(path)
    names = {*game.env().action_names("hunter_1"), *game.ir.seats, "masked", "hunt"}
    assert names > {"stag", "hare"}
    episode = game.env().reset(seed=1)
    while not episode.done:
        text = " ".join(content for d in episode.decisions for _, content in d.messages)
        assert not any(name in text for name in names)
        episode.step({d.seat: answered(d, d.labels[-1]) for d in episode.decisions})
    assert not episode.failures


def test_what_is_thought_is_not_read() -> None:
    episode = env_of("kuhn_poker_thinking").reset(seed=3)
    (decision,) = episode.decisions
    text = "<think><answer>bet</answer></think>"
    assert decision.legal == ("check", "bet")
    fork = episode.fork()
    fork.step({decision.seat: f"{text}<answer>check</answer>"})
    assert fork.decisions[0].seen[-1].name == "check"
    episode.step({decision.seat: text})
    assert episode.failures[decision.seat].reason == "missing"


def test_an_action_needs_no_form() -> None:
    episode = env_of("kuhn_poker_tools").reset(seed=3)
    while not episode.done:
        episode.step({d.seat: Action(d.legal[0]) for d in episode.decisions})
    assert not episode.failures
