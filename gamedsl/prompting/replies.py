"""From a reply to an action, by equality alone; and why a reply is none.

Nothing is guessed: a reply names an action only if, without the whitespace around it, it is that
action's label, letter for letter. Case, full stops and quotes count. A lenient rule would turn some
text that nobody meant into a move, and would credit the move to the model that wrote it. Whitespace
is admitted because chat templates and samplers add it and no label begins or ends with it.
`forms` and `spoken` read replies of other forms, as strictly.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gamedsl.prompting.labels import LabelBook

REASONS: dict[str, str] = {
    "empty": "there is nothing in it",
    "unknown": "it is no label of the game",
    "illegal": "it is a label, but of no option that is open here",
    "thoughts": "it has a thought that is not asked for, not at its start or not the only one",
    "unclosed": "it ends before its thought does",
    "missing": "it has no answer of the form that is asked for",
    "half": "a tag, block or object in it begins or ends, and does not do both",
    "several": "it has more than one answer of the form that is asked for, or a part of another",
    "malformed": "what must be JSON is not",
    "fields": "a field is missing, unknown or given twice",
    "value": "a value is not of the type that is asked for",
    "length": "a text or a list has a length that it may not have",
    "characters": "it has a control character, or half of a surrogate pair",
    "large": "it is longer, or nested deeper, than any reply may be",
    "invalid": "what it says is against the step's `valid`",
    "truncated": "it reached its limit of tokens before it ended",
    "timeout": "it did not come in time",
}
"""Why a reply is no action: each reason, with what it says of the reply."""


@dataclass(frozen=True)
class ParseFailure:
    """A reply that names no legal action.

    `reason` is one of `REASONS`, `text` the reply as it came. `detail` says for people where in the
    reply the fault is and what was wanted there, where there is more to say than the reason does;
    it takes no part in comparison, and transcripts do without it.
    """

    reason: str
    text: str = ""
    detail: str = field(default="", compare=False)


def parse_reply(text: str, legal: tuple[str, ...], book: LabelBook) -> str | ParseFailure:
    """The canonical name that a reply names, or why it names none. Any text is accepted."""
    said = text.strip()
    if not said:
        return ParseFailure("empty", text)
    name = book.name(said)
    if name is None:
        return ParseFailure("unknown", text)
    return name if name in legal else ParseFailure("illegal", text)
