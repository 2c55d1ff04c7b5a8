"""Draws in private, whose number follows from what is hidden: allowed where nobody who acts later
learns of it, and refused where somebody does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gamedsl.analysis.infoflow import check_information_flow
from gamedsl.compiler import Result, compile_file
from gamedsl.diagnostics import Problems
from gamedsl.engine.generated import Generated
from gamedsl.engine.kernel import Kernel
from gamedsl.engine.tabulated import Tabulated
from gamedsl.ir.game import GameIR
from gamedsl.runtime import Env
from gamedsl.sema.game import build_game
from gamedsl.sema.library import load_document
from tests.properties.information import DifferenceError, Witness
from tests.runtime.test_backends import TwinKernel

BLACKJACK = """\
game: blackjack
about: The player draws as often as it likes; then the dealer draws in private up to {limit}.
roles: [player]
types: {Card: 1..4}
state:
  deck: {bag: Card, copies: 2, seen_by: nobodySIZE}
  dealer: {list: Card, at_most: 8, seen_by: nobodySIZE}
  hand: 0
turns:
  - {draw: up, from: deck, seen_by: all}
  - {draw: hole, from: deck, seen_by: nobody}
  - {do: add up to dealer; add hole to dealer}
EARLY
  - until: move == stand or hand > 6
    at_most: {n: 3, then: go_on}
    turns:
      - {role: player, choose: move, from: [hit, stand]}
      - if: move == hit
        turns:
          - {draw: card, from: deck, seen_by: all}
          - {do: hand += card}
LATE
payoffs: -1 if hand > 6 else 1 if sum(dealer) > 6 else sign(hand - sum(dealer))
"""

DEALER = """\
  - while: sum(dealer) < 5
    turns:
      - {draw: more, from: deck, seen_by: READERS}
      - {do: add more to dealer}
"""


def blackjack(early: str = "", late: str = "", *, size: str = "", readers: str = "nobody") -> str:
    early, late = early.replace("READERS", readers), late.replace("READERS", readers)
    parts = {"SIZE": size, "EARLY\n": early, "LATE\n": late, "{limit}": "5"}
    text = BLACKJACK
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


def compiled(text: str, folder: Path) -> Result:
    path = folder / "blackjack.yaml"
    path.write_text(text, encoding="utf-8")
    return compile_file(path)


def unchecked(text: str, folder: Path) -> GameIR:
    """A game as it is before its flows are checked."""
    path = folder / "blackjack.yaml"
    path.write_text(text, encoding="utf-8")
    document = load_document(path, Problems())
    assert document is not None
    ir = build_game(document, None, Problems())
    assert ir is not None
    return ir


def codes(result: Result) -> list[str]:
    return [problem.code for problem in result.diagnostics]


def alike(result: Result) -> str:
    (found,) = [proof.grade for proof in result.proofs if proof.name == "told.alike"]
    return found


def last_draws(ir: GameIR, variable: str, engine: str) -> set[int]:
    """How often chance draws a variable in each of the plays of a game."""
    counts = set()
    waiting = [Env(ir, backend=engine).reset(chance="asked")]
    while waiting:
        episode = waiting.pop()
        if episode.done:
            counts.add(sum(step["step"] == variable for step in episode.transcript["steps"]))
            continue
        for number in range(len(episode.chance) or len(episode.decisions[0].legal)):
            after = episode.fork()
            if episode.chance:
                after.draw(number)
            else:
                asked = after.decisions[0]
                after.step({asked.seat: asked.legal[number]})
            waiting.append(after)
    return counts


HIDDEN = ", size: hidden"

ALLOWED = {
    "after the last decision": blackjack(late=DEALER),
    "before a decision, sizes hidden": blackjack(early=DEALER, size=HIDDEN),
    "openly, after the last decision": blackjack(late=DEALER, readers="all"),
}


@pytest.mark.parametrize("text", ALLOWED.values(), ids=ALLOWED)
def test_a_dealer_draws_in_private(text: str, tmp_path: Path) -> None:
    result = compiled(text, tmp_path)
    assert not codes(result)
    assert alike(result) == "enumerated"
    assert result.ir is not None
    assert last_draws(result.ir, "more", "interpreter") == {0, 1, 2}
    witness = Witness(result.ir)
    witness.tree(20_000)
    assert witness.repeated > 20


@pytest.mark.parametrize("text", ALLOWED.values(), ids=ALLOWED)
@pytest.mark.parametrize("make", [Generated, Tabulated])
def test_kernels_agree_on_private_draws(
    text: str, make: Callable[[GameIR], Kernel], tmp_path: Path
) -> None:
    result = compiled(text, tmp_path)
    assert result.ir is not None
    waiting, met = [TwinKernel(result.ir, make).start()], 0
    while waiting:
        twins = waiting.pop()
        met += 1
        for number in range(twins.outcome_count):
            after = twins.copy()
            after.draw(number)
            waiting.append(after)
        for ask in twins.asks:
            for name in ask.legal:
                after = twins.copy()
                after.choose([name])
                waiting.append(after)
    assert met > 500


AGAIN = "  - {role: player, choose: guess, from: [few, many]IF}\n"

REFUSED = {
    "who acts depends on their number": ("GD0440", blackjack(
        late=DEALER + AGAIN.replace("IF", ", if: size(dealer) > 2"), size=HIDDEN,
    )),
    "the options depend on their number": ("GD0440", blackjack(
        late=DEALER + AGAIN.replace("[few, many]", "list(k for k in 1..8 if k != size(deck))")
        .replace("IF", ""), size=HIDDEN,
    )),
    "asked in the loop": ("GD0440", blackjack(
        late=DEALER + "      - {role: player, choose: guess, from: [few, many]}\n", size=HIDDEN,
    )),
    "the deck's length is public": ("GD0445", blackjack(early=DEALER)),
    "the draws are seen": ("GD0442", blackjack(early=DEALER, readers="player", size=HIDDEN)),
    "their number is stored": ("GD0441", blackjack(
        early=DEALER, late="  - {do: hand += size(dealer)}\n" + AGAIN.replace("IF", ""),
        size=HIDDEN,
    )),
    "another round follows": ("GD0445", blackjack(late=DEALER).replace(
        "  - {draw: up", "  - repeat: 2\n    turns: &round\n  - {draw: up"
    )),
    "a view shows their number": ("GD0508", blackjack(early=DEALER, size=HIDDEN).replace(
        "turns:\n  - {draw: up", "view: [hand, size(deck)]\nturns:\n  - {draw: up"
    )),
}  # fmt: skip


def nested(text: str) -> str:
    """A text in which the steps after an anchor are those of a loop."""
    before, anchor, after = text.partition(" &round\n")
    if not anchor:
        return text
    body, payoffs, rest = after.partition("payoffs:")
    return "\n".join((before, *(f"    {line}" for line in body.splitlines()), payoffs + rest))


@pytest.mark.parametrize(("code", "text"), REFUSED.values(), ids=REFUSED)
def test_what_a_player_learns_is_refused(code: str, text: str, tmp_path: Path) -> None:
    assert code in codes(compiled(nested(text), tmp_path))


@pytest.mark.parametrize(
    "name", ["who acts depends on their number", "the deck's length is public"]
)
def test_what_is_refused_is_a_leak(name: str, tmp_path: Path) -> None:
    """Two histories that the player cannot tell apart differ in what it is asked or can see."""
    ir = unchecked(REFUSED[name][1], tmp_path)
    found = Problems()
    check_information_flow(ir, found)
    assert found.errors
    if name == "the deck's length is public":
        with pytest.raises(DifferenceError):
            Witness(ir).tree(20_000)
    result = compiled(REFUSED[name][1], tmp_path)
    assert alike(result) == "refuted"


def test_a_hidden_size_is_in_no_view(tmp_path: Path) -> None:
    for size in ("", HIDDEN):
        result = compiled(blackjack(size=size), tmp_path)
        assert result.ir is not None
        env = Env(result.ir)
        episode = env.reset(seed=0)
        view = episode.view("player")
        assert ("deck" in view.data["state"]) == (not size)
        assert ("deck" in view.text) == (not size)
        assert any("deck" in name for name in env.vector_names("player")) == (not size)
        assert len(view.vector) == len(env.vector_names("player"))


def test_a_hidden_size_changes_no_other_hash(tmp_path: Path) -> None:
    open, hidden = (compiled(blackjack(size=size), tmp_path).ir for size in ("", HIDDEN))
    assert open is not None
    assert hidden is not None
    assert open.rules_hash != hidden.rules_hash
