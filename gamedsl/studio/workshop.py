"""Works out, in a worker, what the pages of games show: problems, facts, pictures, prompts, proofs
and solutions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.frontend.source.loader import replacing
from gamedsl.mcp.refusal import Refused
from gamedsl.mcp.tasks import TREE_LIMIT, run_command
from gamedsl.runtime.transcripts import params_as_data
from gamedsl.sema.library import resolve_argument
from gamedsl.studio.loading import load_game
from gamedsl.studio.witness import witness

if TYPE_CHECKING:
    from gamedsl.commands.games import Listed
    from gamedsl.compiler import Result
    from gamedsl.diagnostics import Diagnostic
    from gamedsl.view.game.views import View

MOST_PROBLEMS = 100
"""Problems of a file that are shown, the first ones."""


class Workshop:
    """Works out pages of games. All methods raise Refused."""

    def __init__(self) -> None:
        self._listed: dict[tuple[str, int], Listed] = {}
        self._proofs: tuple[tuple[str, int], dict[str, Any]] | None = None
        self._typed: tuple[tuple[str, str], Result] | None = None

    def games(self, own: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the shipped games, and those of these files, as `gamedsl games` lists them."""
        from gamedsl.commands.games import THEMES
        from gamedsl.storage.shipped import shipped_folder

        shipped = {name: (tag,) for tag, theme in THEMES.items() for name in theme.games}
        rows = [
            (shipped_folder() / "games" / f"{name}.yaml", name, tags)
            for name, tags in shipped.items()
        ]
        known = {path.resolve() for path, _, _ in rows}
        rows += [(Path(p), p, ("own",)) for p in own if Path(p).resolve() not in known]
        return [asdict(self._row(*row)) for row in rows]

    def proofs(self, file: str) -> dict[str, Any]:
        """Returns what `gamedsl validate --report json` says of a game; that of the last is kept,
        until its file changes."""
        key = file, Path(resolve_argument(file)).stat().st_mtime_ns
        if self._proofs is None or self._proofs[0] != key:
            self._proofs = key, dict(_json("validate", file, "--report=json")[0])
        return self._proofs[1]

    def claims(self, file: str, text: str) -> dict[str, Any]:
        """Returns the problems of a text that stands for a file, those that proofs find among them,
        and the number of its claims by grade."""
        result = self._proved(file, text)
        found = []
        for one in _own(result.diagnostics, Path(file)):
            problem = _problem(one, text)
            for proof in result.proofs:
                if proof.histories and one.code in proof.codes:
                    problem |= {"proof": proof.name, "plays": len(proof.histories)}
            found.append(problem)
        return {"problems": found, "grades": dict(Counter(proof.grade for proof in result.proofs))}

    def played(self, file: str, text: str, proof: str, move: int | None) -> dict[str, Any]:
        """Returns the plays that refute a claim of a text that stands for a file, after some moves,
        with the claim and the problem."""
        result = self._proved(file, text)
        found = next((one for one in result.proofs if one.name == proof and one.histories), None)
        if found is None:
            raise Refused(f"there is no witness against `{proof}`", "check the file again")
        problems = _own(result.diagnostics, Path(file))
        problem = next((one for one in problems if one.code in found.codes), None)
        return {
            "found": witness(file, found.histories, text, move),
            "proof": {"name": proof, "claim": found.claim, "witness": list(found.witness)},
            "problem": None if problem is None else _problem(problem, text),
        }

    def _proved(self, file: str, text: str) -> Result:
        """Returns a text that stands for a file, compiled; that of the last is kept."""
        from gamedsl.analysis.history_sample import QUICK
        from gamedsl.compiler import compile_file

        if self._typed is None or self._typed[0] != (file, text):
            with replacing({Path(file): text}):
                self._typed = (file, text), compile_file(file, {}, QUICK)
        return self._typed[1]

    def _row(self, path: Path, file: str, tags: tuple[str, ...]) -> Listed:
        from gamedsl.commands.games import listed

        key = str(path), path.stat().st_mtime_ns
        if key not in self._listed:
            self._listed[key] = listed(path, file, tags)
        return self._listed[key]


def describe(file: str, params: Mapping[str, str]) -> dict[str, Any]:
    """Returns the facts of a game that a play begins with."""
    game = load_game(file, params)
    ir = game.ir
    return {
        "name": ir.name,
        "about": " ".join(ir.about.split()),
        "seats": list(ir.everyone),
        "referees": [seat for seat in ir.everyone if seat not in ir.seats],
        "in_words": ir.open,
        "params": [[name, str(value)] for name, value in params_as_data(game.params).items()],
    }


def check(file: str, text: str) -> list[dict[str, Any]]:
    """Returns the problems of a text that stands for a file, up to its types, in order."""
    from gamedsl.lsp.files import check

    path = Path(file)
    return [_problem(one, text) for one in _own(check(path, {path: text}).problems, path)]


def _own(problems: Sequence[Diagnostic], path: Path) -> list[Diagnostic]:
    """Returns the problems that stand in a file, the first ones."""
    return [one for one in problems if _is_in(one, path)][:MOST_PROBLEMS]


def _is_in(problem: Diagnostic, path: Path) -> bool:
    source = problem.span.source
    return source.folder / Path(source.name).name == path


def _problem(found: Diagnostic, text: str) -> dict[str, Any]:
    """A problem as a page shows it. `edits` are places in the text, with what replaces them;
    `proof` names the claim that it refutes by `plays`, if there are any."""
    edits = [
        [edit.span.start, edit.span.end, edit.text]
        for edit in found.edits
        if edit.span.source is found.span.source or edit.span.source.text == text
    ]
    return {
        "line": found.span.line,
        "severity": found.severity,
        "code": found.code,
        "message": found.message,
        "why": found.why,
        "help": found.help,
        "edits": edits if len(edits) == len(found.edits) else [],
        "proof": "",
        "plays": 0,
    }


def facts(file: str) -> dict[str, Any]:
    """Returns the size of a game, the number of its claims by grade, and the view that says most
    of it."""
    from gamedsl.analysis.history_sample import QUICK
    from gamedsl.compiler import compile_file
    from gamedsl.runtime import Game
    from gamedsl.view.game.views import Views

    result = compile_file(file, {}, QUICK)
    if result.ir is None or result.document is None:
        raise Refused("this file has problems", "open it in the editor")
    found = Counter(proof.grade for proof in result.proofs)
    sizes = [proof.claim for proof in result.proofs if proof.name == "size"]
    views = Views(Game(result.ir, result.document.files))
    return {"grades": dict(found), "size": sizes[0] if sizes else "", "view": views.fitting[0]}


def picture(file: str, view: View) -> str:
    """Returns a view of a game as an SVG file."""
    from gamedsl.ir.evaluate import EvaluationError
    from gamedsl.view.game.views import Views

    try:
        return Views(load_game(file, {})).picture(view)
    except (ValueError, EvaluationError) as error:
        raise Refused(str(error), "choose another view") from error


def pictures(file: str) -> dict[str, Any]:
    """Returns the views that a game has, and the rules as the prompts of its first seat state
    them."""
    from gamedsl.prompting.labels import draw_labels
    from gamedsl.prompting.prompts import Prompter
    from gamedsl.view.game.views import Views

    game = load_game(file, {})
    views = Views(game)
    names = ["flow", "sight"]
    if views.listed:
        names.insert(0, "tree")
    if views.table is not None:
        names.insert(0, "table")
    ir = game.ir
    rules = Prompter(ir).rules(ir.everyone[0], draw_labels(ir, run_seed=0, seed=0))
    return {"views": names, "fitting": list(views.fitting), "rules": rules, "hint": views.hint}


def prompts(file: str, seat: str, at: str) -> dict[str, Any]:
    """Returns what each seat is sent, or one of them; `at` names a history."""
    return dict(_json("prompts", file, "--format=json", *_given(role=seat, at=at)))


def solution(file: str) -> str:
    """Returns what `gamedsl solve` prints of a game."""
    code, out, err = run_command("solve", file, f"--limit={TREE_LIMIT}")
    if code:
        raise Refused(err.strip() or out.strip(), "choose another game, or make it smaller")
    return out


def _json(command: str, file: str, *arguments: str) -> Any:
    from gamedsl.storage.strict_json import parse

    _, out, err = run_command(command, file, *arguments)
    if not out:
        raise Refused(err.strip(), "mend the file in the editor")
    return parse(out)


def _given(**arguments: str) -> list[str]:
    return [f"--{name}={value}" for name, value in arguments.items() if value]
