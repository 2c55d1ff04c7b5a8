"""Messages and labels to token ids, through the model's own chat template.

Always true: a label's ids are those of its text where it continues the prompt; `Encoded` is the
same for the same messages and labels, whatever was asked before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache

import jinja2
import transformers

from gamedsl.policies.base import Encoded, Message, Query

_FINGERPRINTED = (
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
)
_CACHED = 65_536  # encoded decisions kept


class HFTokenizer:
    """`TokenCounter` over a transformers tokenizer, plus the encoding of closed decisions."""

    def __init__(self, tokenizer: transformers.PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self.fingerprint = _fingerprint(tokenizer)
        self.takes_system = self._takes_system()
        end = tokenizer.eos_token_id
        self._end = (int(end),) if isinstance(end, int) else ()
        """Ends an answer."""
        self._encode = lru_cache(maxsize=_CACHED)(self._encode_uncached)

    def count(self, text: str) -> int:
        """Number of tokens of `text`, without special tokens added around it."""
        return len(self._ids(text))

    def render(self, messages: Sequence[Message]) -> str:
        """The prompt's text, up to where the assistant's answer begins.

        Where the template has no system role, the system text opens the first user message.
        """
        if not self.takes_system:
            messages = merge_system(messages)
        return self._apply(messages)

    def encode(self, query: Query) -> Encoded:
        """Ids of the prompt and of each label. Raises ValueError for unusable labels."""
        return self._encode(query.messages, query.labels)

    def _encode_uncached(self, messages: tuple[Message, ...], labels: tuple[str, ...]) -> Encoded:
        text = self.render(messages)
        prompt = self._ids(text)
        encoded = tuple(self._label_ids(text, prompt, label) for label in labels)
        if _overlap(encoded):
            encoded = tuple((*ids, *self._end) for ids in encoded)
        _check_labels(labels, encoded)
        return Encoded(prompt, encoded)

    def _label_ids(self, text: str, prompt: tuple[int, ...], label: str) -> tuple[int, ...]:
        """Ids of `label` after `text`; of the label alone if the two would melt together.

        Templates end the prompt in a newline or a special token, so melting is rare. Where it
        happens, the label's own ids are the only ones that leave the prompt's ids alone.
        """
        joined = self._ids(text + label)
        if joined[: len(prompt)] == prompt and len(joined) > len(prompt):
            return joined[len(prompt) :]
        return self._ids(label)

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _apply(self, messages: Sequence[Message]) -> str:
        chat = [{"role": role, "content": content} for role, content in messages]
        text = self._tokenizer.apply_chat_template(
            chat, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return str(text)

    def _takes_system(self) -> bool:
        """Whether the template prints a system message (some raise, some drop it)."""
        probe = "a-system-text"
        try:
            return probe in self._apply((("system", probe), ("user", "u")))
        except jinja2.TemplateError:
            return False


def merge_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same conversation with the system text put before the first user message's."""
    system = "\n\n".join(content for role, content in messages if role == "system")
    rest = [message for message in messages if message[0] != "system"]
    if not system:
        return tuple(rest)
    if not rest or rest[0][0] != "user":
        return (("user", system), *rest)
    return (("user", f"{system}\n\n{rest[0][1]}"), *rest[1:])


def _overlap(encoded: Sequence[tuple[int, ...]]) -> bool:
    """Whether the tokens of one label begin those of another: then each needs an end of its own."""
    known = set(encoded)
    return any(ids[:size] in known for ids in encoded for size in range(1, len(ids)))


def _check_labels(labels: Sequence[str], encoded: Sequence[tuple[int, ...]]) -> None:
    if not labels:
        raise ValueError("a closed decision needs at least one label")
    for i, ids in enumerate(encoded):
        if not ids:
            raise ValueError(f"label {labels[i]!r} has no tokens")
        for j, other in enumerate(encoded):
            if i != j and other[: len(ids)] == ids:
                raise ValueError(f"label {labels[i]!r} begins label {labels[j]!r} in tokens")


def _fingerprint(tokenizer: transformers.PreTrainedTokenizerBase) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        content: object = sorted(tokenizer.get_vocab().items())
    else:
        whole = json.loads(backend.to_str())
        content = {key: whole.get(key) for key in _FINGERPRINTED}
    text = json.dumps([content, tokenizer.chat_template], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
