"""What is said of a compiled game: one pass a file, named by what it proves.

A pass looks at the rules alone, or at the histories in the atlas; it reports what it refutes and
changes nothing. They run in this order; passes that render prompts skip a game whose templates or
labels are at fault.
"""

from __future__ import annotations

from gamedsl.analysis import (
    chance,
    leaks,
    lengths,
    merged,
    plays,
    prompt_lengths,
    prompts,
    reachable,
    relabelling,
    rewards,
    told,
    unread,
)
from gamedsl.analysis.claims import payoffs_are_as_claimed
from gamedsl.analysis.infoflow import check_information_flow
from gamedsl.analysis.labels import labels_are_distinct
from gamedsl.analysis.passing import Pass, by_rules
from gamedsl.analysis.payoffs import payoffs_are_defined
from gamedsl.analysis.taint import payoffs_stay_secret
from gamedsl.analysis.templates import templates_name_what_is_seen
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Draw, walk_steps


def _masked(ir: GameIR) -> bool:
    return ir.labels.kind in ("masked", "partly")


def _has_chance(ir: GameIR) -> bool:
    return any(isinstance(step, Draw) for step in walk_steps(ir.turns))


PASSES: tuple[Pass, ...] = (
    Pass(
        "outcomes", "in a fixed sequence of decisions no payoff and no reward is without a value",
        ("GD0402", "GD0602"), by_rules(payoffs_are_defined, said_by="plays"), lambda ir: ir.plain,
    ),
    Pass(
        "readers", "what a seat is asked, told and may choose depends on what it has seen alone",
        told.LEAKS, by_rules(check_information_flow),
    ),
    Pass("plays", plays.CLAIM, ("GD0402", "GD0437", "GD0460", "GD0602"), plays.plays_end),
    Pass("told.alike", told.ALIKE, ("GD0440",), told.seen_alike_is_told_alike),
    Pass("recall", told.RECALL, (), told.seats_remember),
    Pass("chance", chance.CLAIM, (), chance.chance_sums_to_one, _has_chance),
    Pass("lengths", "a play is so long, and the game so large", (), lengths.plays_are_bounded),
    Pass(
        "claims", "payoffs are as the game's file claims", ("GD0470", "GD0471", "GD0472"),
        payoffs_are_as_claimed,
    ),
    Pass(
        "rewards", "rewards are as their file claims", ("GD0610",), rewards.rewards_are_as_claimed,
        lambda ir: bool(ir.reward.claims),
    ),
    Pass("rewards.incentives", rewards.INCENTIVES, ("GD0611",), rewards.rewards_keep_incentives),
    Pass(
        "reachable", reachable.CLAIM, ("GD0473", "GD0474", "GD0475"), reachable.everything_happens
    ),
    Pass("read", unread.CLAIM, ("GD0476",), by_rules(unread.everything_is_read)),
    Pass(
        "labels", "every option has one label, which is a reply and no other option's",
        ("GD0501", "GD0502", "GD0503", "GD0505", "GD0506", "GD0507"),
        by_rules(labels_are_distinct),
    ),
    Pass(
        "templates", "a prompt's template reads what its reader has seen, and fits its slot",
        ("GD0508", *(f"GD05{number}" for number in range(10, 18))),
        by_rules(templates_name_what_is_seen), lambda ir: bool(ir.templates),
    ),
    Pass(
        "taint", "no payoff flows into a prompt or a view of a masked game", ("GD0521",),
        by_rules(payoffs_stay_secret), lambda ir: ir.labels.kind == "masked",
    ),
    Pass(
        "prompts", prompts.CLAIM, prompts.CODES, prompts.all_prompts_render,
        lambda ir: bool(ir.templates or ir.view),
    ),
    Pass("masked", leaks.CLAIM, ("GD0520",), leaks.prompts_stay_masked, _masked),
    Pass("prompts.length", "a prompt is so long", (), prompt_lengths.prompts_are_so_long),
    Pass("labels.replies", relabelling.REPLIES, (), relabelling.replies_are_one_option),
    Pass(
        "labels.same_game", relabelling.SAME, (), relabelling.relabelling_changes_nothing, _masked
    ),
    Pass(
        "told.apart", merged.APART, ("GD0530", "GD0531", "GD0532"), merged.different_is_told_apart
    ),
)  # fmt: skip
"""Every pass, in order."""
