"""How long prompts can get, in tokens of the model, is known before anything is trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gamedsl.cli import CLEAN, PROBLEMS, main
from gamedsl.diagnostics import Problems
from gamedsl.policies.hf import HFPolicy
from gamedsl.runtime import Game
from gamedsl.training.context_length import Context, check_context, largest
from gamedsl.training.errors import TrainError
from tests.train.in_words import opened, recipe_of

STORY = """
game: story
roles: [ann, bob]
turns:
  - {{draw: place, from: [harbour, forest], seen_by: all}}
  - repeat: {times}
    turns: [{{each: roles, say: line, max_tokens: 30}}]
payoffs: 1
on_invalid: {{then: skip, pay: 0}}
prompts: {{rules: ""}}
"""
WINDOW = "history: {ann: {last: 4}, bob: {last: 4}}\n"


def _spoken(game: Game, policy: HFPolicy) -> int:
    """The most tokens of a prompt and its reply where every reply is as long as it may be."""
    most, episode = 0, game.env(tokenizer=policy.tokenizer).reset(seed=7)
    while not episode.done:
        (decision,) = episode.decisions
        most = max(most, len(policy.tokenizer.converse(decision.messages).ids) + 30)
        text = "word " * 5 + "dog."  # 29 tokens, and the end
        assert policy.tokenizer.count(text) == 29
        episode.step({decision.seat: text})
    return most


@pytest.mark.parametrize("window", ["", WINDOW], ids=["whole", "window"])
@pytest.mark.parametrize("times", [1, 3, 12])
def test_the_most_is_what_the_longest_replies_make(
    compiled: Callable[[str], Game], times: int, window: str
) -> None:
    game = compiled(STORY.format(times=times) + window)
    recipe = recipe_of(game)
    policy = opened(game, recipe)
    found = largest(game, recipe, policy)
    assert found is not None
    assert 0.95 * found.most < _spoken(game, policy) <= found.most
    told = found.describe()
    assert f"about {found.most:,} tokens at most, {found.replies:,} in earlier replies" in told
    assert told.endswith("of 4,096 that the model reads")


def test_only_what_the_policy_is_asked_counts(compiled: Callable[[str], Game]) -> None:
    game = compiled(
        "game: pair\nroles: [ann, bob]\n"
        "turns:\n  - {role: ann, say: one, max_tokens: 9}\n"
        "  - {role: bob, say: two, max_tokens: 500}\npayoffs: 1\n"
        "on_invalid: {then: skip, pay: 0}\n"
    )
    whole = recipe_of(game)
    ann = recipe_of(game, **{"roles.bob.player": "random"})
    policy = opened(game, whole)
    seats = [largest(game, recipe, policy) for recipe in (whole, ann)]
    assert [(one.seat, one.room) for one in seats if one] == [("bob", 500), ("ann", 9)]


def test_unbounded_loop_has_no_context_bound() -> None:
    told = Context("ann", "line", 300, None, 30, 4096, "tiny", 10**6).describe()
    assert told == "330 tokens in 4 random games, and no bound, of 4,096 that the model reads"


def test_it_is_refused_where_the_model_reads_less(
    compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = compiled(STORY.format(times=3))
    recipe = recipe_of(game)
    policy = opened(game, recipe)
    found = largest(game, recipe, policy)
    assert found is not None
    for longest, codes in ((found.most, []), (found.most - 1, ["GD0717"])):
        monkeypatch.setattr(policy, "longest_of", lambda adapter, most=longest: most)
        problems = Problems()
        check_context(game, recipe, policy, problems)
        assert [one.code for one in problems.found] == codes


@pytest.mark.parametrize(
    ("window", "help"),
    [
        ("", "give the role a window (`history: {ann: {last: 4}}`), lower"),
        ("history: {ann: {last: 3}}", "give the role a shorter window (`history: {ann: {last: 1}"),
        ("history: {ann: {last: 20}}", "give the role a shorter window (`history: {ann: {last: 4}"),
        ("history: {ann: {last: 1}}", "lower `max_tokens`"),
        ("history: {ann: {since: line}}", "lower `max_tokens`"),
    ],
)
def test_the_help_shortens_the_window_of_the_file(
    window: str, help: str, compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = compiled(
        "game: talk\nroles: [ann, bob]\nturns:\n  - repeat: 30\n    turns:\n"
        "      - {role: ann, say: line, max_tokens: 30}\n"
        "  - {role: bob, choose: end, from: [a, b]}\npayoffs: 1\n"
        f"on_invalid: {{then: skip, pay: 0}}\n{window}\n"
    )
    recipe = recipe_of(game, **{"roles.bob.player": "random"})
    policy, problems = opened(game, recipe), Problems()
    monkeypatch.setattr(policy, "longest_of", lambda adapter: 1)
    check_context(game, recipe, policy, problems)
    (found,) = problems.found
    assert found.help.startswith(help)


@pytest.mark.parametrize("dry", [True, False])
def test_run_beyond_model_context_is_refused(
    dry: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a window the same game begins."""
    monkeypatch.setattr(HFPolicy, "longest_of", lambda self, adapter: 800)
    size = ["--set", "games=2", "--set", "group_size=2", "--steps", "1", "--model", "tiny"]
    for window, code in (("", PROBLEMS), (WINDOW, CLEAN)):
        file, out = tmp_path / "story.yaml", tmp_path / f"run{code}"
        file.write_text(STORY.format(times=6).lstrip() + window)
        mode = ["--dry-run"] if dry else ["--out", str(out)]
        assert main(["train", str(file), *size, *mode, "--format", "concise"]) == code
        printed = capsys.readouterr()
        assert ("GD0717" in printed.out + printed.err) == (code == PROBLEMS)
        assert out.exists() == (code == CLEAN and not dry)


def test_context_without_room_for_its_keys_is_refused(
    compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = compiled(STORY.format(times=3))
    policy = opened(game, recipe_of(game))
    found = largest(game, recipe_of(game), policy)
    assert found is not None
    monkeypatch.setattr(policy, "cache_tokens", lambda adapter: 2 * found.most + 1)
    fits = check_context(game, recipe_of(game), policy, Problems())
    assert fits is not None
    assert fits.rows == 2
    monkeypatch.setattr(policy, "cache_tokens", lambda adapter: found.most - 1)
    with pytest.raises(TrainError, match=f"{found.most:,} tokens.*{found.most - 1:,}") as caught:
        check_context(game, recipe_of(game), policy, Problems())
    assert "raise `kv_cache`" in caught.value.fix


def test_dry_run_says_how_many_rows_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "story.yaml"
    file.write_text(STORY.format(times=3).lstrip())
    size = ["--set", "games=2", "--set", "group_size=2", "--steps", "1", "--model", "tiny"]
    for gib, said, fits in (
        ("0.01", "0.01 GiB: room for", True),
        ("0.0001", "kv_cache", False),
    ):
        command = ["train", str(file), *size, "--dry-run", "--set", f"kv_cache={gib}"]
        assert (main(command) == CLEAN) == fits
        told = capsys.readouterr()
        assert said in told.out + told.err


def test_resumed_run_has_the_room_that_it_had(
    compiled: Callable[[str], Game], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gamedsl.policies.kv_room.free_memory", lambda _: 1 << 30)
    file, out = tmp_path / "story.yaml", tmp_path / "run"
    file.write_text(STORY.format(times=3).lstrip())
    size = ["--set", "games=2", "--set", "group_size=2", "--model", "tiny"]
    assert main(["train", str(file), *size, "--steps", "1", "--out", str(out)]) == CLEAN
    assert json.loads((out / "run.json").read_text())["kv_cache"] == {"tiny": 0.125}
    monkeypatch.setattr("gamedsl.policies.kv_room.free_memory", lambda _: 1 << 36)
    rooms: list[int] = []
    update = HFPolicy.token_backward

    def watched(self: HFPolicy, *given: object) -> object:
        rooms.append(self.kv_bytes)
        return update(self, *given)

    monkeypatch.setattr(HFPolicy, "token_backward", watched)
    assert main(["train", "--resume", str(out), "--steps", "2"]) == CLEAN
    assert set(rooms) == {1 << 27}
