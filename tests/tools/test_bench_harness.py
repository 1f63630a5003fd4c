"""What the benchmarks share: figures over rounds, contestants that die or do other work, and what others took of the machine."""
import json
import subprocess
import sys
import time
import types

import pytest

from project import ROOT

sys.path.append(str(ROOT / "bench"))

import torch_dropin_report  # noqa: E402
from harness import command, contestants, equality, measured, noise, process_tree, report, rounds, runs, summary  # noqa: E402
from harness.contestants import Contestant  # noqa: E402


def rate(record):
    return record["samples"] / record["seconds"]


def record(loader, number=0, **changes):
    return {"loader": loader, "round": number, "samples": 100, "seconds": 2.0, "cpu_s": 1.0, "exit_code": 0, "machine": "test",
            "name": loader, "version": "1", "settings": {}} | changes


# ---- figures

def test_spread_is_the_median_with_the_least_and_the_greatest():
    assert summary.spread([3.0, 1.0, 10.0], 1) == "3.0 (1.0–10.0)"
    assert summary.spread([1234.4, 1234.2], 0) == "1,234"
    assert summary.spread([], 1) == "–"
    assert summary.figures([4, 1, 2, 3]) == {"median": 2.5, "least": 1, "greatest": 4}


def test_a_ratio_is_taken_within_a_round_and_not_of_medians():
    ours = [record("forebay", 0, seconds=1.0), record("forebay", 1, seconds=4.0), record("forebay", 2, seconds=1.0)]
    theirs = [record("rival", 0, seconds=2.0), record("rival", 1, seconds=2.0)]  # the third round died
    assert summary.ratios(ours, theirs, rate) == [2.0, 0.5]
    assert report.ratio_cell(ours, theirs, rate) == "1.25 (0.50–2.00)"


def test_a_column_counts_only_records_that_have_it():
    assert summary.column([record("a", peak=2.0), record("b"), record("c", peak=None)], "peak", 10, 0) == "20"


# ---- rounds

def test_who_goes_first_changes_from_round_to_round():
    assert [rounds.turned("abc", number) for number in range(4)] == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]
    assert rounds.turned([], 1) == []


def test_rounds_are_interleaved_and_each_run_is_recorded_at_once(tmp_path):
    out, seen = tmp_path / "out.jsonl", []

    def run(one, number):
        seen.append(len(rounds.recorded(out)))
        return {"loader": one}

    made = rounds.measure(2, lambda number: "ab" if number == 0 else "ba", run, str, out)
    assert [(one["round"], one["loader"]) for one in made] == [(0, "a"), (0, "b"), (1, "b"), (1, "a")]
    assert seen == [0, 1, 2, 3] and rounds.recorded(out) == made and made[0]["cores"] > 0


# ---- equal work

def test_who_does_less_work_than_its_rival_is_refused():
    honest = [record("forebay", samples=100, order="x"), record("torch", samples=100, order="x")]
    lazy = record("lazy", samples=90, seconds=0.1, order="x")
    failed = list(equality.differing([*honest, lazy], ("samples", "order")))
    assert equality.lines(failed, lambda one: one["loader"]) == ["lazy: samples is 90, not 100 as of forebay, torch"]
    assert equality.refused(failed) == {"lazy"}
    assert report.ratio_cell(honest[:1], [lazy], rate, is_refused=True) == "refused"


def test_a_contestant_counts_once_however_many_runs_it_has():
    runs_of_one = [record("lazy", number, samples=90) for number in range(3)]
    failed = equality.differing([record("a"), record("b"), *runs_of_one], ("samples",))
    assert equality.refused(failed) == {"lazy"}


@pytest.mark.parametrize("change", [{"samples": 90}, {"order": "y"}, {"pixels": "y"}, {"all_pixels": "y"}, {"error": "died"},
                                    {"exit_code": 1}])
def test_a_report_with_other_work_gives_no_ratio_and_fails(change, tmp_path, capsys):
    both = [record(loader, case="photos-2", title="photographs", order="x", pixels="x", all_pixels="x", photos=1, reads=1, batch=1)
            for loader in ("torch", "forebay")]
    options = types.SimpleNamespace(report=None, table=str(tmp_path / "table.md"))

    def exit_code(records):
        return command.run(options, lambda _: records, torch_dropin_report.table, torch_dropin_report.problems)

    assert exit_code(both) == 0 and "| 1.00 |" in capsys.readouterr().out
    assert exit_code([both[0], both[1] | change]) == 1
    text = capsys.readouterr().out
    assert "| 1.00 |" not in text and "EQUALITY CHECKS FAILED:\n\n- photos-2, forebay, round 0: " in text
    assert (tmp_path / "table.md").read_text() == text[:-1]


def test_measuring_nothing_is_no_success(capsys):
    options = types.SimpleNamespace(report=None, table=None)
    assert command.run(options, lambda _: [], str, list) == 1
    assert capsys.readouterr().err == "nothing was measured: no contestant can run here\n"


# ---- a run in a process of its own

@pytest.fixture
def run_job(tmp_path):
    """Runs a measured process with this body of measure(job, result): its record."""
    def run(body, limit_s=60, **job):
        script = tmp_path / "contestant.py"
        script.write_text(f"import sys\nsys.path.append({str(ROOT / 'bench')!r})\nfrom harness import measured\n"
                          f"import os, signal, subprocess, time\n\ndef measure(job, result):\n    {body}\n\nmeasured.main(measure)\n")
        return runs.run_job(sys.executable, str(script), job, str(tmp_path), "one", limit_s=limit_s)

    return run


def test_a_job_goes_in_and_a_record_comes_out(run_job):
    made = run_job("part = measured.TimedPart(result); part.begin(); return part.end() | {'twice': 2 * job.number}", number=21)
    assert made["twice"] == 42 and made["exit_code"] == 0
    assert {"seconds", "cpu_s", "others_cpu_s", "foreign_share", "peak_bytes"} <= set(made)


def test_a_run_has_a_folder_of_its_own_that_goes_with_it(run_job, tmp_path):
    made = run_job("open(job.work + '/left', 'w').close(); return {'files': os.listdir(job.work), 'folder': job.work}")
    again = run_job("return {'files': os.listdir(job.work)}")
    assert made["files"] == ["left"] and again["files"] == [] and not (tmp_path / "run").exists()


def test_contestants_see_no_rank_and_no_accelerator(run_job, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("SLURM_PROCID", "3")
    made = run_job("return {'names': sorted(os.environ), 'cuda': os.environ['CUDA_VISIBLE_DEVICES']}")
    assert not {"RANK", "SLURM_PROCID"} & set(made["names"]) and made["cuda"] == ""


@pytest.mark.parametrize("body, code, told", [
    ("raise ValueError('no such file: a.jpg')", 1, "ValueError: no such file: a.jpg"),
    ("os.kill(os.getpid(), signal.SIGSEGV)", -11, ""),
    ("sys.exit(3)", 3, "")])
def test_a_contestant_that_dies_is_told(run_job, tmp_path, body, code, told):
    run_job("return {'earlier': 1}")  # its result must not pass for this run's
    made = run_job(body)
    assert set(made) == {"error"} and made["error"].startswith(f"exit code {code}, no result: ") and told in made["error"]
    assert told in (tmp_path / "one.failed.log").read_text()
    assert equality.process_failures(made) == [made["error"]]


def test_a_contestant_that_dies_behind_its_result_is_told(run_job):
    made = run_job("import atexit; atexit.register(os._exit, 7); return {'samples': 1}")
    assert made["samples"] == 1
    assert equality.process_failures(made) == ["delivered everything, then exited with 7"]


def test_a_contestant_that_does_not_end_is_stopped_and_told(run_job):
    assert "stopped after 1 s" in run_job("time.sleep(600)", limit_s=1)["error"]


def test_what_a_contestant_leaves_running_ends_with_it(run_job):
    child = run_job("return {'child': subprocess.Popen(['sleep', '600']).pid}")["child"]
    until = time.monotonic() + 60
    while is_alive(child):
        assert time.monotonic() < until, "it still runs"
        time.sleep(0.01)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_program_prints_its_record_behind_anything_else():
    script = "print('warming up'); print('{\"samples\": 5}')"
    made = runs.run_program([sys.executable, "-c", script])
    assert made["samples"] == 5 and made["exit_code"] == 0 and {"foreign_share", "others", "peak_bytes"} <= set(made)
    assert "no such folder" in runs.run_program([sys.executable, "-c", "raise SystemExit('no such folder')"])["error"]


# ---- who is there

def options(**more):
    return types.SimpleNamespace(rivals="/rivals", forebay_python=sys.executable, limit=None, **more)


def test_missing_contestants_are_told_in_one_line_and_left_out(capsys):
    there = {"forebay": Contestant(needs=("sys",)), "dali": Contestant("dali", "dali"), "limit": Contestant(program="limit"),
             "torch": Contestant(needs=("sys", "a_module_that_is_absent"))}
    assert contestants.present(["forebay", "dali", "torch", "limit"], there, options()) == ["forebay"]
    assert capsys.readouterr().err == (
        "NOT INSTALLED, left out: dali (bench/rivals/install /rivals dali); "
        f"torch ({sys.executable} lacks a_module_that_is_absent); limit (--limit is not given)\n")


def test_a_mistyped_contestant_ends_the_program_with_those_that_there_are():
    with pytest.raises(SystemExit, match=r"no such loader: dally \(there are: dali, forebay\)"):
        contestants.known(["forebay", "dally"], {"dali": Contestant(), "forebay": Contestant()})


# ---- what others took of the machine

def machine(**cpu_s):
    """{pid: Process}: init, and programs that it started, as "name=CPU seconds"."""
    found = {1: process_tree.Process("init", 0, 0.0), 100: process_tree.Process("python", 1, cpu_s.pop("me"))}
    return found | {200 + place: process_tree.Process(name, 1, value) for place, (name, value) in enumerate(cpu_s.items())}


def test_cpu_seconds_are_those_of_the_tree():
    there = {1: process_tree.Process("init", 0, 50.0), 2: process_tree.Process("main", 1, 1.0),
             3: process_tree.Process("worker", 2, 2.0), 4: process_tree.Process("its child", 3, 4.0),
             5: process_tree.Process("other", 1, 8.0)}
    assert process_tree.cpu_seconds(2, there) == 7.0 and process_tree.cpu_seconds(99, there) == 0


@pytest.fixture
def timed(tmp_path, monkeypatch):
    """A TimedPart of 1 s on two cores, between two states of the machine: its figures."""
    def run(before, after, machine_s, servers=None):
        for module, name, values in ((measured.process_tree, "processes", [before, after]),
                                     (measured.process_tree, "machine_cpu_seconds", [0.0, machine_s]),
                                     (measured.time, "monotonic", [10.0, 11.0])):
            monkeypatch.setattr(module, name, iter(values).__next__)
        monkeypatch.setattr(measured.os, "getpid", lambda: 100)
        monkeypatch.setattr(noise.os, "cpu_count", lambda: 2)
        part = measured.TimedPart(str(tmp_path / "result"), servers)
        part.begin()
        return part.end()

    return run


def test_noise_is_told_with_the_name_of_who_made_it(timed):
    found = timed(machine(me=5.0, cc1plus=1.0, sshd=1.0), machine(me=6.0, cc1plus=1.5, sshd=1.0), machine_s=1.6)
    assert (found["seconds"], found["cpu_s"]) == (1.0, 1.0) and found["others_cpu_s"] == pytest.approx(0.6)
    assert found["foreign_share"] == pytest.approx(0.3) and found["others"] == ["cc1plus 0.5 s"]
    assert noise.lines([record("dali") | found, record("quiet")], lambda one: one["loader"])[0] == (
        "NOISY (other programs took over 10 % of the CPU time): dali (30 %: cc1plus 0.5 s)")


def test_a_quiet_machine_is_not_called_noisy(timed):
    found = timed(machine(me=5.0), machine(me=6.0), machine_s=1.05)  # 50 ms: a few clock ticks
    assert found["foreign_share"] == 0 and not noise.is_noisy(found)
    assert noise.lines([record("forebay") | found], str) == []


def test_servers_of_the_benchmark_are_counted_apart_and_are_no_noise(timed):
    found = timed(machine(me=5.0, gateway=1.0), machine(me=6.0, gateway=1.5), machine_s=1.5, servers={"gateway": 200})
    assert found["server_cpu_s"] == {"gateway": 0.5} and found["foreign_share"] == 0 and found["others"] == []


def test_a_child_that_was_waited_for_brings_no_time_from_before():
    before = {1: process_tree.Process("init", 0, 0.0), 2: process_tree.Process("make", 1, 1.0),
              3: process_tree.Process("cc1plus", 2, 20.0)}
    after = {1: before[1], 2: process_tree.Process("make", 1, 21.5)}
    assert noise.others_named(before, after, []) == ["make 0.5 s"]


# ---- memory and threads

def test_memory_of_a_tree_has_what_its_children_hold():
    hold = "import sys; kept = bytearray(b'x') * 50_000_000; print('holds', flush=True); sys.stdin.read()"
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}])"
    with subprocess.Popen([sys.executable, "-c", start], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"holds\n"
        total, files = process_tree.memory(process.pid)
        process.stdin.close()
    assert total - files > 50_000_000


def test_threads_are_counted_by_name():
    # In a process of its own: servers of other tests come and go below this one.
    wait = "import sys, threading; threads = [threading.Thread(target=sys.stdin.read) for _ in range(3)]; [one.start() for one in threads]; print('run', flush=True)"
    with subprocess.Popen([sys.executable, "-c", wait], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"run\n"
        assert sum(process_tree.threads(process.pid).values()) == 4
        process.stdin.close()


def test_records_are_json(tmp_path):
    out = tmp_path / "out.jsonl"
    rounds.measure(1, lambda number: ["a"], lambda one, number: record(one), str, out)
    assert [json.loads(line)["loader"] for line in out.read_text().splitlines()] == ["a"]
