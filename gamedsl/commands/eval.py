"""`gamedsl eval`: matches between players with intervals, exploitability, leaderboards.

Exit codes: 0 evaluated; 1 problems in the game, or an endpoint that stopped before the end; 2 usage
or something missing; 130 interrupted, with what was finished printed and stored. Results that a
leaderboard has received stay there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any

from gamedsl.cli import (
    CLEAN,
    INTERRUPTED,
    PROBLEMS,
    USAGE,
    add_params,
    game_options,
    read_params,
    use_colour,
)
from gamedsl.commands._arguments import count_to, from_zero, positive, seed, whole_to
from gamedsl.commands._cluster import add_cluster, starter
from gamedsl.commands._progress import Tell as Line
from gamedsl.commands._progress import progress
from gamedsl.extras import install_command

if TYPE_CHECKING:
    from gamedsl.evaluate.contestants import Contestant
    from gamedsl.evaluate.evaluation import After
    from gamedsl.evaluate.games import Contest, Games
    from gamedsl.evaluate.plan import Plan
    from gamedsl.evaluate.results import Evaluation, Options
    from gamedsl.evaluate.standings import Standings
    from gamedsl.policies.cluster import StartWorkers
    from gamedsl.policies.endpoint import EndpointSettings
    from gamedsl.runtime import Game
    from gamedsl.tables.model import Table

_NEEDED = ("numpy", "scipy", "rich")
GAMES, FEW_GAMES = 1000, 100
"""Games a pairing where nothing else is said; few in games in words."""

HELP = """\
Evaluate players, runs and models in a game. One contestant plays itself and a random player;
several play each other, in all seats. A contestant is a player such as `random`, `fixed:stag` or
`endpoint:URL#MODEL`, the folder of a run, a policy file, or a model; `NAME=…` gives it a name.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = " ".join(HELP.split())
    parser.add_argument("contestants", nargs="*", metavar="CONTESTANT", help="who is evaluated")
    game_options(parser).add_argument(
        "--game", metavar="FILE", help="a path or a shipped name (default: the game of the run)"
    )
    add_params(parser)
    _players(parser)
    _measures(parser)
    add = parser.add_argument_group("output").add_argument
    add(
        "--decisions",
        action="store_true",
        help="show what contestants do at every decision of a small game, and what equilibria do",
    )
    add("--thoughts", type=whole_to(100_000), default=32, metavar="N",
        help="with --decisions: thoughts drawn at each decision, of models that think before they "
        "choose (default: 32)")  # fmt: skip
    add("--format", choices=("text", "json"), default="text",
        help="for people, or for programs (default: text)")  # fmt: skip
    add("--out", type=Path, metavar="FILE", help="write the evaluation there, as JSON")
    add("--transcripts", type=Path, metavar="DIR",
        help="write the games that are played there, for `gamedsl replay`")  # fmt: skip
    _boards(parser)
    _engines(parser)
    _endpoints(parser)


def _players(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("players").add_argument
    add("--against", nargs="+", action="extend", default=[], metavar="SPEC",
        help="play these, instead of each other (default for one contestant: random)")  # fmt: skip
    add("--role", action="append", default=[], metavar="ROLE=SPEC",
        help="who holds a role, or a seat, in all games; may be repeated")  # fmt: skip
    add("--referee", action="append", default=[], metavar="REFEREE=SPEC",
        help="who referees (default: as the recipe of the first run has it, else of the game: its "
        "player, or the model as it comes); may be repeated")  # fmt: skip


def _measures(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what is measured").add_argument
    add("--games", type=count_to(10_000_000), metavar="N",
        help=f"games a pairing, where it is sampled (default: {GAMES:,}; in games in words "
        f"{FEW_GAMES})")  # fmt: skip
    add("--carry", type=count_to(10_000), default=1, metavar="N",
        help="play N episodes after each other, each with the memory that the one before left, "
        "in games with state that `lasts: run` (default: 1: nothing is carried over)")  # fmt: skip
    add("--seed", type=seed, default=0, metavar="N", help="of the games, labels and draws")
    add("--method", choices=("auto", "exact", "sampled"), default="auto",
        help="exact wherever it can be had (auto), nowhere else, or never")  # fmt: skip
    add("--rows", choices=("held-out", "training", "all"),
        help="which rows of its data the game draws (default: those held out of training, if any)",
    )  # fmt: skip
    add("--utility", choices=("payoffs", "rewards"), default="payoffs",
        help="what is compared: the game's payoffs, or what seats are trained on")  # fmt: skip
    add("--search", type=whole_to(10_000_000), default=500, metavar="N",
        help="games simulated for each seat's reply, which bounds exploitability in large games; "
        "0 leaves it out (default: 500)")  # fmt: skip


def _engines(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("engines")
    add = group.add_argument
    add("--engine", choices=("hf", "vllm"), default="hf",
        help="what writes the replies of models and runs in games in words: the model itself "
        "(default), or vLLM, one for each model")  # fmt: skip
    add("--vllm-cache", type=positive, metavar="GIB",
        help="keys and values that each vLLM keeps (default: as its run has it, else "
        "by the memory that is free)")  # fmt: skip
    add("--vllm-context", type=count_to(100_000_000), metavar="N",
        help="the most tokens of a prompt and its reply together under vLLM (default: as its run "
        "has it, else as the model has)")  # fmt: skip
    add_cluster(group, "play the games of pairings side by side", "each GPU, or each core but one")


def _boards(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("leaderboard").add_argument
    add("--leaderboard", type=Path, metavar="FILE.json",
        help="add the matches to this file, and print it; alone, print it")  # fmt: skip
    add("--leaderboard-md", type=Path, metavar="FILE.md", help="write it as Markdown as well")
    add("--rating", choices=("elo", "trueskill"), default="elo",
        help="how strength is estimated (default: elo)")  # fmt: skip
    add("--anchor", metavar="NAME", help="who has Elo 1000 (default: random, if it has played)")


def _endpoints(parser: argparse.ArgumentParser) -> None:
    from gamedsl.policies.endpoint_protocol import CONSTRAIN

    add = parser.add_argument_group("endpoints").add_argument
    add("--key-env", metavar="NAME",
        help="the environment variable that holds the key (default: OPENAI_API_KEY)")  # fmt: skip
    add("--allow-endpoint", action="append", default=[], metavar="URL", dest="addresses",
        help="let a game's `train:` or a run's recipe name the endpoint at this address; those "
        "named here need no leave; may be repeated")  # fmt: skip
    add(
        "--concurrency",
        type=count_to(1024),
        default=8,
        metavar="N",
        help="calls at a time (default: 8)",
    )
    add("--timeout", type=positive, default=60.0, metavar="S",
        help="seconds until an attempt is given up and made again (default: 60)")  # fmt: skip
    add("--call-timeout", type=positive, default=1200.0, metavar="S",
        help="seconds for a call with all its attempts and pauses (default: 1,200)")  # fmt: skip
    add("--retries", type=whole_to(1000), default=5, metavar="N",
        help="attempts after the first, with growing pauses (default: 5)")  # fmt: skip
    add("--calls", type=count_to(10**15), default=1000, metavar="N",
        help="the most calls to one endpoint, repeated ones included (default: 1,000)")  # fmt: skip
    add("--tokens", type=count_to(10**15), metavar="N",
        help="the most tokens of an endpoint, as it counts them (default: any number)")  # fmt: skip
    add("--temperature", type=from_zero, metavar="T",
        help="of endpoints, and of models as they come (default: 1; of an endpoint in a closed "
        "game as the server has it)")  # fmt: skip
    add("--max-tokens", type=count_to(100_000_000), metavar="N",
        help="of a reply (default: as the server has it; in games in words as the game "
        "has it)")  # fmt: skip
    add("--constrain", choices=CONSTRAIN,
        help="have the server hold replies to what is asked for, in the form that it takes; "
        "models as they come are held to the schema of JSON")  # fmt: skip
    add("--enable-thinking", action=argparse.BooleanOptionalAction,
        help="whether an endpoint's chat template has the model think by itself, as that of Qwen3 "
        "does (vLLM, SGLang; default: as the server has it)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from gamedsl.ir.evaluate import EvaluationError

    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        said = f"evaluating needs {' and '.join(missing)}, not installed here"
        print(f"gamedsl eval: {said}\n  fix: {install_command('eval')}", file=sys.stderr)
        return USAGE
    from gamedsl.evaluate.errors import EvalError
    from gamedsl.policies.errors import ModelError
    from gamedsl.training.errors import TrainError

    try:
        if args.leaderboard is not None and not args.contestants:
            return _print_board(args)
        return _evaluate(args)
    except (EvalError, TrainError, ModelError, ImportError, ValueError) as error:
        print(f"gamedsl eval: {error}", file=sys.stderr)
        return USAGE
    except EvaluationError as error:
        print(f"gamedsl eval: the rules fail: {error}", file=sys.stderr)
        return PROBLEMS


def _evaluate(args: argparse.Namespace) -> int:
    from gamedsl.evaluate.evaluation import evaluate
    from gamedsl.evaluate.leaderboard import read_board
    from gamedsl.evaluate.plan import plan_of
    from gamedsl.evaluate.results import Options
    from gamedsl.evaluate.standings import check_anchor, names_on
    from gamedsl.evaluate.transcripts import keeper
    from gamedsl.policies.budget import Interrupted

    params: dict[str, Any] = read_params(args.param)
    people = _people(args)
    _check_boards(args)
    workers = _workers(args)
    game = _game(args, people, params)
    if game is None:
        return PROBLEMS
    if args.leaderboard is not None:
        board = read_board(args.leaderboard)  # said before anything is played
    settings = _settings(args)
    plan = plan_of(
        game, people, args.against, roles=args.role, referees=args.referee, seed=args.seed,
        endpoints=settings,
    )  # fmt: skip
    if args.leaderboard is not None and args.anchor is not None:
        check_anchor(args.anchor, [*names_on(board), *(one.name for one in plan.everybody)])
    with progress(f"evaluating {game.name}") as line:
        tell = partial(_tell, line)
        options = Options(
            args.games or (FEW_GAMES if game.ir.in_words else GAMES), args.seed, args.utility,
            args.method, args.search, args.decisions, settings, tell, keeper(args.transcripts),
            _vllm(args, game), report_interrupted=True, thoughts=max(1, args.thoughts),
            workers=workers, carry=args.carry,
        )  # fmt: skip
        found = evaluate(game, plan, options, _keeper(args, game, plan, options))
    _keep_exploitability(args, found)
    _print(args, found)
    if isinstance(found.stopped, Interrupted):
        return INTERRUPTED
    return CLEAN if found.stopped is None else PROBLEMS


def _workers(args: argparse.Namespace) -> StartWorkers | None:
    """Returns what starts the workers of a cluster, if they are to play. Raises EvalError, and
    ModelError."""
    from gamedsl.evaluate.errors import EvalError

    start = starter(args, gpus=True)
    if start is not None and args.engine == "vllm":
        raise EvalError("`--engine vllm` takes the GPU that workers of a cluster play on",
                        "leave `--engine` or `--cluster` out")  # fmt: skip
    return start


def _vllm(args: argparse.Namespace, game: Game) -> dict[str, Any] | None:
    """The settings of vLLM that were given, where it writes. Raises EvalError where it cannot, or
    where something is said of it and it does not."""
    from gamedsl.evaluate.errors import EvalError

    given = {"cache": args.vllm_cache, "context": args.vllm_context}
    said = {name: value for name, value in given.items() if value is not None}
    if args.engine == "vllm":
        if not game.ir.written:
            raise EvalError(
                f"`--engine vllm` writes replies, and in {game.name} none is written: options are "
                "scored", "leave `--engine` out",
            )  # fmt: skip
        return said
    if said:
        raise EvalError(f"`--vllm-{next(iter(said))}` is about vLLM, which writes nothing here",
                        "add `--engine vllm`, or leave it out")  # fmt: skip
    return None


def _check_boards(args: argparse.Namespace) -> None:
    """Raises EvalError for leaderboard options without a leaderboard."""
    from gamedsl.evaluate.errors import EvalError

    given = {"--anchor": args.anchor, "--leaderboard-md": args.leaderboard_md}
    for name, value in given.items():
        if args.leaderboard is None and value is not None:
            raise EvalError(f"`{name}` is about a leaderboard, and there is none",
                            "add `--leaderboard FILE.json`, or leave it out")  # fmt: skip
    if args.leaderboard is not None and args.carry > 1:
        raise EvalError("a leaderboard takes each game for itself, which `--carry` does not",
                        "leave `--carry` or `--leaderboard` out")  # fmt: skip


def _people(args: argparse.Namespace) -> list[Contestant]:
    from gamedsl.evaluate.contestants import contestants
    from gamedsl.evaluate.errors import EvalError

    if not args.contestants:
        raise EvalError("nobody is evaluated", "name a player, a run or a model: gamedsl eval "
                        "runs/kuhn_poker-tiny-0-1 --game kuhn_poker")  # fmt: skip
    return contestants(args.contestants, args.seed, _settings(args))


def _game(
    args: argparse.Namespace, people: list[Contestant], params: dict[str, Any]
) -> Game | None:
    """The game that is named, or that of the runs; None where it has problems, which are
    printed."""
    from gamedsl.compiler import compile_file
    from gamedsl.diagnostics.render import render
    from gamedsl.evaluate.errors import EvalError
    from gamedsl.evaluate.plan import game_of_runs, with_rows
    from gamedsl.runtime import Game

    file = args.game
    if file is None:
        file, of_run = game_of_runs(people)
        params = {**of_run, **params}
    with progress(f"checking {file}"):
        result = compile_file(file, params)
    if result.diagnostics:
        print(render(result.diagnostics, "pretty", use_colour(sys.stderr)), file=sys.stderr)
    if result.ir is not None and result.document is not None:
        return with_rows(Game(result.ir, result.document.files), args.rows)
    if result.ok and result.document is not None:
        raise EvalError(f"{file} is a {result.document.kind} file", "name a game")
    return None


def _settings(args: argparse.Namespace) -> EndpointSettings:
    from gamedsl.players.endpoint import addresses_in
    from gamedsl.policies.endpoint import EndpointSettings

    named = addresses_in([*args.contestants, *args.against, *args.role, *args.referee])
    return EndpointSettings(
        key_env=args.key_env, concurrency=args.concurrency, timeout=args.timeout,
        call_timeout=args.call_timeout, retries=args.retries, calls=args.calls, tokens=args.tokens,
        temperature=args.temperature, max_tokens=args.max_tokens, constrain=args.constrain,
        enable_thinking=args.enable_thinking,
        addresses=named | set(args.addresses),
    )  # fmt: skip


def _keeper(args: argparse.Namespace, game: Game, plan: Plan, options: Options) -> After:
    """Returns a function that adds the games of a pairing to the leaderboard, if there is one."""
    from gamedsl.evaluate.leaderboard import add, match_of

    who = {one.name: one for one in plan.everybody}

    def keep(found: Sequence[Games], contest: Contest | None) -> None:
        if args.leaderboard is not None:
            more = [
                match_of(game, games, options.seed, who, contest, plan.referees) for games in found
            ]
            add(args.leaderboard, more)

    return keep


def _keep_exploitability(args: argparse.Namespace, found: Evaluation) -> None:
    from gamedsl.evaluate.leaderboard import add
    from gamedsl.policies.budget import Interrupted

    if args.leaderboard is not None and args.utility == "payoffs":
        measured = {
            one.identity: found.exploitability[one.name] for one in found.plan.contestants
            if not isinstance(found.stopped, Interrupted)
            or found.exploitability[one.name].kind != "unknown"
        }  # fmt: skip
        add(args.leaderboard, [], found.game.share_hash, measured)


def _print(args: argparse.Namespace, found: Evaluation) -> None:
    from gamedsl.evaluate.record import as_record, standings_record
    from gamedsl.evaluate.tables import head_of, tables_of
    from gamedsl.storage.writer import write_output

    boards = [one for one in _standings(args) if one.hash == found.game.share_hash]
    record = as_record(found)
    if args.leaderboard is not None:
        record["leaderboard"] = [standings_record(one) for one in boards]
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    if args.out is not None:
        write_output(args.out, text + "\n", parents=True)
    if args.format == "json":
        print(text)
        return
    width = get_terminal_size().columns
    for line in head_of(found):
        print(fill(line, width))
    _print_tables(tables_of(found, width))
    _print_boards(boards)
    if args.out is not None:
        print(f"\nevaluation: {args.out}")


def _print_board(args: argparse.Namespace) -> int:
    from gamedsl.evaluate.errors import EvalError
    from gamedsl.evaluate.record import standings_record

    if not args.leaderboard.exists():
        raise EvalError(f"there is no leaderboard {args.leaderboard}",
                        "name contestants, whose matches make one")  # fmt: skip
    boards = _standings(args)
    if args.format == "json":
        rows = [standings_record(one) for one in boards]
        print(json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print_boards(boards)
    return CLEAN


def _standings(args: argparse.Namespace) -> list[Standings]:
    """The standings of all games of the leaderboard; also writes them as Markdown if asked."""
    from gamedsl.evaluate.leaderboard import read_board
    from gamedsl.evaluate.standings import standings
    from gamedsl.evaluate.tables import write_markdown

    if args.leaderboard is None:
        return []
    found = standings(read_board(args.leaderboard), args.rating, args.anchor)
    if args.leaderboard_md is not None:
        write_markdown(args.leaderboard_md, found)
    return found


def _print_boards(boards: list[Standings]) -> None:
    from gamedsl.evaluate.tables import standings_table

    _print_tables(map(standings_table, boards))


def _print_tables(tables: Iterable[Table]) -> None:
    from gamedsl.evaluate.tables import terminal_text

    width, colour = get_terminal_size().columns, use_colour(sys.stdout)
    for table in tables:
        print(terminal_text(table, width, colour=colour, encoding=sys.stdout.encoding))


def _tell(line: Line, what: str, done: int, total: int) -> None:
    """Has the line of progress say how much of what is done; a total of 0 is not known."""
    line(what, done, total or None, "")
