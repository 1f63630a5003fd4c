"""What a program asks the kernel about the files of a folder, as strace sees it: opens, questions without reading, reads by size.

The ranges of sizes are those of Darshan's counters POSIX_SIZE_READ_* (https://www.mcs.anl.gov/research/projects/darshan/).
"""
import collections
import pathlib
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

RANGES = ((100, "0-100"), (1_000, "100-1K"), (10_000, "1K-10K"), (100_000, "10K-100K"), (1_000_000, "100K-1M"), (4_000_000, "1M-4M"),
          (10_000_000, "4M-10M"), (float("inf"), "10M+"))
READS = {"read", "readv", "pread64", "preadv", "preadv2"}
OPENS = {"open", "openat", "openat2"}
ASKS = {"stat", "lstat", "fstat", "newfstatat", "statx", "lseek", "access", "faccessat", "faccessat2", "ioctl", "fcntl", "readlink"}
OTHERS = {"mmap", "io_uring_setup"}  # read without a call of its own for each read: not seen here
SYSCALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\)\s+= (-?\d+|\?|0x[0-9a-f]+)")
PATHS = re.compile(r'<(/[^>]*)>|"((?:[^"\\]|\\.)*)"')


@dataclass
class Calls:
    """Of all files together, and of each."""
    opens: collections.Counter = field(default_factory=collections.Counter)  # by file
    asks: int = 0
    reads: collections.Counter = field(default_factory=collections.Counter)  # by the name of the range
    read_bytes: collections.Counter = field(default_factory=collections.Counter)  # by file
    empty_reads: int = 0  # that found the end of the file
    unseen: int = 0  # mapped, or asked of io_uring

    @property
    def count(self):
        return sum(self.reads.values())


def can_trace():
    """Is strace there, and allowed to look?"""
    return bool(shutil.which("strace")) and subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode == 0


def range_of(size):
    return next(name for most, name in RANGES if size <= most)


def file_of(arguments, folder):
    """The file below the folder that a call is about, by the path of its descriptor, or by its folder and its name."""
    base = None
    for descriptor, name in PATHS.findall(arguments):
        path = pathlib.PurePosixPath(descriptor or name)
        if name and not path.is_absolute():
            path = (base or folder) / path
        if descriptor and folder not in path.parents:
            base = path  # a folder that a name may follow
            continue
        if folder in path.parents:
            return str(path)
    return None


def count(lines, folder):
    """Calls of the lines of `strace -y` about files below `folder`."""
    calls, folder = Calls(), pathlib.PurePosixPath(folder)
    for line in lines:
        found = SYSCALL.match(line)
        if not found:
            continue
        name, arguments, result = found.groups()
        if name == "io_uring_setup":
            calls.unseen += 1
            continue
        path = file_of(arguments, folder)
        if path is None or result.startswith("-"):
            continue
        if name in OPENS:
            calls.opens[path] += 1
        elif name in READS and result != "?":
            calls.read_bytes[path] += int(result)
            if int(result):
                calls.reads[range_of(int(result))] += 1
            else:
                calls.empty_reads += 1
        elif name in ASKS:
            calls.asks += 1
        elif name in OTHERS:
            calls.unseen += 1
    return calls


def traced(command, folder, **options):
    """Runs it to its end; subprocess.CalledProcessError where that was a bad one."""
    with tempfile.TemporaryDirectory() as logs:
        # A log for each thread, or calls of several are torn into pieces.
        wanted = ",".join(sorted(READS | OPENS | ASKS | OTHERS))
        tracer = ["strace", "-ff", "-y", "-s", "0", "-e", "signal=none", "-e", f"trace=?{',?'.join(wanted.split(','))}", "-o", f"{logs}/calls"]
        # Names of opened files are needed: "-s 0" shortens what is read, not paths.
        subprocess.run([*tracer, *command], check=True, capture_output=True, text=True, **options)
        lines = (line for log in sorted(pathlib.Path(logs).iterdir()) for line in log.read_text(errors="replace").splitlines())
        return count(lines, folder)
