import numpy as np
import pytest
from small_games import (
    BIASED_ROCK,
    HAWK_DOVE,
    PENNIES,
    PRISONERS,
    STAG_HUNT,
    kuhn_tree,
    matrix_tree,
    ultimatum_env,
)

import gamedsl
from gamedsl.solve import basin_prediction as module
from gamedsl.solve import expected, predict_basin, pure_equilibria, tabulate, uniform
from gamedsl.solve.basin_prediction import as_row, coupling_matrix, trajectories
from gamedsl.solve.gradient_flow import GradientFlow
from gamedsl.solve.table import named_play, on_path
from gamedsl.training.summary import predicted


def at(tree, x: float, y: float | None = None) -> dict:
    """Both seats' probability of their first action."""
    y = x if y is None else y
    return {
        info.key: dict(zip(info.actions, (p, 1 - p), strict=True))
        for info, p in zip(tree.info_sets, (x, y), strict=True)
    }


def test_velocity_is_the_gradient_of_expected_reward():
    """Against central differences of `expected`, seat by seat, with chance in the tree."""
    tree = kuhn_tree()
    flow = GradientFlow(tree, np.eye(len(tree.info_sets)))
    logits = np.random.default_rng(1).normal(size=(1, len(flow.set_of_slot)))

    def reward(values, seat):
        row = iter(flow.probabilities(values)[0])
        policy = {s.key: {a: float(next(row)) for a in s.actions} for s in tree.info_sets}
        return expected(tree, policy)[seat]

    speed = flow.velocity(logits)[0][0]
    for slot in range(len(speed)):
        nudge = np.zeros_like(logits)
        nudge[0, slot] = 1e-5
        seat = tree.info_sets[flow.set_of_slot[slot]].seat
        slope = (reward(logits + nudge, seat) - reward(logits - nudge, seat)) / 2e-5
        assert speed[slot] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("coupling", ["independent", "shared"])
def test_stag_hunt_basins_meet_at_two_thirds(coupling):
    tree = matrix_tree(*STAG_HUNT)
    below = predict_basin(tree, at(tree, 0.64), coupling)
    above = predict_basin(tree, at(tree, 0.69), coupling)
    assert (below.text, above.text) == ("(hare, hare)", "(stag, stag)")
    assert below.margin == pytest.approx(2 / 3 - 0.64, abs=2e-3)
    assert above.margin == pytest.approx(0.69 - 2 / 3, abs=2e-3)
    assert below.boundary.mixed == pytest.approx((2 / 3, 2 / 3))
    assert min(np.hypot(x - 2 / 3, y - 2 / 3) for x, y in below.boundary.curve) < 5e-3


def test_independent_separatrix_follows_the_conserved_quantity():
    """dx/dt = 2 x²(1-x)² g(y) and the same for y, g(p) = 3p - 2 being stag's gain: so the integral
    H of g / (x²(1-x)²) has dH(x) = dH(y) along an orbit, and H(x) = H(y) through the saddle."""
    tree = matrix_tree(*STAG_HUNT)
    curve = predict_basin(tree, uniform(tree)).boundary.curve

    def slope(p):
        return (3 * p - 2) / (p * (1 - p)) ** 2

    def height(p):
        grid = np.linspace(2 / 3, p, 20_001)
        return np.sum((slope(grid)[1:] + slope(grid)[:-1]) / 2 * np.diff(grid))

    middle = [(x, y) for x, y in curve if 0.3 < x < 0.95 and 0.3 < y < 0.95 and abs(x - y) > 0.1]
    assert len(middle) > 10
    for x, y in middle:
        assert abs(height(x) - height(y)) / min(abs(slope(x)), abs(slope(y))) < 2e-3


def test_an_unequal_start_can_still_reach_stag():
    tree = matrix_tree(*STAG_HUNT)
    assert predict_basin(tree, at(tree, 0.9, 0.55)).text == "(stag, stag)"
    assert predict_basin(tree, at(tree, 0.9, 0.2)).text == "(hare, hare)"


def test_on_the_boundary_nothing_is_predicted():
    tree = matrix_tree(*STAG_HUNT)
    result = predict_basin(tree, at(tree, 2 / 3))
    assert (result.kind, result.profile, result.margin) == ("mixed", None, 0.0)
    assert result.confidence == "none"


def test_coupling_decides_hawk_dove():
    tree = matrix_tree(*HAWK_DOVE)
    start = at(tree, 0.6, 0.58)
    assert predict_basin(tree, start, "independent").text == "(dove, hawk)"
    shared = predict_basin(tree, start, "shared")
    assert shared.kind == "mixed"
    assert shared.margin is None
    doves = sum(shared.probabilities[key]["dove"] for key in ("row", "column"))
    assert doves == pytest.approx(1, abs=0.01)


def test_dominance_has_no_boundary():
    tree = matrix_tree(*PRISONERS)
    result = predict_basin(tree, at(tree, 0.95))
    assert (result.text, result.margin, result.boundary) == ("(defect, defect)", None, None)
    assert result.confidence == "clear"


def test_zero_sum_dynamics_do_not_settle():
    for rows, start in ((PENNIES, (0.6, 0.5)), (BIASED_ROCK, None)):
        tree = matrix_tree(*rows)
        result = predict_basin(tree, at(tree, *start) if start else uniform(tree))
        assert (result.kind, result.profile) == ("moving", None)


def test_ultimatum_depends_on_how_the_responder_starts():
    tree = tabulate(ultimatum_env())
    start = {k: {a: float(p) for a, p in row.items()} for k, row in uniform(tree).items()}
    calm = predict_basin(tree, start)
    assert calm.text == "low → accept"
    proud = {**start, "responder:answer to low": {"accept": 0.01, "reject": 0.99}}
    assert predict_basin(tree, proud).text == "fair → accept"
    assert calm.margin > 0.05


def test_tipping_start_is_minimal():
    tree = matrix_tree(*STAG_HUNT)
    start = at(tree, 0.6, 0.7)
    result = predict_basin(tree, start)
    tipping = as_row(tree, result.tipping)
    before = as_row(tree, start) + 0.97 * (tipping - as_row(tree, start))
    past = as_row(tree, start) + 1.01 * (tipping - as_row(tree, start))
    assert predict_basin(tree, at(tree, before[0], before[2])).text == result.text
    assert predict_basin(tree, at(tree, past[0], past[2])).text != result.text


@pytest.mark.parametrize("name", ["stag_hunt", "ultimatum"])
def test_nearest_change_is_that_of_all_targets(name):
    """Leaving out what lies beyond the nearest change found so far changes no result."""
    tree = tabulate(gamedsl.load(name).env())
    weights = {info.key: range(2, 2 + len(info.actions)) for info in tree.info_sets}
    start = {
        info.key: {
            action: weight / sum(weights[info.key])
            for action, weight in zip(info.actions, weights[info.key], strict=True)
        }
        for info in tree.info_sets
    }
    flow, row = GradientFlow(tree, coupling_matrix(tree, "shared")), as_row(tree, start)
    profile = predict_basin(tree, start, "shared").profile
    targets = module._targets(flow, row)
    points, changed = module._first_change(flow, row, targets, profile)
    distance = np.where(changed, np.abs(points - row).max(axis=1), np.inf)
    near, margin = distance.argmin(), distance.min()
    points, changed = module._first_change(flow, row, targets, profile, nearest=True)
    assert changed[near]
    assert np.isfinite(margin)
    assert np.abs(points[near] - row).max() == margin
    assert np.abs(points[changed] - row).max(axis=1).min() == margin


def test_coupling_matrices():
    tree = matrix_tree(*STAG_HUNT)
    assert coupling_matrix(tree, "independent").tolist() == [[1, 0], [0, 1]]
    assert coupling_matrix(tree, "shared").tolist() == [[1, 1], [1, 1]]
    apart = coupling_matrix(tree, {"row": "one", "column": "two"})
    assert apart.tolist() == [[1, 0], [0, 1]]
    together = coupling_matrix(tree, {"row": "one", "column": "one"})
    assert together.tolist() == [[1, 1], [1, 1]]
    steps = tabulate(ultimatum_env())
    assert coupling_matrix(steps, "shared")[0].tolist() == [1, 0, 0, 0]
    with pytest.raises(ValueError, match="2 sets"):
        coupling_matrix(tree, [[1.0]])


def test_shared_coupling_moves_named_actions_together():
    """The seats list their actions in opposite orders; by name they agree."""
    tree = matrix_tree([[(0, 3), (4, 4)], [(2, 2), (3, 0)]], ("stag", "hare"), ("hare", "stag"))
    flow = GradientFlow(tree, coupling_matrix(tree, "shared"))
    speed = flow.velocity(np.zeros((1, 4)))[0][0]
    assert speed[0] == pytest.approx(speed[3])
    assert speed[0] < 0


def test_trajectories_run_from_start_to_prediction():
    tree = matrix_tree(*STAG_HUNT)
    (line,) = trajectories(tree, [at(tree, 0.5)], "independent")
    assert line[0] == pytest.approx([0.5] * 4)
    assert line[-1][0] < 0.01


def test_orbits_of_matching_pennies_stay_closed():
    """The flow conserves 1/(x(1-x)) + 1/(y(1-y)) there; a poor integrator spirals out."""
    tree = matrix_tree(*PENNIES)
    (line,) = trajectories(tree, [at(tree, 0.8, 0.5)], "independent")
    energy = [1 / (x * (1 - x)) + 1 / (y * (1 - y)) for x, _, y, _ in line]
    assert max(energy) / min(energy) < 1.01


def test_prediction_is_plain_json():
    import json

    tree = matrix_tree(*STAG_HUNT)
    record = predict_basin(tree, uniform(tree)).as_dict()
    assert json.loads(json.dumps(record)) == record
    assert record["confidence"] == "clear"


def test_large_trees_are_not_tried(monkeypatch):
    tree = matrix_tree(*STAG_HUNT)
    monkeypatch.setattr(module, "MANY_NODES", len(tree) - 1)
    assert predict_basin(tree, uniform(tree)) is None


def test_rest_point_off_equilibrium_is_not_predicted(tmp_path):
    """Information sets that move together come to rest where the hider would rather leave."""
    file = tmp_path / "coordinated.yaml"
    file.write_text(COORDINATED)
    tree = tabulate(gamedsl.load(file).env())
    assert pure_equilibria(tree).found == ()
    rows = zip(tree.info_sets, (0.27, 0.36, 0.31), strict=True)
    start = {info.key: {"heads": heads, "tails": 1 - heads} for info, heads in rows}
    found = predict_basin(tree, start, "shared")
    assert (found.kind, found.profile, found.text) == ("moving", None, "")
    assert found.refuted.startswith(
        "it rests at pure strategies (hider:side tails; guesser:guess [coin=top] tails; "
        "guesser:guess [coin=bottom] tails), which is no equilibrium: `hider` would gain 2"
    )
    assert "which is no equilibrium" in predicted(found.as_dict())
    assert predict_basin(tree, start, "independent").refuted == ""


COORDINATED = """
game: coordinated_matching_pennies
roles: [hider, guesser]
turns:
  - {role: hider, choose: side, from: [heads, tails], seen_by: owner}
  - {draw: coin, from: [top, bottom], seen_by: guesser}
  - {role: guesser, choose: guess, from: [heads, tails]}
payoffs: {hider: 1 if side != guess else -1, guesser: 1 if side == guess else -1}
"""


DEALT = """
game: dealt
roles: [solo]
turns:
  - {draw: coin, from: [a, b, c, d], seen_by: all}
  - {role: solo, choose: guess, from: [same, another]}
payoffs: 1 if guess == same else 0
"""


def test_strategies_are_named_where_chance_decides(tmp_path):
    """No information set is reached more often than not, and all are settled."""
    file = tmp_path / "dealt.yaml"
    file.write_text(DEALT)
    tree = tabulate(gamedsl.load(file).env())
    found = predict_basin(tree, uniform(tree), "independent")
    assert found.kind == "pure"
    assert set(found.profile.values()) == {"same"}
    assert len(found.profile) == 4
    keys = [f"solo:guess [coin={coin}] same" for coin in "abc"]
    assert found.text == f"pure strategies ({'; '.join(keys)}; and 1 more)"


def test_play_is_named_by_its_outcome_without_chance():
    tree = tabulate(ultimatum_env())
    policy = uniform(tree)
    chosen = on_path(tree, policy)
    assert list(chosen) == [
        tree.info_sets[0].key,
        next(info.key for info in tree.info_sets if next(iter(chosen.values())) in info.key),
    ]
    assert named_play(tree, chosen) == " → ".join(chosen.values())
