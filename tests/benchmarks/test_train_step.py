"""The parts of `benchmarks/train_step.py` that need no TRL: prompts, and what completions earn."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import gamedsl

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def train_step(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("train_step")


def chats(texts: Sequence[str]) -> list[Any]:
    return [[{"role": "assistant", "content": text}] for text in texts]


def test_completions_earn_what_play_pays(train_step: ModuleType) -> None:
    rows = train_step.asked_in(gamedsl.load("kuhn_poker").env(run_seed=0), 0, 1)
    assert (len(rows), {len(one.histories) for one in rows}) == (12, {2})
    replies = {one.decision.messages: one.decision.labels[n % 2] for n, one in enumerate(rows)}
    twice = [number for number in range(12) for _ in range(2)]
    texts = [replies[rows[number].decision.messages] for number in twice]
    earned = train_step.Payer(rows, 1, ())(chats(texts), twice)
    expected = []
    for number, history in zip(twice, (h for one in rows for h in one.histories), strict=True):
        play = history.fork()
        while not play.done:
            play.step({d.seat: replies[d.messages] for d in play.decisions})
        expected.append(play.rewards[rows[number].decision.seat])
    assert earned == expected
    assert len(set(earned)) > 2


def test_illegal_completion_forfeits(train_step: ModuleType) -> None:
    rows = train_step.asked_in(gamedsl.load("stag_hunt").env(run_seed=0), 0, 1)
    good = rows[0].decision.labels[0]
    earned = train_step.Payer(rows, 1, ())(chats([good, good, "no", good]), [0, 0, 1, 1])
    assert earned[0] is None
    assert earned[2] < earned[1] == earned[3]


def test_text_cut_at_its_limit_is_refused(train_step: ModuleType) -> None:
    rows = train_step.asked_in(gamedsl.load(BENCHMARKS / "debate_24.yaml").env(run_seed=0), 0, 2)
    assert len(rows) == 4
    words = [one.decision.messages[-1][1].partition("The word: ")[2].split()[0] for one in rows]
    pay = train_step.Payer(rows, 3, (0,))
    ended, cut = [5, 6, 0], [5, 6, 7]
    earned = pay(chats(words), range(4), [ended, ended, ended, ended])
    assert sorted(earned[:2]) == [0, 1]
    winner = earned.index(1)
    ids = [cut if number == winner else ended for number in range(4)]
    assert pay(chats(words), range(4), ids)[winner] == 0
    assert pay.reply_tokens == [12, 12]
