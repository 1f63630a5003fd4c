"""Lengths of pictures, and of rows that are made of them, by their headers: the same batches, and only first bytes are read to measure."""
import io
import struct
import tarfile
import zlib

import numpy as np
import pytest
from megatron_files import write as write_tokens
from PIL import Image

import forebay as fb
from servers.s3 import Client

HEAD = 4 << 10


def pixels(i):
    """Noise, so that every encoded picture is much longer than its header."""
    draw = np.random.default_rng(i)
    height, width = (int(side) for side in draw.integers(90, 260, 2))
    return draw.integers(0, 256, (height, width, 3), np.uint8)


def encoded(i, kind, orientation=1, icc=0):
    file = io.BytesIO()
    image = Image.fromarray(pixels(i))
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"exif": exif} if orientation > 1 else {}
    if icc:
        options["icc_profile"] = np.random.default_rng(i).bytes(icc)
    image.save(file, kind, **({"quality": 90} if kind == "JPEG" else {"lossless": True} if kind == "WEBP" else {}) | options)
    return file.getvalue()


KINDS = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "BMP": "bmp"}


def write(folder, cases):
    for i, case in enumerate(cases):
        (folder / f"{i:03d}.{KINDS[case['kind']]}").write_bytes(encoded(i, **case))
    return str(folder / "*")


MIXED = [
    *({"kind": kind} for kind in KINDS),
    *({"kind": "JPEG", "orientation": orientation} for orientation in (2, 3, 5, 6, 8)),
    *({"kind": "PNG", "orientation": orientation} for orientation in (3, 6)),
    *({"kind": "WEBP", "orientation": orientation} for orientation in (3, 8)),
    {"kind": "JPEG", "icc": 30_000}, {"kind": "JPEG", "icc": 150_000, "orientation": 6}, {"kind": "PNG", "icc": 100_000},
]  # fmt: skip


def same(sample):
    return sample


def batches(loader):
    return [batch.ids.tolist() for batch in loader]


def epoch(pipeline, **options):
    """The ids of each batch, and the bytes that were read."""
    with fb.Loader(pipeline, epochs=1, seed=1, **options) as loader:
        return batches(loader), sum(store["bytes"] for store in loader.stats()["stores"])


def measuring(pipeline, **options):
    """The bytes that are read to measure the lengths, before the first batch."""
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        assert len(loader) > 0
        return sum(store["bytes"] for store in loader.stats()["stores"])


def decoded(source):
    """The same pipeline up to the pictures, of which nothing is known before the samples are seen."""
    return source.map(same, version="1")


CHANGES = {
    "patchify": lambda p: p.patchify(14, merge=2, max_pixels=30_000),
    "short side": lambda p: p.resize(short_side=64).patchify(14),
    "two resizes": lambda p: p.resize(short_side=200).resize(short_side=64).patchify(14, min_pixels=400),
    "float": lambda p: p.random_flip().color_jitter(0.2).normalize(fb.IMAGENET).patchify(14, merge=2),
    "layout": lambda p: p.layout("chw").resize(short_side=90).cast("float32").patchify(14),
    "names": lambda p: p.rename(image="photo").patchify(14, field="photo").rename(patches="tokens").select("tokens", "key").rename(tokens="patches"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_batches_are_those_of_decoded_pictures(tmp_path, change):
    files = fb.files(write(tmp_path, MIXED))
    known = CHANGES[change](files.decode_image()).shuffle()
    by_pass = CHANGES[change](decoded(files.decode_image())).shuffle()
    bucket = {"by": "patches", "tokens": 260, "window": 4, "group": 2}
    assert epoch(known.bucket(**bucket))[0] == epoch(by_pass.bucket(**bucket, ragged="patches"))[0]


def bucketed(source, **options):
    return source.decode_image().patchify(14, merge=2, max_pixels=30_000).bucket(by="patches", tokens=400, **options)


def test_first_bytes_are_read_of_pictures_whose_header_they_hold(tmp_path):
    files = fb.files(write(tmp_path, [{"kind": kind, "orientation": orientation} for kind in KINDS for orientation in (1, 6) if kind != "BMP" or orientation == 1]))
    stored = [path.stat().st_size for path in tmp_path.iterdir()]
    assert min(stored) > 2 * HEAD
    # The lengths of these patches do not depend on the orientation, which lies behind the pixels of PNG and WebP.
    assert measuring(bucketed(files)) == HEAD * len(stored)


def test_more_is_read_where_a_header_is_longer(tmp_path):
    files = fb.files(write(tmp_path, [{"kind": "JPEG", "icc": 20_000}, {"kind": "JPEG", "icc": 200_000}, {"kind": "JPEG"}]))
    stored = [path.stat().st_size for path in sorted(tmp_path.iterdir())]
    assert measuring(bucketed(files)) == 3 * HEAD + sum(min(64 << 10, size) for size in stored[:2]) + stored[1]
    assert stored[1] > 200_000


def test_the_pixels_of_a_picture_are_a_length(tmp_path):
    """For functions that pad pictures of several sizes themselves, as those of detectors."""
    files = fb.files(write(tmp_path, MIXED)).decode_image()
    stored = sum(path.stat().st_size for path in tmp_path.iterdir())
    bucket = {"by": "image", "tokens": 150_000, "samples": 4}

    def sizes(samples):
        return [sample["image"].shape[:2] for sample in samples]

    def collated(pictures):
        with fb.Loader(pictures.bucket(**bucket).collate(sizes), epochs=1, seed=1) as loader:
            return list(loader)

    known = collated(files)
    assert measuring(files.bucket(**bucket).collate(sizes)) < 0.5 * stored
    assert sorted(size for batch in known for size in batch) == sorted(
        batch[0] for batch in fb.Loader(files.batch(1).collate(sizes), epochs=1))
    assert all(len(batch) * max(h * w for h, w in batch) <= 150_000 and len(batch) <= 4 for batch in known)
    assert known == collated(files.random_flip())


def test_nothing_is_decoded_to_measure(tmp_path):
    """Damage behind the header is found when the picture is used."""
    path = tmp_path / "0.jpg"
    path.write_bytes(encoded(0, "JPEG")[: 2 * HEAD])
    (tmp_path / "1.jpg").write_bytes(encoded(1, "JPEG"))
    files = fb.files(str(tmp_path / "*"))
    with fb.Loader(bucketed(files), epochs=1, on_error="skip") as loader:
        assert [i for batch in batches(loader) for i in batch] == [1]
        assert [error["sample"] for error in loader.errors()] == [0]


@pytest.mark.parametrize("bad", [b"no picture at all" * 1000, encoded(0, "JPEG")[:300], encoded(0, "PNG")[:20], b""])
def test_a_picture_without_a_header_is_bad(tmp_path, bad):
    (tmp_path / "0.jpg").write_bytes(bad)
    (tmp_path / "1.jpg").write_bytes(encoded(1, "JPEG"))
    pipeline = bucketed(fb.files(str(tmp_path / "*")))
    with pytest.raises(fb.Error) as caught:
        epoch(pipeline)
    assert caught.value.sample == 0 and caught.value.key.endswith("0.jpg")
    with fb.Loader(pipeline, epochs=1, on_error="skip") as loader:
        assert [i for batch in batches(loader) for i in batch] == [1]
        assert {error["sample"] for error in loader.errors()} == {0}


def test_what_steps_refuse_by_the_size_is_told(tmp_path):
    file = io.BytesIO()
    Image.fromarray(np.zeros((3, 700, 3), np.uint8)).save(file, "PNG")
    (tmp_path / "0.png").write_bytes(file.getvalue())
    with pytest.raises(fb.Unsupported, match="700 × 3 pixels: one side is more than 200 times as long") as caught:
        epoch(bucketed(fb.files(str(tmp_path / "*"))))
    assert caught.value.sample == 0


def claiming(height, width):
    """A PNG whose header, with a good checksum, claims that size."""
    data = bytearray(encoded(0, "PNG"))
    data[16:24] = struct.pack(">II", width, height)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    assert len(data) > HEAD
    return bytes(data)


@pytest.mark.parametrize("size", [(10**6, 10**6), (2**29, 1), (3, 2**31 - 1)])
def test_a_picture_that_claims_more_than_is_handled_is_bad(tmp_path, size):
    """It is one bad sample, whatever its header says, and ends no run that skips such."""
    for i in (0, 2):
        (tmp_path / f"{i}.jpg").write_bytes(encoded(i, "JPEG"))
    (tmp_path / "1.png").write_bytes(claiming(*size))
    files = fb.files(str(tmp_path / "*"))
    by_pixels = files.decode_image().bucket(by="image", tokens=200_000).collate(len)
    rows = fb.arrays(tokens=np.ones((3, 4), np.int32))
    packed = beside(rows, files).pack(16, limits={"patches": 400}, too_long="error").batch(1)
    for pipeline in (bucketed(files), by_pixels, packed):
        with pytest.raises(fb.Error, match=rf"{size[1]} × {size[0]} pixels") as caught:
            list(fb.Loader(pipeline, epochs=1))
        assert caught.value.sample == 1 and isinstance(caught.value, fb.Corrupt | fb.Unsupported)
        with fb.Loader(pipeline, epochs=1, on_error="skip") as loader:
            assert sum(1 for _ in loader) > 0
            assert {error["sample"] for error in loader.errors()} == {1}


def test_a_picture_above_max_pixels_is_not_measured(tmp_path):
    areas = [pixels(i).shape[0] * pixels(i).shape[1] for i in range(5)]
    largest = int(np.argmax(areas))
    files = fb.files(write(tmp_path, [{"kind": "JPEG"}] * 5)).decode_image(max_pixels=max(areas) - 1)
    pipeline = files.patchify(14, merge=2, max_pixels=30_000).bucket(by="patches", tokens=400)
    with fb.Loader(pipeline, epochs=1, on_error="skip") as loader:
        assert len(loader) > 0
        assert [(error["sample"], error["operator"]) for error in loader.errors()] == [(largest, "image_size")]
        assert sorted(i for batch in loader for i in batch.ids.tolist()) == sorted(set(range(5)) - {largest})


def shard(path, files, form=tarfile.USTAR_FORMAT, **headers):
    """A tar of (name, bytes), or of (name, the name that it links to)."""
    with tarfile.open(path, "w", format=form) as out:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.pax_headers = headers
            if isinstance(data, str):
                info.type, info.linkname = tarfile.SYMTYPE, data
            else:
                info.size = len(data)
            out.addfile(info, io.BytesIO(data) if info.size else None)
    return str(path)


def members(count, kind="JPEG"):
    """Each picture is large, and lies between a number and a mask."""
    for i in range(count):
        yield f"{i:03d}.cls", str(i).encode()
        yield f"{i:03d}.jpg", encoded(i, kind, 6 if i % 3 == 0 and kind == "JPEG" else 1) + bytes(30_000)
        yield f"{i:03d}.mask.png", bytes(5_000 + i)


def pictures(path, **options):
    return fb.webdataset(path, fields={"image": "jpg"}, **options)


def test_pictures_in_tables_give_the_same_batches(tmp_path):
    pa = pytest.importorskip("pyarrow")
    source = fb.arrow(pa.table({"image": [encoded(i, "JPEG", 6 if i % 3 == 0 else 1) for i in range(12)]}))
    known = source.decode_image().patchify(14, merge=2).bucket(by="patches", tokens=300)
    by_pass = decoded(source.decode_image()).patchify(14, merge=2).bucket(by="patches", tokens=300, ragged="patches")
    assert epoch(known)[0] == epoch(by_pass)[0]


FORMS = {"ustar": {}, "pax": {"form": tarfile.PAX_FORMAT, "mtime": "1.5"}, "gnu": {"form": tarfile.GNU_FORMAT}}


@pytest.mark.parametrize("form", FORMS)
def test_first_bytes_are_read_of_pictures_in_tars(tmp_path, form):
    paths = [shard(tmp_path / f"{i}.tar", list(members(9)), **FORMS[form]) for i in range(2)]
    source = pictures(paths)
    known = bucketed(source)
    by_pass = decoded(source.decode_image()).patchify(14, merge=2, max_pixels=30_000).bucket(by="patches", tokens=400, ragged="patches")
    assert epoch(known)[0] == epoch(by_pass)[0]
    # The indices of the tars were saved by now.
    # On a busy machine the heads of one tar were seen to be read twice. It is not known why.
    assert measuring(known) in (18 * HEAD, 27 * HEAD, 36 * HEAD)
    assert measuring(bucketed(source.take(3))) in (3 * HEAD, 6 * HEAD)


def test_more_is_read_of_pictures_in_tars_where_a_header_is_longer(tmp_path):
    files = {"0.jpg": encoded(0, "JPEG", icc=20_000), "1.jpg": encoded(1, "JPEG", icc=200_000), "2.jpg": encoded(2, "JPEG")}
    path = shard(tmp_path / "0.tar", [one for name, data in files.items() for one in ((name, data), (name[0] + ".bin", bytes(100_000)))])
    known = bucketed(pictures(path))
    assert epoch(known)[0] == epoch(decoded(pictures(path).decode_image()).patchify(14, merge=2, max_pixels=30_000).bucket(by="patches", tokens=400, ragged="patches"))[0]
    sizes = [len(data) for data in files.values()]
    whole = (tmp_path / "0.tar").stat().st_size
    assert measuring(known) <= 3 * HEAD + sum(min(64 << 10, size) for size in sizes[:2]) + whole


def requests(pipeline):
    with fb.Loader(pipeline, epochs=1) as loader:
        assert len(loader) > 0
        return sum(store["requests"] - store["heads"] for store in loader.stats()["stores"])


def test_first_bytes_that_lie_near_each_other_are_one_read(tmp_path):
    file = io.BytesIO()
    Image.fromarray(np.zeros((40, 50, 3), np.uint8)).save(file, "PNG")
    near = shard(tmp_path / "near.tar", [(f"{i:03d}.jpg", file.getvalue()) for i in range(100)])
    far = shard(tmp_path / "far.tar", list(members(9)))
    for path, most in ((near, 1), (far, 9)):  # or twice as many, as above
        epoch(bucketed(pictures(path)))
        assert requests(bucketed(pictures(path))) in (most, 2 * most)


def test_links_and_lacking_and_doubled_pictures_in_tars(tmp_path):
    """A link leads to the first bytes of its file; a sample without its picture is bad as in any pass."""
    good = list(members(6))
    links = [("006.jpg", "001.jpg"), ("006.cls", b"6"), ("007.jpg", "no such"), ("008.cls", b"8"), ("009.jpg", good[1][1]), ("009.jpg", good[4][1])]
    known = bucketed(pictures(shard(tmp_path / "0.tar", good + links)))
    with fb.Loader(known, epochs=1, on_error="skip") as loader:
        assert sorted(i for batch in batches(loader) for i in batch) == list(range(7))
        assert {error["sample"] for error in loader.errors()} == {7, 8, 9}
    for operation in (lambda: epoch(known), lambda: epoch(bucketed(pictures(str(tmp_path / "0.tar"), optional=["image"])))):
        with pytest.raises(fb.Error, match=r"007|008|009"):
            operation()


def test_pictures_in_tars_beside_arrays(tmp_path):
    path = shard(tmp_path / "0.tar", list(members(12)))
    beside_tar = fb.zip(photo=pictures(path).take(10), label=fb.arrays(label=np.arange(10))).select("image", "label").decode_image()
    known = beside_tar.patchify(14, merge=2).bucket(by="patches", tokens=300)
    by_pass = decoded(beside_tar).patchify(14, merge=2).bucket(by="patches", tokens=300, ragged="patches")
    assert epoch(known)[0] == epoch(by_pass)[0]
    assert measuring(known) in (10 * HEAD, 20 * HEAD)


def test_a_tar_whose_index_is_not_saved_is_read_whole(tmp_path, monkeypatch):
    path = shard(tmp_path / "0.tar", list(members(6)))
    known = epoch(bucketed(pictures(path)))[0]
    monkeypatch.setenv("XDG_CACHE_HOME", path)
    assert epoch(bucketed(pictures(path)))[0] == known
    assert measuring(bucketed(pictures(path))) > (tmp_path / "0.tar").stat().st_size


@pytest.mark.parametrize("unsaved", [0, 1])
def test_first_bytes_are_read_of_the_tars_whose_index_is_saved(unsaved, tmp_path, capfd):
    """A tar beside them whose index was removed is read whole, and a warning names it."""
    paths = [shard(tmp_path / f"{i}.tar", list(members(6))) for i in range(3)]
    source = pictures(paths, index="beside")
    known = epoch(bucketed(source))[0]
    with fb.Loader(bucketed(source), epochs=1, seed=1) as loader:  # which has opened them all
        (tmp_path / f"{unsaved}.tar.tarindex").unlink()
        assert len(loader) > 0
        read = sum(store["bytes"] for store in loader.stats()["stores"])
        assert batches(loader) == known
    heads, size = 12 * HEAD, (tmp_path / f"{unsaved}.tar").stat().st_size
    assert heads + 6 * HEAD < read <= heads + size
    assert f"1 of 3 shards have no saved index ({paths[unsaved]}): they are read whole" in capfd.readouterr().err


@pytest.fixture
def rows(tmp_path):
    """Rows of 1 to 5 tokens, each of its own number."""
    (tmp_path / "rows").mkdir()
    return fb.megatron(write_tokens(tmp_path / "rows" / "tokens", [[np.full(1 + i % 5, i + 1, np.int32)] for i in range(20)]))


def beside(rows, photos):
    return fb.zip(rows, photo=photos.decode_image().patchify(14, merge=2, max_pixels=30_000).select("patches")).select("tokens", "patches")


def blocks(pipeline, **options):
    with fb.Loader(pipeline.pack(16, limits={"patches": 400}, too_long="drop").batch(2), epochs=1, **options) as loader:
        return [np.asarray(batch["tokens"]).tolist() for batch in loader]


def test_packs_are_bounded_by_the_patches_of_headers(tmp_path, rows):
    pair = beside(rows, fb.files(write(tmp_path, (MIXED * 2)[:20])))
    known = blocks(pair)
    assert known == blocks(pair.map(same, version="1").select("tokens", "patches"))
    assert {x for batch in known for block in batch for x in block if x} == set(range(1, 21))


def test_packs_decode_nothing(tmp_path, rows):
    """Pictures that are damaged behind their headers have patches as others do; blocks have none of them."""
    pattern = write(tmp_path, [{"kind": "JPEG"}] * 20)
    pair = beside(rows, fb.files(pattern))
    whole = blocks(pair)
    for path in tmp_path.glob("*.jpg"):
        path.write_bytes(path.read_bytes()[: 2 * HEAD])
    assert blocks(pair) == whole
    (tmp_path / "003.jpg").write_bytes(b"no picture")
    with pytest.raises(fb.Error) as caught:
        blocks(pair)
    assert caught.value.sample == 3
    left = blocks(pair, on_error="skip")
    assert {x for batch in left for block in batch for x in block if x} == set(range(1, 21)) - {4}


def test_a_sample_without_its_picture_is_above_no_other_limit(tmp_path, rows):
    counts = np.ones(20, np.int64)
    counts[3] = 1000
    pictures = fb.files(write(tmp_path, [{"kind": "JPEG"}] * 20)).decode_image().patchify(14).select("patches")
    both = fb.zip(rows, fb.arrays(count=counts), photo=pictures).select("tokens", "patches", "count")

    def tokens(**options):
        packed = both.pack(16, limits={"count": 10, "patches": 400}, too_long="error")
        with fb.Loader(packed.batch(2), epochs=1, **options) as loader:
            return {x for batch in loader for x in np.asarray(batch["tokens"]).ravel().tolist() if x}

    with pytest.raises(fb.InvalidArgument, match="it has 1000 of 'count'"):
        tokens()
    (tmp_path / "003.jpg").write_bytes(b"no picture")
    assert tokens(on_error="skip") == set(range(1, 21)) - {4}


def test_parts_of_a_mix_are_measured_by_headers(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        write(tmp_path / name, MIXED)

    def mixed(change=lambda pictures: pictures):
        return {name: change(fb.files(str(tmp_path / name / "*")).decode_image()).patchify(14, merge=2, max_pixels=30_000).select("patches") for name in "ab"}

    bucket = {"by": "patches", "tokens": 300, "window": 3, "group": 2}
    for join in (fb.mix, lambda parts: fb.concat(**parts)):
        known = join(mixed()).bucket(**bucket)
        assert epoch(known)[0] == epoch(join(mixed(decoded)).bucket(**bucket, ragged="patches"))[0]
        assert measuring(known) == 2 * measuring(bucketed(fb.files(str(tmp_path / "a" / "*"))))


def test_only_chosen_samples_are_read_and_their_lengths_kept(tmp_path):
    files = fb.files(write(tmp_path, [{"kind": "JPEG"}] * 12))
    assert measuring(bucketed(files.take(5))) == 5 * HEAD
    cached = files.decode_image().patchify(14).cache(ram=0, disk="64MiB", dir=str(tmp_path / "kept")).bucket(by="patches", tokens=300)
    assert [measuring(cached), measuring(cached)] == [12 * HEAD, 0]


def test_two_pictures_of_a_sample_are_decoded_to_measure(tmp_path):
    """A step that works on both reads both."""
    files = fb.files(write(tmp_path, [{"kind": "PNG", "orientation": 6}] * 6))
    pair = fb.zip(files.select("bytes").rename(bytes="image"), mask=files.select("bytes").rename(bytes="mask")).decode_image(field=["image", "mask"])
    both = pair.resize(short_side=84, field=["image", "mask"]).patchify(14).select("patches").bucket(by="patches", tokens=300)
    one = files.decode_image().resize(short_side=84).patchify(14).select("patches").bucket(by="patches", tokens=300)
    assert epoch(both)[0] == epoch(one)[0]


def test_ranks_and_caches_agree(tmp_path):
    files = fb.files(write(tmp_path, MIXED))
    pipeline = bucketed(files, window=4, group=2)
    assert fb.digest(fb.Loader(pipeline, epochs=1)) == fb.digest(*[fb.Loader(pipeline, epochs=1, rank=rank, world_size=2) for rank in range(2)])
    cached = files.decode_image().cache(ram="64MiB", disk=0).patchify(14, merge=2, max_pixels=30_000).bucket(by="patches", tokens=400, window=4, group=2)
    assert epoch(cached)[0] == epoch(pipeline)[0]


def test_photographs_of_cameras(shared):
    """Real files of all formats, with orientations, thumbnails and colour profiles."""
    found = [path for ending in ("jpg", "jpeg", "png", "webp") for path in sorted((shared / "images").rglob(f"*.{ending}"))][:300]
    rows = []
    for path in found:
        try:
            with fb.Loader(fb.files(str(path)).decode_image().patchify(14, merge=2).batch(1), epochs=1) as loader:
                rows.append((path, len(next(iter(loader))["grid"])))
        except fb.Error:
            continue
    good = [str(path) for path, _ in rows]
    assert len(good) > 50
    files = fb.files(good).decode_image()
    known = epoch(files.patchify(14, merge=2).bucket(by="patches", tokens=4000))
    by_pass = epoch(decoded(files).patchify(14, merge=2).bucket(by="patches", tokens=4000, ragged="patches"))
    assert known[0] == by_pass[0]
    assert measuring(files.patchify(14, merge=2).bucket(by="patches", tokens=4000)) < 0.2 * sum(path.stat().st_size for path, _ in rows)


def test_a_bucket_over_s3_asks_for_the_first_bytes(servers, tmp_path, nothing_from_outside):
    found = servers("ceph")
    client = Client(found["FOREBAY_TEST_S3"], found["FOREBAY_TEST_S3_KEY"], found["FOREBAY_TEST_S3_SECRET"])
    client.make_bucket("headers")
    objects = {f"{i:03d}.jpg": encoded(i, "JPEG", 6 if i % 4 == 0 else 1) for i in range(24)}
    client.put_all("headers", objects)
    options = {"endpoint": found["FOREBAY_TEST_S3"], "access_key_id": found["FOREBAY_TEST_S3_KEY"], "secret_access_key": found["FOREBAY_TEST_S3_SECRET"]}
    for name, data in objects.items():
        (tmp_path / name).write_bytes(data)
    over_s3 = bucketed(fb.files("s3://headers/*.jpg"))
    assert epoch(over_s3, storage_options=options)[0] == epoch(bucketed(fb.files(str(tmp_path / "*.jpg"))))[0]
    assert measuring(over_s3, storage_options=options) == HEAD * len(objects)


def test_pictures_in_tars_over_s3_are_measured_by_their_first_bytes(servers, tmp_path, nothing_from_outside):
    found = servers("ceph")
    client = Client(found["FOREBAY_TEST_S3"], found["FOREBAY_TEST_S3_KEY"], found["FOREBAY_TEST_S3_SECRET"])
    client.make_bucket("headers-in-tars")
    options = {"endpoint": found["FOREBAY_TEST_S3"], "access_key_id": found["FOREBAY_TEST_S3_KEY"], "secret_access_key": found["FOREBAY_TEST_S3_SECRET"]}
    files = [(name, data + bytes(80_000) if name.endswith("jpg") else data) for name, data in members(24)]
    path = shard(tmp_path / "0.tar", files, **FORMS["pax"])
    client.put_all("headers-in-tars", {"0.tar": (tmp_path / "0.tar").read_bytes()})
    over_s3 = bucketed(pictures("s3://headers-in-tars/0.tar"))
    assert epoch(over_s3, storage_options=options)[0] == epoch(bucketed(pictures(path)))[0]
    assert measuring(over_s3, storage_options=options) == HEAD * 24
