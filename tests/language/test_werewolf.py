"""`werewolf`, played by scripts: who is asked, what is offered, what is paid, and that no prompt
says what its reader may not know. The rules are played once more here, without the compiler."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from random import Random

import pytest

import gamedsl
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read

TABLES = [{"players": 6}, {"players": 7, "wolves": 1, "days": 4}, {"players": 8}]
"""The params of the plays, in turn."""

Speaker = Callable[[gamedsl.Decision, Random], str]


@cache
def game_of(table: int) -> gamedsl.Game:
    return gamedsl.load("werewolf", params=dict(TABLES[table]))


def told(decision: gamedsl.Decision) -> str:
    """What a prompt says of the play: all but the rules."""
    return "\n".join(text for role, text in decision.messages if role != "system")


def asked(decision: gamedsl.Decision) -> str:
    return decision.env.step_of(decision.step).variable


def speaks(decision: gamedsl.Decision, random: Random) -> str:
    """Says its seat and the day where it talks; picks any option."""
    if decision.labels:
        return random.choice(decision.labels)
    return f"{asked(decision)} {decision.occurrence} of {decision.seat}"


def winner(named: Iterable[str]) -> str | None:
    """Who is named most, nobody on a tie."""
    first, *more = [*Counter(named).most_common(2), (None, 0)]
    return first[0] if not more or first[1] > more[0][1] else None


class Village:
    """The rules again: goes through a play, and says what must be true of each prompt."""

    def __init__(self, episode: gamedsl.Episode, speaker: Speaker, seed: int) -> None:
        self.episode, self.speaker, self.random = episode, speaker, Random(seed)
        self.seats = episode.env.ir.seats
        self.days = next(p.value for p in episode.env.ir.params if p.name == "days")
        self.living = list(self.seats)
        self.parts = {
            seat: re.findall(rf"{seat}\.part=(\w+)", episode.information(seat))[0]
            for seat in self.seats
        }
        self.pack = [seat for seat in self.seats if self.parts[seat] == "werewolf"]
        self.seer = next(seat for seat in self.seats if self.parts[seat] == "seer")
        self.looked: dict[str, str] = {}
        self.prompts: list[tuple[str, str, str]] = []

    def ask(self, variable: str, seats: list[str], offered: list[str] | None) -> dict[str, str]:
        """Has seats answer, and checks what they are shown; one legal option is not asked for."""
        if offered is not None and not self.open_to(seats, offered):
            return {seat: next(o for o in offered if o != seat) for seat in seats}
        replies = {}
        assert [decision.seat for decision in self.episode.decisions] == seats
        for decision in self.episode.decisions:
            assert asked(decision) == variable
            if offered is not None:
                assert sorted(decision.labels) == sorted(o for o in offered if o != decision.seat)
            self.look_at(decision.seat, told(decision))
            self.prompts.append((decision.seat, variable, told(decision)))
            replies[decision.seat] = self.speaker(decision, self.random)
        self.episode.step(replies)
        return replies

    @staticmethod
    def open_to(seats: list[str], offered: list[str]) -> bool:
        return all(len([o for o in offered if o != seat]) > 1 for seat in seats)

    def look_at(self, seat: str, text: str) -> None:
        """No prompt holds a secret of others."""
        secret = re.findall(r"whisper \d+ of|whispers:|names player|The werewolves:", text)
        assert not secret or seat in self.pack
        parts = re.findall(r"You look at (\w+)\.\nIt is a (\w+)\.", text)
        assert not parts or seat == self.seer
        assert all(self.parts[other] == part for other, part in parts)
        others = set(re.findall(r"It is a (\w+)\.|You are a (\w+)\.", text))
        known = {self.parts[seat], *(self.parts[other] for other in self.looked)}
        if seat != self.seer:
            known = {self.parts[seat]}
        assert {one or two for one, two in others} <= known

    def over(self) -> bool:
        wolves = sum(seat in self.pack for seat in self.living)
        return wolves == 0 or 2 * wolves >= len(self.living)

    def remove(self, seat: str | None) -> None:
        if seat is not None:
            self.living.remove(seat)

    def play(self) -> dict[str, Fraction]:
        for _ in range(self.days):
            hunters = [seat for seat in self.living if seat in self.pack]
            quarry = [seat for seat in self.living if seat not in self.pack]
            if len(hunters) > 1:
                self.ask("whisper", hunters, None)
            prey = self.ask("prey", hunters, quarry)
            if self.seer in self.living:
                look = self.ask("look", [self.seer], self.living)
                self.looked[look[self.seer]] = self.parts[look[self.seer]]
            self.remove(winner(prey.values()))
            if self.over():
                break
            self.ask("talk", list(self.living), None)
            self.remove(winner(self.ask("vote", list(self.living), self.living).values()))
            if self.over():
                break
        lost = any(seat in self.pack for seat in self.living)
        return {seat: Fraction(int((seat in self.pack) == lost)) for seat in self.seats}


@pytest.mark.parametrize("plays", [12, pytest.param(100, marks=pytest.mark.weekly)])
def test_plays_pay_what_the_rules_say(plays: int) -> None:
    ends = Counter[tuple[Fraction, ...]]()
    for seed in range(plays):
        game = game_of(seed % len(TABLES))
        village = Village(game.env().reset(seed=seed), speaks, seed)
        payoffs = village.play()
        assert village.episode.done
        assert village.episode.payoffs == payoffs
        ends[tuple(sorted(payoffs.values()))] += 1
        if seed % 20 == 0:
            (transcript,) = read(dump(village.episode))
            again = replay(game, transcript)
            assert not again.faults
            assert again.episode.payoffs == payoffs
    assert len(ends) >= 4, "scripts that always end alike"


def test_words_of_wolves_change_no_other_prompt() -> None:
    """What the pack says at night, and whether it says it, leaves all other prompts as they are."""

    def silent(decision: gamedsl.Decision, random: Random) -> str:
        return "…" if asked(decision) == "whisper" else speaks(decision, random)

    for seed in range(10):
        one = Village(game_of(0).env().reset(seed=seed), speaks, seed)
        other = Village(game_of(0).env().reset(seed=seed), silent, seed)
        assert one.play() == other.play()
        outside = [[p for p in v.prompts if p[0] not in v.pack] for v in (one, other)]
        assert outside[0] == outside[1]
        assert one.prompts != other.prompts


@pytest.mark.parametrize("seats", [5, 9])
def test_village_has_six_to_eight_seats(seats: int) -> None:
    with pytest.raises(gamedsl.CompileError):
        gamedsl.load("werewolf", params={"players": seats})
