"""Workers that write by weights other than those that they were sent: noticed after one update."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from gamedsl.policies.base import Query
from gamedsl.policies.errors import ModelError
from gamedsl.policies.factory import PolicyOptions, open_policy
from gamedsl.policies.generation import Generated, Request, Writing
from gamedsl.policies.handed_on import WritingHandedOn
from gamedsl.policies.ray_workers import Probe, RayPolicy, Scored, Sent, SentAdapter, Written
from gamedsl.prompting.tokenizers import together
from gamedsl.training.checkpoint import Adapters, adapters_of, put_back
from gamedsl.training.sessions import writer
from tests.train.local_workers import MODELS, LocalWorkers

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

LABELS = ("yes", "no")


def _opened(dtype: str) -> Writing:
    return writer(open_policy(MODELS, PolicyOptions(dtype=dtype), join_tokenizers=together))


@pytest.fixture(scope="module")
def versions() -> list[Adapters]:
    """The adapters at the start, and after each of two small updates towards an answer."""
    policy = _opened("float32")
    optimizer = torch.optim.Adam(policy.parameters(), lr=2e-4)
    found = [adapters_of(policy)]
    for _ in range(2):
        optimizer.zero_grad()
        policy.backward([Query((("user", "Go"),), LABELS, "guesser")], [torch.tensor([-1.0, 1.0])])
        optimizer.step()
        found.append(adapters_of(policy))
    return found


class _Wrong(WritingHandedOn):
    """A policy that is given the third version of its weights, and computes by another one.
    `shows`: whether the weights that it gives back are those that it computes by."""

    def __init__(self, own: Writing, kept: Adapters, shows: bool) -> None:
        super().__init__(own)
        self._kept, self._shows = kept, shows
        self._loads = Counter[str]()
        self._given: Adapters = {}

    def load_adapter_state(self, adapter: str, state: dict[str, torch.Tensor]) -> None:
        self._loads[adapter] += 1
        self._given[adapter] = state
        third = self._loads[adapter] == 3
        super().load_adapter_state(adapter, self._kept[adapter] if third else state)

    def adapter_state(self, adapter: str) -> dict[str, torch.Tensor]:
        return super().adapter_state(adapter) if self._shows else self._given[adapter]


def _after_updates(
    versions: list[Adapters], kept: int, shows: bool, dtype: str
) -> list[Generated]:  # fmt: skip
    """The replies of a worker that was sent all versions in turn, and has the one that it kept."""
    workers = LocalWorkers(1, (), lambda: _Wrong(_opened(dtype), versions[kept], shows))
    policy = RayPolicy(_opened(dtype), workers)
    requests = [Request((("user", "Go"),), "guesser", 4, seed=n) for n in range(2)]
    for adapters in versions[:2]:
        put_back(policy, adapters)
        policy.generate(requests)
    put_back(policy, versions[2])
    return policy.generate(requests)


@pytest.mark.parametrize("kept", [0, 1], ids=["initial", "one-behind"])
@pytest.mark.parametrize(
    ("dtype", "shows", "how"),
    [
        ("float32", True, "the weights that it has are others"),
        ("bfloat16", True, "the weights that it has are others"),
        ("float32", False, "its log-probabilities of a probe are"),
    ],
    ids=["digest", "digest-16-bits", "probe"],
)
def test_earlier_weights_are_noticed(
    dtype: str, shows: bool, how: str, kept: int, versions: list[Adapters]
) -> None:
    with pytest.raises(ModelError, match=f"does not write by the adapter .*{how}"):
        _after_updates(versions, kept, shows, dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_equal_weights_pass(dtype: str, versions: list[Adapters]) -> None:
    assert len(_after_updates(versions, 2, False, dtype)) == 2


def _check(score: float, rounding: float) -> None:
    """Checks a worker's probe against a score of 0."""
    sent = Sent({"a": SentAdapter("new", dict, None)}, {"a": Probe((0.0,), 1e-3)})
    sent.check(0, Scored([], {"a": "new"}, {"a": Probe((score,), rounding)}))


@pytest.mark.parametrize(("score", "rounding"), [(0.3, 0.25), (0.002, 1e-3), (math.nan, 0.25)])
def test_distant_probes_are_noticed(score: float, rounding: float) -> None:
    with pytest.raises(ModelError, match="away, and rounding explains"):
        _check(score, rounding)


@pytest.mark.parametrize(("score", "rounding"), [(0.2, 0.25), (0.0005, 1e-3)])
def test_rounding_passes(score: float, rounding: float) -> None:
    """The coarser of the number formats of worker and trainer counts."""
    _check(score, rounding)


def test_replies_by_other_weights_are_noticed() -> None:
    """Each result says which weights it was made by, also where nothing was loaded for it."""
    sent = Sent({"a": SentAdapter("new", dict, None)}, {"a": Probe((0.0,), 1e-3)})
    sent.check(0, Written([], {"a": "new"}, {}))
    with pytest.raises(ModelError, match="the weights that it has are others"):
        sent.check(0, Written([], {"a": "old"}, {}))
