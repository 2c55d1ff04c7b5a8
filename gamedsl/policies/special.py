"""Keeps texts that players write from becoming the special tokens that a chat template writes.

A text that spells `<|im_end|>` would end its message if it were tokenised with the template around
it. So what spells a special token in a text is marked before the template is applied, and the
marked parts are tokenised as plain text. Always true: a special id in a prompt stands for a special
token that the template wrote.
"""

from __future__ import annotations

import re

import transformers

_OPEN, _CLOSE = "\U000f0000", "\U000f0001"  # private use: no template writes them
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")


class Specials:
    """The special tokens of one tokenizer."""

    def __init__(self, tokenizer: transformers.PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        added = tokenizer.added_tokens_decoder.items()
        self._id_of = {token.content: index for index, token in added if token.special}
        longest_first = sorted(self._id_of, key=len, reverse=True)
        self._spelled = [*longest_first, _OPEN]
        self._find = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._find_all = re.compile("|".join(map(re.escape, self._spelled)))

    def mark(self, text: str) -> str:
        """`text` with each special token that it spells replaced by a mark."""
        return self._find_all.sub(
            lambda found: f"{_OPEN}{self._spelled.index(found[0])}{_CLOSE}", text
        )

    def unmark(self, text: str) -> str:
        """The text that was marked."""
        return _MARK.sub(lambda found: self._spelled[int(found[1])], text)

    def ids(self, text: str) -> tuple[int, ...]:
        """Token ids of a text of the template around marked texts.

        The tokenizer's own ids, unless a mark is in it, or the ids hold special tokens that nobody
        wrote (a normaliser can make one): then the parts between special tokens are tokenised each
        by itself, as plain text.
        """
        if _OPEN not in text:
            ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
            special = set(self._id_of.values())
            if sum(token in special for token in ids) == len(self._find.findall(text)):
                return tuple(ids)
        whole: list[int] = []
        end = 0
        for found in self._find.finditer(text):
            whole += (*self._plain(text[end : found.start()]), self._id_of[found[0]])
            end = found.end()
        return (*whole, *self._plain(text[end:]))

    def _plain(self, text: str) -> list[int]:
        if not text:
            return []
        ids: list[int] = self._tokenizer(
            self.unmark(text), add_special_tokens=False, split_special_tokens=True
        )["input_ids"]
        return ids
