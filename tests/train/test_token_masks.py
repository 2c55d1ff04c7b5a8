"""Transcripts are made again from the trained tokens: what a role wrote, and nothing of another's.

The engine is the real one, on `tiny` with chat templates that behave as those of model families; it
is held to texts that are known, so that every game goes its whole way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from gamedsl.ir.replies import Form
from gamedsl.policies import random_models
from gamedsl.policies.generation import Generated, Request, Then, Writing
from gamedsl.prompting.replies import write_choice
from gamedsl.runtime import Game
from gamedsl.thought_syntax import CLOSE, OPEN
from gamedsl.training.advantages import Advantage
from gamedsl.training.losses import TokenBatch
from gamedsl.training.rollout import play
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from gamedsl.training.trajectories import Batch, Trajectory
from tests.policies.templates import (
    BRACKETS,
    CHATML,
    EMPTY_THOUGHT,
    HEADERS,
    OPENED,
    SEED,
    THINKING,
)
from tests.train.in_words import opened, recipe_of

TALK = """
game: talk
roles: [asker, teller]
turns:
  - repeat: 2
    turns:
      - {role: asker, choose: ask, from: [news, time]}
      - {role: teller, say: tale, max_tokens: 40}
      - {role: asker, say: note, read: {worth: 1..9, by: text(20)}, max_tokens: 60}
      - {role: teller, choose: mood, from: [calm, sour]}
payoffs: 1
respond: RESPOND
on_invalid: {then: forfeit, pay: -1}
train: {adapters: per_role}
"""


@pytest.fixture(params=[CHATML, THINKING, EMPTY_THOUGHT, OPENED, HEADERS, BRACKETS, SEED],
                ids=["chatml", "thinking", "empty-thought", "opened", "headers", "brackets",
                     "seed"])  # fmt: skip
def template(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """`tiny` has this chat template, and the special tokens that it needs."""
    plain = random_models._tiny_tokenizer

    def changed() -> Any:
        tokenizer = plain()
        if request.param == HEADERS:
            tokenizer.add_tokens(["<|begin|>", "<|head|>", "<|body|>"], special_tokens=True)
        if request.param == BRACKETS:
            tokenizer.add_tokens(["[THINK]", "[/THINK]"], special_tokens=True)
        tokenizer.chat_template = request.param
        return tokenizer

    monkeypatch.setattr(random_models, "_tiny_tokenizer", changed)
    return str(request.param)


def hold(policy: Writing, form: Form) -> None:
    """Whatever is asked for, texts come that name their author, each with its own number; what
    stands before them is the engine's."""
    generate, number, tokenizer = policy.generate, count(), policy.tokenizer

    def held(requests: Sequence[Request]) -> list[Generated]:
        begun = generate([replace(request, max_tokens=1) for request in requests])
        return [put(request, one) for request, one in zip(requests, begun, strict=True)]

    def put(request: Request, begun: Generated) -> Generated:
        text = text_for(request, next(number))
        ids = tokenizer.ids(text) + (() if request.stop else tokenizer.ends)
        return Generated(begun.prompt_ids, ids, (0.0,) * len(ids), text, "stop")

    def text_for(request: Request, n: int) -> str:
        role, asked = request.adapter, request.messages[-1][1]
        thought = f"A thought of {role}, number {n}."
        if request.stop:
            return f"{thought}\n{CLOSE}"
        if "Options" in asked:
            option = "news" if role == "asker" else "calm"
            whole = write_choice(option, form, thought if form.think else None)
            return whole.removeprefix(f"{OPEN}\n") if request.prefix else whole
        if role == "teller":
            return f"A tale of {role}, number {n}."
        return f'{{"worth": {n % 9 + 1}, "by": "of {role}"}}'

    def served(requests: Sequence[Request], then: Then) -> None:
        waiting, total = list(enumerate(requests)), len(requests)
        while waiting:
            now, waiting = waiting, []
            for (index, _), reply in zip(now, held([one for _, one in now]), strict=True):
                new = then(index, reply)
                waiting += enumerate(new, total)
                total += len(new)

    policy.serve = served


def trained_of(
    policy: Writing, batch: Batch, trial: Trajectory, seat: str
) -> tuple[list[str], str]:
    """The text of each reply of a seat as it would be trained, in order, without its end token; and
    the text of all that is not trained beside it."""
    own = [one for one in trial.samples if one.seat == seat]
    rows = TokenBatch([Advantage(0, one, 1, 1.0) for one in own], batch.queries, 1.0).rows
    decode = policy.tokenizer.text
    replies = [decode(row.ids[start:stop]) for row in rows for start, stop in row.trained]
    trained = [set(row.positions) for row in rows]
    rest = [
        decode(tuple(token for at, token in enumerate(row.ids) if at not in known))
        for row, known in zip(rows, trained, strict=True)
    ]
    return replies, "".join(rest)


@pytest.mark.parametrize("replies", ["scored", "free"])
@pytest.mark.parametrize("think", [None, 64])
@pytest.mark.parametrize("kind", ["label", "tag", "tool"])
def test_transcripts_are_made_again_from_trained_tokens(
    compiled: Callable[[str], Game], template: str, kind: Any, think: int | None, replies: str
) -> None:
    form = Form(kind, think)
    shape = f"{{form: {kind}, think: {think}}}" if think else kind
    game = compiled(TALK.replace("RESPOND", shape))
    recipe = recipe_of(game, games=2, group_size=2, replies=replies)
    policy = opened(game, recipe)
    hold(policy, form)
    env = game.env(tokenizer=policy.tokenizer)
    batch = play(env, Sessions(policy), recipe, 1, SeatAssignment(game.ir, recipe))
    for trial in batch.trajectories:
        assert not trial.episode.mistakes
        parts = {}
        for seat, other in (("asker", "teller"), ("teller", "asker")):
            trained, rest = trained_of(policy, batch, trial, seat)
            parts[seat] = iter(trained)
            assert any(f"of {seat}" in text for text in trained)
            assert not any(f"of {other}" in text for text in trained)
            assert f"of {other}" in rest
        again = env.reset(trial.episode.seed)
        for one in trial.samples:
            text = "" if one.written is None else next(parts[one.seat])
            if one.written is not None:
                before = policy.tokenizer.text(one.written.prompt_ids)
                assert not before.endswith(f"{OPEN}\n{OPEN}\n")
                assert not (before.endswith(f"{OPEN}\n") and OPEN in text)
            if one.query is not None:
                before = f"{OPEN}\n{text}\n" if text else ""
                query, action = one.scored
                text = before + batch.queries[query].labels[action]
            again.step({one.seat: text})
        assert again.transcript == trial.episode.transcript
        assert not any(list(left) for left in parts.values())
