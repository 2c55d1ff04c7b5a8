"""The one way to open a policy: models by name, with fresh adapters, under one set of options.

Nothing here loads torch until a policy is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from gamedsl.collector import collector_paused
from gamedsl.policies.base import Notify, Policy, TokenCounter, silent
from gamedsl.policies.errors import ModelError
from gamedsl.policies.names import TABULAR, WORDS, fully_trained

if TYPE_CHECKING:
    from gamedsl.policies.activations import Recompute
    from gamedsl.policies.lora import LoraSpec
    from gamedsl.policies.process_group import ProcessGroup
    from gamedsl.policies.quantised import Quantize
    from gamedsl.policies.vllm_engine import Idle

Trunk = Literal["run", "step", "never"]


class LoraShape(Protocol):
    """The shape of an adapter, as `LoraSpec` and recipes have it."""

    @property
    def rank(self) -> int: ...
    @property
    def alpha(self) -> int: ...
    @property
    def layers(self) -> int | None: ...
    @property
    def targets(self) -> tuple[str, ...] | None: ...


class VllmOptions(Protocol):
    """The settings of vLLM, as `VllmSettings` and recipes have them."""

    @property
    def idle(self) -> Idle: ...
    @property
    def cache(self) -> float | None: ...
    @property
    def context(self) -> int | None: ...


@dataclass(frozen=True)
class PolicyOptions:
    """Options for opening models.

    lora: the shape of adapters; None makes the smallest, for models that are not trained.
    shapes: the shapes of those adapters that differ, by name.
    finetuning, dtype: as in a recipe; None leaves them to the model and the device.
    quantize: as in a recipe; of models whose base weights are frozen.
    vllm: the settings of vLLM if it generates the replies; None lets the model itself generate.
    kv_cache: GiB of keys and values kept, by model or (under None) for all others; for those
    without, by the memory that is free.
    pass_tokens: the most distinct tokens of a pass; None leaves it to the policy.
    trunk: how long the frozen part of prompts is cached.
    useful: whether adapters of a rank above the width of every layer are refused.
    group: the processes that share the work; None where there is one.
    shards: whether they share the frozen weights, too.
    """

    lora: LoraShape | None = None
    shapes: Mapping[str, LoraShape] = field(default_factory=dict)
    finetuning: str | None = None
    vllm: VllmOptions | None = None
    seed: int = 0
    dtype: str | None = None
    quantize: Quantize = "none"
    kv_cache: Mapping[str | None, float] = field(default_factory=dict)
    pass_tokens: int | None = None
    recompute: Recompute = "auto"
    trunk: Trunk = "run"
    useful: bool = False
    group: ProcessGroup | None = None
    shards: bool = False


def open_policy(
    models: Mapping[str, str], options: PolicyOptions, *,
    join_tokenizers: Callable[[Iterable[TokenCounter]], TokenCounter], notify: Notify = silent,
) -> Policy:  # fmt: skip
    """Open the models of adapters (name of the adapter to name of the model) as one policy.

    `join_tokenizers` makes one tokenizer of those of several models. Raises ModelError for a model
    that cannot be had, and ImportError where a package is missing; the models before it are closed.
    """
    from gamedsl.policies.multi_model import by_model, joined

    with collector_paused(), ExitStack() as failed:  # of the packages that are imported
        groups = by_model(models)
        opened: list[Policy] = []
        for model, names in groups.items():
            opened.append(_open_model(model, names, options, notify, len(groups)))
            failed.callback(close_policy, opened[-1])
        if options.group is not None:
            from gamedsl.policies.data_parallel import in_parallel

            opened = [in_parallel(one, options.group) for one in opened]
        policy = joined(opened, tuple(models), join_tokenizers(one.tokenizer for one in opened))
        failed.pop_all()
    return policy


def close_policy(policy: Policy) -> None:
    """Ends the workers and the engines that write for a policy, if there are any. It writes no
    more."""
    from gamedsl.policies.handed_on import bare
    from gamedsl.policies.multi_model import models_of

    with ExitStack() as ends:
        for one in (*map(bare, models_of(policy)), getattr(policy, "workers", None)):
            if (close := getattr(one, "close", None)) is not None:
                ends.callback(close)


def _open_model(
    model: str, adapters: tuple[str, ...], options: PolicyOptions, notify: Notify, models: int
) -> Policy:
    """One model, of so many, with its adapters."""
    if model == TABULAR:
        from gamedsl.policies.tabular import TabularPolicy

        return TabularPolicy(adapters)
    if model == WORDS:
        from gamedsl.policies.word_network import WordsPolicy

        return WordsPolicy(adapters, seed=options.seed)
    notify(f"loading {model}")  # before the packages, which take longer than a small model
    import torch

    common: dict[str, Any] = {
        "seed": options.seed, "recompute": options.recompute, "notify": notify,
        **({} if options.pass_tokens is None else {"max_tokens": options.pass_tokens}),
    }  # fmt: skip
    room = options.kv_cache.get(model, options.kv_cache.get(None))
    common |= {"models": models, "kv_bytes": None if room is None else int(room * 2**30)}
    if fully_trained(model, options.finetuning):
        from gamedsl.policies.full_model import FullPolicy

        return FullPolicy(model, adapters, **common)
    common["dtype"] = None if options.dtype is None else getattr(torch, options.dtype)
    common["lora"] = _lora(options.lora, useful=options.useful)
    common["shapes"] = {
        name: _lora(shape) for name, shape in options.shapes.items() if name in adapters
    }
    if options.vllm is not None:
        if options.quantize != "none":
            raise ModelError(
                f"vLLM reads the weights of `{model}` from its file, and the adapters were trained"
                " on weights that were quantised",
                "write `engine: hf`",
            )
        from gamedsl.policies.vllm import VllmPolicy
        from gamedsl.policies.vllm_engine import VllmSettings

        vllm = options.vllm
        settings = VllmSettings(idle=vllm.idle, cache=vllm.cache, context=vllm.context)
        return VllmPolicy(model, adapters, settings=settings, **common)
    from gamedsl.policies.hf import HFPolicy

    common["quantize"] = options.quantize
    if options.shards:
        common["share_weights"] = options.group
    if options.trunk == "never":
        common["trunk_tokens"] = 0
    return HFPolicy(model, adapters, trunk_lasts=options.trunk == "run", **common)


def _lora(shape: LoraShape | None, *, useful: bool = False) -> LoraSpec:
    from gamedsl.policies.lora import LoraSpec

    if shape is None:
        return LoraSpec(rank=1, layers=1)
    return LoraSpec(shape.rank, shape.alpha, shape.targets, shape.layers, useful)
