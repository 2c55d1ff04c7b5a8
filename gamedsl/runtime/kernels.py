"""Kernels: the table of backends that run the rules of a game."""

from __future__ import annotations

from collections.abc import Callable

from gamedsl.engine.function_calls import Caller, call_registered
from gamedsl.engine.interpreter import Interpreter
from gamedsl.engine.kernel import Kernel
from gamedsl.ir.game import GameIR
from gamedsl.prompting.declared_views import ViewCode


def _generated(ir: GameIR) -> Kernel:
    from gamedsl.engine.generated import Generated

    return Generated(ir)


def _tabulated(ir: GameIR) -> Kernel:
    from gamedsl.engine.tabulated import Tabulated

    return Tabulated(ir)


BACKENDS: dict[str, Callable[[GameIR], Kernel]] = {
    "interpreter": Interpreter,
    "generated": _generated,
    "tabulated": _tabulated,
}
"""The backends by name; all agree. The interpreter is the reference. A generated game is a Python
module, the fastest for most games. A tabulated one is a list of all histories, the fastest for
small games."""

DEFAULT_BACKEND = "generated"


def kernel_of(ir: GameIR, backend: str | None = None, caller: Caller = call_registered) -> Kernel:
    """Returns the rules of a game, run by a backend; `caller` works out its calls. Raises
    ValueError for an unknown name, and for a game that the backend cannot run: with too many
    histories to be tabulated; with words or referees, which the interpreter alone runs."""
    if ir.open or ir.referees:
        return _interpreted(ir, backend, caller)
    name = backend or DEFAULT_BACKEND
    if name not in BACKENDS:
        raise ValueError(f"no backend `{name}`; there are {', '.join(BACKENDS)}")
    return BACKENDS[name](ir)


def view_code_for(kernel: Kernel) -> ViewCode:
    """Returns the generated functions for declared views, to be used beside this kernel; none
    beside the interpreter."""
    if isinstance(kernel, Interpreter):
        return {}
    from gamedsl.engine.generated import view_code_of

    return view_code_of(kernel.ir)


def _interpreted(ir: GameIR, backend: str | None, caller: Caller) -> Kernel:
    if backend not in (None, "interpreter"):
        raise ValueError(f"`{ir.name}` has open decisions, calls or referees: it is interpreted")
    return Interpreter(ir, caller=caller)
