"""What prompts leave out of a long history, and how long they can get."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gamedsl
from gamedsl.analysis.history_prompts import sample_book
from gamedsl.analysis.prompt_bounds import PromptBounds
from gamedsl.compiler import compile_file
from gamedsl.prompting.history_bounds import most_reply_tokens
from gamedsl.runtime import Action, Decision, Env, Game
from gamedsl.solve.bisimulation import merging

TALK = """
game: talk
roles: [ann, bob]
turns:
  - {draw: topic, from: [cats, dogs], seen_by: all}
  - {role: bob, say: creed, max_tokens: 3}
  - repeat: 5
    turns:
      - {each: roles, say: word, max_tokens: 5}
      - {role: ann, say: notes, max_tokens: 9, seen_by: owner}
      - {role: all, choose: go, from: [x, y]}
payoffs: 0
on_invalid: {then: forfeit, pay: -1}
"""

DILEMMA = """
game: dilemma
roles: [row, column]
turns:
  - repeat: ROUNDS
    turns:
      - {role: all, choose: move, from: [c, d]}
      - {pay: payoffs, value: 2 if move.other == c else 0}
"""


def load(tmp_path: Path, text: str) -> Game:
    path = tmp_path / f"{text.split()[1]}.yaml"
    path.write_text(text, encoding="utf-8")
    return gamedsl.load(path)


def played(env: Env, seed: int) -> Iterator[Decision]:
    """All decisions of an episode; what is said is one word that nobody said before."""
    episode, draw, said = env.reset(seed), random.Random(seed), 0
    while not episode.done:
        replies = {}
        for decision in episode.decisions:
            yield decision
            said += 1
            replies[decision.seat] = f"w{said}" if decision.said else draw.choice(decision.labels)
        episode.step(replies)


def asked(env: Env, seat: str, step: str) -> list[list[tuple[str, str]]]:
    return [list(d.messages) for d in played(env, 0) if (d.seat, d.step) == (seat, step)]


def test_chat_window_keeps_last_turns(tmp_path: Path) -> None:
    env = load(tmp_path, TALK + "history: {bob: {last: 2}}\n").env()
    whole = load(tmp_path, TALK).env()
    # bob is asked for his creed, then twice a round: his third word is his sixth turn
    told, all_told = asked(env, "bob", "word")[2], asked(whole, "bob", "word")[2]
    assert told[0] == all_told[0]
    assert told[1][1].startswith(f"You are bob.\ntopic: {env.reset(0).seen('bob')[0].name}.\n")
    assert "bob said: w1\n" in told[1][1], "his creed was said once, outside of loops"
    assert told[2:] == all_told[-5 + 1 :]
    assert told[1][1].endswith(all_told[-5][1]), "the first turn of the two is told whole"
    assert asked(env, "ann", "word") == asked(whole, "ann", "word"), "ann has no window"


def test_a_summary_stands_for_what_came_before_it(tmp_path: Path) -> None:
    env = load(tmp_path, TALK + "history: {ann: {since: notes}}\n").env()
    first, second, *_ = asked(env, "ann", "go")
    last = asked(env, "ann", "go")[-1]
    assert [role for role, _ in first] == ["system", "user", "assistant", "user"]
    assert [role for role, _ in second] == [role for role, _ in last] == [r for r, _ in first]
    text = "\n".join(content for _, content in last)
    creed, notes = "bob said: w1", last[2][1]
    assert creed in text
    assert notes.startswith("w")
    assert text.count("w") - creed.count("w") == text.replace(creed, "").count("w")
    said = [word for word in text.split() if word[0] == "w" and word[1:].isdigit()]
    assert said == ["w1", notes], "the words of all rounds are gone, and the notes stand for them"
    between = asked(env, "ann", "notes")[-1]
    words = " ".join(content for _, content in between).split()
    assert sum(word[0] == "w" and word[1:].isdigit() for word in words) == 4


def test_notes_that_were_not_taken_stand_for_nothing(tmp_path: Path) -> None:
    text = TALK.replace("{then: forfeit, pay: -1}", "{then: skip, pay: -1}")
    env = load(tmp_path, text + "history: {ann: {since: notes}}\n").env()
    episode = env.reset(0)
    while not episode.done:
        decisions = episode.decisions
        if decisions[0].step == "go":
            assert len(decisions[0].messages) == 2 + 2 * len(decisions[0].before)
        invalid = "" if decisions[0].step == "notes" else "word"
        episode.step({d.seat: invalid if d.said else d.labels[0] for d in decisions})


def test_single_message_starts_at_last_choices(tmp_path: Path) -> None:
    game = load(tmp_path, DILEMMA.replace("ROUNDS", "4") + "history: {last: 2}\n")
    for seat in ("row", "column"):
        *_, decision = (d for d in played(game.env(), 3) if d.seat == seat)
        told = [line for line in decision.messages[1][1].splitlines() if " chose " in line]
        seen = [f"{e.seat} chose {e.name}." for e in decision.seen]
        assert told == seen[-4:], "both choices of the last two rounds, whoever is first in order"


DARK = """
game: dark
roles: [x, o]
state:
  board: {grid: [2, 2], of: role or none, seen_by: nobody}
  known: {per: role, grid: [2, 2], of: role or none, seen_by: owner}
view: [known.me]
turns:
  - {draw: wind, from: [north, south], seen_by: all}
  - repeat: 2
    turns:
      - each: roles
        turns:
          - {choose: cell, from: empty(known.me), seen_by: owner}
          - {do: "board[cell] = me", if: "board[cell] == none"}
          - {show: "board[cell]", as: marked_by, seen_by: owner}
          - {do: "known.me[cell] = marked_by"}
payoffs: count(board, me) - count(board, other)
"""


def test_a_window_stands_beside_a_view(tmp_path: Path) -> None:
    said = "prompts: {seen: {marked_by: 'That cell is now of {{ choice }}.'}}\n"
    game = load(tmp_path, DARK + "history: {last: 1}\n" + said)
    episode = game.env().reset(0)
    (first,) = episode.decisions
    assert "wind: " in first.messages[1][1], "nothing was chosen before"
    for _ in range(3):
        (decision,) = episode.decisions
        episode.step({decision.seat: "0,0" if "0,0" in decision.labels else "0,1"})
    (decision,) = episode.decisions
    assert decision.messages[1][1].startswith(
        "your known:\n    0 1\n  0 x .\n  1 . .\no chose 0,0.\nThat cell is now of x.\nYou are o.\n"
    )


def test_history_for_all_spares_viewers(tmp_path: Path) -> None:
    text = DARK.replace("view: [known.me]", "view: {x: [known.me]}") + "history: {last: 1}\n"
    assert set(load(tmp_path, text).ir.windows) == {"o"}
    both = text.replace("{last: 1}", "{x: {last: 1}, o: {last: 1}}")
    assert set(load(tmp_path, both).ir.windows) == {"x", "o"}


def test_seen_templates_need_told_events(tmp_path: Path) -> None:
    seen = DARK + "prompts: {seen: {marked_by: 'It is of {{ choice }}.'}}\n"
    path = tmp_path / "dark.yaml"
    path.write_text(seen, encoding="utf-8")
    assert [d.code for d in compile_file(path).diagnostics if d.severity == "error"] == ["GD0511"]


def test_referees_read_seen_templates_beside_views(tmp_path: Path) -> None:
    """A view is of roles alone: a referee is told events in any game."""
    game = load(
        tmp_path,
        """
game: seen_by_a_judge
roles: [x]
referees: [judge]
state: {kept: 0}
view: [kept]
turns:
  - {role: x, choose: n, from: 1..3}
  - {role: judge, choose: fine, from: [yes, no]}
payoffs: 1 if fine == yes else 0
prompts: {seen: {n: "It is {{ choice }}."}}
""",
    )
    episode = game.env().reset(seed=0)
    episode.step({"x": Action("2")})
    assert "It is 2." in episode.decisions[0].messages[-1][1]


def test_a_window_is_rendering_and_no_rule(tmp_path: Path) -> None:
    whole = load(tmp_path, DILEMMA.replace("ROUNDS", "3"))
    narrow = load(tmp_path, DILEMMA.replace("ROUNDS", "3") + "history: {last: 1}\n")
    assert whole.ir.rules_hash == narrow.ir.rules_hash
    assert whole.ir.rendering_hash != narrow.ir.rendering_hash


def test_what_a_window_merges_is_found_by_enumeration(tmp_path: Path) -> None:
    """With one round back, histories with the same last round have one prompt: of 1 + 4 + 16
    information sets of a seat there are 1 + 4 prompts. Two rounds back tell all three rounds."""
    game = load(tmp_path, DILEMMA.replace("ROUNDS", "3") + "history: {last: 1}\n")
    found = merging(game.env())
    assert (found.information_sets, found.prompts) == (2 * 21, 2 * 5)
    assert not found.lossless, "the last of three rounds is not the second"
    game = load(tmp_path, DILEMMA.replace("ROUNDS", "3") + "history: {last: 2}\n")
    assert (found := merging(game.env())).prompts == found.information_sets


@pytest.mark.parametrize("window", ["{last: 1}", "{last: 3}", "all"])
def test_bounds_of_one_message_are_reached(tmp_path: Path, window: str) -> None:
    """The bound by the form of the program is the longest prompt, as enumeration has it."""
    most, longest = lengths(load(tmp_path, DILEMMA.replace("ROUNDS", "4") + f"history: {window}\n"))
    assert most == longest


@pytest.mark.parametrize("turns", [1, 3])
def test_bounds_count_a_window_beside_a_view(tmp_path: Path, turns: int) -> None:
    view = DILEMMA.replace("ROUNDS", "4") + "view: [me]\n"
    most, longest = lengths(load(tmp_path, view))
    beside = lengths(load(tmp_path, f"{view}history: {{last: {turns}}}\n"))
    assert (beside[0] - most, beside[1] - longest) == (turns * ROUND, turns * ROUND)


ROUND = len("row chose c.\ncolumn chose c.\n")


def lengths(game: Game) -> tuple[int, int]:
    """Returns the bound of the prompts of a game, and the longest prompt of eight plays."""
    book = sample_book(game.ir)
    assert book is not None
    longest = max(
        sum(len(text) for _, text in decision.messages) + 1
        for seed in range(8)
        for decision in played(game.env(), seed)
    )
    return PromptBounds(game.ir, book).most, longest


def test_the_bound_does_not_grow_with_the_rounds(tmp_path: Path) -> None:
    bounds = []
    for rounds in ("40", "80"):
        ir = load(tmp_path, DILEMMA.replace("ROUNDS", rounds) + "history: {last: 3}\n").ir
        book = sample_book(ir)
        assert book is not None
        bounds.append(PromptBounds(ir, book).most)
    assert bounds[0] == bounds[1]


WINDOWS = (
    "{ann: {last: 1}, bob: {last: 1}}", "{ann: {last: 2}, bob: {last: 3}}", "{since: notes}",
    "{ann: {since: notes}, bob: {last: 2}}", "{last: 4}", "all",
)  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("silent", [False, True])
def test_prompts_stay_within_the_history_bound(tmp_path: Path, window: str, silent: bool) -> None:
    """Each reply counts with all tokens that it may have; with valid replies the bound is met."""
    text = TALK.replace("{then: forfeit, pay: -1}", "{then: skip, pay: -1}") if silent else TALK
    game = load(tmp_path, f"{text}history: {window}\n")
    limits = {step.variable: step.said.max_tokens for step in game.ir.steps if step.said}
    of: dict[str, int] = {}
    held = 0
    for decision in played(game.env(), 0):
        words = "\n".join(content for _, content in decision.messages).split()
        held = max(held, sum(of.get(word, 0) for word in words))
        of[f"w{len(of) + 1}"] = limits.get(decision.step, 0)
    bound = most_reply_tokens(game.ir)
    assert held == bound if not silent else held <= bound


def test_a_loop_without_a_sure_turn_counts_whole(tmp_path: Path) -> None:
    """Of a seat that may be passed over in each round the window does not limit what it hears."""
    text = """
game: maybe
roles: [ann, bob]
turns:
  - repeat: 5
    count: i
    turns:
      - {role: ann, say: word, max_tokens: 5}
      - {role: bob, say: reply, max_tokens: 7, if: i == 5}
payoffs: 0
on_invalid: {then: forfeit, pay: -1}
history: {last: 1}
"""
    ir = load(tmp_path, text).ir
    assert most_reply_tokens(ir) == 4 * 7 + 5 * 5


def test_proofs_say_what_a_window_forgets(tmp_path: Path) -> None:
    load(tmp_path, DILEMMA.replace("ROUNDS", "3") + "history: {last: 1}\n")
    result = compile_file(tmp_path / "dilemma.yaml")
    (proof,) = [each for each in result.proofs if each.name == "view.forgets"]
    assert (proof.grade, len(proof.histories)) == ("proved", 2)
    assert proof.claim == "the history of `row` forgets something that it has seen"


def test_the_page_tells_the_bounds_of_its_example(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(game: story\n.*?)```\n.*?here (\d+) .*? be ([\d,]+) ", page, re.S)
    assert found is not None
    text, narrow, whole = found.groups()
    assert most_reply_tokens(load(tmp_path, text).ir) == int(narrow)
    assert most_reply_tokens(load(tmp_path, text.replace("40", "400")).ir) == int(narrow)
    without = re.sub("history: .*", "", text)
    assert most_reply_tokens(load(tmp_path, without).ir) == int(whole.replace(",", ""))
