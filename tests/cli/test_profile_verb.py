"""`forebay profile`: what it finds can be read, run, and looked at."""
import json

import pytest
from chromium import PROGRAM, Chromium
from test_cli import FAILED, MISUSE, as_json, forebay, photos, pipeline, write_pipeline  # noqa: F401  (fixtures)


def test_the_best_pipeline_is_written_and_runs_to_the_same_digest(tmp_path, pipeline):  # noqa: F811
    best, page = tmp_path / "best.json", tmp_path / "found.html"
    made = tmp_path / "made"
    found = as_json("profile", pipeline, "--samples", 16, "--time", 20, "--files", made, "--apply", best, "--report", page)
    assert found["forebay_profile"] == 1 and found["samples"] <= 21 == found["size"]
    assert json.loads(best.read_text()) == found["strategies"][0]["pipeline"]
    if found["strategies"][0]["command"] is not None:  # its files are to be written before
        forebay(*found["strategies"][0]["command"].replace("PIPELINE.json", str(pipeline)).split()[1:])
    digests = [as_json("run", given)["epochs"][0]["digest"] for given in (pipeline, best)]
    assert digests[0] == digests[1]
    html = page.read_text()
    assert all(strategy["name"] in html for strategy in found["strategies"])


def test_the_command_of_a_strategy_makes_what_its_pipeline_reads(tmp_path, pipeline):  # noqa: F811
    found = as_json("profile", pipeline, "--samples", 16, "--time", 20, "--files", tmp_path / "made")
    files = [one for one in found["strategies"] if one["tier"] == "files"]
    assert files and all(one["command"] is None for one in found["strategies"] if one["tier"] != "files")
    command = files[0]["command"].split()
    assert command[:3] == ["forebay", "materialize", "PIPELINE.json"]
    forebay("materialize", pipeline, *command[3:])
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps(files[0]["pipeline"]))
    digests = [as_json("run", given)["epochs"][0]["digest"] for given in (pipeline, answer)]
    assert digests[0] == digests[1]


def test_text_names_each_strategy_once(pipeline):  # noqa: F811
    out, _ = forebay("profile", pipeline, "--samples", 16, "--time", 20, "--weights", "storage")
    rows = [line for line in out.splitlines() if "in memory" in line and not line.startswith(("Best", "  -"))]
    assert rows and len(rows) == len(set(rows))
    assert "Weights: preparing 0, room 1, speed 1" in out and "nothing kept" in out


def test_another_host_is_predicted_below_what_was_found_here(pipeline):  # noqa: F811
    out, _ = forebay("profile", pipeline, "--samples", 16, "--time", 20, "--cores", 64, "--store-bandwidth", "1KB")
    here, there = out.split("\n\n")
    assert "Tried on" in here and "Predicted for 64 cores, a store that gives 1" in there
    _, err = forebay("profile", pipeline, "--store-bandwidth", "much", code=FAILED)
    assert "--store-bandwidth is 'much'" in err


def test_what_is_mistyped_is_told_before_anything_runs(tmp_path, pipeline):  # noqa: F811
    for arguments in (["--weights", "speed"], ["--cores", 0], ["--samples", 0], ["--time", "soon"], ["--time", 0]):
        _, err = forebay("profile", pipeline, *arguments, code=MISUSE)
        assert arguments[0] in err
    for option in ("--apply", "--report"):
        place = tmp_path / "no" / "folder" / "x"
        out, err = forebay("profile", pipeline, option, place, code=FAILED)
        assert out == "" and str(place) in err
    _, err = forebay("profile", tmp_path / "nothing.json", code=FAILED)
    assert "nothing.json" in err


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium here")
def test_a_browser_shows_its_page_at_three_widths(tmp_path, pipeline):  # noqa: F811
    page = tmp_path / "found.html"
    forebay("profile", pipeline, "--samples", 16, "--time", 20, "--report", page)
    with Chromium() as browser:
        for width in (360, 800, 1400):
            for dark in (False, True):
                browser.open(page, width, dark)
                assert browser.complaints() == []
                assert browser.value("document.documentElement.scrollWidth") <= width
