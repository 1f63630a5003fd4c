"""The operators as methods, in their groups. Made by tools/operators from what src/ops says: do not edit."""

# ruff: noqa: A002 (names of NumPy's and of all faces)

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from ._appending import (
    Appending,
    _by_field,
    _dtype_name,
    _float,
    _float_by_field,
    _floats,
    _hash_of,
    _limit,
    _numbers,
    _one_or_list,
    _pair,
    _range,
    _scalar_or_text,
    _values_by_field,
    _weights,
)
from ._typing import TYPE_CHECKING, Any
from ._workers import collate_function, filter_function, map_batch_function, map_function

if TYPE_CHECKING:
    from .pipeline import Normalization, Pipeline


class Operators(Appending):
    """What a Pipeline has after its source."""

    __slots__ = ()

    # On any samples

    def balance(self, by: str = "label", samples: int | None = None) -> Pipeline:
        """The classes of a field in equal shares.

        Of k classes each comes once in every k positions, in an order of its own each time, so after any number of
        positions two classes differ by one sample at most. Within a class no sample comes again before all others have
        come; in the next epoch the class goes on where it stands. A sample that comes several times in an epoch has
        random numbers of its own each time.

        With a `.shuffle()`, before or behind, classes and samples are shuffled; else classes come in the order in which
        they first appear, and samples by id. The classes are read once, in a pass over all samples before the first
        batch that reads only that field; bad samples never come.

        Tables, tars and lines are read by chunks, so there the shares are those of an epoch: each class has its share
        to within one draw, and its samples come alike often, rounded down or up, in any order of `.shuffle()`, with the
        draws of a chunk together. If data lie in them class by class, a batch has few classes: give `.shuffle()` a
        larger block, or shuffle them when they are written.

        Args:
            by: the field that tells the class, a whole number or a text.
            samples: length of an epoch, for all ranks together. By default as many as there are samples at this place.
        """
        return self._then("balance", by=None if by == "label" else by, samples=samples)

    def batch(self, n: int, last: str = "partial", *, ragged: str | Sequence[str] | None = None) -> Pipeline:
        """`n` samples make a batch on each rank; only functions on whole batches may follow.

        Every rank takes the same number of steps. Fixed shapes stack to (n, ...); ragged fields become
        `(values, offsets)`; bytes and text become lists, lists of them lists of lists.

        Nothing is known of rows that a Dataset or `.map` makes before the first batch of a loader, which decides for
        all: rows of one length make an array, and one of another length later is an error; rows of different lengths
        make `(values, offsets)` in every batch. `.pad` before, or `ragged=`, decides it beforehand. With n=1 they are
        arrays.

        Args:
            n: samples per batch and rank.
            last: treatment of an epoch's tail. "partial": divided among the ranks, in sizes that differ by one at most;
                "drop": left out; "pad": filled up with repeats, which `batch.padding` counts.
            ragged: fields that a Dataset or `.map` makes, of rows that differ in length: `(values, offsets)` in every
                batch.
        """
        return self._then("batch", n=n, last=last, ragged=_one_or_list(ragged))

    def bucket(
        self,
        by: str = "length",
        tokens: float | None = None,
        *,
        cost: float | Sequence[float] | None = None,
        padded: bool = True,
        samples: int | None = None,
        boundaries: float | Sequence[float] | None = None,
        sizes: float | Sequence[float] | None = None,
        window: int | None = None,
        group: int = 24,
        ragged: str | Sequence[str] | None = None,
    ) -> Pipeline:
        """Samples of like lengths make a batch on each rank, as many as fit a budget; the last operator, in place of
        `.batch`.

        The batches of an epoch follow from the lengths, the seed and the epoch. Every rank takes the next one at each
        step, so all ranks take the same number of steps, and any number of ranks goes on from a state. Each sample
        comes once in an epoch. Put `.pad` before, without `length=`, for arrays as long as the longest of their batch.

        A sample that alone costs more than the budget is a batch by itself. If the last step has fewer batches than
        there are ranks, these are divided.

        Lengths are measured once, in a pass over all samples before the first batch, which reads only what the field
        `by` needs. A field with a number, such as a column of a table, is the fastest; nothing is read for lengths that
        the index of the data set has (`fb.megatron`). Pictures, and patches that `.patchify` makes of them, are
        measured by the headers of the pictures, so nothing is decoded; of files (`fb.images`, `fb.files`, `fb.manifest`
        with known sizes) only the first 4 KiB are read, or as much as the header needs. Lengths that random steps
        change count as they are in the first epoch. `len(loader)` plans all batches of the epoch.

        Args:
            by: field that tells the length: a number above 0, or rows, text or bytes, whose own length counts, or a
                picture, whose pixels count (for `.collate`, as pictures of several sizes do not stack).
            tokens: the budget: the most that a batch costs, in the unit of the length. A batch of n samples costs n
                times its longest.
            cost: (a, b): a sample of length n costs a·n + b·n², and `tokens` is in the unit of that. (1, 0) by default.
            padded: each sample costs as much as the longest of its batch. False: nothing is padded, and a batch costs
                the sum of its samples.
            samples: the most samples of a batch.
            boundaries: lengths, ascending: a batch has samples of one side of each. Any samples of like lengths by
                default.
            sizes: the most samples of a batch below the first of `boundaries`, between each two, and from the last on.
            window: samples are sorted among `window` times `group` batches of the epoch's order, and at most 2^20
                samples. By default 100; for tables at most the row groups that `.shuffle` mixes.
            group: this many batches of like cost follow each other. A number of ranks that divides it works equally
                long on all ranks. It is part of the order: fix it before the training.
            ragged: fields that a Dataset or `.map` makes, of rows that differ in length: `(values, offsets)` in every
                batch.
        """
        return self._then(
            "bucket",
            by=None if by == "length" else by,
            tokens=None if tokens is None else _float("bucket: tokens", tokens),
            cost=None if cost is None else _numbers("cost", cost),
            padded=None if padded else False,
            samples=samples,
            boundaries=None if boundaries is None else _numbers("boundaries", boundaries),
            sizes=None if sizes is None else _numbers("sizes", sizes),
            window=window,
            group=None if group == 24 else group,
            ragged=_one_or_list(ragged),
        )

    def cache(
        self,
        ram: int | str = "auto",
        disk: int | str = "auto",
        dir: str | os.PathLike[str] | None = None,
        peers: str = "auto",
        *,
        compression: str | None = None,
    ) -> Pipeline:
        """Keeps what the steps before it made, in memory and then on disk, so that later epochs and runs need not make
        it again.

        Changes speed, never content. (A damaged picture that is kept is decoded as a whole, so that a crop no longer
        gets by with the part that is undamaged.) An entry is known by its object's name and version and by all steps
        before it, so what has changed is made anew. Behind a random step it is refused: the results would be frozen;
        behind `.map` a disk tier needs `version=`. For an `fb.Dataset` without `version=` nothing is kept on disk, and
        a warning says so.

        `loader.stats()["caches"]` has the budgets in bytes.

        Where a budget is above what the disk or the machine has, what there is is used, less a reserve, with one
        warning. InvalidArgument when the loader is opened if a budget is less than one entry. A disk that is full but
        for the reserve, read-only or gone ends that tier with one warning, and the run goes on.

        Args:
            ram: bytes of memory of this process, as a number or "2GiB"; 0 for none. "auto": a quarter of the memory
                that the machine or the control group has, divided by the ranks on this machine; half of `memory=` if
                the loader has that.
            disk: bytes of the disk that the folder may take, whoever fills it; 0 for none. "auto": half of what is free
                there or the folder's already.
            dir: the folder, shared by all jobs of this user on this host; by default `$FOREBAY_CACHE_DIR`, else
                `$XDG_CACHE_HOME/forebay`, else `~/.cache/forebay`. One that others may write to is refused.
            peers: "auto": other hosts of the job are asked for an entry before storage is, if the loader has `peers=`;
                "none": never.
            compression: how entries on disk are compressed: "zstd" (smaller) or "lz4" (faster); not at all if not
                given.
        """
        return self._then(
            "cache",
            ram=ram,
            disk=disk,
            dir=None if dir is None else os.fspath(dir),
            peers=peers,
            compression=compression,
        )

    def collate(self, fn: Callable[..., Any], random: bool = False, workers: str = "threads") -> Pipeline:
        """The user's own function that makes each batch, behind `.batch`, as PyTorch's `collate_fn`: `fn(samples)` gets
        a list of dicts and returns any object but None.

        The loop over the loader gets that object itself, and not a `Batch`. Samples may differ in shape and in their
        fields: nothing is stacked before. An array is yours to write to and to keep; it is a NumPy array, or with the
        loader's `output="torch"` a torch tensor, as most collate functions want. Behind `.pack` the samples are the
        packed blocks.

        It runs like the function of `.map_batch`, with the same threads, order and exceptions. It follows `.batch`
        directly, and nothing follows it. In the loader's memory an object counts as the samples that it was made of.

        Args:
            fn: the function. It must not depend on anything that changes from call to call.
            random: call `fn(…, rng)` with a `numpy.random.Generator` made for this batch: it depends on the seed, the
                epoch, the position of the batch's first row in the epoch's order, and the place of the step among the
                random steps behind `.batch`. So it is another one on each rank, and the same for any number of threads
                and after a resume.
            workers: "threads", "processes" or "auto", as for `.map`: with processes, batches and answers are sent
                through memory that both share.
        """
        return self._with_function(
            "collate", fn, collate_function(fn, random=random, workers=workers), random=bool(random) or None
        )

    def filter(self, fn: Callable[[dict[str, Any]], bool], fields: str | Sequence[str] | None = None) -> Pipeline:
        """Keeps the samples for which `fn(sample)` is true.

        Decided once over the whole data set, in a pass that reads only the fields named, and kept: lengths stay known.
        A sample for which a step before fails, so that nothing can be decided, goes by the loader's `on_error`: it is
        not kept, or raised.

        Args:
            fn: the function.
            fields: the fields that `fn` gets, by default all of them.
        """
        return self._with_function("filter", fn, filter_function(fn), fields=_one_or_list(fields))

    def keep_groups(self, by: str, begin: float, end: float, salt: str = "") -> Pipeline:
        """The share of the groups whose value has a hash from `begin` to `end`: a part of `fb.split`.

        All samples of a group (a patient, a speaker) are in one share, also of data that are added later. Decided once
        over the data set, as a filter is, in a pass that reads only that field. Shares are those of a hash, and of
        groups: a large group is in one share as a whole.

        Args:
            by: the field that tells the group, a whole number or a text.
            begin: where the share begins, from 0 on.
            end: where it ends, up to 1.
            salt: another text chooses other samples; shares of one split have the same.
        """
        return self._then(
            "keep_groups",
            by=by,
            begin=_float("keep_groups: begin", begin),
            end=_float("keep_groups: end", end),
            salt=None if salt == "" else salt,
        )

    def keep_keys(self, begin: float, end: float, salt: str = "") -> Pipeline:
        """The share of the samples whose keys have a hash from `begin` to `end`: a part of `fb.split`.

        The key is the path below the root for files, else the name of the file and the number of the sample in it, and
        the number of the sample where there are no files. So a sample stays in its share when data are added behind it,
        and files when others are added or the folder is moved. Nothing is read. Shares are those of a hash: of n
        samples a share p has p * n, give or take sqrt(n * p * (1 - p)).

        Args:
            begin: where the share begins, from 0 on.
            end: where it ends, up to 1.
            salt: another text chooses other samples; shares of one split have the same.
        """
        return self._then(
            "keep_keys",
            begin=_float("keep_keys: begin", begin),
            end=_float("keep_keys: end", end),
            salt=None if salt == "" else salt,
        )

    def map(
        self,
        fn: Callable[..., Mapping[str, Any]],
        fields: str | Sequence[str] | None = None,
        random: bool = False,
        workers: str = "threads",
        version: str | None = None,
        *,
        epoch: bool = False,
    ) -> Pipeline:
        """The user's own function: `fn(sample)` gets a dict of fields and returns one.

        A field is a NumPy array (a copy, yours to write to), str or bytes, or a list of str or of bytes; returned
        values may also be numbers or torch tensors. `fn` runs several times at once. Its exceptions keep type and
        traceback and gain the sample's key as a note; a StopIteration becomes a RuntimeError, as one that leaves a
        generator does, since it would end the loop over the loader.

        Behind `.pack`, a sample is a packed block. What `fn` returns has one shape in all blocks, and an exception
        takes the place of the whole batch, whatever `on_error` says.

        Args:
            fn: the function. It must not depend on anything that changes from call to call.
            fields: the fields that `fn` gets and may change, at least one; what it returns is then added to the sample.
                By default it gets all of them, and what it returns is the new sample. Name here also a field that `fn`
                replaces by one of another type or shape: steps behind go by what a field was that is not named.
            random: call `fn(sample, rng)` with a `numpy.random.Generator` made for this sample, epoch and step.
            workers: "threads": on threads of Python's. "processes": in worker processes, as many as the loader's
                `threads`, for functions that hold the interpreter lock; InvalidArgument when the loader is opened if
                `fn` cannot be pickled. "auto": on threads, and in worker processes once they turn out to take turns for
                the lock, where `fn` can be pickled and that is faster: `tuning()` tells.
            version: say when the function changed; part of the pipeline's fingerprint. A cache on disk behind it needs
                one.
            epoch: call `fn(sample, epoch=...)`, with `random` `fn(sample, rng, epoch=...)`: the epoch that the sample
                is of, from 0, as `loader.epoch` counts them; also for samples that are prepared ahead. A `.cache()`,
                `.filter()` or `.pack()` behind it is refused: it would keep the results of one epoch.
        """
        return self._with_function(
            "map",
            fn,
            map_function(fn, random=random, workers=workers, epoch=epoch),
            fields=_one_or_list(fields),
            random=bool(random) or None,
            version=version,
            epoch=bool(epoch) or None,
        )

    def map_batch(
        self, fn: Callable[..., Mapping[str, Any]], random: bool = False, workers: str = "threads"
    ) -> Pipeline:
        """The user's own function on whole batches, behind `.batch`: `fn(batch)` gets a dict of fields and returns one.

        A field is what `batch[name]` of a loader is, so that code of a training loop can move here: a NumPy array of
        shape (rows, ...), yours to write to; `(values, offsets)` for ragged rows; a list for str or bytes, a list of
        lists for lists of them. It returns fields in the same forms, also of torch tensors. They may be others than
        those that it got, and have another number of rows, which must be the same for all.

        `fn` runs on the threads of `.map`, ahead of the training loop, for several batches at once; batches keep their
        order. Several `.map_batch` may follow each other. An exception is raised in place of its batch, whatever
        `on_error` says, since it is of no single sample; it keeps type and traceback and gains the batch's step and
        first sample as a note. A batch may have no rows, where `on_error="skip"` left all of them out.

        Args:
            fn: the function. It must not depend on anything that changes from call to call.
            random: call `fn(…, rng)` with a `numpy.random.Generator` made for this batch: it depends on the seed, the
                epoch, the position of the batch's first row in the epoch's order, and the place of the step among the
                random steps behind `.batch`. So it is another one on each rank, and the same for any number of threads
                and after a resume.
            workers: "threads", "processes" or "auto", as for `.map`: with processes, batches and answers are sent
                through memory that both share.
        """
        return self._with_function(
            "map_batch", fn, map_batch_function(fn, random=random, workers=workers), random=bool(random) or None
        )

    def only(self, **values: int | str | Sequence[int | str]) -> Pipeline:
        """Only the samples whose fields have one of the given values: `.only(label=[0, 1])`.

        Decided once over the data set, as a filter is; fields that the index knows (labels of folders, arrays, columns
        of a manifest) are compared without reading a sample. Ids stay those of the whole data set.

        Args:
            values: for each field a whole number or a text, or several.
        """
        return self._then("only", values=_values_by_field(values))

    def pad(self, field: str, value: float = 0.0, length: int | None = None) -> Pipeline:
        """Fills rows of different lengths up along their first axis, numbers (n,) or boxes (n, 4), so that a batch is
        one array instead of `(values, offsets)`.

        Args:
            field: the field; its first axis alone may differ from sample to sample.
            value: number to fill up with; NaN and infinities for fields of floats.
            length: the length of every row. By default that of the longest in the batch, which depends on the batch
                size and the ranks: what was filled up then is no part of `forebay.digest`.
        """
        return self._then("pad", field=field, value=_float("pad: value", value), length=length)

    def rename(self, **names: str) -> Pipeline:
        """Gives fields new names: `.rename(old="new")`.

        Args:
            names: old name to new name.
        """
        return self._then("rename", names=dict(sorted(names.items())))

    def repeat(self, n: float) -> Pipeline:
        """`n` passes over the samples in each epoch, each pass in an order of its own.

        A fraction ends an epoch within a pass, where the next epoch goes on: with n=0.5 two epochs give each sample
        once.

        Args:
            n: passes in an epoch, above 0; fractions, too.
        """
        return self._then("repeat", n=_float("repeat: n", n))

    def sample(
        self, n: int | None = None, weights: str | Sequence[float] | None = None, replacement: bool = True
    ) -> Pipeline:
        """`n` draws in each epoch, over all ranks, with weights.

        Systematic sampling: with m = n * weight / sum of weights, each sample comes m times in each epoch, rounded down
        or up, and m times on average over epochs. Nothing is left to chance but which way it is rounded. So in an epoch
        without weights no sample comes twice before all have come. A sample that comes several times in an epoch has
        random numbers of its own each time.

        With a `.shuffle()`, before or behind, the draws are shuffled; else they are in the order of the ids, evenly
        spread. Tables, tars and lines are read by chunks all the same: the draws of a chunk stay together, and a chunk
        without draws is not read. `.take()` and filters stand in front.

        Args:
            n: draws of an epoch. By default as many as there are samples at this place.
            weights: a field of numbers, which is read once in a pass over all samples before the first batch (a bad
                sample has the weight 0); or one number for each sample of the data set, by id. They need not add up to
                1, and a sample of weight 0 never comes. By default all are alike.
            replacement: False: no sample comes twice in an epoch. InvalidArgument if one would have to: with more draws
                than samples, or a weight above 1 / n of the sum.
        """
        return self._then(
            "sample",
            n=n,
            weights=None if weights is None else _weights("sample: weights", weights),
            replacement=None if replacement else False,
        )

    def select(self, *fields: str) -> Pipeline:
        """Only these fields, in the order they had. What only the others needed is not read.

        Args:
            fields: names of the fields to keep.
        """
        return self._then("select", fields=list(fields))

    def shuffle(
        self, block: int | None = None, lanes: int | None = None, ramp: bool | None = None, window: int | None = None
    ) -> Pipeline:
        """One global permutation of all samples per epoch, a new one each epoch, from the loader's seed.

        Args:
            block: chunks that are mixed together, for sources stored in chunks (8 by default).
            lanes: spans of the data that hosts own, for sources stored in chunks (1 by default).
            ramp: epoch 0 begins with one chunk, and the number that is mixed grows by and by to `block`, so that the
                first batch need not wait for `block` chunks. Another order than without, in epoch 0 alone; the seed
                alone decides it.
            window: for streams, which need it: so many samples are mixed at a time, in an order that the seed and the
                stream's offsets decide.
        """
        return self._then("shuffle", block=block, lanes=lanes, ramp=ramp, window=window)

    def take(self, n: int, spread: bool | None = None) -> Pipeline:
        """Only `n` of the samples that there are at this place, or all where there are fewer.

        Args:
            n: how many samples.
            spread: they are spread evenly over all, so that they look like the whole: of n of N samples the i-th is
                number i * N // n. A table gives as few of its chunks as have n rows, spread evenly, the first rows of
                each. By default the samples with the first ids.
        """
        return self._then("take", n=n, spread=spread)

    # On pictures

    def center_crop(self, n: int | Sequence[int], *, field: str | Sequence[str] = "image") -> Pipeline:
        """The middle of a picture; it starts at `round((H - h) / 2)`. Where the picture is smaller, zeros are around
        it.

        Args:
            n: pixels of the result; one number for a square, or (height, width).
            field: the picture's field, or a list of fields that share one draw.
        """
        return self._then("center_crop", n=_one_or_list(n), field=_one_or_list(field))

    def color_jitter(
        self,
        brightness: float | tuple[float, float] | None = None,
        contrast: float | tuple[float, float] | None = None,
        saturation: float | tuple[float, float] | None = None,
        hue: float | tuple[float, float] | None = None,
        *,
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """Changes brightness, contrast, saturation and hue by random amounts, in random order.

        Each is a number (`0.4` draws a factor between 0.6 and 1.4; for `hue` a turn between -0.4 and 0.4) or the pair
        (low, high) to draw from. What is not given stays as it is.

        Args:
            brightness: a number x for factors from 1 - x to 1 + x, or (low, high).
            contrast: likewise.
            saturation: likewise.
            hue: a number x for shifts from -x to x of the colour circle, or (low, high).
            field: the picture's field, or a list of fields that share one draw.
        """
        return self._then(
            "color_jitter",
            brightness=_range("brightness", brightness),
            contrast=_range("contrast", contrast),
            saturation=_range("saturation", saturation),
            hue=_range("hue", hue),
            field=_one_or_list(field),
        )

    def decode_image(
        self,
        mode: str = "rgb",
        *,
        field: str | Sequence[str] | None = None,
        max_pixels: int = 100_000_000,
        lists: bool | None = None,
    ) -> Pipeline:
        """Decodes JPEG, PNG, WebP or BMP into the field `image`: uint8 or uint16, (height, width, channels).

        As Pillow would: EXIF orientation applied, alpha dropped unless asked for, 16 bits become 8 by their upper byte,
        CMYK converted. Only the part that a following crop needs is decoded.

        A list of encoded pictures becomes (n, height, width, channels). Operators after it change each picture, with
        one draw for all of a sample. Give them one size with `.resize(size)` or a crop, and batches are ragged:
        `(values, offsets)`; or cut each with `.patchify`.

        Errors of a sample: Corrupt for damaged data, Unsupported for other formats, and for pictures of several sizes
        in a list.

        Args:
            field: the encoded field, or a list of several (a pair of cameras); by default `image`, else `bytes`, which
                becomes `image`. Fields of different modes are decoded by a step each:
                `.decode_image(field="image").decode_image("palette", field="mask")`.
            mode: "rgb" (3 channels) or "gray" (1 channel), 8 bits.
                "palette": the indices of a palette, 1 channel, as Pillow's mode "P" has them: the classes of masks of
                Pascal VOC, DAVIS and others. PNG and BMP have palettes; pictures without one are Unsupported. Resize
                them with interpolation="nearest", or {"mask": "nearest"} where they share a draw with pictures:
                bilinear is InvalidArgument.
                "rgba" (4 channels), as Pillow's `convert("RGBA")`, and "alpha" (its last channel alone): 255 where a
                picture has no alpha.
                "rgb16" (3 channels) and "gray16" (1 channel): uint16, with the 16 bits of a PNG kept (depth, X-rays:
                Pillow's "I;16") and 8-bit pictures times 257. Whole pictures are decoded then. What follows may crop,
                flip, resize, normalize (of 65535) and cast; .color_jitter wants 8 bits.
            max_pixels: larger pictures are Unsupported.
            lists: true if the field is a list of encoded pictures in each sample. For columns of tables it is known;
                say so for a field that user code makes, and before `.pad`.
        """
        return self._then("decode_image", field=_one_or_list(field), mode=mode, max_pixels=max_pixels, lists=lists)

    def layout(self, order: str, *, field: str | Sequence[str] = "image") -> Pipeline:
        """The order of a picture's axes: "chw" (channels, height, width) or "hwc".

        Args:
            order: "chw" (channels first) or "hwc".
            field: the picture's field, or a list of fields that share one draw.
        """
        return self._then("layout", order=order, field=_one_or_list(field))

    def normalize(
        self,
        mean: Normalization | float | Sequence[float],
        std: float | Sequence[float] | None = None,
        *,
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """Mean 0 and deviation 1: float32.

        Pictures: `(x / 255 - mean) / std` per channel (uint16: `x / 65535`), (channels, height, width) unless `.layout`
        or `.cast` say otherwise. Columns of numbers, alone or in lists: `(x - mean) / std`, computed in float64
        (NumPy's `((x.astype("float64") - mean) / std).astype("float32")`, bit by bit).

        Args:
            mean: one number for all, or one for each channel of a picture, or one for each column named. In Python it
                may be mean and std at once: `fb.IMAGENET`.
            std: one number for all or one for each, as of mean, above 0.
            field: the picture's field, a column, or a list of pictures or of columns.
        """
        mean, std = _pair(mean, std, "normalize: give mean and std, or fb.IMAGENET")
        return self._then("normalize", mean=_numbers("mean", mean), std=_numbers("std", std), field=_one_or_list(field))

    def patchify(
        self, patch: int, *, merge: int = 1, min_pixels: int = 3136, max_pixels: int = 1_003_520, field: str = "image"
    ) -> Pipeline:
        """Cuts pictures of any size into square patches for a vision transformer: the field becomes `patches`, (n,
        channels * patch * patch), ragged, and `grid`, int32 (2,), has the rows and columns of patches.

        The picture is first resized to multiples of `patch * merge` within the limits of pixels, as `smart_resize` of
        Qwen2-VL in Hugging Face transformers does: each side is rounded to a multiple of `f = patch * merge`. If that
        is more than `max_pixels`, the sides are `floor(side / b / f) * f` with `b = sqrt(height * width / max_pixels)`,
        at least one group; if less than `min_pixels`, `ceil(side * b / f) * f` with
        `b = sqrt(min_pixels / (height * width))`. The resize is bilinear, anti-aliased (Qwen2-VL's own is bicubic).
        After `.normalize` it works on the normalized pixels.

        The order of patches is Qwen2-VL's: groups of `merge * merge` neighbours, row by row; in a patch all pixels of a
        channel, then of the next. Pictures of one known size give as many patches each and stack.

        Of a list of pictures, each is cut. `patches` has those of all pictures of the sample one after the other, and
        `grid`, (pictures, 2), a row for each.

        Unsupported for a picture of which one side is more than 200 times as long as the other.

        Args:
            patch: side of a patch in pixels.
            merge: patches that a model merges in each direction, 2 for Qwen2-VL: they are neighbours in `patches`.
            min_pixels: smaller pictures are enlarged.
            max_pixels: larger pictures are reduced.
            field: the picture's field.
        """
        return self._then(
            "patchify", patch=patch, merge=merge, min_pixels=min_pixels, max_pixels=max_pixels, field=field
        )

    def random_crop(self, n: int | Sequence[int], *, field: str | Sequence[str] = "image") -> Pipeline:
        """A part of a picture at a random place.

        Args:
            n: pixels of the result; one number for a square, or (height, width).
            field: the picture's field, or a list of fields that share one draw.
        """
        return self._then("random_crop", n=_one_or_list(n), field=_one_or_list(field))

    def random_flip(self, p: float = 0.5, *, field: str | Sequence[str] = "image") -> Pipeline:
        """Mirrors left and right with probability `p`.

        Args:
            p: probability that pictures are mirrored.
            field: the picture's field, or a list of fields that share one draw.
        """
        return self._then("random_flip", p=_float("random_flip: p", p), field=_one_or_list(field))

    def random_resized_crop(
        self,
        n: int | Sequence[int],
        *,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (0.75, 1.3333333333333333),
        interpolation: str | Mapping[str, str] = "bilinear",
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """A random part of a picture, of random size and shape, resized, as in torchvision's RandomResizedCrop.

        Args:
            n: pixels of the result; one number for a square, or (height, width).
            scale: share of the picture's area that the part has.
            ratio: its width over its height.
            interpolation: "bilinear" (anti-aliased, always) or "nearest"; or {field: one of them} where fields differ,
                as a mask does from its picture.
            field: the picture's field, or a list of fields that share one draw.
        """
        return self._then(
            "random_resized_crop",
            n=_one_or_list(n),
            scale=_floats("scale", scale),
            ratio=_floats("ratio", ratio),
            interpolation=_by_field(interpolation),
            field=_one_or_list(field),
        )

    def resize(
        self,
        size: int | Sequence[int] | None = None,
        *,
        short_side: int | None = None,
        interpolation: str | Mapping[str, str] = "bilinear",
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """Changes the size in pixels; `(h, w, c)` in and out.

        Args:
            size: one number for a square, or (height, width).
            short_side: instead of `size`: length of the shorter side; the other becomes
                `int(short_side * long / short)`.
            interpolation: "bilinear" (anti-aliased, always) or "nearest"; or {field: one of them} where fields differ,
                as a mask does from its picture.
            field: the picture's field, or a list of fields that share one draw.
        """
        return self._then(
            "resize",
            size=_one_or_list(size),
            short_side=short_side,
            interpolation=_by_field(interpolation),
            field=_one_or_list(field),
        )

    # On columns of numbers and text

    def aggregate(
        self,
        functions: str | Sequence[str],
        field: str | Sequence[str],
        *,
        every: int | None = None,
        axis: int = 0,
        times: str | None = None,
    ) -> Pipeline:
        """Numbers made of a series: `<field>_<function>` beside the field, the same bits on every machine.

        `sum`, `mean`, `std` (of the population, as NumPy's), `rms` (the root of the mean of squares), `min`, `max`, and
        `cusum`, the running sum of deviations from the mean, which is as long as its series. Computed in float64, each
        series in eight interleaved parts, which are added up in a fixed order; given as float64 for float64 and
        integers, float32 for the smaller floats; `min` and `max` in the field's type. NaN goes through.

        Args:
            functions: one of these, or several.
            field: a column of numbers or a list of columns: tensors along `axis`, lists as a whole.
            every: makes one number of each so many elements, in place of one of the whole axis, whose length it must
                divide.
            axis: the axis of a sample that the series lie along; -1 is the last.
            times: a field of the same shape whose elements these are multiplied with before:
                `<field>_<times>_<function>`, as float64. The mean of voltage times current is the active power.
        """
        return self._then(
            "aggregate",
            functions=_one_or_list(functions),
            field=_one_or_list(field),
            every=every,
            axis=axis,
            times=times,
        )

    def cast(self, dtype: Any, *, field: str | Sequence[str] = "image", errors: str = "raise") -> Pipeline:
        """Changes the element type of pictures, numbers, tensors and lists.

        As NumPy's `astype` converts: to floats the nearest value, to integers toward zero (pictures: rounded half to
        even), to bool what is not 0. What NumPy leaves to the processor, or lets wrap around, makes the sample bad: a
        value that an integer type cannot hold, and NaN. `on_error=` of the Loader says what becomes of it. A float type
        holds every number, the largest as infinity.

        Args:
            dtype: "float32", "uint8", "bfloat16", ..., or a NumPy type.
            field: a field or a list of fields.
            errors: "raise", or "saturate": what an integer type cannot hold becomes the nearest that it can, and NaN 0.
        """
        return self._then("cast", dtype=_dtype_name(dtype), field=_one_or_list(field), errors=errors)

    def clip(self, min: float | None = None, max: float | None = None, *, field: str | Sequence[str]) -> Pipeline:
        """Numbers below `min` become `min`, those above `max` become `max`. Shape and type stay; NaN stays NaN.

        `check()` tells of limits that a column's type cannot hold, of min above max, and of columns that hold no
        numbers.

        Args:
            min: the smallest number that comes out; no limit if not given.
            max: the largest; no limit if not given. A column of integers takes whole numbers; a limit beyond its type
                does not limit.
            field: a column of numbers or a list of columns; lists and tensors go element by element.
        """
        return self._then("clip", min=_limit("min", min), max=_limit("max", max), field=_one_or_list(field))

    def fill_null(self, value: bool | float | str | bytes, field: str | Sequence[str]) -> Pipeline:
        """Puts a value where a table had nulls, and drops the masks: for columns read with `null=fb.NULL_MASK`.

        Args:
            value: a number that the column's type can hold, a bool, or a text (for columns of bytes: UTF-8 bytes). It
                stands where `<field>_valid` or, for elements of lists and tensors, `<field>_items_valid` is false; a
                list that is null stays an empty one.
            field: a column with a mask, or a list of them.
        """
        return self._then("fill_null", value=_scalar_or_text(value), field=_one_or_list(field))

    def hash_bucket(self, buckets: int, field: str | Sequence[str], salt: int = 0) -> Pipeline:
        """Text, bytes or integers to int64 in [0, buckets): equal values always to equal buckets.

        The bucket is `xxh3_64(value, seed=salt) * buckets >> 64`, where value is the UTF-8 text, the bytes, or the
        integer as eight little-endian bytes (two's complement; smaller types and bool are widened first).

        Args:
            buckets: how many, at least 1.
            field: a column of text, bytes or integers, or a list of columns; lists and tensors go element by element,
                text and bytes as a whole.
            salt: the seed of xxh3: another one lets other values share a bucket.
        """
        return self._then("hash_bucket", buckets=buckets, field=_one_or_list(field), salt=salt)

    def log1p(self, field: str | Sequence[str]) -> Pipeline:
        """`ln(1 + x)`: float64 of float64, else float32; NaN below -1, -inf for -1.

        Made of additions, multiplications and divisions alone, so that every processor gives the same bits: within 1
        unit in the last place of the true value as float32, within 2 as float64. Integers above 2^53 are rounded to
        float64 before.

        Args:
            field: a column of numbers or a list of columns; lists and tensors go element by element.
        """
        return self._then("log1p", field=_one_or_list(field))

    def stack(self, fields: str | Sequence[str], name: str) -> Pipeline:
        """Columns side by side in one field: k columns of shape s become one of shape (k, *s), and go.

        Args:
            fields: the columns, in the order they shall have; of one type and one shape. `check()` says which to
                `.cast` before.
            name: the new field. It stands behind the others.
        """
        return self._then("stack", fields=_one_or_list(fields), name=name)

    def window(self, n: int, field: str | Sequence[str], stride: int | None = None) -> Pipeline:
        """Windows over the first axis of a sample: (length, ...) becomes (windows, n, ...).

        What is left at the end, shorter than a window, goes. Windows over a whole data set, of which each is a sample,
        are the source's: `fb.hdf5(..., window=n)`.

        Args:
            n: elements of a window.
            field: a column of numbers of known shape, or a list of columns.
            stride: from the beginning of one window to that of the next; `n` by default, so that no element is in two.
        """
        return self._then("window", n=n, field=_one_or_list(field), stride=stride)

    # On sound

    def add_noise(
        self, snr: float | tuple[float, float] = (10.0, 40.0), *, p: float = 1.0, field: str | Sequence[str] = "audio"
    ) -> Pipeline:
        """Adds white noise, whose energy is that of the sound less a random number of decibels.

        Args:
            snr: ratio of the sound's energy to the noise's, in decibels: low and high, or one number.
            p: probability that noise is added at all.
            field: a field that holds sound, or a list of them, which share one draw.
        """
        return self._then("add_noise", snr=_range("snr", snr), p=_float("add_noise: p", p), field=_one_or_list(field))

    def decode_audio(
        self,
        rate: int | None = None,
        mono: bool = True,
        *,
        channels: int | None = None,
        field: str | Sequence[str] | None = None,
        max_samples: int = 100_000_000,
        lists: bool | None = None,
    ) -> Pipeline:
        """Decodes WAV, FLAC, MP3, Ogg (Vorbis, Opus), AIFF, AU or CAF into the field `audio`: float32 in [-1, 1).

        The values are those of libsndfile and torchaudio. Recordings differ in length: put `.pad_or_crop(seconds)`
        behind it, or take ragged batches, `(values, offsets)`.

        Of a list of recordings the field has the samples of all, one after the other, and the new field
        `<field>.lengths`, int32 (recordings,), how many each has; `<field>_rate` has a rate for each.
        `.pad_or_crop(seconds)` makes them `(recordings, samples)`, which other operators take as channels.
        `.random_gain` works before it, too.

        Errors of a sample: Corrupt for damaged data and for files that end early, Unsupported for other formats and for
        files whose format changes on the way.

        Args:
            rate: samples a second of all that comes out; what is stored at another rate is resampled (soxr, "HQ", as
                librosa does). Without it each recording keeps its own rate, which is the new field `audio_rate`
                (int64), `<field>_rate` of other fields.
            mono: (samples,), the mean of all channels. False: (channels, samples).
            channels: how many channels all recordings have; others are Unsupported. Batches with `mono=False` need it.
            field: the encoded field, or a list of them; by default `audio`, else `bytes`, which becomes `audio`.
            max_samples: longer recordings (all channels counted) are Unsupported.
            lists: true if the field is a list of encoded recordings in each sample. For columns of tables it is known;
                say so for a field that user code makes, and before `.pad`.
        """
        return self._then(
            "decode_audio",
            rate=rate,
            mono=mono,
            channels=channels,
            field=_one_or_list(field),
            max_samples=max_samples,
            lists=lists,
        )

    def mel_spectrogram(
        self,
        *,
        rate: int | None = None,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_mels: int = 128,
        power: float = 2.0,
        norm: str | None = None,
        mel_scale: str = "htk",
        center: bool = True,
        pad_mode: str = "reflect",
        log: str | None = None,
        field: str | Sequence[str] = "audio",
    ) -> Pipeline:
        """Samples to a mel spectrogram: float32 (n_mels, frames), of each channel where there are several.

        As torchaudio's MelSpectrogram with its Hann window; with `norm="slaney", mel_scale="slaney"` as librosa's.
        Computed in float32, with the same bytes on every processor.

        A sound that is too short for a frame is Unsupported.

        Args:
            rate: samples a second; may be left out behind `.decode_audio(rate=...)`.
            n_fft: samples of a frame.
            win_length: length of the Hann window, in the middle of the frame; `n_fft` if not given.
            hop_length: samples from frame to frame; `win_length // 2` if not given.
            f_min: lowest frequency, in Hz.
            f_max: highest frequency, in Hz; half of the rate if not given.
            n_mels: bands.
            power: 2 for power, 1 for magnitude.
            norm: "slaney" divides each band by its width in Hz.
            mel_scale: "htk" or "slaney".
            center: frame i has sample `i * hop_length` in its middle; else it begins there.
            pad_mode: samples outside of the sound, used if `center`: "reflect", or "constant" for zeros.
            log: "db" for `10 * log10(max(x, 1e-10))`, "ln" for `ln(x + 1e-6)`.
            field: a field that holds sound, or a list of them.
        """
        return self._then(
            "mel_spectrogram",
            rate=rate,
            n_fft=n_fft,
            win_length=win_length,
            hop_length=hop_length,
            f_min=_float("mel_spectrogram: f_min", f_min),
            f_max=None if f_max is None else _float("mel_spectrogram: f_max", f_max),
            n_mels=n_mels,
            power=_float("mel_spectrogram: power", power),
            norm=norm,
            mel_scale=mel_scale,
            center=center,
            pad_mode=pad_mode,
            log=log,
            field=_one_or_list(field),
        )

    def mfcc(
        self,
        n_mfcc: int = 40,
        *,
        rate: int | None = None,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_mels: int = 128,
        power: float = 2.0,
        norm: str | None = None,
        mel_scale: str = "htk",
        center: bool = True,
        pad_mode: str = "reflect",
        log_mels: bool = False,
        field: str | Sequence[str] = "audio",
    ) -> Pipeline:
        """Samples to mel-frequency cepstral coefficients: float32 (n_mfcc, frames), as torchaudio's MFCC.

        The orthonormal cosine transform (type 2) of a mel spectrogram in decibels, in which no value is more than 80
        below the recording's largest.

        Args:
            n_mfcc: coefficients, `n_mels` at most.
            rate: samples a second; may be left out behind `.decode_audio(rate=...)`.
            n_fft: samples of a frame.
            win_length: length of the Hann window, in the middle of the frame; `n_fft` if not given.
            hop_length: samples from frame to frame; `win_length // 2` if not given.
            f_min: lowest frequency, in Hz.
            f_max: highest frequency, in Hz; half of the rate if not given.
            n_mels: bands.
            power: 2 for power, 1 for magnitude.
            norm: "slaney" divides each band by its width in Hz.
            mel_scale: "htk" or "slaney".
            center: frame i has sample `i * hop_length` in its middle; else it begins there.
            pad_mode: samples outside of the sound, used if `center`: "reflect", or "constant" for zeros.
            log_mels: compute from `ln(x + 1e-6)` instead of decibels.
            field: a field that holds sound, or a list of them.
        """
        return self._then(
            "mfcc",
            n_mfcc=n_mfcc,
            rate=rate,
            n_fft=n_fft,
            win_length=win_length,
            hop_length=hop_length,
            f_min=_float("mfcc: f_min", f_min),
            f_max=None if f_max is None else _float("mfcc: f_max", f_max),
            n_mels=n_mels,
            power=_float("mfcc: power", power),
            norm=norm,
            mel_scale=mel_scale,
            center=center,
            pad_mode=pad_mode,
            log_mels=log_mels,
            field=_one_or_list(field),
        )

    def pad_or_crop(
        self, seconds: float, *, random: bool = False, rate: int | None = None, field: str | Sequence[str] = "audio"
    ) -> Pipeline:
        """Sound of one length, `round(seconds * rate)` samples: what is longer is cut, what is shorter has zeros
        behind. A list of recordings becomes (recordings, samples); its `<field>.lengths` stay what they were.

        Args:
            seconds: the length of all that comes out.
            random: cut at a random place; else the beginning stays.
            rate: samples a second; may be left out behind `.decode_audio(rate=...)`.
            field: a field that holds sound, or a list of them, which share one draw.
        """
        return self._then(
            "pad_or_crop",
            seconds=_float("pad_or_crop: seconds", seconds),
            random=random,
            rate=rate,
            field=_one_or_list(field),
        )

    def random_gain(
        self, db: float | tuple[float, float] = (-6.0, 6.0), *, p: float = 1.0, field: str | Sequence[str] = "audio"
    ) -> Pipeline:
        """Makes sound louder or quieter by a random number of decibels.

        Args:
            db: low and high; one number x stands for -x to x.
            p: probability that it is changed at all.
            field: a field that holds sound, or a list of them, which share one draw.
        """
        return self._then("random_gain", db=_range("db", db), p=_float("random_gain: p", p), field=_one_or_list(field))

    def spec_augment(
        self,
        time_masks: int = 2,
        freq_masks: int = 2,
        *,
        time_mask_param: int = 100,
        freq_mask_param: int = 27,
        p: float = 1.0,
        value: float = 0.0,
        field: str | Sequence[str] = "audio",
    ) -> Pipeline:
        """Random stretches of frames and of bands become one value: SpecAugment's masks without its warping, drawn as
        torchaudio draws them.

        Args:
            time_masks: stretches of frames.
            freq_masks: stretches of bands.
            time_mask_param: a stretch is shorter than so many frames.
            freq_mask_param: and than so many bands.
            p: largest share of the frames that one stretch has.
            value: number in the masked places; after `log="db"`, -100 is silence.
            field: a field that holds spectra, or a list of them.
        """
        return self._then(
            "spec_augment",
            time_masks=time_masks,
            freq_masks=freq_masks,
            time_mask_param=time_mask_param,
            freq_mask_param=freq_mask_param,
            p=_float("spec_augment: p", p),
            value=_float("spec_augment: value", value),
            field=_one_or_list(field),
        )

    # On text and tokens

    def embed(
        self, table: str | os.PathLike[str], field: str = "tokens", into: str = "embedding", hash: str | None = None
    ) -> Pipeline:
        """A row of integers to the rows of a table at these places: (n,) to (n, ...), in the table's own type.

        Corrupt, with the id and its place, for an id that the table does not have.

        Args:
            table: a .npy file; its first axis is the id.
            field: the field of integers, which stays; padded with `.pad(field, length=...)` where rows differ in
                length.
            into: name of the field of rows.
            hash: xxh3-128 of the file, part of the pipeline's fingerprint; by default the file is read now. A loader
                refuses another file with StateMismatch.
        """
        return self._then(
            "embed",
            table=os.fspath(table),
            field=None if field == "tokens" else field,
            into=None if into == "embedding" else into,
            hash=_hash_of(table, hash),
        )

    def extract_text(self, field: str | Sequence[str] = "text") -> Pipeline:
        """HTML to its text.

        Scripts, styles, the head and comments are left out; a line ends where a block (`p`, `div`, `li`, `tr`, ...)
        begins or ends and at `br`; runs of blanks are one blank; in `pre` and `textarea` text stays as it is. What is
        malformed has a text, too.

        Corrupt for what is not UTF-8; Unsupported for pages of more than 64 MiB, and for elements nested more than
        1,024 deep.

        Args:
            field: fields of str or bytes (UTF-8); the text takes its place.
        """
        return self._then("extract_text", field=None if field == "text" else _one_or_list(field))

    def pack(
        self,
        length: int | Mapping[str, int],
        field: str = "tokens",
        *,
        how: str = "first-fit",
        too_long: str = "split",
        eos: int | Mapping[str, int] | None = None,
        shift: int | Mapping[str, int] | None = None,
        pad_value: float | Mapping[str, float] = 0.0,
        limits: int | Mapping[str, int] | None = None,
        max_segments: int | None = None,
        cu_seqlens: bool = False,
        open_blocks: int = 64,
        window: int = 65536,
        arrange: str | None = None,
    ) -> Pipeline:
        """Rows of different lengths side by side in blocks of one length, which are the samples from here on.

        `.pack(2048)` packs `tokens`. `.pack({"tokens": 2048, "labels": 2048, "loss_mask": 2048})` packs fields that are
        as long as each other in every sample; one in which they are not is Corrupt. The blocks are planned once, from
        the lengths, for all epochs, ranks and seeds; with `arrange="epoch"`, anew for each epoch. The lengths are taken
        in a pass over all samples before the first batch, in which a `.cache()` in front keeps what is made; if the
        data set's index has them, as that of `fb.megatron`, nothing is read. Patches and pictures of `limits` are
        measured by the headers of the pictures, as in `.bucket`. `.shuffle()` mixes blocks. Behind `fb.mix` and
        `fb.concat`, samples of all parts share blocks, and weights are shares of samples; in the parts of a mix,
        weights are shares of blocks, and so of tokens. What follows works on blocks: operators on columns (`.cast`,
        `.rename`, `.select`, ...) first, then `.map`, whose function gets each block; behind all parts of a mix.

        A batch of b blocks has these fields, and no others:

        - `tokens` and the other packed fields: (b, length), in their own types
        - `labels`, with `shift=`: (b, length), of the type of the tokens
        - `segments`: int32 (b, length), which of the block's rows an element is of, from 1 on; 0 where there is padding
        - `positions`: int32 (b, length), its place in its segment, from 0 on; 0 where there is padding
        - `cu_seqlens` and `max_seqlen`, with `cu_seqlens=True`: int32, for attention over rows of different lengths

        If blocks are made once, rows of a table share them with those of the same row group only. The place of bad
        samples (`on_error="skip"` or `"replace"`) stays empty. InvalidArgument where a row is not as long as when the
        lengths were taken: the steps before must give the same every time.

        Args:
            length: elements of a block; or for each packed field, the same for all: `{"tokens": 2048, "labels": 2048}`.
            field: the main one of the packed fields, of one axis, of numbers; of user code, too. Other fields that are
                not in length would be lost, which is InvalidArgument: leave them out by `.select("tokens")` before.
                `key` goes without a word.
            how: "first-fit": what of a row fills blocks has these to itself, the rest of it goes whole into the first
                open block with room. "best-fit": the same, the longest first, each into the fullest block with room.
                "cut": row after row, cut every length elements, so that only the last block has padding.
            too_long: what becomes of a row that is longer than a block: "split" into several; "right" or "left": cut
                off at that side, as `truncation_side` of tokenizers, so "right" keeps the first elements; "drop": left
                out, which is logged; "error": InvalidArgument that names the sample.
            eos: a number that is appended to each row before it is packed, empty ones apart. One number is for the main
                field and `labels`; other fields repeat their last element, as do those that `{"tokens": 2}` does not
                name.
            shift: 1: each element of `labels` is the next one of its segment, and the last is the field's pad_value.
                Where `labels` is not packed, it is made of the main field. `{"labels": 1, "loss_mask": 1}` shifts other
                fields.
            pad_value: number in places that no row fills, in all fields but `labels`, or for each field. That of
                `labels` is -100, which losses leave out, if it is not named.
            limits: further budgets of a block, for rows that are not split (`too_long`): `{"patches": 1024}` is the
                most of the field `patches` in all rows of a block, a number, or rows, text or bytes, whose own length
                counts, or a picture, whose pixels count. The field is read to measure it, and is in no block. A row
                above a limit is left out with too_long="drop", otherwise InvalidArgument.
            max_segments: rows in a block at most; any number by default.
            cu_seqlens: adds `cu_seqlens`: 0 and the ends of the block's segments, of which padding is one, so that the
                last is length; ragged, or filled up with length to max_segments + 2. And `max_seqlen`: the length of
                the longest of them.
            open_blocks: of "first-fit": blocks that a row may still go into; the fullest is closed where there would be
                more. More leave less padding.
            window: rows that share blocks, with "best-fit" or arrange="epoch"; more leave less padding, and lie further
                apart. With arrange="epoch" the default for tables is the number of rows that .shuffle() mixes, if that
                is smaller.
            arrange: "once": all epochs have the same blocks. "epoch": the rows of each epoch are packed in the order in
                which they come, so that other rows share a block in another epoch, and epochs may have different
                numbers of blocks. By default "once", and "epoch" behind `fb.mix` and `fb.concat`, where it is the only
                way.
        """
        return self._then(
            "pack",
            length=_by_field(length),
            field=None if field == "tokens" else field,
            how=None if how == "first-fit" else how,
            too_long=None if too_long == "split" else too_long,
            eos=None if eos is None else _by_field(eos),
            shift=None if shift is None else _by_field(shift),
            pad_value=None if pad_value == 0.0 else _float_by_field("pack: pad_value", pad_value),
            limits=None if limits is None else _by_field(limits),
            max_segments=max_segments,
            cu_seqlens=bool(cu_seqlens) or None,
            open_blocks=None if open_blocks == 64 else open_blocks,
            window=None if window == 65536 else window,
            arrange=arrange,
        )

    def tokenize(
        self,
        file: str | os.PathLike[str],
        field: str = "text",
        into: str = "tokens",
        special: bool = True,
        max_length: int | None = None,
        hash: str | None = None,
    ) -> Pipeline:
        """Text to the ids that the package `tokenizers` gives for it, int32, by a native encoder: a ragged field, or
        padded with `.pad("tokens", length=...)`.

        Unsupported when a loader is opened for tokenizers with parts that are not built in (docs/reference/text.md has
        the list): call these in `.map`. A text that a normalizer makes more than 16 times as long is Unsupported, too.

        Args:
            file: a tokenizer.json, a local file. It may be BPE of bytes (GPT-2, RoBERTa, Llama 3, Qwen 2, ...) or of
                characters (Llama 2, Mistral, Gemma, ...), WordPiece (BERT, ...) or Unigram (T5, XLNet, XLM-R, ...). Its
                `truncation` and `padding` are not looked at: see `max_length` and `.pad`.
            field: the field of str; the ids take its place.
            into: name of the field of ids.
            special: adds the ids that the tokenizer puts around each text, as `encode(add_special_tokens=...)`.
            max_length: ids of a text at most, these included, as `enable_truncation(max_length)`: what is beyond them
                is cut off; all by default.
            hash: xxh3-128 of the file, part of the pipeline's fingerprint; by default the file is read now. A loader
                refuses another file with StateMismatch.
        """
        return self._then(
            "tokenize",
            file=os.fspath(file),
            field=None if field == "text" else field,
            into=None if into == "tokens" else into,
            special=special,
            max_length=max_length,
            hash=_hash_of(file, hash),
        )

    # On streams and replay

    def buffer(
        self,
        policy: str = "block",
        bytes: int | str = "64MiB",
        *,
        disk: int | str = "10GiB",
        dir: str | os.PathLike[str] | None = None,
        on_underrun: str = "wait",
    ) -> Pipeline:
        """What becomes of a stream's records while training does not take them, and what training gets while none come.

        Args:
            policy: "block": nothing is read that there is no room for, so that records wait where they are; nothing is
                lost. "drop_oldest": those go that have waited longest. "sample": at each step a uniform choice of all
                that came since the last one. "spill": to disk, and back in order; nothing is lost while there is room.
                What is dropped is counted by partition, in stats() and in states.
            bytes: bytes of records in memory, as a number or "256MiB". What one batch needs is read in any case.
            disk: bytes of records on disk, with "spill"; beyond it records wait where they are.
            dir: the folder on disk, with "spill"; by default the system's for temporary files.
            on_underrun: the rows of a step if training waits for it. "wait": it waits until a whole batch has come.
                Else it has the records that have come, and old ones in the place of the others: "repeat": of the latest
                step that had new ones; "rehearse": of those that .rehearse() keeps, which says in `batch["rehearsed"]`
                which they are. Old records have the ids that they had. They are drawn at random, by the seed, and are
                augmented anew; states and journals hold them. In the first step there is nothing old, so it waits.
                `stats()["stream"]["missing"]` counts them.
        """
        return self._then(
            "buffer",
            policy=policy,
            bytes=bytes,
            disk=disk,
            dir=None if dir is None else os.fspath(dir),
            on_underrun=on_underrun,
        )

    def rehearse(
        self,
        n: int,
        capacity: int,
        *,
        by: str | None = "label",
        policy: str = "reservoir",
        candidates: int | None = None,
        where: str = "raw",
        ram: int | str | None = None,
    ) -> Pipeline:
        """`n` old samples in each batch beside the new ones, so that a model that learns from new data does not forget
        what was before.

        Before `.batch(b)`: a batch has the b new samples first, then n old ones (`batch["rehearsed"]`, bool). They are
        drawn uniformly from what was kept of the steps before; in the first step nothing is, and the batch has new ones
        alone. What is kept and what is drawn is a function of the seed, the samples and the steps: the same for any
        number of ranks, threads and after a resume. An old sample goes through the steps of the pipeline again, with
        random numbers of its own. Of a stream the records are kept, each by one of the ranks, in memory up to
        `.buffer(bytes=)`, then on disk, and lent from rank to rank ahead of the steps that have them; of a data set
        they are read again: a `.cache()` makes that cheap. Of tables and tar shards that takes their row groups;
        where="here" keeps rows instead.

        Args:
            n: old samples of a batch, per rank.
            capacity: how many are kept: of each class, or in all with policy="balanced" or without classes.
            by: the field of the source that tells the class: a whole number or a text, known without decoding; of
                tables, tar shards and lines any such field, which is read once when the loader is opened. None, which
                is "" in other faces: one class.
            policy: "reservoir": of each class a uniform sample of all that came (Vitter 1985). "balanced": the classes
                share the places evenly (Chrysakis and Moens 2020). "recent": the latest.
            candidates: how many new samples of a step, over all ranks and drawn at random, may be kept; all if not
                given.
            where: "raw": old samples go through all steps again. "here": they come in at this step as they were when
                they were new, and only the steps behind it (`.rehearse(…, where="here").random_crop(24).batch(b)`) are
                done anew; random steps before it are not drawn again. What the steps before made is kept in memory, so
                that they need not run again; results never depend on whether it is. `rehearsed` is a field of the
                samples from here on.
            ram: bytes of memory for the results on each rank if where="here"; 2 GiB if not given, 0 for none.
        """
        return self._then(
            "rehearse",
            n=n,
            capacity=capacity,
            by="" if by is None else by,
            policy=policy,
            candidates=candidates,
            where=None if where == "raw" else where,
            ram=ram,
        )
