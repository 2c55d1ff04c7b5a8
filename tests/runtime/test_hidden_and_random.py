"""Playing games with chance and hidden information through the public interface."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from scipy.stats import chisquare

from gamedsl import Action, EvaluationError
from gamedsl.ir.program import Source
from gamedsl.ir.values import Bag
from gamedsl.runtime import Env, Episode, history
from gamedsl.training.information_sets import decisions_of
from tests.runtime.programs import (
    NOBODY,
    OWNER,
    at,
    choose,
    do,
    draw,
    from_bag,
    game,
    it,
    kuhn,
    mine,
    op,
    put,
    read,
    state,
)  # fmt: skip

AB = ("a", "b")


def finish(episode: Episode, last: bool = False) -> Episode:
    """Everybody takes the first option, or the last; chance the first outcome."""
    while not episode.done:
        if episode.chance:
            episode.draw(0)
        else:
            episode.step({d.seat: Action(d.legal[-last]) for d in episode.decisions})
    return episode


def test_chance_follows_the_seed_unless_open() -> None:
    env = Env(kuhn())
    episode = env.reset(seed=3)
    assert episode.chance == ()
    assert [decision.seat for decision in episode.decisions] == ["first"]
    with pytest.raises(ValueError, match="not chance's turn"):
        episode.draw(0)
    episode = env.reset(seed=3, chance="asked")
    assert episode.decisions == ()
    assert episode.chance == tuple((name, Fraction(1, 3)) for name in "012")
    assert episode.outcome_count == 3
    with pytest.raises(ValueError, match="chance must draw first"):
        episode.step({"first": Action("bet")})
    with pytest.raises(IndexError, match="no outcome 3 of 3"):
        episode.draw(3)
    episode.draw(2)
    assert [outcome.name for outcome in episode.chance] == ["0", "1"]
    episode.draw(0)
    assert [decision.seat for decision in episode.decisions] == ["first"]
    assert finish(episode).done
    assert episode.chance == ()
    assert episode.outcome_count == 0


def test_seats_see_own_cards_and_public_actions() -> None:
    episode = Env(kuhn()).reset(chance="asked")
    assert episode.information("first") == "first"
    episode.draw(2)
    episode.draw(1)
    (opening,) = episode.decisions
    assert opening.information_set == "first:open [first.card=2]"
    assert opening.view["seen"] == [{"step": "card", "occurrence": 0, "seat": "first", "name": "2"}]
    episode.step({"first": Action("check")})
    assert episode.decisions[0].information_set == (
        "second:reply [second.card=1, first.open=check]"
    )
    episode.step({"second": Action("bet")})
    assert episode.decisions[0].information_set == (
        "first:answer_2 [first.card=2, first.open=check, second.reply=bet]"
    )
    assert episode.information("second") == (
        "second [second.card=1, first.open=check, second.reply=bet]"
    )
    episode.step({"first": Action("call")})
    assert episode.payoffs == episode.rewards == {"first": 2, "second": -2}
    assert episode.information("first").endswith("first.answer_2=call]")


def test_one_seed_is_one_episode_byte_for_byte() -> None:
    texts = {
        json.dumps(finish(Env(kuhn()).reset(seed=seed), last=True).transcript)
        for seed in (5, 5, 6, 5)
    }
    assert len(texts) == 2
    deals = Counter()
    env = Env(kuhn())
    for seed in range(3000):
        steps = env.reset(seed=seed).transcript["steps"]
        deals[tuple(name for step in steps for name in step["chance"].values())] += 1
    assert len(deals) == 6
    assert chisquare(list(deals.values())).pvalue > 0.01


def test_a_branch_does_not_shift_what_chance_draws() -> None:
    turns = [
        choose("x", ["a"], ["in", "out"]),
        draw("extra", tuple(range(100)), condition=op("==", read("x"), "in")),
        draw("last", tuple(range(1000))),
    ]
    env = Env(game(AB, turns, {"a": read("last")}))
    first = [finish(env.reset(seed=seed)).payoffs["a"] for seed in range(20)]
    assert first == [finish(env.reset(seed=seed), last=True).payoffs["a"] for seed in range(20)]
    assert len(set(first)) > 10


def test_a_transcript_tells_choices_and_outcomes_in_order() -> None:
    episode = Env(kuhn()).reset(seed=1, chance="asked")
    episode.draw(1)
    episode.draw(0)
    episode.step({"first": Action("bet")})
    written = episode.transcript
    assert written["steps"] == [
        {"step": "card", "chance": {"card/first": "1"}},
        {"step": "card", "chance": {"card/second": "0"}},
        {"step": "open", "choices": {"first": "bet"}},
    ]
    assert json.loads(json.dumps(written)) == written
    written["steps"][2]["choices"]["first"] = "fold"
    assert episode.transcript["steps"][2]["choices"] == {"first": "bet"}


def test_forced_moves_are_taken_or_asked_for() -> None:
    turns = [
        draw("sure", {"yes": 1}),
        choose("x", AB, [1, 2], joint=True, legal=mine("may")),
        choose("y", ["b"], ["only"]),
    ]
    ir = game(AB, turns, {"a": at(read("x"), "b")},
              state=[state("may", {"a": (1, 2), "b": (2,)})])  # fmt: skip
    env = Env(ir)
    episode = env.reset(chance="asked")
    assert [(d.seat, d.legal) for d in episode.decisions] == [("a", ("1", "2"))]
    episode.step({"a": Action("1")})
    assert episode.payoffs["a"] == 2
    assert [step["step"] for step in episode.transcript["steps"]] == ["sure", "x", "y"]
    episode = env.reset(chance="asked", forced="asked")
    assert episode.chance == (("yes", 1),)
    episode.draw(0)
    assert [(d.seat, d.legal) for d in episode.decisions] == [("a", ("1", "2")), ("b", ("2",))]
    episode.step({"a": Action("1"), "b": Action("2")})
    assert [d.step for d in episode.decisions] == ["y"]
    episode.step({"b": Action("only")})
    assert episode.done
    episode = env.reset(forced="asked")
    assert [step["step"] for step in episode.transcript["steps"]] == ["sure"]


def test_forks_are_independent_and_share_their_chance() -> None:
    turns = [
        choose("x", ["a"], [1, 2]),
        draw("die", tuple(range(1000))),
        choose("y", ["b"], [1, 2]),
    ]
    env = Env(game(AB, turns, {"a": op("+", read("die"), op("*", 1000, read("x")))}))
    one = env.reset(seed=4)
    two = one.fork()
    one.step({"a": Action("1")})
    assert two.decisions[0].seat == "a"
    two.step({"a": Action("2")})
    assert finish(two).payoffs["a"] - finish(one).payoffs["a"] == 1000
    assert two.transcript["steps"][0]["choices"] == {"a": "2"}


def test_play_is_equal_without_history_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def texts() -> list[str]:
        env = Env(kuhn())
        return [
            json.dumps(finish(env.reset(seed=seed), last=bool(seed % 2)).transcript)
            for seed in range(20)
        ]

    kept = texts()
    monkeypatch.setattr(history, "MANY", 3)
    env = Env(kuhn())
    kept_after = []
    for _ in range(4):
        finish(env.reset())
        kept_after.append(env.root._tree.kept)
    assert kept_after == [2, 3, 3, 3]
    assert texts() == kept


def test_seats_actions_and_backends() -> None:
    env = Env(kuhn(), backend="interpreter")
    assert env.seats == ("first", "second")
    assert env.action_names("first") == ("check", "bet", "fold", "call")
    with pytest.raises(ValueError, match="no backend `magic`; there are interpreter"):
        Env(kuhn(), backend="magic")


def test_forfeit_costs_the_minimum_over_plays() -> None:
    env = Env(kuhn())
    assert env.least == {"first": -2, "second": -2}
    episode = env.reset(seed=0)
    episode.step({"first": "nonsense"})
    assert episode.payoffs == {"first": -2, "second": None}
    assert episode.decisions == episode.chance == ()
    large = [draw("x", Source("values", values=it(tuple(range(60))), take=it(20))), *kuhn().turns]
    assert Env(game(("first", "second"), large, {"first": 1, "second": 2})).least == {
        "first": 1, "second": 2,
    }  # fmt: skip
    broken = [choose("x", ["a"], [1, 2]), do(put("y", op("/", 1, op("-", 2, read("x")))))]
    env = Env(game(AB, broken, {"a": 0, "b": 0}, state=[state("y", 0)]))
    assert env.least == {"a": None, "b": None}
    episode = env.reset()
    with pytest.raises(EvaluationError, match="division by zero"):
        episode.step({"a": Action("2")})
    assert [d.seat for d in episode.decisions] == ["a"]
    episode.step({"a": Action("1")})
    assert episode.done


def test_a_large_draw_from_the_seed_is_quick() -> None:
    deck = state("deck", Bag.of(range(200)))
    turns = [draw("hand", from_bag("deck", take=50), NOBODY), choose("x", ["a"], [1, 2])]
    episode = Env(game(AB, turns, {"a": op("len", read("deck"))}, state=[deck])).reset(seed=1)
    assert finish(episode).payoffs["a"] == 150
    drawn = [int(x) for x in episode.transcript["steps"][0]["chance"]["hand"].split(",")]
    assert len(set(drawn)) == 50
    assert drawn == sorted(drawn)


def test_listed_decisions_cover_all_deals() -> None:
    env = Env(kuhn())
    found = decisions_of(env, 0)
    assert found is not None
    assert len({decision.information_set for decision in found}) == len(found) == 12
    many: Any = game(AB, [draw("x", tuple(range(300)), OWNER, per=(AB,), by_seat=True),
                          choose("y", ["a"], [1, 2])], {"a": 0})  # fmt: skip
    assert decisions_of(Env(many), 0) is None
    hand = draw("x", Source("values", values=it(tuple(range(200))), take=it(50)), NOBODY)
    huge = game(AB, [hand, choose("y", ["a"], [1, 2])], {"a": 0})
    assert decisions_of(Env(huge), 0) is None


def test_games_of_a_group_share_their_chance() -> None:
    assert not kuhn().one_group
    assert game(AB, [choose("x", ["a"], [1, 2])], {"a": 0}).one_group
