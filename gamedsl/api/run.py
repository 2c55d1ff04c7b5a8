"""`Run`: the folder of a training run, to be read, questioned, played and gone on with."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.api import notebook
from gamedsl.errors import UserError
from gamedsl.players.base import DrawingPlayer, Player, PlayerError
from gamedsl.runs.saved import METRICS, open_saved, wording_of
from gamedsl.storage.reader import read_text

if TYPE_CHECKING:
    from gamedsl.api.game import Game
    from gamedsl.api.plays import Plays
    from gamedsl.api.training import Ended

_LARGEST_PAGE = 1 << 28


class TrainingInterrupted(KeyboardInterrupt):
    """Training was stopped by Ctrl-C or SIGTERM, after a step, with everything saved. `run` goes on
    with `run.resume()`."""

    def __init__(self, run: Run, going_on: str) -> None:
        """`going_on` is the code that does."""
        super().__init__(
            f"stopped after step {run.step} of {run.total}; everything is saved\n"
            f"  fix: go on with {going_on}"
        )
        self.run = run


@dataclass(frozen=True)
class RunReport:
    """The page of a run, `report.html`; notebooks show it, and `str` is its path."""

    path: Path

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def _repr_html_(self) -> str:
        return notebook.frame(read_text(self.path, limit=_LARGEST_PAGE))


class Run:
    """A training run in its folder, as `gamedsl.train` returns it; `Run(folder)` opens one that is
    there.

    Files are read when they are asked for, so the properties of a run that goes on are those of
    its last step. Whatever is wrong with a file raises `gamedsl.UserError`, with the fix.
    """

    def __init__(self, folder: str | Path) -> None:
        """Raises `gamedsl.UserError` for what is not the folder of a run."""
        self.path = Path(folder)
        self._saved = open_saved(self.path)
        self._players: dict[int | None, Player] = {}

    def __repr__(self) -> str:
        info = self._saved.info()
        return (
            f"<Run {info.get('game')}: {info.get('model')}, seed {info.get('seed')}; "
            f"step {self.step} of {self.total}; {self.path}>"
        )

    def _repr_html_(self) -> str:
        info = self._saved.info()
        rows = [
            ("Model", info.get("model")), ("Seed", info.get("seed")),
            ("Steps", f"{self.step} of {self.total}"), ("Folder", self.path),
        ]  # fmt: skip
        head = notebook.table(rows, f"Run of {info.get('game')}")
        return head + notebook.paragraph(self.summary)

    @property
    def records(self) -> list[dict[str, Any]]:
        """All records of the run, in order: the start, each step, and the end where it was
        reached. [The reference](../reference.md#records-of-a-run) names their fields."""
        return self._saved.records()

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The record of each step, in order: plain data, which
        `pandas.json_normalize(run.metrics)` makes a DataFrame of."""
        return [record for record in self.records if record["event"] == "step"]

    @property
    def step(self) -> int:
        """The number of steps that are done."""
        steps = self.metrics
        return steps[-1]["step"] if steps else 0

    @property
    def total(self) -> int:
        """The number of steps that the recipe asks for."""
        return int(self.settings["steps"])

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return any(record["event"] == "end" for record in self.records)

    @property
    def settings(self) -> dict[str, Any]:
        """Every training setting of the run: nested maps, as a `train:` section has them."""
        return self._saved.settings(("steps",))

    @property
    def summary(self) -> str:
        """The summary of the run: what was learned, in sentences."""
        from gamedsl.view.report.page import summary_of
        from gamedsl.view.report.run_data import read_run

        return " ".join(summary_of(read_run(self.path, with_game=not self.finished)))

    @property
    def report(self) -> RunReport:
        """The page of the run, written anew where steps were added since."""
        from gamedsl.view.report.page import write_report

        page, metrics = self.path / "report.html", self.path / METRICS
        if not page.exists() or page.stat().st_mtime < metrics.stat().st_mtime:
            write_report(self.path)
        return RunReport(page)

    @cached_property
    def game(self) -> Game:
        """The game that is trained, from the run's copy of its files, in the run's wording.

        Raises `gamedsl.UserError` where the copy is lost, or is of another game.
        """
        from gamedsl.api.game import load_game

        info = self._saved.info(("params", "hash"))
        copy = self._saved.game_file(info)
        if copy is None:
            raise UserError(
                f"{self.path / 'game'} has no copy of the game", "put back a copy of it"
            )
        game = load_game(copy, info["params"], ())
        if game.hash != info["hash"]:
            raise UserError(
                f"{copy} is not the game that was trained: it has changed",
                "put back a copy of it",
            )
        return game.worded(wording_of(info))

    @property
    def policy(self) -> Player:
        """The policy that the run came to, as a player that holds any seat: see
        `gamedsl.players`. It is that of the last checkpoint where the run goes on."""
        return self.policy_at(None)

    def policy_at(self, step: int | None) -> Player:
        """Returns the policy at a step that has a checkpoint; None: the last.

        Raises `gamedsl.UserError` where the run has none, or the model cannot be loaded.
        """
        from gamedsl.players.table import open_player

        if step not in self._players:
            at = "" if step is None else f"@{step}"
            with _as_user_error():
                self._players[step] = open_player(f"run:{self.path}{at}", self.game, seed=0)
        return self._players[step]

    def odds(self, at: str = "", *, step: int | None = None) -> dict[str, dict[str, float]]:
        """Return the probability of each action after a history, by seat that is asked there.

        `at` names the choices and draws before, such as "card=Q, open=bet", as in `game.prompts`;
        `step` is one that has a checkpoint, by default the last. Actions have their canonical
        names. Raises ValueError for a history that does not happen, and `gamedsl.UserError` where
        replies are written, since their odds are not known.
        """
        from gamedsl.players.named_history import follow

        player = self.policy_at(step)
        if not isinstance(player, DrawingPlayer):
            raise UserError(
                f"replies are written in `{self.game.name}`, and their odds are not known",
                "look at what is written: run.play().text()",
            )
        episode = follow(self.game.env().reset(0, chance="asked"), at).episode
        asked = [(decision, episode) for decision in episode.decisions]
        with _as_user_error():
            rows = player.all_odds(asked)
        return {
            decision.seat: dict(zip(decision.legal, row, strict=True))
            for (decision, _), row in zip(asked, rows, strict=True)
        }

    def play(
        self, players: Mapping[str, str | Player] | None = None, *, episodes: int = 1,
        seed: int = 0, step: int | None = None,
    ) -> Plays:  # fmt: skip
        """Play episodes of the trained policy, against itself or against others.

        `players` hold seats in its place, by the name of a seat or a role: a text such as
        "random" or "mcts:200", or a player. Two calls with the same seed see the same chance.
        `step` is one that has a checkpoint, by default the last. Raises `gamedsl.UserError` for a
        player that cannot be had, and for fewer episodes than one.
        """
        from gamedsl.api.plays import play_episodes
        from gamedsl.players.table import open_player

        if episodes < 1:
            raise UserError(f"{episodes} episodes cannot be played", "ask for 1 or more")
        ir, held = self.game.ir, dict[str, Player]()
        roles = {**ir.role_of, **{seat: seat for seat in ir.everyone if seat not in ir.role_of}}
        for name, player in (players or {}).items():
            seats = [seat for seat in ir.everyone if name in (seat, roles[seat])]
            if not seats:
                raise UserError(
                    f"`{ir.name}` has no seat and no role `{name}`",
                    f"name one of {', '.join(dict.fromkeys([*ir.everyone, *roles.values()]))}",
                )
            if isinstance(player, str):
                with _as_user_error():
                    player = open_player(player, self.game, seed=seed, allow_code=True)
            held |= dict.fromkeys(seats, player)
        if any(seat not in held for seat in ir.everyone):
            own = self.policy_at(step)
            held = {seat: held.get(seat, own) for seat in ir.everyone}
        with _as_user_error():
            return play_episodes(self.game, held, episodes, seed)

    def resume(
        self, steps: int | None = None, *, settings: Mapping[str, Any] | None = None,
        endpoints: Collection[str] = (), progress: bool = False,
    ) -> Run:  # fmt: skip
        """Go on with training to its last step, or to `steps` in all. Returns the same run.

        A run is resumed as it was asked for: of `settings` only those of `budget` may be others.
        The numbers are those of a run that was never stopped. Raises as `gamedsl.train`.
        """
        from gamedsl.api.training import resume

        self._players.clear()
        ended = resume(self.path, steps, settings or {}, endpoints, progress)
        self._saved = open_saved(self.path)
        return finished_run(ended, self)


def finished_run(ended: Ended, run: Run | None = None) -> Run:
    """Returns the run whose training ended. Raises TrainingInterrupted where steps are left."""
    run = run or Run(ended.folder)
    if ended.going_on is not None:
        raise TrainingInterrupted(run, ended.going_on)
    return run


@contextmanager
def _as_user_error() -> Iterator[None]:
    """Has what is wrong with a player be a `UserError`."""
    try:
        yield
    except PlayerError as error:
        raise UserError(error.message, error.help) from error
