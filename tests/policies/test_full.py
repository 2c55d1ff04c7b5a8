"""All weights of a model trained as a policy: the packed pass is the model's own, and it lasts."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers

from gamedsl.policies.base import Query
from gamedsl.policies.errors import ModelError
from gamedsl.policies.full_model import FullPolicy
from tests.policies.architectures import write

LABELS = ("mark(0,0)", "mark(1,2)", "another way")


def _queries(adapter: str = "shared") -> list[Query]:
    texts = ("Your move.", "Your move, after theirs: x x o.", "Was it the jack?")
    return [Query((("system", "Play."), ("user", text)), LABELS, adapter) for text in texts]


@pytest.fixture
def policy() -> FullPolicy:
    return FullPolicy("small", ("one", "other"), seed=3)


def _plainly(policy: FullPolicy, model: torch.nn.Module, query: Query) -> torch.Tensor:
    """log pi [labels] with one plain forward pass a label."""
    encoded, scores = policy.encode(query), []
    for label in encoded.labels:
        tokens = torch.tensor([encoded.prompt + label])
        log_p = model(input_ids=tokens).logits[0, :-1].log_softmax(-1)
        start = len(encoded.prompt) - 1
        scores.append(log_p[start:].gather(1, tokens[0, start + 1 :, None]).sum())
    return torch.stack(scores).log_softmax(0)


def test_scores_and_gradients_are_the_models_own(policy, tmp_path: Path) -> None:
    policy.save_adapter("one", tmp_path / "saved")
    plain = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "saved")
    queries = _queries("one")
    weights = [torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.0, 1.0, 0.0]), torch.ones(3)]
    ours = policy.backward(queries, weights)
    theirs = [_plainly(policy, plain, query) for query in queries]
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, atol=1e-5)
    sum((w * lp).sum() for w, lp in zip(weights, theirs, strict=True)).backward()
    grads = dict(plain.named_parameters())
    for name, parameter in policy._models["one"].named_parameters():
        assert torch.allclose(parameter.grad, grads[name].grad, atol=1e-5), name
    assert all(parameter.grad is None for parameter in policy.parameters("other"))
    assert len(policy.parameters("one")) == len(grads) > 20


@pytest.mark.parametrize("name", ["gemma2", "granite", "cohere"])
def test_scaled_and_capped_logits_are_the_models_own(name: str, tmp_path: Path) -> None:
    folder = write(name, tmp_path / name)
    policy = FullPolicy(str(folder))
    plain = transformers.AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32
    )
    queries = _queries()
    for query, ours in zip(queries, policy.log_probs(queries), strict=True):
        with torch.no_grad():
            theirs = _plainly(policy, plain, query)
        assert float((ours - theirs).abs().max()) < 1e-3
        assert float(theirs.max() - theirs.min()) > 0.05


def test_many_passes_are_one(policy) -> None:
    few = FullPolicy("small", ("one", "other"), seed=3, max_tokens=1)
    queries = [*_queries("one"), *_queries("other")]
    for a, b in zip(few.log_probs(queries), policy.log_probs(queries), strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_weights_last(policy, tmp_path: Path) -> None:
    then = policy.adapter_state("one")
    policy.save_adapter("one", tmp_path / "one")
    with torch.no_grad():
        for parameter in policy.parameters("one"):
            parameter += 0.01
    now = policy.log_probs(_queries("one"))[0]
    policy.load_adapter_state("one", then)
    back = policy.log_probs(_queries("one"))[0]
    assert not torch.allclose(now, back, atol=1e-4)
    policy.load_adapter("other", tmp_path / "one")
    assert torch.equal(policy.log_probs(_queries("other"))[0], back)
    again = FullPolicy(str(tmp_path / "one"))
    assert torch.allclose(again.log_probs(_queries())[0], back, atol=1e-5)
    with pytest.raises(ModelError, match=r"holds no model\.safetensors"):
        policy.load_adapter("one", tmp_path)
    with pytest.raises(ValueError, match="not the weights of `small`"):
        policy.load_adapter_state("one", {})


def test_a_seed_makes_the_weights() -> None:
    one, same, other = (
        FullPolicy("small", seed=seed).adapter_state("shared") for seed in (1, 1, 2)
    )
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert any(not torch.equal(one[key], other[key]) for key in one)


def test_unknown_names_are_refused(policy) -> None:
    with pytest.raises(KeyError, match="no adapter third"):
        policy.log_probs(_queries("third"))
    with pytest.raises(ValueError, match="is taken"):
        FullPolicy("small", ("one", "one"))


def test_vocabulary_covers_shipped_games_and_all_text() -> None:
    tokenizer = FullPolicy("small").tokenizer
    for word in ("mark(0,0)", "bet", "hint(player_2,red)", "board"):
        assert tokenizer.count(word) == 1
    odd = 'Zürich, 17 "≠"\tΩ\n\n  f(x,  y) '
    assert tokenizer.count(odd) < len(odd.encode())
    ids = tokenizer._ids(odd)
    assert tokenizer._tokenizer.decode(ids) == odd
