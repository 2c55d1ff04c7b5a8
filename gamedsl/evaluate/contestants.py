"""From what a person names on the command line to the players that are evaluated.

A contestant is a player (`random`, `mcts:200`, `endpoint:URL#MODEL`, …), the folder of a run, a
policy file, or a model, under a name of its own where one is given (`mine=runs/kuhn`). Its identity
is a hash of what it is, files included: a run that is trained further is another contestant.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.evaluate.errors import EvalError
from gamedsl.players.base import DrawingPlayer, Player, PlayerError
from gamedsl.players.endpoint import EndpointPlayer
from gamedsl.players.table import PLAYERS, open_player
from gamedsl.policies.endpoint import EndpointError, EndpointSettings
from gamedsl.policies.errors import ModelError

if TYPE_CHECKING:
    from gamedsl.runtime import Game

TRAINED = ("run", "model")
"""Heads of what is opened with its adapters, by `gamedsl.evaluate.trained`."""

_NAMED = re.compile(r"([A-Za-z][\w.-]*)=(.+)")
_MODEL = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_SMALL = 1 << 20
"""Bytes of a file up to which all of it is hashed; of a larger one its size counts, unless it is an
adapter."""


@dataclass(frozen=True)
class Contestant:
    """`name` is shown, `spec` opens it, and `identity` says whether it is the same as another."""

    name: str
    spec: str
    identity: str


def contestant(text: str) -> Contestant:
    """Who a text names. Raises EvalError for what is neither a player nor a path nor a model."""
    named = _NAMED.fullmatch(text)
    name, what = (named[1], named[2]) if named and not Path(text).exists() else ("", text)
    spec = spec_of(what)
    return Contestant(name or what.rstrip("/"), spec, identity_of(spec))


def contestants(texts: Sequence[str]) -> list[Contestant]:
    """All of them. Raises EvalError, also where two have one name."""
    found = [contestant(text) for text in texts]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise EvalError(
                f"`{name}` is named twice", f"name one of them otherwise, such as `again={name}`"
            )
    return found


def spec_of(text: str) -> str:
    """A text as `open_player` takes it."""
    if text.partition(":")[0] in (*PLAYERS, *TRAINED):
        return text
    path = Path(text).expanduser()
    if (path / "run.json").is_file():
        return f"run:{path}"
    if path.is_file() and path.suffix == ".json":
        return f"policy:{path}"
    if path.is_dir() and not (path / "config.json").is_file():
        raise EvalError(
            f"`{text}` is neither the folder of a run nor that of a model",
            "a run has a run.json, a model a config.json",
        )
    from gamedsl.policies.names import EMBEDDED

    if text in EMBEDDED or path.is_dir() or _MODEL.fullmatch(text):
        return f"model:{text}"
    head = text.partition(":")[0]
    near = did_you_mean(head, (*PLAYERS, *EMBEDDED))
    raise EvalError(
        f"there is no contestant `{text}`",
        f"did you mean `{near}{text[len(head) :]}`?" if near else
        f"players are {', '.join(PLAYERS)}; or give the folder of a run, a policy file or a model",
    )  # fmt: skip


def identity_of(spec: str) -> str:
    """A hash of a text and of the files that it names, in hex."""
    content = hashlib.sha256(spec.partition(":")[0].encode())
    argument = spec.partition(":")[2]
    path = _path_in(argument)
    if path is None:
        content.update(argument.encode())
    else:
        for name, part in _parts(path):
            content.update(f"\n{name}\n".encode() + part)
    return content.hexdigest()[:16]


def _path_in(argument: str) -> Path | None:
    """The file or folder that an argument names, as it is or before a colon."""
    for text in (argument, argument.rpartition(":")[0]):
        path = Path(text).expanduser()
        if text and path.exists():
            return path
    return None


def _parts(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_file():
        yield "", path.read_bytes()
        return
    if (path / "run.json").is_file():
        files = [path / "recipe.yaml", *sorted((path / "checkpoints").glob("*.pt"))[-1:]]
        if len(files) == 1:
            files += (path / "adapters").rglob("*")
    else:
        files = list(path.rglob("*"))
    for file in sorted(file for file in files if file.is_file()):
        whole = file.stat().st_size <= _SMALL or file.suffix == ".pt" or "adapters" in file.parts
        yield (
            str(file.relative_to(path)),
            file.read_bytes() if whole else str(file.stat().st_size).encode(),
        )


@dataclass(frozen=True)
class Opener:
    """Opens the players of contestants."""

    game: Game
    seed: int
    endpoints: EndpointSettings
    allow_code: bool = True

    def open(self, one: Contestant) -> Player:
        """Raises EvalError for what cannot be had."""
        kind, _, argument = one.spec.partition(":")
        try:
            if kind == "endpoint":
                return EndpointPlayer.of(argument, self.endpoints)
            if kind in TRAINED:
                from gamedsl.evaluate.trained import open_trained

                return open_trained(one.spec, self.game, seed=self.seed)
            return open_player(one.spec, self.game, seed=self.seed, allow_code=self.allow_code)
        except PlayerError as error:
            raise EvalError(f"{one.name}: {error.message}", error.help) from error
        except (EndpointError, ModelError) as error:
            raise EvalError(f"{one.name}: {error.fact}", error.fix) from error


def lasting(player: Player) -> bool:
    """Whether one player may serve all matches, since it keeps nothing that a match changes."""
    return isinstance(player, DrawingPlayer | EndpointPlayer)
