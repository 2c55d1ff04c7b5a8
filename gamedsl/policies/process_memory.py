"""Memory of this process and of the system: what the operating system tells, and what is kept.

Unix tells it by `resource` and `sysconf`, which Windows lacks; there it is kernel32.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any


def peak_memory() -> float:
    """Returns the most bytes that this process has had in memory."""
    if sys.platform == "win32":
        return float(_windows_process().PeakWorkingSetSize)
    if sys.platform == "linux":
        # getrusage(2) begins with the peak of the process that started this one.
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else peak * 1024)


def address_space_limit() -> int | None:
    """Returns the bytes that this process may map; None without such a limit."""
    if sys.platform == "win32":
        return None
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if most == resource.RLIM_INFINITY else most


def system_memory() -> float:
    """Returns the bytes of memory of the system; on Windows those that are free."""
    if sys.platform == "win32":
        return float(_windows_system().ullAvailPhys)
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def keep_freed_memory() -> bool:
    """Has the C library keep what is freed for what is allocated next; returns whether it is one
    that can (glibc).

    Otherwise a tensor of more than 32 MiB is fetched from the system page by page, and given back
    at once. `benchmarks/tree_attention.py` shows a step whose memory is there already beside a
    first one. No number changes. The process keeps its peak of memory, which
    stayed the same in the steps that were measured.
    """
    set_option = _of_glibc("mallopt")
    return set_option is not None and all(
        [set_option(_MOST_MAPPED, 0), set_option(_TRIMMED_FROM, -1)]
    )


def give_back_freed_memory() -> None:
    """Gives back once what was freed: a model's weights that have moved to another device."""
    trim = _of_glibc("malloc_trim")
    if trim is not None:
        trim(0)


def _of_glibc(name: str) -> Any:
    """Returns a function of the C library; None where it is another one."""
    if sys.platform != "linux":
        return None
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None


_TRIMMED_FROM, _MOST_MAPPED = -1, -4
"""Options of mallopt(3): M_TRIM_THRESHOLD, where -1 is never, and M_MMAP_MAX."""

if sys.platform == "win32":
    from ctypes import wintypes

    class _Process(ctypes.Structure):
        """PROCESS_MEMORY_COUNTERS."""

        _fields_ = [
            ("cb", wintypes.DWORD),
            ("PageFaultCount", wintypes.DWORD),
            ("PeakWorkingSetSize", ctypes.c_size_t),
            ("WorkingSetSize", ctypes.c_size_t),
            ("QuotaPeakPagedPoolUsage", ctypes.c_size_t),
            ("QuotaPagedPoolUsage", ctypes.c_size_t),
            ("QuotaPeakNonPagedPoolUsage", ctypes.c_size_t),
            ("QuotaNonPagedPoolUsage", ctypes.c_size_t),
            ("PagefileUsage", ctypes.c_size_t),
            ("PeakPagefileUsage", ctypes.c_size_t),
        ]

    class _System(ctypes.Structure):
        """MEMORYSTATUSEX."""

        _fields_ = [
            ("dwLength", wintypes.DWORD),
            ("dwMemoryLoad", wintypes.DWORD),
            ("ullTotalPhys", ctypes.c_uint64),
            ("ullAvailPhys", ctypes.c_uint64),
            ("ullTotalPageFile", ctypes.c_uint64),
            ("ullAvailPageFile", ctypes.c_uint64),
            ("ullTotalVirtual", ctypes.c_uint64),
            ("ullAvailVirtual", ctypes.c_uint64),
            ("ullAvailExtendedVirtual", ctypes.c_uint64),
        ]

    def _windows_process() -> Any:
        """Returns the counters of this process. Raises OSError."""
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.GetCurrentProcess.restype = wintypes.HANDLE
        counters = _Process(ctypes.sizeof(_Process))
        ask = kernel.K32GetProcessMemoryInfo
        ask.argtypes = [wintypes.HANDLE, ctypes.POINTER(_Process), wintypes.DWORD]
        if not ask(kernel.GetCurrentProcess(), ctypes.byref(counters), counters.cb):
            raise ctypes.WinError(ctypes.get_last_error())
        return counters

    def _windows_system() -> Any:
        """Returns the memory of the system. Raises OSError."""
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        status = _System(ctypes.sizeof(_System))
        if not kernel.GlobalMemoryStatusEx(ctypes.byref(status)):
            raise ctypes.WinError(ctypes.get_last_error())
        return status
