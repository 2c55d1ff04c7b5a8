"""Chat data sets as examples to imitate: JSON lines of `messages`, and folders of Hugging Face.

    {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}

Every message of the assistant is learned, given all before it. Tool calls of the form that data
sets have are written as the game's own: `<tool_call>{"name": …, "arguments": …}</tool_call>`.
Folders keep all calls of a column as one struct, with nulls for the arguments of other calls: there
an argument that is null is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from gamedsl.extras import missing
from gamedsl.storage import strict_json
from gamedsl.storage.reader import FileRefused, read_head, read_text
from gamedsl.training.errors import TrainError

if TYPE_CHECKING:
    from gamedsl.policies.base import Message

MAX_BYTES = 1 << 30
"""Bytes of a file of chats."""

_FORM = 'a line is {"messages": [{"role": "user", "content": "…"}, …]}'
_CALL = 'a call is {"name": "…", "arguments": {…}}, with or without a `function` around it'
_ROLES = ("system", "user", "assistant")
_FIRST = 1 << 20


class RecordedChat(NamedTuple):
    """A chat of a data set: where it stands, the adapter that its line names, and its messages."""

    place: str
    adapter: str | None
    messages: list[Message]


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
        chat = [_message(place, one, nulls=path.is_file()) for one in record["messages"]]
        if not any(role == "assistant" and text for role, text in chat):
            raise TrainError(f"{place} has no words of the assistant", _FORM)
        if chat[0][0] == "assistant":
            raise TrainError(
                f"{place} begins with the assistant, who answers nobody",
                "begin each chat with a message of the system or the user",
            )
        yield RecordedChat(place, adapter, chat)


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


def _message(place: str, given: Any, *, nulls: bool) -> Message:
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
    written = "".join(_call(place, one, nulls=nulls) for one in calls)
    return cast("Message", (role, content + written))


def _call(place: str, given: Any, *, nulls: bool) -> str:
    """Returns a tool call as a reply has it. Its arguments may be JSON as text."""
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
        written = strict_json.write({"name": name, "arguments": dict(data)})
        strict_json.parse(written)  # a number may be none
    except (TypeError, ValueError) as error:
        raise TrainError(f"{place} has a tool call whose arguments are no JSON", _CALL) from error
    return f"<tool_call>{written}</tool_call>"


def _without_nulls(value: Any) -> Any:
    """Returns data without the fields of its objects that are null."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value
