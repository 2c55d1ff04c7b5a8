"""Files that are imitated: they are learned as they were played, and refused with their line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl import calls
from gamedsl.api.training_job import resumed_job
from gamedsl.cli import main
from gamedsl.recipe.resolve import override
from gamedsl.runtime import Action, Env, Episode, Game
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import read
from gamedsl.storage.strict_json import write
from gamedsl.training.chat_data import is_chats, read_chats
from gamedsl.training.errors import TrainError
from gamedsl.training.imitated_files import fingerprints
from gamedsl.training.imitated_games import ValidReply, choices
from tests.conftest import ROOT
from tests.train import in_words
from tests.train.test_written_reasoning import CHAT, THINK, chats

LASTING = """
game: lasting
roles: [asker]
state: {notes: {of: text(400), lasts: run}}
turns:
  - {show: notes, as: earlier, if: notes != none}
  - {role: asker, choose: ask, from: [news, time]}
  - {role: asker, say: notes, max_tokens: 300}
payoffs: 1 if ask == news else 0
on_invalid: {then: forfeit, pay: -1}
"""
ROLLS = """
game: rolls
roles: [ann]
turns:
  - {role: ann, say: line, max_tokens: 40}
  - {call: roll, with: {text: line}, gives: die, seen_by: all}
  - {role: ann, choose: pick, from: [low, high]}
  - {if: die > 1, role: ann, say: more, max_tokens: 40}
payoffs: 1
on_invalid: {then: forfeit, pay: -1}
labels: {masked: syllables}
"""
AGAIN = """
game: again
roles: [guesser]
turns:
  - {role: guesser, say: guess, read: {n: 1..8}, max_tokens: 12}
payoffs: guess.n
on_invalid: {retry: 2, then: forfeit, pay: -1}
"""
TWICE = """
game: twice
roles: [ann]
turns:
  - repeat: 2
    turns:
      - {role: ann, choose: pick, from: [low, high]}
payoffs: 1
respond: label
on_invalid: {then: play, play: low, pay: -1}
"""
DIVIDED = """
game: divided
roles: [ann]
turns:
  - {role: ann, say: say_it, read: {n: 0..8}, max_tokens: 12, valid: 10 / say_it.n > 1}
payoffs: 1
on_invalid: {retry: 1, then: forfeit, pay: -1}
"""
TOOLS = """
game: tools
roles: [agent]
actions:
  go: {about: Goes.}
  stay_where_you_are: {about: Stays.}
  look_around_the_room: {about: Looks.}
  listen_at_the_door: {about: Listens.}
  say: {about: Says., args: {words: text(20)}}
turns:
  - {role: agent, choose: move, from: actions, max_tokens: 60}
payoffs: 1
respond: tool
on_invalid: {then: forfeit, pay: -1}
"""


def learned(game: Game, *lines: str, env: Env | None = None) -> list[ValidReply]:
    """What is learned of games that are recorded as JSON lines, in an environment."""
    found = list[ValidReply]()
    for line in lines:
        (transcript,) = read(line)
        played = replay(game, transcript, env)
        assert not played.faults, [str(fault) for fault in played.faults]
        found += choices(played)
    return found


def line_of(episode: Episode, *replies: dict[str, str]) -> str:
    return write({**episode.transcript, "replies": list(replies)})


def test_learned_prompts_have_what_lasts(compiled: Callable[[str], Game]) -> None:
    game = compiled(LASTING)
    env, memory, asked, lines = game.env(), None, [], []
    for number in range(3):
        episode = env.reset(seed=number, memory=memory)
        asked.append(episode.decisions[0].messages)
        episode.step({"asker": Action("news")})
        episode.step({"asker": f"It was {number}."})
        memory = episode.memory
        lines.append(line_of(episode))
    found = learned(game, *lines)
    assert [one.decision.messages for one in found if one.decision.step == "ask"] == asked
    assert len({*asked}) == 3


def test_what_functions_gave_is_not_asked_again(
    compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once 2 comes and then 1 for ever: asked anew, the game would end before its last reply."""
    rolled = iter([2])
    calls.registry.lookup("exact")
    monkeypatch.setattr(calls.registry, "_FUNCTIONS", dict(calls.registry._FUNCTIONS))

    @calls.registry.function(
        arguments={"text": "text"}, result="int", pure=False, version=1, time_limit=1, on_timeout=0
    )
    def roll(text: str) -> Any:
        """What the die shows."""
        return next(rolled, 1)

    game = compiled(ROLLS)
    rolled = iter([2])
    episode = game.env().reset(seed=0)
    for reply in ("a", Action("high"), "b"):
        episode.step({"ann": reply})
    assert episode.done
    policy = in_words.opened(game, in_words.recipe_of(game))
    env = game.env(run_seed=7, tokenizer=policy.tokenizer)
    found = learned(game, line_of(episode), env=env)
    assert [(one.decision.step, one.name) for one in found] == [
        ("line", "a"), ("pick", "high"), ("more", "b"),
    ]  # fmt: skip
    rolled, again = iter([2]), env.reset(seed=0)
    again.step({"ann": "a"})
    assert found[1].decision.messages == again.decisions[0].messages


def test_a_reply_that_was_refused_is_not_learned(compiled: Callable[[str], Game]) -> None:
    """One that was cut off may read as well as the one that counted."""
    game = compiled(AGAIN)
    episode = game.env().reset(seed=0)
    cut, whole = 'it is {"n": 3} because', 'so {"n": 3}'
    episode.step({"guesser": gamedsl.ParseFailure("truncated", cut)})
    episode.step({"guesser": whole})
    said = [{"seat": "guesser", "step": "guess", "text": text} for text in (cut, whole)]
    (one,) = learned(game, line_of(episode, *said))
    assert (one.name, one.text) == ('{"n":3}', whole)


def test_the_prompt_of_another_try_is_learned(compiled: Callable[[str], Game]) -> None:
    game = compiled(AGAIN)
    episode, texts, asked = game.env().reset(seed=0), ["nine", '{"n": 9}', '{"n": 2}'], []
    for text in texts:
        asked.append(episode.decisions[0].messages)
        episode.step({"guesser": text})
    said = [{"seat": "guesser", "step": "guess", "text": text} for text in texts]
    (one,) = learned(game, line_of(episode, *said))
    assert one.text == texts[-1]
    assert one.decision.messages == asked[-1]
    assert len(asked[-1]) == len(asked[0]) + 4


def test_a_substitute_is_not_learned(compiled: Callable[[str], Game]) -> None:
    """Nor does it take the reply of the next turn."""
    game = compiled(TWICE)
    episode, texts = game.env().reset(seed=0), ["bad", "high"]
    for text in texts:
        episode.step({"ann": text})
    said = [{"seat": "ann", "step": "pick", "text": text} for text in texts]
    (one,) = learned(game, line_of(episode, *said))
    assert (one.decision.occurrence, one.name, one.text) == (1, "high", "high")


def test_recorded_replies_without_a_value_are_passed_over(compiled: Callable[[str], Game]) -> None:
    """A stranger's transcript may hold any text as a reply."""
    game = compiled(DIVIDED)
    episode = game.env().reset(seed=0)
    episode.step({"ann": '{"n": 2}'})
    said = [{"seat": "ann", "step": "say_it", "text": text} for text in ('{"n": 0}', '{"n": 2}')]
    (one,) = learned(game, line_of(episode, *said))
    assert (one.name, one.text) == ('{"n":2}', '{"n": 2}')


def test_an_action_counts_the_tokens_of_its_reply(compiled: Callable[[str], Game]) -> None:
    """The canonical name of a tool call has all other actions in it, as nulls."""
    game = compiled(TOOLS)
    policy = in_words.opened(game, in_words.recipe_of(game))
    env = game.env(tokenizer=policy.tokenizer)
    decision = env.reset(seed=0).decisions[0]
    name = '{"go":{},"stay_where_you_are":null,"look_around_the_room":null,'
    name += '"listen_at_the_door":null,"say":null}'
    assert policy.tokenizer.count(name) > 60 >= policy.tokenizer.count(decision.write(name))
    episode = env.reset(seed=0)
    episode.step({"agent": Action(name)})
    assert episode.done
    assert not episode.failures
    long = env.reset(seed=0)
    long.step({"agent": decision.write(name) + " " + "word " * 60})
    (failure,) = long.failures.values()
    assert failure.reason == "tokens"
    assert str(policy.tokenizer.count(failure.text)) in failure.detail


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('\n\n{"messages": []}\n', True),
        ('\ufeff{"messages": []}\n', True),
        ('{"messages": [{"role": "user", "content": "\\"format\\": 1"}]}\n', True),
        ('{"messages": [{"role": "assistant", "tool_calls": [{"name": "f", "arguments": '
         '{"format": 1}}]}]}\n', True),
        ('{"format": 1, "game": "g", "replies": [{"text": "\\"messages\\""}]}\n', False),
        ("", False),
    ],
)  # fmt: skip
def test_chats_are_told_from_transcripts(tmp_path: Path, text: str, expected: bool) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(text, encoding="utf-8")
    assert is_chats(file) is expected


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


ASKS, SAYS = {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (chat(SAYS), "begins with the assistant"),
        (chat({"role": "tool", "content": "3"}, SAYS), "begins with a tool"),
        (chat(ASKS, SAYS | {"reasoning_content": 3}), "whose `reasoning_content` is no text"),
        (chat(ASKS, {"role": "assistant", "reasoning": "hm"}), "that no words and no call follow"),
        (chat(ASKS, SAYS, tools=[3]), "`tools` that are no list of tools"),
        (chat(ASKS, SAYS, tools="add"), "`tools` that are no list of tools"),
        (chat(ASKS, SAYS, tools=[{"function": {"name": 3}}]), "`tools` that are no list of tools"),
        (chat(ASKS, SAYS, tools=[{"name": "add"}]), "`tools`, and the model's chat template"),
        (chat(ASKS, {"role": "assistant", "content": ""}), "no words of the assistant"),
        (chat(ASKS, {"role": "assistant", "content": 0}), "content is no text"),
        (chat(ASKS, {"role": "assistant", "content": []}), "content is no text"),
        (chat(ASKS, {"role": "assistant", "tool_calls": [{"function": "peek"}]}), "without a name"),
        (chat(ASKS, {"role": "assistant", "tool_calls": [7]}), "without a name"),
        (chat(ASKS, SAYS, adapter=3), "an `adapter` that is no name: 3"),
        (chat(ASKS, {"role": "assistant", "content": "so " * 9000}), "and the model reads"),
    ],
)
def test_useless_chats_are_refused_with_their_line(
    compiled: Callable[[str], Game], tmp_path: Path, line: dict[str, Any], message: str
) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"messages": CHAT}) + "\n" + json.dumps(line), encoding="utf-8")
    with pytest.raises(TrainError, match=message) as caught:
        chats(compiled(THINK), f"file:{file}")
    assert f"{file}, line 2" in caught.value.fact


def test_file_that_is_all_held_out(compiled: Callable[[str], Game], tmp_path) -> None:
    file = tmp_path / "chats.jsonl"
    said = "This is the second of two."  # its hash holds it out
    file.write_text(json.dumps(chat(ASKS, SAYS | {"content": said})) + "\n", encoding="utf-8")
    with pytest.raises(TrainError, match="all 1 are held out") as caught:
        chats(compiled(THINK), f"file:{file}", warm_up__held_out=0.5)
    assert caught.value.fix == "lower `warm_up.held_out`"


def test_folders_add_no_arguments_to_calls(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    other = {"function": {"name": "say", "arguments": {"words": "hi"}}}
    first = {"function": {"name": "add", "arguments": {"a": 1, "b": 2}}}
    rows = [chat(ASKS | {"tool_calls": []}, SAYS | {"tool_calls": [one]}) for one in (first, other)]
    datasets.Dataset.from_list(rows).save_to_disk(str(tmp_path / "rows"))
    said = [one.messages(None)[1][1] for one in read_chats(tmp_path / "rows")]
    assert said == [
        'y\n<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>',
        'y\n<tool_call>{"name": "say", "arguments": {"words": "hi"}}</tool_call>',
    ]
    (tmp_path / "rows" / "state.json").write_text("[]", encoding="utf-8")
    with pytest.raises(TrainError, match="cannot be read as a data set"):
        next(read_chats(tmp_path / "rows"))


TRAIN = ("train", "guess_in_words", "--model", "tiny", "--dry-run")


@pytest.mark.parametrize(
    ("settings", "fact", "fix"),
    [
        (["warm_up.expert=nosuch"], "there is no player `nosuch`", "there are random"),
        (["warm_up.expert=file:"], "`file:` names no file", "write `file:PATH`"),
        (["warm_up.expert=file:~no-such-user/x"], "no file `~no-such-user/x`", "relative"),
        (["warm_up.expert=file:EMPTY"], "holds no game", "transcripts or chats"),
        (["warm_up.expert=file:CHATS", "warm_up.reward=1"], "not say what was earned", "leave"),
        (["kl=0.1", "reference=nosuch"], "`nosuch` is not a run folder", "the folder that"),
        (["max_change=0.1"], "not for games in words", "write `off`"),
        (["thoughts=4"], "is for choices that a thought comes before", "leave `thoughts` out"),
    ],
)
def test_missing_sources_are_said_before_loading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: list[str], fact: str, fix: str
) -> None:
    (tmp_path / "EMPTY").write_text("\n", encoding="utf-8")
    (tmp_path / "CHATS").write_text(json.dumps({"messages": CHAT}) + "\n", encoding="utf-8")
    given = [one.replace("file:E", f"file:{tmp_path}/E") for one in settings]
    given = [one.replace("file:C", f"file:{tmp_path}/C") for one in given]
    assert main([*TRAIN, *(part for one in given for part in ("--set", one))]) == 1
    told = "".join(capsys.readouterr())
    assert fact in told
    assert fix in told
    assert "loading" not in told


def test_thoughts_are_not_learned_from_choices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where they are written with it; said before a folder is made. In the seats of others any
    player may sit, and where options are scored the policy thinks for itself."""
    free = ["--model", "tiny", "--set", "replies=free"]
    out, given = tmp_path / "run", [*free, "--set", "warm_up.expert=random"]
    for command in (["--dry-run"], ["--out", str(out)]):
        assert main(["train", "kuhn_poker_thinking", *given, *command]) == 1
        told = "".join(capsys.readouterr())
        assert "`random` chooses, and does not say what it thought" in told
        assert "imitate a player that writes" in told
    assert not out.exists()
    scored = ["--model", "tiny", "--set", "warm_up.expert=random", "--dry-run"]
    assert main(["train", "kuhn_poker_thinking", *scored]) == 0
    writes, chooses = "model:tiny", "random"
    for settings in (
        {"warm_up.expert": writes, "warm_up.opponents": chooses},
        {"warm_up.expert": chooses, "roles.first.expert": writes, "roles.second.expert": writes},
        {"roles.first.expert": writes, "roles.second.expert": chooses},
    ):
        given = [part for key, name in settings.items() for part in ("--set", f"{key}={name}")]
        assert main(["train", "kuhn_poker_thinking", *free, "--dry-run", *given]) == 0


def test_a_game_names_files_beside_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From whatever folder it is trained, and by whatever game it is extended."""
    (tmp_path / "games").mkdir()
    chats = json.dumps({"messages": CHAT}) + "\n"
    (tmp_path / "games" / "chats.jsonl").write_text(chats, encoding="utf-8")
    game, more = tmp_path / "games" / "mine.yaml", tmp_path / "games" / "other.yaml"
    game.write_text(
        'game: mine\nextends: guess_in_words\ntrain: {warm_up: {expert: "file:chats.jsonl"}}\n',
        encoding="utf-8",
    )
    more.write_text("game: other\nextends: mine\n", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for file in ("../games/mine.yaml", "../games/other.yaml"):
        assert main(["train", file, "--model", "tiny", "--dry-run", "--verbose"]) == 0
        assert "games/chats.jsonl" in "".join(capsys.readouterr())
    (tmp_path / "games" / "chats.jsonl").unlink()
    assert main(["train", "../games/mine.yaml", "--model", "tiny", "--dry-run"]) == 1
    assert "mine.yaml:3:" in "".join(capsys.readouterr())


def test_chats_are_not_for_games_without_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"messages": CHAT}) + "\n", encoding="utf-8")
    expert = f"warm_up.expert=file:{file}"
    assert main(["train", "stag_hunt", "--model", "tiny", "--dry-run", "--set", expert]) == 1
    assert "no reply of this game is written" in "".join(capsys.readouterr())


def test_a_preset_that_the_game_overrules_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--set", "preset=ppo"]) == 0
    told = "".join(capsys.readouterr())
    assert "GD0716" in told
    assert "`--set baseline=critic`" in told
    assert main([*TRAIN, "--set", "preset=ppo", "--set", "baseline=critic"]) == 0
    assert "GD0716" not in "".join(capsys.readouterr())


def test_resumed_run_wants_the_same_file(tmp_path: Path) -> None:
    """Until the warm-up is done: then what was learned of the file is in the checkpoint."""
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"messages": CHAT}) + "\n", encoding="utf-8")
    game = gamedsl.load(ROOT / "games" / "guess_in_words.yaml").of("training")
    recipe = in_words.recipe_of(game, warm_up__expert=f"file:{file}", steps=1)
    policy = in_words.opened(game, recipe)
    begun = in_words.create(game, recipe, tmp_path / "begun", {}, policy.tokenizer, 1)
    whole, _ = in_words.run_of(game, recipe, tmp_path / "whole")
    assert begun.info()["imitated"] == fingerprints(recipe)
    resumed_job(begun.path)
    file.write_text(json.dumps({"messages": [*CHAT, ASKS, SAYS]}) + "\n", encoding="utf-8")
    with pytest.raises(TrainError, match="has changed, which the run imitates"):
        resumed_job(begun.path)
    resumed_job(whole.path, more=[override("steps", 2)])
