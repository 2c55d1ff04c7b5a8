"""Files that a warm-up imitates: transcripts and chat data sets. What they are, whether they can be
learned from, and whether they are as they were when a run began.

Nothing here loads torch, so a file that cannot be imitated is reported before a model is loaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.recipe.table import Recipe, file_of
from gamedsl.runtime.transcripts import Transcript, TranscriptError, read_file
from gamedsl.storage.checksums import file_digest
from gamedsl.storage.reader import FileRefused
from gamedsl.training.chat_data import is_chats, read_chats
from gamedsl.training.errors import TrainError

if TYPE_CHECKING:
    from gamedsl.runtime import Game
    from gamedsl.runtime.replay import Fault


def experts_of(recipe: Recipe) -> dict[str, str]:
    """Returns the experts that a recipe names, by the key of the setting."""
    named = {"warm_up.expert": recipe.warm_up.expert}
    named |= {f"roles.{one.role}.expert": one.expert for one in recipe.roles}
    return {key: name for key, name in named.items() if name is not None and name != "none"}


def check_file(path: Path, recipe: Recipe, game: Game) -> None:
    """Raises TrainError for a file or a folder that is not there, or whose first record cannot be
    learned from in this game; the others are read when they are learned."""
    if not path.exists():
        raise TrainError(
            f"there is no file `{path}` to imitate",
            "a path is relative to the folder in which the command runs, and in a game's own"
            " `train:` to that of its file",
        )
    if not is_chats(path):
        from gamedsl.runtime.replay import head_faults

        first = next(read_transcripts(path), None)
        if first is None:
            raise TrainError(f"{path} holds no game", "give a file with transcripts or chats")
        for fault in head_faults(game, first):
            raise refused(path, fault)
        return
    if not recipe.in_words(game.ir):
        raise TrainError(
            f"{path} is a chat data set, and no reply of this game is written",
            "imitate transcripts or a player, or write `replies: free`",
        )
    if recipe.warm_up.reward is not None:
        raise TrainError(
            f"{path} is a chat data set, which does not say what was earned",
            "leave `warm_up.reward` out, or imitate transcripts",
        )
    if next(read_chats(path), None) is None:
        raise TrainError(f"{path} holds no chat", "give a data set that is not empty")


def refused(path: Path, fault: Fault) -> TrainError:
    """Returns the error of a transcript that is not of this very game, or does not agree with
    it."""
    fix = fault.help or "leave this game out"
    return TrainError(
        f"{path}, line {fault.line}: {fault}",
        f"{fix}; or imitate nobody: `--set warm_up.expert=none`",
    )


def unsaid(experts: str, *, free: bool) -> tuple[str, str]:
    """Returns the fact, and the fix, of experts that choose where a thought is to be learned: those
    of files, and where replies are written whole (`free`) all."""
    fix = (
        "imitate a player that writes, such as `model:NAME` or an endpoint, or transcripts of a "
        "run with their replies"
    )
    return (
        f"{experts} chooses, and does not say what it thought: here a thought comes before each "
        "choice",
        fix + "; or leave `replies: free` out: then choices alone are learned" * free,
    )


def read_transcripts(path: Path) -> Iterator[Transcript]:
    """Yields the games of a file. Raises TrainError."""
    try:
        yield from read_file(path)
    except (FileRefused, TranscriptError) as error:
        raise TrainError(
            f"{path} cannot be read as transcripts: {error}",
            "give a file of a run's transcripts/, or one that `transcripts.dump` wrote",
        ) from error


def fingerprints(recipe: Recipe) -> list[dict[str, str]]:
    """Returns the files of a recipe as `run.json` keeps them: where each is, and its SHA-256."""
    paths = dict.fromkeys(map(file_of, experts_of(recipe).values()))
    return [{"file": str(path.resolve()), "sha256": _digest(path)} for path in paths if path]


def require_unchanged(recipe: Recipe, kept: Sequence[Mapping[str, Any]]) -> None:
    """Raises TrainError where a file is not as it was when a run began, whose warm-up is to be done
    again. `kept` are its `fingerprints`."""
    for before, now in zip(kept, fingerprints(recipe), strict=False):
        if before["sha256"] != now["sha256"]:
            where = "has changed" if before["file"] == now["file"] else f"is not {before['file']}"
            raise TrainError(
                f"{now['file']} {where}, which the run imitates, and its warm-up is not done",
                f"put {before['file']} back as it was, and go on from the folder in which the run"
                " began; or start a new run",
            )


def _digest(path: Path) -> str:
    """Returns the SHA-256 of a file, or of the names and contents of a folder's files; empty where
    there is none."""
    if not path.is_dir():
        return file_digest(path.resolve()) or ""
    whole = hashlib.sha256()
    for file in sorted(one for one in path.rglob("*") if one.is_file()):
        whole.update(f"{file.relative_to(path)} {file_digest(file.resolve())}\n".encode())
    return whole.hexdigest()
