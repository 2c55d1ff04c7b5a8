"""Processes that share the work of a policy give the numbers of one process."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import cast

import pytest
import torch

from gamedsl.policies.base import Message, Policy, Query
from gamedsl.policies.data_parallel import SharedSession, in_parallel
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import (
    Generated,
    Request,
    TokenEntropy,
    TokenRow,
    Writing,
    join_turns,
)
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.policies.process_group import (
    ProcessGroup,
    contiguous_shares,
    rank_and_size,
)
from gamedsl.policies.tabular import TabularPolicy
from tests.policies.process_threads import in_processes

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

NAMES = ("hunter", "partner")
SIZES = pytest.mark.parametrize("size", [2, 3])
_LOADING = Lock()  # transformers patches modules while it loads


def _policy() -> HFPolicy:
    """A policy whose adapters are not at their start, where B = 0 would hide half of it."""
    with _LOADING:
        policy = HFPolicy("tiny", NAMES, lora=LoraSpec(4, 8, layers=2))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return policy


def _shared(group: ProcessGroup) -> Writing:
    return cast("Writing", in_parallel(_policy(), group))


def _queries() -> list[Query]:
    """Prompts that begin alike, for two adapters; one has far more labels than the others."""
    said: list[tuple[Message, ...]] = [
        (("system", "The rules. " * 4), ("user", f"Round {n}")) for n in range(5)
    ]
    queries = [Query(messages, ("stag", "hare"), NAMES[n % 2]) for n, messages in enumerate(said)]
    return [*queries, Query(said[0], tuple(f"option {n}" for n in range(9)), "hunter")]


def _weights(sizes: Sequence[int]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(size, generator=generator) for size in sizes]


def _rows() -> list[TokenRow]:
    ids = [tuple(range(10, 40)), tuple(range(10, 30)), (5, 6, 7, 8), tuple(range(50, 90))]
    return [TokenRow(NAMES[n % 2], one, ((2, len(one)),)) for n, one in enumerate(ids)]


def _gradients(policy: Policy) -> list[torch.Tensor | None]:
    return [None if p.grad is None else p.grad.clone() for p in policy.parameters()]


def _check_gradients(found: list[torch.Tensor | None], expected: list[torch.Tensor | None]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert (one - other).norm() <= 1e-5 * max(1.0, float(other.norm()))


@SIZES
def test_scores_and_gradients_of_labels(size: int) -> None:
    queries = _queries()
    weights = _weights([len(query.labels) for query in queries])

    def act(policy: Writing) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        policy.backward(queries[:2], weights[:2])  # a gradient that was there before stays
        log_pi = policy.backward(queries, weights)
        return [*log_pi, *policy.log_probs(queries)], _gradients(policy)

    expected, gradients = act(_policy())
    for found, added in in_processes(size, lambda group: act(_shared(group))):
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(found, expected, strict=True))
        _check_gradients(added, gradients)


def test_adapters_that_are_not_asked_get_no_gradient() -> None:
    query = _queries()[0]

    def act(group: ProcessGroup) -> list[bool]:
        policy = _shared(group)
        policy.backward([query], _weights([2]))
        return [p.grad is None for p in policy.parameters("partner")]

    assert all(map(all, in_processes(2, act)))


@SIZES
@pytest.mark.parametrize("told", [False, True], ids=["weights", "function"])
def test_scores_and_gradients_of_tokens(size: int, told: bool) -> None:
    rows = _rows()
    weights = _weights([len(row.positions) for row in rows])
    flat = torch.cat(weights)

    def act(policy: Writing) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        given = (lambda number_T, log_pi_T: flat[number_T] * log_pi_T.exp()) if told else weights
        log_p = policy.token_backward(rows, given)
        return [*log_p, *policy.token_log_probs(rows)], _gradients(policy)

    expected, gradients = act(_policy())
    for found, added in in_processes(size, lambda group: act(_shared(group))):
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(found, expected, strict=True))
        _check_gradients(added, gradients)


@SIZES
def test_entropies_of_tokens(size: int) -> None:
    rows = _rows()
    (weight_T,) = _weights([sum(len(row.positions) for row in rows)])

    def act(policy: Writing) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor | None]]:
        entropy, measured = TokenEntropy(weight_T), TokenEntropy(torch.zeros_like(weight_T))
        policy.token_backward(rows, [torch.zeros(len(row.positions)) for row in rows], entropy)
        policy.token_log_probs(rows, measured)
        assert torch.equal(entropy.most_T, measured.most_T)
        return entropy.found_T, measured.found_T, _gradients(policy)

    trained, measured, gradients = act(_policy())
    for found, seen, added in in_processes(size, lambda group: act(_shared(group))):
        assert torch.allclose(found, trained, atol=1e-5)
        assert torch.allclose(seen, measured, atol=1e-5)
        _check_gradients(added, gradients)


@SIZES
def test_conversations_keep_one_order_in_all_processes(size: int) -> None:
    first = [Request((("user", f"Game {n // 2}"),), NAMES[n % 2], 3 + n, seed=n) for n in range(7)]

    def act(policy: Writing) -> tuple[list[int], dict[int, Generated]]:
        asked, found, order = list(first), {}, []

        def then(number: int, reply: Generated) -> list[Request]:
            found[number] = reply
            order.append(number)
            before = asked[number].messages
            if len(before) > 1:
                return []
            said = (*before, ("assistant", reply.reply_ids), ("user", "And then?"))
            asked.append(Request(said, asked[number].adapter, 4, seed=number + 100))
            return asked[-1:]

        policy.serve(first, then)
        return order, found

    (order, found), *others = in_processes(size, lambda group: act(_shared(group)))
    assert all(other == (order, found) for other in others)
    assert sorted(order) == list(range(14))
    alone = _policy().generate(first)
    assert [found[n].reply_ids for n in range(7)] == [reply.reply_ids for reply in alone]
    for n in range(7):
        assert found[n].log_probs == pytest.approx(alone[n].log_probs, abs=1e-5)
    rows, _ = join_turns("hunter", [found[0]])
    assert rows[0].ids == alone[0].prompt_ids + alone[0].reply_ids


def test_each_process_writes_a_part() -> None:
    requests = [Request((("user", "The same"),), "hunter", 3, seed=n) for n in range(6)]

    def act(group: ProcessGroup) -> int:
        policy = _shared(group)
        session = policy.session()
        assert isinstance(session, SharedSession)
        session.ask(requests)
        return len(session.own_numbers)

    assert in_processes(3, act) == [2, 2, 2]


def test_error_of_one_process_is_raised_in_all() -> None:
    good = Request((("user", "Short"),), "hunter", 3)
    long = Request((("user", "word " * 5000),), "hunter", 3)

    def act(group: ProcessGroup) -> str:
        with pytest.raises(ModelError) as raised:
            _shared(group).generate([good, long])
        return str(raised.value)

    one, other = in_processes(2, act)
    assert one == other


@SIZES
def test_a_table_is_shared_too(size: int) -> None:
    queries = _queries()
    weights = _weights([len(query.labels) for query in queries])

    def act(policy: Policy) -> list[torch.Tensor | None]:
        policy.backward(queries, weights)
        return _gradients(policy)

    def act_in(group: ProcessGroup) -> list[torch.Tensor | None]:
        return act(in_parallel(TabularPolicy(NAMES), group))

    expected = act(TabularPolicy(NAMES))
    for found in in_processes(size, act_in):
        _check_gradients(found, expected)


@pytest.mark.parametrize(
    ("costs", "size", "shares"),
    [([1, 1, 1, 1], 2, [0, 0, 1, 1]), ([9, 1, 1, 1], 2, [0, 1, 1, 1]), ([5], 3, [1]),
     ([0, 0], 2, [0, 1]), ([], 4, [])],
)  # fmt: skip
def test_shares_are_contiguous_and_even(costs: list[int], size: int, shares: list[int]) -> None:
    assert contiguous_shares(costs, size) == shares


@pytest.mark.parametrize(("rank", "size"), [("2", "2"), ("x", "2"), ("-1", "2"), ("0", "0")])
def test_odd_ranks_are_refused(monkeypatch: pytest.MonkeyPatch, rank: str, size: str) -> None:
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", size)
    with pytest.raises(ModelError, match="are no rank"):
        rank_and_size()
