"""`python -m forebay._bench PIPELINE.json --against torch`: implements `forebay bench --against`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

from . import equality, process_tree
from .translate import Untranslatable, fixed, work_of

COMPARED = 256  # number of samples whose values are compared
LIMIT_S = 900
POLL_S = 0.25
WHERE = "install it there, or set FOREBAY_PYTHON to a Python that has it and forebay"


@dataclass(frozen=True)
class Rival:
    module: str
    needs: tuple[str, ...]  # modules


RIVALS = {"torch": Rival("forebay._bench.torch_loader", ("torch", "PIL"))}


class Failed(Exception):
    """A contender's process failed. The message is the end of its output."""


@dataclass
class Contender:
    name: str
    module: str
    workers: int = 0
    records: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Bench:
    """One comparison: the steps, the contenders, and those that are left out with the reasons."""

    options: argparse.Namespace
    steps: list[dict[str, Any]]
    folder: str
    samples: int = 0
    listing: list[tuple[str, int]] = field(default_factory=list)
    contenders: list[Contender] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    refused: dict[str, list[str]] = field(default_factory=dict)

    def run(self, contender: Contender, steps: list[dict[str, Any]], *, epochs: int = 1, values: str = "", look: bool = False) -> dict[str, Any]:
        job = {"module": contender.module, "steps": steps, "seed": self.options.seed, "workers": contender.workers,
               "epochs": epochs, "values": values, "look": look, "listing": [] if contender.name == "forebay" else self.listing}
        return run_job(job, self.folder)

    def prove(self, rival: Contender) -> list[str]:
        """Returns the differences between the rival's output and Forebay's."""
        ours = self.contenders[0]
        short = [{"op": "take", "n": COMPARED}]
        still = fixed(self.steps)
        still = still[:1] + short + still[1:]
        files = {one.name: os.path.join(self.folder, f"{one.name}.npz") for one in (ours, rival)}
        for one in (ours, rival):
            self.run(one, still, values=files[one.name], look=True)
        wrong = equality.of_values(*files.values()) if all(map(os.path.exists, files.values())) else []
        work = work_of(self.steps)
        seen = [self.run(one, self.steps, look=True) for one in (ours, rival)]
        return wrong + equality.of_epoch(*seen, ordered=not work.shuffle, drop_last=work.drop_last)

    def tune(self, rival: Contender) -> None:
        """Finds the number of workers with which the rival is fastest."""
        cores = len(os.sched_getaffinity(0))
        tried = {self.options.threads} if self.options.threads else {0, 1, cores, 2 * cores}
        rates = {}
        for workers in sorted(tried):
            rival.workers = workers
            rates[workers] = rate(self.run(rival, self.steps, epochs=2)["epochs"][1:])
        rival.workers = max(rates, key=lambda workers: rates[workers])

    def rounds(self) -> None:
        """Runs the contenders in rotating order. A contender that fails is removed."""
        for number in range(self.options.rounds):
            first = number % len(self.contenders)
            for one in self.contenders[first:] + self.contenders[:first]:
                if one.name in self.refused:
                    continue
                try:
                    record = self.run(one, self.steps, epochs=self.options.epochs)
                except Failed as error:
                    if one.name == "forebay":
                        raise
                    self.refused[one.name] = [str(error)]
                    continue
                if wrong := equality.of_timed(record["epochs"], self.samples):
                    self.refused[one.name] = wrong
                one.records.append(record)


def run_job(job: dict[str, Any], folder: str) -> dict[str, Any]:
    """Runs one process for one job. Returns its record, with the peak of memory."""
    config, result = os.path.join(folder, "job.json"), os.path.join(folder, "result.json")
    if os.path.exists(result):
        os.remove(result)
    with open(config, "w") as file:
        json.dump(job, file)
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([sys.executable, "-m", "forebay._bench.contender", config, result], stdin=subprocess.DEVNULL,
                                   stdout=said, stderr=said)
        peak, began = 0, time.monotonic()
        try:
            while process.poll() is None:
                peak = max(peak, process_tree.memory(process.pid)[0])
                if time.monotonic() - began > LIMIT_S:
                    raise Failed(f"it was stopped after {LIMIT_S} s")
                time.sleep(POLL_S)
        finally:
            process.kill()
            process.wait()
        said.seek(0)
        text = said.read()
    if process.returncode != 0 or not os.path.exists(result):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        raise Failed(f"it ended with {process.returncode}: {' / '.join(lines[-2:])[-400:]}")
    with open(result) as file:
        return {**json.load(file), "peak_bytes": peak}


def rate(epochs: list[dict[str, Any]]) -> float:
    return sum(epoch["samples"] for epoch in epochs) / max(sum(epoch["seconds"] for epoch in epochs), 1e-9)


def figures(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def listing_of(steps: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Returns (key, label) by id, as Forebay lists them, so that no contender's listing is timed.
    """
    import forebay as fb

    source = [step for step in steps if step["op"] in ("images", "take")]
    source += [{"op": "select", "fields": ["label", "key"]}, {"op": "batch", "n": 1024}]
    with fb.Loader(fb.Pipeline.from_json(json.dumps({"forebay_pipeline": 1, "steps": source})), epochs=1, rank=0, world_size=1) as loader:
        return [(key, int(label)) for batch in loader for key, label in zip(batch["key"], batch["label"])]


def why_missing(rival: Rival) -> str | None:
    absent = [name for name in rival.needs if importlib.util.find_spec(name) is None]
    return f"{sys.executable} lacks {', '.join(absent)}; {WHERE}" if absent else None


def compare(bench: Bench) -> None:
    bench.contenders.append(Contender("forebay", "forebay._bench.forebay_loader", bench.options.threads or 0))
    rivals = []
    for name in dict.fromkeys(bench.options.against):
        if why := why_missing(RIVALS[name]):
            bench.left_out[name] = why
            continue
        try:
            work_of(bench.steps)
            rivals.append(Contender(name, RIVALS[name].module, bench.options.threads or len(os.sched_getaffinity(0))))
        except Untranslatable as error:
            bench.left_out[name] = str(error)
    if rivals:
        bench.listing = listing_of(bench.steps)
    for rival in rivals:
        try:
            if wrong := bench.prove(rival):
                bench.refused[rival.name] = wrong
                continue
            bench.tune(rival)
            bench.contenders.append(rival)
        except Failed as error:
            bench.refused[rival.name] = [str(error)]
    seen = bench.run(bench.contenders[0], bench.steps, look=True)
    bench.samples = len(seen["ids"])
    bench.rounds()


def summary(bench: Bench) -> dict[str, Any]:
    base = bench.contenders[0].records
    told = {}
    for one in bench.contenders:
        if one.name in bench.refused:
            continue
        later = [record["epochs"][1:] for record in one.records]
        told[one.name] = {
            "samples_per_second": figures([rate(epochs) for epochs in later]),
            "first_epoch_samples_per_second": figures([rate(record["epochs"][:1]) for record in one.records]),
            "cpu_us_per_sample": figures([1e6 * sum(e["cpu_s"] for e in epochs) / max(1, sum(e["samples"] for e in epochs)) for epochs in later]),
            "peak_bytes": figures([record["peak_bytes"] for record in one.records]),
            "workers": one.workers or (None if one.name == "forebay" else 0),
            "forebay_times_as_fast": figures([rate(mine["epochs"][1:]) / rate(epochs) for mine, epochs in zip(base, later)]),
        }
    return {"contenders": told, "left_out": bench.left_out, "refused": bench.refused, "samples": bench.samples,
            "rounds": bench.options.rounds, "epochs": bench.options.epochs, "threads": bench.options.threads, "cores": len(os.sched_getaffinity(0)),
            "compared": compared(bench)}


def compared(bench: Bench) -> str:
    return (f"the pictures of the first {min(COMPARED, bench.samples)} samples value by value, with random steps fixed; labels, keys, types, "
            "shapes, sizes of batches and that each sample came once, of a whole epoch; mean and deviation of the pictures with "
            "random steps, whose random numbers differ; the number of samples in every epoch that was timed")


def text(told: dict[str, Any]) -> str:
    lines = [f"{told['samples']} samples an epoch, {told['rounds']} rounds in turning order, {told['cores']} cores; "
             "the median, with the least and the greatest in brackets"]
    for name, one in told["contenders"].items():
        workers = "" if name == "forebay" else f" with {one['workers']} workers{'' if told['threads'] else ', the best of those tried'}"
        lines.append(f"{name}{workers}: {_spread(one['samples_per_second'])} samples a second "
                     f"(first epochs {_spread(one['first_epoch_samples_per_second'])}), CPU {_spread(one['cpu_us_per_sample'])} µs a sample, "
                     f"peak memory {one['peak_bytes']['median'] / 2**20:.0f} MiB")
        if name != "forebay":
            lines.append(f"  forebay is {_spread(one['forebay_times_as_fast'], 2)} times as fast as {name}")
    lines += [f"{name} was left out: {why}" for name, why in told["left_out"].items()]
    for name, wrong in told["refused"].items():
        lines.append(f"{name} is refused, and has no figures: {'; '.join(wrong)}")
    if len(told["contenders"]) > 1:
        lines.append(f"Compared: {told['compared']}.")
    return "\n".join(lines)


def _spread(found: dict[str, float], digits: int = 0) -> str:
    return f"{found['median']:.{digits}f} ({found['low']:.{digits}f}–{found['high']:.{digits}f})"


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="forebay bench", description="A pipeline beside other loaders that do the same work.")
    parser.add_argument("pipeline")
    parser.add_argument("--against", type=lambda names: names.split(","), action="extend", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3, help="the first one is told apart")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="of Forebay, and workers of the others; else the best of several")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.against if name not in RIVALS]:
        parser.error(f"there is no loader {', '.join(unknown)} to compare with; there are: {', '.join(RIVALS)}")
    if options.epochs < 2 or options.rounds < 1:
        parser.error("--epochs must be 2 or more with --against, and --rounds 1 or more: the first epoch is told apart")
    return options


def main(arguments: list[str]) -> int:
    import forebay as fb

    options = parsed(arguments)
    try:
        with open(0 if options.pipeline == "-" else options.pipeline) as file:
            given = file.read()
        steps = json.loads(fb.Pipeline.from_json(given).to_json())["steps"]
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(options, steps, folder)
            compare(bench)
    except OSError as error:
        print(f"forebay: {options.pipeline}: {error.strerror}; give a file with a pipeline as JSON", file=sys.stderr)
        return 1
    except (fb.Error, Failed) as error:
        print(f"forebay: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    told = summary(bench)
    print(json.dumps(told, indent=2, sort_keys=True, ensure_ascii=False) if options.json else text(told))
    return 1 if told["left_out"] or told["refused"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
