"""Mutations of files: of their YAML trees, of expressions and templates in them, of their bytes.

A tree is a list: `["map", [[key, tree], ...]]`, `["list", [tree, ...]]` or `["leaf", text, plain]`,
where `plain` says that it stood in the file without quotes. `write_tree` writes one entry a line,
so that a failing file is made smaller line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import yaml

Tree = list[Any]

EXTREMES = (
    "0", "-1", "1", "2", "7", "63", "64", "100", "1000", "65536", "1000000", "2147483648",
    "9007199254740993", "99999999999999999999", "1" + "0" * 400, "0.1", "1/3", "1/0", "-1/7",
    "1e3", "1e308", "1e400", "1e-400", "1e999999999", "1e-99999999", "0x10", "1_000", "08", ".5",
    ".inf", ".nan", "true", "false", "none", "null", "~", "", "2 ** 62", "10 ** 100", "9 ** 9 ** 9",
    "0..0", "1..0", "0..1000000", "-5..5", "0..99999999999",
)  # fmt: skip

WORDS = (
    "me", "other", "others", "all", "roles", "owner", "nobody", "everyone", "actions", "turns",
    "choose", "draw", "deal", "show", "do", "pay", "use", "repeat", "each", "until", "if", "per",
    "from", "seen_by", "knows", "nothing", "role", "say", "read", "valid", "max_tokens", "call",
    "state", "let", "params", "types", "payoffs", "rewards", "labels", "prompts", "view", "claims",
    "scores", "data", "count", "at_most", "while", "as", "when", "args", "extends", "protocol",
    "on_invalid", "respond", "think", "retry", "then", "forfeit", "skip", "void", "train", "start",
    "list", "set", "bag", "grid", "int", "bool", "number", "text", "text(20)", "int(0, 3)", "stage",
    "fields", "file", "take", "fresh", "masked", "symmetric", "zero_sum", "common_payoff", "about",
    "sum", "max", "min", "len", "any", "size", "keys", "sorted", "argmax", "argmin", "abs", "count",
    "past(x)", "cycle(roles)", "other(me)", "not", "and", "or", "in", "else", "for x in roles",
    "simultaneous", "alternate", "repeated", "shared", "margin", "game", "reward", "end", "lasts",
    "run", "step", "_", "x", "i", "choice", "options", "actor",
)  # fmt: skip

DEEPEST = 110
"""Levels up to which a tree is nested further: more than a file may have."""

OPERATORS = (
    "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "=", "+=", "-=", "..",
    ".", ",", ";", ":", "(", ")", "[", "]", "{", "}", "|", "&", "?", "!", "->", "=>", "'", '"',
    " and ", " or ", " not ", " in ", " if ", " else ", " for ", "\n",
)  # fmt: skip

TEMPLATES = (
    "{{ 9" + "9" * 5_000 + " }}", "{{ choice }}", "{{ options | join(', ') }}", "{{ me }}",
    "{% for a in options %}{{ a }}{{ loop.index }}{% endfor %}", "{% set x = 'ab' * 9999999 %}",
    "{% for a in roles %}{% for b in roles %}{% for c in roles %}{{ a }}{% endfor %}{% endfor %}"
    "{% endfor %}", "{{ ''.__class__.__mro__ }}", "{{ [1] * 10 ** 9 }}", "{{ 2 ** 9 ** 9 }}",
    "{{", "}}", "{%", "%}", "{#", "{% raw %}", "{% if me %}", "{% endif %}", "{{ x }}", "{{ 1/0 }}",
    "{{ 'a' | center(100000000) }}", "{{ options | length }}", "{{ options[0] }}", "{{ rounds }}",
    "{{ " + "(" * 300 + "1" + ")" * 300 + " }}", "{{ " + "-" * 3_000 + "1 }}",
    "{{ actor ~ choice }}",
    "{% set x = options %}{% set x = x ~ x %}{{ x }}", "{% include 'a' %}", "{% macro f() %}",
    "{{ range(999999999) | list }}", "{{ choice.keep }}", "{{ seen }}", "{{ me | tojson }}",
    "<|im_start|>system", "{{ '%s' | format(me) }}", "{{ self }}", "{{ cycler }}",
)  # fmt: skip

ODD_CHARACTERS = (
    "\x00", "\x07", "\x1b[2J", "\x7f", "\x85", "\u200b", "\u202e", "\u2028", "\ufeff", "\ud800",
    "\ufffe", "\U0010ffff", "\u0301", "é", "👍🏽", "\t", "\r", "\n", "٣", "＝", "\u00a0",
)  # fmt: skip

ODD_BYTES = (
    b"\x00", b"\xff", b"\xfe\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80", b"\xe2\x80",
    b"\xe2\x80\xae", b"\xef\xbb\xbf", b"\t", b"\r", b"\n", b"&a ", b"*a", b"!!python/object:x ",
    b"!t ", b"- ", b"? ", b": ", b"#", b"%YAML 1.1\n", b"---\n", b"...\n", b"|", b">-", b"'", b'"',
    b"{", b"}", b"[", b"]", b",", b"<<: ", b"@", b"`", b"\\", b"\\u0000", b"\\ud800", b"[" * 200,
    b"{a: " * 200, b"- " * 200, b"9" * 5_000, b"1e999999999", b"(" * 2_000, b"- - - ",
)  # fmt: skip


def read_tree(text: str) -> Tree:
    """Returns the tree of a YAML text that is well-formed."""
    node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return _tree(node)


def _tree(node: yaml.Node) -> Tree:
    match node:
        case yaml.MappingNode():
            return ["map", [[str(key.value), _tree(value)] for key, value in node.value]]
        case yaml.SequenceNode():
            return ["list", [_tree(item) for item in node.value]]
        case _:
            return ["leaf", str(node.value), not node.style]


_PLAIN_KEY = re.compile(r"[\w.()|, +*-]*\w[\w.()|, +*-]*")


def write_tree(tree: Tree, indent: str = "") -> str:
    """Returns a tree as YAML, one entry a line."""
    kind = tree[0]
    if kind == "leaf":
        text = tree[1]
        plain = tree[2] and "\n" not in text
        return f"{text if plain else json.dumps(text, ensure_ascii=False)}\n"
    if not tree[1]:
        return "{}\n" if kind == "map" else "[]\n"
    lines = []
    for entry in tree[1]:
        key, value = entry if kind == "map" else ("", entry)
        head = "- " if kind == "list" else f"{_key(key)}: "
        nested = value[0] != "leaf" and value[1]
        deeper = indent + "  "
        body = write_tree(value, deeper)
        lines.append(f"{indent}{head.rstrip()}\n{body}" if nested else f"{indent}{head}{body}")
    return "".join(lines)


def _key(key: str) -> str:
    plain = _PLAIN_KEY.fullmatch(key) and not key.startswith(("-", " ", "*", "|", ",", "."))
    return key if plain else json.dumps(key, ensure_ascii=False)


def subtrees(tree: Tree) -> Iterator[Tree]:
    """Yields a tree and everything in it."""
    yield tree
    if tree[0] != "leaf":
        for entry in tree[1]:
            yield from subtrees(entry[1] if tree[0] == "map" else entry)


def copied(tree: Any) -> Any:
    """Returns a tree, or an entry of one, as a copy."""
    return [copied(part) for part in tree] if isinstance(tree, list) else tree


def _depth(tree: Tree) -> int:
    if tree[0] == "leaf" or not tree[1]:
        return 1
    return 1 + max(_depth(entry[1] if tree[0] == "map" else entry) for entry in tree[1])


def leaves(tree: Tree) -> list[Tree]:
    """Returns the leaves of a tree."""
    return [part for part in subtrees(tree) if part[0] == "leaf"]


def mutate_tree(tree: Tree, donors: list[Tree], random: Random) -> None:
    """Changes one thing in a tree, perhaps with a part of a donor."""
    inner = [part for part in subtrees(tree) if part[0] != "leaf" and part[1]]
    if not inner:
        return
    change = random.choice(TREE_CHANGES)
    change(random.choice(inner), tree, random.choice(donors), random)


def _delete(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    del part[1][random.randrange(len(part[1]))]


def _duplicate(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    times = random.choice((1, 1, 1, 2, 60))
    entry = random.choice(part[1])
    at = random.randint(0, len(part[1]))
    part[1][at:at] = [copied(entry) for _ in range(times)]


def _swap(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    one, other = random.choice(list(subtrees(tree))), random.choice(list(subtrees(tree)))
    if not _inside(one, other) and not _inside(other, one):
        one[:], other[:] = other[:], one[:]


def _inside(one: Tree, other: Tree) -> bool:
    return any(part is one for part in subtrees(other))


def _move(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    part[1].insert(random.randrange(len(part[1])), part[1].pop(random.randrange(len(part[1]))))


def _splice(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    """Puts a part of the donor in the place of a value."""
    part = random.choice(list(subtrees(part))[:30])
    part[:] = copied(random.choice(list(subtrees(donor))[1:] or [donor]))


def _splice_section(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    """Puts a section of the donor beside those that are there, or in the place of its namesake."""
    if tree[0] != "map" or donor[0] != "map" or len(donor[1]) < 2:
        return
    key, value = copied(random.choice(donor[1][1:]))
    tree[1][:] = [entry for entry in tree[1] if entry[0] != key]
    tree[1].append([key, value])


def _adopt(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    """Adds an entry of a map or list of the donor to one of the same kind."""
    like = [p for p in subtrees(donor) if p[0] == part[0] and p[1] and p is not donor]
    if like:
        entry = copied(random.choice(random.choice(like)[1]))
        part[1].insert(random.randint(0, len(part[1])), entry)


def _retype(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    part = random.choice(list(subtrees(part)))
    old = copied(part)
    part[:] = random.choice((
        ["list", [old]], ["list", []], ["map", []], ["map", [[random.choice(WORDS), old]]],
        ["leaf", random.choice(EXTREMES), True], ["leaf", random.choice(WORDS), True],
        ["leaf", old[1], not old[2]] if old[0] == "leaf" else ["leaf", "null", True],
    ))  # fmt: skip


def _rename(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    if part[0] == "map":
        entry = random.choice(part[1])
        entry[0] = random.choice((random.choice(WORDS), entry[0] + random.choice(ODD_CHARACTERS)))


def _nest(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    """Puts a part inside itself some times over."""
    inner = random.choice(list(subtrees(part))[:20])
    for _ in range(random.choice((1, 2, 30))):
        if sum(1 for _ in subtrees(part)) > 3_000 or _depth(tree) > DEEPEST:
            return
        inner[:] = copied(part)
        inner = random.choice(list(subtrees(inner))[:20])


def _change_leaf(part: Tree, tree: Tree, donor: Tree, random: Random) -> None:
    found = leaves(tree)
    if found:
        leaf = random.choice(found)
        others = [other[1] for other in leaves(donor)] or ["x"]
        if random.random() < 0.6:
            own = [leaf[1] for leaf in found]
            leaf[1] = _replaced(leaf[1], own if random.random() < 0.8 else others, random)
        else:
            leaf[1] = mutate_text(leaf[1], others, random)
            leaf[2] = leaf[2] and random.random() < 0.5


Change = Callable[[Tree, Tree, Tree, Random], None]

TREE_CHANGES: tuple[Change, ...] = (
    _delete, _duplicate, _swap, _move, _splice, _splice_section, _splice_section, _adopt, _retype,
    _rename, _nest, *(_change_leaf,) * 9,
)  # fmt: skip

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


def mutate_text(text: str, others: list[str], random: Random) -> str:
    """Returns an expression or template with one thing changed, perhaps with a part of others."""
    tokens = _TOKEN.findall(text) or [""]
    at = random.randrange(len(tokens))
    match random.randrange(15):
        case 0 | 1:
            tokens[at] = random.choice(EXTREMES)
        case 2:
            tokens[at] = random.choice(WORDS)
        case 3:
            tokens[at] = random.choice(OPERATORS)
        case 4:
            tokens[at] = random.choice(tokens)
        case 5:
            tokens.insert(at, random.choice((*OPERATORS, *WORDS)))
        case 6:
            del tokens[at]
        case 7:
            tokens[at] = random.choice(_TOKEN.findall(random.choice(others)) or ["x"])
        case 8:
            return random.choice(others)
        case 9:
            return f"({text}) {random.choice(OPERATORS)} ({random.choice(others)})"
        case 10:
            return _nested(text, random)
        case 11:
            tokens.insert(at, random.choice(TEMPLATES))
        case 12:
            tokens.insert(at, random.choice(ODD_CHARACTERS))
        case 13:
            numbers = [i for i, token in enumerate(tokens) if token.isdecimal()]
            if numbers:
                tokens[random.choice(numbers)] = random.choice(EXTREMES)
        case _:
            other = random.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


KIN = (
    ("+", "-", "*", "/", "//", "%", "**"),
    ("==", "!=", "<", "<=", ">", ">="),
    ("and", "or"),
    ("sum", "max", "min", "len", "any", "all", "size", "abs", "sorted", "set", "list"),
    ("me", "other", "others", "roles", "role", "all", "owner", "nobody", "everyone"),
    ("forfeit", "skip", "void", "play"),
    ("true", "false", "none", "1", "0"),
)  # fmt: skip
"""Words that may stand where one of them stands, so that many a file still compiles."""

SMALL = ("0", "1", "2", "3", "4", "5", "-1", "1/2", "12", "30")
_LONG_TOKEN = re.compile(r"\w+|\s+|==|!=|<=|>=|//|\*\*|[^\w\s]")


def _replaced(text: str, others: list[str], random: Random) -> str:
    """Returns a text with one word replaced by one of its kind: a number by a number, a name by
    one of the same file."""
    tokens = _LONG_TOKEN.findall(text)
    words = [i for i, token in enumerate(tokens) if not token.isspace()]
    if not words:
        return text
    at = random.choice(words)
    token = tokens[at]
    kin = next((kin for kin in KIN if token in kin), None)
    if token.isdecimal():
        tokens[at] = random.choice(SMALL)
    elif kin and random.random() < 0.7:
        tokens[at] = random.choice(kin)
    else:
        names = re.findall(r"[^\W\d]\w*", random.choice(others))
        tokens[at] = random.choice(names or ["me"])
    return "".join(tokens)


def _nested(text: str, random: Random) -> str:
    times = random.choice((2, 5, 20, 90, 3_000))
    few = min(times, 20)
    return random.choice((
        "(" * times + text + ")" * times,
        "-" * times + text,
        "not " * times + text,
        " + ".join([text] * min(times, 300)),
        f"({text})" + f" ** ({text})" * few,
        f"sum({text} for x in 0..{times * 10})",
        "sum(" * few + text + "".join(f" for x{i} in 0..9)" for i in range(few)),
        "abs(" * times + text + ")" * times,
        "[" * times + text + "]" * times,
        f"{text} if " * few + text + f" else {text}" * few,
        f"list({text} for x in 0..{random.choice(EXTREMES)})",
        text * min(times, 300),
    ))  # fmt: skip


def mutate_bytes(content: bytes, random: Random) -> bytes:
    """Returns bytes with one thing changed."""
    size = len(content)
    at = random.randint(0, size)
    upto = min(size, at + random.choice((1, 1, 4, 30, 300)))
    match random.randrange(9):
        case 0 if at < size:
            return (
                content[:at] + bytes((content[at] ^ 1 << random.randrange(8),)) + content[at + 1 :]
            )
        case 1:
            return content[:at]
        case 2:
            return content[:at] + content[upto:]
        case 3:
            return content[:at] + content[at:upto] * random.choice((2, 3, 1_000)) + content[upto:]
        case 4:
            lines = content.split(b"\n")
            lines.insert(random.randint(0, len(lines)), random.choice(lines))
            return b"\n".join(lines)
        case 5:
            lines = content.split(b"\n")
            line = random.randrange(len(lines))
            lines[line] = b" " * random.randrange(5) + lines[line].lstrip()
            return b"\n".join(lines)
        case 6:
            odd = random.choice(EXTREMES).encode()
            numbers = list(re.finditer(rb"\d+", content))
            if not numbers:
                return content + odd
            found = random.choice(numbers)
            return content[: found.start()] + odd + content[found.end() :]
        case 7:
            odd = random.choice(ODD_CHARACTERS).encode("utf-8", "surrogatepass")
            return content[:at] + odd + content[at:]
        case _:
            return content[:at] + random.choice(ODD_BYTES) + content[at:]
