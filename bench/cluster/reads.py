"""Namespaced hosts whose caches hold a part of the data set: how often storage is read, as its log has it.

    python bench/cluster/reads.py [--hosts 4] [--shares 0.12,0.25,0.47,0.75] [--deals locality,count] [--beside BYTES] [--rounds 1] [--json FILE]

Needs root (network namespaces), nginx and iproute2. 960 objects of 20 kB are kept as they are stored; each host takes five epochs in batches of 16. With a
share a that is kept at the end (entries ÷ objects), later epochs have to read (1 - a) of the objects; what is read more is told, beside the requests
that were sent a second time since the first was slow. --beside gives each host `memory=` of twice its cache and so many bytes.
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "cluster")]

from hosts import write_objects  # noqa: E402
from job import Job  # noqa: E402
from lab import Lab, ObjectServer, absent  # noqa: E402

OBJECTS, MEAN, EPOCHS, BATCH = 960, 20_000, 5, 16
AN_ENTRY = MEAN + 1000  # with what keeping it takes


def reads_of(job, server):
    """Of each epoch."""
    found = []
    for _ in range(EPOCHS):
        for _ in range(OBJECTS // (BATCH * job.world)):
            for member in job.members:
                member.ask("touch")
            for member in job.members:
                member.line()
        found.append(sum(len(by) for by in server.reads().values()))
    return found


def measure(objects, folder, hosts, share, deal, beside):
    room = int(share * OBJECTS * AN_ENTRY / hosts)
    memory = {} if beside is None else {"memory": f"{2 * room + beside}B"}
    with Lab(hosts, link=1e9, storage_rate=200e6) as lab:
        server = ObjectServer(lab.storage, lab.STORAGE, folder / "store", objects)
        try:
            with Job(lab, server, folder, cache={"ram": f"{room}B", "disk": 0}, shard_by=deal, batch=BATCH, side=0, epochs=EPOCHS, **memory) as job:
                reads = reads_of(job, server)
                kept = job.sum_of(lambda stats: stats["caches"][0]["ram"]["entries"])
                hedges = job.sum_of(lambda stats: stats["stores"][0]["hedges"])
        finally:
            server.close()
    later = (EPOCHS - 1) * (OBJECTS - kept)
    return {"hosts": hosts, "shard_by": deal, "kept": kept / OBJECTS, "reads": reads, "more": sum(reads) - OBJECTS - later, "later": later, "hedges": hedges}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="4")
    parser.add_argument("--shares", default="0.12,0.25,0.47,0.75")
    parser.add_argument("--deals", default="locality,count")
    parser.add_argument("--beside", type=int)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if why := absent():
        sys.exit(f"no hosts: {why}")
    rows = []
    with tempfile.TemporaryDirectory() as data:
        objects = Path(data) / "objects"
        write_objects(objects, OBJECTS, MEAN)
        settings = [(int(hosts), deal, float(share)) for hosts in given.hosts.split(",") for deal in given.deals.split(",") for share in given.shares.split(",")]
        for hosts, deal, share in given.rounds * settings:
            with tempfile.TemporaryDirectory() as folder:
                row = measure(objects, Path(folder), hosts, share, deal, given.beside)
            rows.append(row)
            more = 100 * row["more"] / max(row["later"], 1)
            print(f"{hosts} hosts, {deal}: kept {row['kept']:.3f}; read {row['reads']}, {row['more']} more than nobody keeps ({more:.2f} % of later epochs); "
                  f"{row['hedges']} second requests", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
