"""Games on OpenEnv's server, played by its client over the network, many at once."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from tests.peers import by_hand, running
from tests.peers.plays import GAMES, SEEDS, Play, key_of, loaded, played

with running.needed("openenv"):
    import uvicorn
    from openenv.core.generic_client import GenericEnvClient

    from gamedsl.export.openenv import GameClient, Prompt, Reply, app

AT_ONCE = 10


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def listening(port: int, seconds: float = 120) -> None:
    end = monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert monotonic() < end, "the server does not listen"
            sleep(0.05)


@contextmanager
def served(name: str, **options: Any) -> Iterator[str]:
    port = free_port()
    config = uvicorn.Config(
        app(loaded(name), **options), host="127.0.0.1", port=port, log_level="error"
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        listening(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


async def play(client: Any, ours: Play) -> tuple[list[Prompt], Any]:
    """A play in which all seats follow the script. Returns the prompts, and the last result."""
    result, prompts = await client.reset(seed=ours.seed), []
    while not result.done:
        prompts.append(result.observation)
        result = await client.step(Reply(text=ours.answers[key_of(result.observation.messages)]))
    return prompts, result


async def sessions(url: str, plays: Mapping[int, Play]) -> dict[int, tuple[list[Prompt], Any]]:
    """All plays, in sessions that go on at once."""
    queue, found = iter(plays.values()), {}

    async def session() -> None:
        async with GameClient(url) as client:
            for ours in queue:
                found[ours.seed] = await play(client, ours)

    await asyncio.gather(*(session() for _ in range(AT_ONCE)))
    return found


@pytest.mark.parametrize("name", GAMES)
def test_plays_agree_with_the_runtime(name: str) -> None:
    """Prompts, options, refusals, forfeits, payoffs and rewards of 50 plays, ten at once."""
    plays = {seed: played(name, seed) for seed in SEEDS}
    with served(name) as url:
        found = asyncio.run(sessions(url, plays))
    for seed, ours in plays.items():
        prompts, last = found[seed]
        assert [(p.seat, p.messages, tuple(p.legal), tuple(p.labels)) for p in prompts] == [
            (t.seat, t.messages, t.legal, t.labels) for t in ours.turns
        ]
        shown = [*(prompt.refused for prompt in prompts), last.observation.refused]
        assert [reason for reason in shown if reason] == [reason for _, reason in ours.refused]
        for seat, result in last.observation.outcomes.items():
            reward, paid = ours.rewards.get(seat), ours.payoffs.get(seat)
            assert result.reward == (None if reward is None else float(reward))
            assert result.payoff == (None if paid is None else float(paid))
            assert result.trains == (reward is not None)
            assert result.forfeited == (seat in ours.failures)
            assert result.refused == [reason for who, reason in ours.refused if who == seat]
    assert any(ours.refused for ours in plays.values())


def test_one_seat_has_a_scalar_reward() -> None:
    with served("tic_tac_toe", against=["o=minimax"]) as url, GameClient(url).sync() as client:
        result = client.reset(seed=0)
        while not result.done:
            assert result.observation.seat == "x"
            result = client.step(Reply(text=result.observation.labels[0]))
        assert set(result.observation.outcomes) == {"x"}
        assert result.reward == result.observation.outcomes["x"].reward
        assert client.state().step_count > 1


def test_their_generic_client_plays_too() -> None:
    with served("kuhn_poker") as url, GenericEnvClient(url).sync() as client:
        result = client.reset(seed=0)
        while not result.done:
            result = client.step({"text": result.observation["labels"][0]})
        rewards = [one["reward"] for one in result.observation["outcomes"].values()]
        assert sum(rewards) == 0
        assert any(rewards)


def test_innocent_seat_does_not_train() -> None:
    ours = next(p for seed in SEEDS if (p := played("stag_hunt", seed)).void)

    async def once(url: str) -> Any:
        async with GameClient(url) as client:
            return (await play(client, ours))[1]

    with served("stag_hunt") as url:
        last = asyncio.run(once(url))
    outcomes = last.observation.outcomes
    assert {seat for seat, found in outcomes.items() if not found.trains} == ours.void
    assert all(outcomes[seat].reward is None for seat in ours.void)


def test_seat_that_is_not_asked_is_refused() -> None:
    with served("kuhn_poker") as url, GameClient(url).sync() as client:
        client.reset(seed=0)
        with pytest.raises(RuntimeError, match="`second` is not asked; these are: first"):
            client.step(Reply(text="check", seat="second"))


def test_reply_that_was_cut_off_is_refused() -> None:
    """The client says so; the reply is a label all the same."""
    with served("kuhn_poker") as url, GameClient(url).sync() as client:
        label = client.reset(seed=0).observation.labels[0]
        result = client.step(Reply(text=label, truncated=True))
        assert result.observation.refused == "truncated"


def test_commands_of_a_package_run(tmp_path: Path) -> None:
    folder = running.exported("stag_hunt", "openenv", tmp_path / "package")
    _, serve, play_on = running.readme_commands(folder)
    running.build(folder, tmp_path / "bare")
    port = free_port()
    assert serve[0] == "uvicorn"
    serve = [sys.executable, "-m", "uvicorn", *serve[1:-1], str(port)]
    server = subprocess.Popen(serve, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        listening(port)
        at = play_on.index("http://localhost:8000")
        words = [*play_on[:at], f"http://127.0.0.1:{port}", *play_on[at + 1 :]]
        printed = running.run(words, folder)
    finally:
        server.terminate()
        server.wait()
    assert printed.count("hunter_1 reward: ") == 2


def test_kuhn_by_hand_pays_alike() -> None:
    made = by_hand.module("kuhn_in_openenv")

    def pays(cards: tuple[str, ...], play: str) -> list[float]:
        env = made.Kuhn()
        shown = env.reset(seed=0)
        env.cards = list(cards)
        for letter in play:
            assert by_hand.WORDS[letter] in shown.options
            shown = env.step(made.Move(word=by_hand.WORDS[letter]))
        assert shown.done
        return list(shown.chips)

    by_hand.check(pays)
