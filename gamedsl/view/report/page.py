"""`report.html`: a run on one page, for reading, printing and an appendix.

The page is one file without scripts, and asks no network for anything; its content security policy
says so. What a run has not got (a tree, an end, transcripts) the page leaves out.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gamedsl.train.summary import policy_of, predicted, summarise
from gamedsl.train.telling.words import STANDINGS, sentences
from gamedsl.view.report import tables, told
from gamedsl.view.report.gather import Run, course, gather
from gamedsl.view.report.portrait import picture
from gamedsl.view.report.svg import Series, line_chart

MANY_CHARTS = 16
MANY_LINES = 6


def write_report(run_folder: Path | str) -> Path:
    """Write `report.html` into a run's folder, and return its path.

    Works on runs that were interrupted. FileNotFoundError if the folder holds no run.
    """
    import jinja2

    folder = Path(run_folder)
    run = gather(folder)
    here = files("gamedsl.view.report")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    template = environment.from_string(here.joinpath("page.html.jinja").read_text("utf-8"))
    style = Markup(here.joinpath("page.css").read_text("utf-8"))
    path = folder / "report.html"
    path.write_text(template.render(style=style, **_context(run)), encoding="utf-8")
    return path


def _context(run: Run) -> dict[str, Any]:
    last = run.steps[-1] if run.steps else None
    prediction = (run.start or {}).get("prediction")
    said = (run.end or {}).get("summary") or " ".join(
        [
            summarise(run.start, last, run.tree, first=run.steps[0] if run.steps else None),
            *sentences(run.start, run.steps),
        ]
    )
    drawn = picture(run.tree, _course(run), prediction) if run.tree else ""
    policies, hidden = _policies(run)
    return {
        "run": run,
        "about": run.game.ir.about if run.game else "",
        "facts": _facts(run, last),
        "summary": _sentences(said),
        "interrupted": _interrupted(run, last),
        "picture": Markup(drawn),
        "caption": _caption(run) if drawn else "",
        "prediction": _prediction(run, prediction),
        "curves": _curves(run),
        "policies": policies,
        "ranges": told.ranges(run),
        "alarms": told.alarms(run),
        "mappings": told.mappings(run),
        "rounds": told.rounds(run),
        "contributions": told.contributions(run),
        "pool": told.pool(run),
        "hidden": hidden,
        "labelled": _labels(run) != {},
        "matrix": tables.matrix(run, last),
        "profiles": tables.profiles(run),
        "equilibria": tables.equilibria(run),
        "transcripts": _transcripts(run),
        "command": _command(run),
        "recipe": list(_flat(run.recipe)),
        "labels": list((run.labels.get("labels") or {}).items()),
        "versions": list((run.info.get("versions") or {}).items()),
        "hashes": [
            (name, run.info[key])
            for name, key in (
                ("game", "hash"), ("rules", "rules_hash"), ("rendering", "rendering_hash"),
            )
            if run.info.get(key)
        ],
    }  # fmt: skip


def _facts(run: Run, last: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    done = last["step"] if last else 0
    facts = [
        ("Model", _model(run.info)),
        ("Seed", str(run.info.get("seed", ""))),
        ("Started", run.when.strftime("%Y-%m-%d %H:%M %Z").strip()),
        ("Steps", f"{done} of {run.total}" if run.total else str(done)),
    ]
    games = sum(record.get("games") or 0 for record in run.steps)
    seconds = sum(record.get("seconds") or 0 for record in run.steps)
    if games:
        facts.append(("Games played", f"{games:,}"))
    if seconds:
        facts.append(("Training time", _duration(seconds)))
    if run.info.get("params"):
        facts.append(("Params", ", ".join(f"{k} = {v}" for k, v in run.info["params"].items())))
    return facts


def _model(info: Mapping[str, Any]) -> str:
    """The model; of several, each with the adapters that are its own."""
    adapters: dict[str, list[str]] = {}
    for adapter, model in info.get("models", {}).items():
        adapters.setdefault(model, []).append(adapter)
    several = [f"{model} ({', '.join(names)})" for model, names in adapters.items()]
    return ", ".join(several) or str(info.get("model", ""))


def _interrupted(run: Run, last: Mapping[str, Any] | None) -> str:
    if run.end is not None:
        return ""
    done = last["step"] if last else 0
    of = f" of {run.total}" if run.total else ""
    return f"This run was interrupted after step {done}{of}; the page shows what there is."


def _course(run: Run) -> list[tuple[int, dict[str, dict[str, float]]]]:
    """(step, policy) from the start on, where the policy is complete."""
    keys = {info.key for info in run.tree.info_sets} if run.tree else set()
    rows = [(r["step"], policy_of(r)) for r in run.measured]
    return [(step, policy) for step, policy in rows if keys <= set(policy)]


def _caption(run: Run) -> str:
    from gamedsl.solve import one_shot

    table = one_shot(run.tree) if run.tree else None
    if table is None or not table.two_by_two:
        return (
            "Each corner is one action played always. The line of a role runs from its policy "
            "before training (open circle) to its last (disc); the diamond is the mixed "
            "equilibrium."
        )
    prediction = (run.start or {}).get("prediction") or {}
    parts = ["Grey arrows: where policy-gradient learning flows on the whole."]
    if prediction.get("boundary"):
        parts.append(
            f"Tinted: the starts that it takes to {prediction['text']}, up to the dashed edge."
        )
    parts.append(
        "Coloured: this run, from its start (open circle) to its last policy (disc), a dot a step. "
        "Squares are pure equilibria, a diamond a mixed one."
    )
    return " ".join(parts)


def _prediction(run: Run, prediction: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if not prediction:
        return []
    said = predicted(prediction).removeprefix("Predicted: ")
    rows = [("Before training", said[0].upper() + said[1:])]
    boundary = prediction.get("boundary") or {}
    if boundary.get("mixed"):
        where = ", ".join(
            f"{key} {action} {p:.0%}"
            for key, action, p in zip(
                boundary["keys"], boundary["actions"], boundary["mixed"], strict=True
            )
        )
        rows.append(("Mixed equilibrium", where))
    rows.append(("Method", prediction["method"]))
    return rows


def _curves(run: Run) -> list[tuple[str, str, Markup]]:
    steps = [record["step"] for record in run.steps]
    roles = list(dict.fromkeys(r for record in run.steps for r in record.get("reward") or {}))
    series = [Series(r, course(run.steps, "reward", r), i) for i, r in enumerate(roles)]
    spans = [run.tree.span(seat) for seat in run.tree.seats] if run.tree else []
    least = max((float(high - low) for low, high in spans), default=0.0) / 4
    found = [("Reward", "mean per game, by role", line_chart(
        "Reward per role", steps, series, marks=tables.marks(run), least=least))]  # fmt: skip
    both = run.measured
    values = [record.get("exploitability") for record in both]
    if any(v is not None for v in values):
        note = f"NashConv / {len(run.tree.seats)} seats" if run.tree else "NashConv / seats"
        note += ", logarithmic"
        one = Series("", values, 0)
        found.append(("Exploitability", note, line_chart(
            "Exploitability", [r["step"] for r in both], [one], logarithmic=True)))  # fmt: skip
    kinds = list(dict.fromkeys(r for record in run.steps for r in record.get("entropy") or {}))
    entropy = [Series(r, course(run.steps, "entropy", r), i) for i, r in enumerate(kinds)]
    found.append(("Entropy", "of the policy, in nats, by role", line_chart(
        "Entropy per role", steps, entropy, low=0.0)))  # fmt: skip
    rows = [record["rows"] for record in run.steps if "rows" in record]
    if rows:
        standing = [
            Series(name, [one[name] for one in rows], i) for i, name in enumerate(STANDINGS)
        ]
        found.append(("Rows", "how many are solved, and how many now and then", line_chart(
            "Rows by success", steps, standing, low=0.0)))  # fmt: skip
    return [(title, note, Markup(svg)) for title, note, svg in found if svg]


def _labels(run: Run) -> dict[str, str]:
    """Canonical name -> label, where one book served the whole run and says something new."""
    pairs = run.labels.get("labels") or {}
    per = run.game.ir.labels.per if run.game else "run"
    return {n: label for n, label in pairs.items() if n != label} if per != "episode" else {}


def _policies(run: Run) -> tuple[list[tuple[str, str, Markup]], int]:
    records = run.measured
    keys = list(dict.fromkeys(key for r in records for key in r.get("policy") or {}))
    labels, charts = _labels(run), []
    final = {key: row["probs"] for r in records for key, row in (r.get("policy") or {}).items()}
    for key in keys[:MANY_CHARTS]:
        rows = [(r["step"], (r.get("policy") or {}).get(key)) for r in records]
        names = list(final[key])
        shown = _shown(names, final)
        series = [
            Series(
                f"{name} “{labels[name]}”" if name in labels else name,
                [row["probs"].get(name) if row else None for _, row in rows],
                shown.index(name) if name in shown else 0,
                quiet=name not in shown,
                bands=told.bands(run, key, name) if name in shown else (),
                crosses=told.crosses(run, key, name),
            )
            for name in names
        ]
        rest = len(names) - len(shown)
        note = f"{len(shown)} likeliest named, {rest} more in grey" if rest else ""
        svg = line_chart(
            f"Policy at {key}", [step for step, _ in rows], series, low=0.0, high=1.0, percent=True
        )
        charts.append((key, note, Markup(svg)))
    return charts, max(len(keys) - MANY_CHARTS, 0)


def _shown(names: list[str], final: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Which actions get a named line: all where they are few; else those likeliest at the end,
    over all decisions with the same actions, so that these look alike."""
    if len(names) <= MANY_LINES:
        return names
    alike = [probs for probs in final.values() if list(probs) == names]
    weight = {name: sum(probs[name] for probs in alike) for name in names}
    return sorted(names, key=lambda name: -weight[name])[:MANY_LINES]


def _transcripts(run: Run) -> dict[str, Any] | None:
    if not run.transcripts:
        return None
    seats = list(run.transcripts[0]["rewards"])
    rows = []
    for one in run.transcripts:
        labels = one.get("labels", {}).get("labels", {})
        steps = "; ".join(
            ", ".join(
                f"{what}: {_labelled(name, labels)}"
                for what, name in (s.get("choices") or s["chance"]).items()
            )
            for s in one["steps"]
        )
        failed = "; ".join(f"{s} forfeited ({f['reason']})" for s, f in one["failures"].items())
        rows.append(
            {
                "games": f"{one.get('games', 1)} ({one['share']:.1%})",
                "play": "; ".join(part for part in (steps, failed) if part),
                "rewards": [
                    "void" if one["rewards"][s] is None else one["rewards"][s] for s in seats
                ],
            }
        )
    first = run.transcripts[0]
    return {
        "step": first["after_step"],
        "games": f"{round(first.get('games', 1) / first['share']):,}",
        "seats": seats,
        "rows": rows,
    }


def _labelled(name: str, labels: Mapping[str, str]) -> str:
    return f"{name} “{labels[name]}”" if labels.get(name, name) != name else name


def _command(run: Run) -> str:
    """What trains the run again, from the folder that holds the run's: its copy of the game, and
    the settings that differ from what that file would be trained with."""
    name = Path(run.info["file"]).name if run.info.get("file") else f"{run.info['game']}.yaml"
    words = ["gamedsl", "train", str(Path(run.folder.resolve().name) / "game" / name)]
    for key, value in (run.info.get("params") or {}).items():
        words += ["--param", f"{key}={value}"]
    wanted = dict(_flat(run.recipe))
    if run.info.get("threads"):
        wanted["threads"] = str(run.info["threads"])
    usual = _usual(run)
    settings = [f"{key}={value}" for key, value in wanted.items() if usual.get(key) != value]
    return " \\\n  ".join([shlex.join(words), *(f"--set {shlex.quote(s)}" for s in settings)])


def _usual(run: Run) -> dict[str, str]:
    """The settings that the game file alone resolves to; none where it cannot be read."""
    if run.game is None:
        return {}
    from gamedsl.diagnostics import Problems
    from gamedsl.recipe.resolve import resolve

    problems = Problems()
    recipe = resolve(run.game.ir, [], problems)
    return {} if problems.errors else dict(_flat(recipe.as_dict()))


def _flat(recipe: Mapping[str, Any], prefix: str = "") -> Sequence[tuple[str, str]]:
    """Nested settings as dotted keys."""
    rows: list[tuple[str, str]] = []
    for key, value in recipe.items():
        if isinstance(value, Mapping):
            rows += _flat(value, f"{prefix}{key}.")
        else:
            text = "[" + ", ".join(map(str, value)) + "]" if isinstance(value, list) else str(value)
            rows.append((f"{prefix}{key}", text))
    return rows


def _sentences(text: str) -> list[str]:
    """The first sentence by itself, as the lead, and the rest."""
    head, dot, rest = text.partition(". ")
    return [head + (dot and "."), rest] if rest else [text]


def _duration(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{seconds:.3g} s"
