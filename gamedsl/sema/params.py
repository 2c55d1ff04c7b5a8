"""Params: named constants of a file, folded before anything else is checked.

A default may use earlier params; a declaration `{default: 2, in: 2..5}` gives a range, one with a
`type` and no default must be set by whoever uses the file.
"""

from __future__ import annotations

from collections.abc import Mapping as Map

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.builtins import values
from gamedsl.ir.game import Param
from gamedsl.ir.types import BOOL, NEVER, NUMBER, WHOLE, List, Type, fits
from gamedsl.sema.infer import Typer
from gamedsl.sema.scope import WORDS, Names, ParamName
from gamedsl.sema.values import constant
from gamedsl.source.nodes import Entry, Mapping, Node, Scalar
from gamedsl.source.spans import Span

TYPES: dict[str, Type] = {
    "number": NUMBER,
    "integer": WHOLE,
    "truth": BOOL,
    "list": List(NUMBER),
    "matrix": List(List(NUMBER)),
}
"""What `type:` of a param may be."""


def declare_params(
    section: Node | None,
    given: Map[str, Node],
    names: Names,
    problems: Problems,
    *,
    what: str,
    use: Span,
) -> tuple[Param, ...]:
    """Fold the params of one file and declare them in `names`.

    `given` are the values set from outside, `what` names the file in messages ("this game"), `use` is
    the place that sets them.
    """
    entries = section.entries if isinstance(section, Mapping) else ()
    typer = Typer(names, problems)
    params = []
    for entry in entries:
        param = _param(entry, given.get(entry.key.text), typer, names, problems, use)
        if param is not None:
            params.append(param)
            names.declared[param.name] = ParamName(param.type, param.value, param.span)
    known = [entry.key.text for entry in entries]
    for name, node in given.items():
        if name not in known:
            guess = did_you_mean(name, known)
            shown = ", ".join(known) or "none"
            problems.add(
                "GD0314",
                f"{what} has no param `{name}`",
                node.span,
                why=f"its params: {shown}",
                help=f"did you mean `{guess}`?" if guess else "",
            )
    return tuple(params)


def _param(
    entry: Entry, given: Node | None, typer: Typer, names: Names, problems: Problems, use: Span
) -> Param | None:
    name, span = entry.key.text, entry.key.span
    declaration = entry.value if isinstance(entry.value, Mapping) else None
    kind = declaration.get("type") if declaration else None
    wanted = TYPES.get(kind.text) if isinstance(kind, Scalar) else None
    default = declaration.get("default") if declaration else entry.value
    node = given if given is not None else default
    names.declared[name] = ParamName(NEVER, None, span)
    if name in WORDS:
        problems.add("GD0316", f"`{name}` already has a meaning", span, help="choose another name")
        return None
    if node is None:
        problems.add(
            "GD0315",
            f"the param `{name}` has no value",
            use,
            why="it has no default",
            notes=(Note(span, "declared here"),),
            help=f"set it: `{name}: …`",
        )
        return None
    found = constant(node, typer, problems, wanted)
    if found is None:
        return None
    value, type = found
    reads = tuple(dict.fromkeys(typer.params_read))
    if wanted is not None and not fits(type, wanted):
        problems.add(
            "GD0306",
            f"the param `{name}` must be {wanted}",
            node.span,
            why=f"this is {type}",
            notes=(Note(span, "declared here"),),
        )
        return None
    if given is not None and default is not None and wanted is None:
        usual = constant(default, typer, problems)
        if usual is not None and not _alike(type, usual[1]):
            problems.add(
                "GD0306",
                f"the param `{name}` must be {usual[1]}",
                node.span,
                why=f"this is {type}",
                notes=(Note(span, "its default"),),
            )
            return None
    allowed = declaration.get("in") if declaration else None
    if allowed is not None:
        bounds = constant(allowed, typer, problems)
        if bounds is not None and value not in values(bounds[0]):
            problems.add(
                "GD0317",
                f"{value} is not allowed for the param `{name}`",
                node.span,
                why=f"out of `{allowed.span.text}`",
                notes=(Note(allowed.span, "the allowed values"),),
            )
            return None
    return Param(name, value, wanted or type, span, reads)


def _alike(type: Type, usual: Type) -> bool:
    """Numbers may be exchanged for numbers of any kind, and lists for lists of any length."""
    if isinstance(type, List) and isinstance(usual, List):
        return _alike(type.of, usual.of) or type.of == NEVER or usual.of == NEVER
    return fits(type, NUMBER) if fits(usual, NUMBER) else fits(type, usual)
