"""The table of training settings, which is also the type of a recipe.

Every setting is one field: its type, default, range, documentation, and where it is read; see
`gamedsl.recipe.setting`. Settings that belong to one method stand in that method's file, and
`gamedsl.recipe.methods` adds them. `gamedsl.recipe.resolve` builds a `Recipe` from what users
wrote; the trainer reads nothing else. A recipe never changes the rules of a game, and takes no part
in its hash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gamedsl.recipe.setting import (
    ReadIf,
    SettingSpec,
    group,
    is_one_of,
    is_set,
    optional_setting,
    setting,
    specs,
)
from gamedsl.storage.reader import expanded

if TYPE_CHECKING:
    from gamedsl.ir.game import GameIR

Settings = TypeVar("Settings")

SHARED = "shared"
MOST_STEPS, MOST_GAMES, LARGE = 100_000_000, 10_000_000, 10**15
"""Upper ends of ranges: steps of a run, games of a step, and numbers that only have to be finite. A
number beyond is a slip, and is refused before anything is made of its size."""

REFEREES = "referees"
"""The adapter of referees that no player holds and that are not trained."""


@dataclass(frozen=True)
class Vllm:
    """The settings of vLLM beside the trainer; a `context` of None is the model's own."""

    idle: Literal["resident", "sleep"] = setting(
        "resident",
        "vLLM while adapters are trained: it stays on the GPU, or `sleep`s, its weights in memory",
    )
    cache: float | None = setting(
        "auto",
        "GiB of keys and values that vLLM keeps; `auto`: two fifths of the GPU memory that is free"
        " once both models are loaded, and at most 2 on a processor",
        low=0, high=10_000, above=True, absent="auto",
    )  # fmt: skip
    context: int | None = setting(
        "auto",
        "the most tokens of a prompt and its reply together under vLLM; `auto`: as the model has",
        low=1, high=100_000_000, absent="auto",
    )  # fmt: skip


@dataclass(frozen=True)
class Until:
    """An early end: once `exploitability` was no more than this at `over` steps in a row. After
    thoughts it is the upper end of its interval that counts, at steps at which it is estimated."""

    exploitability: float | None = setting(
        "never", "a run ends before its last step once exploitability has been no more than this",
        low=0, high=LARGE, absent="never",
    )  # fmt: skip
    over: int = setting(
        5,
        "at as many steps one after another",
        low=1,
        high=MOST_STEPS,
        read_if=is_set("until.exploitability"),
    )


@dataclass(frozen=True)
class Learn:
    """Which of the trained roles learn when. An `order` of None is the game's."""

    who: Literal["all", "rotate", "weakest"] = setting(
        "all",
        "which roles learn: all at once, one at a time in turns, or the one that adds least to what"
        " all earn together",
    )
    every: int = setting(
        10, "steps for which one role learns, and then another may", low=1, high=MOST_STEPS,
        read_if=ReadIf("learn.who", lambda who: who != "all", "`learn.who: rotate`"),
    )  # fmt: skip
    order: tuple[str, ...] | None = setting(
        "roles", "whose turn follows whose; a role may have several turns", absent="roles"
    )


_HAS_LEVELS = is_set("curriculum.param", "`curriculum.param` and its levels")


@dataclass(frozen=True)
class Curriculum:
    """Levels of the game, by the values of one param, or rows of a data file by success.

    Without a `param` the game is played as it is, and without `rows` all rows are drawn alike; see
    `gamedsl.training.rows`.
    """

    param: str | None = setting(
        "none", "trains level by level: the param of the game that the levels set",
        absent="none",
    )  # fmt: skip
    levels: tuple[int | float | str | bool, ...] = setting(
        (), "what the param is set to, one level after the other"
    )
    at: float = setting(
        0.8,
        "success at which a level is passed: where mean payoffs lie between the least and the most"
        " that the level pays",
        low=0, high=1, above=True, read_if=_HAS_LEVELS,
    )  # fmt: skip
    over: int = setting(
        5,
        "steps over which success is averaged",
        low=1,
        high=MOST_STEPS,
        read_if=_HAS_LEVELS,
    )
    held_out: tuple[int | float | str | bool, ...] = setting(
        (), "levels that are played at the end, and not trained on",
        read_if=_HAS_LEVELS,
    )  # fmt: skip
    rows: str | None = setting(
        "none",
        "trains on the rows of a data file that the policy succeeds at now and then: the name of"
        " what is drawn from it, as in `draw: task`",
        absent="none",
    )
    unweighted: float = setting(
        0.2, "share of the rows that are drawn as without it, so that none is forgotten",
        low=0, high=1, above=True, read_if=is_set("curriculum.rows"), formerly="floor",
    )  # fmt: skip


@dataclass(frozen=True)
class PoolSettings:
    """The population of `opponents: {pool: ...}`; see `gamedsl.training.pool`."""

    size: int = setting(16, "snapshots in the pool; the oldest leaves", low=1, high=10_000)
    every: int = setting(
        25, "steps between snapshots; the first is of the start", low=1, high=MOST_STEPS
    )
    sampling: Literal["prioritised", "uniform"] = setting(
        "prioritised", "whom of the pool the policy meets: who wins most against it, or all alike"
    )
    power: float = setting(
        1,
        "`prioritised`: members are drawn in proportion to (1 - the policy's win rate) ^ this",
        low=0,
        high=1000,
    )
    mixture: Literal["equilibrium", "uniform"] = setting(
        "equilibrium",
        "the mixture of the pool that is judged at the end: an equilibrium of the game between its"
        " members (of two zero-sum sides; else all alike), or all alike",
    )
    games: int = setting(
        64,
        "games of each pair of members at the end, where their worth is not exact",
        low=2,
        high=MOST_GAMES,
    )


@dataclass(frozen=True)
class Spending:
    """The limits of what endpoints may use up in a run, however often it is resumed."""

    calls: int | None = setting(
        1000,
        "the most calls of the whole run to endpoints, repeated ones included; then it ends with a"
        " checkpoint, and goes on where more are allowed",
        low=1, high=LARGE, absent="any",
    )  # fmt: skip
    tokens: int | None = setting(
        "any", "the most tokens of prompts and replies, as endpoints count them",
        low=1, high=LARGE, absent="any",
    )  # fmt: skip
    timeout: float = setting(
        60, "seconds until an attempt of a call to an endpoint is given up and made again",
        low=0, above=True, high=1_000_000,
    )  # fmt: skip
    call_timeout: float = setting(
        1200, "the most seconds of a call to an endpoint, all its attempts and pauses together",
        low=0, above=True, high=1_000_000,
    )  # fmt: skip


@dataclass(frozen=True)
class CriticSettings:
    """The learned value of `baseline: critic`; see `gamedsl.training.critic`."""

    view: Literal["own", "centralised"] = setting(
        "own",
        "what the value is a function of: the seat's `own` view, as the policy's is, or that and"
        " the whole state of the game, which no player sees (`centralised`)",
    )
    gae_lambda: float = setting(
        0.95,
        "how far an advantage looks: 0 one turn of the seat ahead, to the value there; 1 to the end"
        " of the game",
        low=0, high=1,
    )  # fmt: skip
    rate: float = setting(
        0.1, "the least share of a step's games in what the value is fitted to",
        low=0, high=1, above=True,
    )  # fmt: skip


@dataclass(frozen=True)
class Overlong:
    """A penalty on written replies that come near their limit of tokens (Yu et al. 2025)."""

    penalty: float = setting(
        0, "what a reply at its limit of tokens loses of its return", low=0, high=LARGE
    )
    share: float = setting(
        0.2, "the last share of the limit, over which the penalty rises from 0 in a straight line",
        low=0, high=1, above=True,
        read_if=ReadIf("overlong.penalty", bool, "an `overlong.penalty`"),
    )  # fmt: skip


@dataclass(frozen=True)
class Lora:
    """The shape of an adapter: low-rank updates of a model's linear layers."""

    rank: int = setting(16, "rank of the adapters", low=1, high=65_536)
    alpha: int = setting(
        32, "scale of the adapters: their output times alpha / rank", low=1, high=1_000_000
    )
    layers: int | None = setting(
        10, "how many layers are adapted, counted from the top, of those the model has",
        low=1, high=100_000, absent="all",
    )  # fmt: skip
    targets: tuple[str, ...] | None = setting(
        "all", "which linear layers are adapted, by the last part of their names, such as `q_proj`",
        absent="all",
    )  # fmt: skip


def file_of(expert: str) -> Path | None:
    """The file or folder that `file:PATH` imitates; None of a player."""
    kind, _, path = expert.partition(":")
    return expanded(path) if kind == "file" and path.strip() else None


@dataclass(frozen=True)
class WarmUp:
    """The player that is imitated before the first step; see `gamedsl.training.imitation`."""

    expert: str | None = setting(
        "none",
        "the player that is imitated before the first step, such as `minimax` or `mcts:200`; or"
        " `file:PATH`, transcripts, or in words a chat data set",
        absent="none", names_player=True,
    )  # fmt: skip
    opponents: str | None = setting(
        "expert",
        "the player in the other seats while the expert holds one; the `expert` itself holds all",
        absent="expert", names_player=True,
    )  # fmt: skip
    reward: float | None = setting(
        "any",
        "the least that a seat earns in a game whose moves and replies are imitated: keep what won",
        low=-LARGE, high=LARGE, absent="any",
    )  # fmt: skip
    games: int = setting(1000, "games that are played to be imitated", low=1, high=MOST_GAMES)
    rounds: int = setting(
        1,
        "how often so many games are played: by the expert, then by the policy as it has become;"
        " learned is what the expert does wherever any of them came to",
        low=1, high=10_000,
        read_if=ReadIf(
            "warm_up.expert", lambda experts: any(file_of(name) is None for name in experts),
            "a player as `warm_up.expert`", attribute="experts",
        ),
    )  # fmt: skip
    explore: float = setting(
        0, "share of the moves that are random, to learn what the expert does off its path too",
        low=0, high=1,
    )  # fmt: skip
    epochs: int = setting(
        20, "how often all prompts are gone through, at most", low=1, high=1_000_000
    )
    batch: int = setting(64, "prompts of an optimiser step; in words, chats", low=1, high=1_000_000)
    lr: float = setting(
        0.0005,
        "the highest learning rate: it rises for a twentieth of the steps, then falls to zero",
        low=0, high=1_000_000, above=True,
    )  # fmt: skip
    held_out: float = setting(
        0.1, "share of the games that measure the fit", low=0, high=0.5
    )  # fmt: skip
    patience: int = setting(
        5,
        "epochs without a better fit to the held-out games after which it ends",
        low=1,
        high=1_000_000,
    )


@dataclass(frozen=True)
class Start:
    """A role's policy before training, at its decisions that offer a named action.

    `step` is a step's id, None for all steps of the role; `probs` are (action, probability) as
    given. The rest is shared evenly by the legal actions that are not named.
    """

    role: str
    step: str | None
    probs: tuple[tuple[str, float], ...]

    @classmethod
    def from_dict(cls, role: str, given: Mapping[str, Any]) -> Iterator[Start]:
        """The starts of a role, as `Recipe.as_dict` has them: of all steps, and of single ones."""
        plain = tuple((name, p) for name, p in given.items() if not isinstance(p, Mapping))
        if plain:
            yield cls(role, None, plain)
        for step, probs in given.items():
            if isinstance(probs, Mapping):
                yield cls(role, step, tuple(probs.items()))

    def target(self, legal: tuple[str, ...]) -> tuple[float, ...] | None:
        """Probabilities parallel to `legal`, summing to 1; None where it names none of them."""
        given = dict(self.probs)
        named = [given[name] for name in legal if name in given]
        if not named:
            return None
        others = len(legal) - len(named)
        rest = max(1 - sum(named), 0.0) / max(others, 1)
        probs = [given.get(name, rest) for name in legal]
        total = sum(probs)
        return tuple(p / total for p in probs) if total else None


@dataclass(frozen=True)
class AdapterSize:
    """The rank and alpha of one role's adapter; None takes that of `lora`."""

    rank: int | None = None
    alpha: int | None = None

    def of(self, lora: Lora) -> Lora:
        """The whole shape."""
        return replace(lora, rank=self.rank or lora.rank, alpha=self.alpha or lora.alpha)


@dataclass(frozen=True)
class RoleSettings:
    """The settings of one role, as `roles` gives them; None is what the recipe leaves open.

    The model is then the run's, and the adapter that of `adapters` (of the role itself if it is not
    trained, or has a model of its own). A role is trained unless a player holds it; a referee is
    only where `trained` says so. The learning
    rate and the size of the adapter are the run's. The fields without a row are settings of the
    run, and accept what these do.
    """

    role: str
    adapter: str | None = optional_setting(
        "its adapter", noun="a name of letters, digits and _", pattern="[A-Za-z_][A-Za-z0-9_]*",
        example="defender",
    )  # fmt: skip
    """An adapter is a folder, and a part of a name in torch."""
    trained: bool | None = optional_setting("whether it learns", example="false")
    player: str | None = optional_setting(
        "the player that takes the model's place",
        noun="a player, as on the command line",
        example="random",
    )
    model: str | None = None
    lr: float | None = None
    lora: AdapterSize | None = None
    expert: str | None = optional_setting(
        "what it imitates before the first step, in place of `warm_up.expert`; `none`: nothing",
        noun="a player or `file:PATH`, as `warm_up.expert`",
        example="minimax",
    )

    @property
    def learns(self) -> bool:
        return self.player is None if self.trained is None else self.trained

    def of_role(self, model: str, *, per_role: bool) -> RoleSettings:
        """The settings in full, in a run of a model; a player has neither model nor adapter."""
        if self.player is not None:
            return RoleSettings(self.role, None, False, self.player)
        own = per_role or not self.learns or self.model is not None
        adapter = self.adapter or (self.role if own else SHARED)
        model = self.model or model
        return RoleSettings(
            self.role, adapter, self.learns, None, model, self.lr, self.lora, self.expert
        )

    def of_referee(self, model: str) -> RoleSettings:
        """The settings of a referee in full. It is trained only where that is asked for, and then
        has an adapter of its own."""
        if self.trained and self.player is None:
            return self.of_role(model, per_role=True)
        if self.player is not None:
            return RoleSettings(self.role, None, False, self.player)
        adapter = REFEREES if self.model is None else self.role
        return RoleSettings(self.role, adapter, False, None, self.model or model)

    @classmethod
    def from_dict(cls, role: str, given: Mapping[str, Any]) -> RoleSettings:
        """The inverse of `as_dict`. Raises ValueError for settings that there are not."""
        try:
            size = AdapterSize(**given["lora"]) if "lora" in given else None
            return cls(role, **{**given, "lora": size})
        except TypeError as error:
            raise ValueError(f"`roles.{role}` cannot be read: {error}") from error

    def as_dict(self) -> dict[str, Any]:
        """Returns the map that a recipe has: without the role, and without what is left open."""
        given = {name: v for name, v in vars(self).items() if name != "role" and v is not None}
        if self.lora is not None:
            given["lora"] = {name: v for name, v in vars(self.lora).items() if v is not None}
        return given

    @staticmethod
    def rows() -> dict[str, SettingSpec]:
        """The rows of a role's settings by name: its own, and those that the run has too."""
        names = [one.name for one in fields(RoleSettings)]
        names += [f"lora.{one.name}" for one in fields(AdapterSize)]
        rows = (*specs(RoleSettings), *specs(Recipe))
        return {row.name: row for row in rows if row.name in names}


def _has_pool(opponents: tuple[tuple[str, float], ...]) -> bool:
    return any(name == "pool" for name, _ in opponents)


def _calls_endpoints(players: tuple[str, ...]) -> bool:
    """Whether an endpoint may be called: by a player, or by one that a run was trained with."""
    return any(name.partition(":")[0].strip() in ("endpoint", "run") for name in players)


_MEETS_POOL = ReadIf("opponents", _has_pool, "`opponents: {self: 1, pool: 1}`")
_CALLS_ENDPOINTS = ReadIf(
    "roles", _calls_endpoints, "a player such as `endpoint:URL#MODEL`", attribute="players"
)

_HAS_LANGUAGE_MODEL = ReadIf(
    "model",
    lambda names: not {*names} <= {"tabular", "words"},
    "the name of a language model as `model`",
    attribute="models_named",
)
_HAS_ADAPTERS = (
    ReadIf("finetuning", lambda value: value != "full", "`finetuning: lora`"),
    ReadIf("model", lambda whole: not whole, "`finetuning: lora`", attribute="whole_by_default"),
)


MODELS = {
    "smollm2-135m": "a language model of 135 million weights",
    "small": "a million random weights",
    "tiny": "random, for tests",
    "words": "a small network over words",
    "tabular": "no network",
}
"""The models that come with the package, and what each is."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Every setting of a training run."""

    model: str = setting(
        "smollm2-135m",
        ", ".join(f"`{name}` ({about})" for name, about in MODELS.items())
        + ", a folder or a hub id",
    )
    finetuning: Literal["lora", "full"] | None = setting(
        "auto",
        "what is trained: `lora` adapters, or a `full` copy of the model for each; `auto`: `full`"
        " for `small`, else `lora`",
        absent="auto", read_if=_HAS_LANGUAGE_MODEL,
    )  # fmt: skip
    engine: Literal["hf", "vllm"] = setting(
        "hf",
        "what writes replies in games in words: `hf`, the model that is trained, or `vllm` beside"
        " it",
    )
    vllm: Vllm = field(metadata=group(is_one_of("engine", "vllm")))
    cluster: str = setting(
        "local",
        "where replies in games in words are written: `local`, in this process; `ray`, by workers"
        " of a Ray cluster that is started here; `ray://HOST:PORT`, of one that is there",
        noun="`local`, `ray` or `ray://HOST:PORT`", pattern=r"local|ray|ray://[\w.:\[\]-]+",
        written_only=True,
    )  # fmt: skip
    workers: int | None = setting(
        "auto",
        "workers of the cluster; `auto`: one for each GPU but the trainer's, or for each processor"
        " core but one, and at least one",
        low=1, high=4096, absent="auto",
        read_if=ReadIf("cluster", lambda value: value != "local", "`cluster: ray`"),
    )  # fmt: skip
    staleness: int = setting(
        0,
        "how many updates the policy that plays the games of a step is behind the one that learns"
        " from them: workers of a cluster then write while the update runs",
        low=0, high=1000, written_only=True,
    )  # fmt: skip
    method: str = setting("grpo", "")
    """A method of `gamedsl.recipe.methods`, which also says what this row accepts."""
    preset: str | None = setting("none", "", absent="none")
    """A variant of `gamedsl.recipe.presets`, of which `gamedsl.recipe.methods` makes the row."""
    estimator: Literal["sampled", "tree"] = setting(
        "sampled",
        "what actions are worth: as the games of the step paid, or exactly, from the game's `tree`",
        in_words=("sampled",),
        closed_because="written replies are endless, so the game has no tree of them",
    )
    steps: int = setting(20, "training steps", low=1, high=MOST_STEPS)
    until: Until = field(
        metadata=group(
            closed_only=True,
            closed_because="exploitability needs all choices listed",
            after_thoughts="drawn",
        )
    )
    games: int = setting(128, "games played in each step", low=1, high=MOST_GAMES)
    seed: int = setting(0, "seeds the labels, the adapters and the play", low=0, high=2**32 - 1)
    wording: Literal["explained", "brief"] = setting(
        "explained",
        "default texts of prompts: with the rules `explained`, or `brief`, as version 0.1.0 wrote"
        " them; texts that the game writes itself stay",
    )
    adapters: Literal["shared", "per_role"] = setting(
        "shared", "one adapter for all roles, or one for each"
    )
    roles: tuple[RoleSettings, ...] = setting(
        None,
        "who answers for a role: an `adapter` by name; `trained: false` holds it as it is; a"
        " `model` of its own; a `player` takes the model's place; `lr` and `lora` (`rank`, `alpha`)"
        " where its adapter learns at another rate, or is of another size; an `expert` of its own"
        " in place of `warm_up.expert`",
        form="role to " + ", ".join(f"`{one.name}`" for one in fields(RoleSettings)[1:]),
    )
    """The roles that have settings of their own, in the order of the game."""
    learn: Learn
    curriculum: Curriculum
    opponents: tuple[tuple[str, float], ...] = setting(
        None, "whom the policy meets, with shares: `self`, the `pool` of its past, or players",
        form="`self`, `pool` or a player to its share",
    )  # fmt: skip
    """Opponents with shares of any sum. Empty: the policy meets itself."""
    pool: PoolSettings = field(metadata=group(_MEETS_POOL))
    budget: Spending = field(metadata=group(_CALLS_ENDPOINTS))
    lora: Lora = field(metadata=group(_HAS_LANGUAGE_MODEL, *_HAS_ADAPTERS))
    lr: float = setting(0.0002, "learning rate of AdamW", low=0, high=1_000_000, above=True)
    lr_schedule: Literal["constant", "linear", "cosine"] = setting(
        "constant", "how the learning rate falls to zero over the steps"
    )
    lr_warm_up: int = setting(
        0, "steps over which the learning rate first rises to `lr`", low=0, high=MOST_STEPS
    )
    betas: tuple[float, float] = setting(
        (0.9, 0.999), "AdamW's two averaging rates", low=0, high=0.9999999
    )
    weight_decay: float = setting(0, "AdamW's weight decay", low=0, high=1_000_000)
    max_grad_norm: float = setting(
        1, "the gradient is scaled down to this norm (`project` leaves it as it is)",
        low=0, high=LARGE, above=True,
    )  # fmt: skip
    max_change: float | None = setting(
        "off",
        "the most that log-odds of two actions are to change in an optimiser step, which is"
        " shortened where they would; `project` has `project.change`",
        low=0, high=LARGE, above=True, absent="off", in_words=(None,),
        closed_because="it bounds the log-odds of two actions, and a token has no such two",
    )  # fmt: skip
    inner_steps: int = setting(
        1,
        "optimiser steps on the games of one training step; under `project` the most there may be",
        low=1,
        high=1_000_000,
    )
    minibatches: int = setting(
        1,
        "parts that the samples of a step are split into at random, each with an optimiser step of"
        " its own; `inner_steps` then counts passes through all of them",
        low=1, high=100_000, read_if=is_one_of("estimator", "sampled"),
    )  # fmt: skip
    clip: float = setting(
        0.2, "how far the probability ratio counts, from the second optimiser step on",
        low=0, high=LARGE, above=True,
    )  # fmt: skip
    clip_high: float | None = setting(
        "clip",
        "how far above 1 the ratio counts, where that is to be another distance than below it"
        " (clip-higher)",
        low=0, high=LARGE, above=True, absent="clip",
    )  # fmt: skip
    dual_clip: float | None = setting(
        "off",
        "the most that a ratio counts for a sample that did worse than its baseline (dual clip)",
        low=1, high=LARGE, above=True, absent="off",
    )  # fmt: skip
    ratio: Literal["token", "sequence"] = setting(
        "token",
        "what is clipped in written replies: the ratio of each `token`, or one of the whole"
        " `sequence`, the geometric mean over its tokens (GSPO)",
        written_only=True,
    )
    length_norm: Literal["step", "reply", "limit"] = setting(
        "step",
        "what a written reply's sum over tokens is divided by: the mean length in the `step`, the"
        " `reply`'s own length, or its `limit` of tokens",
        written_only=True, read_if=is_one_of("ratio", "token"),
    )  # fmt: skip
    overlong: Overlong = field(metadata=group(written_only=True))
    dynamic_sampling: int | None = setting(
        "off",
        "how often groups whose games all earn the same are set aside, and others played in their"
        " place; those that are left without signal then are left out",
        low=1, high=1000, absent="off",
    )  # fmt: skip
    group_by: Literal["seed", "deal"] = setting(
        "seed",
        "chance is drawn once for `group_size` games, or for each game: those of one `deal` are a"
        " group, and a step costs what its distinct histories cost",
        in_words=("seed",),
        closed_because="a group of written games has one deal already, that of its seed",
    )
    group_size: int = setting(
        8,
        "games that share one seed, where seeds differ (labels drawn per episode)",
        low=1,
        high=MOST_GAMES,
    )
    scale: Literal["none", "batch", "group"] = setting(
        "none",
        "what advantages are divided by: nothing, their deviation in the batch, or in each group",
        read_if=is_one_of("estimator", "sampled"),
    )  # fmt: skip
    baseline: Literal[
        "mean", "leave_one_out", "information_set", "running", "critic", "global", "none"
    ] = setting(
        "mean",
        "what is taken off a return: the group's mean, that of its other games, that of the"
        " information set, the role's `running` mean, the value that a `critic` has learned, one"
        " mean for all roles, or nothing",
        read_if=is_one_of("estimator", "sampled"),
    )
    baseline_rate: float = setting(
        0.1, "the least share of a step's mean in the role's `running` mean",
        low=0, high=1, above=True, read_if=is_one_of("baseline", "running"),
    )  # fmt: skip
    critic: CriticSettings = field(metadata=group(is_one_of("baseline", "critic")))
    compare: Literal["turn", "role", "team"] = setting(
        "turn",
        "which samples of its group one is compared with: those of the same turn of its role, of"
        " all its role's turns, or of the whole team",
        read_if=is_one_of("estimator", "sampled"),
    )  # fmt: skip
    credit: Literal["own", "team", "difference", "counterfactual"] = setting(
        "own",
        "what a choice is credited with: its seat's own return, the team's mean return, what it"
        " made of the team's with all else as it was, or what it earned over the seat's other"
        " choices there, played out anew",
    )
    replays: int = setting(
        64,
        "courses of play that another choice is followed on; all of them where they are no more",
        low=1, high=1_000_000,
        read_if=is_one_of("credit", "difference", "counterfactual"),
    )  # fmt: skip
    temperature: float = setting(
        1,
        "divides log-probabilities of labels, in play and in the loss",
        low=0,
        high=1_000_000,
        above=True,
    )
    replies: Literal["scored", "free"] = setting(
        "scored",
        "how closed decisions are answered: options are `scored` as they would be written, given"
        " the thought before them, or the model writes `free`ly and what it wrote is read",
    )
    kl: float = setting(
        0, "weight of the divergence from the `reference`",
        low=0, high=LARGE,
    )  # fmt: skip
    reference: str | None = setting(
        "start",
        "the policy of `kl`: the `start` of training, or the folder of a run of the same shape",
        absent="start", noun="the folder of a run", read_if=ReadIf("kl", bool, "a `kl`"),
    )  # fmt: skip
    entropy: float = setting(
        0,
        "weight of the policy's entropy, in nats, in the objective",
        low=0,
        high=LARGE,
    )
    entropy_floor: float = setting(
        0,
        "the least entropy at every information set, as a share of that of uniform play; the weight"
        " that holds it there follows from what is at stake",
        low=0, high=0.9,
    )  # fmt: skip
    warm_up: WarmUp = field(metadata=group(
        ReadIf("warm_up.expert", bool, "a `warm_up.expert`", attribute="experts")
    ))  # fmt: skip
    allow: tuple[Literal["group_std", "rotation", "split"], ...] = setting(
        (), "what is known to move equilibria, and is wanted all the same"
    )
    prior: Literal["model", "uniform"] = setting(
        "model", "where training starts: as the `model` plays untrained, or at `uniform` play",
        in_words=("model",),
        closed_because="uniform play over all texts is noise, and no reply would be valid",
        after_thoughts="yes",
    )  # fmt: skip
    start: tuple[Start, ...] = setting(
        None,
        "where a role's policy is put before training; what is not named is held where it was",
        form="role to action to probability", closed_only=True,
        closed_because="its fit is to all prompts of the decisions, and in words these are endless",
        after_thoughts="yes",
    )  # fmt: skip
    checkpoint_every: int = setting(
        10, "steps between checkpoints; the last step always has one", low=1, high=MOST_STEPS
    )
    keep_checkpoints: int = setting(
        2, "how many checkpoints are kept, the latest", low=1, high=1_000_000
    )
    transcripts_every: int = setting(
        10, "steps between transcripts; the last step always has one", low=1, high=MOST_STEPS
    )
    dtype: Literal["float32", "bfloat16"] | None = setting(
        "auto",
        "number format of the frozen weights; `auto`: float32 on a processor, bfloat16 on a GPU",
        absent="auto",
        read_if=(_HAS_LANGUAGE_MODEL, *_HAS_ADAPTERS),
    )
    quantize: Literal["none", "nf4"] = setting(
        "none",
        "how the frozen weights of the decoder's linear layers are kept: in `dtype`, or in four"
        " bits (`nf4`) that each pass dequantises to it",
    )
    pass_tokens: int | None = setting(
        "auto",
        "the most distinct tokens of one pass forward and backward; the gradients of all passes are"
        " added up, so memory and speed depend on it and results, but for rounding, do not; `auto`:"
        " as many as keep about 1 GB, from 4096 (1024 where all weights are trained) to 32768",
        low=1, high=10_000_000, absent="auto", read_if=_HAS_LANGUAGE_MODEL,
    )  # fmt: skip
    recompute: Literal["auto", "on", "off"] = setting(
        "auto",
        "layers are computed again in the backward pass, and only what enters them is kept; `auto`:"
        " in a pass that would keep more than half of the memory that is free",
        read_if=_HAS_LANGUAGE_MODEL,
    )
    shard: bool = setting(
        False,
        "processes that train together (torchrun) share out the frozen base weights, by FSDP2; each"
        " gathers a layer's when it runs it",
    )
    kv_cache: float | None = setting(
        "auto",
        "GiB of keys and values that each model keeps of prompts and replies; while replies are"
        " drawn, as much again; `auto`: a quarter of the GPU memory that is free once models are"
        " loaded, and at most 2 on a processor; a resumed run has what it had",
        low=0, high=10_000, above=True, absent="auto", read_if=is_one_of("engine", "hf"),
    )  # fmt: skip
    deterministic: bool = setting(
        False,
        "only operations that give the same bits each time, or an error where there is none; on a"
        " GPU this is slower, and without it a resumed run differs by rounding",
    )
    threads: int | None = setting(
        "auto", "processor threads; `auto` takes what torch chooses", low=1, high=256, absent="auto"
    )
    exploitability: Literal["auto", "on", "off"] = setting(
        "auto",
        "the exact distance from equilibrium each step; `auto`: where the game is small enough",
        closed_only=True,
        closed_because="it is exact, and needs all replies listed; after thoughts `thoughts`"
        " estimates it",
    )
    contributions: Literal["auto", "on", "off"] = setting(
        "auto",
        "what each role adds to what all earn together, at the end; `auto`: where the game is small"
        " and not of constant sum",
    )
    thoughts: int | None = setting(
        "off",
        "thoughts drawn at every decision, of a small game with thoughts before choices, from which"
        " the policy and its exploitability are estimated at each step with a checkpoint",
        low=1, high=100_000, absent="off", written_only=True,
    )  # fmt: skip
    bound_every: int | None = setting(
        "never",
        "steps after which exploitability is bounded from below, by searching for replies, in games"
        " too large for the exact one",
        low=1, high=MOST_STEPS, absent="never", closed_only=True,
        closed_because="the search asks for the odds of replies, and of written ones each is drawn",
    )  # fmt: skip
    lines_every: int | None = setting(
        "never",
        "steps after which all lines are counted that others can play against the policy's"
        " likeliest moves, in games in which everybody sees everything",
        low=1, high=MOST_STEPS, absent="never",
    )  # fmt: skip
    extinct: float | None = setting(
        0.001,
        "the probability below which an action that equilibria play, or that just was played,"
        " raises an alarm",
        low=0, high=1, above=True, absent="off", closed_only=True, after_thoughts="drawn",
    )  # fmt: skip
    of_methods: tuple[tuple[str, object], ...]
    """The settings that methods bring, by the name of their group; `of` finds them by type."""

    def of(self, settings: type[Settings]) -> Settings:
        """The settings that a method brings, by their class."""
        return next(one for _, one in self.of_methods if isinstance(one, settings))

    def rows(self) -> tuple[SettingSpec, ...]:
        """The rows of all settings, in order."""
        own: list[tuple[str, Any]] = [(name, type(one)) for name, one in self.of_methods]
        return sum((specs(kind, f"{name}.") for name, kind in own), specs(Recipe))

    def value(self, name: str) -> Any:
        """The value of a setting, by its dotted name."""
        head, _, tail = name.partition(".")
        holder = dict(self.of_methods).get(head) or getattr(self, head)
        return getattr(holder, tail) if tail else holder

    def as_dict(self) -> dict[str, Any]:
        """Returns the recipe as a `train:` section would have it: nested maps of plain values, in
        the table's order. Maps that are empty are left out."""
        start: dict[str, Any] = {}
        for one in self.start:
            place = start.setdefault(one.role, {})
            (place if one.step is None else place.setdefault(one.step, {})).update(one.probs)
        roles = {one.role: one.as_dict() for one in self.roles}
        maps: Mapping[str, Any] = {
            "roles": roles, "opponents": dict(self.opponents), "start": start,
        }  # fmt: skip
        plain: dict[str, Any] = {}
        for row in self.rows():
            if row.kind != "map":
                head, _, tail = row.name.rpartition(".")
                place = plain.setdefault(head, {}) if head else plain
                place[tail] = row.plain(self.value(row.name))
        return plain | {name: given for name, given in maps.items() if given}

    def scores_after_thoughts(self, ir: GameIR) -> bool:
        """Whether all that is written are thoughts, before choices that are scored."""
        return ir.respond.think is not None and self.replies != "free" and not (
            ir.open or ir.referees
        )  # fmt: skip

    def in_words(self, ir: GameIR) -> bool:
        """Whether replies are written when a game is trained so."""
        return ir.in_words or self.replies == "free"

    @property
    def needs_state(self) -> bool:
        """Whether a critic sees the whole state of the game."""
        return self.baseline == "critic" and self.critic.view == "centralised"

    @property
    def keeps_pool(self) -> bool:
        """Whether the policy meets a population."""
        return _has_pool(self.opponents)

    @property
    def players(self) -> tuple[str, ...]:
        """All players that it names: in roles, as opponents, and as those that are imitated."""
        held = (one.player for one in self.roles)
        met = (name for name, _ in self.opponents if name not in ("self", "pool"))
        taught = (self.value(row.name) for row in self.rows() if row.names_player)
        named = (*held, *met, *taught, *self.experts)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def experts(self) -> tuple[str, ...]:
        """The players and files that are imitated before the first step."""
        named = (self.warm_up.expert, *(one.expert for one in self.roles))
        return tuple(dict.fromkeys(name for name in named if name not in (None, "none")))

    def expert_of(self, role: str) -> str | None:
        """The player or file that a role imitates before the first step."""
        named = self._settings_of(role).expert or self.warm_up.expert
        return None if named == "none" else named

    @property
    def models_named(self) -> tuple[str, ...]:
        """The run's model, and those that roles have of their own."""
        return (self.model, *(one.model for one in self.roles if one.model is not None))

    @property
    def language_models(self) -> frozenset[str]:
        """The language models among those named."""
        return frozenset(self.models_named) - {"tabular", "words"}

    @property
    def frozen_models(self) -> frozenset[str]:
        """The language models whose own weights are frozen, under adapters."""
        if self.finetuning == "full":
            return frozenset()
        return self.language_models - ({"small"} if self.finetuning is None else set())

    @property
    def whole_by_default(self) -> bool:
        """Whether all models are trained whole without being told to, as `finetuning: auto` says
        of `small`."""
        return self.finetuning is None and set(self.models_named) == {"small"}

    def part(self, role: str) -> RoleSettings:
        """The settings of a role in full."""
        return self._settings_of(role).of_role(self.model, per_role=self.adapters == "per_role")

    def referee(self, role: str) -> RoleSettings:
        """The settings of a referee in full."""
        return self._settings_of(role).of_referee(self.model)

    def parts(self, ir: GameIR) -> tuple[RoleSettings, ...]:
        """The settings of each role and each referee of a game, in full and in order."""
        roles = [self.part(role.name) for role in ir.roles]
        return (*roles, *(self.referee(role.name) for role in ir.referees))

    def learners(self, ir: GameIR) -> tuple[str, ...]:
        """The roles and referees that are trained, in order."""
        return tuple(part.role for part in self.parts(ir) if part.learns)

    def models(self, ir: GameIR) -> dict[str, str]:
        """The adapters that play, trained or not, in order, each with its model."""
        played = [(part.adapter, part.model) for part in self.parts(ir)]
        return {adapter: model for adapter, model in played if adapter and model}

    def shapes(self, ir: GameIR) -> dict[str, Lora]:
        """The shape of each adapter that plays."""
        parts = self.parts(ir)
        return {
            part.adapter: (part.lora or AdapterSize()).of(self.lora)
            for part in parts if part.adapter
        }  # fmt: skip

    def rates(self, ir: GameIR) -> dict[str, float]:
        """The learning rate of each adapter that plays, as a share of the run's."""
        parts = self.parts(ir)
        return {part.adapter: (part.lr or self.lr) / self.lr for part in parts if part.adapter}

    def model_names(self, ir: GameIR) -> str:
        """The models that play, as people read them."""
        return " + ".join(dict.fromkeys(self.models(ir).values())) or self.model

    def _settings_of(self, role: str) -> RoleSettings:
        return next((part for part in self.roles if part.role == role), RoleSettings(role))
