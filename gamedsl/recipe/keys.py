"""The table of training settings.

Every setting is one row of `KEYS`: its name, type, default, range and a line of documentation.
The reference page, `--dry-run` and the checks are all made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from gamedsl.recipe.role_settings import OPPONENTS, ROLES
from gamedsl.recipe.start import START

Kind = Literal["whole", "number", "word", "name", "names", "flags", "pair", "list", "map"]


@dataclass(frozen=True)
class Key:
    """One setting.

    kind: "whole" and "number" lie in `low` to `high` (`above`: low itself is excluded) or are one
    of `words`; "word" is one of `words`; "name" is any text; "names" a list of texts or one of
    `words`; "flags" a list of `words`; "list" a list of anything; "pair" two numbers in the range.
    Words that stand for "no number" become None (`absent`). `for_method` holds the defaults of
    methods that have their own.
    A "map" is read by a module of its own; `form` says what it maps.
    """

    name: str
    kind: Kind
    default: Any
    doc: str
    low: float | None = None
    high: float | None = None
    above: bool = False
    words: tuple[str, ...] = ()
    absent: str | None = None
    for_method: Mapping[str, Any] = field(default_factory=dict)
    form: str = ""

    def default_of(self, method: str) -> Any:
        """The default under a method."""
        return self.for_method.get(method, self.default)

    def accepts(self) -> str:
        """What a value may be, in words."""
        if self.kind == "word":
            return " or ".join(f"`{word}`" for word in self.words)
        if self.kind == "name":
            return "a name"
        if self.kind == "flags":
            return "a list of any of " + ", ".join(f"`{word}`" for word in self.words)
        if self.kind == "list":
            return "a list of values"
        if self.kind == "map":
            return f"a map of {self.form}"
        noun = {"whole": "a whole number", "number": "a number", "pair": "a list of two numbers"}
        parts = [noun.get(self.kind, "a list of names") + self._range()]
        return " or ".join(parts + [f"`{word}`" for word in self.words])

    def _range(self) -> str:
        if self.low is not None and self.high is not None:
            if self.above:
                return f" above {self.low:g} and at most {self.high:g}"
            return f" from {self.low:g} to {self.high:g}"
        if self.low is not None:
            return f" above {self.low:g}" if self.above else f" of at least {self.low:g}"
        return ""

    def holds(self, number: Fraction | int) -> bool:
        """Whether a number lies in the range."""
        low = self.low is None or (number > self.low if self.above else number >= self.low)
        return low and (self.high is None or number <= self.high)


KEYS: tuple[Key, ...] = (
    Key("model", "name", "smollm2-135m",
        "`smollm2-135m`, `small` (a million random weights), `tiny` (random, for tests), `words` (a"
        " small network over words in their places), `tabular` (no network), a folder or a hub id"),
    Key("finetuning", "word", "auto",
        "what is trained: `lora` adapters, or a `full` copy of the model for each; `auto`: `full`"
        " for `small`, else `lora`",
        words=("auto", "lora", "full"), absent="auto"),
    Key("engine", "word", "hf",
        "what writes replies in games in words: `hf`, the model that is trained, or `vllm` beside"
        " it", words=("hf", "vllm")),
    Key("vllm.idle", "word", "resident",
        "vLLM while adapters are trained: it stays on the GPU, or `sleep`s, its weights in memory",
        words=("resident", "sleep")),
    Key("vllm.cache", "number", 2, "GiB of keys and values that vLLM keeps", low=0, above=True),
    Key("vllm.context", "whole", "auto",
        "the most tokens of a prompt and its reply together under vLLM; `auto`: as the model has",
        low=1, words=("auto",), absent="auto"),
    Key("method", "word", "grpo",
        "policy gradients as they are, with a pull to a `magnet`, `project`ed improvements, or"
        " imitation of the best games or of an `expert`",
        words=("grpo", "magnet", "project", "expert")),
    Key("estimator", "word", "sampled",
        "what actions are worth: as the games of the step paid, or exactly, from the game's `tree`",
        words=("sampled", "tree")),
    Key("steps", "whole", 20, "training steps", low=1),
    Key("until.exploitability", "number", "never",
        "a run ends before its last step once exploitability has been no more than this",
        low=0, words=("never",), absent="never"),
    Key("until.over", "whole", 5, "at as many steps one after another", low=1),
    Key("games", "whole", 128, "games played in each step", low=1,
        for_method={"magnet": 4096, "project": 4096}),
    Key("seed", "whole", 0, "seeds the labels, the adapters and the play", low=0, high=2**32 - 1),
    Key("adapters", "word", "shared", "one adapter for all roles, or one for each",
        words=("shared", "per_role")),
    Key(ROLES, "map", None,
        "who answers for a role: an `adapter` by name; `trained: false` holds it as it is; a"
        " `model` of its own; a `player` takes the model's place; `lr` and `lora` (`rank`, `alpha`)"
        " where its adapter learns at another rate, or is of another size",
        form="role to `adapter`, `trained`, `model`, `player`, `lr` and `lora`"),
    Key("learn.who", "word", "all",
        "which roles learn: all at once, one at a time in turns, or the one that adds least to what"
        " all earn together", words=("all", "rotate", "weakest")),
    Key("learn.every", "whole", 10, "steps for which one role learns, and then another may", low=1),
    Key("learn.order", "names", "roles",
        "whose turn follows whose; a role may have several turns", words=("roles",),
        absent="roles"),
    Key("curriculum.param", "name", "none",
        "trains level by level: the param of the game that the levels set",
        words=("none",), absent="none"),
    Key("curriculum.levels", "list", (), "what the param is set to, one level after the other"),
    Key("curriculum.at", "number", Fraction(4, 5),
        "success at which a level is passed: where mean payoffs lie between the least and the most"
        " that the level pays", low=0, high=1, above=True),
    Key("curriculum.over", "whole", 5, "steps over which success is averaged", low=1),
    Key("curriculum.held_out", "list", (), "levels that are played at the end, and not trained on"),
    Key("curriculum.rows", "name", "none",
        "trains on the rows of a data file that the policy succeeds at now and then: the name of"
        " what is drawn from it, as in `draw: task`", words=("none",), absent="none"),
    Key("curriculum.floor", "number", Fraction(1, 5),
        "share of the rows that are drawn as without it, so that none is forgotten",
        low=0, high=1, above=True),
    Key(OPPONENTS, "map", None,
        "whom the policy meets, with shares: `self`, the `pool` of its past, or players",
        form="`self`, `pool` or a player to its share"),
    Key("pool.size", "whole", 16, "snapshots in the pool; the oldest leaves", low=1),
    Key("pool.every", "whole", 25, "steps between snapshots; the first is of the start", low=1),
    Key("pool.sampling", "word", "prioritised",
        "whom of the pool the policy meets: who wins most against it, or all alike",
        words=("prioritised", "uniform")),
    Key("pool.power", "number", 1,
        "`prioritised`: members are drawn in proportion to (1 - the policy's win rate) ^ this",
        low=0),
    Key("pool.mixture", "word", "equilibrium",
        "the mixture of the pool that is judged at the end: an equilibrium of the game between its"
        " members (of two zero-sum sides; else all alike), or all alike",
        words=("equilibrium", "uniform")),
    Key("pool.games", "whole", 64,
        "games of each pair of members at the end, where their worth is not exact", low=2),
    Key("budget.calls", "whole", 1000,
        "the most calls of the whole run to endpoints, repeated ones included; then it ends with a"
        " checkpoint, and goes on where more are allowed",
        low=1, words=("any",), absent="any"),
    Key("budget.tokens", "whole", "any",
        "the most tokens of prompts and replies, as endpoints count them",
        low=1, words=("any",), absent="any"),
    Key("lora.rank", "whole", 16, "rank of the adapters", low=1),
    Key("lora.alpha", "whole", 32, "scale of the adapters: their output times alpha / rank", low=1),
    Key("lora.layers", "whole", 10,
        "how many layers are adapted, counted from the top, of those the model has",
        low=1, words=("all",), absent="all"),
    Key("lora.targets", "names", "all",
        "which linear layers are adapted, by the last part of their names, such as `q_proj`",
        words=("all",), absent="all"),
    Key("lr", "number", Fraction(1, 5_000), "learning rate of AdamW", low=0, above=True,
        for_method={"project": Fraction(1, 2_000)}),
    Key("lr_schedule", "word", "constant", "how the learning rate falls to zero over the steps",
        words=("constant", "linear", "cosine"), for_method={"magnet": "linear"}),
    Key("betas", "pair", (Fraction(9, 10), Fraction(999, 1000)), "AdamW's two averaging rates",
        low=0, high=0.9999999,
        for_method=dict.fromkeys(("magnet", "project"), (0, Fraction(999, 1000)))),
    Key("weight_decay", "number", 0, "AdamW's weight decay", low=0),
    Key("max_grad_norm", "number", 1,
        "the gradient is scaled down to this norm (`project` leaves it as it is)", low=0,
        above=True),
    Key("max_change", "number", "off",
        "the most that log-odds of two actions are to change in an optimiser step, which is"
        " shortened where they would; `project` has `project.change`",
        low=0, above=True, words=("off",), absent="off"),
    Key("inner_steps", "whole", 1,
        "optimiser steps on the games of one training step; under `project` the most there may be",
        low=1, for_method={"project": 8, "expert": 4}),
    Key("clip", "number", Fraction(1, 5),
        "how far the probability ratio counts, from the second inner step on", low=0, above=True),
    Key("group_by", "word", "seed",
        "chance is drawn once for `group_size` games, or for each game: those of one `deal` are a"
        " group, and a step costs what its distinct histories cost",
        words=("seed", "deal"), for_method=dict.fromkeys(("magnet", "project"), "deal")),
    Key("group_size", "whole", 8,
        "games that share one seed, where seeds differ (labels drawn per episode)", low=1),
    Key("scale", "word", "none",
        "what advantages are divided by: nothing, their deviation in the batch, or in each group",
        words=("none", "batch", "group")),
    Key("baseline", "word", "mean",
        "what is taken off a return: the group's mean, that of its other games, that of the"
        " information set, the role's `running` mean, one mean for all roles, or nothing",
        words=("mean", "leave_one_out", "information_set", "running", "global", "none")),
    Key("compare", "word", "turn",
        "which samples of its group one is compared with: those of the same turn of its role, of"
        " all its role's turns, or of the whole team",
        words=("turn", "role", "team")),
    Key("credit", "word", "own",
        "what a choice is credited with: its seat's own return, the team's mean return, what it"
        " made of the team's with all else as it was, or what it earned over the seat's other"
        " choices there, played out anew",
        words=("own", "team", "difference", "counterfactual")),
    Key("replays", "whole", 64,
        "courses of play that another choice is followed on; all of them where they are no more",
        low=1),
    Key("temperature", "number", 1, "divides log-probabilities of labels, in play and in the loss",
        low=0, above=True),
    Key("replies", "word", "scored",
        "how closed decisions are answered: options are `scored` as they would be written, given"
        " the thought before them, or the model writes `free`ly and what it wrote is read",
        words=("scored", "free")),
    Key("kl", "number", 0, "weight of the divergence from the policy that training started with",
        low=0),
    Key("entropy", "number", 0, "weight of the policy's entropy, in nats, in the objective", low=0),
    Key("entropy_floor", "number", 0,
        "the least entropy at every information set, as a share of that of uniform play; the weight"
        " that holds it there follows from what is at stake", low=0, high=0.9),
    Key("magnet.weight", "pair", (Fraction(1, 2), Fraction(1, 20)),
        "weight of the divergence from the magnet, at the first step and at the last", low=0,
        for_method={"project": (Fraction(3, 10), Fraction(1, 20))}),
    Key("magnet.every", "whole", "never",
        "steps after which the magnet moves to the policy; it is uniform until then",
        low=1, words=("never",), absent="never"),
    Key("magnet.floor", "number", Fraction(1, 50),
        "share of uniform play in a magnet that has moved", low=0, high=1, above=True),
    Key("project.eta", "pair", (Fraction(7, 10), Fraction(3, 10)),
        "how far action values move the policy, at the first step and at the last", low=0),
    Key("project.change", "number", 1,
        "the most that the log-odds of two actions are to change in a step", low=0, above=True),
    Key("project.base", "word", "policy",
        "what a target improves: the `policy` as it is, or the `target` of the step before, so that"
        " what a fit missed is not lost; either lies within `change` of the policy",
        words=("policy", "target")),
    Key("project.fit", "number", Fraction(1, 10),
        "the fit stops when this share of the divergence is left", low=0, high=1),
    Key("project.fitter", "word", "auto",
        "how the adapters are fitted; `auto`: by `newton` where decisions are few, else by `adam`",
        words=("auto", "newton", "adam")),
    Key("project.rate", "word", "adapted",
        "`lr` is `adapted`, halved where a try of `adam` made the fit worse and raised by a tenth"
        " elsewhere, or it is `held`: with momentum a worse try does not yet mean too long a step",
        words=("adapted", "held")),
    Key("project.batch", "whole", "all",
        "prompts of an optimiser step of `adam`, drawn in fours that share a beginning; with it"
        " `inner_steps` counts passes through all prompts", low=1, words=("all",), absent="all"),
    Key("project.floor", "number", 0,
        "the least probability of a legal action in a target, and so at every information set",
        low=0, high=0.2),
    Key("expert.keep", "number", Fraction(1, 4),
        "share of each group's games that `expert` imitates, by what they brought each role",
        low=0, high=1, above=True),
    Key("expert.teacher", "name", "none",
        "the player whose moves `expert` imitates wherever the policy came, such as `mcts:200`",
        words=("none",), absent="none"),
    Key("warm_up.expert", "name", "none",
        "the player that is imitated before the first step, such as `minimax` or `mcts:200`; or"
        " `file:PATH`, transcripts", words=("none",), absent="none"),
    Key("warm_up.opponents", "name", "expert",
        "the player in the other seats while the expert holds one; the `expert` itself holds all",
        words=("expert",), absent="expert"),
    Key("warm_up.games", "whole", 1000, "games that are played to be imitated", low=1),
    Key("warm_up.rounds", "whole", 1,
        "how often so many games are played: by the expert, then by the policy as it has become;"
        " learned is what the expert does wherever any of them came to", low=1),
    Key("warm_up.explore", "number", 0,
        "share of the moves that are random, to learn what the expert does off its path too",
        low=0, high=1),
    Key("warm_up.epochs", "whole", 20, "how often all prompts are gone through, at most", low=1),
    Key("warm_up.batch", "whole", 64, "prompts of an optimiser step; in words, chats", low=1),
    Key("warm_up.lr", "number", Fraction(1, 2_000),
        "the highest learning rate: it rises for a twentieth of the steps, then falls to zero",
        low=0, above=True),
    Key("warm_up.held_out", "number", Fraction(1, 10), "share of the games that measure the fit",
        low=0, high=0.5),
    Key("warm_up.patience", "whole", 5,
        "epochs without a better fit to the held-out games after which it ends", low=1),
    Key("allow", "flags", (), "what is known to move equilibria, and is wanted all the same",
        words=("group_std", "rotation", "split")),
    Key("prior", "word", "model",
        "where training starts: as the `model` plays untrained, or at `uniform` play",
        words=("model", "uniform")),
    Key(START, "map", None,
        "where a role's policy is put before training; what is not named is held where it was",
        form="role to action to probability"),
    Key("checkpoint_every", "whole", 10, "steps between checkpoints; the last step always has one",
        low=1),
    Key("keep_checkpoints", "whole", 2, "how many checkpoints are kept, the latest", low=1),
    Key("transcripts_every", "whole", 10, "steps between transcripts; the last step always has one",
        low=1),
    Key("dtype", "word", "auto",
        "number format of the frozen weights; `auto`: float32 on a processor, bfloat16 on a GPU",
        words=("auto", "float32", "bfloat16"), absent="auto"),
    Key("pass_tokens", "whole", "auto",
        "the most distinct tokens of one pass forward and backward; the gradients of all passes are"
        " added up, so memory and speed depend on it and results, but for rounding, do not;"
        " `auto`: 4096, and 1024 where all weights are trained",
        low=1, words=("auto",), absent="auto"),
    Key("recompute", "word", "auto",
        "layers are computed again in the backward pass, and only what enters them is kept; `auto`:"
        " in a pass that would keep more than half of the memory that is free",
        words=("auto", "on", "off")),
    Key("threads", "whole", "auto", "processor threads; `auto` takes what torch chooses",
        low=1, words=("auto",), absent="auto"),
    Key("exploitability", "word", "auto",
        "the exact distance from equilibrium each step; `auto`: where the game is small enough",
        words=("auto", "on", "off")),
    Key("contributions", "word", "auto",
        "what each role adds to what all earn together, at the end; `auto`: where the game is small"
        " and not of constant sum", words=("auto", "on", "off")),
    Key("bound_every", "whole", "never",
        "steps after which exploitability is bounded from below, by searching for replies, in games"
        " too large for the exact one", low=1, words=("never",), absent="never"),
    Key("lines_every", "whole", "never",
        "steps after which all lines are counted that others can play against the policy's"
        " likeliest moves, in games in which everybody sees everything",
        low=1, words=("never",), absent="never"),
    Key("extinct", "number", Fraction(1, 1000),
        "the probability below which an action that equilibria play, or that just was played,"
        " raises an alarm", low=0, high=1, above=True, words=("off",), absent="off"),
)  # fmt: skip
"""All settings. Maps are read by modules of their own, such as `gamedsl.recipe.start`."""
