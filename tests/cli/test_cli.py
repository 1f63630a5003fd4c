"""The program `forebay`, run as a user runs it. FOREBAY_PROGRAM names it; else that of the build folder, or else the installed one, is taken."""
import io
import json
import os
import random
import re
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from project import PROGRAM, write_photos

DONE, FAILED, MISUSE, INTERRUPTED = 0, 1, 2, 130
PHOTOS = 3 * 7
RANK_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in RANK_VARIABLES}


def start(*arguments, cwd=None):
    # A shell that runs tests in the background has them ignore Ctrl-C, and the program would inherit that.
    return subprocess.Popen([str(PROGRAM), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            stdin=subprocess.DEVNULL, cwd=cwd, env=ENVIRONMENT,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))


def forebay(*arguments, code=DONE, cwd=None):
    """What the program prints; its complaints must be short and never a trace."""
    process = start(*arguments, cwd=cwd)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, f"exit code {process.returncode}, expected {code}\n{out}{err}"
    assert "terminate called" not in err and "Traceback" not in err
    return out, err


def as_json(*arguments, **kwargs):
    """The result, which must be the whole of standard output, with sorted keys."""
    out, _ = forebay(*arguments, "--json", **kwargs)
    result = json.loads(out)
    assert without_fractions(out) == without_fractions(json.dumps(result, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    return result


def without_fractions(text):
    """Writers of JSON agree on a fraction's value, but not on its digits: 0.020218181 and 0.020218181000000002 are one number."""
    return re.sub(r"-?\d+(\.\d+(e[+-]?\d+)?|e[+-]?\d+)(?=,?$)", "0.5", text, flags=re.M)


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("photos") / "train")


def write_pipeline(path, root, batch=4, shuffle=True, last="partial", size=32, extra=()):
    steps = [{"op": "images", "root": str(root)}, *([{"op": "shuffle"}] if shuffle else []), {"op": "decode_image"},
             {"op": "random_resized_crop", "n": size}, {"op": "random_flip"},
             {"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}, *extra,
             {"op": "batch", "n": batch, "last": last}]
    path.write_text(json.dumps({"forebay_pipeline": 1, "steps": steps}))
    return path


@pytest.fixture
def pipeline(tmp_path, photos):
    return write_pipeline(tmp_path / "pipeline.json", photos)


@pytest.fixture
def broken_photos(tmp_path):
    root = write_photos(tmp_path / "broken")
    (root / "cats" / "cats_0.jpg").write_bytes((root / "cats" / "cats_0.jpg").read_bytes()[:200])
    (root / "dogs" / "fake.png").write_bytes(b"not a picture at all")
    (root / "dogs" / "notes.txt").write_text("by hand")
    (root / "fish" / ".hidden.jpg").write_bytes(b"")
    return root


def digests(result):
    return [epoch["digest"] for epoch in result["epochs"]]


# ---- the program as a whole


def test_without_a_verb_it_lists_the_verbs():
    _, err = forebay(code=MISUSE)
    for verb in ("cache", "demo", "inspect", "plan", "run"):
        assert re.search(rf"^  {verb} +\w", err, re.MULTILINE)


def test_help_and_version():
    assert "Exit codes" in forebay("--help")[0]
    assert re.fullmatch(r"forebay \d+\.\d+\.\d+\n", forebay("--version")[0])


@pytest.mark.parametrize("verb", ["cache", "demo", "inspect", "plan", "run"])
def test_every_verb_has_help_and_json(verb):
    out, _ = forebay(verb, "--help")
    assert "--json" in out and "--help" in out
    assert forebay("help", verb)[0] == out


@pytest.mark.parametrize("typed, meant", [("rnu", "run"), ("inspct", "inspect"), ("dem", "demo"), ("--versoin", "--version")])
def test_a_mistyped_verb_gets_a_suggestion(typed, meant):
    _, err = forebay(typed, code=MISUSE)
    assert f"did you mean '{meant}'?" in err and err.count("\n") == 1


@pytest.mark.parametrize("arguments, meant", [
    (["run", "--sede", "7", "p.json"], "--seed"), (["run", "p.json", "--on-eror=skip"], "--on-error"),
    (["plan", "p.json", "--wrld", "2"], "--world"), (["demo", "--bacth", "8"], "--batch"), (["inspect", "--decod"], "--decode")])
def test_a_mistyped_option_gets_a_suggestion(arguments, meant):
    _, err = forebay(*arguments, code=MISUSE)
    assert f"did you mean '{meant}'?" in err and err.count("\n") == 1


@pytest.mark.parametrize("arguments", [
    ["run"], ["plan"], ["inspect"], ["demo"], ["bench"], ["run", "a.json", "b.json"], ["run", "p.json", "--ranks", "0"],
    ["run", "p.json", "--epochs", "many"], ["run", "p.json", "--memory", "lots"], ["run", "p.json", "--on-error", "panic"],
    ["run", "p.json", "--storage-option", "latency"], ["run", "p.json", "--seed"], ["plan", "p.json", "--rank", "2", "--world", "2"],
    ["demo", "x", "--batch", "-1"]])
def test_misuse_exits_with_2_and_prints_no_result(arguments):
    out, err = forebay(*arguments, code=MISUSE)
    assert out == "" and err


# ---- run


def test_run_tells_each_epoch(pipeline):
    out, _ = forebay("run", pipeline, "--epochs", "2")
    lines = re.findall(r"^epoch (\d): 21 samples in 6 batches, .* digest ([0-9a-f]{32})$", out, re.MULTILINE)
    assert [epoch for epoch, _ in lines] == ["0", "1"] and lines[0][1] != lines[1][1]


def test_run_json(pipeline):
    result = as_json("run", pipeline, "--epochs", 2, "--seed", 5)
    assert [set(epoch) for epoch in result["epochs"]] == [{"epoch", "samples", "batches", "seconds", "digest"}] * 2
    assert [(e["epoch"], e["samples"], e["batches"]) for e in result["epochs"]] == [(0, PHOTOS, 6), (1, PHOTOS, 6)]
    assert result["seed"] == 5 and result["size"] == PHOTOS and result["errors"] == []
    assert 0 < result["memory"]["peak_bytes"] <= result["memory"]["budget_bytes"]


def test_run_gives_the_same_digest_for_any_machinery(pipeline):
    wanted = digests(as_json("run", pipeline, "--epochs", 2, "--seed", 3, "--threads", 1))
    for options in (["--threads", 3], ["--threads", 8], ["--requests", 1], ["--memory", "64MiB"], ["--ranks", 1]):
        assert digests(as_json("run", pipeline, "--epochs", 2, "--seed", 3, *options)) == wanted, options
    assert digests(as_json("run", pipeline, "--epochs", 2, "--seed", 4)) != wanted


@pytest.mark.parametrize("last", ["partial", "pad"])
def test_ranks_joined_give_the_digest_of_one_rank(tmp_path, photos, last):
    path = write_pipeline(tmp_path / "pipeline.json", photos, batch=4, last=last)
    one = as_json("run", path)
    for ranks in (2, 3, 8):
        several = as_json("run", path, "--ranks", ranks, "--threads", 1)
        assert digests(several) == digests(one) and several["epochs"][0]["samples"] == PHOTOS
        assert several["epochs"][0]["batches"] == ranks * -(-PHOTOS // (4 * ranks))


def test_ids_are_written_in_global_order(tmp_path, pipeline):
    forebay("run", pipeline, "--seed", 9, "--ids", tmp_path / "one")
    forebay("run", pipeline, "--seed", 9, "--ids", tmp_path / "three", "--ranks", 3)
    ids = [int(line) for line in (tmp_path / "one").read_text().split()]
    assert sorted(ids) == list(range(PHOTOS)) and ids != sorted(ids)
    assert (tmp_path / "three").read_text() == (tmp_path / "one").read_text()


def test_reads_the_pipeline_from_standard_input(pipeline):
    done = subprocess.run([str(PROGRAM), "run", "-", "--json"], input=pipeline.read_text(), capture_output=True, text=True,
                          timeout=300, env=ENVIRONMENT)
    assert done.returncode == DONE and digests(json.loads(done.stdout)) == digests(as_json("run", pipeline))


def test_a_finished_state_leaves_nothing_to_do(tmp_path, pipeline):
    forebay("run", pipeline, "--state", tmp_path / "state")
    assert len((tmp_path / "state").read_bytes()) < 1024
    assert as_json("run", pipeline, "--resume", tmp_path / "state")["epochs"] == []
    more = as_json("run", pipeline, "--resume", tmp_path / "state", "--epochs", 2)
    assert digests(more) == digests(as_json("run", pipeline, "--epochs", 2))[1:]


def kill_in_mid_epoch(*arguments, state):
    """Starts a run and kills it with SIGKILL once some batches are done."""
    process = start("run", *arguments, "--state", state)
    deadline = time.monotonic() + 60
    while not (state.exists() and json.loads(state.read_text())["step"] >= 2):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.001)
    process.kill()
    process.communicate()


def test_resume_after_kill_9_delivers_what_was_left(tmp_path):
    root = write_photos(tmp_path / "photos", per_class=60)
    path = write_pipeline(tmp_path / "pipeline.json", root, batch=2, size=256)
    state = tmp_path / "state"
    forebay("run", path, "--epochs", 3, "--ids", tmp_path / "all")
    every_id = (tmp_path / "all").read_text().split()
    for ranks, threads in ((1, 2), (3, 1)):
        state.unlink(missing_ok=True)
        kill_in_mid_epoch(path, "--epochs", 3, state=state)
        saved = json.loads(state.read_text())
        done = saved["epoch"] * 180 + saved["position"]
        assert 0 < done < len(every_id)
        kept = tmp_path / f"kept{ranks}"
        kept.write_bytes(state.read_bytes())
        for again in range(2):
            rest = as_json("run", path, "--epochs", 3, "--resume", kept, "--ids", tmp_path / "rest", "--ranks", ranks,
                           "--threads", threads + again)
            assert (tmp_path / "rest").read_text().split() == every_id[done:]
            if again == 0:
                first = digests(rest)
        assert digests(rest) == first


def test_a_state_of_another_seed_is_refused(tmp_path, pipeline):
    forebay("run", pipeline, "--state", tmp_path / "state", "--seed", 1)
    out, err = forebay("run", pipeline, "--resume", tmp_path / "state", "--seed", 2, "--json", code=FAILED)
    assert json.loads(out)["error"]["code"] == "StateMismatch" and "seed" in err


def test_bad_records_raise_or_are_skipped_or_replaced(tmp_path, broken_photos):
    path = write_pipeline(tmp_path / "pipeline.json", broken_photos)
    out, err = forebay("run", path, "--json", code=FAILED)
    error = json.loads(out)["error"]
    assert error["operator"] and Path(error["key"]).name in ("cats_0.jpg", "fake.png") and error["key"] in err
    skipped = as_json("run", path, "--on-error", "skip")
    assert skipped["epochs"][0]["samples"] == 20 and [e["count"] for e in skipped["errors"]] == [1, 1]
    replaced = as_json("run", path, "--on-error", "replace")
    assert replaced["epochs"][0]["samples"] == 22
    assert digests(replaced) == digests(as_json("run", path, "--on-error", "replace", "--ranks", 3))
    _, err = forebay("run", path, "--on-error", "skip")
    assert "2 bad records" in err and "cats_0.jpg" in err
    forebay("run", path, "--on-error", "skip", "--max-errors", 1, code=FAILED)


def test_a_wrong_pipeline_gets_all_its_problems(tmp_path, photos):
    steps = [{"op": "images", "root": str(photos)}, {"op": "center_crop", "n": 8}, {"op": "decode_imag"}, {"op": "batch", "n": 0}]
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps({"forebay_pipeline": 1, "steps": steps}))
    for verb in ("run", "plan"):
        out, err = forebay(verb, path, "--json", code=FAILED)
        problems = json.loads(out)["error"]["problems"]
        assert len(problems) >= 3 and all(set(p) == {"operator", "message", "remedy"} and p["remedy"] for p in problems)
        assert "decode_image" in err and err.count("\n") == len(problems) + 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"forebay_pipeline": 99, "steps": []}', "\0\xff"])
def test_what_is_no_pipeline_is_refused(tmp_path, text):
    (tmp_path / "p.json").write_bytes(text.encode("latin-1"))
    for verb in ("run", "plan"):
        assert forebay(verb, tmp_path / "p.json", code=FAILED)[1].count("\n") == 1


def test_a_missing_pipeline_or_folder_is_named(tmp_path):
    assert "nowhere.json" in forebay("run", tmp_path / "nowhere.json", code=FAILED)[1]
    path = write_pipeline(tmp_path / "pipeline.json", tmp_path / "nothing-here")
    assert "nothing-here" in forebay("run", path, code=FAILED)[1]
    assert "nothing-here" in forebay("demo", tmp_path / "nothing-here", code=FAILED)[1]


# ---- plan


def test_plan_says_what_run_does(tmp_path, pipeline):
    forebay("run", pipeline, "--seed", 11, "--ids", tmp_path / "ids", "--epochs", 2)
    ids = [int(line) for line in (tmp_path / "ids").read_text().split()]
    for epoch in (0, 1):
        plans = [as_json("plan", pipeline, "--seed", 11, "--epoch", epoch, "--rank", rank, "--world", 3) for rank in range(3)]
        assert {plan["step_count"] for plan in plans} == {2}
        joined = [i for steps in zip(*(plan["steps"] for plan in plans)) for step in steps
                  for i in step["ids"][:len(step["ids"]) - step["padding"]]]
        assert joined == ids[epoch * PHOTOS:(epoch + 1) * PHOTOS]


def test_plan_reads_no_object_and_with_a_size_no_listing(tmp_path, pipeline, photos):
    elsewhere = write_pipeline(tmp_path / "elsewhere.json", tmp_path / "not-there")
    known = as_json("plan", elsewhere, "--size", PHOTOS, "--rank", 1, "--world", 2)
    assert known == as_json("plan", pipeline, "--rank", 1, "--world", 2)
    empty = tmp_path / "empty-files"
    for picture in photos.glob("*/*.jpg"):
        (empty / picture.parent.name).mkdir(parents=True, exist_ok=True)
        (empty / picture.parent.name / picture.name).touch()
    assert as_json("plan", write_pipeline(tmp_path / "empty.json", empty), "--rank", 1, "--world", 2) == known


def test_plan_counts_padding_and_takes(tmp_path, photos):
    path = write_pipeline(tmp_path / "pad.json", photos, last="pad", shuffle=False, extra=[{"op": "take", "n": 10}])
    plan = as_json("plan", path)
    assert plan["size"] == 10 and [step["ids"] for step in plan["steps"]] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1]]
    assert [step["padding"] for step in plan["steps"]] == [0, 0, 2]
    out, _ = forebay("plan", path)
    assert "step 2: 8 9 0 1 (the last 2 padding)" in out


def test_plan_tells_how_well_blocks_mix(tmp_path, pipeline):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"x": range(4000)}), tmp_path / "x.parquet", row_group_size=100)
    table = tmp_path / "table.json"

    def steps(*between):
        table.write_text(json.dumps({"forebay_pipeline": 1, "steps": [
            {"op": "parquet", "pattern": str(tmp_path / "x.parquet")}, *between, {"op": "batch", "n": 50}]}))
        return table

    report = as_json("plan", steps({"op": "shuffle", "block": 4}), "--mixing", "--world", 2)
    assert (report["rows"], report["chunks"], report["batch"], report["block"]) == (4000, 40, 100, 4)
    assert [row["block"] for row in report["mixing"]] == [1, 2, 4, 8, 16, 32, 40, "flat"]
    distances = [row["distance"] for row in report["mixing"]]
    # A block is spread over its share of the epoch, the last one over what is left.
    shares = [[min(block, 40 - first) / 40 for first in range(0, 40, block)] for block in (1, 2, 4, 8, 16, 32, 40)]
    assert distances == pytest.approx([sum(share**2 for share in one) for one in shares] + [1], abs=0.05)
    assert report["mixing"][0]["chunks_in_batch"] < 3 < 30 < report["mixing"][-1]["chunks_in_batch"]
    out, _ = forebay("plan", table, "--mixing")
    assert re.search(r"^ +4 .*<- this pipeline$", out, re.M) and re.search(r"^ +flat ", out, re.M)
    _, err = forebay("plan", pipeline, "--mixing", code=FAILED)
    assert "mixes all of them" in err
    _, err = forebay("plan", steps(), "--mixing", code=FAILED)
    assert "no .shuffle()" in err


def test_plan_of_a_huge_data_set_is_immediate(tmp_path, pipeline):
    begun = time.monotonic()
    plan = as_json("plan", pipeline, "--size", 10**12, "--epoch", 10**6, "--steps", 3)
    assert len(plan["steps"]) == 3 and plan["step_count"] == 25 * 10**10
    assert time.monotonic() - begun < 30  # a glance at each sample would take hours


# ---- inspect


def test_inspect_tells_what_is_there(photos):
    out, _ = forebay("inspect", photos)
    assert "21 pictures" in out and "3: cats 7, dogs 7, fish 7" in out and "JPEG 21" in out
    result = as_json("inspect", photos)
    sizes = [Image.open(path).size for path in photos.glob("*/*.jpg")]
    assert result["count"] == PHOTOS and result["classes"] == {"cats": 7, "dogs": 7, "fish": 7}
    assert result["formats"] == {"JPEG": PHOTOS} and result["unreadable"] == {"count": 0, "first": []}
    assert result["width"] == {"min": min(w for w, _ in sizes), "max": max(w for w, _ in sizes)}
    assert result["height"] == {"min": min(h for _, h in sizes), "max": max(h for _, h in sizes)}
    assert result["bytes"]["total"] == sum(path.stat().st_size for path in photos.glob("*/*.jpg"))


def test_inspect_names_what_cannot_be_read(broken_photos):
    result = as_json("inspect", broken_photos)
    assert [Path(one["key"]).name for one in result["unreadable"]["first"]] == ["cats_0.jpg", "fake.png"][-result["unreadable"]["count"]:]
    assert result["left_out"]["hidden"] == 1 and result["left_out"]["not_images"] == 1
    decoded = as_json("inspect", broken_photos, "--decode")
    assert decoded["unreadable"]["count"] == 2 and all(one["message"] for one in decoded["unreadable"]["first"])
    forebay("inspect", broken_photos, "--strict", code=FAILED)
    assert as_json("inspect", broken_photos, "--decode", "--threads", 1) == decoded


def test_inspect_decodes_no_more_pixels_than_allowed(photos):
    result = as_json("inspect", photos, "--decode", "--max-pixels", 100)
    assert result["unreadable"]["count"] == PHOTOS and result["unreadable"]["first"][0]["code"] == "Unsupported"


def test_inspect_works_without_class_folders(photos):
    result = as_json("inspect", photos / "cats")
    assert result["count"] == 7 and result["classes"] is None


def test_inspect_says_so_where_nothing_is(tmp_path):
    assert "empty" in forebay("inspect", tmp_path, code=FAILED)[1]
    assert "no such folder" in forebay("inspect", tmp_path / "missing", code=FAILED)[1]


def test_inspect_tells_what_is_in_tar_shards(tmp_path):
    for number in range(2):
        with tarfile.open(tmp_path / f"{number}.tar", "w") as tar:
            for name, size in (("a.jpg", 700), ("a.cls", 1), ("b.jpg", 30)):
                info = tarfile.TarInfo(name)
                info.size = size
                tar.addfile(info, io.BytesIO(b"1" * size))
    shards = sorted(tmp_path.glob("*.tar"))
    by_name, by_pattern = as_json("inspect", *shards), as_json("inspect", tmp_path / "*.tar")
    assert by_name | {"url": 0} == by_pattern | {"url": 0}
    assert by_name["count"] == 4 and by_name["shards"] == 2 and by_name["extensions"]["cls"]["missing"] == 2
    assert by_name["extensions"]["jpg"]["file"] == {"min": 30, "max": 700}
    assert "4 samples in 2 shards" in forebay("inspect", *shards)[0]
    shards[1].write_bytes(shards[1].read_bytes()[:700])
    assert "1.tar" in forebay("inspect", *shards, code=FAILED)[1]
    forebay("inspect", shards[0], tmp_path, code=MISUSE)


# ---- demo


def test_demo_without_a_folder_says_how_to_get_one():
    _, err = forebay("demo", code=MISUSE)
    assert "forebay demo FOLDER" in err and "quickstart" in err


def test_demo_shows_speed_memory_digest_and_a_sheet(tmp_path, photos):
    out, _ = forebay("demo", photos, "--batch", 8, cwd=tmp_path)
    for wanted in ("21 photographs in 3 classes", "a second", "first batch", "peak memory", ": same", "contact sheet forebay-contact-sheet.png"):
        assert wanted in out, out
    assert len(set(re.findall(r"[0-9a-f]{32}", out))) == 1
    sheet = Image.open(tmp_path / "forebay-contact-sheet.png")
    sheet.load()
    assert sheet.mode == "RGB" and sheet.width > 8 * 224


def test_demo_json(tmp_path, photos):
    sheet = tmp_path / "sheet.png"
    result = as_json("demo", photos, "--batch", 8, "--size", 48, "--epochs", 2, "--output", sheet, "--threads", 2)
    assert len(result["epochs"]) == 2 and result["epochs"][0]["samples"] == PHOTOS
    assert result["again"] == {"digest": result["epochs"][0]["digest"], "same": True, "threads": 1}
    assert result["classes"] == ["cats", "dogs", "fish"] and result["contact_sheet"] == str(sheet) and sheet.exists()
    assert 0 < result["first_batch_seconds"] and result["memory"]["process_peak_bytes"] > 10**6


def test_the_contact_sheet_shows_what_the_trainer_sees(tmp_path):
    """Pictures of one colour each must come back in that colour."""
    colors = {"red": (200, 30, 40), "green": (10, 180, 90), "blue": (20, 60, 220)}
    for name, color in colors.items():
        (tmp_path / "plain" / name).mkdir(parents=True)
        Image.new("RGB", (64, 64), color).save(tmp_path / "plain" / name / "a.png")
    forebay("demo", tmp_path / "plain", "--size", 32, "--batch", 3, "--output", tmp_path / "sheet.png")
    pixels = np.asarray(Image.open(tmp_path / "sheet.png").convert("RGB")).reshape(-1, 3)
    for color in colors.values():
        assert (pixels == color).all(axis=1).sum() == 32 * 32


def test_demo_says_where_it_could_not_write_the_sheet(tmp_path, photos):
    assert "no-such/sheet.png" in forebay("demo", photos, "--output", tmp_path / "no-such" / "sheet.png", code=FAILED)[1]


# ---- interrupted


@pytest.fixture(scope="session")
def many_photos(tmp_path_factory):
    """Work for many seconds: the same pictures under many names."""
    root = write_photos(tmp_path_factory.mktemp("many") / "train", per_class=4)
    for folder in root.iterdir():
        for picture in list(folder.iterdir()):
            for copy in range(500):
                os.link(picture, folder / f"{copy:03}_{picture.name}")
    return root


@pytest.fixture(scope="session")
def large_photos(tmp_path_factory):
    """Many seconds of decoding: one large picture under many names."""
    folder = tmp_path_factory.mktemp("large")
    Image.effect_noise((3000, 3000), 50).save(folder / "0.jpg")
    for copy in range(1, 500):
        os.link(folder / "0.jpg", folder / f"{copy}.jpg")
    return folder


def wait_until_ready(process):
    """Until the program catches Ctrl-C: before that the system ends it."""
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        caught = int(re.search(r"^SigCgt:\s*([0-9a-f]+)$", status.read_text(), re.MULTILINE).group(1), 16)
        if caught >> (signal.SIGINT - 1) & 1:
            return
        time.sleep(0.001)


@pytest.mark.parametrize("verb", ["demo", "run", "inspect"])
def test_ctrl_c_exits_with_130_within_a_second(tmp_path, many_photos, large_photos, verb):
    path = write_pipeline(tmp_path / "pipeline.json", many_photos, size=512)
    arguments = {"demo": ["demo", many_photos, "--size", 512, "--epochs", 1000],
                 "run": ["run", path, "--epochs", 1000, "--ranks", 2, "--on-error", "skip"],
                 "inspect": ["inspect", large_photos, "--decode", "--threads", 1]}[verb]
    seconds = []
    for _ in range(3):
        process = start(*arguments, "--json", cwd=tmp_path)
        wait_until_ready(process)
        time.sleep(random.uniform(0, 0.5))
        assert process.poll() is None
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        seconds.append(time.monotonic() - begun)
        assert process.returncode == INTERRUPTED, err
    assert min(seconds) < 1.5, seconds  # a second, and what the machine's other work adds


def test_ctrl_c_says_so_and_leaves_a_state_to_go_on_from(tmp_path, many_photos):
    path = write_pipeline(tmp_path / "pipeline.json", many_photos, size=256)
    state = tmp_path / "state"
    process = start("run", path, "--epochs", 1000, "--state", state, "--json")
    while not state.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == INTERRUPTED and err == "forebay: interrupted\n"
    assert json.loads(out)["error"]["code"] == "Cancelled"
    saved = json.loads(state.read_text())
    assert saved["position"] > 0 or saved["epoch"] > 0


def test_an_epoch_without_a_step_is_printed_as_one(photos, tmp_path):
    path = write_pipeline(tmp_path / "p.json", photos, batch=PHOTOS + 1, last="drop")
    result = as_json("run", path, "--epochs", 2)
    assert [(it["epoch"], it["samples"], it["batches"]) for it in result["epochs"]] == [(0, 0, 0), (1, 0, 0)]
    assert len({it["digest"] for it in result["epochs"]}) == 1
    assert "epoch 0: 0 samples in 0 batches" in forebay("run", path)[0]


def test_run_writes_a_trace(tmp_path, pipeline):
    plain = as_json("run", pipeline)
    trace = tmp_path / "trace.json"
    assert digests(as_json("run", pipeline, "--trace", trace, "--ranks", 2)) == digests(plain)
    names = {event["name"] for event in json.loads(trace.read_text())}
    assert {"batch", "rows", "decode_image", "trace_ended"} <= names
    _, err = forebay("run", pipeline, "--trace", tmp_path / "no" / "such" / "folder", code=FAILED)
    assert "folder" in err


def test_diagnose_names_the_limit_and_applies_a_change(tmp_path, pipeline):
    latency = ("--requests", 2, "--storage-option", "imitate_latency_ms=5")
    told = as_json("diagnose", pipeline, *latency, "--apply", 1, "--output", tmp_path / "faster.json")
    assert told["limiter"]["limit"] in ("storage", "requests")
    assert json.loads((tmp_path / "faster.json").read_text()) == told["remedies"][0]["pipeline"]
    assert told["remedies"][0]["gain"] > 2
    assert told["verified"] is None
    out, _ = forebay("diagnose", pipeline, "--step", 60, "--verify")  # there is nothing to verify
    assert "The limit is your trainer" in out and "To change: nothing" in out


def test_diagnose_says_what_is_mistyped(tmp_path, pipeline):
    for arguments, said in ((["--apply", 1], "--output"), (["--step", -1], "--step"), (["--output", tmp_path / "x"], "--apply")):
        _, err = forebay("diagnose", pipeline, *arguments, code=MISUSE)
        assert said in err
    _, err = forebay("diagnose", tmp_path / "nothing.json", code=FAILED)
    assert "nothing.json" in err
