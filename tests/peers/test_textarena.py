"""Games as environments of TextArena, played by its own loop, agents and wrappers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.peers import running
from tests.peers.chat_server import scripted
from tests.peers.plays import NAMES, SEEDS, Play, chat_of, loaded, played

with running.needed("textarena"):
    import textarena as ta
    from textarena.wrappers.ActionWrappers import ClipCharactersActionWrapper
    from textarena.wrappers.ObservationWrappers.llm_observation_wrapper import LLMObservationWrapper

    from gamedsl.export.textarena import GameEnv, register


class Script(ta.Agent):
    """Replies by the text of the prompt, and keeps what it was shown."""

    def __init__(self, answers: Mapping[str, str]) -> None:
        self.answers = answers
        self.shown: list[str] = []

    def __call__(self, observation: str) -> str:
        self.shown.append(observation)
        return self.answers[observation]


def text_of(messages: list[dict[str, str]]) -> str:
    return "\n\n".join(one["content"] for one in messages)


def run(env: Any, agents: Mapping[int, Any], seed: int) -> tuple[Any, Any, list[Any]]:
    """TextArena's own loop. Returns what `close` does, and the refusals by step."""
    env.reset(num_players=len(agents), seed=seed)
    done, refused = False, []
    while not done:
        number, observation = env.get_observation()
        done, info = env.step(action=agents[number](observation))
        if "refused" in info:
            refused.append((number, info["refused"]))
    return *env.close(), refused


def check(ours: Play, seats: tuple[str, ...], found: tuple[Any, Any, list[Any]]) -> None:
    rewards, infos, refused = found
    assert [(seats[number], reason) for number, reason in refused] == ours.refused
    for number, seat in enumerate(seats):
        reward = ours.rewards.get(seat)
        assert rewards.get(number) == (None if reward is None else float(reward))
        assert infos[number]["trains"] == (reward is not None)
        assert infos[number]["invalid_move"] == (seat in ours.failures)
        assert infos[number]["turn_count"] == len(ours.turns_of(seat))
        paid = ours.payoffs.get(seat)
        assert infos[number]["payoff"] == (None if paid is None else float(paid))


@pytest.mark.parametrize("name", NAMES)
def test_plays_agree_with_the_runtime(name: str) -> None:
    """Prompts, replies, refusals, forfeits, payoffs and rewards of 50 plays."""
    env = ClipCharactersActionWrapper(ta.make(register(loaded(name))), max_num_characters=10_000)
    seats = env.table.held
    refused = 0
    for seed in SEEDS:
        ours = played(name, seed)
        answers = {text_of(turn.messages): turn.reply for turn in ours.turns}
        agents = {number: Script(answers) for number in range(len(seats))}
        check(ours, seats, run(env, agents, seed))
        for number, seat in enumerate(seats):
            asked = [text_of(turn.messages) for turn in ours.turns_of(seat)]
            assert agents[number].shown == asked
        refused += len(ours.refused)
    assert refused


def test_legal_moves_are_those_of_the_runtime() -> None:
    env = ta.make(f"{register(loaded('kuhn_poker'))}-raw")
    assert isinstance(env, GameEnv)
    for seed in SEEDS:
        ours = played("kuhn_poker", seed)
        env.reset(seed=seed)
        for turn in ours.turns:
            decision = env.state.decision
            assert (decision.seat, decision.legal, decision.labels, chat_of(decision)) == (
                turn.seat, turn.legal, turn.labels, turn.messages,
            )  # fmt: skip
            done, _ = env.step(turn.reply)
        assert done


def test_innocent_seat_has_no_reward() -> None:
    play = next(p for seed in SEEDS if (p := played("stag_hunt", seed)).void)
    env = GameEnv(loaded("stag_hunt"))
    env.reset(num_players=2, seed=play.seed)
    done = False
    while not done:
        _, observation = env.get_observation()
        assert observation[0][2] == ta.ObservationType.PROMPT
        turn = next(t for t in play.turns if text_of(t.messages) == observation[0][1])
        done, _ = env.step(turn.reply)
    rewards, infos = env.close()
    innocent = {number for number, info in infos.items() if not info["trains"]}
    assert innocent == {env.table.held.index(seat) for seat in play.void}
    assert innocent.isdisjoint(rewards)


def test_whole_history_is_shown_by_their_wrapper() -> None:
    env = LLMObservationWrapper(GameEnv(loaded("tic_tac_toe"), against=["o=random"]))
    env.reset(num_players=1, seed=0)
    _, first = env.get_observation()
    decision = env.state.decision
    env.step(decision.labels[0])
    _, second = env.get_observation()
    assert text_of(chat_of(decision)) in first
    assert second.startswith(first)
    assert len(second) > len(first)


def test_unasked_play_takes_one_step() -> None:
    env = GameEnv(loaded("centipede"), held=[loaded("centipede").ir.seats[1]])
    for seed in range(20):
        env.reset(seed=seed)
        if env.state.decision is None:
            _, observation = env.get_observation()
            assert "over" in observation[0][1]
            done, _ = env.step("anything")
            rewards, _ = env.close()
            assert (done, set(rewards)) == (True, {0})
            return
    raise AssertionError("no play ended before the second seat was asked")


def test_another_number_of_players_is_refused() -> None:
    with pytest.raises(ValueError, match="kuhn_poker has 2 players here, not 3: first, second"):
        GameEnv(loaded("kuhn_poker")).reset(num_players=3)


def test_commands_of_a_package_run(tmp_path: Path) -> None:
    """By hand, and by TextArena's OpenAIAgent with a model behind a local server."""
    folder = running.exported("stag_hunt", "textarena", tmp_path / "package")
    _, by_hand, by_model = running.readme_commands(folder)
    running.build(folder, tmp_path / "bare")
    decision = loaded("stag_hunt").env().reset().decisions[0]
    stag = decision.labels[decision.legal.index("stag")]
    printed = running.run(by_hand, folder, given=f"{stag}\n?\n")
    assert "refused: " in printed
    assert "hunter_1 reward: None the game ended" in printed
    with scripted() as server:
        server.default = stag
        at = by_model.index("http://localhost:8000/v1")
        words = [*by_model[:at], server.url, *by_model[at + 1 :]]
        printed = running.run(words, folder, OPENAI_API_KEY="none")
    assert printed.endswith("hunter_1: 4.000 over 10\nhunter_2: 4.000 over 10\n")
