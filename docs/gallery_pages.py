"""The pages of the gallery: one for each shipped game, and an index by theme.

Each page is written from what the compiler, the solver and the measured runs say of the game:
picture, rules as prompts tell them, claims with their grades, equilibria, curve. The same files
give the same pages, byte for byte. `docs/generate.py` writes them; a page takes about a second.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from math import ceil, log10
from pathlib import Path
from shlex import quote
from typing import Any

import yaml

import gamedsl
from gamedsl.analysis.proof import Grade, Proof
from gamedsl.commands.games import THEMES
from gamedsl.compiler import Result, compile_file
from gamedsl.engine.walk import count_histories
from gamedsl.recipe.resolve import flat_settings
from gamedsl.solve.solution import Solution
from gamedsl.solve.text import render
from gamedsl.tables.markdown import markdown_rows
from gamedsl.tables.model import Table, text_columns
from gamedsl.tables.text import rendered, table_lines
from gamedsl.view.charts import Series, chart_file, line_chart
from gamedsl.view.game.views import View, Views

ROOT = Path(__file__).parents[1]
GALLERY = Path(__file__).with_name("gallery")
PICTURES = GALLERY / "pictures"
LISTED = ROOT / "benchmarks" / "gallery.yaml"
RESULTS = ROOT / "benchmarks" / "results"

GENERATED = "<!-- Written by docs/generate.py; do not edit. -->"

CURVES = {
    "stag_hunt": "stag-hunt",
    "prisoners_dilemma": "prisoners-dilemma",
    "pure_coordination": "pure-coordination",
    "biased_rock_paper_scissors": "biased-rock-paper-scissors",
    "iterated_prisoners_dilemma": "long-shadow",
    "ultimatum": "ultimatum",
    "kuhn_poker": "kuhn-adapters-per-role",
    "leduc_poker": "leduc-tree",
    "small_hanabi_told": "small-hanabi",
    "tic_tac_toe": "tic-tac-toe",
    "guess_in_words": "guess-in-words",
}
"""Entries of `benchmarks/methods.yaml` whose runs a page draws; other games' runs are those of
`benchmarks/gallery.yaml`, where they are entries under their own names."""

MEASURED = {"debate_by_rule": "debate"}
"""Benchmarks with a file of their own whose runs a page draws."""

HISTORIES = 20_000
"""Histories up to which a game is solved anew for its page."""

BY_POSITION = ("tic_tac_toe", "nim", "commons")
"""Games of more histories that are solved as well: their positions are few."""

ROWS = 8
"""Information sets of a policy that a page lists."""

TALL = 1_000
"""Units down the page beyond which a tree or a table gives way to the flow chart."""

GRADES: tuple[Grade, ...] = ("proved", "enumerated", "sampled", "undecided", "refuted")


BESIDE_GAMES = """
Kuhn poker is 17 lines, Leduc 18, tic-tac-toe 17, and the full rules of Hanabi 73, without
comments. The games that OpenSpiel has too agree with it node by node (`tests/conformance`).

## Protocols

A protocol is a form of turns that is written once and used by several games: `simultaneous`,
`alternate`, `round_robin`, `propose_respond`, `sender_receiver`, `betting_round`, `repeated`,
`sealed_then_reveal`, `by_priority` and `pipeline`. `tool_loop`, for agents with tools, is used by
one game so far. [The language](../language.md#protocols-and-stages) says how a game uses one.

## Rewards

A reward file says what is trained on, given the payoffs: `individual`, `shared`, `zero_sum`,
`mixing`, `hybrid`, `margin`, `local_ratio`, `weighted` and `rank`. [The
language](../language.md#rewards) says how a game uses one.
"""
"""What the index says below its tables."""


def index() -> str:
    """The page that lists all games by theme; it reads the files' first lines alone."""
    return "\n".join(_index()) + "\n"


def files_of(name: str) -> dict[Path, str]:
    """The page of a game and its pictures, by path."""
    page = _Page(name)
    text = "\n".join(page.lines()) + "\n"
    return {GALLERY / f"{name}.md": text, **page.pictures}


def _index() -> Iterator[str]:
    yield "# Gallery"
    yield ""
    yield GENERATED
    yield ""
    count = sum(len(theme.games) for theme in THEMES.values())
    yield (
        f"{count} games come with gamedsl. A command takes the name of one in place of a file: "
        "`gamedsl train stag_hunt`."
    )
    for theme in THEMES.values():
        yield f"\n## {theme.title}\n"
        rows = [(f"[`{name}`]({name}.md)", _about(name)) for name in theme.games]
        yield from markdown_rows(Table(text_columns("game", "in one line"), rows))
    yield BESIDE_GAMES
    yield (
        "The pages are written from the compiler's tables, and tests compare them: pictures, "
        "rules, claims and equilibria are those of the files."
    )


def _about(name: str) -> str:
    from gamedsl.diagnostics import Problems
    from gamedsl.sema.library import load_document, resolve_argument

    document = load_document(resolve_argument(name), Problems())
    assert document is not None
    return str(getattr(document.root.get("about"), "text", "")).strip()


class _Page:
    """The page of one game, and the pictures that it shows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.game = gamedsl.load(name)
        self.result: Result = compile_file(Path(self.game.files[0]))
        self.views = Views(self.game)
        self.pictures: dict[Path, str] = {}

    def lines(self) -> Iterator[str]:
        ir = self.game.ir
        yield f"# {self.name}"
        yield ""
        yield GENERATED
        yield ""
        yield ir.about.strip()
        yield ""
        yield f"{self.result.summary[:1].upper()}{self.result.summary[1:]}."
        yield ""
        yield from self._picture()
        yield from self._rules()
        yield from self._known()
        yield from self._solution()
        yield from self._curve()
        yield from self._commands()

    def _picture(self) -> Iterator[str]:
        view, drawn = self._drawn()
        path = PICTURES / f"{self.name}.svg"
        self.pictures[path] = drawn
        about = {
            "table": "The payoffs: best responses are underlined, pure equilibria framed",
            "tree": "The tree: a dashed line joins the histories of an information set",
            "flow": "The order of play, with the lines of the file",
        }
        yield f"![{about[view]}](pictures/{path.name})"
        yield ""
        yield f"*{about[view]}* ([pictures](../show.md))."

    def _drawn(self) -> tuple[View, str]:
        """A table or tree where one fits on a page, else the flow chart."""
        from gamedsl.view.game.views import PAGE

        view = self.views.fitting[0]
        drawn = self.views.picture(view)
        width, height = _size(drawn)
        if view != "flow" and (width > PAGE * 1.1 or height > TALL):
            return "flow", self.views.picture("flow")
        return view, drawn

    def _rules(self) -> Iterator[str]:
        env = self.game.env(run_seed=0)
        asked = (env.reset(seed=seed).decisions for seed in count())  # a play may ask nobody
        decision = next(filter(None, asked))[0]
        yield "\n## Rules, as a prompt tells them\n"
        if self.game.ir.labels.kind == "masked":
            yield "[Labels are masked](../concepts/labels.md): prompts tell the form of the game."
        else:
            yield f"Sent to `{decision.seat}`, who is asked first in this play."
        yield ""
        yield "```output"
        yield from (line for _, text in decision.messages for line in text.strip().splitlines())
        yield "```"

    def _known(self) -> Iterator[str]:
        proofs = [proof for proof in self.result.proofs if not _of_a_seat(proof)]
        grades = Counter(proof.grade for proof in proofs)
        counts = [f"{grades[grade]} {grade}" for grade in GRADES if grades[grade]]
        yield "\n## What is known of it\n"
        yield f"Claims by [grade](../concepts/information.md): {', '.join(counts)}."
        yield ""
        ordered = sorted(proofs, key=lambda proof: GRADES.index(proof.grade))
        rows = [(proof.grade, _escaped(proof.claim), _escaped(proof.extent)) for proof in ordered]
        yield from markdown_rows(Table(text_columns("grade", "claim", "checked"), rows))

    def _solution(self) -> Iterator[str]:
        yield "\n## Equilibrium\n"
        ir = self.game.ir
        if ir.open or ir.referees:
            yield (
                "Not defined by a tree: replies are texts, or a referee decides. "
                "[Evaluate](../eval.md) players against each other instead."
            )
            return
        counted = count_histories(self.game.kernel().start(), HISTORIES)
        if counted is None and self.name not in BY_POSITION:
            yield (
                f"The game has over {HISTORIES:,} histories and is not solved for this page; "
                "`gamedsl solve` chooses [a method](../solve.md) for it."
            )
            return
        report = self.game.solve()
        solution = report.solution
        assert solution is not None, self.name
        if solution.exact:
            yield "Exact, in rationals; a regret is what a seat could gain by changing alone."
        else:
            gap = _power_above(float(solution.nash_conv))
            yield f"In floating point: [NashConv](../concepts/equilibria.md) is below {gap}."
        yield ""
        yield "```text"
        yield from _without_time(render(report, ROWS)) if solution.exact else _values(solution)
        yield "```"

    def _curve(self) -> Iterator[str]:
        paths = _results(self.name)
        yield "\n## Learning curve\n"
        if not paths:
            yield "No run is measured for this page. `--dry-run` says what one takes on a machine."
            return
        runs = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        measure = _measure(runs)
        path = PICTURES / f"{self.name}_curve.svg"
        self.pictures[path] = _chart(runs, measure)
        yield f"![{measure.capitalize()} by training step](pictures/{path.name})"
        yield ""
        seeds = ", ".join(str(run["seed"]) for run in runs)
        spread = "the band is from the lowest to the highest seed."
        if len(runs) == 1:
            spread = "one seed shows no spread."
        yield f"{', '.join(_facts(runs[0]))}; seed{'s' * (len(runs) > 1)} {seeds}: {spread}"
        if self.game.ir.referees:
            yield "The untrained model answers as the referee."
        if told := _validity(runs):
            yield told
        if self.name in MEASURED:
            yield "[The results](../results.md) have what these runs do in rows that are held out:"
            command = f"python benchmarks/{MEASURED[self.name]}.py"
        elif self.name in CURVES:
            yield "`benchmarks/methods.yaml` has the recipe:"
            command = f"python benchmarks/methods.py --only {CURVES[self.name]}"
        else:
            yield "`benchmarks/gallery.yaml` has the settings beside the game's own:"
            command = _command(self.name)
        yield ""
        yield "```"
        yield command
        yield "```"

    def _commands(self) -> Iterator[str]:
        yield "\n## Commands\n"
        yield "```"
        yield f"gamedsl validate {self.name} --report text"
        yield f"gamedsl prompts {self.name}"
        yield f"gamedsl show {self.name}"
        if not (self.game.ir.open or self.game.ir.referees):
            yield f"gamedsl solve {self.name}"
        yield f"gamedsl train {self.name} --dry-run"
        yield "```"
        yield ""
        yield f"The file: [{self.name}.yaml](../../games/{self.name}.yaml)."


def _size(svg: str) -> tuple[float, float]:
    head = svg.partition("viewBox=")[2].partition('"')[2].partition('"')[0].split()
    return float(head[2]), float(head[3])


def _of_a_seat(proof: Proof) -> bool:
    """Whether a claim repeats for one seat what another says of all."""
    return proof.name.startswith("length.") and proof.name != "length.chance"


def _escaped(text: str) -> str:
    """A text as a cell of a table that takes it letter for letter."""
    for mark in ("\\", "*", "_", "[", "<"):
        text = text.replace(mark, f"\\{mark}")
    return "`".join(
        part.replace("\\", "") if at % 2 else part for at, part in enumerate(text.split("`"))
    )


def _without_time(text: str) -> list[str]:
    """Returns what `gamedsl solve` prints, without the time that it took."""
    return text.splitlines()[:-2]


def _values(solution: Solution) -> list[str]:
    """The values of a solution in floats, rounded to what any machine finds."""
    rows = [(seat, f"{float(value):.3f}") for seat, value in solution.values.items()]
    return rendered(table_lines(Table(text_columns("seat", "value"), rows))).splitlines()


def _power_above(gap: float) -> str:
    """The power of ten above a gap."""
    return f"{10.0 ** ceil(log10(max(gap, 1e-9))):g}"


def _results(name: str) -> list[Path]:
    """Returns the results of the runs that a page draws, one for each seed."""
    if name in MEASURED:
        return sorted(RESULTS.glob(f"{MEASURED[name]}-[0-9].json"))
    entry = CURVES.get(name, name)
    folder = RESULTS / ("methods" if name in CURVES else "gallery")
    return sorted(folder.glob(f"{entry}-[0-9].json"))


def _facts(run: Mapping[str, Any]) -> Iterator[str]:
    """Returns what was run, in a few words each."""
    recipe, params = run["recipe"], run.get("params", {})
    yield f"Model `{recipe['model']}`"
    yield f"method `{recipe['method']}`"
    warm_up = recipe.get("warm_up", {})
    if warm_up.get("expert", "none") != "none":
        taught = f"{warm_up['games']} games of `{warm_up['expert']}`"
        epochs = warm_up["epochs"]
        yield f"a warm-up of {epochs} epoch{'s' * (epochs != 1)} on {taught}"
    yield f"{recipe['steps']} steps"
    if recipe.get("opponents"):
        yield f"{recipe['games']} games a step against `{'`, `'.join(recipe['opponents'])}`"
    yield from (f"`{key}={params[key]}`" for key in params)


def _command(name: str) -> str:
    """Returns the command that makes a run of `benchmarks/gallery.yaml`, with what is set there."""
    listed = yaml.safe_load(LISTED.read_text(encoding="utf-8"))
    entry = next(entry for entry in listed["entries"] if entry["name"] == name)
    settings = dict(flat_settings({**listed["set"], **entry.get("set", {})}))
    parts = [f"--{key} {settings.pop(key)}" for key in ("model", "steps")]
    parts += (f"--set {key}={value}" for key, value in settings.items())
    for key, value in entry.get("params", {}).items():
        text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        parts.append(f"--param {quote(f'{key}={text}')}")
    lines = [f"gamedsl train {name}"]
    for part in parts:
        if len(lines[-1]) + len(part) > 96:
            lines.append(" ")
        lines[-1] += f" {part}"
    return " \\\n".join(lines)


def _validity(runs: Sequence[Mapping[str, Any]]) -> str:
    """Returns what the runs say of written replies; nothing where all options are scored."""
    if not all(step.get("valid") for run in runs for step in run["steps"]):
        return ""

    def share(at: int) -> float:
        shares: list[float] = [
            value for run in runs for value in run["steps"][at]["valid"].values()
        ]
        return sum(shares) / len(shares)

    return f"Valid replies: {share(0):.0%} in the first step, {share(-1):.0%} in the last."


def _rewards(step: Mapping[str, Any]) -> dict[str, float | None]:
    """The mean rewards of a step by role, None where all were void. Where only payoffs are kept,
    these are the rewards."""
    found: dict[str, float | None] = step.get("reward") or step["payoff"]
    return found


def _measure(runs: Sequence[Mapping[str, Any]]) -> str:
    """Returns what a curve shows: the reward, or where rewards always have one sum, and so tell
    nothing, exploitability or the share of valid replies."""
    steps = [step for run in runs for step in run["steps"]]
    sums = [sum(reward or 0 for reward in _rewards(step).values()) for step in steps]
    if max(sums) - min(sums) < 1e-4:
        if abs(sums[0]) < 1e-4 and all(step.get("exploitability") is not None for step in steps):
            return "exploitability"
        if len({share for step in steps for share in step.get("valid", {}).values()}) > 1:
            return "valid replies"
    return "reward"


def _chart(runs: Sequence[Mapping[str, Any]], measure: str) -> str:
    """A measure by step: the mean over runs, with a band from the lowest to the highest."""
    steps = [step["step"] for step in runs[0]["steps"]]
    single = measure == "exploitability"
    names = [measure] if single else list(_rewards(runs[0]["steps"][0]))

    def value(name: str, step: Mapping[str, Any]) -> float | None:
        if single:
            return float(step[measure])
        by_role = step["valid"] if measure == "valid replies" else _rewards(step)
        found: float | None = by_role.get(name)
        return found

    series = []
    for number, name in enumerate(names):
        means: list[float | None] = []
        around: list[tuple[float, float] | None] = []
        for at in range(len(steps)):
            values = [value(name, run["steps"][at]) for run in runs]
            told = [one for one in values if one is not None]
            means.append(sum(told) / len(told) if told else None)
            around.append((min(told), max(told)) if told else None)
        series.append(Series(name, means, number, around=around if len(runs) > 1 else []))
    title = f"{measure.capitalize()} by training step"
    drawn = line_chart(title, steps, series, logarithmic=single, width=560, height=260)
    return chart_file(drawn)


def all_names() -> Iterable[str]:
    """The names of all games, in the order of the index."""
    return (name for theme in THEMES.values() for name in theme.games)
