"""The games side by side are one game: other libraries' code on these pages is played out."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import permutations, product
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import page_blocks
import pytest

import gamedsl
from gamedsl.cli import main

FOLDER = page_blocks.DOCS / "coming-from"
GAMBIT = FOLDER / "gambit.md"
PEERS = sorted(page for page in FOLDER.glob("*.md") if page != GAMBIT)
PLAYS = ("cc", "bf", "bk", "cbf", "cbk")
"""How a hand may go: check, bet, fold, call."""

WORDS = {"c": "check", "b": "bet", "f": "fold", "k": "call"}
KUHN = gamedsl.load("kuhn_poker")
HANDS = [(cards, play) for cards in permutations("JQK", 2) for play in PLAYS]
Pays = Callable[[tuple[str, ...], str], tuple[float, ...]]
"""What both are paid for two cards and how the hand went."""


def payoffs(path: Path) -> dict[tuple[str, str], dict[str, object]]:
    """The payoffs of each pair of choices."""
    game = gamedsl.load(path)
    paid = {}
    for ann, bob in product(["stag", "hare"], repeat=2):
        episode = game.env().reset(seed=0)
        episode.step({"ann": gamedsl.Action(ann), "bob": gamedsl.Action(bob)})
        paid[ann, bob] = dict(episode.payoffs)
    return paid


def test_gambits_game_is_ours(tmp_path: Path) -> None:
    text = GAMBIT.read_text(encoding="utf-8")
    blocks = dict(re.findall(r"```(nfg|yaml)\n(.*?)```", text, re.DOTALL))
    (tmp_path / "stag.nfg").write_text(blocks["nfg"], encoding="utf-8")
    (tmp_path / "stag.yaml").write_text(blocks["yaml"], encoding="utf-8")
    out = tmp_path / "imported.yaml"
    assert main(["import", str(tmp_path / "stag.nfg"), "-o", str(out)]) == 0
    assert payoffs(out) == payoffs(tmp_path / "stag.yaml")
    assert payoffs(out)["hare", "stag"] == {"ann": 3, "bob": 0}


@pytest.mark.parametrize("page", PEERS, ids=lambda page: page.stem)
def test_our_game_is_the_shipped_one(page: Path, tmp_path: Path) -> None:
    (path,) = page_blocks.write_files(page, tmp_path)
    assert gamedsl.load(path).hash == gamedsl.load("kuhn_poker").hash


def ours(cards: tuple[str, ...], play: str) -> tuple[float, ...]:
    """What our game pays."""
    episode = KUHN.env().reset(seed=0, chance="asked")
    wanted = list(cards)
    while episode.chance:
        names = [outcome.name for outcome in episode.chance]
        episode.draw(names.index(wanted.pop(0)))
    for letter in play:
        (decision,) = episode.decisions
        episode.step({decision.seat: gamedsl.Action(WORDS[letter])})
    assert episode.done
    return tuple(float(value) for value in episode.payoffs.values())


def code(name: str, *modules: str) -> dict[str, Any]:
    """The names that the first Python block of a page defines. Skips where a module is missing."""
    for module in modules:
        pytest.importorskip(module)
    page = FOLDER / f"{name}.md"
    text = next(block.text for block in page_blocks.blocks(page) if block.kind == "python")
    names: dict[str, Any] = {"__name__": f"page_{name}"}
    exec(compile(text, page.name, "exec"), names)
    return names


def openspiel() -> Pays:
    names = code("openspiel", "pyspiel")
    game = names["Kuhn"]()

    def pays(cards: tuple[str, ...], play: str) -> tuple[float, ...]:
        state = game.new_initial_state()
        for card in cards:
            state.apply_action("JQK".index(card))
        for letter in play:
            assert not state.is_terminal()
            state.apply_action(int(letter in "bk"))
        assert state.is_terminal()
        return tuple(state.returns())

    return pays


def pettingzoo() -> Pays:
    names = code("pettingzoo", "pettingzoo")

    def pays(cards: tuple[str, ...], play: str) -> tuple[float, ...]:
        env = names["Kuhn"]()
        env.reset(options={"cards": ["JQK".index(card) for card in cards]})
        for letter in play:
            env.step(int(letter in "bk"))
        assert all(env.terminations.values())
        return tuple(float(env.rewards[agent]) for agent in env.possible_agents)

    return pays


def textarena() -> Pays:
    names = code("textarena", "textarena")

    def pays(cards: tuple[str, ...], play: str) -> tuple[float, ...]:
        env = names["Kuhn"]()
        env.reset(num_players=2, seed=0)
        env.state.game_state["cards"] = list(cards)
        done = False
        for letter in play:
            assert not done
            done, _ = env.step(f"I say [{WORDS[letter]}].")
        assert done
        return tuple(float(env.state.rewards[seat]) for seat in (0, 1))

    return pays


class Scripted:
    """A seat of verifiers that says what a list has next, and keeps its reward."""

    def __init__(self, says: list[str]) -> None:
        self.says, self.chips = says, 0.0
        self.trace = SimpleNamespace(record_reward=self.record)

    def record(self, name: str, value: float) -> None:
        self.chips = value

    async def turn(self, text: str) -> SimpleNamespace:
        return SimpleNamespace(last_reply=self.says.pop(0))

    def interaction(self, task: object) -> Scripted:
        return self

    async def __aenter__(self) -> Scripted:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def verifiers() -> Pays:
    names = code("verifiers", "verifiers.v1")
    run = names["Kuhn"].run

    def pays(cards: tuple[str, ...], play: str) -> tuple[float, ...]:
        said = [WORDS[letter] for letter in play]
        seats = [Scripted(said[0::2]), Scripted(said[1::2])]
        task = SimpleNamespace(data=SimpleNamespace(cards=cards))
        agents = SimpleNamespace(p0=seats[0], p1=seats[1])
        asyncio.run(run(None, task, agents))
        return tuple(seat.chips for seat in seats)

    return pays


class Fixed:
    """Stands for the random numbers of a table: the other player says what the hand has."""

    def __init__(self, says: str) -> None:
        self.says = says

    def choice(self, options: str) -> str:
        assert self.says in options
        return self.says


def trl() -> Pays:
    table = code("trl")["KuhnTable"]

    def pays(cards: tuple[str, ...], play: str) -> tuple[float, ...]:
        env = table()
        assert "act" in env.reset(seed=1)
        env.cards, env.rng = list(cards), Fixed(play[1])
        for letter in play[0::2]:
            env.act(WORDS[letter])
        return env.get_reward(), -env.get_reward()

    return pays


@dataclass
class StepResult:
    """The fields of the cookbook's result of a step that the page uses."""

    reward: float
    episode_done: bool
    next_messages: list[dict[str, str]]


def tinker() -> Pays:
    """The cookbook's classes where it is installed, and else ones of the same form."""
    name = "tinker_cookbook.rl.message_env"
    with pytest.MonkeyPatch.context() as patch:
        if find_spec("tinker_cookbook") is None:
            module: Any = ModuleType(name)
            module.MessageEnv, module.MessageStepResult = object, StepResult
            for parent in ("tinker_cookbook", "tinker_cookbook.rl"):
                patch.setitem(sys.modules, parent, ModuleType(parent))
            patch.setitem(sys.modules, name, module)
        table = code("tinker")["KuhnTable"]

    async def played(cards: tuple[str, ...], play: str) -> float:
        env = table()
        await env.initial_observation()
        env.cards, env.rng = list(cards), Fixed(play[1])
        reward = 0.0
        for letter in play[0::2]:
            result = await env.step({"role": "assistant", "content": WORDS[letter]})
            reward += result.reward
        assert result.episode_done
        return reward

    def pays(cards: tuple[str, ...], play: str) -> tuple[float, ...]:
        reward = asyncio.run(played(cards, play))
        return reward, -reward

    return pays


@pytest.fixture(params=[openspiel, pettingzoo, textarena, verifiers, trl, tinker])
def theirs(request: pytest.FixtureRequest) -> Pays:
    return request.param()


def test_all_thirty_plays_pay_alike(theirs: Pays) -> None:
    assert {hand: theirs(*hand) for hand in HANDS} == {hand: ours(*hand) for hand in HANDS}


def test_later_code_of_the_pages_runs() -> None:
    """The exports that the pages of OpenSpiel and PettingZoo end with."""
    for name, module in (("openspiel", "pyspiel"), ("pettingzoo", "pettingzoo")):
        names = code(name, module)
        page = page_blocks.blocks(FOLDER / f"{name}.md")
        (_, later) = (block.text for block in page if block.kind == "python")
        exec(compile(later, name, "exec"), names)
