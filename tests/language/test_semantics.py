"""What expressions, lets, tables and protocols mean, by what they pay."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import gamedsl
from gamedsl import Action
from tests.writing import write

HEAD = "game: g\nroles: [row, column]\nactions: [low, mid, high]\nprotocol: simultaneous\n"
THREE = "game: g\nroles: [a, b, c]\nactions: [x, y]\nprotocol: simultaneous\n"


def load(folder: Path, text: str, **files: str) -> gamedsl.Game:
    return gamedsl.load(write(folder, text, **files))


def paid(game: gamedsl.Game, *names: str) -> list[object]:
    """Everyone's payoff when the decisions, in the order in which they are asked, are these."""
    episode, rest = game.env().reset(), iter(names)
    while not episode.done:
        episode.step({d.seat: Action(next(rest)) for d in episode.decisions})
    assert next(rest, None) is None
    return list(episode.payoffs.values())


PAYOFFS = [
    ("2 + 3 * 4 - 6 / 4", Fraction(25, 2)),
    ("7 // 2 + 7 % 3 - (-7) // 2", 3 + 1 + 4),
    ("2 ** 3 ** 2 - -2 ** 2", 512 + 4),
    ("2 ** -2", Fraction(1, 4)),
    ("(-7) % 3 + 10 * (7 % -3)", 2 - 20),
    ("(-7 / 2) // 1", -4),
    ("0.1 + 0.2", Fraction(3, 10)),
    ("1 if me == row else 2", [1, 2]),
    ("1 if other == row else 2", [2, 1]),
    ("index(me) * 10 + len(roles)", [2, 12]),
    ("count(move, high)", 1),
    ("count(r for r in roles if move[r] == low)", 1),
    ("count(r for r in roles)", None),
    ("count(move[r] == low for r in roles)", 1),
    ("count(s == row for s in others)", [0, 1]),
    ("1 if move.me < move.other else 0", [1, 0]),
    ("1 if move.me >= mid else 0", [0, 1]),
    ("1 if low in move else 0", 1),
    ("1 if mid in move else 0", 0),
    ("1 if move.me not in [mid, high] else 0", [1, 0]),
    ("index(move.me)", [0, 2]),
    ("1 if all(m != mid for m in move) and not any(m == mid for m in move) else 0", 1),
    ("mean(m == low for m in move)", Fraction(1, 2)),
    ("sum(i * 10 + index(m) for i, m in [low, high])", 12),
    ("sum(index(r) + index(m) for r, m in move)", 3),
    ("sum(x * y for x, y in [(1, 2), (3, 4)])", 14),
    ("clip(7, 0, 5) + sign(-3) + abs(-2) + floor(7 / 2) + ceil(7 / 2)", 5 - 1 + 2 + 3 + 4),
    ("max(1, 5 / 2, 2) - min([3, 1, 2])", Fraction(3, 2)),
    ("sum([]) + len(1..0) + size(2..5)", 4),
    ("sum(x * 2 for x in [])", 0),
    ("sum([] if me == row else [5])", [0, 5]),
    ("sum(1..4)", 10),
    ("[[1, 2], [3, 4]][1][0]", 3),
    ("1 if none == none and none != me else 0", 1),
    ("1 if 1 if true else false else 0", None),
    ("1 if (true or 1 / 0 == 1) and not (false and 1 / 0 == 1) else 0", None),
    ("1 if me in others(row) else 0", [0, 1]),
    ("1 if other(me) == row else 0", [0, 1]),
    ("2.0 ** 2.0", 4),
]


@pytest.mark.parametrize(("text", "expected"), PAYOFFS, ids=[text for text, _ in PAYOFFS])
def test_payoff_when_row_is_low_and_column_high(
    tmp_path: Path, text: str, expected: object
) -> None:
    source = f'{HEAD}payoffs: "{text}"\n'
    if expected is None:
        with pytest.raises(gamedsl.CompileError):
            load(tmp_path, source)
        return
    both = expected if isinstance(expected, list) else [expected] * 2
    found = paid(load(tmp_path, source), "low", "high")
    assert found == both
    assert [type(amount) for amount in found] == [type(amount) for amount in both]


LETS = [
    ("score: index(move.me)", "score.me - score.other", [-2, 2]),
    ("score: index(move.me)", "sum(score[r] for r in roles) + score.row", [2, 2]),
    ("score: index(move.me)", "max(score) + sum(score) + score", [4, 6]),
    ("score: index(move.me)", "1 if argmax(score) == me else 0", [0, 1]),
    ("score: 1", "score + score", [2, 2]),
    ("score: count(move, low)", "score", [1, 1]),
    ("tie: index(me) * 0", "1 if argmax(tie) == none and me in best(tie) else 0", [1, 1]),
    ("gain(r, n): index(move[r]) * n", "gain(other, 3) + gain(me, 1)", [6, 2]),
    ("mine(n): index(move.me) * n", "mine(5)", [0, 10]),
    ("b: a + 1\n  a: 1", "b", [2, 2]),
    ("who: row if low in move else none", "0 if who == none else 1 if who == me else 2", [1, 2]),
    ("x: 1 if move.me == high else none", "x + 1 if x != none else 9", [9, 2]),
    ("x: 1 if move.me == high else none", "sum(x[r] for r in roles if x[r] != none)", [1, 1]),
]


@pytest.mark.parametrize(("let", "text", "expected"), LETS)
def test_lets(tmp_path: Path, let: str, text: str, expected: list[int]) -> None:
    game = load(tmp_path, f'{HEAD}let:\n  {let}\npayoffs: "{text}"\n')
    assert paid(game, "low", "high") == expected


NONE = "x: 1 if move.row == high else none\n  y: 1 if move.me == high else none"


@pytest.mark.parametrize(
    "text",
    [
        "x + 1 if x == none else 0",
        "1 if x == none and x > 0 else 0",
        "1 if x != none or x > 0 else 0",
        "y.other + 1 if y.me != none else 0",
        "x + 1 if x != none or true else 0",
        "x + 1 if not (x != none and true) else 0",
        "(0 if x == none else 1) + x",
        "x + y.me if x != none else 0",
        "sum(sum(y[r] + 0 for r in roles) for r in roles if y[r] != none)",
    ],
)
def test_what_may_be_none_is_no_number(tmp_path: Path, text: str) -> None:
    with pytest.raises(gamedsl.CompileError) as caught:
        load(tmp_path, f'{HEAD}let:\n  {NONE}\npayoffs: "{text}"\n')
    assert {d.code for d in caught.value.diagnostics} == {"GD0321"}


@pytest.mark.parametrize(
    "text",
    [
        "x + 1 if x != none else 0",
        "0 if none == x else x + 1",
        "x + 1 if not x == none else 0",
        "1 if x != none and x > 0 else 0",
        "1 if x == none or x > 0 else 0",
        "0 if x == none or y.me == none else x + y.me",
        "x + y.me if not (x == none or y.me == none) else 0",
        "y.other + 1 if true and y.other != none else 0",
    ],
)
def test_after_a_test_it_is(tmp_path: Path, text: str) -> None:
    load(tmp_path, f'{HEAD}let:\n  {NONE}\npayoffs: "{text}"\n')


def test_let_is_evaluated_only_where_read(tmp_path: Path) -> None:
    text = HEAD + "let:\n  ratio: 1 / count(move, mid)\npayoffs: ratio if mid in move else 0\n"
    game = load(tmp_path, text)
    assert paid(game, "low", "high") == [0, 0]
    assert paid(game, "mid", "mid") == [Fraction(1, 2)] * 2


def test_role_payoffs_apply_to_its_seats(tmp_path: Path) -> None:
    text = (
        "game: g\nroles: {boss: 1, worker: 2}\nactions: {boss: [pay, keep], worker: [work, rest]}\n"
        "protocol: simultaneous\npayoffs:\n  boss: count(move, work)\n"
        "  worker: 2 if move.boss == pay and move.me == work else 1\n"
    )
    game = load(tmp_path, text)
    assert game.ir.seats == ("boss", "worker_1", "worker_2")
    assert [d.role for d in game.env().reset().decisions] == ["boss", "worker", "worker"]
    assert paid(game, "pay", "work", "rest") == [1, 2, 1]


def test_a_table_of_three_roles_in_another_order(tmp_path: Path) -> None:
    text = THREE + (
        "payoffs: |\n  c, a, b | y       | x\n"
        "  x, x    | 1, 2, 3 | 4, 5, 6\n  x, y    | 7, 8, 9 | 10, 11, 12\n"
        "  y, y    | 0, 0, 1 | 0, 0, 2\n  y, x    | 0, 0, 3 | 0, 0, 4\n"
    )
    game = load(tmp_path, text)
    assert paid(game, "x", "y", "x") == [2, 3, 1]
    assert paid(game, "y", "x", "x") == [11, 12, 10]
    assert paid(game, "y", "x", "y") == [0, 2, 0]


@pytest.mark.parametrize("payoffs", ["[1, 2]", "[[1], [2]]", "|\n  a | x | y\n    | 1 | 2"])
def test_a_table_of_one_role(tmp_path: Path, payoffs: str) -> None:
    text = f"game: g\nroles: [a]\nactions: [x, y]\nprotocol: simultaneous\npayoffs: {payoffs}\n"
    assert paid(load(tmp_path, text), "y") == [2]


def test_single_payoff_number_is_zero_sum(tmp_path: Path) -> None:
    game = load(tmp_path, HEAD + "payoffs: [[0, 1/2, 1 - 3], [3, 0, 0], [0, 0, 0]]\n")
    assert paid(game, "low", "mid") == [Fraction(1, 2), Fraction(-1, 2)]
    assert paid(game, "mid", "low") == [3, -3]
    assert paid(game, "low", "high") == [-2, 2]


def test_a_table_of_steps_in_turn_with_values(tmp_path: Path) -> None:
    text = (
        "game: g\nroles: [a, b]\nturns:\n  - {role: a, choose: m, from: {few: 1, many: 9}}\n"
        "  - {role: b, choose: n, from: [7, -1]}\n"
        "payoffs: |\n  a, b | -1   | 7\n  many | 1, 2 | 3, 4\n  few  | 5, 6 | 7, 8\n"
    )
    game = load(tmp_path, text)
    assert paid(game, "few", "7") == [7, 8]
    assert paid(game, "many", "-1") == [1, 2]


def test_payoff_table_of_one_step_taken_in_turn(tmp_path: Path) -> None:
    text = (
        "game: g\nroles: [a, b]\nactions: {a: [l, r], b: [up, down]}\nprotocol: round_robin\n"
        "payoffs: |\n  a, b | up   | down\n  l    | 1, 2 | 3, 4\n  r    | 5, 6 | 7, 8\n"
    )
    game = load(tmp_path, text)
    cells = [paid(game, one, other) for one in ("l", "r") for other in ("up", "down")]
    assert cells == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_a_protocol_has_its_own_params(tmp_path: Path) -> None:
    text = "game: g\nparams: {n: 7}\nroles: [a, b]\nprotocol: {use: bids, n: n - 5}\npayoffs: n\n"
    bids = (
        "protocol: bids\nparams: {n: 1, m: n + 1}\nturns:\n"
        "  - {role: all, choose: bid, from: 0..m}\n"
    )
    game = load(tmp_path, text, bids=bids)
    assert game.env().reset().decisions[0].legal == ("0", "1", "2", "3")
    assert paid(game, "0", "3") == [7, 7]


def test_a_protocol_may_use_another(tmp_path: Path) -> None:
    text = "game: g\nroles: [a, b]\nactions: [x, y]\nturns: [{use: twice}]\npayoffs: 1\n"
    twice = (
        "protocol: twice\nturns:\n  - {use: simultaneous}\n"
        "  - {role: all, choose: second, from: actions}\n"
    )
    game = load(tmp_path, text, twice=twice)
    assert [step.id for step in game.ir.steps] == ["move", "second"]


def test_base_param_keeps_its_range(tmp_path: Path) -> None:
    text = "game: g\nextends: public_goods\nparams: {players: 12, growth: 2}\n"
    assert len(load(tmp_path, text).ir.seats) == 12
    with pytest.raises(gamedsl.CompileError, match="GD0317"):
        load(tmp_path, text.replace("12", "13"))
    game = load(tmp_path, text.replace("12", "{default: 13, in: 2..20}"))
    assert len(game.ir.seats) == 13


def test_reward_reads_params_of_its_game(tmp_path: Path) -> None:
    text = (
        "game: g\nextends: prisoners_dilemma\nparams: {win: 1/4, rest: 2}\n"
        "rewards: {use: tilt, win: 'win * rest'}\n"
    )
    tilt = "reward: tilt\nparams: {win: 1}\nlet: {top: max(payoff)}\nsplit: win * payoff.me + top\n"
    game = load(tmp_path, text, tilt=tilt)
    episode = game.env().reset()
    episode.step({"row": Action("defect"), "column": Action("cooperate")})
    assert episode.rewards == {"row": Fraction(15, 2), "column": 5}


def test_roles_may_be_options(tmp_path: Path) -> None:
    text = (
        "game: g\nroles: [a, b, c]\nturns:\n  - {role: all, choose: vote, from: roles}\n"
        "payoffs: count(vote, me)\n"
    )
    game = load(tmp_path, text)
    assert paid(game, "b", "c", "b") == [0, 2, 1]


def test_actions_of_different_roles_are_one_type(tmp_path: Path) -> None:
    text = (
        "game: g\nroles: [keeper, kicker]\n"
        "actions: {keeper: [left, right], kicker: [left, middle]}\n"
        "protocol: simultaneous\npayoffs: 1 if move.keeper == move.kicker else 0\n"
    )
    game = load(tmp_path, text)
    assert paid(game, "left", "left") == [1, 1]
    assert paid(game, "right", "middle") == [0, 0]


PRICED = """
game: g
roles: [buyer]
params: {price: {small: 1, large: 5}}
types: {Size: keys(price), Odd: [small, wide]}
turns: [{role: buyer, choose: size, from: Size}]
payoffs: price[size]
"""


@pytest.mark.parametrize("backend", ["interpreter", "generated"])
def test_param_map_is_indexed_by_key_type(tmp_path: Path, backend: str) -> None:
    env = load(tmp_path, PRICED).env(backend=backend)
    for size, price in (("small", 1), ("large", 5)):
        episode = env.reset()
        episode.step({"buyer": Action(size)})
        assert episode.payoffs == {"buyer": price}


def test_param_map_covers_every_key(tmp_path: Path) -> None:
    with pytest.raises(gamedsl.CompileError, match="cannot be indexed by one of small, wide"):
        load(tmp_path, PRICED.replace("from: Size", "from: Odd"))
