"""Kuhn poker in loops that ask a model: verifiers, Inspect, tinker-cookbook, TRL, and OpenEnv's
client.

The model is a stand-in that draws one of the options at the end of a prompt. So what is timed is
the library's own work and the environment's, and no model's.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from tempfile import TemporaryDirectory, mkdtemp
from threading import Thread
from time import sleep
from types import ModuleType, SimpleNamespace
from typing import Any

from contests import GAME, Contest, Play, Side, code_lines, file_lines, game_lines, page_code

WORD = r"\[?(check|bet|fold|call)\]?"
OPTIONS = re.compile(rf"{WORD}(?: or |\n){WORD}")
GROUP = 2
"""The plays of a deal in TRL's batch."""


class Model:
    """Draws one of the two options that a prompt ends with, and counts its replies."""

    def __init__(self) -> None:
        self.dice = random.Random(0)
        self.turns = 0

    def reply(self, prompt: str) -> str:
        self.turns += 1
        return self.dice.choice(OPTIONS.findall(prompt)[-1])

    def played(self, run: Callable[[int, random.Random], object]) -> Play:
        """Returns a play whose decisions are the model's replies."""

        def play(games: int, dice: random.Random) -> int:
            before, self.dice = self.turns, dice
            run(games, dice)
            return self.turns - before

        return play


def openenv() -> Contest:
    """OpenEnv's generic client, over its web socket to a server in this process."""
    import kuhn_in_openenv
    import uvicorn
    from openenv.core.generic_client import GenericEnvClient

    from gamedsl.export.openenv import app

    def served(made: Any) -> str:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(made, port=port, log_level="error"))
        Thread(target=server.run, daemon=True).start()
        while not server.started:
            sleep(0.05)
        return f"http://127.0.0.1:{port}"

    def loop(url: str, options: str, field: str) -> Play:
        def play(games: int, dice: random.Random) -> int:
            turns = 0
            with GenericEnvClient(url).sync() as client:
                for _ in range(games):
                    result = client.reset(seed=dice.getrandbits(31))
                    while not result.done:
                        result = client.step({field: dice.choice(result.observation[options])})
                        turns += 1
            return turns

        return play

    return Contest(
        "openenv-core",
        Side(
            loop(served(kuhn_in_openenv.app()), "options", "word"),
            file_lines("kuhn_in_openenv.py"),
        ),
        Side(loop(served(app(GAME)), "labels", "text"), game_lines()),
    )


def inspect() -> Contest:
    """Inspect's evaluation with its mock model, which writes a log; a sample is a hand."""
    import kuhn_in_inspect
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from gamedsl.export.inspect import game_task

    def loop(task: Callable[[int], Any]) -> Play:
        told = Model()

        def output(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
            made = ModelOutput.from_content("mock", told.reply(messages[-1].text))
            made.usage = ModelUsage()  # counting tokens would download a tokenizer
            return made

        model = get_model("mockllm/model", custom_outputs=output, memoize=False)

        def run(games: int, dice: random.Random) -> None:
            with TemporaryDirectory() as logs:
                (log,) = evaluate(task(games), model=model, log_dir=logs, display="none")
            assert log.status == "success", log.error

        return told.played(run)

    return Contest(
        "inspect-ai",
        Side(loop(kuhn_in_inspect.kuhn), file_lines("kuhn_in_inspect.py")),
        Side(loop(lambda hands: game_task(GAME, plays=hands)), game_lines()),
    )


def tinker() -> Contest:
    """The cookbook's rollout of one trajectory, with a stand-in for its service: the first seat
    learns, and the second plays at random."""
    from tinker_cookbook.completers import TinkerTokenCompleter
    from tinker_cookbook.renderers import get_renderer
    from tinker_cookbook.rl.message_env import EnvFromMessageEnv
    from tinker_cookbook.rl.rollouts import do_single_rollout

    from gamedsl.export.tinker import SeatEnv, SharedPlay, open_table, table_of
    from gamedsl.policies.random_models import build_tiny

    tokenizer = build_tiny()[1]
    renderer = get_renderer("role_colon", tokenizer)

    def loop(make: Callable[[int], Any]) -> Play:
        told = Model()

        async def sample(prompt: Any, num_samples: int, sampling_params: Any) -> Any:
            text = f" {told.reply(tokenizer.decode(prompt.to_ints()))}\n\nUser:"
            tokens = list(tokenizer.encode(text, add_special_tokens=False))
            sequence = SimpleNamespace(
                tokens=tokens, logprobs=[0.0] * len(tokens), stop_reason="stop", sequence_id=None
            )
            return SimpleNamespace(sequences=[sequence], prompt_cache_hit_tokens=0)

        policy = TinkerTokenCompleter(
            SimpleNamespace(sample=sample, sample_async=sample), max_tokens=64
        )

        async def games_of(games: int, dice: random.Random) -> None:
            for _ in range(games):
                await do_single_rollout(policy, make(dice.getrandbits(31)))

        return told.played(lambda games, dice: asyncio.run(games_of(games, dice)))

    code = page_code("tinker")
    names: dict[str, Any] = {}
    exec(compile(code, "tinker", "exec"), names)
    game = open_table(table_of(str(GAME), ["first"], ["second=random"]))
    return Contest(
        "tinker-cookbook",
        Side(
            loop(lambda seed: EnvFromMessageEnv(renderer, names["KuhnTable"](seed))),
            code_lines(code),
        ),
        Side(
            loop(lambda seed: SeatEnv(SharedPlay(game.begin(seed)), "first", renderer)),
            game_lines(),
        ),
    )


def trl() -> Contest:
    """GRPOTrainer's rollout and its scoring of a batch, with a stand-in for generation."""
    import kuhn_in_trl
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from gamedsl.export.trl import Rollout
    from gamedsl.policies.random_models import build_tiny

    def loop(rollout: Any, reward: Any, rows: Callable[[int, int], list[dict[str, str]]]) -> Play:
        told, seeds = Model(), count()
        model, tokenizer = build_tiny()
        arguments = GRPOConfig(
            output_dir=mkdtemp(), use_cpu=True, report_to="none", shuffle_dataset=False,
            num_generations=GROUP, per_device_train_batch_size=GROUP * len(rows(1, 0)),
            max_completion_length=8, save_strategy="no",
        )  # fmt: skip
        trainer = GRPOTrainer(
            model, reward, arguments, Dataset.from_list(rows(1, 0)),
            processing_class=tokenizer, rollout_func=rollout,
        )  # fmt: skip

        def generate(prompts: Any, images: Any, fields: Any, number: int) -> Any:
            replies = [
                [
                    *tokenizer.encode(told.reply(tokenizer.decode(ids)), add_special_tokens=False),
                    tokenizer.eos_token_id,
                ]
                for ids in prompts
            ]
            return replies, [[-1.0] * len(reply) for reply in replies]

        trainer._generate_single_turn = generate

        def run(games: int, dice: random.Random) -> None:
            for _ in range(games // GROUP):
                batch = [dict(row) for row in rows(1, next(seeds)) for _ in range(GROUP)]
                trainer._generate_and_score_completions(batch)

        return told.played(run)

    def rollout_func(prompts: Any, trainer: Any) -> Any:
        return kuhn_in_trl.rollout(prompts, trainer)

    ours = Rollout(GAME)
    return Contest(
        "trl",
        Side(
            loop(rollout_func, kuhn_in_trl.reward, kuhn_in_trl.rows), file_lines("kuhn_in_trl.py")
        ),
        Side(loop(ours, ours.reward, ours.rows), game_lines()),
        fewer=10,
    )


def verifiers() -> Contest:
    """An episode of verifiers, one after another, against a chat server in this process. Its `null`
    harness, by which the game by hand asks, starts a process for each turn."""
    import kuhn_in_verifiers
    import verifiers.v1 as vf
    from verifiers.v1.utils.loaders import load_environment, resolve_env_config

    from gamedsl.export.verifiers import environment

    module: Any = ModuleType("kuhn_exported")
    module.Env, module.Taskset, module.Harness = environment(GAME)
    module.__all__ = ["Env", "Taskset", "Harness"]
    module.__spec__ = type(json.__spec__)(module.__name__, None)
    sys.modules[module.__name__] = module

    def loop(name: str) -> Play:
        told = Model()
        env = load_environment(resolve_env_config({"taskset": {"id": name}}))
        tasks = iter(env.taskset)
        client = vf.EvalClientConfig(base_url=chat_server(told), api_key_var="NO_KEY")
        context = vf.ModelContext(model="model", client=client, sampling=vf.SamplingConfig())

        async def episodes(games: int) -> None:
            async with env.serving():
                for _ in range(games):
                    episode = await env.run_episode(next(tasks), context)
                    assert episode.ok, [one.errors for one in (episode, *episode.traces)]

        return told.played(lambda games, dice: asyncio.run(episodes(games)))

    return Contest(
        "verifiers",
        Side(loop(kuhn_in_verifiers.__name__), file_lines("kuhn_in_verifiers.py")),
        Side(loop(module.__name__), game_lines()),
        fewer=10,
    )


def chat_server(model: Model) -> str:
    """Starts a server of chat completions that a model answers, and returns its address."""

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = model.reply(str(body["messages"][-1]["content"]))
            message = {"role": "assistant", "content": said}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            whole = {"id": "1", "created": 0, "model": body["model"], "usage": usage}
            choice = {"index": 0, "finish_reason": "stop"}
            if body.get("stream"):
                whole |= {
                    "object": "chat.completion.chunk",
                    "choices": [choice | {"delta": message}],
                }
                kind, text = "text/event-stream", f"data: {json.dumps(whole)}\n\ndata: [DONE]\n\n"
            else:
                whole |= {"object": "chat.completion", "choices": [choice | {"message": message}]}
                kind, text = "application/json", json.dumps(whole)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


CONTESTS = {
    "openenv": openenv, "inspect": inspect, "tinker": tinker, "trl": trl, "verifiers": verifiers,
}  # fmt: skip
