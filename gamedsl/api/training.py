"""Training from Python: a request becomes a job, and what stops it an error for its caller."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.api.game import Game
from gamedsl.api.training_job import (
    Listener,
    TrainingJob,
    new_job,
    resumed_job,
    run_job,
    spare_idle_cores,
)
from gamedsl.errors import UserError
from gamedsl.players.endpoint import addresses_in
from gamedsl.recipe.resolve import override

if TYPE_CHECKING:
    from gamedsl.diagnostics import Diagnostic
    from gamedsl.ir.game import Setting
    from gamedsl.training.loop import Observer
    from gamedsl.training.runfolder import RunFolder


_PLACE = "settings"
"""The name of the place of settings in code, which diagnostics show."""


@dataclass(frozen=True)
class Ended:
    """The end of training: the run's folder, the last step, and the code that goes on with it; None
    where all steps are done."""

    folder: Path
    step: int
    going_on: str | None


def start(
    game: str | Path | Game, settings: Mapping[str, Any], params: Mapping[str, Any] | None,
    out: str | Path | None, endpoints: Collection[str], progress: bool,
) -> Ended:  # fmt: skip
    """Trains a new run to its end. See `gamedsl.train`."""
    folder, listener = None if out is None else Path(out), _listener(progress)
    file, given = _file_of(game, params)

    def job() -> TrainingJob:
        found = new_job(
            file, given, _settings(settings), out=folder,
            addresses=_addresses(settings, endpoints), listener=listener,
        )  # fmt: skip
        if (
            isinstance(game, Game)
            and found.game.hash != game.of("training").worded(found.recipe.wording).hash
        ):
            raise UserError(
                f"{file} has changed since `{game.name}` was loaded", "load the game again"
            )
        return found

    return _run(job, folder, listener, progress)


def resume(
    folder: Path, steps: int | None, settings: Mapping[str, Any], endpoints: Collection[str],
    progress: bool,
) -> Ended:  # fmt: skip
    """Goes on with a run to its end. See `gamedsl.Run.resume`."""
    listener = _listener(progress)
    more = {**settings, **({} if steps is None else {"steps": steps})}
    return _run(
        lambda: resumed_job(
            folder, more=_settings(more), addresses=_addresses(settings, endpoints),
            listener=listener,
        ),
        None, listener, progress,
    )  # fmt: skip


def _file_of(
    game: str | Path | Game, params: Mapping[str, Any] | None
) -> tuple[str | Path, Mapping[str, Any]]:
    """Returns the file of a game, and the params to compile it with: a loaded game has its own."""
    if not isinstance(game, Game):
        return game, params or {}
    if params is not None:
        raise UserError(
            f"`{game.name}` is loaded, and its params are fixed",
            f"load it with them: gamedsl.load(…, params={dict(params)!r})",
        )
    return game.files[0], game.env().params


def _settings(given: Mapping[str, Any]) -> list[Setting]:
    return [override(key, value, _PLACE) for key, value in given.items()]


def _addresses(settings: Mapping[str, Any], endpoints: Collection[str]) -> Collection[str]:
    """The addresses that may be called: those given, and those that settings in code name."""
    return addresses_in(map(str, settings.values())) | {one.rstrip("/") for one in endpoints}


def _run(
    job: Callable[[], TrainingJob], out: Path | None, listener: Listener, progress: bool
) -> Ended:
    """Runs a job. Raises UserError for what went wrong, a budget that is spent too."""
    from gamedsl.storage.refusals import WriteRefused, reason, remedy

    spare_idle_cores()
    found, threads = job(), _threads()
    try:
        trained = run_job(found, _watch if progress else _watch_nothing, out=out, listener=listener)
    except WriteRefused as error:
        fact = f"{error.filename} cannot be written: {reason(error)}"
        raise UserError(fact, remedy(error)) from error
    finally:
        _use(threads)
    outcome, path = trained.outcome, trained.folder.path
    addresses = found.seating.budget.addresses
    if outcome.spent is not None:
        more = {f"budget.{outcome.spent.what}": 2 * outcome.spent.most}
        raise UserError(
            f"{outcome.spent.fact}; step {outcome.step} is saved",
            _going_on(path, addresses, settings=more),
        ) from outcome.spent
    return Ended(path, outcome.step, None if outcome.finished else _going_on(path, addresses))


def _going_on(folder: Path, addresses: Collection[str], **arguments: Any) -> str:
    """Returns the code that goes on with a run whose endpoints have these addresses."""
    if addresses:
        arguments["endpoints"] = sorted(addresses)
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"gamedsl.Run({str(folder)!r}).resume({given})"


def _threads() -> int:
    """Returns the number of threads that torch uses in this process."""
    from gamedsl.training.engine import set_threads

    return set_threads(None)


def _use(threads: int) -> None:
    """Gives torch back the threads that its user had chosen."""
    from gamedsl.training.engine import set_threads

    set_threads(threads)


def _listener(progress: bool) -> Listener:
    return Listener(_print_diagnostics, _notify) if progress else Listener(_warn_of_settings)


def _watch_nothing(job: TrainingJob, folder: RunFolder, stack: ExitStack) -> Sequence[Observer]:
    return ()


def _watch(job: TrainingJob, folder: RunFolder, stack: ExitStack) -> Sequence[Observer]:
    """Opens the screen: a live panel on a terminal, and one line a step in a notebook."""
    from rich.console import Console

    from gamedsl.training.screen import Screen

    console = Console(file=sys.stdout, highlight=False)
    if console.is_jupyter:  # there a line cannot be redrawn
        console = Console(
            file=sys.stdout, highlight=False, force_jupyter=False, force_terminal=False
        )
    return [stack.enter_context(Screen(job.recipe, job.game, job.recipe.steps, console=console))]


def _warn_of_settings(found: Sequence[Diagnostic]) -> None:
    """Warns of a setting in code that has no effect, or an odd one."""
    for one in found:
        if one.severity == "warning" and one.span.source.name == _PLACE:
            warnings.warn(f"{one.message}; {one.help}" if one.help else one.message, stacklevel=2)


def _print_diagnostics(found: Sequence[Diagnostic]) -> None:
    from gamedsl.diagnostics.render import render

    warnings = [one for one in found if one.severity != "error"]
    if warnings:
        print(render(warnings, "pretty", False), file=sys.stderr)


def _notify(line: str) -> None:
    print(line, file=sys.stderr)
