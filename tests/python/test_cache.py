"""`.cache()` as a step of a pipeline: what it may stand behind, and how it is written down."""
import pytest

import forebay as fb


def decoded():
    return fb.images("photos").shuffle().decode_image().resize(short_side=256)


def test_it_is_a_step_like_others_and_no_part_of_the_fingerprint():
    plain, kept = decoded(), decoded().cache(ram="1GiB", disk=0, dir="somewhere", peers="auto", compression="zstd")
    assert kept.fingerprint == plain.fingerprint
    assert '.cache(ram="1GiB", disk=0, dir="somewhere", peers="auto", compression="zstd")' in str(kept)
    assert str(fb.Pipeline.from_json(kept.to_json())) == str(kept)
    assert kept.center_crop(224).batch(4).check() == []


@pytest.mark.parametrize("size", ["2 gigs", -1, 1.5, "-3GiB", [1]])
def test_a_size_that_is_none_is_told(size):
    (problem,) = decoded().cache(ram=size).check()
    assert "ram is" in problem.message and "2GiB" in problem.remedy


def test_a_cache_that_keeps_nothing_is_told():
    (problem,) = decoded().cache(ram=0, disk="0").check()
    assert "both 0" in problem.message


def test_behind_a_random_step_it_says_where_it_belongs():
    (problem,) = decoded().random_crop(224).random_flip().cache().check()
    assert problem.operator == "6: cache"
    assert "frozen" in problem.message
    assert problem.remedy == "put .cache() before 4: random_crop"


def test_behind_a_function_a_disk_tier_needs_its_version():
    def same(sample):
        return sample

    (problem,) = decoded().map(same).cache().check()
    assert "4: map" in problem.message and "version=" in problem.remedy
    assert decoded().map(same).cache(disk=0).check() == []
    assert decoded().map(same, version="1").cache().check() == []
    assert len(decoded().map(same, random=True, version="1").cache(disk=0).check()) == 1


def test_one_cache_directly_behind_another_and_one_behind_the_batch_are_told():
    assert len(decoded().cache().cache().check()) == 1
    problems = decoded().center_crop(8).batch(4).cache().check()
    assert problems and "before .batch" in problems[0].remedy


def test_an_unknown_compression_is_told():
    (problem,) = decoded().cache(compression="zip").check()
    assert "zip" in problem.message and "zstd" in problem.remedy
