"""Hostile replies to every form of question: a label, a tag, a tool call, each with or without a
thought; text, code and JSON records.

Two kinds of input take turns. Of a reply that `tests.rendering.hostile` puts together it is known
what it says. A reply to a decision of a shipped game is a valid one, spoilt; it is read and played.
The oracle: an action that the reply names, or one of the reasons for refused replies. Reading takes
time in proportion to the length, so that the longest replies are read within a few CPU seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from functools import lru_cache, partial
from random import Random
from typing import Any

import jsonschema

import gamedsl
from gamedsl import Action, Decision, Episode, EvaluationError
from gamedsl.ir.program import Said
from gamedsl.ir.types import Text
from gamedsl.prompting.json_values import LONGEST
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.random_replies import random_reply
from gamedsl.prompting.replies import (
    REASONS,
    Form,
    ParseFailure,
    read_choice,
    read_open_reply,
    write_choice,
    write_open_reply,
)
from tests.fuzz import Case, Limits, Outcome
from tests.rendering.hostile import INJECTIONS, MARKS, NUMBERS, OFFER, POINTS, SEATS, hostile
from tests.shipped import CLOSED, OPEN

NAME = "replies"
BATCH = 200

LIMITS = Limits(cpu=6.0)
TYPES = {"offer": OFFER, "text 40": Text(40), "text 60": Text(60)}
GAMES = (*OPEN, *OPEN, *CLOSED, "kuhn_poker_thinking", "kuhn_poker_tools", "small_hanabi_tools")
"""Games whose decisions are asked; those played in words more often."""

_SAME_GAME = 40
"""Inputs in a row that ask decisions of one game: a game takes a while to compile."""


def cases(seed: int) -> Iterator[Case]:
    """Yields the inputs of a seed: one of each kind in turn."""
    random = Random(f"replies {seed}")
    start, number = random.randrange(1 << 40), 0
    while True:
        game = random.choice(GAMES)
        for _ in range(_SAME_GAME):
            yield _known(start + number)
            yield _asked(game, random)
            number += 1


def case_of(files: Mapping[str, bytes]) -> Case:
    """Returns the case of an input read back from its files."""
    question = json.loads(files["question.json"])
    run = _read_known if "says" in question else _read_asked
    text = files.get("reply.txt", b"").decode("utf-8", "surrogatepass")
    about = question.get("game") or question.get("said") or question["form"][0]
    return Case(f"a reply to {about}", files, partial(run, question, text), LIMITS)


def _case(question: Mapping[str, Any], text: str) -> Case:
    asked = json.dumps(question, ensure_ascii=True, indent=0).encode()
    return case_of({"question.json": asked, "reply.txt": text.encode("utf-8", "surrogatepass")})


# replies of which it is known what they say


def _known(number: int) -> Case:
    reply = hostile(number)
    if reply.said is not None:
        type = next(name for name, type in TYPES.items() if type == reply.type)
        question: dict[str, Any] = {"said": reply.said.form, "type": type}
    else:
        assert reply.form is not None
        question = {"form": astuple(reply.form), "legal": reply.legal, "book": reply.book.pairs}
    return _case({**question, "says": reply.says}, reply.text)


def _read_known(question: Mapping[str, Any], text: str) -> Outcome:
    if "said" in question:
        said = Said(question["said"], 99)
        found = read_open_reply(text, said, TYPES[question["type"]], SEATS)
    else:
        book = LabelBook("fixed", tuple((name, label) for name, label in question["book"]))
        found = read_choice(text, Form(*question["form"]), tuple(question["legal"]), book)
    if isinstance(found, ParseFailure):
        if question["says"] is None and found.text == text and found.reason in REASONS:
            return Outcome(counted=(found.reason,))
        return Outcome("disagreement", f"it says {question['says']!r}: {found}", found.reason)
    if found != question["says"]:
        return Outcome("illegal action", f"{found!r}, not {question['says']!r}")
    return Outcome(counted=("valid",))


# replies to decisions of shipped games


@lru_cache(maxsize=8)
def _env(name: str) -> gamedsl.Env:
    return gamedsl.load(name).env()


def _asked(game: str, random: Random) -> Case:
    seed = random.randrange(1000)
    while _env(game).reset(seed).done:  # chance left everybody one option
        seed = random.randrange(1000)
    question = {"game": game, "seed": seed, "moves": random.randrange(12)}
    decision = _reach(question)[1]
    return _case(question, spoilt(_valid_reply(decision, random), random))


def _reach(question: Mapping[str, Any]) -> tuple[Episode, Decision]:
    """Returns an episode played at random, and the decision to be answered."""
    random, episode = Random(question["seed"]), _env(question["game"]).reset(question["seed"])
    for _ in range(question["moves"]):
        after = episode.fork()
        after.step({d.seat: _random_action(after, d, random) for d in after.decisions})
        if after.done:
            break
        episode = after
    return episode, random.choice(episode.decisions)


def _random_action(episode: Episode, decision: Decision, random: Random) -> Action | ParseFailure:
    if decision.said is None:
        return Action(random.choice(decision.legal))
    for _ in range(20):
        name = random_reply(decision.said, decision.type, episode.env.ir.seats, random)
        try:
            if not isinstance(episode.parse(decision, Action(name)), ParseFailure):
                return Action(name)
        except (ValueError, EvaluationError):
            continue
    return ParseFailure("empty")


def _valid_reply(decision: Decision, random: Random) -> str:
    if decision.said is not None:
        seats = decision.env.ir.seats
        name = random_reply(decision.said, decision.type, seats, random)
        try:
            return write_open_reply(name, decision.said, decision.type, seats)
        except ValueError:
            return name
    thought = random.choice((None, "hm", "\n", random.choice(decision.labels)))
    try:
        return write_choice(random.choice(decision.labels), decision.form, thought)
    except ValueError:
        return random.choice(decision.labels)


VALUES = (
    *NUMBERS, "[" * 70 + "]" * 70, "{}", "[]", '""', '"\\ud800"', '"\\u0000"', "9" * 5_000,
    "1e400", "-0", "-0.0", "1e-400", "9007199254740993", "1/3", '"1/3"', '"1/0"',
)  # fmt: skip


def spoilt(text: str, random: Random) -> str:
    """Returns a text with up to four things done to it; now and then as long as a reply may be."""
    for _ in range(random.randrange(5)):
        text = random.choice(SPOILERS)(text, random)
    if random.random() < 0.02:
        text = _long(text, random)
    return text


def _inserted(text: str, random: Random) -> str:
    at = random.randint(0, len(text))
    part = random.choice((
        chr(random.choice(POINTS)), random.choice(MARKS), random.choice(VALUES), text, "```", "{",
        random.choice(INJECTIONS), "<tool_call>", "</tool_call>", "}", '"', "\\", ",", ":", "\n",
    ))  # fmt: skip
    return text[:at] + part + text[at:]


def _deleted(text: str, random: Random) -> str:
    at = random.randint(0, len(text))
    return text[:at] + text[at + random.randint(1, 8) :]


def _truncated(text: str, random: Random) -> str:
    return text[: random.randint(0, len(text))]


def _with_value(text: str, random: Random) -> str:
    """Puts an odd JSON value where a value stands."""
    places = [i for i, character in enumerate(text) if character in ":[,"]
    if not places:
        return text
    at = random.choice(places) + 1
    ends = [i for i in range(at, len(text)) if text[i] in ",]}"]
    return text[:at] + random.choice(VALUES) + text[ends[0] if ends else len(text) :]


def _doubled(text: str, random: Random) -> str:
    start = random.randint(0, len(text))
    part = text[start : start + random.randint(1, 40)]
    return text[:start] + part * random.choice((2, 2, 3, 50)) + text[start:]


def _recased(text: str, random: Random) -> str:
    return random.choice((str.upper, str.lower, str.swapcase, str.title))(text)


SPOILERS = (_inserted, _inserted, _deleted, _truncated, _with_value, _doubled, _recased)

REPEATED = (
    "<", "</", "<think>", "</think>", "<answer>", "<answer", "< ", "<tool_call>", "{", "[", '{"a":',
    '"', "\\", "`", "```\n", "~~~\n", "\n", " ", "\t\n", "<\t", "\u0130", "0", "1e9", ",", "\ud83d",
)  # fmt: skip


def _long(text: str, random: Random) -> str:
    part = random.choice((*REPEATED, text or "x"))
    count = (LONGEST - len(text)) // len(part) + random.choice((-1, 0, 0, 1))
    at = random.randint(0, len(text))
    return text[:at] + part * max(0, count) + text[at:]


def _read_asked(question: Mapping[str, Any], text: str) -> Outcome:
    episode, decision = _reach(question)
    found = episode.parse(decision, text)
    if isinstance(found, ParseFailure):
        if found.reason not in REASONS or found.text != text:
            return Outcome("no place", f"a refused reply without its reason: {found}")
        word = found.reason
    else:
        if wrong := _wrong_action(decision, found, text):
            return Outcome("illegal action", f"{found!r}: {wrong}", wrong)
        if episode.parse(decision, Action(found)) != found:
            return Outcome("disagreement", f"{found!r} is no name of an action")
        word = "valid"
    random = Random(question["seed"])
    others = [d for d in episode.decisions if d.seat != decision.seat]
    replies: dict[str, Any] = {d.seat: _random_action(episode, d, random) for d in others}
    episode.step({**replies, decision.seat: text})
    for asked in episode.decisions:
        assert asked.messages, "a prompt says something"
    json.dumps(episode.transcript)
    return Outcome(counted=(word,))


def _wrong_action(decision: Decision, name: str, text: str) -> str:
    """Returns what is wrong with an action that a reply became; empty for nothing."""
    if decision.said is None:
        if name not in decision.legal:
            return "not legal"
        label = decision.labels[decision.legal.index(name)]
        named = label in text or decision.form.kind == "tool"
        return "" if named else "the label is not in the reply"
    if decision.schema is None:
        return "" if name in text else "the text is not in the reply"
    data = json.loads(name)
    if decision.said.form == "tool":  # the name has every tool, those that are not called as null
        ((tool, arguments),) = ((tool, given) for tool, given in data.items() if given is not None)
        data = {"name": tool, "arguments": arguments}
    validator = jsonschema.Draft202012Validator(decision.schema)
    fits = validator.is_valid(data) or validator.is_valid(_as_numbers(data))
    return "" if fits else "not of the type"


def _as_numbers(data: Any) -> Any:
    """Returns the data of a canonical name with numbers for those that are strings there."""
    match data:
        case dict():
            return {key: _as_numbers(value) for key, value in data.items()}
        case list():
            return [_as_numbers(value) for value in data]
        case str() if data.count("/") == 1 and all(
            p.lstrip("-").isdecimal() for p in data.split("/")
        ):
            over, under = data.split("/")
            return int(over) / int(under) if int(under) else data
        case _:
            return data
