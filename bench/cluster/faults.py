"""Four namespaced hosts, of which one is killed, frozen, cut off, slowed to 1 % or has its disk filled, at random moments: what the others lose.

    python bench/cluster/faults.py [--moments 100] [--seed 1] [--pace 0.05] [--steps 60] [--json FILE]

Needs root (network namespaces), nginx and iproute2. In each trial the fault begins before a random step and lasts for a random number of steps
of the others; then it ends, and the host takes the batches that it owes. Lost: what the other that waited longest waited for its batches in
these epochs, over the median of as many epochs without a fault. Right: the epoch's samples are those of one host without peers.
"""
import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "cluster")]

from faults import JOB, KINDS, LINK, Trial  # noqa: E402
from job import Job, truth  # noqa: E402
from lab import Lab, ObjectServer, absent  # noqa: E402
from project import write_photos  # noqa: E402

HOSTS, BATCH, SAMPLES = 4, 4, 240


def run(given, folder):
    steps, epochs = SAMPLES // HOSTS // BATCH, 16 * given.moments + 20
    write_photos(folder / "photos", per_class=SAMPLES // 3)
    with Lab(HOSTS, link=LINK, storage_rate=100e6) as lab:
        server = ObjectServer(lab.storage, lab.STORAGE, folder / "store", folder / "photos")
        try:
            expected = truth(lab, server, epochs, side=JOB["side"], batch=BATCH)
            with Job(lab, server, folder, batch=BATCH, **JOB) as job:
                trial = Trial(job, expected, steps, given.seed, given.pace)
                trial.healthy()
                usual = statistics.median(trial.healthy() for _ in range(9))
                for number in range(given.moments):
                    kind = KINDS[number % len(KINDS)]
                    told = trial.fault(kind, given.steps, comes_back_used=kind == "killed")
                    yield vars(told) | {"lost": told.waited - usual * told.epochs, "usual": usual}
        finally:
            server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pace", type=float, default=0.05, help="seconds that a training step takes")
    parser.add_argument("--steps", type=int, default=60, help="that a fault lasts at most")
    parser.add_argument("--json", type=Path, help="a line for each fault")
    given = parser.parse_args()
    if why := absent():
        sys.exit(f"no hosts: {why}")
    begun, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        for row in run(given, Path(folder)):
            rows.append(row)
            if given.json:
                with open(given.json, "a") as out:
                    out.write(json.dumps(row) + "\n")
    print(f"{len(rows)} faults in {time.monotonic() - begun:.0f} s; an epoch without one waits {rows[0]['usual']:.3f} s")
    print(f"{'':<15}{'times':>6}{'right':>7}{'lasted s, to':>13}{'lost s, median':>16}{'largest':>9}{'used again':>12}")
    for kind in KINDS:
        of = [row for row in rows if row["kind"] == kind]
        if not of:
            continue
        used = [row["used_again"] for row in of if row["used_again"] is not None]
        lost = [row["lost"] for row in of]
        print(f"{kind:<15}{len(of):>6}{sum(row['right'] for row in of):>7}{max(row['lasted'] for row in of):>13.1f}{statistics.median(lost):>16.2f}{max(lost):>9.2f}"
              f"{f'{sum(used)} of {len(used)}' if used else '':>12}")
    quarter = max(len(rows) // 4, 1)
    for what, unit in (("descriptors", 1), ("resident", 1 << 20)):
        early, late = (statistics.median(max(row[what]) for row in part) / unit for part in (rows[:quarter], rows[-quarter:]))
        print(f"{what}, the most of a host that nothing happens to: first quarter {early:.1f}, last {late:.1f}{' MiB' if unit > 1 else ''}")
    sys.exit(not all(row["right"] and row["used_again"] is not False for row in rows))


if __name__ == "__main__":
    main()
