"""Warm-ups that teach whole replies: thoughts, tool calls, chats, and replies that won."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gamedsl.call_syntax import TAGGED
from gamedsl.players.model_replies import Asked, replies
from gamedsl.policies import random_models
from gamedsl.runtime import Game
from gamedsl.storage.strict_json import write
from gamedsl.training.chat_data import read_chats
from gamedsl.training.errors import TrainError
from gamedsl.training.imitated_chats import Chat, ChatDataset, chats_of
from gamedsl.training.imitated_games import ValidReply
from gamedsl.training.imitation import warm_up
from gamedsl.training.rollout import play
from gamedsl.training.seats import assign_seats, budget_of
from gamedsl.training.sessions import Sessions
from gamedsl.training.trajectories import transcripts
from tests.evaluate.serving import Body, Reply, options_in, serving
from tests.policies.templates import (
    BARE_CALLS,
    BRACKETS,
    CALLING,
    CHATML,
    EMPTY_THOUGHT,
    OPENED,
    SEED,
)
from tests.train import in_words

THINK = """
game: think
roles: [guesser]
turns:
  - {role: guesser, choose: guess, from: [heads, tails]}
payoffs: 1 if guess == heads else 0
respond: {form: tag, think: 12, at_limit: close}
"""


def chats(game: Game, expert: str, *, asked: Sequence[str] = (), **settings: Any) -> ChatDataset:
    """What is learned of an expert, nothing being held out; `asked`: the endpoints that may be."""
    given = {"warm_up__expert": expert, "warm_up__held_out": 0, "warm_up__games": 8, **settings}
    recipe = in_words.recipe_of(game, **given)
    policy = in_words.opened(game, recipe)
    env = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer)
    seating = assign_seats(game, recipe, budget_of(recipe, asked))
    return chats_of(game, env, recipe, seating, policy)[0]


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


@pytest.mark.parametrize(
    ("template", "opens"), [(OPENED, True), (EMPTY_THOUGHT, True), (CHATML, False)],
    ids=["opened", "empty", "chatml"],
)  # fmt: skip
def test_opened_tags_are_not_learned(
    template: str, opens: bool, compiled: Callable[[str], Game], tmp_path, monkeypatch
) -> None:
    """In replies that are written whole, and in chats: it is in the prompt, and in it once."""
    tokenizer = random_models._tiny_tokenizer()
    tokenizer.chat_template = template
    monkeypatch.setattr(random_models, "_tiny_tokenizer", lambda: tokenizer)
    game = compiled(THINK)
    talk = [{"role": "user", "content": "1 + 2?"}]
    talk += [{"role": "assistant", "content": "<think>\nit is h\n</think>\n3"}]
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"messages": talk}) + "\n", encoding="utf-8")
    for source in (recorded(game, tmp_path / "games.jsonl"), file):
        found = chats(game, f"file:{source}", replies="free")
        text = found.policy.tokenizer.wrapped.decode
        assert found.chats
        for chat in found.chats:
            (row,) = chat.rows
            ((start, stop),) = row.trained
            own = "" if opens else "<think>\n"
            assert text(row.ids[start:stop]).startswith(f"{own}it is ")
            tag = "<think>\n" if opens else ""
            assert text(row.ids[:start]).endswith(f"<|im_start|>assistant\n{tag}")


@pytest.mark.parametrize(
    ("template", "tag"), [(BRACKETS, "[THINK]"), (SEED, "<seed:think>")], ids=["brackets", "seed"]
)
@pytest.mark.parametrize("free", [False, True])
def test_thoughts_are_learned_in_the_own_tags(
    free: bool, template: str, tag: str, compiled: Callable[[str], Game], tmp_path, monkeypatch
) -> None:
    """Transcripts have the tags of games, whoever wrote them; chats may have either."""
    tokenizer = random_models._tiny_tokenizer()
    own = [tag, f"{tag[0]}/{tag[1:]}"]
    tokenizer.add_tokens(own, special_tokens=True)
    tokenizer.chat_template = template
    monkeypatch.setattr(random_models, "_tiny_tokenizer", lambda: tokenizer)
    game, settings = compiled(THINK), {"replies": "free"} if free else {}
    opening, closing = tokenizer.convert_tokens_to_ids(own)
    for chat in chats(game, f"file:{recorded(game, tmp_path / 'games.jsonl')}", **settings).chats:
        (row,) = chat.rows
        ((start, stop),) = row.trained
        learned = tokenizer.decode(row.ids[start:stop])
        begun = "" if template == BRACKETS or not free else f"{tag}\n"
        assert learned.startswith(f"{begun}it is ")
        assert learned.endswith("</answer><|im_end|>" if free else f"\n{own[1]}")
        prompt = tokenizer.decode(row.ids[:start])
        assert prompt.endswith("assistant\n" if begun else f"assistant\n{tag}\n")
        assert f"think between {own[0]} and {own[1]}, in at most 12 tokens" in prompt
        assert row.ids[start:stop].count(closing) == 1
        assert [query.prefix.count(opening) for query, _ in chat.taken] == ([] if free else [1])
    said = {"content": "3", "reasoning_content": "it is h"}
    forms = [said, {"content": "<think>\nit is h\n</think>\n3"},
             {"content": f"{own[0]}\nit is h\n{own[1]}\n3"}]  # fmt: skip
    found = set()
    for form in forms:
        talk = [{"role": "user", "content": "1 + 2?"}, {"role": "assistant", **form}]
        file = tmp_path / "chats.jsonl"
        file.write_text(json.dumps({"messages": talk}) + "\n", encoding="utf-8")
        ((row,),) = (chat.rows for chat in chats(game, f"file:{file}", **settings).chats)
        found.add((row.ids, row.trained))
    ((ids, ((start, stop),)),) = found
    assert tokenizer.decode(ids[start:stop]).endswith(f"it is h\n{own[1]}\n3<|im_end|>")
    assert (ids.count(opening), ids.count(closing)) == (1, 1)


SAY = """
game: sum
roles: [caller]
turns: [{role: caller, say: number, read: {n: 1..4}, max_tokens: 40}]
payoffs: 1
"""


@pytest.mark.parametrize("template", [OPENED, EMPTY_THOUGHT, CHATML])
def test_thoughts_in_open_replies_stand_where_play_has_them(
    template: str, compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No thought is asked for there: all of one that a player writes is its own."""
    tokenizer = random_models._tiny_tokenizer()
    tokenizer.chat_template = template
    monkeypatch.setattr(random_models, "_tiny_tokenizer", lambda: tokenizer)
    game = compiled(SAY)
    recipe = in_words.recipe_of(game)
    policy = in_words.opened(game, recipe)
    env, seating = game.env(tokenizer=policy.tokenizer), assign_seats(game, recipe)
    (decision,) = env.reset(seed=1).decisions
    said, whole = '{"n":3}', '<think>\nit is h\n</think>\n{"n": 3}'
    (played,) = replies(policy, [Asked(decision, "shared", 1)], 1.0)
    found = ChatDataset(policy, free=False)
    found.add(seating, [ValidReply(decision, said, whole)])
    ((row,),) = (chat.rows for chat in found.chats)
    ((start, stop),) = row.trained
    assert played.written is not None
    assert row.ids[:start] == played.written.prompt_ids
    assert policy.tokenizer.text(row.ids[start:stop]) == whole


def test_thoughts_that_a_server_gives_apart_are_learned(
    compiled: Callable[[str], Game], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAMEDSL_CACHE", str(tmp_path / "cache"))
    game = compiled(THINK)

    def answer(number: int, body: Body) -> Reply:
        content = f"<answer>{min(options_in(body))}</answer>"
        return Reply(content, message={"reasoning_content": "it is h"})

    with serving(answer) as served:
        spec = f"endpoint:{served.url}#m"
        found = chats(game, spec, asked=[served.url], warm_up__games=2)
        free = chats(game, spec, asked=[served.url], warm_up__games=2, replies="free")
    assert len(found.chats) == len(free.chats) == 2
    for chat in found.chats:
        assert trained(found, chat) == ["it is h\n</think>"]
        assert len(chat.taken) == 1
    for chat in free.chats:
        (said,) = trained(free, chat)
        assert said.startswith("<think>\nit is h\n</think>\n<answer>")


def trained(found: ChatDataset, chat: Chat) -> list[str]:
    """The texts that are trained, each without the end of its turn."""
    tokenizer = found.policy.tokenizer_of("shared")
    return [
        tokenizer.text(row.ids[start:stop])
        for row in chat.rows for start, stop in row.trained
    ]  # fmt: skip


def test_only_what_won_is_kept(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(THINK)
    file = recorded(game, tmp_path / "games.jsonl")
    found = chats(game, f"file:{file}", warm_up__reward=1)
    assert {action for chat in found.chats for _, action in chat.taken} == {0}
    with pytest.raises(TrainError, match="no seat earned 2"):
        chats(game, f"file:{file}", warm_up__reward=2)


def test_players_without_thoughts_are_told(compiled: Callable[[str], Game], tmp_path) -> None:
    """`random` says valid things, and not what it thought. Where choices are scored, the policy
    writes the thought itself, and the choice after it is learned."""
    game = compiled(THINK)
    with pytest.raises(TrainError, match="does not say what it thought"):
        chats(game, "random", replies="free")
    for chat in chats(game, "random").chats:
        assert not chat.rows
        assert len(chat.taken) == 1
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
    call = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
    (chat,) = found.chats
    assert trained(found, chat) == [f"Let me see. \n{call}", "It is 3."]


TOOL = {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}}
TOOL_CHAT = [
    {"role": "user", "content": "1 + 2?"},
    {"role": "assistant", "content": None, "reasoning_content": "Add them.", "tool_calls": [CALL]},
    {"role": "tool", "content": "3", "tool_call_id": "1"},
    {"role": "assistant", "content": "It is 3.", "reasoning_content": "Said so."},
]
TAGS = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'
LINE = TAGS.replace("\n", "")
BARE = '{"name": "add", "parameters": {"a": 1, "b": 2}}'


@pytest.mark.parametrize(
    ("template", "call", "told"),
    [
        (CALLING, TAGS, "<|im_start|>user\n<tool_response>\n3\n</tool_response><|im_end|>\n"),
        (BARE_CALLS, BARE, "<|im_start|>ipython\n3<|im_end|>\n"),
        (CHATML, LINE, "<|im_start|>user\n3<|im_end|>\n"),
    ],
)
def test_thoughts_calls_and_results_of_chats(
    template: str, call: str, told: str, compiled: Callable[[str], Game], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What is trained is what the assistant thinks, calls and says, in the form that play has; what
    the tool returns is read, and so is the list of tools."""
    tokenizer = random_models._tiny_tokenizer()
    tokenizer.chat_template = template
    monkeypatch.setattr(random_models, "_tiny_tokenizer", lambda: tokenizer)
    listed = {} if template == CHATML else {"tools": [TOOL]}
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"messages": TOOL_CHAT, **listed}) + "\n", encoding="utf-8")
    found = chats(compiled(THINK), f"file:{file}")
    (chat,) = found.chats
    assert trained(found, chat) == [
        f"<think>\nAdd them.\n</think>\n{call}",
        "<think>\nSaid so.\n</think>\nIt is 3.",
    ]
    (row,) = chat.rows
    (_, before), (after, _) = row.trained
    decode = found.policy.tokenizer_of("shared").wrapped.decode
    assert decode(row.ids[before:after]) == f"\n{told}<|im_start|>assistant\n"
    assert ("Adds." in decode(row.ids[: row.trained[0][0]])) == bool(listed)


@pytest.mark.parametrize("replies", ["scored", "free"])
def test_thoughts_of_chats_stand_where_play_has_them(
    replies: str, compiled: Callable[[str], Game], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thought is begun in place of the empty one that prompts end in."""
    tokenizer = random_models._tiny_tokenizer()
    tokenizer.chat_template = EMPTY_THOUGHT
    monkeypatch.setattr(random_models, "_tiny_tokenizer", lambda: tokenizer)
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"messages": [TOOL_CHAT[0], TOOL_CHAT[3]]}), encoding="utf-8")
    found = chats(compiled(THINK), f"file:{file}", replies=replies)
    ((row,),) = (chat.rows for chat in found.chats)
    ((start, stop),) = row.trained
    decode = found.policy.tokenizer_of("shared").wrapped.decode
    assert decode(row.ids[:start]).endswith("assistant\n<think>\n")
    assert decode(row.ids[start:stop]).startswith("Said so.\n</think>\nIt is 3.")


@pytest.mark.parametrize("as_text", [True, False])
def test_tools_of_chats_are_listed_as_in_play(tmp_path: Path, as_text: bool) -> None:
    file, function = tmp_path / "chats.jsonl", {"type": "function", "function": TOOL}
    for one in (TOOL, function):
        tools = json.dumps([one]) if as_text else [one]
        file.write_text(json.dumps({"messages": TOOL_CHAT, "tools": tools}), encoding="utf-8")
        (chat,) = read_chats(file)
        role, listed = chat.messages(TAGGED)[0]
        assert (role, json.loads(listed)) == ("tools", [function])


def test_results_in_a_row_are_joined(tmp_path: Path) -> None:
    """Where the template has no place for results, and users and models take turns."""
    file, result = tmp_path / "chats.jsonl", {"role": "tool", "content": "3"}
    talk = [*TOOL_CHAT[:2], result, result, {"role": "user", "content": "So?"}, TOOL_CHAT[3]]
    file.write_text(json.dumps({"messages": talk}), encoding="utf-8")
    (chat,) = read_chats(file)
    assert [role for role, _ in chat.messages(TAGGED)] == [one["role"] for one in talk]
    plain = chat.messages(None)
    assert [role for role, _ in plain] == ["user", "assistant"] * 2
    assert plain[2] == ("user", "3\n3\nSo?")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"messages": [{"role": "critic", "content": "x"}]}, "role 'critic'"),
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
    assert [len(one.messages(None)) for one in found] == [4, 4]
    assert found[0].messages(None)[3] == ("assistant", "It is 3.")
