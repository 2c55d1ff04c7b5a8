"""The model `mlp`: a perceptron over the words of a prompt, to be trained from nothing.

It reads no sequence. A prompt is the set of its words, each with the line and the place in the line
where it stands; their vectors are summed and go through two hidden layers. A label has a vector by
its text, and its logit is the product of the two: all zero at first, so play starts uniform. A pass
over a thousand prompts takes milliseconds, where a transformer needs seconds. It knows no likeness
but that of words in the same places: prompts of one form suit it, and long tales do not.

A vector is the sum of two rows of a table, drawn by the hash of a word at its place, or of a label
(Svenstrup et al. 2017): no vocabulary is kept, and two words that share a row differ in the other.

Shape letters: Q queries, A labels of one query, L labels of all queries together, H hidden size.
"""

from __future__ import annotations

import hashlib
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from gamedsl.policies.base import Encoded, Query
from gamedsl.policies.names import MLP
from gamedsl.policies.tabular import Characters

NAME = MLP
WORDS, LABELS, HIDDEN = 2048, 256, 128
"""Rows of the two tables, and how long vectors are."""
_FILE = "mlp.safetensors"
_WORD = re.compile(r"\w+|[^\w\s]")


class MlpPolicy:
    """A `Policy` whose every adapter is a perceptron; see the module docstring."""

    name = NAME

    def __init__(self, adapters: Sequence[str] = ("shared",), *, seed: int = 0) -> None:
        self.tokenizer = Characters()
        self.adapters = tuple(adapters)
        self._nets = {name: _Net(f"{seed} {name}") for name in self.adapters}

    def encode(self, query: Query) -> Encoded:
        """Two tokens for each word at its place, and two for each label: rows of the tables."""
        return _encoded(query.messages, query.labels)

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        with torch.no_grad():
            return self.forward(queries)

    def forward(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        found: dict[int, torch.Tensor] = {}
        for name, net in self._nets.items():
            mine = [index for index, query in enumerate(queries) if query.adapter == name]
            if mine:
                scores = net([self.encode(queries[index]) for index in mine])
                found.update(zip(mine, scores, strict=True))
        if len(found) < len(queries):
            raise KeyError(f"a query names none of the adapters {', '.join(self.adapters)}")
        return [found[index] for index in range(len(queries))]

    def backward(
        self, queries: Sequence[Query], weights: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        if len(weights) != len(queries):
            raise ValueError(f"{len(weights)} weights for {len(queries)} queries")
        scores = self.forward(queries)
        torch.autograd.backward((torch.cat(scores) * torch.cat(list(weights))).sum())
        return [score.detach() for score in scores]

    def parameters(self, adapter: str | None = None) -> list[nn.Parameter]:
        names = self.adapters if adapter is None else (adapter,)
        return [tensor for name in names for tensor in self._nets[name].parameters()]

    def adapter_state(self, adapter: str) -> dict[str, torch.Tensor]:
        return {key: value.clone() for key, value in self._nets[adapter].state_dict().items()}

    def load_adapter_state(self, adapter: str, state: dict[str, torch.Tensor]) -> None:
        own = self._nets[adapter].state_dict()
        if {k: v.shape for k, v in own.items()} != {k: v.shape for k, v in state.items()}:
            raise ValueError(f"not the state of the model `{NAME}`")
        self._nets[adapter].load_state_dict(state)

    def save_adapter(self, adapter: str, folder: Path) -> None:
        """Write the weights as one safetensors file; there is no model for PEFT to adapt."""
        folder.mkdir(parents=True, exist_ok=True)
        save_file(self.adapter_state(adapter), folder / _FILE)

    def load_adapter(self, adapter: str, folder: Path) -> None:
        self.load_adapter_state(adapter, load_file(folder / _FILE))


class _Net(nn.Module):
    """One perceptron, made from its name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(zlib.crc32(name.encode()))

        def normal(rows: int, columns: int, scale: float) -> nn.Parameter:
            return nn.Parameter(torch.randn(rows, columns, generator=draw) * scale)

        self.words = normal(WORDS, HIDDEN, 0.2)
        self.middle = normal(HIDDEN, HIDDEN, math.sqrt(2 / HIDDEN))
        self.top = normal(HIDDEN, HIDDEN, math.sqrt(2 / HIDDEN))
        self.biases = nn.Parameter(torch.zeros(2, HIDDEN))
        self.labels = nn.Parameter(torch.zeros(LABELS, HIDDEN))

    def forward(self, encoded: Sequence[Encoded]) -> list[torch.Tensor]:
        """log pi [labels] of each query."""
        x_QH = _sums(self.words, [one.prompt for one in encoded])
        x_QH = (x_QH @ self.middle + self.biases[0]).relu()
        x_QH = (x_QH @ self.top + self.biases[1]).relu()
        label_LH = _sums(self.labels, [label for one in encoded for label in one.labels])
        counts = [len(one.labels) for one in encoded]
        query_L = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
        logit_L = (x_QH[query_L] * label_LH).sum(1)
        within_L = torch.tensor([place for count in counts for place in range(count)])
        none_QA = logit_L.new_full((len(counts), max(counts)), -math.inf)
        log_pi_QA = none_QA.index_put((query_L, within_L), logit_L).log_softmax(1)
        return list(log_pi_QA[query_L, within_L].split_with_sizes(counts))


def _sums(table: torch.Tensor, rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """The sum of some rows of a table for each of `rows`."""
    size = torch.tensor([len(one) for one in rows])
    chosen = torch.tensor([row for one in rows for row in one])
    return nn.functional.embedding_bag(chosen, table, size.cumsum(0) - size, mode="sum")


@lru_cache(maxsize=65_536)
def _encoded(messages: tuple[tuple[str, str], ...], labels: tuple[str, ...]) -> Encoded:
    words = tuple(row for word in _words(messages) for row in _rows(word, WORDS)) or (0,)
    return Encoded(words, tuple(_rows(label, LABELS) for label in labels))


def _words(messages: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """The words of a prompt, each with where it stands. Rules that all prompts begin with are left
    out: they tell nothing."""
    for number, (role, text) in enumerate(messages):
        if role == "system":
            continue
        for line, content in enumerate(text.splitlines()):
            for place, word in enumerate(_WORD.findall(content)):
                yield f"{number} {line} {place} {word}"


def _rows(word: str, count: int) -> tuple[int, int]:
    """Two of `count` rows for a word, the same on every machine."""
    digest = hashlib.sha256(word.encode()).digest()
    first, second = (int.from_bytes(half) for half in (digest[:8], digest[8:16]))
    return first % count, second % count
