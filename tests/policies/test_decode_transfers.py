"""Tokens of several steps stay on the device: what they are, and what waits for the device."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from gamedsl.policies.generation import Generated, Request
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.policies.token_sampling import _sum_by_doubling, draw

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

NAMES = ("a", "b")
WAITING = {
    getattr(torch.Tensor, name)
    for name in ("item", "tolist", "cpu", "numpy", "__bool__", "__int__", "__float__", "__index__")
}
SHAPED = {"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2"}
"""Operations whose result a host must know before it can go on."""


class Waits(TorchFunctionMode):
    """Counts the calls that make a host wait for a device, were it one."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self._inner = _Operations(self.calls)

    def __enter__(self) -> Waits:
        self._inner.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._inner.__exit__(*error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in WAITING:
            self.calls[func.__name__] += 1
        return func(*args, **(kwargs or {}))


class _Operations(TorchDispatchMode):
    def __init__(self, calls: Counter[str]) -> None:
        super().__init__()
        self._calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.name().split(".")[0] in SHAPED:
            self._calls[func.name()] += 1
        return func(*args, **(kwargs or {}))


def _policy(burst: int) -> HFPolicy:
    policy = HFPolicy("tiny", NAMES, lora=LoraSpec(4, 8))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    policy._writer.decoder.burst = burst
    return policy


def _requests(count: int = 12, **options: Any) -> list[Request]:
    """Some prompts are asked several times, so that replies are one row until they part."""
    return [
        Request(
            (("system", "Play. " * 9), ("user", f"Round {index // 4}")), NAMES[index % 2],
            options.get("max_tokens", 5 + 4 * (index % 5)), options.get("temperature", 0.3),
            options.get("stop", ()), seed=index,
        )
        for index in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"temperature": 0.0}, {"stop": ("a", "e ")}], ids=str)
@pytest.mark.parametrize("share", [1, None], ids=["shared", "apart"])
def test_bursts_give_the_same_replies(options: dict[str, Any], share: int | None) -> None:
    replies: list[list[Generated]] = []
    for burst in (1, 8):
        policy = _policy(burst)
        policy._writer.decoder._share, policy._writer.decoder._checked = share, True
        first = policy.generate(_requests(**options))
        later = [
            Request((*r.messages, ("assistant", reply.reply_ids), ("user", "On.")), r.adapter, 9)
            for r, reply in zip(_requests(**options), first, strict=True)
        ]
        replies.append([*first, *policy.generate(later)])
    one, many = replies
    for a, b in zip(one, many, strict=True):
        assert (a.prompt_ids, a.reply_ids, a.finish, a.text) == (
            b.prompt_ids, b.reply_ids, b.finish, b.text,
        )  # fmt: skip
        torch.testing.assert_close(
            torch.tensor(a.log_probs), torch.tensor(b.log_probs), atol=1e-4, rtol=0
        )
    assert len({len(reply.reply_ids) for reply in one}) > 2


def test_replies_end_in_the_midst_of_a_burst() -> None:
    (free,) = _policy(1).generate([Request((("user", "?"),), "a", 16, seed=3)])
    policy = _policy(8)
    policy._writer.decoder.ends = frozenset({free.reply_ids[4]})
    (ended,) = policy.generate([Request((("user", "?"),), "a", 16, seed=3)])
    assert ended.finish == "stop"
    assert ended.reply_ids == free.reply_ids[: 1 + free.reply_ids.index(free.reply_ids[4])]


@pytest.mark.parametrize(("burst", "most"), [(1, 1.0), (8, 1 / 8)])
def test_transfers_of_a_token(burst: int, most: float) -> None:
    """One copy from the device a step, or a burst; none in the model or between its steps."""
    policy, session = _policy(burst), None
    requests = _requests(max_tokens=33, temperature=1.0)
    policy.generate(requests)  # warm: prompts are kept, the model is checked
    policy._writer.decoder.ends = frozenset()
    session = policy.session()
    session.ask(requests)
    session.step()  # the batch is made
    steps: list[int] = []
    network, cached = policy._network, policy._network.cached

    def counted(*args: Any, **options: Any) -> torch.Tensor:
        steps.append(1)
        return cached(*args, **options)

    network.cached = counted
    with Waits() as waits:
        while len(steps) < 24:
            session.step()
    assert sum(waits.calls.values()) <= most * len(steps) + 1e-9, waits.calls
    assert sum(waits.calls.values()) > 0


def test_constraints_are_drawn_step_by_step() -> None:
    request = Request((("user", "?"),), "a", 9, choices=("stag", "hare"), seed=1)
    assert _policy(8).generate([request]) == _policy(1).generate([request])


def test_sums_by_doubling_are_sums() -> None:
    x_BN = torch.rand(5, 193, dtype=torch.float64)
    x_BN[:, 40:60] = 0
    mine = _sum_by_doubling(x_BN)
    torch.testing.assert_close(mine, x_BN.cumsum(-1), rtol=1e-13, atol=0)
    assert (mine.diff(dim=-1) >= 0).all()
    logits = torch.randn(3, 1000)
    logits[:, 100:900] = float("-inf")
    tokens, _ = draw(logits, [1.0, 0.5, 0.0], [[0.0, 0.999999], [0.5], [0.2]])
    assert all(token < 100 or token >= 900 for token in tokens)
