"""The pages of games: the list, the editor, and what is known of a game.

Nothing is written but by the buttons that say so: a file that lies below the folders, or a copy of
a shipped one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from gamedsl.commands.new import templates, text_of
from gamedsl.frontend.source.loader import MAX_BYTES
from gamedsl.mcp.refusal import Refused
from gamedsl.sema.library import shipped
from gamedsl.storage.reader import FileRefused, read_text
from gamedsl.storage.writer import write_output
from gamedsl.studio.answers import Form, Page, html, move_of, see
from gamedsl.studio.folders import Folders
from gamedsl.studio.rendering import page
from gamedsl.studio.rooms import Workers

_NAME = re.compile(r"[a-z][a-z0-9_]{0,199}")

VIEWS = {
    "table": "Payoffs",
    "tree": "Tree",
    "flow": "Turns",
    "sight": "Who sees what",
}
"""The pictures of a game, by the names that pages give them."""

MOST_RESULTS = 20
"""Runs whose results the list of games shows, the newest."""

PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""The content that a picture may have: its own style sheet, which we wrote."""


class GamePages:
    """Pages of games."""

    def __init__(self, folders: Folders, workers: Workers) -> None:
        self._folders, self._workers = folders, workers
        self._facts: dict[tuple[str, int], dict[str, Any]] = {}

    @property
    def pages(self) -> list[Page]:
        return [
            ("GET", "/game", self.game),
            ("POST", "/game/check", self.checked),
            ("POST", "/game/problems", self.problems),
            ("POST", "/game/claims", self.claims),
            ("POST", "/game/played", self.played),
            ("POST", "/game/save", self.save),
            ("GET", "/game/facts", self.facts),
            ("GET", "/game/picture", self.picture),
            ("GET", "/new", self.new),
            ("POST", "/new", self.write_new),
        ]

    def games(self, request: Request, form: Form) -> Response:
        """The list of games, those that a search names."""
        own = [str(path) for path in self._folders.games()]
        rows = self._workers.call("pages", "games", own=own)
        words = request.query_params.get("words", "").casefold().split()
        tag = request.query_params.get("tag", "")
        found = [row for row in rows if (not tag or tag in row["tags"]) and _has(row, words)]
        results = self._last_results()
        for row in found:
            row["result"] = results.get(row["name"])
            row["query"] = urlencode({"file": row["file"]})
            row["shown"] = self._folders.shown(row["file"])
        return html(page(
            "games", title="Games", place="Games", games=found, total=len(rows), tag=tag,
            words=" ".join(words), tags=sorted({tag for row in rows for tag in row["tags"]}),
        ))  # fmt: skip

    def _last_results(self) -> dict[str, dict[str, str]]:
        """Returns what the newest run of each game came to, and the query of its page."""
        folders = self._folders.runs()[:MOST_RESULTS]
        if not folders:
            return {}
        rows = self._workers.call("pages", "runs", folders=[str(one) for one in folders])
        return {
            row["game"]: {"headline": row["headline"], "query": urlencode({"folder": str(folder)})}
            for row, folder in reversed(list(zip(rows, folders, strict=True)))
            if row["headline"]
        }

    def game(self, request: Request, form: Form) -> Response:
        """A part of what is known of a game; first the editor."""
        file = request.query_params.get("file", "")
        tab = request.query_params.get("tab", "edit")
        if tab == "edit":
            return self._editor(file, self._text(file))
        path = self._folders.game(file)
        try:
            part = self._part(tab, file, path, request)
        except Refused as error:
            part = page("unavailable", fact=error.fact, fix=error.fix)
        return self._page(file, tab, part)

    def _part(self, tab: str, file: str, path: str, request: Request) -> Markup:
        query = urlencode({"file": file})
        if tab in VIEWS:
            found = self._workers.call(f"game\n{path}", "pictures", file=path)
            if tab not in found["views"]:
                known = ", ".join(VIEWS[view] for view in found["views"])
                raise Refused(f"this game has no {VIEWS[tab].lower()} to draw", f"see {known}")
            hint = found["hint"] if tab == "tree" else ""
            return page("view", view=tab, what=VIEWS[tab], query=query, hint=hint)
        if tab == "rules":
            found = self._workers.call(f"game\n{path}", "pictures", file=path)
            return page("rules", query=query, seat="the first seat", rules=found["rules"])
        if tab == "prompts":
            seat, at = (request.query_params.get(name, "") for name in ("seat", "at"))
            found = self._workers.call(f"game\n{path}", "prompts", file=path, seat=seat, at=at)
            facts = self._workers.call(f"game\n{path}", "describe", file=path, params={})
            return page(
                "prompts", prompts=found["prompts"], seats=facts["seats"], seat=seat, at=at,
                file=file,
            )  # fmt: skip
        if tab == "proofs":
            found = self._workers.call(f"game\n{path}", "proofs", file=path)
            return page("proofs", found=found, query=query)
        if tab == "witness":
            given = request.query_params
            return self._witness(path, query, given.get("proof", ""), move_of(given))
        if tab == "solution":
            text = self._workers.call(f"game\n{path}", "solution", file=path)
            return page("solution", text=text)
        raise Refused(f"there is no part `{tab}`", "choose one of those above")

    def _witness(self, path: str, query: str, name: str, move: int | None) -> Markup:
        """The plays that refute a claim."""
        told = self._workers.call(f"game\n{path}", "proofs", file=path)
        proof = next((one for one in told["proofs"] if one["name"] == name), None)
        if proof is None or not proof["histories"]:
            raise Refused(f"there is no witness against `{name}`", "see the proofs")
        found = self._workers.call(
            f"game\n{path}", "witness", file=path, moves=proof["histories"], move=move
        )
        problem = next((one for one in told["problems"] if one["code"] in proof["codes"]), None)
        address = f"/game?{urlencode({'tab': 'witness', 'proof': name})}&{query}"
        return _witness_part(found, proof, problem, query=query, address=address, form="")

    def _page(self, file: str, tab: str, part: Markup) -> Response:
        tabs = [
            ("edit", "File"), ("rules", "Rules"), *VIEWS.items(), ("prompts", "Prompts"),
            ("proofs", "Proofs"), ("solution", "Solution"),
        ]  # fmt: skip
        shown = self._folders.shown(self._folders.game(file))
        return html(page(
            "game", title=shown, place="Games", shown=shown, tab=tab, tabs=tabs, part=part,
            query=urlencode({"file": file}),
        ))  # fmt: skip

    def _editor(
        self, file: str, text: str, known: dict[str, Any] | None = None, notice: str = "",
        played: Markup | str = "",
    ) -> Response:  # fmt: skip
        if known is None:
            known = self._typed(file, text)
        name = file if self._is_shipped(file) else Path(file).stem
        part = page(
            "editor", file=file, text=text, own=not self._is_shipped(file), name=name,
            notice=notice, problems=page("problems", **known), played=played,
        )  # fmt: skip
        return self._page(file, "edit", part)

    def _typed(self, file: str, text: str) -> dict[str, Any]:
        """Returns the problems of a text up to its types."""
        path = self._folders.game(file)
        found = self._workers.call("check", "check", file=path, text=text)
        return {"problems": found, "grades": {}}

    def checked(self, request: Request, form: Form) -> Response:
        """The editor with the problems of a text that is not saved, those of its claims too."""
        file, text = form.get("file", ""), _text(form)
        known = self._typed(file, text)
        if not any(one["severity"] == "error" for one in known["problems"]):
            known = self._claims(file, text)
        return self._editor(file, text, known)

    def problems(self, request: Request, form: Form) -> Response:
        """The problems of a text as a fragment."""
        try:
            found = self._typed(form.get("file", ""), _text(form))
        except Refused as error:
            return HTMLResponse(page("unavailable", fact=error.fact, fix=error.fix))
        return HTMLResponse(page("problems", **found))

    def _claims(self, file: str, text: str) -> dict[str, Any]:
        path = self._folders.game(file)
        found: dict[str, Any] = self._workers.call(_claims_of(path), "claims", file=path, text=text)
        return found

    def claims(self, request: Request, form: Form) -> Response:
        """The same with what proofs find. What is being proved of an earlier text is given up."""
        file = form.get("file", "")
        self._workers.interrupt(_claims_of(self._folders.game(file)))
        try:
            return HTMLResponse(page("problems", **self._claims(file, _text(form))))
        except Refused as error:
            part = page("unavailable", fact=error.fact, fix=error.fix)
            return HTMLResponse(part, status_code=503)

    def played(self, request: Request, form: Form) -> Response:
        """The plays that refute a claim of a text that is not saved: `proof`, from their end on, or
        `stepping`, after `move` moves."""
        file, text = form.get("file", ""), _text(form)
        path = self._folders.game(file)
        named = form.get("proof")
        shown = self._workers.call(
            _claims_of(path), "played", file=path, text=text,
            proof=named or form.get("stepping", ""), move=None if named else move_of(form),
        )  # fmt: skip
        part = _witness_part(**shown, query="", address="/game/played", form="editor")
        if "part" in request.query_params:
            return HTMLResponse(part)
        return self._editor(file, text, self._claims(file, text), played=part)

    def save(self, request: Request, form: Form) -> Response:
        """Saves the text: in its file, or as a copy of a shipped game."""
        file, text = form.get("file", ""), _text(form)
        if not self._is_shipped(file):
            path = Path(self._folders.game(file))
            self._write(path, text)
            return self._editor(file, text, notice=f"Saved: {self._folders.shown(path)}.")
        path = self._free(form.get("as", ""))
        self._write(path, text)
        return see("/game?" + urlencode({"file": str(path)}))

    def new(self, request: Request, form: Form) -> Response:
        """The form with which a game's file begins."""
        return html(page("new", title="New game", place="Games", templates=list(templates())))

    def write_new(self, request: Request, form: Form) -> Response:
        """Writes a file from a starter."""
        template = form.get("template", "")
        if template not in templates():
            raise Refused(f"there is no template `{template}`", "choose one of the list")
        path = self._free(form.get("name", ""))
        self._write(path, text_of(template, path.stem))
        return see("/game?" + urlencode({"file": str(path)}))

    def _free(self, name: str) -> Path:
        """Returns the path of a new file, in the folder `games` if there is one. Raises Refused."""
        if not _NAME.fullmatch(name):
            fix = "take small letters, digits and `_`, a letter first"
            raise Refused(f"`{name}` cannot be a game's name", fix)
        root = self._folders.roots[0]
        path = self._folders.inside((root / "games" if (root / "games").is_dir() else root) / (
            f"{name}.yaml"
        ))  # fmt: skip
        if path.exists():
            raise Refused(f"{self._folders.shown(path)} is there already", "take another name")
        return path

    def _write(self, path: Path, text: str) -> None:
        try:
            write_output(path, text)
        except OSError as error:
            fix = "let the studio write there"
            raise Refused(f"{self._folders.shown(path)} cannot be written: {error}", fix) from error

    def facts(self, request: Request, form: Form) -> Response:
        """The picture, the size and the grades of a game, as a fragment."""
        file = request.query_params.get("file", "")
        path = self._folders.game(file)
        key = path, Path(path).stat().st_mtime_ns
        try:
            if key not in self._facts:
                self._facts[key] = self._workers.call("facts", "facts", file=path)
            part = page("facts", facts=self._facts[key], query=urlencode({"file": file}))
        except Refused as error:
            part = page("unavailable", fact=error.fact, fix=error.fix)
        return HTMLResponse(part)

    def picture(self, request: Request, form: Form) -> Response:
        """A view of a game, as a picture."""
        path = self._folders.game(request.query_params.get("file", ""))
        view = request.query_params.get("view", "")
        if view not in VIEWS:
            raise Refused(f"there is no view `{view}`", f"there are {', '.join(VIEWS)}")
        drawn = self._workers.call("facts", "picture", file=path, view=view)
        headers = {"content-security-policy": PICTURE_POLICY}
        return Response(drawn, media_type="image/svg+xml", headers=headers)

    def _text(self, file: str) -> str:
        try:
            return read_text(self._folders.game(file), limit=MAX_BYTES)
        except FileRefused as error:
            raise Refused(str(error), "name a game's file") from error

    @staticmethod
    def _is_shipped(file: str) -> bool:
        return file in shipped("game")


def _claims_of(path: str) -> str:
    """Returns the name of the worker that proves the claims of a file as it is typed."""
    return f"claims\n{path}"


def _witness_part(
    found: dict[str, Any], proof: dict[str, Any], problem: dict[str, Any] | None, *, query: str,
    address: str, form: str,
) -> Markup:  # fmt: skip
    """Returns the plays that refute a claim, as a fragment; `address` is where the others of their
    points are, by buttons of a form if one is named."""
    for play in found["plays"]:
        play["talk"] = Markup(play["talk"])
        play["step"]["next"] = Markup(play["step"]["next"])
    return page(
        "witness", found=found, proof=proof, problem=problem, query=query, address=address,
        form=form,
    )  # fmt: skip


def _text(form: Form) -> str:
    """Returns the text of an editor, whose lines browsers end in their own way."""
    return form.get("text", "").replace("\r\n", "\n").replace("\r", "\n")


def _has(row: dict[str, Any], words: list[str]) -> bool:
    whole = " ".join((row["name"], row["about"], *row["tags"])).casefold()
    return all(word in whole for word in words)
