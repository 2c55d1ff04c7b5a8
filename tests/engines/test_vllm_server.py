"""An endpoint that is no stand-in: vLLM's own OpenAI server with the embedded model."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from vllm_requests import TEXTS, asked, by_hf

if TYPE_CHECKING:
    from gamedsl.policies.vllm import VllmPolicy

MODEL = "smollm2"
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of one's own, which ends with the tests."""
    from gamedsl.policies.smollm2 import folder

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder()),
             "--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port),
             "--dtype", "float32", "--max-model-len", "1024", "--enforce-eager",
             "--kv-cache-memory-bytes", str(2**29)],
            stdout=stream, stderr=stream,
            env={**os.environ, "VLLM_NO_USAGE_STATS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    try:
        _wait(process, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], health: str, log: Path) -> None:
    end = time.monotonic() + 900
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx2.get(health, timeout=5).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.5)
    raise AssertionError(log.read_text(errors="replace")[-4000:])


def test_an_endpoint_replies_as_the_model_does(policy: VllmPolicy, url: str) -> None:
    from gamedsl.policies.endpoint import Endpoint

    endpoint = Endpoint(url, MODEL)
    requests = [asked(text) for text in TEXTS[:2]]  # the third is cut within a character
    replies = endpoint.generate(requests)
    assert [(r.text, r.finish) for r in replies] == [
        (r.text, r.finish) for r in by_hf(policy, requests)
    ]
    assert endpoint.tokens == sum(len(r.prompt_ids + r.reply_ids) for r in by_hf(policy, requests))
    drawn = [asked(TEXTS[0], temperature=1.0, seed=seed) for seed in range(3)]
    first = endpoint.generate(drawn)
    assert Endpoint(url, MODEL).generate(drawn) == first
    assert len({reply.text for reply in first}) > 1
    stopped = endpoint.generate([asked(TEXTS[0], stop=("cap",))])[0]
    assert stopped.text.endswith("cap")


@pytest.mark.parametrize("way", ["structured_outputs", "response_format"])
def test_endpoint_constrains_replies_to_schema_and_choices(url: str, way: str) -> None:
    from gamedsl.policies.endpoint import Endpoint, EndpointSettings

    settings = EndpointSettings(constrain=way)
    endpoint = Endpoint(url, MODEL, settings)
    schema = [
        asked(TEXTS[1], temperature=1.0, seed=s, max_tokens=40, schema=SCHEMA) for s in (1, 2)
    ]
    for reply in endpoint.generate(schema):
        assert json.loads(reply.text)["n"] in range(10)
    if way == "structured_outputs":
        labels = ("stag", "hare")
        choices = [asked(TEXTS[1], temperature=1.0, seed=s, choices=labels) for s in range(3)]
        assert {reply.text for reply in endpoint.generate(choices)} <= set(labels)


def test_an_endpoint_plays_whole_games_in_words(url: str) -> None:
    """Evaluated as any contestant; the server holds its replies to the schema of a guess."""
    import gamedsl
    from gamedsl.evaluate import Options, ReplySite, contestants, evaluate
    from gamedsl.evaluate.plan import plan_of
    from gamedsl.policies.endpoint import EndpointSettings

    game = gamedsl.load("guess_in_words")
    name = f"far=endpoint:{url}#{MODEL}"
    settings = EndpointSettings(timeout=200, constrain="structured_outputs", enable_thinking=False)
    plan = plan_of(game, contestants([name]), ())
    found = evaluate(game, plan, Options(games=4, endpoints=settings))
    said = found.reply_counts[ReplySite("far", "guesser", "message")]
    assert said.replies == said.written >= 4
    assert said.valid.value > 0.5
    assert said.tokens > 0
    assert found.spent["far"].calls >= said.replies


def test_endpoint_thinks_then_chooses_an_option(url: str) -> None:
    """The server goes on from the thought that it wrote itself."""
    import gamedsl
    from gamedsl.evaluate import Options, ReplySite, contestants, evaluate
    from gamedsl.evaluate.plan import plan_of
    from gamedsl.policies.endpoint import EndpointSettings

    game = gamedsl.load("kuhn_poker_thinking")
    plan = plan_of(game, contestants([f"far=endpoint:{url}#{MODEL}"]), ())
    settings = EndpointSettings(timeout=200, constrain="structured_outputs")
    found = evaluate(game, plan, Options(games=4, endpoints=settings))
    said = {site: count for site, count in found.reply_counts.items() if site.who == "far"}
    second = [said[site] for site in said if site.role == "second"]  # after a check, or a bet
    # in each seat, four games with itself and two with a random player
    assert said[ReplySite("far", "first", "open")].replies == 6
    assert sum(one.replies for one in second) == 6
    assert all(one.valid.value == 1 for one in said.values())
    # whoever has thought up to the limit is asked once more, for the choice
    assert found.spent["far"].calls > sum(one.replies for one in said.values())
