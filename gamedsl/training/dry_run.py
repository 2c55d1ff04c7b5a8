"""The cost of a run, without training: `gamedsl train --dry-run`.

The prompts, tokens and parameters are exact; memory follows from formulas (`policies/cost.py`).
Time is an estimate. Where options are scored it follows from one scoring pass. Where replies are
written, games of the first step are played by the model before it is trained, and a pass over their
replies is measured. Only games that would take too long to play are extrapolated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
import yaml

from gamedsl.diagnostics import Problems
from gamedsl.policies.base import Notify, Policy, Query
from gamedsl.policies.chunk_scoring import ChunkedPolicy
from gamedsl.policies.cost import (
    SCORED_COPIES,
    TRAINED_COPIES,
    WRITTEN_COPIES,
    Memory,
    ModelSize,
    measured_rate,
    memory_of,
)
from gamedsl.policies.factory import close_policy
from gamedsl.policies.generation import Generated, Ids, Request, Writing
from gamedsl.policies.handed_on import bare
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.multi_model import models_of
from gamedsl.policies.prefix_tree import common_prefix
from gamedsl.policies.process_memory import peak_memory
from gamedsl.policies.vllm import VllmPolicy
from gamedsl.recipe.methods import default_of, method_spec, table
from gamedsl.recipe.presets import PRESETS
from gamedsl.recipe.table import Recipe
from gamedsl.runtime.env import Env
from gamedsl.runtime.game import Game
from gamedsl.tables.numbers import duration
from gamedsl.training.advantages import Advantage
from gamedsl.training.bundles import Bundles
from gamedsl.training.context_length import Context, check_context
from gamedsl.training.credit import Replays
from gamedsl.training.engine import deterministic, kv_rooms, open_policy, set_threads
from gamedsl.training.imitation import described
from gamedsl.training.loop import env_of, scorer_of
from gamedsl.training.losses import TokenBatch
from gamedsl.training.metrics import PolicyMetrics
from gamedsl.training.optimizer import trained_parameters
from gamedsl.training.rollout import play
from gamedsl.training.rows import RowSampler, row_sampler
from gamedsl.training.scoring import GRAPH_TOKENS, Scorer
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions, writer
from gamedsl.training.trajectories import Batch, Place

Fact = tuple[str, str]
"""The name of a fact and what is said of it."""

_FIRST = ("game", "model", "preset", "warning", "time", "memory", "endpoints")
"""The facts by which people decide whether to train."""

_LINES = 8
"""Lines of the prompt or reply that is shown, where not all are asked for."""

_SHOWN = 4
_PLAYED = 64
"""Games that are played at most where replies are written, or endpoints are called."""

_FEWEST = 8
"""Games that are played at least where replies are written: side by side, a game costs less."""

_GROWTH = 4
"""Factor by which the number of played games grows until a whole step is measured."""

_PATIENCE = 15.0
"""Seconds of play above which no further, larger part of a step in words is played."""

_REPLAYED = 8
"""Other choices that are played out to tell how long all take."""

PAYS = 1.3
"""How much faster another number format must multiply to be advised."""

_UPDATE = 2
"""An update's forward and backward, in forward passes."""


def dry_run(
    game: Game,
    recipe: Recipe,
    seating: SeatAssignment,
    notify: Notify,
    problems: Problems | None = None,
    verbose: bool = False,
) -> str:
    """Returns a text for people, of about a screen; `verbose` adds whole prompts and all settings.
    What training would refuse is added to `problems`. Raises TrainError and ModelError as training
    would."""
    with deterministic(recipe.deterministic), ExitStack() as opened:
        threads = set_threads(recipe.threads)
        policy = open_policy(game, recipe, notify)
        opened.callback(close_policy, policy)
        facts, shown = _dry_run(game, recipe, seating, policy, threads, problems)
    return _report(facts, shown, recipe, verbose)


def _dry_run(
    game: Game,
    recipe: Recipe,
    seating: SeatAssignment,
    policy: Policy,
    threads: int,
    problems: Problems | None,
) -> tuple[list[Fact], list[list[str]]]:
    """Returns the facts, and the lines of some prompts."""
    if recipe.in_words(game.ir):
        written = writer(policy)
        context = check_context(game, recipe, written, Problems() if problems is None else problems)
        return _in_words(game, recipe, seating, written, threads, context)
    env = env_of(game, recipe, policy, seating)
    metrics = PolicyMetrics(env, recipe, seating)
    scorer = Scorer(policy, temperature=recipe.temperature, keeps_graphs=False)
    played = _play_part(env, recipe, seating, scorer, metrics.queries, row_sampler(game, recipe))
    batch, share = played.batch, played.share
    queries, places = metrics.queries or batch.queries, metrics.places or batch.places

    room = graph_room(policy) if scorer_of(policy, recipe, metrics.known).keeps_graphs else 0
    step = _step_seconds(played, recipe, policy, room)
    replayed = []
    if recipe.credit in ("difference", "counterfactual"):
        courses, took = Replays(recipe, scorer, seating).estimate(batch, _REPLAYED)
        replayed = _replays(recipe, courses, took, step)
        step += took
    trained = _size(policy)
    decisions = sum(h.games * len(h.samples) for h in batch.trajectories)
    first = f"the first of {recipe.inner_steps} updates" if recipe.inner_steps > 1 else "the update"
    work = scored(policy, queries, batch.tokens, kept=True)
    facts = [
        *_subject(game, policy, recipe, trained),
        ("a step", f"{recipe.games:,} games, {round(decisions / share):,} decisions"),
        ("distinct prompts", f"{len(queries):,} a step"),
        ("distinct tokens", f"{batch.tokens:,} a step"),
        *_warm_up(recipe),
        *method_spec(recipe.method).facts(recipe, policy, metrics.learned),
        *_memory(policy, trained, work, room, first),
        *_endpoints(recipe, seating, share),
        *replayed,
        _time(recipe, step, threads),
        *_floor(policy, work, step),
    ]
    return facts, _prompts(queries, places)


@dataclass(frozen=True)
class _Played:
    """The games of a step that were played to measure it: what they gave, the seconds that they
    took, and their share of the step's games."""

    batch: Batch
    seconds: float
    share: float


def _play_part(
    env: Env,
    recipe: Recipe,
    seating: SeatAssignment,
    scorer: Scorer,
    queries: list[Query],
    rows: RowSampler | None,
) -> _Played:
    """Plays the games of a step twice, and measures the second time: the first also warms up. Where
    endpoints are called, which costs, a few games are played once."""
    called = seating.budget.in_use
    share = min(1.0, _PLAYED / recipe.games) if called else 1.0
    games = round(recipe.games * share)
    part = replace(recipe, games=games, group_size=min(recipe.group_size, games))
    for _ in range(1 if called else 2):
        scorer.forget()
        for one in _chunked(scorer.policy):
            one.end_step()
        started = time.perf_counter()
        batch = play(env, Bundles(scorer, queries), part, 1, seating, rows)
        seconds = time.perf_counter() - started
    return _Played(batch, seconds, share)


def _step_seconds(played: _Played, recipe: Recipe, policy: Policy, room: int) -> float:
    """Estimates the seconds of a step, play and updates, where the graphs of `room` tokens are kept
    from play for the first update."""
    forward = min(1.0, room * played.share / max(played.batch.tokens, 1))
    updates = (recipe.inner_steps * _UPDATE - forward) * _trained_share(_chunked(policy))
    return (1 + updates) * played.seconds / played.share


def _prompts(queries: Sequence[Query], places: Sequence[Place]) -> list[list[str]]:
    """Returns the lines of the first prompts, each with its answers, and how many more there
    are."""
    shown = []
    for query, place in list(zip(queries, places, strict=True))[:_SHOWN]:
        lines = [f"━━ {place.information_set} ━━"]
        lines += [
            line for role, text in query.messages for line in (f"[{role}]", *text.split("\n"))
        ]
        named = zip(query.labels, place.legal, strict=True)
        lines.append("answers: " + ", ".join(f"{label} ({name})" for label, name in named))
        shown.append(lines)
    if len(queries) > _SHOWN:
        shown.append([f"and {len(queries) - _SHOWN} more prompts (gamedsl prompts shows all)"])
    return shown


def _in_words(
    game: Game,
    recipe: Recipe,
    seating: SeatAssignment,
    policy: Writing,
    threads: int,
    context: Context | None,
) -> tuple[list[Fact], list[list[str]]]:
    """Returns the facts and some replies of a game in which replies are written."""
    env = env_of(game, recipe, policy, seating)
    part = _play_words(env, recipe, seating, policy, row_sampler(game, recipe))
    batch, played = part.batch, part.games
    said = [sample for _, sample in batch.samples]
    written = [one.written for one in said if one.written is not None]
    tokens = sum(len(reply.reply_ids) for reply in written)
    seconds, redrawn = part.seconds, []
    if recipe.credit in ("difference", "counterfactual"):
        more = recipe.replays * len(said)
        games = round(more * recipe.games / played)
        told = f"{games:,} games a step are played on, {recipe.replays} from each reply"
        redrawn = [("replays", told)]
        seconds *= 1 + more / played / 2  # a game that branches off has half its replies before it
    trained = sum(p.numel() for p in trained_parameters(policy, seating))
    longest = 0 if context is None else context.most
    work = spoken(written, longest, recipe.games / played, first=_first_half(batch))
    share = spoken(written, longest, 1.0).tokens / max(work.tokens, 1)
    a_pass = _pass_seconds(policy, batch, recipe, seating) / (share or 1.0)
    step = seconds + _passes(recipe) * a_pass
    valid = sum(one.invalid is None for one in said)
    facts = [
        *_subject(game, policy, recipe, trained),
        *_referees(game, recipe),
        ("a step", f"{recipe.games:,} games in groups of {recipe.group_size:,}"),
        (
            "one group" if played == recipe.group_size else f"{played} games",
            f"{len(said):,} replies, {tokens:,} tokens, {valid:,} valid",
        ),
        *_warm_up(recipe),
        *([("context", context.describe())] if context is not None else []),
        *([("keys and values", _rooms(policy, context))] if context is not None else []),
        *_memory(policy, trained, work),
        *redrawn,
        *_endpoints(recipe, seating, played / recipe.games),
        _time(recipe, step, threads, written=True),
        *_floor(policy, work, step),
    ]
    shown = []
    for one in said[:_SHOWN]:
        why = "" if one.invalid is None else f" (invalid: {one.invalid.reason})"
        head = f"━━ {one.seat} · {one.step}{why} ━━"
        shown.append([head, *batch.text(one).split("\n")])
    return facts, shown


@dataclass(frozen=True)
class _PlayedWords:
    """The games of a step in words that were played, how many they were, and the seconds that all
    games of the step take to play."""

    batch: Batch
    games: int
    seconds: float


def _play_words(
    env: Env, recipe: Recipe, seating: SeatAssignment, policy: Writing, rows: RowSampler | None
) -> _PlayedWords:
    """Plays a group or `_FEWEST` of a step's games, then ever more, up to the whole step or
    `_PLAYED` games, while that is affordable. Where the first are all, they are played twice: the
    first time also warms up. Where endpoints are called, which costs, one group is played once."""
    for adapter in policy.adapters:  # a model checks itself before its first reply
        policy.generate([Request((("user", "Hello."),), adapter, max_tokens=2)])
    called = seating.budget.in_use
    size = min(recipe.group_size, _PLAYED)
    most = max(size, min(recipe.games, _PLAYED) // size * size)
    games = size if called else min(most, size * max(1, _FEWEST // size))
    took: list[tuple[int, float]] = []
    while True:
        policy.forget()
        started = time.perf_counter()
        part = replace(recipe, games=games, group_size=size)
        batch = play(env, Sessions(policy), part, 1, seating, rows)
        took.append((games, time.perf_counter() - started))
        following = min(_GROWTH * games, most)
        again = len(took) > 1 and games == most
        if called or again or extrapolated(took, following) > _PATIENCE:
            return _PlayedWords(batch, games, extrapolated(took, recipe.games))
        games = following


def extrapolated(took: Sequence[tuple[int, float]], games: int) -> float:
    """Returns the seconds of so many games, by what ever more games `took`. Games are written side
    by side: one more adds what it added between the last two, at most its share of the last."""
    last, seconds = took[-1]
    added = seconds / last
    if len(took) > 1 and took[-2][0] < last:
        before, less = took[-2]
        added = min(added, max(0.0, seconds - less) / (last - before))
    return seconds + added * (games - last)


def _pass_seconds(policy: Writing, batch: Batch, recipe: Recipe, seating: SeatAssignment) -> float:
    """Measures one pass, without a gradient, over what a batch's replies train."""
    samples = [
        Advantage(number, one, 1, 0.0)
        for number, one in batch.samples
        if one.role in seating.learners
    ]
    trained = TokenBatch(samples, batch.queries, recipe.temperature)
    policy.token_log_probs(trained.rows[:1])  # the first pass takes longer
    started = time.perf_counter()
    policy.token_log_probs(trained.rows)
    if trained.queries:
        policy.log_probs(trained.queries)
    return time.perf_counter() - started


def _passes(recipe: Recipe) -> int:
    """Returns how many passes forward a step in words takes as long as, beside its games."""
    inner = _UPDATE + (recipe.ratio == "sequence")
    return recipe.inner_steps * inner + bool(recipe.kl) + bool(recipe.entropy_floor)


def _first_half(batch: Batch) -> int:
    """Returns how many written replies the first half of the groups has; 0 for one group."""
    groups = sorted({one.group for one in batch.trajectories})
    first = set(groups[: len(groups) // 2])
    return sum(
        sample.written is not None
        for one in batch.trajectories if one.group in first
        for sample in one.samples
    )  # fmt: skip


def _subject(game: Game, policy: Policy, recipe: Recipe, trained: int) -> list[Fact]:
    """Returns the game, and the models with what is trained of them."""
    return [
        ("game", f"{game.name}, hash {game.hash[:12]}"),
        *_models(policy),
        *_format(policy, recipe),
        *_preset(recipe),
        ("trained parameters", f"{trained:,}"),
    ]


def _warm_up(recipe: Recipe) -> list[Fact]:
    """Returns the players that are imitated before training, if there are some."""
    return [("warm-up", described(recipe))] if recipe.experts else []


def _time(recipe: Recipe, step: float, threads: int, *, written: bool = False) -> Fact:
    """Returns how long training takes, by the seconds of a step. `written`: replies are, and their
    lengths change as the model learns."""
    return (
        "time",
        f"about {step:.1f} s a step, {duration(step * recipe.steps)} in all,"
        f" on {threads} thread{'s' if threads != 1 else ''}"
        + (", with replies as the untrained model writes them" if written else ""),
    )


def _chunked(policy: Policy) -> list[ChunkedPolicy]:
    """Returns the models of a policy whose size and passes are known."""
    return [one for one in map(bare, models_of(policy)) if isinstance(one, ChunkedPolicy)]


def _trained_share(models: Sequence[ChunkedPolicy]) -> float:
    """Returns the share of a pass over new prompts that an update computes: what frozen layers
    gave may be kept from the games."""
    sizes = [(one.size, one.keeps_for_step) for one in models]
    whole = sum(size.trunk + size.crown for size, _ in sizes)
    updated = sum(size.crown + (0 if kept else size.trunk) for size, kept in sizes)
    return updated / whole if whole else 1.0


def _rooms(policy: Policy, context: Context) -> str:
    """Returns how much room keys and values have, and how many rows of the longest context fit."""
    rooms = kv_rooms(policy)
    room = ", ".join(
        (f"{name}: " if len(rooms) > 1 else "") + f"{gib:.3g} GiB" for name, gib in rooms.items()
    )
    return f"{room}: room for {context.rows:,} rows of {context.most:,} tokens at once"


def _replays(recipe: Recipe, courses: int, took: float, rest: float) -> list[Fact]:
    """Returns how many other choices a step plays out, and how long that takes beside the `rest`;
    with a warning where it is most of the step."""
    told = f"{courses:,} other choices a step, each on at most {recipe.replays:,} courses of play"
    found = [("replays", f"{told}, about {took:.1f} s")]
    if took > rest:
        fix = "fewer `replays`, or fewer `games`, take less"
        found.append(("warning", f"`credit: {recipe.credit}` takes most of a step: {fix}"))
    return found


def _models(policy: Policy) -> list[Fact]:
    """Returns each model with its adapters, and how much of it is trained where there are
    several."""
    models = models_of(policy)
    return [
        ("model", f"{one.name}, adapters {', '.join(one.adapters)}"
                  + (f", {_size(one):,} parameters" if len(models) > 1 else ""))
        for one in models
    ]  # fmt: skip


def _referees(game: Game, recipe: Recipe) -> list[Fact]:
    """Returns the referees that are trained."""
    learners = recipe.learners(game.ir)
    found = [role.name for role in game.ir.referees if role.name in learners]
    return [("trained referees", f"{', '.join(found)}, each on its payoff")] if found else []


def _format(policy: Policy, recipe: Recipe) -> list[Fact]:
    """Returns the number formats of the models that are trained whole, and of frozen weights."""
    sizes = [one.size for one in _chunked(policy)]
    whole = [("trained weights", "float32")] if any(one.trains_all for one in sizes) else []
    return [*whole, *_frozen_format([one for one in sizes if not one.trains_all], recipe)]


def _frozen_format(sizes: Sequence[ModelSize], recipe: Recipe) -> list[Fact]:
    """Returns the number format of the frozen weights, and whether another one multiplies faster on
    this processor. What is said changes no run: its numbers do not hang on a measurement."""
    formats = ", ".join(dict.fromkeys(str(one.dtype).removeprefix("torch.") for one in sizes))
    if recipe.quantize != "none":
        return [("frozen weights", f"{recipe.quantize}, dequantised to {formats} in each pass")]
    here = [one for one in sizes if one.device.type == "cpu" and one.dtype == torch.float32]
    if recipe.dtype is not None or not here:
        return [("frozen weights", formats)] if formats else []
    largest = max(here, key=lambda one: one.weights)
    ours, other = (
        measured_rate(dtype, largest.device, largest.hidden)
        for dtype in (torch.float32, torch.bfloat16)
    )
    told = f"bfloat16 multiplies {other / ours:.1f} times as fast here"
    advice = "`--set dtype=bfloat16` pays" if other >= PAYS * ours else "float32 is right"
    return [("frozen weights", f"{formats}; {told}: {advice}")]


def _preset(recipe: Recipe) -> list[Fact]:
    """Returns the settings that a preset stands for, as the run has them."""
    if recipe.preset is None:
        return []
    given = {
        name: table()[name].plain(recipe.value(name)) for name in PRESETS[recipe.preset].settings
    }
    return [("preset", f"{recipe.preset}: " + ", ".join(f"{k} {v}" for k, v in given.items()))]


def _size(policy: Policy) -> int:
    return sum(parameter.numel() for parameter in policy.parameters())


def _endpoints(recipe: Recipe, seating: SeatAssignment, steps: float) -> list[Fact]:
    """Returns the calls that endpoints would get, by those that they got in so many steps, and the
    budget of the run."""
    if not seating.budget.in_use:
        return []
    calls, tokens = (
        "any number of" if most is None else f"at most {most:,}"
        for most in (recipe.budget.calls, recipe.budget.tokens)
    )
    told = f"about {round(seating.budget.calls / steps):,} calls a step; in all {calls} calls"
    return [("endpoints", f"{told}, {tokens} tokens")]


def _report(facts: list[Fact], shown: list[list[str]], recipe: Recipe, verbose: bool) -> str:
    """Returns the facts, those that decide first, then prompts or replies, then settings."""
    facts = sorted(facts, key=lambda fact: fact[0] not in _FIRST)
    width = max(len(name) for name, _ in facts)
    lines = [f"{name:<{width}}  {value}" for name, value in facts]
    settings = recipe.as_dict() if verbose else _changed_settings(recipe)
    for part in shown if verbose else shown[:1]:
        most = len(part) if verbose else _LINES
        lines += ["", *part[:most]]
        if len(part) > most:
            lines.append(f"… {len(part) - most:,} more lines")
    if settings:
        lines += ["", "train:", *_indented(settings)]
    more = "" if verbose else "; --verbose shows whole prompts or replies and all settings"
    return "\n".join([*lines, "", f"nothing was trained{more}"])


def _changed_settings(recipe: Recipe) -> dict[str, Any]:
    """Returns the settings that are not as they are by default, by their names with dots."""
    deciding = recipe.method, recipe.preset
    given, own = recipe.as_dict(), {}
    for row in recipe.rows():
        if row.kind != "map":
            value, usual = row.plain(recipe.value(row.name)), default_of(row, *deciding)
            if value != (list(usual) if isinstance(usual, tuple) else usual):
                own[row.name] = value
        elif row.name in given:
            own[row.name] = given[row.name]
    return own


def _indented(settings: dict[str, Any]) -> list[str]:
    """Returns settings as lines of YAML, lists and inner maps in one line where they fit."""
    lines = []
    for name, value in settings.items():
        flow = None if isinstance(value, dict | list) else False
        text = yaml.safe_dump(
            {name: value}, sort_keys=False, default_flow_style=flow, allow_unicode=True
        )
        lines += [f"  {line}" for line in text.splitlines()]
    return lines


@dataclass(frozen=True)
class Work:
    """A step's passes: distinct tokens that are trained on, the positions of them that have logits,
    tokens that are read or drawn without a gradient before, and tokens of which something is kept:
    keys and values where replies are drawn, else what the frozen layers gave."""

    tokens: int
    rows: int
    read: int = 0
    kept: int = 0


def scored(policy: Policy, queries: Sequence[Query], tokens: int, kept: bool) -> Work:
    """Returns the work of a closed step."""
    labels = [policy.encode(query).labels for query in queries]
    rows = sum(1 + sum(len(label) - 1 for label in some) for some in labels)
    return Work(tokens, rows, kept=tokens if kept else 0)


def spoken(written: Sequence[Generated], longest: int, games: float, first: int = 0) -> Work:
    """Returns the work of a step that has `games` times as many games as wrote these replies. What
    replies begin with is read once for those that share it. Games that were not played add as many
    tokens as those after the `first` replies added to these: they share as much."""
    ids = [reply.prompt_ids + reply.reply_ids for reply in written]
    tokens, known = _distinct(ids), _distinct(ids[:first])
    added = (tokens - known) / (1 - first / len(ids)) if first < len(ids) else tokens
    replied = sum(len(reply.reply_ids) for reply in written)
    whole, drawn = round(tokens + added * (games - 1)), round(replied * games)
    return Work(whole, drawn, read=whole, kept=min(whole, round(longest * len(written) * games)))


def _distinct(sequences: Sequence[Ids]) -> int:
    """Returns how many tokens sequences have, each shared beginning counted once."""
    ids = sorted(sequences)
    return sum(len(b) - common_prefix(a, b) for a, b in zip([(), *ids], ids, strict=False))


def _memory(
    policy: Policy, trained: int, work: Work, room: int = 0, update: str = ""
) -> list[Fact]:
    """Returns the memory of the device, and its part while a pass goes forward and backward. The
    graphs of `room` tokens are kept from play for `update`, in words."""
    told: list[Fact] = []
    chunked = _chunked(policy)
    for one in chunked:
        name = f"{one.name}: " if len(chunked) > 1 else ""
        told.append(("a pass", name + one.activations.describe()))
        if room:
            tokens = min(work.tokens, room)
            size = one.activations.graph_bytes(tokens) / 1e9
            share = f"{name}about {tokens:,} of {work.tokens:,} tokens"
            told.append(("kept", f"{share} from play to {update}, {size:.2f} GB"))
        memory = memory_in(one, trained, work, room)
        told.append(("memory", name + memory.describe()))
        if isinstance(one, VllmPolicy):
            told.append(("vLLM", name + _beside(one)))
    return [*told, ("process", f"at most {peak_memory() / 1e9:.1f} GB so far")]


def _beside(policy: VllmPolicy) -> str:
    """Returns what vLLM holds beside the trainer's model."""
    leaves = "; both leave the GPU while adapters are trained" if policy.vllm_sleeps else ""
    return (
        f"its own copy of the weights, {policy.vllm_weights / 1e9:.2f} GB,"
        f" and room for keys and values, {policy.kv_bytes / 1e9:.2f} GB{leaves}"
    )


def graph_room(policy: Policy) -> int:
    """Returns about how many tokens' graphs have room from play to the update."""
    rooms = (one.activations.room_tokens() for one in _chunked(policy))
    return min(rooms, default=GRAPH_TOKENS)


def memory_in(policy: ChunkedPolicy, trained: int, work: Work, room: int = 0) -> Memory:
    """Returns the memory of a step, in which the graphs of `room` tokens are kept; all its tokens
    are taken to be of this model."""
    size, passes = policy.size, policy.activations
    largest = min(work.tokens, passes.pass_tokens)
    kept = work.kept * size.hidden * torch.float32.itemsize  # the residual stream's
    copies = TRAINED_COPIES if size.trains_all else WRITTEN_COPIES if work.read else SCORED_COPIES
    if work.read and isinstance(policy, HFPolicy):  # as much again while replies are drawn
        kept = 2 * min(policy.kv_bytes, work.kept * policy.kv_token_bytes)
    pass_bytes = passes.peak_bytes(largest, again=passes.again(largest))
    memory = memory_of(
        size, trained=trained,
        activations=max(pass_bytes, passes.graph_bytes(min(work.tokens, room))),
        logits=copies * min(work.rows, policy.most_rows) * size.vocabulary, kept=kept,
    )  # fmt: skip
    if isinstance(policy, VllmPolicy):  # it takes its whole cache when it starts
        held = policy.vllm_weights + policy.kv_bytes
        return replace(memory, kept=0, vllm=held, vllm_sleeps=policy.vllm_sleeps)
    return memory


def _floor(policy: Policy, work: Work, expected: float) -> list[Fact]:
    """Returns what the step's multiplications take at the rate that is measured here, beside the
    time that is expected."""
    seconds = flop = 0.0
    for one in _chunked(policy):
        here = one.size
        flop += (mine := here.step_flop(work.tokens, work.rows) + here.read_flop(work.read, 0))
        seconds += mine / measured_rate(here.dtype, here.device, here.hidden)
    if not seconds:
        return []
    told = f"{seconds:.2g} s a step: {flop / 1e9:,.0f} GFLOP at {flop / seconds / 1e9:,.0f} GFLOP/s"
    return [("floor", f"{told}; expected is {expected / seconds:.1f} times that")]
