"""The passes: each proves or refutes a claim about a compiled game, in a file of its own.

A pass reads the rules alone, or the histories in the sample; it reports what it refutes and changes
nothing. Passes run in the order of the table. Those that render prompts skip a game whose templates
or labels are at fault.
"""

from __future__ import annotations

from gamedsl.analysis import (
    chance,
    infoset_consistency,
    lengths,
    masking,
    plays,
    prompt_aliasing,
    prompt_lengths,
    prompts,
    reachability,
    relabelling,
    rewards,
    silences,
    ties,
    unused_names,
)
from gamedsl.analysis.claims import check_claims
from gamedsl.analysis.infoflow import check_information_flow
from gamedsl.analysis.labels import check_labels
from gamedsl.analysis.passes import Pass, by_rules
from gamedsl.analysis.payoffs import check_payoffs_defined
from gamedsl.analysis.taint import check_taint
from gamedsl.analysis.templates import check_templates
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Draw, walk_steps


def _masked(ir: GameIR) -> bool:
    return ir.labels.kind in ("masked", "partly")


def _has_chance(ir: GameIR) -> bool:
    return any(isinstance(step, Draw) for step in walk_steps(ir.turns))


PASSES: tuple[Pass, ...] = (
    Pass(
        "outcomes", "in a fixed sequence of decisions no payoff and no reward is without a value",
        ("GD0402", "GD0602"), by_rules(check_payoffs_defined, said_by="plays"), lambda ir: ir.plain,
    ),
    Pass(
        "readers", "what a seat is asked, told and may choose depends on what it has seen alone",
        infoset_consistency.LEAKS, by_rules(check_information_flow),
    ),
    Pass("plays", plays.CLAIM, ("GD0402", "GD0437", "GD0460", "GD0602"), plays.check_plays),
    Pass(
        "silences", silences.CLAIM, ("GD0402", "GD0437"), silences.check_silences,
        silences.allows_silence,
    ),
    Pass(
        "told.alike", infoset_consistency.ALIKE, ("GD0440",), infoset_consistency.check_consistency
    ),
    Pass("recall", infoset_consistency.RECALL, (), infoset_consistency.check_recall),
    Pass("chance", chance.CLAIM, (), chance.check_chance, _has_chance),
    Pass("lengths", "a play is so long, and the game so large", (), lengths.plays_are_bounded),
    Pass(
        "claims", "payoffs are as the game's file claims", ("GD0470", "GD0471", "GD0472"),
        check_claims,
    ),
    Pass(
        "rewards", "rewards are as their file claims", ("GD0610",), rewards.check_reward_claims,
        lambda ir: bool(ir.reward.claims),
    ),
    Pass("ties", ties.CLAIM, ("GD0490",), ties.check_ties, lambda ir: bool(ties.untested_ties(ir))),
    Pass("rewards.incentives", rewards.INCENTIVES, ("GD0611",), rewards.check_incentives),
    Pass(
        "reachable", reachability.CLAIM, ("GD0473", "GD0474", "GD0475"),
        reachability.check_reachability,
    ),
    Pass("read", unused_names.CLAIM, ("GD0476", "GD0477"), by_rules(unused_names.check_declared)),
    Pass(
        "labels", "every option has one label, which is a reply and no other option's",
        ("GD0501", "GD0502", "GD0503", "GD0505", "GD0506", "GD0507"),
        by_rules(check_labels),
    ),
    Pass(
        "templates", "a prompt's template reads what its reader has seen, and fits its slot",
        ("GD0508", *(f"GD05{number}" for number in range(10, 18))),
        by_rules(check_templates), lambda ir: bool(ir.templates),
    ),
    Pass(
        "taint", "no payoff flows into a prompt or a view of a masked game", ("GD0521",),
        by_rules(check_taint), lambda ir: ir.labels.kind == "masked",
    ),
    Pass(
        "prompts", prompts.CLAIM, prompts.CODES, prompts.check_prompts_render,
        lambda ir: bool(ir.templates or ir.view),
    ),
    Pass("masked", masking.CLAIM, ("GD0520",), masking.check_masking, _masked),
    Pass("prompts.length", "a prompt is so long", (), prompt_lengths.prompts_are_so_long),
    Pass("labels.replies", relabelling.REPLIES, (), relabelling.check_replies),
    Pass(
        "labels.same_game", relabelling.SAME, (), relabelling.check_relabelling, _masked
    ),
    Pass(
        "told.apart", prompt_aliasing.APART, ("GD0530", "GD0531", "GD0532"),
        prompt_aliasing.check_aliasing,
    ),
)  # fmt: skip
"""Every pass, in order."""
