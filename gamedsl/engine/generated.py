"""The generated backend: a Python module for each game, written once and kept.

Modules are kept in the cache folder under the hash of the game's rules and of the generator, and in
this process; they are ordinary Python to read and to step through. A game that the generator cannot
write is played by the reference, as is any history in which the generated code does not know how to
go on (`gamedsl.engine.codegen`).
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gamedsl.engine.codegen.interpreter_fallback import InterpreterFallback
from gamedsl.engine.interpreter import Interpreter
from gamedsl.engine.kernel import State
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Draw, walk_steps
from gamedsl.ir.types import domain
from gamedsl.storage.cache import CacheRefused, own_folder, read_entry, write_entry
from gamedsl.storage.writer import unlink

if TYPE_CHECKING:
    from gamedsl.prompting.declared_views import ViewCode

KEPT = 256
"""Modules that are kept in the process."""


SAVED = 1_000
"""Modules that are kept in the cache folder."""


class Generated:
    """The rules of one game as Python. A `gamedsl.engine.kernel.Kernel`."""

    def __init__(self, ir: GameIR) -> None:
        self.ir = ir
        self.steps = {step.id: step for step in ir.steps}
        self._ranks: dict[str, Mapping[Any, int]] = {}
        module = module_of(ir)
        self.written = module is not None
        """Whether the generator could write the game."""
        self._start: Callable[[], State]
        if module is None:
            self._start = self.reference.start
        else:
            self._start = type("State", (module.State,), {"__slots__": (), "kernel": self})
            self.fallback = type(
                "InterpreterFallback", (InterpreterFallback, self._start), {"__slots__": ()}
            )

    def start(self) -> State:
        return self._start()

    @cached_property
    def reference(self) -> Interpreter:
        """The backend that decides where the generated code does not."""
        return Interpreter(self.ir)

    def ranks(self, step: str) -> Mapping[Any, int]:
        """Returns the rank of each value that may be drawn at a step."""
        found = self._ranks.get(step)
        if found is None:
            draws = (d for d in walk_steps(self.ir.turns) if isinstance(d, Draw) and d.id == step)
            every = domain(next(draws).type, self.ir.seats) or ()
            found = self._ranks[step] = {value: i for i, value in enumerate(every)}
        return found


_MODULES: dict[str, ModuleType | None] = {}


def module_of(ir: GameIR) -> ModuleType | None:
    """Returns the module of a game, from this process, the cache folder or the generator. None for
    a game that cannot be generated."""
    from gamedsl.engine.codegen.module import write_game

    return _cached_module(f"{ir.code_hash[:24]}_{_generator()}", lambda: write_game(ir))


def view_code_of(ir: GameIR) -> ViewCode:
    """Returns functions that work out the entries that seats are shown (`GameIR.entries_at`), by
    seat and step. Empty where there are none, or they cannot be generated."""
    from gamedsl.engine.codegen.module import write_views

    told = {
        (seat, step.id): ir.entries_at(seat, step.id) for seat in ir.everyone for step in ir.steps
    }
    tellings = {place: entries for place, entries in told.items() if entries is not None}
    each = {id(entries): entries for entries in tellings.values()}
    if not each:
        return {}
    name = f"{ir.code_hash[:24]}_{_generator()}_views"
    module = _cached_module(name, lambda: write_views(ir, tuple(each.values())))
    if module is None:
        return {}
    found = dict(zip(each, module.SHOWN, strict=True))
    return {place: found[id(entries)] for place, entries in tellings.items()}


def _cached_module(name: str, write: Callable[[], str]) -> ModuleType | None:
    """Returns the module of a name, written where there is none yet; None where it cannot be."""
    if name not in _MODULES:
        if len(_MODULES) >= KEPT:
            _MODULES.clear()
        try:
            _MODULES[name] = _load(name, write)
        except Exception:
            _MODULES[name] = None
    return _MODULES[name]


def _load(name: str, write: Callable[[], str]) -> ModuleType:
    try:
        folder = own_folder("games")
    except CacheRefused:
        return _compiled(name, f"<gamedsl_game_{name}>", write())
    path = folder / f"{name}.py"
    content = read_entry(path)
    if content is None:
        content = write().encode()
        _drop_oldest(folder)
        write_entry(path, content)
    return _compiled(name, str(path), content.decode())


def _drop_oldest(folder: Path) -> None:
    """Removes the older half of the modules where there are many."""
    with suppress(OSError):
        files = [*folder.glob("*.py")]
        if len(files) >= SAVED:
            files.sort(key=lambda file: file.stat().st_mtime)
            for file in files[: SAVED // 2]:
                unlink(file)


def _compiled(name: str, file: str, text: str) -> ModuleType:
    """The module of a text. `file` names it in tracebacks and debuggers."""
    module = ModuleType(f"gamedsl_game_{name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(text, file, "exec"), module.__dict__)
    return module


@lru_cache(maxsize=1)
def _generator() -> str:
    """Returns a hash of the generator and of the sources that its modules rely on, so that no old
    module is used."""
    folder = Path(__file__).parent
    parts = [*sorted((folder / "codegen").glob("*.py")), folder / "flow.py", folder / "storage.py"]
    parts.append(folder.parent / "storage" / "characters.py")
    parts += [*(folder.parent / "ir").glob("*.py"), *(folder.parent / "bounds").glob("*.py")]
    digest = hashlib.sha256(str(sys.version_info[:2]).encode())
    for part in sorted(parts):
        digest.update(part.read_bytes())
    return digest.hexdigest()[:12]
