"""How a game is trained, as data: the `train:` section and `--set`, resolved and checked.

`gamedsl.recipe.resolve` builds this by the table of `gamedsl.recipe.keys`; the trainer reads
nothing else.
A recipe never changes the rules of a game, and takes no part in its hash.
"""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from gamedsl.ir.game import GameIR


@dataclass(frozen=True)
class Lora:
    """The shape of an adapter: low-rank updates of a model's linear layers.

    `layers` counts from the top of the model, `targets` are last names of modules; None is all.
    """

    rank: int
    alpha: int
    layers: int | None
    targets: tuple[str, ...] | None


@dataclass(frozen=True)
class Magnet:
    """What holds a mixed policy open: a pull towards a distribution over the legal labels.

    `weight` goes from the first number to the second over the run. The magnet is uniform, and with
    `every` becomes the policy each so many steps, mixed with a share `floor` of uniform play.
    """

    weight: tuple[float, float]
    every: int | None
    floor: float


@dataclass(frozen=True)
class Project:
    """How far the method `project` goes in a step, and how well it fits; see its module.

    `eta` goes from the first number to the second over the run. A `batch` of None is all prompts.
    """

    eta: tuple[float, float]
    change: float
    base: Literal["policy", "target"]
    fit: float
    fitter: Literal["auto", "newton", "adam"]
    rate: Literal["adapted", "held"]
    batch: int | None
    floor: float


@dataclass(frozen=True)
class Learn:
    """Which of the trained roles learn when: `all` at once, or one at a time for `every` steps, in
    turns (`rotate`) or the one that adds least (`weakest`). An order of None is the game's."""

    who: Literal["all", "rotate", "weakest"]
    every: int
    order: tuple[str, ...] | None


@dataclass(frozen=True)
class Until:
    """When a run ends before its last step: once `exploitability` was no more than this at as many
    steps one after another as `over`. None: never."""

    exploitability: float | None
    over: int


@dataclass(frozen=True)
class WarmUp:
    """Which player is imitated before the first step, and how; see `gamedsl.train.imitation`.

    `expert` names a player, or transcripts as `file:PATH`; None is no warm-up. `opponents` names
    who holds the other seats; None lets the expert hold all. In all `rounds` but the first the
    policy plays, and the expert says what it would have done.
    """

    expert: str | None
    opponents: str | None
    games: int
    rounds: int
    explore: float
    epochs: int
    batch: int
    lr: float
    held_out: float
    patience: int


@dataclass(frozen=True)
class Expert:
    """What the method `expert` imitates: the best share `keep` of the games, or a `teacher`."""

    keep: float
    teacher: str | None


@dataclass(frozen=True)
class Curriculum:
    """Levels of the game, by what one param is set to; a param of None: the game as it is.

    A level is passed when its last `over` steps had a success of `at` on average. Levels held out
    are played at the end, and never trained on.

    `rows` names what is drawn from a data file, by success but for a share `floor` of the draws;
    None: all rows alike. See `gamedsl.train.rows`.
    """

    param: str | None
    levels: tuple[int | float | str | bool, ...]
    at: float
    over: int
    held_out: tuple[int | float | str | bool, ...]
    rows: str | None
    floor: float


@dataclass(frozen=True)
class Start:
    """Where a role's policy is put before training, at its decisions that offer a named action.

    `step` is a step's id, None for all steps of the role; `probs` are (action,
    probability) as given. What is left is shared evenly by the legal actions that are not named.
    """

    role: str
    step: str | None
    probs: tuple[tuple[str, float], ...]

    def target(self, legal: tuple[str, ...]) -> tuple[float, ...] | None:
        """Probabilities parallel to `legal`, summing to 1; None where it asks for nothing."""
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
class PoolSettings:
    """The population of `opponents: {pool: ...}`: its size, how often a snapshot joins it, whom the
    learner meets, and how the pool is judged at the end; see `gamedsl.train.pool`."""

    size: int
    every: int
    sampling: Literal["prioritised", "uniform"]
    power: float
    mixture: Literal["equilibrium", "uniform"]
    games: int


SHARED = "shared"
REFEREES = "referees"
"""The adapter of referees that no player holds: it is never trained."""


@dataclass(frozen=True)
class Size:
    """How large an adapter is, as far as it is not as `lora` says."""

    rank: int | None = None
    alpha: int | None = None

    def of(self, lora: Lora) -> Lora:
        """The whole shape."""
        return replace(lora, rank=self.rank or lora.rank, alpha=self.alpha or lora.alpha)


@dataclass(frozen=True)
class Part:
    """Who answers for a role, as `roles` says. None is what was not said: the model is then the
    run's, the adapter that of `adapters` (of the role itself where it is not trained, or has a
    model of its own), and a role is trained unless a player holds it. The learning rate is the
    run's, and so is the size of the adapter."""

    role: str
    adapter: str | None = None
    trained: bool | None = None
    player: str | None = None
    model: str | None = None
    lr: float | None = None
    lora: Size | None = None

    @property
    def learns(self) -> bool:
        return self.player is None if self.trained is None else self.trained

    def of_role(self, model: str, *, per_role: bool) -> Part:
        """In full, in a run of a model; a player has neither model nor adapter."""
        if self.player is not None:
            return Part(self.role, None, False, self.player)
        own = per_role or not self.learns or self.model is not None
        adapter = self.adapter or (self.role if own else SHARED)
        model = self.model or model
        return Part(self.role, adapter, self.learns, None, model, self.lr, self.lora)

    def of_referee(self, model: str) -> Part:
        """The same of a referee, which is never trained."""
        if self.player is not None:
            return Part(self.role, None, False, self.player)
        adapter = REFEREES if self.model is None else self.role
        return Part(self.role, adapter, False, None, self.model or model)


@dataclass(frozen=True)
class Vllm:
    """How vLLM runs beside the trainer; `cache` is in GiB, and no `context` is the model's own."""

    idle: Literal["resident", "sleep"]
    cache: float
    context: int | None


@dataclass(frozen=True)
class Spending:
    """What the endpoints of a run may use up together, however often it is resumed; None: any."""

    calls: int | None
    tokens: int | None


@dataclass(frozen=True)
class Recipe:
    """Every setting of a training run. The documentation of each is in
    `gamedsl.recipe.keys.KEYS`."""

    model: str
    finetuning: Literal["lora", "full"] | None
    engine: Literal["hf", "vllm"]
    vllm: Vllm
    method: Literal["grpo", "magnet", "project", "expert"]
    estimator: Literal["sampled", "tree"]
    steps: int
    games: int
    seed: int
    adapters: Literal["shared", "per_role"]
    roles: tuple[Part, ...]
    """What was said of roles, in the order of the game's."""
    until: Until
    learn: Learn
    curriculum: Curriculum
    opponents: tuple[tuple[str, float], ...]
    """Whom the policy meets, with shares of any sum: `self`, `pool`, or a player. Empty: itself."""
    pool: PoolSettings
    budget: Spending
    lora: Lora
    lr: float
    lr_schedule: Literal["constant", "linear", "cosine"]
    betas: tuple[float, float]
    weight_decay: float
    max_grad_norm: float
    max_change: float | None
    inner_steps: int
    clip: float
    group_by: Literal["seed", "deal"]
    group_size: int
    scale: Literal["none", "batch", "group"]
    baseline: Literal["mean", "leave_one_out", "information_set", "running", "global", "none"]
    compare: Literal["turn", "role", "team"]
    credit: Literal["own", "team", "difference", "counterfactual"]
    replays: int
    temperature: float
    replies: Literal["scored", "free"]
    kl: float
    entropy: float
    entropy_floor: float
    magnet: Magnet
    project: Project
    expert: Expert
    warm_up: WarmUp
    allow: tuple[str, ...]
    prior: Literal["model", "uniform"]
    start: tuple[Start, ...]
    checkpoint_every: int
    keep_checkpoints: int
    transcripts_every: int
    dtype: Literal["float32", "bfloat16"] | None
    pass_tokens: int | None
    recompute: Literal["auto", "on", "off"]
    threads: int | None
    exploitability: Literal["auto", "on", "off"]
    contributions: Literal["auto", "on", "off"]
    bound_every: int | None
    lines_every: int | None
    extinct: float | None

    def as_dict(self) -> dict[str, Any]:
        """As a `train:` section would have it: nested maps of plain values, in the table's
        order."""
        plain = {name: _plain(name, v) for name, v in vars(self).items() if name not in _MAPS}
        roles = {part.role: _said(part) for part in self.roles}
        start: dict[str, Any] = {}
        for one in self.start:
            place = start.setdefault(one.role, {})
            (place if one.step is None else place.setdefault(one.step, {})).update(one.probs)
        maps = {"roles": roles, "opponents": dict(self.opponents), "start": start}
        return plain | {name: given for name, given in maps.items() if given}

    def in_words(self, ir: GameIR) -> bool:
        """Whether replies are written when a game is trained so."""
        return ir.in_words or self.replies == "free"

    @property
    def holds(self) -> bool:
        """Whether the method settles at mixed equilibria of what is rewarded."""
        return self.method in ("magnet", "project")

    @property
    def keeps_pool(self) -> bool:
        """Whether the policy meets a population."""
        return any(name == "pool" for name, _ in self.opponents)

    @property
    def players(self) -> tuple[str, ...]:
        """All players that it names, in roles, as opponents, and as those that are imitated."""
        roles = (part.player for part in self.roles)
        met = (name for name, _ in self.opponents if name not in ("self", "pool"))
        taught = self.warm_up.expert, self.warm_up.opponents, self.expert.teacher
        return tuple(name for name in (*roles, *met, *taught) if name is not None)

    def part(self, role: str) -> Part:
        """Who answers for a role, in full."""
        return self._said(role).of_role(self.model, per_role=self.adapters == "per_role")

    def referee(self, role: str) -> Part:
        """Who answers for a referee, in full."""
        return self._said(role).of_referee(self.model)

    def parts(self, ir: GameIR) -> tuple[Part, ...]:
        """Who answers for each role and each referee of a game, in full and in order."""
        roles = [self.part(role.name) for role in ir.roles]
        return (*roles, *(self.referee(role.name) for role in ir.referees))

    def models(self, ir: GameIR) -> dict[str, str]:
        """The adapters that play, trained or not, in order, each with its model."""
        played = [(part.adapter, part.model) for part in self.parts(ir)]
        return {adapter: model for adapter, model in played if adapter and model}

    def shapes(self, ir: GameIR) -> dict[str, Lora]:
        """The shape of each adapter that plays."""
        parts = self.parts(ir)
        return {part.adapter: (part.lora or Size()).of(self.lora) for part in parts if part.adapter}

    def rates(self, ir: GameIR) -> dict[str, float]:
        """What the learning rate of each adapter that plays is, as a share of the run's."""
        parts = self.parts(ir)
        return {part.adapter: (part.lr or self.lr) / self.lr for part in parts if part.adapter}

    def shown_models(self, ir: GameIR) -> str:
        """The models that play, as people read them."""
        return " + ".join(dict.fromkeys(self.models(ir).values())) or self.model

    def _said(self, role: str) -> Part:
        return next((part for part in self.roles if part.role == role), Part(role))


_MAPS = ("roles", "opponents", "start")

_ABSENT = {
    "order": "roles", "param": "none", "rows": "none", "layers": "all", "targets": "all",
    "every": "never", "dtype": "auto", "context": "auto", "pass_tokens": "auto",
    "threads": "auto", "finetuning": "auto", "expert": "none", "opponents": "expert",
    "teacher": "none", "extinct": "off", "bound_every": "never", "max_change": "off",
    "exploitability": "never", "lines_every": "never", "batch": "all", "calls": "any",
    "tokens": "any",
}  # fmt: skip
"""How a value of None is written, by field."""


def _said(part: Part) -> dict[str, Any]:
    said = {name: v for name, v in vars(part).items() if name != "role" and v is not None}
    if part.lora is not None:
        said["lora"] = {name: v for name, v in vars(part.lora).items() if v is not None}
    return said


def _plain(name: str, value: Any) -> Any:
    if is_dataclass(value):
        return {inner: _plain(inner, part) for inner, part in vars(value).items()}
    if value is None:
        return _ABSENT[name]
    return list(value) if isinstance(value, tuple) else value
