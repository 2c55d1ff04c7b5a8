"""The generated and the tabulated backend do what the reference does, history by history."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

import gamedsl
from gamedsl.engine import generated, tabulated
from gamedsl.engine.codegen import module
from gamedsl.engine.generated import Generated
from gamedsl.engine.interpreter import History, Interpreter
from gamedsl.engine.kernel import Kernel, State
from gamedsl.engine.tabulated import HistoryTable, Tabulated, TooLargeError
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from tests.runtime import (
    programs,
    test_choices,
    test_draws,
    test_flow,
    test_hidden_and_random,
    test_state_changes,
)  # fmt: skip
from tests.runtime.programs import choose, do, game, op, put, state
from tests.shipped import CLOSED

ROOT = Path(__file__).parent.parent.parent

TREE = 300
"""Histories up to which a game is gone through whole; of others, plays are."""

LONG = 60
"""Moves of such a play."""

HAND_BUILT = (test_choices, test_draws, test_flow, test_hidden_and_random, test_state_changes)


def standing(state: State, seats: Sequence[str]) -> dict[str, Any]:
    """All that a state says of itself; errors as what and where they are."""
    found: dict[str, Any] = {
        "kind": state.kind,
        "asks": state.asks,
        "outcomes": state.outcome_count,
        "seen": {seat: state.seen(seat) for seat in seats},
        "known": {seat: state.known(seat) for seat in seats},
        "counts": (state.asked, state.counts),
        "variables": {k: v for k, v in state.variables.items() if "@" not in k},
    }
    if state.kind == "chance":
        found["draws"] = state.draws
        found["picks"] = [state.pick(seed) for seed in range(3)]
        if state.outcome_count < 300:
            found["listed"] = state.outcomes
    for name in ("payoffs", "rewards", "streams") if state.kind == "end" else ("streams",):
        try:
            amounts = getattr(state, name)
            found[name] = {k: dict(v) if name == "streams" else v for k, v in amounts.items()}
        except EvaluationError as error:
            found[name] = str(error), error.span
    return found


def moved(state: State, move: Callable[[State], Any]) -> tuple[Any, Exception | None]:
    """What a move gives, or the error that it raises."""
    try:
        return move(state), None
    except Exception as error:
        return None, error


def told(error: Exception | None) -> tuple[Any, ...]:
    """What an error says, and where."""
    place = getattr(error, "span", None), getattr(error, "witness", None)
    return type(error), str(error), *place


class Twins:
    """A history that the reference and another backend play at once, compared after every move."""

    def __init__(self, ir: GameIR, reference: History, other: State) -> None:
        self._ir = ir
        self._both: tuple[History, State] = (reference, other)
        self._compare()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._both[0], name)

    def copy(self) -> Twins:
        reference, other = self._both
        return Twins(self._ir, reference.copy(), other.copy())

    def _compare(self) -> None:
        ours, theirs = (standing(state, self._ir.seats) for state in self._both)
        assert theirs == ours

    def _move(self, move: Callable[[State], Any]) -> Any:
        (ours, failed), (theirs, other) = (moved(state, move) for state in self._both)
        assert told(other) == told(failed)
        if failed is not None:
            raise failed
        assert theirs == ours
        self._compare()
        return ours

    def choose(self, names: Sequence[str]) -> None:
        self._move(lambda state: state.choose(names))

    def draw(self, outcome: int) -> str:
        return str(self._move(lambda state: state.draw(outcome)))

    def apply(self, *numbers: int) -> None:
        self._move(lambda state: state.apply(*numbers))

    @property
    def stands_in(self) -> bool:
        """Whether the reference plays for the other backend too."""
        return type(self._both[1]).__name__ == "InterpreterFallback"


class TwinKernel:
    """Starts histories that the reference and another backend play at once."""

    def __init__(self, ir: GameIR, make: Callable[[GameIR], Kernel] = Generated) -> None:
        self.ir = ir
        self.reference = Interpreter(ir)
        self.other = make(ir)
        assert not isinstance(self.other, Generated) or self.other.written

    def start(self) -> Twins:
        kernels: tuple[Kernel, Kernel] = (self.reference, self.other)
        (ours, failed), (theirs, other) = (moved(k, lambda k: k.start()) for k in kernels)
        assert told(other) == told(failed)
        if failed is not None:
            raise failed
        return Twins(self.ir, ours, theirs)


def plain_tests(module: ModuleType) -> list[Callable[[], None]]:
    """The tests of a module that take no arguments."""
    return [
        test for name, test in vars(module).items()
        if name.startswith("test_") and callable(test) and not inspect.signature(test).parameters
    ]  # fmt: skip


@pytest.mark.parametrize(
    "test", [pytest.param(t, id=t.__name__) for m in HAND_BUILT for t in plain_tests(m)]
)
@pytest.mark.parametrize("make", [Generated, Tabulated])
def test_hand_built_programs_play_alike(
    make: Callable[[GameIR], Kernel], test: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every test of the reference, with another backend playing beside it."""
    monkeypatch.setattr(tabulated, "LIMIT", 3_000)
    monkeypatch.setattr(tabulated, "_TABLES", {})
    monkeypatch.setattr(programs, "Interpreter", lambda ir: TwinKernel(ir, make))
    try:
        test()
    except TooLargeError:
        pytest.skip("too large for a table")


def numbers(state: Any) -> list[tuple[int, ...]]:
    """All moves in a state that is not the end."""
    if state.kind == "chance":
        return [(i,) for i in range(state.outcome_count)]
    found: list[tuple[int, ...]] = [()]
    for count in state.counts:
        found = [(*numbers, i) for numbers in found for i in range(count)]
    return found


def whole(twins: Twins, most: int) -> int:
    """Go through all histories that follow, if they are no more than `most`; how many they are."""
    waiting, count = [twins], 0
    while waiting and count + len(waiting) <= most:
        at = waiting.pop()
        count += 1
        if at.kind != "end":
            if at.outcome_count > most:
                return most + 1
            for move in numbers(at):
                after = at.copy()
                after.apply(*move)
                waiting.append(after)
    return count + len(waiting)


def plays(kernel: TwinKernel, count: int) -> Iterator[Twins]:
    """Random plays, by number and by name, on copies and not; where they end."""
    random = Random(0)
    for _ in range(count):
        twins = kernel.start()
        for _ in range(LONG):
            if twins.kind == "end":
                break
            if random.random() < 0.2:
                twins = twins.copy()
            move = random.choice(numbers(twins)) if twins.kind != "chance" else (twins.pick(3),)
            if twins.kind == "chance":
                twins.draw(*move)
            elif random.random() < 0.5:
                twins.apply(*move)
            else:
                pairs = zip(twins.asks, move, strict=True)
                twins.choose([ask.legal[i] for ask, i in pairs])
        yield twins


@pytest.mark.parametrize("name", CLOSED)
def test_shipped_games_play_alike(name: str) -> None:
    kernel = TwinKernel(gamedsl.load(name).ir)
    if whole(kernel.start(), TREE) > TREE:
        for twins in plays(kernel, 4):
            assert not twins.stands_in


@pytest.mark.parametrize("name", ["kuhn_poker", "goofspiel", "tiny_hanabi", "stag_hunt"])
def test_a_table_is_the_whole_game(name: str) -> None:
    ir = gamedsl.load(name).ir
    kernel = TwinKernel(ir, Tabulated)
    assert isinstance(kernel.other, Tabulated)
    table = kernel.other.table
    assert whole(kernel.start(), len(table)) == len(table)
    for node, outcomes in table.outcomes.items():
        rolls = Counter(table.rolls[node])
        shares = {n: Fraction(times, rolls.total()) for n, times in rolls.items()}
        assert shares == {
            n: outcome.probability for n, outcome in zip(table.after[node], outcomes, strict=True)
        }
    ends = {node for node, kind in enumerate(table.kinds) if kind == "end"}
    random = Random(1).random
    assert {table.rollout(random) for _ in range(200)} <= ends
    assert all(table.rolls[node] for node in range(len(table)) if node not in ends)


def test_tabulated_chance_has_exact_odds() -> None:
    table = HistoryTable(Generated(programs.game(
        ("a",), [programs.draw("x", {1: Fraction(1, 2000), 2: Fraction(1999, 2000)})], {"a": 0}
    )))  # fmt: skip
    assert table.rolls[0] == ()
    ends = [table.rollout(iter([n / 2000]).__next__) for n in (0, 1, 1999)]
    assert ends == [1, 2, 2]


def test_large_game_is_not_tabulated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tabulated.LIMIT == 200_000
    monkeypatch.setattr(tabulated, "LIMIT", 3_000)
    monkeypatch.setattr(tabulated, "_TABLES", {})
    game = gamedsl.load("connect_four")
    with pytest.raises(
        ValueError, match="`connect_four`: more than 3,000 histories are too many for a table"
    ):
        game.env(backend="tabulated")
    with pytest.raises(TooLargeError):
        game.kernel("tabulated")
    with pytest.raises(TooLargeError):
        HistoryTable(Generated(gamedsl.load("kuhn_poker").ir), limit=57)
    assert len(HistoryTable(Generated(gamedsl.load("kuhn_poker").ir), limit=58)) == 58


def test_the_backend_is_chosen_by_name() -> None:
    game = gamedsl.load("stag_hunt")
    assert type(game.env().kernel).__name__ == "Generated"
    names = {"interpreter": "Interpreter", "generated": "Generated", "tabulated": "Tabulated"}
    for backend, name in names.items():
        assert type(game.env(backend=backend).kernel).__name__ == name
        assert type(game.kernel(backend)).__name__ == name
    with pytest.raises(ValueError, match="no backend `abacus`; there are interpreter, generated"):
        game.env(backend="abacus")


def test_states_are_moved_by_number() -> None:
    state = gamedsl.load("kuhn_poker").kernel("tabulated").start()
    random = Random(4)
    while state.kind != "end":
        if state.kind == "chance":
            state.apply(state.sample(random.random))
        else:
            state.apply(*(random.randrange(count) for count in state.counts))
    assert sum(state.payoffs.values()) == 0


def kept(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Keep modules in a folder, and none in the process."""
    monkeypatch.setenv("GAMEDSL_CACHE", str(folder))
    monkeypatch.setattr(generated, "_MODULES", {})


def test_generated_module_is_cached_and_names_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(monkeypatch, tmp_path)
    ir = gamedsl.load("tic_tac_toe").ir
    assert Generated(ir).written
    (path,) = (tmp_path / "games").glob("*.py")
    text = path.read_text(encoding="utf-8")
    assert path.stem.startswith(ir.code_hash[:24])
    assert "# tic_tac_toe.yaml:13: board[cell] = me" in text
    assert "# alternate.yaml:" in text
    monkeypatch.setattr(generated, "_MODULES", {})
    monkeypatch.setattr(module, "write_game", None)  # it is not written again
    assert Generated(ir).written
    assert [*(tmp_path / "games").glob("*.py")] == [path]


def test_what_is_kept_may_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ir = gamedsl.load("kuhn_poker").ir
    kept(monkeypatch, tmp_path)
    assert Generated(ir).written
    (path,) = (tmp_path / "games").glob("*.py")
    path.write_text("half a modu", encoding="utf-8")
    kept(monkeypatch, tmp_path)
    assert Generated(ir).written
    nowhere = tmp_path / "file"
    nowhere.write_text("", encoding="utf-8")
    kept(monkeypatch, nowhere)  # a folder that cannot be made
    assert Generated(ir).written


def test_old_modules_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(monkeypatch, tmp_path)
    monkeypatch.setattr(generated, "SAVED", 2)
    for name in ("chicken", "stag_hunt", "kuhn_poker"):
        Generated(gamedsl.load(name).ir)
    assert len([*(tmp_path / "games").glob("*.py")]) == 2


def test_ungenerated_game_falls_back_to_interpreter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept(monkeypatch, tmp_path)
    monkeypatch.setattr(module, "write_game", None)
    ir = gamedsl.load("kuhn_poker").ir
    kernel = Generated(ir)
    assert not kernel.written
    assert whole(Twins(ir, Interpreter(ir).start(), kernel.start()), 100) == 58


def test_too_much_work_is_left_to_the_reference() -> None:
    """Where it cannot be known how much work an expression takes, the reference counts."""
    pairs = programs.ex.Collect(
        programs.ANY, programs.HERE, programs.const(1), ("x",), programs.read("log"), None
    )
    for _ in range(6):
        pairs = programs.ex.Collect(
            programs.ANY, programs.HERE, pairs, ("x",), programs.read("log"), None
        )
    turns = [
        programs.do(programs.trace(1), programs.trace(2)),
        programs.choose("go", ["a"], programs.GO),
        programs.show("n", programs.op("len", pairs)),
        programs.choose("on", ["b"], programs.GO),
    ]
    ir = programs.game(("a", "b"), turns, {"a": programs.read("n")}, state=tuple(programs.LOG))
    twins = TwinKernel(ir).start()
    assert not twins.stands_in
    twins.choose(["go"])
    assert twins.stands_in
    after = twins.copy()
    after.apply(1)
    assert (after.kind, after.payoffs["a"], twins.kind) == ("end", 2, "decide")


def test_checking_a_game_generates_nothing() -> None:
    code = (
        "import sys, gamedsl.cli; gamedsl.cli.main(['validate', 'games/kuhn_poker.yaml'])\n"
        "assert not [m for m in sys.modules if 'codegen' in m or 'tabulated' in m]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)


def test_rules_that_often_fail_are_not_tabulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they fail, the interpreter plays the history again, to say at which place."""
    steps = [choose("x", ["a"], [1, 2, 3]), do(put("y", op("/", 1, op("-", 0, 0))))]
    kernel = Generated(game(("a", "b"), steps, {"a": 0, "b": 0}, state=[state("y", 0)]))
    table = HistoryTable(kernel)
    assert table.after[0] == [tabulated.NOWHERE] * 3
    monkeypatch.setattr(tabulated, "REPLAYED", 2)
    with pytest.raises(TooLargeError, match="its rules fail in too many histories"):
        HistoryTable(kernel)
