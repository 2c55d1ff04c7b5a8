"""Relabelling: labels are texts for reading and replying, and have no other effect.

Labels are no part of the rules: no kernel is given any. So two sets of labels give the same tree,
with the same information sets, odds and payoffs, and a reply in one means what the same option's
label means in the other. That follows from the rules, and is tried on plays in which all moves are
replies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from gamedsl.analysis.history_prompts import sample_book
from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.nodes import Node, history_lines, made, path_of, replay
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Problems
from gamedsl.engine.function_calls import RecordedCalls
from gamedsl.engine.interpreter import answers_of
from gamedsl.ir.game import Labels
from gamedsl.prompting.labels import option_names
from gamedsl.runtime import Action, Decision, Env
from gamedsl.runtime.episode import Episode

SAME = "other labels change no history, no information set and no payoff"
REPLIES = "a reply is the label of one option, or of none"

REPLAYED = 50
"""Plays that are played again under two sets of labels."""


def check_replies(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """Labels are matched whole, and no two are alike, so no reply has two meanings. That none is
    another's beginning, too, holds for masked labels: they are words of one length."""
    book = sample_book(sample.ir)
    if book is None or problems.errors:
        yield Proof("labels.replies", REPLIES, "undecided", "there are errors that come before it")
        return
    labels = [book.label(name) for name in option_names(sample.ir)]
    longer = next((pair for pair in _beginnings(labels)), None)
    more = "none begins another" if longer is None else f"`{longer[0]}` begins `{longer[1]}`"
    yield Proof(
        "labels.replies", REPLIES, "proved",
        f"{len(labels):,} labels, all different and matched whole; {more}",
    )  # fmt: skip


def _beginnings(labels: list[str]) -> Iterator[tuple[str, str]]:
    """Labels that others begin with; in order, such a pair stands side by side."""
    return ((one, other) for one, other in pairwise(sorted(labels)) if other.startswith(one))


class _Moment(NamedTuple):
    """The facts that must not depend on labels."""

    asked: tuple[tuple[str, tuple[str, ...]], ...]
    paid: tuple[object, ...]


def check_relabelling(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """See the module docstring."""
    if problems.errors:
        yield Proof("labels.same_game", SAME, "undecided", "there are errors that come before it")
        return
    ir = sample.ir
    apart = replace(ir, labels=Labels("plain")).code_hash == ir.code_hash
    one, other = (Env(ir, run_seed=seed, backend="interpreter") for seed in (0, 1))
    for end in sample.ends[:REPLAYED]:
        if not apart or _played(one, end) != _played(other, end):
            witness = history_lines(end)
            yield Proof(
                "labels.same_game", SAME, "refuted", sample.extent, (), witness, (replay(end),)
            )
            return
    many = min(len(sample.ends), REPLAYED)
    how = f"labels are no part of the rules; {many} plays were replied under two sets of labels"
    yield Proof("labels.same_game", SAME, "proved", how)


def _played(env: Env, end: Node) -> list[_Moment]:
    """A play in which every choice is a reply with a label, as a seat would write it."""
    if given := answers_of(end.state):  # asked anew, they need not give the same
        env = env.calling(RecordedCalls([(name, results) for _, name, results in given]))
    episode = env.reset(seed=0, chance="asked", forced="asked")
    moments = [_moment(episode)]
    for before, after in pairwise(path_of(end)):
        if before.state.kind == "chance":
            episode.draw(after.move[0])
        else:
            names = made(after)
            episode.step({d.seat: _reply(d, names[d.seat]) for d in episode.decisions})
        moments.append(_moment(episode))
    return moments


def _reply(decision: Decision, name: str) -> str | Action:
    """A choice in the form that the game asks for; what is said has no label."""
    if decision.said is not None:
        return Action(name)
    return decision.write(name)


def _moment(episode: Episode) -> _Moment:
    asked = tuple((decision.information_set, decision.legal) for decision in episode.decisions)
    return _Moment(asked, tuple((episode.payoffs or {}).items()) if episode.done else ())
