"""The live screen of a training run, and its plain twin where nobody watches.

On a terminal one panel is redrawn in place once a step, and once a second for how far the step
under way is, never taller or wider than the terminal; elsewhere each step is one line. Nothing here
changes what is trained or recorded. `rich` is imported when a screen is made.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gamedsl.tables.numbers import duration, number
from gamedsl.training.monitors.text import (
    PolicyRow,
    alarms,
    decisions,
    meanings,
    ranges_for,
    rounds,
)
from gamedsl.training.progress import progress_text
from gamedsl.training.summary import mixture, predicted

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text

    from gamedsl.recipe.table import Recipe
    from gamedsl.runtime import Game

Record = Mapping[str, Any]

SHADES = ("█", "▓", "▒", "░")
COLOURS = ("cyan", "yellow", "magenta", "green")
SPARKS = "▁▂▃▄▅▆▇█"
MEMORY = 400
SLOW = 3.0
"""Seconds from which on it is said how long the step under way takes."""
QUIET = 30.0
"""Seconds of a step after which plain output says how far it is, for the first time; from then on
whenever the step has lasted twice as long."""
WIDEST = 110


class Screen:
    """Shows a run while it goes. `close` may be called at any time, and more than once."""

    def __init__(
        self, recipe: Recipe, game: Game, total_steps: int, *, console: Console | None = None
    ) -> None:
        from rich.console import Console

        self.console = console or Console(highlight=False)
        self._title = f"{game.name} · {recipe.model_names(game.ir)} · seed {recipe.seed}"
        self._total = total_steps
        self._history: dict[int, Record] = {}
        """The latest records of steps, by step; 0 is the start."""
        self._under_way = time.monotonic()
        """When the step under way began."""
        self._within = ""
        """How far the step under way is, in words."""
        self._patience = QUIET
        self._echo = _QuietKeys()
        self._live: Any = None
        self._last: Record = {}
        self._start: Record = {}
        self._prediction = ""
        self._done = False

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def recall(self, records: Iterable[Record]) -> None:
        """Takes up the records of a run that goes on, so that its curves do. A step that is played
        again replaces its record."""
        for record in records:
            if record.get("event") in ("start", "step"):
                self._remember(record)

    def _remember(self, record: Record) -> None:
        step = record.get("step") or 0
        kept = {other: one for other, one in self._history.items() if other < step}
        kept[step] = record
        self._history = dict(list(kept.items())[-MEMORY:])  # whole: another thread draws it

    @property
    def _rewards(self) -> dict[str, list[float]]:
        """The mean rewards of each role, step by step."""
        found: dict[str, list[float]] = {}
        for step, record in self._history.items():
            for role, mean in (record.get("reward") or {}).items() if step else ():
                if mean is not None:
                    found.setdefault(role, []).append(mean)
        return found

    @property
    def _measures(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for record in self._history.values():
            for name, value in measures(record).items():
                found.setdefault(name, []).append(value)
        return found

    @property
    def _seconds(self) -> list[float]:
        records = [record for step, record in self._history.items() if step]
        return [one["seconds"] for one in records if one.get("seconds") is not None]

    def warm_up(self, record: Record) -> None:
        """Prints how an epoch of a warm-up went."""
        told = (
            f"warm-up, epoch {record['epoch']} | loss {record['loss']:.3f} | held out"
            f" {record['held_out_loss']:.3f}"
        )
        if "held_out_kl" in record:
            told += (
                f", {record['held_out_kl']:.3f} from the expert,"
                f" {record['held_out_accuracy']:.1%} of choices right"
            )
        self.message(told)

    def start(self, record: Record) -> None:
        """Prints what is trained and what is predicted, and opens the live panel."""
        self._last = self._history[max(self._history)] if self._history else record
        if record.get("prediction"):
            self._prediction = predicted(record["prediction"])
        self._start = record
        if not self._history:
            self._remember(record)
        self._begin_step()
        if not self.console.is_terminal:
            self.message(self._title)
            if self._prediction:
                self.message(self._prediction)
            return
        from rich.live import Live

        self._echo.begin()
        self._live = Live(
            get_renderable=self._panel, console=self.console, auto_refresh=True,
            refresh_per_second=1,
        )  # fmt: skip
        self._live.start(refresh=True)

    def step(self, record: Record) -> None:
        self._last = record
        self._remember(record)
        self._begin_step()
        for line in alarms(record):
            self.message(line)
        if self._live is not None:
            self._live.refresh()
        else:
            self.message(self._line(record))

    def progress(self, record: Record) -> None:
        """Shows how far the step under way is; where nothing is redrawn, as a line now and then."""
        self._within = progress_text(record)
        waited = time.monotonic() - self._under_way
        if self._live is None and waited >= self._patience:
            self._patience = 2 * waited
            self.message(f"step {record['step']}: {self._within}, {duration(waited)} so far")

    def _begin_step(self) -> None:
        self._under_way, self._within, self._patience = time.monotonic(), "", QUIET

    def end(self, record: Record) -> None:
        """Leaves the last panel in place and puts the summary under it."""
        self.close()
        if record.get("summary"):
            self.message(
                f"\n{record['summary']}" if self.console.is_terminal else record["summary"]
            )

    def message(self, text: str) -> None:
        """Prints a line above the panel; plain output where there is none."""
        wrap = not self.console.is_terminal
        self.console.print(text, soft_wrap=wrap, markup=False, highlight=False)

    def close(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            self._done = True
            live.stop()
            self._echo.end()

    def _line(self, record: Record) -> str:
        parts = [f"step {record['step']}/{self._total}"]
        reward = record.get("reward") or {}
        if reward:
            parts.append("reward " + " ".join(f"{r} {_amount(x)}" for r, x in reward.items()))
        policy = record.get("policy") or {}
        parts += [f"{key} {mixture(row['probs'])}" for key, row in list(policy.items())[:4]]
        if len(policy) > 4:
            parts.append(f"and {record.get('decisions', len(policy)) - 4:,} more decisions")
        parts += [
            f"{name} {_measured(name, x)}"
            for name, x in measures(record).items()
            if x or name != DIED_OUT
        ]
        refused = sum((record.get("invalid") or {}).values())
        if refused:
            parts.append(f"{refused:,} refused")
        if record.get("seconds") is not None:
            parts.append(f"{duration(record['seconds'])} a step")
        return " | ".join(parts)

    def _panel(self) -> RenderableType:
        """Returns everything, from the most to the least important, cut where the terminal ends."""
        from rich.console import Group
        from rich.segment import Segment, Segments
        from rich.text import Text

        width = min(self.console.width, WIDEST) - 2
        parts: list[RenderableType] = [self._head(width), self._progress(width)]
        if self._is_slow:
            parts.append(self._inside_text(width))
        if self._prediction and self.console.height >= 16:
            parts.append(Text(self._prediction, style="italic"))
        if self._rewards or self._measures:
            parts += [Text(), self._earned(width)]
        for title, rows in self._sections():
            used = sum(len(self._lines(part, width)) for part in parts)
            room = self.console.height - used - 3
            if room > 1:
                parts += [Text(), self._table(title, rows, width, room)]
        lines = self._lines(Group(*parts), width)[: max(self.console.height - 1, 1)]
        return Segments([s for line in lines for s in (Segment(" "), *line, Segment.line())])

    def _lines(self, part: RenderableType, width: int) -> list[list[Segment]]:
        options = self.console.options.update(width=width, height=None)
        return self.console.render_lines(part, options, pad=False)

    def _head(self, width: int) -> Text:
        from rich.text import Text

        step = self._last.get("step") or 0
        right = f"step {step} of {self._total}"
        left = Text(self._title, style="bold")
        left.truncate(max(width - len(right) - 2, 8), overflow="ellipsis", pad=True)
        return left.append("  ").append(right, style="bold")

    def _progress(self, width: int) -> Text:
        from rich.text import Text

        step, seconds = self._last.get("step") or 0, self._seconds[-20:]
        said, inside = "starting", 0.0
        if seconds:
            mean = sum(seconds) / len(seconds)
            left = max(self._total - step, 0)
            done = f"{duration(mean * left)} left" if left else "done"
            said = f"{duration(mean)} a step, {done}"
            inside = self._inside(mean) if left else 0.0
        room = max(width - len(said) - 2, 4)
        full = round(room * min((step + inside) / self._total, 1)) if self._total else 0
        bar = Text("━" * full, style="cyan").append("─" * (room - full), style="dim")
        return bar.append("  ").append(said, style="dim")

    @property
    def _is_slow(self) -> bool:
        """Whether steps are so slow that the panel says how far the one under way is: that line
        stays where the last one was slow, so that nothing jumps."""
        if self._done or (self._last.get("step") or 0) >= self._total:
            return False
        return self._waited >= SLOW or (self._seconds[-1:] or [0.0])[0] >= SLOW

    def _inside_text(self, width: int) -> Text:
        """Returns how far the step under way is."""
        from rich.text import Text

        said = f"step {(self._last.get('step') or 0) + 1}: {duration(self._waited)}"
        text = Text(f"{said}, {self._within}" if self._within else said, style="dim")
        text.truncate(width, overflow="ellipsis")
        return text

    @property
    def _waited(self) -> float:
        """Seconds since the step under way began; 0 at the end."""
        last = (self._last.get("step") or 0) >= self._total
        return 0.0 if self._done or last else time.monotonic() - self._under_way

    def _inside(self, mean: float) -> float:
        """The share of the step under way that is done, by the time that steps took, below 1."""
        return min(self._waited / mean, 0.95) if mean > 0 else 0.0

    def _earned(self, width: int) -> Table:
        """Returns reward per role, and exploitability, each with its course so far."""
        from rich.text import Text

        rows = [(role, _amount(row[-1]), row, "green") for role, row in self._rewards.items()]
        every = self._measures
        shown = rows[: max(self.console.height // 4, 1)]
        told = {n: row for n, row in every.items() if n != DIED_OUT or any(row)}
        names = [*(name for name, *_ in shown), *told]
        wide = min(max(map(len, names), default=6), width // 3)
        room = max(min(width - wide - 14, 60), 6)
        table = _grid(wide, 8, width - wide - 12)
        for name, now, row, colour in shown:
            table.add_row(Text(name), Text(now), Text(sparkline(row, room), style=colour))
        if len(rows) > len(shown):
            table.add_row(Text(f"and {len(rows) - len(shown)} more roles", style="dim"), "", "")
        for name, row in told.items():
            spark = Text(sparkline(row, room, base=0.0), style="red")
            table.add_row(Text(name), Text(_measured(name, row[-1])), spark)
        table.columns[0].header = Text("reward")
        table.columns[1].header, table.columns[2].header = Text("now"), Text("so far")
        return table

    def _sections(self) -> list[tuple[str, list[PolicyRow]]]:
        """Returns the tables of probabilities, the most telling first; those beside the whole
        policy get at most half of the screen."""
        half = max(self.console.height // 2 - 4, 3)
        told = [("type", meanings(self._last)), ("round", rounds(self._last))]
        short = [
            (title, rows if len(rows) <= half else [*rows[: half - 1], _more(rows, half - 1)])
            for title, rows in told
            if rows
        ]
        ranges = ranges_for(self._start, self._last)
        policy = decisions(ranges, self._last.get("policy") or {})
        return [*short, ("decision", policy)] if policy else short

    def _table(self, title: str, rows: list[PolicyRow], width: int, height: int) -> Table:
        """Returns one line a row: a bar split between the actions, and their probabilities; first
        its mark: in range or not, or colliding."""
        from rich.text import Text

        shown = rows if len(rows) < height else rows[: max(height - 2, 1)]
        wide = min(max(len(row.name) + 2 * bool(row.mark) for row in shown), width // 3)
        needed = max(len(_words(row.probs, WIDEST)) for row in shown)
        bar = max(min(24, width - wide - 4 - needed), 10)
        table = _grid(wide, bar, width - wide - bar - 4)
        table.columns[0].header, table.columns[1].header = Text(title), Text("policy")
        for row in shown:
            words = _words(row.probs, width - wide - bar - 4)
            mark = Text(f"{row.mark} " if row.mark else "", style=_MARKS.get(row.mark, ""))
            name = mark.append(_tail(row.name, wide - len(mark)), style="default")
            table.add_row(name, split_bar(row.probs, bar) if row.probs else "", words)
        if len(rows) > len(shown):
            table.add_row(Text(f"and {len(rows) - len(shown)} more", style="dim"), "", "")
        return table


DIED_OUT = "died out"
VALID, LENGTH = "valid replies", "reply tokens"
TEACH = "games that teach"
_MARKS = {"✓": "green", "✗": "red", "=": "yellow"}


def _more(rows: list[PolicyRow], shown: int) -> PolicyRow:
    return PolicyRow(f"and {len(rows) - shown} more", {})


def measures(record: Record) -> dict[str, float]:
    """Returns the metrics of a policy as a whole, each one number."""
    found = {}
    if record.get("exploitability") is not None:
        found["exploitability"] = record["exploitability"]
    bound = record.get("exploitability_bound")
    if bound:
        found["exploitability ≥"] = bound["at_least"]
    if record.get("in_range"):
        found["in range"] = record["in_range"]["inside"] / max(record["in_range"]["of"], 1)
    for signal, told in (record.get("mapping") or {}).items():
        found[f"bits of {signal}"] = told["information"]
    if record.get("rows"):
        found[TEACH] = record["rows"]["teach"]
    for field, name in (("valid", VALID), ("reply_tokens", LENGTH)):
        rates = record.get(field) or {}
        found |= {name if len(rates) == 1 else f"{name}, {role}": x for role, x in rates.items()}
    if record.get("extinct") is not None:
        found[DIED_OUT] = record["extinct"]
    return found


def _measured(name: str, value: float) -> str:
    if name in ("in range", TEACH) or name.startswith(VALID):
        return f"{value:.0%}"
    if name == DIED_OUT or name.startswith(LENGTH):
        return f"{value:.0f}"
    return f"{value:.3f}" if name.startswith("exploitability") else _amount(value)


def _words(probs: Mapping[str, float], room: int) -> Text:
    """Returns the actions of a bar with shade and probability, as many as there is room for."""
    from rich.text import Text

    ranked = _ranked(probs)
    words = Text()
    for count in range(len(ranked), 0, -1):
        words = Text(no_wrap=True, overflow="ellipsis")
        for index, (name, p) in enumerate(ranked[:count]):
            style, shade = COLOURS[index % len(COLOURS)], SHADES[index % len(SHADES)]
            words.append("  " if index else "").append(f"{shade} {name} {p:4.0%}", style=style)
        if len(probs) > count:
            words.append(f"  +{len(probs) - count}", style="dim")
        if len(words) <= room:
            break
    return words


def sparkline(values: list[float], room: int, *, base: float | None = None) -> str:
    """Returns the course of `values` in at most `room` characters; the last is always shown."""
    if len(values) > room:
        edges = [round(i * len(values) / room) for i in range(room + 1)]
        parts = [values[a:b] for a, b in pairwise(edges)]
        values = [sum(part) / len(part) for part in parts[:-1]] + [values[-1]]
    low = min(values) if base is None else min(base, *values)
    high = max(values)
    if high - low < 1e-9:
        return SPARKS[0 if base is not None else 3] * len(values)
    top = len(SPARKS) - 1
    return "".join(SPARKS[round((x - low) / (high - low) * top)] for x in values)


def split_bar(probs: Mapping[str, float], room: int) -> Text:
    """Returns a bar of `room` cells shared by the shown actions, each with a shade and a colour;
    cells are rounded so that they never add up to more."""
    from rich.text import Text

    bar, done, total = Text(no_wrap=True), 0, 0.0
    for index, (_, p) in enumerate(_ranked(probs)):
        total += p
        until = min(round(total * room), room)
        style = COLOURS[index % len(COLOURS)]
        bar.append(SHADES[index % len(SHADES)] * (until - done), style=style)
        done = until
    return bar.append("·" * (room - done), style="dim")


def _ranked(probs: Mapping[str, float]) -> list[tuple[str, float]]:
    """Returns up to four actions in their own order, so that bars stay in place; of more the top
    three."""
    items = list(probs.items())
    return items if len(items) <= 4 else sorted(items, key=lambda pair: -pair[1])[:3]


def _grid(*widths: int) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for width in widths:
        table.add_column(no_wrap=True, overflow="ellipsis", width=max(width, 1))
    return table


def _tail(key: str, wide: int) -> str:
    """Returns a long information set in `wide` columns: who acts where, and from its end, which has
    what was last seen, as much as there is room for."""
    if len(key) <= wide:
        return key
    head, bracket, _ = key.partition(" [")
    room = wide - len(head) - len(" […")
    if bracket and room > 0:
        return f"{head} […{key[len(key) - room :]}"
    if not bracket:
        return "…" + key[len(key) - wide + 1 :]
    return head if len(head) <= wide else head[: max(wide - 1, 0)] + "…"


class _QuietKeys:
    """Keeps a terminal from printing `^C` where Ctrl-C is pressed: it would move the panel, whose
    first line would then stand twice."""

    def __init__(self) -> None:
        self._before: Any = None

    def begin(self) -> None:
        if not sys.stdin or not sys.stdin.isatty():
            return
        with suppress(ImportError, OSError, ValueError):
            import termios

            handle = sys.stdin.fileno()
            state = termios.tcgetattr(handle)
            self._before = termios.tcgetattr(handle)
            state[3] &= ~termios.ECHOCTL
            termios.tcsetattr(handle, termios.TCSANOW, state)

    def end(self) -> None:
        if self._before is None:
            return
        with suppress(ImportError, OSError, ValueError):
            import termios

            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._before)
        self._before = None


def _amount(x: float | None) -> str:
    return "void" if x is None else f"{x:.2f}" if abs(x) < 1000 else number(x)
