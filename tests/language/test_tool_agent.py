"""The shipped agent with tools: scripted plays, what they pay, and what its prompts tell.

The answers are worked out here from the facts themselves, question by question, so that neither the
game nor the answers in its data are taken for right.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read

DATA = Path(__file__).parent.parent.parent / "games" / "data"
EPISODES = 100

FACTS = (
    (r"The bridge of (\w+) is (\d+) meters long\.", "bridge"),
    (r"The tower of (\w+) is (\d+) meters high\.", "tower"),
    (r"The school of (\w+) has (\d+) pupils\.", "pupils"),
    (r"The library of (\w+) holds (\d+) books\.", "books"),
    (r"The market of (\w+) has (\d+) stalls\.", "stalls"),
    (r"A trip on the ferry of (\w+) costs (\d+) coins\.", "coins"),
)

Numbers = Callable[[str, str], str]
"""Writes the number of a town, by what it is of and the town's name."""

Sum = Callable[[Numbers, re.Match[str]], str]

QUESTIONS: tuple[tuple[str, Sum], ...] = (
    (
        r"How many coins do (\d+) trips on the ferry of (\w+) cost\?",
        lambda n, m: f"{m[1]} * {n('coins', m[2])}",
    ),
    (
        r"How many books does the library of (\w+) hold for each pupil of the school of (\w+)\?",
        lambda n, m: f"{n('books', m[1])} / {n('pupils', m[2])}",
    ),
    (
        r"How many stalls have the markets of (\w+) and (\w+) together\?",
        lambda n, m: f"{n('stalls', m[1])} + {n('stalls', m[2])}",
    ),
    (
        r"How many pupils have the schools of (\w+), (\w+) and (\w+) together\?",
        lambda n, m: " + ".join(n("pupils", town) for town in m.groups()),
    ),
    (
        r"How many meters higher is the tower of (\w+) than the tower of (\w+)\?",
        lambda n, m: f"{n('tower', m[1])} - {n('tower', m[2])}",
    ),
    (
        r"How many meters longer is the bridge of (\w+) than the bridge of (\w+)\?",
        lambda n, m: f"{n('bridge', m[1])} - {n('bridge', m[2])}",
    ),
)
WORDS = {"coins": "ferry", "books": "library", "stalls": "market", "pupils": "school"}


@cache
def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


def known(texts: list[str]) -> dict[tuple[str, str], str]:
    """The numbers that texts tell, by what they are of and the town."""
    return {
        (kind, town): number
        for pattern, kind in FACTS
        for text in texts
        for town, number in re.findall(pattern, text)
    }


def sum_of(question: str, numbers: Numbers) -> str:
    (found,) = ((f, make) for p, make in QUESTIONS if (f := re.fullmatch(p, question)))
    return found[1](numbers, found[0])


def solved(question: str) -> Fraction:
    table = known([row["fact"] for row in rows("town_facts")])
    value = sum_of(question, lambda kind, town: table[kind, town])
    left, *rest = re.split(r" ([-+*/]) ", value)
    total = Fraction(left)
    for sign, number in zip(rest[::2], map(Fraction, rest[1::2]), strict=True):
        total = {"+": total + number, "-": total - number, "*": total * number,
                 "/": total / number}[sign]  # fmt: skip
    return total


def call(name: str, **arguments: str) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def question_of(messages: tuple[tuple[str, str], ...]) -> str:
    return next(line for line in messages[1][1].splitlines() if line.startswith("How many"))


def agent(decision: gamedsl.Decision, slip: bool) -> str:
    """Searches for what the question asks and is not known yet, computes, and answers; it reads its
    prompt alone. With a `slip` its answer is one too many."""
    told = [text for role, text in decision.messages if role == "user"]
    table, missing = known(told), list[tuple[str, str]]()

    def number(kind: str, town: str) -> str:
        if (kind, town) not in table:
            missing.append((kind, town))
        return table.get((kind, town), "0")

    wanted = sum_of(question_of(decision.messages), number)
    if missing:
        kind, town = missing[0]
        return call("search", words=f"{WORDS.get(kind, kind)} of {town}")
    results = re.findall(r"It is (-?[\d/]+)\.", told[-1])
    if not results:
        return call("compute", sum=wanted)
    return call("answer", number=str(Fraction(results[0]) + slip))


@cache
def game() -> gamedsl.Game:
    return gamedsl.load("tool_agent", params={"calls": 6})


def test_answers_of_the_data_follow_from_facts() -> None:
    facts, tasks = rows("town_facts"), rows("town_questions")
    assert len(known([row["fact"] for row in facts])) == len(facts) == len({*map(str, facts)})
    assert len({row["question"] for row in tasks}) == len(tasks) >= 40
    assert all(solved(row["question"]) == row["answer"] for row in tasks)


def test_scripted_plays_are_paid_for_the_right_answer() -> None:
    env, paid = game().env(), list[int]()
    for seed in range(EPISODES):
        slip, episode = bool(random.Random(seed).getrandbits(1)), env.reset(seed=seed)
        asked = episode.decisions[0].messages
        question, said = question_of(asked), ""
        while not episode.done:
            (decision,) = episode.decisions
            said = agent(decision, slip)
            episode.step({decision.seat: said})
        answer = Fraction(json.loads(said)["arguments"]["number"])
        assert not episode.mistakes
        assert episode.payoffs == {"agent": int(answer == solved(question))}
        paid.append(int(answer == solved(question)))
        if seed % 10 == 0:
            (transcript,) = read(dump(episode))
            again = replay(game(), transcript)
            assert not again.faults
            assert again.episode.payoffs == episode.payoffs
    assert 20 < sum(paid) < 80


def test_prompts_do_not_depend_on_the_answers(tmp_path: Path) -> None:
    """Two games whose data differ in the answers alone ask the same, whatever is called; facts are
    told by searches alone, which find at most two that share a word with what is looked for."""
    source, other = DATA.parent / "tool_agent.yaml", tmp_path / "data"
    other.mkdir()
    shutil.copy(source, tmp_path / "other.yaml")
    shutil.copy(DATA / "town_facts.jsonl", other)
    changed = ({**row, "answer": row["answer"] + 1} for row in rows("town_questions"))
    text = "".join(json.dumps(row) + "\n" for row in changed)
    (other / "town_questions.jsonl").write_text(text, encoding="utf-8")
    twin = gamedsl.load(tmp_path / "other.yaml", params={"calls": 6}).env()
    facts = {row["fact"] for row in rows("town_facts")}
    for seed in range(EPISODES):
        episode, same = game().env().reset(seed=seed), twin.reset(seed=seed)
        before, words = set[str](), set[str]()
        while not episode.done:
            (decision,), (again,) = episode.decisions, same.decisions
            assert decision.messages == again.messages
            prompt = "\n".join(text for role, text in decision.messages if role != "assistant")
            told = {fact for fact in facts if fact in prompt}
            assert len(told - before) <= 2
            assert all(words & set(re.findall(r"\w+", fact)) for fact in told - before)
            before, reply = told, agent(decision, slip=False)
            words = set(json.loads(reply)["arguments"].get("words", "").split())
            episode.step({"agent": reply})
            same.step({"agent": reply})
        assert (episode.payoffs, same.payoffs) == ({"agent": 1}, {"agent": 0})


@pytest.mark.parametrize(
    ("replies", "paid"),
    [
        ([call("answer", number="I do not know")], 0),
        ([call("answer", number="")], 0),
        (["It is 7."], -1),
        ([call("search", words="ferry")] * 6, 0),
        ([call("compute", sum="1 / 0"), call("answer", number="1")], 0),
    ],
)
def test_what_ends_without_the_answer_pays_nothing(replies: list[str], paid: int) -> None:
    episode = game().env().reset(seed=1)
    for reply in replies:
        episode.step({"agent": reply})
    assert episode.done
    assert episode.payoffs == {"agent": paid}
