"""One vLLM engine inside this process, asked step by step.

Requests are given as the token ids that the trainer's own tokenizer makes, adapters as the folders
that PEFT reads, and what comes back are the ids that were drawn: engine and trainer speak of the
same tokens. An adapter whose weights were written to is handed over again, under a name that was
never used before: nothing that is kept of an older one can be taken for it.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple
from weakref import WeakSet

import torch

from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.constraints import WITHOUT_SPACES, unusable
from gamedsl.policies.decode_row import choices_of, reply_of, room_for
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import Generated, Ids, Request, Turn
from gamedsl.policies.kv_room import CPU_ROOM, GIB

Idle = Literal["resident", "sleep"]

_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks that vLLM makes room for."""
_CPU_BLOCK = 32
"""Tokens that are kept together on a processor, and the least that prompts share."""
_LEAST_SHARE = 0.1
"""Share of the device's memory that must be free; what is taken is `VllmSettings.cache`."""
_QUIET = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
}
"""Environment variables, where they are not set: nothing is sent or printed by itself."""


@dataclass(frozen=True)
class VllmSettings:
    """Settings of vLLM beside the trainer."""

    idle: Idle = "resident"
    """`sleep`: its weights leave the GPU, and its cache is dropped, while adapters are trained."""
    cache: float | None = None
    """GiB of keys and values; None: by the memory that is free once all else is loaded."""
    context: int | None = None
    """The most tokens of prompt and reply together; None: as many as the model has."""


class _Handed(NamedTuple):
    """An adapter as vLLM has it."""

    version: int
    request: Any


class Pending(NamedTuple):
    """A reply under way, by the name that vLLM has for it."""

    name: str
    number: int
    request: Request
    prompt: Ids
    room: int
    choices: tuple[Ids, ...]


class VllmEngine:
    """Writes replies with one base model and the adapters that `save` writes."""

    def __init__(
        self,
        where: str,
        tokenizer: HFTokenizer,
        *,
        ends: frozenset[int],
        adapters: int,
        rank: int,
        dtype: torch.dtype,
        device: torch.device,
        settings: VllmSettings,
        version: Callable[[str], int],
        save: Callable[[str, Path], None],
    ) -> None:
        """where: the base model's folder or hub id. ends: ids that end a reply. adapters: how many
        there are. version: a number that changes with an adapter's weights; raises KeyError for an
        unknown one. save: writes an adapter's folder. Raises ModelError where vLLM does not start.
        """
        self._tokenizer, self._ends = tokenizer, ends
        self._version, self._save = version, save
        self._settings, self._asleep = settings, False
        self._handed: dict[str, _Handed] = {}
        self._ids = itertools.count(1)
        fitting = next((one for one in _RANKS if one >= rank), None)
        if fitting is None:
            raise ModelError(
                f"vLLM has no adapters of rank {rank}", f"set `lora.rank` to at most {_RANKS[-1]}"
            )
        self._vllm: Any = _start(
            where, rank=fitting, adapters=adapters, dtype=dtype, device=device, settings=settings
        )
        _RUNNING.add(self)
        self._folder = tempfile.TemporaryDirectory(prefix="gamedsl-vllm-")

    @property
    def longest(self) -> int:
        """The most tokens of prompt and reply together."""
        return int(self._vllm.model_config.max_model_len)

    def rest(self) -> None:
        """Sleep until the next request, if that is how it runs."""
        if self._settings.idle == "sleep" and not self._asleep:
            self._vllm.sleep(level=1)
            self._asleep = True

    def forget(self) -> None:
        """Drop the keys and values of earlier prompts."""
        if not self._asleep:  # what sleeps has none
            self._vllm.reset_prefix_cache()

    def close(self) -> None:
        """Stop vLLM and free what it holds, once no other engine of this process is open: vLLM
        takes down with one what all share. There is no way back."""
        from vllm.distributed import cleanup_dist_env_and_memory

        _RUNNING.discard(self)
        _CLOSED.append(self._vllm.engine_core)
        self._vllm = None
        self._folder.cleanup()
        if not _RUNNING:
            while _CLOSED:
                _CLOSED.pop().shutdown()
            cleanup_dist_env_and_memory()

    def session(self) -> VllmSession:
        """Begin to take requests; what slept wakes up with the first."""
        return VllmSession(self)

    def add(self, request: Request, number: int, prompts: dict[tuple[Turn, ...], Ids]) -> Pending:
        """Give vLLM a request; `prompts` keeps what was tokenised for it, and for others."""
        self._wake()
        one = self._pending(number, request, prompts)
        self._add(one)
        return one

    def step(self) -> list[Any]:
        """Lets vLLM run for one step and returns the finished replies."""
        return [output for output in self._vllm.step() if output.finished]

    def give_up(self, names: Sequence[str]) -> None:
        """Forget requests that are under way."""
        self._vllm.abort_request(list(names))

    def _wake(self) -> None:
        if self._asleep:
            self._vllm.wake_up()
            self._asleep = False

    def _pending(
        self, number: int, request: Request, prompts: dict[tuple[Turn, ...], Ids]
    ) -> Pending:
        if request.messages not in prompts:
            prompts[request.messages] = self._tokenizer.converse(request.messages).ids
        prompt = self._tokenizer.go_on(prompts[request.messages], request.prefix)
        room = room_for(len(prompt), request.max_tokens, self.longest)
        return Pending(
            f"{next(self._ids)}", number, request, prompt, room,
            choices_of(self._tokenizer, request),
        )  # fmt: skip

    def _add(self, asked: Pending) -> None:
        from vllm import SamplingParams
        from vllm.exceptions import VLLMValidationError
        from vllm.inputs import tokens_input

        request = asked.request
        adapter = self._adapter(request.adapter)
        room = asked.room
        if asked.choices:  # vLLM ends a choice with an end token, which is taken off again
            room = min(room + 1, self.longest - len(asked.prompt))
        params = SamplingParams(
            temperature=request.temperature,
            max_tokens=room,
            seed=request.seed & (2**63 - 1),
            stop=list(map(self._tokenizer.tags.in_reply, request.stop)),
            stop_token_ids=sorted(self._ends),
            logprobs=0,
            detokenize=bool(request.stop),
            skip_special_tokens=False,
            include_stop_str_in_output=True,
            output_kind=_final_only(),
            structured_outputs=_constraint(request.schema, asked.choices),
        )
        try:
            self._vllm.add_request(
                asked.name, tokens_input(list(asked.prompt)), params, lora_request=adapter
            )
        except VLLMValidationError as error:
            if request.schema is None:
                raise
            raise unusable(str(error)) from error

    def reply(self, asked: Pending, said: Any) -> Generated:
        if said.finish_reason not in ("stop", "length"):
            raise ModelError(
                f"vLLM broke a reply off: {said.finish_reason}",
                "set VLLM_LOGGING_LEVEL=INFO to see what it says of it",
            )
        finish = said.finish_reason
        reply = tuple(said.token_ids)
        log_probs = tuple(one[token].logprob for one, token in zip(said.logprobs, reply))
        if asked.choices:
            known = next((c for c in asked.choices if reply[: len(c)] == c), reply)
            reply = known[: asked.room]
            finish = "stop" if reply in asked.choices else "length"
        if asked.request.temperature == 0:
            log_probs = (0.0,) * len(reply)
        return reply_of(
            asked.prompt, reply, log_probs[: len(reply)], self._ends, self._tokenizer.text, finish
        )

    def _adapter(self, name: str) -> Any:
        """vLLM's handle of an adapter as it is now. Raises KeyError."""
        from vllm.lora.request import LoRARequest

        version = self._version(name)
        known = self._handed.get(name)
        if known is not None and known.version == version:
            return known.request
        if known is not None:
            self._vllm.remove_lora(known.request.lora_int_id)
            shutil.rmtree(known.request.lora_path)
        number = next(self._ids)
        folder = Path(self._folder.name) / f"{name}-{number}"
        self._save(name, folder)
        request = LoRARequest(folder.name, number, str(folder))
        self._vllm.add_lora(request)
        self._handed[name] = _Handed(version, request)
        return request


class VllmSession:
    """A `generation.Session` of an engine."""

    def __init__(self, engine: VllmEngine) -> None:
        self._engine, self._count = engine, 0
        self._prompts: dict[tuple[Turn, ...], Ids] = {}
        self._pending: dict[str, Pending] = {}

    @property
    def under_way(self) -> bool:
        return bool(self._pending)

    def ask(self, requests: Sequence[Request]) -> None:
        for request in requests:
            one = self._engine.add(request, self._count, self._prompts)
            self._pending[one.name] = one
            self._count += 1

    def step(self) -> list[tuple[int, Generated]]:
        done = [(self._pending.pop(o.request_id), o.outputs[0]) for o in self._engine.step()]
        return [(one.number, self._engine.reply(one, said)) for one, said in done]

    def close(self) -> None:
        if self._pending:  # something was raised
            self._engine.give_up(list(self._pending))


_RUNNING: WeakSet[VllmEngine] = WeakSet()
"""The engines of this process that were not closed."""
_CLOSED: list[Any] = []
"""The cores of those that were, while others are open."""


def _final_only() -> Any:
    from vllm.sampling_params import RequestOutputKind

    return RequestOutputKind.FINAL_ONLY


def _constraint(schema: Mapping[str, Any] | None, choices: Sequence[Ids]) -> Any:
    """Returns a constraint in vLLM's form: choices as their exact tokens."""
    from vllm.sampling_params import StructuredOutputsParams

    if schema is not None:
        return StructuredOutputsParams(json=json.dumps({**schema, "x-guidance": WITHOUT_SPACES}))
    if choices:
        texts = (" ".join(f"<[{token}]>" for token in ids) for ids in choices)
        return StructuredOutputsParams(grammar="start: " + " | ".join(texts))
    return None


def _start(
    where: str, *, rank: int, adapters: int, dtype: torch.dtype, device: torch.device,
    settings: VllmSettings,
) -> Any:  # fmt: skip
    """vLLM's engine, in this process. Raises ModelError."""
    on_cpu = device.type == "cpu"
    if on_cpu and settings.idle == "sleep":
        raise ModelError("vLLM can sleep on a GPU alone", "leave `vllm.idle` out")
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    with _in_process(), _own_torch(device):
        from vllm import EngineArgs, LLMEngine

        logging.getLogger("vllm").setLevel(os.environ["VLLM_LOGGING_LEVEL"])
        arguments = EngineArgs(
            model=where,
            dtype=str(dtype).removeprefix("torch."),
            max_model_len=settings.context,
            kv_cache_memory_bytes=int((settings.cache or CPU_ROOM) * GIB),
            gpu_memory_utilization=_LEAST_SHARE,
            enforce_eager=on_cpu,  # compiling takes longer there than most runs
            block_size=_CPU_BLOCK if on_cpu else None,
            enable_prefix_caching=True,
            enable_lora=True,
            max_loras=adapters,
            max_lora_rank=rank,
            logprobs_mode="processed_logprobs",
            structured_outputs_config={"backend": "guidance"},
            enable_sleep_mode=settings.idle == "sleep",
            use_tqdm_on_load=False,
            disable_log_stats=True,
        )
        try:
            return LLMEngine.from_engine_args(arguments)
        except (ValueError, RuntimeError, OSError) as error:
            raise ModelError(
                f"vLLM does not start: {error}",
                "see docs/engines.md; `vllm.cache` and `vllm.context` say how much memory it takes",
            ) from error


@contextmanager
def _in_process() -> Iterator[None]:
    """While vLLM starts, it is told to run its worker here."""
    name = "VLLM_ENABLE_V1_MULTIPROCESSING"
    before = os.environ.get(name)
    os.environ[name] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def _own_torch(device: torch.device) -> Iterator[None]:
    """Put back what vLLM's start changes in torch: its random state, the number of threads, and
    the function that sets them."""
    set_threads, threads = torch.set_num_threads, torch.get_num_threads()
    try:
        with torch.random.fork_rng([] if device.type == "cpu" else [device]):
            yield
    finally:
        torch.set_num_threads = set_threads
        torch.set_num_threads(threads)
