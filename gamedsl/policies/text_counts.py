"""The tokens of a text in a tokenizer of transformers, without its model or a chat template.

Importing this loads neither torch nor transformers.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any

from gamedsl.extras import missing
from gamedsl.policies.errors import ModelError

_FINGERPRINTED = (
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
)


class TextCounter:
    """Counts tokens as `gamedsl.policies.chat.HFTokenizer` does, of any object with the `encode` of
    transformers' tokenizers."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of(self._tokenizer)

    def count(self, text: str) -> int:
        """Number of tokens of `text`, without special tokens added around it."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))


def fingerprint_of(tokenizer: Any) -> str:
    """Returns what names a tokenizer's vocabulary, merges and chat template."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        content: object = sorted(tokenizer.get_vocab().items())
    else:
        whole = json.loads(backend.to_str())
        content = {key: whole.get(key) for key in _FINGERPRINTED}
    template = getattr(tokenizer, "chat_template", None)
    text = json.dumps([content, template], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def load_counter(name: str) -> TextCounter:
    """Returns the counter of a model, by its folder or its id on the hub, from which the tokenizer
    alone is fetched. Raises ModelError, and LibraryMissing without transformers."""
    try:
        import transformers
    except ImportError:
        raise missing("transformers", "train") from None
    try:
        found = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(
            f"cannot load the tokenizer of `{name}`: {error}",
            "name the folder of a model, or its id on the hub",
        ) from error
    return TextCounter(found)
