"""Predictions of the equilibrium that training reaches from where the policy starts.

Follows the policy-gradient flow (see `flow`) from the start probabilities to its end, then asks how
far the start would have to move for the answer to change. The prediction is about the mean update:
it knows nothing of sampling noise, optimisers or learning rates, and of the network only what the
coupling says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gamedsl.solve.best_responses import Policy, exploitability
from gamedsl.solve.equilibria import mixed_equilibria, pure_equilibria
from gamedsl.solve.gradient_flow import GradientFlow
from gamedsl.solve.table import named_play, on_path, one_shot
from gamedsl.solve.tree import InfoSet, Tree

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray

MANY_NODES = 4_000
MANY_TARGETS = 48
GAINED = 0.02
"""The share of a seat's span of rewards that a reply must gain to refute a rest point: the flow
stops short of a corner."""
RAYS = 48

Kind = Literal["moving", "pure", "mixed"]
KINDS: tuple[Kind, ...] = ("moving", "pure", "mixed")
"""In the order of `Landing.kind_B`."""

Coupling = Literal["independent", "shared"] | Mapping[str, str] | Sequence[Sequence[float]]
"""K of the flow: "independent", the identity; "shared", 1 across information sets with the same
legal actions; a map of role to adapter, 1 across such sets of one adapter; or K itself, in the
order of `Tree.info_sets`."""


@dataclass(frozen=True)
class Boundary:
    """The edge of the predicted basin in a 2x2 game, in the plane of P(first action) of each seat.

    `mixed` is the fully mixed equilibrium, on the edge when the game is one of coordination.
    """

    keys: tuple[str, str]
    actions: tuple[str, str]
    mixed: tuple[float, float] | None
    curve: tuple[tuple[float, float], ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "keys": list(self.keys),
            "actions": list(self.actions),
            "mixed": list(self.mixed) if self.mixed else None,
            "curve": [list(point) for point in self.curve],
        }


@dataclass(frozen=True)
class Prediction:
    """The limit of the flow from the start.

    kind: "pure", it settles on `profile`, the actions on the path of play; "mixed", it rests on
    `probabilities`, and `profile` is None; "moving", it circles or wanders, `profile` is None and
    `probabilities` are only its last point. `margin` is the least change of any one start
    probability found to lead elsewhere (None if no tried change does, or nothing is predicted).
    """

    kind: Kind
    profile: dict[str, str] | None
    text: str
    probabilities: dict[str, dict[str, float]]
    margin: float | None
    tipping: dict[str, dict[str, float]] | None
    """The start nearest to the given one, of those tried, from which training ends elsewhere."""
    boundary: Boundary | None
    coupling: str
    method: str
    refuted: str = ""
    """The reason why the point at which the flow rests is not predicted: somebody gains there by
    another reply, and no pure equilibrium has its play. `kind` is then "moving"."""

    @property
    def confidence(self) -> Literal["clear", "near the boundary", "too close to call", "none"]:
        if self.kind != "pure":
            return "none"
        if self.margin is None or self.margin >= 0.1:
            return "clear"
        return "near the boundary" if self.margin >= 0.02 else "too close to call"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, as the start record carries them."""
        return {
            "kind": self.kind,
            "profile": self.profile,
            "text": self.text,
            "probabilities": self.probabilities,
            "margin": self.margin,
            "confidence": self.confidence,
            "tipping": self.tipping,
            "boundary": self.boundary.as_dict() if self.boundary else None,
            "coupling": self.coupling,
            "method": self.method,
            **({"refuted": self.refuted} if self.refuted else {}),
        }


def predict_basin(
    tree: Tree, start: Policy, coupling: Coupling = "independent"
) -> Prediction | None:
    """Follow the flow from `start`. None where the tree is too large for that (4,000 nodes)."""
    if len(tree) > MANY_NODES or not tree.info_sets:
        return None
    flow = GradientFlow(tree, coupling_matrix(tree, coupling))
    start_L = as_row(tree, start)
    landing = flow.run(start_L[None])
    kind = KINDS[landing.kind_B[0]]
    ends = _as_policy(tree, landing.probs_BL[0])
    profile = on_path(tree, ends) if kind == "pure" else None
    margin = tipping = None
    refuted = "" if kind == "moving" else _refuted(tree, ends, profile)
    if refuted:
        kind, profile = "moving", None
    if profile is not None:
        margin, tipping = _margin(flow, start_L, profile)
    elif kind == "mixed":
        margin = 0.0 if _unstable(flow, landing.probs_BL[0]) else None
    named = _coupling_name(tree, coupling)
    return Prediction(
        kind, profile, named_play(tree, profile) if profile else "", ends, margin,
        _as_policy(tree, tipping) if tipping is not None else None,
        _boundary(flow, profile) if profile else None, named, _method(named), refuted,
    )  # fmt: skip


def _refuted(tree: Tree, ends: Policy, profile: Mapping[str, str] | None) -> str:
    """Returns why a rest point of the flow is no equilibrium, and no play of one; else "".

    Information sets that move together may rest where no seat's interest does: each is pulled by
    what is good for the others.
    """
    policy = ends
    if profile is not None:
        policy = {**ends, **{key: {name: 1.0} for key, name in profile.items()}}
    found = exploitability(tree, policy)
    spans = {seat: float(high - low) for seat in tree.seats for low, high in [tree.span(seat)]}
    gains = {
        seat: float(best.value - found.values[seat]) for seat, best in found.best_responses.items()
    }
    seat = max(gains, key=lambda name: gains[name] / (spans[name] or 1.0))
    if gains[seat] <= GAINED * spans[seat]:
        return ""
    where = "a mixture"
    if profile is not None:
        where = named_play(tree, profile)
        if any(
            all(one.profile[key] == name for key, name in profile.items())
            for one in pure_equilibria(tree).found or ()
        ):
            return ""
    return f"it rests at {where}, which is no equilibrium: `{seat}` would gain {gains[seat]:.3g}"


def coupling_matrix(tree: Tree, coupling: Coupling) -> Array:
    """K as an array (I, I) in the order of the tree's information sets."""
    import numpy as np

    if isinstance(coupling, str) and coupling == "independent":
        return np.eye(len(tree.info_sets))
    if isinstance(coupling, (str, Mapping)):
        adapter = {s.role: "" for s in tree.info_sets} if isinstance(coupling, str) else coupling
        groups = [(adapter[s.role], frozenset(s.actions)) for s in tree.info_sets]
        return np.array([[float(a == b) for b in groups] for a in groups])
    matrix = np.asarray(coupling, dtype=float)
    if matrix.shape != (len(tree.info_sets),) * 2:
        raise ValueError(f"K must have one row and column for each of {len(tree.info_sets)} sets")
    return matrix


def trajectories(
    tree: Tree, starts: Sequence[Policy], coupling: Coupling
) -> list[list[list[float]]]:
    """The flow lines from each start, as rows of probabilities, one per (set, action) slot."""
    import numpy as np

    flow = GradientFlow(tree, coupling_matrix(tree, coupling))
    landing = flow.run(np.stack([as_row(tree, start) for start in starts]), keep=True)
    lines = np.stack(landing.path, axis=1)
    return [line.tolist() for line in lines]


def as_row(tree: Tree, policy: Policy) -> Array:
    import numpy as np

    return np.array(
        [float(policy[s.key].get(a, 0)) for s in tree.info_sets for a in s.actions], dtype=float
    )


def _as_policy(tree: Tree, row_L: Array) -> dict[str, dict[str, float]]:
    values = iter(row_L.tolist())
    return {s.key: {a: next(values) for a in s.actions} for s in tree.info_sets}


def _same(flow: GradientFlow, rows_BL: Array, profile: Mapping[str, str]) -> Array:
    """Returns which of many starts (B, L) end on the path of `profile`."""
    import numpy as np

    landing = flow.run(rows_BL)
    same = landing.kind_B == 1
    for place, info in enumerate(flow.tree.info_sets):
        if info.key in profile:
            slot = flow.offsets[place] + info.actions.index(profile[info.key])
            same &= landing.probs_BL[:, slot] > 0.5
        else:
            same &= landing.reach_BI[:, place] < 0.5
    return np.asarray(same)


def _first_change(
    flow: GradientFlow, start_L: Array, targets_TL: Array, profile: Mapping[str, str], *,
    nearest: bool = False,
) -> tuple[Array, Array]:  # fmt: skip
    """The points, on the way to each target, where the outcome first changes (T, L); whether it
    does at all (T).

    A grid of 10 points finds the interval, three rounds of 6 narrow it to 1/2000. Targets are drawn
    in a little, since nothing moves away from a probability of exactly 1. With `nearest`, only the
    point that is nearest to the start is wanted, and what lies beyond it is left out.
    """
    import numpy as np

    way_TL = 0.998 * (targets_TL - start_L)
    far_T = np.abs(way_TL).max(axis=1)
    low, high = np.zeros(len(targets_TL)), np.ones(len(targets_TL))

    def search(live: Array, points: int, chunk: int) -> Array:
        """Narrows the intervals of some targets to one of `points` equal parts; returns those of
        them in which a change was found. It looks at a chunk of points at a time, from the start
        on, and no further than a change; the others' last part is kept."""
        width = (high[live] - low[live]) / points
        part = np.full(len(live), points - 1)
        left, changed = np.arange(len(live)), np.zeros(len(live), dtype=bool)
        for first in range(0, points, chunk):
            steps = np.arange(first + 1, min(first + chunk, points) + 1)
            of = live[left]
            fractions = low[of][:, None] + (high - low)[of][:, None] * steps / points
            mixed = start_L + fractions[:, :, None] * way_TL[of][:, None, :]
            same = _same(flow, mixed.reshape(-1, start_L.size), profile).reshape(fractions.shape)
            found = ~same.all(axis=1)
            part[left[found]] = first + np.argmin(same[found], axis=1)
            changed[left[found]] = True
            left = left[~found]
            if nearest and changed.any():
                most = ((low[live] + (part + 1) * width) * far_T[live])[changed].min()
                beyond = (low[live] + steps[-1] * width) * far_T[live]
                left = left[beyond[left] <= most]
            if not len(left):
                break
        low[live], high[live] = low[live] + part * width, low[live] + (part + 1) * width
        return live[changed]

    everyone = np.arange(len(targets_TL))
    changed = search(everyone, 10, 2)
    for _ in range(3):
        live = changed
        if nearest and len(live):
            live = live[(low * far_T)[live] <= (high * far_T)[live].min()]
        if len(live):
            search(live, 6, 6)
    return start_L + high[:, None] * way_TL, np.isin(everyone, changed)


def _margin(
    flow: GradientFlow, start_L: Array, profile: Mapping[str, str]
) -> tuple[float | None, Array | None]:
    import numpy as np

    targets_TL = _targets(flow, start_L)
    points_TL, changed = _first_change(flow, start_L, targets_TL, profile, nearest=True)
    if not changed.any():
        return None, None
    change = np.where(changed, np.abs(points_TL - start_L).max(axis=1), np.inf)
    nearest = int(np.argmin(change))
    return float(change[nearest]), points_TL[nearest]


def _targets(flow: GradientFlow, start_L: Array) -> Array:
    """Returns the points towards which to push the start: in a 2x2 game all round; else to each
    pure equilibrium, and to each single action at each information set."""
    import numpy as np

    tree = flow.tree
    table = one_shot(tree)
    if table and table.two_by_two:
        return _square(flow, start_L, np.linspace(0, 2 * np.pi, RAYS, endpoint=False))
    rows = []
    if len(tree.info_sets) <= 16:
        for one in pure_equilibria(tree).found or ():
            pure = {key: {name: 1.0} for key, name in one.profile.items()}
            rows.append(as_row(tree, pure))
    for place, info in enumerate(tree.info_sets):
        for action in range(len(info.actions)):
            row = start_L.copy()
            first = flow.offsets[place]
            row[first : first + len(info.actions)] = 0
            row[first + action] = 1
            rows.append(row)
    return np.stack(rows[:MANY_TARGETS])


def _square(flow: GradientFlow, start_L: Array, angles: Array) -> Array:
    """Returns the points at which rays from a start of a 2x2 game leave the unit square, as rows
    of probabilities."""
    import numpy as np

    first, second = flow.offsets
    x, y = start_L[first], start_L[second]
    rows = []
    for angle in angles:
        dx, dy = np.cos(angle), np.sin(angle)
        across = [((d > 0) - v) / d for v, d in ((x, dx), (y, dy)) if abs(d) > 1e-9]
        px, py = np.clip([x + min(across) * dx, y + min(across) * dy], 0, 1)
        row = start_L.copy()
        row[[first, first + 1, second, second + 1]] = px, 1 - px, py, 1 - py
        rows.append(row)
    return np.stack(rows)


def _boundary(flow: GradientFlow, profile: Mapping[str, str]) -> Boundary | None:
    """The edge of the basin seen from its corner, ray by ray."""
    import numpy as np

    tree = flow.tree
    table = one_shot(tree)
    if table is None or not table.two_by_two:
        return None
    corner = as_row(tree, {key: {profile[key]: 1.0} for key in table.keys})
    corner = 0.998 * corner + 0.001
    first, second = flow.offsets
    turn = np.arctan2(0.5 - corner[second], 0.5 - corner[first])
    targets = _square(flow, corner, turn + np.linspace(-np.pi / 4, np.pi / 4, RAYS + 1))
    points, changed = _first_change(flow, corner, targets, profile)
    edge = points[changed]
    if not len(edge):
        return None
    one, two = tree.info_sets
    mixed = mixed_equilibria(tree) or ()
    return Boundary(
        keys=(one.key, two.key),
        actions=(one.actions[0], two.actions[0]),
        mixed=_share(mixed[0], one, two) if mixed else None,
        curve=tuple((float(row[first]), float(row[second])) for row in edge),
    )


def _share(policy: Policy, one: InfoSet, two: InfoSet) -> tuple[float, float]:
    """Returns the probability of the first action at each of two information sets."""
    return float(policy[one.key][one.actions[0]]), float(policy[two.key][two.actions[0]])


def _unstable(flow: GradientFlow, rest_L: Array) -> bool:
    """Whether the flow leaves a rest point when it is nudged, in any of a few directions."""
    import numpy as np

    nudges = np.random.default_rng(0).normal(size=(8, rest_L.size)) * 0.05
    nearby = flow.probabilities(np.log(np.clip(rest_L, 1e-9, None)) + nudges)
    ends = flow.run(nearby).probs_BL
    return bool((np.abs(ends - rest_L).max(axis=1) > 0.25).any())


def _coupling_name(tree: Tree, coupling: Coupling) -> str:
    """`independent`, `shared`, or `given` where K is neither."""
    if isinstance(coupling, str):
        return coupling
    matrix = coupling_matrix(tree, coupling)
    for name in ("independent", "shared"):
        if (matrix == coupling_matrix(tree, name)).all():
            return name
    return "given"


def _method(coupling: str) -> str:
    moves = {
        "independent": "each information set on its own",
        "shared": "information sets with the same actions moving together",
        "given": "information sets coupled as given",
    }[coupling]
    return (
        "The policy-gradient flow on logits from the start probabilities, on rewards after the "
        f"split, {moves}: the mean of GRPO's update with mean-only advantages."
    )
