"""Replies against transformers' own `generate` and PEFT, and what is kept between them."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import jsonschema
import peft
import pytest
import torch

from gamedsl.policies import models
from gamedsl.policies.base import Query
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import Generated, Request, join_turns
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.policies.network import Network
from gamedsl.policies.shared_attention import DEPTH, blocks
from gamedsl.policies.token_sampling import draw

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

NAMES = ("hunter", "partner")
RULES = ("system", "Two players choose stag or hare at once. " * 3)
SHARING = pytest.mark.parametrize("share", [1, None], ids=["shared", "alone"])


def _policy(model: str = "tiny", **options: object) -> HFPolicy:
    """A policy whose adapters are not at their start, where B = 0 would hide half of it."""
    policy = HFPolicy(model, NAMES, lora=LoraSpec(4, 8), **options)
    _disturb(policy)
    return policy


def _disturb(policy: HFPolicy, adapter: str | None = None) -> None:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters(adapter):
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))


def _share(policy: HFPolicy, share: int | None) -> HFPolicy:
    policy._writer.decoder._share = share
    policy._writer.decoder._checked = True
    return policy


def _requests(count: int = 9, **options: object) -> list[Request]:
    """Prompts of different lengths, some asked twice, adapters in turn, most with the rules."""
    options = {"max_tokens": 10, **options}
    found = []
    for index in range(count):
        said = ("user", f"Round {index // 2}{'!' * (index // 2)}")
        messages = (said,) if index == 4 else (RULES, said)
        found.append(Request(messages, NAMES[index % 3 == 0], seed=index, **options))
    return found


def _plain_generate(
    model: torch.nn.Module, prompts: list[tuple[int, ...]], length: int
) -> list[list[int]]:
    """The continuation of each prompt, greedily, by transformers, padded on the left."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(prompt)) + list(prompt) for prompt in prompts])
    seen = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    out = model.generate(
        input_ids=ids, attention_mask=seen, max_new_tokens=length, do_sample=False, pad_token_id=0
    )
    return out[:, width:].tolist()


def _check_greedy(policy: HFPolicy, folder: Path, name: str) -> None:
    requests = _requests(temperature=0.0)
    replies = policy.generate(requests)
    for role in NAMES:
        policy.save_adapter(role, folder / role)
        plain = peft.PeftModel.from_pretrained(models.load(name).model, folder / role)
        mine = [reply for r, reply in zip(requests, replies, strict=True) if r.adapter == role]
        expected = _plain_generate(plain, [reply.prompt_ids for reply in mine], 10)
        for reply, ids in zip(mine, expected, strict=True):
            assert list(reply.reply_ids) == ids[: len(reply.reply_ids)]
            assert len(reply.reply_ids) == 10 or reply.reply_ids[-1] == 2
            assert reply.log_probs == (0.0,) * len(reply.reply_ids)


@SHARING
def test_greedy_replies_are_those_of_transformers_and_peft(
    share: int | None, tmp_path: Path
) -> None:
    _check_greedy(_share(_policy(), share), tmp_path, "tiny")


@pytest.mark.slow
@SHARING
def test_greedy_replies_of_smollm2(share: int | None, tmp_path: Path) -> None:
    _check_greedy(_share(_policy("smollm2-135m"), share), tmp_path, "smollm2-135m")


def _recomputed(
    policy: HFPolicy, requests: list[Request], replies: list[Generated]
) -> list[torch.Tensor]:
    rows = [
        join_turns(request.adapter, [reply], request.temperature or 1.0)[0][0]
        for request, reply in zip(requests, replies, strict=True)
    ]
    return policy.token_log_probs(rows)


@SHARING
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_log_probs_belong_to_sampled_tokens(share: int | None, temperature: float) -> None:
    policy, requests = _share(_policy(), share), _requests(temperature=temperature)
    replies = policy.generate(requests)
    for reply, log_p in zip(replies, _recomputed(policy, requests, replies), strict=True):
        torch.testing.assert_close(torch.tensor(reply.log_probs), log_p, atol=1e-4, rtol=0)
    assert len({reply.reply_ids for reply in replies}) == len(replies)


def test_a_reply_depends_on_its_request_alone() -> None:
    policy, requests = _policy(), _requests(max_tokens=6)
    together = policy.generate(requests)
    shuffled = random.Random(0).sample(requests, len(requests))
    by_request = dict(zip(map(id, shuffled), policy.generate(shuffled), strict=True))
    for request, reply in zip(requests, together, strict=True):
        policy.forget()
        (alone,) = policy.generate([request])
        assert alone.reply_ids == reply.reply_ids == by_request[id(request)].reply_ids
    twice = policy.generate([requests[0], requests[0]])
    assert twice[0] == twice[1]


def _count_tokens(policy: HFPolicy) -> list[tuple[int, int]]:
    """Shapes [rows, tokens] of all passes to come."""
    shapes: list[tuple[int, int]] = []
    cached = policy._network.cached

    def counted(token_BS: torch.Tensor, *args: object, **options: object) -> torch.Tensor:
        shapes.append(tuple(token_BS.shape))
        return cached(token_BS, *args, **options)

    policy._network.cached = counted
    return shapes


def test_shared_prefixes_are_computed_once() -> None:
    policy = _share(_policy(), 1)
    shapes = _count_tokens(policy)
    requests = [Request((RULES, ("user", "Play.")), "hunter", 8, seed=i) for i in range(5)]
    replies = policy.generate(requests)
    prompt = len(replies[0].prompt_ids)
    first = sum(rows * size for rows, size in shapes) - 5 * 7 - 1  # the first is read once
    assert prompt - 1 <= first < prompt + 64  # in pieces, the last of which is padded
    shapes.clear()
    later = [
        Request((*r.messages, ("assistant", reply.reply_ids), ("user", "Again.")), "hunter", 1)
        for r, reply in zip(requests, replies, strict=True)
    ]
    turns = policy.generate(later)
    new = len(turns[0].prompt_ids) - prompt - 8
    assert all(t.prompt_ids[: prompt + 8] == r.prompt_ids + r.reply_ids
               for t, r in zip(turns, replies, strict=True))  # fmt: skip
    assert shapes[-1] == (5, 1)
    assert shapes[0] == (5, new)  # the last reply token, and all but the last prompt token
    assert len(shapes) == 2
    fresh = _share(_policy(), None).generate(later)
    assert [t.reply_ids for t in turns] == [t.reply_ids for t in fresh]


@pytest.mark.parametrize("share", [1, None], ids=["shared", "apart"])
def test_replies_are_one_row_until_they_part(share: int | None) -> None:
    """And each is what it is alone, whichever others it was one with, on to its next turn."""
    policy = _share(_policy(), share)
    requests = [
        Request((RULES, ("user", "Play.")), adapter, 6, temperature=0.1, seed=seed)
        for seed in range(9)
        for adapter in ("hunter", "partner")
    ]
    shapes = _count_tokens(policy)
    replies = policy.generate(requests)
    keys = [(request.adapter, reply.reply_ids) for request, reply in zip(requests, replies)]
    rows = [len({(adapter, ids[:length]) for adapter, ids in keys}) for length in range(6)]
    assert rows[0] < rows[1] < rows[2] < rows[-1] < len(requests)
    assert [shape[0] for shape in shapes if shape[1] == 1][-6:] == rows
    turns = [
        Request(
            (*r.messages, ("assistant", reply.reply_ids), ("user", "On.")), r.adapter, 4, seed=3
        )
        for r, reply in zip(requests, replies, strict=True)
    ]
    later = policy.generate(turns)
    alone = _share(_policy(), None)
    for one, reply, turn, after in zip(requests, replies, turns, later, strict=True):
        alone.forget()
        assert alone.generate([one])[0].reply_ids == reply.reply_ids
        assert alone.generate([turn])[0].reply_ids == after.reply_ids


@pytest.mark.parametrize("limit", [10**6, 250], ids=["room", "tight"])
def test_new_requests_join_running_batch(limit: int) -> None:
    policy = _policy()
    policy._writer.decoder.pool.limit = limit
    first = _requests(6, max_tokens=4)
    first[2] = Request(first[2].messages, "hunter", 40, seed=9)  # the slow one
    asked, order = list(first), []
    replies: dict[int, Generated] = {}

    def then(index: int, reply: Generated) -> list[Request]:
        replies[index] = reply
        order.append(index)
        if len(asked) >= 15 or index == 2:
            return []
        said = (("assistant", reply.reply_ids), ("user", "And then?"))
        follows = Request((*asked[index].messages, *said), asked[index].adapter, 4, seed=index)
        asked.append(follows)
        return [follows]

    policy.serve(first, then)
    assert sorted(order) == list(range(15))
    if limit > 250:
        assert order[-1] == 2, "others waited for the slow one"
    alone = _policy().generate(asked)
    assert [replies[index].reply_ids for index in range(15)] == [r.reply_ids for r in alone]
    for index, reply in enumerate(alone):
        ours = torch.tensor(replies[index].log_probs)
        torch.testing.assert_close(ours, torch.tensor(reply.log_probs), atol=1e-4, rtol=0)


def test_what_is_kept_goes_when_the_weights_change() -> None:
    policy, requests = _policy(), _requests(temperature=0.7)
    policy.generate(requests)
    optimiser = torch.optim.Adam(policy.parameters("hunter"), lr=0.05)
    rows = [join_turns("hunter", policy.generate(requests[1:2]))[0][0]]
    policy.token_backward(rows, [torch.ones(10)])
    kept = len(policy._writer.decoder.pool._tries["partner"])
    optimiser.step()
    after = policy.generate(requests)
    assert len(policy._writer.decoder.pool._tries["partner"]) == kept
    fresh = HFPolicy("tiny", NAMES, lora=LoraSpec(4, 8))
    for name in NAMES:
        fresh.load_adapter_state(name, policy.adapter_state(name))
    assert [r.reply_ids for r in after] == [r.reply_ids for r in fresh.generate(requests)]
    for reply, log_p in zip(after, _recomputed(policy, requests, after), strict=True):
        torch.testing.assert_close(torch.tensor(reply.log_probs), log_p, atol=1e-4, rtol=0)
    policy.forget()
    assert len(policy._writer.decoder.pool) == 0


def test_small_pools_give_the_same_replies() -> None:
    size = 2 * 4 * 2 * 16 * 4  # tiny's keys and values, bytes a token
    plenty, scarce = _policy(), _policy(kv_bytes=400 * size)
    pool = scarce._writer.decoder.pool
    assert pool.limit == 400
    for start in (0, 5, 10):
        requests = _requests(15, max_tokens=6)[start : start + 5]
        ours, theirs = scarce.generate(requests), plenty.generate(requests)
        assert [r.reply_ids for r in ours] == [r.reply_ids for r in theirs]
        assert len(pool) <= 400
        assert len(pool._keys[0]) <= 401
    assert len(plenty._writer.decoder.pool) > 400
    narrow = _policy(kv_bytes=1)
    assert narrow.generate(requests[:2])[0].reply_ids == ours[0].reply_ids


def test_reply_ends_by_token_stop_or_limit() -> None:
    policy = _policy()
    (free,) = policy.generate([Request((RULES, ("user", "?")), "hunter", 30, seed=3)])
    assert (free.finish, len(free.reply_ids), len(free.log_probs)) == ("length", 30, 30)
    text = policy.tokenizer.text(free.reply_ids)
    stop = next(text[at : at + 2] for at in range(5, 25) if text[at : at + 2].isascii())
    (stopped,) = policy.generate(
        [Request((RULES, ("user", "?")), "hunter", 30, 1.0, (stop,), seed=3)]
    )
    assert stopped.finish == "stop"
    assert stopped.text.endswith(stop)
    assert stopped.reply_ids == free.reply_ids[: len(stopped.reply_ids)]
    assert stop not in policy.tokenizer.text(stopped.reply_ids[:-1])
    policy._writer.decoder.ends = frozenset({free.reply_ids[6]})
    (ended,) = policy.generate([Request((RULES, ("user", "?")), "hunter", 30, seed=3)])
    assert ended.finish == "stop"
    assert ended.reply_ids == free.reply_ids[: 1 + free.reply_ids.index(free.reply_ids[6])]
    assert ended.text == policy.tokenizer.text(ended.reply_ids[:-1])


def test_prefix_is_continued_and_counts_as_prompt() -> None:
    policy = _policy()
    request = Request((RULES, ("user", "?")), "hunter", 8, seed=3)
    (whole,) = policy.generate([request])
    (rest,) = policy.generate([Request(request.messages, "hunter", 4, 0.0, prefix=whole.reply_ids)])
    assert rest.prompt_ids == whole.prompt_ids + whole.reply_ids
    rows, places = join_turns("hunter", [whole, rest])
    assert len(rows) == 1
    assert places[1].start == 8


CHOICES = ("stag", "hare", "st", "harebell")


def test_choices_are_drawn_from_the_masked_distribution() -> None:
    policy, messages = _policy(), (RULES, ("user", "?"))
    policy._writer.decoder._checked = True
    requests = [Request(messages, "hunter", 20, seed=i, choices=CHOICES) for i in range(150)]
    replies = policy.generate(requests)
    assert {reply.finish for reply in replies} == {"stop"}
    drawn = Counter(reply.text for reply in replies)
    assert set(drawn) <= set(CHOICES)
    labels = dict(zip(CHOICES, policy.encode(Query(messages, CHOICES, "hunter")).labels))
    known = {reply.text: reply for reply in replies}
    total = sum(torch.tensor(reply.log_probs).sum().exp() for reply in known.values())
    if len(known) == len(CHOICES):
        assert total.item() == pytest.approx(1.0, abs=1e-5)
    for text, reply in known.items():
        assert reply.reply_ids == labels[text]
        probability = torch.tensor(reply.log_probs).sum().exp().item()
        assert drawn[text] == pytest.approx(150 * probability, abs=4 * 6.2)
    # a token that is the only one that may come is certain
    assert all(reply.log_probs[1:3] == (0.0, 0.0) for reply in replies if "hare" in reply.text)


def test_choice_without_room_is_truncated_and_reported() -> None:
    request = Request((RULES, ("user", "?")), "hunter", 2, choices=("stag", "hare"))
    (reply,) = _policy().generate([request])
    assert (reply.finish, len(reply.reply_ids)) == ("length", 2)


SCHEMA = {
    "type": "object",
    "properties": {
        "move": {"enum": ["stag", "hare"]},
        "say": {"type": "string", "maxLength": 5},
        "bid": {"type": "integer", "minimum": 0, "maximum": 20},
    },
    "required": ["move", "say", "bid"],
    "additionalProperties": False,
}


def test_finished_replies_satisfy_the_schema() -> None:
    policy = _policy()
    requests = [
        Request((RULES, ("user", "?")), NAMES[i % 2], 70, seed=i, schema=SCHEMA) for i in range(8)
    ]
    free = Request((RULES, ("user", "?")), "hunter", 12, seed=5)
    *replies, other = policy.generate([*requests, free])
    for reply in replies:
        assert reply.finish == "stop"
        value = json.loads(reply.text)
        jsonschema.validate(value, SCHEMA)
        assert list(value) == ["move", "say", "bid"]
        assert reply.text == json.dumps(value, ensure_ascii=False, separators=(",", ":")) or (
            "\\" in reply.text
        )
        assert reply.log_probs[0] == 0.0  # only a brace may begin
        assert any(value < -0.1 for value in reply.log_probs)
    assert len({reply.text for reply in replies}) > 4
    assert other.reply_ids == policy.generate([free])[0].reply_ids


def test_what_cannot_be_asked_is_refused() -> None:
    policy = _policy()
    messages = (RULES, ("user", "?"))
    with pytest.raises(KeyError, match="nobody"):
        policy.generate([Request(messages, "nobody", 3)])
    with pytest.raises(ModelError, match="no room"):
        policy.generate([Request((("user", "x" * 5000),), "hunter", 3)])
    with pytest.raises(ModelError, match="this schema"):
        policy.generate([Request(messages, "hunter", 3, schema={"type": "wolf"})])
    with pytest.raises(ValueError, match="not both"):
        Request(messages, "hunter", 3, choices=("a",), schema={})
    with pytest.raises(ValueError, match="room"):
        Request(messages, "hunter", 0)
    near = Request((("user", "x" * 4060),), "hunter", 500, 0.0)
    (reply,) = policy.generate([near])
    assert reply.finish == "length"
    assert len(reply.prompt_ids) + len(reply.reply_ids) == 4096


def test_incompatible_model_shares_no_prefixes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cached = Network.cached
    monkeypatch.setattr(Network, "cached", lambda self, *args, **_: cached(self, *args))
    policy, requests = _policy(), _requests()
    replies = policy.generate(requests)
    assert policy._writer.decoder._share is None
    for reply, log_p in zip(replies, _recomputed(policy, requests, replies), strict=True):
        torch.testing.assert_close(torch.tensor(reply.log_probs), log_p, atol=1e-4, rtol=0)


def test_a_model_that_ignores_the_cache_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Network,
        "cached",
        lambda self, token, mask, position, *_, **__: torch.zeros(*token.shape, 64),
    )
    with pytest.raises(ModelError, match="cannot be decoded"):
        _policy().generate(_requests())


def test_blocks_are_what_rows_share() -> None:
    rng = random.Random(4)
    paths = sorted([rng.choice((1, 2)) for _ in range(rng.randint(0, 9))] for _ in range(40))
    levels = blocks(paths, 4)
    assert 1 < len(levels) <= DEPTH
    before = [0] * len(paths)
    spared = 0
    for level in levels:
        for block in level:
            rows = paths[block.start : block.stop]
            assert set(before[block.start : block.stop]) == {block.begin}
            assert len({tuple(path[: block.end]) for path in rows}) == 1
            assert len(rows[0]) >= block.end
            assert (len(rows) - 1) * (block.end - block.begin) >= 4
            spared += (len(rows) - 1) * (block.end - block.begin)
            before[block.start : block.stop] = [block.end] * len(rows)
    assert spared > 0.4 * sum(map(len, paths))
    assert blocks(paths, 10_000) == []
    assert blocks([[1, 2, 3]] * 4, 1)[0][0].end == 3


def test_tokens_are_drawn_by_inverting_the_cumulative_distribution() -> None:
    logits_V = torch.randn(700, generator=torch.Generator().manual_seed(0)) * 2
    logits_V[[3, 255, 256, 699]] = float("-inf")
    p_V = (logits_V / 0.5).double().softmax(-1)
    up_to_V = p_V.cumsum(-1)
    uniforms = [0.0, 1 - 2**-53, *(random.Random(1).random() for _ in range(200))]
    tokens, log_probs = draw(logits_V[None].clone(), [0.5], [uniforms])
    for token, log_p, uniform in zip(tokens, log_probs, uniforms, strict=True):
        assert up_to_V[token] - p_V[token] - 1e-6 <= uniform <= up_to_V[token] + 1e-6
        assert p_V[token] > 0
        assert log_p == pytest.approx(p_V[token].log().item(), abs=1e-5)
    greedy, certain = draw(logits_V.expand(2, -1).clone(), [0.0, 1.0], [[0.9], [0.0]])
    assert (greedy[0], certain[0]) == (int(logits_V.argmax()), 0.0)
    assert greedy[1] == 0
