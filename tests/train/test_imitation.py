"""A warm-up gathers what a player does, learns it, says how well, and is done once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

import gamedsl
from gamedsl.players.base import DrawingPlayer
from gamedsl.players.model import PolicyPlayer
from gamedsl.players.table import open_player
from gamedsl.players.unbeaten import unbeaten
from gamedsl.runtime import Action
from gamedsl.training.dry_run import dry_run
from gamedsl.training.errors import TrainError
from gamedsl.training.imitated_prompts import ASKED, PromptDataset, gather, prompts_of
from gamedsl.training.imitation import imitate, warm_up
from gamedsl.training.interrupt import Interrupt
from gamedsl.training.loop import train
from gamedsl.training.rollout import generator
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import assign_seats
from tests.train.conftest import (
    ANEW,
    DILEMMA,
    HIDDEN,
    OFFER,
    policy_of,
    recipe_of,
    run_of,
    untimed,
)  # fmt: skip

FAIR = "fixed:fair,accept"


class Wary(DrawingPlayer):
    """Claims the truth three times in four, and doubts a claim of `high`."""

    def odds(self, decision, episode) -> Sequence[float]:
        if decision.step == "answer":
            return [0.0, 1.0] if "claim=high" in decision.information_set else [0.9, 0.1]
        own = "card=low" in decision.information_set
        return [0.75, 0.25] if own else [0.25, 0.75]


class Silent:
    """A player whose odds nobody knows; counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def act(self, decision, episode):
        self.asked += 1
        return Action(decision.legal[self.asked % 2])


def _played(game, players, *, taught=None, explore=0.0, games=2000, pays=None) -> PromptDataset:
    seating = players if isinstance(players, dict) else dict.fromkeys(game.ir.seats, players)
    seats = frozenset(taught or game.ir.seats)
    rng = generator(0, 0, "test")
    return gather(
        game.env(), [seating], [seats], lambda role: "shared", rng,
        games=games, explore=explore, pays=pays,
    )  # fmt: skip


def _lessons(game, recipe, policy=None) -> tuple[PromptDataset, PromptDataset]:
    env = game.env(tokenizer=policy and policy.tokenizer)
    return prompts_of(game, env, recipe, assign_seats(game, recipe), None, 1)


def _found(lessons: PromptDataset) -> dict[str, list[float]]:
    """What was learned, by the end of each prompt."""
    named = zip(lessons.queries, lessons.targets, strict=True)
    return {query.messages[-1][1]: target.tolist() for query, target in named}


def test_known_odds_are_lessons_as_they_are(compiled) -> None:
    game = compiled(HIDDEN)
    found = _found(_played(game, Wary()))
    wary = [pytest.approx([0.9, 0.1])] * 2
    assert sorted(found.values()) == [[0, 1], [0, 1], [0.25, 0.75], [0.75, 0.25], *wary]


def test_unknown_odds_are_sampled(compiled) -> None:
    game, player = compiled(HIDDEN), Silent()
    found = _found(_played(game, player))
    assert player.asked == ASKED * len(found) == ASKED * 6
    assert list(found.values()) == [[0.5, 0.5]] * 6


def test_what_it_does_elsewhere_is_learned_too(compiled) -> None:
    """On its own path the responder sees one offer alone. Off it, its answers are still its own."""
    game = compiled(OFFER)
    player = open_player(FAIR, game, seed=0)
    assert sorted(_found(_played(game, player)).values()) == [[0, 1, 0], [1, 0]]
    found = _found(_played(game, player, explore=0.3))
    assert sorted(found.values()) == [[0, 1, 0], [1, 0], [1, 0], [1, 0]]
    assert len(_played(game, player, explore=0.3, games=1)) <= 2


def test_only_taught_seats_are_learned_from(compiled) -> None:
    game = compiled(OFFER)
    players = {"proposer": open_player("random", game, seed=0)}
    players["responder"] = open_player(FAIR, game, seed=0)
    found = _found(_played(game, players, taught=["responder"]))
    assert list(found.values()) == [[1, 0]] * 3


def test_opponents_take_the_other_seats(compiled) -> None:
    game = compiled(OFFER)
    given = {"warm_up__expert": FAIR, "warm_up__games": 100}
    recipe = recipe_of(game, warm_up__opponents="fixed:high,reject", **given)
    learned, held_out = _lessons(game, recipe)
    assert (learned.games, held_out.games) == (90, 10)
    prompts = _found(learned)
    assert sorted(prompts.values()) == [[0, 1, 0], [1, 0]]
    for offer in ("high", "fair"):
        episode = game.env().reset()
        episode.step({"proposer": Action(offer)})
        assert (episode.decisions[0].messages[-1][1] in prompts) == (offer == "high")


def test_a_reply_that_is_no_label_is_refused(compiled) -> None:
    class Odd:
        def act(self, decision, episode):
            return "whatever"

    with pytest.raises(TrainError, match="'whatever' at proposer:offer, which is no legal answer"):
        _played(compiled(OFFER), Odd())


def test_transcripts_of_a_run_are_lessons(compiled, tmp_path: Path) -> None:
    """The counts are those of the run's own games; another game's file is refused."""
    game = compiled(HIDDEN)
    played = recipe_of(game, steps=1, games=512, transcripts_every=1, group_by="deal")
    run_of(game, played, tmp_path / "run")
    file = tmp_path / "run" / "transcripts" / "step-000001.jsonl"
    recipe = recipe_of(game, warm_up__expert=f"file:{file}", warm_up__held_out=0)
    learned, held_out = _lessons(game, recipe)
    assert (learned.games, len(learned), held_out.games) == (512, 6, 0)
    claims = {"low": 0, "high": 0}
    for line in file.read_text().splitlines():
        record = json.loads(line)
        choices = [step["choices"] for step in record["steps"] if "choices" in step]
        claims[choices[0]["holder"]] += record["games"]
    summed = sum(
        counts
        for query, counts in learned.counts_A.items()
        if "You are holder" in query.messages[-1][1]
    )
    assert sorted(summed.tolist()) == sorted(claims.values())

    some = recipe_of(game, warm_up__expert=f"file:{file}", warm_up__held_out=0.5)
    learned, held_out = _lessons(game, some)
    assert learned.games + held_out.games == 512
    assert min(learned.games, held_out.games) > 0

    other = compiled(DILEMMA)
    with pytest.raises(TrainError, match="the transcript is of `hidden`, not of `dilemma`"):
        _lessons(other, recipe)
    file.write_text("{}")
    with pytest.raises(TrainError, match="cannot be read as transcripts"):
        _lessons(game, recipe)


def test_an_unknown_player_is_said(compiled) -> None:
    game = compiled(OFFER)
    with pytest.raises(TrainError, match="no player `randm`"):
        _lessons(game, recipe_of(game, warm_up__expert="randm"))


WARM = {
    "model": "tiny", "warm_up__expert": FAIR, "warm_up__games": 64, "warm_up__explore": 0.5,
    "warm_up__lr": 5e-3, "warm_up__epochs": 12,
}  # fmt: skip


TABLE = {**WARM, "model": "tabular", "warm_up__lr": 1e-3}


def test_policy_imitates_the_player(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, **WARM)
    policy = policy_of(game, recipe)
    told: list[dict] = []
    learned, held_out = _lessons(game, recipe, policy)
    record = warm_up(policy, learned, held_out, recipe, policy.parameters(), tell=told.append)
    assert record is not None
    assert record["after"]["held_out_agreement"] > 0.95 > record["before"]["held_out_agreement"]
    assert record["after"]["held_out_accuracy"] == 1
    fit = learned.fit(policy)
    assert fit.kl == pytest.approx(fit.loss, abs=1e-6)  # a player that never wavers has no entropy
    assert fit.loss < 0.05
    assert [one["held_out_loss"] for one in told] == [
        one["held_out_loss"] for one in record["epochs"]
    ]


@pytest.mark.parametrize("temperature", [0.5, 1, 3])
def test_what_is_played_is_what_the_player_plays(compiled, temperature: float) -> None:
    game = compiled(HIDDEN)
    steady = {"warm_up__epochs": 200, "warm_up__patience": 200, "warm_up__lr": 0.02}
    recipe = recipe_of(game, temperature=temperature, **TABLE | steady)
    policy = policy_of(game, recipe)
    learned = PromptDataset(temperature=temperature)
    learned.take(_played(game, Wary()))
    record = warm_up(policy, learned, PromptDataset(), recipe, policy.parameters())
    assert record is not None
    assert record["after"]["held_out_kl"] < 0.01
    scorer = Scorer(policy, temperature=temperature)
    scorer.score(learned.queries)
    for query, target in zip(learned.queries, learned.targets, strict=True):
        assert scorer.probabilities(query) == pytest.approx(target.numpy(), abs=0.1)


def test_warm_up_stops_early_with_best_weights(compiled) -> None:
    """What is held out here is the opposite of what is learned."""
    game = compiled(OFFER)
    recipe = recipe_of(game, **{**WARM, "warm_up__patience": 2})
    policy = policy_of(game, recipe)
    learned, _ = _lessons(game, recipe, policy)
    wrong = PromptDataset(1)
    for query, target in zip(learned.queries, learned.targets, strict=True):
        wrong.add(query, 1 - target.numpy(), 1)
    before = wrong.fit(policy).loss
    record = warm_up(policy, learned, wrong, recipe, policy.parameters())
    assert record is not None
    best = min([before, *(epoch["held_out_loss"] for epoch in record["epochs"])])
    assert wrong.fit(policy).loss == pytest.approx(best, abs=1e-6)
    assert len(record["epochs"]) == record["best_epoch"] + 2 < recipe.warm_up.epochs


class _StopInWarmUp:
    """Asks for an interruption after an epoch of a warm-up, as a signal would."""

    def __init__(self) -> None:
        self.interrupt = Interrupt()

    def warm_up(self, record) -> None:
        if record["epoch"] == 2:
            self.interrupt.ask()

    def start(self, record) -> None:
        raise AssertionError("nothing starts")

    step = end = start


def test_a_run_begins_where_the_player_is(compiled, tmp_path: Path) -> None:
    """And goes on from there to the same numbers, stopped in its warm-up or after it."""
    game = compiled(OFFER)
    recipe = recipe_of(game, steps=3, **TABLE)
    whole, _ = run_of(game, recipe, tmp_path / "whole")
    first = whole.records()[0]
    assert first["policy"]["proposer:offer"]["probs"]["fair"] > 0.9
    assert first["warm_up"]["expert"] == FAIR
    cold, _ = run_of(game, recipe_of(game, steps=1), tmp_path / "cold")
    assert "warm_up" not in cold.records()[0]
    assert cold.records()[0]["policy"]["proposer:offer"]["probs"]["fair"] < 0.7

    stop = _StopInWarmUp()
    parts, outcome = run_of(
        game, recipe, tmp_path / "parts", observers=[stop], interrupt=stop.interrupt
    )
    assert (outcome.step, outcome.finished) == (0, False)
    assert train(game, recipe_of(game, steps=1, **TABLE), parts, policy_of(game, recipe)).finished
    assert train(game, recipe, parts, policy_of(game, recipe)).finished
    assert untimed(parts.records()) == untimed(whole.records())


def test_after_the_first_round_the_policy_leads(compiled) -> None:
    """The expert alone shows two prompts; the policy comes to all four, and the expert says what it
    does there. With a rate of nearly nothing the policy stays at random play."""
    game = compiled(OFFER)
    given = {**TABLE, "warm_up__explore": 0, "warm_up__lr": 1e-9, "warm_up__epochs": 2}
    prompts, games = [], []
    for rounds in (1, 2):
        recipe = recipe_of(game, warm_up__rounds=rounds, **given)
        policy, told = policy_of(game, recipe), list[dict]()
        parts = game, game.env(tokenizer=policy.tokenizer), recipe, assign_seats(game, recipe)
        record = imitate(*parts, policy, policy.parameters(), tell=told.append)
        assert record is not None
        assert [one["epoch"] for one in told] == [*range(1, 2 * rounds + 1)]
        assert len(record["epochs"]) == 2 * rounds
        prompts.append(record["prompts"])
        games.append(record["games"] + record["held_out_games"])
    assert (prompts, games) == ([2, 4], [64, 128])
    learned, _ = prompts_of(*parts, policy, 2)
    assert sorted(_found(learned).values()) == [[0, 1, 0], [1, 0], [1, 0], [1, 0]]


def test_the_policy_leads_in_taught_seats_alone(compiled) -> None:
    game = compiled(OFFER)
    given = {**TABLE, "warm_up__explore": 0, "warm_up__rounds": 2}
    recipe = recipe_of(game, roles={"proposer": {"player": "fixed:low"}}, **given)
    policy = policy_of(game, recipe)
    parts = game, game.env(tokenizer=policy.tokenizer), recipe, assign_seats(game, recipe)
    learned, _ = prompts_of(*parts, policy, 2)
    assert list(_found(learned).values()) == [[1, 0]]


def test_moves_that_earned_enough_are_learned_alone(compiled) -> None:
    """Random play is learned as what won: each seat's own moves, as often as they were made."""
    game = compiled(OFFER)
    recipe = recipe_of(game, warm_up__expert="random", warm_up__games=4000, warm_up__reward=5)
    learned, held_out = _lessons(game, recipe)
    assert (learned.games, held_out.games) == (3600, 400)
    (_, first), *others = _found(learned).items()
    assert first == pytest.approx([0.5, 0.5, 0], abs=0.04)
    assert [target for _, target in others] == [[1, 0], [1, 0]]  # low pays the responder 2
    assert sorted(_found(held_out).values())[1:] == [[1, 0], [1, 0]]


@pytest.mark.parametrize("explore", [0.0, 0.4])
def test_if_all_games_pay_the_odds_are_learned(compiled, explore: float) -> None:
    """Also where moves are random: what is learned there is what the player would have done."""
    parts = {"games": 40_000, "explore": explore}
    found = _found(_played(compiled(HIDDEN), Wary(), **parts, pays=lambda earned: earned >= -1))
    odds = _found(_played(compiled(HIDDEN), Wary(), **parts))
    assert found.keys() == odds.keys()
    for prompt, target in found.items():
        assert target == pytest.approx(odds[prompt], abs=0.02)


def test_random_moves_that_won_are_no_lesson(compiled) -> None:
    """A proposer that always offers fairly earns 8 where its offer was random, and low."""
    game, player = compiled(OFFER), open_player(FAIR, compiled(OFFER), seed=0)
    found = _played(game, player, explore=0.3, pays=lambda earned: earned == 8, taught=["proposer"])
    assert list(_found(found).values()) == [[0, 1, 0]]


def test_a_reward_that_nobody_earns_is_said(compiled, tmp_path: Path) -> None:
    """Of players, and of files."""
    game = compiled(OFFER)
    run_of(game, recipe_of(game, steps=1, games=64, transcripts_every=1), tmp_path / "run")
    file = tmp_path / "run" / "transcripts" / "step-000001.jsonl"
    for expert in ("random", f"file:{file}"):
        recipe = recipe_of(game, warm_up__expert=expert, warm_up__reward=9)
        with pytest.raises(TrainError, match=r"no seat earned 9 in \d+ games of `"):
            _lessons(game, recipe)


def test_labels_of_their_own_for_each_game(compiled) -> None:
    game = compiled(ANEW)
    recipe = recipe_of(game, warm_up__expert="fixed:defect", warm_up__games=20)
    learned, _ = _lessons(game, recipe)
    assert len(learned) > 10
    assert all(sorted(target.tolist()) == [0, 1] for target in learned.targets)


def test_few_prompts_are_a_part_of_all(compiled) -> None:
    lessons = _played(compiled(HIDDEN), Wary())
    few = lessons.subset(3)
    assert len(few) == 3
    rows = dict(zip(lessons.queries, lessons.targets, strict=True))
    for query, target in zip(few.queries, few.targets, strict=True):
        assert torch.equal(rows[query], target)


def test_equal_prompts_are_one_lesson(compiled) -> None:
    """Wherever the odds differ under one prompt, the lesson is their mean over the games."""
    lessons = PromptDataset(4)
    query = _played(compiled(OFFER), open_player(FAIR, compiled(OFFER), seed=0)).queries[0]
    lessons.add(query, [1.0, 0.0, 0.0], 3)
    lessons.add(query, [0.0, 0.0, 1.0], 1)
    assert lessons.targets[0].tolist() == [0.75, 0, 0.25]


def test_who_imitates_minimax_is_unbeaten() -> None:
    """Nim with piles of 1, 2 and 3 is lost for who begins; every line is gone through."""
    game = gamedsl.load("nim", params={"piles": [1, 2, 3]})
    recipe = recipe_of(
        game, warm_up__expert="minimax", warm_up__opponents="random", warm_up__lr=2e-3,
        warm_up__epochs=4,
    )  # fmt: skip
    policy = policy_of(game, recipe)
    env = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer)

    def losses() -> int:
        player = PolicyPlayer(policy)
        found = unbeaten(game, player, ["second"], support="most", by_position=True, env=env)
        return found["second"].losses

    assert losses() > 0
    assert warm_up(policy, *_lessons(game, recipe, policy), recipe, policy.parameters())
    assert losses() == 0


def test_roles_that_players_hold_are_not_taught(compiled) -> None:
    """Nor is the expert asked there: the player is in its seat."""
    game = compiled(OFFER)
    given = {"warm_up__expert": FAIR, "warm_up__held_out": 0}
    recipe = recipe_of(game, roles={"proposer": {"player": "fixed:low"}}, **given)
    learned, _ = _lessons(game, recipe)
    assert list(_found(learned).values()) == [[1, 0]]
    assert "low" in game.env().action_names("proposer")


def test_a_dry_run_says_it(compiled) -> None:
    def said(**settings) -> str:
        game = compiled(OFFER)
        recipe = recipe_of(game, **settings)
        return dry_run(game, recipe, assign_seats(game, recipe), lambda line: None)

    assert "64 games of fixed:fair,accept, 50% of its moves random; at most 12 epochs" in said(
        **TABLE
    )
    assert "games of" not in said()


def test_a_run_of_all_weights_holds_a_seat(compiled, tmp_path: Path) -> None:
    """What it plays is what its last record says, from its checkpoint too."""
    game = compiled(OFFER)
    run, _ = run_of(game, recipe_of(game, model="small", steps=1, lr=1e-3), tmp_path / "run")
    wanted = list(run.records()[1]["policy"]["proposer:offer"]["probs"].values())
    episode = game.env().reset()
    for spec in (f"run:{run.path}", f"run:{run.path}@1"):
        player = open_player(spec, game, seed=0)
        assert player.odds(episode.decisions[0], episode) == pytest.approx(wanted, abs=1e-4)
