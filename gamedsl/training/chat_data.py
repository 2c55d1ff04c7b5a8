"""Chat data sets as examples to imitate: JSON lines of `messages`, and folders of Hugging Face.

    {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}

Every message of the assistant is learned, given all before it. Tool calls of the form that data
sets have are written as the game's own: `<tool_call>{"name": …, "arguments": …}</tool_call>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gamedsl.extras import missing
from gamedsl.storage import strict_json
from gamedsl.storage.reader import FileRefused, read_head, read_text
from gamedsl.training.errors import TrainError

if TYPE_CHECKING:
    from gamedsl.policies.base import Message

MAX_BYTES = 1 << 30
"""Bytes of a file of chats."""

_FORM = 'a line is {"messages": [{"role": "user", "content": "…"}, …]}'
_ROLES = ("system", "user", "assistant")
_FIRST = 1 << 16


def is_chats(path: Path) -> bool:
    """Whether a path is a folder of a data set, or begins with a line that has `messages`."""
    if path.is_dir():
        return True
    try:
        first = read_head(path, limit=_FIRST).decode("utf-8", errors="replace")
    except FileRefused:
        return False
    return '"messages"' in first.partition("\n")[0] and '"format"' not in first.partition("\n")[0]


def read_chats(path: Path) -> Iterator[tuple[str | None, list[Message]]]:
    """Yields the chats of a file or a folder, each with the `adapter` that its line names. Raises
    TrainError."""
    for place, record in _records(path):
        if not isinstance(record, Mapping) or not isinstance(record.get("messages"), list):
            raise TrainError(f"{place} has no `messages`", _FORM)
        adapter = record.get("adapter")
        chat = [_message(place, one) for one in record["messages"]]
        if not any(role == "assistant" for role, _ in chat):
            raise TrainError(f"{place} has no message of the assistant", _FORM)
        yield (adapter if isinstance(adapter, str) else None), chat


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """Yields each record with its place."""
    if path.is_dir():
        try:
            import datasets
        except ImportError as error:
            raise TrainError(str(missing("datasets", "datasets")), "or give a file of JSON lines") \
                from error  # fmt: skip
        try:
            found = datasets.load_from_disk(str(path))
        except (OSError, ValueError) as error:
            raise TrainError(
                f"{path} cannot be read as a data set: {error}",
                "give a folder that `Dataset.save_to_disk` wrote",
            ) from error
        if isinstance(found, Mapping):
            if "train" not in found:
                splits = ", ".join(map(str, found))
                raise TrainError(f"{path} has no split `train`", f"give one of {splits} by itself")
            found = found["train"]
        for number, record in enumerate(found, start=1):
            yield f"{path}, row {number}", record
        return
    try:
        text = read_text(path, limit=MAX_BYTES)
        for number, record in strict_json.parse_lines(text, limit=MAX_BYTES):
            yield f"{path}, line {number}", record
    except (FileRefused, strict_json.JsonRefused) as error:
        raise TrainError(f"{path} cannot be read as chats: {error}", _FORM) from error


def _message(place: str, given: Any) -> Message:
    role = given.get("role") if isinstance(given, Mapping) else None
    if role not in _ROLES:
        known = ", ".join(f"`{one}`" for one in _ROLES)
        raise TrainError(f"{place} has a message of the role {role!r}", f"the roles are {known}")
    content = given.get("content") or ""
    calls = given.get("tool_calls") or ()
    if not isinstance(content, str) or not isinstance(calls, list | tuple):
        raise TrainError(f"{place} has a message whose content is no text", _FORM)
    return cast("Message", (role, content + "".join(_call(place, one) for one in calls)))


def _call(place: str, given: Any) -> str:
    """Returns a tool call as a reply has it. Its arguments may be JSON as text."""
    function = given.get("function", given) if isinstance(given, Mapping) else {}
    name, arguments = function.get("name"), function.get("arguments", {})
    try:
        data = strict_json.parse(arguments) if isinstance(arguments, str) else arguments
    except strict_json.JsonRefused as error:
        raise TrainError(f"{place} has a tool call whose arguments are no JSON", _FORM) from error
    if not isinstance(name, str) or not isinstance(data, Mapping):
        raise TrainError(f"{place} has a tool call without a name and arguments", _FORM)
    written = strict_json.write({"name": name, "arguments": dict(data)})
    return f"<tool_call>{written}</tool_call>"
