"""The syntax of tool calls: tags around a call and keys inside, as chat templates have them.

It knows no game: games say which tools there are and what a call means
(`gamedsl.prompting.tool_calls`), models say in which syntax they were taught to call
(`gamedsl.policies.chat`), and both write and read calls by this.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

CALL_TAG = "tool_call"
"""The tag around a call, as Qwen, Hermes and SmolLM3 write it."""

ARGUMENTS = ("arguments", "parameters")
"""The keys under which models write arguments: Llama 3 says `parameters`."""


@dataclass(frozen=True)
class CallSyntax:
    """The syntax of a call: `before`, an object with the tool's `name` and its `arguments` under
    this key, `after`."""

    before: str = f"<{CALL_TAG}>"
    arguments: str = ARGUMENTS[0]
    after: str = f"</{CALL_TAG}>"

    def around(self, call: str) -> str:
        """Returns the text of a call, of which the object is given as JSON."""
        return f"{self.before}{call}{self.after}"

    def read(self, text: str) -> Any:
        """Returns the data of a call that this syntax wrote."""
        return json.loads(text[len(self.before) : len(text) - len(self.after)])


TAGGED = CallSyntax()
"""The syntax where no chat template has another, as instructions show it."""


def syntax_of(text: str, name: str, arguments: dict[str, str]) -> CallSyntax | None:
    """Returns the syntax in which a text calls a tool; None where it is none that is read: one
    object, in `<tool_call>` tags or alone."""
    start, end = text.find("{"), text.rfind("}") + 1
    before, after = text[:start].lstrip(), text[end:].rstrip()
    if (before.strip(), after.strip()) not in ((f"<{CALL_TAG}>", f"</{CALL_TAG}>"), ("", "")):
        return None
    for key in ARGUMENTS:
        syntax = CallSyntax(before, key, after)
        call = json.dumps({"name": name, key: arguments}, ensure_ascii=False)
        if syntax.around(call) == text.strip():
            return syntax
    return None
