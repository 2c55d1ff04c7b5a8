"""The guarantees that this machine can give, by which means, and a trial of each."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gamedsl.calls.sandbox.launch import WAYS, Limits, SandboxError, Way, run_script

_NAMESPACES = "namespaces of its own"
_CALLS = "a filter of system calls (seccomp)"
_LIMITS = "limits of the process (rlimits)"

GUARANTEES: dict[str, tuple[str, str]] = {
    "no network": (f"{_NAMESPACES}; {_CALLS}", _CALLS),
    "no file but Python's is read": (
        "a root of its own (mount namespace); Landlock where the kernel has it",
        "Landlock; that a file exists, and its size, can be found out",
    ),
    "nothing is written but its own folder, which is limited and in memory": (
        f"a root of its own; {_CALLS}",
        f"Landlock; {_CALLS}; there is no folder of its own",
    ),
    "one process, one thread, no other program": (f"{_CALLS}; {_LIMITS}",) * 2,
    "no signal to, and no look into, another process": (
        f"{_NAMESPACES}; {_CALLS}",
        f"{_CALLS}; Landlock",
    ),
    "no privileges": ("another user, no capabilities, none to be gained",) * 2,
    "limited memory, processor time and open files": (_LIMITS,) * 2,
    "limited output": ("read up to the limit, then killed",) * 2,
    "killed when its time is up or this process ends": (
        "process 1 of a namespace of its own, killed by its keeper or the kernel",
        "killed by its keeper or the kernel; it can start nothing that would stay",
    ),
}
"""Each guarantee, and its means with namespaces and without."""

_CHECK = """
import os, _socket
broken = []
def tried(name, attempt):
    try:
        attempt()
    except (OSError, MemoryError):
        return
    broken.append(name)
def connect(family, address):
    _socket.socket(family, _socket.SOCK_STREAM).connect(address)
tried("network", lambda: connect(_socket.AF_INET, ("127.0.0.1", PORT)))
tried("network", lambda: connect(_socket.AF_UNIX, ABSTRACT))
tried("read files", lambda: open(CANARY).close())
tried("list folders", lambda: os.listdir(os.path.dirname(CANARY)))
tried("write files", lambda: open(CANARY, "a").close())
tried("make files", lambda: os.mkdir(CANARY + ".new"))
tried("start processes", lambda: os.fork() or os._exit(0))
tried("send signals", lambda: os.kill(PARENT, 0))
tried("take memory", lambda: bytearray(MEMORY))
if FOLDER:
    open("own", "w").close()
print("can", ", ".join(broken) or "nothing")
"""


@dataclass(frozen=True)
class SandboxReport:
    """The way in which programs are confined here, or None where they cannot be; for every way that
    does not hold, why."""

    way: Way | None
    refused: dict[str, str]

    def holds(self) -> dict[str, str]:
        """Returns the guarantees, each with its means."""
        if self.way is None:
            return {}
        return {name: means[self.way == "landlock"] for name, means in GUARANTEES.items()}

    def __str__(self) -> str:
        lines = [f"{name}: {means}" for name, means in self.holds().items()]
        lines += [f"not by way of {way}: {why}" for way, why in self.refused.items()]
        return "\n".join(lines)


@cache
def sandbox_report() -> SandboxReport:
    """Try every way, the strongest first, until one keeps what it promises."""
    refused: dict[str, str] = {}
    if sys.platform != "linux":
        return SandboxReport(None, {"all": "this is not Linux"})
    from gamedsl.calls.sandbox import kernel

    if not kernel.KNOWN:
        return SandboxReport(None, {"all": f"the system calls of {kernel.MACHINE} are not listed"})
    for way in WAYS:
        if way == "root" and os.geteuid() != 0:
            refused[way] = "this process is not root"
        elif why := fault_of(way):
            refused[way] = why
        else:
            return SandboxReport(way, refused)
    return SandboxReport(None, refused)


def fault_of(way: Way) -> str:
    """Returns a forbidden thing that a program can do when it is confined in this way, or the
    reason why it cannot be confined so; empty if the way holds. The trial is real, against a
    server, files and a process of ours."""
    limits = Limits(memory=128 << 20)
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
    ):
        Path(folder).chmod(0o777)
        canary = Path(folder) / "canary"
        canary.write_text("seen")
        canary.chmod(0o666)
        local.bind("")  # to a name that is free
        local.listen()
        known = {
            "PORT": server.getsockname()[1], "ABSTRACT": local.getsockname(), "CANARY": str(canary),
            "PARENT": os.getpid(), "MEMORY": limits.memory, "FOLDER": way != "landlock",
        }  # fmt: skip
        facts = "\n".join(f"{name} = {value!r}" for name, value in known.items())
        try:
            outcome = run_script(facts + _CHECK, way=way, limits=limits)
        except (SandboxError, OSError) as error:
            return str(error)
    said = outcome.output.decode(errors="replace").strip()
    return "" if said == "can nothing" else f"a program in it {said[-300:] or 'does not start'}"


def best_way() -> Way:
    """The strongest way that holds. Raises `SandboxError`, which says what is missing."""
    report = sandbox_report()
    if report.way is None:
        why = "; ".join(f"{way}: {why}" for way, why in report.refused.items())
        raise SandboxError(
            f"a program cannot be confined here, so it is not run ({why}); what is needed is Linux "
            "with seccomp, and namespaces (as root or by user namespaces) or Landlock"
        )
    return report.way
