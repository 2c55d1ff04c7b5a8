"""Scripted plays of ten shipped games: what our runtime makes of them, for peers to agree with.

A script answers a prompt by the seed of the play and the prompt's text alone, so that any loop can
ask it. One reply in eight is refused. `played` is the play as `Env` and `Episode` have it, with no
driver between.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import gamedsl
from gamedsl import Action, Decision, Env, Episode
from gamedsl.export.counting import counter_of
from gamedsl.prompting.random_replies import random_reply
from gamedsl.prompting.replies import write_choice, write_open_reply

NAMES = (
    "kuhn_poker",
    "leduc_poker",
    "tic_tac_toe",
    "small_hanabi",
    "ultimatum",
    "stag_hunt",
    "debate",
    "twenty_questions",
    "code_team",
    "guess_in_words",
)
LONG = ("twenty_questions", "code_team")
"""Games of long prompts and of programs that are run: fifty plays take half a minute or more.
TextArena's loop, the cheapest, plays them in the quick suite too."""
GAMES = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in NAMES]
SEEDS = range(50)
REFUSED = 1 / 8
"""The share of replies that are no valid ones."""

SPEAKING = """\
game: speak_{}
roles: [speaker]
turns:
  - {{role: speaker, say: pitch, max_tokens: {}}}
payoffs: 1
"""

Messages = Sequence[Mapping[str, str]]


@cache
def loaded(name: str) -> gamedsl.Game:
    return gamedsl.load(name)


@cache
def env_of(name: str, tokenizer: Any = None) -> Env:
    return loaded(name).env(tokenizer=None if tokenizer is None else counter_of(tokenizer))


def chat_of(decision: Decision) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in decision.messages]


def key_of(messages: Messages) -> str:
    return json.dumps([[one["role"], one["content"]] for one in messages])


def reply_to(decision: Decision, seed: int) -> str:
    """The script: valid replies drawn with the random numbers of the prompt, and refused ones."""
    dice = Random(f"{seed} {key_of(chat_of(decision))}")
    refused = dice.random() < REFUSED
    if decision.said is None:
        label = "none of these" if refused else dice.choice(decision.labels)
        return write_choice(label, decision.form)
    seats = decision.env.ir.seats
    name = ""
    for _ in range(60):
        name = random_reply(decision.said, decision.type, seats, dice, plain_words=True)
        if decision.admits(name):
            break
    return "" if refused else write_open_reply(name, decision.said, decision.type, seats)


@dataclass
class Turn:
    seat: str
    messages: list[dict[str, str]]
    legal: tuple[str, ...]
    labels: tuple[str, ...]
    reply: str


@dataclass
class Play:
    """A play from its first prompt to its end. `refused` has the seat and the reason of each reply
    that was refused, and `void` the seats whose play another seat's forfeit made void."""

    seed: int
    turns: list[Turn]
    payoffs: dict[str, Fraction | int | None]
    rewards: dict[str, Fraction | int | None]
    failures: dict[str, str]
    refused: list[tuple[str, str]]
    answers: dict[str, str] = field(repr=False)
    """Replies by the key of their prompt."""

    @property
    def void(self) -> set[str]:
        paid = {seat for seat, reward in self.rewards.items() if reward is not None}
        return set(self.rewards) - paid

    def turns_of(self, seat: str) -> list[Turn]:
        return [turn for turn in self.turns if turn.seat == seat]


@cache
def played(name: str, seed: int, tokenizer: Any = None) -> Play:
    """The play in which all seats follow the script; limits count tokens of a tokenizer."""
    episode, turns = env_of(name, tokenizer).reset(seed=seed), []
    while not episode.done:
        asked = episode.decisions
        said = {one.seat: reply_to(one, seed) for one in asked}
        turns += [
            Turn(one.seat, chat_of(one), one.legal, one.labels, said[one.seat]) for one in asked
        ]
        episode.step(said)
    return _play(episode, seed, turns)


def replayed(name: str, theirs: Episode, seat: str) -> Play:
    """The play of `theirs` once more, by `Env` alone: `seat` follows the script, and the others
    make the moves that `theirs` has on record."""
    moves = _moves(theirs.transcript)
    episode, turns, seed = env_of(name).reset(seed=theirs.seed), [], theirs.seed
    while not episode.done:
        said: dict[str, Any] = {}
        for one in episode.decisions:
            if one.seat == seat:
                said[seat] = reply_to(one, seed)
                turns.append(Turn(seat, chat_of(one), one.legal, one.labels, said[seat]))
            else:  # a move beside one that forfeits is on no record, and does not matter
                unknown = one.legal[0] if one.legal else ""
                key = one.seat, one.step, one.occurrence
                said[one.seat] = Action(moves.get(key, unknown))
        episode.step(said)
    return _play(episode, seed, turns)


def _moves(transcript: Mapping[str, Any]) -> dict[tuple[str, str, int], str]:
    """The choices on record, by seat, step and how often the seat had chosen there."""
    found: dict[tuple[str, str, int], str] = {}
    times: Counter[tuple[str, str]] = Counter()
    for entry in transcript["steps"]:
        for seat, move in entry.get("choices", {}).items():
            found[seat, entry["step"], times[seat, entry["step"]]] = move
            times[seat, entry["step"]] += 1
    return found


def _play(episode: Episode, seed: int, turns: list[Turn]) -> Play:
    answers = {key_of(turn.messages): turn.reply for turn in turns}
    return Play(
        seed,
        turns,
        dict(episode.payoffs),
        dict(episode.rewards),
        {seat: failure.reason for seat, failure in episode.failures.items()},
        [(one.decision.seat, one.failure.reason) for one in episode.mistakes],
        answers,
    )


def speaking_game(folder: Path, tokens: int) -> gamedsl.Game:
    """A game in which one seat says something, of at most so many tokens."""
    path = folder / f"speak_{tokens}.yaml"
    path.write_text(SPEAKING.format(tokens, tokens), encoding="utf-8")
    return gamedsl.load(path)
