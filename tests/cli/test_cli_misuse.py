"""What a tired person types: numbers that are none, files that are no pipelines; told with the option or the file, never bent."""
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cli import FAILED, MISUSE, as_json, digests, forebay


def write(path, *steps):
    path.write_text(json.dumps({"forebay_pipeline": 1, "steps": list(steps)}))
    return path


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("misuse")
    np.save(folder / "x.npy", np.arange(24))
    return write(folder / "p.json", {"op": "arrays", "fields": {"x": str(folder / "x.npy")}}, {"op": "shuffle"}, {"op": "batch", "n": 4})


# Numbers

NO_NUMBERS = ["x", "1x", "0x10", "1e3", "1.0", "+1", "1_000", "1'000", " 1", "1 ", "--", "٣", "nan", "inf", "1,000",
              "99999999999999999999"]


@pytest.mark.parametrize("seed", ["-1", "18446744073709551616", *NO_NUMBERS])
@pytest.mark.parametrize("verb", ["run", "plan"])
def test_a_seed_that_is_none_is_misuse(pipeline, verb, seed):
    out, err = forebay(verb, pipeline, f"--seed={seed}", code=MISUSE)
    assert out == "" and "--seed" in err and "18446744073709551615" in err


@pytest.mark.parametrize("option", ["--seed", "--epochs", "--memory", "--max-errors", "--on-error", "--state"])
def test_an_option_with_nothing_is_misuse(pipeline, option):
    out, err = forebay("run", pipeline, f"{option}=", code=MISUSE)
    assert out == "" and option in err


def test_every_seed_is_taken_as_it_is(pipeline):
    seen = set()
    for seed in (0, 1, 2**63 - 1, 2**63, 2**64 - 1):
        result = as_json("run", pipeline, "--seed", seed)
        assert result["seed"] == seed
        seen.update(digests(result))
    assert len(seen) == 5
    assert "--seed N=0" in forebay("run", "--help")[0]


NUMBERS = {"--epochs": ("run", 1), "--threads": ("run", 1), "--requests": ("run", 1), "--ranks": ("run", 1), "--epoch": ("plan", 0),
           "--rank": ("plan", 0), "--world": ("plan", 1), "--size": ("plan", 0), "--steps": ("plan", 0)}


@pytest.mark.parametrize("option", NUMBERS)
def test_numbers_of_options_are_whole_decimal_and_in_range(pipeline, option):
    verb, least = NUMBERS[option]
    for text in (*NO_NUMBERS, str(least - 1), "9223372036854775808", "-9223372036854775809"):
        out, err = forebay(verb, pipeline, f"{option}={text}", code=MISUSE)
        assert out == "" and option in err and f"from {least} to" in err, (text, err)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(NUMBERS)), st.one_of(st.integers(-2**66, 2**66).filter(lambda n: not 0 <= n < 2**62),
                                                   st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=6)))
def test_any_text_for_a_number_is_a_number_or_misuse(pipeline, option, text):
    verb, _ = NUMBERS[option]
    if str(text).isdecimal():
        return
    assert option in forebay(verb, pipeline, f"{option}={text}", code=MISUSE)[1]


def test_a_number_with_leading_zeros_is_decimal(pipeline):
    assert as_json("plan", pipeline, "--steps", "010")["step_count"] == 6
    assert len(as_json("plan", pipeline, "--size", "010", "--steps", "2")["steps"][0]["ids"]) == 4
    assert as_json("plan", pipeline, "--size", "010")["size"] == 10


# Sizes and limits: the same words as in Python


@pytest.mark.parametrize("text, bytes_", [("1mb", 10**6), ("2M", 2 * 10**6), ("2Mi", 2 << 20), ("2mib", 2 << 20), ("3000000", 3 * 10**6)])
def test_memory_is_the_number_that_python_takes(pipeline, text, bytes_):
    from forebay.loader import _bytes

    assert _bytes("memory", text) == bytes_
    assert as_json("run", pipeline, "--memory", text, "--threads", 1)["memory"]["budget_bytes"] == bytes_


@pytest.mark.parametrize("text", ["lots", "", "-1", "1e6", "2XB", "9223372036854775808"])
def test_what_is_no_size_is_misuse(pipeline, text):
    assert "--memory" in forebay("run", pipeline, f"--memory={text}", code=MISUSE)[1]


@pytest.mark.parametrize("text", ["1.5", "-1", "-0.5", "1.0000001", "nan", "inf", "many", "1e2", "0x1", "1,5", "9223372036854775808"])
def test_a_limit_of_errors_is_a_count_or_a_share(pipeline, text):
    out, err = forebay("run", pipeline, f"--max-errors={text}", code=MISUSE)
    assert out == "" and "--max-errors" in err and "share" in err


@pytest.mark.parametrize("limit, borne", [("2", True), ("1", False), ("0", False), ("1.0", True), ("0.5", True), ("0.1", False), ("0.0", False)])
def test_limits_mean_what_they_mean_in_python(tmp_path, limit, borne):
    for name in "abcd":
        (tmp_path / f"{name}.jpg").write_bytes(b"no picture" if name in "ab" else PIXEL)
    path = write(tmp_path / "p.json", {"op": "files", "pattern_or_list": str(tmp_path / "*.jpg")}, {"op": "decode_image"},
                 {"op": "center_crop", "n": 1}, {"op": "batch", "n": 2})
    options = ["--on-error", "skip", "--epochs", 3, "--max-errors", limit]
    out, err = forebay("run", path, *options, code=0 if borne else FAILED)
    assert borne or "max_errors allows" in err


PIXEL = bytes.fromhex(  # a PNG of one pixel
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92"
    "ef0000000049454e44ae426082")


# Files


@pytest.mark.parametrize("text, word", [("", "line 1"), ("{", "line 1"), ("{\n\n,", "line 3"), ("[]", "not a pipeline"),
                                        ('{"forebay_pipeline": 9, "steps": []}', "format 9"), ('{"forebay_pipeline": 1, "steps": []}', "steps")])
@pytest.mark.parametrize("verb", ["run", "plan"])
def test_a_file_that_is_no_pipeline_is_named(tmp_path, verb, text, word):
    (tmp_path / "mine.json").write_text(text)
    out, err = forebay(verb, tmp_path / "mine.json", "--json", code=FAILED)
    assert "mine.json" in err and word in err
    assert json.loads(out)["error"]["key"].endswith("mine.json")


@pytest.mark.parametrize("verb", ["run", "plan"])
def test_a_pipeline_with_problems_is_named(tmp_path, verb):
    _, err = forebay(verb, write(tmp_path / "mine.json", {"op": "files", "pattern_or_list": "a", "ptrn": 1}), code=FAILED)
    assert "mine.json: the pipeline has 1 problem" in err and "'ptrn'" in err


def test_a_stream_without_an_end_is_told_how_to_give_it_one(tmp_path):
    (tmp_path / "x.txt").write_text("".join(f"{i}\n" for i in range(8)))
    stream = write(tmp_path / "p.json", {"op": "text", "pattern": str(tmp_path / "x.txt"), "follow": True}, {"op": "batch", "n": 2})
    for verb in ("run", "bench"):
        assert "give --steps-per-epoch" in forebay(verb, stream, code=FAILED)[1]
    assert "--steps-per-epoch" in forebay("bench", stream, "--steps-per-epoch", "2", "--against", "torch", code=MISUSE)[1]
    assert [epoch["batches"] for epoch in as_json("run", stream, "--steps-per-epoch", "2", "--epochs", "2")["epochs"]] == [2, 2]


@pytest.mark.parametrize("step", [{"op": "map"}, {"op": "filter", "fields": "x"}])
def test_a_step_that_needs_a_program_fails_at_once(tmp_path, pipeline, step):
    steps = json.loads(pipeline.read_text())["steps"]
    _, err = forebay("run", write(tmp_path / "mine.json", *steps[:-1], step, steps[-1]), code=FAILED)
    assert f"2: {step['op']}: its function is missing" in err


@pytest.mark.parametrize("text", ["", "{}", "[]", "nonsense", '{"format": 1}'])
def test_a_state_that_is_none_is_named(tmp_path, pipeline, text):
    (tmp_path / "mine.state").write_text(text)
    assert "mine.state" in forebay("run", pipeline, "--resume", tmp_path / "mine.state", code=FAILED)[1]


def test_an_epoch_without_a_batch_is_run_and_ends(tmp_path, pipeline):
    steps = json.loads(pipeline.read_text())["steps"]
    path = write(tmp_path / "mine.json", steps[0], {"op": "batch", "n": 100, "last": "drop"})
    result = as_json("run", path, "--epochs", 3)
    assert [(epoch["epoch"], epoch["samples"], epoch["batches"]) for epoch in result["epochs"]] == [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
