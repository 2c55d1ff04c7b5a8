"""What is proved of a compiled game: one pass a file, named by what it proves.

A pass looks at the rules alone, or at the histories in the atlas; it reports what it refutes and
changes nothing. They run in this order; passes that render prompts skip a game whose templates or
labels are at fault.
"""

from __future__ import annotations

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Draw, walk_steps
from gamedsl.passes.chance import CLAIM as CHANCE
from gamedsl.passes.chance import chance_sums_to_one
from gamedsl.passes.claims import payoffs_are_as_claimed
from gamedsl.passes.labels import labels_are_distinct
from gamedsl.passes.leaks import CLAIM as MASKED
from gamedsl.passes.leaks import prompts_stay_masked
from gamedsl.passes.lengths import plays_are_bounded
from gamedsl.passes.merged import APART, different_is_told_apart
from gamedsl.passes.payoffs import payoffs_are_defined
from gamedsl.passes.plays import CLAIM as PLAYS
from gamedsl.passes.plays import plays_end
from gamedsl.passes.prompt_lengths import prompts_are_so_long
from gamedsl.passes.prompts import CLAIM as RENDER
from gamedsl.passes.prompts import CODES as PROMPT_CODES
from gamedsl.passes.prompts import all_prompts_render
from gamedsl.passes.proof import Pass, by_rules
from gamedsl.passes.reachable import CLAIM as REACHABLE
from gamedsl.passes.reachable import everything_happens
from gamedsl.passes.readers import only_readers_learn
from gamedsl.passes.relabelling import (
    REPLIES,
    SAME,
    relabelling_changes_nothing,
    replies_are_one_option,
)  # fmt: skip
from gamedsl.passes.rewards import INCENTIVES, rewards_are_as_claimed, rewards_keep_incentives
from gamedsl.passes.taint import payoffs_stay_secret
from gamedsl.passes.templates import templates_name_what_is_seen
from gamedsl.passes.told import ALIKE, RECALL, seats_remember, seen_alike_is_told_alike


def _masked(ir: GameIR) -> bool:
    return ir.labels.kind in ("masked", "partly")


def _has_chance(ir: GameIR) -> bool:
    return any(isinstance(step, Draw) for step in walk_steps(ir.turns))


PASSES: tuple[Pass, ...] = (
    Pass(
        "outcomes", "every outcome has one payoff and one reward for each seat",
        ("GD0402", "GD0602"), by_rules(payoffs_are_defined), lambda ir: ir.plain,
    ),
    Pass(
        "readers", "what a seat is asked, told and may choose depends on what it has seen alone",
        ("GD0440", "GD0441", "GD0442", "GD0443", "GD0444", "GD0445", "GD0446", "GD0447"),
        by_rules(only_readers_learn),
    ),
    Pass(
        "plays", PLAYS, ("GD0402", "GD0437", "GD0460"), plays_end,
    ),
    Pass("told.alike", ALIKE, ("GD0440",), seen_alike_is_told_alike),
    Pass("recall", RECALL, (), seats_remember),
    Pass("chance", CHANCE, ("GD0433",), chance_sums_to_one, _has_chance),
    Pass("lengths", "a play is bounded, and the game is of some size", (), plays_are_bounded),
    Pass(
        "claims", "payoffs are as the file claims", ("GD0470", "GD0471", "GD0472"),
        payoffs_are_as_claimed,
    ),
    Pass(
        "rewards", "rewards are as their file claims", ("GD0610",), rewards_are_as_claimed,
        lambda ir: bool(ir.reward.claims),
    ),
    Pass("rewards.incentives", INCENTIVES, ("GD0611",), rewards_keep_incentives),
    Pass(
        "reachable", REACHABLE, ("GD0473", "GD0474", "GD0475"), everything_happens,
    ),
    Pass(
        "labels", "every option has one label, which is a reply and no other option's",
        ("GD0501", "GD0502", "GD0503", "GD0505", "GD0506", "GD0507"),
        by_rules(labels_are_distinct),
    ),
    Pass(
        "templates", "a prompt's template reads what its reader has seen",
        ("GD0508", *(f"GD05{number}" for number in range(10, 18))),
        by_rules(templates_name_what_is_seen), lambda ir: bool(ir.templates),
    ),
    Pass(
        "taint", "no payoff flows into a prompt or a view of a masked game", ("GD0521",),
        by_rules(payoffs_stay_secret), lambda ir: ir.labels.kind == "masked",
    ),
    Pass(
        "prompts", RENDER, PROMPT_CODES, all_prompts_render,
        lambda ir: bool(ir.templates or ir.view),
    ),
    Pass(
        "masked", MASKED, ("GD0520",), prompts_stay_masked, _masked,
    ),
    Pass("prompts.length", "no prompt is longer", (), prompts_are_so_long),
    Pass("labels.replies", REPLIES, (), replies_are_one_option),
    Pass("labels.same_game", SAME, (), relabelling_changes_nothing, _masked),
    Pass("told.apart", APART, ("GD0530", "GD0531"), different_is_told_apart),
)  # fmt: skip
"""Every pass, in order."""
