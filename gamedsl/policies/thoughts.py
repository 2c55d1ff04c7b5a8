"""Thoughts of chat templates: their tags, what a prompt ends in, and the forms that are refused.

Models that think write a thought between tags before each answer. Their templates end a prompt in
one of three ways: in an opened thought (DeepSeek-R1), in one that is closed (Qwen3 where it is not
to think), or in neither. An answer is written after a thought, never in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import jinja2
import transformers

from gamedsl.policies.base import Notify
from gamedsl.policies.errors import ModelError
from gamedsl.thought_syntax import CLOSE, OPEN, Tags

_NAME = r"(?:\w+:)?(?:\w*think\w*|thought|thoughts|reasoning)"
_OPENING = rf"(?:<{_NAME}>|\[[A-Z_]*THINK[A-Z_]*\])"
_CLOSING = rf"(?:</{_NAME}>|\[/[A-Z_]*THINK[A-Z_]*\])"
_OPENED = re.compile(rf"({_OPENING})(\s*)\Z")
_CLOSED = re.compile(rf"(?:{_OPENING}\s*)?{_CLOSING}\s*\Z")
_CONTROL = re.compile(r"(?i:<\|\w*(?:think|thought|reason)\w*\|>)")
_OTHER = re.compile(f"{_OPENING}|{_CONTROL.pattern}")
_TAGS = re.compile(f"{_OPENING}|{_CLOSING}")
_OTHER_OR_CLOSING = re.compile(f"{_OTHER.pattern}|{_CLOSING}")
_PROBE = "\U000f0002"


@dataclass(frozen=True)
class PromptEnd:
    """The thought that prompts of a template end in, where the model is asked not to think.

    `opened`: what the template writes of a thought that it leaves open, else empty. `closing`: what
    then closes it. `thought`: the empty thought that prompts end in, `closing` included; empty
    where there is none.
    """

    opened: str = ""
    closing: str = ""
    thought: str = ""


def prompt_end(silent: str, thinking: str) -> PromptEnd:
    """Returns what a prompt ends in. `silent` and `thinking`: the same prompt where the template is
    asked not to think, and to think; most templates know no such switch."""
    opened = _OPENED.search(silent)
    if opened is not None:
        closing = _closing(opened[1])
        if "\n" in opened[2]:  # such models write a thought on lines of its own
            closing = f"\n{closing}\n\n"
        return PromptEnd(opened[0], closing, opened[0] + closing)
    closed = _CLOSED.search(silent)
    if closed is not None:
        return PromptEnd(thought=closed[0])
    same = silent.startswith(thinking)
    return PromptEnd(thought=silent.removeprefix(thinking) if same else "")


def tags_of(tokenizer: transformers.PreTrainedTokenizerBase) -> Tags:
    """Returns the tags between which a model thinks: those of games, unless its chat template has
    another pair, and neither the template nor the added tokens have any tag beside it.

    The template has to name one of the two: a tokenizer may keep a token for a tag that the model
    never learned.
    """
    template = set(_OTHER_OR_CLOSING.findall(str(tokenizer.chat_template)))
    added = (token.content for token in tokenizer.added_tokens_decoder.values())
    known = template.union(*map(_OTHER_OR_CLOSING.findall, added))
    opening = next((tag for tag in known if re.fullmatch(_OPENING, tag)), OPEN)
    closing = _closing(opening)
    return Tags(opening, closing) if template and known == {opening, closing} else Tags()


def _closing(opening: str) -> str:
    """Returns the tag that closes a thought."""
    return f"{opening[0]}/{opening[1:]}"


def check_thoughts(
    name: str, tokenizer: transformers.PreTrainedTokenizerBase, notify: Notify
) -> None:
    """Raises ModelError for a template whose prompts end in a thought that cannot be closed, or
    before the tokens that its replies begin with, such as the channels of gpt-oss. Says so where a
    model has other tags of thoughts than games have, and `tags_of` does not know them as a pair."""
    asked = {"role": "user", "content": "u"}
    said = {"role": "assistant", "content": _PROBE}
    try:
        prompt, whole = (
            str(
                tokenizer.apply_chat_template(
                    chat, tokenize=False, add_generation_prompt=True, enable_thinking=False
                )
            )
            for chat in ([asked], [asked, said])
        )
    except (jinja2.TemplateError, TypeError):
        return
    last = prompt.rstrip()
    found = [one for one in _CONTROL.finditer(last) if one.end() == len(last)]
    if found and "end" not in found[0][0].lower():
        raise ModelError(
            f"prompts of `{name}` end in a thought that `{found[0][0]}` opens, and only thoughts in"
            f" tags such as {OPEN} can be closed",
            "end the prompts of its chat template after that thought, or choose another model",
        )
    before = whole.partition(_PROBE)[0]
    lead = before.removeprefix(prompt) if before.startswith(prompt) else ""
    added = tokenizer.added_tokens_decoder.values()
    control = [token.content for token in added if token.special]
    if any(token in _TAGS.sub("", lead) for token in control):
        raise ModelError(
            f"the chat template of `{name}` writes {lead!r} before each reply, and its prompts end"
            " before that, so an answer would be scored where the model does not answer",
            f"end the prompts of its chat template (`add_generation_prompt`) in {lead!r}, or choose"
            " another model",
        )
    texts = (str(tokenizer.chat_template), *(token.content for token in added))
    tags = (found[0] for text in texts for found in _OTHER.finditer(text))
    other = next((tag for tag in tags if tag != OPEN), None)
    if other is not None and tags_of(tokenizer).opening == OPEN:
        notify(
            f"{name} has thoughts of its own form, with `{other}`: those that a game asks for are"
            f" written between {OPEN} and {CLOSE} instead, and its own count as part of a reply"
        )
