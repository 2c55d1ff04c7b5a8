"""Training settings that are for closed decisions alone, or for games in words alone, in others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gamedsl.ir.game import GameIR, Setting
from gamedsl.recipe.model import Recipe

_ALLOWED: dict[str, tuple[object, ...]] = {
    "method": ("grpo",), "estimator": ("sampled",),
    "baseline": ("mean", "leave_one_out", "information_set", "none"),
    "compare": ("turn",), "credit": ("own",), "group_by": ("seed",), "scale": ("none", "batch"),
    "prior": ("model",), "finetuning": (None, "lora"), "kl": (0,), "entropy": (0,),
    "entropy_floor": (0,),
    "max_change": (None,),
}  # fmt: skip
"""What these settings may be, by the recipe's values."""

_REFUSED = frozenset({
    "bound_every", "contributions", "curriculum.at", "curriculum.held_out", "curriculum.levels",
    "curriculum.over", "curriculum.param", "expert", "exploitability", "extinct", "learn", "magnet",
    "opponents.pool", "pool", "project", "replays", "start", "until", "warm_up.rounds",
})  # fmt: skip
"""What cannot be set."""


def check_words(
    ir: GameIR, recipe: Recipe, given: Mapping[str, Setting], clash: Callable[..., None]
) -> None:
    """Report settings that a game in words cannot be trained with; `given` are those that are not
    as they would be by default, and `clash` reports one."""
    if recipe.engine != "hf" and not (ir.written or recipe.replies == "free"):
        clash(
            f"`engine: {recipe.engine}` writes replies, and in this game none is written: options"
            " are scored", "leave `engine` out", "engine",
        )  # fmt: skip
    if not recipe.in_words(ir):
        return
    what = "is not for games in words, whose decisions cannot be listed"
    for name in given:
        head = name.partition(".")[0]
        if {head, name} & _REFUSED:
            shown = head if head in _REFUSED else name
            clash(f"`{shown}` {what}", _remedy(given[name], name), name)
    for name, allowed in _ALLOWED.items():
        value = getattr(recipe, name)
        if value not in allowed:
            known = " or ".join(f"`{one}`" for one in allowed if one is not None)
            clash(
                f"`{name}: {value}` {what}",
                f"write {known}" if name in given else f"set `{name}` to {known}", name,
            )  # fmt: skip


def _remedy(setting: Setting, name: str) -> str:
    if setting.span.source.name.endswith(".yaml"):
        return f"leave `{name}` out; of a file that is extended, write `train: null` and your own"
    return f"leave `{name}` out"
