"""The page on clusters: its arithmetic is what it shows, and its manifest is read as meant."""

from __future__ import annotations

import contextlib
import io

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
