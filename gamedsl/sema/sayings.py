"""The steps in which something is said, and those that call a function: `say` and `call`."""

from __future__ import annotations

from typing import Literal

from gamedsl.calls.registry import CallError
from gamedsl.diagnostics import Note
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar
from gamedsl.ir import expr as ir
from gamedsl.ir.json_types import longest, readable
from gamedsl.ir.program import Call, Choose, Said, Step
from gamedsl.ir.statements import NOBODY
from gamedsl.ir.types import BOOL, TEXT, List, PerSeat, Record, Text, Type, fits, plain
from gamedsl.sema.actors import Actors
from gamedsl.sema.functions import Signature, signature_of, signatures
from gamedsl.sema.state import States

MAX_TOKENS = 32_768
"""Tokens that one reply may have at most."""


class Sayings(Actors):
    """Reads open decisions and calls."""

    def say(self, item: Mapping, head: Entry, condition: ir.Expr | None) -> Step | None:
        actors, wanted = self.actors(item), item.get("read")
        if actors is None:
            return None
        seats, joint, actor = actors
        type = self.read_as(wanted, head.value)
        limit = None if type is None else self.limit(item, type, head)
        if type is None or limit is None:
            return None
        bound = self.binding(item, head, type, seats, joint)
        if bound is None:
            return None
        variable, place, readers = bound
        if place is not None and isinstance(place.type, Text) and wanted is None:
            type = place.type
        test, valid = item.get("valid"), None
        if test is not None:
            valid = self.checked(test, BOOL, "a condition", me=True)
            if valid is None:
                return None
        form: Literal["text", "json", "code"] = (
            "text" if wanted is None else "json" if isinstance(type, Record) else "code"
        )
        return Choose(
            self.number(variable), variable, seats, joint, ((),) * len(seats), type, item.span,
            condition=condition, actor=actor, place=place, readers=readers,
            said=Said(form, limit, valid),
        )  # fmt: skip

    def read_as(self, wanted: Node | None, head: Node) -> Type | None:
        """What is read from a reply: a text, or a record."""
        if not isinstance(wanted, Mapping):
            return TEXT
        fields = []
        for entry in wanted:
            type = self.field(entry)
            if type is None:
                return None
            why = readable(type)
            if why is not None:
                self.problems.add(
                    "GD0480", f"`{entry.key.text}` cannot be read from a reply", entry.value.span,
                    why=why, help="read a finite type, a number, `text(80)`, or a list of these",
                )  # fmt: skip
                return None
            fields.append((entry.key.text, type))
        return Record(head.text if isinstance(head, Scalar) else "", tuple(fields))

    def field(self, entry: Entry) -> Type | None:
        """The type of one field that is read."""
        if isinstance(entry.value, Mapping):
            state = States(self.types, self.problems).read(entry)
            return None if state is None else state.type
        found = self.types.read(entry.value, entry.key.text)
        if found is None:
            return None
        self.types.claim(found, entry.value)
        return found.type

    def limit(self, item: Mapping, type: Type, head: Entry) -> int | None:
        """How many tokens a reply may have: as written, or as long as what is read can be."""
        written = item.get("max_tokens")
        if written is not None:
            return self.types.number(written, 1, MAX_TOKENS)
        most = longest(type, self.names.seats)
        if isinstance(type, Record) and most is not None and most <= MAX_TOKENS:
            return most
        self.problems.add(
            "GD0481", f"it is not said how long `{head.value.span.text}` may be", head.key.span,
            why="no `max_tokens`, and what is read has no longest text"
            if isinstance(type, Record) else "no `max_tokens`",
            help="add `max_tokens: 100`",
        )  # fmt: skip
        return None

    # calls

    def call(self, item: Mapping, head: Entry, condition: ir.Expr | None) -> Step | None:
        name = item.get("gives")
        signature = self.function(head.value)
        if signature is None or not isinstance(name, Scalar):
            return None
        arguments = self.given(item, signature, head)
        if arguments is None:
            return None
        mapped = tuple(
            argument for argument, typed in arguments
            if not _takes(dict(signature.arguments)[argument], typed.type)
        )  # fmt: skip
        over = {type(dict(arguments)[each].type) for each in mapped}
        if len(over) > 1:
            self.problems.add(
                "GD0483", "a call goes through values per role or through lists, not both",
                head.value.span, why="given some of each",
                help="make two calls of it, or pick one value: `answer[r]`",
            )  # fmt: skip
            return None
        seen = item.get("seen_by")
        readers = NOBODY if seen is None else self.readers(seen, signature.result)
        result: Type = List(signature.result) if over == {List} else signature.result
        by_seat = over == {PerSeat}
        if not self.declare(
            name.text, result, by_seat, self.names.seats if by_seat else (), name.span
        ):
            return None
        kind: Literal["one", "seats", "items"] = "seats" if by_seat else "items" if over else "one"
        return Call(
            self.number(name.text), name.text, signature.name, signature.version, arguments,
            result if not by_seat else PerSeat(result, True), readers, item.span, condition,
            kind, mapped,
        )  # fmt: skip

    def function(self, node: Node) -> Signature | None:
        """A registered function by its name."""
        name = node.text if isinstance(node, Scalar) else ""
        broken = ""
        try:
            found = signature_of(name)
        except CallError as error:
            found, broken = None, str(error)
        if found is None:
            known = () if broken else signatures()
            guess = did_you_mean(name, known)
            self.problems.add(
                "GD0482", f"no function `{name}` is registered", node.span,
                why=broken or "YAML names functions, and Python code alone registers them",
                help=f"did you mean `{guess}`?" if guess
                else "there are " + ", ".join(known) if known
                else "mend the package that brings functions, or uninstall it",
            )  # fmt: skip
        return found

    def given(
        self, item: Mapping, signature: Signature, head: Entry
    ) -> tuple[tuple[str, ir.Expr], ...] | None:
        """The arguments of a call, typed, in the function's order."""
        section = item.get("with")
        written = {e.key.text: e for e in section} if isinstance(section, Mapping) else {}
        for name, entry in written.items():
            known = [argument for argument, _ in signature.arguments]
            if name not in known:
                guess = did_you_mean(name, known)
                self.problems.add(
                    "GD0482", f"`{signature.name}` takes no `{name}`", entry.key.span,
                    why=f"it is {signature.text}",
                    help=f"did you mean `{guess}`?" if guess else "it takes " + ", ".join(known),
                )  # fmt: skip
                return None
        missing = [name for name, _ in signature.arguments if name not in written]
        if missing:
            given = ", ".join(
                f"{name}: {written[name].value.span.text if name in written else '…'}"
                for name, _ in signature.arguments
            )
            self.problems.add(
                "GD0482", f"`{signature.name}` needs `{missing[0]}`", head.value.span,
                why=f"it is {signature.text}", help=f"write `with: {{{given}}}`",
            )  # fmt: skip
            return None
        found: list[tuple[str, ir.Expr]] = []
        for name, wanted in signature.arguments:
            typed = self.expression(written[name].value, wanted)
            if typed is None:
                return None
            if not (_takes(wanted, typed.type) or _takes(wanted, _each(typed.type))):
                self.misfit(name, wanted, typed, signature)
                return None
            found.append((name, typed))
        fixed = {name: typed.value for name, typed in found if isinstance(typed, ir.Const)}
        fault = signature.function.fault_of(fixed)
        if fault is not None:
            place = next((written[name].value.span for name in fixed), head.value.span)
            self.problems.add(
                "GD0483", f"`{signature.name}` cannot be called like this", place, why=fault,
                help=f"it is {signature.text}",
            )  # fmt: skip
            return None
        return tuple(found)

    def misfit(self, name: str, wanted: Type | None, typed: ir.Expr, signature: Signature) -> None:
        place: Span | None = None
        if isinstance(typed, ir.Read):
            place = self.names.place(typed.name)
        self.problems.add(
            "GD0483", f"`{name}` of `{signature.name}` must be {wanted}", typed.span,
            why=f"this is {typed.type}",
            notes=(Note(place, "declared here"),) if place else (),
            help=f"it is {signature.text}",
        )  # fmt: skip


def _takes(wanted: Type | None, type: Type | None) -> bool:
    """Whether a function's argument takes values of a type; None takes any."""
    return type is not None and (wanted is None or fits(plain(type), plain(wanted)))


def _each(type: Type) -> Type | None:
    """What there is one of for each role, or in each place of a list."""
    return type.of if isinstance(type, PerSeat | List) else None
