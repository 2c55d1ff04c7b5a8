"""`Game`: a compiled game as Python code holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gamedsl.backends.kernel import Kernel
from gamedsl.backends.labels import TokenCounter
from gamedsl.ir.game import GameIR
from gamedsl.runtime.env import Env
from gamedsl.runtime.kernels import kernel_of


@dataclass(frozen=True)
class Game:
    """A compiled game. `files` are the files it was read from, the one asked for first."""

    ir: GameIR
    files: tuple[Path, ...]

    @property
    def name(self) -> str:
        return self.ir.name

    @property
    def hash(self) -> str:
        """SHA-256 over rules and rendering; equal games have equal hashes."""
        return self.ir.hash

    @cached_property
    def params(self) -> Mapping[str, Any]:
        return {param.name: param.value for param in self.ir.params}

    def env(
        self,
        run_seed: int = 0,
        tokenizer: TokenCounter | None = None,
        backend: str | None = None,
    ) -> Env:
        """An environment. `run_seed` draws the labels; a tokenizer makes them equal in tokens;
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
