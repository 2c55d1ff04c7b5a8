"""A shipped file as text that a person can review: its IR, its prompts and a playthrough.

Long things are cut, with their length, so that a change of the rules shows and is still read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import gamedsl
from gamedsl import Action
from gamedsl.compiler import summarise
from gamedsl.diagnostics import Problems
from gamedsl.engine.random_plays import Past, pasts
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose
from gamedsl.ir.replies import LABEL
from gamedsl.prompting.events import information_set, known
from gamedsl.prompting.labels import LabelBook, draw_labels
from gamedsl.prompting.prompts import Prompter
from gamedsl.prompting.random_replies import random_reply
from gamedsl.sema.library import load_document
from gamedsl.sema.used_files import ROLES, check_part, example_reward, example_steps
from tests.golden.program import amounts, expr, let_line, state_line, step_lines, value

SEED = 7
PROMPTS = 6
"""Prompts that are shown of a game without a fixed sequence of decisions."""
LINES = 20
"""Lines of a prompt that are shown."""
MOVES = 30
"""Lines of a playthrough that are shown."""
WIDTH = 200
LISTED = 5_000
"""Outcomes of chance that are listed."""


def show(path: Path) -> str:
    """Returns the golden text of a game, protocol or reward file."""
    lines = game_lines(path) if path.parent.name == "games" else part_lines(path)
    return "\n".join(cut(line.rstrip()) for line in lines) + "\n"


def cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def game_lines(path: Path) -> Iterator[str]:
    game = gamedsl.load(path)
    yield summarise(game.ir)
    yield f"rules {game.ir.rules_hash[:16]}, rendering {game.ir.rendering_hash[:16]}"
    yield ""
    yield "# IR"
    yield from ir_lines(game.ir)
    yield ""
    yield "# Prompts"
    yield from prompt_lines(game.ir)
    yield ""
    yield "# Playthrough"
    if game.ir.plain:
        yield from play_lines(game, stride=0)
        yield from play_lines(game, stride=1)
        yield from forfeit_lines(game)
    else:
        yield from random_lines(game)


def ir_lines(ir: GameIR) -> Iterator[str]:
    for param in ir.params:
        yield f"param {param.name} = {value(param.value)}: {param.type}"
    for role in ir.roles:
        yield f"role {role.name}: {', '.join(role.seats)}"
    for role in ir.referees:
        yield f"referee {role.name}: {', '.join(role.seats)}"
    yield from map(state_line, ir.state)
    for step in ir.turns:
        yield from step_lines(step)
    if ir.end is not None:
        yield f"end = {expr(ir.end)}"
    if ir.no_move != "error":
        yield f"without a move: {ir.no_move}"
    yield from map(let_line, ir.lets)
    yield from amounts("payoff", ir.payoffs)
    for name, scored in ir.scores:
        yield from amounts(f"score {name}: amount", scored)
    yield f"reward {ir.reward.name} = {expr(ir.reward.split)}"
    only = f" of {len(ir.labels.only)} names" if ir.labels.only else ""
    yield f"labels {ir.labels.kind} {ir.labels.style} per {ir.labels.per}{only}"
    if ir.respond != LABEL:
        yield f"closed decisions are answered by {ir.respond}"
    for name, cost in ir.on_invalid:
        pay = "" if cost.pay is None else f", paid {value(cost.pay)}"
        then = cost.then if cost.play is None else f"play {cost.play}"
        yield f"invalid replies of {name}: {cost.retry} more tries, then {then}{pay}"
    for seat, window in ir.history:
        far = (
            f"its last {window.last} turns" if window.last else f"what followed its {window.since}"
        )
        yield f"prompts of {seat} tell {far}"
    for seat, entries in ir.view:
        shown = (f"{e.title}: {expr(e.value)}" if e.title else expr(e.value) for e in entries)
        yield f"view of {seat}: {', '.join(shown) or 'nothing'}"
    for setting in ir.settings:
        yield f"train {setting.key} = {value(setting.value)}"


def part_lines(path: Path) -> Iterator[str]:
    problems = Problems()
    document = load_document(path, problems)
    assert document is not None
    yield check_part(document, problems)
    yield ""
    yield f"# IR, for the roles {' and '.join(ROLES)}"
    if document.kind == "reward":
        reward = example_reward(document, problems)
        for param in reward.params:
            yield f"param {param.name} = {value(param.value)}: {param.type}"
        yield from map(let_line, reward.lets)
        yield f"split = {expr(reward.split)}"
    else:
        for step in example_steps(document, problems):
            yield from step_lines(step)
    assert not problems.errors


# prompts


def prompt_lines(ir: GameIR) -> Iterator[str]:
    """Returns the prompt of each seat at each step, the first time that it is; of a game without a
    fixed sequence of decisions what one seat of each role is, then and at the latest time met."""
    book, prompter = draw_labels(ir, run_seed=0, seed=SEED), Prompter(ir)
    shown = 0
    for step in ir.steps:
        for past in sampled(ir, step):
            if ir.plain or shown < PROMPTS:
                yield from one_prompt(prompter, book, step, past)
            shown += 1
    if not ir.plain and shown > PROMPTS:
        yield f"… {shown} of these"


def sampled(ir: GameIR, step: Choose) -> list[Past]:
    met = pasts(ir, step)
    first: dict[str, Past] = {}
    for past in met:
        first.setdefault(past.seat if ir.plain else ir.role_of[past.seat], past)
    if ir.plain:
        return list(first.values())
    last = max(met, key=lambda past: len(past.seen), default=None)
    return [*first.values(), *([last] if last is not None and last not in first.values() else [])]


def one_prompt(prompter: Prompter, book: LabelBook, step: Choose, past: Past) -> Iterator[str]:
    place = information_set(past.seat, step.id, known(past.seen))
    yield f"[{place}]".replace("\n", "⏎")
    lines = [
        f"  {speaker}: {line}"
        for speaker, text in prompter.messages(
            past.seat, step, past.legal, book, past.seen, past.variables, past.before
        )
        for line in text.split("\n")
    ]
    yield from lines[:LINES]
    if len(lines) > LINES:
        yield f"  … {len(lines)} lines"


# plays


def play_lines(game: gamedsl.Game, stride: int) -> Iterator[str]:
    """Returns an episode in which decision number i is for option number i times `stride`, going
    round."""
    episode, count = game.env(backend="interpreter").reset(seed=SEED), 0
    while not episode.done:
        asked = episode.decisions
        places = [i * stride % len(d.legal) for i, d in enumerate(asked, count)]
        count += len(asked)
        said = [
            f"{d.seat} {d.labels[at]} ({d.legal[at]})" for at, d in zip(places, asked, strict=True)
        ]
        yield f"{asked[0].step}: {', '.join(said)}"
        episode.step({d.seat: d.labels[at] for at, d in zip(places, asked, strict=True)})
    yield from outcome_lines(episode)


def random_lines(game: gamedsl.Game) -> Iterator[str]:
    """Returns an episode in which everything is drawn at random, with the odds of chance and the
    number of legal actions."""
    episode, random = (
        game.env(backend="interpreter").reset(seed=SEED, chance="asked", forced="asked"),
        Random(SEED),
    )
    lines = []
    while not episode.done:
        if episode.outcome_count:
            step, index = episode.drawing
            count = episode.outcome_count
            number = random.randrange(count)
            what = f"number {number} of {count}"
            if count <= LISTED:
                outcome = episode.chance[number]
                what = f"{outcome.name} (chance {outcome.probability})"
            lines.append(f"{' '.join((step, *index))}: {what}")
            episode.draw(number)
            continue
        asked = episode.decisions
        names = {d.seat: reply(episode, d, random) for d in asked}
        said = [f"{d.seat} {shown(d, names[d.seat])}" for d in asked]
        lines.append(f"{asked[0].step}: {', '.join(said)}")
        episode.step(names)
    yield from lines[:MOVES]
    if len(lines) > MOVES:
        yield f"… {len(lines)} moves"
    table = episode.table.split("\n")
    yield from (f"  {line}" for line in table[:MOVES] if line)
    yield from outcome_lines(episode)


def reply(episode: gamedsl.Episode, decision: gamedsl.Decision, random: Random) -> Action:
    """Returns an option, or something that may be said, at random."""
    if decision.said is None:
        return Action(decision.legal[random.randrange(len(decision.legal))])
    while True:
        name = random_reply(decision.said, decision.type, episode.env.seats, random)
        if isinstance(episode.parse(decision, Action(name)), str):
            return Action(name)


def shown(decision: gamedsl.Decision, action: Action) -> str:
    if decision.said is not None:
        return f"says {action.name!r}"
    label = decision.labels[decision.legal.index(action.name)]
    return f"{label}{named(label, action.name)} of {len(decision.legal)}"


def named(label: str, name: str) -> str:
    return f" ({name})" if label != name else ""


def forfeit_lines(game: gamedsl.Game) -> Iterator[str]:
    episode = game.env(backend="interpreter").reset(seed=SEED)
    first, *others = episode.decisions
    replies = {d.seat: d.labels[0] for d in others}
    episode.step({first.seat: "I do not know.", **replies})
    yield f"{first.seat} says something else"
    yield from outcome_lines(episode)


def outcome_lines(episode: gamedsl.Episode) -> Iterator[str]:
    yield f"  payoffs {', '.join(f'{s} {value(a)}' for s, a in episode.payoffs.items())}"
    yield f"  rewards {', '.join(f'{s} {value(a)}' for s, a in episode.rewards.items())}"
