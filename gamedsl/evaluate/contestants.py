"""From what a person names on the command line to the players that are evaluated.

A contestant is a player (`random`, `mcts:200`, `endpoint:URL#MODEL`, …), the folder of a run, a
policy file, or a model, under a name of its own where one is given (`mine=runs/kuhn`). Its identity
is a hash of what it is, files included: a run that is trained further is another contestant.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.evaluate.errors import EvalError
from gamedsl.players.base import DrawingPlayer, Player, PlayerError, Speaker
from gamedsl.players.endpoint import EndpointPlayer, check_address
from gamedsl.players.mix import mixed
from gamedsl.players.model import untrained
from gamedsl.players.table import PLAYERS, open_player, player_spec
from gamedsl.policies.budget import CallTimes, Usage
from gamedsl.policies.endpoint import (
    Budget,
    Endpoint,
    EndpointError,
    EndpointSettings,
    address_of,
)
from gamedsl.runs.errors import RunDamaged
from gamedsl.runs.saved import RECIPE, SavedRun, number_in, settings_in
from gamedsl.storage.reader import expanded

if TYPE_CHECKING:
    from gamedsl.runtime import Game

_NAMED = re.compile(r"([A-Za-z][\w.-]*)=(.+)")
_MODEL = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_SMALL = 1 << 20
"""Bytes of a model's file up to which all of it is hashed; of a larger one the size counts."""


@dataclass(frozen=True)
class Contestant:
    """`name` is shown, `spec` opens it, and `identity` says whether it is the same as another. One
    `from_file` is named in a file, and may do what `open_player` lets such players do; who named it
    makes it no other."""

    name: str
    spec: str
    identity: str
    from_file: bool = field(default=False, compare=False)


def contestant(
    text: str, seed: int = 0, endpoints: EndpointSettings | None = None, *, from_file: bool = False
) -> Contestant:
    """Returns the contestant that a text names; `seed` and `endpoints` as players are opened
    with them. Raises EvalError for texts that are neither a player nor a path nor a model, and
    for files that cannot be read."""
    named = _NAMED.fullmatch(text)
    name, what = (named[1], named[2]) if named and not Path(text).exists() else ("", text)
    spec = spec_of(what)
    try:
        identity = identity_of(spec, seed, endpoints)
    except OSError as error:
        raise EvalError(
            f"{error.filename}, of `{text}`, cannot be read: {error.strerror}", "name another"
        ) from error
    except RunDamaged as error:
        raise EvalError(f"`{text}`: {error.fact}", error.fix) from error
    return Contestant(name or what.rstrip("/"), spec, identity, from_file)


def contestants(
    texts: Sequence[str], seed: int = 0, endpoints: EndpointSettings | None = None
) -> list[Contestant]:
    """All of them. Raises EvalError, also where two have one name."""
    found = [contestant(text, seed, endpoints) for text in texts]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise EvalError(
                f"`{name}` is named twice", f"name one of them otherwise, such as `again={name}`"
            )
    return found


def spec_of(text: str) -> str:
    """A text as `open_player` takes it."""
    head, _, argument = text.partition(":")
    if head == "endpoint":
        try:
            address_of(argument.partition("#")[0].strip())
        except EndpointError as error:  # before the text is shown anywhere
            raise EvalError(error.fact, error.fix) from None
    if head in PLAYERS:
        return text
    path = expanded(text)
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
    near = did_you_mean(head, (*PLAYERS, *EMBEDDED))
    raise EvalError(
        f"there is no contestant `{text}`",
        f"did you mean `{near}{text[len(head) :]}`?" if near else
        f"players are {', '.join(PLAYERS)}; or give the folder of a run, a policy file or a model",
    )  # fmt: skip


def identity_of(spec: str, seed: int = 0, endpoints: EndpointSettings | None = None) -> str:
    """A hash, in hex, of all that makes a player what it is: its text, the files that it names, the
    players that it is made of, the seed where its policy depends on it, and how an endpoint is
    asked. Raises OSError for a file that cannot be read."""
    head, _, argument = (part.strip() for part in spec.partition(":"))
    kind = player_spec(head) if head in PLAYERS else None
    content = hashlib.sha256(head.encode())
    if head == "mix":
        for part in mixed(argument):
            share, _, held = part.partition("*")
            content.update(f"\n{share.strip()}*{identity_of(held, seed, endpoints)}".encode())
    elif head == "best_response":
        content.update(identity_of(argument, seed, endpoints).encode())
    else:
        parts = dict(_parts(argument)) if argument and kind is not None and kind.in_files else {}
        for name, file in parts.items():
            content.update(f"\n{name}\n".encode() + file)
        if not parts:
            content.update(argument.encode())
        for held in _recipe_players(parts.get("recipe.yaml", b"")):
            content.update(f"\n{identity_of(held, seed, endpoints)}".encode())
    if kind is not None and kind.seeded:
        content.update(f"\nseed {seed}".encode())
    if head in ("endpoint", "model") and endpoints is not None:
        room = endpoints.max_tokens if head == "endpoint" else None
        asked: list[object] = [endpoints.temperature, room]
        asked += [] if endpoints.constrain is None else [endpoints.constrain]
        if head == "endpoint" and endpoints.enable_thinking is not None:
            asked.append(f"thinking {endpoints.enable_thinking}")
        content.update(f"\n{(*asked,)}".encode() if asked != [None, None] else b"")
    return content.hexdigest()[:16]


def _recipe_players(recipe: bytes) -> Iterator[str]:
    """The players that held roles in a run, from its `recipe.yaml`; empty if that is no recipe,
    which is reported when the run is opened."""
    try:
        roles = (settings_in(recipe) or {}).get("roles") or {}
        players = [part.get("player") for part in roles.values()]
    except (ValueError, AttributeError):
        return
    yield from (player for player in players if isinstance(player, str))


def _parts(argument: str) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the files that make a player what it is, if it is in files: the
    argument as it is, or before `:NAME` or `@STEP`."""
    found = re.fullmatch(r"(.+?)(?:@(\d+)|:(\w+))?", argument)
    whole = expanded(argument)
    path = whole if whole.exists() or found is None else expanded(found[1])
    if path.is_file():
        yield argument.removeprefix(str(path)), path.read_bytes()
    elif (path / "run.json").is_file():
        step = int(found[2]) if found is not None and found[2] and path != whole else None
        run = SavedRun(path)
        folders = run.adapters().values()
        files = sorted(file for one in folders for file in one.rglob("*") if file.is_file())
        if step is not None or not files:
            files = [file for file in run.steps() if step in (None, number_in(file))][-1:]
        yield from run.files(path / RECIPE, *files)
    elif path.is_dir():
        for file in sorted(file for file in path.rglob("*") if file.is_file()):
            size = file.stat().st_size
            content = file.read_bytes() if size <= _SMALL else str(size).encode()
            yield str(file.relative_to(path)), content


class Opener:
    """Opens the players of contestants."""

    def __init__(
        self, game: Game, seed: int, endpoints: EndpointSettings, allow_code: bool = True,
        vllm: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """`vllm` are settings of vLLM, if that writes the models' replies."""
        self.game, self.seed, self.endpoints, self._vllm = game, seed, endpoints, vllm
        self._allow_code = allow_code
        self._budget = Budget(
            endpoints.calls, endpoints.tokens, of="endpoints that runs were trained with",
            more="allow more with --{}, or play fewer games with --games",
            addresses=endpoints.addresses,
            times=CallTimes(endpoints.timeout, endpoints.call_timeout),
        )  # fmt: skip
        self._open: dict[str, Player] = {}
        """Players that may serve many seats, by their specs: one model, one budget of calls."""
        self._shared: Mapping[str, Usage] = {}

    def open(self, one: Contestant) -> Player:
        """Raises EvalError for what cannot be had."""
        if one.spec in self._open:
            return self._open[one.spec]
        try:
            player = self._opened(one.spec, one.from_file)
        except PlayerError as error:
            raise EvalError(f"{one.name}: {error.message}", error.help) from error
        except EndpointError as error:
            raise EvalError(f"{one.name}: {error.fact}", error.fix) from error
        if isinstance(player, Speaker):
            self._open[one.spec] = player
        self.share(self._shared)
        return player

    def _opened(self, spec: str, from_file: bool) -> Player:
        kind, _, argument = spec.partition(":")
        if kind == "endpoint":
            if from_file:
                check_address(argument, self._budget)
            return EndpointPlayer.of(argument, self.endpoints, seed=self.seed)
        if kind == "model":
            temperature, constrain = self.endpoints.temperature, self.endpoints.constrain
            return untrained(
                argument, self.game, seed=self.seed, constrain=constrain is not None,
                temperature=1.0 if temperature is None else temperature, vllm=self._vllm,
            )  # fmt: skip
        return open_player(
            spec, self.game, seed=self.seed, allow_code=self._allow_code, vllm=self._vllm,
            budget=self._budget, from_file=from_file,
        )  # fmt: skip

    @property
    def budgets(self) -> dict[str, Budget]:
        """The budgets of endpoints that were opened: of contestants, by spec, and under "" that of
        all players that runs were trained with."""
        common = {"": self._budget} if self._budget.in_use else {}
        return common | {spec: endpoint.budget for spec, endpoint in self.called.items()}

    def share(self, usages: Mapping[str, Usage]) -> None:
        """Has budgets, also those of players that are opened later, be one with others of their
        names, which have the same usage."""
        self._shared = usages
        for name, budget in self.budgets.items():
            budget.usage = usages.get(name, budget.usage)

    @property
    def called(self) -> dict[str, Endpoint]:
        """The endpoints that were opened, by spec."""
        return {
            spec: player.endpoint
            for spec, player in self._open.items() if isinstance(player, EndpointPlayer)
        }  # fmt: skip


def lasting(player: Player) -> bool:
    """Whether one player may serve all matches, since it keeps nothing that a match changes."""
    return isinstance(player, DrawingPlayer | Speaker)
