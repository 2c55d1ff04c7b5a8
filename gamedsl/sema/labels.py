"""The `labels` of a game: what its options are called in prompts."""

from __future__ import annotations

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar
from gamedsl.ir.game import Labels
from gamedsl.sema.scope import Names, TypeName


def read_labels(node: Node | None, names: Names, problems: Problems) -> Labels:
    """`plain` (the default), `masked`, `{masked: style, per: …}`, a map of name to text, or a map
    of type to masked labels."""
    if node is None:
        return Labels("plain")
    if isinstance(node, Scalar):
        return Labels("masked" if node.text == "masked" else "plain", span=node.span)
    assert isinstance(node, Mapping)
    if node.get("masked") is not None:
        return _masked(node)
    by_type = [entry for entry in node if isinstance(entry.value, Mapping)]
    if by_type:
        return _by_type(node, by_type, names, problems)
    written = [(e.key, e.value) for e in node if isinstance(e.value, Scalar)]
    fixed = tuple((key.text, value.text) for key, value in written)
    places = tuple((key.span, value.span) for key, value in written)
    return Labels("fixed", fixed=fixed, span=node.span, places=places)


def _masked(node: Mapping) -> Labels:
    style = node.get("masked")
    name = style.text if isinstance(style, Scalar) else "auto"
    written = node.entry("masked")
    places = () if written is None else ((written.key.span, written.value.span),)
    match node.get("per"):
        case Scalar(text="game" | "episode" as per):
            return Labels("masked", name, per, span=node.span, places=places)
    return Labels("masked", name, span=node.span, places=places)


def _by_type(node: Mapping, entries: list[Entry], names: Names, problems: Problems) -> Labels:
    """`{Word: {masked: alien, per: run}}`: the values of some types have meaningless labels."""
    only: list[str] = []
    first: Labels | None = None
    named = next((entry for entry in node if not isinstance(entry.value, Mapping)), None)
    if named is not None:
        problems.add(
            "GD0432", "labels are given by name or by type, not both", named.key.span,
            why="by name", notes=(Note(entries[0].key.span, "by type"),),
            help="give all labels in one of the two forms",
        )  # fmt: skip
    for entry in entries:
        known = names.declared.get(entry.key.text)
        assert isinstance(entry.value, Mapping)
        if not isinstance(known, TypeName):
            types = [n for n, d in names.declared.items() if isinstance(d, TypeName)]
            guess = did_you_mean(entry.key.text, types)
            place = names.place(guess) if guess else None
            problems.add(
                "GD0422", f"unknown type `{entry.key.text}`", entry.key.span,
                why="not declared under `types`",
                notes=(Note(place, "declared here"),) if place else (),
                help=f"did you mean `{guess}`?" if guess else "known: " + ", ".join(types),
            )  # fmt: skip
            continue
        labels = _masked(entry.value)
        if first is not None and (labels.style, labels.per) != (first.style, first.per):
            problems.add(
                "GD0436", "all masked types of a game have one style", entry.value.span,
                why="not as the first", notes=(Note(entries[0].value.span, "the first"),),
                help="write the same `masked` and `per` for each",
            )  # fmt: skip
        first = first or labels
        only += [name for name, _ in known.choices]
    if first is None:
        return Labels("plain", span=node.span)
    return Labels(
        "partly", first.style, first.per, only=tuple(only), span=node.span, places=first.places
    )
