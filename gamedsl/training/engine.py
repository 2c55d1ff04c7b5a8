"""From a recipe to the policy that it trains; what is missing is said before anything starts.

Roles may have models of their own: then the policy is made of several, and each has the adapters of
its roles.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gamedsl.extras import install_command
from gamedsl.ir.game import GameIR
from gamedsl.policies import factory
from gamedsl.policies.factory import PolicyOptions, Trunk
from gamedsl.policies.names import NO_LANGUAGE, vllm_install
from gamedsl.prompting.labels import draw_labels
from gamedsl.prompting.tokenizers import together
from gamedsl.recipe.table import Recipe
from gamedsl.training.errors import TrainError

if TYPE_CHECKING:
    from gamedsl.policies.base import Notify, Policy
    from gamedsl.policies.generation import Writing
    from gamedsl.policies.process_group import ProcessGroup
    from gamedsl.runtime.game import Game

_NEEDED = ("numpy", "torch", "safetensors")
_NEEDED_BY_MODELS = (*_NEEDED, "transformers", "peft")


def require(ir: GameIR, recipe: Recipe) -> None:
    """Raises TrainError, with the command that helps, if a package that the run needs is
    missing."""
    language = not NO_LANGUAGE.issuperset(recipe.models(ir).values())
    needed = _NEEDED_BY_MODELS if language else _NEEDED
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise TrainError(
            f"training needs {' and '.join(missing)}, not installed here", install_command("train")
        )
    if recipe.quantize != "none" and importlib.util.find_spec("bitsandbytes") is None:
        raise TrainError(
            f"`quantize: {recipe.quantize}` needs bitsandbytes, not installed here",
            install_command("quantized"),
        )
    if recipe.engine == "vllm" and importlib.util.find_spec("vllm") is None:
        raise TrainError("`engine: vllm` needs vLLM, not installed here", vllm_install())


def set_threads(count: int | None) -> int:
    """Use this many threads (None: as torch chooses); returns how many are used."""
    import torch

    if count is not None:
        torch.set_num_threads(count)
    return torch.get_num_threads()


@contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Inside of the block, torch takes only operations that give the same bits each time, if that
    is `wanted`; to be entered before a GPU is used, for cuBLAS reads its setting then."""
    if not wanted:
        yield
        return
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def kv_rooms(policy: Policy) -> dict[str, float]:
    """GiB of keys and values that each model of a policy keeps."""
    from gamedsl.policies.handed_on import bare
    from gamedsl.policies.multi_model import models_of

    sizes = {one.name: getattr(bare(one), "kv_bytes", None) for one in models_of(policy)}
    return {name: size / 2**30 for name, size in sizes.items() if size is not None}


def open_policy(
    game: Game, recipe: Recipe, notify: Notify, *, fresh: bool = True,
    rooms: Mapping[str, float] | None = None, group: ProcessGroup | None = None,
) -> Policy:  # fmt: skip
    """Load the models with fresh adapters. Raises gamedsl.policies.errors.ModelError, and
    TrainError where models cannot play together.

    A run that is not `fresh` may have adapters of a rank that an older version allowed. `rooms` is
    what `kv_rooms` said of it when it began. The processes of a `group` share its work.
    """
    kept: dict[str | None, float] = {}
    kept.update(rooms or {})
    if recipe.kv_cache is not None:
        kept = {None: recipe.kv_cache}
    options = PolicyOptions(
        lora=recipe.lora,
        shapes=recipe.shapes(game.ir),
        finetuning=recipe.finetuning,
        vllm=recipe.vllm if recipe.engine == "vllm" else None,
        seed=recipe.seed,
        dtype=recipe.dtype,
        quantize=recipe.quantize,
        kv_cache=kept,
        pass_tokens=recipe.pass_tokens,
        recompute=recipe.recompute,
        trunk=_trunk(game, recipe),
        useful=fresh,
        group=group,
        shards=recipe.shard,
    )
    models = recipe.models(game.ir)
    here = options if recipe.cluster == "local" else replace(options, vllm=None)
    policy = factory.open_policy(models, here, join_tokenizers=together, notify=notify)
    try:
        if recipe.cluster != "local":
            policy = _with_workers(policy, models, options, recipe, notify)
        _check_labels(game, recipe, policy)
    except BaseException:
        factory.close_policy(policy)
        raise
    return policy


def _check_labels(game: Game, recipe: Recipe, policy: Policy) -> None:
    """Raises TrainError where labels cannot be of equal length for a policy's models."""
    try:
        draw_labels(game.ir, run_seed=recipe.seed, seed=recipe.seed, tokenizer=policy.tokenizer)
    except ValueError as error:
        raise TrainError(
            f"labels must be equal in tokens, and {error}",
            "give `labels` another style, or take a model with another tokenizer",
        ) from error


def _with_workers(
    policy: Policy, models: Mapping[str, str], options: PolicyOptions, recipe: Recipe,
    notify: Notify,
) -> Policy:  # fmt: skip
    """Returns a policy whose replies workers of the recipe's cluster write."""
    from gamedsl.policies.cluster import Workers
    from gamedsl.policies.ray_workers import Opening, RayPolicy, Writer

    if options.group is not None:
        raise TrainError(
            "several processes of torchrun and a Ray cluster cannot share one run",
            "start it without torchrun, or write `cluster: local`",
        )
    notify("starting workers")
    address = None if recipe.cluster == "ray" else recipe.cluster
    workers = Workers(
        Opening(models, options), Writer, address=address, count=recipe.workers,
        uses_gpu=any(one.is_cuda for one in policy.parameters()),
    )  # fmt: skip
    written_there: Writing = RayPolicy(policy, workers)
    return written_there


def _trunk(game: Game, recipe: Recipe) -> Trunk:
    """Returns how long a language model keeps the frozen part of prompts: from step to step only
    where it reads the same prompts at every step, known from the start. Elsewhere what is kept
    would depend on where the run was last resumed, and with the packing of a pass its last bits.
    There it is kept from the games of a step to their update; in words from the first pass over
    what was written to the last, and through the whole warm-up before the first step."""
    from gamedsl.training.information_sets import decisions_of

    if NO_LANGUAGE.issuperset(recipe.models(game.ir).values()):
        return "never"
    listed = not recipe.in_words(game.ir) and decisions_of(game.env(), recipe.seed) is not None
    return "run" if listed else "step"
