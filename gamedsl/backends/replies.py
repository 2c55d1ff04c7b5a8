"""From a reply to an action, by equality alone.

Nothing is guessed: a reply names an action only if, without the whitespace around it, it is that
action's label, letter for letter. Case, full stops and quotes count. A lenient rule would turn some
text that nobody meant into a move, and would credit the move to the model that wrote it. Whitespace
is admitted because chat templates and samplers add it and no label begins or ends with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gamedsl.backends.labels import LabelBook


@dataclass(frozen=True)
class ParseFailure:
    """A reply that names no legal action.

    `reason` is "empty", "unknown" (no label of the game) or "illegal" (a label, but of no option
    that is open here); `text` is the reply as it came.
    """

    reason: str
    text: str = ""


def parse_reply(text: str, legal: tuple[str, ...], book: LabelBook) -> str | ParseFailure:
    """The canonical name that a reply names, or why it names none. Any text is accepted."""
    said = text.strip()
    if not said:
        return ParseFailure("empty", text)
    name = book.name(said)
    if name is None:
        return ParseFailure("unknown", text)
    return name if name in legal else ParseFailure("illegal", text)
