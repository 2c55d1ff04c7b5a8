"""The model `words`: a small network that reads a prompt as words in their places.

A word's place is the line it stands in, called by the line's first word, and its number there. Each
(place, word) has a row of numbers; the rows of a prompt are added up, two layers follow, and the
result is held against a row for each label. It is no language model: it knows no order but places,
and prompts that run on at length, such as a whole history, it reads badly. But decisions that look
alike share weights, as in a language model, what it has learned of some it applies to others, and
it learns a hundred times faster: to try a recipe, and for games whose prompts show a `view`.

Rows are given out in the order in which words are first seen. All weights are trained, from
random ones; the policy is uniform at first. A learning rate of 0.001 suits it.

Shape letters: B queries, D width, L labels of all queries together.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import embedding_bag, gelu

from gamedsl.policies.base import Encoded, Message, Prompt, Query
from gamedsl.policies.errors import ModelError
from gamedsl.policies.names import WORDS
from gamedsl.policies.tabular import Characters, are_keys
from gamedsl.policies.tensor_files import read_tensors, write_tensors

NAME = WORDS
WORD_ROWS, LABEL_ROWS = 2048, 1024
WIDTH = 256
_FILE = "words.safetensors"
_KEYS = "word_keys", "label_keys"
_WORD = re.compile(r"\w+(?:\([^\s()]*\))?|[^\w\s]")
"""A word, with its arguments if it has any, or a sign."""


class WordsPolicy:
    """A `Policy` whose adapters are networks of their own, equal at first."""

    name = NAME

    def __init__(
        self, adapters: Sequence[str] = ("shared",), *, seed: int = 0,
        rows: tuple[int, int] = (WORD_ROWS, LABEL_ROWS), width: int = WIDTH,
    ) -> None:  # fmt: skip
        """rows: how many words in places, and labels, a network can tell apart."""
        self.tokenizer = Characters()
        self.adapters = tuple(adapters)
        self._nets = {name: _Net(rows, width, seed) for name in self.adapters}
        self._encoded: dict[Query, Encoded] = {}

    def encode(self, query: Query) -> Encoded:
        """A token for each word of the prompt, and one for each label; cached. Raises ModelError
        where there are more words than rows."""
        if query not in self._encoded:
            net = self._nets[query.adapter]
            words = tuple(net.row(0, word) for word in words_of(query.messages))
            labels = tuple((net.row(1, name),) for name in query.labels)
            self._encoded[query] = Encoded(words, labels)
        return self._encoded[query]

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        with torch.no_grad():
            return self.forward(queries)

    def forward(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        found: dict[int, torch.Tensor] = {}
        for name in self.adapters:
            mine = [index for index, query in enumerate(queries) if query.adapter == name]
            if mine:
                scores = self._nets[name].log_pi([self.encode(queries[index]) for index in mine])
                found.update(zip(mine, scores, strict=True))
        if unknown := {query.adapter for query in queries}.difference(self.adapters):
            raise KeyError(f"no adapter {', '.join(sorted(unknown))}; there are {self.adapters}")
        return [found[index] for index in range(len(queries))]

    def backward(
        self, queries: Sequence[Query], weights: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        if len(weights) != len(queries):
            raise ValueError(f"{len(weights)} weights for {len(queries)} queries")
        scores = self.forward(queries)
        torch.autograd.backward((torch.cat(scores) * torch.cat(list(weights))).sum())
        return [score.detach() for score in scores]

    @torch.no_grad()
    def states(self, prompts: Sequence[Prompt]) -> torch.Tensor:
        """See `HiddenStates`; the ids of a prompt are those of `encode`."""
        rows = [self._nets[name].hidden_of([Encoded(ids, ())])[0] for name, ids in prompts]
        return torch.stack(rows)

    def parameters(self, adapter: str | None = None) -> list[nn.Parameter]:
        names = self.adapters if adapter is None else (adapter,)
        return [tensor for name in names for tensor in self._nets[name].parameters()]

    def adapter_state(self, adapter: str) -> dict[str, torch.Tensor]:
        net = self._nets[adapter]
        state = {name: tensor.detach().clone() for name, tensor in net.named_parameters()}
        for name, rows in zip(_KEYS, net.rows, strict=True):
            keys = torch.tensor([list(key) for key in rows], dtype=torch.uint8)
            state[name] = keys.reshape(-1, 32)
        return state

    def load_adapter_state(self, adapter: str, state: dict[str, torch.Tensor]) -> None:
        """Takes over the weights of `adapter_state`. The labels may be fewer than this network's:
        it then has as many from now on, as those of version 0.1.0 have 512."""
        net = self._nets[adapter]
        shapes = {name: tensor.shape for name, tensor in state.items() if name not in _KEYS}
        own = {name: tensor.shape for name, tensor in net.named_parameters()}
        labels = own.pop("labels")
        found = shapes.pop("labels", torch.Size())
        if own != shapes or found[1:] != labels[1:] or found[0] > labels[0]:
            raise ValueError("not the weights of a network of this size")
        sizes = (net.sizes[0], found[0])
        for key, rows in zip(_KEYS, sizes, strict=True):
            if key not in state or not are_keys(state[key], rows):
                raise ValueError("not the words of a network of this size")
        net.sizes = sizes
        with torch.no_grad():
            net.labels.data = torch.empty_like(state["labels"])  # an optimiser keeps its parameter
            for name, tensor in net.named_parameters():
                tensor.copy_(state[name])
        net.rows = tuple(
            {bytes(key): row for row, key in enumerate(state[name].tolist())} for name in _KEYS
        )
        self._encoded.clear()

    def save_adapter(self, adapter: str, folder: Path) -> None:
        """Write the network as one safetensors file; there is no model for PEFT to adapt."""
        write_tensors(folder / _FILE, self.adapter_state(adapter))

    def load_adapter(self, adapter: str, folder: Path) -> None:
        """Read such a folder. Raises ModelError, ValueError."""
        self.load_adapter_state(adapter, read_tensors(folder / _FILE))


class _Net(nn.Module):
    """The weights of one adapter, and which word has which row."""

    def __init__(self, rows: tuple[int, int], width: int, seed: int) -> None:
        super().__init__()
        rng = torch.Generator().manual_seed(seed)
        self.words = nn.Parameter(torch.randn(rows[0], width, generator=rng) * 0.3)
        self.hidden = nn.Parameter(torch.randn(width, width, generator=rng) * (2 / width) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(width))
        self.labels = nn.Parameter(torch.zeros(rows[1], width))
        self.rows: tuple[dict[bytes, int], ...] = ({}, {})
        self.sizes = rows

    def row(self, table: int, word: Hashable) -> int:
        """Returns the row of a word in the table of words (0) or of labels (1)."""
        key, rows = hashlib.sha256(repr(word).encode()).digest(), self.rows[table]
        row = rows.setdefault(key, len(rows))
        if row >= self.sizes[table]:
            what = ("words in places", "labels")[table]
            raise ModelError(
                f"the model `{NAME}` tells {self.sizes[table]} {what} apart, and no more",
                "choose a language model, such as `smollm2-135m`, or give the game a `view`",
            )
        return row

    def hidden_of(self, encoded: Sequence[Encoded]) -> torch.Tensor:
        """Returns what the two layers make of each prompt, [B, D]."""
        starts_B = torch.tensor([0, *(len(one.prompt) for one in encoded[:-1])]).cumsum(0)
        word_T = torch.tensor([word for one in encoded for word in one.prompt])
        read_BD = gelu(embedding_bag(word_T, self.words, starts_B, mode="sum"))
        return gelu(read_BD @ self.hidden + self.bias)

    def log_pi(self, encoded: Sequence[Encoded]) -> list[torch.Tensor]:
        """Per query log pi [labels]."""
        sizes = [len(one.labels) for one in encoded]
        label_L = torch.tensor([label for one in encoded for (label,) in one.labels])
        hidden_LD = self.hidden_of(encoded).repeat_interleave(torch.tensor(sizes), dim=0)
        score_L = (hidden_LD * self.labels[label_L]).sum(dim=1)
        return [score.log_softmax(dim=0) for score in score_L.split_with_sizes(sizes)]


def words_of(messages: Sequence[Message]) -> Iterator[Hashable]:
    """The words of a prompt with their places. All but the last message is one word: what stands
    before it, the rules, is the same at each decision of a role."""
    yield tuple(messages[:-1])
    lines: Counter[str] = Counter()
    for line in messages[-1][1].splitlines():
        found = _WORD.findall(line)
        if found:
            place = found[0], lines[found[0]]
            lines[found[0]] += 1
            yield from ((*place, number, word) for number, word in enumerate(found))
