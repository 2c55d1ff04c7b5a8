"""Games of an evaluation that workers play: those that are played here, whoever is lost."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.evaluate import EvalError, Evaluation, Options, evaluate
from gamedsl.evaluate.match_workers import MatchWorker
from gamedsl.evaluate.transcripts import keeper
from gamedsl.policies.budget import BudgetSpent
from gamedsl.policies.cluster import LOSSES, Workers
from gamedsl.policies.endpoint import EndpointSettings
from gamedsl.policies.errors import ModelError
from tests.evaluate.serving import Body, Reply, serving
from tests.evaluate.small import PENNIES, plan_of
from tests.train.local_workers import LocalWorkers

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

SAMPLED = Options(games=40, seed=3, method="sampled", search=0)


def _started(
    into: list[LocalWorkers], ends: Sequence[int] = ()
) -> Callable[[Callable[[], Any], type], Workers]:
    """Returns what starts three workers in this process, which are noted; some calls lose one."""

    def start(opening: Callable[[], Any], kind: type) -> Workers:
        into.append(LocalWorkers(3, ends, opening, kind))
        return into[-1]

    return start


def _same(one: Evaluation, other: Evaluation) -> None:
    assert list(one.games) == list(other.games)
    for holders, games in one.games.items():
        there = other.games[holders]
        for name in (
            "weights_G", "payoffs_GS", "rewards_GS", "failed_GS", "asked_GS", "invalid_GS",
            "own_ends_G",
        ):  # fmt: skip
            np.testing.assert_array_equal(getattr(games, name), getattr(there, name))
        assert games.reply_counts == there.reply_counts
        assert games.exact == there.exact
    assert one.exploitability == other.exploitability


@pytest.mark.parametrize("ends", [(), (1, 2, 4, 7)])
def test_workers_play_the_same_games(ends: tuple[int, ...]) -> None:
    """Each game is the one that is played here, in the order of pairings, and the games of lost
    workers are played once by others."""
    game, plan = gamedsl.load("tic_tac_toe"), plan_of("random", "mcts:5", "mcts:20")
    here = evaluate(game, plan, SAMPLED)
    started: list[LocalWorkers] = []
    heard: list[tuple[str, ...]] = []
    there = evaluate(
        game, plan, replace(SAMPLED, workers=_started(started, ends)),
        lambda games, contest: heard.extend(one.holders for one in games),
    )  # fmt: skip
    _same(here, there)
    assert heard == list(here.games)
    assert [one.lost for one in started] == [len(ends)]
    assert started[0].closed


def test_what_is_exact_needs_no_worker(tmp_path: Path) -> None:
    """Games are played by workers only where somebody cannot say what it would do."""
    path = tmp_path / "pennies.yaml"
    path.write_text(PENNIES, encoding="utf-8")
    game, started = gamedsl.load(path), list[LocalWorkers]()
    options = Options(games=8, search=0, workers=_started(started))
    assert evaluate(game, plan_of("random", "fixed:heads"), options).exact
    assert not started
    mixed = evaluate(game, plan_of("random", "tiny"), options)
    assert len(started) == 1
    assert mixed.games["random", "random"].exact
    assert not mixed.games["random", "tiny"].exact


def test_transcripts_of_workers_are_kept(tmp_path: Path) -> None:
    """Models write replies in words there as here, and their plays are written here."""
    game, plan = gamedsl.load("guess_in_words"), plan_of("tiny", "random")
    options = replace(SAMPLED, games=4)
    here = evaluate(game, plan, replace(options, keep=keeper(tmp_path / "here")))
    start = _started([])
    there = evaluate(game, plan, replace(options, keep=keeper(tmp_path / "there"), workers=start))
    _same(here, there)
    written = [
        {path.name: path.read_text() for path in (tmp_path / name).iterdir()}
        for name in ("here", "there")
    ]
    assert written[0]
    assert written[0] == written[1]


def test_workers_that_keep_ending_end_the_evaluation() -> None:
    game, plan = gamedsl.load("ultimatum"), plan_of("random", "mcts:5")
    started: list[LocalWorkers] = []
    options = replace(SAMPLED, workers=_started(started, range(100)))
    with pytest.raises(ModelError, match="ended 6 times"):
        evaluate(game, plan, options)
    assert started[0].lost == LOSSES + 1
    assert started[0].closed


def _stag(number: int, body: Body) -> Reply:
    return Reply("stag", usage={"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6})


@pytest.mark.parametrize("ends", [(), (2,)])
def test_endpoints_are_called_by_workers(ends: tuple[int, ...]) -> None:
    """Their games are those that are played here, and all calls of all workers are counted."""
    game = gamedsl.load("stag_hunt")
    with serving(_stag) as here, serving(_stag) as there:
        found = []
        for url, options in (
            (here.url, SAMPLED), (there.url, replace(SAMPLED, workers=_started([], ends)))
        ):  # fmt: skip
            plan = plan_of(f"model=endpoint:{url}#m", "random", "fixed:stag")
            found.append(evaluate(game, plan, options))
    _same(*found)
    assert found[1].stopped is None
    assert found[1].spent["model"].calls == len(there.asked) > 0
    assert found[1].spent["model"].tokens == 6 * len(there.asked)


@pytest.mark.parametrize("calls", [3, 40])
def test_workers_spend_one_budget(calls: int) -> None:
    """No worker calls once all have made as many calls as are allowed; what ended is told."""
    game = gamedsl.load("stag_hunt")
    told = EndpointSettings(calls=calls, kept=0, concurrency=1)
    with serving(_stag) as served:
        options = replace(SAMPLED, games=400, endpoints=told, workers=_started([]))
        plan = plan_of(f"model=endpoint:{served.url}#m", "random", "fixed:stag")
        found = evaluate(game, plan, options)
        assert isinstance(found.stopped, BudgetSpent)
        assert ("random", "fixed:stag") in found.games  # another worker has played them
        assert ("model", "random") not in found.games
        assert len(served.asked) == calls


def test_a_refusal_of_a_player_comes_back() -> None:
    """What a player cannot play is said as it is said here."""

    def refuse(*given: object, **more: object) -> None:
        raise EvalError("it is no game of mine", "name another")

    worker = MatchWorker(lambda: SimpleNamespace(opener=Mock(), play=refuse))
    assert worker.play([("a", "b")], 1, {}).failure == ("it is no game of mine", "name another")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--workers", "2"], "there is none"),
        (["--cluster", "slurm"], "neither `ray`"),
        (["--cluster", "ray", "--engine", "vllm"], "leave `--engine` or `--cluster` out"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["eval", "random", "--game", "kuhn_poker", *given])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert said in capsys.readouterr().err


@pytest.mark.ray
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_ray_cluster_plays_the_same_games(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way, by the command: two workers print what one process prints."""
    how = ["--games", "40", "--method", "sampled", "--search", "0", "--format", "json"]

    def printed(*players: str, game: str, more: Sequence[str] = ()) -> str:
        assert main(["eval", *players, "--game", game, *how, *more]) == 0
        return capsys.readouterr().out

    cluster = ["--cluster", "ray", "--workers", "2"]
    two = [
        printed("random", "mcts:5", "mcts:20", game="tic_tac_toe", more=m) for m in ([], cluster)
    ]
    assert two[0] == two[1]
    with serving(_stag) as served:
        players = ["random", f"model=endpoint:{served.url}#m", "fixed:stag"]
        tables = []
        for more in ([], cluster):
            before = len(served.asked)
            found = json.loads(printed(*players, game="stag_hunt", more=more))
            assert found.pop("endpoints")["model"]["calls"] == len(served.asked) - before > 0
            tables.append(found)
    assert tables[0] == tables[1]
