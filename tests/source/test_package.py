"""The source archive is whole: what is installed from it validates, and its tests run. The images
are built of files and extras that there are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
IMAGES = ("Dockerfile", "Dockerfile.cuda")


def run(*command: str | Path, **given: object) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=environment, **given
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the source archive, beside the archive."""
    pytest.importorskip("build", reason='needs pip install -e ".[dev]"')
    out = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_REPOSITORY", "Some/games")
        patch.setenv("GITHUB_SERVER_URL", "https://github.com")
        run(sys.executable, "-m", "build", "--sdist", "--outdir", out, ROOT)
    (archive,) = out.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(out, filter="data")
    return out / archive.name.removesuffix(".tar.gz")


@pytest.mark.slow
def test_package_installs_from_its_source_archive(unpacked: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "env")
    found = tmp_path / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    archive = unpacked.with_name(f"{unpacked.name}.tar.gz")
    run(found / "python", "-m", "pip", "install", "-q", archive)
    assert "stag_hunt.yaml: ok" in run(found / "gamedsl", "validate", "stag_hunt", cwd=tmp_path)
    code = "import gamedsl; print(len(gamedsl.games()), gamedsl.load('kuhn_poker'))"
    shown = run(found / "python", "-c", code, cwd=tmp_path)
    assert re.match(r"\d\d <Game kuhn_poker: ", shown)


@pytest.mark.slow
def test_tests_of_the_source_archive_run(unpacked: Path) -> None:
    given = ("-q", "-p", "no:cacheprovider", "tests/spec", "tests/docs/test_layers.py")
    shown = run(sys.executable, "-m", "pytest", *given, cwd=unpacked)
    assert " passed" in shown or "[100%]" in shown


@pytest.mark.slow
def test_package_names_the_repository_that_builds_it(unpacked: Path) -> None:
    told = (unpacked / "PKG-INFO").read_text(encoding="utf-8")
    urls = dict(re.findall(r"^Project-URL: (\w+), (\S+)$", told, re.M))
    assert urls["Documentation"] == "https://some.github.io/games/"
    assert urls["Issues"] == "https://github.com/Some/games/issues"


@pytest.mark.parametrize("name", IMAGES)
def test_images_copy_what_the_wheel_needs(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    copied = {part for line in re.findall(r"^COPY (.+) \S+$", text, re.M) for part in line.split()}
    assert all((ROOT / part).exists() for part in copied)
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], *PROJECT["project"]["license-files"]}
    assert copied >= {*needed, "pyproject.toml", "hatch_build.py", "README.md", "constraints.txt"}
    (extras,) = re.findall(r"^ARG EXTRAS=(\w+)$", text, re.M)
    assert extras in PROJECT["project"]["optional-dependencies"]
    (python,) = re.findall(r"^FROM python:([\d.]+)-slim$", text, re.M)
    assert f"Programming Language :: Python :: {python}" in PROJECT["project"]["classifiers"]


@pytest.mark.parametrize("name", IMAGES)
def test_images_are_clean_for_hadolint(name: str) -> None:
    if shutil.which("hadolint") is None:
        pytest.skip("hadolint is not installed")
    run("hadolint", ROOT / name)


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.stem
)
def test_workflows_are_read_and_ask_for_little(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        assert all("uses" in step or "run" in step for step in job["steps"])
