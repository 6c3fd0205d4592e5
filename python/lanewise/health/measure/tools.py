"""The tools, each as the command lines that it is run with.

fio reads the target in blocks of 128 KiB with 32 in flight, then one block of 4 KiB at a time; iperf3 sends
to a peer and receives from it; nvbandwidth copies between host and GPUs with the copy engines; where only
nvcc is installed, a copy test of ours is compiled (`cuda_copy.cu`, printing what bandwidthTest prints).
"""

from __future__ import annotations

import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGE_ENOUGH = 64 << 20
"""A file smaller than this comes out of a drive's own cache at once. Assumed."""


class Tool(Protocol):
    """What `run.measure` needs of a tool."""

    @property
    def name(self) -> str:
        """The program."""

    def commands(self, scratch: Path) -> Iterator[list[str]]:
        """Command lines to run one after another; each prints an output that can be imported."""


def installed(program: str) -> str:
    """Return the path of a program; InputError when it is not installed."""
    path = shutil.which(program)
    if path is None:
        raise InputError(f"{program} is not installed, or not on the PATH")
    return path


@dataclass(frozen=True)
class Fio:
    """fio on a file or block device; reads only, unless `allow_writes`."""

    target: str
    seconds: int = 5
    allow_writes: bool = False
    name: str = "fio"

    def commands(self, scratch: Path) -> Iterator[list[str]]:
        """Yield sequential reads, single random reads, and sequential writes where they are allowed."""
        del scratch
        self._check()
        for job, mode, size, depth in self._jobs():
            command = [
                installed("fio"),
                f"--name={job}",
                f"--filename={self._filename()}",
                f"--rw={mode}",
                f"--bs={size}",
                f"--iodepth={depth}",
                "--ioengine=libaio",
                "--direct=1",
                "--time_based",
                f"--runtime={self.seconds}",
                "--output-format=json",
                "--allow_file_create=0",
            ]
            yield command if self.allow_writes else [*command, "--readonly"]

    def _filename(self) -> str:
        """Name the target so that it means the same in any folder, and its colons separate no files."""
        return str(Path(self.target).resolve()).replace(":", r"\:")

    def _jobs(self) -> list[tuple[str, str, str, int]]:
        jobs = [("read-128k", "read", "128k", 32), ("randread-4k", "randread", "4k", 1)]
        return [*jobs, ("write-128k", "write", "128k", 32)] if self.allow_writes else jobs

    def _check(self) -> None:
        path = Path(self.target)
        if not path.exists():
            raise InputError(f"'{self.target}' does not exist; name a block device or a large file")
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"'{self.target}' is a folder; name a file on the drive, or its block device")
        if stat.S_ISREG(mode) and path.stat().st_size < _LARGE_ENOUGH:
            size = path.stat().st_size
            raise InputError(f"'{self.target}' has {size} B; a file needs at least {_LARGE_ENOUGH >> 20} MiB")


@dataclass(frozen=True)
class Iperf3:
    """iperf3 to a peer that runs ``iperf3 -s``, sending and then receiving."""

    peer: str
    port: int = 5201
    seconds: int = 5
    streams: int = 4
    name: str = "iperf3"

    def commands(self, scratch: Path) -> Iterator[list[str]]:
        """Yield one test for each way."""
        del scratch
        if self.peer.startswith("-"):
            raise InputError(f"'{self.peer}' is not a host name or address")
        command = [installed("iperf3"), "-c", self.peer, "-p", str(self.port), "-t", str(self.seconds)]
        command += ["-P", str(self.streams), "-J"]
        yield command
        yield [*command, "-R"]


@dataclass(frozen=True)
class Nvbandwidth:
    """nvbandwidth between host and GPUs, and between GPUs."""

    name: str = "nvbandwidth"

    def commands(self, scratch: Path) -> Iterator[list[str]]:
        """Yield one command for all tests."""
        del scratch
        tests = [
            "host_to_device_memcpy_ce",
            "device_to_host_memcpy_ce",
            "host_to_device_bidirectional_memcpy_ce",
        ]
        yield [installed("nvbandwidth"), "-j", "-t", *tests, "device_to_device_memcpy_write_ce"]


@dataclass(frozen=True)
class CudaCopy:
    """A copy test of our own, where nvcc is installed and nvbandwidth is not."""

    name: str = "cuda-copy"

    def commands(self, scratch: Path) -> Iterator[list[str]]:
        """Yield the compiler, then the test; only the last one's output counts."""
        source = Path(__file__).with_name("cuda_copy.cu")
        program = scratch / "cuda_copy"
        yield [installed("nvcc"), "-O2", "-o", str(program), str(source)]
        yield [str(program)]
