"""The tokenizers of several models that play one game, as one.

Labels are equal in tokens under each of them, and what a role says is measured by that of the model
that says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from gamedsl.call_syntax import CallSyntax
from gamedsl.ir.hashing import digest


class TokenCounter(Protocol):
    """A tokenizer as far as labels are concerned.

    `count` is the number of tokens of a text at the start of a reply; `fingerprint` names the
    vocabulary and the merges, so that equal fingerprints count alike.
    """

    @property
    def fingerprint(self) -> str: ...

    def count(self, text: str) -> int: ...


class WordCounter:
    """Counts the words between spaces, where no tokenizer is known: a lower bound of tokens."""

    fingerprint = "words"

    def count(self, text: str) -> int:
        return len(text.split())


@dataclass(frozen=True)
class Tokenizers:
    """Several tokenizers, no two of which have one fingerprint; `roles` says which is whose."""

    models: tuple[TokenCounter, ...]
    roles: Mapping[str, TokenCounter] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """The same in whatever order they are given."""
        return digest(sorted(one.fingerprint for one in self.models))

    def count(self, text: str) -> int:
        """The most tokens that a text has for any of them."""
        return max(one.count(text) for one in self.models)


def counts(counter: TokenCounter, text: str) -> tuple[int, ...]:
    """Returns the number of tokens of a text for each model."""
    models = counter.models if isinstance(counter, Tokenizers) else (counter,)
    return tuple(one.count(text) for one in models)


def tokenizer_of(counter: TokenCounter, role: str) -> TokenCounter:
    """Returns the tokenizer of the model that answers for a role, or all tokenizers where no model
    does."""
    return counter.roles.get(role, counter) if isinstance(counter, Tokenizers) else counter


def call_syntax_of(counter: TokenCounter | None, role: str) -> CallSyntax | None:
    """Returns how the model that answers for a role writes tool calls; None where its chat template
    lists no tools, or no model is known."""
    if counter is None:
        return None
    found: CallSyntax | None = getattr(tokenizer_of(counter, role), "call_syntax", None)
    return found


def inside(counter: TokenCounter) -> str:
    """Returns a phrase that says in which tokenizer tokens are counted."""
    several = isinstance(counter, Tokenizers)
    return "in the tokenizer of each model" if several else "in this tokenizer"


def together(counters: Iterable[TokenCounter]) -> TokenCounter:
    """Returns tokenizers as one; of those that count alike, the one. Raises ValueError if there is
    none."""
    distinct = {one.fingerprint: one for one in counters}
    if not distinct:
        raise ValueError("no tokenizer")
    models = tuple(distinct.values())
    return models[0] if len(models) == 1 else Tokenizers(models)


def by_role(counter: TokenCounter, roles: Mapping[str, TokenCounter]) -> TokenCounter:
    """Returns a result of `together` that knows the tokenizer of each role."""
    return replace(counter, roles=roles) if isinstance(counter, Tokenizers) else counter
