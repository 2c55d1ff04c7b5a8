"""A step that is skipped: who would act there is not worked out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import gamedsl
from gamedsl.compiler import compile_file
from gamedsl.runtime import Action

BEYOND = """
game: beyond
roles: [ann, bob, cat]
turns:
  - {role: ann, choose: n, from: 0..3}
  - {role: "roles[n]", choose: answer, from: [take, leave], if: n < 3}
payoffs: 1
"""
OFFERED = """
game: offered
roles: [ann, bob, cat]
types: {Offer: {price: 1..4, to: role}}
turns:
  - {role: ann, say: line, read: text(30) | Offer}
  - {role: line.to, choose: answer, from: [take, leave], if: line is Offer}
payoffs: 1
on_invalid: {then: forfeit, pay: -1}
"""


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "game.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("backend", ["interpreter", "generated", "tabulated"])
def test_actor_beyond_a_list_is_not_looked_up(file: Callable[[str], Path], backend: str) -> None:
    env = gamedsl.load(file(BEYOND)).env(backend=backend)
    for number, asked in enumerate(("ann", "bob", "cat", None)):
        episode = env.reset()
        episode.step({"ann": Action(str(number))})
        assert [one.seat for one in episode.decisions] == ([asked] if asked else [])
        assert episode.done == (asked is None)


def test_text_has_no_field_to_act_by(file: Callable[[str], Path]) -> None:
    found = compile_file(file(OFFERED))
    assert not [one for one in found.diagnostics if one.severity == "error"]
    episode = gamedsl.load(file(OFFERED)).env().reset()
    episode.step({"ann": "hello"})
    assert episode.done


def test_null_deletes_the_cost_of_one_role(tmp_path: Path) -> None:
    costs = "on_invalid: {ann: {retry: 2, then: forfeit, pay: -5}, all: {then: forfeit, pay: -1}}"
    base = OFFERED.replace("on_invalid: {then: forfeit, pay: -1}", costs)
    (tmp_path / "offered.yaml").write_text(base, encoding="utf-8")
    path = tmp_path / "again.yaml"
    path.write_text("game: again\nextends: offered\non_invalid: {ann: null}\n", encoding="utf-8")
    costs_of = gamedsl.load(path).ir.costs
    assert costs_of["ann"] == costs_of["bob"]


def test_referee_may_have_a_view(file: Callable[[str], Path]) -> None:
    text = """
game: judged
roles: [ann, bob]
referees: [judge]
state: {points: {per: role, start: 0}}
view: {judge: [points], ann: [points]}
turns:
  - {role: all, say: line, read: text(20)}
  - {role: judge, choose: better, from: roles}
  - {do: "points[better] += 1"}
  - {role: judge, choose: best, from: roles}
payoffs: points.me - points.other
prompts: {view: {judge: "The score: {{ view.points }}"}}
on_invalid: {then: forfeit, pay: -1}
"""
    episode = gamedsl.load(file(text)).env().reset()
    episode.step({"ann": "a", "bob": "b"})
    episode.step({"judge": Action("bob")})
    told = episode.decisions[0].messages[-1][1]
    assert "The score: ann 0, bob 1" in told
    assert "said" not in told


def test_trial_replies_are_no_leak(file: Callable[[str], Path]) -> None:
    """Of the phrases that plays are tried out with, one is `no`."""
    text = """
game: asked
roles: [ann, bob]
turns:
  - {role: ann, say: line, read: text(30)}
  - {role: bob, choose: answer, from: [yes, no]}
payoffs: 1 if answer == yes else 0
labels: masked
on_invalid: {then: forfeit, pay: -1}
"""
    assert compile_file(file(text)).ok
    wrong = text + "prompts: {ask: {answer: 'Say no or yes: {{ options }}'}}\n"
    assert [one.code for one in compile_file(file(wrong)).diagnostics][:1] == ["GD0520"]


def test_skipped_reply_is_no_record(file: Callable[[str], Path]) -> None:
    text = OFFERED.replace("{then: forfeit, pay: -1}", "{then: skip}")
    text = text.replace("  - {role: line.to,", "  - {role: [bob, cat],")
    episode = gamedsl.load(file(text)).env().reset()
    episode.step({"ann": "</think>" * 9})
    assert episode.done
    assert episode.mistakes
