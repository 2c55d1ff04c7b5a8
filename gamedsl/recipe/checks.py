"""Training settings that are right one by one and wrong together, or wrong for a game."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from gamedsl.diagnostics import Note, Problems
from gamedsl.ir.game import GameIR, Setting
from gamedsl.recipe.levels import check_curriculum
from gamedsl.recipe.model import Part, Recipe, Size
from gamedsl.recipe.rotation import check_learn
from gamedsl.recipe.words_checks import check_words

Clash = Callable[..., None]
"""Reports settings that do not fit together: a message, a remedy, and their names."""


def contradictions(
    ir: GameIR, recipe: Recipe, given: Mapping[str, Setting], usual: Collection[str],
    problems: Problems,
) -> None:  # fmt: skip
    """Check a recipe whose settings have the right types; `given` are those that were set, and
    `usual` the names of those that are as they would be by default."""
    clash = partial(_clash, ir, given, problems)
    _groups(ir, recipe, clash)
    _credit(recipe, clash)
    _objective(recipe, given, clash)
    _roles(ir, recipe, clash)
    _until(recipe, clash)
    check_words(ir, recipe, {n: s for n, s in given.items() if n not in usual}, clash)
    check_learn(ir, recipe, given, clash, problems)
    check_curriculum(ir, recipe, given, clash, problems)
    if recipe.opponents:
        _opponents(ir, recipe, clash)
    if recipe.scale == "group" and ir.has_chance and "group_std" not in recipe.allow:
        _group_std(ir, given, problems)


def _clash(
    ir: GameIR, given: Mapping[str, Setting], problems: Problems,
    message: str, help: str, *names: str,
) -> None:  # fmt: skip
    """Shown at the last of the settings that were given, with notes at the others."""
    places = [(name, given[name].span) for name in names if name in given]
    (_, span), notes = places[-1] if places else ("", ir.span), places[:-1]
    problems.add(
        "GD0704", message, span, why="does not fit", help=help,
        notes=tuple(Note(at, f"`{name}` is set here") for name, at in notes),
    )  # fmt: skip


def _groups(ir: GameIR, recipe: Recipe, clash: Clash) -> None:
    """Groups are whole and larger than one game, and a uniform start lasts for all."""
    if recipe.prior == "uniform" and not ir.one_group:
        clash(
            "a `uniform` start is fitted to prompts that last, and here they differ between games",
            "write `prior: model`", "prior",
        )  # fmt: skip
    if ir.one_group or (recipe.group_by == "deal" and ir.labels_last):
        group, name = recipe.games, "games"
    else:
        group, name = recipe.group_size, "group_size"
        if recipe.games % recipe.group_size:
            below = max(recipe.games // recipe.group_size, 1) * recipe.group_size
            clash(
                f"{recipe.games} games are no whole number of groups of {recipe.group_size}",
                f"write `games: {below}`, or another `group_size`", "group_size", "games",
            )  # fmt: skip
    alone = group == 1 and recipe.credit in ("own", "team")
    if alone and recipe.baseline in ("mean", "leave_one_out"):
        clash(
            f"in groups of one game every advantage over the `{recipe.baseline}` is zero",
            f"raise `{name}`, or write `baseline: none`", "baseline", name,
        )  # fmt: skip


def _objective(recipe: Recipe, given: Mapping[str, Setting], clash: Clash) -> None:
    """Terms of the objective that the method does not have."""
    if recipe.method == "expert":
        _expert(recipe, given, clash)
    elif recipe.kl and recipe.method != "grpo":
        clash(
            f"`{recipe.method}` pulls to a magnet, not to the policy that training started with",
            "leave `kl` out, or write `method: grpo`", "method", "kl",
        )  # fmt: skip
    if recipe.entropy and recipe.method == "project":
        clash(
            "`project` fits targets, and its magnet is what keeps the policy's entropy up",
            "leave `entropy` out and raise `magnet.weight`", "method", "entropy",
        )  # fmt: skip
    if recipe.entropy_floor and recipe.method == "project":
        clash(
            "`project` fits targets, and its floor is one of probabilities",
            "leave `entropy_floor` out and set `project.floor`", "method", "entropy_floor",
        )  # fmt: skip


def _roles(ir: GameIR, recipe: Recipe, clash: Clash) -> None:
    """Each role is what it can be, and one of them learns."""
    parts = {part.role: part for part in recipe.parts(ir)}
    referees = frozenset(role.name for role in ir.referees)
    for said in recipe.roles:
        if said.player is not None:
            _held(recipe, said, clash)
        elif said.role in referees:
            _referee(said, clash)
        else:
            _frozen(parts, said, clash)
        if said.role not in referees:
            _unlearned(parts[said.role], said, clash)
    _alike(recipe, list(parts.values()), clash)
    _models(list(parts.values()), clash)
    if not any(part.learns for part in parts.values()):
        clash(
            "no role is trained", "leave `trained: false` or `player` out at one of them",
            *(f"roles.{one.role}.{name}" for one in recipe.roles for name in ("trained", "player")),
        )  # fmt: skip


def _until(recipe: Recipe, clash: Clash) -> None:
    """What a run ends by is measured, and is of the game that it ends with."""
    if recipe.until.exploitability is not None and recipe.exploitability == "off":
        clash(
            "a run cannot end by an exploitability that is not measured",
            "leave `exploitability` at `auto`, or `until` out",
            "exploitability", "until.exploitability",
        )  # fmt: skip
    if recipe.until.exploitability is not None and recipe.curriculum.param is not None:
        clash(
            "a curriculum ends with its levels, whatever the exploitability of one of them",
            "leave `until` out, or `curriculum`", "curriculum.param", "until.exploitability",
        )  # fmt: skip


def _credit(recipe: Recipe, clash: Clash) -> None:
    """Credit by replays has its own baseline, and a tree's values need none."""
    if recipe.estimator == "tree" and recipe.credit != "own":
        clash(
            "the tree's action values are exact as they are, of each seat's own reward",
            "leave `credit` out, or write `estimator: sampled`", "estimator", "credit",
        )  # fmt: skip
    replayed = recipe.credit in ("difference", "counterfactual")
    if replayed and recipe.baseline not in ("mean", "none"):
        clash(
            f"`credit: {recipe.credit}` brings a baseline of its own, the policy's mean over the"
            " alternatives", "leave `baseline` out", "credit", "baseline",
        )  # fmt: skip


def _held(recipe: Recipe, said: Part, clash: Clash) -> None:
    """What is said of a role that a player holds: nothing of it is the model's."""
    role, place = said.role, f"roles.{said.role}"
    if said.trained:
        clash(
            f"`{role}` is held by a player, and players are not trained",
            "leave `trained` out, or `player`", f"{place}.player", f"{place}.trained",
        )  # fmt: skip
    for name, given in (("adapter", said.adapter), ("model", said.model), ("lora", said.lora)):
        if given is not None:
            clash(
                f"`{role}` is held by a player, which has no {name}",
                f"leave `{name}` out, or `player`", f"{place}.player", *_names(place, name),
            )  # fmt: skip
    if any(start.role == role for start in recipe.start):
        clash(
            f"`start` puts the policy of `{role}` somewhere, and a player holds `{role}`",
            "leave it out of `start`, or leave `player` out", f"{place}.player",
        )  # fmt: skip


def _referee(said: Part, clash: Clash) -> None:
    """A referee that no player holds is a model as it came."""
    for name in ("trained", "adapter", "lr", "lora"):
        if getattr(said, name):
            clash(
                f"`{said.role}` is a referee, and referees are not trained",
                f"leave `{name}` out", *_names(f"roles.{said.role}", name),
            )  # fmt: skip


def _names(place: str, name: str) -> tuple[str, ...]:
    """The settings that may say something of a role."""
    inside = tuple(f"{place}.{name}.{part}" for part in ("rank", "alpha"))
    return inside if name == "lora" else (f"{place}.{name}",)


def _unlearned(part: Part, said: Part, clash: Clash) -> None:
    """What is not trained has no learning rate."""
    place = f"roles.{said.role}"
    if said.lr is not None and not part.learns:
        clash(
            f"`{said.role}` is not trained, and `lr` is how fast it learns",
            "leave `lr` out, or train it", f"{place}.player", f"{place}.trained", f"{place}.lr",
        )  # fmt: skip


def _alike(recipe: Recipe, parts: Sequence[Part], clash: Clash) -> None:
    """An adapter learns at one rate, and is of one size."""
    first: dict[str, Part] = {}
    for part in parts:
        if part.adapter is None:
            continue
        other = first.setdefault(part.adapter, part)
        for name, what in (("lr", "learns at one rate"), ("lora", "has one rank and one alpha")):
            one, two = (_own(said, name, recipe) for said in (other, part))
            if one != two:
                clash(
                    f"`{other.role}` and `{part.role}` share the adapter `{part.adapter}`, which"
                    f" {what}: {one} or {two}",
                    f"give each an adapter, as `adapters: per_role` does, or both one `{name}`",
                    *_names(f"roles.{other.role}", name), *_names(f"roles.{part.role}", name),
                )  # fmt: skip


def _own(part: Part, name: str, recipe: Recipe) -> str:
    """What a role's learning rate is, or its adapter's rank and alpha."""
    if name == "lr":
        return f"{part.lr or recipe.lr:g}"
    shape = (part.lora or Size()).of(recipe.lora)
    return f"{shape.rank} and {shape.alpha}"


def _frozen(parts: Mapping[str, Part], said: Part, clash: Clash) -> None:
    """A frozen adapter is nobody else's."""
    role, part, place = said.role, parts[said.role], f"roles.{said.role}"
    learning = (one for one in parts.values() if one.learns and not part.learns)
    other = next((one.role for one in learning if one.adapter == part.adapter), None)
    if other is not None:
        clash(
            f"`{role}` is not trained, and its adapter `{part.adapter}` is, as `{other}`",
            "give it an adapter of its own, or train it",
            f"{place}.trained", f"{place}.adapter",
        )  # fmt: skip


def _models(parts: Sequence[Part], clash: Clash) -> None:
    """An adapter is one model's."""
    first: dict[str, Part] = {}
    for part in parts:
        if part.adapter is None:
            continue
        other = first.setdefault(part.adapter, part)
        if other.model != part.model:
            clash(
                f"`{other.role}` and `{part.role}` share the adapter `{part.adapter}`, and it is"
                f" of one model: `{other.model}` or `{part.model}`",
                "give one of them another `adapter`, or both one `model`",
                *(f"roles.{one.role}.{name}" for one in (other, part)
                  for name in ("model", "adapter")),
            )  # fmt: skip


def _expert(recipe: Recipe, given: Mapping[str, Setting], clash: Clash) -> None:
    """What the method `expert` has no use for."""
    for name in ("kl", "entropy", "entropy_floor"):
        if getattr(recipe, name):
            clash(
                f"`expert` imitates, and has no `{name}` in its objective",
                f"leave `{name}` out, or write `method: grpo`", "method", name,
            )  # fmt: skip
    if recipe.estimator == "tree":
        clash(
            "`expert` imitates games that were played, and exact action values are no games",
            "write `estimator: sampled`, or another `method`", "method", "estimator",
        )  # fmt: skip
    if recipe.expert.teacher is not None and "expert.keep" in given:
        clash(
            "with a teacher every decision is labelled, and no games are chosen",
            "leave `expert.keep` or `expert.teacher` out", "expert.teacher", "expert.keep",
        )  # fmt: skip


def _opponents(ir: GameIR, recipe: Recipe, clash: Clash) -> None:
    """Opponents sit in the learners' other seats, in games that are played."""
    last = f"opponents.{recipe.opponents[-1][0]}"
    seats = [seat for seat in ir.seats if recipe.part(ir.role_of[seat]).learns]
    if len(seats) < 2 and [name for name, _ in recipe.opponents] != ["self"]:
        clash(
            "opponents sit in other seats of roles that are trained, and there is but one seat",
            "name who is in the others under `roles`, and leave `opponents` out", last,
        )  # fmt: skip
    if recipe.estimator == "tree":
        clash(
            "the `tree` says what actions are worth against the policy itself, not its opponents",
            "write `estimator: sampled`, or leave `opponents` out", "estimator", last,
        )  # fmt: skip


def _group_std(ir: GameIR, given: Mapping[str, Setting], problems: Problems) -> None:
    problems.add(
        "GD0706", "dividing by each group's deviation moves the equilibria of a game with chance",
        given["scale"].span if "scale" in given else ir.span,
        why="what is at stake differs between deals, and this makes it the same",
        help="write `scale: batch` or `scale: none`; to do it all the same, `allow: [group_std]`",
    )  # fmt: skip
