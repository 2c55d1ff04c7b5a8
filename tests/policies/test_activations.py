"""What a pass keeps for its backward pass, by formula and by count, and when it keeps less."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gamedsl.policies.activations import Activations
from gamedsl.policies.base import Query
from gamedsl.policies.full_model import FullPolicy
from gamedsl.policies.generation import TokenRow
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")


def _counted(policy: Any, run: Any) -> int:
    """Bytes of all tensors that autograd holds after a forward pass, weights apart."""
    stores: dict[int, tuple[int, torch.Tensor]] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        store = tensor.untyped_storage()
        stores[store.data_ptr()] = store.nbytes(), tensor  # the tensor keeps the address taken
        return tensor

    models = getattr(policy, "_models", None) or {"": policy._network.model}
    weights = {p.untyped_storage().data_ptr() for m in models.values() for p in m.parameters()}
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        held = run()
    assert held is not None
    return sum(size for at, (size, _) in stores.items() if at not in weights)


def _growth(policy: Any) -> float:
    """What a token adds to that."""

    def run(length: int) -> int:
        if isinstance(policy, FullPolicy):
            model = policy._models["shared"].get_decoder()
            ids = torch.arange(length)[None] % 30
            tokens = {"input_ids": ids, "use_cache": False}
            with policy.activations.of(length):
                return _counted(policy, lambda: model(**tokens))
        row = TokenRow(
            "shared", tuple(3 + at % 200 for at in range(length + 1)), ((length, length + 1),)
        )
        return _counted(policy, lambda: policy._writer._rows._run([row]))

    return (run(400) - run(200)) / 200


@pytest.mark.parametrize("layers", [1, 2])
def test_the_formula_is_what_autograd_keeps(layers: int) -> None:
    policy = HFPolicy("tiny", lora=LoraSpec(4, 8, layers=layers), recompute="off", packing="padded")
    kept, formula = _growth(policy), policy.activations.peak_bytes(1, again=False)
    assert kept <= formula <= 1.3 * kept


@pytest.mark.parametrize(("model", "most"), [("tiny", 1.3), ("small", 1.6)])
def test_formula_bounds_memory_of_full_finetuning(model: str, most: float) -> None:
    """The norms of `small` keep less than those that the formula counts."""
    policy = FullPolicy(model, recompute="off")
    kept, formula = _growth(policy), policy.activations.peak_bytes(1, again=False)
    assert kept <= formula
    assert formula <= most * kept


def test_computing_again_keeps_little() -> None:
    policy = HFPolicy("tiny", lora=LoraSpec(4, 8), recompute="on", packing="padded")
    again, kept = (policy.activations.peak_bytes(1, again=flag) for flag in (True, False))
    assert _growth(policy) <= again < kept


def test_only_the_passes_that_need_it_compute_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto`, with room for 100 tokens: of a short row and a long one the long one runs twice, and
    the gradient is the same to the last bit."""
    short = TokenRow("shared", tuple(range(3, 53)), ((30, 50),))
    long = TokenRow("shared", tuple(range(60, 240)), ((100, 180),))

    def gradients(room: float) -> tuple[list[torch.Tensor], list[int]]:
        policy = HFPolicy("tiny", lora=LoraSpec(4, 8, layers=2), max_tokens=120)
        policy.activations._room = room * policy.activations.peak_bytes(1, again=False)
        with torch.no_grad():
            for parameter in policy.parameters():
                parameter.fill_(0.01)
        runs: list[int] = []
        policy._network.layers[-1].mlp.register_forward_pre_hook(
            lambda _module, given: runs.append(given[0].shape[1])
        )
        weights = [torch.ones(len(row.positions)) for row in (short, long)]
        policy.token_backward([short, long], weights)
        return [parameter.grad for parameter in policy.parameters()], sorted(runs)

    kept, once = gradients(1000)
    again, twice = gradients(100)
    assert (once, twice) == ([49, 179], [49, 179, 179])
    assert all(torch.equal(a, b) for a, b in zip(kept, again, strict=True))


def test_a_whole_model_computes_again_too() -> None:
    query = Query((("user", "Is it day?"),), ("yes", "no"), "shared")

    def gradients(recompute: Any) -> tuple[list[torch.Tensor], int]:
        policy, runs = FullPolicy("small", recompute=recompute), []
        layer = policy._models["shared"].get_decoder().layers[0]
        layer.fc1.register_forward_pre_hook(lambda *_: runs.append(1))
        policy.backward([query], [torch.tensor([1.0, -1.0])])
        return [p.grad for p in policy.parameters() if p.grad is not None], len(runs)

    (kept, once), (again, twice) = gradients("off"), gradients("on")
    assert (once, twice) == (1, 2)
    assert all(torch.equal(a, b) for a, b in zip(kept, again, strict=True))


def test_auto_follows_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    config = HFPolicy("tiny")._network.config
    cpu = torch.device("cpu")

    def again(free: float) -> bool:
        monkeypatch.setattr("gamedsl.policies.activations.free_memory", lambda device: free)
        made = Activations(
            config, 2, torch.float32, cpu, pass_tokens=100, recompute="auto"
        )  # fmt: skip
        return made.again(100)

    needed = Activations(
        config, 2, torch.float32, cpu, pass_tokens=100, recompute="off"
    ).peak_bytes(100, again=False)  # fmt: skip
    assert not again(2 * needed)
    assert again(2 * needed - 1)
