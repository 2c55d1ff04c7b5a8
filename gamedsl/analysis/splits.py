"""Whether a recipe looks for equilibria that are not those of the game: a method that holds them,
under rewards that were seen to prefer what payoffs do not."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.ir.game import GameIR
from gamedsl.recipe.methods import method_spec
from gamedsl.recipe.table import Recipe


def check_split(
    ir: GameIR, recipe: Recipe, spans: Mapping[str, Span], proofs: Collection[Proof],
    problems: Problems,
) -> None:  # fmt: skip
    """GD0706: the split of payoffs into rewards moves the equilibria that the method holds.
    `spans`: where settings of the recipe were given."""
    if not method_spec(recipe.method).mixes or "split" in recipe.allow:
        return
    found = [p for p in proofs if p.name == "rewards.incentives" and p.grade == "refuted"]
    for proof in found:
        problems.add(
            "GD0706",
            f"`{recipe.method}` holds equilibria, and under the reward `{ir.reward.name}` they are"
            " not those of the payoffs",
            spans.get("method", ir.span), why="would hold equilibria of the rewards",
            notes=(Note(ir.reward.use, "the rewards"),), witness=proof.witness,
            help="leave `rewards` out, or write `method: grpo`; to do it all the same,"
            " `allow: [split]`",
        )  # fmt: skip
