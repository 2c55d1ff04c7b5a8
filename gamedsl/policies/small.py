"""The model `small`: a random Llama of a million parameters, to be trained from nothing.

All its weights are trained (see `full`): a model that knows nothing has nothing worth freezing.
Its tokens are bytes and what `small.merges` joins them to: words of the prompts of shipped games,
so that a label such as `mark(0,0)` is one token there, and any other text is still spelled.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import transformers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from gamedsl.policies.names import SMALL
from gamedsl.policies.tiny import SPECIAL, made, wrapped

NAME = SMALL
VOCABULARY = 2048
_MERGES = Path(__file__).with_name("small.merges")
_WORDS = Regex(r" ?\w+(?:\([^\s()]*\))?| ?[^\w\s]|\s")
"""What a token lies within: a word, with its arguments if it has any, or a sign."""


def build(
    seed: int = 0,
) -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase]:
    """The float32 model on the CPU, and its tokenizer; torch's own random state is untouched."""
    tokenizer = _tokenizer()
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


def _tokenizer() -> transformers.PreTrainedTokenizerBase:
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
