"""From a recipe to the policy that it trains; what is missing is said before anything starts.

Roles may have models of their own: then the policy is made of several, and each has the adapters of
its roles.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from gamedsl.ir.game import GameIR
from gamedsl.policies.names import (
    NO_LANGUAGE,
    TABULAR,
    VLLM_INSTALL,
    WORDS,
    fully_trained,
)
from gamedsl.prompting.labels import draw_labels
from gamedsl.prompting.tokenizers import together
from gamedsl.recipe.table import Recipe
from gamedsl.train.errors import TrainError

if TYPE_CHECKING:
    from gamedsl.policies.base import Notify, Policy
    from gamedsl.runtime.game import Game

_TRUNK_TOKENS = 65_536

INSTALL = 'pip install "gamedsl[train]"'
_NEEDED = ("numpy", "torch", "safetensors")
_NEEDED_BY_MODELS = (*_NEEDED, "transformers", "peft")


def require(ir: GameIR, recipe: Recipe) -> None:
    """Raises TrainError, with the command that helps, if a package that the run needs is
    missing."""
    language = any(model not in NO_LANGUAGE for model in recipe.models(ir).values())
    needed = _NEEDED_BY_MODELS if language else _NEEDED
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise TrainError(f"training needs {' and '.join(missing)}, not installed here", INSTALL)
    if recipe.engine == "vllm" and importlib.util.find_spec("vllm") is None:
        raise TrainError("`engine: vllm` needs vLLM, not installed here", VLLM_INSTALL)


def set_threads(count: int | None) -> int:
    """Use this many threads (None: as torch chooses); returns how many are used."""
    import torch

    if count is not None:
        torch.set_num_threads(count)
    return torch.get_num_threads()


def open_policy(game: Game, recipe: Recipe, notify: Notify) -> Policy:
    """Load the models with fresh adapters. Raises gamedsl.policies.errors.ModelError, and
    TrainError where models cannot play together."""
    from gamedsl.policies.several import by_model, joined

    models = recipe.models(game.ir)
    opened = [_opened(game, recipe, *one, notify) for one in by_model(models).items()]
    policy = joined(opened, tuple(models), together(one.tokenizer for one in opened))
    try:
        draw_labels(game.ir, run_seed=recipe.seed, seed=recipe.seed, tokenizer=policy.tokenizer)
    except ValueError as error:
        raise TrainError(
            f"labels must be equal in tokens, and {error}",
            "give `labels` another style, or take a model with another tokenizer",
        ) from error
    return policy


def _opened(
    game: Game, recipe: Recipe, model: str, names: tuple[str, ...], notify: Notify
) -> Policy:
    """One model with its adapters.

    The outputs of layers that are not adapted are kept from step to step only where all prompts
    are known from the start. Elsewhere what is kept would depend on where the run was last
    resumed, and with the packing of a pass its last bits.
    """
    if model == TABULAR:
        from gamedsl.policies.tabular import TabularPolicy

        return TabularPolicy(names)
    if model == WORDS:
        from gamedsl.policies.words import WordsPolicy

        return WordsPolicy(names, seed=recipe.seed)
    import torch

    dtype = None if recipe.dtype is None else getattr(torch, recipe.dtype)
    if fully_trained(model, recipe.finetuning):
        from gamedsl.policies.full import FullPolicy

        return FullPolicy(
            model, names, seed=recipe.seed, dtype=dtype, **_passes(recipe), notify=notify
        )
    from gamedsl.policies.lora import LoraSpec

    lora = LoraSpec(**vars(recipe.lora))
    shapes = {name: LoraSpec(**vars(shape)) for name, shape in recipe.shapes(game.ir).items()}
    if recipe.engine == "vllm":
        from gamedsl.policies.vllm import VllmPolicy
        from gamedsl.policies.vllm_engine import VllmSettings

        settings = VllmSettings(**vars(recipe.vllm))
        return VllmPolicy(
            model, names, settings=settings, lora=lora, shapes=shapes, seed=recipe.seed,
            dtype=dtype, **_passes(recipe), notify=notify,
        )  # fmt: skip
    from gamedsl.policies.hf import HFPolicy
    from gamedsl.train.survey import survey

    lasting = not recipe.in_words(game.ir) and survey(game.env(), recipe.seed) is not None
    return HFPolicy(
        model,
        names,
        lora=lora,
        shapes=shapes,
        seed=recipe.seed,
        dtype=dtype,
        **_passes(recipe),
        notify=notify,
        trunk_tokens=_TRUNK_TOKENS if lasting else 0,
    )


def _passes(recipe: Recipe) -> dict[str, Any]:
    """What a policy is told of its passes."""
    most = {} if recipe.pass_tokens is None else {"max_tokens": recipe.pass_tokens}
    return {**most, "recompute": recipe.recompute}
