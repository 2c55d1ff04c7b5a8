"""Turns per second on Kuhn poker with a model that answers at once.

Prompts are rendered and replies parsed. The model says one of the options, drawn at random. A turn
is one reply: of ours a `Decision` with its messages, and a label that is read; of TextArena an
observation and a step; of verifiers a turn of an interaction in its null harness and subprocess
runtime (a process a turn), against a server in this process, as many hands side by side as
`--hands`. Time is that of the clock, since verifiers works in other processes; ours and TextArena's
take turns, and a ratio is a median over pairs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import env_peers

import gamedsl

LEAST = {"verifiers": 10_000, "TextArena": 2}
"""How many times the turns per second of each must be reached."""
PAIRS = 7


def turns(args: argparse.Namespace) -> dict[str, Any]:
    """Turns per second of the three, and the ratios that are asked for."""
    runs = {"ours": ours(), "TextArena": text_arena()}
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run(50)  # warm
    for _ in range(PAIRS):
        for name, run in runs.items():
            start = time.perf_counter()
            count = run({"ours": 4_000, "TextArena": 400}[name])
            rates[name].append(count / (time.perf_counter() - start))
    of_verifiers = asyncio.run(verifiers(args.hands))
    own = statistics.median(rates["ours"])
    ratios = {
        "TextArena": statistics.median(
            a / b for a, b in zip(rates["ours"], rates["TextArena"], strict=True)
        ),
        "verifiers": own / of_verifiers,
    }
    found = {
        "versions": {name: version(name) for name in ("gamedsl", "textarena", "verifiers")},
        "hands": args.hands,
        "turns_per_second": {
            "ours": own,
            "TextArena": statistics.median(rates["TextArena"]),
            "verifiers": of_verifiers,
        },
        "ratios": ratios,
        "least": LEAST,
    }
    print(f"ours {own:.0f} turns/s")
    for name, ratio in ratios.items():
        rate = found["turns_per_second"][name]
        print(f"{name} {rate:.3g} turns/s, ratio {ratio:.3g}, at least {LEAST[name]} wanted")
    return found


def ours() -> Callable[[int], int]:
    """Whole episodes, with labels, transcripts and payoffs."""
    env = gamedsl.load("kuhn_poker").env()
    draw = random.Random(0).random

    def play(games: int) -> int:
        count = 0
        for seed in range(games):
            episode = env.reset(seed)
            while not episode.done:
                replies = {}
                for decision in episode.decisions:
                    replies[decision.seat] = instant(decision.messages, decision.labels, draw)
                episode.step(replies)
                count += len(replies)
            assert sum(episode.payoffs.values()) == 0
        return count

    return play


def instant(prompt: object, options: Any, draw: Callable[[], float]) -> str:
    """The model: it is given a prompt, and says one of the options."""
    assert prompt
    return options[int(draw() * len(options))]


def text_arena() -> Callable[[int], int]:
    """Whole games, of one hand after another; what may be said is read off the game's state."""
    play, draw = env_peers.text_arena(env_peers.TEXT_ARENA["kuhn_poker"]), random.Random(0).random
    return lambda games: play(games, draw)


async def verifiers(hands: int) -> float:
    """Hands side by side, after one that fetches what a process needs."""
    import kuhn_in_verifiers as kuhn
    from verifiers.v1.clients import ModelContext
    from verifiers.v1.configs.client import EvalClientConfig

    env = kuhn.Kuhn(kuhn.KuhnConfig(taskset={"id": kuhn.__name__}))
    tasks = iter(env.taskset)
    async with server() as (port, answered), env.serving():
        client = EvalClientConfig(base_url=f"http://127.0.0.1:{port}/v1", api_key_var="NO_KEY")
        context = ModelContext(model="instant", client=client)
        for count in (1, hands):
            before, start = len(answered), time.perf_counter()
            slots = [slot for _ in range(count) for slot in env.slots(next(tasks))]
            episodes = await asyncio.gather(*(env.run_slot(slot, context) for slot in slots))
            assert all(episode.ok for episode in episodes), "a hand of verifiers failed"
            rate = (len(answered) - before) / (time.perf_counter() - start)
    return rate


@asynccontextmanager
async def server() -> AsyncIterator[tuple[int, list[str]]]:
    """A chat server that says one of the options in the last message, and all that it said."""
    from aiohttp import web

    answered: list[str] = []
    draw = random.Random(0)

    async def chat(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        said = draw.choice(re.findall(r"\[\w+\]", json.dumps(body["messages"][-1])))
        answered.append(said)
        kind = "chat.completion" + ".chunk" * bool(body.get("stream"))
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        whole = {"id": "1", "object": kind, "created": 0, "model": "instant", "usage": usage}
        message = {"role": "assistant", "content": said}
        part = {"index": 0, "finish_reason": "stop"}
        if not body.get("stream"):
            return web.json_response({**whole, "choices": [{**part, "message": message}]})
        reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await reply.prepare(request)
        chunk = json.dumps({**whole, "choices": [{**part, "delta": message}]})
        await reply.write(f"data: {chunk}\n\ndata: [DONE]\n\n".encode())
        return reply

    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1], answered
    finally:
        await runner.cleanup()
