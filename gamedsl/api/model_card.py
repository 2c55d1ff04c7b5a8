"""A run as two repositories of the Hugging Face Hub: a model with its card, and its plays.

`write_card(run, out)` writes them, without any network:

    out/model/    README.md (the card), adapters, game, recipe, metrics, page, portrait
    out/plays/    README.md, plays.jsonl: a data set that `datasets.load_dataset` reads

`upload(out, name)` sends them to `name` and `name-plays`. The token is the one that huggingface_hub
finds, in `HF_TOKEN` or where `hf auth login` put it; it is never written or printed here.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gamedsl.diagnostics import Problems
from gamedsl.errors import UserError
from gamedsl.extras import missing
from gamedsl.recipe.resolve import flat_settings, override, read_recipe, resolve
from gamedsl.runs.saved import METRICS, RECIPE, SavedRun, number_in, open_saved
from gamedsl.storage import writer
from gamedsl.storage.reader import read_bytes
from gamedsl.training.summary import is_complete, policy_of
from gamedsl.view.charts import chart_file
from gamedsl.view.report.page import headline, summary_of, write_report
from gamedsl.view.report.portrait import picture
from gamedsl.view.report.run_data import RunData, read_run

MODEL, PLAYS = "model", "plays"
"""The folders of the two repositories."""

PLAYS_CARD = """# Plays of {game}

{records} records of plays from a training run of gamedsl, `step` by `step`. A record stands for
`games` equal plays. Payoffs and rewards are exact, as texts; null: the play is void for the seat.
`transcript` has the whole record, which `gamedsl replay` checks.

```python
from datasets import load_dataset

plays = load_dataset(FOLDER_OR_NAME)
```
"""

MANY_BYTES = 1 << 36
FIRST = ("method", "preset", "replies")
"""Settings on which the defaults of others depend."""


def write_card(folder: Path, out: Path) -> list[Path]:
    """Writes both repositories of a run, and returns their files. Raises RunDamaged, and UserError
    where the copy of the game is lost or `out` has files of something else."""
    if out.exists() and {path.name for path in out.iterdir()} - {MODEL, PLAYS}:
        raise UserError(f"`{out}` has other files", "give a folder that does not exist")
    saved, run = open_saved(folder), read_run(folder)
    if run.game is None:
        raise UserError(f"{folder / 'game'} has no copy of the game that was trained",
                        "put back a copy of it")  # fmt: skip
    written = [*_copies(saved, out / MODEL), *_plays(saved, run, out / PLAYS)]
    drawn = _portrait(run)
    if drawn:
        written.append(_write(out / MODEL / "portrait.svg", drawn))
    page = write_report(folder)
    written.append(_copy(out / MODEL / "report.html", page))
    adapters = sorted(saved.adapters())
    card = _card(run, adapters, portrait=bool(drawn), plays=bool(saved.transcripts()))
    return [_write(out / MODEL / "README.md", card), *written]


def upload(out: Path, name: str, *, private: bool = False) -> list[str]:
    """Sends the folders that `write_card` wrote to the Hub, as the model `name` and the data set
    `name-plays`. Returns their addresses.

    Raises ImportError without huggingface_hub, and UserError without a token, or where the Hub
    refuses.
    """
    try:
        import huggingface_hub
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError as error:
        raise missing("huggingface_hub", "hub") from error
    if huggingface_hub.get_token() is None:
        raise UserError("there is no token for the Hub", "set HF_TOKEN, or: hf auth login")
    api = huggingface_hub.HfApi()
    found = []
    for folder, repo, kind in ((MODEL, name, "model"), (PLAYS, f"{name}-plays", "dataset")):
        if not (out / folder).is_dir():
            continue
        try:
            made = api.create_repo(repo, repo_type=kind, private=private, exist_ok=True)
            api.upload_folder(
                folder_path=out / folder, repo_id=made.repo_id, repo_type=kind,
                commit_message=f"Upload of gamedsl push: {folder}",
            )  # fmt: skip
        except (HfHubHTTPError, HFValidationError, OSError) as error:
            reason = str(error).splitlines()[0]
            raise UserError(
                f"the Hub refuses `{repo}`: {reason}",
                "check the name, and that the token may write there",
            ) from error
        found.append(str(made))
    return found


def reproduce(run: RunData, saved: SavedRun) -> list[str]:
    """Returns the words of the command that trains the run again from the card's folder: those
    settings that the game does not have by itself."""
    assert run.game is not None
    wanted = dict(flat_settings(read_recipe(saved.settings()).as_dict()))
    given: dict[str, Any] = {}
    for keys in (FIRST, tuple(wanted)):
        resolved = resolve(
            run.game.ir, [override(key, value) for key, value in given.items()], Problems()
        )
        usual = dict(flat_settings(resolved.as_dict()))
        given |= {k: wanted[k] for k in keys if k in wanted and wanted[k] != usual.get(k)}
    words = ["gamedsl", "train", f"game/{run.game.files[0].name}"]
    for name, value in run.info.get("params", {}).items():
        words += ["--param", f"{name}={_yaml(value)}"]
    for key, value in given.items():
        words += ["--set", f"{key}={_yaml(value)}"]
    return words


def _yaml(value: object) -> str:
    """Returns a plain value on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=1 << 20)
    return text.removesuffix("...\n").strip()


def _copies(saved: SavedRun, to: Path) -> Iterator[Path]:
    """Copies adapters, the game, the recipe and the metrics. `run.json` has paths of the machine
    that trained, and stays."""
    names = ("adapters", "game")
    for path in sorted(path for name in names for path in (saved.path / name).rglob("*")):
        if path.is_file():
            yield _copy(to / path.relative_to(saved.path), path, below=saved.path)
    for name in (RECIPE, METRICS):
        yield _copy(to / name, saved.path / name, below=saved.path)


def _plays(saved: SavedRun, run: RunData, to: Path) -> Iterator[Path]:
    """Writes the data set, if the run kept transcripts."""
    rows = [
        json.dumps(_row(number_in(file), record), ensure_ascii=False)
        for file in saved.transcripts()
        for record in saved.transcript(file, saved.transcript_lines(file))
    ]
    if not rows:
        return
    yield _write(to / "plays.jsonl", "\n".join(rows) + "\n")
    head = {
        "tags": ["gamedsl", run.info["game"]],
        "configs": [{"config_name": "default", "data_files": "plays.jsonl"}],
    }
    text = PLAYS_CARD.format(game=run.info["game"], records=f"{len(rows):,}")
    yield _write(to / "README.md", _front(head) + text)


def _row(step: int, record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a record as a row whose columns have the same types in all games."""
    choices = [
        {"seat": seat, "step": str(entry.get("step", "")), "choice": choice}
        for entry in record["steps"]
        for seat, choice in entry.get("choices", {}).items()
    ]
    failures = record["failures"].items()
    return {
        "step": step,
        "games": record.get("games", 1),
        "seed": record.get("seed", 0),
        "choices": choices,
        "payoffs": _amounts(record.get("payoffs", {})),
        "rewards": _amounts(record["rewards"]),
        "forfeits": [{"seat": seat, "reason": one["reason"]} for seat, one in failures],
        "transcript": json.dumps(record, ensure_ascii=False),
    }


def _amounts(amounts: Mapping[str, Any]) -> list[dict[str, str | None]]:
    return [
        {"seat": seat, "amount": None if amount is None else str(amount)}
        for seat, amount in amounts.items()
    ]


def _portrait(run: RunData) -> str:
    """Returns the picture of the run in the plane of its game; empty where the game has none."""
    if run.tree is None:
        return ""
    rows = [(record["step"], policy_of(record)) for record in run.policy_records]
    course = [(step, policy) for step, policy in rows if is_complete(run.tree, policy)]
    drawn = picture(run.tree, course, (run.start or {}).get("prediction"))
    return chart_file(drawn) if drawn else ""


def _card(run: RunData, adapters: list[str], *, portrait: bool, plays: bool) -> str:
    """Returns the model card."""
    assert run.game is not None
    models = list(dict.fromkeys(run.info.get("models", {}).values())) or [run.info.get("model")]
    built_in = {"tabular", "tiny"}
    base = [model for model in models if model and model not in built_in]
    head = {
        "library_name": "peft" if base and adapters else "gamedsl",
        "tags": ["gamedsl", "self-play", run.info["game"]],
        **({"base_model": base[0] if len(base) == 1 else base} if base else {}),
    }
    about = run.game.ir.about or f"The game {run.info['game']}."
    found = headline(run)
    lines = [
        f"# {run.info['game']}, trained with gamedsl", about, " ".join(summary_of(run)),
        *([f"**{found}**"] if found else []),
        *(["![The course of the run](portrait.svg)"] if portrait else []),
        "## Files",
        "\n".join([
            f"- `adapters`: {', '.join(f'`{name}`' for name in adapters) or 'none yet'}",
            f"- `game`: the rules; hash `{run.game.hash}`",
            f"- `{RECIPE}`: every setting; `{METRICS}`: the record of each step",
            "- `report.html`: the whole run on one page",
            *(["- The plays are a data set beside this model, whose name ends in `-plays`."]
              if plays else []),
        ]),
        "## Train it again",
        f"```\n{shlex.join(reproduce(run, open_saved(run.folder)))}\n```",
        f"Seed {run.info.get('seed')}; versions: "
        + ", ".join(f"{name} {found}" for name, found in run.info.get("versions", {}).items())
        + ". Other versions and other processors may round otherwise.",
    ]  # fmt: skip
    return _front(head) + "\n\n".join(lines) + "\n"


def _front(head: Mapping[str, Any]) -> str:
    return f"---\n{yaml.safe_dump(dict(head), sort_keys=False, allow_unicode=True)}---\n\n"


def _write(path: Path, text: str) -> Path:
    writer.write_text(path, text)
    return path


def _copy(path: Path, source: Path, below: Path | None = None) -> Path:
    writer.write_bytes(path, read_bytes(source, limit=MANY_BYTES, below=below))
    return path
