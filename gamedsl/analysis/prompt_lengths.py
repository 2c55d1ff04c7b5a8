"""The length of prompts, in characters, or in tokens where a model's tokenizer is given.

A game that is gone through whole tells the longest exactly. Of any other the form bounds it for all
plays (`gamedsl.analysis.prompt_bounds`), and the longest that was met is said beside that.
"""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.analysis.history_prompts import text_of
from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.nodes import Node, history_text, replay
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Problems

FORM = "by the form of the program"


def prompts_are_so_long(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """Facts: the longest prompt that can be, and the longest that was met. Nothing is refuted."""
    longest, where = _longest_prompt(sample)
    unit = "characters" if sample.tokenizer is None else "tokens"
    replays = () if where is None else (replay(where),)
    if sample.whole and where is not None:
        claim = f"the longest prompt has {longest:,} {unit}"
        short = f"prompts of up to {longest:,} {unit}"
        yield Proof(
            "prompts.length", claim, sample.grade, sample.extent, histories=replays, short=short
        )
        return
    if sample.whole or problems.errors:
        why = "nobody is asked" if sample.whole else "there are errors that come before it"
        yield Proof("prompts.length", "prompts are so long", "undecided", why)
    elif sample.ir.open:
        yield _reply_bound(sample)
    else:
        yield _bound(sample, unit)
    if where is not None:
        claim = f"the longest prompt that was met has {longest:,} {unit}"
        witness, short = (f"after: {history_text(where)}",), f"prompts of up to {longest:,} {unit}"
        yield Proof(
            "prompts.length.met", claim, sample.grade, sample.extent, (), witness, replays, short
        )


def _reply_bound(sample: HistorySample) -> Proof:
    """Returns the proof of how many tokens of replies a prompt can have."""
    from gamedsl.bounds.programs import UnboundedError
    from gamedsl.prompting.history_bounds import most_reply_tokens

    try:
        held = most_reply_tokens(sample.ir)
    except UnboundedError as error:
        claim = "what prompts hold of replies is bounded"
        return Proof("prompts.length", claim, "undecided", str(error))
    short = f"prompts hold at most {held:,} tokens of replies"
    claim = "prompts hold no more of what was said than"
    return Proof(
        "prompts.length", f"{claim} {held:,} tokens of the models that said it", "proved",
        f"{FORM}, where templates tell nothing twice", short=short,
    )  # fmt: skip


def _longest_prompt(sample: HistorySample) -> tuple[int, Node | None]:
    """The longest prompt of all information sets met, and where it is asked."""
    longest, where = 0, None
    for node, ask in sample.asked:
        messages = sample.prompts.of(node, ask) if len(ask.legal) > 1 else ()
        size = len(text_of(messages))
        if messages and sample.tokenizer is not None:
            size = sample.tokenizer.count(sample.tokenizer.render(messages))
        if size > longest:
            longest, where = size, node
    return longest, where


def _bound(sample: HistorySample, unit: str) -> Proof:
    """Returns the proof from the form of the game. Each token has at least one byte."""
    from gamedsl.analysis.prompt_bounds import PromptBounds
    from gamedsl.bounds.programs import UnboundedError

    book, tokenizer = sample.prompts.book, sample.tokenizer
    claim = "prompts are bounded"
    if book is None:
        return Proof("prompts.length", claim, "undecided", "there are no labels to write them with")
    try:
        if tokenizer is None:
            most, how = PromptBounds(sample.ir, book).most, FORM
        else:
            around = _bytes(tokenizer.render((("system", "x"), ("user", "x")))) - 2
            most = PromptBounds(sample.ir, book, _bytes).most + around
            how = f"{FORM}; a token has at least one byte"
    except UnboundedError as error:
        return Proof("prompts.length", claim, "undecided", str(error))
    short = f"prompts of at most {most:,} {unit}"
    return Proof(
        "prompts.length", f"a prompt has at most {most:,} {unit}", "proved", how, short=short
    )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
