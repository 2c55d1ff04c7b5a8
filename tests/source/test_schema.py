"""The schemas are valid, describe every key for editors, and agree with the checks."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gamedsl.diagnostics.model import Problems
from gamedsl.frontend.schema import key_rules, shape, tagged_unions, validator
from gamedsl.frontend.source import loader
from gamedsl.recipe.methods import table
from gamedsl.recipe.schema import train_schema
from gamedsl.sema.library import Document, load_document

FOLDER = Path(shape.__file__).parent
GAMES = Path(__file__).parents[2] / "games"
KINDS = ("game", "protocol", "reward")

GOOD = {
    "poker": """
game: x
roles: [first, second]
types:
  Rank: [J, Q, K]
  Card: {rank: Rank, suit: [a, b]}
state:
  deck: {bag: Card, copies: "2 if rank == K else 1", seen_by: nobody}
  paid: {per: role, start: 1}
  raises: 0
  folder: none
actions:
  fold: {when: paid.me < max(paid), do: folder = me}
  pass: {}
  raise: {when: raises < 2, do: paid.me = max(paid) + size; raises += 1, roles: [second]}
turns:
  - {deal: card, from: deck, seen_by: owner}
  - each: size in [2, 4]
    until: folder != none
    turns:
      - {draw: board, from: deck, seen_by: all, if: size == 4}
      - {do: raises = 0}
      - each: cycle(roles)
        count: n
        at_most: {n: 4, then: go_on}
        turns:
          - {choose: move, from: actions}
payoffs: 0
""",
    "streams": """
game: x
roles: {agent: n}
params: {n: 3, copies: {1: 3, 2: 2}, sizes: {default: {small: 1}, about: Sizes.}}
types:
  Cell: {cell: [n, n]}
  Move: {values: {up: [-1, 0], stay: [0, 0]}}
  Thing: {fresh: n}
  Word: {file: words.txt, take: 8}
  Either: Thing | Word
state:
  at: {per: role, of: Cell}
  board: {grid: [3, 3], of: role or none, start: none}
  need: {per: [role, Move], of: 0..5, start: 3}
  hand: {per: role, list: Cell, at_most: 4, seen_by: others}
  seen: {set: Cell}
data:
  rows: {file: rows.jsonl, fields: {side: [left, right], weight: 1..5}}
turns:
  - {deal: at, from: Cell, seen_by: all}
  - {draw: row, from: rows, seen_by: {side: all, weight: [agent]}}
  - {draw: coin, per: [role, Move], from: {heads: 1/3, tails: 2/3}}
  - {each: roles, draw: hand.me, from: "2 of Cell"}
  - role: all
    repeat: 5
    turns:
      - {choose: move, from: Move}
      - {do: [at.me = move.me, "seen = {}"], each: roles, until: at.me == 3, at_most: 3}
      - {show: max(at), as: best, seen_by: agent}
      - {pay: local, value: {agent: 1}, if: move != none}
      - {pay: team, value: -1}
      - {use: betting, order: [agent], sizes: {small: 1}, weight: 2}
end: best == 3
no_move: pass
scores: {fairness: min(local), process: {agent: 1}}
rewards: {use: weighted, weights: {local: 0.7, fairness: 0.3}}
labels: {Word: {masked: alien, per: run}, up: north}
""",
}
NOT_YET = ["samples: 2", "swap: true"]
"""What a step might say, and cannot."""


def keys(part: Any, place: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every key that a file may have, with its subschema."""
    found = []
    if isinstance(part, dict):
        properties = part.get("properties")
        for name, sub in (properties if isinstance(properties, dict) else {}).items():
            found.append((f"{place}/{name}", sub))
        for name, sub in part.items():
            found += keys(sub, f"{place}/{name}")
    elif isinstance(part, list):
        for index, sub in enumerate(part):
            found += keys(sub, f"{place}/{index}")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_valid(kind: str) -> None:
    Draft202012Validator.check_schema(shape.schema(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_described_for_editors(kind: str) -> None:
    schema = shape.schema(kind)
    for place, part in keys(schema):
        told = dict(part)
        while "$ref" in told:
            told = {**schema["$defs"][told.pop("$ref").rpartition("/")[2]], **told}
        assert told.get("title"), place
        assert told.get("description"), place
        assert told.get("examples"), place


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_valid(kind: str) -> None:
    schema = shape.schema(kind)
    checked = 0
    for place, part in keys(schema):
        for example in part.get("examples", ()):
            sub = Draft202012Validator({**part, "$defs": schema["$defs"]})
            assert sub.is_valid(example), (place, example)
            checked += 1
    assert checked


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_key_is_required(kind: str) -> None:
    assert shape.schema(kind)["required"][0] == kind


def test_references_resolve_beside_the_file() -> None:
    shared = json.loads((FOLDER / "common.schema.json").read_text(encoding="utf-8"))
    for kind in KINDS:
        text = (FOLDER / f"{kind}.schema.json").read_text(encoding="utf-8")
        own = json.loads(text).get("$defs", {})
        for reference in _references(json.loads(text)):
            file, _, name = reference.partition("#/$defs/")
            other = json.loads((FOLDER / file).read_text(encoding="utf-8")) if file else {}
            assert name in other.get("$defs", own), reference
    for reference in _references(shared):
        assert reference.removeprefix("#/$defs/") in shared["$defs"]


def _references(part: Any) -> list[str]:
    if isinstance(part, dict):
        inner = [found for sub in part.values() for found in _references(sub)]
        return [part["$ref"], *inner] if isinstance(part.get("$ref"), str) else inner
    return [found for sub in part for found in _references(sub)] if isinstance(part, list) else []


def test_unions_have_words() -> None:
    """A message about a union calls it by `says`; without it the message would be empty."""
    for kind in KINDS:
        for place, part in _unions(shape.schema(kind)):
            assert part.get("says"), place


def _unions(part: Any, place: str = "") -> list[tuple[str, dict[str, Any]]]:
    found = []
    if isinstance(part, dict):
        found = [(place, part)] if "anyOf" in part else []
        for name, sub in part.items():
            found += _unions(sub, f"{place}/{name}")
    elif isinstance(part, list):
        for index, sub in enumerate(part):
            found += _unions(sub, f"{place}/{index}")
    return found


def problems_of(text: str, kind: str = "game") -> list[str]:
    problems = Problems()
    root = loader.parse(loader.from_text("x.yaml", text), problems)
    assert root is not None
    shape.check_shape(kind, root, problems)
    return [d.code for d in problems.found]


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_what_the_language_has_fits(text: str) -> None:
    assert problems_of(text) == []


def test_libraries_say_roles_and_streams() -> None:
    text = "params: {stage: {type: game}, order: {default: roles}, at_most: {default: none}}"
    turns = "turns:\n  - {choose: move, from: actions}\n"
    assert problems_of(f"protocol: x\n{text}\nroles: stage.roles\n{turns}", "protocol") == []
    assert problems_of("reward: x\nneeds: [team]\nsplit: team.me\n", "reward") == []


@pytest.mark.parametrize("key", NOT_YET)
def test_what_steps_cannot_say(key: str) -> None:
    step = f"{{role: all, choose: move, from: [a, b], {key}}}"
    assert problems_of(f"game: x\nturns:\n  - {step}\n") == ["GD0101"]


def test_the_heads_are_those_of_the_schema() -> None:
    branches = shape.schema("game")["$defs"]["step"]["anyOf"]
    assert tuple(branch["head"] for branch in branches) == tagged_unions.STEP_HEADS
    params = shape.schema("game")["$defs"]["param"]["anyOf"]
    found = [tuple(branch["head"]) for branch in params if "head" in branch]
    assert found == [key_rules.PARAM_KEYS]


def test_every_step_key_belongs_to_its_head() -> None:
    """Every key of one head, put into the step of another, is told to belong to the first."""
    branches = shape.schema("game")["$defs"]["step"]["anyOf"]
    loops = {"each", "until", "count", "at_most", *tagged_unions.STEP_HEADS}
    closed = [b for b in branches if b["head"] != "use"]
    keys = {key for branch in closed for key in branch["properties"]} - loops
    for branch in closed:
        own = "".join(f", {k}: a" for k in branch["required"] if k != "turns")
        own += ", turns: [{do: x}]" if branch["head"] == "turns" else ", each: roles"
        for key in sorted(keys - branch["properties"].keys()):
            found = problems_of(f"game: x\nturns:\n  - {{{own.strip(', ')}, {key}: a}}\n")
            assert found == ["GD0120"], (branch["head"], key)


def load(folder: Path, **files: str) -> tuple[Document | None, list[str]]:
    """The document of `game.yaml` among some files, and the problems of loading it."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    problems = Problems()
    return load_document(folder / "game.yaml", problems), [d.message for d in problems.found]


def test_a_protocol_may_bring_the_roles(tmp_path: Path) -> None:
    game = "game: x\nprotocol: {use: again, stage: stag_hunt}\n"
    turns = "params: {stage: {type: game}}\nturns:\n  - {use: stage}\n"
    found, told = load(tmp_path, game=game, again=f"protocol: again\nroles: stage.roles\n{turns}")
    assert (found is not None, told) == (True, [])
    assert load(tmp_path, again=f"protocol: again\n{turns}")[1] == ["`roles` is missing"]
    turns = "turns:\n  - {role: all, choose: move, from: actions}\n"
    found, told = load(tmp_path, again=f"protocol: again\nroles: stage.roles\n{turns}")
    assert told == ["`payoffs` is missing"]
    _, told = load(tmp_path, game="game: x\nprotocol: agian\n")
    assert told == ["there is no protocol `agian`"]


@pytest.mark.parametrize(
    ("step", "rest", "missing"),
    [
        ("{use: stag_hunt}", "", False),
        ("{turns: [{pay: team, value: 1}]}", "rewards: shared", False),
        ("{turns: [{pay: payoffs, value: 1}]}", "", False),
        ("{turns: [{pay: team, value: 1}]}", "", True),
        ("{turns: [{do: x = 1}]}", "rewards: shared", True),
        ("{turns: [{do: x = 1}]}", "scores: {team: 1}\nrewards: shared", False),
    ],
)
def test_where_payoffs_may_be_missing(step: str, rest: str, missing: bool, tmp_path: Path) -> None:
    game = f"game: x\nroles: [left, right]\nturns:\n  - {step}\n{rest}\n"
    told = load(tmp_path, game=game)[1]
    assert told == (["`payoffs` is missing"] if missing else [])


def test_extending_game_sets_map_params(tmp_path: Path) -> None:
    base = "game: base\nroles: [a]\npayoffs: 1\nprotocol: simultaneous\nparams:\n"
    base += "  copies: {1: 3, 2: 2}\n  sizes: {default: {small: 1}, about: Sizes.}\n"
    game = "game: x\nextends: base\nparams: {copies: {1: 1}, sizes: {large: 2}}\n"
    found, told = load(tmp_path, base=base, game=game)
    assert told == []
    assert found is not None
    params = shape.plain(found.root)["params"]
    assert params == {"copies": {"1": 1}, "sizes": {"default": {"large": 2}, "about": "Sizes."}}
    found, told = load(tmp_path, game="game: x\nextends: base\nparams: {copies: 3, sizes: 2}\n")
    assert found is not None
    params = shape.plain(found.root)["params"]
    assert params == {"copies": 3, "sizes": {"default": 2, "about": "Sizes."}}


@pytest.mark.parametrize(
    ("section", "base", "child"),
    [
        ("types", "{A: [x, y], B: 1..2}", "{B: 1..3}"),
        ("state", "{a: 0, b: 0}", "{b: {of: 1..3}}"),
        ("scores", "{a: 0, b: 0}", "{b: 1}"),
        ("data", "{r: {file: r, fields: {a: 1..2}}}", "{s: {file: s, fields: {a: 1..2}}}"),
        ("actions", "{up: {}, down: {}}", "{down: {do: x = 1}}"),
    ],
)
def test_sections_are_merged_entry_by_entry(
    section: str, base: str, child: str, tmp_path: Path
) -> None:
    text = f"game: base\nroles: [a]\npayoffs: 1\nprotocol: simultaneous\n{section}: {base}\n"
    found, told = load(tmp_path, base=text, game=f"game: x\nextends: base\n{section}: {child}\n")
    assert told == []
    assert found is not None
    merged = shape.plain(found.root)[section]
    before, after = (yaml_of(part) for part in (base, child))
    assert merged == {**before, **after}


def yaml_of(text: str) -> Any:
    root = loader.parse(loader.from_text("x.yaml", text), Problems())
    assert root is not None
    return shape.plain(root)


def test_many_problems_are_cut_off() -> None:
    text = "game: x\nlet:\n" + "".join(f"  a{i}: {{}}\n" for i in range(5000))
    assert len(problems_of(text)) == shape.MOST_ERRORS


def test_long_lists_are_checked_for_repeats_in_time() -> None:
    items = ", ".join(f"a{i}, {i}.5" for i in range(8000))
    assert problems_of(f"game: x\nactions: [{items}]\n") == []
    assert problems_of(f"game: x\nactions: [{items}, a7]\n") == ["GD0118"]


def test_numbers_stay_exact() -> None:
    big = "123456789" * 10
    assert problems_of(f"game: x\nactions: [{big}.25, {big}.75]\n") == []
    assert problems_of(f"game: x\npayoffs: [{big}e200, 1e-300]\nroles: {{a: 2.0}}\n") == []
    assert problems_of("game: x\nroles: {a: 2.5}\n") == ["GD0103"]


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, Any]:
    """Plain data that nearly fits: keys and values of all schemas, well and badly mixed."""
    kind = draw(st.sampled_from(KINDS))
    names = sorted({place.rpartition("/")[2] for place, _ in keys(shape.schema(kind))})
    word = st.sampled_from([*names, "all", "masked", "plain", "Up", "a b", "", "run", "number"])
    leaf = word | st.sampled_from([True, False, None, 0, 1, -1, 2, Fraction(1, 2), Fraction(1, 3)])
    tree = st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3),
        max_leaves=8,
    )
    examples = [e for _, part in keys(shape.schema(kind)) for e in part.get("examples", ())]
    value = tree | st.sampled_from(examples)
    sections = st.sampled_from(names)
    return kind, {kind: "x", **draw(st.dictionaries(sections, value, max_size=4))}


@settings(max_examples=600, deadline=None)
@given(documents())
@pytest.mark.slow
def test_the_quick_answer_is_that_of_jsonschema(document: tuple[str, Any]) -> None:
    kind, data = document
    schema = shape.schema(kind)
    assert validator.fits(schema, data) == Draft202012Validator(schema).is_valid(data)
    if kind != "game":
        merged = {**data, "turns": [{"use": "x"}], "split": "1"}
        merged.pop("turns" if kind == "reward" else "split")
        assert validator.fits(schema, merged) == Draft202012Validator(schema).is_valid(merged)


def test_the_quick_check_knows_every_keyword() -> None:
    for kind in KINDS:
        schema = shape.schema(kind)
        for part in _schemas(schema):
            assert part.keys() <= {*validator._RULES, *validator._IGNORED}


def _schemas(schema: Any) -> list[dict[str, Any]]:
    if not isinstance(schema, dict):
        return []
    inner = [schema.get(key) for key in ("items", "not", "additionalProperties", "propertyNames")]
    inner += schema.get("anyOf", [])
    for key in ("properties", "$defs"):
        inner += schema.get(key, {}).values()
    return [schema, *(found for sub in inner for found in _schemas(sub))]


def test_training_settings_fit_their_schema() -> None:
    """The defaults of all settings, and the recipes of the shipped games."""
    train = Draft202012Validator(train_schema()["$defs"]["train"])
    for row in table().values():
        if row.default is not None:
            head, _, tail = row.name.rpartition(".")
            value = row.plain(row.converted(row.default))
            nested = {head: {tail: value}} if head else {tail: value}
            assert train.is_valid(nested), nested
    documents = [load_document(file, Problems()) for file in sorted(GAMES.glob("*.yaml"))]
    given = [shape.plain(one.root).get("train") for one in documents if one is not None]
    assert len([recipe for recipe in given if recipe]) > 5
    assert [recipe for recipe in given if recipe and not train.is_valid(recipe)] == []
    for wrong in ({"steps": 0}, {"lr": "fast"}, {"lora": {"rnk": 4}}, {"method": "sgd"}):
        assert not train.is_valid(wrong)
