"""From a model's name to a loaded model and tokenizer, with errors that say what to do.

`smollm2-135m`, `small` and `tiny` are ours (see their modules); any other name is a local folder or
a hub id. Every failure that a user can mend is a `ModelError`.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError

from gamedsl.policies import random_models, smollm2
from gamedsl.policies.base import Notify, silent
from gamedsl.policies.errors import ModelError
from gamedsl.policies.names import NAMES, SMALL, TINY
from gamedsl.policies.network import layers_of
from gamedsl.policies.process_memory import give_back_freed_memory
from gamedsl.policies.progress_bars import without_progress_bars
from gamedsl.policies.quantised import Quantize, quantise
from gamedsl.policies.thoughts import check_thoughts
from gamedsl.storage.reader import expanded

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


@dataclass(frozen=True)
class LoadedModel:
    """A causal language model in eval mode, its tokenizer, and the name it was asked for by."""

    name: str
    model: transformers.PreTrainedModel
    tokenizer: transformers.PreTrainedTokenizerBase


def locate(name: str, notify: Notify = silent) -> str:
    """Returns the argument of `from_pretrained` for `name`: a folder or a hub id.

    Fetches and converts `smollm2-135m` the first time. `small` and `tiny` have no folder: see
    `load`. Raises ModelError for a name that is none of these.
    """
    if name == smollm2.NAME:
        return str(smollm2.folder(notify))
    if expanded(name).is_dir():
        return str(expanded(name))
    if _HUB_ID.fullmatch(name):
        return name
    near = difflib.get_close_matches(name, NAMES, n=1)
    hint = f"did you mean `{near[0]}`? Otherwise give" if near else "give"
    raise ModelError(
        f"no model is called `{name}`",
        f"{hint} `{'` or `'.join(NAMES)}`, a local folder, or a hub id such as `owner/model`",
    )


def load(
    name: str,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    notify: Notify = silent,
    seed: int = 0,
    quantize: Quantize = "none",
) -> LoadedModel:
    """Load `name` in eval mode with frozen weights. `seed` makes those of `small`. Linear layers of
    the decoder are quantised on the device as it is filled, so it never holds them in full.

    Code that comes with a model is never run: a game's `train:` may name any folder or hub id.
    Raises ModelError when the model cannot be found, fetched, read, has no chat template or one
    whose prompts end where no answer begins (`check_thoughts`), and ImportError where weights are
    to be quantised without bitsandbytes.
    """
    auto: Any = transformers.AutoModelForCausalLM
    model: Any
    if name == TINY:
        model, tokenizer = random_models.build_tiny()
    elif name == SMALL:
        model, tokenizer = random_models.build_small(seed)
    else:
        where = locate(name, notify)
        try:
            with without_progress_bars():
                tokenizer = transformers.AutoTokenizer.from_pretrained(
                    where, trust_remote_code=False
                )
                config = transformers.AutoConfig.from_pretrained(where, trust_remote_code=False)
                _check_kernels(name, config)
                _check_format(name, config)
                if tokenizer.chat_template:
                    check_thoughts(name, tokenizer, notify)
                model = auto.from_pretrained(
                    where, config=config, dtype=dtype, trust_remote_code=False
                )
        except (
            OSError, ValueError, ImportError, RuntimeError, TypeError, StrictDataclassError,
        ) as error:  # fmt: skip
            raise ModelError(f"cannot load `{name}`: {error}", _load_fix(where)) from error
    if not tokenizer.chat_template:
        raise ModelError(
            f"`{name}` has no chat template", "choose an instruction-tuned model of the family"
        )
    model = model.to(dtype=dtype).eval()
    model.requires_grad_(False)
    if quantize == "nf4":
        quantise(layers_of(model), torch.device(device))
        _tell_dense(name, model, notify)
    model.to(device=device)
    if torch.device(device).type != "cpu":
        give_back_freed_memory()
    return LoadedModel(name, model, tokenizer)


def _tell_dense(name: str, model: torch.nn.Module, notify: Notify) -> None:
    """Say so where experts are one parameter, which is left as it is."""
    dense = sum(
        weight.numel() for weight in layers_of(model).parameters() if weight.dim() == 3
    )  # fmt: skip
    if dense:
        notify(f"{name}: experts that are one parameter are not quantised ({dense:,} weights)")


def _check_kernels(name: str, config: transformers.PreTrainedConfig) -> None:
    """Raises ModelError for a configuration that names an attention which is not installed: the
    package `kernels`, where there is one, fetches such code from the hub and runs it."""
    wanted = config._attn_implementation or ""
    lacking = wanted.startswith("flash") and find_spec("flash_attn") is None
    if "/" in wanted or lacking:
        raise ModelError(
            f"the configuration of `{name}` asks for the attention `{wanted}`, which is code "
            "to be fetched",
            "delete `attn_implementation` from its config.json",
        )


def _check_format(name: str, config: transformers.PreTrainedConfig) -> None:
    """Raises ModelError for weights that were quantised: adapters multiply with weights as they
    are stored, and train on what the whole model computes from them."""
    quantised = getattr(config, "quantization_config", None)
    if quantised is not None:
        given = quantised if isinstance(quantised, dict) else quantised.to_dict()
        raise ModelError(
            f"the weights of `{name}` are quantised ({given.get('quant_method', 'unknown')}), and"
            " adapters are trained on weights that are loaded in float32 or bfloat16 alone",
            "choose the model that it was made from, or a copy of it in bfloat16, which"
            " `quantize: nf4` quantises as it is loaded",
        )


def _load_fix(where: str) -> str:
    if Path(where).is_dir():
        return f"check that {where} holds config.json, the tokenizer and safetensors files"
    return "check the spelling, the network, and for a gated model that HF_TOKEN is set"
