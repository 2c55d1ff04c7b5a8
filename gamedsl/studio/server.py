"""The pages of the studio, over Starlette. Each hands what takes time or trusts a file to a worker,
which may be killed (`gamedsl.studio.rooms.Workers`); the server compiles and plays nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlencode

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from gamedsl.mcp.refusal import Refused
from gamedsl.studio.answers import Form, Handler, Page, html, prefixed, see
from gamedsl.studio.folders import Folders
from gamedsl.studio.game_pages import GamePages
from gamedsl.studio.guard import Guard
from gamedsl.studio.rendering import page, script, seat_part, style_sheet
from gamedsl.studio.replay_pages import ReplayPages
from gamedsl.studio.rooms import Room, Rooms, Workers
from gamedsl.studio.training_runs import TrainingRuns
from gamedsl.view.game.cost_picture import Cost, cost_picture

SECONDS = 30.0
"""How long a worker may take for an answer, unless the command line says otherwise."""

MOST_FORM = 2 << 20
"""Bytes of a form."""

MOST_FIELDS = 500
"""Fields of a form."""

PLAYERS = (
    ("random", "any option, at random"),
    ("equilibrium", "what the solver found"),
    ("minimax", "perfect play where all see everything"),
    ("mcts:200", "a search where all see everything"),
    ("tit_for_tat", "what the other did last"),
)
"""The players that a seat is offered."""


class Studio:
    """The pages and what they share. `base` is the address that people are given."""

    def __init__(
        self, folders: Folders, workers: Workers, base: str, training: TrainingRuns
    ) -> None:
        self.folders, self.workers, self.base = folders, workers, base
        self.rooms = Rooms(workers, folders.roots[0])
        self.games = GamePages(folders, workers)
        self.replays = ReplayPages(folders, workers, self.rooms, training)
        self.guard: Guard | None = None

    def is_owner(self, request: Request) -> bool:
        return self.guard is not None and self.guard.is_owner(request)

    # entering

    def home(self, request: Request, form: Form) -> Response:
        """The first page; with the token, what sets the cookie. It is no redirect: a browser would
        not send a strict cookie after one that another site began."""
        token = request.query_params.get("token")
        if token is None or self.guard is None:
            return self.games.games(request, form)
        answer = HTMLResponse(page("enter"))
        answer.set_cookie(self.guard.cookie, token, httponly=True, samesite="strict", path="/")
        return answer

    # plays

    def setup(self, request: Request, form: Form) -> Response:
        """The form with which a play begins."""
        file = request.query_params.get("file", "")
        params = prefixed(request.query_params, "param.")
        game = self.workers.call("pages", "describe", file=self.folders.game(file), params=params)
        runs = [str(path) for path in self.folders.runs()[:100]]
        known = {name: params.get(name, "") for name, *_ in game["params"]}
        return html(page(
            "play", title=f"Play {game['name']}", place="Plays", file=file, game=game, runs=runs,
            players=PLAYERS, params=known,
        ))  # fmt: skip

    def start(self, request: Request, form: Form) -> Response:
        """Starts a play."""
        held = prefixed(form, "seat.")
        other = prefixed(form, "other.")
        people = [seat for seat, who in held.items() if who == "me"]
        players = {
            seat: other.get(seat, "").strip() if who == "other" else who
            for seat, who in held.items() if who != "me"
        }  # fmt: skip
        file = self.folders.game(form.get("file", ""))
        seed = form.get("seed", "").strip()
        if seed and not (seed.isdecimal() and int(seed) < 2**32):
            raise Refused(f"`{seed}` is no seed", "write a whole number from 0 up, or nothing")
        room = self.rooms.open(
            file, prefixed(form, "param."), people, self._allowed(players),
            seed=int(seed) if seed else None,
        )  # fmt: skip
        return see(self._begin(room))

    def _begin(self, room: Room) -> str:
        """Returns the page that follows the start of a play: the only seat, or the links of all."""
        if len(room.tokens) == 1:
            return f"/seat/{next(iter(room.tokens.values()))}"
        return f"/tables/{room.id}"

    def _allowed(self, players: Mapping[str, str]) -> dict[str, str]:
        """Returns players of which those that are files lie below the folders. Raises Refused."""
        for spec in players.values():
            kind, _, argument = spec.partition(":")
            if kind.strip() in ("run", "policy"):
                self.folders.inside(argument.strip().partition("@")[0])
        return dict(players)

    def tables(self, request: Request, form: Form) -> Response:
        """The plays that are open."""
        return html(page("tables", title="Plays", place="Plays", rooms=list(self.rooms)))

    def table(self, request: Request, form: Form) -> Response:
        """The links of the seats of a play."""
        room = self.rooms.room(request.path_params["id"])
        return html(page(
            "room", title=room.game, place="Plays", room=room, base=self.base, **self._saved(room)
        ))  # fmt: skip

    def _saved(self, room: Room) -> dict[str, str]:
        path = room.saved
        if path is None:
            return {"saved": "", "replay": ""}
        address = "/replay?" + urlencode({"file": str(path), "game": room.file})
        return {"saved": self.folders.shown(path), "replay": address}

    def save(self, request: Request, form: Form) -> Response:
        """Saves a play as far as it went."""
        room = self.rooms.room(request.path_params["id"])
        path = self.rooms.save(room)
        return html(page(
            "room", title=room.game, place="Plays", room=room, base=self.base,
            saved=self.folders.shown(path),
            replay="/replay?" + urlencode({"file": str(path), "game": room.file}),
        ))  # fmt: skip

    def close(self, request: Request, form: Form) -> Response:
        """Ends a play."""
        self.rooms.close(self.rooms.room(request.path_params["id"]))
        return see("/tables")

    # a seat

    def seat(self, request: Request, form: Form) -> Response:
        """Answers with the page of what a seat sees."""
        room, seat = self._seat(request)
        return self._seat_page(request, room, self.rooms.look(room, seat))

    def seat_part(self, request: Request, form: Form) -> Response:
        """The same as a fragment, if it has changed."""
        room, seat = self._seat(request)
        part = self._part(request, room, self.rooms.look(room, seat))
        mark = _mark(part)
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304)
        return HTMLResponse(part, headers={"etag": mark})

    def answer(self, request: Request, form: Form) -> Response:
        """Takes a reply; one that is none is shown again, with the reason."""
        room, seat = self._seat(request)
        seen = self.rooms.answer(room, seat, form)
        return self._after(request, room, seen)

    def undo(self, request: Request, form: Form) -> Response:
        """Takes the last choice back."""
        room, seat = self._seat(request)
        return self._after(request, room, self.rooms.undo(room, seat))

    def again(self, request: Request, form: Form) -> Response:
        """Starts another play with the same people."""
        room, _ = self._seat(request)
        self.rooms.again(room)
        return see(_here(request))

    def hint(self, request: Request, form: Form) -> Response:
        """Answers with what a solver would play."""
        room, seat = self._seat(request)
        return self._aside(request, lambda: page("hint", **self.rooms.advise(room, seat)))

    def review(self, request: Request, form: Form) -> Response:
        """Answers with what each choice cost."""
        room, seat = self._seat(request)

        def part() -> Markup:
            found = self.rooms.review(room, seat)
            costs = [Cost(step, chosen, cost) for _, step, chosen, _, cost in found["rows"]]
            title = "The cost of each choice, in units of payoff"
            drawn = cost_picture(costs).inline(title, "The table below has the same numbers.")
            total = sum(cost.cost for cost in costs)
            return page("review", picture=Markup(drawn), total=total, **found)

        return self._aside(request, part)

    def prompt(self, request: Request, form: Form) -> Response:
        """Answers with what a model at the seat is sent."""
        room, seat = self._seat(request)
        return self._aside(request, lambda: page("prompt", messages=self.rooms.prompt(room, seat)))

    def _seat(self, request: Request) -> tuple[Room, str]:
        return self.rooms.seat(request.path_params["token"])

    def _seat_page(self, request: Request, room: Room, seen: dict[str, Any]) -> Response:
        part = self._part(request, room, seen)
        return html(page(
            "seat", title=f"{seen['game']}, {seen['seat']}", place="Plays", seen=seen, part=part,
            mark=_mark(part), here=_here(request), owner=self.is_owner(request),
        ))  # fmt: skip

    def _part(self, request: Request, room: Room, seen: dict[str, Any]) -> Markup:
        return seat_part(
            seen, here=_here(request), owner=self.is_owner(request), **self._saved(room)
        )

    def _after(self, request: Request, room: Room, seen: dict[str, Any]) -> Response:
        if "refused" in seen:
            return self._seat_page(request, room, seen)
        return see(_here(request))

    def _aside(self, request: Request, part: Callable[[], Markup]) -> Response:
        """Returns a fragment for the page of a seat, or a page of it where no script runs."""
        try:
            found = part()
        except Refused as error:
            found = Markup('<p class="small" role="status">{}: {}.</p>').format(
                error.fact[:1].upper() + error.fact[1:], error.fix
            )
        if "part" in request.query_params:
            return HTMLResponse(found)
        return html(page(
            "fragment", title="The game", place="Plays", part=found, back=_here(request),
            owner=self.is_owner(request),
        ))  # fmt: skip


def _here(request: Request) -> str:
    return f"/seat/{request.path_params['token']}"


def _mark(part: str) -> str:
    return f'"{sha256(part.encode()).hexdigest()[:24]}"'


def make_app(studio: Studio, hosts: Sequence[str], token: str, cookie: str) -> ASGIApp:
    """Returns the application. `hosts` are what a `Host` header may be."""
    pages: list[Page] = [
        *studio.games.pages,
        *studio.replays.pages,
        ("GET", "/", studio.home),
        ("GET", "/play", studio.setup),
        ("POST", "/play", studio.start),
        ("GET", "/tables", studio.tables),
        ("GET", "/tables/{id}", studio.table),
        ("POST", "/tables/{id}/save", studio.save),
        ("POST", "/tables/{id}/close", studio.close),
        ("GET", "/seat/{token}", studio.seat),
        ("GET", "/seat/{token}/part", studio.seat_part),
        ("POST", "/seat/{token}/answer", studio.answer),
        ("POST", "/seat/{token}/undo", studio.undo),
        ("POST", "/seat/{token}/again", studio.again),
        ("GET", "/seat/{token}/hint", studio.hint),
        ("GET", "/seat/{token}/review", studio.review),
        ("GET", "/seat/{token}/prompt", studio.prompt),
    ]
    routes = [
        Route("/static/studio.css", _static(style_sheet, "text/css")),
        Route("/static/studio.js", _static(script, "text/javascript")),
        Route("/static/icon.svg", _static(lambda: ICON, "image/svg+xml")),
        *(Route(path, _answered(studio, handler), methods=[way]) for way, path, handler in pages),
    ]
    app = Starlette(routes=routes)
    studio.guard = Guard(app, hosts, token, cookie)
    return studio.guard


ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<rect width="16" height="16" rx="3" fill="#0060a8"/>'
    '<circle cx="5" cy="5" r="2" fill="#fff"/><circle cx="11" cy="11" r="2" fill="#fff"/></svg>'
)


def _static(text: Callable[[], str], kind: str) -> Callable[[Request], Response]:
    return lambda request: Response(text(), media_type=kind)


def _answered(studio: Studio, handler: Handler) -> Callable[[Request], Any]:
    """Returns what Starlette calls: the form is read within bounds, and the page is made in a
    thread. What is refused is a page that says why."""

    async def answered(request: Request) -> Response:
        try:
            form = await _form(request)
            return await run_in_threadpool(handler, request, form)
        except Refused as error:
            owner = studio.is_owner(request)
            back = request.headers.get("referer", "/")
            known = back.startswith(studio.base + "/")
            text = page(
                "refused", title="Refused", place="", fact=error.fact, fix=error.fix,
                back=back if known else "/", bare=not owner,
            )  # fmt: skip
            return HTMLResponse(text, status_code=400)

    return answered


async def _form(request: Request) -> Form:
    """Returns the fields of a form. Raises Refused for one that is too long."""
    if request.method != "POST":
        return {}
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_FORM:
            raise Refused("the form is too long", f"send at most {MOST_FORM:,} bytes")
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS,
            errors="strict", strict_parsing=bool(body),
        )  # fmt: skip
    except ValueError as error:
        raise Refused(f"the form cannot be read: {error}", "use the pages of the studio") from error
    return dict(pairs)
