"""Several processes that train one run: what each does beside sharing the work of models.

Every process runs the whole loop (`gamedsl.training.loop`) on the same numbers. The leading one
writes the run's folder and speaks to the user. Each other one has a copy of the folder of its own,
which it deletes at the end. So nothing in the loop knows of other processes, and a run that several
processes trained goes on with any number of them.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gamedsl.policies.process_group import ProcessGroup
from gamedsl.storage.lock import NAME as LOCK
from gamedsl.training.errors import TrainError
from gamedsl.training.runfolder import RunFolder
from gamedsl.training.seats import SeatAssignment

Record = dict[str, Any]

OWN_FIELDS = ("seconds",)
"""Fields of records that say what one process measured of itself."""
TOLERANCE = 1e-6
"""Processors of different kinds may round differently."""


def check_players(seating: SeatAssignment, group: ProcessGroup | None) -> None:
    """Raises TrainError where players are asked over a network: each process would ask them."""
    if group is not None and seating.budget.in_use:
        raise TrainError(
            "endpoints cannot be asked by several processes, which would each pay for every reply",
            "train with one process, or take other players",
        )


@contextmanager
def folder_of(
    group: ProcessGroup | None, open_folder: Callable[[], RunFolder], *, forced: bool
) -> Iterator[RunFolder]:
    """Gives the folder that this process works in: the run's own, which `open_folder` gives in the
    leading process, or a copy. Raises what `open_folder` raises, in all processes, and TrainError
    where a process does not see the folder."""
    if group is None:
        yield open_folder()
        return
    opened: list[RunFolder] = []

    def lead() -> Path:
        opened.append(open_folder())
        return opened[0].path.resolve()

    path = group.first(lead)
    with tempfile.TemporaryDirectory(prefix="gamedsl-process-") as own:
        copy = Path(own) / path.name
        unseen = ""
        if not group.leads:
            try:
                shutil.copytree(path, copy, ignore=shutil.ignore_patterns(LOCK))
            except (OSError, shutil.Error) as error:
                unseen = f"process {group.rank} cannot read {path}: {error}"
        if told := next(filter(None, group.gather(unseen)), None):
            raise TrainError(told, "put the run on a file system that all machines share (--out)")
        yield opened[0] if group.leads else RunFolder(copy, forced=forced)


class Agreement:
    """An observer that compares the records of all processes, step by step. They are equal unless
    something outside of the program had a say in a play, such as a time limit of a called
    function."""

    def __init__(self, group: ProcessGroup) -> None:
        self._group = group

    def compare(self, record: Record) -> None:
        """Raises TrainError in all processes where the records of two differ."""
        own = {key: value for key, value in record.items() if key not in OWN_FIELDS}
        first, *others = self._group.gather(own)
        for rank, other in enumerate(others, 1):
            if (field := _difference(first, other)) is not None:
                raise TrainError(
                    f"processes 0 and {rank} disagree on `{field}` of step {own.get('step')}",
                    "a called function may have ended in one and run out of time in another: go on"
                    " from the last checkpoint with --resume, or train with one process",
                )

    start = warm_up = step = end = compare

    def progress(self, record: Record) -> None:
        """Compares nothing: progress goes by the clock."""


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """Returns the first field in which two records differ by more than rounding."""
    for key in (*one, *other):
        if not _alike(one.get(key), other.get(key)):
            return key
    return None


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        same = math.isnan(one) and math.isnan(other)
        return same or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)
