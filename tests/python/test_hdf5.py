"""HDF5: the values that h5py gives of every file; windows as NumPy cuts them; the same bytes whatever the machinery; damage is told."""
import itertools
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from loading import behind_faults, epochs, one_epoch
from project import ROOT, run

import forebay as fb

h5py = pytest.importorskip("h5py")

FOLDER = Path(os.environ.get("FOREBAY_SHARED") or ROOT.parent / "shared") / "data" / "hdf5"
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
ROWS = 10_000


def all_values(pattern, path, **options):
    """Row by row, as Forebay gives them."""
    rows = []
    with fb.Loader(fb.hdf5(str(pattern), {"x": path}, **options).batch(97), threads=2) as loader:
        for batch in loader:
            values = batch["x"]
            if isinstance(values, tuple):
                rows += [values[0][a:b].copy() for a, b in itertools.pairwise(values[1])]
            else:
                rows += list(values) if isinstance(values, list) else list(np.array(values))
    return rows


def data_sets(file):
    found = []
    file.visititems(lambda name, one: found.append(name) if isinstance(one, h5py.Dataset) else None)
    return found


def leaves(dtype, path=""):
    if dtype.kind == "c":  # a compound of two
        half = np.dtype(f"{dtype.byteorder}f{dtype.itemsize // 2}")
        yield from ((f"{path}.r", half), (f"{path}.i", half))
    elif dtype.names is None:
        yield path, dtype
    else:
        for name in dtype.names:
            yield from leaves(dtype.fields[name][0], f"{path}.{name}")


def member_of(values, member):
    for part in member.split(".")[1:]:
        values = {"r": values.real, "i": values.imag}[part] if values.dtype.kind == "c" else values[part]
    return values


# Its heap is smaller than libhdf5 writes them, and whole.
READ_HERE_ALONE = {"var-length-strings-reused.hdf5"}


def same(mine, theirs):
    if isinstance(mine, str):
        return mine == (theirs.decode() if isinstance(theirs, bytes) else theirs)
    theirs = np.asarray(theirs)
    if theirs.dtype.kind in "VSM":  # opaque: h5py goes by its tag
        return mine.tobytes() == theirs.tobytes()
    return mine.dtype == theirs.dtype.newbyteorder("=") and np.array_equal(mine, theirs, equal_nan=theirs.dtype.kind == "f")


def refused_for_a_reason(error, data, leaf):
    """What has no place in a batch, and what is stored in a way that is not read here."""
    text = str(error)
    if isinstance(error, fb.InvalidArgument):
        return data.shape in (None, ()) and "no axis of samples" in text
    if not isinstance(error, fb.Unsupported):
        return False
    exotic = leaf.kind in "OV" or leaf.itemsize not in (1, 2, 4, 8) or leaf.subdtype is not None
    filters = "h5repack" in text
    return filters or exotic or (leaf.kind in "SO" and len(data.shape) > 1)


@pytest.mark.parametrize("path", FILES or [pytest.param(None, marks=pytest.mark.skip(f"SHARED DATA ABSENT: {FOLDER}"))],
                         ids=lambda path: path and path.name)
def test_every_data_set_has_the_values_that_h5py_gives(path):
    try:
        file = h5py.File(path, "r")
    except OSError:
        with pytest.raises((fb.Corrupt, fb.Unsupported)):
            all_values(path, "/x")
        return
    with file:
        for name in data_sets(file):
            try:
                data = file[name]
                dtype = data.dtype
                values = data[...] if data.shape is not None else None
            except (OSError, TypeError, ValueError, KeyError):  # a filter or type that h5py lacks
                if path.name in READ_HERE_ALONE:
                    assert all_values(path, f"/{name}")
                    continue
                with pytest.raises((fb.Unsupported, fb.Corrupt)):
                    all_values(path, f"/{name}")
                continue
            for member, leaf in leaves(dtype):
                try:
                    mine = all_values(path, f"/{name}{member}")
                except fb.Error as error:
                    assert refused_for_a_reason(error, data, leaf), f"{name}{member} {data.shape} {leaf}: {error}"
                    continue
                theirs = member_of(values, member)
                assert len(mine) == len(theirs), name
                assert all(map(same, mine, theirs)), f"{name}{member}: {mine[:3]} {theirs[:3]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of different lengths and of all filters that are read; `id` is the row over all of them."""
    folder = tmp_path_factory.mktemp("hdf5") / "rows"
    folder.mkdir()
    rng = np.random.default_rng(5)
    ways = [{"chunks": (64,), "compression": "gzip", "shuffle": True}, {"chunks": (100,), "compression": "lzf"},
            {"chunks": (1000,), "fletcher32": True, "compression": "gzip"}, {}]
    ends = [0, 1, 3000, 8000, ROWS]
    for number, (begin, end) in enumerate(itertools.pairwise(ends)):
        with h5py.File(folder / f"part-{number}.h5", "w", libver=("earliest", "latest")[number % 2]) as file:
            count, way = end - begin, ways[number]
            if "chunks" in way:
                way = way | {"chunks": (min(way["chunks"][0], count),)}
            file.create_dataset("id", data=np.arange(begin, end), **way)
            wide = way | ({"chunks": (way["chunks"][0], 2)} if "chunks" in way else {})
            file.create_dataset("group/wide", data=rng.random((count, 3), dtype=np.float32), **wide)
            file["group/flag"] = np.arange(begin, end) % 2 == 0
            file["name"] = [f"rów {i}" * (i % 3) for i in range(begin, end)]
            pairs = np.zeros(count, dtype=[("at", ">i4"), ("power", "<f8", (2,))])
            pairs["at"], pairs["power"] = np.arange(begin, end), rng.random((count, 2))
            file.create_dataset("table", data=pairs, **way)
            file["id"].attrs["rate"] = 50.5
            file.attrs["house"] = f"building {number}"
    return folder


FIELDS = {"id": "/id", "wide": "/group/wide", "flag": "/group/flag", "name": "/name", "at": "/table.at", "power": "/table.power",
          "rate": "/id@rate", "house": "@house"}


def mixed(folder, batch=256, block=3, lanes=2, **cache):
    pipeline = fb.hdf5(str(folder), FIELDS)
    return (pipeline.cache(**cache) if cache else pipeline).shuffle(block=block, lanes=lanes).batch(batch)


@pytest.fixture(scope="module")
def expected(folder):
    return epochs(mixed(folder), threads=1)


def test_fields_of_all_kinds_go_together_over_files(folder):
    files = [h5py.File(path, "r") for path in sorted(folder.iterdir())]
    wide = np.concatenate([file["group/wide"][...] for file in files])
    power = np.concatenate([file["table"]["power"] for file in files])
    with fb.Loader(mixed(folder), seed=1) as loader:
        seen = []
        for batch in loader:
            assert np.array_equal(batch["id"], batch.ids) and np.array_equal(batch["at"], batch.ids)
            assert batch["at"].dtype == np.int32 and batch["flag"].dtype == np.bool_
            assert np.array_equal(batch["flag"], batch.ids % 2 == 0)
            assert np.array_equal(batch["wide"], wide[batch.ids]) and np.array_equal(batch["power"], power[batch.ids])
            assert list(batch["name"]) == [f"rów {i}" * (i % 3) for i in batch.ids]
            assert set(batch["rate"].tolist()) == {50.5}
            numbers = np.searchsorted([1, 3000, 8000], batch.ids, side="right")
            assert list(batch["house"]) == [f"building {number}" for number in numbers]
            seen += batch.ids.tolist()
    assert sorted(seen) == list(range(ROWS))


@pytest.mark.parametrize("threads", [1, 2, 10])
@pytest.mark.parametrize("tier", ["none", "ram", "disk", "half"])
def test_threads_and_caches_change_nothing(folder, expected, tmp_path, tier, threads):
    cache = {"none": {}, "ram": {"ram": "1GiB", "disk": 0}, "half": {"ram": "150KB", "disk": 0},
             "disk": {"ram": 0, "disk": "1GiB", "dir": str(tmp_path / "cache")}}[tier]
    assert epochs(mixed(folder, **cache), threads=threads) == expected
    assert epochs(mixed(folder, **cache), threads=threads) == expected


@pytest.mark.parametrize("world", [2, 3, 5])
def test_the_digest_does_not_depend_on_ranks(folder, world):
    whole = one_epoch(mixed(folder, lanes=4), seed=7)
    loaders = [fb.Loader(mixed(folder, batch=50, lanes=4), seed=7, rank=rank, world_size=world) for rank in range(world)]
    assert fb.digest(*loaders) == whole
    for loader in loaders:
        loader.close()


def test_a_fewer_lanes_are_another_order_and_the_same_rows(folder):
    orders = []
    for lanes in (1, 2, 4):
        with fb.Loader(fb.hdf5(str(folder), {"id": "/id"}).shuffle(lanes=lanes).batch(500), seed=2) as loader:
            orders.append([int(i) for batch in loader for i in batch["id"]])
    assert all(sorted(order) == list(range(ROWS)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3


def test_going_on_anywhere_gives_the_rest(folder):
    chance = random.Random(3)
    with fb.Loader(mixed(folder, 100), seed=7) as loader:
        whole = np.concatenate([batch.ids for batch in loader])
    for _ in range(5):
        stop = chance.randrange(1, ROWS // 100)
        with fb.Loader(mixed(folder, 100), seed=7) as loader:
            for _ in itertools.islice(loader, stop):
                pass
            state = loader.state_dict()
        with fb.Loader(mixed(folder, chance.randrange(1, 500)), seed=7, threads=chance.choice([1, 2, 10])) as later:
            later.load_state_dict(state)
            assert np.array_equal(np.concatenate([batch.ids for batch in later]), whole[stop * 100:])


def test_little_memory_changes_nothing(folder, expected):
    with pytest.raises(fb.OutOfBudget) as refused:
        fb.Loader(mixed(folder), memory="20KB")
    assert epochs(mixed(folder), memory=refused.value.bytes_needed) == expected


@pytest.mark.parametrize("window, stride", [(10, None), (10, 3), (64, 32), (100, 100), (7, 1000), (3, 1)])
def test_windows_are_those_that_numpy_cuts_and_none_crosses_files(folder, window, stride):
    step = stride or window
    wanted, ids = [], []
    for path in sorted(folder.iterdir()):
        with h5py.File(path, "r") as file:
            wide, rows = file["group/wide"][...], file["id"][...]
        for begin in range(0, len(rows) - window + 1, step):
            wanted.append(wide[begin:begin + window])
            ids.append(rows[begin:begin + window])
    pipeline = fb.hdf5(str(folder), {"wide": "/group/wide", "id": "/id", "house": "@house"}, window=window, stride=stride)
    with fb.Loader(pipeline.shuffle().batch(50), seed=5, threads=2) as loader:
        seen = 0
        for batch in loader:
            assert batch["wide"].shape[1:] == (window, 3)
            for place, i in enumerate(batch.ids):
                assert np.array_equal(batch["wide"][place], wanted[i]) and np.array_equal(batch["id"][place], ids[i])
            seen += len(batch.ids)
    assert seen == len(wanted)


def test_aggregates_of_windows_are_numpys(folder):
    pipeline = (fb.hdf5(str(folder), {"x": "/group/wide", "y": "/group/wide"}, window=60, stride=20)
                .aggregate(["mean", "std", "rms", "min", "max", "sum"], "x").aggregate("mean", "x", times="y", every=20)
                .aggregate("cusum", "x").batch(1000))
    with fb.Loader(pipeline) as loader:
        for batch in loader:
            x = batch["x"].astype(np.float64)
            for name, mine in (("mean", x.mean(1)), ("std", x.std(1)), ("rms", np.sqrt((x * x).mean(1))), ("sum", x.sum(1)),
                               ("cusum", np.cumsum(x - x.mean(1, keepdims=True), axis=1))):
                assert np.allclose(batch[f"x_{name}"], mine, rtol=1e-6, atol=1e-5), name
            assert np.array_equal(batch["x_min"], batch["x"].min(1)) and np.array_equal(batch["x_max"], batch["x"].max(1))
            power = (x * x).reshape(len(x), 3, 20, 3).mean(2)
            assert np.allclose(batch["x_y_mean"], power, rtol=1e-12)


def test_a_window_step_cuts_a_sample(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(60, dtype=np.int16).reshape(3, 20)
    with fb.Loader(fb.hdf5(tmp_path / "a.h5", {"x": "/x"}).window(8, "x", stride=4).aggregate("mean", "x", axis=1).batch(3)) as loader:
        (batch,) = loader
    expected = np.lib.stride_tricks.sliding_window_view(np.arange(60).reshape(3, 20), 8, axis=1)[:, ::4]
    assert np.array_equal(batch["x"], expected) and np.array_equal(batch["x_mean"], expected.mean(2))


@pytest.fixture
def bucket(servers, faults, folder, nothing_from_outside):
    """The files in a bucket behind the counting proxy: storage options."""
    return behind_faults(servers("ceph", "faults"), "hdf5", folder)


def test_a_bucket_far_away_gives_the_same_in_few_requests(bucket, faults, expected):
    faults.set(latency_ms=5)
    with fb.Loader(mixed("s3://hdf5/rows"), seed=7, storage_options=bucket, threads=2) as loader:
        opened = faults.status()["counts"]["requests"]
        assert opened <= 3 * 4, "metadata come in blocks"
        assert fb.digest(loader) == expected[0]


def test_chunks_are_decoded_once_in_an_epoch(folder):
    with fb.Loader(mixed(folder), seed=1, epochs=1) as loader:
        for _ in loader:
            pass
        assert max(loader.stats()["chunks"]["decoded_times"]) <= 2  # of a block that two ends share
    with fb.Loader(fb.hdf5(str(folder), FIELDS).batch(100), epochs=1) as loader:
        for _ in loader:
            pass
        assert loader.stats()["chunks"]["decoded"] == loader.stats()["chunks"]["row_groups"]


def test_a_pipeline_as_json_is_the_same(folder):
    pipeline = fb.hdf5(str(folder), {"b": "/id", "a": "/name"})
    again = fb.Pipeline.from_json(pipeline.batch(10).to_json())
    assert again.fingerprint == pipeline.batch(10).fingerprint == fb.hdf5(str(folder), {"a": "/name", "b": "/id"}).batch(10).fingerprint
    assert one_epoch(again) == one_epoch(pipeline.batch(10))


@pytest.mark.parametrize("way", [{"compression": "szip"}, {"scaleoffset": 3}])
def test_filters_that_are_not_read_are_named_with_the_way_out(tmp_path, way):
    if way.get("compression") == "szip" and not h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP):
        pytest.skip("this h5py has no szip")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.arange(1000), chunks=(100,), **way)
    with pytest.raises(fb.Unsupported, match="h5repack"):
        all_values(tmp_path / "a.h5", "/x")


def test_values_in_other_files_are_never_opened(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(np.arange(100).tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.arange(100)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("external", (100,), np.int64, external=[(str(secret), 0, h5py.h5f.UNLIMITED)])
        file["link"] = h5py.ExternalLink("other.h5", "/x")
        layout = h5py.VirtualLayout((100,), np.int64)
        layout[:] = h5py.VirtualSource("other.h5", "x", (100,))
        file.create_virtual_dataset("virtual", layout)
        file["soft"] = h5py.SoftLink("/nowhere")
        file["circle"] = h5py.SoftLink("/circle")
        file["here"] = np.arange(3)
        file["alias"] = h5py.SoftLink("/here")
    for name in ("external", "link", "virtual"):
        with pytest.raises(fb.Unsupported, match="other file|another file"):
            all_values(tmp_path / "a.h5", f"/{name}")
    with pytest.raises(fb.NotFound, match="nowhere"):
        all_values(tmp_path / "a.h5", "/soft")
    with pytest.raises(fb.InvalidArgument, match="circles"):
        all_values(tmp_path / "a.h5", "/circle")
    assert [int(value) for value in all_values(tmp_path / "a.h5", "/alias")] == [0, 1, 2]


def test_every_error_of_opening_names_file_field_and_way_out(folder, tmp_path):
    some = str(folder / "part-1.h5")
    with pytest.raises(fb.NotFound) as missing:
        all_values(some, "/group/wyde")
    assert "part-1.h5" in str(missing.value) and "did you mean 'wide'" in str(missing.value)
    with pytest.raises(fb.NotFound, match="did you mean 'rate'"):
        fb.Loader(fb.hdf5(some, {"i": "/id", "r": "/id@rat"}).batch(2))
    with pytest.raises(fb.InvalidArgument, match=r"\.at.*\.power"):
        all_values(some, "/table")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"], file["y"], file["z"] = np.arange(3), np.arange(4), 1.5
    with pytest.raises(fb.InvalidArgument, match="differ in rows"):
        fb.Loader(fb.hdf5(tmp_path / "a.h5", {"x": "/x", "y": "/y"}).batch(2))
    with pytest.raises(fb.InvalidArgument, match="no axis of samples"):
        all_values(tmp_path / "a.h5", "/z")
    with pytest.raises(fb.InvalidArgument, match="smaller window"):
        all_values(tmp_path / "a.h5", "/x", window=4)
    assert [problem.message for problem in fb.hdf5("a.h5", {}).batch(2).check()] == ["fields does not give a path for each name"]
    assert "window is no number" in fb.hdf5("a.h5", {"x": "/x"}, window=0).batch(2).check()[0].message
    assert "stride without window" in fb.hdf5("a.h5", {"x": "/x"}, stride=2).batch(2).check()[0].message


def test_what_was_never_written_is_the_fill_value(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as file:
        data = file.create_dataset("x", (1000, 4), np.float32, chunks=(64, 3), fillvalue=-2.5, compression="gzip", maxshape=(None, 4))
        data[100:200, 1] = np.arange(100)
        values = data[...]
    assert np.array_equal(np.stack(all_values(tmp_path / "a.h5", "/x")), values)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("shape, chunks, most", [((5000,), (3,), (None,)), ((70, 90), (4, 7), (None, None)), ((90, 70), (4, 7), (90, None)),
                                                 ((300, 11), (1, 11), (4000, 11)), ((7, 5, 3), (2, 2, 2), None), ((2000, 3), (2000, 3), None)])
def test_every_index_of_chunks_is_read(tmp_path, libver, shape, chunks, most):
    """Trees, arrays in pages, single chunks: by the form of the data set and the age of the file."""
    values = np.random.default_rng(1).integers(-99, 99, shape).astype(np.int16)
    for number, way in enumerate([{}, {"compression": "gzip", "shuffle": True}]):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w", libver=libver) as file:
            data = file.create_dataset("x", shape, np.int16, chunks=chunks, maxshape=most, **way)
            data[: shape[0] // 2] = values[: shape[0] // 2]
            data[shape[0] // 2:] = values[shape[0] // 2:]
        assert np.array_equal(np.stack(all_values(path, "/x")), values)


def test_many_names_and_attributes_are_found(tmp_path):
    for libver in ("earliest", "latest"):
        path = tmp_path / f"{libver}.h5"
        with h5py.File(path, "w", libver=libver) as file:
            group = file.create_group("many")
            for i in range(3000):
                group[f"data set {i:05}"] = h5py.SoftLink("/x")
            file["x"] = np.arange(4)
            for i in range(100):
                file["x"].attrs[f"attribute {i}"] = i
        with fb.Loader(fb.hdf5(path, {"x": "/many/data set 02222", "a": "/x@attribute 77"}).batch(4)) as loader:
            (batch,) = loader
        assert batch["x"].tolist() == [0, 1, 2, 3] and batch["a"].tolist() == [77] * 4


def test_lists_and_texts_of_varying_length(tmp_path):
    lists = [np.arange(i % 5, dtype=np.float32) for i in range(300)]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        data = file.create_dataset("lists", (300,), h5py.vlen_dtype(np.dtype(">f4")), chunks=(50,), compression="gzip")
        for i, one in enumerate(lists):
            data[i] = one
        file["texts"] = ["", "ä", "x" * 1000]
        file.create_dataset("fixed", data=np.array([b"a", b"bc", b""], "S5"))
        file.create_dataset("bad", data=np.array([b"a", b"\xff", b"c"], "S5"))
    assert all(map(np.array_equal, all_values(tmp_path / "a.h5", "/lists"), lists))
    assert all_values(tmp_path / "a.h5", "/texts") == ["", "ä", "x" * 1000]
    assert all_values(tmp_path / "a.h5", "/fixed") == ["a", "bc", ""]
    with pytest.raises(fb.Corrupt, match="UTF-8"):
        all_values(tmp_path / "a.h5", "/bad")
    with fb.Loader(fb.hdf5(tmp_path / "a.h5", {"x": "/bad"}).batch(3), on_error="skip") as loader:
        assert [list(batch["x"]) for batch in loader] == [["a", "c"]]


def test_too_many_values_of_varying_length_are_told_with_the_way_out(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=["x" * 100_000] * 800, dtype=h5py.string_dtype())
    with pytest.raises(fb.Unsupported, match="64 MiB.*fixed length"):
        all_values(tmp_path / "a.h5", "/x")


def test_a_damaged_chunk_is_an_error_of_its_rows_by_policy(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", data=np.arange(1_000_000) * 7919 % 100_003, chunks=(1000,), compression="gzip")
        offset = data.id.get_chunk_info(500).byte_offset
    content = bytearray(path.read_bytes())
    content[offset + 20] ^= 0xff
    path.write_bytes(content)
    with pytest.raises(fb.Corrupt) as told:
        all_values(path, "/x")
    assert "a.h5" in str(told.value) and "'/x'" in str(told.value) and "damaged" in str(told.value)
    with fb.Loader(fb.hdf5(path, {"x": "/x"}).batch(1000), on_error="skip", threads=2) as loader:
        kept = sum(len(batch.ids) for batch in loader)
        assert 0 < kept < 1_000_000 and loader.errors()


def test_a_file_cut_off_or_of_another_kind_is_told(folder, tmp_path):
    content = (folder / "part-2.h5").read_bytes()
    for name, bytes_ in (("cut.h5", content[: len(content) // 2]), ("empty.h5", b""), ("text.h5", b"no HDF5 at all" * 100)):
        (tmp_path / name).write_bytes(bytes_)
        with pytest.raises(fb.Corrupt, match=name):
            all_values(tmp_path / name, "/id")
    with pytest.raises(fb.Corrupt, match="3 of 3 files"):
        all_values(tmp_path / "*.h5", "/id")


def test_files_must_have_one_type(tmp_path):
    for name, dtype in (("a.h5", np.int32), ("b.h5", np.float32)):
        with h5py.File(tmp_path / name, "w") as file:
            file["x"] = np.arange(3, dtype=dtype)
    with pytest.raises(fb.InvalidArgument) as told:
        all_values(tmp_path, "/x")
    assert "a.h5" in str(told.value) and "b.h5" in str(told.value)


def test_the_example_finds_the_reactive_power_of_a_sine(tmp_path):
    at = 2 * np.pi * np.arange(128 * 32 * 10) / 128
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("voltage", data=(325 * np.sin(at)).astype(np.float32), chunks=(1000,), compression="gzip", shuffle=True)
        file.create_dataset("current", data=(2 * np.sin(at - np.pi / 6)).astype(np.float32), chunks=(1000,), compression="gzip", shuffle=True)
    said = run(sys.executable, ROOT / "examples" / "presto" / "nilm.py", tmp_path / "a.h5")
    assert "10 windows of 32 periods" in said
    assert np.isclose(float(said.split()[-1]), 325 * np.sin(np.pi / 6), rtol=1e-5)


def test_h5py_in_the_same_process_is_not_disturbed(folder):
    with h5py.File(folder / "part-1.h5", "r") as file, fb.Loader(mixed(folder), seed=1) as loader:
        for batch in itertools.islice(loader, 5):
            assert len(batch.ids) and file["id"][5] == 6
    assert os.path.exists(folder)
