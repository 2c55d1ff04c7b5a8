"""Frozen weights in four bits: the numbers of a dense model that holds the dequantised weights, and
those of transformers' own quantised model."""

from __future__ import annotations

import math
from pathlib import Path

import peft
import pytest
import torch
import transformers

from gamedsl.policies import models, random_models
from gamedsl.policies.base import Query
from gamedsl.policies.generation import Request, join_turns
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import GroupedLinear, LoraSpec
from gamedsl.policies.prefix_tree import Segment
from gamedsl.policies.quantised import QuantisedLinear
from tests.policies.architectures import write

pytest.importorskip("bitsandbytes")
# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

ADAPTERS = ("hunter", "partner")
LABELS = ("s", "ha", "hen", "wolf")
QUERIES = tuple(
    Query((("user", f"Fog {i}, {name}?"),), LABELS, name) for i in range(2) for name in ADAPTERS
)
WEIGHTS = [torch.tensor([1.0, -0.5, 0.2, -0.7])] * len(QUERIES)
MODELS = pytest.mark.parametrize("model", ["tiny", "small"])
"""A Llama, and an OPT, whose layers have a bias."""


def _policy(model: str, quantize: str = "nf4", **options: object) -> HFPolicy:
    """A policy whose adapters are not at their start, where B = 0 would hide half of it."""
    options.setdefault("lora", LoraSpec(4, 8))
    policy = HFPolicy(model, ADAPTERS, quantize=quantize, **options)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return policy


def _dequantised(model: str, like: HFPolicy, **options: object) -> HFPolicy:
    """A policy of dense layers that hold what the layers of another dequantise to."""
    policy = _policy(model, "none", **options)
    named = dict(like._network.model.named_modules())
    for name, layer in policy._network.model.named_modules():
        if isinstance(named[name], QuantisedLinear):
            assert not torch.equal(layer.weight, named[name].dense())
            layer.weight.data = named[name].dense()
    policy._trunk.forget()
    return policy


def _gradients(policy: HFPolicy) -> list[torch.Tensor]:
    policy.backward(QUERIES, WEIGHTS)
    return [parameter.grad for parameter in policy.parameters()]


def _close(ours: list[torch.Tensor], theirs: list[torch.Tensor], slack: float = 1e-5) -> None:
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=slack, atol=slack)


@MODELS
def test_layer_is_that_of_its_dequantised_weight(model: str) -> None:
    """Of two adapters in one pass, and of rows that no adapter is for."""
    quantised = _policy(model)
    dense = _dequantised(model, quantised)
    segments = (Segment("hunter", 0, 3), Segment("nobody", 3, 5), Segment("partner", 5, 9))
    found = []
    for policy in (quantised, dense):
        modules = policy._network.model.modules()
        layer = next(one for one in modules if isinstance(one, GroupedLinear))
        generator = torch.Generator().manual_seed(2)
        x = torch.randn(1, 9, layer.in_features, generator=generator).requires_grad_()
        with layer.router.route(segments):
            y = layer(x)
        y.backward(torch.randn(y.shape, generator=generator))
        pairs = [
            half[name].weight.grad for half in (layer.lora_A, layer.lora_B) for name in ADAPTERS
        ]
        found.append([y.detach(), x.grad, *pairs])
        assert isinstance(layer.base_layer, QuantisedLinear) == (policy is quantised)
    _close(*found, slack=1e-6)


@MODELS
@pytest.mark.parametrize("spec", [LoraSpec(4, 8), LoraSpec(4, 8, layers=2)], ids=["all", "top"])
def test_pass_is_that_of_dequantised_weights(model: str, spec: LoraSpec) -> None:
    """With the layers below that no adapter is in."""
    quantised = _policy(model, lora=spec)
    dense = _dequantised(model, quantised, lora=spec)
    _close(quantised.log_probs(QUERIES), dense.log_probs(QUERIES))
    _close(_gradients(quantised), _gradients(dense), slack=1e-4)


def test_layers_without_adapter_pass_gradients_on() -> None:
    spec = LoraSpec(4, 8, targets=("q_proj",))
    quantised = _policy("tiny", lora=spec)
    inside = quantised._network.layers[0].mlp.down_proj
    assert isinstance(inside, QuantisedLinear)
    dense = _dequantised("tiny", quantised, lora=spec)
    _close(_gradients(quantised), _gradients(dense), slack=1e-4)


def _plain_log_pi(model: torch.nn.Module, policy: HFPolicy, query: Query) -> torch.Tensor:
    """The definition: one label at a time, through the model's own logits."""
    encoded, scores = policy.encode(query), []
    start = len(encoded.prompt) - 1
    for label in encoded.labels:
        log_p = model(torch.tensor([encoded.prompt + label])).logits[0].log_softmax(-1)
        scores.append(log_p[start + torch.arange(len(label)), torch.tensor(label)].sum())
    return torch.stack(scores).log_softmax(0)


def test_packed_pass_is_that_of_transformers(tmp_path: Path) -> None:
    """Which quantises the same file by itself, with the adapters in PEFT's own layers."""
    model, tokenizer = random_models.build_tiny()
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    policy = _policy(str(tmp_path / "model"))
    assert policy.packing == "packed"
    ours = policy.log_probs(QUERIES)
    _gradients(policy)
    theirs, gradients = [], []
    for name in ADAPTERS:
        policy.save_adapter(name, tmp_path / name)
        base = transformers.AutoModelForCausalLM.from_pretrained(
            tmp_path / "model", dtype=torch.float32,
            quantization_config=transformers.BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
                bnb_4bit_compute_dtype=torch.float32,
            ),
        )  # fmt: skip
        plain = peft.PeftModel.from_pretrained(base, tmp_path / name, is_trainable=True)
        plain.train()  # else some processors round to bfloat16
        for query, weights in zip(QUERIES, WEIGHTS, strict=True):
            if query.adapter == name:
                log_pi = _plain_log_pi(plain, policy, query)
                theirs.append(log_pi.detach())
                (weights * log_pi).sum().backward()
        gradients += [p.grad for p in plain.parameters() if p.requires_grad]
    by_adapter = sorted(range(len(QUERIES)), key=lambda i: ADAPTERS.index(QUERIES[i].adapter))
    _close([ours[i] for i in by_adapter], theirs, slack=1e-4)
    for one, other in zip(policy.parameters(), gradients, strict=True):
        torch.testing.assert_close(one.grad, other, rtol=1e-3, atol=1e-4)


def test_sampler_is_the_trainer() -> None:
    policy = _policy("tiny")
    asked = [Request((("user", f"Round {i}."),), "hunter", 12, seed=i) for i in range(4)]
    replies = policy.generate(asked)
    rows = [join_turns("hunter", [reply], 1.0)[0][0] for reply in replies]
    sampler = [torch.tensor(reply.log_probs) for reply in replies]
    _close(sampler, policy.token_log_probs(rows), slack=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_bytes_are_half_of_one_a_weight(dtype: torch.dtype) -> None:
    """With one of eight bits for the scale of each block, and one in float32 for those of 256."""
    policy, dense = (HFPolicy("tiny", dtype=dtype, quantize=one) for one in ("nf4", "none"))
    layers = [m for m in policy._network.model.modules() if isinstance(m, QuantisedLinear)]
    sizes = [layer.in_features * layer.out_features for layer in layers]
    assert len(layers) == 4 * 7
    packed = sum(
        n // 2 + math.ceil(n / 64) + 4 * math.ceil(n / 64 / 256) + 4 * 16 + 4 for n in sizes
    )
    levels = {layer.scales_levels.data_ptr() for layer in layers}
    largest = dtype.itemsize * max(sizes)
    own = packed + 4 * 256 * len(levels)
    spared = dtype.itemsize * sum(sizes) - own - largest
    assert dense.size.weights - policy.size.weights == spared
    same = ("adapters", "trunk", "crown", "head", "dtype")
    assert [getattr(policy.size, one) for one in same] == [getattr(dense.size, one) for one in same]
    kept = [t for layer in layers for t in (layer.weight, *layer.buffers())]
    assert sum({t.data_ptr(): t.numel() * t.element_size() for t in kept}.values()) == own


def test_loading_again_gives_the_same_weights() -> None:
    one, other = (models.load("tiny", quantize="nf4").model.state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_experts_of_one_parameter_stay_dense(tmp_path: Path) -> None:
    said: list[str] = []
    folder = write("qwen3_moe", tmp_path / "qwen3_moe")
    policy = HFPolicy(str(folder), quantize="nf4", notify=said.append)
    assert any("experts that are one parameter are not quantised" in line for line in said)
    named = dict(policy._network.layers[0].named_parameters())
    assert any(weight.dim() == 3 and weight.dtype == torch.float32 for weight in named.values())
    assert any(weight.dtype == torch.uint8 for weight in named.values())
    _close(policy.log_probs(_alone(QUERIES)), policy.forward(_alone(QUERIES)))


def _alone(queries: tuple[Query, ...]) -> list[Query]:
    return [Query(query.messages, query.labels, "shared") for query in queries]
