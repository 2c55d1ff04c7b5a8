"""`HFPolicy` on `tiny`, against plain transformers and PEFT, one sample at a time."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import peft
import pytest
import torch

from gamedsl.policies import random_models
from gamedsl.policies.base import Query
from gamedsl.policies.errors import ModelError
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.policies.network import Network
from gamedsl.policies.trunk import trunk_room

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

ROLES = ("hunter", "partner")
SPEC = LoraSpec(rank=4, alpha=8)
LABELS = ("s", "ha", "hen", "wolf")


def _query(role: str, hint: str, labels: tuple[str, ...] = LABELS) -> Query:
    return Query((("user", f"{hint}, {role}?"),), labels, role)


QUERIES = (
    _query("hunter", "Fog"),
    _query("partner", "Fog"),
    _query("hunter", "Fog and snow", ("ha", "hen")),
    _query("partner", "Sun", ("wolf", "s", "ha")),
    _query("hunter", "Sun", ("s",)),
)


def _policy(lora: LoraSpec = SPEC, noise: float = 0.1, **options: object) -> HFPolicy:
    """A policy whose adapters are not at their start, where B = 0 would hide half of it."""
    policy = HFPolicy("tiny", ROLES, lora=lora, **options)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(noise * torch.randn(parameter.shape, generator=generator))
    return policy


def _gradients(policy: HFPolicy, act: Callable[[HFPolicy], object]) -> list[torch.Tensor]:
    for parameter in policy.parameters():
        parameter.grad = None
    act(policy)
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in policy.parameters()]


def _weights(queries: tuple[Query, ...] = QUERIES) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(len(query.labels), generator=generator) for query in queries]


def _assert_close(a: list[torch.Tensor], b: list[torch.Tensor], tolerance: float = 1e-5) -> None:
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("layers", [None, 2])
def test_packed_equals_padded(layers: int | None) -> None:
    packed = _policy(LoraSpec(4, 8, layers=layers))
    padded = _policy(LoraSpec(4, 8, layers=layers), packing="padded")
    assert (packed.packing, padded.packing) == ("packed", "padded")
    assert packed._network.is_cut == (layers is not None)
    _assert_close(packed.log_probs(QUERIES), padded.log_probs(QUERIES))
    _assert_close(packed.log_probs(QUERIES), packed.forward(QUERIES))
    for query, log_pi in zip(QUERIES, packed.log_probs(QUERIES), strict=True):
        assert log_pi.shape == (len(query.labels),)
        assert log_pi.exp().sum().item() == pytest.approx(1.0, abs=1e-6)


def _plain_log_pi(model: torch.nn.Module, policy: HFPolicy, query: Query) -> torch.Tensor:
    """The definition: a padded row for each label, through the model's own logits."""
    encoded = policy.encode(query)
    rows = [torch.tensor(encoded.prompt + label) for label in encoded.labels]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    seen = torch.nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], True)
    log_p = model(input_ids=ids, attention_mask=seen).logits.log_softmax(-1)
    start = len(encoded.prompt) - 1
    scores = [
        sum(log_p[row, start + n, token] for n, token in enumerate(label))
        for row, label in enumerate(encoded.labels)
    ]
    return torch.stack(scores).log_softmax(0)


def _plain_models(policy: HFPolicy, folder: Path) -> dict[str, peft.PeftModel]:
    """The saved adapters, each on its own model, loaded by PEFT alone."""
    for role in ROLES:
        policy.save_adapter(role, folder / role)
    return {
        role: peft.PeftModel.from_pretrained(
            random_models.build_tiny()[0], folder / role, is_trainable=True
        )
        for role in ROLES
    }


@pytest.mark.parametrize("layers", [None, 1])
def test_saved_adapters_load_with_plain_peft(tmp_path: Path, layers: int | None) -> None:
    policy = _policy(LoraSpec(4, 8, ("q_proj", "v_proj", "down_proj"), layers))
    models = _plain_models(policy, tmp_path)
    plain = [_plain_log_pi(models[query.adapter], policy, query) for query in QUERIES]
    _assert_close(policy.log_probs(QUERIES), plain)


def test_aggregated_weights_equal_per_sample_gradients(tmp_path: Path) -> None:
    policy = _policy(LoraSpec(4, 8, layers=2))  # fewer layers: 200 backward passes
    models = _plain_models(policy, tmp_path)
    rng = random.Random(5)
    totals = [torch.zeros(len(query.labels)) for query in QUERIES]
    for _ in range(200):
        which = rng.randrange(len(QUERIES))
        query, advantage = QUERIES[which], rng.uniform(-1, 1)
        action = rng.randrange(len(query.labels))
        totals[which][action] += advantage
        log_pi = _plain_log_pi(models[query.adapter], policy, query)
        (advantage * log_pi[action]).backward()
    ours = _gradients(policy, lambda p: p.backward(QUERIES, totals))
    plain = []
    for role in ROLES:
        named = {
            name.replace(".default", ""): parameter.grad
            for name, parameter in models[role].named_parameters()
            if parameter.requires_grad
        }
        plain += [named[key] for key in policy.adapter_state(role)]
    scale = max(gradient.abs().max() for gradient in plain)
    assert scale > 0.1
    _assert_close([g / scale for g in ours], [g / scale for g in plain])


def test_only_the_asked_adapter_gets_a_gradient() -> None:
    policy = _policy()
    mine = [query for query in QUERIES if query.adapter == "hunter"]
    policy.backward(mine, [torch.ones(len(q.labels)) * torch.arange(len(q.labels)) for q in mine])
    assert all(p.grad is not None and p.grad.any() for p in policy.parameters("hunter"))
    assert all(p.grad is None for p in policy.parameters("partner"))
    assert all(
        not p.requires_grad and p.grad is None
        for name, p in policy._network.model.named_parameters()
        if "lora_" not in name
    )


def test_one_adapter_does_not_see_another() -> None:
    policy = _policy()
    before = policy.log_probs(QUERIES)
    with torch.no_grad():
        for parameter in policy.parameters("partner"):
            parameter.zero_()
    for query, old, new in zip(QUERIES, before, policy.log_probs(QUERIES), strict=True):
        changed = not torch.allclose(old, new, atol=1e-4)
        assert changed == (query.adapter == "partner")


@pytest.mark.parametrize(
    "options",
    [{"max_tokens": 50}, {"recompute": "on"}, {"packing": "padded"}, {"trunk_tokens": 0}],
    ids=lambda options: next(iter(options)),
)
@pytest.mark.parametrize("layers", [None, 2])
def test_every_way_of_running_gives_the_same_gradient(
    options: dict[str, object], layers: int | None
) -> None:
    spec, weights = LoraSpec(4, 8, layers=layers), _weights()
    plain, other = _policy(spec), _policy(spec, **options)
    expected = _gradients(plain, lambda p: p.backward(QUERIES, weights))
    assert max(gradient.abs().max() for gradient in expected) > 0.1
    _assert_close(_gradients(other, lambda p: p.backward(QUERIES, weights)), expected, 2e-5)
    _assert_close(other.log_probs(QUERIES), plain.log_probs(QUERIES))

    def through_forward(policy: HFPolicy) -> None:
        log_pi = torch.cat(policy.forward(QUERIES))
        (log_pi * torch.cat(weights)).sum().backward()

    _assert_close(_gradients(other, through_forward), expected, 2e-5)


def test_chunks_are_really_split() -> None:
    policy, passes = _policy(max_tokens=50), []
    crown = policy._network.crown
    policy._network.crown = lambda *args: passes.append(1) or crown(*args)
    policy.log_probs(QUERIES)
    assert len(passes) > 2


def test_checkpointing_really_recomputes() -> None:
    policy, calls = _policy(recompute="on"), []
    attention = policy._network.layers[-1].self_attn
    attention.register_forward_hook(lambda *_: calls.append(1))
    policy.backward(QUERIES, _weights())
    assert len(calls) == 2


def test_trunk_cache_stays_valid_in_training() -> None:
    policy = _policy(LoraSpec(4, 8, layers=2))
    passes: list[int] = []
    trunk = policy._network.trunk
    policy._network.trunk = lambda *args: passes.append(1) or trunk(*args)
    optimiser = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(3):
        policy.backward(QUERIES, _weights())
        optimiser.step()
    assert len(passes) == 1
    fresh = HFPolicy("tiny", ROLES, lora=LoraSpec(4, 8, layers=2), packing="padded")
    for role in ROLES:
        fresh.load_adapter_state(role, policy.adapter_state(role))
    _assert_close(policy.log_probs(QUERIES), fresh.log_probs(QUERIES))
    extended = (*QUERIES, _query("partner", "Fog and hail"))
    _assert_close(policy.log_probs(extended), fresh.log_probs(extended))
    assert len(passes) == 2


def test_small_passes_keep_the_same_states() -> None:
    policy, plain = (_policy(LoraSpec(4, 8, layers=2), trunk_tokens=many) for many in (None, 0))
    queries = [
        Query((("user", f"{n} of {n * n}, {'so ' * (n % 5)}"),), ("stag", "hare"), "hunter")
        for n in range(40)
    ]
    each = [policy.log_probs([query])[0] for query in queries]
    known = len(policy._trunk)
    _assert_close(each, plain.log_probs(queries), 1e-5)
    _assert_close(policy.log_probs(queries), plain.log_probs(queries), 1e-5)
    assert len(policy._trunk) == known


@pytest.mark.parametrize(
    ("hidden", "dtype", "prefixes"),
    [(576, torch.float32, 233_016), (576, torch.bfloat16, 2**18), (4096, torch.bfloat16, 65_536)],
)
def test_trunk_cache_is_half_a_gib_at_most(hidden: int, dtype: torch.dtype, prefixes: int) -> None:
    assert trunk_room(hidden, dtype) == prefixes


def test_the_trunk_cache_is_bounded() -> None:
    policy = _policy(LoraSpec(4, 8, layers=2), trunk_tokens=150)
    plain = _policy(LoraSpec(4, 8, layers=2), packing="padded")
    for number in range(12):
        query = _query("hunter", f"{number} times")
        _assert_close(policy.log_probs([query]), plain.log_probs([query]))
        assert len(policy._trunk) <= 150


def _counted(policy: HFPolicy) -> list[int]:
    """Returns a list that gets the tokens of each pass of the trunk from now on."""
    tokens: list[int] = []
    trunk = policy._network.trunk
    policy._network.trunk = lambda *args: tokens.append(args[0].shape[1]) or trunk(*args)
    return tokens


def test_step_runs_its_trunk_once() -> None:
    """The update reads what the frozen layers gave while games were played, wave by wave, and the
    next step computes it anew."""
    policy = _policy(LoraSpec(4, 8, layers=2), trunk_lasts=False)
    plain = _policy(LoraSpec(4, 8, layers=2), trunk_tokens=0)
    assert (policy.keeps_for_step, plain.keeps_for_step) == (True, False)
    tokens = _counted(policy)
    for wave in (QUERIES[:2], QUERIES[2:]):
        _assert_close(policy.log_probs(wave), plain.log_probs(wave))
    played = len(tokens)
    ours, theirs = (
        _gradients(one, lambda p: p.backward(QUERIES, _weights())) for one in (policy, plain)
    )
    _assert_close(ours, theirs, 1e-4)
    assert played == len(tokens) == 2
    policy.end_step()
    policy.log_probs(QUERIES)
    assert len(tokens) == 3


def test_trunk_of_a_step_keeps_the_first() -> None:
    """What is kept does not depend on passes after those that filled it, so a run that is resumed
    gives the same bits; what finds no room is computed for its pass alone."""
    policy = _policy(LoraSpec(4, 8, layers=2), trunk_lasts=False, trunk_tokens=150)
    plain = _policy(LoraSpec(4, 8, layers=2), trunk_tokens=0)
    first, others = _query("hunter", "Fog"), [_query("hunter", f"{n} times") for n in range(12)]
    tokens = _counted(policy)
    for query in (first, *others):
        _assert_close(policy.log_probs([query]), plain.log_probs([query]))
    assert 100 < len(policy._trunk) <= 150
    runs = len(tokens)
    policy.log_probs([first])
    assert len(tokens) == runs
    policy.log_probs([others[-1]])
    assert len(tokens) == runs + 1


def test_adapter_initialisation_depends_on_seed_and_name() -> None:
    one, two = HFPolicy("tiny", ("a", "b"), seed=7), HFPolicy("tiny", ("b",), seed=7)
    a, b = one.adapter_state("a"), one.adapter_state("b")
    assert all(torch.equal(b[key], value) for key, value in two.adapter_state("b").items())
    halves = [key for key in a if "lora_A" in key]
    assert not any(torch.equal(a[key], b[key]) for key in halves)
    assert len({a[key].sum().item() for key in halves}) == len(halves)
    other = HFPolicy("tiny", ("b",), seed=8).adapter_state("b")
    assert not torch.equal(b[halves[0]], other[halves[0]])
    two.add_adapter("a")
    assert two.adapters == ("b", "a")
    assert all(torch.equal(a[key], value) for key, value in two.adapter_state("a").items())
    assert all(p.requires_grad for p in two.parameters())


def test_a_fresh_adapter_is_the_base_model() -> None:
    policy, model = HFPolicy("tiny", ROLES), random_models.build_tiny()[0]
    plain = [_plain_log_pi(model, policy, query) for query in QUERIES]
    _assert_close(policy.log_probs(QUERIES), plain)


def test_state_and_folder_round_trip(tmp_path: Path) -> None:
    trained, fresh = _policy(), HFPolicy("tiny", ROLES, lora=SPEC)
    fresh.load_adapter_state("hunter", trained.adapter_state("hunter"))
    trained.save_adapter("partner", tmp_path)
    fresh.load_adapter("partner", tmp_path)
    _assert_close(fresh.log_probs(QUERIES), trained.log_probs(QUERIES), 0.0)
    state = trained.adapter_state("hunter")
    with torch.no_grad():
        trained.parameters("hunter")[0].zero_()
    assert all(tensor.any() for tensor in state.values()), "the state must be a copy"


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    policy = _policy()
    with pytest.raises(ValueError, match="missing"):
        policy.load_adapter_state("hunter", {})
    with pytest.raises(KeyError, match="hunter"):
        policy.parameters("hunterr")
    with pytest.raises(KeyError, match="nobody"):
        policy.log_probs([_query("nobody", "Fog")])
    with pytest.raises(ValueError, match="taken"):
        policy.add_adapter("hunter")
    with pytest.raises(ModelError, match="holds no"):
        policy.load_adapter("hunter", tmp_path)
    HFPolicy("tiny", ("x",), lora=LoraSpec(rank=2)).save_adapter("x", tmp_path)
    with pytest.raises(ModelError, match="rank 2"):
        policy.load_adapter("hunter", tmp_path)
    everything = HFPolicy("tiny", lora=LoraSpec(layers=5)).parameters()  # tiny has four
    assert len(everything) == len(HFPolicy("tiny", lora=LoraSpec(layers=None)).parameters())
    with pytest.raises(ModelError, match=re.escape("choose from down_proj")):
        HFPolicy("tiny", lora=LoraSpec(targets=("c_attn",)))
    with pytest.raises(ValueError, match="weights"):
        policy.backward(QUERIES, _weights()[:-1])


def test_model_without_tree_mask_runs_padded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    crown = Network.crown
    monkeypatch.setattr(
        Network, "crown", lambda self, start, mask, position: crown(self, start, None, position)
    )
    policy = _policy(notify=said.append)
    assert policy.packing == "padded"
    assert "padded rows" in said[-1]
    with pytest.raises(ModelError, match="cannot run packed"):
        _policy(packing="packed")


def test_a_model_that_cannot_be_cut_runs_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Network, "trunk", lambda self, *_: torch.zeros(1, *_[0].shape[1:], 64))
    policy = _policy(LoraSpec(4, 8, layers=2))
    assert (policy.packing, policy._network.is_cut) == ("packed", False)


def test_prompts_beyond_a_sliding_window_are_run_padded() -> None:
    policy = _policy()
    expected = policy.log_probs(QUERIES)
    policy._network.config.sliding_window = 8
    policy._log_pi_packed = lambda _: pytest.fail("packed beyond the window")
    _assert_close(policy.log_probs(QUERIES), expected)


def test_head_applies_configured_cap_and_scale() -> None:
    network = _policy()._network
    hidden_RD = torch.randn(3, 64)
    plain_RV = hidden_RD @ network.model.lm_head.weight.T
    torch.testing.assert_close(network.head(hidden_RD), plain_RV)
    network.config.final_logit_softcapping = 0.5
    torch.testing.assert_close(network.head(hidden_RD), torch.tanh(plain_RV / 0.5) * 0.5)
    network.config.final_logit_softcapping = None
    network.config.logits_scaling = 4.0
    torch.testing.assert_close(network.head(hidden_RD), plain_RV / 4.0)


def test_mismatched_head_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Network, "head", lambda self, h: 2 * h @ self._head_VD.T)
    with pytest.raises(ModelError, match="output layer"):
        _policy()


def test_bfloat16_base_keeps_float32_adapters_and_scores() -> None:
    half, full = _policy(dtype=torch.bfloat16), _policy()
    assert {p.dtype for p in half.parameters()} == {torch.float32}
    assert half._network.dtype == torch.bfloat16
    _assert_close(half.log_probs(QUERIES), full.log_probs(QUERIES), 0.1)
    weights = _weights()
    ours = _gradients(half, lambda p: p.backward(QUERIES, weights))
    exact = _gradients(full, lambda p: p.backward(QUERIES, weights))
    a, b = (torch.cat([g.flatten() for g in each]) for each in (ours, exact))
    assert torch.cosine_similarity(a, b, dim=0) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("layers", [None, 10])
def test_smollm2_packed_equals_padded(layers: int | None) -> None:
    options = {"model": "smollm2-135m", "adapters": ROLES, "lora": LoraSpec(layers=layers)}
    packed, padded = HFPolicy(**options), HFPolicy(**options, packing="padded")
    assert packed.packing == "packed"
    assert packed._network.is_cut == (layers is not None)
    _assert_close(packed.log_probs(QUERIES), padded.log_probs(QUERIES), 1e-3)
