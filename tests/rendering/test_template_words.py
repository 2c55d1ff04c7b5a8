"""The words of templates: one table, from which checks, prompts, docs and `explain` come."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.compiler import compile_file
from gamedsl.prompting.template_evaluation import CompiledTemplate, RenderingBudget
from gamedsl.prompting.templates import FILTERS, LOOP, SCOPE, SLOTS, TESTS, Name, names_in

GAME = """
game: words
roles: [left, right]
params: {price: {plus: 2, minus: 1}}
state: {pot: 0}
turns:
  - {role: left, choose: call, from: [stag, hare]}
  - {role: right, choose: reply, from: [stag, hare]}
  - {role: left, choose: last, from: [stag, hare]}
payoffs: 1 if call == reply and last == call else pot
view: {left: [pot, call, reply]}
"""
KEYS = {"rules": "", "who": "right", "ask": "reply", "seen": "call", "view": "left"}


def prompts(texts: Mapping[str, str]) -> str:
    """Returns the section that gives slots these texts, each for one role or step."""
    lines = [
        f"  {slot}: {text!r}" if not KEYS[slot] else f"  {slot}: {{{KEYS[slot]}: {text!r}}}"
        for slot, text in texts.items()
    ]
    return "\n".join(["prompts:", *lines, ""]).replace("\\'", "''")


def errors(tmp_path: Path, texts: Mapping[str, str]) -> set[str]:
    """Returns the codes of errors about names in templates."""
    path = tmp_path / "words.yaml"
    quoted = {slot: text.replace("'", "\u0022") for slot, text in texts.items()}
    path.write_text(GAME + prompts(quoted), encoding="utf-8")
    return {
        d.code for d in compile_file(path).diagnostics if d.code.startswith(("GD0508", "GD051"))
    }


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("row", SCOPE, ids=lambda row: row.name)
def test_words_belong_to_their_slots(tmp_path: Path, row: Name, slot: str) -> None:
    found = errors(tmp_path, {slot: row.example}) - {"GD0519"}
    assert found == (set() if slot in row.slots else {"GD0515"})


def test_prompts_have_the_words_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, set[str]] = {}
    render = CompiledTemplate.render

    def noted(
        self: CompiledTemplate, names: Mapping[str, Any], budget: RenderingBudget | None = None
    ) -> str:
        text = render(self, names, budget)
        given[text.partition(":")[0]] = set(names)
        return text

    path = tmp_path / "words.yaml"
    said = {"seen": "{{ choice }}", "view": "{{ view.call }} {{ view.reply }}"}
    texts = {slot: f"{slot}: {said.get(slot, '')}" for slot in SLOTS}
    path.write_text(GAME + prompts(texts), encoding="utf-8")
    game = gamedsl.load(path)
    monkeypatch.setattr(CompiledTemplate, "render", noted)
    episode = game.env().reset(0)
    while not episode.done:
        (decision,) = episode.decisions
        assert decision.messages
        episode.step({decision.seat: "stag"})
    assert set(given) == set(SLOTS)
    for slot in SLOTS:
        later = {"reply", "last"} if slot == "ask" else set()
        assert given[slot] == names_in(slot, game.ir).keys() - later


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("GD0512", [row.name for row in SCOPE]),
        ("GD0515", [row.name for row in SCOPE]),
        ("GD0517", [*FILTERS, *TESTS, *LOOP]),
    ],
)
def test_explain_lists_the_words(
    capsys: pytest.CaptureFixture[str], code: str, names: list[str]
) -> None:
    assert main(["explain", code]) == 0
    told = capsys.readouterr().out.partition("\n## Right")[2]
    assert all(name in told for name in names)
