"""What is said of a pool at the end of a run."""

from __future__ import annotations

from gamedsl.training.monitors.text import population

FOUND = {
    "members": [0, 4, 8, 12],
    "mixture": "equilibrium",
    "weights": {"left": [0.25, 0.0, 0.75, 0.0], "right": [0.1, 0.2, 0.3, 0.4]},
    "exploitability": {"mixture": 0.0124, "last": 1.5},
}


def test_a_pool_is_summed_up() -> None:
    assert population(FOUND) == (
        "The pool holds 4 policies of the past (steps 0 to 12); its equilibrium is played by "
        "left: 75% step 8, 25% step 0; right: 40% step 12, 30% step 8, 20% step 4. "
        "Its exploitability is 0.012, the last policy's 1.500."
    )


def test_large_game_has_no_line_count() -> None:
    said = population({**FOUND, "mixture": "uniform", "exploitability": None})
    assert "even mixture" in said
    assert "ploitability" not in said


def test_several_seat_sides_judge_last_policy() -> None:
    said = population({**FOUND, "exploitability": {"last": 1.5}})
    assert said.endswith(" step 4. The last policy's exploitability is 1.500.")
