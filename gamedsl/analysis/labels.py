"""Proves that labels are distinct: each option has one, and a reply can be only one of them."""

from __future__ import annotations

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Edit, Fix, respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.edits import add_entry, respell_word
from gamedsl.ir.game import GameIR
from gamedsl.prompting.labels import AUTO, STYLES, capacity, masked_names, option_names, styles_of


def check_labels(ir: GameIR, problems: Problems) -> None:
    """Reports options without exactly one label that is a reply."""
    if ir.labels.kind in ("masked", "partly"):
        _enough_words(ir, problems)
    elif ir.labels.kind == "fixed":
        _one_each(ir, problems)
        _writable(ir, problems)
        _different(ir, problems)


def _enough_words(ir: GameIR, problems: Problems) -> None:
    name, place = ir.labels.style, _style(ir)
    if name not in (AUTO, *STYLES):
        guess = did_you_mean(name, (AUTO, *STYLES))
        problems.add(
            "GD0507", f"there is no label style `{name}`", place,
            why=f"the styles: {', '.join((AUTO, *STYLES))}",
            help=Fix(f"did you mean `{guess}`?", respell_word(place, name, guess)) if guess else "",
        )  # fmt: skip
        return
    if next(styles_of(ir), None) is None:
        styles = STYLES.values() if name == AUTO else (STYLES[name],)
        most = max(capacity(ir, style) for style in styles)
        problems.add(
            "GD0506", f"the style `{name}` cannot label {len(masked_names(ir))} options", place,
            why=f"it has {most} words for this game",
            help=_restyled(ir, "plain" if name == AUTO else "masked"),
        )  # fmt: skip


def _one_each(ir: GameIR, problems: Problems) -> None:
    names = option_names(ir)
    given = dict(ir.labels.fixed)
    for index, (name, _) in enumerate(ir.labels.fixed):
        if name not in names:
            guess = did_you_mean(name, [n for n in names if n not in given])
            problems.add(
                "GD0501", f"`{name}` is no action of this game", _place(ir, index, 0),
                why=f"its actions: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}",
                help=respell(_place(ir, index, 0), guess),
            )  # fmt: skip
    missing = [name for name in names if name not in given]
    if missing:
        problems.add(
            "GD0502", f"`{missing[0]}` has no label" if len(missing) == 1 else
            f"{len(missing)} actions have no label", ir.labels.span or ir.span,
            why=f"missing: {', '.join(missing[:8])}{', …' if len(missing) > 8 else ''}",
            help=_labelled(ir, missing),
        )  # fmt: skip


def _writable(ir: GameIR, problems: Problems) -> None:
    for index, (name, label) in enumerate(ir.labels.fixed):
        fault = (
            "it is empty" if not label.strip()
            else "it has more than one line" if len(label.splitlines()) > 1
            else "it begins or ends with a space" if label != label.strip()
            else ""
        )  # fmt: skip
        if fault:
            problems.add(
                "GD0505", f"the label of `{name}` cannot be a reply", _place(ir, index, 1),
                why=fault, help=_relabelled(ir, index, " ".join(label.split()) or name),
            )  # fmt: skip


def _different(ir: GameIR, problems: Problems) -> None:
    first: dict[str, int] = {}
    for index, (name, label) in enumerate(ir.labels.fixed):
        if label in first and label.strip():
            other = ir.labels.fixed[first[label]][0]
            problems.add(
                "GD0503", f"`{other}` and `{name}` have the same label", _place(ir, index, 1),
                why=f"`{label}` would be two actions",
                help=_relabelled(ir, index, name),
                notes=(Note(_place(ir, first[label], 1), f"the label of `{other}`"),),
            )  # fmt: skip
        first.setdefault(label, index)


def _relabelled(ir: GameIR, index: int, label: str) -> Fix:
    """Returns the fix that gives an action another label."""
    edits = (Edit(_place(ir, index, 1), label),) if ir.labels.places else ()
    return Fix(f"write `{ir.labels.fixed[index][0]}: {label}`", edits)


def _labelled(ir: GameIR, names: list[str]) -> Fix:
    """Returns the fix that adds the labels of some actions; its sentence has the first."""
    edits = tuple(
        edit
        for name in (names if ir.labels.places else ())
        for edit in add_entry(_place(ir, 0, 0), f"{name}: {name}")
    )
    return Fix(f"add `{names[0]}: {names[0]}`", edits)


def _restyled(ir: GameIR, style: str) -> Fix:
    """Returns the fix that labels all actions in another style."""
    edits = (Edit(ir.labels.span, style),) if ir.labels.span else ()
    return Fix(f"use `labels: {style}`", edits)


def _style(ir: GameIR) -> Span:
    """Returns the place of the masked labels' style, with its key."""
    for key, style in ir.labels.places:
        return key._replace(end=style.end)
    return ir.labels.span or ir.span


def _place(ir: GameIR, index: int, part: int) -> Span:
    """Returns the place of the name (0) or the label (1) of a pair of `fixed`."""
    return ir.labels.places[index][part] if ir.labels.places else ir.labels.span or ir.span
