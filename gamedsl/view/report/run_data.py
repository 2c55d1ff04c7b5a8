"""The data of a finished or interrupted run, read from its folder.

The folder's copy of the game is compiled again for the tree, the payoffs and the prompts. If that
fails, or gives another hash, a note says so and these are left out.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.recipe.resolve import flat_settings
from gamedsl.runs.saved import INFO, SavedRun, number_in, open_saved, wording_of

if TYPE_CHECKING:
    from gamedsl.runtime import Game
    from gamedsl.solve import Tree

Record = dict[str, Any]
MANY_PROMPTS = 12
MANY_TRANSCRIPTS = 6


@dataclass(frozen=True)
class Prompt:
    """One decision as it was shown to the model."""

    key: str
    messages: tuple[tuple[str, str], ...]
    replies: tuple[tuple[str, str], ...]
    """(canonical name, label), in the order of the legal actions."""


@dataclass(frozen=True)
class RunData:
    """One run, as plain data. `notes` say what is left out, and why."""

    folder: Path
    info: Record
    recipe: Record
    labels: Record
    start: Record | None
    steps: tuple[Record, ...]
    end: Record | None
    transcripts: tuple[Record, ...]
    when: datetime
    game: Game | None
    tree: Tree | None
    prompts: tuple[Prompt, ...]
    notes: tuple[str, ...]

    @property
    def policy_records(self) -> tuple[Record, ...]:
        """The records that hold a policy: the start's, then every step's."""
        return ((self.start,) if self.start else ()) + self.steps

    @property
    def in_words(self) -> bool:
        """Whether replies were written, some of which may have been refused."""
        return any("valid" in record for record in self.steps)

    @property
    def total(self) -> int | None:
        """The steps that the recipe asks for."""
        return self.recipe.get("steps")

    @property
    def lasting_labels(self) -> dict[str, str]:
        """Canonical name -> label, if one book served the whole run."""
        lasting = self.game is not None and self.game.ir.labels_last
        return dict(self.labels.get("labels") or {}) if lasting else {}

    @property
    def changed_labels(self) -> dict[str, str]:
        """Canonical name -> label, for the names that were shown under another label."""
        per = self.game.ir.labels.per if self.game else "run"
        pairs = self.labels.get("labels") or {} if per != "episode" else {}
        return {name: label for name, label in pairs.items() if name != label}


def read_run(folder: Path, *, with_game: bool = True) -> RunData:
    """Reads a run folder, and compiles its game if `with_game`. Raises FileNotFoundError if
    it has no `run.json`, and RunDamaged for a folder that is not as the run wrote it."""
    if not (folder / INFO).exists() and not (folder / INFO).is_symlink():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder / INFO))
    run = open_saved(folder)
    run.require(lambda name: not name.startswith(("adapters/", "pool/")))
    info, labels, records = run.info(("game",)), run.label_book(), run.records()
    notes = list(_forced(info))
    game = _game(run, info, notes) if with_game else None
    tree = _tree(game, notes)
    return RunData(
        folder=folder,
        info=info,
        recipe=run.settings(),
        labels=labels,
        start=next((r for r in records if r.get("event") == "start"), None),
        steps=tuple(r for r in records if r.get("event") == "step"),
        end=next((r for r in reversed(records) if r.get("event") == "end"), None),
        transcripts=_transcripts(run),
        when=_when(folder, info),
        game=game,
        tree=tree,
        prompts=_prompts(game, info, labels, notes),
        notes=tuple(notes),
    )


def _when(folder: Path, info: Record) -> datetime:
    """The time when a run was started."""
    started = info.get("started")
    if started:
        with suppress(ValueError):
            return datetime.fromisoformat(started)
    return datetime.fromtimestamp((folder / INFO).stat().st_mtime, UTC)


def _forced(info: Record) -> Iterator[str]:
    """Yields a sentence for each time that `--force` was used."""
    for entry in info.get("forced", ()):
        step = entry.get("step")
        place = "" if step is None else f" at step {step}"
        files = ", ".join(entry.get("files", ()))
        yield f"The run went on{place} by --force, although these files had changed: {files}."


def _transcripts(run: SavedRun) -> tuple[Record, ...]:
    """Some plays of the last step that left transcripts: the most played ones, and of games in
    words, in which no two are alike, some with refused replies. Only these are parsed."""
    files = run.transcripts()
    if not files:
        return ()
    lines = run.transcript_lines(files[-1])
    refused = [line for line in lines if line.refused][: MANY_TRANSCRIPTS // 2]
    others = [line for line in lines if line not in refused]
    often = sorted(others, key=lambda line: -line.games)[: MANY_TRANSCRIPTS - len(refused)]
    step, total = number_in(files[-1]), max(sum(line.games for line in lines), 1)
    records = run.transcript(files[-1], sorted([*refused, *often]))
    return tuple(
        {**r, "after_step": step, "share": r.get("games", 1) / total}
        for r in sorted(records, key=lambda record: -record.get("games", 1))
    )


def _game(run: SavedRun, info: Record, notes: list[str]) -> Game | None:
    from gamedsl.compiler import compile_game
    from gamedsl.diagnostics import CompileError
    from gamedsl.runtime import Game

    path = run.game_file(info)
    if path is None:
        notes.append("The run folder has no copy of the game.")
        return None
    try:
        ir, document = compile_game(path, info.get("params") or {})
    except CompileError:
        notes.append("The copy of the game in the run folder no longer compiles.")
        return None
    game = Game(ir, document.files)
    if game.hash != info.get("hash"):
        notes.append(
            "The copy of the game compiles to another hash than the one that was trained, so "
            "tables, equilibria and prompts are left out."
        )
        return None
    return game


def _tree(game: Game | None, notes: list[str]) -> Tree | None:
    if game is None:
        return None
    from gamedsl.solve import ImperfectRecall, TooLarge, tabulate

    if game.ir.open or game.ir.referees:
        return None
    try:
        return tabulate(game.env(), limit=50_000)
    except (TooLarge, ImperfectRecall):
        notes.append("The game is too large for its tree to be written out.")
        return None


def _prompts(
    game: Game | None, info: Record, labels: Record, notes: list[str]
) -> tuple[Prompt, ...]:
    """The prompts as sent: rendered again, with the label book that the run wrote down."""
    if game is None or not labels:
        return ()
    from gamedsl.prompting.labels import LabelBook
    from gamedsl.training.information_sets import decisions_of

    env = game.worded(wording_of(info)).env(run_seed=info.get("seed") or 0)
    decisions = decisions_of(env, 0)
    if decisions is None:
        notes.append("The game has too many decisions for all its prompts to be shown.")
        return ()
    book = LabelBook(labels["kind"], tuple(labels["labels"].items()), labels.get("order", ""))
    options = {name for decision in decisions for name in decision.legal}
    unlabelled = sorted(name for name in options if not book.has(name))
    if unlabelled:
        notes.append(f"No prompts are shown: labels.json has no label of {unlabelled[0]}.")
        return ()
    if len(decisions) > MANY_PROMPTS:
        notes.append(f"{MANY_PROMPTS} of {len(decisions)} prompts are shown.")
    return tuple(
        Prompt(d.information_set, d.messages, tuple(zip(d.legal, d.labels, strict=True)))
        for d in (decision.under(book) for decision in decisions[:MANY_PROMPTS])
    )


def course(records: Sequence[Record], key: str, name: str) -> list[float | None]:
    """One number per record: `record[key][name]`."""
    return [(record.get(key) or {}).get(name) for record in records]


def settings_as_text(recipe: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns nested settings by dotted names, with their values as text."""
    return [
        (name, f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value))
        for name, value in flat_settings(recipe)
    ]
