"""The row type of the table of passes, and the function that runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Problems
from gamedsl.ir.game import GameIR

Found = Iterable[Proof] | None
"""What a pass has found; None says: proved, or refuted by the problems that it has added."""


@dataclass(frozen=True)
class Pass:
    """One row of `gamedsl.analysis.PASSES`: what is claimed of every game for which `when` holds,
    and the codes of the problems that refute it or say what is less than it should be."""

    name: str
    claim: str
    codes: tuple[str, ...]
    run: Callable[[HistorySample, Problems], Found]
    when: Callable[[GameIR], bool] = lambda _: True


def by_rules(
    check: Callable[[GameIR, Problems], None], said_by: str = ""
) -> Callable[[HistorySample, Problems], Found]:
    """A pass that looks at types and flow alone: what it does not refute is proved. Where another
    pass looks at the same in histories, and says how far, that one gives the proof (`said_by`)."""

    def run(sample: HistorySample, problems: Problems) -> Found:
        check(sample.ir, problems)
        return () if said_by else None

    return run


def prove(passes: Iterable[Pass], sample: HistorySample, problems: Problems) -> tuple[Proof, ...]:
    """Run passes in order. Problems that they find are added to `problems`."""
    proofs: list[Proof] = []
    for each in passes:
        if not each.when(sample.ir):
            continue
        before = len(problems.found)
        found = each.run(sample, problems)
        if found is not None:
            proofs += found
            continue
        new = [d for d in problems.found[before:] if d.code in each.codes]
        codes = tuple(dict.fromkeys(d.code for d in new))
        if new:
            proofs.append(Proof(each.name, each.claim, "refuted", "", codes, new[0].witness))
        else:
            proofs.append(Proof(each.name, each.claim, "proved", "by types and flow"))
    return tuple(proofs)
