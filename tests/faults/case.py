"""One fault: the compiler's report, and the good and the broken game as they play."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from gamedsl import Env
from gamedsl.compiler import Result
from gamedsl.diagnostics import Diagnostic
from tests.faults.corpus import Fault, unchecked
from tests.faults.histories import Point, environment, played
from tests.faults.leaks import Leak, leaks

_twins: dict[str, Env] = {}
_good: dict[str, list[Leak]] = {}


@dataclass
class Case:
    """A fault, the compiler's report of it, and both games as they play."""

    fault: Fault
    said: Result
    folder: Path

    def game(self, name: str, texts: Mapping[str, str]) -> Env:
        ir = unchecked(self.fault, texts, self.folder / name)
        if ir is None:
            raise ValueError(f"{self.fault.id}: the {name} game cannot be read")
        return environment(ir)

    @property
    def twin(self) -> Env:
        """Returns the good game, which is built once for all its faults."""
        if self.fault.good not in _twins:
            _twins[self.fault.good] = self.game("good", self.fault.twin())
        return _twins[self.fault.good]

    @cached_property
    def broken(self) -> Env:
        return self.game("bad", self.fault.broken())

    def changed(self, *changes: Mapping[str, str]) -> Env:
        """Returns the broken game with more changes."""
        return self.game("changed", self.fault.files(self.fault.change, *changes))

    @property
    def problem(self) -> Diagnostic:
        return next(d for d in self.said.diagnostics if d.code == self.fault.code)

    @property
    def histories(self) -> tuple[tuple[str, ...], ...]:
        """Returns the histories of the compiler's witness, to be played; empty where it has
        none."""
        proofs = [p for p in self.said.proofs if self.fault.code in p.codes and p.histories]
        return proofs[0].histories if proofs else ()

    def witness(self, count: int) -> list[Point]:
        """Returns the histories of the witness, played. Raises ValueError where there are fewer."""
        if len(self.histories) != count:
            raise ValueError(f"{len(self.histories)} histories in the witness, not {count}")
        return [played(self.broken, moves) for moves in self.histories]

    def quoted(self) -> list[str]:
        """Returns the names between backticks in the headline."""
        return re.findall("`(.+?)`", self.problem.message)

    def written(self, key: str, kind: str = "game") -> Any:
        """Returns the value of a key in the broken game's file, or that of another kind."""
        loaded = [yaml.safe_load(text) for text in self.fault.broken().values()]
        return next(data[key] for data in loaded if kind in data)

    def leaks_of_twin(self) -> list[Leak]:
        """Returns what leaks from the good game, which is searched once for all its faults."""
        if self.fault.good not in _good:
            _good[self.fault.good] = leaks(self.twin)
        return _good[self.fault.good]
