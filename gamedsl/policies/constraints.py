"""Constraints on replies: one of some texts, or JSON that fits a schema.

Before each token a constraint says which tokens are allowed; after it, it advances by that token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch

from gamedsl.extras import install_command
from gamedsl.policies.errors import ModelError

if TYPE_CHECKING:
    import llguidance
    import transformers
    from llguidance._lib import JsonCompileOptions


WITHOUT_SPACES: JsonCompileOptions = {
    "whitespace_flexible": False,
    "item_separator": ",",
    "key_separator": ":",
}
"""The setting of llguidance for JSON without spaces."""


def unusable(why: str) -> ModelError:
    """The error of a schema that cannot constrain a reply."""
    return ModelError(
        f"this schema cannot constrain a reply: {why.splitlines()[0]}",
        "use types, enums, bounds and properties alone",
    )


class Constraint(Protocol):
    """The rule of one reply."""

    def forbid(self, logits_V: torch.Tensor) -> None:
        """Put -inf, in place, where a token may not come next."""
        ...

    def take(self, token: int) -> bool:
        """Go on after `token`; whether the reply is complete and needs no end token."""
        ...


class Choices:
    """One of some token sequences, none of which begins another."""

    def __init__(self, choices: Sequence[tuple[int, ...]]) -> None:
        self._left = list(choices)

    def forbid(self, logits_V: torch.Tensor) -> None:
        allowed = torch.tensor(sorted({ids[0] for ids in self._left}), device=logits_V.device)
        kept = logits_V[allowed]
        logits_V.fill_(float("-inf"))
        logits_V[allowed] = kept

    def take(self, token: int) -> bool:
        self._left = [ids[1:] for ids in self._left if ids[0] == token]
        return not self._left[0]


class Fitting:
    """JSON that fits a schema, by llguidance; the reply ends with the end token."""

    def __init__(self, matcher: llguidance.LLMatcher) -> None:
        self._matcher = matcher

    def forbid(self, logits_V: torch.Tensor) -> None:
        # bytes, 0 where a token may not come: llguidance.torch would load torch's compiler
        may_V = torch.frombuffer(bytearray(self._matcher.compute_logit_bias()), dtype=torch.uint8)
        logits_V.masked_fill_((may_V == 0).to(logits_V.device), float("-inf"))

    def take(self, token: int) -> bool:
        if not self._matcher.consume_token(token):
            raise ModelError(
                f"the reply left its schema: {self._matcher.get_error()}", "simplify the schema"
            )
        return False


class Schemas:
    """Makes matchers of JSON Schemas for one tokenizer; each schema is compiled once."""

    def __init__(
        self,
        tokenizer: transformers.PreTrainedTokenizerBase,
        vocabulary: int,
        ends: Sequence[int],
    ) -> None:
        """vocabulary: number of logits. ends: ids that end a reply."""
        self._tokenizer: Any = tokenizer  # llguidance names a class of transformers 4
        self._vocabulary, self._ends = vocabulary, list(ends)
        self._wrapped: llguidance.LLTokenizer | None = None
        self._matchers: dict[str, llguidance.LLMatcher] = {}

    def fitting(self, schema: Mapping[str, Any]) -> Fitting:
        """Raises ModelError for a schema that cannot be used, or where llguidance is missing."""
        key = json.dumps(schema)
        if key not in self._matchers:
            self._matchers[key] = self._compile(key)
        return Fitting(self._matchers[key].deep_copy())

    def _compile(self, schema: str) -> llguidance.LLMatcher:
        try:
            import llguidance
            import llguidance.hf
        except ImportError:
            raise ModelError(
                "constrained replies need llguidance, not installed here",
                install_command("constrain"),
            ) from None
        if self._wrapped is None:
            self._wrapped = llguidance.hf.from_tokenizer(
                self._tokenizer, n_vocab=self._vocabulary, eos_token=self._ends
            )
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema, overrides=WITHOUT_SPACES)
        matcher = llguidance.LLMatcher(self._wrapped, grammar, log_level=0)
        if matcher.is_error():
            raise unusable(matcher.get_error())
        return matcher
