"""What `--dry-run` says of memory, against what torch allocates on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from torch.profiler import ProfilerActivity, profile

from gamedsl.cli import main
from gamedsl.policies import random_models
from gamedsl.policies.base import Query
from gamedsl.policies.cost import ModelSize, active_weights
from gamedsl.policies.generation import Request, join_turns
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.kv_room import GIB
from gamedsl.policies.lora import LoraSpec
from gamedsl.policies.progress_bars import without_progress_bars
from gamedsl.policies.quantised import Quantize
from gamedsl.policies.vllm import VllmPolicy
from gamedsl.policies.vllm_engine import VllmSettings
from gamedsl.training.dry_run import Work, memory_in, scored, spoken
from gamedsl.training.scoring import distinct_tokens
from tests.train.test_models_under_vllm import stand_in

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

BOUND = (0.85, 1.15)
"""What is allocated, as a share of what the formula says, beside the weights."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose activations, logits and weights all matter: 14 million weights."""
    where = tmp_path_factory.mktemp("model")
    _, tokenizer = random_models.build_tiny()
    config = transformers.LlamaConfig(
        vocab_size=20_000, hidden_size=256, intermediate_size=704, num_hidden_layers=6,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=4096,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, tie_word_embeddings=True,
    )  # fmt: skip
    with without_progress_bars():
        random_models.made(transformers.LlamaForCausalLM, config, 0).save_pretrained(where)
    tokenizer.save_pretrained(where)
    return where


def _allocated(act: Callable[[], object]) -> int:
    """The most bytes that torch had allocated at one time, beyond what there was before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        act()
    now = most = 0
    for event in found.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            most = max(most, now)
    return most


def _step(policy: HFPolicy, backward: Callable[[], object]) -> None:
    optimizer = torch.optim.AdamW(policy.parameters())
    backward()
    optimizer.step()


@pytest.mark.parametrize(
    ("dtype", "layers", "quantize"),
    [
        (torch.float32, None, "none"), (torch.float32, 2, "none"), (torch.bfloat16, 2, "none"),
        (torch.float32, None, "nf4"), (torch.bfloat16, 2, "nf4"),
    ],
    ids=str,
)  # fmt: skip
def test_closed_step_takes_what_is_said(
    folder: Path, dtype: torch.dtype, layers: int | None, quantize: Quantize
) -> None:
    if quantize != "none":
        pytest.importorskip("bitsandbytes")
    lora = LoraSpec(16, 32, layers=layers)
    policy = HFPolicy(str(folder), dtype=dtype, lora=lora, quantize=quantize)
    rules = ("system", "Two players choose at once, stag or hare. " * 6)
    queries = [
        Query((rules, ("user", f"Round {i}. {'So it goes. ' * 4}")), ("stag", "hare"), "shared")
        for i in range(24)
    ]
    trained = sum(parameter.numel() for parameter in policy.parameters())
    work = scored(policy, queries, distinct_tokens(policy, queries), kept=layers is not None)
    assert 1200 < work.tokens < 2048
    memory = memory_in(policy, trained, work)
    weights = [torch.tensor([1.0, -1.0])] * len(queries)
    took = _allocated(lambda: _step(policy, lambda: policy.backward(queries, weights)))
    said = memory.total - memory.weights - 4 * trained
    assert BOUND[0] < took / said < BOUND[1], (took / 1e6, memory)


def test_written_step_takes_what_is_said(folder: Path) -> None:
    policy = HFPolicy(str(folder), dtype=torch.float32, lora=LoraSpec(16, 32))
    rules = ("system", "Two players choose at once, stag or hare. " * 6)
    asked = [Request((rules, ("user", f"Round {i}.")), "shared", 48, seed=i) for i in range(16)]
    policy.generate(asked[:1])
    policy.forget()
    trained = sum(parameter.numel() for parameter in policy.parameters())
    replies = []

    def step() -> None:
        replies.extend(policy.generate(asked))
        rows = [join_turns("shared", [reply])[0][0] for reply in replies]
        weights = [torch.ones(len(reply.reply_ids)) for reply in replies]
        _step(policy, lambda: policy.token_backward(rows, weights))

    took = _allocated(step)
    longest = max(len(reply.prompt_ids) + len(reply.reply_ids) for reply in replies)
    memory = memory_in(policy, trained, spoken(replies, longest, 1.0))
    said = memory.total - memory.weights - 4 * trained
    assert BOUND[0] < took / said < BOUND[1], (took / 1e6, memory)


def test_weights_are_those_of_the_file(folder: Path) -> None:
    policy = HFPolicy(str(folder), dtype=torch.bfloat16)
    size = policy.size
    stored = (folder / "model.safetensors").stat().st_size // 2  # the file is float32
    kept = policy._network.head_bytes
    assert size.weights - kept == pytest.approx(stored, rel=0.01)
    assert kept == 4 * 20_000 * 256
    assert HFPolicy(str(folder)).size.weights == pytest.approx(2 * stored, rel=0.01)
    assert size.adapters == sum(parameter.numel() for parameter in policy.parameters())
    assert 2 * (size.trunk + size.crown) == pytest.approx(stored - 2 * size.head, rel=0.01)


def test_vllm_holds_the_weights_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    work, cache = Work(1000, 200, read=1000, kept=1000), 0.5
    alone = memory_in(HFPolicy(str(folder)), 10, work)
    beside, sleeping = (
        memory_in(VllmPolicy(str(folder), settings=VllmSettings(idle, cache)), 10, work)
        for idle in ("resident", "sleep")
    )
    stored = (folder / "model.safetensors").stat().st_size
    assert beside.vllm == pytest.approx(stored + cache * GIB, rel=0.01 * stored / GIB)
    assert beside.total == alone.total - alone.kept + beside.vllm
    a_pass = beside.activations + beside.logits
    assert beside.total - sleeping.total == min(a_pass, beside.vllm) > 0


def test_token_meets_the_experts_it_reaches() -> None:
    config = transformers.MixtralConfig(
        vocab_size=300, hidden_size=64, intermediate_size=128, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, num_local_experts=8, num_experts_per_tok=2,
    )  # fmt: skip
    model = transformers.MixtralForCausalLM(config)
    attention = 2 * 64 * 64 + 2 * 64 * 32
    router, expert = 64 * 8, 3 * 64 * 128
    assert active_weights(model.model.layers[0], config) == attention + router + 2 * expert


def test_operations_of_a_token() -> None:
    size = ModelSize(0, 0, 100, 10, 1, 8, 50, torch.float32, torch.device("cpu"))
    assert size.step_flop(1, 0) == 2 * 100 + 4 * 10
    assert size.step_flop(1, 0, kept_trunk=True) == 4 * 10
    assert size.step_flop(0, 1) == 4
    assert size.read_flop(1, 1) == 2 * 110 + 2


def test_dry_run_says_memory_and_floor(capsys: pytest.CaptureFixture[str]) -> None:
    for game in ("kuhn_poker", "guess_in_words"):
        settings = ["--model", "tiny", "--set", "games=4", "--dry-run"]
        assert main(["train", game, *settings]) == 0
        said = capsys.readouterr().out
        assert "memory " in said
        assert "GFLOP/s; expected is" in said
    assert Work(1, 1).kept == 0


def test_dry_run_says_what_vllm_holds(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch)
    settings = ["games=4", "group_size=4", "engine=vllm", "vllm.cache=0.5"]
    given = [part for setting in settings for part in ("--set", setting)]
    assert main(["train", "guess_in_words", "--model", str(folder), *given, "--dry-run"]) == 0
    said = capsys.readouterr().out
    weights = (folder / "model.safetensors").stat().st_size / 1e9
    assert f"its own copy of the weights, {weights:.2f} GB, and room" in said
    assert f"vllm {weights + 0.5 * GIB / 1e9:.2f})" in said
