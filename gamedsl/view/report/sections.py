"""The sections of a run's page, in order.

A new section is a function here or beside, and its row in `SECTIONS`, in the order of the page. It
takes the data of a run and returns None if the run has nothing to show in it. It is built from the
parts in `parts.py`, which escape every text that is no `Markup`. The facts at the head of the page
are in `page.py`, the sections of a comparison of runs in `comparison.py`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gamedsl.prompting.replies import REASONS
from gamedsl.runs.saved import wording_of
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import read as read_transcripts
from gamedsl.storage.strict_json import write as write_json
from gamedsl.tables.model import Cell, Entry, Table, TextRun, number_columns, text_columns
from gamedsl.tables.numbers import number
from gamedsl.tables.text import plural
from gamedsl.training.monitors.text import STANDINGS, contributions
from gamedsl.training.summary import is_complete, policy_of, predicted
from gamedsl.view.charts import Series, line_chart
from gamedsl.view.conversation import (
    conversation_html,
    conversation_of,
    recorded_conversation,
)
from gamedsl.view.report.game import game_section, reference_rewards
from gamedsl.view.report.parts import (
    Figure,
    Section,
    figures,
    heading,
    pairs,
    paragraph,
    wide_table,
)
from gamedsl.view.report.policy import (
    equilibrium_section,
    policy_section,
    round_section,
    signal_section,
)
from gamedsl.view.report.portrait import picture
from gamedsl.view.report.run_data import RunData, course, settings_as_text

MANY_MEMBERS = 64
"""Policies of a pool up to which their cross-play is shown."""


def prediction_section(run: RunData) -> Section | None:
    """The prediction before training, and the run's course drawn into the plane of its game."""
    prediction = (run.start or {}).get("prediction")
    drawn = picture(run.tree, _policies(run), prediction) if run.tree else ""
    parts = []
    if drawn:
        figure = Markup('<figure class="portrait">{}\n<figcaption>{}</figcaption></figure>').format(
            Markup(drawn), _portrait_caption(run)
        )
        parts.append(figure)
    if prediction:
        parts.append(pairs(_prediction_rows(prediction)))
    return Section("Prediction and outcome", parts) if parts else None


def _policies(run: RunData) -> list[tuple[int, dict[str, dict[str, float]]]]:
    """(step, policy) from the start on, for the records with a policy at every decision."""
    rows = [(r["step"], policy_of(r)) for r in run.policy_records]
    return [(step, policy) for step, policy in rows if run.tree and is_complete(run.tree, policy)]


def _portrait_caption(run: RunData) -> str:
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


def _prediction_rows(prediction: Mapping[str, Any]) -> list[tuple[str, str]]:
    sentence = predicted(prediction).removeprefix("Predicted: ")
    rows = [("Before training", sentence[0].upper() + sentence[1:])]
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


def course_section(run: RunData) -> Section | None:
    """Charts over the steps: reward, exploitability, entropy, a critic, rows of data by success."""
    drawn = [figure for figure in _course_figures(run) if figure.svg]
    return Section("Course of training", [figures(drawn)]) if drawn else None


def _course_figures(run: RunData) -> Iterator[Figure]:
    steps = [record["step"] for record in run.steps]
    spans = [run.tree.span(seat) for seat in run.tree.seats] if run.tree else []
    least = max((float(high - low) for low, high in spans), default=0.0) / 4
    rewards = _by_role(run, "reward")
    svg = line_chart("Reward per role", steps, rewards, marks=reference_rewards(run), least=least)
    yield Figure("Reward", "mean per game, by role", svg)
    values = [record.get("exploitability") for record in run.policy_records]
    if any(value is not None for value in values):
        note = f"NashConv / {len(run.tree.seats)} seats" if run.tree else "NashConv / seats"
        measured, one = [r["step"] for r in run.policy_records], Series("", values, 0)
        svg = line_chart("Exploitability", measured, [one], logarithmic=True)
        yield Figure("Exploitability", f"{note}, logarithmic", svg)
    svg = line_chart("Entropy per role", steps, _by_role(run, "entropy"), low=0.0)
    yield Figure("Entropy", "of the policy, in nats, by role", svg)
    explained = [record.get("explained_variance") for record in run.steps]
    if any(share is not None for share in explained):
        svg = line_chart("Variance explained", steps, [Series("", explained, 0)], high=1.0)
        yield Figure("Critic", "share of the variance of returns that its values explain", svg)
    rows = [record["rows"] for record in run.steps if "rows" in record]
    if rows:
        counts = [Series(name, [one[name] for one in rows], i) for i, name in enumerate(STANDINGS)]
        svg = line_chart("Rows by success", steps, counts, low=0.0)
        yield Figure("Rows", "how many are solved, and how many now and then", svg)


def _by_role(run: RunData, key: str) -> list[Series]:
    """A series for each role that the records have a number for."""
    roles = list(dict.fromkeys(r for record in run.steps for r in record.get(key) or {}))
    return [Series(role, course(run.steps, key, role), i) for i, role in enumerate(roles)]


def contribution_section(run: RunData) -> Section | None:
    """Shapley values of the roles, if the run measured them."""
    found = contributions(run.end, run.steps)
    if not found:
        return None
    about = (
        "Shapley values: what each role adds to what all earn together in a game, over its "
        "playing at random."
    )
    rows = [(role, number(value)) for role, value in found.items()]
    return Section("Who contributes what", [paragraph(about), pairs(rows, numbers=True)])


def pool_section(run: RunData) -> Section | None:
    """Cross-play of the pool of past policies that a run keeps, a table for each of its sides."""
    pool = (run.end or {}).get("population")
    if not pool or len(pool["members"]) > MANY_MEMBERS:
        return None
    members, parts = pool["members"], []
    columns = (*text_columns("step"), *number_columns("weight", *map(str, members)))
    for place, (side, payoff) in enumerate(pool["payoff"].items(), 1):
        about = (
            f"What {side} earns as it played after the step of a row, against the others as they "
            "played after the step of a column; where it is not exact, with half its 95% "
            "interval. Weight: its share in the pool’s mixture."
        )
        rows = [
            (str(member), number(weight, percent=True), *map(_with_interval, means, halves))
            for member, weight, means, halves in zip(
                members, pool["weights"][side], payoff, pool["half"][side], strict=True
            )
        ]
        parts.append(wide_table(Table(columns, rows, row_heads=1), about, id=f"pool{place}"))
    return Section("Policies of the past", parts)


def _with_interval(value: float, half: float | None) -> str:
    """A mean with half its interval; alone where that is 0 or unknown."""
    mean = number(round(value, 2) + 0.0)
    return f"{mean} ± {number(round(half, 2))}" if half else mean


def prompt_section(run: RunData) -> Section | None:
    """The prompts as they were sent, each with the replies that it allows."""
    if not run.prompts:
        return None
    message = Markup('<div class="message"><span class="role">{}</span><pre>{}</pre></div>\n')
    parts = []
    for prompt in run.prompts:
        messages = Markup("").join(message.format(*pair) for pair in prompt.messages)
        replies = Markup("; ").join(
            Markup("<code>{}</code>{}").format(label, f" is {name}" if label != name else "")
            for name, label in prompt.replies
        )
        end = paragraph(Markup("Replies: {}.").format(replies))
        article = Markup('<article class="prompt">\n{}\n{}{}</article>')
        parts.append(article.format(heading(prompt.key), messages, end))
    return Section("Prompts as sent", parts)


def words_section(run: RunData) -> Section | None:
    """Valid replies and their lengths over the steps, and why the others were refused."""
    if not run.in_words:
        return None
    steps = [record["step"] for record in run.steps]
    rates = _by_role(run, "valid")
    svg = line_chart("Valid replies", steps, rates, low=0.0, high=1.0, percent=True)
    drawn = [Figure("Valid replies", "share of each role’s replies", svg)]
    svg = line_chart("Length of replies", steps, _by_role(run, "reply_tokens"), low=0.0)
    drawn.append(Figure("Length of replies", "mean tokens, by role", svg))
    parts = [figures(figure for figure in drawn if figure.svg)]
    reasons = Counter[str]()
    for record in run.steps:
        reasons.update(record.get("invalid") or {})
    last = (run.steps[-1].get("invalid") or {}) if run.steps else {}
    if reasons:
        columns = (*text_columns("why replies were refused"), *number_columns("last step", "all"))
        rows = [
            (REASONS.get(name, name), f"{last.get(name, 0):,}", f"{count:,}")
            for name, count in reasons.most_common()
        ]
        parts.append(wide_table(Table(columns, rows)))
    else:
        parts.append(paragraph("No reply was refused."))
    return Section("Replies", parts)


def transcript_section(run: RunData) -> Section | None:
    """The most played courses of the last step that left transcripts; in words, whole plays."""
    if not run.transcripts:
        return None
    first = run.transcripts[0]
    games = f"{round(first.get('games', 1) / first['share']):,}"
    if run.in_words:
        refused = sum(bool(one.get("mistakes") or one["failures"]) for one in run.transcripts)
        about = (
            f"{len(run.transcripts)} of {games} plays of step {first['after_step']}; in {refused} "
            "of them replies were refused, which are shown as they came."
        )
        return Section("Sample transcripts", [paragraph(about), *_conversations(run)])
    seats = list(first["rewards"])
    about = f"The most played courses of step {first['after_step']}, of {games} games."
    columns = (*number_columns("games"), *text_columns("course of play"), *number_columns(*seats))
    table = Table(columns, [_transcript_row(one, seats) for one in run.transcripts])
    return Section("Sample transcripts", [paragraph(about), wide_table(table)])


def _conversations(run: RunData) -> Iterator[Markup]:
    """Yields the sampled plays; prompts stand in the first two, and all of a page is bounded."""
    env = None
    if run.game is not None:
        game = run.game.worded(wording_of(run.info))
        env = game.env(run_seed=run.info.get("seed") or 0)
    room = CONVERSATION_BYTES
    for place, record in enumerate(run.transcripts, start=1):
        (transcript,) = read_transcripts(write_json(record))
        talk = recorded_conversation(transcript)
        if run.game is not None:
            played = replay(run.game, transcript, env)
            talk = talk if played.faults else conversation_of(played)
        title = f"Play {place}"
        shown = conversation_html(talk, title=title, prompts=place <= PROMPTED, cut=TEXT_CUT)
        if len(shown) > room:
            shown = conversation_html(talk, title=title, prompts=False, cut=TEXT_CUT // 10)
        if len(shown) > room:
            yield paragraph(f"{title} is too long for this page; gamedsl replay prints it.")
            continue
        room -= len(shown)
        yield shown


CONVERSATION_BYTES = 120_000
"""Characters of conversations that a page may have; a page stays below 300 kB."""
PROMPTED = 2
"""Plays that are shown with their prompts."""
TEXT_CUT = 2_000
"""Characters of one text in a conversation on a page."""


def _transcript_row(one: Mapping[str, Any], seats: Sequence[str]) -> list[Entry]:
    labels = one.get("labels", {}).get("labels", {})
    steps = "; ".join(
        ", ".join(
            f"{what}: {_labelled(name, labels)}"
            for what, name in (s.get("choices") or s.get("chance") or {}).items()
        )
        for s in one["steps"]
    )
    failed = "; ".join(f"{s} forfeited ({f['reason']})" for s, f in one["failures"].items())
    play = "; ".join(part for part in (steps, failed) if part)
    rewards = ("void" if one["rewards"][s] is None else str(one["rewards"][s]) for s in seats)
    return [f"{one.get('games', 1)} ({one['share']:.1%})", play, *rewards]


def _labelled(name: str, labels: Mapping[str, str]) -> str:
    return f"{name} “{labels[name]}”" if labels.get(name, name) != name else name


def reproduction_section(run: RunData) -> Section:
    """The command that trains the run again, its recipe, labels, versions and hashes."""
    about = (
        "In the folder that holds this run’s. The same versions on the same kind of machine give "
        "the same numbers."
    )
    column = Markup("<div>{}</div>\n")
    labels = [
        (name, Cell([TextRun(label, "code")]))
        for name, label in (run.labels.get("labels") or {}).items()
    ]
    book = heading("Label book") + pairs(labels) if labels else Markup()
    versions = pairs(list((run.info.get("versions") or {}).items()))
    hashes = [
        (name, Cell([TextRun(run.info[key], "code hash")]))
        for name, key in (
            ("game", "hash"), ("rules", "rules_hash"), ("rendering", "rendering_hash"),
        )
        if run.info.get(key)
    ]  # fmt: skip
    return Section(
        "How to reproduce",
        [
            Markup('<pre class="command">{}</pre>').format(_command(run)),
            paragraph(about),
            Markup('<div class="columns">\n{}{}</div>').format(
                column.format(heading("Recipe") + _recipe(run)),
                column.format(book + heading("Versions") + versions),
            ),
            heading("Hashes") + pairs(hashes),
        ],
    )


def _recipe(run: RunData) -> Markup:
    """The settings that differ from those that the game file and the defaults give; the rest is
    folded."""
    every, usual = settings_as_text(run.recipe), _usual_settings(run)
    if not usual:
        return pairs(every)
    own = [(key, value) for key, value in every if usual.get(key) != value]
    rest = [(key, value) for key, value in every if usual.get(key) == value]
    shown = pairs(own) if own else paragraph("All settings are those of the game file.")
    folded = Markup("<details><summary>{} as the game file and the defaults have them</summary>{}")
    count = plural(len(rest), "setting")
    return shown + (folded.format(count, pairs(rest)) + Markup("</details>") if rest else "")


def _command(run: RunData) -> str:
    """The command that trains the run again, from the folder that holds the run's. It names the
    run's copy of the game, and the settings that differ from that file's."""
    name = Path(run.info["file"]).name if run.info.get("file") else f"{run.info['game']}.yaml"
    words = ["gamedsl", "train", str(Path(run.folder.resolve().name) / "game" / name)]
    for key, value in (run.info.get("params") or {}).items():
        words += ["--param", f"{key}={value}"]
    wanted = dict(settings_as_text(run.recipe))
    if run.info.get("threads"):
        wanted["threads"] = str(run.info["threads"])
    usual = _usual_settings(run)
    settings = [f"{key}={value}" for key, value in wanted.items() if usual.get(key) != value]
    return " \\\n  ".join([shlex.join(words), *(f"--set {shlex.quote(s)}" for s in settings)])


def _usual_settings(run: RunData) -> dict[str, str]:
    """The settings that the game file alone resolves to; empty if it cannot be read."""
    if run.game is None:
        return {}
    from gamedsl.diagnostics import Problems
    from gamedsl.recipe.resolve import resolve

    problems = Problems()
    recipe = resolve(run.game.ir, [], problems)
    return {} if problems.errors else dict(settings_as_text(recipe.as_dict()))


SECTIONS: tuple[Callable[[RunData], Section | None], ...] = (
    prediction_section,
    course_section,
    signal_section,
    round_section,
    policy_section,
    equilibrium_section,
    words_section,
    contribution_section,
    pool_section,
    game_section,
    prompt_section,
    transcript_section,
    reproduction_section,
)
