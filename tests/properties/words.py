"""Games in words, written at random: guards on secrets, readers by field, records, calls, silence.

`word_files` writes files that are right by construction, as `strategies.game_files` does for games
of closed choices. `leaky_files` writes the same, but that conditions may read what is hidden from
those who would have to know it: some of these leak, and must be refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.properties.choices import Step
from tests.properties.kinds import (
    Budget,
    Enum,
    Eye,
    Kind,
    Readers,
    Record,
    Role,
    Text,
    Truth,
    Var,
    Whole,
)
from tests.properties.strategies import Writer

LIMIT = 30
"""Characters of a text in a record."""

JUDGE = "judge"


class WordWriter(Writer):
    """Writes one file in which something is said."""

    loose = False
    """Whether conditions may read what is hidden from those who see what they decide."""
    skips = False
    """Whether the game goes on without a valid reply, so that every choice may be none."""
    referees = False

    # the file

    def declare(self) -> None:
        self.skips, self.referees = self.chance(50), self.chance(25)
        super().declare()

    def presentation(self, document: dict[str, Any]) -> None:
        """What becomes of invalid replies. Names are shown: words may name them."""
        if self.referees:
            document["referees"] = [JUDGE]
        retry = {"retry": 1} if self.chance(50) else {}
        then = "skip" if self.skips else "forfeit"
        document["on_invalid"] = {**retry, "then": then, "pay": -9}

    def turns(self, budget: Budget) -> list[Step]:
        steps = [self.hidden_draw()]
        for _ in range(self.number_in(2, 4)):
            match self.number_in(0, 9):
                case 0:
                    steps += self.call(()) or self.say(())
                case 1:
                    steps += self.show_text(()) or self.say(())
                case 2 | 3 | 4:
                    steps += self.step(budget, (), 1)
                case _:
                    steps += self.say(())
        if self.referees:
            steps.append({"role": [JUDGE], "say": self.fresh("verdict"), "max_tokens": 9})
        names = self.members(2)
        steps.append({"role": "all", "choose": self.fresh("last"), "from": list(names)})
        return steps

    def hidden_draw(self) -> Step:
        """A value for each role, which some do not see."""
        name, among = self.fresh("draw"), list[Readers](["owner", "owner", "others", "nobody"])
        readers = self.pick(among)
        kind: Kind = Whole(0, 2)
        source: Any = "0..2"
        if self.chance(60):
            names = self.members(self.number_in(2, 3))
            kind, source = Enum("", names), list(names)
        self.vars.append(Var(name, kind, readers, "role", self.seats))
        return {"draw": name, "from": source, "per": "role", "seen_by": readers}

    def step(self, budget: Budget, acting: tuple[str, ...], depth: int) -> list[Step]:
        found: list[Step] | None = None
        match self.number_in(0, 9):
            case 0 | 1 | 2:
                found = self.say(acting)
            case 3:
                found = self.call(acting)
            case 4:
                found = self.show_text(acting)
            case _:
                pass
        return found or super().step(budget, acting, depth)

    def block(self, budget: Budget, acting: tuple[str, ...], depth: int) -> Step | None:
        """A condition around a leak may never hold, so that nothing leaks."""
        return None if self.loose else super().block(budget, acting, depth)

    def truth_before(self, first: int) -> str | None:
        return None if self.loose else super().truth_before(first)

    def bind_choice(
        self, name: str, kind: Kind, readers: Readers, actors: tuple[str, ...], joint: bool,
        sure: bool,
    ) -> None:  # fmt: skip
        super().bind_choice(name, kind, readers, actors, joint, sure and not self.skips)

    def endings(self, document: dict[str, Any]) -> None:
        """Nothing ends the game before its last step: going on would tell what `end` reads."""
        if self.unplayed:
            document["no_move"] = "pass"
            self.vars = [v if v.state else replace(v, sure=False) for v in self.vars]

    # conditions

    def truth(self, eye: Eye, depth: int = 1) -> str | None:
        """A condition; of what was said also whether it was."""
        said = [
            text
            for var in self.vars
            if var.shape == "value" and not var.sure and not var.state
            for text, owner, _ in self.keyed(var, eye)
            if self.may_read(var.readers, eye, owner) and not var.fields
        ]
        if said and self.chance(30):
            return f"{self.pick(said)} {self.pick(['==', '!='])} none"
        return super().truth(eye, depth)

    def drawn(self, eye: Eye) -> list[tuple[str, Kind]]:
        """The values that chance alone decides and an eye may see. What is dealt may follow from
        what others have."""
        return [
            (text, var.kind)
            for var in self.vars
            if var.name.startswith("draw") and var.sure and var.shape == "value"
            for text, owner, _ in self.keyed(var, eye)
            if self.may_read(var.readers, eye, owner)
        ]

    def secret(self, eye: Eye) -> str | None:
        """A condition that one draw decides, perhaps in secret."""
        drawn = [
            (text, kind)
            for text, kind in self.drawn(eye)
            if isinstance(kind, Enum) or (isinstance(kind, Whole) and kind.high)
        ]
        if not drawn:
            return None
        text, kind = self.pick(drawn)
        return f"{text} {self.pick(['==', '!='])} {self.literal(kind)}"

    def guard(
        self, step: Step, acting: tuple[str, ...], readers: Readers, who: str,
        joint: tuple[str, ...] = (),
    ) -> bool:  # fmt: skip
        me, test = joint or acting, None
        if self.loose and self.chance(30):
            test = self.secret(Eye("referee", me))
        elif me and who == "me" and step.get("seen_by") in ("owner", "nobody") and self.chance(60):
            test = self.secret(Eye("me", me))
        if test is not None:
            step["if"] = test
            return True
        guarded = super().guard(step, acting, readers, who, joint)
        return guarded or super().guard(step, acting, readers, who, joint)

    # what is said

    def say(self, acting: tuple[str, ...]) -> list[Step]:
        """Words of one role, of several at once or in turn."""
        item: Step = {}
        if not acting and len(self.seats) > 1 and self.chance(25):
            item["each"] = "roles"
            actors, joint, who = self.seats, False, "me"
        else:
            actors, joint, who = self.actors(acting, item)
        acting = acting or (actors if "each" in item else ())
        name = self.fresh("word")
        step: Step = {**item, "say": name}
        kind: Kind = Text(LIMIT)
        fields: tuple[tuple[str, Readers], ...] = ()
        if self.chance(50):
            step["read"], kind = self.reply()
        else:
            step["max_tokens"] = 9
        readers: Readers = "nobody"
        if isinstance(kind, Record) and self.chance(50):
            fields = self.readers_of_fields(step, kind, actors)
        elif self.chance(30):
            step["seen_by"] = "owner"
            readers = "owner" if len(actors) > 1 else actors
        else:
            readers = self.seen_by_choice(step, actors, joint)
        if isinstance(kind, Record) and self.chance(50):
            self.valid(step, kind, f"{name}.me" if joint else name, actors, who)
        guarded = self.guard(step, acting, readers, who, actors if joint else ())
        first = len(self.vars)
        self.bind_choice(name, kind, readers, actors, joint, not guarded)
        self.vars[first:] = [replace(var, fields=fields) for var in self.vars[first:]]
        return [step]

    def reply(self) -> tuple[dict[str, Any], Record]:
        """The fields of a record that a reply is read as."""
        written: dict[str, Any] = {}
        fields: list[tuple[str, Any]] = []
        for name in self.some(["whom", "amount", "tone", "why"], 2, 4):
            kind: Role | Whole | Enum | Text
            match name:
                case "whom":
                    written[name], kind = "role", Role()
                case "amount":
                    written[name], kind = "0..3", Whole(0, 3)
                case "tone":
                    members = self.members(2)
                    written[name], kind = list(members), Enum("", members)
                case _:
                    written[name], kind = f"text({LIMIT})", Text(LIMIT)
            fields.append((name, kind))
        return written, Record("", tuple(fields))

    def readers_of_fields(
        self, step: Step, kind: Record, actors: tuple[str, ...]
    ) -> tuple[tuple[str, Readers], ...]:
        """Let some fields be seen, each by its own readers."""
        words = {
            field: self.pick(["all", "owner", "others", "nobody", self.pick(self.seats)])
            for field, _ in self.some(kind.fields, 1, len(kind.fields))
        }
        step["seen_by"] = words
        known = ("all", "nobody", "owner", "others")
        found: list[tuple[str, Readers]] = []
        for field, word in words.items():
            readers: Any = word if word in known else (word,)
            found.append((field, actors if word == "owner" and len(actors) == 1 else readers))
        return tuple(found)

    def valid(self, step: Step, kind: Record, own: str, actors: tuple[str, ...], who: str) -> None:
        """A condition that a reply must meet; some reply meets it."""
        acting = actors if who == "me" else ()
        known = [(text, kind) for text, kind, sure in self.entries(Eye(who, acting)) if sure]
        if self.loose and self.chance(40):
            known = self.drawn(Eye("referee", acting))
        numbers = [text for text, number in known if isinstance(number, Whole)]
        tests = []
        for field, inner in kind.fields:
            match inner:
                case Role() if len(self.seats) > 1 and (who == "me" or len(actors) == 1):
                    tests.append(f"{own}.{field} != {'me' if who == 'me' else actors[0]}")
                case Whole():
                    top = self.pick(numbers) if numbers else str(self.number_in(0, 3))
                    tests.append(f"{own}.{field} != {top}")
                case _:
                    pass
        if tests:
            step["valid"] = self.pick(tests)

    def own_test(self) -> str:
        """A condition that each seat can work out of itself, and that says of each whether it
        sees the value."""
        return f"me {self.pick(['==', '!='])} {self.pick(self.seats)}"

    def some_readers(self, step: Step) -> tuple[tuple[str, ...], Readers]:
        """Referees are none of all seats."""
        some, readers = super().some_readers(step)
        return some, some if self.referees else readers

    # what is made of it

    def texts(self) -> list[Var]:
        return [var for var in self.vars if isinstance(var.kind, Text) and not var.state]

    def show_text(self, acting: tuple[str, ...]) -> list[Step] | None:
        """A text is told to others, or to all."""
        able = [var for var in self.texts() if var.per is None or var.joint]
        if not able or acting:
            return None
        var, name = self.pick(able), self.fresh("told")
        step: Step = {"show": var.name, "as": name}
        reader = self.pick(["all", *self.seats])
        step["seen_by"] = reader
        self.vars.append(replace(var, name=name, readers="all" if reader == "all" else (reader,)))
        return [step]

    def call(self, acting: tuple[str, ...]) -> list[Step] | None:
        """A function is given a text; where all can read it, its result may be seen by all."""
        able = [var for var in self.texts() if var.sure and (var.per is None or var.joint)]
        if not able or acting:
            return None
        var, name = self.pick(able), self.fresh("hit")
        value = self.pick([str(self.number_in(0, 50)), *self.seats])
        step: Step = {"call": "exact", "with": {"text": var.name, "value": value}, "gives": name}
        readers: Readers = "nobody"
        if var.readers == "all" and self.chance(60):
            step["seen_by"] = readers = "all"
        self.vars.append(Var(name, Truth(), readers, var.per, var.seats, joint=var.joint))
        return [step]


@st.composite
def word_files(draw: st.DrawFn) -> str:
    """A file in words that leaks nothing."""
    return WordWriter(draw).file()


@st.composite
def leaky_files(draw: st.DrawFn) -> str:
    """The same, but that some conditions may read what they must not."""
    writer = WordWriter(draw)
    writer.loose = True
    return writer.file()
