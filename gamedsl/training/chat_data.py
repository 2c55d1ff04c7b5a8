"""Chat data sets as examples to imitate: JSON lines of `messages`, and folders of Hugging Face.

    {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}

Every message of the assistant is learned, given all before it, with the thought that it gives in
`reasoning_content` or `reasoning`. Tool calls of the form that data sets have are written as the
model that learns them writes calls in play, and what a tool returned (role `tool`) is read as it is
in play. Folders keep all calls of a column as one struct, with nulls for the arguments of other
calls: there an argument that is null is none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gamedsl.call_syntax import TAGGED, CallSyntax
from gamedsl.extras import missing
from gamedsl.prompting.tool_calls import write_call
from gamedsl.storage import strict_json
from gamedsl.storage.reader import FileRefused, read_head, read_text
from gamedsl.thought_syntax import FIELDS, thought_in, with_thought
from gamedsl.training.errors import TrainError

if TYPE_CHECKING:
    from gamedsl.policies.base import Message, Role

MAX_BYTES = 1 << 30
"""Bytes of a file of chats."""

_FORM = 'a line is {"messages": [{"role": "user", "content": "…"}, …]}'
_CALL = 'a call is {"name": "…", "arguments": {…}}, with or without a `function` around it'
_TOOLS = 'a tool is {"type": "function", "function": {"name": "…", "parameters": {…}}}'
_ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
_BARE = CallSyntax("", after="")
_FIRST = 1 << 20


class RecordedMessage(NamedTuple):
    """A message of a data set: its text, and the thought and the tool calls that it gives apart."""

    role: Role
    text: str
    thought: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Names and arguments."""

    def written(self, syntax: CallSyntax) -> str:
        """Returns the thought, the text and the calls as one reply."""
        calls = (write_call(syntax, name, arguments) for name, arguments in self.calls)
        return with_thought(self.thought, "\n".join((*([self.text] if self.text else []), *calls)))


class RecordedChat(NamedTuple):
    """A chat of a data set: where it stands, the adapter that its line names, what is said in it,
    and the list of its tools as JSON, if it has one."""

    place: str
    adapter: str | None
    said: list[RecordedMessage]
    tools: str | None = None

    def messages(self, syntax: CallSyntax | None) -> list[Message]:
        """Returns the messages as play has them for a model that writes calls in this syntax.
        Without one calls are tagged, and the user says what a tool returned."""
        found: list[Message] = [] if self.tools is None else [("tools", self.tools)]
        told = False
        for one in self.said:
            by_user = syntax is None and one.role == "tool"
            role, text = "user" if by_user else one.role, one.written(syntax or TAGGED)
            if found and (told or by_user) and role == found[-1][0] == "user":
                text = f"{found.pop()[1]}\n{text}"
            found.append((role, text))
            told = by_user
        return found


def is_chats(path: Path) -> bool:
    """Whether a path is a folder of a data set, or a file whose first record has `messages`, and no
    `format` as transcripts have."""
    if path.is_dir():
        return True
    try:
        head = read_head(path, limit=_FIRST).decode("utf-8", errors="replace")
    except FileRefused:
        return False
    first = head.lstrip("\ufeff \t\r\n").partition("\n")[0]
    try:
        record = strict_json.parse(first, bounds=strict_json.Bounds(surrogates=True))
    except strict_json.JsonRefused:  # cut off, or wrong: who reads it says where
        return first.startswith("{") and '"messages"' in first and '"format"' not in first
    return isinstance(record, dict) and "messages" in record and "format" not in record


def read_chats(path: Path) -> Iterator[RecordedChat]:
    """Yields the chats of a file or a folder. Raises TrainError."""
    for place, record in _records(path):
        if not isinstance(record, Mapping) or not isinstance(record.get("messages"), list):
            raise TrainError(f"{place} has no `messages`", _FORM)
        adapter = record.get("adapter")
        if not isinstance(adapter, str | None):
            raise TrainError(f"{place} has an `adapter` that is no name: {adapter!r}", _FORM)
        nulls = path.is_file()
        chat = [_message(place, one, nulls=nulls) for one in record["messages"]]
        if not any(one.role == "assistant" and one.written(TAGGED) for one in chat):
            raise TrainError(f"{place} has no words of the assistant", _FORM)
        if chat[0].role in ("assistant", "tool"):
            first = "the assistant" if chat[0].role == "assistant" else "a tool"
            raise TrainError(
                f"{place} begins with {first}, who answers nobody",
                "begin each chat with a message of the system or the user",
            )
        yield RecordedChat(place, adapter, chat, _tools(place, record.get("tools"), nulls=nulls))


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """Yields each record with its place."""
    if path.is_dir():
        try:
            import datasets
        except ImportError as error:
            told = missing("datasets", "datasets")
            raise TrainError(told.fact, f"{told.fix}; or give a file of JSON lines") from error
        try:
            found = datasets.load_from_disk(str(path))
        except Exception as error:  # the library fails in its own ways at files that are damaged
            raise _damaged(path, error) from error
        if isinstance(found, Mapping):
            if "train" not in found:
                splits = ", ".join(map(str, found))
                raise TrainError(f"{path} has no split `train`", f"give one of {splits} by itself")
            found = found["train"]
        for number in range(len(found)):
            try:
                record = found[number]
            except Exception as error:  # as above
                raise _damaged(path, error) from error
            yield f"{path}, row {number + 1}", record
        return
    try:
        text = read_text(path, limit=MAX_BYTES)
        for number, record in strict_json.parse_lines(text, limit=MAX_BYTES):
            yield f"{path}, line {number}", record
    except (FileRefused, strict_json.JsonRefused) as error:
        raise TrainError(f"{path} cannot be read as chats: {error}", _FORM) from error


def _damaged(path: Path, error: Exception) -> TrainError:
    return TrainError(
        f"{path} cannot be read as a data set: {error}",
        "give a folder that `Dataset.save_to_disk` wrote",
    )


def _tools(place: str, given: Any, *, nulls: bool) -> str | None:
    """Returns the list of tools of a chat as play has it; None where there is none. It may be JSON
    as text."""
    try:
        found = strict_json.parse(given) if isinstance(given, str) and given else given
        if not found:
            return None
        if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
            raise TypeError
        if not nulls and found is given:
            found = _without_nulls(found)
        functions = [one.get("function", one) for one in found]
        if not all(isinstance(one["name"], str) for one in functions):
            raise TypeError
        listed = [{"type": "function", "function": one} for one in functions]
        strict_json.parse(written := json.dumps(listed, ensure_ascii=False))
    except (KeyError, TypeError, ValueError) as error:
        raise TrainError(f"{place} has `tools` that are no list of tools", _TOOLS) from error
    return written


def _message(place: str, given: Any, *, nulls: bool) -> RecordedMessage:
    """Returns a message; of the arguments of its tool calls those that are null only with
    `nulls`."""
    role = given.get("role") if isinstance(given, Mapping) else None
    if role not in _ROLES:
        known = ", ".join(f"`{one}`" for one in _ROLES)
        raise TrainError(f"{place} has a message of the role {role!r}", f"the roles are {known}")
    content, calls = given.get("content"), given.get("tool_calls")
    content, calls = "" if content is None else content, () if calls is None else calls
    if not isinstance(content, str) or not isinstance(calls, list | tuple):
        raise TrainError(f"{place} has a message whose content is no text", _FORM)
    made = tuple(_call(place, one, nulls=nulls) for one in calls)
    for name in FIELDS:
        if not isinstance(given.get(name), str | None):
            raise TrainError(f"{place} has a message whose `{name}` is no text", _FORM)
    thought = thought_in(given) if role == "assistant" else ""
    if thought and not (content.strip() or made):
        raise TrainError(
            f"{place} has a thought of the assistant that no words and no call follow",
            "leave that message out, or give its `content`",
        )
    return RecordedMessage(role, content, thought, made)


def _call(place: str, given: Any, *, nulls: bool) -> tuple[str, dict[str, Any]]:
    """Returns the name and the arguments of a tool call. The arguments may be JSON as text."""
    function = given.get("function", given) if isinstance(given, Mapping) else None
    if not isinstance(function, Mapping):
        raise TrainError(f"{place} has a tool call without a name and arguments", _CALL)
    name, arguments = function.get("name"), function.get("arguments", {})
    try:
        data = strict_json.parse(arguments) if isinstance(arguments, str) else arguments
    except strict_json.JsonRefused as error:
        raise TrainError(f"{place} has a tool call whose arguments are no JSON", _CALL) from error
    if not isinstance(name, str) or not isinstance(data, Mapping):
        raise TrainError(f"{place} has a tool call without a name and arguments", _CALL)
    if not nulls and data is arguments:
        data = _without_nulls(data)
    try:
        strict_json.parse(write_call(_BARE, name, dict(data)))  # a number may be none
    except (TypeError, ValueError) as error:
        raise TrainError(f"{place} has a tool call whose arguments are no JSON", _CALL) from error
    return name, dict(data)


def _without_nulls(value: Any) -> Any:
    """Returns data without the fields of its objects that are null."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value
