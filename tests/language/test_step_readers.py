"""The table of steps: every key of a step has one reader."""

from __future__ import annotations

from gamedsl.frontend.schema.tagged_unions import STEP_HEADS
from gamedsl.sema.loops import LOOP_KEYS, read_loop
from gamedsl.sema.step_readers import STEP_READERS


def test_every_step_of_the_schema_has_a_reader() -> None:
    loops = {key for key, reader in STEP_READERS.items() if reader is read_loop}
    assert set(STEP_READERS) == set(STEP_HEADS) | loops
    assert loops < set(LOOP_KEYS)
