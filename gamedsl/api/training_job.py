"""A training job: a request that is checked, and then run. `gamedsl train` and `gamedsl.train` are
two ways to ask for one.

Everything that can be wrong with a request is said before a model is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.collector import collector_paused
from gamedsl.diagnostics import CompileError, Note, Problems
from gamedsl.errors import UserError
from gamedsl.training.errors import TrainError

if TYPE_CHECKING:
    from gamedsl.analysis.proof import Proof
    from gamedsl.diagnostics import Diagnostic
    from gamedsl.ir.game import Setting
    from gamedsl.policies.base import Notify
    from gamedsl.policies.generation import Writing
    from gamedsl.recipe.table import Recipe
    from gamedsl.runtime import Game
    from gamedsl.training.loop import Observer, Outcome
    from gamedsl.training.methods.base import Record
    from gamedsl.training.runfolder import RunFolder
    from gamedsl.training.seats import SeatAssignment

Watch = Callable[["TrainingJob", "RunFolder", ExitStack], "Sequence[Observer]"]
"""Opens the observers of a run, which the stack closes."""


@dataclass(frozen=True)
class Listener:
    """Receives the diagnostics of a request, warnings and errors alike, and lines on what takes
    time. By default nobody listens: an error is raised all the same."""

    diagnostics: Callable[[Sequence[Diagnostic]], None] = lambda found: None
    notify: Notify = lambda line: None

    def receive(self, problems: Sequence[Diagnostic]) -> None:
        """Passes problems on. Raises CompileError if an error is among them."""
        self.diagnostics(problems)
        if any(one.severity == "error" for one in problems):
            raise CompileError(list(problems))


@dataclass(frozen=True)
class TrainingJob:
    """A request that was understood. `params` are those that were set; `run` is the folder to
    resume, None for a new run."""

    game: Game
    recipe: Recipe
    seating: SeatAssignment
    params: dict[str, Any]
    run: RunFolder | None


@dataclass(frozen=True)
class Trained:
    """The end of a job: how far it came, its folder, and its page."""

    outcome: Outcome
    folder: RunFolder
    report: Path


def new_job(
    file: str | Path, params: Mapping[str, Any], settings: Sequence[Setting], *,
    out: Path | None = None, addresses: Collection[str] = (), listener: Listener | None = None,
) -> TrainingJob:  # fmt: skip
    """Returns the job of a new run; `out` is its folder. Of the endpoints that the recipe names,
    those of `addresses` may be called.

    Raises CompileError for problems of the game or of a setting, and TrainError for a request that
    cannot be met.
    """
    listener = listener or Listener()
    with collector_paused():
        if out is not None:
            from gamedsl.training.runfolder import require_room

            require_room(out)
        game, proofs = read_game(file, params, listener)
        return TrainingJob(
            *_checked(game, proofs, params, settings, addresses, listener), dict(params), None
        )


def resumed_job(
    folder: Path, *, file: str | Path | None = None, more: Sequence[Setting] = (),
    forced: bool = False, addresses: Collection[str] = (), listener: Listener | None = None,
) -> TrainingJob:  # fmt: skip
    """Returns the job that goes on with a run, as the run was asked for; `more` are settings that
    may change: the number of steps, the cluster, and the budget of endpoints. `file` is the game
    where the run's copy is lost.

    Raises as `new_job`, and RunDamaged for a folder that is not as the run wrote it, unless
    `forced`.
    """
    from gamedsl.recipe.resolve import override
    from gamedsl.runs.saved import wording_of
    from gamedsl.training.imitated_files import require_unchanged
    from gamedsl.training.runfolder import open_run

    listener = listener or Listener()
    with collector_paused():
        for one in more:
            if not may_change(one.key):
                raise TrainError(
                    f"`{one.key}` cannot be changed in a run that goes on", "start a new run"
                )
        found = open_run(folder, forced=forced)
        info = found.saved.info(("file", "game", "params", "hash", "threads"))
        if not forced:
            found.saved.require()
        _require_calls(folder, info.get("calls", ()))
        game, proofs = read_game(file or _game_file(found, info), info["params"], listener)
        if game.hash != info["hash"]:
            raise TrainError(
                f"`{game.name}` is not the game that {folder} was training: its file has changed, "
                "or the hash in run.json",
                f"start a new run, or put back the files that are kept in {folder / 'game'}",
            )
        settings = [override(key, value) for key, value in found.settings().items()]
        settings += [override("wording", wording_of(info)), *more]
        params = info["params"]
        checked = _checked(game, proofs, params, settings, addresses, listener, warn=False)
        _require_steps(found, checked[1].steps)
        if not forced and not any(found.checkpoints.glob("step-*.pt")):
            require_unchanged(checked[1], info.get("imitated", ()))
        return TrainingJob(*checked, params, found)


def may_change(key: str) -> bool:
    """Whether a run that goes on may have another value of a setting: none that numbers depend
    on."""
    return key in ("steps", "cluster", "workers") or key.startswith("budget.")


def _require_steps(run: RunFolder, steps: int) -> None:
    """Raises TrainError where a run is to have fewer steps than it goes on from."""
    from gamedsl.runs.saved import number_in

    checkpoints = run.saved.steps()
    done = number_in(checkpoints[-1]) if checkpoints else 0
    if steps < done:
        raise TrainError(
            f"{run.path} is to end after step {steps:,}, and step {done:,} is done",
            f"ask for {done:,} steps or more, or start a new run",
        )


def _require_calls(run: Path, files: Iterable[dict[str, str]]) -> None:
    """Raises TrainError where a run goes on without a file of functions that its game calls, or
    with another content of it."""
    from gamedsl.calls.files import allowed_calls

    allowed = {file.digest for file in allowed_calls()}
    for file in files:
        if file["sha256"] in allowed:
            continue
        name = Path(file["file"]).name
        if any(one.path.name == name for one in allowed_calls()):
            raise TrainError(
                f"the functions of `{name}` have changed since the run began: its game is another",
                "put back the file as it was, or start a new run",
            )
        raise TrainError(
            f"this game calls functions of `{file['file']}`, which nobody has allowed",
            f"gamedsl train --resume {run} --allow-calls {file['file']}; from Python, load the "
            f"game with calls=[{file['file']!r}] before",
        )


def _game_file(run: RunFolder, info: dict[str, Any]) -> str:
    """The file that a run was started with, or the run's copy of it where that is gone."""
    file: str | None = info["file"]
    if file is not None and (Path(file).exists() or Path(file).name == file):
        return file
    copy = run.saved.game_file(info)
    if copy is None:
        raise TrainError(
            f"{file or 'the game'} is gone, and {run.path / 'game'} has no copy",
            f"name the game: gamedsl train FILE --resume {run.path}",
        )
    return str(copy)


def read_game(
    file: str | Path, params: Mapping[str, Any], listener: Listener
) -> tuple[Game, tuple[Proof, ...]]:
    """Returns the game of a file with the rows that it trains on, and its proofs. Raises
    CompileError, and TrainError for a file that is no game."""
    from gamedsl.compiler import compile_file
    from gamedsl.runtime import Game

    listener.notify(f"reading {file}")
    result = compile_file(file, params)
    listener.receive(result.diagnostics)
    if result.ir is None or result.document is None:
        kind = result.document.kind if result.document is not None else "other"
        raise TrainError(f"{file} is a {kind} file, not a game", "name the file of a game")
    return Game(result.ir, result.document.files).of("training"), result.proofs


def _checked(
    game: Game, proofs: tuple[Proof, ...], params: Mapping[str, Any], settings: Sequence[Setting],
    addresses: Collection[str], listener: Listener, *, warn: bool = True,
) -> tuple[Game, Recipe, SeatAssignment]:  # fmt: skip
    """Returns the game in the wording of its recipe, the recipe and its seat assignment. Problems
    that the file alone has were heard of before; with `warn`, warnings are passed on too."""
    from gamedsl.analysis.rewards import check_equilibria
    from gamedsl.recipe.resolve import resolve
    from gamedsl.training.engine import require

    problems, known, seating = Problems(), Problems(), None
    resolve(game.ir, (), known)
    recipe = resolve(game.ir, settings, problems)
    every = [*game.ir.settings, *settings]
    check_equilibria(game.ir, recipe, {one.key: one.span for one in every}, proofs, problems)
    if warn:  # what a run imitated is of no use to it when it goes on
        _check_sources(game, recipe, every, addresses, problems)
    if not problems.errors:
        _check_levels(game, recipe, params, every, problems)
    if not problems.errors:
        require(game.ir, recipe)
        game = game.worded(recipe.wording)
        seating = hire(game, recipe, every, problems, addresses)
    new = [one for one in problems.sorted() if one not in known.found]
    listener.receive([one for one in new if warn or one.severity == "error"])
    if seating is None:  # the file alone has the errors
        raise CompileError(problems.sorted())
    return game, recipe, seating


def hire(
    game: Game, recipe: Recipe, settings: Sequence[Setting], problems: Problems,
    addresses: Collection[str] = (),
) -> SeatAssignment | None:  # fmt: skip
    """Returns the players of roles; None if one cannot be opened, with a problem at its place in
    the settings. Of the endpoints, those of `addresses` may be called."""
    from gamedsl.recipe.resolve import span_of
    from gamedsl.training.seats import SeatError, assign_seats, budget_of

    try:
        return assign_seats(game, recipe, budget_of(recipe, addresses))
    except SeatError as error:
        span = span_of(error.setting, settings) or game.ir.span
        problems.add("GD0711", error.message, span, why="not to be had", help=error.help)
        return None


def _check_levels(
    game: Game, recipe: Recipe, params: Mapping[str, Any], settings: Sequence[Setting],
    problems: Problems,
) -> None:  # fmt: skip
    """Report a level of a curriculum that cannot begin with what the one before it leaves. A level
    that does not compile is reported when it is made."""
    from gamedsl.compiler import compile_game
    from gamedsl.recipe.resolve import span_of
    from gamedsl.runtime.memory import refused_memory

    plan = recipe.curriculum
    if plan.param is None or not game.ir.lasting:
        return
    try:
        levels = {
            level: compile_game(game.files[0], {**params, plan.param: level})[0]
            for level in dict.fromkeys(plan.levels)
        }
    except CompileError:
        return
    for before, after in pairwise(plan.levels):
        refused = refused_memory(levels[before], levels[after])
        if refused is not None:
            state, why, instead = refused
            span = span_of("curriculum.levels", settings) or game.ir.span
            problems.add(
                "GD0704", f"the level {after} cannot go on from the level {before}: {why}", span,
                why="does not fit", help=f"put the levels in another order, or {instead}",
                notes=(Note(state.span, "this lasts from level to level"),),
            )  # fmt: skip
            return


_SLOW = ("model", "run", "mix", "policy", "equilibrium", "best_response")
"""Players that are opened when they are imitated alone: they load a model, or solve the game."""


def _check_sources(
    game: Game, recipe: Recipe, settings: Sequence[Setting], addresses: Collection[str],
    problems: Problems,
) -> None:  # fmt: skip
    """Report what a run is to learn from, and cannot, before a model is loaded for it."""
    from gamedsl.recipe.resolve import span_of

    for key, fact, fix in _missing_sources(game, recipe, addresses):
        place = span_of(key, settings) or game.ir.span
        problems.add("GD0711", fact, place, why="not to be had", help=fix)


def _missing_sources(
    game: Game, recipe: Recipe, addresses: Collection[str]
) -> Iterator[tuple[str, str, str]]:
    """Yields for each setting that names what is not to be had its key, the fact and the fix."""
    from gamedsl.players.base import PlayerError, Speaker
    from gamedsl.players.runs import folder_and_step
    from gamedsl.players.table import open_player
    from gamedsl.recipe.table import file_of
    from gamedsl.runs.saved import open_saved
    from gamedsl.storage.reader import expanded
    from gamedsl.training.imitated_files import check_file, experts_of, unsaid
    from gamedsl.training.seats import budget_of

    named, chooses = experts_of(recipe), dict[str, bool]()
    every = (*game.ir.roles, *game.ir.referees)
    imitated = {recipe.expert_of(role.name) for role in every} - {None}
    thinks = game.ir.respond.think is not None and recipe.replies == "free" and not game.ir.open
    if recipe.warm_up.opponents is not None and not all(map(file_of, named.values())):
        named["warm_up.opponents"] = recipe.warm_up.opponents
    for key, name in named.items():
        kind, _, argument = (part.strip() for part in name.partition(":"))
        path = None if key == "warm_up.opponents" else file_of(name)
        try:
            if path is not None:
                check_file(path, recipe, game)
            elif kind == "file" and key != "warm_up.opponents":
                yield key, f"`{name}` names no file", "write `file:PATH`"
            elif kind == "run":
                open_saved(folder_and_step(argument)[0])
            elif kind not in _SLOW:
                budget = budget_of(recipe, addresses)
                player = open_player(name, game, seed=recipe.seed, budget=budget, from_file=True)
                if name in imitated and key != "warm_up.opponents":
                    chooses[key] = not isinstance(player, Speaker)
        except PlayerError as error:
            yield key, error.message, error.help
        except UserError as error:
            yield key, error.fact, error.fix
    if thinks and {named[key] for key, choosing in chooses.items() if choosing} == imitated:
        for key in chooses:
            yield key, *unsaid(f"`{named[key]}`", free=True)
    if recipe.kl and recipe.reference is not None:
        try:
            open_saved(expanded(recipe.reference))
        except UserError as error:
            yield "reference", error.fact, error.fix


def prepare_process() -> None:
    """Prepares a process that is there for training alone, before torch is imported."""
    from gamedsl.policies.process_memory import keep_freed_memory

    spare_idle_cores()
    keep_freed_memory()


def spare_idle_cores() -> None:
    """Has the threads of torch sleep where they wait. Read when torch is first imported: on a
    machine that others use too, spinning made a step ten times slower."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("MKL_DYNAMIC", "FALSE")  # always as many threads: the same last bits


def run_job(
    job: TrainingJob, watch: Watch, *, out: Path | None = None, listener: Listener | None = None
) -> Trained:
    """Trains until the last step, or until a signal (Ctrl-C) asks for the end: then after the step
    under way, with everything saved. Writes the run's page. Processes that `torchrun` started train
    together; `watch` is asked in the leading one alone. The policy is closed at the end, whatever
    the end is.

    Raises CompileError where prompts are too long for the model, and ModelError, TrainError,
    RunDamaged, EndpointError and WriteRefused.
    """
    from gamedsl.training.engine import deterministic

    with deterministic(job.recipe.deterministic), ExitStack() as opened:
        return _run_job(job, watch, out, listener or Listener(), opened)


def _run_job(
    job: TrainingJob, watch: Watch, out: Path | None, listener: Listener, opened: ExitStack
) -> Trained:
    """Does what `run_job` does; `opened` closes what is open at the end."""
    from gamedsl.policies.factory import close_policy
    from gamedsl.policies.process_group import join
    from gamedsl.training.engine import kv_rooms, open_policy, set_threads

    recipe, threads = job.recipe, job.recipe.threads
    if job.run is not None and threads is None:
        threads = job.run.info()["threads"]
    rooms: dict[str, float] = {} if job.run is None else job.run.info().get("kv_cache", {})
    with collector_paused():  # of the packages that are imported
        threads = set_threads(threads)
        group = join()
        policy = open_policy(
            job.game, recipe, listener.notify, fresh=job.run is None, rooms=rooms, group=group
        )
        opened.callback(close_policy, policy)
        from gamedsl.training.curriculum import climb
        from gamedsl.training.interrupt import Interrupt
        from gamedsl.training.processes import Agreement, check_players, folder_of
        from gamedsl.training.runfolder import create
        from gamedsl.training.sessions import writer
        from gamedsl.view.report.page import write_report

    written = recipe.in_words(job.game.ir)
    if written:
        _check_readable(job, writer(policy), listener)
    check_players(job.seating, group)

    def open_folder() -> RunFolder:
        return job.run or create(
            job.game, recipe, out, job.params, policy.tokenizer, threads,
            kv_rooms(policy) if written else {},
        )  # fmt: skip

    leads = group is None or group.leads
    forced = job.run is not None and job.run.forced
    with (
        folder_of(group, open_folder, forced=forced) as folder, folder.locked() as alone,
        ExitStack() as stack, _saying_how_to_go_on(folder, listener),
    ):  # fmt: skip
        if not alone:
            listener.notify(
                f"warning: {folder.path} is on a file system without locks: train in it once"
            )
        folder.check_files()
        folder.write_recipe(recipe)
        observers = [*watch(job, folder, stack)] if leads else []
        if group is not None:
            observers.append(Agreement(group))
        interrupt = stack.enter_context(Interrupt() if group is None else Interrupt(group.any))
        outcome = climb(
            job.game, recipe, folder, policy, observers=observers, conclude=_conclude,
            interrupt=interrupt, seating=job.seating, load=_load,
        )  # fmt: skip
        stack.close()
        opened.close()
        report = write_report(folder.path)
        if group is not None:
            group.close()
    return Trained(outcome, folder, report)


def _load(file: str | Path, params: Mapping[str, Any]) -> Game:
    """Compiles a level of a curriculum."""
    from gamedsl.compiler import compile_game
    from gamedsl.runtime import Game

    ir, document = compile_game(file, params)
    return Game(ir, document.files)


@contextmanager
def _saying_how_to_go_on(folder: RunFolder, listener: Listener) -> Iterator[None]:
    """Has a run that could not write a file, and is still there, say how it goes on, beside what is
    wrong."""
    from gamedsl.runs.saved import INFO
    from gamedsl.storage.refusals import WriteRefused

    try:
        yield
    except WriteRefused:
        if (folder.path / INFO).exists():
            going_on = f"gamedsl train --resume {folder.path}"
            listener.notify(f"training stopped; it goes on with: {going_on}")
        raise


def _check_readable(job: TrainingJob, policy: Writing, listener: Listener) -> None:
    """Raises CompileError where prompts of the game can be longer than the model reads."""
    from gamedsl.training.context_length import check_context

    problems = Problems()
    check_context(job.game, job.recipe, policy, problems)
    listener.receive(problems.sorted())


def _conclude(folder: RunFolder, tree: Any, end: Record) -> Record:
    """The summary of a run, as a part of its end record."""
    from gamedsl.training.monitors.text import (
        contributed,
        contributions,
        of_last_level,
        population,
        sentences,
    )
    from gamedsl.training.summary import summarise

    records = folder.records()
    steps = of_last_level([record for record in records if record["event"] == "step"])
    labels = folder.labels()
    first, last = (steps[0], steps[-1]) if steps else (None, None)  # none where they were lost
    summary = summarise(records[0], last, tree, first=first, labels=labels)
    added = contributions(end, steps)
    roles = [contributed(added)] if added else []
    pool = [population(end["population"])] if "population" in end else []
    return {"summary": " ".join([summary, *sentences(records[0], steps), *roles, *pool])}
