"""The page on clusters: its arithmetic is what it shows, and its manifest is read as meant."""

from __future__ import annotations

import contextlib
import io
import json

import yaml

from tests.docs.page_blocks import DOCS, blocks

PAGE = blocks(DOCS / "cluster.md")


def test_arithmetic_prints_its_table() -> None:
    (code,) = (block.text for block in PAGE if block.kind == "python")
    (shown,) = (block.text for block in PAGE if block.kind == "text")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    assert printed.getvalue() == shown


def test_manifest_is_a_ray_job() -> None:
    (text,) = (block.text for block in PAGE if block.kind == "yml")
    job = yaml.safe_load(text)
    cluster = job["spec"]["rayClusterSpec"]
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert job["spec"]["entrypoint"].startswith("gamedsl train guess_in_words")
    assert cluster["workerGroupSpecs"][0]["template"] == cluster["headGroupSpec"]["template"]


def test_costs_of_workers_are_the_committed_ones() -> None:
    path = DOCS.parent / "benchmarks" / "results" / "workers.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    page = (DOCS / "cluster.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    overhead, waits = found["overhead"], found["turns"]
    for start, cells in (
        ("turns a second, ", [f"{overhead['turns_per_second'][n]:,.0f}" for n in "012"]),
        ("time that workers add ", ["", *(f"{overhead['ms_per_game'][n]:.2f} ms" for n in "12")]),
        ("share of the ideal speed, ", ["", *(f"{waits['of_ideal'][n]:.2f}" for n in "12")]),
    ):
        assert [row[1:] for row in rows if row and row[0].startswith(start)] == [cells]
    updates = found["updates"]
    assert (found["turns_per_game"], waits["wait"], updates["staleness"]) == (10, 0.05, 1)
    assert f"two workers reach {updates['of_ideal']:.2f} of the ideal speed." in page
