"""Members of tar shards of every kind, form and name: what is delivered and what is told are, together, what tarfile finds."""
import io
import os
import random
import tarfile
import warnings

import pytest

import forebay as fb

FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]


@pytest.fixture(autouse=True)
def own_cache(nothing_from_outside, monkeypatch, tmp_path):
    monkeypatch.setenv("FOREBAY_CACHE_DIR", str(tmp_path / "cache"))


def member(name, data=b"", kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data) if kind == tarfile.REGTYPE else 0
    return info, data


def hard(name, link):
    return member(name, kind=tarfile.LNKTYPE, link=link)


def symbolic(name, link):
    return member(name, kind=tarfile.SYMTYPE, link=link)


def tar_bytes(members, format=tarfile.PAX_FORMAT):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=format) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return file.getvalue()


def write(path, *tars):
    path.write_bytes(b"".join(tars))
    return path


def read(path, **options):
    """Samples in their order, errors by sample, warnings."""
    samples, found = {}, []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with fb.Loader(fb.webdataset(path, **options).batch(3), on_error="skip", epochs=1) as loader:
            for batch in loader:
                for row in range(len(batch)):
                    samples[int(batch.ids[row])] = {name: batch[name][row] for name in batch}
            found = {error["sample"]: error for error in loader.errors()}
    return samples, found, " ".join(str(one.message) for one in caught)


# ---- the rule, once more, by tarfile


def part_name(name, split):
    folder, _, last = name.rpartition("/")
    if name.split("/")[0].startswith("__") and name.split("/")[0].endswith("__") and len(name.split("/")[0]) >= 4:
        return "note"
    stem, dot, extension = last.partition(".") if split == "first" else last.rpartition(".")
    if last.startswith(".") or not dot or not extension:
        return None
    return (f"{folder}/{stem}" if folder else stem), extension.lower()


def by_tarfile(path, split):
    """Samples as (name, {extension: [bytes or None for a dead link]}), and how many files and how many devices belong to none."""
    samples, aside, devices = [], 0, 0
    with tarfile.open(path, "r:", ignore_zeros=True) as tar:
        for info in tar:
            if info.isdir():
                continue
            if not (info.isreg() or info.issym() or info.islnk()):
                devices += 1
                continue
            parts = part_name(info.name, split)
            if parts == "note":
                continue
            if parts is None:
                aside += 1
                continue
            try:
                file = tar.extractfile(info)
                data = file.read() if file else None
            except (KeyError, RecursionError):
                data = None
            if not samples or samples[-1][0] != parts[0]:
                samples.append((parts[0], {}))
            samples[-1][1].setdefault(parts[1], []).append(data)
    return samples, aside, devices


NAMES = ["a", "b", "d/a", "d/e/c", "Track 2.0 (x)", "v1.2/k", "ü", "n" * 120, "long/" * 30 + "x"]
EXTENSIONS = ["jpg", "png", "seg.png", "JPG", "bin"]


def random_members(draw, format):
    members, names = [], []
    for _ in range(draw.randint(0, 14)):
        name = draw.choice(NAMES[: 7 if format == tarfile.USTAR_FORMAT else 9]) + draw.choice(["", "", "", "2"]) + "." + draw.choice(EXTENSIONS)
        kind = draw.random()
        if kind < 0.55:
            members.append(member(name, bytes(draw.choices(range(256), k=draw.choice([0, 1, 511, 512, 513, 3000])))))
        elif kind < 0.7 and names:
            members.append(hard(name, draw.choice([*names, "gone.jpg"])))
        elif kind < 0.82 and names:
            target = draw.choice([*names, "gone.jpg", name])
            members.append(symbolic(name, os.path.relpath(target, os.path.dirname(name) or ".")))
        elif kind < 0.86:
            members.append(symbolic(name, draw.choice(["/etc/hostname", "../../../../out.jpg", "."])))
        else:
            name = draw.choice(["README", "d/.hidden.jpg", "._a.jpg", "a.", "__note__", "__meta__/x.jpg", "folder", "device.jpg"])
            kind = {"folder": tarfile.DIRTYPE, "device.jpg": draw.choice([tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])}.get(name, tarfile.REGTYPE)
            members.append(member(name, b"aside" if kind == tarfile.REGTYPE else b"", kind))
            continue
        names.append(name)
    return members


@pytest.mark.parametrize("seed", range(60))
def test_what_is_delivered_and_what_is_told_is_what_tarfile_finds(tmp_path, seed):
    draw = random.Random(seed)
    tars = []
    for _ in range(draw.choice([1, 1, 2, 3])):
        format = draw.choice(FORMATS)
        tars.append(tar_bytes(random_members(draw, format), format))
    path = write(tmp_path / "a.tar", *tars)
    split = draw.choice(["first", "last"])
    expected, aside, devices = by_tarfile(path, split)
    extensions = sorted({extension for _, files in expected for extension in files})
    if not expected:
        with pytest.raises(fb.Error, match="no sample"):
            fb.Loader(fb.webdataset(path, split=split).batch(1))
        return
    samples, errors, told = read(path, split=split, optional=extensions, chunk=draw.choice([1, 5000, "8MiB"]))
    assert sorted([*samples, *errors]) == list(range(len(expected)))
    for i, (name, files) in enumerate(expected):
        twice, dead = any(len(found) > 1 for found in files.values()), any(None in found for found in files.values())
        if twice or dead:
            assert errors[i]["code"] in ({"Corrupt"} if twice and not dead else {"NotFound"} if dead and not twice else {"Corrupt", "NotFound"})
            assert "more than one file" in errors[i]["message"] or "is a link to a file that is not in the shard" in errors[i]["message"]
            continue
        row = samples[i]
        assert row["key"] == name
        assert {extension: [bytes(row[extension])] for extension in extensions if row[extension + "_valid"]} == files, (seed, name)
    assert (f"{aside} file{'s' * (aside != 1)} in the tar shards {'are' if aside != 1 else 'is'} part of no sample" in told) == (aside > 0), told
    assert (f"{devices} file" in told and "device" in told) == (devices > 0), told


# ---- links


def test_links_stand_for_the_files_that_they_lead_to(tmp_path):
    path = write(tmp_path / "a.tar", tar_bytes([
        member("one/0.jpg", b"first"), member("0.cls", b"7"), hard("1.jpg", "one/0.jpg"), hard("1.cls", "./0.cls"), symbolic("two/2.jpg", "../one/0.jpg"),
        symbolic("two/2.cls", "../1.cls"), symbolic("3.jpg", "later.bin"), hard("3.cls", "1.cls"), member("later.bin", b"later"), member("4.jpg", b"own")]))
    for chunk in (1, 2048, "8MiB"):
        samples, errors, _ = read(path, fields=["jpg", "cls"], chunk=chunk)
        assert {row["key"]: (bytes(row["jpg"]), int(row["cls"])) for row in samples.values()} == {
            "1": (b"first", 7), "two/2": (b"first", 7), "3": (b"later", 7)}
        assert {error["code"] for error in errors.values()} == {"Corrupt"} and len(errors) == 4  # each lacks a field


def test_a_dead_link_is_not_found_by_on_error(tmp_path):
    path = write(tmp_path / "a.tar", tar_bytes([member("0.txt", b"a"), symbolic("1.txt", "gone.txt"), hard("2.txt", "3.txt"), member("3.txt", b"b"),
                                                symbolic("4.txt", "/etc/hostname"), symbolic("5.txt", "5.txt"), member("6.txt", b"c")]))
    with pytest.raises(fb.NotFound, match="link to a file that is not in the shard"):
        with fb.Loader(fb.webdataset(path).batch(8)) as loader:
            list(loader)
    samples, errors, _ = read(path)
    assert [row["txt"] for row in samples.values()] == ["a", "b", "c"]
    assert sorted(errors) == [1, 2, 4, 5] and {error["code"] for error in errors.values()} == {"NotFound"}


def test_a_file_that_all_samples_share_is_a_link_of_each(tmp_path):
    """Far away from its links, in chunks of any size, by a kept index and without."""
    shared = bytes(range(256)) * 40
    members = [member("shared.bin", shared)]
    for i in range(200):
        members += [member(f"{i:03}.jpg", bytes([i]) * 700), hard(f"{i:03}.map", "shared.bin")]
    path = write(tmp_path / "a.tar", tar_bytes(members))
    for chunk in (1, 20_000, "8MiB"):
        for _ in range(2):
            samples, errors, _ = read(path, fields=["jpg", "map"], chunk=chunk)
            assert len(samples) == 200 and len(errors) == 1  # "shared" has no jpg
            assert all(bytes(row["map"]) == shared and bytes(row["jpg"]) == bytes([int(row["key"])]) * 700 for row in samples.values())


# ---- tars end to end


@pytest.mark.parametrize("padding", [0, 512, 10240, 100 * 1024])
def test_tars_that_stand_end_to_end_are_read_whole(tmp_path, padding):
    tars = [tar_bytes([member(f"{i}{j}.txt", f"{i}{j}".encode()) for j in range(3)], FORMATS[i % 3]) for i in range(4)]
    samples, errors, told = read(write(tmp_path / "a.tar", *(tar + bytes(padding) for tar in tars)))
    assert [row["txt"] for row in samples.values()] == [f"{i}{j}" for i in range(4) for j in range(3)] and not errors and not told


def test_bytes_behind_the_end_that_are_no_tar_are_told(tmp_path):
    tar = tar_bytes([member("0.txt", b"a")])
    samples, _, told = read(write(tmp_path / "a.tar", tar, b"signature" * 100))
    assert len(samples) == 1 and "behind the end" in told and "a.tar" in told
    second = bytearray(tar)
    second[0] ^= 1  # a damaged header of a second tar is damage, and not something else
    with pytest.raises(fb.Corrupt, match="checksum"):
        fb.Loader(fb.webdataset(write(tmp_path / "b.tar", tar, bytes(second))).batch(1))
    with pytest.raises(fb.Corrupt, match="cut off"):
        fb.Loader(fb.webdataset(write(tmp_path / "c.tar", tar, tar[:1024])).batch(1))


# ---- what is told


def test_shards_without_samples_are_told(tmp_path):
    empty, aside = tar_bytes([]), tar_bytes([member("README", b"x"), member("LICENSE", b"y")])
    for tar in (empty, aside):
        with pytest.raises(fb.NotFound, match="no sample"):
            fb.Loader(fb.webdataset(write(tmp_path / "a.tar", tar)).batch(1))
    write(tmp_path / "b.tar", tar_bytes([member("0.txt", b"a")]))
    samples, _, told = read(tmp_path)
    assert len(samples) == 1 and "a.tar" in told and "README" in told
    with pytest.raises(fb.Corrupt, match="the file is empty"):
        fb.Loader(fb.webdataset(write(tmp_path / "c.tar", b"")).batch(1))


def test_files_that_belong_to_no_sample_are_told_once_with_their_number(tmp_path):
    write(tmp_path / "a.tar", tar_bytes([member("0.txt", b"a"), member("README", b"x"), member("d/._0.txt", b"x"), member("__meta__", b"x"),
                                         member("pipe.txt", kind=tarfile.FIFOTYPE)]))
    write(tmp_path / "b.tar", tar_bytes([member("1.txt", b"a"), member("LICENSE", b"x")]))
    for _ in range(2):  # by the kept index, too
        _, _, told = read(tmp_path)
        assert "3 files" in told and "README" in told and "1 file" in told and "pipe.txt" in told and "meta" not in told


@pytest.mark.parametrize("data, what", [(b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n", "git lfs pull"),
                                        (b"<!DOCTYPE html><html>404</html>" + b" " * 600, "HTML"), (b"PK\3\4" + bytes(600), "zip"),
                                        (b"\x1f\x8b\x08" + bytes(600), "gunzip")])
def test_files_that_are_no_tar_are_named(tmp_path, data, what):
    with pytest.raises(fb.Error) as caught:
        fb.Loader(fb.webdataset(write(tmp_path / "a.tar", data)).batch(1))
    assert what.lower() in str(caught.value).lower() and "a.tar" in str(caught.value)


# ---- names


def test_names_with_periods_are_explained_and_split_at_the_last_dot(tmp_path):
    path = write(tmp_path / "a.tar", tar_bytes([member("235 Track 2.0 (Clean).mp3", b"x"), member("235 Track 2.0 (Clean).json", b"{}"),
                                                member("236 Track.mp3", b"y"), member("236 Track.json", b"[]")]))
    for fields in (["mp3", "json"], None):
        with pytest.raises(fb.Corrupt) as caught:
            with fb.Loader(fb.webdataset(path, fields).batch(4)) as loader:
                list(loader)
        assert "first dot" in str(caught.value) and 'split="last"' in str(caught.value) and "optional" not in str(caught.value)
        assert "0 (clean).mp3" in str(caught.value)
    samples, errors, _ = read(path, fields=["mp3", "json"], split="last")
    assert [(row["key"], bytes(row["mp3"]), row["json"]) for row in samples.values()] == [("235 Track 2.0 (Clean)", b"x", "{}"), ("236 Track", b"y", "[]")]
    assert not errors
    with pytest.raises(fb.InvalidArgument) as caught:
        fb.Loader(fb.webdataset(path, ["wav"]).batch(1))
    assert "those there are" in str(caught.value) and "mp3" in str(caught.value)
    only = write(tmp_path / "b.tar", tar_bytes([member("a 2.0.mp3", b"x")]))
    with pytest.raises(fb.InvalidArgument, match="first dot"):
        fb.Loader(fb.webdataset(only, ["mp3"]).batch(1))
    assert "dot" in fb.webdataset(path, ["seg.png"], split="last").check()[0].message
    assert len(fb.webdataset(path, split="middle").check()) == 1


def test_files_of_a_sample_that_stand_apart_are_explained_and_never_made_halves(tmp_path):
    path = write(tmp_path / "a.tar", tar_bytes([member(name, b"1") for name in ("0.jpg", "1.jpg", "0.cls", "1.cls")]))
    for fields in (["jpg", "cls"], None):
        with pytest.raises(fb.Corrupt) as caught:
            with fb.Loader(fb.webdataset(path, fields).batch(4)) as loader:
                list(loader)
        assert "must follow each other" in str(caught.value) and "--sort=name" in str(caught.value) and "optional" not in str(caught.value)
    _, _, told = read(path, optional=["jpg", "cls"])
    assert "2 samples" in told and "follow each other" in told
    lacking = write(tmp_path / "b.tar", tar_bytes([member(name, b"1") for name in ("0.jpg", "0.cls", "1.jpg")]))
    with pytest.raises(fb.Corrupt, match="has no cls; it has jpg; .*optional="):
        with fb.Loader(fb.webdataset(lacking).batch(4)) as loader:
            list(loader)


def test_both_splits_have_indexes_of_their_own(tmp_path):
    path = write(tmp_path / "a.tar", tar_bytes([member("a.b.txt", b"x"), member("a.c.txt", b"y")]))
    for index in ("cache", "beside"):
        for _ in range(2):
            assert [row["key"] for row in read(path, split="last", index=index)[0].values()] == ["a.b", "a.c"]
            samples, _, told = read(path, split="first", index=index)
            assert [(row["key"], row["b.txt"], row["c.txt"]) for row in samples.values()] == [("a", "x", "y")] and not told


def test_large_sizes_in_base_256_are_read_and_checked(tmp_path):
    """Over 8 GiB a size does not fit into octal digits."""
    info, _ = member("0.bin")
    info.size = 9 << 30
    header = info.tobuf(tarfile.GNU_FORMAT)
    with open(tmp_path / "a.tar", "wb") as file:
        file.write(header)
        file.truncate(len(header) + (9 << 30))  # a hole
        file.seek(0, os.SEEK_END)
        file.write(tar_bytes([member("1.txt", b"behind")]))
    with pytest.raises(fb.OutOfBudget, match="memory"):  # found, and larger than what may be taken
        fb.Loader(fb.webdataset(tmp_path / "a.tar", ["txt"], optional="txt").batch(1), memory="64MiB")
    os.truncate(tmp_path / "a.tar", 1 << 20)
    with pytest.raises(fb.Corrupt, match="states 9663676416 bytes"):
        fb.Loader(fb.webdataset(tmp_path / "a.tar").batch(1))
