"""`Game`: a compiled game as Python code holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from gamedsl.engine.kernel import Kernel
from gamedsl.ir.game import GameIR, Rows, Wording
from gamedsl.ir.hashing import digest
from gamedsl.ir.rows import holds_out, of_rows
from gamedsl.prompting.tokenizers import TokenCounter
from gamedsl.runtime.env import Env
from gamedsl.runtime.kernels import kernel_of


@dataclass(frozen=True)
class Game:
    """A compiled game. `files` are the files it was read from, the one asked for first: those that
    it extends, and those beside it that it uses."""

    ir: GameIR
    files: tuple[Path, ...]

    def __repr__(self) -> str:
        return f"<Game {self.name}: seats {', '.join(self.ir.seats)}; hash {self.hash[:12]}>"

    @property
    def name(self) -> str:
        return self.ir.name

    def named_files(self) -> tuple[tuple[Path, str], ...]:
        """Returns the files of words and rows that `files` name, each with its path from the folder
        of the file that names it."""
        from gamedsl.sema.library import find_named_files

        return tuple(find_named_files(self.files))

    @property
    def hash(self) -> str:
        """SHA-256 over rules and rendering; equal games have equal hashes."""
        return self.ir.hash

    @property
    def share_hash(self) -> str:
        """The same as `hash` with all rows, and one of its own for each share of them."""
        return self.hash if self.ir.rows == "all" else digest(self.hash, self.ir.rows)

    @cached_property
    def params(self) -> Mapping[str, Any]:
        return {param.name: param.value for param in self.ir.params}

    def of(self, rows: Rows) -> Self:
        """The same game, whose data files have the rows that it trains on ("training"), those that
        it holds out ("held_out"), or "all". ValueError for the rows held out where none are."""
        found = of_rows(self.ir, rows)
        return self if found is self.ir else replace(self, ir=found)

    def worded(self, wording: Wording) -> Self:
        """The same game whose prompts use these default texts."""
        return replace(self, ir=replace(self.ir, wording=wording))

    @property
    def evaluated(self) -> Self:
        """The same game with the rows that it holds out, where it holds some out."""
        return self.of("held_out" if holds_out(self.ir) else "all")

    def env(
        self,
        run_seed: int = 0,
        tokenizer: TokenCounter | None = None,
        backend: str | None = None,
    ) -> Env:
        """An environment. `run_seed` draws the labels. A tokenizer makes them equal in tokens, and
        limits such as `max_tokens` count its tokens; without one they count words, which are fewer.
        `backend` (a name of `gamedsl.runtime.kernels.BACKENDS`) runs the rules, by default the
        fastest.
        """
        return Env(self.ir, run_seed=run_seed, tokenizer=tokenizer, backend=backend)

    def kernel(self, backend: str | None = None) -> Kernel:
        """The rules alone, for solvers and rollouts: histories that are moved by numbers or names,
        without labels, prompts or transcripts.

            state = game.kernel("tabulated").start()
            while state.kind != "end":
                if state.kind == "chance":
                    state.apply(state.sample(random.random))
                else:
                    state.apply(*(random.randrange(count) for count in state.counts))
            state.payoffs
        """
        return kernel_of(self.ir, backend)
