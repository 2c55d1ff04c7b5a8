"""The table of players, and the one way from a text such as `mcts:200` to a player.

A text names a row and, after a colon, its argument. Everywhere that a player can be named, in
recipes, on the command line and from Python, it is named like this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.players.base import DrawingPlayer, Player, PlayerError

if TYPE_CHECKING:
    from gamedsl.policies.budget import Budget
    from gamedsl.runtime import Game


@dataclass(frozen=True)
class Request:
    """A request for a player: the text after the name, the game, the seed, whether code may run,
    the settings of vLLM if that generates models' replies, and the budget that endpoints share."""

    argument: str
    game: Game
    seed: int
    allow_code: bool
    vllm: Mapping[str, Any] | None = None
    budget: Budget | None = None


@dataclass(frozen=True)
class Row:
    """One kind of player. `argument` is what stands after the colon; empty: nothing does, and in
    brackets it may be left out. `fits` says which games it can play."""

    name: str
    argument: str
    doc: str
    fits: str
    open: Callable[[Request], Player]

    @property
    def usage(self) -> str:
        """The name with its argument, as users write it."""
        if self.argument.startswith("["):
            return f"{self.name}[:{self.argument[1:]}"
        return f"{self.name}:{self.argument}" if self.argument else self.name


def open_player(
    spec: str, game: Game, *, seed: int, allow_code: bool = False,
    vllm: Mapping[str, Any] | None = None, budget: Budget | None = None,
) -> Player:  # fmt: skip
    """The player that a text names, ready to hold any seats of a game.

    `allow_code` lets `module:` run a Python file: for texts that come from who runs the program,
    never for those of a file that was handed on. With `vllm`, settings of vLLM, that writes what
    models reply; a `budget` is what endpoints may use up together. Raises `PlayerError`.
    """
    name, _, argument = (part.strip() for part in spec.partition(":"))
    row = PLAYERS.get(name)
    if row is None:
        near = did_you_mean(name, PLAYERS)
        said = f"did you mean `{near}`?" if near else f"there are {', '.join(PLAYERS)}"
        raise PlayerError(f"there is no player `{name}`", said)
    if bool(argument) != bool(row.argument) and not row.argument.startswith("["):
        said = "takes nothing after its name" if argument else f"needs {row.argument}"
        raise PlayerError(f"the player `{name}` {said}", f"write `{row.usage}`")
    if name in CLOSED and any(step.said is not None for step in game.ir.steps):
        raise PlayerError(
            f"the player `{name}` chooses among options, and something is said in {game.name}",
            "write `random`, which says something at random",
        )
    return row.open(Request(argument, game, seed, allow_code, vllm, budget))


CLOSED = ("minimax", "mcts", "equilibrium", "best_response", "policy")
"""Players that have nothing to say at an open decision."""


def _random(request: Request) -> Player:
    from gamedsl.players.random import RandomPlayer

    return RandomPlayer(seed=request.seed)


def _fixed(request: Request) -> Player:
    from gamedsl.players.fixed_actions import FixedPlayer
    from gamedsl.prompting.labels import option_names

    actions, known = _listed(request.argument), option_names(request.game.ir)
    for action in actions:
        if action not in known:
            near = did_you_mean(action, known)
            said = f"did you mean `{near}`?" if near else f"there are {', '.join(known[:20])}"
            raise PlayerError(f"`{request.game.name}` has no action `{action}`", said)
    return FixedPlayer(actions, seed=request.seed)


def _listed(text: str) -> list[str]:
    """The parts of a list; commas in brackets divide nothing, for actions such as `mark(0,2)`."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _tit_for_tat(request: Request) -> Player:
    from gamedsl.players.tit_for_tat import TitForTat

    if request.argument and not (_NUMBER.fullmatch(request.argument) and _share(request.argument)):
        raise PlayerError(
            f"`{request.argument}` is no share from 0 to 1", "write `tit_for_tat:0.1`"
        )
    return TitForTat(float(request.argument or 0), seed=request.seed)


def _share(text: str) -> bool:
    return 0 <= float(text) <= 1


def _policy(request: Request) -> Player:
    from gamedsl.players.policy_file import PolicyError, SavedPlayer

    try:
        return SavedPlayer.of(request.argument, request.game, seed=request.seed)
    except PolicyError as error:
        command = f"gamedsl solve {request.game.name} --save {request.argument}"
        raise PlayerError(str(error), f"make one: {command}") from error


def _module(request: Request) -> Player:
    from gamedsl.players.python_file import load_player

    if not request.allow_code:
        raise PlayerError(
            f"`module:{request.argument}` would run a Python file, which no file may ask for",
            "name it on the command line, or open it from Python with `allow_code=True`",
        )
    return load_player(request.argument, seed=request.seed)


def _minimax(request: Request) -> Player:
    from gamedsl.players.minimax import MinimaxPlayer

    depth = None
    if request.argument:
        name, _, number = request.argument.partition("=")
        if name != "depth":
            raise PlayerError(f"`minimax` has no setting `{name}`", "write `minimax:depth=6`")
        depth = _whole(number, "minimax:depth=6")
    return MinimaxPlayer(request.game, depth, seed=request.seed)


def _mcts(request: Request) -> Player:
    from gamedsl.players.mcts import MctsPlayer

    return MctsPlayer(request.game, _whole(request.argument, "mcts:200"), seed=request.seed)


def _whole(text: str, example: str) -> int:
    """A number from 1 up."""
    if not text.isdecimal() or int(text) < 1:
        raise PlayerError(f"`{text}` is no whole number from 1 up", f"write `{example}`")
    return int(text)


def _equilibrium(request: Request) -> Player:
    from gamedsl.players.equilibrium import EquilibriumPlayer

    return EquilibriumPlayer(request.game, seed=request.seed)


def _best_response(request: Request) -> Player:
    from gamedsl.players.best_response import BestResponsePlayer

    against = _drawing(request, request.argument)
    return BestResponsePlayer(request.game, against, seed=request.seed)


def _hanabi(request: Request) -> Player:
    from gamedsl.players.hanabi import HanabiPlayer

    if request.argument not in ("", "hints"):
        raise PlayerError(
            f"`hanabi_convention` has no setting `{request.argument}`",
            "write `hanabi_convention:hints`, or leave it out",
        )
    return HanabiPlayer(request.game, moves=not request.argument, seed=request.seed)


def _mix(request: Request) -> Player:
    from gamedsl.players.mix import MixPlayer

    parts = []
    for part in mixed(request.argument):
        share, times, spec = part.partition("*")
        if not times or not _NUMBER.fullmatch(share.strip()) or not float(share):
            raise PlayerError(
                f"`{part}` is not a share of a player", "write `mix:0.5*random+0.5*minimax`"
            )
        if spec.strip().startswith("mix:"):
            raise PlayerError("a mixture in a mixture", "write all its players with their shares")
        parts.append((float(share), _drawing(request, spec)))
    return MixPlayer(parts, seed=request.seed)


def mixed(argument: str) -> list[str]:
    """The parts of a mixture, each `SHARE*PLAYER`."""
    return re.split(r"\+(?=\s*[\d.]+\s*\*)", argument)


_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")


def _drawing(request: Request, spec: str) -> DrawingPlayer:
    """A player that is part of another, whose odds must be known."""
    player = open_player(spec, request.game, seed=request.seed, allow_code=request.allow_code)
    if not isinstance(player, DrawingPlayer):
        raise PlayerError(f"the odds of `{spec.strip()}` are not known", "take another player")
    return player


def _endpoint(request: Request) -> Player:
    from gamedsl.players.endpoint import EndpointPlayer
    from gamedsl.policies.endpoint import EndpointError

    try:
        return EndpointPlayer.of(request.argument, budget=request.budget)
    except EndpointError as error:
        raise PlayerError(error.fact, error.fix) from error


def _run(request: Request) -> Player:
    from gamedsl.players.runs import run_player

    def open_holder(spec: str) -> Player:
        if not request.game.ir.written:
            return _drawing(request, spec)
        return open_player(
            spec, request.game, seed=request.seed, allow_code=request.allow_code,
            vllm=request.vllm, budget=request.budget,
        )  # fmt: skip

    return run_player(
        request.argument, request.game, open_holder, seed=request.seed, vllm=request.vllm
    )


def _model(request: Request) -> Player:
    from gamedsl.players.model import untrained

    return untrained(request.argument, request.game, seed=request.seed, vllm=request.vllm)


OPEN = "games in which everybody sees everything"

ROWS: tuple[Row, ...] = (
    Row("random", "", "each legal action equally often", "all games", _random),
    Row("fixed", "ACTION", "the first of these actions, with commas between, that is legal",
        "all games", _fixed),
    Row("tit_for_tat", "[SLIP]",
        "as others did last, first the first option; a share SLIP of its choices is uniform",
        "all games; meant for those that repeat a stage", _tit_for_tat),
    Row("minimax", "[depth=N]",
        "all best moves equally often, of the whole game or as far as it looks ahead",
        f"{OPEN}, two seats, constant sum; without a depth up to 30,000 positions", _minimax),
    Row("mcts", "SIMULATIONS", "what Monte Carlo tree search tries most", OPEN, _mcts),
    Row("equilibrium", "", "the policy that `gamedsl solve` finds, kept from then on",
        "games that can be solved whole", _equilibrium),
    Row("best_response", "PLAYER", "the best there is while that player holds all other seats",
        "games whose tree is small", _best_response),
    Row("mix", "SHARE*PLAYER+…", "one of several players, drawn anew for each episode",
        "what its players fit", _mix),
    Row("hanabi_convention", "[hints]",
        "a convention by which hints ask for cards; sees its view alone; with `hints` it reads"
        " nothing into other moves",
        "`hanabi` and what extends it", _hanabi),
    Row("policy", "FILE", "a policy that `gamedsl solve --save` kept", "the game that was solved",
        _policy),
    Row("run", "FOLDER[@STEP]", "what a training run came to, at its end or at a checkpoint",
        "the game that was trained", _run),
    Row("model", "NAME", "a language model as it comes, untrained", "all games", _model),
    Row("endpoint", "URL#MODEL", "a model that an OpenAI-compatible server serves", "all games",
        _endpoint),
    Row("module", "FILE.py:NAME", "a class or function in a Python file; never named in a recipe",
        "all games", _module),
)  # fmt: skip
"""All kinds of players."""

PLAYERS: dict[str, Row] = {row.name: row for row in ROWS}
