"""`project`: mirror descent on the decisions' own probabilities, then a fit of the network.

For each decision the step of magnetic mirror descent with an entropy mirror map has a closed form
(Sokota et al. 2023): with policy pi, magnet rho, action values q, weight alpha and step size eta,

    pi' is proportional to (pi * rho^(eta alpha) * e^(eta q))^(1 / (1 + eta alpha)).

A gradient step cannot take a network there: it moves all decisions at once, for their prompts
hardly differ. So pi' is the target at every distinct prompt, and the adapters are fitted to all
targets together (see `gamedsl.training.methods.fitting`). Decisions that no game came to have
targets too where they are known, with no values: they are held, and pulled to the magnet.

q are the means of the samples' advantages. Every sample's baseline is the mean of its deal, role
and step, which takes away what the cards alone decided; it is the same for all actions of an
information set, in expectation, so pi' does not depend on it. A target's log-odds differ from the
policy's by at most `project.change`, so that the few samples of a rare action cannot throw it.

A network that is trained from nothing misses its targets at first. With `project.base: target` pi
in the formula is the target of the step before, as in mirror descent by its dual variables
(Nesterov 2009): what was learned is not lost where it was not fitted. With
`project.min_probability` no target asks for less than that of any action, whatever was learned.

In games in words a choice after a thought t is a decision of its own, pi(.|s,t) at information set
s, and hardly any is met twice. A thought is private and moves nothing, so an action is worth the
same after each: q(s,a) is the mean over all samples of the step at s, and every choice has its own
target by the formula, with that q. A step of mirror descent divides the distance between the
log-odds of two thoughts' choices by 1 + eta alpha, so that they come to agree, and the mixture is
held in them. Thoughts, and all else that is written, take one optimiser step of `grpo` first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from gamedsl.recipe.conflicts import Conflict, all_written
from gamedsl.recipe.methods import MethodSpec
from gamedsl.recipe.setting import is_one_of, setting
from gamedsl.recipe.table import LARGE, Recipe
from gamedsl.storage.shapes import NUMBER
from gamedsl.training.methods.magnet import MagnetSettings

if TYPE_CHECKING:
    import numpy as np
    import torch

    from gamedsl.policies.base import Policy, Query
    from gamedsl.training.estimators import ActionSums, Experience
    from gamedsl.training.methods.base import Learner, Record
    from gamedsl.training.methods.fitting import Adam, Newton


_BY_ADAM = is_one_of("project.fitter", "auto", "adam")
_STEPS = ("lr", "lr_schedule", "lr_warm_up", "betas")
"""Settings of optimiser steps, of which Newton's fit takes none."""


@dataclass(frozen=True)
class ProjectSettings:
    """The length of a step, and the quality of its fit. A `batch` of None is all prompts."""

    eta: tuple[float, float] = setting(
        (0.7, 0.3),
        "how far action values move the policy, at the first step and at the last", low=0,
        high=LARGE,
    )  # fmt: skip
    change: float = setting(
        1,
        "the most that the log-odds of two actions are to change in a step",
        low=0,
        high=LARGE,
        above=True,
    )
    base: Literal["policy", "target"] = setting(
        "policy",
        "what a target improves: the `policy` as it is, or the `target` of the step before, so that"
        " what a fit missed is not lost; either lies within `change` of the policy",
    )
    fit: float = setting(
        0.1, "the fit stops when this share of the divergence is left", low=0, high=1
    )
    fitter: Literal["auto", "newton", "adam"] = setting(
        "auto",
        "how the adapters are fitted; `auto`: by `newton` where decisions are few, else by `adam`",
    )
    rate: Literal["adapted", "held"] = setting(
        "adapted",
        "`lr` is `adapted`, halved where a try of `adam` made the fit worse and raised by a tenth"
        " elsewhere, or it is `held`: with momentum a worse try does not yet mean too long a step",
        read_if=_BY_ADAM,
    )
    batch: int | None = setting(
        "all",
        "prompts of an optimiser step of `adam`, drawn in fours that share a beginning; with it"
        " `inner_steps` counts passes through all prompts",
        low=1, high=1_000_000, absent="all", read_if=_BY_ADAM,
    )  # fmt: skip
    min_probability: float = setting(
        0, "the least probability of a legal action in a target, and so at every information set",
        low=0, high=0.2, formerly="floor",
    )  # fmt: skip


class Projection:
    """Keeps the magnet, and the state of its fits."""

    def __init__(self, learner: Learner) -> None:
        from gamedsl.training.methods.fitting import Adam, Newton
        from gamedsl.training.methods.magnet_policy import MagnetPolicy

        self._learner, recipe = learner, learner.recipe
        self._pull, self._project = recipe.of(MagnetSettings), recipe.of(ProjectSettings)
        self._magnet = MagnetPolicy(
            learner.policy, learner.known, every=self._pull.every,
            uniform=self._pull.uniform, temperature=recipe.temperature,
        )  # fmt: skip
        self._newton = Newton(learner)
        self._adam = Adam(
            learner, adapts=self._project.rate == "adapted", batch=self._project.batch
        )
        self._targets: dict[str, torch.Tensor] = {}
        """The targets of the last steps, by what tells a query from others; empty unless the next
        ones start from them."""

    def update(self, experience: Experience) -> Record:
        import numpy as np
        import torch

        from gamedsl.training.methods.fitting import Goal, digest
        from gamedsl.training.optimizer import between

        learner, recipe, project = self._learner, self._learner.recipe, self._project
        step, frozen = experience.step, experience.frozen
        if learner.written:
            learned = values_after_thoughts(experience)
            asked = list(learned)
        else:
            learned = dict(zip(experience.queries, action_values(experience.sums), strict=True))
            asked = list(learner.known or experience.queries)
        values = [learned.get(query, np.zeros(len(query.labels))) for query in asked]
        alpha = between(self._pull.weight, step, recipe.steps)
        eta = between(project.eta, step, recipe.steps)
        change, least = project.change, project.min_probability
        played = learner.played(learner.scores(asked))
        names = [digest([query]) for query in asked]
        targets = [
            log_pi.double()
            if query.adapter in frozen
            else target(
                log_pi, log_rho, torch.from_numpy(q), eta, alpha, change, least,
                base=self._targets.get(name),
            )
            for query, name, log_pi, log_rho, q in zip(
                asked, names, played, self._magnet.log_rho(asked), values, strict=True
            )
        ]  # fmt: skip
        if project.base == "target":
            self._targets |= zip(names, targets, strict=True)
        record = reinforce_written(learner, experience) if learner.written else {}
        goal = Goal(learner, asked, targets, frozen, project.fit)
        record |= self._fitter(asked).fit(goal, step) if asked else {}
        if self._magnet.due(step):
            learner.scorer.forget()  # a graph would not survive the move
            self._magnet.move()
        return record | {"magnet_weight": alpha, "eta": eta}

    def state(self) -> dict[str, Any]:
        return {
            "magnet": self._magnet.adapters,
            "newton": self._newton.state(),
            "adam": self._adam.state(),
            "targets": self._targets,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._magnet.put(state["magnet"])
        self._newton.restore(state["newton"])
        self._adam.restore(state["adam"])
        self._targets = state["targets"]

    def _fitter(self, queries: Sequence[Query]) -> Newton | Adam:
        learner = self._learner
        by_newton = fits_by_newton(learner.recipe, learner.policy, learner.known and queries)
        return self._newton if by_newton else self._adam


def fits_by_newton(recipe: Recipe, policy: Policy, known: Sequence[Query]) -> bool:
    """Returns whether Newton's method fits the policy, given the queries of all decisions; none
    where these are not known."""
    from gamedsl.training.methods.tangent import fits

    wanted = recipe.of(ProjectSettings).fitter
    return wanted == "newton" or (wanted == "auto" and bool(known) and fits(policy, known))


def told(recipe: Recipe, policy: Policy, known: Sequence[Query]) -> list[tuple[str, str]]:
    """Returns how the policy will be fitted, for a dry run."""
    if not fits_by_newton(recipe, policy, known):
        return [("fit", f"by `adam`, in at most {recipe.inner_steps} tries a step")]
    *most, last = (f"`{name}`" for name in _STEPS)
    return [("fit", f"by `newton`, which reads no {', '.join(most)} or {last}")]


def action_values(sums: ActionSums) -> list[np.ndarray]:
    """Returns per query the mean advantage [A] of each action's samples. One that has none is taken
    to be worth what the others are on average: a prompt's advantages need not be 0 on average,
    since its samples may be compared with those of other prompts."""
    import numpy as np

    return [
        np.divide(
            sum_A, counts, out=np.full(len(sum_A), sum_A.sum() / max(counts.sum(), 1.0)),
            where=counts > 0,
        )
        for sum_A, counts in zip(sums.sums_A, sums.counts_A, strict=True)
    ]  # fmt: skip


def values_after_thoughts(experience: Experience) -> dict[Query, np.ndarray]:
    """Returns for each choice after a thought that was played the value [A] of its options: the
    mean advantage over all samples of the step at its information set, whatever was thought."""
    import numpy as np

    from gamedsl.training.estimators import ActionSums

    batch = experience.batch
    scored = [one for one in experience.advantages if one.sample.query is not None]
    asked = list(dict.fromkeys(one.sample.scored[0] for one in scored))
    keys = {at: (batch.queries[at].adapter, batch.places[at].information_set) for at in asked}
    options = {keys[at]: batch.places[at].legal for at in asked}
    sums = {key: np.zeros(len(legal)) for key, legal in options.items()}
    counts = {key: np.zeros(len(legal)) for key, legal in options.items()}
    for one in scored:
        at, action = one.sample.scored
        number = options[keys[at]].index(batch.places[at].legal[action])
        sums[keys[at]][number] += one.amount * one.games
        counts[keys[at]][number] += one.games
    zeros = [np.zeros_like(sum_A) for sum_A in sums.values()]
    found = action_values(ActionSums(list(sums.values()), zeros, list(counts.values()), 0))
    values = dict(zip(sums, found, strict=True))
    return {
        batch.queries[at]: np.array(
            [values[keys[at]][options[keys[at]].index(name)] for name in batch.places[at].legal]
        )
        for at in asked
    }


def reinforce_written(learner: Learner, experience: Experience) -> Record:
    """Takes an optimiser step by the policy gradient of the tokens that were written, and of no
    option. Returns its part of the step's record."""
    from gamedsl.training.losses import Pulls, descend, surrogate

    written = [
        one._replace(sample=one.sample._replace(query=None, action=None))
        for one in experience.advantages
        if one.sample.written is not None
    ]
    if not written:
        return {}
    once = replace(learner.recipe, inner_steps=1, minibatches=1, max_grad_norm=math.inf)
    learner, experience = replace(learner, recipe=once), replace(experience, advantages=written)
    record = descend(learner, surrogate(learner, experience, Pulls()), experience)
    return {key: record[key] for key in ("loss", "grad_norm", "lr", "trained", "sampler_gap")}


def target(
    log_pi: torch.Tensor,
    log_rho: torch.Tensor,
    q: torch.Tensor,
    eta: float,
    alpha: float,
    change: float,
    least: float = 0.0,
    base: torch.Tensor | None = None,
) -> torch.Tensor:
    """Returns log pi' [A], float64; see the module docstring. No two actions' log-odds change by
    more than `change`, unless to bring a probability back to `least` (less what then is too much).
    `base` takes the place of log pi in the formula."""
    now = log_pi.double()
    base = now if base is None else base
    move = (eta * alpha * (log_rho.double() - base) + eta * q.double()) / (1 + eta * alpha)
    move = move + (base - now)
    widest = float(move.max() - move.min())
    if widest > change:
        move = move * (change / widest)
    log_pi = (now + move).log_softmax(0)
    return log_pi.clamp(min=math.log(least)).log_softmax(0) if least else log_pi


METHOD = MethodSpec(
    doc="`project`ed improvements, to which the adapters are fitted",
    start=Projection,
    settings={"project": ProjectSettings},
    reads=("magnet", "scale", "baseline", "critic", "compare", "credit"),
    reads_if=dict.fromkeys(_STEPS, _BY_ADAM),
    facts=told,
    defaults={
        "games": 4096, "lr": 0.0005, "betas": (0, 0.999), "inner_steps": 8, "group_by": "deal",
        "magnet.weight": (0.3, 0.05),
    },
    conflicts=(
        Conflict(
            ("method", "kl"), lambda recipe, _: recipe.kl,
            "`project` pulls to a magnet, not to the policy that training started with",
            "leave `kl` out, or write `method: grpo`",
        ),
        Conflict(
            ("method", "entropy"), lambda recipe, _: recipe.entropy,
            "`project` fits targets, and its magnet is what keeps the policy's entropy up",
            "leave `entropy` out and raise `magnet.weight`",
        ),
        Conflict(
            ("method", "entropy_floor"), lambda recipe, _: recipe.entropy_floor,
            "`project` fits targets, and its floor is one of probabilities",
            "leave `entropy_floor` out and set `project.min_probability`",
        ),
        all_written("a target"),
        Conflict(
            ("project.base",),
            lambda recipe, ir: recipe.in_words(ir) and recipe.of(ProjectSettings).base == "target",
            "a choice after a thought has no target of the step before: no thought comes twice",
            "write `project: {base: policy}`",
        ),
        Conflict(
            ("project.fitter",),
            lambda recipe, ir: recipe.in_words(ir)
            and recipe.of(ProjectSettings).fitter == "newton",
            "`newton` keeps a tangent from step to step, and the choices after thoughts are others"
            " in each",
            "write `project: {fitter: adam}`",
        ),
    ),
    mixes=True,
    swaps_adapters=lambda recipe: recipe.of(MagnetSettings).every is not None,
    records={
        "magnet_weight": (NUMBER, "weight of the divergence from the magnet"),
        "eta": (NUMBER, "how far targets go"),
        "wanted": (NUMBER, "divergence of the policy from the targets before the fit"),
        "fitted": (NUMBER, "tries of the fit"),
        "tangents": (NUMBER, "how often the network was linearised"),
        "damping": (NUMBER, "damping of the Newton steps"),
    },
)  # fmt: skip
