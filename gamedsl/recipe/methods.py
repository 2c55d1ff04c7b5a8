"""The registry of training methods, and the whole table of settings that follows from it.

A method is one file, `gamedsl/training/methods/NAME.py`, and one row of `METHODS`. The file
declares the method as `METHOD`, a `MethodSpec`: the settings that it brings, which of the shared
ones it reads, its defaults and its conflicts. It imports torch inside functions only, so that a
recipe can be checked without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

from gamedsl.recipe.conflicts import Conflict
from gamedsl.recipe.presets import PRESETS
from gamedsl.recipe.setting import ReadIf, SettingSpec, specs
from gamedsl.recipe.table import Recipe
from gamedsl.storage.shapes import Shape

METHODS = {
    "grpo": "gamedsl.training.methods.grpo",
    "magnet": "gamedsl.training.methods.magnet",
    "project": "gamedsl.training.methods.project",
    "expert": "gamedsl.training.methods.expert",
}
"""The module of each method."""


@dataclass(frozen=True)
class MethodSpec:
    """The declaration of a training method.

    doc: continues "how the policy learns:" on the reference page.
    start: makes the method, as `gamedsl.training.methods.base` describes it, for a learner.
    settings: the classes of settings that it brings, by the name of their group.
    reads: those settings or groups, brought by others or shared, that only some methods read.
    reads_if: the conditions under which it reads settings that all methods read.
    defaults: its own defaults of shared settings, as users write them.
    conflicts: what does not fit together under this method.
    closed_because: why it trains closed games alone; None where it trains games in words too.
    mixes: whether it settles at mixed equilibria of what is rewarded.
    facts: what a dry run of a closed game says of it, each fact with its name, given the recipe,
        the policy, and the queries of all decisions that are learned, if these are known.
    swaps_adapters: whether an update scores another policy, with other adapters in the model.
    records: the fields that it adds to the record of a step, each with its shape and its meaning.
    """

    doc: str
    start: Callable[[Any], Any]
    settings: Mapping[str, type] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    reads_if: Mapping[str, ReadIf] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    conflicts: tuple[Conflict, ...] = ()
    closed_because: str | None = None
    mixes: bool = False
    facts: Callable[[Recipe, Any, Sequence[Any]], list[tuple[str, str]]] = lambda *asked: []
    swaps_adapters: Callable[[Recipe], bool] = lambda recipe: False
    records: Mapping[str, tuple[Shape, str]] = field(default_factory=dict)


@cache
def method_spec(name: str) -> MethodSpec:
    """The declaration of a method."""
    spec: MethodSpec = import_module(METHODS[name]).METHOD
    return spec


@cache
def table() -> Mapping[str, SettingSpec]:
    """The rows of all settings by name: the shared ones, then those that methods bring."""
    rows = list(specs(Recipe))
    for method in map(method_spec, METHODS):
        for name, settings in method.settings.items():
            rows += specs(settings, f"{name}.")
    return {row.name: _completed(row) for row in rows}


def _completed(row: SettingSpec) -> SettingSpec:
    """A row with what the registry says of it."""
    if row.name == "method":
        docs = [f"`{name}`: {method_spec(name).doc}" for name in METHODS]
        speaking = tuple(name for name in METHODS if method_spec(name).closed_because is None)
        return replace(
            row, kind="word", choices=tuple(METHODS), in_words=speaking,
            doc="how the policy learns; " + "; ".join(docs),
        )  # fmt: skip
    if row.name == "preset":
        docs = [f"`{name}`: {one.doc} ({one.paper})" for name, one in PRESETS.items()]
        return replace(
            row, kind="word", choices=("none", *PRESETS),
            doc="a published variant of `grpo`, as defaults of other settings; " + "; ".join(docs),
        )  # fmt: skip
    conditions = tuple(
        replace(condition, method=name) for name in METHODS
        if (condition := method_spec(name).reads_if.get(row.name)) is not None
    )  # fmt: skip
    row = replace(row, read_if=(*row.read_if, *conditions))
    readers = [name for name in METHODS if _reads(method_spec(name), row)]
    if not readers:
        return row
    instead = f"`method: {readers[0]}`" if len(readers) < 3 else "another `method`"
    only = ReadIf("method", lambda method: method in readers, instead)
    closed = all(method_spec(name).closed_because is not None for name in readers)
    return replace(row, read_if=(only, *row.read_if), closed_only=row.closed_only or closed)


def _reads(method: MethodSpec, row: SettingSpec) -> bool:
    return any(name in (row.name, row.group) for name in (*method.settings, *method.reads))


def default_of(row: SettingSpec, method: str, preset: str | None = None) -> Any:
    """The default of a setting under a method and a preset, as users write it."""
    if preset is not None and row.name in PRESETS[preset].settings:
        return PRESETS[preset].settings[row.name]
    return method_spec(method).defaults.get(row.name, row.default)
