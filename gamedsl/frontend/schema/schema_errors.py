"""jsonschema's errors as problems: at the node that is wrong, in words for people.

None of jsonschema's own text gets out. Keywords of ours in the schemas: `says` (how a message
calls the thing), `head` (the key by which one branch of an `anyOf` is recognised) and `family`
(what its branches are kinds of).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import islice
from typing import Any

from gamedsl.diagnostics.fixes import Fix, Help, respell, substitute
from gamedsl.diagnostics.model import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.schema import tagged_unions
from gamedsl.frontend.schema.tagged_unions import MOST_KEYS, head_of
from gamedsl.frontend.schema.wording import describe, listed, sample, yaml_text
from gamedsl.frontend.source.cut_expressions import LISTED_WORDS, quoted
from gamedsl.frontend.source.edits import add_entry, delete_item, key_of, nodes_around, respell_key
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence


def _node_at(root: Node, path: Any) -> tuple[Node, Entry | None]:
    """The node at a path of keys and indices, and the last map entry on the way to it."""
    node, entry = root, None
    for step in path:
        if isinstance(node, Mapping):
            entry = node.entry(step)
            assert entry is not None
            node = entry.value
        else:
            assert isinstance(node, Sequence)
            node = node.items[step]
    return node, entry


def translate(error: Any, root: Node, problems: Problems) -> None:
    node, entry = _node_at(root, error.absolute_path)
    if "propertyNames" in error.schema_path and isinstance(error.instance, str):
        _bad_key(error, node, problems)
        return
    if error.validator == "anyOf":
        _choose_branch(error, node, entry, root, problems)
        return
    handler = _HANDLERS.get(error.validator)
    if handler is not None:
        handler(error, node, entry, problems)


def _bad_key(error: Any, node: Node, problems: Problems) -> None:
    assert isinstance(node, Mapping)
    entry = node.entry(error.instance)
    assert entry is not None
    if error.validator == "not":
        tagged_unions.reserved_field(error.instance, entry.key.span, problems)
        return
    _not_a_name(error, entry.key, problems)


def _not_a_name(error: Any, node: Node, problems: Problems) -> None:
    text = node.text if isinstance(node, Scalar) else ""
    wanted = error.schema.get("says", "a name")
    file = re.fullmatch(r"(?:.*/)?(.+)\.ya?ml", text.strip())
    stem = file[1] if file else text.strip()
    near = "".join(c if c.isascii() and c.isalnum() else "_" for c in stem).strip("_")
    if error.schema.get("pattern", "").startswith("^[a-z]["):
        near = near.lower()
    place = "place" in wanted
    fits = near[:1].isalpha() and len(near) < 60 and not place
    fix = substitute(node.span, near, f"write `{near}`") if fits else ""
    nodes = nodes_around(node.span)
    around = [each for each in nodes if isinstance(each, Sequence)]
    if re.search(r" for \w+ in ", text) and around and around[-1].span.text.startswith("["):
        whole = quoted(" ".join(around[-1].span.text.split()))
        fix = substitute(around[-1].span, whole, f"quote the expression: {whole}")
    root = nodes[0] if nodes else None
    if not fix and isinstance(root, Mapping) and root.get("labels") in nodes:
        fix = (
            "only names have labels: name the options themselves, as in `from: {one: 1, two: 2}`, "
            "and delete this"
        )
    what = f"`{text}`" if text else "the empty text"
    problems.add("GD0106", f"{what} is not a name", node.span, why=f"wants {wanted}", help=fix)


_ELSEWHERE = {
    "agents": "roles", "players": "roles", "description": "about", "summary": "about",
    "title": "about", "instructions": "rules", "parameters": "params", "constants": "params",
    "states": "state", "variables": "state", "moves": "actions", "steps": "turns",
    "phases": "turns", "utilities": "payoffs", "utility": "payoffs", "returns": "payoffs",
    "definitions": "let", "functions": "let", "observations": "view",
}  # fmt: skip
"""Sections of files of other tools, and what ours are called."""

_SECRETS = ("hidden", "secret", "private", "visible", "visible_to", "known_to", "visibility")
"""What others call the key that says who sees something."""

_JUDGES = ("judge", "judges", "referee", "evaluator", "grader")


def _section_help(key: Scalar, value: Node, known: list[str], heads: list[str]) -> Help:
    """Returns the fix of an unknown key: the one that was meant, by its letters or its meaning.
    `heads` are keys that make the map another thing."""
    name = key.text.lower()
    if name in _SECRETS and "seen_by" in known:
        return "`seen_by` says who sees it: `seen_by: owner`, or `all`, `nobody` or roles"
    if name in _JUDGES and "referees" in known and not did_you_mean(name, known):
        return f"who judges acts as a role does: write `referees: [{name}]`, and a step for it"
    meant = _ELSEWHERE.get(name)
    near = did_you_mean(name, [*known, *heads])
    near = near or (meant if meant in known and "turns" in known else None)
    near = near or _meant_of_step(name, known)
    listed_keys = f"known: {', '.join(known)}"
    if "params" in known and isinstance(value, Scalar) and _is_number(value):
        entry = f"`params: {{{key.text}: {value.text}}}`"
        listed_keys = f"a number of the rules is a param, {entry}; {listed_keys}"
    return respell_key(key.span, near, listed_keys)


_OF_STEPS = {"options": "from", "choices": "from", "moves": "from", "player": "role"}
"""What others call keys of a step that chooses, and what ours are called."""


def _meant_of_step(name: str, known: Iterable[str]) -> str | None:
    """Returns the key of a `choose` step that another word stands for."""
    return _OF_STEPS.get(name) if "choose" in known else None


def _is_number(node: Scalar) -> bool:
    return isinstance(node.value, int | Fraction) and not isinstance(node.value, bool)


def _unknown_keys(error: Any, node: Node, entry: Entry | None, problems: Problems) -> None:
    assert isinstance(node, Mapping)
    known = list(error.schema["properties"])
    family = error.parent.schema.get("family") if error.parent and not error.relative_path else None
    told: frozenset[str] = frozenset()
    heads: list[str] = []
    if family is not None:
        branches = error.parent.validator_value
        heads = [head for branch in branches for head in tagged_unions.heads_of(branch)]
        told = tagged_unions.misfits(error.schema, error.parent.validator_value, node, problems)
    if family == "effect" and tagged_unions.elsewhere(family, node, problems):
        told |= set(tagged_unions.STEP_HEADS)
    unknown = (each for each in node.entries if each.key.text not in {*known, *told})
    for each in islice(unknown, MOST_KEYS):
        name = each.key.text
        problems.add(
            "GD0101",
            f"unknown key `{name}`",
            each.key.span,
            why=f"not a key of {error.schema.get('says', 'this map')}",
            help=_section_help(each.key, each.value, known, heads),
        )


def _missing_keys(error: Any, node: Node, entry: Entry | None, problems: Problems) -> None:
    assert isinstance(node, Mapping)
    properties = error.schema.get("properties", {})
    misspelt = {
        did_you_mean(entry.key.text, properties) or _meant_of_step(entry.key.text, properties)
        for entry in node.entries[:MOST_KEYS]
        if entry.key.text not in properties and error.schema.get("additionalProperties") is False
    }
    for name in error.validator_value:
        if node.get(name) is None and name not in misspelt:
            missing(name, properties.get(name, {}), node, error.schema.get("says"), problems)


def missing(name: str, part: dict[str, Any], node: Mapping, what: Any, problems: Problems) -> None:
    problems.add(
        "GD0102",
        f"`{name}` is missing",
        head_of(node),
        why=f"{what or 'this map'} needs `{name}`",
        help=_added(node, f"{name}: {sample(name, part)}"),
    )


def _added(node: Mapping, entry: str) -> Fix:
    """Returns the fix that adds an entry to a map; a value to be filled in is not written."""
    edits = () if "<" in entry else add_entry(head_of(node), entry)
    return Fix(f"add `{entry}`", edits)


def _wrong_type(error: Any, node: Node, entry: Entry | None, problems: Problems) -> None:
    wanted = error.schema.get("says") or _type_words(error.validator_value)
    if entry is not None and entry.key.text == "turns" and isinstance(node, Mapping):
        if len(error.absolute_path) > 1 or not _EXTENDS.search(node.span.source.text):
            problems.add(
                "GD0103",
                "`turns` is a list of steps, and this is a map",
                entry.key.span,
                why="a map",
                help=_one_item(node),
            )
            return
        problems.add(
            "GD0113",
            "`turns` cannot be patched: it is a list, replaced as a whole",
            entry.key.span,
            why="a map here",
            help="write all steps again, each beginning with `- `",
        )
        return
    what = f"`{entry.key.text}`" if entry is not None and entry.value is node else "this item"
    problems.add(
        "GD0103",
        f"{what} wants {wanted}, and this is {describe(node)}",
        _first_line(node),
        why=describe(node),
        help=_one_name(node, wanted)
        or listed_words(node, wanted)
        or _seats(node, wanted)
        or _listed_map(node, wanted)
        or _quote_help(node, wanted),
    )


_EXTENDS = re.compile(r"^extends\s*:", re.MULTILINE)


def _one_item(node: Mapping) -> Fix:
    """Returns the fix of a map that stands for a list of maps: it is the one item, if it can be."""
    said, text = "begin each step with `- `", node.span.text
    if text.startswith("{"):
        return substitute(node.span, f"[{text}]", "write a list: `[{…}]`, or begin each with `- `")
    if not any(entry.key.text in tagged_unions.STEP_HEADS for entry in node):
        return Fix(said)
    return substitute(node.span, "- " + text.replace("\n", "\n  "), said)


def _first_line(node: Node) -> Span:
    if isinstance(node, Mapping) and node.entries and "\n" in node.span.text:
        return node.entries[0].key.span
    return node.span


def listed_words(node: Node, wanted: str) -> Help:
    """Returns the fix of words that are to be a list and have no brackets."""
    if not wanted.startswith("a list") or not isinstance(node, Scalar):
        return ""
    if not LISTED_WORDS.fullmatch(node.text):
        return ""
    return substitute(node.span, f"[{node.text}]", f"a list has brackets: `[{node.text}]`")


def _one_name(node: Node, wanted: str) -> Help:
    """Returns the fix of one name that is to be a list of names."""
    names = wanted.startswith(("a list of names", "a list of roles"))
    if not names or not isinstance(node, Scalar) or not node.text.isidentifier():
        return ""
    return substitute(node.span, f"[{node.text}]", f"a list has brackets: `[{node.text}]`")


def _seats(node: Node, wanted: str) -> Help:
    """Returns the fix of a number that is to be a map of names to numbers of seats."""
    if "numbers of seats" not in wanted or not isinstance(node, Scalar) or not _is_number(node):
        return ""
    whole = f"{{player: {node.text}}}"
    return substitute(node.span, whole, f"name them too: `{whole}`")


def _listed_map(node: Node, wanted: str) -> Help:
    """Returns the fix of a map that is to be a list: the list that holds it."""
    if "a list of expressions" not in wanted or not isinstance(node, Mapping):
        return ""
    text = node.span.text
    if not text.startswith("{") or len(text) >= 60:
        return "write a list, whose items are expressions or `title: expression`"
    return substitute(node.span, f"[{text}]", f"write a list: `[{text}]`")


def _quote_help(node: Node, wanted: str) -> Help:
    if not isinstance(node, Scalar) or node.value is None:
        return ""
    if wanted.startswith("a name") and isinstance(node.value, bool):
        return _truth_values(node)
    named = wanted.startswith("a name") and node.text.isidentifier()
    if named or wanted.startswith("a text"):
        return substitute(node.span, f'"{node.text}"', f'write quotes if it is text: "{node.text}"')
    return ""


def _truth_values(node: Scalar) -> Help:
    """Returns the fix of a truth value that stands for a name: a list of both is their type."""
    lists = [each for each in nodes_around(node.span) if isinstance(each, Sequence)]
    values = [item.value for item in lists[-1].items if isinstance(item, Scalar)] if lists else []
    if len(values) == 2 and {*values} == {True, False} and key_of(lists[-1].span).text != "roles":
        said = "`true` and `false` are the values of the type `truth`: write `truth`"
        return substitute(lists[-1].span, "truth", said)
    return "`true` and `false` are no names: choose another word, such as `yes` or `no`"


def _type_words(types: Any) -> str:
    words = {"object": "a map", "array": "a list", "string": "a text", "number": "a number"}
    words |= {"integer": "a whole number", "boolean": "a truth value"}
    names = [types] if isinstance(types, str) else types
    return " or ".join(words[name] for name in names if name in words)


def _not_one_of(error: Any, node: Node, entry: Entry | None, problems: Problems) -> None:
    allowed = [str(value) for value in error.validator_value]
    text = node.text if isinstance(node, Scalar) else describe(node)
    near = did_you_mean(text, allowed)
    what = f"`{entry.key.text}`" if entry is not None else "this"
    said = error.parent.schema.get("says", "") if error.parent is not None else ""
    known = said if said.startswith(f"`{allowed[0]}`") else listed(allowed)
    problems.add(
        "GD0104",
        f"{what} is one of {known}, not `{text}`",
        _first_line(node),
        why="none of these",
        help=respell(node.span, near, substitute(node.span, allowed[0], f"write `{allowed[0]}`")),
    )


def _too_small(error: Any, node: Node, entry: Entry | None, problems: Problems) -> None:
    what = f"`{entry.key.text}`" if entry is not None else "this number"
    message = f"{what} must be at least {error.validator_value}"
    least = str(error.validator_value)
    fix = substitute(node.span, least, f"write `{least}` or more")
    problems.add("GD0104", message, node.span, why="too small", help=fix)


_NEEDED = ("roles", "turns", "payoffs", "from", "role", "choose")
"""Keys without which what they are in says too little."""


def _empty(error: Any, node: Node, entry: Entry | None, problems: Problems) -> None:
    what = f"`{entry.key.text}`" if entry is not None and entry.value is node else "this"
    kind = {"minItems": "list", "minProperties": "map"}.get(error.validator, "text")
    wanted = error.schema.get("says", "a value")
    needed = entry is not None and entry.value is node and entry.key.text in _NEEDED
    fix = f"write {wanted}" + ("" if needed else ", or delete the key")
    problems.add("GD0116", f"{what} is an empty {kind}", node.span, why="empty", help=fix)


def _repeated(error: Any, node: Node, entry: Entry | None, problems: Problems) -> None:
    assert isinstance(node, Sequence)
    seen: dict[object, Node] = {}
    found = 0
    for item in node.items:
        text = yaml_text(item)
        value = item.value if isinstance(item, Scalar) else text
        first = seen.setdefault((isinstance(value, bool), value), item)
        if first is not item and found < MOST_KEYS:
            found += 1
            problems.add(
                "GD0118",
                f"`{text}` stands twice in this list",
                item.span,
                why="the second time",
                notes=(Note(first.span, "the first time"),),
                help=(chances := _chances(node, entry))
                or Fix("delete one of the two", delete_item(item.span)),
            )
            if chances is not None:  # one mistake, however often something stands there
                return


def _chances(node: Sequence, entry: Entry | None) -> Fix | None:
    """Returns the fix of a list from which chance draws something more often than the rest; None of
    any other list."""
    text = node.span.text
    steps = [each for each in nodes_around(node.span) if isinstance(each, Mapping)]
    drawn = steps and any(steps[-1].get(head) for head in ("draw", "deal"))
    if entry is None or entry.key.text != "from" or not drawn or not text.startswith("["):
        return None
    said = f"to draw it more often, write an expression: `from: {quoted(text)}`"
    return substitute(node.span, quoted(text), f"{said}; else delete one of the two")


def _pattern(error: Any, node: Node, entry: Entry | None, problems: Problems) -> None:
    _not_a_name(error, node, problems)


_HANDLERS: dict[str, Callable[[Any, Node, Entry | None, Problems], None]] = {
    "additionalProperties": _unknown_keys,
    "required": _missing_keys,
    "type": _wrong_type,
    "enum": _not_one_of,
    "pattern": _pattern,
    "minimum": _too_small,
    "minItems": _empty,
    "minProperties": _empty,
    "minLength": _empty,
    "uniqueItems": _repeated,
}


def _choose_branch(
    error: Any, node: Node, entry: Entry | None, root: Node, problems: Problems
) -> None:
    """Report the errors of the branch that was meant, or that none fits."""
    family = error.schema.get("family")
    branches: list[dict[str, Any]] = error.validator_value
    wrong: dict[int, list[Any]] = {}
    for sub in error.context:
        wrong.setdefault(sub.relative_schema_path[0], []).append(sub)
    headed = {i for i in wrong if tagged_unions.heads_of(branches[i])}
    there = tagged_unions.present(branches, node) if headed and isinstance(node, Mapping) else []
    fitting = {i: subs for i, subs in wrong.items() if not any(map(_is_type, subs))}
    if there:
        assert isinstance(node, Mapping)
        if len(there) > 1:
            names = [head for i in there for head in tagged_unions.heads_of(branches[i])]
            tagged_unions.two_heads(family, names, node, problems)
            return
        if family == "type" and tagged_unions.reserved(branches[there[0]], node, problems):
            return
        fitting = {i: wrong[i] for i in there}
    elif headed and isinstance(node, Mapping):
        fitting = {i: subs for i, subs in fitting.items() if i not in headed}
        if not fitting:
            tagged_unions.no_head(family, branches, node, problems)
            return
        if family == "type" and tagged_unions.misspelt_head(branches, node, problems):
            return
    if not fitting:
        _wrong_type(error, node, entry, problems)
        return
    best = min(fitting.values(), key=lambda subs: (_only_required(subs), len(subs)))
    for sub in best:
        translate(sub, root, problems)


def _is_type(error: Any) -> bool:
    return error.validator == "type" and not error.relative_path


def _only_required(errors: list[Any]) -> bool:
    return all(error.validator == "required" and not error.relative_path for error in errors)
