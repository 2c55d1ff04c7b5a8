"""Games in words, written at random: the validator's verdict is held against plays.

What it refuses has a witness: two histories of one information set that differ for their seat. What
it accepts leaks nothing: no prompt and no event has a text whose readers do not include its reader,
and all histories of an information set ask and show the same.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import Phase, assume, event, given, seed, settings

import gamedsl
from gamedsl.analysis.history_prompts import text_of
from gamedsl.analysis.infoset_consistency import LEAKS
from gamedsl.compiler import Result
from gamedsl.diagnostics.render import render
from gamedsl.engine.interpreter import History
from gamedsl.engine.random_plays import example_kernel
from gamedsl.ir.game import GameIR
from gamedsl.prompting.random_replies import random_reply
from gamedsl.prompting.replies import write_open_reply
from gamedsl.runtime import Decision, Episode
from tests.properties.information import DifferenceError, Witness
from tests.properties.walking import compiled, load
from tests.properties.words import leaky_files, word_files

few = settings(max_examples=settings().max_examples // 4, phases=[Phase.explicit, Phase.generate])
"""Without shrinking, as in `test_generated_games`."""

TOKEN = re.compile(r"zz[0-9a-f]{8}")
"""A text that is said once, so that where it stands says who could read it."""

POLICIES, PLAYS = 4, 10
"""Policies, and plays of each, of one accepted game; the games of one run are played a thousand
times, and as often with texts of which each is said once."""


def refusals(result: Result) -> list[str]:
    return [d.code for d in result.diagnostics if d.severity == "error"]


@few
@given(word_files())
def test_games_that_leak_nothing_are_accepted(text: str) -> None:
    """Games that are right by construction: what is said of them holds in plays."""
    result = compiled(text)
    assert not refusals(result), text + render(result.diagnostics)
    leaks_nothing(load(text), text)


@few
@given(leaky_files())
def test_loose_games_are_refused_or_leak_nothing(text: str) -> None:
    result = compiled(text)
    codes = refusals(result)
    event("refused" if codes else "accepted")
    if not codes:
        leaks_nothing(load(text), text)
        return
    assert set(codes) <= {*LEAKS}, text + render(result.diagnostics)
    told = next(p for p in result.proofs if p.name == "told.alike")
    ir = load(text).ir
    if told.grade == "refuted":
        is_real(ir, told)
        event("with a witness")
    else:
        with pytest.raises(DifferenceError):
            Witness(ir, values=False, steps=True).plays(20, 50)
        event("with a witness of more plays")


@pytest.mark.slow
def test_word_games_have_everything_often_enough() -> None:
    """Of a fixed sample at least a twentieth has each."""
    found: Counter[str] = Counter()
    parts = {
        "guard on what each knows": r"if: .*draw_\d+\.me",
        "readers by field": r"seen_by: \{", "record": r"read: \{", "valid": r"\bvalid:",
        "call": r"call: exact", "silence": r"then: skip", "referee": r"referees:",
        "one after another": r"each: roles", "shown": r"show: word",
    }  # fmt: skip

    @seed(22)
    @settings(max_examples=150, phases=[Phase.generate])
    @given(leaky_files())
    def count(text: str) -> None:
        found.update(["games", *(n for n, pattern in parts.items() if re.search(pattern, text))])
        found["refused"] += bool(refusals(compiled(text)))

    count()
    shares = {name: found[name] / found["games"] for name in [*parts, "refused"]}
    assert min(shares.values()) > 0.05, shares


# what is refused


def is_real(ir: GameIR, told: Any) -> None:
    """Checks that both histories of a witness can be played by the rules, each reply one that its
    author may give, and that their seat cannot tell them apart."""
    [seat] = {seat for line in told.witness for seat in re.findall(r"by then `(.+?)` has", line)}
    one, other = (replayed(ir, moves) for moves in told.histories)
    seen, more = one.seen(seat), other.seen(seat)
    asked = [next((a for a in state.asks if a.seat == seat), None) for state in (one, other)]
    assert asked[0] is not None
    if "what comes next differs" in told.witness[-1]:
        assert more[: len(seen)] == seen
        assert more[len(seen) :] or asked[1] is None
    else:
        assert more == seen
        assert asked[0] != asked[1] or "what it sees differs" in told.witness[-1]


def replayed(ir: GameIR, moves: tuple[str, ...]) -> History:
    state, left = example_kernel(ir).start(), list(moves)
    while left:
        if state.kind == "chance":
            number = state.outcome_named(left.pop(0))
            assert number is not None
            state.draw(number)
        else:
            names = [left.pop(0) for _ in state.asks]
            assert all(name in ask.legal for ask, name in zip(state.asks, names, strict=True))
            state.choose(names)
    return state


# what is accepted


def leaks_nothing(game: gamedsl.Game, text: str) -> None:
    Witness(game.ir, steps=True).plays(POLICIES, PLAYS)
    env, document = game.env(), yaml.safe_load(text)
    readers = {step["say"]: step.get("seen_by", "all") for step in said_in(document["turns"])}
    shown: dict[str, str] = {}
    for policy in range(POLICIES):
        for play in range(PLAYS):
            episode = env.reset(play)
            while not episode.done:
                for decision in episode.decisions:
                    prompt = text_of(decision.messages)
                    known = TOKEN.findall(decision.information_set)
                    assert {*TOKEN.findall(prompt)} <= {*known}, f"{text}\n{prompt}"
                    if not decision.failed:
                        same = shown.setdefault(decision.information_set, prompt)
                        assert same == prompt, text
                episode.step({d.seat: reply(d, policy) for d in episode.decisions})
            heard_by_readers_alone(game.ir, episode, readers, text)


def said_in(turns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for step in turns:
        if "say" in step:
            yield step
        yield from said_in(step.get("turns", []))


def heard_by_readers_alone(
    ir: GameIR, episode: Episode, readers: dict[str, Any], text: str
) -> None:
    """Checks each event of what was said against `seen_by`, as the file has it."""
    groups = {role.name: role.seats for role in (*ir.roles, *ir.referees)}
    for seat in ir.everyone:
        for said in episode.seen(seat):
            if said.step not in readers or not TOKEN.search(said.name) or said.seat == seat:
                continue
            who = readers[said.step]
            who = who.get("why", "nobody") if isinstance(who, dict) else who
            names = who if isinstance(who, list) else [who]
            heard = {s for name in names for s in groups.get(name, (name,))}
            assert heard & {"all", "others", seat}, f"{text}\n{seat} hears {said}"


def reply(decision: Decision, policy: int) -> str | gamedsl.Action:
    """A reply that follows from what is known; nothing, at times, where the game goes on."""
    dice = Random(f"{policy} {decision.information_set} {len(decision.failed)}")
    if decision.may_be_silent and dice.random() < 0.2:
        return ""
    if decision.said is None:
        return gamedsl.Action(dice.choice(decision.legal))
    seats = decision.env.ir.seats
    for _ in range(60):
        name = random_reply(decision.said, decision.type, seats, dice)
        token = f"zz{dice.getrandbits(32):08x}"
        if decision.said.form == "text":
            name = token
        elif "why" in (record := json.loads(name)):
            name = json.dumps(record | {"why": token}, separators=(",", ":"))
        if decision.admits(name):
            return write_open_reply(name, decision.said, decision.type, seats)
    assume(False)
    raise AssertionError
