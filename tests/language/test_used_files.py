"""What files that use others are told, and what they may do with them."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.compiler import compile_file, compile_game
from gamedsl.engine.generated import Generated
from gamedsl.engine.interpreter import Interpreter
from gamedsl.engine.kernel import Kernel
from gamedsl.ir.evaluate import EvaluationError

SKIPPED = (
    "game: g\nroles: [a, b]\nturns:\n  - {role: a, choose: x, from: [1, 2]}\n"
    "  - {role: b, choose: y, from: [1, 2], if: x == 2}\n"
)


def written(folder: Path, text: str, name: str = "g") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def notes(path: Path) -> list[tuple[str, str, str]]:
    return [
        (d.code, note.span.text.strip(), note.text)
        for d in compile_file(path).diagnostics
        for note in d.notes
    ]


def played(kernel: Kernel) -> object:
    """The payoffs where all take their first options."""
    state = kernel.start()
    while state.kind != "end":
        state.choose([ask.legal[0] for ask in state.asks])
    return state.payoffs


def test_protocol_failure_shows_its_use(tmp_path: Path) -> None:
    text = "game: g\nroles: [a, b]\nstate: {n: 0}\nprotocol: {use: alternate, at_most: 3}\n"
    path = written(
        tmp_path, text + "actions:\n  up: {when: n < 1, do: n += 1}\npayoffs: n\n"
    )  # fmt: skip
    assert notes(path) == [("GD0437", "{use: alternate, at_most: 3}", "used here")]


def test_nested_uses_are_all_shown(tmp_path: Path) -> None:
    written(tmp_path, "protocol: outer\nturns:\n  - {use: inner}\n", "outer")
    written(tmp_path, "protocol: inner\nturns:\n  - do: n = 1 // n\n", "inner")
    text = "game: g\nroles: [a, b]\nstate: {n: 0}\nturns:\n  - {use: outer}\n"
    text += "  - {role: all, choose: x, from: [l, r]}\npayoffs: n\n"
    assert notes(written(tmp_path, text)) == [
        ("GD0402", "{use: inner}", "used here"),
        ("GD0402", "{use: outer}", "used here"),
    ]


def test_param_errors_are_reported_at_the_param(tmp_path: Path) -> None:
    text = "game: g\nroles: [a, b]\nactions: [l, r]\npayoffs: 1\n"
    path = written(tmp_path, text + "protocol: {use: by_priority, priority: 7}\n")
    assert notes(path) == [("GD0305", "7", "`priority` is this")]


def test_use_with_same_start_continues_the_state(tmp_path: Path) -> None:
    text = "game: g\nroles: [a, b]\nturns:\n  - {use: betting_round, ante: 2, size: 1}\n"
    path = written(
        tmp_path, text + "  - {use: betting_round, ante: 2, size: 4}\npayoffs: -paid.me\n"
    )
    assert compile_file(path).diagnostics == []


@pytest.mark.parametrize(
    ("last", "place"),
    [
        ("  - {pay: payoffs, value: y}\n", "y"),
        ("  - {use: prisoners_dilemma, weight: y}\n", "y"),
        ("  - {use: stage}\n", "y"),
        ("payoffs: y\n", "y"),
    ],
)
@pytest.mark.parametrize("backend", [Interpreter, Generated])
def test_a_payment_that_is_none_has_a_place(
    last: str, place: str, backend: type[Kernel], tmp_path: Path
) -> None:
    from gamedsl.diagnostics import Problems
    from gamedsl.sema.game import build_game
    from gamedsl.sema.library import load_document

    written(tmp_path, SKIPPED.replace("game: g", "game: stage") + "payoffs: y\n", "stage")
    document = load_document(written(tmp_path, SKIPPED + last), Problems())
    assert document is not None
    ir = build_game(document, None, Problems())
    assert ir is not None
    with pytest.raises(EvaluationError, match="`y` is none here") as caught:
        played(backend(ir))
    assert caught.value.span.text == place


def test_one_value_for_each_pair_of_roles(tmp_path: Path) -> None:
    text = (
        "game: g\nroles: [a, b, c]\nstate: {owes: {per: [role, role], start: 0}}\nturns:\n"
        "  - {draw: d, from: 0..9, per: [role, role], seen_by: owner}\n"
        "  - {role: all, choose: x, from: [1, 2]}\n"
        "  - do: owes[r][a] += x[r] for r in roles\n"
        "payoffs: owes.me[a] + 10 * d.me[b]\n"
    )
    game = gamedsl.load(written(tmp_path, text))
    totals = []
    for backend in ("interpreter", "generated"):
        episode = game.env(backend=backend).reset(3)
        drawn = [event for event in episode.seen("b") if event.step == "d"]
        assert [event.name.split(":")[0] for event in drawn] == ["a", "b", "c"]
        episode.step({d.seat: gamedsl.Action("2") for d in episode.decisions})
        totals.append(episode.payoffs)
        assert episode.payoffs["b"] == 2 + 10 * int(drawn[1].name.split(":")[1])
    assert totals[0] == totals[1]


def test_argument_range_may_depend_on_list_param(tmp_path: Path) -> None:
    text = (
        "game: g\nroles: [a, b]\nparams: {piles: [3, 5]}\n"
        "protocol: {use: alternate, at_most: 3}\nactions:\n"
        "  take: {args: {n: 1..max(piles), m: 0..sum(piles)}}\npayoffs: 1\n"
    )
    ir, _ = compile_game(written(tmp_path, text))
    assert len(ir.steps[0].options[0]) == 5 * 9


@pytest.mark.parametrize("given", ["[2, 2, 3]", [2, 2, 3], (2, 2, 3)])
def test_a_list_param_keeps_what_it_holds_twice(given: object) -> None:
    assert gamedsl.load("nim", {"piles": given}).env().params["piles"] == [2, 2, 3]


def test_an_empty_map_is_called_so(tmp_path: Path) -> None:
    text = "game: g\nroles: [a, b]\nparams: {n: 2}\nactions: [l, r]\nprotocol: simultaneous\n"
    (problem,) = compile_file(written(tmp_path, text + "payoffs: n\n"), {"n": "{}"}).diagnostics
    assert (problem.code, problem.why) == ("GD0306", "this is an empty map")


@pytest.mark.parametrize(("of", "start"), [("0..9", 0), ("1..9", None), ("[red, blue]", None)])
def test_cell_starts_with_typed_value_or_none(of: str, start: int | None, tmp_path: Path) -> None:
    text = f"game: g\nroles: [a, b]\nstate: {{board: {{grid: [2, 2], of: {of}}}}}\nturns:\n"
    text += "  - {role: all, choose: x, from: [l, r]}\n"
    ir, _ = compile_game(written(tmp_path, text + 'payoffs: "1 if board[0, 0] == none else 0"\n'))
    assert ir.state[0].start == (start,) * 4
