"""How a model replies: options are scored as they are written, and drawn from what that gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import cast

import pytest
import torch

import gamedsl
from gamedsl.players.model_replies import AROUND, Asked, query_of, replies
from gamedsl.policies.base import Query
from gamedsl.policies.generation import Finish, Generated, Request, Then, TokenRow, Writing
from gamedsl.policies.hf import HFPolicy
from gamedsl.prompting.replies import ParseFailure
from gamedsl.prompting.reply_instructions import ASKED
from gamedsl.runtime import Decision, Game
from tests.writing import write

GAME = """
game: pick
roles: [picker]
turns: [{{role: picker, choose: card, from: [ace, king, ten]}}]
payoffs: 1
respond: {respond}
"""


@pytest.fixture(scope="module")
def tiny() -> HFPolicy:
    return HFPolicy("tiny")


def asked_in(respond: str, folder: Path) -> tuple[Game, Decision]:
    game = gamedsl.load(write(folder, GAME.format(respond=respond)))
    return game, game.env().reset(seed=0).decisions[0]


@pytest.mark.parametrize("form", ASKED)
def test_options_are_scored_as_they_are_written(tiny: HFPolicy, form: str, tmp_path: Path) -> None:
    """Every answer is valid, and as frequent as the softmax over the written options has it."""
    game, decision = asked_in(form, tmp_path)
    query = query_of(decision, "shared")
    assert query.labels == tuple(map(decision.write, decision.legal))
    odds = (tiny.log_probs([query])[0].double() / 0.5).softmax(0).tolist()
    drawn = replies(tiny, [Asked(decision, "shared", seed) for seed in range(2000)], 0.5)
    count = Counter(reply.choice.action for reply in drawn if reply.choice is not None)
    assert sum(count.values()) == 2000
    assert all(abs(count[at] / 2000 - share) < 0.05 for at, share in enumerate(odds))
    for reply in drawn[:20]:
        episode = game.env().reset(seed=0)
        assert episode.parse(decision, reply.text) == episode.parse(decision, reply.answer)
        assert not isinstance(episode.parse(decision, reply.answer), ParseFailure)


def test_no_temperature_takes_the_likeliest(tiny: HFPolicy, tmp_path: Path) -> None:
    _, decision = asked_in("tag", tmp_path)
    best = int(tiny.log_probs([query_of(decision, "shared")])[0].argmax())
    drawn = replies(tiny, [Asked(decision, "shared", seed) for seed in range(9)], 0)
    assert [reply.choice and reply.choice.action for reply in drawn] == [best] * 9


def test_a_reply_is_of_its_seed_alone(tiny: HFPolicy, tmp_path: Path) -> None:
    _, decision = asked_in("tool", tmp_path)
    asked = [Asked(decision, "shared", seed) for seed in range(8)]
    together = [reply.answer for reply in replies(tiny, asked, 1)]
    assert [replies(tiny, [one], 1)[0].answer for one in asked] == together
    assert len(set(together)) > 1


def test_score_after_thought_sums_over_tokens(tiny: HFPolicy, tmp_path: Path) -> None:
    """The odds of options given a thought are those of their texts after it, token by token."""
    _, decision = asked_in("{form: tool, think: 5, at_limit: close}", tmp_path)
    for reply in replies(tiny, [Asked(decision, "shared", seed) for seed in range(3)], 1):
        assert reply.choice is not None
        assert reply.written is not None
        query = reply.choice.query
        ids = (*tiny.tokenizer.converse(query.messages).ids, *query.prefix)
        scores = []
        for label in query.labels:
            answer = tiny.tokenizer.ids(label)
            row = TokenRow("shared", ids + answer, ((len(ids), len(ids) + len(answer)),))
            scores.append(tiny.token_log_probs([row])[0].sum())
        torch.testing.assert_close(
            tiny.log_probs([query])[0], torch.stack(scores).log_softmax(0), atol=5e-4, rtol=0
        )


@pytest.mark.parametrize(("labels", "same"), [(("A", "B", "C"), True), (("AX", "AY", "BZ"), False)])
def test_scored_options_and_decoding_held_to_them(
    tiny: HFPolicy, labels: tuple[str, ...], same: bool
) -> None:
    """Decoding that is held to the options token by token has the same odds where they part once,
    at their last token; else it forgets how likely what comes after is."""
    messages = (("user", "Pick."),)
    prefix = tiny.tokenizer.ids("<think>\nhm</think>\n")
    log_pi = tiny.log_probs([Query(messages, labels, "shared", prefix)])[0]
    off = 0.0
    for seed in range(12):
        asked = Request(messages, "shared", 8, choices=labels, seed=seed, prefix=prefix)
        said = tiny.generate([asked])[0]
        off = max(off, abs(sum(said.log_probs) - float(log_pi[labels.index(said.text)])))
    assert (off < 1e-4) is same, off


class Thinker:
    """A policy whose thoughts are given; it scores as `tiny` does."""

    def __init__(self, tiny: HFPolicy, text: str, finish: Finish, *, ended: bool) -> None:
        self.tokenizer_of, self.log_probs = tiny.tokenizer_of, tiny.log_probs
        ids = tiny.tokenizer.ids(text) + (tiny.tokenizer.ends if ended else ())
        self.said = Generated((), ids, (0.0,) * len(ids), text, finish)
        self.asked: list[Request] = []

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        self.asked += requests
        for index in range(len(requests)):
            assert not then(index, self.said)


@pytest.mark.parametrize(
    ("text", "finish", "form", "failure", "between"),
    [
        ("an ace", "length", "{form: tag, think: 9, at_limit: close}", None, "\n</think>\n"),
        ("an ace", "stop", "{form: tag, think: 9, at_limit: close}", None, "\n</think>\n"),
        ("an ace</th", "length", "{form: tag, think: 9, at_limit: close}", None, "\n</think>\n"),
        ("an ace", "length", "{form: tag, think: 9}", "truncated", ""),
        ("an ace", "stop", "{form: tag, think: 9, at_limit: invalid}", "unclosed", ""),
        ("an ace</think>", "stop", "{form: tag, think: 9}", None, "\n"),
        ("<answer>ten</answer></think>\n", "stop", "{form: tool, think: 9}", None, ""),
        ("an ace</think>\n", "stop", "{form: label, think: 9}", None, ""),
        ("an ace</think>.", "stop", "{form: tag, think: 9}", None, ""),
        ("an ace</think>.", "stop", "{form: label, think: 9}", "unknown", ""),
        ("<think>an ace</think>", "stop", "{form: tag, think: 9}", "thoughts", ""),
        ("< Think> hm", "length", "{form: tag, think: 9, at_limit: close}", "thoughts", ""),
    ],
)
def test_thoughts_that_end_and_those_that_do_not(
    tiny: HFPolicy, tmp_path: Path, text: str, finish: Finish, form: str, failure: str | None,
    between: str,
) -> None:  # fmt: skip
    """Nothing but what was drawn, and the tags around it, stands before the options; a reply is one
    that reads as its option, or a failure."""
    game, decision = asked_in(form, tmp_path)
    ended = finish == "stop" and "</think>" not in text
    thinker = Thinker(tiny, text, finish, ended=ended)
    (reply,) = replies(cast("Writing", thinker), [Asked(decision, "shared", 3)], 1)
    (request,) = thinker.asked
    assert (request.max_tokens, request.stop) == (9, ("</think>",))
    assert request.prefix == tiny.tokenizer.ids("<think>\n")
    assert reply.written is not None
    assert reply.written.reply_ids == thinker.said.reply_ids
    if failure is not None:
        assert isinstance(reply.answer, ParseFailure)
        assert reply.choice is None
        assert reply.answer.reason == failure
        return
    assert reply.choice is not None
    drawn = tiny.tokenizer.ids(text)
    around = tiny.tokenizer.ids("<think>\n"), tiny.tokenizer.ids(between) if between else ()
    assert reply.choice.query.prefix == around[0] + drawn + around[1]
    episode = game.env().reset(seed=0)
    assert episode.parse(decision, reply.text) == decision.legal[reply.choice.action]
    assert episode.parse(decision, reply.answer) == decision.legal[reply.choice.action]


def test_free_replies_are_written_whole(tiny: HFPolicy, tmp_path: Path) -> None:
    game, decision = asked_in("{form: tag, think: 9, at_limit: close}", tmp_path)
    thinker = Thinker(tiny, "<think>ten</think><answer>ace</answer>", "stop", ended=True)
    (reply,) = replies(cast("Writing", thinker), [Asked(decision, "shared", 3)], 1, free=True)
    assert reply.answer == "<think>ten</think><answer>ace</answer>"
    assert reply.choice is None
    assert game.env().reset(seed=0).parse(decision, reply.answer) == "ace"
    (request,) = thinker.asked
    assert request.prefix == ()
    assert request.stop == ()
    longest = max(map(tiny.tokenizer.count, query_of(decision, "shared").labels))
    assert request.max_tokens == 9 + longest + AROUND
    cut = Thinker(tiny, "<answer>ace</answer>", "length", ended=False)
    (reply,) = replies(cast("Writing", cut), [Asked(decision, "shared", 3)], 1, free=True)
    assert reply.answer == ParseFailure("truncated", "<answer>ace</answer>")


def test_a_thought_and_its_option_are_drawn_apart(tiny: HFPolicy, tmp_path: Path) -> None:
    """The option does not go by the random number of the thought's first token."""
    _, decision = asked_in("{form: tag, think: 1, at_limit: close}", tmp_path)
    drawn = replies(tiny, [Asked(decision, "shared", seed) for seed in range(200)], 1)
    low = Counter[bool](), Counter[bool]()
    for seed, reply in enumerate(drawn):
        assert reply.choice is not None
        low[Random(seed).random() < 0.5][reply.choice.action == 0] += 1
    shares = [count[True] / sum(count.values()) for count in low]
    assert abs(shares[0] - shares[1]) < 0.2
    assert 0.05 < shares[0] < 0.95


@pytest.mark.slow
@pytest.mark.parametrize("respond", [
    *ASKED, *(f"{{form: {form}, think: 12, at_limit: close}}" for form in ASKED),
])  # fmt: skip
def test_the_embedded_model_answers_validly_in_every_form(respond: str, tmp_path: Path) -> None:
    policy = HFPolicy("smollm2-135m")
    game, decision = asked_in(respond, tmp_path)
    drawn = replies(policy, [Asked(decision, "shared", seed) for seed in range(20)], 1)
    episode = game.env().reset(seed=0)
    heard = [episode.parse(decision, reply.text) for reply in drawn]
    assert [episode.parse(decision, reply.answer) for reply in drawn] == heard
    refused = [name.reason for name in heard if isinstance(name, ParseFailure)]
    assert set(refused) <= ({"thoughts"} if decision.form.think else set())
    assert len(refused) < len(heard) / 2  # it opens a thought in its thought at times
