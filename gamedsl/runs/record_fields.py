"""The table of the fields of a run's records, the lines of `metrics.jsonl`.

Who adds a field adds its row here, or, of a field that one method writes, to `MethodSpec.records`
in the method's file. `SavedRun.records` refuses a record with a field of another shape. The
reference page lists the rows; tests compare them with what runs write and with what the screen, the
summary and the report read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from gamedsl.recipe.methods import METHODS, method_spec
from gamedsl.storage.shapes import (
    ANY,
    NUMBER,
    SHARE,
    TEXT,
    WHOLE,
    ArrayOf,
    Fields,
    MapOf,
    Restricted,
    Shape,
    optional,
    word,
)

Event = Literal["start", "step", "end"]


@dataclass(frozen=True)
class RecordField:
    """A field of a record. `records` are the kinds of record that may have it, `shape` the values
    that it may hold, and `games` those of which it is known."""

    name: str
    records: tuple[Event, ...]
    shape: Shape
    doc: str
    games: str = "all"


# shapes

_BY_ROLE = MapOf("role", NUMBER)
_MEANS = MapOf("role", optional(NUMBER))
_PROBS = MapOf("action", SHARE, least=1)
_POINT = ArrayOf(SHARE, 2, 2)
_INTERVAL = ArrayOf(NUMBER, 2, 2)

_POLICIES = MapOf(
    "information set", Fields({"role": TEXT, "seat": TEXT, "step": TEXT, "probs": _PROBS})
)
_BOUNDARY = Fields({
    "keys": ArrayOf(TEXT, 2, 2), "actions": ArrayOf(TEXT, 2, 2), "mixed": optional(_POINT),
    "curve": ArrayOf(_POINT, least=1),
})  # fmt: skip
_PREDICTION = Restricted(
    Fields({
        "kind": word("pure", "mixed", "moving"),
        "profile": optional(MapOf("information set", TEXT)), "text": TEXT,
        "probabilities": MapOf("information set", _PROBS, least=1), "margin": optional(NUMBER),
        "confidence": TEXT, "boundary": optional(_BOUNDARY),
        "coupling": word("independent", "shared", "given"), "method": TEXT,
    }),
    lambda found: found["kind"] != "pure" or found["profile"] is not None,
    "is pure, and has no `profile`",
)  # fmt: skip
_RANGES = Fields({
    "concept": TEXT, "method": TEXT,
    "of": MapOf("information set", MapOf("action", ArrayOf(_INTERVAL, least=1))),
})  # fmt: skip
_ALARM = Fields({
    "information_set": TEXT, "action": TEXT, "event": word("extinct", "back"),
    "probability": SHARE, "range": optional(_INTERVAL),
})  # fmt: skip
_MAPPING = Fields({
    "types": MapOf("type", Fields({"share": SHARE, "probs": _PROBS}), least=1),
    "information": NUMBER, "entropy": NUMBER, "collisions": WHOLE,
})  # fmt: skip
_ROUNDS = MapOf("round", Fields({"games": NUMBER, "probs": _PROBS}), least=1)
_BOUND = Fields({"at_least": NUMBER, "gain": NUMBER, "error": NUMBER})
_ENDS = Fields({"wins": NUMBER, "draws": NUMBER, "losses": NUMBER})
_FIT = MapOf("measure", NUMBER)
_WARM_UP = Fields(
    {"epochs": ArrayOf(_FIT)},
    {
        "expert": optional(TEXT), "before": _FIT, "after": _FIT, "games": NUMBER,
        "prompts": NUMBER, "held_out_games": NUMBER, "held_out_prompts": NUMBER,
        "best_epoch": NUMBER,
    },
)  # fmt: skip
_ROWS = Fields(
    dict.fromkeys(("solved", "mixed", "failed", "unseen", "teach"), NUMBER),
    {"success": MapOf("row", NUMBER)},
)
_USED = Fields({"calls": NUMBER, "tokens": NUMBER}, {"refused": MapOf("reason", NUMBER)})


def _by_members(found: Any) -> bool:
    """Returns whether each side of a pool has a weight, a row and a column for each member."""
    sides, size = found["weights"].keys(), len(found["members"])
    tables = [table for name in ("payoff", "half") for table in found[name].values()]
    return (
        all(found[name].keys() == sides for name in ("payoff", "half"))
        and all(len(row) == size for row in found["weights"].values())
        and all(len(table) == size == len(row) for table in tables for row in table)
    )


_POPULATION = Restricted(
    Fields(
        {
            "members": ArrayOf(WHOLE, least=1), "payoff": MapOf("side", ArrayOf(ArrayOf(NUMBER))),
            "half": MapOf("side", ArrayOf(ArrayOf(optional(NUMBER)))), "mixture": TEXT,
            "weights": MapOf("side", ArrayOf(SHARE)),
        },
        {"exploitability": Fields({"last": NUMBER}, {"mixture": NUMBER})},
    ),
    _by_members,
    "has not a weight, a row and a column for each of its members",
)  # fmt: skip
_AT_LEVEL = Fields({"reward": _MEANS, "payoff": _MEANS, "success": NUMBER})


# the table

_ALL: tuple[Event, ...] = ("start", "step", "end")
_POLICY: tuple[Event, ...] = ("start", "step")
_STEP: tuple[Event, ...] = ("step",)
_END: tuple[Event, ...] = ("end",)
_START: tuple[Event, ...] = ("start",)
_CLOSED, _WORDS = "closed games", "games in words"
_WATCHED = "closed games, and those with `thoughts`"
_SEVERAL = "those of several learners"
_POOL = "those with a pool"
_CURRICULUM = "those with a curriculum"
_RANGED = "those whose equilibria are all known"

FIELDS = (
    RecordField("event", _ALL, word(*_ALL), "the kind of record"),
    RecordField("step", _ALL, WHOLE, "the step, from 1; 0 at the start"),
    # the policy
    RecordField("model", _START, TEXT, "the model that is trained"),
    RecordField("adapters", _START, ArrayOf(TEXT), "the adapters that play"),
    RecordField("parameters", _START, WHOLE, "how many weights are trained"),
    RecordField("policy", _POLICY, _POLICIES, "its decisions, of at most 256", _WATCHED),
    RecordField("decisions", _POLICY, NUMBER, "how many decisions it has in all", _WATCHED),
    RecordField("entropy", _POLICY, _BY_ROLE, "mean entropy of its decisions, in nats", _CLOSED),
    RecordField("exploitability", _POLICY, optional(NUMBER), "NashConv per player",
                "those small enough for a tree, else null"),
    RecordField("exploitability_interval", _POLICY, ArrayOf(NUMBER),
                "the ends of its 95% bootstrap interval", "those with `thoughts`"),
    RecordField("thoughts", _POLICY, NUMBER,
                "thoughts at each decision over which `policy` is a mean", "those with `thoughts`"),
    RecordField("prediction", _START, optional(_PREDICTION),
                "where the policy-gradient flow goes",
                "those of [predictions](training/runs.md#where-will-it-go)"),
    RecordField(
        "ranges", _START, optional(_RANGES),
        "between what numbers each action's probability lies over all equilibria", _RANGED,
    ),
    RecordField(
        "in_range", _POLICY, Fields({"inside": NUMBER, "of": NUMBER}),
        "how many decisions are inside, of how many: each action in one of its intervals, or within"
        " 0.05", _RANGED,
    ),
    RecordField("extinct", _POLICY, NUMBER, "how many actions have died out", _WATCHED),
    RecordField("alarms", _POLICY, ArrayOf(_ALARM),
                "actions that died out or came back in this step", _WATCHED),
    RecordField(
        "mapping", _POLICY, MapOf("signal", _MAPPING),
        "which word stands for what, with its probability; the bits that words tell of types, and"
        " how many types share a word", "signalling games",
    ),
    RecordField(
        "after", _POLICY, MapOf("decision", _ROUNDS),
        "action rates after each way in which the last round may end",
        "repeated games: a stage, or a loop in which all choose and are paid",
    ),
    RecordField(
        "exploitability_bound", _STEP, _BOUND,
        "what exploitability is at least, every `bound_every` steps, by the gain of the replies"
        " that were found",
        "those too large for the exact number",
    ),
    RecordField(
        "lines", _POLICY, Fields({"losses": NUMBER, "seats": MapOf("seat", _ENDS)}),
        "how many lines of play win, draw and lose for a seat that takes the policy's likeliest"
        " moves, every `lines_every` steps; all that the others can do is tried",
        "those in which everybody sees everything",
    ),
    # the games of a step
    RecordField("reward", _STEP, _MEANS, "mean reward; null where all were void"),
    RecordField("payoff", _STEP, _MEANS, "mean payoff; null where all were void"),
    RecordField("games", _STEP, NUMBER, "games of the step"),
    RecordField("histories", _STEP, NUMBER, "their distinct histories", _CLOSED),
    RecordField("prompts", _STEP, NUMBER, "their distinct prompts", _CLOSED),
    RecordField("tokens", _STEP, NUMBER, "tokens of the prompts, or of the written replies"),
    RecordField("sequences", _STEP, NUMBER, "samples: one decision of one game each"),
    RecordField("void", _STEP, NUMBER, "samples whose reward was void"),
    RecordField("set_aside", _STEP, NUMBER, "games of groups without signal, not in the update",
                "those with `dynamic_sampling`"),
    RecordField("opponents", _STEP, MapOf("opponent", NUMBER), "games against each",
                "those with `opponents`"),
    RecordField("replies", _STEP, _BY_ROLE, "replies of each role, valid or not", _WORDS),
    RecordField("valid", _STEP, _BY_ROLE, "share of them that is valid", _WORDS),
    RecordField("reply_tokens", _STEP, _BY_ROLE, "mean length of replies", _WORDS),
    RecordField("invalid", _STEP, MapOf("reason", NUMBER), "refused replies by reason", _WORDS),
    RecordField("own_end", _STEP, NUMBER, "share of games that no refused reply ended", _WORDS),
    RecordField("seconds", _STEP, NUMBER, "wall-clock time of the step"),
    # the update
    RecordField("loss", _STEP, NUMBER, "the loss before the update, or what a fit left"),
    RecordField("grad_norm", _STEP, NUMBER, "norm of the gradient before clipping"),
    RecordField("lr", _STEP, NUMBER, "learning rate"),
    RecordField("trained", _STEP, NUMBER, "tokens in the loss", _WORDS),
    RecordField(
        "sampler_gap", _STEP, NUMBER,
        "mean absolute difference of a token's log-probability, trainer and sampler", _WORDS,
    ),
    RecordField("token_entropy", _STEP, NUMBER,
                "mean entropy of the distribution that a token is drawn from, in nats", _WORDS),
    RecordField("token_kl", _STEP, NUMBER,
                "mean divergence of a token's distribution from the reference, estimated, in nats",
                "those with `kl`, in words"),
    RecordField("value_loss", _STEP, NUMBER,
                "mean squared difference of returns and the critic's values, which the step was not"
                " fitted to yet", "those with `baseline: critic`"),
    RecordField("explained_variance", _STEP, optional(NUMBER),
                "share of the variance of returns within roles that these values explain; null"
                " where there is none", "those with `baseline: critic`"),
    # what some recipes add
    RecordField("lost_workers", _STEP, NUMBER,
                "workers that ended so far, and were started again", "those with `cluster`"),
    RecordField("lag", _STEP, WHOLE,
                "updates that the policy that played is behind the one that learned",
                "those with `staleness`"),
    RecordField("ess", _STEP, NUMBER,
                "effective sample size of the ratios of tokens and options, as a share of them",
                "those with `staleness`"),
    RecordField("warm_start", _START, optional(Fields({"steps": NUMBER, "distance": NUMBER})),
                "the fit of `start` and `prior`", "those with `start` or `prior`"),
    RecordField("warm_up", _START, _WARM_UP, "the imitation: its games, fits and epochs",
                "those with `warm_up`"),
    RecordField("learning", _STEP, ArrayOf(TEXT), "the roles that learned in the step",
                "those with `learn`"),
    RecordField("contributions", ("step", "end"), _BY_ROLE, "Shapley value of each role", _SEVERAL),
    RecordField("level", _POLICY, ANY, "the level that was played", _CURRICULUM),
    RecordField("success", _STEP, NUMBER, "success at the level", _CURRICULUM),
    RecordField(
        "rows", _STEP, _ROWS, "success by row, how many are solved, mixed, failed and unseen, and"
        " the share of decisions that `teach`", "those with `curriculum.rows`",
    ),
    RecordField("pool", _STEP, MapOf("snapshot", NUMBER), "win rate against each", _POOL),
    RecordField("endpoints", _STEP, _USED, "calls and tokens so far", "those with endpoints"),
    RecordField("population", _END, _POPULATION, "the matches of the last pool", _POOL),
    RecordField("held_out", _END, MapOf("level", _AT_LEVEL), "play at held-out levels",
                _CURRICULUM),
    RecordField("summary", _END, TEXT, "the run in a few sentences"),
)  # fmt: skip


@cache
def shape_of(event: Event) -> Fields:
    """Returns the shape of a kind of record: all its fields are optional, those of methods among
    them."""
    found = {row.name: row.shape for row in FIELDS if event in row.records}
    if event == "step":
        for name in METHODS:
            found |= {field: shape for field, (shape, _) in method_spec(name).records.items()}
    return Fields(optional=found)
