"""The models of random weights, built in memory: `tiny` for tests, and `small` to be trained.

`tiny` is a Llama of 0.2 million parameters over bytes. It is built in well under a second, offline,
and is the same on every machine of one torch version: it cannot play, but every code path that
trains a real model trains this one.

`small` is an OPT of a million parameters. All its weights are trained (see `full_model`): a model
that knows nothing has nothing worth freezing. Its tokens are bytes and what `small.merges` joins
them to: words of the prompts of shipped games, so that a label such as `mark(0,0)` is one token
there, and any other text is still spelled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = ("<|pad|>", "<|im_start|>", "<|im_end|>")
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def build_tiny(
    seed: int = 0,
) -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase]:
    """The float32 model on the CPU, and its tokenizer; torch's own random state is untouched."""
    tokenizer = _tiny_tokenizer()
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


def _tiny_tokenizer() -> transformers.PreTrainedTokenizerBase:
    """Ids 0 to 2 are the special tokens; each byte of UTF-8 is one of the 256 after them."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate((*SPECIAL, *alphabet))}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return wrapped(backend)


VOCABULARY = 2048
_MERGES = Path(__file__).with_name("small.merges")
_WORDS = Regex(r" ?\w+(?:\([^\s()]*\))?| ?[^\w\s]|\s")
"""What a token lies within: a word, with its arguments if it has any, or a sign."""


def build_small(
    seed: int = 0,
) -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase]:
    """The float32 model on the CPU, and its tokenizer; torch's own random state is untouched."""
    tokenizer = _small_tokenizer()
    config = transformers.OPTConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        word_embed_proj_dim=128,
        ffn_dim=512,
        num_hidden_layers=3,
        num_attention_heads=4,
        max_position_embeddings=2048,
        init_std=0.08,  # about 1 / sqrt(hidden size): attention and outputs begin to matter at once
        dropout=0.0,
        attention_dropout=0.0,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return made(transformers.OPTForCausalLM, config, seed), tokenizer


def learn(texts: Iterable[str]) -> str:
    """Merges that fit texts best, as `small.merges` holds them: one a line, the first first."""
    backend = _backend([])
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=list(SPECIAL), show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), min_frequency=2,
    )  # fmt: skip
    backend.train_from_iterator(texts, trainer)
    merges = json.loads(backend.to_str())["model"]["merges"]
    return "".join(f"{left} {right}\n" for left, right in merges)


def _small_tokenizer() -> transformers.PreTrainedTokenizerBase:
    lines = _MERGES.read_text(encoding="utf-8").splitlines()
    return wrapped(_backend([tuple(line.split(" ")) for line in lines]))


def _backend(merges: list[Any]) -> Tokenizer:
    """Ids are those of the special tokens, the bytes, and the merges, in order."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = dict.fromkeys((*SPECIAL, *alphabet, *(left + right for left, right in merges)))
    vocabulary = {token: index for index, token in enumerate(names)}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_WORDS, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    return backend
