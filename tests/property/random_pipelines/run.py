"""The command: python -m tests.property.random_pipelines --seed 7 --count 1000 --jobs 2, or --replay SEED."""

from __future__ import annotations

import argparse
import collections
import sys
import time

from .case import Case
from .check import Failure
from .generator import generate
from .pool import LIMIT_S, Worker, check_all
from .reproduce import reproduction
from .shrink import shrink


def _arguments(argv) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.property.random_pipelines", description="Random pipelines against a model.")
    parser.add_argument("--seed", type=int, default=0, help="of the first pipeline; the next has the next seed")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds without computing that are a hang")
    parser.add_argument("--replay", type=int, help="this seed alone, shrunk")
    parser.add_argument("--no-shrink", action="store_true", help="tell the seeds only")
    parser.add_argument("--per-kind", type=int, default=1, help="reproductions of each kind of failure")
    parser.add_argument("--shrink-seconds", type=float, default=60)
    return parser.parse_args(argv)


def shrunk(question: dict, kind: str, seconds: float, limit_s: float = LIMIT_S) -> tuple[Case, Failure]:
    case = Case.from_json(question["case"]) if "case" in question else generate(question["seed"])
    worker = Worker(min(limit_s, 10) if kind == "hang" else limit_s)
    more = {key: value for key, value in question.items() if key == "break"}
    try:
        case, answer = shrink(case, kind, lambda it: worker.ask({"case": it.to_json(), **more}), seconds)
    finally:
        worker.close()
    return case, Failure(answer.get("kind", kind), answer.get("text", "it does not fail again"), answer.get("run", 0))


def tell(question: dict, answer: dict, seconds: float, limit_s: float) -> str:
    case, failure = shrunk(question, answer["kind"], seconds, limit_s)
    return f"{reproduction(case, failure)}\n# steps: {'; '.join(map(str, case.steps))}\n# {case.to_json()}"


def main(argv=None) -> int:
    args = _arguments(argv)
    if args.replay is not None:
        args.seed, args.count = args.replay, 1
    began, kinds, illegal = time.monotonic(), collections.defaultdict(list), 0
    seeds = ({"seed": seed} for seed in range(args.seed, args.seed + args.count))
    for question, answer in check_all(seeds, args.jobs, args.limit):
        illegal += "illegal" in answer
        if "kind" not in answer:
            continue
        known = kinds[answer["kind"]]
        known.append(question["seed"])
        print(f"seed {question['seed']}: {answer['kind']}: {answer['text'][:200]!r}", flush=True)
        if not args.no_shrink and len(known) <= args.per_kind:
            print(tell(question, answer, args.shrink_seconds, args.limit), flush=True)
    for kind, failed in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(failed):6} {kind}: {failed[:8]}")
    count = sum(map(len, kinds.values()))
    print(f"{args.count} pipelines, {count} failed, {illegal} left out, {time.monotonic() - began:.0f} s")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
