"""Games as tasks of Inspect, played by its own evaluation with its mock model."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from tests.peers import by_hand, running
from tests.peers.plays import GAMES, SEEDS, key_of, loaded, played

with running.needed("inspect"):
    from inspect_ai import eval as evaluate
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from gamedsl.export.inspect import game_task


def scripted(name: str) -> Any:
    """The mock model that follows the script of the play whose seed the call has."""

    def output(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        asked = [{"role": one.role, "content": one.text} for one in messages]
        text = played(name, config.seed).answers[key_of(asked)]
        made = ModelOutput.from_content("mock", text)
        made.usage = ModelUsage()  # counting tokens would download a tokenizer
        return made

    return get_model("mockllm/model", custom_outputs=output, memoize=False)


@pytest.mark.parametrize("name", GAMES)
def test_plays_agree_with_the_runtime(name: str, tmp_path: Path) -> None:
    """Prompts, replies, refusals, forfeits, payoffs and rewards of 50 samples, from the log."""
    task = game_task(loaded(name), plays=len(SEEDS))
    (made,) = evaluate(task, model=scripted(name), log_dir=str(tmp_path), display="none")
    log = read_eval_log(made.location)
    assert log.status == "success", log.error
    assert len(log.samples) == len(SEEDS)
    refused, scores = 0, {seat: [] for seat in loaded(name).ir.seats}
    for sample in log.samples:
        ours = played(name, sample.id)
        messages = [(one.role, one.text) for one in sample.messages]
        asked = []
        for turn in ours.turns:
            asked += [(one["role"], one["content"]) for one in turn.messages]
            asked.append(("assistant", turn.reply))
        assert messages == asked
        (score,) = sample.scores.values()
        for seat, reward in ours.rewards.items():
            found = score.value[seat]
            assert isnan(found) if reward is None else found == float(reward)
            if reward is not None:
                scores[seat].append(float(reward))
            paid = ours.payoffs[seat]
            assert score.metadata["payoffs"][seat] == (None if paid is None else str(paid))
        assert score.metadata["forfeits"] == ours.failures
        said = [(one["seat"], one["reason"]) for one in score.metadata["refused"]]
        assert said == ours.refused
        refused += len(ours.refused)
    assert refused
    means = {one.name: one.metrics["mean"].value for one in log.results.scores}
    for seat, values in scores.items():
        assert means[seat] == pytest.approx(sum(values) / len(values)), "void plays are left out"


def test_reply_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    label = loaded("kuhn_poker").env().reset(seed=0).decisions[0].labels[0]
    made = ModelOutput.from_content("mock", label, stop_reason="max_tokens")
    model = get_model("mockllm/model", custom_outputs=lambda *_: made, memoize=False)
    task = game_task(loaded("kuhn_poker"), plays=1)
    (log,) = evaluate(task, model=model, log_dir=str(tmp_path), display="none")
    (score,) = log.samples[0].scores.values()
    assert [one["reason"] for one in score.metadata["refused"]] == ["truncated"]


def test_package_is_a_task_that_inspect_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = running.exported("stag_hunt", "inspect", tmp_path / "package")
    monkeypatch.chdir(folder)
    (made,) = evaluate(
        "stag_hunt_inspect/task.py", model=scripted("stag_hunt"),
        task_args={"plays": 3}, log_dir=str(tmp_path / "logs"), display="none",
    )  # fmt: skip
    assert (made.status, len(made.samples)) == ("success", 3)
    running.build(folder, tmp_path / "bare")


def test_commands_of_a_package_run(tmp_path: Path) -> None:
    """`inspect eval` with the mock model, where nothing can be fetched, and Inspect's own log."""
    folder = running.exported("stag_hunt", "inspect", tmp_path / "package")
    _, play, logs = running.readme_commands(folder)
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    printed = running.run(play, folder, TIKTOKEN_CACHE_DIR=str(tmp_path / "empty"), **nowhere)
    assert "Samples:   2/  2" in printed
    (found,) = json.loads(running.run(logs, folder))
    assert found["task"] == "stag-hunt"
    log = read_eval_log(str(folder / found["name"]))
    forfeits = [sample.scores["gamedsl_rewards"].metadata["forfeits"] for sample in log.samples]
    assert forfeits == 2 * [{"hunter_1": "unknown", "hunter_2": "unknown"}]


def test_kuhn_by_hand_pays_alike(tmp_path: Path) -> None:
    """All thirty hands as samples of one evaluation; a reply is the next of its hand."""
    made = by_hand.module("kuhn_in_inspect")
    task = made.kuhn(len(by_hand.HANDS))
    for sample, (cards, _) in zip(task.dataset, by_hand.HANDS, strict=True):
        sample.metadata["cards"] = list(cards)
    said = [by_hand.WORDS[letter] for _, play in by_hand.HANDS for letter in play]
    outputs = [ModelOutput.from_content("mock", word) for word in said]
    for output in outputs:
        output.usage = ModelUsage()
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    (log,) = evaluate(
        task, model=model, log_dir=str(tmp_path), display="none", max_samples=1
    )  # fmt: skip
    assert log.status == "success", log.error
    paid = [list(sample.scores["chips"].value.values()) for sample in log.samples]
    assert paid == [by_hand.ours(*hand) for hand in by_hand.HANDS]
