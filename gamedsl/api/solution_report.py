"""`Report`: a solved game that prints itself, as `gamedsl solve` does."""

from __future__ import annotations

from dataclasses import dataclass, fields

from gamedsl.api import notebook
from gamedsl.solve import solver
from gamedsl.solve.text import render


@dataclass(frozen=True, repr=False)
class Report(solver.Report):
    """The results of solving a game: `solution` has the policies and values, `did` says which
    method was used and why. `str` is the report as text."""

    def __str__(self) -> str:
        return render(self)

    def _repr_html_(self) -> str:
        return notebook.verbatim(render(self))


def readable(found: solver.Report) -> Report:
    """Returns the same report, which prints itself."""
    return Report(**{one.name: getattr(found, one.name) for one in fields(found)})
