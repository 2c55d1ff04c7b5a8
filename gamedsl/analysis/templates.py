"""Proves that templates are well formed, and name only values that their readers have seen."""

from __future__ import annotations

from typing import assert_never

from gamedsl.analysis.infoflow import is_open
from gamedsl.analysis.infoflow.walk import visibilities_of
from gamedsl.analysis.taint import PAYOFF_WORDS, payoff_flows
from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Help, respell, substitute
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.edits import respell_key
from gamedsl.ir.game import GameIR, Template
from gamedsl.ir.program import Binding, Call, Choose, Draw, Loop, Show, walk_steps
from gamedsl.ir.types import SEAT, Record, is_by_role, plain, text_or_record
from gamedsl.prompting.template_syntax import Broken, Mention, Parsed, locate, parse
from gamedsl.prompting.templates import (
    Kind,
    event_template,
    names_in,
    slots_of,
    template_for,
    variables_before,
)
from gamedsl.prompting.visibility import shows_fields

_NONE: tuple[str, ...] = ()


def check_templates(ir: GameIR, problems: Problems) -> None:
    """Reports templates for no slot, role or step of the game, those outside the admitted language,
    and names that a reader may not see when it reads them."""
    if not ir.templates:
        return
    tainted = frozenset(payoff_flows(ir)) if ir.labels.kind == "masked" else frozenset()
    for template in ir.templates:
        if not _known_key(ir, template, problems):
            continue
        parsed = parse(template.text)
        if isinstance(parsed, Broken):
            problems.add(
                "GD0510", "this is not a template", _word(template, parsed.start),
                why=parsed.reason,
                help="a template shows values by `{{ name }}` and branches by `{% if … %}`",
            )  # fmt: skip
            continue
        _refused(template, parsed, problems)
        for mention in parsed.mentions:
            if mention.name not in tainted:
                _check_name(ir, template, mention, problems)


def _known_key(ir: GameIR, template: Template, problems: Problems) -> bool:
    """Returns whether there is such a slot, and its key names a role or a step."""
    if not _known_slot(ir, template, problems):
        return False
    if not template.key:
        return True
    if template.slot == "rules":
        what, known = "part of the rules", _NONE
    elif template.slot == "who":
        what, known = (
            "role",
            tuple(dict.fromkeys((*(r.name for r in (*ir.roles, *ir.referees)), *ir.everyone))),
        )
    elif template.slot == "view":
        what = "role with a view"
        known = tuple(dict.fromkeys(n for seat in ir.views for n in (ir.role_of[seat], seat)))
    else:
        asked = template.slot == "ask"
        steps = ir.steps if asked else _bindings(ir)
        what = "choice" if all(isinstance(step, Choose) for step in steps) else "step that binds"
        known = tuple(dict.fromkeys(n for step in steps for n in (step.variable, step.id)))
    if template.key in known:
        return _known_reader(ir, template, problems)
    guess = did_you_mean(template.key, known)
    problems.add(
        "GD0511", f"`{template.key}` is no {what} of this game", template.key_span or template.span,
        why=f"`{template.slot}` is one text, or one each for {', '.join(known)}" if known else
        "the rules are one text for all roles",
        help=respell_key(template.key_span or template.span, guess),
    )  # fmt: skip
    return False


def _known_reader(ir: GameIR, template: Template, problems: Problems) -> bool:
    """Returns whether the reader of a template, if it is for one alone, is a role or a seat."""
    roles = (role.name for role in (*ir.roles, *ir.referees))
    known = tuple(dict.fromkeys((*roles, *ir.everyone)))
    if template.reader is None or template.reader in known:
        return True
    place = template.key_span or template.span
    problems.add(
        "GD0511", f"`{template.reader}` is no role of this game", place,
        why=f"who reads it is `all`, or one of {', '.join(known)}",
        help=respell_key(place, did_you_mean(template.reader, known)),
    )  # fmt: skip
    return False


def _known_slot(ir: GameIR, template: Template, problems: Problems) -> bool:
    """Returns whether a seat reads this slot: either its events, or a view."""
    unseen = template.slot == "seen" and ir.views.keys() - ir.windows.keys() >= set(ir.everyone)
    if not unseen and (template.slot != "view" or ir.view):
        return True
    problems.add(
        "GD0511", f"`{template.slot}` is no slot of this game",
        template.key_span or template.span,
        why="every role has a view, and is told no events" if unseen else "it has no `view:`",
        help="write the slot `view`, or tell the last events too: `history: {last: 1}`"
        if unseen else "say what is shown: `view: [board]`",
    )  # fmt: skip
    return False


def _viewers(ir: GameIR, template: Template) -> list[str]:
    """Returns the seats that read a template of the slot `view`."""
    return [
        seat for seat in ir.views if template_for(ir, "view", seat, ir.role_of[seat]) is template
    ]


def _refused(template: Template, parsed: Parsed, problems: Problems) -> None:
    for found in parsed.refused:
        problems.add(
            "GD0517", f"{found.what} is not allowed in a template",
            locate(template, found.start, found.start + found.length), help=found.help,
            why="templates show values; they neither call nor compute without bound",
        )  # fmt: skip


def _check_name(ir: GameIR, template: Template, mention: Mention, problems: Problems) -> None:
    name, slot = mention.name, template.slot
    span = locate(template, mention.start, mention.start + len(name))
    whole = locate(template, mention.start, mention.end)
    scope = names_in(slot, ir)
    kind = scope.get(name)
    variables = {step.variable: step for step in reversed(_bindings(ir))}
    let = ir.lets_by_name.get(name)
    events = name == "seen" or kind in ("variable", "count")
    if kind is not None and events and _is_of_a_view(ir, template, mention, whole, problems):
        return
    if kind == "word":
        _check_part(ir, template, mention, span, problems)
    elif kind in ("param", "constant", "role"):
        entries = _entries(ir, name)
        if mention.attribute is not None and mention.attribute not in entries:
            _no_part(template, mention, entries, problems)
    elif kind == "count":
        _check_count(ir, template, mention, whole, problems)
    elif kind == "variable":
        _check_variable(ir, template, mention, whole, variables[name], problems)
    elif name in variables or name in names_in("ask", ir) or slots_of(name):
        _not_here(ir, name, slot, span, name in names_in("ask", ir), problems)
    elif let is not None or name in PAYOFF_WORDS:
        problems.add(
            "GD0513", f"a template may not show `{name}`", span,
            why="payoffs and lets are computed by the referee, not seen by roles",
            notes=(Note(let.span, "declared here"),) if let is not None else (),
            help="leave it out, or name a param, a label, a role or, in `ask`, an earlier choice",
        )  # fmt: skip
    else:
        told = [word for word in sorted(scope) if _may_be_named(ir, template, word, scope[word])]
        message, help = f"there is nothing called `{name}`", respell(span, did_you_mean(name, told))
        if any(state.name == name for state in ir.state):
            message = f"a template cannot name state, such as `{name}`"
            help = f"a view shows it: write `view: [{name}]` at the top of the file"
        problems.add("GD0512", message, span, why=f"`{slot}` can name {', '.join(told)}", help=help)


def _may_be_named(ir: GameIR, template: Template, name: str, kind: Kind) -> bool:
    """Returns whether a template may name a word of its scope, or a part of it: whether all its
    readers are told it."""
    if kind != "variable" and name != "seen":
        return True
    first = next((step for step in _bindings(ir) if step.variable == name), None)
    parts = () if first is None else (*_keys(ir, first), *_parts(first))
    for part in (None, *parts):
        mention, found = Mention(name, 0, 0, part), Problems()
        of_a_view = _is_of_a_view(ir, template, mention, template.span, found)
        if first is not None and not of_a_view:
            _check_variable(ir, template, mention, template.span, first, found)
        if not found.found:
            return True
    return False


def _check_part(
    ir: GameIR, template: Template, mention: Mention, span: Span, problems: Problems
) -> None:
    """Checks a name of the scope: `labels` needs an option's name, the others have no parts."""
    if mention.name == "labels":
        names = tuple(dict.fromkeys(c.name for s in ir.steps for o in s.options for c in o))
        if mention.attribute is None:
            _is_map(mention.name, names, span, problems)
        elif mention.attribute not in names:
            _no_part(template, mention, names, problems)
    elif mention.name == "view":
        for seat in _viewers(ir, template):
            names = tuple(entry.name for entry in ir.views[seat])
            if mention.attribute is None:
                _is_map(mention.name, names, span, problems)
                return
            if mention.attribute not in names:
                _no_part(template, mention, names, problems)
                return
    elif mention.name == "choice":
        _check_event(ir, template, mention, problems)
    elif mention.attribute is not None:
        _no_part(template, mention, (), problems)


def _check_event(ir: GameIR, template: Template, mention: Mention, problems: Problems) -> None:
    """Checks a part of an event: a field that all who see any of the event, and read it by this
    template, see."""
    if mention.attribute is None:
        return
    for step in _bindings(ir):
        seats = [i for i, s in enumerate(ir.everyone) if event_template(ir, step, s) is template]
        if not seats:
            continue
        parts, sight = _parts(step), visibilities_of(ir).certain(step.variable)
        sights = () if sight is None else sight.parts if sight.by == "seat" else (sight,)
        of_fields = [one for one in sights if one.by == "field"]
        own = is_by_role(step.type) and all(
            one.part(i).all >> i & 1 or not one.any >> i & 1
            for one in of_fields for i in seats if i < len(parts)
        )  # fmt: skip
        parts = tuple(
            p for i, p in enumerate(parts)
            if all(s.part(i).all >> seat & 1 or not s.any >> seat & 1
                   for s in of_fields for seat in seats)
        )  # fmt: skip
        parts = (*parts, "me") if own else parts
        if mention.attribute not in parts:
            _no_part(template, mention, parts, problems, _whole(step, mention.attribute))
            return


def _check_variable(
    ir: GameIR, template: Template, mention: Mention, span: Span, first: Binding, problems: Problems
) -> None:
    """Checks an earlier choice, outcome of chance or shown value: it is bound before every step
    that asks with this text, is one value, and is seen by all who are asked."""
    verb = _participle(first)
    asking = [s for s in ir.steps if template_for(ir, "ask", s.id, s.variable) is template]
    for step in asking:
        if mention.name not in variables_before(ir, step):
            same = " it" if mention.name == step.variable else f" `{step.variable}`"
            problems.add(
                "GD0514", f"`{mention.name}` is not {verb} yet when{same} is asked for", span,
                why="a prompt may only show what its reader has seen",
                notes=(Note(first.span, f"`{mention.name}` is {verb} here"),),
                help=_later(ir, mention),
            )  # fmt: skip
            return
    keys = _keys(ir, first)
    parts = () if keys else _parts(first)
    if mention.attribute in parts:
        _check_readers(ir, mention, span, first, asking, problems)
    elif mention.attribute is None and keys:
        seen = tuple(key for key in keys if not _blind(ir, mention.name, key, first, asking))
        _is_map(mention.name, keys, span, problems, seen)
    elif mention.attribute is not None and mention.attribute not in keys:
        _no_part(template, mention, keys or parts, problems)
    else:
        _check_readers(ir, mention, span, first, asking, problems)


def _check_count(
    ir: GameIR, template: Template, mention: Mention, span: Span, problems: Problems
) -> None:
    """Checks the count of a loop: each step that asks with this text is in the loop, and all who
    are asked can work out in which pass they are."""
    if mention.attribute is not None:
        _no_part(template, mention, _NONE, problems)
        return
    asking = [s for s in ir.steps if template_for(ir, "ask", s.id, s.variable) is template]
    loops = (s for s in walk_steps(ir.turns) if isinstance(s, Loop) and s.count == mention.name)
    notes = (Note(next(loops).span, "counted here"),)
    for step in asking:
        if mention.name not in ir.asked_counts.get(step.id, ()):
            problems.add(
                "GD0514", f"`{mention.name}` counts no loop around `{step.id}`", span,
                why="the question of a step can name the passes that the step is in", notes=notes,
                help="leave it out, or write this text for steps of the loop alone",
            )  # fmt: skip
            return
    sight = visibilities_of(ir).variables.get(mention.name)
    readers = None if sight is None or is_open(ir) else sight.all
    for seat in (seat for step in asking for seat in step.actors):
        if readers is not None and not readers >> ir.everyone.index(seat) & 1:
            problems.add(
                "GD0508", f"`{seat}` reads this, and cannot know `{mention.name}`", span,
                why="a prompt may only show what its reader has seen", notes=notes,
                help="leave it out",
            )  # fmt: skip
            return


def _is_of_a_view(
    ir: GameIR, template: Template, mention: Mention, span: Span, problems: Problems
) -> bool:
    """Returns whether a seat that is asked with a text has a view, which shows no events."""
    for step in ir.steps:
        if template_for(ir, "ask", step.id, step.variable) is not template:
            continue
        for seat in step.actors:
            told = ir.entries_at(seat, step.id)
            if told is not None:
                view = step.knows is None
                here, what = ("its view", "view") if view else ("what it knows here", "`knows`")
                problems.add(
                    "GD0508", f"`{seat}` reads this, and is told {here} alone, not "
                    f"`{mention.name}`", span,
                    why="a prompt shows what is in the view of its reader" if view
                    else "a prompt shows what its reader knows",
                    notes=tuple(Note(e.span, f"in the {what}" if view else "known here")
                                for e in told[:1]),
                    help=f"leave it out, or put it into {'the ' * view}{what}: `{mention.name}`"
                    if mention.name != "seen" else "leave it out",
                )  # fmt: skip
                return True
    return False


def _check_readers(
    ir: GameIR,
    mention: Mention,
    span: Span,
    first: Binding,
    asking: list[Choose],
    problems: Problems,
) -> None:
    """Checks that all who are asked with a text see the variable, or the part, that it names."""
    seat = _blind(ir, mention.name, mention.attribute, first, asking)
    if seat is not None:
        shown = f"{mention.name}.{mention.attribute}" if mention.attribute else mention.name
        problems.add(
            "GD0508", f"`{seat}` reads this, and cannot see `{shown}`", span,
            why="a prompt may only show what its reader has seen",
            notes=(Note(first.span, f"`{mention.name}` is {_participle(first)} here"),),
            help=f"leave it out, or let `{mention.name}` be seen by `{seat}`",
        )  # fmt: skip


def _blind(
    ir: GameIR, name: str, part: str | None, first: Binding, asking: list[Choose]
) -> str | None:
    """Returns a seat that is asked in one of the steps and does not see a variable, or its part;
    None where all see it."""
    sight = visibilities_of(ir).certain(name)
    if sight is None or is_open(ir):
        return None
    if part is not None and sight.by == "seat":
        sight = sight.part(ir.everyone.index(part))
    if part is not None and sight.by == "field":
        sight = sight.part(_parts(first).index(part))
    readers = sight.any if sight.by == "field" else sight.all
    seats = (seat for step in asking for seat in step.actors)
    return next((seat for seat in seats if not readers >> ir.everyone.index(seat) & 1), None)


def _later(ir: GameIR, mention: Mention) -> str:
    """Returns the remedy of a value that is shown too early, with the first step, if any, that it
    is bound before and whose actors see it."""
    bound = {step.variable: step for step in reversed(_bindings(ir))}[mention.name]
    known = mention.attribute in (*_keys(ir, bound), *_parts(bound))
    part = mention.attribute if known else None
    later = next(
        (
            step
            for step in ir.steps
            if step.variable != mention.name
            and mention.name in variables_before(ir, step)
            and not _blind(ir, mention.name, part, bound, [step])
        ),
        None,
    )
    return "leave it out" + (f", or show it in the `ask` of `{later.id}`" if later else "")


def _bindings(ir: GameIR) -> tuple[Binding, ...]:
    """Returns the steps that bind variables, in the order written."""
    return tuple(step for step in walk_steps(ir.turns) if isinstance(step, Binding))


def _parts(step: Binding) -> tuple[str, ...]:
    """Returns the fields of an open reply, or of a record that a prompt tells by its fields."""
    whole = step.type if isinstance(step, Choose | Draw) else step.entry_type
    kinds, type = text_or_record(plain(whole)), plain(whole)
    type = type if kinds is None else kinds.record
    if not isinstance(type, Record) or (isinstance(step, Choose) and step.said is None):
        return ()
    told = isinstance(step, Choose) or shows_fields(step)
    return tuple(name for name, _ in type.fields) if told else ()


def _entries(ir: GameIR, name: str) -> tuple[str, ...]:
    """Returns the entries of a param that a template can name: those of a map with texts as keys,
    but for names of a map's methods, such as `items`."""
    named = (param for param in (*ir.params, *ir.constants) if param.name == name)
    found = next((param.value for param in named), None)
    keys = found if isinstance(found, dict) else ()
    return tuple(key for key in keys if isinstance(key, str) and not hasattr(dict, key))


def _keys(ir: GameIR, step: Binding) -> tuple[str, ...]:
    """Returns the seats that each have a value of their own; none where there is one value."""
    match step:
        case Choose(actors=actors, joint=joint):
            return actors if joint else ()
        case Show(by_seat=by_seat) | Call(by_seat=by_seat):
            return ir.seats if by_seat else ()
        case Draw(by_seat=True, per=per):
            return tuple(map(str, per[0]))
        case Draw(place=place):
            keys = () if place is None else place.keys
            owned = any(key.expr is not None and key.expr.type == SEAT for key in keys)
            return ir.seats if owned else ()
        case _:
            assert_never(step)


def _is_map(
    name: str,
    keys: tuple[str, ...],
    span: Span,
    problems: Problems,
    seen: tuple[str, ...] | None = None,
) -> None:
    """Reports a name that has a value for each of several keys; its readers see those of `seen`, or
    all."""
    help: Help = "leave it out: no part of it is seen by all who are asked" if keys else ""
    for key in (keys if seen is None else seen)[:1]:
        part = f"{name}.{key}" if key.isidentifier() else f'{name}["{key}"]'
        help = substitute(span, part, f"write `{part}`")
    problems.add(
        "GD0516", f"`{name}` is not one value", span,
        why=f"it has one for each of {', '.join(keys[:6])}" if keys else "it is empty",
        help=help,
    )  # fmt: skip


def _whole(step: Binding, part: str) -> str:
    """Returns the help for a part of a record that a prompt tells as one text."""
    type = plain(step.type if isinstance(step, Choose | Draw) else step.entry_type)
    if not isinstance(type, Record) or shows_fields(step) or part not in dict(type.fields):
        return ""
    readers = ", ".join(f"{name}: all" for name, _ in type.fields)
    return f"say of each field who sees it, such as `seen_by: {{{readers}}}`"


def _no_part(
    template: Template,
    mention: Mention,
    known: tuple[str, ...],
    problems: Problems,
    help: Help = "",
) -> None:
    assert mention.attribute is not None
    guess = did_you_mean(mention.attribute, known)
    place = locate(template, mention.at, mention.at + len(mention.attribute))
    problems.add(
        "GD0512", f"`{mention.name}` has no part `{mention.attribute}`",
        place,
        why=f"its parts: {', '.join(known[:8])}" if known else "it is one value",
        help=help or respell(place, guess),
    )  # fmt: skip


def _not_here(
    ir: GameIR, name: str, slot: str, span: Span, variable: bool, problems: Problems
) -> None:
    """Reports a name of other slots: an earlier choice outside `ask`, or a name of the table."""
    words = [word for word, kind in names_in(slot, ir).items() if kind == "word"]
    slots = slots_of(name) or slots_of(name, "variable")
    if slot in slots and not variable:
        why = f"this game has {len(ir.seats)} role{'s' if len(ir.seats) != 1 else ''}"
        help = "write `others`"
    else:
        why = f"it belongs to {', '.join(f'`{other}`' for other in slots)}"
        help = f"in `{slot}` there are {', '.join(sorted(words))}"
        if slot == "rules":
            help = "the rules are one text for every play: what is bound in one is named in `ask`"
    problems.add("GD0515", f"`{name}` has no meaning in `{slot}`", span, why=why, help=help)


def _word(template: Template, start: int) -> Span:
    """Returns the place of the word at an offset."""
    end = start
    while end < len(template.text) and (template.text[end].isalnum() or template.text[end] == "_"):
        end += 1
    return locate(template, start, max(end, start + 1))


def _participle(step: Binding) -> str:
    """Returns the word for what a step does to its variable."""
    match step:
        case Choose():
            return "chosen"
        case Draw():
            return "drawn"
        case Show():
            return "shown"
        case Call():
            return "computed"
        case _:
            assert_never(step)
