"""Training settings that are right one by one and wrong together, or wrong for a game."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Fix, Help, respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.edits import delete_entry, respell_word
from gamedsl.ir.game import GameIR, Setting
from gamedsl.recipe.table import MODELS, Recipe, file_of

Text = str | Callable[[Recipe], str]
_MODEL = re.compile(r"model|roles\.\w+\.model")


@dataclass(frozen=True)
class Conflict:
    """Settings that do not fit together.

    `settings` are their names; the problem is shown at the last of those that were given. `when`
    says whether a recipe has the conflict in a game. `message` and `help` may depend on the recipe.
    Those named in `unusual` conflict only where they differ from their defaults: a run that is
    resumed gives every setting by name.
    """

    settings: tuple[str, ...]
    when: Callable[[Recipe, GameIR], object]
    message: Text
    help: Text
    unusual: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecipeCheck:
    """A recipe, the game that it is for, the settings that were `given` by name, the names of those
    that are `usual` (as they would be by default), and where problems go."""

    ir: GameIR
    recipe: Recipe
    given: dict[str, Setting]
    usual: frozenset[str]
    problems: Problems

    def span(self, name: str) -> Span:
        """The place of a setting; that of the game where it was not given."""
        return self.given[name].span if name in self.given else self.ir.span

    def conflict(self, message: str, help: str, *names: str) -> None:
        """Report at the last of the settings that were given, with notes at the others. A map of
        settings is named as a whole, and shown at the last that was given in it."""
        given = [self._given_name(name) for name in names]
        places = [(name, self.given[name].span) for name in given if name is not None]
        (_, span), notes = places[-1] if places else ("", self.ir.span), places[:-1]
        # a row's sentence names first what it would leave out
        left_out = re.match(r"leave `([\w.]+)` out", help)
        alone = left_out and self.given.get(left_out[1])
        fix = Fix(help, delete_entry(alone.span) if alone else ())
        self.problems.add(
            "GD0704", message, span, why="does not fit", help=fix,
            notes=tuple(Note(at, f"`{name}` is set here") for name, at in notes),
        )  # fmt: skip

    def _given_name(self, name: str) -> str | None:
        """The name of a setting that was given; of a map, of the last setting in it."""
        inside = (key for key in reversed(self.given) if key.startswith(f"{name}."))
        return name if name in self.given else next(inside, None)

    def check(self, conflicts: Iterable[Conflict]) -> None:
        """Report the conflicts that the recipe has."""
        for one in conflicts:
            if self.usual.isdisjoint(one.unusual) and one.when(self.recipe, self.ir):
                message, help = (
                    text if isinstance(text, str) else text(self.recipe)
                    for text in (one.message, one.help)
                )
                self.conflict(message, help, *one.settings)


def report_unknown(
    problems: Problems, code: str, message: str, word: str, known: Iterable[str], span: Span,
    otherwise: str, why: str = "unknown here",
) -> None:  # fmt: skip
    """Report a name that there is not; the help is the nearest of those `known`, or begins with
    `otherwise` and lists them."""
    names = list(known)
    near = did_you_mean(word, names)
    help: Help = f"{otherwise}: {', '.join(names)}"
    if near:
        help = Fix(f"did you mean `{near}`?", respell_word(span, word, near))
    problems.add(code, message, span, why=why, help=help)


def _one_group(recipe: Recipe, ir: GameIR) -> bool:
    """Whether all games of a step are one group."""
    return ir.one_group or (recipe.group_by == "deal" and ir.labels_last)


def _group_of_one(recipe: Recipe, ir: GameIR, size: str) -> bool:
    """Whether groups have one game by the setting `size`, and a baseline is taken of the group."""
    sets_size = "games" if _one_group(recipe, ir) else "group_size"
    return size == sets_size and recipe.value(size) == 1 and _compares_groups(recipe)


def _compares_groups(recipe: Recipe) -> bool:
    """Whether a return is compared with those of its group alone."""
    return recipe.baseline in ("mean", "leave_one_out") and recipe.credit in ("own", "team")


def _group_of_one_by(size: str) -> Conflict:
    return Conflict(
        ("baseline", size), lambda recipe, ir: _group_of_one(recipe, ir, size),
        lambda recipe: "in groups of one game every advantage over the"
        f" `{recipe.baseline}` is zero",
        f"raise `{size}`, or write `baseline: none`",
    )  # fmt: skip


def _whole_groups(recipe: Recipe) -> int:
    """The nearest number of games below that makes whole groups."""
    return max(recipe.games // recipe.group_size, 1) * recipe.group_size


def _learning_seats(recipe: Recipe, ir: GameIR) -> int:
    return sum(recipe.part(ir.role_of[seat]).learns for seat in ir.seats)


CONFLICTS = (
    Conflict(
        ("prior",), lambda recipe, ir: recipe.prior == "uniform" and not ir.one_group,
        "a `uniform` start is fitted to prompts that last, and here they differ between games",
        "write `prior: model`",
    ),
    Conflict(
        ("group_size", "games"),
        lambda recipe, ir: not _one_group(recipe, ir) and recipe.games % recipe.group_size,
        lambda recipe: f"{recipe.games} games are no whole number of groups of {recipe.group_size}",
        lambda recipe: f"write `games: {_whole_groups(recipe)}`, or another `group_size`",
    ),
    _group_of_one_by("games"),
    _group_of_one_by("group_size"),
    Conflict(
        ("estimator", "credit"),
        lambda recipe, _: recipe.estimator == "tree" and recipe.credit != "own",
        "the tree's action values are exact as they are, of each seat's own reward",
        "leave `credit` out, or write `estimator: sampled`",
    ),
    Conflict(
        ("credit", "baseline"),
        lambda recipe, _: recipe.credit in ("difference", "counterfactual")
        and recipe.baseline not in ("mean", "none"),
        lambda recipe: f"`credit: {recipe.credit}` brings a baseline of its own, the policy's mean"
        " over the alternatives",
        "leave `baseline` out",
    ),
    Conflict(
        ("finetuning", "shard"),
        lambda recipe, _: recipe.shard and recipe.finetuning == "full",
        "`shard` shares out weights that are frozen, and here all are trained",
        "leave `shard` out, or write `finetuning: lora`",
    ),
    Conflict(
        ("finetuning", "quantize"),
        lambda recipe, _: recipe.quantize != "none" and recipe.language_models
        and not recipe.frozen_models,
        "`quantize` is of weights that are frozen, and here all are trained",
        "leave `quantize` out, or write `finetuning: lora`",
    ),
    Conflict(
        ("model", "quantize"),
        lambda recipe, _: recipe.quantize != "none" and not recipe.language_models,
        lambda recipe: "`quantize` is of the frozen weights of a language model, and"
        f" `{recipe.model}` is none",
        "leave `quantize` out, or name a language model as `model`",
    ),
    Conflict(
        ("engine", "quantize"),
        lambda recipe, _: recipe.quantize != "none" and recipe.engine == "vllm",
        "vLLM reads the weights from the model's file, and here others are trained on: those that"
        " were quantised",
        "leave `quantize` out, or write `engine: hf`",
    ),
    Conflict(
        ("staleness", "method"),
        lambda recipe, _: recipe.staleness and recipe.method != "grpo",
        lambda recipe: f"`method: {recipe.method}` learns from games of the policy as it is",
        "leave `staleness` out, or write `method: grpo`",
    ),
    Conflict(
        ("staleness", "credit"),
        lambda recipe, _: recipe.staleness and recipe.credit not in ("own", "team"),
        lambda recipe: f"`credit: {recipe.credit}` plays games on by the policy as it is",
        "leave `staleness` out, or `credit`",
    ),
    Conflict(
        ("staleness", "learn.who"),
        lambda recipe, _: recipe.staleness and recipe.learn.who == "weakest",
        "who is the `weakest` is seen in games of the policy as it is",
        "leave `staleness` out, or write `learn: {who: rotate}`",
    ),
    Conflict(
        ("staleness", "opponents"), lambda recipe, _: recipe.staleness and recipe.keeps_pool,
        "the games of a step are played before the pool has the snapshots of the step",
        "leave `staleness` out, or `pool` out of `opponents`",
    ),
    Conflict(
        ("staleness", "curriculum.param", "curriculum.rows"),
        lambda recipe, _: recipe.staleness
        and (recipe.curriculum.param is not None or recipe.curriculum.rows is not None),
        "a curriculum chooses the games of a step by those of the step before",
        "leave `staleness` out, or `curriculum`",
    ),
    Conflict(
        ("staleness",), lambda recipe, ir: recipe.staleness and ir.lasting,
        "the games of a step go on from what those of the step before left",
        "leave `staleness` out",
    ),
    Conflict(
        ("engine", "shard"),
        lambda recipe, _: recipe.shard and recipe.engine == "vllm",
        "vLLM keeps the base weights whole in each process, so `shard` would spare nothing",
        "leave `shard` out, or write `engine: hf`",
    ),
    Conflict(
        ("exploitability", "until.exploitability"),
        lambda recipe, _: recipe.until.exploitability is not None
        and recipe.exploitability == "off",
        "a run cannot end by an exploitability that is not measured",
        "leave `exploitability` at `auto`, or `until` out",
    ),
    Conflict(
        ("curriculum.param", "until.exploitability"),
        lambda recipe, _: recipe.until.exploitability is not None
        and recipe.curriculum.param is not None,
        "a curriculum ends with its levels, whatever the exploitability of one of them",
        "leave `until` out, or `curriculum`",
    ),
    Conflict(
        ("opponents",),
        lambda recipe, ir: _learning_seats(recipe, ir) < 2
        and any(name != "self" for name, _ in recipe.opponents),
        "opponents sit in other seats of roles that are trained, and there is but one seat",
        "name who is in the others under `roles`, and leave `opponents` out",
    ),
    Conflict(
        ("estimator", "opponents"),
        lambda recipe, _: recipe.opponents and recipe.estimator == "tree",
        "the `tree` says what actions are worth against the policy itself, not its opponents",
        "write `estimator: sampled`, or leave `opponents` out",
    ),
    Conflict(
        ("opponents.pool", "engine"),
        lambda recipe, _: recipe.engine == "vllm" and recipe.keeps_pool,
        "vLLM is given the adapters of the policy as it is, and none of its past",
        "write `engine: hf`, or leave `pool` out",
    ),
    Conflict(
        ("preset", "method"),
        lambda recipe, _: recipe.preset is not None and recipe.method != "grpo",
        lambda recipe: f"`preset: {recipe.preset}` is a variant of `grpo`, and not of"
        f" `{recipe.method}`",
        "leave `preset` out, or write `method: grpo`",
    ),
    Conflict(
        ("steps", "lr_warm_up"), lambda recipe, _: recipe.lr_warm_up >= recipe.steps,
        "the learning rate rises until the last step, and so never is `lr`",
        lambda recipe: f"write `lr_warm_up: {recipe.steps // 10}`",
    ),
    Conflict(
        ("warm_up.reward", "warm_up.rounds"),
        lambda recipe, _: recipe.warm_up.reward is not None and recipe.warm_up.rounds > 1
        and any(file_of(name) is None for name in recipe.experts),
        "from the second round on the policy earns the reward, and what the expert would have done"
        " there earned nothing",
        "leave `warm_up.reward` out, or `warm_up.rounds`",
    ),
    Conflict(
        ("preset", "dynamic_sampling"),
        lambda recipe, ir: recipe.dynamic_sampling is not None and not recipe.in_words(ir)
        and _one_group(recipe, ir),
        "all games of a step are one group here, and no other can be played in its place",
        "write `dynamic_sampling: off`",
    ),
    Conflict(
        ("baseline", "credit", "preset", "dynamic_sampling"),
        lambda recipe, _: recipe.dynamic_sampling is not None and not _compares_groups(recipe),
        "groups whose games all earn the same still teach something here, for a return is not"
        " compared with those of its group",
        "write `dynamic_sampling: off`, or `baseline: mean`",
    ),
    Conflict(
        ("preset", "dynamic_sampling"),
        lambda recipe, ir: recipe.dynamic_sampling is not None and ir.lasting,
        "here each group goes on from what its games left in the step before, so none can be set"
        " aside",
        "write `dynamic_sampling: off`",
    ),
    Conflict(
        ("engine",),
        lambda recipe, ir: recipe.engine != "hf" and not (ir.written or recipe.replies == "free"),
        lambda recipe: f"`engine: {recipe.engine}` writes replies, and in this game none is"
        " written: options are scored",
        "leave `engine` out",
    ),
)  # fmt: skip
"""Conflicts between shared settings; each method has its own, and those of roles, learning in turn
and curricula stand in modules of their own."""


def check_group_std(check: RecipeCheck) -> None:
    """Report GD0706 where advantages are divided in each group of a game with chance."""
    recipe = check.recipe
    if recipe.scale == "group" and check.ir.has_chance and "group_std" not in recipe.allow:
        check.problems.add(
            "GD0706",
            "dividing by each group's deviation moves the equilibria of a game with chance",
            check.span("scale"),
            why="what is at stake differs between deals, and this makes it the same",
            help="write `scale: batch` or `scale: none`; to do it all the same,"
            " `allow: [group_std]`",
        )  # fmt: skip


def check_models(check: RecipeCheck) -> None:
    """Report a model whose name is nearly that of one in the package, and is no folder. Whether
    others are to be had is seen when they are loaded."""
    for name, setting in check.given.items():
        word = setting.value
        if not _MODEL.fullmatch(name) or not isinstance(word, str) or word in MODELS:
            continue
        near = did_you_mean(word, MODELS)
        if near and "/" not in word and not Path(word).is_dir():
            check.problems.add(
                "GD0702", f"no model is called `{word}`", setting.span, why="and no folder",
                help=respell(
                    setting.span, near, "name a model, a folder, or a hub id such as `owner/model`"
                ),
            )  # fmt: skip


def writes_all(recipe: Recipe, ir: GameIR) -> bool:
    """Whether all replies are written, so that no options are scored."""
    return recipe.replies == "free" or all(step.said is not None for step in ir.steps)


def all_written(method: str) -> Conflict:
    """Returns the conflict of a method whose targets are distributions over options, where all
    replies are written; `method` says what is such a distribution."""
    return Conflict(
        ("method", "replies"),
        writes_all,
        f"{method} is a distribution over options, and here all replies are written",
        "write `method: grpo` with `entropy` or `kl`",
    )
