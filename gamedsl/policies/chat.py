"""Messages and labels to token ids, through the model's own chat template.

Always true: a label's ids are those of its text where it continues the prompt; `Encoded` is the
same for the same messages and labels, whatever was asked before; what a message or a label spells
never becomes a special token (see `Specials`); thoughts stand between the tags of games in texts,
and between the model's own tags in ids (`HFTokenizer.tags`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jinja2
import transformers

from gamedsl.call_syntax import CALL_TAG, CallSyntax, syntax_of
from gamedsl.policies.base import Encoded, Message, Query
from gamedsl.policies.generation import Ids, Turn
from gamedsl.policies.text_counts import fingerprint_of
from gamedsl.policies.thoughts import PromptEnd, prompt_end, tags_of
from gamedsl.thought_syntax import Tags

_CACHED = 65_536  # encoded decisions kept
_SLOT = "\U000f0002"  # private use: stands in a template for a reply that is given as ids
_PROBE = "probe_of_calls"
_PROBE_TOOL = {
    "name": _PROBE, "description": "",
    "parameters": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
}  # fmt: skip


@dataclass(frozen=True)
class Conversation:
    """Ids of a conversation up to where the next reply begins.

    `extends`: they begin with all that each reply given as ids was drawn after, then that reply,
    for every such reply; so what was computed or trained for the earlier turns holds for this one.
    """

    ids: Ids
    extends: bool


class HFTokenizer:
    """`TokenCounter` over a transformers tokenizer, plus the encoding of closed decisions."""

    def __init__(self, tokenizer: transformers.PreTrainedTokenizerBase) -> None:
        self._tokenizer = self.wrapped = tokenizer
        self.fingerprint = fingerprint_of(tokenizer)
        self.takes_system = self._takes_system()
        self.tags = tags_of(tokenizer)
        self._specials = Specials(tokenizer, self.tags)
        eos = tokenizer.eos_token_id
        eos_ids = (int(eos),) if isinstance(eos, int) else ()
        self._end = self._turn_end() or eos_ids
        """Ends an answer: what the template writes after one, as Gemma's `<end_of_turn>`, else
        `eos`."""
        self._prompt_end, self._no_thought = self._end_of_prompts()
        self.call_syntax = self._call_syntax()
        """How the model writes tool calls; None where its template lists no tools."""
        self.stops: Ids = tuple(dict.fromkeys((*self._end, *eos_ids)))
        """All tokens that end an answer: a model may have learned either."""
        self._encode = lru_cache(maxsize=_CACHED)(self._encode_uncached)
        self._labels = lru_cache(maxsize=_CACHED)(self._labels_uncached)

    def count(self, text: str) -> int:
        """Number of tokens of `text`, without special tokens added around it."""
        return len(self._ids(self.tags.in_prompt(text)))

    def render(self, messages: Sequence[Message]) -> str:
        """The prompt's text as the model reads it, up to where the assistant's answer begins.

        Where the template has no system role, the system text opens the first user message. A
        thought that the template opens is closed.
        """
        return self._rendered([(role, self._own(role, text)) for role, text in messages])

    def _rendered(self, messages: Sequence[Message]) -> str:
        """`render` of texts that have the model's own tags."""
        if not self.takes_system:
            messages = merge_system(messages)
        text, end = self._apply(messages), self._prompt_end
        return text + end.closing if end.opened and text.endswith(end.opened) else text

    def encode(self, query: Query) -> Encoded:
        """Ids of the prompt and of each label. After a `prefix` labels have the ids that they have
        by themselves. Raises ValueError for unusable labels."""
        if query.prefix:
            prompt = self._encode(query.messages, query.labels).prompt
            return Encoded(self.go_on(prompt, query.prefix), self._labels(query.labels))
        return self._encode(query.messages, query.labels)

    def go_on(self, prompt: Ids, prefix: Ids) -> Ids:
        """Returns a prompt with the ids that the answer goes on from, such as those of a thought.

        Prompts for models that think may end in an empty thought, so that the model answers at
        once: the template writes it (Qwen3), or opens it (DeepSeek-R1). A thought that is begun
        takes its place.
        """
        size = len(self._no_thought)
        if prefix and size and prompt[-size:] == self._no_thought:
            prompt = prompt[:-size]
        return prompt + prefix

    @property
    def ends(self) -> Ids:
        """The token that ends an answer, if there is one."""
        return self._end

    @property
    def ends_in_thought(self) -> bool:
        """Whether prompts end in a thought, empty or opened; one that is begun takes its place."""
        return bool(self._no_thought)

    def ids(self, text: str) -> Ids:
        """Ids of a text by itself; what it spells becomes no special token."""
        return self._ids(self._reply(text))

    def labels(self, labels: Sequence[str]) -> tuple[Ids, ...]:
        """Ids of each label by itself, none of which begins another. Raises ValueError."""
        return self._labels(tuple(labels))

    def _labels_uncached(self, labels: tuple[str, ...]) -> tuple[Ids, ...]:
        return self._ended(labels, tuple(map(self.ids, labels)))

    def _encode_uncached(self, messages: tuple[Message, ...], labels: tuple[str, ...]) -> Encoded:
        text = self._marked(messages)
        prompt = self._ids(text)
        encoded = tuple(self._label_ids(text, prompt, label) for label in labels)
        return Encoded(prompt, self._ended(labels, encoded))

    def _ended(self, labels: Sequence[str], encoded: tuple[Ids, ...]) -> tuple[Ids, ...]:
        """With the end token after each where one begins another."""
        if _overlap(encoded):
            encoded = tuple((*ids, *self._end) for ids in encoded)
        _check_labels(labels, encoded)
        return encoded

    def converse(self, turns: Sequence[Turn]) -> Conversation:
        """Ids of a conversation in which earlier replies may be given as ids.

        Such a reply keeps its ids where the template writes just its text; where the template
        rewrites it (strips thoughts or spaces), the conversation is tokenised from its text.
        """
        given = [turn for _, turn in turns if not isinstance(turn, str)]
        plain: list[Message] = [
            (role, turn if isinstance(turn, str) else self.text(turn)) for role, turn in turns
        ]
        text = self._marked(plain)
        if not given:
            return Conversation(self._ids(text), True)
        slots: list[Message] = [
            (role, turn if isinstance(turn, str) else _SLOT) for role, turn in turns
        ]
        if any(_SLOT in turn for _, turn in plain):
            return Conversation(self._ids(text), False)
        slotted = self._marked(slots)
        pieces = slotted.split(_SLOT)
        said = [self._reply(self.text(reply)) for reply in given]
        filled = pieces[0] + "".join(a + b for a, b in zip(said, pieces[1:]))
        kept = len(pieces) == len(given) + 1 and filled == text
        joined = self._join(pieces, given) if kept else None
        if joined is None:
            return Conversation(self._ids(text), False)
        heads = (slots[:at] for at, (_, turn) in enumerate(turns) if not isinstance(turn, str))
        extends = all(
            slotted.startswith(self._marked(head) + _SLOT) for head in heads
        )  # what came before a reply is what the conversation was then
        return Conversation(joined, extends)

    def text(self, ids: Ids) -> str:
        """The text of a reply's ids, without the end token; other special tokens are spelled."""
        if ids and ids[-1] in self.stops:
            ids = ids[:-1]
        decoded = self._tokenizer.decode(
            list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return self.tags.in_reply(str(decoded))

    def _join(self, pieces: Sequence[str], replies: Sequence[Ids]) -> Ids | None:
        """The template's pieces around the replies' ids; None if a reply's own end token is not
        the one that the template writes after it."""
        ids = list(self._ids(pieces[0]))
        for reply, piece in zip(replies, pieces[1:]):
            after, ended = self._ids(piece), bool(reply) and reply[-1] in self.stops
            if ended and after[:1] != reply[-1:]:
                return None
            ids += reply + after[ended:]
        return tuple(ids)

    def _marked(self, messages: Sequence[Message]) -> str:
        return self._rendered(
            [(role, self._specials.mark(self._own(role, text))) for role, text in messages]
        )

    def _own(self, role: str, text: str) -> str:
        """A message with the model's own tags."""
        return self.tags.in_reply(text) if role == "assistant" else self.tags.in_prompt(text)

    def _reply(self, text: str) -> str:
        """A reply, or a part of one, with the model's own tags, marked."""
        return self._specials.mark(self.tags.in_reply(text))

    def _label_ids(self, text: str, prompt: tuple[int, ...], label: str) -> tuple[int, ...]:
        """Ids of `label` after `text`; of the label alone if the two would melt together.

        Templates end the prompt in a newline or a special token, so melting is rare. Where it
        happens, the label's own ids are the only ones that leave the prompt's ids alone.
        """
        joined = self._ids(text + self._reply(label))
        if joined[: len(prompt)] == prompt and len(joined) > len(prompt):
            return joined[len(prompt) :]
        return self.ids(label)

    def _ids(self, text: str) -> tuple[int, ...]:
        return self._specials.ids(text)

    def _apply(self, messages: Sequence[Message], *, think: bool = False) -> str:
        tools = [json.loads(content) for role, content in messages if role == "tools"]
        chat = [{"role": role, "content": content} for role, content in messages if role != "tools"]
        return self._template(chat, tools[0] if tools else None, think=think)

    def _template(
        self, chat: list[dict[str, Any]], tools: list[Any] | None, *, think: bool = False
    ) -> str:
        text = self._tokenizer.apply_chat_template(
            chat, tools=tools, tokenize=False, add_generation_prompt=True, enable_thinking=think
        )
        return str(text)

    def _call_syntax(self) -> CallSyntax | None:
        """Returns how the template writes a tool call; None where it lists no tools, or has no
        place for what comes of a call, or writes calls in a way of its own.

        A template that writes nothing for a call may tell the model to write `<tool_call>` tags
        (SmolLM3); these are then on lines of their own. Tags that are special tokens are in no text
        that a player may write, so they are none of ours.
        """
        asked = {"role": "user", "content": "u"}
        listed = [{"type": "function", "function": _PROBE_TOOL}]
        call = {"type": "function", "function": {"name": _PROBE, "arguments": {"a": "b"}}}
        try:
            text = self._template([asked], listed)
            if _PROBE not in text or _PROBE in self._template([asked], None):
                return None
            said = {"role": "assistant", "content": _SLOT}
            told = self._template([asked, said, {"role": "tool", "content": "told"}], listed)
            before, _, after = self._template([asked, said], listed).partition(_SLOT)
            calling = {"role": "assistant", "content": "", "tool_calls": [call]}
            called = self._template([asked, calling], listed)
        except (jinja2.TemplateError, TypeError):
            return None
        if "told" not in told or not (called.startswith(before) and called.endswith(after)):
            return None
        written = called[len(before) : len(called) - len(after)]
        if _PROBE not in written and f"<{CALL_TAG}>" in text:
            syntax: CallSyntax | None = CallSyntax(f"<{CALL_TAG}>\n", after=f"\n</{CALL_TAG}>")
        else:
            syntax = syntax_of(written, _PROBE, {"a": "b"})
        spelled = "" if syntax is None else syntax.before + syntax.after
        return None if self._specials.mark(spelled) != spelled else syntax

    def _turn_end(self) -> Ids:
        """The special token that the template writes right after a reply, if it does."""
        try:
            text = self._apply((("user", "u"), ("assistant", _SLOT), ("user", "u")))
        except jinja2.TemplateError:
            return ()
        return self._specials.first(text.partition(_SLOT)[2])

    def _end_of_prompts(self) -> tuple[PromptEnd, Ids]:
        """Returns the thought that prompts end in, and the ids of it where it is closed."""
        asked: tuple[Message, ...] = (("user", "u"),)
        try:
            silent, thinking = self._apply(asked), self._apply(asked, think=True)
        except jinja2.TemplateError:
            return PromptEnd(), ()
        end = prompt_end(silent, thinking)
        text = silent + end.closing
        whole, head = self._ids(text), self._ids(text.removesuffix(end.thought))
        apart = whole[: len(head)] == head
        return end, whole[len(head) :] if apart else self._ids(end.thought)

    def _takes_system(self) -> bool:
        """Whether the template prints a system message (some raise, some drop it)."""
        probe = "a-system-text"
        try:
            return probe in self._apply((("system", probe), ("user", "u")))
        except jinja2.TemplateError:
            return False


def merge_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same conversation with the system text put before the first user message's."""
    system = "\n\n".join(content for role, content in messages if role == "system")
    rest = [message for message in messages if message[0] != "system"]
    if not system:
        return tuple(rest)
    if not rest or rest[0][0] != "user":
        return (("user", system), *rest)
    return (("user", f"{system}\n\n{rest[0][1]}"), *rest[1:])


def _overlap(encoded: Sequence[tuple[int, ...]]) -> bool:
    """Whether the tokens of one label begin those of another: then each needs an end of its own."""
    known = set(encoded)
    return any(ids[:size] in known for ids in encoded for size in range(1, len(ids)))


def _check_labels(labels: Sequence[str], encoded: Sequence[tuple[int, ...]]) -> None:
    if not labels:
        raise ValueError("a closed decision needs at least one label")
    for i, ids in enumerate(encoded):
        if not ids:
            raise ValueError(f"label {labels[i]!r} has no tokens")
        for j, other in enumerate(encoded):
            if i != j and other[: len(ids)] == ids:
                raise ValueError(f"label {labels[i]!r} begins label {labels[j]!r} in tokens")


_OPEN, _CLOSE = "\U000f0000", "\U000f0001"  # private use: no template writes them
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")


class Specials:
    """The special tokens of one tokenizer, kept out of the texts that players write.

    A text that spells `<|im_end|>` would end its message if it were tokenised with the template
    around it. So what spells a special token in a text is marked before the template is applied,
    and the marked parts are tokenised as plain text. Always true: a special id in a prompt stands
    for a special token that the template wrote, or for a tag of a thought (most tokenizers of
    models that think have these as ordinary tokens).
    """

    def __init__(self, tokenizer: transformers.PreTrainedTokenizerBase, tags: Tags) -> None:
        """tags: those between which the model thinks."""
        self._tokenizer = tokenizer
        added = tokenizer.added_tokens_decoder.items()
        self._id_of = {token.content: index for index, token in added if token.special}
        longest_first = sorted(self._id_of, key=len, reverse=True)
        marked = [text for text in longest_first if text not in (tags.opening, tags.closing)]
        self._spelled = [*marked, _OPEN]
        self._find = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._find_all = re.compile("|".join(map(re.escape, self._spelled)))

    def mark(self, text: str) -> str:
        """`text` with each special token that it spells replaced by a mark."""
        return self._find_all.sub(
            lambda found: f"{_OPEN}{self._spelled.index(found[0])}{_CLOSE}", text
        )

    def first(self, text: str) -> tuple[int, ...]:
        """The special token that a template's text begins with, if it does."""
        found = self._find.match(text)
        return () if found is None or not found[0] else (self._id_of[found[0]],)

    def unmark(self, text: str) -> str:
        """The text that was marked."""
        return _MARK.sub(lambda found: self._spelled[int(found[1])], text)

    def ids(self, text: str) -> tuple[int, ...]:
        """Token ids of a text of the template around marked texts.

        The tokenizer's own ids, unless a mark is in it, or the ids hold special tokens that nobody
        wrote (a normaliser can make one): then the parts between special tokens are tokenised each
        by itself, as plain text.
        """
        if _OPEN not in text:
            ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
            special = set(self._id_of.values())
            if sum(token in special for token in ids) == len(self._find.findall(text)):
                return tuple(ids)
        whole: list[int] = []
        end = 0
        for found in self._find.finditer(text):
            whole += (*self._plain(text[end : found.start()]), self._id_of[found[0]])
            end = found.end()
        return (*whole, *self._plain(text[end:]))

    def _plain(self, text: str) -> list[int]:
        if not text:
            return []
        ids: list[int] = self._tokenizer(
            self.unmark(text), add_special_tokens=False, split_special_tokens=True
        )["input_ids"]
        return ids
