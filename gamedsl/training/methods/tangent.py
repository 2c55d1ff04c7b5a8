"""Moves a network's decisions to wanted places at once: least squares in the space of outputs.

Near the parameters theta the log-odds z of all decisions move by J d(theta), one row of J for each
log-odds. They are far fewer than the parameters, so moves are sought among those along the rows of
J alone, d(theta) = J' c, and each costs a forward pass. Of what c would do, R c with R = J J', the
one that is taken is the best weighed against its length (Levenberg 1944, with weights W),

    c minimises |R c - dz|^2 in W + damping * m * |J' c|^2,   m the mean of the diagonal of J J'.

J J' is the kernel by which a gradient step for one decision moves the others (Jacot et al. 2018).
Where prompts hardly differ its rows hardly do, and gradient steps move all decisions together; here
each goes where it should. J is dear, a backward pass for each log-odds, and the network is curved.
So J is kept, and R learns from each move what it did (Broyden 1965):

    R becomes R + (dz seen - R c) c' / |c|^2.

Adapters share no parameters: each has an R of its own, and one backward pass takes a row of each.

Shape letters: M log-odds of one adapter, P its parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest

import numpy as np
import torch

from gamedsl.policies.base import Policy, Query

MOST = 2**28
"""Numbers that J may have, all adapters together: 1 GiB."""
MANY = 64
"""Log-odds, and so backward passes, that an adapter may have."""
RARE = 0.02
"""The least that a log-odds counts, where 1 is that of an even choice."""


class Tangent:
    """J at the policy as it is when this is made, and R. Moves along J may start anywhere near."""

    def __init__(
        self, policy: Policy, queries: Sequence[Query], log_pi_A: Sequence[torch.Tensor]
    ) -> None:
        """`log_pi_A` are the queries' scores now with their graphs, which this uses up."""
        self.queries = list(queries)
        self.bases = [int(log_pi.argmax()) for log_pi in log_pi_A]
        """Per query the label that the others' log-odds are taken against: the likeliest."""
        self.adapters = {name: policy.adapter_state(name) for name in policy.adapters}
        self._parts = {
            query.adapter: _Part(policy.parameters(query.adapter)) for query in self.queries
        }
        self._moved: list[str] = []
        """The adapters that the last move has changed."""
        odds = self.odds(log_pi_A)
        rows = [torch.cat(self._of(name, odds)).unbind() for name in self._parts]
        for passed in zip_longest(*rows):
            asked = [
                (part, z)
                for part, z in zip(self._parts.values(), passed, strict=True)
                if z is not None
            ]
            slopes = torch.autograd.grad(
                torch.stack([z for _, z in asked]).sum(),
                [parameter for part, _ in asked for parameter in part.parameters],
                retain_graph=True,
                materialize_grads=True,
            )
            for part, _ in asked:
                part.add(slopes[: len(part.parameters)])
                slopes = slopes[len(part.parameters) :]
        for part in self._parts.values():
            part.close()

    def odds(self, each_A: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Returns per query the log-odds [A - 1] of log-probabilities."""
        return [
            torch.cat([row[:base], row[base + 1 :]]) - row[base]
            for row, base in zip(each_A, self.bases, strict=True)
        ]

    def counts(self, probs_A: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Returns the weight of each log-odds, [A - 1]: by what it moves of the probabilities, and
        never nothing."""
        each = [(4 * p * (1 - p)).clamp(min=RARE) for p in probs_A]
        return [
            torch.cat([row[:base], row[base + 1 :]])
            for row, base in zip(each, self.bases, strict=True)
        ]

    def move(
        self, wanted: Sequence[torch.Tensor], counts: Sequence[torch.Tensor], damping: float,
        frozen: Collection[str] = (),
    ) -> None:  # fmt: skip
        """Changes the parameters so that each query's log-odds move by what is wanted; the adapters
        `frozen` stay as they are."""
        self._moved = [name for name in self._parts if name not in frozen]
        for name in self._moved:
            wanted_M, count_M = torch.cat(self._of(name, wanted)), torch.cat(self._of(name, counts))
            self._parts[name].move(wanted_M, count_M, damping)

    def learn(self, moved: Sequence[torch.Tensor]) -> None:
        """Learns by how much the last move has changed each query's log-odds."""
        for name in self._moved:
            self._parts[name].learn(torch.cat(self._of(name, moved)))

    def undo(self) -> None:
        """Takes back the last move, to the bit."""
        for name in self._moved:
            self._parts[name].undo()

    @property
    def learned(self) -> dict[str, torch.Tensor]:
        """R of each adapter."""
        return {name: part.response_MM for name, part in self._parts.items()}

    def relearn(self, learned: Mapping[str, torch.Tensor]) -> None:
        """Goes on with what `learned` was, J being the same."""
        for name, part in self._parts.items():
            part.response_MM = learned[name]

    def _of(self, name: str, each: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return [one for query, one in zip(self.queries, each, strict=True) if query.adapter == name]


class _Part:
    """The rows of J of one adapter, and its R."""

    response_MM: torch.Tensor

    def __init__(self, parameters: list[torch.nn.Parameter]) -> None:
        self.parameters = parameters
        self._rows: list[torch.Tensor] = []
        self._before: list[torch.Tensor] = []

    def add(self, slopes: Sequence[torch.Tensor]) -> None:
        self._rows.append(torch.cat([slope.reshape(-1).float() for slope in slopes]))

    def close(self) -> None:
        self._j_MP = torch.stack(self._rows)
        self._rows = []
        self.response_MM = self._kernel_MM = (self._j_MP @ self._j_MP.T).double().cpu()

    def move(self, wanted_M: torch.Tensor, count_M: torch.Tensor, damping: float) -> None:
        # By numpy: torch's solvers give other last bits when memory is aligned otherwise.
        kernel_MM, response_MM = self._kernel_MM.numpy(), self.response_MM.numpy()
        size = max(float(kernel_MM.diagonal().mean()), float(np.finfo(np.float64).tiny))
        weighed_MM = response_MM.T * count_M.double().numpy()
        left_MM = weighed_MM @ response_MM + damping * size * kernel_MM
        solved = np.linalg.lstsq(left_MM, weighed_MM @ wanted_M.double().numpy())
        self._c_M = torch.from_numpy(solved[0])
        step_P = self._c_M.to(self._j_MP) @ self._j_MP
        self._before = [parameter.detach().clone() for parameter in self.parameters]
        sizes = [parameter.numel() for parameter in self.parameters]
        with torch.no_grad():
            for parameter, step in zip(
                self.parameters, step_P.split_with_sizes(sizes), strict=True
            ):
                parameter.add_(step.view_as(parameter))

    def learn(self, moved_M: torch.Tensor) -> None:
        length = float((self._c_M**2).sum())
        if length > 0:
            surprise_M = moved_M.double() - (self.response_MM * self._c_M).sum(1)
            self.response_MM = self.response_MM + torch.outer(surprise_M, self._c_M) / length

    def undo(self) -> None:
        with torch.no_grad():
            for parameter, before in zip(self.parameters, self._before, strict=True):
                parameter.copy_(before)


def fits(policy: Policy, queries: Sequence[Query]) -> bool:
    """Returns whether J has few enough rows and numbers."""
    size = most = 0
    for name in policy.adapters:
        rows = sum(len(query.labels) - 1 for query in queries if query.adapter == name)
        size += rows * sum(parameter.numel() for parameter in policy.parameters(name))
        most = max(most, rows)
    return size <= MOST and most <= MANY
