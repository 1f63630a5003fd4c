"""Which rank a process is, from its environment: malformed variables never make it the only one in silence; digests want all."""
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import one_epoch

import forebay as fb

LAUNCHERS = [("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_STEP_ID"),
             ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
             ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS")]


def numbers():
    return fb.arrays(x=np.arange(20)).batch(2)


@pytest.fixture
def environment(monkeypatch):
    for name in itertools.chain(*LAUNCHERS):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize("variable, value", [("RANK", "x"), ("RANK", "1abc"), ("WORLD_SIZE", "4.0"), ("WORLD_SIZE", "four"),
                                             ("LOCAL_WORLD_SIZE", "2(x2)"), ("RANK", "99999999999")])
def test_a_variable_that_is_no_number_is_named(environment, variable, value):
    for name, right in (("RANK", "1"), ("WORLD_SIZE", "4"), (variable, value)):
        environment.setenv(name, right)
    with pytest.raises(fb.InvalidArgument, match=f"environment variable {variable} is") as caught:
        fb.Loader(numbers())
    assert "rank=" in str(caught.value)
    with fb.Loader(numbers(), rank=2, world_size=3) as loader:
        assert (loader.rank, loader.world_size) == (2, 3)


TEXTS = st.one_of(st.integers(-3, 9).map(str), st.sampled_from(["", " ", "3\n", " 2", "1abc", "x", "0x1", "1e1", "+1", "2147483648"]),
                  st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=4))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(LAUNCHERS), TEXTS, TEXTS)
def test_a_pair_is_understood_as_it_stands_or_refused(launcher, rank, size):
    def number(text):
        text = text.strip(" \t\r\n")
        return int(text) if text.lstrip("-").isdecimal() and text.isascii() and text.count("-") <= 1 and not text.endswith("-") else None

    with pytest.MonkeyPatch.context() as environment:
        for name in itertools.chain(*LAUNCHERS):
            environment.delenv(name, raising=False)
        environment.setenv(launcher[0], rank)
        environment.setenv(launcher[1], size)
        if launcher[0] == "SLURM_PROCID":
            environment.setenv("SLURM_STEP_ID", "0")
        blank = not rank.strip(" \t\r\n") or not size.strip(" \t\r\n")
        wanted = (0, 1) if blank else (number(rank), number(size))
        if None in wanted or not 0 <= wanted[0] < wanted[1] < 2**31:
            with pytest.raises(fb.InvalidArgument):
                fb.Loader(numbers())
        else:
            with fb.Loader(numbers()) as loader:
                assert (loader.rank, loader.world_size) == wanted


# Digests


def loaders(ranks, world_size, pipeline=None, **options):
    return [fb.Loader(pipeline or numbers(), rank=rank, world_size=world_size, **options) for rank in ranks]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 4), st.lists(st.integers(0, 3), min_size=1, max_size=5))
def test_a_digest_is_of_all_ranks_each_once_in_any_order(world_size, ranks):
    ranks = [rank for rank in ranks if rank < world_size] or [0]
    them = loaders(ranks, world_size)
    if sorted(ranks) == list(range(world_size)):
        assert fb.digest(*them) == one_epoch(numbers())
        return
    missing = set(range(world_size)) - set(ranks)
    with pytest.raises(fb.InvalidArgument, match="is missing" if missing else "is given twice") as caught:
        fb.digest(*them)
    assert all(str(rank) in str(caught.value) for rank in missing)
    assert all(loader.state_dict()["position"] == 0 for loader in them)  # nothing was read


def test_a_digest_is_of_ranks_that_are_dealt_alike(tmp_path):
    """shard_by="auto" follows each rank's cache: samples would come twice, and others never."""
    def with_cache(**kept):
        return fb.arrays(x=np.arange(20)).shuffle().cache(dir=str(tmp_path), **kept).batch(2)

    (one,), (two,) = loaders([0], 2, with_cache(ram="1MiB", disk=0)), loaders([1], 2, with_cache(ram=0, disk="1MiB"))
    with pytest.raises(fb.InvalidArgument, match="dealt rows in different ways \\(count and locality, hosts 2\\).*shard_by= and hosts="):
        fb.digest(one, two)
    assert fb.digest(one, loaders([1], 2, with_cache(ram="2MiB", disk=0))[0])


def test_a_digest_is_of_one_job_at_one_place():
    one, two = loaders([0, 1], 2)
    with pytest.raises(fb.InvalidArgument, match="world_size is 2 and 3"):
        fb.digest(one, loaders([1], 3)[0])
    with pytest.raises(fb.InvalidArgument, match="fingerprints"):
        fb.digest(one, loaders([1], 2, seed=1)[0])
    next(iter(two))
    with pytest.raises(fb.InvalidArgument, match="epoch 0, sample 0 and epoch 0, sample 4"):
        fb.digest(one, two)
    with pytest.raises(TypeError, match="list"):
        fb.digest([one, two])
    with pytest.raises(fb.InvalidArgument, match="all ranks"):
        fb.digest()
    next(iter(one))
    assert len(fb.digest(one, two)) == 32
