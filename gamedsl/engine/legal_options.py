"""Legal options: those of a seat at a step, and the legal instances of actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gamedsl.engine.kernel import PlayError
from gamedsl.ir.builtins import values
from gamedsl.ir.evaluate import Scope, evaluate
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Action, Choose
from gamedsl.ir.values import Bag, name_of
from gamedsl.prompting.events import SILENCE, Seen
from gamedsl.prompting.replies import open_reply_value

ExampleReplies = Callable[[Choose, str, Seen, Callable[[str], bool]], tuple[str, ...]]
"""Returns examples of replies of a seat to an open decision, by canonical name, from the events
that it has seen; its last argument says whether the step's `valid` admits a name."""


class LegalOptions:
    """The options of every step and seat, by value and by canonical name."""

    def __init__(self, ir: GameIR, examples: ExampleReplies | None = None) -> None:
        self._seats, self._examples = ir.seats, examples
        self._names: dict[tuple[str, str], dict[Any, tuple[int, str]]] = {}
        self._values: dict[tuple[str, str], dict[str, Any]] = {}
        self._all: dict[tuple[str, str], tuple[str, ...]] = {}
        for step in ir.steps:
            for seat, options in zip(step.actors, step.options, strict=True):
                place = step.id, seat
                self._names[place] = {o.value: (i, o.name) for i, o in enumerate(options)}
                self._values[place] = {option.name: option.value for option in options}
                self._all[place] = tuple(option.name for option in options)

    def value(self, step: Choose, seat: str, name: str) -> Any:
        """Returns the value of an option, or of a reply. Raises KeyError for a name that is
        none."""
        if name == SILENCE:
            return None
        if step.said is not None:
            return open_reply_value(name, step.said, step.reply_type(seat), self._seats)
        return self._values[step.id, seat][name]

    def examples(
        self, step: Choose, seat: str, seen: Seen, admits: Callable[[str], bool]
    ) -> tuple[str, ...]:
        """Returns examples of replies to an open decision, where there are some; otherwise none."""
        return () if self._examples is None else self._examples(step, seat, seen, admits)

    def legal(self, step: Choose, seat: str, scope: Scope) -> tuple[str, ...]:
        """Returns the names of a seat's legal options, in the order of the step's options.

        `scope` is the state, read by the seat. PlayError where the rules allow what is no option.
        """
        if step.static:
            return self._all[step.id, seat]
        found = [] if step.legal is None else list(elements(evaluate(step.legal, scope)))
        for action in step.moves:
            found += instances(action, scope)
        if scope.budget is not None:
            scope.budget.spend(len(found), step.span)
        names = self._names[step.id, seat]
        for value in found:
            if value not in names:
                span = step.span if step.legal is None else step.legal.span
                raise PlayError(f"{name_of(value)} is no option of `{step.variable}`", span)
        return tuple(name for _, name in sorted({names[value] for value in found}))


def instances(action: Action, scope: Scope) -> list[Any]:
    """Returns the legal instances of an action: its name, or the tuple of its name and
    arguments."""
    names = tuple(name for name, _ in action.parameters)
    found: list[tuple[Any, ...]] = [()]
    for _, source in action.parameters:
        longer = []
        for given in found:
            listed = elements(evaluate(source, _given(scope, names, given)))
            if scope.budget is not None:
                scope.budget.spend(1 + len(listed), source.span)
            longer += [(*given, value) for value in listed]
        found = longer
    when = action.when
    if when is not None:
        found = [given for given in found if evaluate(when, _given(scope, names, given))]
    return [(action.name, *given) if names else action.name for given in found]


def arguments(action: Action, instance: Any) -> Mapping[str, Any]:
    """Returns the parameters of an action, bound as in one of its instances."""
    names = (name for name, _ in action.parameters)
    return dict(zip(names, instance[1:], strict=True)) if action.parameters else {}


def action_of(step: Choose, instance: Any) -> Action | None:
    """Returns the declared action that an option is an instance of; None for a plain option."""
    name = instance[0] if isinstance(instance, tuple) and instance else instance
    return next((action for action in step.moves if action.name == name), None)


def elements(collection: Any) -> tuple[Any, ...]:
    """Returns the items of a collection, in order; each item of a bag once."""
    return tuple(collection) if isinstance(collection, Bag) else values(collection)


def _given(scope: Scope, names: tuple[str, ...], given: tuple[Any, ...]) -> Scope:
    """Returns the scope with the first parameters bound."""
    bound = dict(zip(names, given, strict=False))
    return scope._replace(bindings={**scope.bindings, **bound}) if bound else scope
