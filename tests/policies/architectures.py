"""Toy models of well-known architectures: random weights of a few hundred thousand numbers, over
the bytes of `tiny`'s tokenizer, written as folders that `model:` names."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import transformers

from gamedsl.policies import random_models
from gamedsl.policies.progress_bars import without_progress_bars

_HEADS = {"head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 512}
_EXPERTS = {"head_dim": 16, "moe_intermediate_size": 32, "num_experts": 8, "num_experts_per_tok": 2}
_LINEAR = {
    "linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 16,
    "linear_value_head_dim": 16, "shared_expert_intermediate_size": 32,
}  # fmt: skip


@dataclass(frozen=True)
class Architecture:
    """What is expected of one. `targets`: what is adapted beside the usual. `packs`: whether a
    tree of prompts goes through in one pass. `refused`: why its replies cannot be decoded."""

    kind: str
    config: str
    more: dict[str, Any] = field(default_factory=dict)
    targets: tuple[str, ...] | None = None
    packs: bool = True
    refused: str = ""


TABLE = {
    "llama": Architecture("LlamaForCausalLM", "LlamaConfig"),
    "qwen3": Architecture("Qwen3ForCausalLM", "Qwen3Config", {"head_dim": 16}),
    "qwen3_moe": Architecture("Qwen3MoeForCausalLM", "Qwen3MoeConfig", _EXPERTS),
    "qwen3_moe, experts": Architecture(
        "Qwen3MoeForCausalLM", "Qwen3MoeConfig", _EXPERTS, ("q_proj", "gate_up_proj", "down_proj")
    ),
    "gemma": Architecture("GemmaForCausalLM", "GemmaConfig", {"head_dim": 16}),
    "gemma2": Architecture(
        "Gemma2ForCausalLM", "Gemma2Config", {**_HEADS, "final_logit_softcapping": 2.0}
    ),
    "gemma3": Architecture("Gemma3ForCausalLM", "Gemma3TextConfig", _HEADS),
    "granite": Architecture("GraniteForCausalLM", "GraniteConfig", {"logits_scaling": 4.0}),
    "cohere": Architecture("CohereForCausalLM", "CohereConfig", {"logit_scale": 0.25}),
    "mixtral": Architecture("MixtralForCausalLM", "MixtralConfig", {"num_local_experts": 4}),
    "mixtral, experts": Architecture(
        "MixtralForCausalLM", "MixtralConfig", {"num_local_experts": 4}, ("gate_up_proj",)
    ),
    "gpt_oss": Architecture(
        "GptOssForCausalLM", "GptOssConfig",
        {"head_dim": 16, "num_local_experts": 4, "sliding_window": 512}, ("q_proj", "down_proj"),
    ),
    "qwen3_next": Architecture(
        "Qwen3NextForCausalLM", "Qwen3NextConfig", {**_EXPERTS, **_LINEAR}, packs=False,
        refused="layers of the kind linear_attention",
    ),
    "qwen3_next, experts": Architecture(
        "Qwen3NextForCausalLM", "Qwen3NextConfig", {**_EXPERTS, **_LINEAR},
        ("q_proj", "in_proj_qkvz", "down_proj"), packs=False,
        refused="layers of the kind linear_attention",
    ),
}  # fmt: skip


def write(
    name: str, folder: Path, *, longest: int = 2048, chat_template: str | None = None,
    terse: bool = False,
) -> Path:  # fmt: skip
    """Writes the model of a row of the table into a folder, which it returns. longest: the most
    tokens that it reads. terse: a control character ends a reply, so that many end in time."""
    row = TABLE[name]
    _, tokenizer = random_models.build_tiny()
    tokenizer.chat_template = chat_template or tokenizer.chat_template
    config = getattr(transformers, row.config)(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=64, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=longest,
        initializer_range=0.1, pad_token_id=0, bos_token_id=1, eos_token_id=2, **row.more,
    )  # fmt: skip
    build: Any = partial(getattr(transformers, row.kind))
    with without_progress_bars():
        model = random_models.made(build, config, 0)
        if terse:
            ends = [i for i in range(3, len(tokenizer)) if not tokenizer.decode([i]).isprintable()]
            model.generation_config.eos_token_id = [2, *ends]
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
