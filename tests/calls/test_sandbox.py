"""Hostile programs in the sandbox, in every way in which it confines; where a way is not to be had,
that it is refused."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gamedsl.calls.registry import CallError, lookup
from gamedsl.calls.sandbox import kernel, report
from gamedsl.calls.sandbox.launch import (
    WAYS,
    Confined,
    Limits,
    ProgramExit,
    SandboxError,
    Way,
    confined,
    run_script,
)
from gamedsl.calls.sandbox.report import (
    GUARANTEES,
    SandboxReport,
    best_way,
    fault_of,
    sandbox_report,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it refuses: see below")

LIMITS = Limits(seconds=60, cpu=30)
COLUMN = {"x86_64": 0, "aarch64": 1}.get(platform.machine(), 0)

ATTEMPTS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
done = []
def attempt(name, what):
    try:
        what()
    except (OSError, RuntimeError):
        return
    done.append(name)
def raw(name, number, *arguments):
    libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])
    if ctypes.get_errno() not in (1, 38):
        done.append((name, ctypes.get_errno()))
    ctypes.set_errno(0)
"""

CALLS = {
    # name: numbers on x86_64 and aarch64, harmless arguments; each must not exist or be forbidden
    "socket of IPv4": (41, 198, 2, 1, 0),
    "socket of IPv6": (41, 198, 10, 1, 0),
    "socket of UDP": (41, 198, 2, 2, 0),
    "local socket": (41, 198, 1, 1, 0),
    "netlink socket": (41, 198, 16, 3, 0),
    "packet socket": (41, 198, 17, 3, 0),
    "vsock": (41, 198, 40, 1, 0),
    "pair of datagram sockets": (53, 199, 1, 2, 0, 0),
    "connect": (42, 203, 0, 0, 0),
    "bind": (49, 200, 0, 0, 0),
    "sendmsg": (46, 211, 0, 0, 0),
    "recvmsg": (47, 212, 0, 0, 0),
    "clone3": (435, 435, 0, 0),
    "clone with a user namespace": (56, 220, 0x10000000, 0, 0, 0, 0),
    "execve": (59, 221, 0, 0, 0),
    "execveat": (322, 281, -1, 0, 0, 0, 0),
    "unshare": (272, 97, 0x10000000),
    "setns": (308, 268, -1, 0),
    "mount": (165, 40, 0, 0, 0, 0, 0),
    "umount2": (166, 39, 0, 0),
    "pivot_root": (155, 41, 0, 0),
    "chroot": (161, 51, 0),
    "open_tree": (428, 428, -1, 0, 0),
    "move_mount": (429, 429, -1, 0, -1, 0, 0),
    "fsopen": (430, 430, 0, 0),
    "mount_setattr": (442, 442, -1, 0, 0, 0, 0),
    "openat2": (437, 437, -100, 0, 0, 0),
    "name_to_handle_at": (303, 264, -1, 0, 0, 0, 0),
    "open_by_handle_at": (304, 265, -1, 0, 0),
    "ptrace": (101, 117, 0, 0, 0, 0),
    "process_vm_readv": (310, 270, 1, 0, 0, 0, 0, 0),
    "process_vm_writev": (311, 271, 1, 0, 0, 0, 0, 0),
    "process_madvise": (440, 440, -1, 0, 0, 0, 0),
    "kcmp": (312, 272, 1, 1, 0, 0, 0),
    "pidfd_open": (434, 434, 1, 0),
    "pidfd_send_signal": (424, 424, -1, 0, 0, 0),
    "pidfd_getfd": (438, 438, -1, 0, 0),
    "kill of all": (62, 129, -1, 0),
    "kill of its group": (62, 129, 0, 0),
    "rt_sigqueueinfo": (129, 138, 1, 0, 0),
    "rt_tgsigqueueinfo": (297, 240, 1, 1, 0, 0),
    "setsid": (112, 157),
    "setpgid": (109, 154, 0, 0),
    "add_key": (248, 217, 0, 0, 0, 0, 0),
    "request_key": (249, 218, 0, 0, 0, 0),
    "keyctl": (250, 219, 0, 0, 0, 0, 0),
    "bpf": (321, 280, 0, 0, 0),
    "io_uring_setup": (425, 425, 1, 0),
    "io_uring_enter": (426, 426, -1, 0, 0, 0, 0, 0),
    "userfaultfd": (323, 282, 1),
    "perf_event_open": (298, 241, 0, 0, 0, -1, 0),
    "memfd_create": (319, 279, 0, 0),
    "memfd_secret": (447, 447, 0),
    "shmget": (29, 194, 0, 4096, 0o1600),
    "semget": (64, 190, 0, 1, 0o1600),
    "msgget": (68, 186, 0, 0o1600),
    "mq_open": (240, 180, 0, 0, 0, 0),
    "prctl": (157, 167, 1, 0, 0, 0, 0),
    "seccomp": (317, 277, 0, 0, 0),
    "landlock_create_ruleset": (444, 444, 0, 0, 1),
    "setuid": (105, 146, 0),
    "setresuid": (117, 147, 0, 0, 0),
    "setgroups": (116, 159, 0, 0),
    "capset": (126, 91, 0, 0),
    "prlimit of another": (302, 261, 4194303, 7, 0, 0),
    "sched_setaffinity": (203, 122, 0, 0, 0),
    "setpriority": (141, 140, 0, 0, 0),
    "chown": (260, 54, -100, 0, 0, 0, 0),
    "setxattr": (188, 5, 0, 0, 0, 0, 0),
    "mknodat": (259, 33, -100, 0, 0, 0),
    "inotify_init1": (294, 26, 0),
    "fanotify_init": (300, 262, 0, 0),
    "personality": (135, 92, -1),
    "syslog": (103, 116, 10, 0, 0),
    "quotactl": (179, 60, 0, 0, 0, 0),
    "swapon": (167, 224, 0, 0),
    "init_module": (175, 105, 0, 0, 0),
    "kexec_load": (246, 104, 0, 0, 0, 0),
    "settimeofday": (164, 170, 0, 0),
    "sethostname": (170, 161, 0, 0),
    "acct": (163, 89, 0),
    "TIOCSTI": (16, 29, 0, 0x5412, 0),
    "FIOSETOWN": (16, 29, 1, 0x8901, 0),
    "F_SETOWN": (72, 25, 1, 8, 1),
    "F_SETOWN_EX": (72, 25, 1, 15, 0),
    "F_SETLK": (72, 25, 1, 6, 0),
    "F_SETPIPE_SZ": (72, 25, 1, 1031, 1 << 20),
    "a number of the x32 interface": (0x40000000 | 56, 0x40000000 | 220, 0, 0),
    "a number that is none": (100_000, 100_000),
}


@cache
def fault(way: Way) -> str:
    return fault_of(way)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    """A way that this machine has."""
    found: Way = request.param
    if why := fault(found):
        assert not why.startswith("a program in it"), why
        assert sandbox_report().way != found
        pytest.skip(f"refused: {why}")
    return found


def run(way: Way, text: str, limits: Limits = LIMITS) -> ProgramExit:
    return run_script(text, way=way, limits=limits)


def succeeded(way: Way, text: str, limits: Limits = LIMITS) -> str:
    """What a program of attempts could do."""
    outcome = run(way, f"{ATTEMPTS}{text}\nprint('done', done)", limits)
    assert outcome.ended == "itself", outcome
    said = outcome.output.decode()
    assert said.startswith("done "), said
    return said.removeprefix("done ").strip()


def test_raw_system_calls(way: Way) -> None:
    text = "\n".join(
        f"raw({name!r}, {[numbers[COLUMN], *numbers[2:]]!r}[0], *{list(numbers[2:])!r})"
        for name, numbers in CALLS.items()
    )
    text += f"\nraw('kill', {62 if COLUMN == 0 else 129}, {os.getpid()}, 0)"
    text += f"\nraw('tgkill', {234 if COLUMN == 0 else 131}, {os.getpid()}, {os.getpid()}, 0)"
    assert succeeded(way, text) == "[]"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the other interface of x86 alone")
def test_the_interface_of_32_bits_kills(way: Way) -> None:
    outcome = run(
        way,
        """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes([0xB8, 2, 0, 0, 0, 0xCD, 0x80, 0xC3]))  # mov eax, fork; int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
print("got", ctypes.CFUNCTYPE(ctypes.c_int)(address)())
""",
    )
    assert (outcome.code, outcome.output) == (128 + 31, b"")


def test_files_outside_are_neither_read_nor_written(way: Way, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    secret.chmod(0o666)
    tmp_path.chmod(0o777)
    text = f"""
import pathlib
stdlib = os.path.dirname(os.__file__)
secret = {str(secret)!r}
places = [secret, "/etc/passwd", {str(Path.home())!r}, {__file__!r}, "/proc/self/environ", "/sys",
          "/proc/1/mem", "/dev/null", "/dev/shm", "/tmp", {str(Path.cwd())!r}, "/old/etc/passwd",
          f"/proc/{os.getpid()}/root" + secret, "../../../.." + secret, "/root", "/var", "/run"]
for place in places:
    attempt("read " + place, lambda: open(place).read())
    attempt("list " + place, lambda: os.listdir(place))
    attempt("write " + place, lambda: open(place, "a"))
    attempt("cut " + place, lambda: os.truncate(place, 0))
    attempt("cut by opening " + place, lambda: os.open(place, os.O_RDONLY | os.O_TRUNC))
    attempt("remove " + place, lambda: os.remove(place))
    attempt("change " + place, lambda: os.chmod(place, 0o777))
    attempt("touch " + place, lambda: os.utime(place))
    attempt("rename " + place, lambda: os.rename(place, place + ".old"))
    attempt("make in " + place, lambda: os.mkdir(place + "/new"))
    attempt("name hard " + place, lambda: os.link(place, "hard"))
    def by_link():
        os.symlink(place, "link" + str(len(place)))
        open("link" + str(len(place)))
    attempt("read by a link " + place, by_link)
for name in ("os.py", "new"):
    attempt("write Python's " + name, lambda: open(stdlib + "/" + name, "a"))
    attempt("remove Python's " + name, lambda: os.remove(stdlib + "/" + name))
    attempt("change Python's " + name, lambda: os.chmod(stdlib + "/" + name, 0o777))
beside = stdlib + "/site-packages"
if os.path.isdir(beside) and os.access(beside, os.R_OK):
    for name in os.listdir(beside):
        attempt("read beside " + name, lambda: open(beside + "/" + name + "/__init__.py"))
"""
    assert succeeded(way, text) == "[]"
    assert secret.read_text() == "secret"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret"]


def test_no_network(way: Way) -> None:
    name = f"\0gamedsl-test-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as local,
    ):
        udp.bind(("127.0.0.1", 0))
        local.bind(name)
        local.listen()
        text = f"""
import socket
S = socket.socket
tcp, udp = ("127.0.0.1", {tcp.getsockname()[1]}), ("127.0.0.1", {udp.getsockname()[1]})
attempt("TCP", lambda: socket.create_connection(tcp))
attempt("UDP", lambda: S(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", udp))
attempt("local", lambda: S(socket.AF_UNIX).connect({name!r}))
attempt("listening", lambda: socket.create_server(("127.0.0.1", 0)))
attempt("names", lambda: socket.getaddrinfo("example.org", 80))
a, b = socket.socketpair()
attempt("out of a pair", lambda: (a.close(), a.connect({name!r})))
attempt("by a pair", lambda: b.sendto(b"x", {name!r}))
"""
        assert succeeded(way, text) == "[]"
        for server in (tcp, udp, local):
            server.setblocking(False)
        for server in (tcp, local):
            with pytest.raises(BlockingIOError):
                server.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(1)


def test_one_process_and_one_thread(way: Way) -> None:
    text = """
import signal, subprocess, threading
attempt("fork", lambda: os.fork() or os._exit(0))
attempt("fork bomb", lambda: [os.fork() for _ in range(1000)])
attempt("daemon", lambda: (os.fork() and os._exit(0), os.setsid(), os.fork()))
attempt("thread", threading.Thread(target=print).start)
attempt("program", lambda: subprocess.run(["/bin/true"]))
attempt("Python", lambda: subprocess.run([sys.executable]))
attempt("spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}))
os.system("true") == 0 and done.append("shell")
"""
    assert succeeded(way, text) == "[]"


def test_it_inherits_nothing(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    text = """
for fd in range(3, 64):
    attempt(fd, lambda: os.fstat(fd))
done += [name for name in os.environ if name not in ("LC_ALL", "PYTHONHASHSEED", "LC_CTYPE")]
done += [value for value in sys.argv if value not in ("", "-c")]
sys.stdin.read() and done.append("input")
[k for k in {"a", "b", "c"}] == [k for k in {"a", "b", "c"}] or done.append("order")
"""
    assert succeeded(way, text) == "[]"


def test_memory_is_limited(way: Way) -> None:
    text = """
import mmap
def bomb(take):
    held = []
    try:
        while True:
            held.append(take())
            held[-1][::4096] = bytes(len(held[-1][::4096]))
            if len(held) > 400:
                done.append(take)
                return
    except (MemoryError, OSError):
        del held
bomb(lambda: bytearray(1 << 20))
bomb(lambda: mmap.mmap(-1, 1 << 20))
"""
    assert succeeded(way, text, Limits(seconds=60, memory=200 << 20)) == "[]"


def test_the_disk_and_open_files_are_limited(way: Way) -> None:
    text = """
import resource
def fill():
    for i in range(40):
        with open(f"file{i}", "wb", buffering=0) as file:
            file.write(bytes(1 << 20))
def name():
    for i in range(10_000):
        os.mkdir(f"folder{i}")
pipes = []
def pipe():
    while len(pipes) < 1000:
        pipes.append(os.pipe())
attempt("fill", fill)
attempt("name", name)
attempt("pipe", pipe)
for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU):
    try:
        resource.setrlimit(kind, (1 << 40, 1 << 40))
        done.append(kind)
    except ValueError:
        pass
if len(pipes) > 31:
    done.append(len(pipes))
[os.close(end) for pair in pipes for end in pair]
size = sum(os.path.getsize(f) for f in os.listdir() if f.startswith("file"))
if size > 8 << 20:
    done.append(size)
"""
    if way == "landlock":
        text = text.replace("os.listdir()", "[]")
    assert succeeded(way, text) == "[]"


def test_endless_output_is_cut_and_the_program_killed(way: Way) -> None:
    outcome = run(way, "while True: print('x' * 1000)", Limits(seconds=60, output=10_000))
    assert (outcome.ended, outcome.code, len(outcome.output)) == ("output", None, 10_000)


def test_what_does_not_end_is_killed(way: Way) -> None:
    text = """
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    try:
        time.sleep(1000)
    except BaseException:
        pass
"""
    assert run(way, text, Limits(seconds=0.5)).ended == "time"


def test_processor_time_is_limited() -> None:
    outcome = run(best_way(), "while True: pass", Limits(seconds=100, cpu=1))
    assert (outcome.ended, outcome.code) == ("itself", 128 + 9)


def descendants(pid: int) -> list[int]:
    """A process and all below it."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    found = [pid]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + 20
    while not all(map(gone, pids)):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def sleeper(way: Way) -> Iterator[Confined]:
    """A program that runs, said so, and does not end."""
    text = "import time\nprint('up', flush=True)\ntime.sleep(1000)"
    target = "gamedsl.calls.sandbox.script"
    with confined(target, text, limits=LIMITS, way=way, output=True) as program:
        assert program.keeper.stdout
        assert program.keeper.stdout.read(2) == b"up"
        yield program


def test_nothing_lives_after_it_was_killed(sleeper: Confined) -> None:
    pids = descendants(sleeper.keeper.pid)
    assert len(pids) == 2
    sleeper.kill()
    assert all(map(gone, pids))


def test_it_ends_with_its_keeper(sleeper: Confined) -> None:
    _, pid = descendants(sleeper.keeper.pid)
    sleeper.keeper.kill()
    wait_until_gone([pid])


def test_it_ends_with_the_process_that_started_it(way: Way) -> None:
    text = f"""
import os, signal
from gamedsl.calls.sandbox.launch import Limits, confined
script = "import time\\nprint('up', flush=True)\\ntime.sleep(1000)"
target = "gamedsl.calls.sandbox.script"
with confined(target, script, limits=Limits(seconds=60), way={way!r}, output=True) as program:
    program.keeper.stdout.read(2)
    print(program.keeper.pid, flush=True)
    input()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    starter = [sys.executable, "-c", text]
    with subprocess.Popen(starter, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        pids = descendants(int(process.stdout.readline()))
        process.stdin.write(b"\n")
    assert (process.returncode, len(pids)) == (-9, 2)
    wait_until_gone(pids)


def test_what_python_can_do_in_it(way: Way) -> None:
    text = """
import asyncio, bz2, collections, ctypes, dataclasses, datetime, decimal, fractions, functools
import hashlib, heapq, itertools, json, math, random, re, statistics, string, typing, unittest
async def three():
    await asyncio.sleep(0)
    return 3
print(asyncio.run(three()), json.dumps({"a": decimal.Decimal(1) == 1}), hashlib.sha256(b"").name)
"""
    outcome = run(way, text)
    assert outcome.output == b'3 {"a": true} sha256\n', outcome
    own = "open('own', 'w').write('mine'); print(open('own').read())"
    said = run(way, own).output
    assert said.startswith(b"mine") == (way != "landlock")
    assert run(way, "import sys; sys.exit(7)").code == 7
    assert run(way, "1/0").output.rstrip().endswith(b"ZeroDivisionError: division by zero")


def test_what_holds_is_said() -> None:
    found = sandbox_report()
    if found.way is None:
        with pytest.raises(SandboxError):
            best_way()
    else:
        assert best_way() == found.way
        assert list(found.holds()) == list(GUARANTEES)
        assert "no network: " in str(found)
        without = SandboxReport("landlock", {"user": "no user namespaces"})
        assert without.holds() != SandboxReport("user", {}).holds()
        assert "not by way of user: no user namespaces" in str(without)


def test_where_nothing_holds_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(text: str, *, way: Way, limits: Limits) -> ProgramExit:
        raise SandboxError("OSError: unshare: Operation not permitted")

    monkeypatch.setattr(report, "run_script", nothing)
    monkeypatch.setattr(report, "sandbox_report", sandbox_report.__wrapped__)
    with pytest.raises(SandboxError, match="landlock: OSError: unshare"):
        best_way()
    function = lookup("run_python")
    assert function is not None
    assert str(function.missing_here()).startswith("a program cannot be confined here")
    with pytest.raises(CallError, match="`run_python`: a program cannot be confined here"):
        function.call(code="x = 'refused'", tests="assert x")


def test_a_machine_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "KNOWN", False)
    assert sandbox_report.__wrapped__().refused["all"].endswith(" are not listed")
    monkeypatch.setattr(report.sys, "platform", "darwin")
    assert sandbox_report.__wrapped__() == SandboxReport(None, {"all": "this is not Linux"})


def test_a_way_that_lets_something_through_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaking(text: str, *, way: Way, limits: Limits) -> ProgramExit:
        done = Path(text.partition("CANARY = '")[2].partition("'")[0]).read_text()
        return ProgramExit("itself", 0, b"can read files\n" if done == "seen" else b"")

    monkeypatch.setattr(report, "run_script", leaking)
    assert fault_of("user") == "a program in it can read files"
    assert report.sandbox_report.__wrapped__().way is None


def test_failure_during_confinement_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    start = confined("gamedsl_no_such", "", limits=LIMITS, way="landlock")
    with start as program, pytest.raises(SandboxError, match="gamedsl_no_such"):
        program.finish()
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(OSError, match="No such file"):
        run("landlock", "print(1)")
