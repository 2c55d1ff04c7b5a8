"""Judges who read two roles in each other's places, and what judging costs."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.compiler import compile_file
from gamedsl.prompting.events import Event
from gamedsl.prompting.position_swap import exchanged_events, exchanged_names
from gamedsl.runtime import Env, Episode

DEBATE = """
game: case
roles: [pro, con]
referees: {judge: {seats: 4, swap: [con, pro]}}
turns:
  - {role: pro, say: claim, max_tokens: 9}
  - repeat: 2
    turns: [{each: roles, say: speech, max_tokens: 9}]
  - {role: [judge], choose: first_glance, from: roles}
  - {role: con, say: last_word, max_tokens: 9}
  - {role: [judge], choose: verdict, from: roles}
payoffs: count(verdict, me) / 4
on_invalid: {all: {then: forfeit, pay: -1}}
"""


def env_of(tmp_path: Path, text: str = DEBATE) -> Env:
    path = tmp_path / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return gamedsl.load(path).env()


def until(episode: Episode, step: str) -> Episode:
    """Play on to a step; judges choose what they are shown first."""
    count = 0
    while not episode.done and episode.decisions[0].step != step:
        count += 1
        episode.step({d.seat: f"word {count}" if d.said else first(d) for d in episode.decisions})
    return episode


def first(decision: object) -> str:
    lines = decision.messages[-1][1].splitlines()
    return next(line for line in lines if line in decision.labels)


def spoken(decision: object) -> list[str]:
    """Who speaks in the last message, in order."""
    lines = decision.messages[-1][1].splitlines()
    return [line.replace(" said: word", "") for line in lines if " said: " in line]


def options(decision: object) -> list[str]:
    return [line for line in decision.messages[-1][1].splitlines() if line in decision.labels]


def test_every_second_judge_reads_in_the_other_order(tmp_path: Path) -> None:
    episode = until(env_of(tmp_path).reset(0), "first_glance")
    one, two, three, four = episode.decisions
    assert spoken(one) == ["pro 1", "pro 2", "con 3", "pro 4", "con 5"]
    assert spoken(two) == ["pro 1", "con 3", "pro 2", "con 5", "pro 4"], "the claim stands alone"
    assert (spoken(three), spoken(four)) == (spoken(one), spoken(two))
    assert (options(one), options(two)) == (["pro", "con"], ["con", "pro"])
    until(episode, "verdict")
    assert [spoken(d) for d in episode.decisions] == [["con 2"]] * 4, "it has no counterpart"
    assert [options(d)[0] for d in episode.decisions] == ["pro", "con", "pro", "con"]


def test_position_swap_cancels_first_option_bias(tmp_path: Path) -> None:
    episode = until(env_of(tmp_path).reset(0), "the end")
    assert {seat: str(amount) for seat, amount in episode.payoffs.items()} == {
        "pro": "1/2", "con": "1/2",
    }  # fmt: skip
    alone = until(
        env_of(tmp_path, DEBATE.replace("{seats: 4, swap: [con, pro]}", "4")).reset(0), ""
    )
    assert alone.payoffs["pro"] == 1


def test_masked_options_are_in_the_other_order_too(tmp_path: Path) -> None:
    env = env_of(tmp_path, f"{DEBATE}labels: masked\n".replace("game: case", "game: blank"))
    for seed in range(4):
        one, two, three, four = until(env.reset(seed), "verdict").decisions
        assert options(two) == options(one)[::-1]
        assert options(four) == options(three)[::-1]


def test_events_without_a_counterpart_stay() -> None:
    told = [("p", "a"), ("q", "c"), ("x", "a"), ("x", "b"), ("y", "b"), ("x", "a"), ("z", "")]
    events = [
        Event(step, sum(one == (step, seat) for one in told[:i]), seat, f"{step} of {seat}")
        for i, (step, seat) in enumerate(told)
    ]
    names = [event.name for event in exchanged_events(events, ("a", "b"))]
    assert names == ["y of b", "q of c", "x of b", "x of a", "p of a", "x of a", "z of "]
    assert exchanged_names(("a", "z", "b"), ("a", "b")) == ("b", "z", "a")
    assert exchanged_names(("a", "z"), ("a", "b")) == ("a", "z")


def test_exchanged_places_are_rendering_and_no_rule(tmp_path: Path) -> None:
    swapped = env_of(tmp_path).ir
    plain = env_of(tmp_path, DEBATE.replace("{seats: 4, swap: [con, pro]}", "4")).ir
    assert swapped.rules_hash == plain.rules_hash
    assert swapped.rendering_hash != plain.rendering_hash


@pytest.mark.parametrize(
    ("game", "claim"),
    [
        ("writing_contest", "at most 2 calls of referees, and 6 with all further tries"),
        ("twenty_questions", "at most 20 calls of referees, and 80 with all further tries"),
        ("debate", "at most 1 call of referees, and 3 with all further tries"),
    ],
)
def test_what_judging_costs_is_known_before(game: str, claim: str) -> None:
    (proof,) = [p for p in compile_file(game).proofs if p.name == "length.referees"]
    assert (proof.grade, proof.claim) == ("proved", f"a play makes {claim}")


def test_no_play_asks_referees_more_often(tmp_path: Path) -> None:
    env, calls = env_of(tmp_path), 0
    episode = env.reset(0)
    while not episode.done:
        calls += sum(d.seat.startswith("judge") for d in episode.decisions)
        episode.step({d.seat: "word" if d.said else d.labels[0] for d in episode.decisions})
    (proof,) = [p for p in compile_file(tmp_path / "case.yaml").proofs if "referees" in p.name]
    assert f"at most {calls} calls" in proof.claim
