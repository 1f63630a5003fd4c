"""One run: a contestant in a process of its own, with a limit of time, and what became of it."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from harness.measured import TimedPart
from harness.memory_sampler import MemorySampler

RUN_LIMIT_S = 900
ERROR_LINES, ERROR_LENGTH = 3, 300  # of a failed run's output that its record keeps
RANK_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "SLURM_", "OMPI_", "PMI_")
BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclasses.dataclass(frozen=True)
class Ended:
    """A process that has ended."""
    exit_code: int        # negative: the signal that ended it
    out: str
    error: str
    peak_bytes: int       # proportional set size of it and its descendants
    peak_file_bytes: int  # of it mapped files

    def failure(self):
        """The record of a run without a result."""
        lines = [line.strip() for line in (self.error.strip() or self.out.strip()).splitlines() if line.strip()]
        return {"error": f"exit code {self.exit_code}, no result: {' / '.join(lines[-ERROR_LINES:])[-ERROR_LENGTH:]}"}

    def facts(self):
        """What every record has of the process."""
        return {"exit_code": self.exit_code, "peak_bytes": self.peak_bytes, "peak_file_bytes": self.peak_file_bytes}


def environment(**more):
    """What contestants see: this process's, no accelerator, no rank."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(RANK_VARIABLES)}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # an import that compiles every time is not what users wait for
    return kept | {"CUDA_VISIBLE_DEVICES": ""} | more


def run_process(command, env, result=None, limit_s=RUN_LIMIT_S):
    """Runs it to its end, or kills it after `limit_s`. What it has left running is killed too, so that it disturbs no later run."""
    env = env | {"BENCH_STARTED_NS": str(time.monotonic_ns())}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=error, start_new_session=True)
        with MemorySampler(process.pid, result) as memory:
            try:
                late = ""
                process.wait(limit_s)
            except subprocess.TimeoutExpired:
                late = f"\nstopped after {limit_s} s"
            finally:
                _kill_group(process.pid)
                process.wait()
        texts = [(file.seek(0), file.read())[1] for file in (out, error)]
    return Ended(process.returncode, texts[0], texts[1] + late, memory.peak_bytes, memory.peak_file_bytes)


def _kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_job(python, script, job, work, name, env=None, limit_s=RUN_LIMIT_S):
    """Has SCRIPT (on harness.measured) do a job: its record, or a record with `error` and the output in WORK/NAME.failed.log.

    The job's `work` is an empty folder of this run alone; it is removed afterwards.
    """
    config, result, scratch = (os.path.join(work, file) for file in ("job.json", "result.json", "run"))
    _remove(result, result + ".measuring", result + ".measured")
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    with open(config, "w") as file:
        json.dump({"work": scratch} | job, file)
    ended = run_process([python, script, config, result], environment() if env is None else env, result, limit_s)
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        with open(result) as file:
            return json.load(file) | ended.facts()
    except (OSError, ValueError):
        with open(os.path.join(work, f"{name}.failed.log"), "w") as file:
            file.write(ended.out + ended.error)
        return ended.failure()


def run_program(command, env=None, servers=None, limit_s=RUN_LIMIT_S):
    """A program that prints its record: the last line of its standard output that is JSON; or a record with `error`.

    What others had of the machine is of its whole life, since from outside nobody knows what part of it is timed; `servers`
    ({name: pid}) are no others.
    """
    whole = TimedPart(servers=servers)
    whole.begin()
    ended = run_process(command, environment() if env is None else env, limit_s=limit_s)
    figures = whole.end()
    noise = {key: figures[key] for key in ("others_cpu_s", "foreign_share", "others")}
    lines = [line for line in ended.out.splitlines() if line.startswith("{")]
    try:
        return json.loads(lines[-1]) | noise | ended.facts()
    except (IndexError, ValueError):
        return ended.failure()


def _remove(*files):
    for file in files:
        if os.path.exists(file):
            os.remove(file)
