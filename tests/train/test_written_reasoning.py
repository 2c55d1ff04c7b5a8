"""Warm-ups that teach whole replies: thoughts, tool calls, chats, and replies that won."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gamedsl.runtime import Game
from gamedsl.storage.strict_json import write
from gamedsl.training.chat_data import read_chats
from gamedsl.training.errors import TrainError
from gamedsl.training.imitation import warm_up
from gamedsl.training.imitation_data import ChatDataset, chats_of
from gamedsl.training.rollout import play
from gamedsl.training.seats import assign_seats
from gamedsl.training.sessions import Sessions
from gamedsl.training.trajectories import transcripts
from tests.train import in_words

THINK = """
game: think
roles: [guesser]
turns:
  - {role: guesser, choose: guess, from: [heads, tails]}
payoffs: 1 if guess == heads else 0
respond: {form: tag, think: 12, at_limit: close}
"""


def chats(game: Game, expert: str, **settings: Any) -> ChatDataset:
    """What is learned of an expert, nothing being held out."""
    given = {"warm_up__expert": expert, "warm_up__held_out": 0, "warm_up__games": 8, **settings}
    recipe = in_words.recipe_of(game, **given)
    policy = in_words.opened(game, recipe)
    env = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer)
    return chats_of(game, env, recipe, assign_seats(game, recipe), policy)[0]


def recorded(game: Game, path: Path) -> Path:
    """Transcripts of a run, with thoughts that somebody wrote: one for heads, one for tails."""
    recipe = in_words.recipe_of(game, games=16)
    policy = in_words.opened(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Sessions(policy), recipe, 1)
    lines = list(transcripts(batch, replies=True))
    labels = {"heads": None, "tails": None}
    for line in lines:
        took = line["steps"][0]["choices"]["guesser"]
        label = line["labels"]["labels"].get(took, took)
        labels[took] = label
        line["replies"][0]["text"] = f"<think>\nit is {took[0]}\n</think>\n<answer>{label}</answer>"
    assert None not in labels.values()
    path.write_text("".join(write(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_thoughts_of_transcripts_are_learned(compiled: Callable[[str], Game], tmp_path) -> None:
    """The trained tokens are those of the thought up to its closing tag, and the choice is learned
    given these; after the warm-up the model thinks so."""
    game = compiled(THINK)
    file = recorded(game, tmp_path / "games.jsonl")
    found = chats(game, f"file:{file}")
    text = found.policy.tokenizer.text
    thoughts = set()
    for chat in found.chats:
        (row,), ((query, action),) = chat.rows, chat.taken
        ((start, stop),) = row.trained
        thought = text(row.ids[start:stop])
        assert text(row.ids[:start]).endswith("<think>\n")
        assert text(query.prefix) == f"<think>\n{thought}\n"
        assert thought == f"it is {('heads', 'tails')[action][0]}\n</think>"
        thoughts.add(thought)
    assert len(thoughts) == 2
    recipe = in_words.recipe_of(
        game, warm_up__expert=f"file:{file}", warm_up__epochs=60, warm_up__lr=0.01,
        warm_up__batch=8, warm_up__patience=60,
    )  # fmt: skip
    policy = found.policy
    record = warm_up(policy, found, found, recipe, policy.parameters())
    assert record is not None
    assert record["after"]["held_out_loss"] < record["before"]["held_out_loss"] / 4


def test_only_what_won_is_kept(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(THINK)
    file = recorded(game, tmp_path / "games.jsonl")
    found = chats(game, f"file:{file}", warm_up__reward=1)
    assert {action for chat in found.chats for _, action in chat.taken} == {0}
    with pytest.raises(TrainError, match="no seat earned 2"):
        chats(game, f"file:{file}", warm_up__reward=2)


def test_players_without_thoughts_are_told(compiled: Callable[[str], Game], tmp_path) -> None:
    """`random` says valid things, and not what it thought."""
    game = compiled(THINK)
    with pytest.raises(TrainError, match="does not say what it thought"):
        chats(game, "random")
    file = recorded(game, tmp_path / "games.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    plain = "".join(write({k: v for k, v in one.items() if k != "replies"}) + "\n" for one in lines)
    file.write_text(plain, encoding="utf-8")
    with pytest.raises(TrainError, match="does not say what it thought"):
        chats(game, f"file:{file}")


CALL = {"function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
CHAT = [
    {"role": "user", "content": "1 + 2?"},
    {"role": "assistant", "content": "Let me see. ", "tool_calls": [CALL]},
    {"role": "user", "content": "3"},
    {"role": "assistant", "content": "It is 3."},
]


def test_chats_are_learned_message_by_message(compiled: Callable[[str], Game], tmp_path) -> None:
    game = compiled(THINK)
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"messages": CHAT}) + "\n", encoding="utf-8")
    found = chats(game, f"file:{file}")
    text, ends = found.policy.tokenizer.text, found.policy.tokenizer_of("shared").ends
    said = [
        text(row.ids[start : stop - len(ends)])
        for chat in found.chats for row in chat.rows for start, stop in row.trained
    ]  # fmt: skip
    call = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
    assert [one.replace(" ", "") for one in said] == [
        f"Let me see. {call}".replace(" ", ""), "Itis3.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"messages": [{"role": "tool", "content": "x"}]}, "role 'tool'"),
        ({"messages": [{"role": "user", "content": "x"}]}, "no words of the assistant"),
        ({"messages": CHAT, "adapter": "nobody"}, "names the adapter `nobody`"),
    ],
)
def test_chats_that_cannot_be_learned(
    compiled: Callable[[str], Game], tmp_path: Path, line: dict[str, Any], message: str
) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(TrainError, match=message):
        chats(compiled(THINK), f"file:{file}")


def test_folders_of_data_sets_are_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list([{"messages": CHAT}] * 2).save_to_disk(str(tmp_path / "rows"))
    found = list(read_chats(tmp_path / "rows"))
    assert [len(one.messages) for one in found] == [4, 4]
    assert found[0].messages[3] == ("assistant", "It is 3.")
