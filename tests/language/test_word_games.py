"""The shipped games that are played in words: whole episodes by scripted players, what they pay,
and that their transcripts can be played again.

A script is a function from a decision to the text of a reply. It reads what a player reads: the
events that it has seen, and for a closed decision the labels.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import gamedsl
from gamedsl.calls.registry import lookup
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read
from tests.shipped import OPEN

DATA = Path(__file__).parent.parent.parent / "games" / "data"
EPISODES = 100

Script = Callable[[gamedsl.Decision], str]


@cache
def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


@cache
def env(name: str, params: str = "") -> gamedsl.Env:
    return gamedsl.load(name, params=yaml.safe_load(params)).env()


def heard(decision: gamedsl.Decision, variable: str) -> list[str]:
    """What has been drawn, shown or said under a name, as the seat has seen it."""
    steps = {step.id for step in decision.env.ir.steps if step.variable == variable}
    return [event.name for event in decision.seen if event.step in {variable, *steps}]


def asked(decision: gamedsl.Decision) -> str:
    """The variable that a decision binds."""
    return decision.env.step_of(decision.step).variable


def pick(decision: gamedsl.Decision) -> str:
    """One of the options, by all that the seat knows."""
    return random.Random(decision.information_set).choice(decision.labels)


def debate(decision: gamedsl.Decision) -> str:
    if asked(decision) == "verdict":
        return pick(decision)
    (topic,) = heard(decision, "topic")
    spoken = len(heard(decision, "speech"))
    return f"On {topic}: {'no' if decision.seat == 'con' else 'yes'}, for reason {spoken + 1}."


def debate_by_rule(decision: gamedsl.Decision) -> str:
    """Makes its point, or leaves it out."""
    (point,) = heard(decision, f"point_of_{decision.seat}")
    return f"Think of {point}." if len(decision.information_set) % 3 else "I have no point."


def consensus_debate(decision: gamedsl.Decision) -> str:
    if asked(decision) == "vote":
        return pick(decision)
    others = heard(decision, "answer")
    return f"I have read {len(others)} answers.\nMine is {len(decision.information_set) % 4}."


def twenty_questions(decision: gamedsl.Decision) -> str:
    if decision.seat == "answerer":
        return pick(decision)
    things = [row["name"] for row in rows("things")][: 3 * decision.occurrence + 3]
    return f"Is it the {things[-1]}?" if decision.occurrence % 2 else "Is it larger than a cup?"


def by_attributes(decision: gamedsl.Decision) -> str:
    """Splits the animals that are left as evenly as it can, and names one of the last."""
    left = rows("animals")
    told = dict(zip(heard(decision, "trait"), heard(decision, "answer"), strict=True))
    for trait, answer in told.items():
        left = [row for row in left if row[trait] == (answer == "true")]
    if asked(decision) == "guess":
        return left[0]["name"]
    return min(decision.labels, key=lambda trait: abs(2 * sum(r[trait] for r in left) - len(left)))


def guess_in_words(decision: gamedsl.Decision) -> str:
    """Goes from 4 to the next, and so comes too late to 8."""
    number = 4
    for said, hint in zip(heard(decision, "message"), heard(decision, "hint"), strict=True):
        number = json.loads(said)["guess"] + (1 if hint == "low" else -1)
    return f'It may be {{"guess": {number}}}.'


def proposer_solver(decision: gamedsl.Decision) -> str:
    if decision.role == "proposer":
        return "(17 + 4) * 6 - 5 / 2"
    return "I get 123.5." if decision.seat in ("solver_1", "solver_3") else "answer: 247/2?"


def generator_judge(decision: gamedsl.Decision) -> str:
    if decision.seat == "judge":
        return pick(decision)
    (task,) = heard(decision, "task")
    parts = dict(part.split("=") for part in task.split(","))
    one, two = (json.loads(parts[name]) for name in ("one", "two"))
    full_stop = "." if len(one + two) % 4 else ""
    return f"There the {one} lay beside the {two}{full_stop}"


def bargaining_in_words(decision: gamedsl.Decision) -> str:
    """Asks for all at first, and then for ever less."""
    if asked(decision) == "answer":
        return pick(decision)
    pool = dict(event.split(":") for event in heard(decision, "pool"))
    keep = {good: max(0, int(count) - decision.occurrence) for good, count in pool.items()}
    return json.dumps({"message": "What do you say?", "keep": keep})


def deal_or_no_deal(decision: gamedsl.Decision) -> str:
    """Says what it would keep; the other divides so, or does not hold to it."""
    (pool,) = heard(decision, "pool")
    counts = [int(count) for count in pool.split(",")]
    keep = [count // 2 for count in counts]
    if asked(decision) == "line" and decision.seat == "ann":
        return "Let me have half of each, rounded down."
    if decision.seat == "bob":
        keep = [count - half for count, half in zip(counts, keep, strict=True)]
    if asked(decision) == "answer" and sum(counts) == 5:
        return "null"
    return json.dumps({"keep": dict(zip(("book", "hat", "ball"), keep, strict=True))})


def writing_contest(decision: gamedsl.Decision) -> str:
    """A judge takes what it reads first, but for one in some scenes."""
    if decision.role != "judge":
        return f"{decision.seat} saw it."
    (task,) = heard(decision, "task")
    names = [n for n in decision.messages[-1][1].splitlines() if n in decision.labels]
    return names[decision.seat == "judge_2" and len(task) % 2]


SCRIPTS: dict[str, Script] = {
    "writing_contest": writing_contest,
    "debate": debate, "debate_by_rule": debate_by_rule, "consensus_debate": consensus_debate,
    "twenty_questions": twenty_questions,
    "twenty_questions_by_attributes": by_attributes, "guess_in_words": guess_in_words,
    "proposer_solver": proposer_solver, "generator_judge": generator_judge,
    "bargaining_in_words": bargaining_in_words, "deal_or_no_deal": deal_or_no_deal,
}  # fmt: skip


def finish(episode: gamedsl.Episode, script: Script) -> gamedsl.Episode:
    while not episode.done:
        episode.step({decision.seat: script(decision) for decision in episode.decisions})
    return episode


@pytest.mark.parametrize("name", SCRIPTS)
def test_episodes_of_scripts_end_and_can_be_replayed(name: str) -> None:
    game, ends = gamedsl.load(name), []
    for seed in range(EPISODES):
        episode = finish(env(name).reset(seed=seed), SCRIPTS[name])
        assert not episode.failures
        assert not episode.mistakes
        assert None not in episode.payoffs.values()
        ends.append(tuple(episode.payoffs.values()))
        if seed % 10 == 0:
            (transcript,) = read(dump(episode))
            again = replay(game, transcript)
            assert not again.faults
            assert again.episode.payoffs == episode.payoffs
    assert len(set(ends)) > 1 or name == "proposer_solver", "scripts that always end alike"


def played(name: str, params: str, moves: list[int | str]) -> gamedsl.Episode:
    """An episode by hand: a number is an outcome of chance, counted from 0, a text is a reply."""
    episode = env(name, params).reset(chance="asked")
    rest = iter(moves)
    while not episode.done:
        if episode.chance:
            episode.draw(int(next(rest)))
        else:
            episode.step({decision.seat: str(next(rest)) for decision in episode.decisions})
    assert next(rest, None) is None
    return episode


KEEP = '{"message": "%s", "keep": {"book": %d, "hat": %d, "ball": %d}}'
GOODS: list[int | str] = [1, 0, 0, 1, 2, 3, 4, 0, 5]
"""Two books, one hat, one ball; to ann they are worth 1, 2 and 3, to bob 4, 0 and 5."""

PLAYS: list[tuple[str, str, list[int | str], list[Any], list[Any]]] = [
    # game, params, moves, payoffs, rewards
    ("debate", "{rounds: 1}", [0, "Yes.", "No.", "con"], [0, 1], [Fraction(-1, 2), 1]),
    ("debate", "{rounds: 1, judges: 2}", [0, "Yes.", "No.", "con", "pro"],
     [Fraction(1, 2)] * 2, [Fraction(1, 4)] * 2),
    ("debate", "{judges: 3}", [0, "Yes.", "No.", "Yes!", "No!", "con", "pro", "pro"],
     [Fraction(2, 3), Fraction(1, 3)], [1, Fraction(-1, 2)]),
    ("debate_by_rule", "", [0, "It is the asthma.", "Trade suffers!"], [1, 0], []),
    ("debate_by_rule", "", [0, "Fewer cars.", "Trade suffers!"], [0, 1], []),
    ("debate_by_rule", "", [0, "Asthma.", "No to asthma."], [1, 0], []),
    ("debate_by_rule", "", [1, "Freedom.", "Stress."], [0, 1], []),
    ("debate_by_rule", "", [1, "Stress.", "Freedom."], [Fraction(1, 2)] * 2, []),
    ("consensus_debate", "", [0, *"bbaaaa", "a", "a", "b"], [1, 1, Fraction(1, 2)], []),
    ("consensus_debate", "", [0, *"aaaaaa", "a", "b", "c"], [Fraction(1, 2), 0, 0], []),
    ("twenty_questions", "", [0, "Is it alive?", "yes", "Is it the cat?"], [1], []),
    ("twenty_questions", "{limit: 1}", [0, "It is a cat, is it not?", "yes"], [0], []),
    ("twenty_questions", "{limit: 1}", [0, "Is it a dog, cow, pig, cat?", "unclear"], [0], []),
    ("twenty_questions_by_attributes", "",
     [0, "mammal", "hunts", "pet", "climbs", "swims", " Dog"], [1], []),
    ("twenty_questions_by_attributes", "{limit: 1}", [0, "mammal", "dog or cat"], [0], []),
    ("guess_in_words", "{top: 16}", [10, '{"guess": 8}', 'Up: {"guess": 11}'], [1], []),
    ("guess_in_words", "{tries: 2}", [6, "seven", '{"guess": 7.0}'], [0], []),
    ("guess_in_words", "{tries: 2}", [6, '{"guess": 4}', '{"guess": 3}'], [0], []),
    ("proposer_solver", "", ["2 * 3", "6", "7", "It is 6.", "23"], [1, 1, 0, 1, 0], []),
    ("proposer_solver", "", ["2 * 3", "6", "6", "6", ""], [Fraction(3, 4), 1, 1, 1, 0], []),
    ("proposer_solver", "{solvers: 2}", ["2 * 3", "6", "6"], [0, 1, 1], []),
    ("proposer_solver", "", ["What is 2 * 3?"], [-1, 0, 0, 0, 0], []),
    ("generator_judge", "", [0, "A lantern hung from a rope.", "4", "2", "3"],
     [1], [Fraction(17, 20)]),
    ("generator_judge", "", [0, "A lantern hung. A rope?"], [0], [0]),
    ("generator_judge", "", [0, "A lantern hung there."], [0], [0]),
    ("writing_contest", "", [0, "Fog.", "Sun.", "ann", "bob"], [Fraction(1, 2)] * 2, []),
    ("writing_contest", "", [0, "Fog.", "Sun.", "bob", "bob"], [0, 1], []),
    ("bargaining_in_words", "", [*GOODS, KEEP % ("Deal?", 1, 0, 1), "accept"], [4, 4], []),
    ("bargaining_in_words", "",
     [*GOODS, KEEP % ("All.", 2, 1, 1), "refuse", KEEP % ("No!", 2, 0, 1), "accept"],
     [Fraction(9, 5), Fraction(117, 10)], []),
    ("bargaining_in_words", "{rounds: 1}", [*GOODS, KEEP % ("", 0, 0, 0), "refuse"], [0, 0], []),
    ("bargaining_in_words", "", [*GOODS, KEEP % ("", 0, 3, 0), KEEP % ("", 3, 0, 0)],
     [-1, None], []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "moves", "payoffs", "rewards"), PLAYS)
def test_what_is_paid(
    name: str, params: str, moves: list[int | str], payoffs: list[Any], rewards: list[Any]
) -> None:
    episode = played(name, params, moves)
    assert list(episode.payoffs.values()) == payoffs
    assert list(episode.rewards.values()) == (rewards or payoffs)


@pytest.mark.parametrize("name", OPEN)
def test_every_invalid_reply_has_a_price(name: str) -> None:
    ir = gamedsl.load(name).ir
    assert {role.name for role in (*ir.roles, *ir.referees)} <= set(dict(ir.on_invalid))
    assert all(ir.costs[seat].pay is not None for seat in ir.seats)


def test_data_is_varied() -> None:
    for name, field in [("topics", "question"), ("questions", "question"), ("things", "name"),
                        ("animals", "name"), ("writing", "scene")]:  # fmt: skip
        values = [row[field] for row in rows(name)]
        assert len(set(values)) == len(values) >= (30 if name in ("animals", "writing") else 60)
    answers = [row["right"] for row in rows("questions")]
    assert all(answers.count(letter) >= 12 for letter in "abcd")
    assert all(len({row[x] for x in "abcd"}) == 4 for row in rows("questions"))
    assert len(rows("things")) >= 100
    traits = [tuple(row.values())[1:] for row in rows("animals")]
    assert len(set(traits)) == len(traits), "the attributes tell all animals apart"


def test_every_thing_can_be_guessed() -> None:
    kind = env("twenty_questions").ir
    pattern = next(param.value for param in kind.params if param.name == "form")
    names, matches = (lookup(name) for name in ("names", "matches"))
    assert names is not None
    assert matches is not None
    for row in rows("things"):
        question = f"Is it a {row['name']}?"
        assert matches.call(text=question, pattern=pattern)
        assert [r["name"] for r in rows("things") if names.call(text=question, name=r["name"])]
