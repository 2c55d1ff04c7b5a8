"""The pages of replays: files of transcripts, one play of them step by step, a new play from any
point of it; and the runs that left them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from gamedsl.mcp.refusal import Refused
from gamedsl.recipe.table import MODELS
from gamedsl.runs.errors import RunDamaged
from gamedsl.runs.saved import SavedRun, number_in, open_saved
from gamedsl.sema.library import shipped
from gamedsl.storage.reader import FileRefused, read_bytes
from gamedsl.studio.answers import Form, Page, html, prefixed, see, whole_number
from gamedsl.studio.folders import Folders
from gamedsl.studio.rendering import page
from gamedsl.studio.rooms import Rooms, Workers
from gamedsl.studio.training_runs import TrainingRuns

PAGE = 50
"""Plays of one page of a list."""

MOST_FILES = 200
"""Files of a list."""

MOST_REPORT = 1 << 24
"""Bytes of a report."""

REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:"
)
"""The content that a report may have. It is a file that somebody may have handed on, so it runs
outside of the studio's own site, and reaches nothing."""


class ReplayPages:
    """Pages of transcripts and runs."""

    def __init__(
        self, folders: Folders, workers: Workers, rooms: Rooms, training: TrainingRuns
    ) -> None:
        self._folders, self._workers, self._rooms = folders, workers, rooms
        self._training = training

    @property
    def pages(self) -> list[Page]:
        return [
            ("GET", "/replays", self.replays),
            ("GET", "/replay", self.replay),
            ("GET", "/replay/advice", self.advice),
            ("GET", "/replay/conversation", self.conversation),
            ("POST", "/replay/branch", self.branch),
            ("GET", "/runs", self.runs),
            ("GET", "/run", self.run),
            ("GET", "/run/report", self.report),
            ("GET", "/run/plays", self.plays),
            ("GET", "/train", self.setup),
            ("POST", "/train", self.start),
            ("POST", "/run/stop", self.stop),
            ("POST", "/run/resume", self.resume),
            ("GET", "/compare", self.compare),
            ("GET", "/seeds", self.seeds),
        ]

    def replays(self, request: Request, form: Form) -> Response:
        """The files of transcripts that lie in no run."""
        files = self._folders.transcripts()
        rows = [(self._folders.shown(path), _query(file=path)) for path in files[:MOST_FILES]]
        return html(page(
            "replays", title="Replays", place="Replays", files=rows, total=len(files)
        ))  # fmt: skip

    def replay(self, request: Request, form: Form) -> Response:
        """The plays of a file; one of them step by step."""
        given = request.query_params
        path = self._folders.inside(given.get("file", ""))
        first = whole_number(given.get("first", "0"))
        number = given.get("number")
        name = "transcripts"
        filters = _filters(given)
        listed = self._workers.call(
            name, "plays", file=str(path), first=first, count=PAGE, **filters
        )
        if listed["total"] == 0 and not filters:
            raise Refused(f"{self._folders.shown(path)} holds no plays", "choose another file")
        if number is None and (listed["total"] > 1 or filters):
            query = _query(file=path, **filters)
            end, more = first + len(listed["rows"]), first + PAGE
            told = f"Plays {first + 1} to {end} of {listed['total']}{' that fit' * bool(filters)}."
            return html(page(
                "plays", title="Plays", place="Replays", shown=self._folders.shown(path),
                rows=[row | {"query": _query(file=path, number=row["number"])}
                      for row in listed["rows"]],
                told=told if listed["rows"] else "",
                action="/replay", hidden=("file", str(path)), filters=filters, steps=None,
                earlier=f"/replay?{query}&first={max(0, first - PAGE)}" if first else "",
                later=f"/replay?{query}&first={more}" if more < listed["total"] else "",
            ))  # fmt: skip
        chosen = whole_number(number or "0")
        row = self._workers.call(name, "plays", file=str(path), first=chosen, count=1)["rows"]
        if not row:
            raise Refused(f"there is no play {chosen + 1} in this file", "choose one of the list")
        game = given.get("game") or self._game_of(path, row[0]["game"])
        step = self._workers.call(
            f"game\n{game}", "step", file=str(path), number=chosen, game=self._game(game),
            move=whole_number(given.get("move", "0")),
        )  # fmt: skip
        step["next"] = Markup(step["next"])
        query = _query(file=path, number=chosen, game=game)
        return html(page(
            "replay", title=f"Replay of {step['game']}", place="Replays", step=step, query=query,
            file=str(path), number=chosen, game=game, shown=self._folders.shown(path),
            several=listed["total"] > 1, listing=_query(file=path),
            in_run=self._folders.run_of(path) is not None,
        ))  # fmt: skip

    def _game(self, game: str) -> str:
        """Returns the path of a game, which may be a run's copy. Raises Refused."""
        return self._folders.game(game)

    def _game_of(self, path: Path, name: str) -> str:
        """Returns the game of a transcript: the copy that its run has, a file of this name, or a
        shipped game. Raises Refused."""
        run = self._folders.run_of(path)
        if run is not None:
            try:
                copy = open_saved(run).game_file({"game": name})
            except RunDamaged as error:
                raise _damaged(error) from error
            if copy is not None:
                return str(copy)
        own = [str(one) for one in self._folders.games() if one.stem == name]
        if own:
            return own[0]
        if name in shipped("game"):
            return name
        fix = "put its file into one of the folders, under that name"
        raise Refused(f"the game `{name}` of this transcript is not here", fix)

    def advice(self, request: Request, form: Form) -> Response:
        """Answers with the odds at a point of a play, as a fragment: those of the policy that
        played it, and what a solver would play."""
        given = request.query_params
        path = self._folders.inside(given.get("file", ""))
        try:
            run, step = self._folders.run_of(path), number_in(path)
            game = self._game(given.get("game", ""))
            found = self._workers.call(
                f"advice\n{game}", "odds", file=game, seat=given.get("seat", ""),
                record=self._text(given), moves=whole_number(given.get("move", "0")),
                run="" if run is None or step < 1 else str(run), step=step,
            )  # fmt: skip
            part = page("odds", **found)
        except Refused as error:
            part = page("unavailable", fact=error.fact, fix=error.fix)
        if "part" in given:
            return HTMLResponse(part)
        back = "/replay?" + urlencode({k: v for k, v in given.items() if k != "seat"})
        return html(page(
            "fragment", title="Odds", place="Replays", part=part, back=back, owner=True
        ))  # fmt: skip

    def conversation(self, request: Request, form: Form) -> Response:
        """A whole play as a conversation, as a fragment."""
        given = request.query_params
        path = self._folders.inside(given.get("file", ""))
        number, game = whole_number(given.get("number", "0")), given.get("game", "")
        query = _query(file=path, number=number, game=game)
        part = Markup(
            self._workers.call(
                f"game\n{game}", "conversation", file=str(path), number=number,
                game=self._game(game), address=f"/replay?{query}",
            )
        )  # fmt: skip
        if "part" in given:
            return HTMLResponse(part)
        return html(page(
            "fragment", title="The whole play", place="Replays", part=part, owner=True,
            back=f"/replay?{query}",
        ))  # fmt: skip

    def _text(self, given: Any) -> str:
        path = self._folders.inside(given.get("file", ""))
        number = whole_number(given.get("number", "0"))
        found: str = self._workers.call("transcripts", "record_text", file=str(path), number=number)
        return found

    def branch(self, request: Request, form: Form) -> Response:
        """Starts a play from a point of another."""
        seat = form.get("seat", "")
        room = self._rooms.open(
            self._game(form.get("game", "")), {}, [seat], {}, record=self._text(form),
            moves=whole_number(form.get("move", "0")),
        )  # fmt: skip
        return see(f"/seat/{room.tokens[seat]}")

    # runs

    def runs(self, request: Request, form: Form) -> Response:
        """The runs of training, the newest first."""
        folders = self._folders.runs()[:MOST_FILES]
        rows = self._workers.call("runs", "runs", folders=[str(one) for one in folders])
        for row, folder in zip(rows, folders, strict=True):
            row |= {"shown": self._folders.shown(folder), "query": _query(folder=folder)}
            row["path"] = str(folder)
            if (own := self._training.of(folder)) is not None:
                row["state"] = own.state
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            groups.setdefault(row["recipe"], []).append(row)
        several = [
            {"count": len(group), "query": group[0]["query"], "runs": [r["shown"] for r in group],
             "game": group[0]["game"], "model": group[0]["model"]}
            for recipe, group in groups.items() if recipe and len(group) > 1
        ]  # fmt: skip
        started = [
            {"shown": self._folders.shown(one.folder), "state": one.state, "fault": one.fault,
             "query": _query(folder=one.folder) if (one.folder / "run.json").is_file() else ""}
            for one in self._training.newest_first()
        ]  # fmt: skip
        running = any(one["state"] in ("running", "stopping") for one in started)
        part = page("started", started=started)
        if "part" in request.query_params:
            return HTMLResponse(part)
        return html(page(
            "runs", title="Runs", place="Runs", runs=rows, part=part, running=running,
            several=several,
        ))  # fmt: skip

    def setup(self, request: Request, form: Form) -> Response:
        """The form with which a run begins."""
        file = request.query_params.get("file", "")
        game = self._workers.call("pages", "describe", file=self._folders.game(file), params={})
        title = f"Train {game['name']}"
        return html(page("train", title=title, place="Runs", file=file, game=game, models=MODELS))

    def start(self, request: Request, form: Form) -> Response:
        """Starts a run."""
        file = self._folders.game(form.get("file", ""))
        model, steps, seed = (form.get(name, "").strip() for name in ("model", "steps", "seed"))
        self._training.start(file, prefixed(form, "param."), model, steps, seed)
        return see("/runs")

    def stop(self, request: Request, form: Form) -> Response:
        """Stops a run that was started here; it saves itself."""
        folder = self._folders.inside(form.get("folder", ""))
        self._training.stop(folder)
        return see(f"/run?{_query(folder=folder)}")

    def resume(self, request: Request, form: Form) -> Response:
        """Goes on with a run that stopped."""
        folder = self._folders.inside(form.get("folder", ""))
        self._training.resume(folder)
        return see("/runs")

    def run(self, request: Request, form: Form) -> Response:
        """A run: its summary, its curves, its files of transcripts; none of these is opened."""
        folder = self._folders.inside(request.query_params.get("folder", ""))
        found = self._workers.call("runs", "run", folder=str(folder))
        files = SavedRun(folder).transcripts()
        shown = [(number_in(path), _query(file=path)) for path in reversed(files[-MOST_FILES:])]
        own = self._training.of(folder)
        if own is not None:
            found["state"] = own.state
        part = page(
            "run_part", folder=str(folder), stops=own is not None and own.running,
            resumes=found["state"] not in ("ended", "running", "stopping"),
            run=found, files=shown, total=len(files), query=_query(folder=folder),
            charts=[(title, Markup(drawn)) for title, drawn in found["charts"]],
            report=(folder / "report.html").is_file(),
        )  # fmt: skip
        if "part" in request.query_params:
            return HTMLResponse(part)
        return html(page(
            "run", title=self._folders.shown(folder), place="Runs", part=part,
            shown=self._folders.shown(folder), query=_query(folder=folder),
            running=found["state"] != "ended", folder=str(folder),
        ))  # fmt: skip

    def plays(self, request: Request, form: Form) -> Response:
        """The plays of a range of a run's steps. Its files are read one after the other, until a
        page is full; `at` is the step, and the play in its file, at which the search goes on."""
        given = request.query_params
        folder = self._folders.inside(given.get("folder", ""))
        limits = {name: given.get(name, "") for name in ("from", "to")}
        steps = {name: whole_number(text) for name, text in limits.items() if text.isdecimal()}
        step, _, first = given.get("at", "").partition("-")
        begin = max(steps.get("from", 0), whole_number(step))
        files = [
            self._folders.inside(file)
            for file in SavedRun(folder).transcripts()
            if begin <= number_in(file) <= steps.get("to", number_in(file))
        ]
        goes_on = bool(files) and number_in(files[0]) == whole_number(step)
        filters = _filters(given)
        found = self._workers.call(
            "transcripts", "plays_over", files=[str(file) for file in files], count=PAGE,
            first=whole_number(first) if goes_on else 0, **filters,
        )  # fmt: skip
        rows = [
            row | {"query": _query(file=files[row["file"]], number=row["number"]),
                   "step": number_in(files[row["file"]])}
            for row in found["rows"]
        ]  # fmt: skip
        query, later = _query(folder=folder, **steps, **filters), ""
        told = "No transcripts of these steps are kept."
        if found["next"]:
            place, number = found["next"]
            later = f"/run/plays?{query}&at={number_in(files[place])}-{number}"
            told = f"step {number_in(files[place])}, play {number + 1}; there the search goes on."
        elif files:
            told = f"the end of step {number_in(files[-1])}."
        if files:
            told = f"Looked through from step {number_in(files[0])} to {told}"
        return html(page(
            "plays", title="Plays of a run", place="Runs", shown=self._folders.shown(folder),
            rows=rows, told=told, action="/run/plays", hidden=("folder", str(folder)),
            filters=filters, steps=steps, later=later,
            earlier=f"/run/plays?{query}" if given.get("at") else "",
        ))  # fmt: skip

    def report(self, request: Request, form: Form) -> Response:
        """A run's `report.html`, in a sandbox."""
        folder = self._folders.inside(request.query_params.get("folder", ""))
        try:
            content = read_bytes(folder / "report.html", limit=MOST_REPORT, below=folder)
        except FileRefused as error:
            raise Refused(str(error), "write it by `gamedsl report RUN`") from error
        return HTMLResponse(content, headers={"content-security-policy": REPORT_POLICY})

    def seeds(self, request: Request, form: Form) -> Response:
        """The recipe of a run over all seeds that it was trained with here."""
        folder = self._folders.inside(request.query_params.get("folder", ""))
        folders = [str(one) for one in self._folders.runs()[:MOST_FILES]]
        rows = self._workers.call("runs", "runs", folders=[*folders, str(folder)])
        recipe = rows.pop()["recipe"]
        same = [
            (one, row)
            for one, row in zip(folders, rows, strict=True)
            if recipe and row["recipe"] == recipe
        ]
        if not same:
            raise Refused(f"{self._folders.shown(folder)} is no run of the list", "choose another")
        found = self._workers.call("runs", "seeds", folders=[one for one, _ in same])
        links = [(self._folders.shown(Path(one)), row["seed"], _query(folder=one), row["steps"])
                 for one, row in same]  # fmt: skip
        charts = [(title, note, Markup(drawn)) for title, note, drawn in found["charts"]]
        return html(page(
            "seeds", title="One recipe over its seeds", place="Runs", links=links,
            means=found["means"], charts=charts, game=same[0][1]["game"],
            model=same[0][1]["model"], comparison=urlencode([("run", one) for one, _ in same]),
        ))  # fmt: skip

    def compare(self, request: Request, form: Form) -> Response:
        """Several runs on one page, in a sandbox too."""
        folders = [self._folders.inside(one) for one in request.query_params.getlist("run")]
        if len(folders) < 2:
            raise Refused("a comparison needs two runs", "choose at least two of the list")
        text = self._workers.call("reports", "compare", folders=[str(one) for one in folders])
        return HTMLResponse(text, headers={"content-security-policy": REPORT_POLICY})


def _query(**given: Any) -> str:
    return urlencode({name: str(value) for name, value in given.items()})


def _filters(given: Mapping[str, str]) -> dict[str, Any]:
    """Returns the filters of a list of plays; what is none of them is left out."""
    found: dict[str, Any] = {}
    if given.get("refused") in ("some", "none"):
        found["refused"] = given["refused"]
    for name in ("least", "most"):
        with suppress(ValueError):
            number = float(given.get(name, ""))
            found |= {name: number} if isfinite(number) else {}
    if given.get("seat") and found.keys() & {"least", "most"}:
        found["seat"] = given["seat"][:100]
    return found


def _damaged(error: RunDamaged) -> Refused:
    return Refused(error.fact, error.fix or "put back a copy of the run")
