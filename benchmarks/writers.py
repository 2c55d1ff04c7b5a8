"""Players that write, in games whose warm-up imitates example games: `train:` of
`games/twenty_questions.yaml`, `debate.yaml`, `support.yaml` and `code_team.yaml`.

    python benchmarks/writers.py                 # writes games/data/twenty_questions_games.jsonl …

They play sensibly, by templates. What a player writes depends on the game's seed and on what its
seat has seen. The coder and the tester are experts: they know the solution and its hidden tests.
`facts.jsonl` says what is true of which things, and `reasons.jsonl` what speaks for each side of a
debate. `answerer` and `judge` are the referees.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import gamedsl
from gamedsl.players.base import Player, play
from gamedsl.runtime import Decision, Episode

HERE = Path(__file__).parent
GAMES = HERE.parent / "games"

BARE = ["bread", "cheese", "chocolate", "ice cream", "soup", "honey", "coffee", "milk", "snow"]
GUESSES_LEFT = 3
"""So many things are guessed one after another."""

OPENINGS = ["{A}, because {r}.", "My answer is {a}. {R}.", "I say {a}: {r}.", "{R}. So I say {a}."]
ANSWERS = [
    "{other} says that {o}. But {r}.",
    "It may be that {o}. Still, {r}.",
    "It is true that {o}. Yet {r}.",
    "I have heard that {o}. {R}, and that weighs more.",
]
CLOSINGS = [
    "That is what counts most.", "We see it every day.", "Nothing weighs as much as that.",
    "That helps us all in the end.", "There is no reply to it.", "Think of those whom it concerns.",
]  # fmt: skip

PRICES = {"basic": 10, "plus": 20, "pro": 30}
USES = {"basic": "mail and reading", "plus": "films and video", "pro": "heavy work"}
MINE = [("You and a friend", "A friend and I"), ("Four of you", "Four of us"), ("You are", "I am"),
        ("You", "I"), ("yourself", "myself"), ("Ir", "My"), ("your", "my")]  # fmt: skip
DEAR = ["That is too much for me.", "I cannot pay that.", "Can you make it cheaper?"]
SMALL = ["That plan does too little for me.", "That is not enough."]
NEED = ["I need a plan for {use}.", "I use it for {use}.", "It has to do for {use}."]
BUDGET = ["I can pay {coins} coins.", "I have {coins} coins a month."]
OPEN = ["Which plan fits?", "What can you offer me?"]

QUESTIONS = [
    "Gladly. Is it for mail and reading, for films and video, or for heavy work?",
    "What do you use it for: mail and reading, films and video, or heavy work?",
    "To find the right plan, I need to know what it has to do for you.",
]
OFFERS = [
    "I offer you {plan} for {price} coins a month. It does for {use}.",
    "For {use} you need {plan}. It costs {price} coins a month.",
    "Our plan {plan} fits. It does for {use} and costs {price} coins.",
]
LOYAL = [
    "You are a loyal customer, so you get {plan} for {price} coins a month.",
    "For you {plan} costs {price} coins only. It does for {use}.",
]
AGAIN = [
    "I am sorry, {plan} costs {price} coins, and I cannot go lower.",
    "For {use} I have nothing cheaper than {plan} for {price} coins.",
]

BLOCK = "```python\n{}\n```"
EDGES = ["empty input", "the smallest case", "unusual input", "the edge cases"]
FAULTS = [
    (" <= ", " < "), (".lower()", ""), ("sorted(", "list("), ("max(", "min("), ("min(", "max("),
    (" - 1", ""), ("[::-1]", ""), (" or ", " and "), (" and ", " or "), ("(1, ", "(2, "),
]  # fmt: skip
"""What a first draft gets wrong."""
GOOD = ["All tests pass, and the code is clear.", "It does what the task asks.", "Right and short."]
BAD = ["Some tests fail. Look at {edge} again.", "It is not right yet: check {edge}."]


def asker(decision: Decision, episode: Episode) -> str:
    """Asks what divides the things that are left about in half, and then guesses."""
    dice, facts, left = _dice(decision, episode), _facts(), _things()
    asked = [event.name for event in decision.seen if event.step == "question"]
    told = [event.name for event in decision.seen if event.step == "answer"]
    for question, answer in zip(asked, told, strict=True):
        if question in facts and answer != "unclear":
            left = [one for one in left if (one in facts[question]) == (answer == "yes")] or left
        left = [one for one in left if _guess(one) != question] or left
    halves = {q: abs(2 * len(facts[q].intersection(left)) - len(left)) for q in facts}
    best = [q for q in sorted(halves, key=lambda q: halves[q]) if halves[q] < len(left)][:3]
    return dice.choice(best) if len(left) > GUESSES_LEFT and best else _guess(dice.choice(left))


def answerer(decision: Decision, episode: Episode) -> str:
    thing = re.findall(r"^The thing: (.+)$", _shown(decision), re.MULTILINE)[-1]
    asked = [event.name for event in decision.seen if event.step == "question"][-1]
    return decision.write("yes" if thing in _facts().get(asked, ()) else "no")


def debater(decision: Decision, episode: Episode) -> str:
    """Gives the reason of its side, and answers that of the other."""
    dice = _dice(decision, episode)
    question = re.findall(r"^The question: (.+)$", _shown(decision), re.MULTILINE)[-1]
    yes, no = _reasons()[question]
    pro = decision.role == "pro"
    mine, theirs = (yes, no) if pro else (no, yes)
    first = pro and decision.occurrence == 0
    answer, other = ("yes", "con") if pro else ("no", "pro")
    return dice.choice(OPENINGS if first else ANSWERS).format(
        r=mine, R=mine[0].upper() + mine[1:], o=theirs, a=answer, A=answer.title(), other=other
    ) + (f" {dice.choice(CLOSINGS)}" if dice.random() < 0.7 else "")


def judge(decision: Decision, episode: Episode) -> str:
    return decision.write(_dice(decision, episode).choice(decision.legal))


def desk(decision: Decision, episode: Episode) -> str:
    """A customer, or the agent that serves it."""
    dice = _dice(decision, episode)
    return (_customer if decision.role == "customer" else _agent)(decision, dice)


def team(decision: Decision, episode: Episode) -> str:
    """A planner, a tester, a coder who may need a second draft, or a reviewer who reads the run."""
    dice, shown = _dice(decision, episode), _shown(decision)
    task = re.findall(r"^The task: (.+)$", shown, re.MULTILINE)[-1]
    solution, hidden = _tasks()[task]
    edge = dice.choice(EDGES)
    if decision.step == "plan":
        head, _, rest = task.removeprefix("Write ").partition(": ")
        text = re.split(r"[.;] ", rest)[0].rstrip(".")
        return f"1. Define {head}.\n2. Return {text}.\n3. Think of {edge}."
    if decision.step == "tests":
        tests = [line.strip() for line in hidden.splitlines() if line.strip().startswith("assert")]
        short = sorted(tests, key=len)[:4]
        return BLOCK.format("\n".join(sorted(dice.sample(short, 3), key=tests.index)))
    if decision.step == "draft":
        wrong = [solution.replace(*fault, 1) for fault in FAULTS if fault[0] in solution]
        first = decision.occurrence == 0 and wrong and dice.random() < 0.8
        return BLOCK.format(dice.choice(wrong) if first else solution)
    passed = re.findall(r"of the tests pass, (\d+) fail", shown)[-1] == "0"
    notes = dice.choice(GOOD if passed else BAD).format(edge=edge)
    return json.dumps({"verdict": "approve" if passed else "revise", "notes": notes})


def _customer(decision: Decision, dice: random.Random) -> str:
    shown = _shown(decision)
    case = re.findall(r"^(.+) That needs (\w+);.+\n?.* Your budget is (\d+)", shown, re.MULTILINE)
    story, need, coins = case[-1]
    moves = [event.name for event in decision.seen if event.step == "move"]
    offers = [_offer(move) for move in moves if move != "ask"]
    fits = bool(offers) and list(PRICES).index(offers[-1][0]) >= list(PRICES).index(need)
    cheap = bool(offers) and _price(*offers[-1]) <= int(coins)
    if decision.step == "answer":
        hopeless = len(moves) == 3 or offers[-1] in offers[:-1]
        return decision.write("accept" if fits and cheap else "leave" if hopeless else "refuse")
    for yours, mine in MINE:
        story = story.replace(yours, mine)
    wish = dice.choice(NEED).format(use=USES[need])
    money = dice.choice(BUDGET).format(coins=coins)
    if not moves:
        more = dice.choice([f"{wish} {money}", wish, money, dice.choice(OPEN)])
        return f"{story} {more}"
    if moves[-1] == "ask":
        return f"{wish} {money}"
    return f"{dice.choice(DEAR)} {money}" if fits else f"{dice.choice(SMALL)} {wish}"


def _agent(decision: Decision, dice: random.Random) -> str:
    """Asks where it has not been told what the plan is for. Only who is loyal pays less."""
    seen = decision.seen
    told = " ".join(event.name for event in seen if event.step == "message")
    made = [_offer(event.name) for event in seen if event.step == "move" and event.name != "ask"]
    plans = [plan for plan, use in USES.items() if use in told]
    coins = [int(number) for number in re.findall(r"(\d+) coins", told)]
    if not plans:
        return decision.write("ask") if decision.step == "move" else dice.choice(QUESTIONS)
    plan, most = plans[-1], coins[-1] if coins else PRICES["pro"]
    loyal = next(event.name for event in seen if event.step == "loyal") == "yes"
    less = next((off for off in (0, 10, 20) if _price(plan, off) <= most), 20) if loyal else 0
    if decision.step == "move":
        return decision.write(f"offer({plan},{less})")
    texts = LOYAL if less else AGAIN if (plan, less) in made else OFFERS
    return dice.choice(texts).format(plan=plan, use=USES[plan], price=_price(plan, less))


def _offer(move: str) -> tuple[str, int]:
    plan, less = re.findall(r"\((\w+),(\d+)\)", move)[0]
    return plan, int(less)


def _price(plan: str, less: int) -> int:
    return PRICES[plan] * (100 - less) // 100


def _guess(thing: str) -> str:
    if thing in BARE or thing.endswith("s"):
        return f"Is it {thing}?"
    article = "the" if thing == "moon" else "an" if thing[0] in "aeiou" else "a"
    return f"Is it {article} {thing}?"


@cache
def _things() -> list[str]:
    return [row["name"] for row in _rows(GAMES / "data" / "things.jsonl")]


@cache
def _facts() -> dict[str, frozenset[str]]:
    rows = _rows(HERE / "facts.jsonl")
    return {row["question"]: frozenset(row["yes"].split(", ")) for row in rows}


@cache
def _reasons() -> dict[str, tuple[str, str]]:
    return {row["question"]: (row["yes"], row["no"]) for row in _rows(HERE / "reasons.jsonl")}


@cache
def _tasks() -> dict[str, tuple[str, str]]:
    rows = _rows(GAMES / "data" / "python_tasks.jsonl")
    return {row["task"]: (row["solution"], row["hidden"]) for row in rows}


def _rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _shown(decision: Decision) -> str:
    return "\n".join(content for _, content in decision.messages)


def _dice(decision: Decision, episode: Episode) -> random.Random:
    return random.Random(f"{episode.seed} {decision.seat} {decision.step} {decision.occurrence}")


@dataclass
class Writer(Player):
    """A seat, as a player that `play` takes."""

    said: Callable[[Decision, Episode], str]

    def act(self, decision: Decision, episode: Episode) -> str:
        return self.said(decision, episode)


WRITERS = {
    "twenty_questions": (30, {"asker": asker, "answerer": answerer}),
    "debate": (40, {"pro": debater, "con": debater, "judge": judge}),
    "support": (40, {"customer": desk, "agent": desk}),
    "code_team": (40, dict.fromkeys(("planner", "coder", "reviewer", "tester"), team)),
}
"""How many example games there are, and who plays them."""


def examples(name: str, count: int) -> Iterator[str]:
    """Yields the transcripts of the first games, a line each."""
    _, players = WRITERS[name]
    env = gamedsl.load(GAMES / f"{name}.yaml").env()
    seats = {seat: Writer(player) for seat, player in players.items()}
    for seed in range(count):
        yield json.dumps(play(env, seats, seed).transcript, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, (count, _) in WRITERS.items():
        file = GAMES / "data" / f"{name}_games.jsonl"
        file.write_text("".join(examples(name, count)), encoding="utf-8")
