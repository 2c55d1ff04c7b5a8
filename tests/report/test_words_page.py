"""The page of a game in words: validity, lengths, refused replies, plays as conversations."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from runs import write_run
from test_page import page, words

import gamedsl
from gamedsl.runs.saved import open_saved
from gamedsl.storage import strict_json
from gamedsl.training.screen import measures
from gamedsl.training.summary import refusals, summarise
from gamedsl.view.report.policy import decision_keys
from gamedsl.view.report.run_data import MANY_TRANSCRIPTS, read_run

STEPS = [
    {"event": "step", "step": 1, "reward": {"guesser": 0.1}, "valid": {"guesser": 0.25},
     "reply_tokens": {"guesser": 40.0}, "invalid": {"missing": 40, "empty": 8}},
    {"event": "step", "step": 2, "reward": {"guesser": 0.4}, "valid": {"guesser": 0.75},
     "reply_tokens": {"guesser": 12.0}, "invalid": {"missing": 16}},
]  # fmt: skip


def plays(game: gamedsl.Game, texts: list[str]) -> str:
    lines = []
    for seed, text in enumerate(texts):
        episode = game.env(run_seed=3).reset(seed=seed)
        said = []
        while not episode.done:
            (decision,) = episode.decisions
            episode.step({decision.seat: text})
            said.append({"seat": decision.seat, "step": decision.step, "text": text})
        record = {"games": 1, "group": 0, **episode.transcript, "replies": said}
        lines.append(json.dumps(record) + "\n")
    return "".join(lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of a game in words, in which a reply was hostile."""
    game = gamedsl.load("guess_in_words")
    run = tmp_path / "words"
    (run / "transcripts").mkdir(parents=True)
    (run / "game").mkdir()
    for file in game.files:
        shutil.copyfile(file, run / "game" / file.name)
    start = {"event": "start", "step": 0, "model": "tiny"}
    end = {"event": "end", "step": 2, "summary": summarise(start, STEPS[1], first=STEPS[0])}
    lines = [start, *STEPS, end]
    (run / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    (run / "recipe.yaml").write_text("model: tiny\nsteps: 2\ngames: 16\nseed: 3\n")
    info = {"format": 1, "game": game.name, "file": str(game.files[0]), "params": {},
            "hash": game.hash, "model": "tiny", "seed": 3}  # fmt: skip
    (run / "run.json").write_text(json.dumps(info))
    texts = ["<script>alert(1)</script>", "I say <guess>5</guess>", '{"guess": 5}', "", "x"]
    (run / "transcripts" / "step-000002.jsonl").write_text(plays(game, texts))
    return run


def test_page_leads_with_the_valid_rate(folder: Path) -> None:
    said = words(page(folder))
    assert "valid replies 75% (in step 1 25%)" in said
    assert "why replies were refused last step all" in said
    assert "it has no answer of the form that is asked for 16 56" in said
    assert "Length of replies mean tokens" in said


def test_refused_replies_stand_verbatim_with_reasons(folder: Path) -> None:
    text = page(folder)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>alert(1)" not in text
    assert "Refused: " in text
    assert "<summary>prompt</summary>" in text


def test_a_failing_run_says_that_replies_were_refused() -> None:
    told = refusals(STEPS[0])
    assert told == (
        "In step 1 48 replies were refused: it has no answer of the form that is asked for (40); "
        "there is nothing in it (8). Valid replies: guesser 25%. A warm-up, or a longer one, "
        "teaches their form first: `warm_up.expert: random`."
    )
    assert told in summarise({}, STEPS[0])
    assert refusals({"step": 1, "invalid": {}}) == ""
    assert measures(STEPS[0]) == {"valid replies": 0.25, "reply tokens": 40.0}


def test_headline_has_scale_and_decisions_their_order(tmp_path: Path) -> None:
    game = gamedsl.load("kuhn_poker")
    tree = gamedsl.solve.tabulate(game.env())
    run = write_run(tmp_path / "kuhn", "kuhn_poker", {i.key: i.actions[0] for i in tree.info_sets})
    assert "; uniform play 0.458" in words(page(run))
    steps = [key.partition(" ")[0] for key in decision_keys(read_run(run))]
    assert list(dict.fromkeys(steps)) == [
        "first:open", "second:reply", "second:answer", "first:answer_2",
    ]  # fmt: skip


def test_settings_that_are_usual_are_folded(tmp_path: Path) -> None:
    names = {"hunter_1:move": "hare", "hunter_2:move": "hare"}
    text = page(write_run(tmp_path / "run", "stag_hunt", names))
    shown, folded = text.split("Recipe</h3>")[1].split("<details>")
    assert "<td>tiny</td>" in shown
    assert "games" in folded


def many(folder: Path, count: int) -> None:
    file = folder / "transcripts" / "step-000002.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[number % len(lines)] for number in range(count)))


def test_ten_thousand_transcripts_open_without_being_parsed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(folder, 10_000)
    parsed = []

    def counted(text: str | bytes) -> object:
        parsed.append(str(text))
        return strict_json.parse(text)

    monkeypatch.setattr("gamedsl.runs.saved.parse", counted)
    start = time.process_time()
    run = read_run(folder, with_game=False)
    assert time.process_time() - start < 2
    assert len(run.transcripts) == MANY_TRANSCRIPTS
    assert sum('"steps"' in text for text in parsed) == MANY_TRANSCRIPTS
    assert run.transcripts[0]["share"] == pytest.approx(1 / 10_000)


def test_lines_know_their_games_and_refusals(folder: Path) -> None:
    saved = open_saved(folder)
    (file,) = saved.transcripts()
    lines = saved.transcript_lines(file)
    records = saved.transcript(file, lines)
    assert [line.games for line in lines] == [record["games"] for record in records]
    refused = [bool(record["mistakes"] or record["failures"]) for record in records]
    assert [line.refused for line in lines] == refused


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
def test_the_script_steps_through_the_training(folder: Path) -> None:
    page(folder)
    report = folder / "report.html"
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    shown = subprocess.run(
        [*command, report.as_uri()], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert 'type="range"' in shown
    assert shown.count('class="readout"') == shown.count("<svg viewBox")
