"""How long prompts get: in characters, or in tokens where a model's tokenizer is given.

A game that is gone through whole tells the longest exactly. Of any other the form bounds it for all
plays (`gamedsl.analysis.prompt_bounds`), and the longest that was met is said beside that.
"""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.analysis.atlas import Atlas
from gamedsl.analysis.history_prompts import text_of
from gamedsl.analysis.nodes import Node, replay, story
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Problems

FORM = "by the form of the program"


def prompts_are_so_long(atlas: Atlas, problems: Problems) -> Iterator[Proof]:
    """Facts: the longest prompt that can be, and the longest that was met. Nothing is refuted."""
    longest, where = _met(atlas)
    unit = "characters" if atlas.tokenizer is None else "tokens"
    replays = () if where is None else (replay(where),)
    if atlas.whole and where is not None:
        claim = f"the longest prompt has {longest:,} {unit}"
        short = f"prompts of up to {longest:,} {unit}"
        yield Proof(
            "prompts.length", claim, atlas.grade, atlas.extent, histories=replays, short=short
        )
        return
    if atlas.whole or problems.errors:
        why = "nobody is asked" if atlas.whole else "there are errors that come before it"
        yield Proof("prompts.length", "prompts are so long", "undecided", why)
    elif atlas.ir.open:
        yield _said(atlas)
    else:
        yield _bound(atlas, unit)
    if where is not None:
        claim = f"the longest prompt that was met has {longest:,} {unit}"
        witness, short = (f"after: {story(where)}",), f"prompts of up to {longest:,} {unit}"
        yield Proof(
            "prompts.length.met", claim, atlas.grade, atlas.extent, (), witness, replays, short
        )


def _said(atlas: Atlas) -> Proof:
    """How much of what players write a prompt can hold, in tokens of the model that writes it."""
    from gamedsl.bounds.programs import UnboundedError
    from gamedsl.prompting.history_bounds import most_reply_tokens

    try:
        held = most_reply_tokens(atlas.ir)
    except UnboundedError as error:
        claim = "what prompts hold of replies is bounded"
        return Proof("prompts.length", claim, "undecided", str(error))
    short = f"prompts hold at most {held:,} tokens of replies"
    claim = "prompts hold no more of what was said than"
    return Proof(
        "prompts.length", f"{claim} {held:,} tokens of the models that said it", "proved",
        f"{FORM}, where templates tell nothing twice", short=short,
    )  # fmt: skip


def _met(atlas: Atlas) -> tuple[int, Node | None]:
    """The longest prompt of all information sets met, and where it is asked."""
    longest, where = 0, None
    for node, ask in atlas.asked:
        messages = atlas.prompts.of(node, ask) if len(ask.legal) > 1 else ()
        size = len(text_of(messages))
        if messages and atlas.tokenizer is not None:
            size = atlas.tokenizer.count(atlas.tokenizer.render(messages))
        if size > longest:
            longest, where = size, node
    return longest, where


def _bound(atlas: Atlas, unit: str) -> Proof:
    """What the form of the game says. Tokens are bounded by bytes: none has less than one."""
    from gamedsl.analysis.prompt_bounds import PromptBounds
    from gamedsl.bounds.programs import UnboundedError

    book, tokenizer = atlas.prompts.book, atlas.tokenizer
    claim = "prompts are bounded"
    if book is None:
        return Proof("prompts.length", claim, "undecided", "there are no labels to write them with")
    try:
        if tokenizer is None:
            most, how = PromptBounds(atlas.ir, book).most, FORM
        else:
            around = _bytes(tokenizer.render((("system", "x"), ("user", "x")))) - 2
            most = PromptBounds(atlas.ir, book, _bytes).most + around
            how = f"{FORM}; a token has at least one byte"
    except UnboundedError as error:
        return Proof("prompts.length", claim, "undecided", str(error))
    short = f"prompts of at most {most:,} {unit}"
    return Proof(
        "prompts.length", f"a prompt has at most {most:,} {unit}", "proved", how, short=short
    )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
