"""The settings of Yang & Cong (arXiv 1910.01196) in the simulator: 256 nodes with 4 learners, four data sets, loading alone.

    python bench/cluster/paper.py [--json]

The gains printed beside ours are the paper's for 1,024 learners, of loading by place over regular loading. Its rates are not all stated, so
those below are assumed, and printed: change them with --storage, --requests, --link, --cores. A gain is the simulated time of a later epoch
of regular loading over that of the local deal; what a host decodes bounds it, as it did there.
"""
import argparse
import json
import time

import forebay as fb

# Samples, mean bytes, samples a second that a core prepares (all assumed, but for ImageNet's number), and the paper's gain.
DATA_SETS = {
    "ImageNet": (1_281_167, 117_000, 150, 34.0),
    "UCF101-RGB": (2_480_000, 12_000, 600, 55.5),
    "UCF101-FLOW": (4_960_000, 6_000, 900, 60.6),
    "MuMMI": (7_000_000, 130_000, 1_000, 120.0),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=256)
    parser.add_argument("--storage", default="2GB/s", help="what storage gives all hosts")
    parser.add_argument("--requests", type=float, default=40_000, help="requests a second that storage answers, small files")
    parser.add_argument("--link", default="100Gbit/s")
    parser.add_argument("--ram", default="128GB", help="a host, for samples")
    parser.add_argument("--cores", type=int, default=40, help="a host, for preparing")
    parser.add_argument("--batch", type=int, default=32, help="rows a learner")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = []
    for name, (samples, size, rate, papers) in DATA_SETS.items():
        begun = time.monotonic()
        found = fb.simulate(
            hosts=given.hosts, ranks_per_host=4, ram=given.ram, link=given.link, prepare=rate * given.cores, samples=samples,
            sample_bytes=size, batch_size=given.batch, storage={"rate": given.storage, "requests_per_second": given.requests})
        later = {run["policy"]: run["epochs"][-1] for run in found.data["runs"]}
        rows.append({"data_set": name, "samples": samples, "sample_bytes": size, "prepare_per_core": rate, "gain": found.gain,
                     "paper": papers, "regular_s": later["regular"]["seconds"], "count_s": later["count"]["seconds"],
                     "clairvoyant_s": later["clairvoyant"]["seconds"], "local_s": found.seconds, "by_arithmetic_s": found.data["model"]["seconds"],
                     "moved": later["local"]["moved"], "took_s": time.monotonic() - begun})
    if given.json:
        print(json.dumps({"assumed": vars(given), "rows": rows}, indent=1))
        return
    print(f"{given.hosts} hosts × 4; assumed: storage {given.storage} and {given.requests:,.0f} requests/s, links {given.link}, {given.ram} of "
          f"memory, {given.cores} cores a host, {given.batch} rows a learner")
    print(f"{'':<12}{'samples':>10}{'bytes':>9}{'/s a core':>10}{'regular s':>11}{'count s':>9}{'local s':>9}{'model s':>9}{'moved':>7}"
          f"{'gain':>8}{'paper':>7}")
    for row in rows:
        print(f"{row['data_set']:<12}{row['samples']:>10}{row['sample_bytes']:>9}{row['prepare_per_core']:>10}{row['regular_s']:>11.1f}"
              f"{row['count_s']:>9.2f}{row['local_s']:>9.2f}{row['by_arithmetic_s']:>9.2f}{row['moved']:>7.1%}{row['gain']:>8.1f}{row['paper']:>7}")


if __name__ == "__main__":
    main()
