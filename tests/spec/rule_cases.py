"""The cases of docs/spec.md: `cases/*.yaml`, one file a chapter, a list of cases under each rule.

A case is a map or a text: the test elsewhere that holds the rule (`tests/FILE.py::test_name`), or a
case of a diagnostic (`tests/diagnostics/cases/`). A map has a game and what must be true of it:

    game            the file; `game: case` stands before it unless its first key is there
    files           further files beside it, by name
    params          params that are set
    errors          a code, or several: it is refused with these
    notes           codes that it is noted or warned with; without this key, none
    plays           plays of it
    same_rules      another file, of the same `rules_hash`
    other_rules     another file, of another
    same_prompts    whether the whole `hash` must be the same too (`true`, `false`)

or, in place of `game`, expressions (`given` is a game without `turns` or payoffs, or with):

    true, false     expressions of that value, at the end of the first play
    wrong           map of expression to the code with which it is refused

A play begins with `moves`: options, outcomes of chance and `{reply: text}`, in the order in which
they are asked for; of seats who act at once in role order; those with one option too. Then it says
what is true there:

    asked           the seats that are asked
    legal           the options of the first of them, or a map of seat to options
    chance          the outcomes of chance with their probabilities
    pays, rewards   what each seat has at the end, in role order or by name
    ends            whether the play is over
    fails           true: the last move meets what has no value
    refused         why the last reply is refused
    knows           map of seat to what it has seen
    keys            map of seat to the key of the information set in which it is asked
    alike, apart    map of seat to other moves, after which it has seen the same, or not
    says, omits     parts that the prompt of the first seat asked has, or has not

Everything is a text (YAML's own types are not looked at), numbers are exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CASES = Path(__file__).parent / "cases"
RULE = re.compile(r"^(\d+\.\d+\.\d+):", re.MULTILINE)


class Case(NamedTuple):
    rule: str
    number: int
    content: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.rule}-{self.number}"


def read_chapters() -> Iterator[tuple[Path, dict[str, list[Any]]]]:
    """Yields each file with its cases by rule. Raises ValueError if a rule stands twice."""
    for path in sorted(CASES.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        rules = RULE.findall(text)
        twice = sorted({rule for rule in rules if rules.count(rule) > 1})
        if twice:
            raise ValueError(f"{path.name} has {', '.join(twice)} twice")
        yield path, yaml.load(text, Loader=yaml.BaseLoader)


def cases() -> list[Case]:
    """Returns the cases that have a game, in order."""
    return [
        Case(rule, number, case)
        for _, chapter in read_chapters()
        for rule, found in chapter.items()
        for number, case in enumerate(found, 1)
        if isinstance(case, dict)
    ]


def references() -> list[tuple[str, str]]:
    """Returns (rule, test) for each case that is a test elsewhere."""
    return [
        (rule, case)
        for _, chapter in read_chapters()
        for rule, found in chapter.items()
        for case in found
        if isinstance(case, str)
    ]


def exact(value: Any) -> Fraction | None:
    """Returns a number of a case: `8/5`, `0.1`, or None for `void`."""
    return None if value in (None, "void") else Fraction(str(value))
