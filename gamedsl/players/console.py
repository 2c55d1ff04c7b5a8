"""The console at which people play: it tells a seat what is new and what it sees, and reads replies
from a stream of lines.

A line is the number, the name or the label of an option, or the part of a name that belongs to one
option alone. Coordinates suffice for a cell: `0 2` for `mark(0,2)`. What a seat says is typed as it
stands; a record is asked for field by field. A line that cannot be read is never a move: the
console says why and asks again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple, TextIO

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.types import Option, Text, plain
from gamedsl.players.seat_text import SeatText
from gamedsl.players.typed_reply import Place, fenced, fields_to_type, whole_reply, why_refused
from gamedsl.prompting.replies import ParseFailure
from gamedsl.prompting.reply_instructions import described
from gamedsl.storage.characters import escaped

if TYPE_CHECKING:
    from gamedsl.ir.types import Type
    from gamedsl.runtime import Action, Decision, Env, Episode


class Drawing(NamedTuple):
    """A drawing of what a seat sees, as lines; `steps` are the draws whose values it shows."""

    text: str
    steps: frozenset[str]


Draw = Callable[["Episode", str], Drawing | None]
"""Returns what a seat sees, drawn; None where words say it better."""

Command = Callable[["Decision", "Episode"], str]
"""What a word that is no move does; it returns the text to print."""

END_OF_TEXT = "."
"""The line that ends a reply of several lines."""

CLEAR = "\x1b[2J\x1b[3J\x1b[H"
"""Clears a terminal, and what it has scrolled away."""

MANY = 12
"""Options that stand one below the other; more are set in lines."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|-?[0-9]+")


class InputEnded(Exception):
    """The stream of lines has ended, or whoever plays has left."""


class Console:
    """Talks to people over two streams, for any number of seats.

    `commands` are words that are no moves, with what each is for. `hand_over` waits for a line
    before another seat reads what it may know; the screen is cleared, where there is one. `draw`
    draws boards and hands, which may have colours.
    """

    def __init__(
        self, env: Env, lines: TextIO, out: TextIO, *, colour: bool = False,
        commands: Mapping[str, tuple[str, Command]] | None = None, hand_over: bool = False,
        draw: Draw | None = None,
    ) -> None:  # fmt: skip
        self.text = SeatText(env)
        self._lines, self._out, self._colour = lines, out, colour
        self._commands = {
            "?": ("this help", self._help),
            "rules": ("the rules of the game", lambda d, e: self.text.rules(d.seat)),
            "prompt": ("what a model at your seat is sent", lambda d, e: prompt_text(d)),
            **(commands or {}),
        }
        self._hand_over = hand_over
        self._draw = draw
        self._told: dict[str, int] = {}
        """The number of events that each seat has been told of."""
        self._reader = ""
        """The seat that read last."""

    def ask(self, decision: Decision, episode: Episode) -> Action | str:
        """Returns the reply of whoever sits at the seat. Raises InputEnded at the end of the
        lines, and whatever a command raises."""
        self._turn_to(decision.seat)
        drawn = self._draw(episode, decision.seat) if self._draw else None
        self.print_news(decision.seat, episode, drawn.steps if drawn else ())
        if drawn:
            print(drawn.text, file=self._out)
        elif situation := self.text.situation(decision, episode):
            self.print(situation)
        if question := self.text.question(decision):
            self.print(question, "strong")
        if decision.said is not None:
            return self._ask_open(decision, episode)
        return self._ask_closed(decision, episode)

    def print_news(self, seat: str, episode: Episode, drawn: Collection[str] = ()) -> None:
        """Prints what the seat has come to know since it was last told, but for the draws of steps
        that are `drawn`."""
        since = min(self._told.get(seat, 0), len(episode.seen(seat)))
        for sentence in self.text.news(episode, seat, since, drawn):
            self.print(sentence)
        self._told[seat] = len(episode.seen(seat))

    def forget(self, seat: str, events: int) -> None:
        """Lets a seat be told again what came after its first events."""
        self._told[seat] = min(self._told.get(seat, 0), events)

    def print(self, text: str, style: str = "") -> None:
        """Prints a text, in which nothing can drive the terminal."""
        lines = [escaped(line) for line in text.split("\n")]
        shown = "\n".join(map(_wrapped, lines) if self._colour else lines)
        code = {"strong": "1", "soft": "2", "bad": "31"}.get(style, "")
        print(f"\x1b[{code}m{shown}\x1b[0m" if self._colour and code else shown, file=self._out)

    def read_line(self, prompt: str = "> ") -> str:
        """Returns the next line, without the blanks around it. Raises InputEnded at the end."""
        print(prompt, end="", file=self._out, flush=True)
        line = self._lines.readline()
        if not line:
            print(file=self._out)
            raise InputEnded
        return line.strip()

    def _turn_to(self, seat: str) -> None:
        if self._hand_over and self._reader not in ("", seat):
            if self._colour:
                print(CLEAR, end="", file=self._out)
            self.print(f"It is {seat}'s turn. Hand over, then press Enter.", "strong")
            self.read_line("")
        if self._reader != seat and self._hand_over:
            self.print(f"\n{seat}", "strong")
        self._reader = seat

    # closed decisions

    def _ask_closed(self, decision: Decision, episode: Episode) -> Action:
        from gamedsl.runtime import Action

        options = Options(decision, self.text)
        self._print_options(options)
        while True:
            line = self.read_line()
            if self._did_command(line, decision, episode):
                continue
            found = options.find(line)
            if isinstance(found, str):
                return Action(found)
            self.print(found.detail, "bad")

    def _print_options(self, options: Options) -> None:
        rows = options.rows()
        if len(rows) <= MANY:
            self.print("\n".join(f"  {row}" for row in rows))
            return
        width = max(map(len, rows)) + 2
        per_line = max(1, (get_terminal_size((80, 24)).columns - 2) // width)
        for at in range(0, len(rows), per_line):
            line = "".join(row.ljust(width) for row in rows[at : at + per_line])
            self.print(f"  {line.rstrip()}")

    # open decisions

    def _ask_open(self, decision: Decision, episode: Episode) -> str:
        said = decision.said
        assert said is not None
        while True:
            reply = self._read_open(decision, episode)
            read = episode.parse(decision, reply)
            if not isinstance(read, ParseFailure):
                return reply
            self.print(f"That is no valid reply: {why_refused(read)}. Type ? for help.", "bad")

    def _read_open(self, decision: Decision, episode: Episode) -> str:
        """Returns a reply in the form that is asked for."""
        said = decision.said
        assert said is not None
        fields = fields_to_type(decision)
        if fields:
            return self._read_fields(fields, decision, episode)
        if said.form == "code":
            self.print(f"End it with a line that is `{END_OF_TEXT}` alone.", "soft")
            lines: list[str] = []
            while (line := self._read_text(decision, episode, first=not lines)) != END_OF_TEXT:
                lines.append(line)
            return fenced("\n".join(lines))
        return self._read_text(decision, episode)

    def _read_text(self, decision: Decision, episode: Episode, first: bool = True) -> str:
        while True:
            line = self.read_line("> " if first else ". ")
            if not self._did_command(line, decision, episode):
                return line

    def _read_fields(
        self, fields: Sequence[tuple[Place, Type]], decision: Decision, episode: Episode
    ) -> str:
        """Returns a JSON object whose values were asked for one after another; a line that begins
        with a brace is the whole object."""
        typed = list[tuple[Place, "Type", str]]()
        for place, type in fields:
            line = ""
            while not line:
                line = self.read_line(
                    f"{'.'.join(place)} ({described(type, decision.env.seats)})> "
                )
                if self._did_command(line, decision, episode):
                    line = ""
                elif isinstance(type, Option) or isinstance(plain(type), Text):
                    break
            if line.startswith("{"):
                return line
            typed.append((place, type, line))
        return whole_reply(typed)

    # commands

    def _did_command(self, line: str, decision: Decision, episode: Episode) -> bool:
        """Whether a line was a command, which is then carried out. A name of an option is none; in
        open decisions a command begins with a slash, except the question mark."""
        word = line.removeprefix("/")
        named = line.startswith("/") or (decision.said is None and line not in decision.legal)
        if line != "?" and not named:
            return False
        if word == "help":
            word = "?"
        if word not in self._commands:
            if decision.said is None:
                return False
            self.print(f"There is no command `/{word}`. Type ? for help.", "bad")
            return True
        text = self._commands[word][1](decision, episode)
        if text:
            self.print(text)
        return True

    def _help(self, decision: Decision, episode: Episode) -> str:
        slash = "" if decision.said is None else "/"
        how = (
            "Type the number or the name of an option."
            if decision.said is None
            else "Type what you say."
        )
        rows = [
            f"  {word if word == '?' else slash + word:<8} {what}"
            for word, (what, _) in self._commands.items()
        ]
        return "\n".join((how, *rows))


class Options:
    """The options of a closed decision as people name them."""

    def __init__(self, decision: Decision, text: SeatText) -> None:
        self._names = decision.legal
        self._texts = tuple(map(text.option, decision.legal))
        self._labels = decision.labels
        self.numbered = not any(re.fullmatch(r"-?\d+(/\d+)?", text) for text in self._texts)
        """Whether a number is the place of an option: not where an option is a number itself."""

    def rows(self) -> list[str]:
        """Returns a line for each option."""
        if not self.numbered:
            return list(self._texts)
        wide = len(str(len(self._texts)))
        return [f"{place:>{wide}} {text}" for place, text in enumerate(self._texts, 1)]

    def find(self, line: str) -> str | ParseFailure:
        """Returns the canonical name of the option that a line names, or why it names none."""
        if not line:
            fix = "Type the number or the name of an option, or ? for help."
            return ParseFailure("empty", line, fix)
        for texts in (self._names, self._texts, self._labels):
            if line in texts:
                return self._names[texts.index(line)]
        if self.numbered and line.isdecimal():
            if 1 <= int(line) <= len(self._names):
                return self._names[int(line) - 1]
            return ParseFailure("unknown", line, f"There are options 1 to {len(self._names)}.")
        near = [place for place, text in enumerate(self._texts) if _fits(line, text)]
        if len(near) == 1:
            return self._names[near[0]]
        if near:
            listed = ", ".join(self._texts[place] for place in near[:6])
            more = ", …" if len(near) > 6 else ""
            return ParseFailure("several", line, f"`{line}` could be {listed}{more}.")
        close = did_you_mean(line, self._texts)
        fix = f"did you mean `{close}`?" if close else "type ? for help."
        return ParseFailure("unknown", line, f"`{line}` is not one of the options; {fix}")


def _fits(line: str, text: str) -> bool:
    """Whether a line is a beginning of an option, whatever its case, or has its last words and
    numbers."""
    if text.casefold().startswith(line.casefold()):
        return True
    typed, whole = _WORD.findall(line.casefold()), _WORD.findall(text.casefold())
    return len(typed) > 1 and whole[-len(typed) :] == typed


def _wrapped(line: str) -> str:
    """Returns a line that breaks between words where the terminal ends."""
    indent = line[: len(line) - len(line.lstrip(" "))]
    return fill(
        line, get_terminal_size((80, 24)).columns, subsequent_indent=f"{indent}  ",
        break_on_hyphens=False, drop_whitespace=False, replace_whitespace=False,
    )  # fmt: skip


def prompt_text(decision: Decision) -> str:
    """Returns the messages that a model is sent, each under its chat role."""
    return "\n".join(f"[{role}]\n{content}" for role, content in decision.messages)
