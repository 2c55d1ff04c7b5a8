"""Tools in a chat template: a call is trained as the model writes it, and nothing that comes of it.

The templates are those of families that list tools, over `tiny`; the engine is held to its texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from gamedsl.policies import random_models
from gamedsl.policies.generation import Generated, Request, Then, TokenRow, Writing
from gamedsl.runtime import Game
from gamedsl.training.advantages import Advantage
from gamedsl.training.imitated_chats import chats_of
from gamedsl.training.losses import TokenBatch
from gamedsl.training.rollout import play
from gamedsl.training.seats import SeatAssignment, assign_seats
from gamedsl.training.sessions import Sessions
from tests.policies.templates import BARE_CALLS, CALLING
from tests.train.in_words import opened, recipe_of

SUMS = """
game: sums
roles: [agent]
actions:
  compute:
    args: {text: text(12)}
    turns: [{call: arithmetic, with: {text: text}, gives: result, seen_by: agent}]
  answer: {args: {text: text(6)}}
turns:
  - {use: tool_loop, calls: 3, tokens: 120, done: call.answer != none}
payoffs: 0 if call.answer == none else 1
respond: tool
on_invalid: {then: forfeit, pay: -1}
"""
TAGS, BARE = ("<tool_call>\n", "arguments", "\n</tool_call>"), ("", "parameters", "")


@pytest.fixture(params=[(CALLING, TAGS), (BARE_CALLS, BARE)], ids=["tags", "bare"])
def syntax(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str, str]:
    """How `tiny` writes calls, whose chat template lists tools."""
    template, parts = request.param
    plain = random_models._tiny_tokenizer

    def changed() -> Any:
        tokenizer = plain()
        tokenizer.chat_template = template
        return tokenizer

    monkeypatch.setattr(random_models, "_tiny_tokenizer", changed)
    found: tuple[str, str, str] = parts
    return found


def written(syntax: tuple[str, str, str], name: str, text: str) -> str:
    before, arguments, after = syntax
    return f'{before}{{"name": "{name}", "{arguments}": {{"text": "{text}"}}}}{after}'


def hold(policy: Writing, texts: Sequence[str]) -> None:
    """Whatever is asked for, the n-th call of a chat comes."""
    tokenizer = policy.tokenizer_of("agent")

    def answer(request: Request) -> Generated:
        text = texts[sum(role == "assistant" for role, _ in request.messages)]
        ids = tokenizer.ids(text) + tokenizer.ends
        prompt = tokenizer.converse(request.messages).ids
        return Generated(prompt, ids, (0.0,) * len(ids), text, "stop")

    def served(requests: Sequence[Request], then: Then) -> None:
        waiting = list(enumerate(requests))
        number = len(waiting)
        while waiting:
            (index, request), *waiting = waiting
            for new in then(index, answer(request)):
                waiting.append((number, new))
                number += 1

    policy.serve = served


def texts_of(policy: Writing, row: TokenRow) -> tuple[list[str], str]:
    """The trained parts of a row, and the text of the rest."""
    wrapped: Any = policy.tokenizer_of("agent")
    decode = wrapped.wrapped.decode
    known = set(row.positions)
    rest = [token for at, token in enumerate(row.ids) if at not in known]
    return [decode(row.ids[start:stop]) for start, stop in row.trained], decode(rest)


def test_calls_are_trained_and_results_are_not(
    compiled: Callable[[str], Game], syntax: tuple[str, str, str]
) -> None:
    game = compiled(SUMS)
    recipe = recipe_of(game, games=2, group_size=2)
    policy = opened(game, recipe)
    calls = [written(syntax, *call) for call in (("compute", "6 * 7"), ("compute", "40 + 3"),
                                                 ("answer", "42"))]  # fmt: skip
    hold(policy, calls)
    env = game.env(tokenizer=policy.tokenizer)
    batch = play(env, Sessions(policy), recipe, 1, SeatAssignment(game.ir, recipe))
    trial = batch.trajectories[0]
    assert not trial.episode.mistakes
    own = [Advantage(0, one, 1, 1.0) for one in trial.samples]
    (row,) = TokenBatch(own, batch.queries, 1.0).rows  # each prompt goes on from the last
    trained, rest = texts_of(policy, row)
    assert trained == [f"{call}<|im_end|>" for call in calls]
    assert "value 42" in rest
    assert "value 43" in rest
    assert '"name": "compute"' in rest  # the list of tools
    assert not any(f'"{syntax[1]}": {{"text"' in part for part in rest.split("<|im_start|>"))
    policy.token_backward([row], [torch.ones(len(row.positions))])
    assert any(float(p.grad.abs().sum()) for p in policy.parameters() if p.grad is not None)


def test_a_warm_up_shows_the_models_own_calls(
    compiled: Callable[[str], Game], syntax: tuple[str, str, str]
) -> None:
    game = compiled(SUMS)
    recipe = recipe_of(game, warm_up__expert="random", warm_up__games=4)
    policy = opened(game, recipe)
    env = game.env(tokenizer=policy.tokenizer)
    learned, _ = chats_of(game, env, recipe, assign_seats(game, recipe), policy)
    trained, _ = texts_of(policy, learned.chats[0].rows[0])
    before, arguments, after = syntax
    for text in trained:
        assert text.startswith(f'{before}{{"name": "')
        assert text.endswith(f"}}{after}<|im_end|>")
        assert f'"{arguments}": {{"text": ' in text
