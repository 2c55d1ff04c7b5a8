"""Log-probabilities and gradients of trained tokens, against plain PEFT and autograd."""

from __future__ import annotations

import random
from pathlib import Path

import peft
import pytest
import torch

from gamedsl.policies import random_models
from gamedsl.policies.generation import TokenRow
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

NAMES = ("hunter", "partner")


def _policy(**options: object) -> HFPolicy:
    """A policy whose adapters are not at their start, where B = 0 would hide half of it."""
    policy = HFPolicy("tiny", NAMES, lora=LoraSpec(4, 8, layers=2), **options)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return policy


def _rows() -> list[TokenRow]:
    """Samples of shared prompts for both adapters, an episode of two replies, a row of its own."""
    rng = random.Random(2)

    def text(length: int) -> tuple[int, ...]:
        return tuple(rng.randrange(3, 250) for _ in range(length))

    rows = []
    for name in NAMES:
        prompt = text(20)
        for length in (3, 6, 9):
            rows.append(TokenRow(name, prompt + text(length), ((20, 20 + length),)))
    rows.append(TokenRow("hunter", text(30), ((5, 9), (20, 28))))
    rows.append(TokenRow("partner", rows[0].ids, ((20, 23),), temperature=0.5))
    rows.append(TokenRow("hunter", rows[0].ids, ((20, 23),), temperature=0.5))
    return rng.sample(rows, len(rows))


def _weights(rows: list[TokenRow]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(len(row.positions), generator=generator) for row in rows]


def _plain(folder: Path, rows: list[TokenRow]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """log pi of each row by itself, and the gradients of the weighted sum, by PEFT alone."""
    policy = _policy()
    log_probs, gradients = {}, []
    for name in NAMES:
        policy.save_adapter(name, folder / name)
        base = random_models.build_tiny()[0]
        model = peft.PeftModel.from_pretrained(base, folder / name, is_trainable=True)
        total = torch.zeros(())
        for index, (row, weight) in enumerate(zip(rows, _weights(rows), strict=True)):
            if row.adapter != name:
                continue
            logits = model(input_ids=torch.tensor([row.ids])).logits[0, :-1] / row.temperature
            log_p = logits.log_softmax(-1)[range(len(row.ids) - 1), row.ids[1:]]
            log_probs[index] = log_p[[at - 1 for at in row.positions]]
            total = total + (log_probs[index] * weight).sum()
        total.backward()
        grads = {n.replace(".default", ""): p.grad for n, p in model.named_parameters()}
        gradients += [grads[key] for key in policy.adapter_state(name)]
    return [log_probs[index].detach() for index in range(len(rows))], gradients


def _gradients(policy: HFPolicy, rows: list[TokenRow]) -> list[torch.Tensor]:
    for parameter in policy.parameters():
        parameter.grad = None
    policy.token_backward(rows, _weights(rows))
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in policy.parameters()]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"trunk_tokens": 0},
        {"trunk_tokens": 40, "trunk_lasts": False},
        {"max_tokens": 40},
        {"packing": "padded"},
        {"recompute": "on"},
    ],
    ids=["packed", "uncut", "little kept", "split", "padded", "checkpointed"],
)
def test_log_probs_and_gradients_equal_plain_rows(
    options: dict[str, object], tmp_path: Path
) -> None:
    rows, policy = _rows(), _policy(**options)
    expected, gradients = _plain(tmp_path, rows)
    for ours, plain in zip(policy.token_log_probs(rows), expected, strict=True):
        torch.testing.assert_close(ours, plain, atol=1e-4, rtol=0)
    scale = max(gradient.abs().max() for gradient in gradients)
    assert scale > 0.1
    for ours, plain in zip(_gradients(policy, rows), gradients, strict=True):
        torch.testing.assert_close(ours / scale, plain / scale, atol=1e-4, rtol=0)
    weight_T, given = torch.cat(_weights(rows)), [p.grad.clone() for p in policy.parameters()]
    expected_T = torch.cat(expected)

    def weigh(number_T: torch.Tensor, log_p_T: torch.Tensor) -> torch.Tensor:
        torch.testing.assert_close(log_p_T, expected_T[number_T], atol=1e-4, rtol=0)
        return weight_T[number_T]

    for parameter in policy.parameters():
        parameter.grad = None
    returned = policy.token_backward(rows, weigh)
    assert all(torch.equal(p.grad, grad) for p, grad in zip(policy.parameters(), given))
    for ours, plain in zip(returned, expected, strict=True):
        torch.testing.assert_close(ours, plain, atol=1e-4, rtol=0)


def test_frozen_layers_read_a_row_once_a_step() -> None:
    rows, policy, seen = _rows(), _policy(trunk_lasts=False), []
    trunk = policy._network.trunk
    policy._network.trunk = lambda token, *rest: seen.append(token.numel()) or trunk(token, *rest)
    first = policy.token_log_probs(rows)
    prefixes = {row.ids[:end] for row in rows for end in range(1, row.trained[-1][1])}
    assert sum(seen) == len(prefixes)
    again = policy.token_backward(rows, _weights(rows))
    assert sum(seen) == len(prefixes)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    policy.end_step()
    policy.token_log_probs(rows)
    assert sum(seen) == 2 * len(prefixes)


def test_the_head_sees_positions_before_trained_tokens_alone() -> None:
    rows, policy, seen = _rows(), _policy(), []
    head = policy._network.head
    policy._network.head = lambda hidden_RD: seen.append(len(hidden_RD)) or head(hidden_RD)
    policy.token_log_probs(rows)
    prefixes = {(row.adapter, row.ids[:at]) for row in rows for at in row.positions}
    assert sum(seen) == len(prefixes)


def test_tokens_that_are_not_trained_get_no_gradient() -> None:
    policy = _policy()
    row = TokenRow("hunter", tuple(range(10, 40)), ((10, 14),))
    (before,) = _gradients_of_one(policy, row)
    after = TokenRow("hunter", row.ids[:14] + (7,) * 16, row.trained)
    (changed,) = _gradients_of_one(policy, after)
    assert all(torch.equal(a, b) for a, b in zip(before, changed, strict=True))
    more = TokenRow("hunter", row.ids, ((10, 15),))
    (wider,) = _gradients_of_one(policy, more)
    assert not all(torch.allclose(a, b) for a, b in zip(before, wider, strict=True))
    untrained = TokenRow("hunter", row.ids, ())
    assert policy.token_log_probs([untrained])[0].shape == (0,)
    assert all(p.grad is None for p in policy.parameters("partner"))


def _gradients_of_one(policy: HFPolicy, row: TokenRow) -> tuple[list[torch.Tensor]]:
    for parameter in policy.parameters():
        parameter.grad = None
    policy.token_backward([row], [torch.ones(len(row.positions))])
    return ([p.grad for p in policy.parameters("hunter")],)


def test_passes_are_bounded_by_tokens_and_share_prompts() -> None:
    policy, sizes = _policy(max_tokens=64, trunk_tokens=0), []
    whole = policy._network.whole
    policy._network.whole = lambda token, *rest: sizes.append(token.numel()) or whole(token, *rest)
    prompt = tuple(range(3, 43))
    rows = [TokenRow("hunter", (*prompt, at, at + 1, at + 2), ((40, 43),)) for at in range(50, 70)]
    policy.token_backward(rows, _weights(rows))
    assert max(sizes) <= 64
    assert sum(sizes) == 2 * 40 + 20 * 2  # two passes; a last token is only predicted


@pytest.mark.parametrize("packing", ["packed", "padded"])
@pytest.mark.parametrize("budget", [1, 30, 100])
def test_the_gradient_is_the_same_whatever_the_budget(budget: int, packing: str) -> None:
    """A budget below the longest row gives each row a pass of its own."""
    rows = _rows()
    whole = _gradients(_policy(packing=packing), rows)
    policy, passes = _policy(max_tokens=budget, packing=packing, trunk_tokens=0), []
    run = policy._network.whole
    policy._network.whole = lambda token, *rest: passes.append(token.numel()) or run(token, *rest)
    parts = _gradients(policy, rows)
    scale = max(gradient.abs().max() for gradient in whole)
    for a, b in zip(whole, parts, strict=True):
        torch.testing.assert_close(a / scale, b / scale, atol=1e-5, rtol=0)
    assert len(passes) > 1
    if budget == 1:
        assert len(passes) == len(rows)
    else:
        assert max(passes) <= budget


@pytest.mark.parametrize("masked", [True, False])
def test_disjoint_rows_become_separate_passes_under_a_mask(masked: bool) -> None:
    """Where each would look past the others for nothing, and rows are long enough to be worth it;
    those that share a beginning stay together, and by a plan all rows do."""
    rng = random.Random(4)
    policy, sizes = _policy(trunk_tokens=0), []
    policy._network.attends_by_plan = not masked
    run = policy._network.whole
    policy._network.whole = lambda token, *rest: sizes.append(token.numel()) or run(token, *rest)

    def text(length: int) -> tuple[int, ...]:
        return tuple(rng.randrange(3, 250) for _ in range(length))

    begins = [text(300) for _ in range(4)]
    ends = [begin + text(10) for begin in begins for _ in range(3)]
    policy.token_log_probs([TokenRow("hunter", ids, ((300, 310),)) for ids in ends])
    assert sizes == ([300 + 3 * 9] * 4 if masked else [4 * (300 + 3 * 9)])


def test_padded_rows_go_by_length_and_padding_counts() -> None:
    rng = random.Random(5)
    policy, shapes = _policy(packing="padded", max_tokens=400), []
    run = policy._network.whole
    policy._network.whole = lambda token, *rest: shapes.append(token.shape) or run(token, *rest)
    rows = [
        TokenRow("hunter", tuple(rng.randrange(3, 250) for _ in range(n)), ((n - 2, n),))
        for n in rng.sample(range(20, 180), 60)
    ]
    policy.token_log_probs(rows)
    computed = sum(batch * width for batch, width in shapes)
    assert max(batch * width for batch, width in shapes) <= 400
    assert computed < 1.2 * sum(len(row.ids) - 1 for row in rows)


def test_the_output_layer_runs_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _rows()
    whole = _gradients(_policy(), rows)
    monkeypatch.setattr("gamedsl.policies.network.CACHED_LOGITS", 259 * 4)
    parts = _gradients(_policy(), rows)
    for a, b in zip(whole, parts, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


def test_weights_must_fit_and_adapters_exist() -> None:
    policy = _policy()
    row = TokenRow("hunter", (3, 4, 5), ((1, 3),))
    with pytest.raises(ValueError, match="a weight for each"):
        policy.token_backward([row], [torch.ones(3)])
    with pytest.raises(KeyError, match="nobody"):
        policy.token_log_probs([TokenRow("nobody", (3, 4, 5), ((1, 3),))])
