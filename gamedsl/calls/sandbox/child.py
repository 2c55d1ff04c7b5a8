"""The side inside: an interpreter that shuts itself in, and then runs what it was started for.

Two processes. The first, the keeper, makes the namespaces, starts the second in them and waits for
its end or for the word to end it, which is that its standard input closes. The second shuts
everything, by the steps of `main` in their order, and calls the program. It is process 1 of its own
world, so with it whatever it left behind ends as well; it cannot start another process anyway.

All of this starts anew for every call, so it imports little: `launch` even gives it an empty
`gamedsl`, and what only types need is not imported at all.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import sys

from gamedsl.calls.sandbox import kernel, landlock, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

NOBODY = 65534
FOLDER = "/box"
"""The program's own folder, where there is one."""

SET_UP = b"ok"
_FAILED = 125
_SIGKILL = 9
_NAMESPACES = (
    kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
)  # fmt: skip
NOT_PYTHONS = ("site-packages", "dist-packages")


def main(plan_fd: int, report_fd: int) -> NoReturn:
    """Read the plan, which `launch` wrote, and carry it out; `report_fd` learns how setting up
    went."""
    installation = [path for path in sys.path if os.path.isdir(path)]
    with os.fdopen(plan_fd, "rb") as file:
        plan = marshal.load(file)
    try:
        close_all_but({report_fd, *plan["fds"]})
        __import__(plan["target"])
        target = sys.modules[plan["target"]]
        sys.path[:] = installation
        libraries = library_folders(installation)
        if plan["way"] != "landlock":
            leave_namespaces(as_root=plan["way"] == "root")
        alive, keepers = os.pipe()
        pid = os.fork()
        if pid:
            keep(pid, {1, 2, alive, report_fd, *plan["fds"]})
        os.close(keepers)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        if plan["way"] != "landlock":
            leave_files(installation, libraries, plan["limits"]["disk"])
        leave_privileges(alive, as_root=plan["way"] == "root")
        limit(plan["limits"])
        close_calls(plan, installation, libraries)
        os.write(report_fd, SET_UP)
        os.close(report_fd)
    except Exception as error:
        os.write(report_fd, f"{error.__class__.__name__}: {error}".encode()[:500])
        os._exit(_FAILED)
    target.main(plan["payload"], *plan["fds"])
    os._exit(0)


def close_all_but(kept: set[int]) -> None:
    """Closes what libraries opened for themselves, such as libffi 3.5 its own file. Input, output
    and `kept` stay."""
    first = 3
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = max(first, fd + 1)
    os.closerange(first, 1 << 20)


def keep(pid: int, not_its_own: set[int]) -> NoReturn:
    """Wait for the confined process, end it when standard input closes, and take over its end. It
    closes what is the other's alone; the end of a pipe that it keeps tells the other that it
    lives."""
    for fd in not_its_own:
        os.close(fd)
    ended = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(ended, select.POLLIN)
    if ended not in dict(poll.poll()):
        os.kill(pid, _SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


def library_folders(installation: list[str]) -> list[str]:
    """The folders outside Python's own from which this process took its shared libraries."""
    with open("/proc/self/maps") as maps:
        files = {line.split(None, 5)[-1].strip() for line in maps if ".so" in line}
    folders = {os.path.dirname(path) for path in files if path.startswith("/")}
    return sorted(f for f in folders if not _is_below(f, installation))


def _is_below(path: str, folders: list[str]) -> bool:
    return any(f"{path}/".startswith(f"{folder}/") for folder in folders)


def leave_namespaces(*, as_root: bool) -> None:
    """Namespaces of their own for mounts, processes (from the next child on), the network, host
    name and System V objects. Without root they come with a user namespace, whose one user
    is nobody inside."""
    uid, gid = os.geteuid(), os.getegid()
    kernel.syscall("unshare", _NAMESPACES | (0 if as_root else kernel.CLONE_NEWUSER))
    if not as_root:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{NOBODY} {uid} 1"),
            ("gid_map", f"{NOBODY} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)


def leave_files(installation: list[str], libraries: list[str], disk: int) -> None:
    """A root of its own: Python, read-only and without the packages that were installed beside
    it, and an empty folder in memory of a limited size."""
    flags = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    # any folder will do: once it is the root, what it hid is there again
    kernel.mount("tmpfs", installation[0], "tmpfs", flags, "size=1m,mode=111")
    os.umask(0o666)  # the folders on the way to Python's can be passed through, not listed
    os.chdir(installation[0])
    os.mkdir("old")
    kernel.syscall("pivot_root", b".", b"old")
    shown: list[str] = []
    for path in (*libraries, *installation):
        if not _is_below(path, shown):
            _show(path)
            shown.append(path)
    for hidden in (f"{folder}/{name}" for folder in installation for name in NOT_PYTHONS):
        if os.path.isdir(hidden):
            kernel.mount("tmpfs", hidden, "tmpfs", flags | kernel.MS_RDONLY, "size=4k,mode=755")
    os.mkdir(FOLDER)
    options = f"size={disk},nr_inodes=256,mode=700,uid={NOBODY},gid={NOBODY}"
    kernel.mount("tmpfs", FOLDER, "tmpfs", flags, options)
    kernel.set_mount(FOLDER, kernel.NO_EXECUTION)
    kernel.syscall("umount2", b"/old", kernel.MNT_DETACH)
    os.rmdir("/old")
    kernel.set_mount("/", kernel.READ_ONLY)
    os.umask(0o077)
    os.chdir(FOLDER)


def _show(path: str) -> None:
    """Let a folder of the old root be read in the new one."""
    os.makedirs(path, exist_ok=True)
    kernel.mount("/old" + path, path, "", kernel.MS_BIND | kernel.MS_REC)
    kernel.set_mount(path, kernel.READ_ONLY | kernel.NO_SUID | kernel.NO_DEVICES, below=True)


def leave_privileges(alive: int, *, as_root: bool) -> None:
    """Be nobody, without capabilities, for good, unseen by others, and end with the keeper."""
    if as_root:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    kernel.drop_capabilities()
    kernel.gain_nothing()
    kernel.hide_memory()
    kernel.die_with_parent()
    poll = select.poll()
    poll.register(alive, select.POLLHUP)
    if poll.poll(0):
        os._exit(_FAILED)
    os.close(alive)


def limit(limits: dict[str, Any]) -> None:
    """Sets the resource limits. There is one process and one thread, so limits on a process are
    limits on the program. A lower limit of whoever started it stays."""
    for kind, most in (
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_CPU, limits["cpu"]),
        (resource.RLIMIT_NOFILE, limits["files"]),
        (resource.RLIMIT_FSIZE, limits["disk"]),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        own = resource.getrlimit(kind)[1]
        least = most if own == resource.RLIM_INFINITY else min(most, own)
        resource.setrlimit(kind, (least, least))


def close_calls(plan: dict[str, Any], installation: list[str], libraries: list[str]) -> None:
    """Landlock, where the kernel has it, and the filter of system calls, last of all: it allows
    none of what came before. Landlock can only add: so each part of the standard library is named,
    and what is installed beside it is not, nor a folder that holds it all."""
    has_folder = plan["way"] != "landlock"
    if landlock.version():
        parts = [
            entry.path
            for folder in installation
            for entry in os.scandir(folder)
            if entry.name not in NOT_PYTHONS
        ]
        for folder in libraries:
            if any(_is_below(path, [folder]) for path in installation):
                parts += [entry.path for entry in os.scandir(folder) if ".so" in entry.name]
            else:
                parts.append(folder)
        landlock.restrict(parts, installation, [FOLDER] if has_folder else [])
    elif not has_folder:
        raise OSError("this kernel has no Landlock")
    program = seccomp.filter_program(kernel.MACHINE, os.getpid(), writable=has_folder)
    kernel.filter_system_calls(program)
