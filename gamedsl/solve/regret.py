"""Counterfactual regret minimisation in sequence form: what an iteration does.

One iteration updates the seats in turn, each against what the others play by now, as OpenSpiel
does; Zinkevich et al. (2007) update all at once. In sequence form, the counterfactual values of all
the seat's actions come from one product with its payoff matrix and one sweep over its levels, and
the average policy is the average of plans. `gamedsl.solve.history_regrets` adds the same numbers up
in another order.

Variants
- `cfr`: regret matching, plain averages (Zinkevich et al. 2007);
- `cfr+`: regrets below 0 are set to 0, iteration t weighs t in the average (Tammelin 2014);
- `dcfr`: after iteration t regrets above 0 are multiplied by tᵅ/(tᵅ+1) and the others by
  tᵝ/(tᵝ+1), and iteration t weighs tᵞ; α = 1.5, β = 0, γ = 2 (Brown and Sandholm 2019).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from gamedsl.solve.arrays import Array, Level, SeatArrays, TreeArrays
from gamedsl.solve.history_regrets import Histories

Variant = Literal["cfr", "cfr+", "dcfr"]

Sums = Literal["sequences", "histories"]

ALPHA, BETA, GAMMA = 1.5, 0.0, 2.0

add_up = np.add.reduceat


class Minimiser:
    """The regrets and the average of all seats, after `done` iterations."""

    def __init__(self, arrays: TreeArrays, variant: Variant, sums: Sums = "sequences") -> None:
        self.arrays = arrays
        self.variant = variant
        self.done = 0
        self._seats = [_Seat(seat) for seat in arrays.seats]
        self._plans = [seat.plan_S for seat in self._seats]
        self._rows = [seat.row_A for seat in self._seats]
        self._histories = Histories(arrays) if sums == "histories" else None

    def run(self, iterations: int) -> None:
        with np.errstate(invalid="ignore"):
            for t in range(self.done + 1, self.done + iterations + 1):
                for place, seat in enumerate(self._seats):
                    if self._histories is None:
                        seat.learn(self.arrays.gain(place, self._plans))
                    else:
                        self._histories.learn(place, self._rows, self._plans, seat.regret_A)
                    self._step(seat, t)
        self.done += iterations

    def _step(self, seat: _Seat, t: int) -> None:
        """After the regrets of iteration t: what was played goes into the average, and what is
        played next follows from the regrets."""
        if self.variant == "cfr":
            seat.add(1.0)
            seat.match(seat.positive(seat.spare_A))
        elif self.variant == "cfr+":
            seat.add(t)
            seat.match(seat.positive(seat.regret_A))
        else:
            seat.add(t**GAMMA)
            gained, lost = (t**power / (t**power + 1) for power in (ALPHA, BETA))
            seat.regret_A *= np.where(seat.regret_A >= 0, gained, lost)
            seat.match(seat.positive(seat.spare_A))

    @property
    def average(self) -> list[Array]:
        """The average policy, as probabilities (A,) per seat."""
        return [seat.average() for seat in self._seats]

    @property
    def last(self) -> list[Array]:
        """The policy of the next iteration."""
        return [seat.row_A.copy() for seat in self._seats]


class _Seat:
    """The arrays of one seat. They are written in place, so that views of them stay valid."""

    def __init__(self, arrays: SeatArrays) -> None:
        self.arrays = arrays
        self.uniform_A = arrays.uniform()
        self.row_A = arrays.uniform()
        self.plan_S = arrays.plan(self.row_A)
        self.regret_A = np.zeros(arrays.slots)
        self.total_A = np.zeros(arrays.slots)
        self.spare_A = np.zeros(arrays.slots)
        self._zeros_A = np.zeros(arrays.slots)
        self._idle_A = np.zeros(arrays.slots, dtype=bool)
        self._played_A = self.plan_S[1:]
        self._weight = np.array(0.0)
        self._value_S = np.zeros(arrays.slots + 1)
        self._value_A = self._value_S[1:]
        self._value_I = np.zeros(len(arrays.first_I))
        self._views = [_View(level, self) for level in arrays.levels]
        self._upwards = self._views[::-1]

    def learn(self, gain_S: Array) -> None:
        """Add what each action would have gained over what was played."""
        value_S, spare_A = self._value_S, self.spare_A
        np.copyto(value_S, gain_S)
        for view in self._upwards:
            np.multiply(view.value_A, view.row_A, view.spare_A)
            add_up(view.spare_A, view.first_I, out=view.value_I)
            if view.deeper:
                value_S[view.parents] += view.sums()
        np.subtract(self._value_A, self._value_I[self.arrays.set_A], spare_A)
        np.add(self.regret_A, spare_A, self.regret_A)

    def add(self, weight: float) -> None:
        """Take what was played into the average."""
        self._weight[()] = weight
        np.multiply(self._played_A, self._weight, self.spare_A)
        np.add(self.total_A, self.spare_A, self.total_A)

    def positive(self, out_A: Array) -> Array:
        """The regrets above 0, and 0 elsewhere."""
        np.maximum(self.regret_A, self._zeros_A, out=out_A)
        return out_A

    def match(self, positive_A: Array) -> None:
        """Play in proportion to what is above 0, and uniformly where nothing is."""
        sums_A = np.bincount(self.arrays.set_A, positive_A)[self.arrays.set_A]
        np.divide(positive_A, sums_A, self.row_A)
        np.less_equal(sums_A, self._zeros_A, self._idle_A)
        np.putmask(self.row_A, self._idle_A, self.uniform_A)
        for view in self._views:
            if view.deeper:
                np.multiply(self.plan_S[view.before_A], view.row_A, view.plan_A)
            else:
                np.copyto(view.plan_A, view.row_A)

    def average(self) -> Array:
        sums_A = add_up(self.total_A, self.arrays.first_I)[self.arrays.set_A]
        return np.where(sums_A > 0, self.total_A / np.where(sums_A > 0, sums_A, 1), self.uniform_A)


class _View:
    """One level of a seat, as views of its arrays."""

    def __init__(self, level: Level, seat: _Seat) -> None:
        self.first_I, self.before_A = level.first_I, level.before_A
        self.parents, self.group = level.parents, level.group
        self.deeper = bool(self.parents.any())
        self.row_A = seat.row_A[level.slots]
        self.plan_A = seat.plan_S[level.sequences]
        self.value_A = seat._value_S[level.sequences]
        self.value_I = seat._value_I[level.sets]
        self.spare_A = seat.spare_A[level.slots]
        self._single = len(self.group) == len(self.value_I)

    def sums(self) -> Array:
        """The values of the sets below each parent, added up."""
        return self.value_I if self._single else add_up(self.value_I, self.group)
