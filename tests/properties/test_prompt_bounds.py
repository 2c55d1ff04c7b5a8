"""No prompt is longer than the form of its game says, whatever is played."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, event, given, settings
from hypothesis.strategies import integers

import gamedsl
from gamedsl.analysis.history_prompts import sample_book, text_of
from gamedsl.analysis.prompt_bounds import PromptBounds
from gamedsl.bounds.programs import UnboundedError
from gamedsl.compiler import compile_file
from tests.language.test_proofs import Words
from tests.properties.strategies import game_files
from tests.properties.walking import load, nodes
from tests.shipped import CLOSED

SILLY = 10
"""How many times as long as the longest that is met no bound of a shipped game is."""

some = settings(
    max_examples=settings().max_examples * 2 // 3, phases=[Phase.explicit, Phase.generate]
)


def bounds(game: gamedsl.Game) -> PromptBounds:
    book = sample_book(game.ir)
    assert book is not None
    return PromptBounds(game.ir, book)


def longest_met(game: gamedsl.Game, plays: int) -> int:
    """Of the prompts of plays, under labels of several runs; each is held to the bound of its seat
    and step. In every other play all choose at random, in the others the last option of all, since
    random plays of some games are soon over."""
    longest, bound = 0, bounds(game)
    steps = {step.id: step for step in game.ir.steps}
    most = {(s, step.id): bound.prompt(s, step) for step in steps.values() for s in step.actors}
    for number in range(plays):
        episode, random = game.env(run_seed=number).reset(number), Random(number)
        while not episode.done:
            asked = episode.decisions
            for decision in asked:
                length = len(text_of(decision.messages))
                assert length <= most[decision.seat, decision.step], text_of(decision.messages)
                longest = max(longest, length)
            names = [d.legal[-1] if number % 2 else random.choice(d.legal) for d in asked]
            moves = zip(asked, map(gamedsl.Action, names), strict=True)
            episode.step({decision.seat: move for decision, move in moves})
    assert bound.most == max(most.values())
    return longest


@pytest.mark.parametrize("name", CLOSED)
def test_shipped_games_have_tight_prompt_bounds(name: str) -> None:
    game = gamedsl.load(name)
    longest = longest_met(game, 4)
    assert longest <= bounds(game).most <= SILLY * longest


PARTLY_SHOWN = """\
game: partly_shown
roles: [ann, bob]
types: {Card: {rank_of_the_card: 1..2, suit: [s, h]}}
turns:
  - {role: ann, choose: pick, from: Card, seen_by: {rank_of_the_card: bob}}
  - {role: bob, choose: last, from: [a, b]}
payoffs: 1 if last == a else 0
"""


def test_partly_shown_choices_are_bounded() -> None:
    game = load(PARTLY_SHOWN)
    assert longest_met(game, 4) == bounds(game).most


NARROWED = (
    "bargaining", "connect_four", "goofspiel", "information_cascade", "iterated_prisoners_dilemma",
    "liars_dice", "repeated_stag_hunt", "small_hanabi",
)  # fmt: skip


@pytest.mark.parametrize("name", NARROWED)
def test_windows_on_shipped_games_have_a_bound(name: str, tmp_path: Path) -> None:
    path = tmp_path / "narrow.yaml"
    path.write_text(f"game: narrow\nextends: {name}\nview: null\nhistory: {{last: 1}}\n")
    if not gamedsl.load(name).ir.view:
        path.write_text(path.read_text().replace("view: null\n", ""))
    game = gamedsl.load(path)
    assert longest_met(game, 3) <= bounds(game).most


@pytest.mark.parametrize("name", ["centipede", "commons", "repeated_prisoners_dilemma"])
def test_bound_is_tight_without_hidden_information(name: str) -> None:
    """Among these are loops, a view, and joint choices: a line more or less would show."""
    game = gamedsl.load(name)
    if name == "commons":
        assert longest_met(game, 20) == bounds(game).most
        return
    found = {proof.name: proof for proof in compile_file(name).proofs}["prompts.length"]
    assert found.grade == "enumerated"
    assert found.claim == f"the longest prompt has {bounds(game).most:,} characters"


@some
@given(game_files(), integers(0, 4))
def test_generated_games_stay_within_their_bound(text: str, last: int) -> None:
    """With all of their history, or the last turns alone."""
    windowed = last and not re.search(r"^(view|history):", text, re.M)
    game = load(f"{text.rstrip()}\nhistory: {{last: {last}}}\n" if windowed else text)
    bound = bounds(game)
    steps = {step.id: step for step in game.ir.steps}
    most: dict[tuple[str, str], int | None] = {}
    env = game.env(run_seed=3)
    for node in nodes(env, 150):
        for decision in node.episode.decisions:
            place = decision.seat, decision.step
            if place not in most:
                try:
                    most[place] = bound.prompt(decision.seat, steps[decision.step])
                except UnboundedError as error:
                    most[place] = None
                    event(f"no bound: {error}")
            limit, told = most[place], text_of(decision.messages)
            assert limit is None or len(told) <= limit, told


def test_tokens_are_bounded_by_bytes() -> None:
    found = {proof.name: proof for proof in compile_file("bargaining", tokenizer=Words()).proofs}
    bound, met = found["prompts.length"], found["prompts.length.met"]
    assert (bound.grade, met.grade) == ("proved", "sampled")
    around = len(Words().render((("system", ""), ("user", ""))))
    most = bounds(gamedsl.load("bargaining")).most + around
    assert bound.claim == f"a prompt has at most {most} tokens"
    assert "at least one byte" in bound.extent


# templates

CARDS = """game: cards
params: {price: 3/2, names: [short, a_longer_one], fee: {small: 7, large: 12345}}
roles: [ann, bob]
turns:
  - {draw: card, from: [two, eleven, seven], seen_by: ann}
  - repeat: 3
    turns: [{role: all, choose: bid, from: [low, middling, high]}]
  - {role: ann, choose: last, from: [stop, go_on]}
payoffs: 0
prompts:
"""

SLOTS = {
    "rules": "rules: 'Pay {{ price }} to {{ roles | join(\" or \") }}. {{ names | last | upper }}'",
    "entries": "rules: 'From {{ fee.small }} to {{ fee[\"large\"] }}.'",
    "loop": "rules: '{% for r in roles %}{{ loop.index }}) {{ r }}{% endfor %}'",
    "who": "who: {ann: 'You, {{ me }}, {{ other | title }}.', bob: '{{ others }}'}",
    "seen": "seen: '{{ actor | upper }}: {{ choice }}!'",
    "options": "ask: '{% for o in options %}<{{ o }}>{% if not loop.last %} or {% endif %}"
    "{% endfor %}'",
    "events": "ask: '{% for e in seen %}{{ e.actor }} {{ e.step }} {{ e.choice }};{% endfor %}"
    ' {{ seen | length }} {{ options | join(", ") }}\'',
    "branches": 'ask: \'{% if seen | length > 2 %}{% set x = "many" %}{% else %}'
    '{% set x = options | first %}{% endif %}{{ x }} {{ "odd" if seen | length is odd else '
    'options | last }} {{ options | join(" ") }} {{ -price * 2 + 1 }}\'',
}


@pytest.mark.parametrize("slot", SLOTS)
def test_templates_have_a_bound(slot: str) -> None:
    game = load(f"{CARDS}  {SLOTS[slot]}\n")
    longest = longest_met(game, 60)
    assert longest <= bounds(game).most <= 1.6 * longest


@pytest.mark.parametrize("slot", ["rules", "entries", "loop", "who"])
def test_plain_templates_have_exact_bounds(slot: str) -> None:
    game, bare = load(f"{CARDS}  {SLOTS[slot]}\n"), load(CARDS.removesuffix("prompts:\n"))
    assert bounds(game).most - longest_met(game, 60) == bounds(bare).most - longest_met(bare, 60)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            f"{CARDS}  ask: '{{{{ (seen | length) * 2 }}}} {{{{ options }}}}'\n",
            "a template computes with what only a play tells",
        ),
        (
            "game: grows\nroles: [a, b]\nstate: {n: 1}\nturns:\n  - repeat: 5\n    turns:\n"
            "      - {do: n = n * n + 1}\n      - {show: n, as: what}\n"
            "      - {role: all, choose: move, from: [x, y]}\npayoffs: 0\n",
            "how many digits a whole number has",
        ),
    ],
)  # fmt: skip
def test_what_has_no_bound_says_why(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "game.yaml"
    path.write_text(text)
    result = compile_file(path, histories=10)
    found = {proof.name: proof for proof in result.proofs}
    assert found["prompts.length"].grade == "undecided"
    assert why in found["prompts.length"].extent
    assert found["prompts.length.met"].grade == "sampled"
