"""Which system calls a confined program may make, as a filter in classic BPF.

A list of what is allowed: what one Python thread needs to compute, to wait, and to use its own
folder. What is not on it does not exist (`ENOSYS`, so that libraries fall back) or is forbidden
(`EPERM`). Forbidden so are new processes and threads, other programs, sockets but for a connected
pair, signals to anybody else, namespaces, mounts, keys, and every way into another process.
"""

from __future__ import annotations

import struct

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

ALLOWED = {
    # name: number on x86_64, on aarch64
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66),
    "pread64": (17, 67), "pwrite64": (18, 68), "lseek": (8, 62), "close": (3, 57),
    "close_range": (436, 436), "fstat": (5, 80), "newfstatat": (262, 79), "stat": (4, None),
    "lstat": (6, None), "statx": (332, 291), "access": (21, None), "faccessat": (269, 48),
    "faccessat2": (439, 439), "getdents64": (217, 61), "readlink": (89, None),
    "readlinkat": (267, 78), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50),
    "statfs": (137, 43), "fstatfs": (138, 44), "umask": (95, 166),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "mremap": (25, 216),
    "madvise": (28, 233), "brk": (12, 214), "msync": (26, 227),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "restart_syscall": (219, 128),
    "setitimer": (38, 103), "getitimer": (36, 102), "alarm": (37, None), "pause": (34, None),
    "pipe": (22, None), "pipe2": (293, 59), "select": (23, None), "pselect6": (270, 72),
    "poll": (7, None), "ppoll": (271, 73), "epoll_create": (213, None), "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22),
    "eventfd2": (290, 19), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24),
    "sendto": (44, 206), "recvfrom": (45, 207), "getsockname": (51, 204),
    "getsockopt": (55, 209), "shutdown": (48, 210),
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174),
    "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "getgroups": (115, 158),
    "getpgrp": (111, None), "getpgid": (121, 155), "getsid": (124, 156),
    "getresuid": (118, 148), "getresgid": (120, 150),
    "getrlimit": (97, 163), "getrusage": (98, 165), "times": (100, 153), "sysinfo": (99, 179),
    "uname": (63, 160), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, None),
    "getrandom": (318, 278), "futex": (202, 98), "set_robust_list": (273, 99),
    "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
"""What harms nobody with any arguments."""

CHANGING = {
    "creat": (85, None), "ftruncate": (77, 46), "truncate": (76, 45), "fallocate": (285, 47),
    "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "mkdir": (83, None),
    "mkdirat": (258, 34), "rmdir": (84, None), "unlink": (87, None), "unlinkat": (263, 35),
    "symlink": (88, None), "symlinkat": (266, 36), "link": (86, None), "linkat": (265, 37),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "utime": (132, None),
    "utimes": (235, None), "utimensat": (280, 88), "fsync": (74, 82), "fdatasync": (75, 83),
    "sendfile": (40, 71), "copy_file_range": (326, 285),
}  # fmt: skip
"""What changes files: allowed where a mount namespace leaves the program's own folder alone."""

FORBIDDEN = {
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "clone": (56, 220),
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "ptrace": (101, 117), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40),
}  # fmt: skip
"""What answers `EPERM` instead of `ENOSYS`, so that the message that a program shows fits."""

OPENING = {"open": (2, None), "openat": (257, 56)}

_WRITING = 0x001 | 0x002 | 0o100 | 0o1000 | 0o20000000
"""Flags of `open` that write, create, truncate or make a nameless file."""

_SELF_ONLY = {"kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131)}
_FCNTL = (0, 1, 2, 3, 4, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: none that acts on a terminal or an owner

_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOW, _EPERM, _ENOSYS, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16


Numbers = tuple[int | None, ...]
Condition = tuple[int, int, int]
"""The place of an argument, the value that it must have, and the bits that are looked at."""

_ALL = 0xFFFFFFFF


def filter_program(machine: str, pid: int, *, writable: bool) -> bytes:
    """The filter for a process with this id; `writable` where files may be changed at all."""
    column = list(ARCHITECTURE).index(machine)
    free: dict[str, Numbers] = {**ALLOWED, **(CHANGING | OPENING if writable else {})}
    refused: dict[str, Numbers] = {**FORBIDDEN, **({} if writable else CHANGING)}
    program = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, ARCHITECTURE[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    for numbers in free.values():
        program += _verdict(numbers[column], _ALLOW)
    for numbers in refused.values():
        program += _verdict(numbers[column], _EPERM)
    for numbers, conditions in _conditional(pid, writable):
        program += _tested(numbers[column], conditions)
    return b"".join([*program, _step(_RETURN, _ENOSYS)])


def _conditional(pid: int, writable: bool) -> list[tuple[Numbers, list[Condition]]]:
    """Calls that are allowed where one of the conditions holds."""
    rules: list[tuple[Numbers, list[Condition]]] = [
        ((72, 25), [(1, command, _ALL) for command in _FCNTL]),
        ((16, 29), [(1, command, _ALL) for command in _IOCTL]),
        ((302, 261), [(0, 0, _ALL)]),  # prlimit64, of itself
        ((53, 199), [(1, 1, 0xF)]),  # socketpair, of streams; the kernel knows local ones only
        *[(numbers, [(0, pid, _ALL)]) for numbers in _SELF_ONLY.values()],
    ]
    if not writable:
        rules += [(OPENING["open"], [(1, 0, _WRITING)])]
        rules += [(OPENING["openat"], [(2, 0, _WRITING)])]
    return rules


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction; jumps count the instructions that are left out."""
    return struct.pack("HBBI", code, if_true, if_false, value)


def _verdict(number: int | None, verdict: int) -> list[bytes]:
    if number is None:
        return []
    return [_step(_EQUAL, number, 0, 1), _step(_RETURN, verdict)]


def _tested(number: int | None, conditions: list[Condition]) -> list[bytes]:
    """Only the low halves of arguments are compared: the kernel reads no more of these."""
    if number is None:
        return []
    body: list[bytes] = []
    for argument, value, mask in conditions:
        body += [
            _step(_LOAD, _ARGUMENTS_AT + 8 * argument),
            _step(_AND, mask),
            _step(_EQUAL, value, 0, 1),
            _step(_RETURN, _ALLOW),
        ]
    body.append(_step(_RETURN, _EPERM))
    return [_step(_EQUAL, number, 0, len(body)), *body]
