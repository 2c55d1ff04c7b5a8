"""The model `tabular`: one row of logits for each decision, and no language model.

It shares nothing between decisions, so what it learns is what the algorithm does, without the
interference of a network: the reference for tests, and a quick look at a game. Rows are given out
in the order in which queries are first seen; the table has a fixed size, so that an optimiser can
hold it from the start. A logit is `SCALE` times its parameter, which makes the learning rates
that suit a language model's adapters suit this one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from gamedsl.policies.base import Encoded, Query
from gamedsl.policies.errors import ModelError
from gamedsl.policies.names import TABULAR
from gamedsl.policies.tensor_files import read_tensors, write_tensors

NAME = TABULAR
SCALE = 1000.0
ROWS = 4096
_FILE = "table.safetensors"


class Characters:
    """A `TokenCounter` for a policy that reads no tokens: a text counts its characters."""

    fingerprint = "characters"

    def count(self, text: str) -> int:
        return len(text)


class TabularPolicy:
    """A `Policy` whose every query has logits of its own, all zero at first."""

    name = NAME

    def __init__(
        self, adapters: Sequence[str] = ("shared",), *, rows: int = ROWS, width: int = 64
    ) -> None:
        """rows: queries an adapter can hold; width: labels a query can have."""
        self.tokenizer = Characters()
        self.adapters = tuple(adapters)
        self._tables = {name: _Table(rows, width) for name in self.adapters}

    def encode(self, query: Query) -> Encoded:
        """One token for the prompt (its row) and one for each label: a query costs one token."""
        row = self._tables[query.adapter].row(query)
        return Encoded((row,), tuple((label,) for label in range(len(query.labels))))

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        with torch.no_grad():
            return self.forward(queries)

    def forward(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        return [self._tables[query.adapter].log_pi(query) for query in queries]

    def backward(
        self, queries: Sequence[Query], weights: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        if len(weights) != len(queries):
            raise ValueError(f"{len(weights)} weights for {len(queries)} queries")
        scores = self.forward(queries)
        torch.autograd.backward(torch.cat(scores), torch.cat(list(weights)).to(scores[0]))
        return [score.detach() for score in scores]

    def parameters(self, adapter: str | None = None) -> list[nn.Parameter]:
        names = self.adapters if adapter is None else (adapter,)
        return [self._tables[name].logits for name in names]

    def adapter_state(self, adapter: str) -> dict[str, torch.Tensor]:
        table = self._tables[adapter]
        keys = torch.tensor([list(key) for key in table.rows], dtype=torch.uint8).reshape(-1, 32)
        return {"logits": table.logits.detach().clone(), "keys": keys}

    def load_adapter_state(self, adapter: str, state: dict[str, torch.Tensor]) -> None:
        table = self._tables[adapter]
        if set(state) != {"logits", "keys"} or state["logits"].shape != table.logits.shape:
            raise ValueError(f"not the state of a table of {tuple(table.logits.shape)}")
        if not are_keys(state["keys"], len(table.logits)):
            raise ValueError("not the keys of the rows of a table")
        with torch.no_grad():
            table.logits.copy_(state["logits"])
        table.rows = {bytes(key): row for row, key in enumerate(state["keys"].tolist())}

    def save_adapter(self, adapter: str, folder: Path) -> None:
        """Write the table as one safetensors file; there is no model for PEFT to adapt."""
        write_tensors(folder / _FILE, self.adapter_state(adapter))

    def load_adapter(self, adapter: str, folder: Path) -> None:
        """Read such a folder. Raises ModelError, ValueError."""
        self.load_adapter_state(adapter, read_tensors(folder / _FILE))


def are_keys(keys: torch.Tensor, most: int) -> bool:
    """Whether a tensor holds the hashes of texts, `most` at most: [N, 32] bytes."""
    return keys.dtype == torch.uint8 and keys.shape[1:] == (32,) and len(keys) <= most


class _Table:
    """The logits of one adapter, and which query has which row."""

    def __init__(self, rows: int, width: int) -> None:
        self.logits = nn.Parameter(torch.zeros(rows, width))
        self.rows: dict[bytes, int] = {}

    def row(self, query: Query) -> int:
        asked = (query.messages, query.labels, *([query.prefix] if query.prefix else []))
        key = hashlib.sha256(repr(asked).encode()).digest()
        row = self.rows.setdefault(key, len(self.rows))
        count, width = self.logits.shape
        if row >= count or len(query.labels) > width:
            raise ModelError(
                f"the model `{NAME}` holds {count} decisions of at most {width} options",
                "choose a language model, such as `smollm2-135m`",
            )
        return row

    def log_pi(self, query: Query) -> torch.Tensor:
        return (SCALE * self.logits[self.row(query), : len(query.labels)]).log_softmax(0)
