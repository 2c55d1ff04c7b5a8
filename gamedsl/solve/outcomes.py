"""Values of the outcomes of a one-shot game, whoever would play for them: the Pareto set,
welfare, each seat's security level, and correlated equilibria."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from gamedsl.solve.best_responses import Number
from gamedsl.solve.linear_programs import Program, maximise
from gamedsl.solve.table import PayoffTable, Profile
from gamedsl.solve.tree import Utility

MANY_PROFILES = 2_000


@dataclass(frozen=True)
class Welfare:
    """Utilitarian welfare, the sum of what the seats get. `best` is the most in any profile, and
    `worst_equilibrium`, `best_equilibrium` are its range over the equilibria that were given."""

    best: Fraction
    best_profiles: tuple[Profile, ...]
    best_equilibrium: Fraction
    worst_equilibrium: Fraction

    @property
    def price_of_anarchy(self) -> Fraction | None:
        """The best over the worst equilibrium (Koutsoupias and Papadimitriou 1999); None where
        welfare is not above 0, as the ratio then means nothing."""
        return self.best / self.worst_equilibrium if self.worst_equilibrium > 0 else None

    @property
    def price_of_stability(self) -> Fraction | None:
        """The best over the best equilibrium (Anshelevich et al. 2004), or None."""
        return self.best / self.best_equilibrium if self.best_equilibrium > 0 else None


@dataclass(frozen=True)
class Security:
    """A seat's security level: the most that it can guarantee alone, whatever the others do
    together, and the strategy for it."""

    seat: str
    value: Number
    mixture: dict[str, Number]
    exact: bool


@dataclass(frozen=True)
class Correlated:
    """The correlated equilibrium of the largest welfare (Aumann 1974), and for each seat the least
    and the most that it gets in any."""

    distribution: dict[Profile, Number]
    values: dict[str, Number]
    ranges: dict[str, tuple[Number, Number]]
    regret: Number
    """The largest gain of a seat that leaves one recommendation for another action, times the
    probability of the recommendation."""
    exact: bool


def pareto_set(table: PayoffTable, utility: Utility = "payoffs") -> tuple[Profile, ...]:
    """The pure profiles that no other is better than for one seat and as good for all."""
    got = table.worth(utility)
    front = [
        worth
        for worth in set(got.values())
        if not any(
            other != worth and all(b >= a for a, b in zip(worth, other, strict=True))
            for other in set(got.values())
        )
    ]
    kept = set(front)
    return tuple(profile for profile, worth in got.items() if worth in kept)


def welfare(
    table: PayoffTable, equilibria: list[dict[str, Fraction]], utility: Utility = "payoffs"
) -> Welfare | None:
    """Welfare of all profiles and of the equilibria with these values; None without any."""
    if not equilibria:
        return None
    got = {profile: sum(worth, Fraction(0)) for profile, worth in table.worth(utility).items()}
    best = max(got.values())
    sums = [sum(values.values(), Fraction(0)) for values in equilibria]
    where = tuple(profile for profile, total in got.items() if total == best)
    return Welfare(best, where, max(sums), min(sums))


def security(table: PayoffTable, seat: int, utility: Utility = "payoffs") -> Security:
    """The mixture whose worst case is the best (von Neumann 1928). Raises ImportError."""
    got, names = table.worth(utility), table.actions[seat]
    size = len(names)
    program = Program(size + 1, {size: Fraction(1)}, free=frozenset([size]))
    program.equal.append((dict.fromkeys(range(size), Fraction(1)), Fraction(1)))
    for others in product(*table.actions[:seat], *table.actions[seat + 1 :]):
        cells = ((*others[:seat], name, *others[seat:]) for name in names)
        row = {j: -got[cell][seat] for j, cell in enumerate(cells)}
        program.most.append((row | {size: Fraction(1)}, Fraction(0)))
    best = maximise(program)
    assert best is not None
    mixture = dict(zip(names, best.x, strict=False))
    return Security(table.seats[seat], best.value, mixture, best.exact)


def correlated(table: PayoffTable, utility: Utility = "payoffs") -> Correlated | None:
    """By linear programming over the distributions of profiles; None for over 2,000 profiles.
    Raises ImportError."""
    got = table.worth(utility)
    if len(got) > MANY_PROFILES:
        return None
    profiles = list(got)
    rows = _incentives(table, utility)

    def best(weights: dict[int, Fraction]) -> tuple[Number, list[Number], bool]:
        program = Program(len(profiles), weights)
        program.equal.append((dict.fromkeys(range(len(profiles)), Fraction(1)), Fraction(1)))
        program.most += [(row, Fraction(0)) for row in rows]
        found = maximise(program)
        assert found is not None
        return found.value, list(found.x), found.exact

    _, x, exact = best({j: sum(got[p], Fraction(0)) for j, p in enumerate(profiles)})
    ranges = {}
    for seat, name in enumerate(table.seats):
        own = {j: got[p][seat] for j, p in enumerate(profiles)}
        least, _, low = best({j: -v for j, v in own.items()})
        most, _, high = best(own)
        ranges[name] = -least, most
        exact = exact and low and high
    if not exact:
        x = [float(p) for p in x]
    values = {
        name: sum(p * got[profile][seat] for p, profile in zip(x, profiles, strict=True))
        for seat, name in enumerate(table.seats)
    }
    regret = max([0, *(sum(v * x[j] for j, v in row.items()) for row in rows)])
    shown = {
        profile: p for profile, p in zip(profiles, x, strict=True) if p > (0 if exact else 1e-9)
    }
    return Correlated(shown, values, ranges, regret, exact)


def _incentives(table: PayoffTable, utility: Utility) -> list[dict[int, Fraction]]:
    """Returns each seat's gain by doing `other` if `action` is recommended, by profile."""
    got = table.worth(utility)
    number = {profile: j for j, profile in enumerate(got)}
    rows = []
    for seat, names in enumerate(table.actions):
        for action, other in product(names, names):
            if action == other:
                continue
            row = {}
            for profile, j in number.items():
                if profile[seat] == action:
                    there = (*profile[:seat], other, *profile[seat + 1 :])
                    row[j] = got[there][seat] - got[profile][seat]
            rows.append(row)
    return rows
