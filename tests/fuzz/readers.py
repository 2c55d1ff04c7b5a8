"""Hostile texts for each reader: YAML, expressions, templates, replies, Gambit files, JSON and
transcripts.

A reader takes any bytes, and gives a value or problems with a place. The inputs are seeds from the
shipped files, mutated blindly; `tests.fuzz.guided_readers` starts from the same seeds.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.codes import explain
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.schema.shape import check_shape
from gamedsl.frontend.source import loader
from gamedsl.frontend.source.nodes import Scalar
from gamedsl.frontend.syntax.parser import parse_expression, parse_statements
from gamedsl.frontend.syntax.tables import is_table, read_table
from gamedsl.imports import import_text
from gamedsl.ir.program import Said
from gamedsl.ir.types import Text
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.replies import REASONS, Form, ParseFailure, read_choice, read_open_reply
from gamedsl.prompting.template_syntax import Broken, parse
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import TranscriptError, dump, read
from gamedsl.sema.game import build_game
from gamedsl.sema.library import load_document
from gamedsl.storage import strict_json
from gamedsl.view.conversation import conversation_of, text_of
from tests.fuzz import Case, Limits, Outcome
from tests.fuzz.mutations import leaves, mutate_bytes, mutate_text, read_tree
from tests.rendering.hostile import BOOKS, OFFER, SEATS, hostile

NAME = "readers"
BATCH = 200

ROOT = Path(__file__).parent.parent.parent
LIMITS = Limits(cpu=20.0)

CLEAN = Outcome()


@dataclass(frozen=True)
class Reader:
    """A reader under test: `read` is its oracle, `seeds` gives texts to start from."""

    read: Callable[[bytes], Outcome]
    seeds: Callable[[], list[bytes]]


def cases(seed: int) -> Iterator[Case]:
    """Yields the inputs of a seed, of each reader in turn."""
    random = Random(f"readers {seed}")
    for name in cycle(READERS):
        yield _case(name, _mutated(name, random))


def case_of(files: Mapping[str, bytes]) -> Case:
    """Returns the case of an input read back from its files."""
    name = files.get("reader.txt", b"json").decode().strip()
    return Case(f"for the reader of {name}", files, partial(_read, name, files), LIMITS)


def _case(name: str, data: bytes) -> Case:
    return case_of({"reader.txt": name.encode(), "input": data})


def _read(name: str, files: Mapping[str, bytes]) -> Outcome:
    return READERS[name].read(files.get("input", b"")) if name in READERS else CLEAN


def _mutated(name: str, random: Random) -> bytes:
    seeds = _seeds(name)
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 2, 3, 5))):
        if random.random() < 0.5 and len(data) < 4_000:
            text = data.decode("utf-8", "replace")
            others = [random.choice(seeds).decode("utf-8", "replace")[:2_000]]
            data = mutate_text(text, others, random).encode("utf-8", "surrogatepass")
        else:
            data = mutate_bytes(data, random)
    return data[:200_000]


@cache
def _seeds(name: str) -> list[bytes]:
    return READERS[name].seeds()


# places


def _checked(problems: Problems, sound: bool) -> Outcome:
    """Returns the outcome of a reader that gave a value (`sound`), or nothing, and these
    problems."""
    if not sound and not problems.errors:
        return Outcome("no place", "neither a value nor a problem", "nothing")
    for problem in problems.sorted():
        for span in (problem.span, *(note.span for note in problem.notes)):
            inside = 0 <= span.start <= span.end <= len(span.source.text)
            if not inside or not problem.message or not explain(problem.code):
                return Outcome("no place", f"{problem.code} {problem.message}", problem.code)
            assert span.line >= 1 <= span.column
    return CLEAN


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _of_files(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(ROOT.glob(pattern))]


@cache
def _leaves() -> list[bytes]:
    """Returns the leaves of the shipped files: expressions, templates and words."""
    texts = [
        text for part in ("games", "protocols", "rewards") for text in _of_files(f"{part}/*.yaml")
    ]
    found = (leaf[1] for text in texts for leaf in leaves(read_tree(text.decode())))
    return sorted({text.encode() for text in found if text})


# readers


def _read_yaml(data: bytes) -> Outcome:
    problems = Problems()
    root = loader.parse(loader.from_text("input.yaml", _text(data)), problems)
    if root is not None:
        check_shape("game", root, problems)
    return _checked(problems, root is not None)


def _yaml_seeds() -> list[bytes]:
    return _of_files("games/*.yaml") + _of_files("protocols/*.yaml") + _of_files("rewards/*.yaml")


def _read_expression(data: bytes) -> Outcome:
    text = _text(data)
    source = Source("input", text)
    scalar = Scalar(text, text, Span(source, 0, len(text)))
    problems = Problems()
    found = parse_expression(scalar, problems)
    if outcome := _wrong(_checked(problems, found is not None)):
        return outcome
    problems = Problems()
    statements = parse_statements(scalar, problems)
    if outcome := _wrong(_checked(problems, statements is not None)):
        return outcome
    if is_table(scalar):
        read_table(scalar)
    return CLEAN


def _wrong(outcome: Outcome) -> Outcome | None:
    return None if outcome.clean else outcome


def _expression_seeds() -> list[bytes]:
    return [text for text in _leaves() if not re.search(rb"\{\{|[a-z] [a-z]+ [a-z]+ ", text)]


def _read_template(data: bytes) -> Outcome:
    text = _text(data)
    found = parse(text)
    if isinstance(found, Broken):
        inside = 0 <= found.start <= len(text) and found.reason
        return CLEAN if inside else Outcome("no place", str(found), "Broken")
    places = [(mention.start, mention.end) for mention in found.mentions]
    places += [(refused.start, refused.start + refused.length) for refused in found.refused]
    for start, end in places:
        if not 0 <= start <= end <= len(text):
            return Outcome("no place", str(found), "Parsed")
    return CLEAN


def _template_seeds() -> list[bytes]:
    return [text for text in _leaves() if b"{{" in text or b"{%" in text]


_QUESTIONS: tuple[Form | Said, ...] = (
    Form("label"), Form("tag"), Form("tool"), Form("tag", 9), Form("tool", 9), Form("label", 9),
    Said("text", 99), Said("code", 99), Said("json", 99),
)  # fmt: skip


def _read_reply(data: bytes) -> Outcome:
    text = data.decode("utf-8", "surrogateescape")
    book: LabelBook = BOOKS[len(data) % len(BOOKS)]
    for question in _QUESTIONS:
        if isinstance(question, Said):
            type = OFFER if question.form == "json" else Text(60)
            found = read_open_reply(text, question, type, SEATS)
        else:
            legal = tuple(name for name, _ in book.pairs[:2])
            found = read_choice(text, question, legal, book)
            if isinstance(found, str) and found not in legal:
                return Outcome("illegal action", found)
        if isinstance(found, ParseFailure) and found.reason not in REASONS:
            return Outcome("no place", f"a refused reply without a reason: {found}")
    return CLEAN


def _reply_seeds() -> list[bytes]:
    texts = (hostile(number).text for number in range(400))
    return [text.encode("utf-8", "replace") for text in texts if len(text) < 2_000]


def _read_gambit(data: bytes) -> Outcome:
    problems = Problems()
    text = import_text(_text(data), "imported", problems)
    if text is None or problems.errors:
        return _checked(problems, False)
    if len(text) > 20_000:
        return CLEAN
    path = Path(tempfile.gettempdir(), "imported.yaml")
    path.write_text(text, encoding="utf-8")
    problems = Problems()
    document = load_document(path, problems)
    if document is None or build_game(document, {}, problems) is None:
        what = "\n".join(str(problem) for problem in problems.sorted())
        return Outcome("disagreement", f"what is imported does not compile: {what}\n{text}")
    return CLEAN


_GAMBIT = (
    b'EFG 2 R "a" { "Ann" "Bob" } ""\nc "" 1 "" { "h" 1/2 "t" 0.5 } 0\n'
    b'p "" 1 1 "" { "l" "r" } 0\nt "" 1 "" { 1, -1 }\nt "" 2 "" { 0, 1/3 }\n'
    b'p "" 2 1 "" { "u" "d" } 0\nt "" 3 "" { 2 2 }\nt "" 1\n',
    b'NFG 1 R "t" { "Ann" "Bob" } { 2 2 } 1 2 3 4 5 6 7 8\n',
    b'NFG 1 R "t" { "A" "B" } { { "x" "y" } { "u" "v" } }\n"c"\n{ { "o" 1, 2 } { "p" 3, 4 } }\n'
    b"1 2 0 1\n",
)  # fmt: skip


def _gambit_seeds() -> list[bytes]:
    return [*_GAMBIT, *_of_files("tests/export/**/*.efg"), *_of_files("tests/export/**/*.nfg")]


def _read_json(data: bytes) -> Outcome:
    try:
        found = strict_json.parse(data)
    except strict_json.JsonRefused as refused:
        lines = data.count(b"\n") + 1
        placed = 1 <= refused.line <= lines and refused.column >= 1 and refused.reason
        return CLEAN if placed else Outcome("no place", str(refused), refused.kind)
    if json.loads(data) != found:
        return Outcome("disagreement", f"{found!r} and {json.loads(data)!r}", "json")
    exact = strict_json.parse(data, exact=True)
    assert isinstance(exact, Fraction) or _floats(exact) == found
    return CLEAN


def _floats(data: Any) -> Any:
    match data:
        case dict():
            return {key: _floats(value) for key, value in data.items()}
        case list():
            return [_floats(value) for value in data]
        case Fraction():
            return float(data)
        case _:
            return data


def _json_seeds() -> list[bytes]:
    rows = [line for text in _of_files("games/data/*.jsonl") for line in text.splitlines()[:4]]
    return [*rows, b'{"a": [1, -2.5e3, "\\u00e9\\ud83d\\ude00", null, true, {"b": {}}], "c": 1e-7}']


def _read_transcript(data: bytes) -> Outcome:
    text = _text(data)
    try:
        found = list(read(text))
    except TranscriptError as error:
        lines = text.count("\n") + 1
        placed = error.message and 1 <= error.line <= lines
        return CLEAN if placed else Outcome("no place", str(error), "TranscriptError")
    for transcript in found:
        again = replay(_kuhn(), transcript)
        assert text_of(conversation_of(again))
        assert all(fault.message for fault in again.faults)
    return CLEAN


@cache
def _kuhn() -> gamedsl.Game:
    return gamedsl.load(ROOT / "games" / "kuhn_poker.yaml")


def _transcript_seeds() -> list[bytes]:
    found = []
    for number in range(6):
        episode = _kuhn().env().reset(number)
        while not episode.done:
            label = number < 5 or episode.failures
            episode.step(
                {d.seat: d.labels[number % 2] if label else "?" for d in episode.decisions}
            )
        found += [dump(episode).encode(), json.dumps(episode.transcript).encode() + b"\n"]
    return found


READERS: dict[str, Reader] = {
    "yaml": Reader(_read_yaml, _yaml_seeds),
    "expression": Reader(_read_expression, _expression_seeds),
    "template": Reader(_read_template, _template_seeds),
    "reply": Reader(_read_reply, _reply_seeds),
    "gambit": Reader(_read_gambit, _gambit_seeds),
    "json": Reader(_read_json, _json_seeds),
    "transcript": Reader(_read_transcript, _transcript_seeds),
}
"""The readers by name."""


def warm() -> None:
    """Fills the caches of the readers."""
    for name, reader in READERS.items():
        reader.read(_seeds(name)[0])
