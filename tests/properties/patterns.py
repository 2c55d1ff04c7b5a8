"""Runs of steps that belong together: hands, boards, decks, signals, declared actions, stages."""

from __future__ import annotations

from math import comb, prod
from typing import Any

from tests.properties.choices import Step
from tests.properties.expressions import domain_size
from tests.properties.kinds import Budget, Cell, Enum, Eye, Record, Role, Truth, Var, Whole
from tests.properties.steps import Steps

STAGES = {
    2: {"prisoners_dilemma": 4, "matching_pennies": 4, "rock_paper_scissors": 9, "ultimatum": 6,
        "kuhn_poker": 30, "battle_of_the_sexes": 4},
}  # fmt: skip
"""Shipped games that are small, by their number of seats, with their number of histories."""


class Patterns(Steps):
    """Writes runs of steps. Each method returns none where there is no room for it."""

    moves: Var | None = None
    moves_branches: int = 0
    ended: bool = False
    """Whether a loop may end the game."""

    def pattern(self, budget: Budget) -> list[Step]:
        ways = [self.bids, self.deck, self.signal, self.scene, self.hidden_hand, self.walk,
                self.heap, self.stage, self.acts]  # fmt: skip
        way = self.pick(ways)
        steps = way(budget)
        if steps and way not in (self.deck, self.signal, self.scene):
            self.acted.update(self.seats)
        return steps

    def passes(self, budget: Budget, branches: int, most: int) -> int:
        """How often a body may run."""
        count = 0
        while count < most and budget.affords(branches ** (count + 1)):
            count += 1
        return count

    def bids(self, budget: Budget) -> list[Step]:
        """Everyone has a hand, plays from it at once, and loses what was played."""
        size, seats = self.number_in(2, 3), len(self.seats)
        rounds = self.number_in(1, size)
        branches = prod(max(size - i, 1) ** seats for i in range(rounds))
        if not budget.affords(branches):
            return []
        hand, bid = self.fresh("hand"), self.fresh("bid")
        shape = self.pick(["bag", "set"])
        names = self.members(size)
        content: Any = f"1..{size}" if self.chance(60) else list(names)
        kind: Any = Whole(1, size) if isinstance(content, str) else Enum("", names)
        hidden = self.chance(60)
        self.sections.state[hand] = {"per": "role", "bag": content}
        if shape == "set" and isinstance(content, str):
            self.sections.state[hand] = {"per": "role", "set": content, "start": content}
        if hidden:
            self.sections.state[hand]["seen_by"] = "owner"
        play: Step = {"role": "all", "choose": bid, "from": f"{hand}.me"}
        readers: Any = "all"
        if hidden and self.chance(60):
            play["seen_by"], readers = "owner", "owner"
        turns: list[Step] = [play]
        if readers == "owner" and kind == Whole(1, size) and self.chance(70):
            told = self.fresh("told")
            turns.append({"show": f"argmax({bid})", "as": told})
            self.vars.append(Var(told, Role(), sure=False))
        turns.append({"each": "roles", "do": f"drop {bid}.me from {hand}.me"})
        budget.spend(branches)
        self.vars.append(Var(bid, kind, readers, "role", self.seats))
        return [{"repeat": rounds, "turns": turns}]

    def deck(self, budget: Budget) -> list[Step]:
        """Cards are drawn from a hidden deck, which they leave."""
        types = self.fitting_types(4, Enum, Record, Whole)
        if not types:
            return []
        name, kind = self.pick(types)
        copies, seats = self.number_in(1, 2), len(self.seats)
        size, total = domain_size(kind, self.seats), 0
        total = size * copies
        deck, card = self.fresh("deck"), self.fresh("card")
        if total < seats or not budget.affords(size**seats):
            return []
        state: dict[str, Any] = {"bag": name, "seen_by": "nobody"}
        if copies > 1:
            state["copies"] = copies
        self.sections.state[deck] = state
        step: Step = {"deal": card, "from": deck}
        readers, fields = self.seen_by_draw(step, True, kind, False)
        budget.spend(size**seats)
        self.vars.append(Var(card, kind, readers, "role", self.seats, fields=fields))
        steps = [step]
        if total > seats and budget.affords(size) and self.chance(50):
            board = self.fresh("board")
            steps.append({"draw": board, "from": deck, "seen_by": "all"})
            budget.spend(size)
            self.vars.append(Var(board, kind))
        return steps

    def signal(self, budget: Budget) -> list[Step]:
        """One sees a thing and says a word, another guesses, and all are told."""
        types = self.fitting_types(3)
        if len(self.seats) < 2 or not types:
            return []
        name, kind = self.pick(types)
        size, words = domain_size(kind, self.seats), self.members(2)
        if not budget.affords(size * 2 * size):
            return []
        sender, receiver = self.some(self.seats, 2, 2)
        self.acted.update((sender, receiver))
        thing, word, guess, hit = (self.fresh(n) for n in ("thing", "word", "guess", "hit"))
        budget.spend(size * 2 * size)
        self.vars.append(Var(thing, kind, (sender,)))
        said: Step = {"role": sender, "choose": word, "from": list(words)}
        heard: Any = "all"
        if self.chance(30):
            said["seen_by"], heard = [sender, receiver], (sender, receiver)
        self.vars.append(Var(word, Enum("", words), heard))
        self.vars.append(Var(guess, kind))
        self.vars.append(Var(hit, Truth()))
        return [
            {"draw": thing, "from": name, "seen_by": sender}, said,
            {"role": receiver, "choose": guess, "from": name},
            {"show": f"{guess} == {thing}", "as": hit},
        ]  # fmt: skip

    def scene(self, budget: Budget) -> list[Step]:
        """Some things are laid out, and somebody takes one."""
        types = [t for t in self.fitting_types(4, Enum, Whole) if domain_size(t[1], self.seats) > 2]
        if not types:
            return []
        name, kind = self.pick(types)
        size = domain_size(kind, self.seats)
        if not budget.affords(comb(size, 2) * 2):
            return []
        scene, target, pick = (self.fresh(n) for n in ("scene", "target", "taken"))
        seat = self.pick(self.seats)
        self.acted.add(seat)
        shown = "all" if self.chance(50) else seat
        steps: list[Step] = [{"draw": scene, "from": f"2 of {name}", "seen_by": shown}]
        readers: Any = "all" if shown == "all" else (seat,)
        self.vars.append(Var(scene, kind, readers, shape="list", most=2))
        budget.spend(comb(size, 2) * 2)
        if budget.affords(2) and self.chance(50):
            steps.append({"draw": target, "from": scene, "seen_by": "nobody"})
            budget.spend(2)
            self.vars.append(Var(target, kind, "nobody"))
        steps.append({"role": seat, "choose": pick, "from": scene})
        self.vars.append(Var(pick, kind))
        return steps

    def hidden_hand(self, budget: Budget) -> list[Step]:
        """Hands that the others see: a slot is chosen blindly, shown and dropped."""
        types = self.fitting_types(4, Enum, Record)
        if len(self.seats) < 2 or not types:
            return []
        name, kind = self.pick(types)
        size, seats, copies = domain_size(kind, self.seats), len(self.seats), 2
        cards = 2 if budget.affords((size**seats) ** 2 * 2**seats) else 1
        branches = (size**seats) ** cards * cards**seats
        if not budget.affords(branches) or size * copies < cards * seats:
            return []
        deck, hand, slot, card = (self.fresh(n) for n in ("deck", "hand", "slot", "card"))
        self.sections.state[deck] = {"bag": name, "copies": copies, "seen_by": "nobody"}
        self.sections.state[hand] = {
            "per": "role", "list": name, "at_most": cards, "seen_by": "others",
        }  # fmt: skip
        budget.spend(branches)
        self.vars.append(Var(card, kind, sure=False))
        body: list[Step] = [
            {"choose": slot, "from": f"slots({hand}.me)"},
            {"show": f"{hand}.me[{slot}]", "as": card},
            {"do": f"drop {hand}.me[{slot}]"},
        ]
        deal: Step = {"each": "roles", "draw": f"{hand}.me", "from": deck}
        return [
            deal if cards == 1 else {"repeat": cards, "turns": [deal]},
            {"each": "roles", "turns": body},
        ]

    def walk(self, budget: Budget) -> list[Step]:
        """Everyone walks on a grid, at once or in turn."""
        seats, rows, columns = len(self.seats), self.number_in(1, 2), self.number_in(2, 3)
        at, step = self.fresh("at"), self.fresh("step")
        moves = {"east": [0, 1], "stay": [0, 0], "south": [1, 0]}
        names = self.members(self.number_in(2, 3))
        values = dict(zip(names, moves.values(), strict=False))
        branches = len(names) ** seats
        passes = self.passes(budget, branches, 2)
        if not passes:
            return []
        cell, move = self.fresh("Cell"), self.fresh("Move")
        self.sections.types[cell] = {"cell": [rows, columns]}
        self.sections.types[move] = {"values": values}
        self.sections.state[at] = {"per": "role", "of": cell, "start": [0, 0]}
        self.vars.append(Var(at, Cell(rows, columns), "all", "role", self.seats, state=False))
        budget.spend(branches**passes)
        joint = self.chance(60)
        head = {"role": "all"} if joint else {"each": "roles"}
        moved = f"{at}[r] = clip({at}[r] + {step}[r]) for r in roles"
        alone = f"{at}.me = clip({at}.me + {step}.me)"
        turns: list[Step] = (
            [{**head, "choose": step, "from": move}, {"do": moved}]
            if joint
            else [{**head, "turns": [{"choose": step, "from": move}, {"do": alone}]}]
        )
        return [{"repeat": passes, "turns": turns}] if passes > 1 else turns

    def heap(self, budget: Budget) -> list[Step]:
        """Things are taken from a heap in turn until it is empty."""
        size = self.number_in(2, 5)
        heap, take, last = (self.fresh(n) for n in ("heap", "take", "last"))
        if not budget.affords(2**size):
            return []
        self.sections.state[heap] = {"of": f"0..{size}", "start": size}
        self.sections.state[last] = "none"
        budget.spend(2**size)
        self.vars.append(Var(heap, Whole(0, size)))
        self.vars.append(Var(last, Role(), sure=False))
        return [{
            "each": "cycle(roles)", "until": f"{heap} == 0", "at_most": size,
            "turns": [{"choose": take, "from": f"1..min(2, {heap})"},
                      {"do": f"{heap} -= {take}; {last} = me"}],
        }]  # fmt: skip

    def stage(self, budget: Budget) -> list[Step]:
        """A shipped game, as a stage."""
        able = [n for n, size in STAGES.get(len(self.seats), {}).items() if budget.affords(size)]
        if not able:
            return []
        name = self.pick(able)
        passes = self.passes(budget, STAGES[len(self.seats)][name], 2)
        budget.spend(STAGES[len(self.seats)][name] ** passes)
        self.streams["payoffs"] = None
        step: Step = {"use": name}
        if self.chance(40):
            step["weight"] = self.pick(["1/2", "2", "-1"])
        return [{"repeat": passes, "turns": [step]}] if passes > 1 else [step]

    # declared actions

    def acts(self, budget: Budget) -> list[Step]:
        """Declared actions, chosen in turn or at once."""
        at_once = self.chance(35) and len(self.seats) > 1
        if self.moves is None:
            self.declare_moves(budget, own=at_once)
        elif self.moves.joint != at_once or self.moves.per != ("role" if at_once else None):
            return []
        branches, seats = self.moves_branches, len(self.seats)
        assert self.moves is not None
        if at_once:
            if not budget.affords(branches**seats):
                return []
            budget.spend(branches**seats)
            self.bind_moves()
            if self.chance(40):
                return [{"use": "simultaneous"}]
            return [{"role": "all", "choose": "move", "from": "actions"}]
        passes = self.passes(budget, branches, len(self.seats) + 2)
        if not passes:
            return []
        budget.spend(branches**passes)
        self.bind_moves()
        if self.chance(40):
            return [{"use": "alternate", "at_most": passes}]
        step: Step = {"choose": "move", "from": "actions"}
        loop: Step = {"each": "cycle(roles)", "turns": [step]}
        if self.chance(40) and (test := self.truth(Eye("all", self.seats))):
            loop |= {"until": test, "at_most": {"n": passes, "then": self.pick(["go_on", "end"])}}
            self.ended |= loop["at_most"]["then"] == "end"
        else:
            loop["at_most"] = passes
        return [loop]

    def bind_moves(self) -> None:
        """Actions with arguments have no name to be compared with; without others, none has."""
        assert self.moves is not None
        if isinstance(self.moves.kind, Enum) and self.moves.kind.members:
            self.vars.append(self.moves)

    def declare_moves(self, budget: Budget, *, own: bool) -> None:
        """Write the section `actions`: names, or actions with arguments, guards and effects."""
        names = self.members(self.number_in(2, 3))
        if self.chance(35):
            self.sections.actions = list(names)
            self.moves_branches = len(names)
        else:
            self.sections.actions, self.moves_branches = {}, 0
            for i, name in enumerate(names):
                self.sections.actions[name] = self.action(name, own=own, guarded=i > 0)
        if isinstance(self.sections.actions, dict):
            plain = [n for n, entry in self.sections.actions.items() if "args" not in entry]
            names = tuple(plain)
        kind = Enum("", names)
        self.moves = Var("move", kind, "all", "role" if own else None, self.seats if own else (),
                         joint=own, sure=False)  # fmt: skip

    def action(self, name: str, *, own: bool, guarded: bool) -> dict[str, Any]:
        """A declared action; it reads the state alone, since it may be chosen at any time."""
        kept, first = self.vars, len(self.vars)
        self.vars = [var for var in self.vars if var.state]
        entry: dict[str, Any] = {}
        branches = 1
        eye = Eye("all", self.seats)
        types = self.fitting_types(3)
        if types and self.chance(50):
            argument = self.fresh("a")
            source, kind = self.pick(types)
            if guarded and len(self.seats) in (2, 3) and self.chance(25):
                source, kind = "others", Role()
            entry["args"] = {argument: source}
            branches = domain_size(kind, self.seats)
            self.vars.append(Var(argument, kind))
        boards = [v for v in self.vars if v.shape == "grid" and v.readers == "all" and not v.per]
        if boards and not own and self.chance(60):
            board, place = self.pick(boards), self.fresh("c")
            cells = self.pick(["empty", "lowest_empty", "cells"])
            entry, guarded = {"args": {place: f"{cells}({board.name})"}}, True
            branches = board.size[0] * board.size[1]
            self.vars = [v for v in self.vars if v.state]
            entry["do"] = f"{board.name}[{place}] = {self.value(board.kind, eye, 0)}"
            self.unplayed |= cells != "cells"
        if guarded and self.chance(60) and (test := self.truth(eye)):
            entry["when"] = test
        if "do" not in entry and self.chance(75):
            lines = [self.statement(self.seats, own=own) for _ in range(self.number_in(1, 2))]
            found = [line for line in lines if line]
            if found and self.chance(60):
                entry["do"] = "; ".join(found)
            elif not own and self.chance(60):
                told = self.fresh("told")
                entry["turns"] = [{"show": self.value(Whole(), Eye("referee", self.seats)),
                                   "as": told}]  # fmt: skip
                entry["turns"] += [{"do": line} for line in found]
        self.vars = kept[:first]
        self.moves_branches += branches
        return entry
