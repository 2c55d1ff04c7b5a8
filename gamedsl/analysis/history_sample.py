"""A sample of a game's histories, or all of them, made once for all passes that read it.

The reference backend first makes some random plays, within a budget. From them it estimates the
number of histories (Knuth, Estimating the efficiency of backtrack programs, 1975). A game that is
small enough is then enumerated. Of a larger game the plays are all that passes see, and their
proofs are graded "sampled". Effort is counted and never timed, so that every machine gets the same
sample. In open decisions, plays choose among examples of replies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from functools import cached_property
from itertools import zip_longest
from math import prod
from random import Random

from gamedsl.analysis.history_prompts import Prompts, Tokenizer
from gamedsl.analysis.nodes import Failure, Node
from gamedsl.analysis.proof import Grade
from gamedsl.diagnostics.spans import Span
from gamedsl.engine.interpreter import Interpreter, answers_of
from gamedsl.engine.kernel import Ask, Kernel
from gamedsl.engine.random_plays import example_kernel
from gamedsl.engine.walk import after as after_move
from gamedsl.engine.walk import moves, size
from gamedsl.ir.evaluate import Budget, EvaluationError, SpentError
from gamedsl.ir.expr import Expr
from gamedsl.ir.game import GameIR
from gamedsl.prompting.template_evaluation import ALL_STEPS, ALL_TEXT, RenderingBudget

QUICK, USUAL, THOROUGH = 1_000, 20_000, 300_000
"""The most histories that are enumerated when a game is loaded, validated, or validated with care.
Each takes two or three kilobytes."""

MOVES_IN_PROMPTS = 200_000
"""Moves in all prompts that are rendered of a game that is not enumerated."""

MOVES = 400
"""Moves of all random plays together."""

PLAYS = 100
"""Random plays at most."""

WORK = 1_000_000
"""The budget of all plays together, in units of `gamedsl.ir.evaluate.Budget`."""

ENOUGH = 300_000
"""Work after which no further play begins: if one move is much work, a few plays must do."""

COVER = 3_000_000
"""Work for covering the places not yet run, in a game that a generated kernel enumerated."""

STEPS_A_HISTORY, TEXT_A_HISTORY = 250, 5_000
"""Steps of templates, and characters that they write, for each history that may be enumerated; at
least what is the bound of every check."""

INTERPRETED = 400
"""Histories up to which the reference enumerates a game, so that no code is generated."""

HOPELESS = 4
"""Enumeration is not tried if the estimate exceeds the limit by more than this factor."""


class Watch(Budget):
    """A budget that records the places where it was spent (`run`), and the expressions that were
    evaluated on a condition (`entered`)."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._run: set[Span] = set()
        self._entered: set[Span] = set()

    def spend(self, amount: int, span: Span) -> None:
        self._run.add(span)
        super().spend(amount, span)

    def enter(self, expr: Expr) -> None:
        self._entered.add(expr.span)

    def has(self, wanted: set[tuple[object, ...]]) -> bool:
        """Whether all of these places were run or entered."""
        return all(place in (self._run if how == "run" else self._entered) for how, place in wanted)

    @property
    def places(self) -> set[tuple[str, Span]]:
        """Places that were run or entered."""
        entered = (("entered", span) for span in self._entered)
        return {*entered, *(("run", span) for span in self._run)}


class HistorySample:
    """The histories of a game: all if there are at most `limit`, else those of random plays.

    `tokenizer` is the one of the model whose prompts are measured, if any. `nodes` are the
    histories, each after the one it follows; `whole` says that these are all. `plays` is the
    number of random plays, 0 if none was needed. `failure` is the first place where the rules fail,
    `spent` the first where the budget runs out; no history is played after either.
    """

    def __init__(self, ir: GameIR, limit: int = USUAL, tokenizer: Tokenizer | None = None) -> None:
        self.ir = ir
        self.limit = limit
        self.tokenizer = tokenizer
        self.watch = Watch(WORK)
        self.rendering = RenderingBudget(
            max(ALL_STEPS, STEPS_A_HISTORY * limit), max(ALL_TEXT, TEXT_A_HISTORY * limit)
        )
        """What the passes may spend on rendering templates, together."""
        self.reference = example_kernel(ir, self.watch)
        self.nodes: list[Node] = []
        self.whole = False
        self.interpreted = False
        self.plays = 0
        self.moves = 0
        self.failure: Failure | None = None
        self.spent: SpentError | None = None
        self.estimate = 0.0
        self._known: dict[tuple[int, str], tuple[int, int]] = {}
        self._numbers: dict[tuple[int, str, str, str], int] = {}
        try:
            self._explore()
        except SpentError as error:
            self.spent = error

    # what was found

    @property
    def grade(self) -> Grade:
        """The grade of claims that hold in all visited histories."""
        return "enumerated" if self.whole else "sampled" if self.plays else "undecided"

    @property
    def extent(self) -> str:
        if self.whole:
            return f"all {len(self.nodes):,} histories" if len(self.nodes) > 1 else "1 history"
        if not self.plays:
            return "no play was made to its end"
        return f"{self.plays} random play{'s' * (self.plays != 1)}, {self.moves} moves"

    @property
    def size(self) -> str:
        """About how many histories there are, in words."""
        if self.whole:
            return f"{len(self.nodes):,} histories"
        if self.estimate <= self.limit:
            return f"more than {len(self.nodes):,} histories"
        return f"about {self.estimate:.0e} histories".replace("e+0", "e").replace("e+", "e")

    @cached_property
    def ends(self) -> list[Node]:
        """The histories in which the game is over."""
        return [node for node in self.nodes if node.state.kind == "end"]

    @cached_property
    def sets(self) -> dict[Hashable, list[tuple[Node, Ask]]]:
        """The histories of each information set, by its `key`; with what is asked there."""
        found: dict[Hashable, list[tuple[Node, Ask]]] = {}
        for node in self.nodes:
            for ask in node.state.asks:
                found.setdefault(self.key(node, ask), []).append((node, ask))
        return found

    @cached_property
    def asked(self) -> list[tuple[Node, Ask]]:
        """One history of each information set, for passes that render prompts. If the game is not
        enumerated, as many as have `MOVES_IN_PROMPTS` moves together, from the deepest and the
        first in turn."""
        found = [members[0] for members in self.sets.values()]
        if self.whole:
            return found
        depth = {id(node): 0 for node in self.nodes}
        for node in self.nodes:
            if node.before is not None:
                depth[id(node)] = depth.get(id(node.before), 0) + 1
        found.sort(key=lambda one: depth[id(one[0])])
        half, chosen, told = len(found) // 2, list[tuple[Node, Ask]](), 0
        for pair in zip_longest(reversed(found[half:]), found[:half]):
            for one in pair:
                if one is not None and told <= MOVES_IN_PROMPTS:
                    chosen.append(one)
                    told += depth[id(one[0])]
        return chosen

    def key(self, node: Node, ask: Ask) -> Hashable:
        """The information set in which a seat is asked, in less than its name: one is the same as
        another exactly where `gamedsl.runtime.decision.key_of` says so."""
        if ask.key is not None:
            return ask.key
        return ask.seat, ask.step, self.known(node, ask.seat)

    def known(self, node: Node, seat: str) -> int:
        """A number for all that a seat has seen: the same exactly where it has seen the same. Only
        what a move adds is gone through, so that long plays are as much work as they are long."""
        path: list[Node] = []
        at: Node | None = node
        while at is not None and (id(at), seat) not in self._known:
            path.append(at)
            at = at.before
        number, length = (0, 0) if at is None else self._known[id(at), seat]
        for after in reversed(path):
            seen = after.state.seen(seat)
            if after.before is None or seen[:length] != after.before.state.seen(seat):
                number = length = 0
            for event in seen[length:]:
                place = number, event.step, event.seat, event.name
                number = self._numbers.setdefault(place, len(self._numbers) + 1)
            length = len(seen)
            self._known[id(after), seat] = number, length
        return number

    @cached_property
    def prompts(self) -> Prompts:
        """The prompts of these histories."""
        return Prompts(self.ir, self.tokenizer, self.rendering)

    # exploring

    def _explore(self) -> None:
        if not (self.ir.plain and self._outcomes() <= INTERPRETED):
            self._play()
            hopeless = self.ir.open or self.estimate > HOPELESS * self.limit
            if self.failure is not None or hopeless:
                return
        few = self.estimate <= INTERPRETED
        found = self._walk(self.reference if few else self._fast())
        if found is not None:
            self.nodes, self.whole, self.interpreted = found, True, few

    def _outcomes(self) -> int:
        return prod(len(options) for step in self.ir.steps for options in step.options)

    def _fast(self) -> Kernel:
        if self.ir.referees:
            return Interpreter(self.ir)
        from gamedsl.engine.generated import Generated

        return Generated(self.ir)

    def _play(self) -> None:
        """Random plays, sharing the histories that they have in common."""
        root = self._begin(self.reference)
        if root is None:
            return
        self.nodes.append(root)
        sizes = 0.0
        for number in range(PLAYS):
            if self.moves >= MOVES or self.watch.spent >= ENOUGH:
                break
            if number and answers_of(root.state):
                root = self._begin(self.reference)
                if root is None:
                    return
                self.nodes.append(root)
            random, node, size, share = Random(number), root, 1.0, 1.0
            while node.state.kind != "end":
                state = node.state
                self.moves += 1
                if state.kind == "chance":
                    move: tuple[int, ...] = (state.pick(random.getrandbits(62)),)
                    share *= state.outcome_count
                else:
                    if not all(ask.legal for ask in state.asks):
                        break
                    named = [random.choice(ask.legal) for ask in state.asks]
                    taken = zip(state.asks, named, strict=True)
                    move = tuple(ask.legal.index(name) for ask, name in taken)
                    share *= prod(state.counts)
                size += share
                after = node.after.get(move) or self._moved(node, move)
                if after is None:
                    return
                if move not in node.after:
                    same = len(answers_of(after.state)) == len(answers_of(node.state))
                    if same:  # else another play may be given something else
                        node.after[move] = after
                    self.nodes.append(after)
                node = after
            else:
                self.plays += 1
                sizes += size
        self.estimate = sizes / max(self.plays, 1)

    def _walk(self, kernel: Kernel) -> list[Node] | None:
        """All histories; None where there are too many, or the rules fail in one."""
        root = self._begin(kernel)
        if root is None:
            return None
        nodes, waiting = [root], deque([root])
        while waiting:
            node = waiting.popleft()
            if len(nodes) + size(node.state) > self.limit:
                return None
            for move in moves(node.state):
                after = self._moved(node, move)
                if after is None:
                    return None
                node.after[move] = after
                nodes.append(after)
                waiting.append(after)
        return nodes

    def cover(self, wanted: set[tuple[object, ...]]) -> bool:
        """Let `watch` see all places in `wanted`, if the reference comes to them: whether it has
        gone through everything, or met them."""
        watch = self.watch
        watch.limit = watch.spent + COVER
        waiting = [] if self.interpreted else [self.reference.start()]
        try:
            while waiting and not watch.has(wanted):
                state = waiting.pop()
                if state.kind == "end":
                    _ = state.payoffs
                waiting += [after_move(state, move) for move in moves(state)]
        except SpentError:
            return False
        return self.whole

    def _begin(self, kernel: Kernel) -> Node | None:
        try:
            return self._ended(Node(kernel.start(), None, ()))
        except EvaluationError as error:
            self.failure = Failure(error, None, ())
            return None

    def _moved(self, node: Node, move: tuple[int, ...]) -> Node | None:
        """The history one move on; None where the rules fail, which is noted."""
        state, drawn = node.state.copy(), ""
        try:
            if state.kind == "chance":
                drawn = state.draw(*move)
            else:
                state.apply(*move)
        except EvaluationError as error:
            self.failure = Failure(error, node, move)
            return None
        after = Node(state, node, move, drawn)
        try:
            return self._ended(after)
        except EvaluationError as error:
            self.failure = Failure(error, after, ())
            return None

    def _ended(self, node: Node) -> Node:
        """The same, once it is seen that it has payoffs and rewards if the game is over there."""
        if node.state.kind == "end":
            node.payoffs, node.rewards = node.state.payoffs, node.state.rewards
        return node
