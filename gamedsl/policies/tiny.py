"""The model `tiny`: a random Llama of 0.2 million parameters over bytes, for tests.

Built in memory in well under a second, offline, and the same on every machine of one torch
version: it cannot play, but every code path that trains a real model trains this one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from gamedsl.policies.names import TINY

NAME = TINY
SPECIAL = ("<|pad|>", "<|im_start|>", "<|im_end|>")
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def build(
    seed: int = 0,
) -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase]:
    """The float32 model on the CPU, and its tokenizer; torch's own random state is untouched."""
    tokenizer = _tokenizer()
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=176,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        initializer_range=0.1,  # larger than usual: prompts must differ visibly at the output
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return made(transformers.LlamaForCausalLM, config, seed), tokenizer


def made(
    kind: Callable[[Any], transformers.PreTrainedModel], config: Any, seed: int
) -> transformers.PreTrainedModel:
    """A model of random weights; torch's own random state is untouched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(config)


def wrapped(backend: Tokenizer) -> transformers.PreTrainedTokenizerBase:
    """A tokenizer of the special tokens and the chat template here, as transformers has it."""
    pad, start, end = SPECIAL
    wrap: Any = transformers.PreTrainedTokenizerFast  # untyped in transformers
    tokenizer: transformers.PreTrainedTokenizerBase = wrap(
        tokenizer_object=backend,
        pad_token=pad,
        bos_token=start,
        eos_token=end,
        chat_template=CHAT_TEMPLATE,
    )
    return tokenizer


def _tokenizer() -> transformers.PreTrainedTokenizerBase:
    """Ids 0 to 2 are the special tokens; each byte of UTF-8 is one of the 256 after them."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate((*SPECIAL, *alphabet))}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return wrapped(backend)
