"""Whether seats that have seen the same are asked the same, and random programs to ask it of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from gamedsl.analysis.infoflow.cases import Cases
from gamedsl.analysis.infoflow.expressions import Visibilities
from gamedsl.analysis.infoflow.visibility import Visibility
from gamedsl.analysis.infoflow.walk import visibilities_of
from gamedsl.engine.interpreter import History
from gamedsl.engine.kernel import Ask
from gamedsl.engine.random_plays import example_kernel
from gamedsl.ir.game import GameIR
from gamedsl.ir.values import Bag
from gamedsl.prompting.events import SILENCE


class DifferenceError(AssertionError):
    """Two histories that a seat cannot tell apart differ in what it is asked, or may read."""


class Witness:
    """Goes through histories of a game, and remembers what each seat was asked after what it saw.

    With `values` also what the analysis says that the seat can read then: it must be a function of
    what the seat has seen. With `steps` also at which step it sees something next.
    """

    def __init__(self, ir: GameIR, *, values: bool = True, steps: bool = False) -> None:
        self.ir = ir
        self.steps = steps
        self.next: dict[tuple[str, Any], str] = {}
        self.kernel = example_kernel(ir)
        self.reading: Visibilities | None = visibilities_of(ir) if values else None
        self.asked: dict[tuple[str, Any], Any] = {}
        self.repeated = 0
        """How often a seat was asked after what it had seen in another history too."""

    def note(self, state: History) -> None:
        for ask in state.asks:
            if ask.key is not None:
                legal = self.asked.setdefault((ask.seat, ask.key), ask.legal)
                if legal != ask.legal:
                    raise DifferenceError(f"{ask.key}\nthen {legal}\n or {ask.legal}")
                continue
            seen = state.seen(ask.seat)
            now = (ask.step, ask.occurrence, ask.legal, self.readable(state, ask.seat))
            before = self.asked.setdefault((ask.seat, seen), now)
            self.repeated += before is not now
            if before != now:
                raise DifferenceError(f"{ask.seat} has seen {seen}\nthen {before}\n or {now}")

    def follow(self, state: History) -> None:
        """Looks at what each seat saw in a play, one event after another."""
        for seat in self.ir.everyone:
            seen = state.seen(seat)
            for number, event in enumerate(seen):
                before = self.next.setdefault((seat, seen[:number]), event.step)
                if before != event.step:
                    told = f"{seat} has seen {seen[:number]}"
                    raise DifferenceError(f"{told}\nthen {before}\n or {event.step}")

    def readable(self, state: History, seat: str) -> dict[str, Any]:
        """The values, and lengths, that a seat can read by the analysis."""
        if self.reading is None:
            return {}
        number, bindings = self.ir.everyone.index(seat), state._state.bindings
        case = case_of(self.reading.cases, seat, bindings)
        found: dict[str, Any] = {}
        for name, sight in self.reading.variables.items():
            if "@" in name:
                continue
            value = bindings.get(name)
            if case is None:
                found[name] = part(value, self.reading.table.certain(sight), number, self.ir.seats)
            else:
                reader = number + case * len(self.ir.everyone)
                found[name] = part(value, sight, reader, self.ir.seats)
            if name in self.reading.sized:
                found[f"len({name})"] = lengths(value)
        return found

    def tree(self, most: int) -> int:
        """All histories, if there are at most so many; else so many of them. How many they were."""
        waiting, count = [self.kernel.start()], 0
        while waiting and count < most:
            state = waiting.pop()
            count += 1
            if state.kind == "chance":
                options: list[Any] = list(range(state.outcome_count))
            elif state.kind == "decide":
                self.note(state)
                options = [[]]
                for ask in state.asks:
                    options = [[*names, name] for names in options for name in ask.legal]
            else:
                continue
            for option in options:
                after = state.copy()
                if state.kind == "chance":
                    after.draw(option)
                else:
                    after.choose(option)
                waiting.append(after)
        return count

    def plays(self, policies: int, count: int, moves: int = 1000) -> None:
        """Random plays, so many with each policy. A seat of a policy chooses alike whenever it has
        seen the same, and only chance differs: so seats meet again what they have seen before. Of
        every second policy it does not look at what it has seen either, so that others who know
        more do not tell it by what they choose. Where the game goes on without a valid reply, some
        choices are left out."""
        for policy in range(policies):
            for play in range(count):
                random, state = Random(play), self.kernel.start()
                for _ in range(moves):
                    if state.kind == "end":
                        break
                    if state.kind == "chance":
                        state.draw(random.randrange(state.outcome_count))
                        continue
                    self.note(state)
                    state.choose([
                        Random(
                            f"{policy} {ask.seat} {ask.step} {ask.occurrence}"
                            if policy % 2
                            else f"{policy} {ask.seat} {state.seen(ask.seat)}"
                        ).choice(self.replies(ask))
                        for ask in state.asks
                    ])  # fmt: skip
                if self.steps:
                    self.follow(state)

    def replies(self, ask: Ask) -> tuple[str, ...]:
        """The replies of a seat, silence among them where the game goes on without one."""
        silent = self.ir.costs[ask.seat].then == "skip" and len(ask.legal) > 1
        return (*ask.legal, SILENCE) if silent and SILENCE not in ask.legal else ask.legal


def case_of(cases: Cases, seat: str, bindings: Mapping[str, Any]) -> int | None:
    """The case of a seat, worked out from the state; None where a question has no answer yet."""
    answers = []
    for question in cases.questions:
        value = evaluated(question.form, seat, bindings)
        if value is None:
            return None
        known = [evaluated(form, seat, bindings) for form in question.values] or [False, True]
        answers.append(known.index(value) if value in known else len(known))
    return cases._answers.index(tuple(answers))


def evaluated(form: Any, seat: str, bindings: Mapping[str, Any]) -> Any:
    """The value of a form of the kinds that these tests write; None of what is not bound."""
    match form:
        case ("me",):
            return seat
        case ("value", _, value):
            return value
        case ("read", name):
            return bindings.get(name)
        case ("get", of, key):
            whole = evaluated(of, seat, bindings)
            return None if whole is None else whole.get(evaluated(key, seat, bindings))
        case ("in", one, of):
            some = evaluated(of, seat, bindings)
            return None if some is None else evaluated(one, seat, bindings) in some
    raise AssertionError(form)


def part(value: Any, sight: Visibility, seat: int, seats: tuple[str, ...]) -> Any:
    """What a seat reads of a value."""
    if not sight.readers >> seat & 1:
        return "?"
    if sight.by == "seat":
        owned = value or {}
        return {
            name: part(owned.get(name), sight.parts[number], seat, seats)
            for number, name in enumerate(seats)
        }
    if sight.by == "field" and isinstance(value, tuple | None):
        fields = value or (None,) * len(sight.parts)
        return [part(v, s, seat, seats) for v, s in zip(fields, sight.parts, strict=True)]
    return value if sight.all >> seat & 1 else "?"


def lengths(value: Any) -> Any:
    """What is public of a hidden list or bag."""
    if isinstance(value, Bag):
        return value.total
    if isinstance(value, tuple):
        return len(value)
    if isinstance(value, dict):
        return {key: lengths(inner) for key, inner in value.items()}
    return None


TEAM = "{draw: team, per: role, from: 0..1, seen_by: owner}"
"""A secret of each seat, by which teams see what a step binds."""

SIDE = "[k for k in roles if team[k] == 1]"


class Programs:
    """Random games with hidden state, chance, choices, loops and actions, for two to six roles.
    Numbers are 0, 1 and 2 throughout."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.roles = ["ann", "bob", "cyd", "dan", "eve", "fay"][: self.pick(2, 2, 3, 3, 6)]
        self.numbers = ["p", "q", "s"]
        self.maps = ["own", "oth"]
        self.lists = ["pile", "deck", "hand.ann"]
        self.seats = ["lead"]
        """Variables that are roles."""
        self.deck = self.random.choice(("nobody", "nobody", "all"))
        self.sizes = [", size: hidden" if self.random.random() < 0.4 else "" for _ in range(2)]
        self.last = self.random.choice(("all", *self.roles))
        """Who is asked at the end: all others may be told what they could not be before."""
        self.hand = self.random.choice(("owner", "others"))
        self.next = 0

    def pick(self, *options: Any) -> Any:
        return self.random.choice(options)

    def grown(self, sound: Callable[[str], bool], tries: int) -> str:
        """A program of which every step was sound when it was added, of so many that were tried."""
        actions, turns = ["  rest: {}\n"], [TEAM, self.draw(False), self.draw(False)]
        if self.random.random() < 0.5:
            turns.insert(1, f'{{show: "{SIDE}", as: side, seen_by: "team.me == 1"}}')
        turns = [f"  - {step}\n" for step in turns]
        turns = turns if sound(self.text(actions, turns)) else []
        offered = ["  - {each: roles, choose: z, from: actions}\n"]
        for action in (
            '  hide: {args: {k: 0..1}, do: "own.me = min(k + own.me, 2)"}\n',
            f'  lift: {{args: {{k: 0..1}}, do: "{self.statement(True, ("k",))}"}}\n',
            f"  point: {{args: {{to: {self.pick('roles', 'others')}}}, "
            f'do: "{self.statement(True, ("own[to]", "oth[to]"), "to")}"}}\n',
            f'  wait: {{when: "{self.test(True)}", do: "{self.statement(True, ())}"}}\n',
        ):
            if sound(self.text([*actions, action], turns + offered)):
                actions.append(action)
        for _ in range(tries):
            kept = self.numbers[:], self.maps[:], self.seats[:]
            step = f"  - {self.step(2, False, '  ')}\n"
            if sound(self.text(actions, [*turns, step])):
                turns.append(step)
            else:
                self.numbers, self.maps, self.seats = kept
        return self.text(actions, turns)

    def text(self, actions: list[str], turns: list[str]) -> str:
        first, second, *_ = self.roles
        return f"""game: random
roles: [{", ".join(self.roles)}]
state:
  p: {{of: 0..2, start: 0}}
  q: {{of: 0..2, start: 0, seen_by: nobody}}
  s: {{of: 0..2, start: 1, seen_by: {first}}}
  lead: {{of: role, start: {first}}}
  own: {{per: role, of: 0..2, start: 0, seen_by: owner}}
  oth: {{per: role, of: 0..2, start: 1, seen_by: others}}
  pile: {{list: 0..2, at_most: 30, seen_by: {second}{self.sizes[0]}}}
  deck: {{bag: 0..2, copies: 9, seen_by: {self.deck}{self.sizes[1]}}}
  hand: {{per: role, list: 0..2, at_most: 30, seen_by: {self.hand}}}
actions:
{"".join(actions)}turns:
  - {{role: all, choose: start, from: [0, 1]}}
{"".join(turns)}  - {{role: {self.last}, choose: stop, from: [0, 1]}}
payoffs: p
"""

    # expressions

    def seat(self, me: bool, *more: str) -> str:
        other = [f"other({seat})" for seat in self.seats if len(self.roles) == 2]
        mine = ("me", "me") if me else ()
        return str(self.pick(*self.roles, *mine, *self.seats, *other, *more))

    def atom(self, me: bool, more: tuple[str, ...] = ()) -> str:
        seat = self.seat(me)
        kind = self.random.random()
        if more and kind < 0.4:
            return str(self.pick(*more))
        if kind < 0.5:
            return str(self.pick(*self.numbers))
        if kind < 0.75:
            return f"{self.pick(*self.maps)}[{seat}]"
        if kind < 0.85:
            test = f"r {self.pick('==', '!=')} {seat}"
            return f"max(({self.pick(*self.maps)}[r] if {test} else 0) for r in roles)"
        if kind < 0.9:
            other = "r for r in others" if me else f"r for r in roles if r != {self.roles[0]}"
            return f"max({self.pick(*self.maps)}[r] {other})".replace("] r for", "] for")
        lists = self.pick(*self.lists, *(["hand.me"] if me else []))
        return f"min(len({lists}), 2)"

    def test(self, me: bool, more: tuple[str, ...] = ()) -> str:
        one = f"{self.atom(me, more)} {self.pick('>', '==', '!=')} {self.random.randint(0, 1)}"
        kind = self.random.random()
        if kind > 0.9:
            return f"{self.pick(*self.seats)} {self.pick('==', '!=')} {self.seat(me)}"
        if me and kind < 0.1:
            return str(
                self.pick(f"me == {self.pick(*self.roles)}", "team.me == 1", f"me in {SIDE}")
            )
        if me and kind < 0.25:
            return f"me {self.pick('==', '!=')} {self.pick(*self.roles)} and {one}"
        return one

    def value(self, me: bool, more: tuple[str, ...] = ()) -> str:
        kind = self.random.random()
        if kind < 0.2:
            return str(self.random.randint(0, 2))
        if kind < 0.4:
            test = self.test(me, more)
            return f"{self.atom(me, more)} if {test} else {self.random.randint(0, 1)}"
        if kind < 0.6:
            return f"min({self.atom(me, more)} + {self.atom(me, more)}, 2)"
        return self.atom(me, more)

    def statement(self, me: bool, more: tuple[str, ...], to: str = "") -> str:
        seat = self.seat(me, *((to, to) if to else ()))
        place = self.pick("p", "q", "s", f"own[{seat}]", f"oth[{seat}]")
        kind = self.random.random()
        if kind < 0.08:
            return f"lead = {self.seat(me)}"
        if kind < 0.15:
            return f"add {self.value(me, more)} to {self.pick('pile', f'hand[{seat}]')}"
        if kind < 0.3:
            inner = (*more, "own[r]", "oth[r]")
            tail = f" if {self.test(me, inner)}" if self.random.random() < 0.5 else ""
            test = "for r in roles" + tail
            return f"{self.pick('own[r]', 'oth[r]')} = {self.value(me, inner)} {test}"
        return f"{place} = {self.value(me, more)}"

    # steps

    def readers(self, owned: bool) -> str:
        seat = self.pick(*self.roles)
        own = ("owner", "owner", "others") if owned else ()
        if self.random.random() < 0.3:
            return str(self.pick('"team.me == 1"', f'"{SIDE}"', '"team.me == 1 or me == ann"'))
        return str(self.pick("all", "all", "nobody", seat, f'"me != {seat}"', *own, *own))

    def tail(self, me: bool, often: float = 0.3) -> str:
        return f', if: "{self.test(me)}"' if self.random.random() < often else ""

    def fresh(self, word: str) -> str:
        self.next += 1
        return f"{word}{self.next}"

    def steps(self, depth: int, me: bool, indent: str, count: int) -> list[str]:
        return [f"{indent}- {self.step(depth, me, indent)}\n" for _ in range(count)]

    def step(self, depth: int, me: bool, indent: str) -> str:
        kind = self.random.randrange(12 if depth else 9)
        if kind < 2:
            return self.draw(me)
        if kind < 4:
            return self.choose(me)
        if kind == 4:
            name, tail = self.fresh("w"), self.tail(me)
            step = f'{{show: "{self.value(me)}", as: {name}, seen_by: {self.readers(me)}{tail}}}'
            if not tail:
                self.numbers.append(name)
            return step
        if kind < 9:
            more = tuple(f"own.{role}" for role in self.roles)
            return f'{{do: "{self.statement(me, more)}"{self.tail(me)}}}'
        return self.block(depth, me, indent)

    def draw(self, me: bool) -> str:
        kind = self.random.random()
        if kind < 0.1:
            name = self.fresh("w")
            self.seats.append(name)
            return f"{{draw: {name}, from: roles, seen_by: {self.readers(me)}}}"
        if kind < 0.4:
            name, tail = self.fresh("x"), self.tail(me, 0.15)
            drawn = [number for number in self.numbers if number.startswith("x")]
            if drawn and self.random.random() < 0.4:
                name = self.pick(*drawn)
            step = f"{{draw: {name}, from: 0..1, seen_by: {self.readers(me)}{tail}}}"
            if not tail:
                self.numbers.append(name)
            return step
        if kind < 0.6:
            name = self.fresh("y")
            how = self.pick("draw: {}, per: role, from: 0..1", "deal: {}, from: deck")
            self.maps.append(name)
            return f"{{{how.format(name)}, seen_by: {self.readers(True)}}}"
        place = self.pick("p", "q", "s", "own.me" if me else "own.ann")
        seen = self.pick("", "", f", seen_by: {self.readers(False)}")
        source = self.pick("0..1", "deck")
        if kind < 0.75 and me:
            place = "hand.me"
        return f"{{draw: {place}, from: {source}{seen}{self.tail(me)}}}"

    def choose(self, me: bool) -> str:
        who = self.pick("role: all, ", f"role: {self.pick(*self.roles)}, ", *(("",) * 3 * me))
        acts, seen = bool(who == "" or who == "role: all, "), self.readers(True)
        source = self.pick(
            "[0, 1]",
            "actions",
            "[hide, rest]",
            f'"list(j for j in 0..1 if j == 0 or {self.test(True)})"',
        )
        name, tail = self.fresh("c"), self.tail(acts)
        if not tail and source not in ("actions", "[hide, rest]"):
            (self.maps if who == "role: all, " else self.numbers).append(name)
        if source not in ("actions", "[hide, rest]") and who == "" and self.random.random() < 0.2:
            return f"{{choose: own.me, from: {source}{tail}}}"
        return f"{{{who}choose: {name}, from: {source}, seen_by: {seen}{tail}}}"

    def block(self, depth: int, me: bool, indent: str) -> str:
        kept = self.numbers[:], self.maps[:], self.seats[:]
        head, inner = self.pick(
            (f'if: "{self.test(me)}"', me),
            ("each: roles", True),
            ("repeat: 2", me),
            ("repeat: 2", me),
            (f'each: "j in list(k for k in 0..1 if {self.test(me)})"', me),
        )
        if "j in" in head:
            name = self.fresh("j")
            head = head.replace('"j in', f'"{name} in')
            self.numbers.append(name)
        if head.startswith("repeat") and self.random.random() < 0.7:
            name = self.fresh("i")
            self.numbers.append(name)
            head += f'\n{indent}  count: {name}\n{indent}  until: "{self.test(inner, (name,))}"'
        body = self.steps(depth - 1, inner, f"{indent}    ", self.random.randint(1, 3))
        counters = [name for name in self.numbers if name[0] in "ij"]
        self.numbers, self.maps, self.seats = kept
        self.numbers += [name for name in counters if name not in self.numbers]
        return f"{head}\n{indent}  turns:\n{''.join(body)}".rstrip("\n")
