"""How long prompts get: in characters, and exactly in tokens where a model's tokenizer is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from gamedsl.backends.labels import TokenCounter
from gamedsl.backends.prompts import Messages
from gamedsl.diagnostics import Problems
from gamedsl.passes.atlas import Atlas, replay, story
from gamedsl.passes.proof import Proof
from gamedsl.passes.told import text_of


class Tokenizer(TokenCounter, Protocol):
    """A model's tokenizer: `render` gives the text that its chat template makes of a prompt."""

    def render(self, messages: Messages) -> str: ...


def prompts_are_so_long(atlas: Atlas, problems: Problems) -> Iterator[Proof]:
    """Facts: the longest prompt of all information sets met. Nothing is refuted."""
    longest, where = 0, None
    for node, ask in atlas.asked:
        messages = atlas.prompts.of(node, ask) if len(ask.legal) > 1 else ()
        size = len(text_of(messages))
        if messages and atlas.tokenizer is not None:
            size = atlas.tokenizer.count(atlas.tokenizer.render(messages))
        if size > longest:
            longest, where = size, node
    if where is None:
        yield Proof("prompts.length", "prompts are so long", "undecided", "nobody was asked")
        return
    unit = "characters" if atlas.tokenizer is None else "tokens"
    met = "" if atlas.whole else " that was met"
    claim = f"the longest prompt{met} has {longest:,} {unit}"
    witness = () if atlas.whole else (f"after: {story(where)}",)
    short = f"prompts of up to {longest:,} {unit}"
    yield Proof(
        "prompts.length", claim, atlas.grade, atlas.extent, (), witness, (replay(where),), short
    )
