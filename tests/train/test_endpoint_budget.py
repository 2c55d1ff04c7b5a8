"""What endpoints of a run may use up: the whole run, and all of them together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import gamedsl
from gamedsl.cli import main
from gamedsl.players.base import Posed
from gamedsl.players.endpoint import EndpointPlayer
from gamedsl.policies.budget import Budget, BudgetSpent
from gamedsl.runtime import Game
from gamedsl.training import checkpoint
from gamedsl.training.curriculum import climb
from gamedsl.training.dry_run import dry_run
from gamedsl.training.imitated_games import players_of
from gamedsl.training.runfolder import create, open_run
from gamedsl.training.seats import assign_seats, budget_of
from tests.evaluate.serving import Body, Reply, Served, options_in, serving
from tests.train.conftest import DILEMMA, policy_of, recipe_of, untimed

DEBATE = """
game: debate
roles: [ann, bob]
referees: [judge]
turns:
  - {role: all, choose: side, from: [left, right]}
  - {role: judge, choose: verdict, from: roles}
payoffs: 1 if verdict == me else 0
labels: masked
"""
"""A game in words, for there is a judge."""
CLOSED = ["--model", "tabular", "--set", "games=8", "--set", "lr=0.05"]
WORDS = ["--model", "tiny", "--set", "games=4", "--set", "group_size=4", "--set", "lr=0.05"]
CASES = {"closed": (DILEMMA, "column", 8, CLOSED), "words": (DEBATE, "judge", 4, WORDS)}
"""Game, the role that an endpoint holds, its calls a step, and the rest."""


def last_option(number: int, body: Body) -> Reply:
    """Always the same to the same prompt, whatever the number of the call."""
    return Reply(max(options_in(body)), usage={"total_tokens": 10})


def tagged(number: int, body: Body) -> Reply:
    return Reply("<answer>defect</answer>", usage={"total_tokens": 10})


def _train(case: str, served: Served, folder: Path, *more: str) -> int:
    text, role, _, settings = CASES[case]
    file = folder.with_name("game.yaml")
    file.write_text(text, encoding="utf-8")
    player = f"roles.{role}.player=endpoint:{served.url}#m"
    asked = ["--steps", "4", "--set", player, "--set", "checkpoint_every=100", *more]
    return main(["train", str(file), *settings, *asked, "--out", str(folder), "--format", "json"])


def _resume(folder: Path, *more: str) -> int:
    return main(["train", "--resume", str(folder), "--format", "json", *more])


def _learned(folder: Path) -> tuple[list[dict[str, Any]], dict[str, torch.Tensor]]:
    """The records but what endpoints had used up, and the tensors at the end."""
    run = open_run(folder)
    found = checkpoint.latest(run)
    assert found is not None
    tensors = {f"{a}/{k}": x for a, kept in found.adapters.items() for k, x in kept.items()}
    records = [{k: v for k, v in r.items() if k != "endpoints"} for r in untimed(run.records())]
    return records, tensors


@pytest.mark.parametrize("case", CASES)
def test_ended_run_has_checkpoint_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """In the middle of a step: what was learned until then is kept, what was called is counted,
    and with more calls it comes to what a run without a limit comes to."""
    calls = CASES[case][2]
    most, parts, whole = 2 * calls + 3, tmp_path / "parts", tmp_path / "whole"
    with serving(last_option) as served:
        assert _train(case, served, parts, "--set", f"budget.calls={most}") == 1
        said = capsys.readouterr().err
        assert f": the budget of {most} calls of endpoints is spent; everything is saved" in said
        leave = ("--allow-endpoint", served.url)
        assert f"--resume {parts} {' '.join(leave)} --set budget.calls={2 * most}" in said
        assert "Traceback" not in said
        assert len(served.asked) == most
        run = open_run(parts)
        done = [r for r in run.records() if r["event"] == "step"]
        kept = checkpoint.latest(run)
        assert kept is not None
        assert (kept.step, kept.parts["budget"]["calls"]) == (len(done), most)
        assert done[-1]["endpoints"]["calls"] <= most
        assert done[-1]["endpoints"]["tokens"] == 10 * done[-1]["endpoints"]["calls"]
        assert (run.path / "adapters").is_dir()
        assert _resume(parts, *leave) == 1, "the count lasts"
        assert len(served.asked) == most
        assert _resume(parts, *leave, "--set", "budget.calls=1000") == 0
        ended = checkpoint.latest(open_run(parts))
        assert ended is not None
        assert ended.parts["budget"]["calls"] == len(served.asked)
        assert _train(case, served, whole) == 0
    capsys.readouterr()
    (records, tensors), (others, wanted) = _learned(parts), _learned(whole)
    assert records == others
    assert list(tensors) == list(wanted)
    assert all(torch.equal(tensors[name], wanted[name]) for name in wanted)


def test_an_endpoint_is_asked_anew_in_each_step(tmp_path: Path) -> None:
    """Labels of a game that is answered in tags are the same in all steps, so that a prompt is."""
    file, asked = tmp_path / "game.yaml", []
    file.write_text(DILEMMA.replace("labels: masked", "respond: tag"), encoding="utf-8")
    with serving(tagged) as served:
        player = {"roles.column.player": f"endpoint:{served.url}#m"}
        settings = {"games": 8, "model": "tabular", **player}
        run = gamedsl.train(
            file, 3, settings=settings, out=tmp_path / "run", endpoints=[served.url]
        )
        asked = [body["seed"] for body in served.asked]
    assert run.finished
    assert len(asked) == len(set(asked)) >= 3 * 8


def test_tokens_are_counted_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(last_option) as served:
        tokens = ("--set", "budget.tokens=85", "--set", "budget.calls=any")
        assert _train("words", served, tmp_path / "run", *tokens) == 1
    assert "the budget of 85 tokens of endpoints is spent" in capsys.readouterr().err
    kept = checkpoint.latest(open_run(tmp_path / "run"))
    assert kept is not None
    assert 85 <= kept.parts["budget"]["tokens"] == 10 * len(served.asked)


def test_resume_refuses_other_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _resume(tmp_path, "--set", "budget.calls=9", "--set", "lr=1") == 2
    assert "--set cannot be changed" in capsys.readouterr().err


def test_endpoints_of_a_run_share_what_there_is(compiled: Callable[[str], Game]) -> None:
    game = compiled(DILEMMA)
    with serving(last_option) as served:
        one, other = (f"endpoint:{served.url}#{name}" for name in "ab")
        recipe = recipe_of(
            game, model="tabular", budget__calls=5, roles__column__player=one,
            warm_up__expert=other, warm_up__games=4,
        )  # fmt: skip
        seating = assign_seats(game, recipe, budget_of(recipe, [served.url]))
        (holders,), _ = players_of(game, recipe, seating, recipe.seed)
        episode = game.env().reset()
        asked = [decision for _ in range(3) for decision in episode.decisions]
        for decision in asked[:5]:
            holders[decision.seat].act(decision, episode)
        with pytest.raises(BudgetSpent):
            holders["column"].act(asked[5], episode)
        assert len(served.asked) == seating.budget.calls == 5
        assert {body["model"] for body in served.asked} == {"a", "b"}


def test_a_dry_run_tells_of_calls(compiled: Callable[[str], Game]) -> None:
    game = compiled(DILEMMA)
    with serving(last_option) as served:
        spec = f"endpoint:{served.url}#m"
        recipe = recipe_of(game, model="tabular", games=8, roles__column__player=spec)
        seating = assign_seats(game, recipe, budget_of(recipe, [served.url]))
        told = dry_run(game, recipe, seating, lambda line: None)
    assert "about 8 calls a step; in all at most 1,000 calls, any number of tokens" in told


def test_a_dry_run_calls_endpoints_few_times(compiled: Callable[[str], Game]) -> None:
    game = compiled(DILEMMA)
    with serving(last_option) as served:
        spec = f"endpoint:{served.url}#m"
        recipe = recipe_of(game, model="tabular", games=65_536, roles__column__player=spec)
        seating = assign_seats(game, recipe, budget_of(recipe, [served.url]))
        told = dry_run(game, recipe, seating, lambda line: None)
        assert len(served.asked) <= 64
    assert "about 65,536 calls a step" in told
    assert "65,536 games, 65,536 decisions" in told


def test_a_curriculum_has_one_budget(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    """Level for level, each with a seating of its own."""
    game = compiled("""
game: pick
params: {size: {default: 2, in: 2..4}}
roles: [row, column]
turns:
  - {role: row, choose: pick, from: 1..size}
  - {role: column, choose: guess, from: [low, high]}
payoffs: {row: pick, column: 0}
""")
    with serving(last_option) as served:
        recipe = recipe_of(
            game, model="tabular", steps=4, games=4, budget__calls=18,
            roles__column__player=f"endpoint:{served.url}#m",
            curriculum__param="size", curriculum__levels=(2, 3), curriculum__at=0.01,
            curriculum__over=1,
        )  # fmt: skip
        policy = policy_of(game, recipe)
        run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
        seating = assign_seats(game, recipe, budget_of(recipe, [served.url]))
        outcome = climb(game, recipe, run, policy, load=gamedsl.load, seating=seating)
    assert outcome.spent is not None
    assert len(served.asked) == 18
    assert run.records()[-1]["level"] == 3


def test_what_was_used_is_never_less() -> None:
    budget = Budget(3, None)
    budget.call()
    state = budget.state()
    budget.call()
    budget.restore(state)
    assert budget.calls == 2
    budget.call()
    with pytest.raises(BudgetSpent, match="3 calls of endpoints"):
        budget.call()


def test_times_of_a_recipe_are_those_of_calls(compiled: Callable[[str], Game]) -> None:
    """Also those of a player that a run names, which has no settings of its own."""
    game = compiled(DILEMMA)
    spec = "endpoint:http://127.0.0.1:9/v1#m"
    recipe = recipe_of(
        game, model="tabular", budget__timeout=0.5, budget__call_timeout=3,
        roles__column__player=spec,
    )  # fmt: skip
    seating = assign_seats(game, recipe, budget_of(recipe, ["http://127.0.0.1:9/v1"]))
    player = seating.players["column"]
    assert isinstance(player, EndpointPlayer)
    settings = player.endpoint.settings
    assert (settings.timeout, settings.call_timeout) == (0.5, 3)
    usual = recipe_of(game, model="tabular").budget
    assert (usual.timeout, usual.call_timeout) == (60, 1200)


def test_replies_of_an_expert_are_kept_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warm-up that begins anew asks for nothing twice; another seed asks for what it needs."""
    monkeypatch.setenv("GAMEDSL_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "game.yaml"
    file.write_text(DEBATE, encoding="utf-8")
    game = gamedsl.load(file)
    with serving(last_option) as served:
        asked = []
        for seed in (3, 3, 4):
            given = recipe_of(
                game, model="tiny", warm_up__expert=f"endpoint:{served.url}#m", seed=seed
            )
            seating = assign_seats(game, given, budget_of(given, [served.url]))
            (players,), _ = players_of(game, given, seating, given.seed)
            player = players["ann"]
            assert isinstance(player, EndpointPlayer)
            episode = game.env().reset(seed=1)
            posed = [Posed(decision, episode, seed) for decision in episode.decisions]
            texts = [one.text for one in player.answers(posed)]
            asked.append((len(served.asked), texts))
        (first, said), (second, again), (third, _) = asked
        assert said == again
        assert all(said)
        assert 0 < first == second < third
