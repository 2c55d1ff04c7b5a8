"""Games as environments of verifiers, played by its own episodes and its own `vf-eval`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.peers import by_hand, running
from tests.peers.chat_server import ScriptedServer, scripted
from tests.peers.plays import NAMES, SEEDS, Play, loaded, played

with running.needed("verifiers"):
    import verifiers.v1 as vf
    from verifiers.v1.utils.loaders import load_environment, resolve_env_config

    from gamedsl.export.verifiers import Deal, DealData, environment

QUICK = ("kuhn_poker", "ultimatum", "stag_hunt", "guess_in_words")
"""Games whose fifty plays take seconds; those of the others take a minute or two each."""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted() as found:
        yield found


def env_of(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The environment as verifiers loads it: from a module that exports the classes."""
    module = type(sys)(f"{name}_here")
    module.Env, module.Taskset, module.Harness = environment(loaded(name))
    module.__all__ = ["Env", "Taskset", "Harness"]
    module.__spec__ = type(json.__spec__)(module.__name__, None)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return load_environment(resolve_env_config({"taskset": {"id": module.__name__}}))


async def episodes_of(env: Any, seeds: Any, url: str) -> list[Any]:
    """One episode a seed; the server answers by the seed in the model's name."""
    client = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY")

    async def one(seed: int) -> Any:
        context = vf.ModelContext(
            model=f"script-{seed}", client=client, sampling=vf.SamplingConfig()
        )
        task = Deal(DealData(prompt=None, seed=seed), env.taskset.config.task)
        return await env.run_episode(task, context)

    async with env.serving():
        found = []
        for at in range(0, len(seeds), 10):
            found += await asyncio.gather(*(one(seed) for seed in seeds[at : at + 10]))
        return found


def turns_in(trace: Any) -> list[tuple[list[dict[str, str]], str]]:
    """The prompts of a trace with their replies; branches share replies that both continue."""
    found, known = [], set()
    for branch in trace.branches:
        messages = [{"role": m.role, "content": m.content or ""} for m in branch.messages]
        for place, node in enumerate(branch.nodes):
            if node.sampled and id(node) not in known:
                known.add(id(node))
                found.append((messages[:place], messages[place]["content"]))
    return found


def check(ours: Play, episode: Any) -> None:
    assert episode.ok, [error.message for error in episode.errors]
    traces = {trace.task.data.seat: trace for trace in episode.traces}
    assert set(traces) == {turn.seat for turn in ours.turns}
    for seat, trace in traces.items():
        asked = [(turn.messages, turn.reply) for turn in ours.turns_of(seat)]
        assert sorted(turns_in(trace), key=str) == sorted(asked, key=str)
        reward, metrics = ours.rewards.get(seat), trace.metrics
        assert trace.agent.trainable == (reward is not None)
        assert trace.reward == float(reward or 0)
        assert metrics["refused"] == sum(who == seat for who, _ in ours.refused)
        assert metrics["forfeited"] == (seat in ours.failures)
        paid = ours.payoffs.get(seat)
        assert metrics.get("payoff") == (None if paid is None else float(paid))


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NAMES]
)
def test_plays_agree_with_the_runtime(
    name: str, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts, replies, refusals, forfeits, rewards, and who is frozen, in 50 episodes."""
    plays = {seed: played(name, seed) for seed in SEEDS}
    for seed, play in plays.items():
        server.answers[f"script-{seed}"] = play.answers
    monkeypatch.setenv("NO_KEY", "none")
    episodes = asyncio.run(episodes_of(env_of(name, monkeypatch), SEEDS, server.url))
    for play, episode in zip(plays.values(), episodes, strict=True):
        check(play, episode)
    assert server.unknown == []
    assert any(play.refused for play in plays.values())


def test_innocent_seat_is_frozen(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    play = next(p for seed in SEEDS if (p := played("stag_hunt", seed)).void)
    server.answers[f"script-{play.seed}"] = play.answers
    monkeypatch.setenv("NO_KEY", "none")
    env = env_of("stag_hunt", monkeypatch)
    (episode,) = asyncio.run(episodes_of(env, [play.seed], server.url))
    standing = {trace.task.data.seat: trace.agent.trainable for trace in episode.traces}
    assert standing == {seat: seat not in play.void for seat in play.rewards}
    assert False in standing.values()


def test_reply_that_was_cut_off_is_refused(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.default, server.finish = (
        loaded("kuhn_poker").env().reset().decisions[0].labels[0],
        "length",
    )
    monkeypatch.setenv("NO_KEY", "none")
    (episode,) = asyncio.run(episodes_of(env_of("kuhn_poker", monkeypatch), [0], server.url))
    (trace,) = episode.traces
    assert (trace.metrics["refused"], trace.metrics["forfeited"]) == (1, 1)


def test_commands_of_a_package_run(server: ScriptedServer, tmp_path: Path) -> None:
    """`vf-eval` plays games with a model behind a local server, and writes their traces."""
    decision = loaded("stag_hunt").env().reset().decisions[0]
    server.default = decision.labels[decision.legal.index("stag")]
    folder = running.exported("stag_hunt", "verifiers", tmp_path / "package")
    _, check, evaluate = running.readme_commands(folder)
    running.build(folder, tmp_path / "bare")
    running.run(check, folder)
    at = evaluate.index("http://localhost:8000/v1")
    running.run([*evaluate[:at], server.url, *evaluate[at + 1 :], "--run.dir", "here"], folder)
    (path,) = folder.glob("outputs/here/**/traces.jsonl")
    episodes = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(episodes) == 4
    for episode in episodes:
        scores = [trace["rewards"]["reward"]["score"] for trace in episode["traces"]]
        assert scores == [4.0, 4.0]


def test_prime_rl_takes_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """The settings are read by prime-rl's own classes, and make our environment the source."""
    why = "prime-rl-configs is on no package index; its repository has it"
    rl = pytest.importorskip("prime_rl.configs.rl", reason=why)
    from pydantic_config import cli

    folder = running.exported("kuhn_poker", "verifiers", tmp_path / "package")
    monkeypatch.syspath_prepend(str(folder))
    config = cli(rl.RLConfig, args=["@", str(folder / "prime_rl.toml")]).orchestrator
    (source,) = config.train.source
    assert (config.algo.type, config.group_size) == ("rae", 1)
    assert source.env.taskset.id == "kuhn_poker_verifiers"
    assert {"first", "second"} <= set(type(source.env).model_fields)


def test_kuhn_by_hand_pays_alike() -> None:
    made = by_hand.module("kuhn_in_verifiers")

    class Seat:
        """A seat that says what a list has next, and keeps its reward."""

        def __init__(self, said: list[str]) -> None:
            self.said, self.chips, self.trace = said, 0.0, self

        def record_reward(self, name: str, value: float) -> None:
            self.chips = value

        async def turn(self, text: str) -> Any:
            return SimpleNamespace(last_reply=self.said.pop(0))

        @asynccontextmanager
        async def interaction(self, task: Any) -> Any:
            yield self

    def pays(cards: tuple[str, ...], play: str) -> list[float]:
        said = [by_hand.WORDS[letter] for letter in play]
        seats = [Seat(said[0::2]), Seat(said[1::2])]
        task = SimpleNamespace(data=SimpleNamespace(cards=cards))
        agents = SimpleNamespace(p0=seats[0], p1=seats[1])
        asyncio.run(made.Kuhn.run(None, task, agents))
        assert not any(seat.said for seat in seats)
        return [seat.chips for seat in seats]

    by_hand.check(pays)
