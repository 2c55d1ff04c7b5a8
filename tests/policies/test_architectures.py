"""Models of many architectures score, train, write, are saved and read again by plain PEFT; or are
refused with the reason."""

from __future__ import annotations

from pathlib import Path

import peft
import pytest
import torch

from gamedsl.cli import main
from gamedsl.policies import models
from gamedsl.policies.base import Query
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import Request, join_turns
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from tests.policies.architectures import TABLE, write

pytestmark = [
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

ADAPTERS = ("a", "b")
LABELS = ("s", "ha", "hen")
QUERIES = tuple(
    Query((("user", f"Fog {i}?"),), LABELS, name) for i in range(2) for name in ADAPTERS
)
DTYPES = pytest.mark.parametrize(
    "dtype", [torch.float32, pytest.param(torch.bfloat16, marks=pytest.mark.slow)], ids=str
)


@pytest.fixture(params=TABLE)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(request.param, tmp_path_factory.mktemp("model") / request.param)


def _before_tokens(model: torch.nn.Module, policy: HFPolicy, query: Query) -> list[torch.Tensor]:
    """By label log p [tokens], by a model of PEFT, one label at a time."""
    encoded, found = policy.encode(query), []
    start = len(encoded.prompt) - 1
    for label in encoded.labels:
        ids = torch.tensor([encoded.prompt + label])
        log_p = model(ids).logits[0].float().log_softmax(-1)
        found.append(log_p[start + torch.arange(len(label)), torch.tensor(label)])
    return found


@DTYPES
def test_trains_writes_and_is_read_again(folder: Path, dtype: torch.dtype, tmp_path: Path) -> None:
    row = TABLE[folder.name]
    policy = HFPolicy(str(folder), ADAPTERS, lora=LoraSpec(4, 8, targets=row.targets), dtype=dtype)
    assert (policy.packing == "packed") == row.packs
    before = policy.log_probs(QUERIES)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.5)
    for _ in range(2):  # B is zero at first, so that A moves from the second step on
        optimizer.zero_grad()
        policy.backward(QUERIES, [torch.tensor([1.0, -1.0, 0.0])] * len(QUERIES))
        assert all(p.grad is not None and p.grad.isfinite().all() for p in policy.parameters())
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
    after = policy.log_probs(QUERIES)
    assert all((x - y).abs().max() > 1e-3 for x, y in zip(before, after, strict=True))
    policy.save_adapter("b", tmp_path / "b")
    base = models.load(str(folder), dtype=dtype).model
    plain = peft.PeftModel.from_pretrained(base, tmp_path / "b")
    for query, ours in zip(QUERIES, after, strict=True):
        if query.adapter == "b":
            with torch.no_grad():
                theirs = _before_tokens(plain, policy, query)
            scores = torch.stack([one.sum() for one in theirs])
            slack = 1e-4 if dtype == torch.float32 else 0.05 * max(1.0, -scores.min().item())
            torch.testing.assert_close(ours, scores.log_softmax(0), atol=slack, rtol=0)
    other = HFPolicy(str(folder), ADAPTERS, lora=LoraSpec(4, 8, targets=row.targets), dtype=dtype)
    other.load_adapter("b", tmp_path / "b")
    for query, ours, theirs in zip(QUERIES, after, other.log_probs(QUERIES), strict=True):
        if query.adapter == "b":
            near = 1e-4 if dtype == torch.float32 else 0.5
            torch.testing.assert_close(ours, theirs, atol=near, rtol=0)
        elif dtype == torch.float32:
            assert (ours - theirs).abs().max() > 1e-3

    asked = [
        Request((("user", f"Tell {i}"),), name, 8, seed=i) for i in range(2) for name in ADAPTERS
    ]
    if row.refused:
        with pytest.raises(ModelError, match=row.refused) as caught:
            policy.generate(asked)
        assert "engine: vllm" in caught.value.fix
        return
    replies = policy.generate(asked)
    rows = [
        join_turns(request.adapter, [reply], 1.0)[0][0]
        for request, reply in zip(asked, replies, strict=True)
    ]
    sampler = torch.tensor([log_p for reply in replies for log_p in reply.log_probs])
    gap = (torch.cat(policy.token_log_probs(rows)) - sampler).abs()
    assert gap.mean() < (1e-4 if dtype == torch.float32 else 0.05)
    optimizer.zero_grad()
    policy.token_backward(rows, [torch.ones(len(reply.reply_ids)) for reply in replies])
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in policy.parameters())


def test_dry_run_says_why_replies_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write("qwen3_next", tmp_path / "model")
    settings = [f"model={folder}", "games=2", "group_size=1", "warm_up.expert=none"]
    command = ["train", "guess_in_words", "--dry-run"]
    assert main([*command, *(part for one in settings for part in ("--set", one))]) == 2
    said = capsys.readouterr().err
    assert "linear_attention" in said
    assert "engine: vllm" in said


def test_names_that_peft_takes_are_refused(tmp_path: Path) -> None:
    """PEFT reads `gate_proj` of a shared expert as that of all experts, which are one parameter."""
    folder = write("qwen3_next", tmp_path / "model")
    with pytest.raises(ModelError, match="PEFT takes gate_proj") as caught:
        HFPolicy(str(folder), lora=LoraSpec(4, 8, targets=("q_proj", "gate_proj")))
    assert "q_proj" in caught.value.fix
    assert "gate_proj" not in caught.value.fix
    with pytest.raises(ModelError, match="no linear layer called wolf"):
        HFPolicy(str(folder), lora=LoraSpec(4, 8, targets=("wolf",)))
