"""Whole game files, written at random, and what is in them.

`game_files` writes YAML over the whole closed language: seats, types, state, chance, secrets,
decisions in turn and at once, loops, stages, protocols, payoffs and rewards. A file is right by
construction: what somebody must work out reads only what that reader sees, what may be none is
tested first, every loop is bounded, and the number of histories is kept small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose, Draw, Loop, Show, Stage, walk_steps
from tests.properties.choices import Step
from tests.properties.declarations import Declarations
from tests.properties.games import as_expressions, as_lists, as_text, tables
from tests.properties.kinds import (
    REFEREE,
    Budget,
    Enum,
    Eye,
    Role,
    Truth,
    Var,
    Whole,
    as_yaml,
)

ROOMS = (8, 30, 100, 300)
"""How many complete histories a game may have at most."""


@dataclass(frozen=True)
class Features:
    """What a compiled game has."""

    chance: bool
    hidden: bool
    simultaneous: bool
    loops: bool


def features(ir: GameIR) -> Features:
    """What a game has, by its program; `role:` with `turns:` below it is no loop."""
    steps = list(walk_steps(ir.turns))
    told = [step for step in steps if isinstance(step, Choose | Draw | Show)]
    stages = [state for step in steps if isinstance(step, Stage) for state in step.state]
    return Features(
        chance=any(isinstance(step, Draw) for step in steps),
        hidden=any(part.readers.kind != "all" for part in (*told, *ir.state, *stages)),
        simultaneous=any(step.joint and len(step.actors) > 1 for step in ir.steps),
        loops=any(isinstance(step, Loop) and not step.id.startswith("turn") for step in steps),
    )


class Writer(Declarations):
    """Writes one file."""

    def file(self) -> str:
        document: dict[str, Any] = {"game": "generated", "roles": self.roles()}
        self.declare()
        turns = self.turns(Budget(self.pick(ROOMS)))
        self.endings(document)
        self.outcome(document)
        self.presentation(document)
        for name in ("params", "types", "state", "actions"):
            if section := getattr(self.sections, name):
                document[name] = section
        if self.sections.let:
            document["let"] = self.sections.let
        protocol = set(turns[0]) & {"use"} and len(turns) == 1 and self.chance(50)
        document |= {"protocol": turns[0]} if protocol else {"turns": turns}
        return as_yaml(document)

    def turns(self, budget: Budget) -> list[Step]:
        steps: list[Step] = []
        if self.chance(30):
            opening = self.deck(budget) or [self.draw(budget, ())]
            steps += [step for step in opening if step is not None]
        for _ in range(self.number_in(1, 4)):
            found = self.pattern(budget) if self.chance(45) else []
            steps += found or self.step(budget, (), 2)
        if self.forgets:
            names, seat = list(self.members(2)), self.pick(self.seats)
            for _ in range(self.number_in(1, 2)):
                step = {"role": seat, "choose": self.fresh("pick"), "from": names}
                steps.append(self.knowing(step, (seat,), joint=False))
        idle = [seat for seat in self.seats if seat not in self.acted or not steps]
        if len(idle) > 1 and self.chance(60):
            names, pick = self.members(2), self.fresh("pick")
            steps.append({"role": "all", "choose": pick, "from": list(names)})
            self.bind_choice(pick, Enum("", names), "all", self.seats, True, True)
        else:
            for seat in idle:
                names, pick = self.members(2), self.fresh("pick")
                steps.append({"role": seat, "choose": pick, "from": list(names)})
                self.bind_choice(pick, Enum("", names), "all", (seat,), False, True)
        return steps

    # after the turns

    def endings(self, document: dict[str, Any]) -> None:
        """What may end the game before its last step."""
        ended = self.ended
        if self.chance(60 if self.bold else 25):
            kept = self.vars
            self.vars = [v if v.state else replace(v, sure=False) for v in self.vars]
            test = self.truth(REFEREE)
            self.vars = kept
            if test is not None:
                document["end"], ended = test, True
        if self.unplayed:
            document["no_move"] = self.pick(["pass", "end"])
            ended |= document["no_move"] == "end"
        if ended:
            self.vars = [v if v.state else replace(v, sure=False) for v in self.vars]

    def outcome(self, document: dict[str, Any]) -> None:
        eye = Eye("referee", self.seats)
        for _ in range(self.number_in(0, 2)):
            name, kind = self.fresh("let"), self.pick([Whole(), Truth(), Role()])
            self.sections.let[name] = self.value(kind, eye if self.chance(50) else REFEREE)
            self.lets.append(Var(name, kind))
        if self.chance(20):
            name = self.fresh("more")
            self.locals += 1
            r = f"s{self.locals}"
            text = f"{self.number_in(1, 3)} if {r} == {self.pick(self.seats)} else 0"
            self.sections.let[f"{name}({r})"] = text
            self.lets.append(Var(f"{name}({self.pick(self.seats)})", Whole()))
        if self.chance(45):
            self.rewards(document, eye)
        if "payoffs" in self.streams and self.chance(50):
            return
        if self.chance(30):
            document["payoffs"] = {role: self.amount(eye) for role in self.role_names()}
        else:
            document["payoffs"] = self.amount(eye)

    def role_names(self) -> list[str]:
        """Every seat, those of a role of several by the role, or by the seat."""
        names = list(self.seats)
        for role, seats in self.groups.items():
            if self.chance(50):
                at = names.index(seats[0])
                names[at : at + len(seats)] = [role]
        return names

    def rewards(self, document: dict[str, Any], eye: Eye) -> None:
        """A reward file, and scores for the streams that it needs and nothing pays."""
        ways = ["individual", "shared", "margin", "rank", "mixing", "hybrid", "local_ratio",
                "weighted"] + ["zero_sum"] * (len(self.seats) > 1)  # fmt: skip
        way = self.pick(ways)
        needs = {"hybrid": ["process"], "local_ratio": ["local", "team"]}.get(way, [])
        document["rewards"] = way
        match way:
            case "mixing":
                rows = range(len(self.seats))
                matrix = [[self.number_in(0, 2) for _ in rows] for _ in rows]
                document["rewards"] = {"use": "mixing", "matrix": matrix}
            case "hybrid" if self.chance(50):
                document["rewards"] = {"use": "hybrid", "alpha": self.pick(["0.25", "1/3"])}
            case "weighted":
                needs = self.some(["local", "team", "process"], 1, 3)
                weights = {stream: self.pick(["0.5", 1, "1/3"]) for stream in needs}
                document["rewards"] = {"use": "weighted", "weights": weights}
        scores: dict[str, Any] = {}
        for stream in needs:
            if stream not in self.streams:
                scores[stream] = self.amount(eye)
        if scores:
            document["scores"] = scores

    def presentation(self, document: dict[str, Any]) -> None:
        """Labels and prompts."""
        enums = [name for name, kind in self.types if isinstance(kind, Enum)]
        ways = ["plain"] * 4 + ["masked", "styled", "episode"] + ["type"] * bool(enums)
        match self.pick(ways):
            case "masked":
                document["labels"] = "masked"
            case "styled":
                style = self.pick(["syllables", "alien", "auto"])
                document["labels"] = {"masked": style, "per": self.pick(["game", "run"])}
            case "episode":
                document["labels"] = {"masked": "auto", "per": "episode"}
            case "type":
                document["labels"] = {self.pick(enums): {"masked": "alien", "per": "run"}}
        if self.chance(15):
            document["prompts"] = {"who": "You play {{ me }}, one of {{ roles | length }}."}


@st.composite
def written_files(draw: st.DrawFn) -> str:
    """A file over the whole language."""
    return Writer(draw).file()


@st.composite
def bold_files(draw: st.DrawFn) -> str:
    """The same, but that its expressions may have no value in some play."""
    writer = Writer(draw)
    writer.bold = True
    return writer.file()


@st.composite
def forgetful_files(draw: st.DrawFn) -> str:
    """The same as the first, but that decisions may say what is known at them."""
    writer = Writer(draw)
    writer.forgets = True
    return writer.file()


@st.composite
def plain_files(draw: st.DrawFn) -> str:
    """A game in normal form, in one of its spellings, or one that repeats a shipped game."""
    if draw(st.integers(0, 2)):
        table = draw(tables())
        spell = draw(st.sampled_from([as_lists, as_expressions]))
        order = draw(st.permutations(range(len(table.roles))))
        return as_text(table, order) if draw(st.booleans()) else spell(table)
    stage = draw(st.sampled_from(["prisoners_dilemma", "stag_hunt", "matching_pennies"]))
    rounds, words = draw(st.integers(1, 3)), draw(st.sampled_from(["", ", words: [yo, hm]"]))
    protocol = f"{{use: repeated, stage: {stage}, rounds: {rounds if not words else 1}{words}}}"
    return f"game: generated\nprotocol: {protocol}\n"


def game_files() -> st.SearchStrategy[str]:
    """The text of a game file that compiles, and whose tree is small."""
    return st.integers(0, 9).flatmap(lambda way: plain_files() if way == 9 else written_files())
