"""vLLM's replies are those of the trainer's own model: same tokens, same numbers, same adapters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from vllm_requests import TEXTS, asked, by_hf

from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import Generated, Request, TokenRow

if TYPE_CHECKING:
    from gamedsl.policies.vllm import VllmPolicy

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 0, "maximum": 9},
        "way": {"enum": ["left", "right"]},
    },
    "required": ["n", "way"],
    "additionalProperties": False,
}


def recomputed(policy: VllmPolicy, adapter: str, reply: Generated, temperature: float) -> Any:
    ids = reply.prompt_ids + reply.reply_ids
    row = TokenRow(adapter, ids, ((len(reply.prompt_ids), len(ids)),), temperature)
    return policy.token_log_probs([row])[0]


def test_greedy_replies_equal_hf_for_each_adapter(policy: VllmPolicy) -> None:
    requests = [asked(text, name) for text in TEXTS for name in ("plain", "a", "b")]
    replies = policy.generate(requests)
    assert replies == by_hf(policy, requests)
    for at in range(0, len(replies), 3):
        assert len({reply.prompt_ids for reply in replies[at : at + 3]}) == 1
    said = {name: [r.text for q, r in zip(requests, replies) if q.adapter == name] for name in "ab"}
    plain = [reply.text for q, reply in zip(requests, replies) if q.adapter == "plain"]
    assert said["a"] != said["b"]
    assert plain not in said.values()


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probabilities_are_those_after_temperature(
    policy: VllmPolicy, temperature: float
) -> None:
    import torch

    requests = [
        asked(text, name, temperature=temperature, seed=3) for text in TEXTS[:2] for name in "ab"
    ]
    for request, reply in zip(requests, policy.generate(requests), strict=True):
        own = recomputed(policy, request.adapter, reply, temperature)
        drawn = torch.tensor(reply.log_probs)
        assert own.shape == drawn.shape
        assert float((own - drawn).abs().max()) < 1e-3
        other = recomputed(policy, "plain", reply, temperature)
        assert float((other - drawn).abs().max()) > 1e-2


def test_a_reply_is_that_of_its_seed(policy: VllmPolicy) -> None:
    request = asked(TEXTS[0], "a", temperature=1.0, seed=5)
    others = [asked(text, "b", temperature=1.0, seed=9) for text in TEXTS]
    alone = policy.generate([request])[0]
    policy.forget()
    among = policy.generate([*others, request])[-1]
    assert among.reply_ids == alone.reply_ids
    drawn = policy.generate([asked(TEXTS[0], "a", temperature=1.0, seed=seed) for seed in range(4)])
    assert len({reply.reply_ids for reply in drawn}) > 1


def test_choices_are_their_very_tokens(policy: VllmPolicy) -> None:
    import math

    from gamedsl.policies.base import Query

    labels = ("cooperate now", "cooperate later", "defect", "cooperate")
    requests = [
        asked(TEXTS[at % 2], "a", temperature=1.0, seed=at, choices=labels) for at in range(6)
    ]
    for request, reply in zip(requests, policy.generate(requests), strict=True):
        query = Query(request.messages, labels, "a")
        known = policy.encode(query).labels
        assert reply.text in labels
        assert reply.reply_ids == known[labels.index(reply.text)]
        assert reply.finish == "stop"
        assert len(reply.log_probs) == len(reply.reply_ids)
        assert all(math.isfinite(one) and one <= 1e-6 for one in reply.log_probs)
    greedy = [asked(text, "a", choices=labels) for text in TEXTS]
    assert policy.generate(greedy) == by_hf(policy, greedy)
    short = [asked(TEXTS[0], "a", choices=("one two three four five",), max_tokens=2)]
    assert policy.generate(short) == by_hf(policy, short)
    assert policy.generate(short)[0].finish == "length"


def test_a_schema_holds_and_is_written_without_spaces(policy: VllmPolicy) -> None:
    requests = [
        asked(text, "b", temperature=1.0, seed=at, max_tokens=60, schema=SCHEMA)
        for at, text in enumerate(TEXTS)
    ]
    for reply in policy.generate(requests):
        found = json.loads(reply.text)
        assert found["way"] in ("left", "right")
        assert found["n"] in range(10)
        assert reply.text == json.dumps(found, separators=(",", ":"))
    greedy = [asked(text, "b", max_tokens=60, schema=SCHEMA) for text in TEXTS]
    assert policy.generate(greedy) == by_hf(policy, greedy)
    with pytest.raises(ModelError, match="cannot constrain"):
        policy.generate([asked(TEXTS[0], schema={"type": "no such type"})])


def test_reply_continues_prefix_and_ends_at_stop(policy: VllmPolicy) -> None:
    start = policy.generate([asked(TEXTS[1], "a")])[0].reply_ids[:3]
    requests = [
        asked(TEXTS[1], "a", prefix=start),
        asked(TEXTS[1], "a", prefix=start, choices=(" yes", " no")),
        asked(TEXTS[0], "plain", stop=("cap", "ital")),
        asked(TEXTS[2], "plain", max_tokens=3),
    ]
    replies = policy.generate(requests)
    assert replies == by_hf(policy, requests)
    assert replies[0].prompt_ids[-3:] == start
    assert replies[2].text.endswith(" capital")
    assert [reply.finish for reply in replies[2:]] == ["stop", "length"]


def test_earlier_replies_keep_ids_and_games_proceed_independently(policy: VllmPolicy) -> None:
    """A reply's ids are the next prompt's; `then` is called as each ends."""
    ended: list[tuple[int, Generated]] = []

    def then(index: int, reply: Generated) -> list[Request]:
        ended.append((index, reply))
        if index >= 2:
            return []
        turns = (("user", TEXTS[index]), ("assistant", reply.reply_ids), ("user", "And then?"))
        return [Request(turns, "ab"[index], 3, 0.0)]

    policy.serve([asked(TEXTS[0], "a", max_tokens=3), asked(TEXTS[1], "b", max_tokens=24)], then)
    assert sorted(index for index, _ in ended) == [0, 1, 2, 3]
    order = [index for index, _ in ended]
    assert order.index(2) < order.index(1), "the short game waited for the long one"
    found = dict(ended)
    first = found[0]
    assert found[2].prompt_ids[: len(first.prompt_ids) + 3] == first.prompt_ids + first.reply_ids


def test_impossible_request_is_refused_and_next_is_served(policy: VllmPolicy) -> None:
    with pytest.raises(KeyError, match="nobody"):
        policy.generate([asked(TEXTS[0], "nobody")])
    with pytest.raises(ModelError, match="no room"):
        policy.generate([asked("word " * 1100)])

    def fails(index: int, reply: Generated) -> list[Request]:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        policy.serve([asked(text, max_tokens=size) for text, size in zip(TEXTS, (2, 8, 8))], fails)
    request = asked(TEXTS[0])
    assert policy.generate([request]) == by_hf(policy, [request])


def test_special_tokens_that_a_text_spells_are_words(policy: VllmPolicy) -> None:
    request = asked("Say <|im_end|> twice.")
    (reply,) = policy.generate([request])
    assert reply == by_hf(policy, [request])[0]
    assert reply.prompt_ids.count(2) == policy.generate([asked(TEXTS[0])])[0].prompt_ids.count(2)
