"""Second checks of what is proved of prompts, views and labels; see `replay`.

A check returns what it finds wrong, empty for nothing.
"""

from __future__ import annotations

import re
from typing import Any

from gamedsl import Decision, Env
from gamedsl.prompting.prompts import RenderError
from tests.faults.case import Case
from tests.faults.histories import Point, played, points, shape
from tests.faults.leaks import leaks


def _decisions(env: Env) -> list[Decision]:
    return [d for point in points(env) if not point.failed for d in point.episode.decisions]


def _prompts(env: Env) -> list[tuple[Decision, str | None]]:
    """Returns every decision with its prompt; None for what cannot be rendered."""
    found: list[tuple[Decision, str | None]] = []
    for decision in _decisions(env):
        try:
            found.append((decision, "\n".join(text for _, text in decision.messages)))
        except RenderError:
            found.append((decision, None))
    return found


def cannot_be_rendered(case: Case) -> list[str]:
    """Checks that a prompt of the broken game fails when it is rendered, and none of the twin's."""
    wrong = ["the twin fails"] if any(text is None for _, text in _prompts(case.twin)) else []
    failing = any(text is None for _, text in _prompts(case.broken))
    return wrong if failing else [*wrong, "every prompt is rendered"]


def hidden_in_prompt(case: Case) -> list[str]:
    """Checks that a prompt shows what its reader has not seen: it leaks, or the runtime withholds
    it: the text fails, or says what the twin says of nothing."""
    if found := case.leaks_of_twin():
        return [f"the twin leaks: {found[0]}"]
    if any(found.kind == "prompt" for found in leaks(case.broken)):
        return []
    texts = [text for _, text in _prompts(case.broken)]
    absent = case.fault.replay.get("absent")
    if None in texts or (absent and any(absent in text for text in texts if text)):
        return []
    return ["every prompt is rendered, and none leaks"]


def answer_not_shown(case: Case) -> list[str]:
    """Checks that a prompt does not hold one of the labels that answer it, below the rules."""

    def lacking(env: Env) -> bool:
        return any(
            not any(label in line for line in decision.messages[-1][1].split("\n")[-5:])
            for decision in _decisions(env) for label in decision.labels
        )  # fmt: skip

    wrong = ["the twin's prompts lack one"] if lacking(case.twin) else []
    return wrong if lacking(case.broken) else [*wrong, "every prompt shows every label"]


def name_told(case: Case) -> list[str]:
    """Checks that the name that the headline quotes is in a prompt."""

    def says(env: Env) -> bool:
        name = re.compile(rf"\b{re.escape(case.quoted()[0])}\b", re.IGNORECASE)
        return any(name.search(text or "") for _, text in _prompts(env))

    wrong = ["the twin says it too"] if says(case.twin) else []
    return wrong if says(case.broken) else [*wrong, "no prompt says it"]


def payoff_told(case: Case) -> list[str]:
    """Checks that with another payoff the broken game has other prompts, and the twin the same."""
    other = case.fault.replay["other"]

    def told(env: Env) -> list[str | None]:
        return [text for _, text in _prompts(env)]

    wrong = []
    if told(case.twin) != told(case.game("other", case.fault.files(other))):
        wrong.append("the twin's prompts differ")
    rich = case.changed(other)
    if told(case.broken) == told(rich):
        wrong.append("the prompts do not differ")
    if shape(case.broken) == shape(rich):
        wrong.append("the payoffs do not differ")
    return wrong


def one_prompt(case: Case) -> list[str]:
    """Checks that a seat that can tell both histories apart has one prompt in both, and not in the
    twin."""
    one, other = case.witness(2)
    seat = case.quoted()[0]
    if one.episode.information(seat) == other.episode.information(seat):
        return [f"`{seat}` cannot tell the two apart"]
    wrong = [] if _asked(one, seat) == _asked(other, seat) else ["it is told different things"]
    good = [played(case.twin, moves) for moves in case.histories]
    if _asked(good[0], seat) == _asked(good[1], seat):
        wrong.append("it is told the same in the twin")
    return wrong


def two_seats_alike(case: Case) -> list[str]:
    """Checks that two seats have one prompt in the two histories, and no two in the twin."""
    points, seats = case.witness(2), case.quoted()[:2]
    asked = (_asked(point, seat) for point, seat in zip(points, seats, strict=True))
    one, other = (_in_no_order(messages) for messages in asked)
    wrong = [] if one == other else ["they are told different things"]
    told: dict[object, str] = {}
    for decision in _decisions(case.twin):
        text = tuple(_in_no_order(decision.messages))
        if told.setdefault(text, decision.seat) != decision.seat:
            return [*wrong, "two are told the same in the twin"]
    return wrong


def _in_no_order(messages: Any) -> list[str]:
    """Returns the lines of a prompt, sorted: masked options are drawn in an order for each seat."""
    return sorted(line for _, text in messages for line in text.split("\n"))


def _asked(point: Point, seat: str) -> Any:
    return next(d.messages for d in point.episode.decisions if d.seat == seat)


def no_such_option(case: Case) -> list[str]:
    """Checks that what the headline quotes has a label, and is never an option."""
    names = {name for d in _decisions(case.broken) for name in d.legal}
    name = case.quoted()[0]
    return [] if name in case.written("labels") and name not in names else ["it is one"]


def option_without_a_label(case: Case) -> list[str]:
    """Checks that it is an option, and the map of labels does not have it."""
    names = {name for d in _decisions(case.broken) for name in d.legal}
    name = case.quoted()[0]
    return [] if name in names and name not in case.written("labels") else ["it has a label"]


def one_label_for_two(case: Case) -> list[str]:
    """Checks that one decision offers the same label twice, so that a reply is ambiguous."""
    double = [d for d in _decisions(case.broken) if len(set(d.labels)) < len(d.labels)]
    return [] if double else ["no decision offers one label twice"]


def label_is_no_reply(case: Case) -> list[str]:
    """Checks that the label, given as a reply without the blanks around it, is no answer."""
    name = case.quoted()[0]
    for point in points(case.broken):
        asked = {d.seat: d for d in point.episode.decisions}
        for seat, decision in asked.items():
            if name in decision.legal:
                label = decision.labels[decision.legal.index(name)]
                first = label.strip().split("\n")[0]
                replies = {s: first if s == seat else d.labels[0] for s, d in asked.items()}
                copy = point.episode.fork()
                copy.step(replies)
                return [] if seat in copy.failures else ["it is an answer"]
    return ["it is never offered"]


def no_words(case: Case) -> list[str]:
    """Checks that no labels can be drawn for the broken game."""
    try:
        case.broken.reset()
    except (ValueError, KeyError):
        case.twin.reset()
        return []
    return ["labels are drawn"]
