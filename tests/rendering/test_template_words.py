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
types: {Town: [mill, harbor]}
state: {pot: 0}
turns:
  - {role: left, choose: call, from: [stag, hare]}
  - repeat: 1
    count: round
    turns:
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
        later = {"reply", "last", "round"} if slot == "ask" else set()  # no text names the round
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


SKIPPED = """
game: skipped
roles: [ann, bob]
turns:
  - repeat: 2
    turns:
      - {role: ann, say: talk, max_tokens: 9}
      - {role: bob, choose: move, from: [a, b]}
  - {role: ann, say: extra, max_tokens: 9, if: move == a}
  - {role: bob, choose: last, from: [c, d]}
payoffs: 0
on_invalid: {then: skip, pay: -1}
prompts:
  seen:
    talk: "{% if choice is none %}Ann was silent.{% else %}Ann: {{ choice }}.{% endif %}"
    move: "Bob did {% if choice is none %}nothing{{ choice }}{% else %}{{ choice }}{% endif %}."
  ask:
    move: "{% if talk is none %}Nothing: {% endif %}{{ talk }} {{ options | join }}"
    last: "{% if extra is none %}No more.{% endif %} {{ options | join }}"
"""


def test_a_skipped_reply_is_none(tmp_path: Path) -> None:
    path = tmp_path / "skipped.yaml"
    path.write_text(SKIPPED.lstrip(), encoding="utf-8")
    episode = gamedsl.load(path).env().reset()
    told = []
    for replies in ({"ann": ""}, {"bob": "neither"}, {"ann": "hello"}, {"bob": "b"}):
        (asked,) = episode.decisions
        told.append(asked.messages[-1][1])
        episode.step(replies)
    assert "Ann was silent." in told[1]
    assert "Nothing: …" in told[1]
    assert "Bob did nothing." in told[2]
    assert "Ann: hello." in told[3]
    assert "hello ab" in told[3]
    assert "No more. cd" in episode.decisions[0].messages[-1][1]


ROUNDS = """
game: rounds
roles: [ann, bob]
turns:
  - {draw: coin, from: [heads, tails], seen_by: ann}
  - repeat: 2
    count: outer
    turns:
      - repeat: 2
        count: inner
        turns:
          - {role: ann, say: talk, max_tokens: 9}
          - {role: bob, choose: move, from: [a, b]}
payoffs: 0
prompts:
  ask: {talk: "Round {{ outer }}, {{ inner }} of 2.", move: "{{ inner }}? {{ options | join }}"}
on_invalid: {then: forfeit, pay: -1}
"""


def test_questions_name_the_passes_of_their_loops(tmp_path: Path) -> None:
    path = tmp_path / "rounds.yaml"
    path.write_text(ROUNDS.lstrip(), encoding="utf-8")
    episode, said = gamedsl.load(path).env().reset(seed=0), list[list[str]]()
    while not episode.done:
        (asked,) = episode.decisions
        said.append([text.splitlines()[-2] for role, text in asked.messages if role == "user"])
        episode.step({asked.seat: "hm" if asked.seat == "ann" else "a"})
    rounds = [f"Round {outer}, {inner} of 2." for outer in (1, 2) for inner in (1, 2)]
    assert said[::2] == [rounds[:many] for many in (1, 2, 3, 4)]
    assert said[7] == ["1? ab", "2? ab", "1? ab", "2? ab"]


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ('move: "{{ inner }}?', 'move: "{{ inner.ann }}?', {"GD0512"}),
        ('{talk: "Round {{ outer }}', '{talk: "Round {{ other_one }}', {"GD0512"}),
        (
            "        count: inner\n",
            "        count: inner\n        until: inner == 1 and coin == heads\n",
            {"GD0440", "GD0508"},  # bob would learn the coin, by being asked and by the count
        ),
        (
            "payoffs: 0\nprompts:\n  ask: {",
            "  - {role: bob, choose: last, from: [a, b]}\npayoffs: 0\nprompts:\n"
            '  ask: {last: "{{ inner }} {{ options | join }}", ',
            {"GD0514"},
        ),
        ("on_invalid", "view: [coin]\non_invalid", {"GD0508"}),
    ],
)
def test_counts_that_a_question_cannot_name(
    tmp_path: Path, old: str, new: str, codes: set[str]
) -> None:
    path = tmp_path / "rounds.yaml"
    assert old in ROUNDS
    path.write_text(ROUNDS.lstrip().replace(old, new), encoding="utf-8")
    assert {d.code for d in compile_file(path).diagnostics if d.severity == "error"} == codes


def test_shown_none_is_none(tmp_path: Path) -> None:
    """What was shown as none is none to a template, and a value after that."""
    (tmp_path / "game.yaml").write_text(
        "game: standing\nroles: [ann, bob]\nstate: {high: {of: 0..9 or none}}\n"
        "turns:\n  - each: cycle(roles)\n    at_most: {n: 2, then: end}\n    turns:\n"
        "      - {show: high, as: standing}\n      - {choose: bid, from: [1, 2]}\n"
        "      - do: high = bid\npayoffs: 0 if high == none else high\nprompts:\n  ask:\n"
        "    bid: \"{{ 'Begin' if standing is none else standing }}, {{ options | join(' ') }}\"\n",
        encoding="utf-8",
    )
    episode = gamedsl.load(tmp_path / "game.yaml").env().reset()
    ends = []
    while not episode.done:
        (decision,) = episode.decisions
        ends.append(decision.messages[-1][1].splitlines()[-1])
        episode.step({decision.seat: decision.labels[0]})
    assert ends == ["Begin, 1 2", "1, 1 2"]
