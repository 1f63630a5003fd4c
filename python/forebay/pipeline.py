"""What a user says about a data set and what is done to it: an immutable description that touches no storage."""

from __future__ import annotations

import math
import numbers
import os
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from . import _core
from ._stream_steps import StreamSteps
from ._user_exceptions import encodable
from ._workers import FilterFunction, MapFunction, function_name, run_by
from .errors import InvalidArgument, Problem

__all__ = ["IMAGENET", "Normalization", "Pipeline"]


class Normalization(NamedTuple):
    """Mean and standard deviation of each channel, of values from 0 to 1."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


IMAGENET = Normalization(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
"""Of ImageNet's training pictures, red, green, blue."""


class Pipeline(StreamSteps):
    """A source of samples and the operators after it.

    Immutable: every method returns a new pipeline. Nothing is read and nothing is judged before `check()` or before a
    `Loader` is opened; `print(pipeline)` shows one line per operator.

    Image operators work on the field `image` unless `field=` names another one. A list of fields shares one random draw,
    so that a picture and its mask stay aligned.
    """

    __slots__ = ("_classes", "_description", "_functions")

    def __init__(self, description: _core.Description, functions: Mapping[int, Any] | None = None) -> None:
        if not isinstance(description, _core.Description):
            raise TypeError("a Pipeline begins with a source: fb.images, fb.files, fb.manifest, fb.arrays or fb.Dataset")
        self._description = description
        self._functions: dict[int, Any] = dict(functions or {})
        self._classes: tuple[str, ...] | None = None

    # Order

    def shuffle(
        self, block: int | None = None, lanes: int | None = None, ramp: bool | None = None, window: int | None = None
    ) -> Pipeline:
        """One global permutation of all samples per epoch, a new one each epoch, from the loader's seed.

        Args:
            block: chunks that are mixed together, for sources stored in chunks (8 by default).
            lanes: spans of the data that hosts own, for sources stored in chunks (1 by default).
            ramp: epoch 0 begins with one chunk, and the number that is mixed grows by and by to `block`, so that the first
                batch need not wait for `block` chunks. Another order than without, in epoch 0 alone; the seed alone decides it.
            window: for streams, which need it: so many samples are mixed at a time, in an order that the seed and the stream's offsets decide.
        """
        return self._then("shuffle", block=block, lanes=lanes, ramp=ramp, window=window)

    def take(self, n: int, spread: bool | None = None) -> Pipeline:
        """Only `n` of the samples that there are at this place, or all where there are fewer.

        Args:
            n: how many.
            spread: they are spread evenly over all, so that they look like the whole: of n of N samples the i-th is number i * N // n. Of a table they
                come from as few of its chunks as have n rows, spread evenly, the first rows of each. By default the samples with the first ids.
        """
        return self._then("take", n=n, spread=spread)

    # Images

    def decode_image(
        self, mode: str = "rgb", *, field: str | Sequence[str] | None = None, max_pixels: int = 100_000_000
    ) -> Pipeline:
        """Decodes JPEG, PNG, WebP or BMP into the field `image`: uint8, (height, width, channels).

        As Pillow would: EXIF orientation applied, alpha dropped, 16 bits become 8 by their upper byte, CMYK converted.
        Only the part that a following crop needs is decoded.

        Args:
            mode: "rgb" (3 channels) or "gray" (1 channel), 8 bits; "rgb16": uint16, (height, width, 3), with the 16 bits of a PNG kept and 8-bit
                pictures times 257. Whole pictures are decoded then. What follows may crop, flip, resize, normalize (of 65535) and cast;
                .color_jitter wants 8 bits.
            field: the encoded field; by default `image`, else `bytes`.
            max_pixels: larger pictures are Unsupported.

        Errors of a sample: Corrupt for damaged data, Unsupported for other formats.
        """
        return self._then("decode_image", field=_one_or_list(field), mode=mode, max_pixels=max_pixels)

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
            short_side: instead of `size`: length of the shorter side; the other becomes `int(short_side * long / short)`.
            interpolation: "bilinear" (anti-aliased, always) or "nearest"; or {field: one of them} where fields differ, as a mask
                does from its picture.
        """
        return self._then(
            "resize",
            size=_one_or_list(size),
            short_side=short_side,
            interpolation=_by_field(interpolation),
            field=_one_or_list(field),
        )

    def center_crop(self, n: int | Sequence[int], *, field: str | Sequence[str] = "image") -> Pipeline:
        """The middle of a picture; it starts at `round((H - h) / 2)`. Where the picture is smaller, zeros are around it.

        Args:
            n: pixels; one number for a square, or (height, width).
        """
        return self._then("center_crop", n=_one_or_list(n), field=_one_or_list(field))

    def random_crop(self, n: int | Sequence[int], *, field: str | Sequence[str] = "image") -> Pipeline:
        """A part of a picture at a random place.

        Args:
            n: pixels; one number for a square, or (height, width).
        """
        return self._then("random_crop", n=_one_or_list(n), field=_one_or_list(field))

    def random_resized_crop(
        self,
        n: int | Sequence[int],
        *,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: str | Mapping[str, str] = "bilinear",
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """A random part of a picture, resized, as in torchvision's RandomResizedCrop.

        Args:
            n: pixels of the result; one number for a square, or (height, width).
            scale: share of the picture's area that the part has.
            ratio: its width over its height.
            interpolation: as in `resize`.
        """
        return self._then(
            "random_resized_crop",
            n=_one_or_list(n),
            scale=_floats("scale", scale),
            ratio=_floats("ratio", ratio),
            interpolation=_by_field(interpolation),
            field=_one_or_list(field),
        )

    def random_flip(self, p: float = 0.5, *, field: str | Sequence[str] = "image") -> Pipeline:
        """Mirrors left and right with probability `p`."""
        return self._then("random_flip", p=_float("random_flip: p", p), field=_one_or_list(field))

    def color_jitter(
        self,
        brightness: float | tuple[float, float] | None = None,
        contrast: float | tuple[float, float] | None = None,
        saturation: float | tuple[float, float] | None = None,
        hue: float | tuple[float, float] | None = None,
        *,
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """Changes brightness, contrast, saturation and hue by random amounts, in that order.

        Each is a number (`0.4` draws a factor between 0.6 and 1.4; for `hue` a turn between -0.4 and 0.4) or the pair
        (low, high) to draw from. What is not given stays as it is.
        """
        return self._then(
            "color_jitter",
            brightness=_range("brightness", brightness),
            contrast=_range("contrast", contrast),
            saturation=_range("saturation", saturation),
            hue=_range("hue", hue),
            field=_one_or_list(field),
        )

    def normalize(
        self,
        mean: Normalization | float | Sequence[float],
        std: float | Sequence[float] | None = None,
        *,
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """Mean 0 and deviation 1: float32.

        Pictures: `(x / 255 - mean) / std` per channel, (channels, height, width) unless `.layout` or `.cast` say otherwise. Columns of
        numbers, alone or in lists: `(x - mean) / std`, computed in float64 (NumPy's
        `((x.astype("float64") - mean) / std).astype("float32")`, bit by bit).

        Args:
            mean: one number for all, or one for each channel of a picture, or one for each column named; or mean and std at
                once: `fb.IMAGENET`.
            std: likewise, above 0.
            field: the picture's field, a column, or a list of pictures or of columns.
        """
        if std is None:
            try:
                mean, std = mean
            except (TypeError, ValueError):
                raise InvalidArgument("normalize: give mean and std, or fb.IMAGENET") from None
        return self._then(
            "normalize",
            mean=_numbers("mean", mean),
            std=_numbers("std", std),
            field=_one_or_list(field),
        )

    def layout(self, order: str, *, field: str | Sequence[str] = "image") -> Pipeline:
        """The order of a picture's axes: "chw" (channels, height, width) or "hwc"."""
        return self._then("layout", order=order, field=_one_or_list(field))

    # Sound

    def decode_audio(
        self,
        rate: int | None = None,
        mono: bool = True,
        *,
        channels: int | None = None,
        field: str | Sequence[str] | None = None,
        max_samples: int = 100_000_000,
    ) -> Pipeline:
        """Decodes WAV, FLAC, MP3, Ogg (Vorbis, Opus), AIFF, AU or CAF into the field `audio`: float32 in [-1, 1).

        The values are those of libsndfile and torchaudio. Recordings differ in length: put `.pad_or_crop(seconds)` behind it, or take ragged
        batches, `(values, offsets)`.

        Args:
            rate: samples a second of all that comes out; what is stored at another rate is resampled (soxr, "HQ", as librosa does). Without it each
                recording keeps its own rate, which is the new field `audio_rate` (int64).
            mono: (samples,), the mean of all channels. False: (channels, samples).
            channels: how many channels all recordings have; others are Unsupported. Batches with `mono=False` need it.
            field: the encoded field; by default `audio`, else `bytes`.
            max_samples: longer recordings (all channels counted) are Unsupported.

        Errors of a sample: Corrupt for damaged data and for files that end early, Unsupported for other formats and for files whose format changes
        on the way.
        """
        return self._then(
            "decode_audio", rate=rate, mono=mono, channels=channels, field=_one_or_list(field), max_samples=max_samples
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

        As torchaudio's MelSpectrogram with its Hann window; with `norm="slaney", mel_scale="slaney"` as librosa's. Computed in float32, with the same
        bytes on every processor.

        Args:
            rate: samples a second; may be left out behind `.decode_audio(rate=...)`.
            n_fft: samples of a frame.
            win_length: length of the Hann window, in the middle of the frame; `n_fft` if not given.
            hop_length: samples from frame to frame; `win_length // 2` if not given.
            f_min: lowest frequency, in Hz.
            f_max: highest frequency; half of the rate if not given.
            n_mels: bands.
            power: 2 for power, 1 for magnitude.
            norm: "slaney" divides each band by its width in Hz.
            mel_scale: "htk" or "slaney".
            center: frame i has sample `i * hop_length` in its middle; else it begins there.
            pad_mode: with `center`, what lies outside: "reflect", or "constant" for zeros.
            log: "db" for `10 * log10(max(x, 1e-10))`, "ln" for `ln(x + 1e-6)`.
            field: a field that holds sound, or a list of them.

        A sound that is too short for a frame is Unsupported.
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

        The orthonormal cosine transform (type 2) of a mel spectrogram in decibels, in which no value is more than 80 below the recording's largest.

        Args:
            n_mfcc: coefficients, `n_mels` at most.
            log_mels: of `ln(x + 1e-6)` in place of decibels.

        The other arguments are those of `mel_spectrogram`.
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
        """Sound of one length, `round(seconds * rate)` samples: what is longer is cut, what is shorter has zeros behind.

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
        return self._then(
            "random_gain", db=_range("db", db), p=_float("random_gain: p", p), field=_one_or_list(field)
        )

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
        """Random stretches of frames and of bands become one value: SpecAugment's masks, drawn as torchaudio draws them.

        Args:
            time_masks: stretches of frames.
            freq_masks: stretches of bands.
            time_mask_param: a stretch is shorter than so many frames.
            freq_mask_param: and than so many bands.
            p: largest share of the frames that one stretch has.
            value: what stands there; behind `log="db"`, -100 is silence.
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

    # Fields

    def cast(self, dtype: Any, *, field: str | Sequence[str] = "image", errors: str = "raise") -> Pipeline:
        """Changes the element type of pictures, numbers, tensors and lists.

        As NumPy's `astype` converts: to floats the nearest value, to integers toward zero (pictures: rounded half to even), to bool
        what is not 0. What NumPy leaves to the processor, or lets wrap around, makes the sample bad: a value that an integer type cannot
        hold, and NaN. `on_error=` of the Loader says what becomes of it. A float type holds every number, the largest as infinity.

        Args:
            dtype: "float32", "uint8", ..., or a NumPy type.
            field: a field or a list of fields.
            errors: "raise", or "saturate": what an integer type cannot hold becomes the nearest that it can, and NaN 0.
        """
        return self._then("cast", dtype=_dtype_name(dtype), field=_one_or_list(field), errors=errors)

    def clip(
        self,
        min: float | None = None,  # noqa: A002 (NumPy's names)
        max: float | None = None,  # noqa: A002
        *,
        field: str | Sequence[str],
    ) -> Pipeline:
        """Numbers below `min` become `min`, those above `max` become `max`. Shape and type stay; NaN stays NaN.

        Args:
            min: the smallest number that comes out; no limit if not given.
            max: the largest. A column of integers takes whole numbers; a limit beyond its type does not limit.
            field: a column of numbers or a list of columns; lists and tensors go element by element.

        `check()` tells of limits that a column's type cannot hold, of min above max, and of columns that hold no numbers.
        """
        return self._then("clip", min=_limit(min, -math.inf), max=_limit(max, math.inf), field=_one_or_list(field))

    def log1p(self, field: str | Sequence[str]) -> Pipeline:
        """`ln(1 + x)`: float64 of float64, else float32; NaN below -1, -inf for -1.

        Made of additions, multiplications and divisions alone, so that every processor gives the same bits: within 1 unit in
        the last place of the true value as float32, within 2 as float64. Integers above 2^53 are rounded to float64 before.

        Args:
            field: a column of numbers or a list of columns; lists and tensors go element by element.
        """
        return self._then("log1p", field=_one_or_list(field))

    def hash_bucket(self, buckets: int, field: str | Sequence[str], salt: int = 0) -> Pipeline:
        """Text, bytes or integers to int64 in [0, buckets): equal values always to equal buckets.

        The bucket is `xxh3_64(value, seed=salt) * buckets >> 64`, where value is the UTF-8 text, the bytes, or the integer as eight
        little-endian bytes (two's complement; smaller types and bool are widened first).

        Args:
            buckets: how many, at least 1.
            field: a column or a list of columns; lists and tensors go element by element, text and bytes as a whole.
            salt: the seed of xxh3: another one lets other values share a bucket.
        """
        return self._then("hash_bucket", buckets=buckets, field=_one_or_list(field), salt=salt)

    def fill_null(self, value: bool | float | str | bytes, field: str | Sequence[str]) -> Pipeline:
        """Puts a value where a table had nulls, and drops the masks: for columns read with `null=fb.NULL_MASK`.

        Args:
            value: what stands where `<field>_valid` or, for elements of lists and tensors, `<field>_items_valid` is false: a number
                that the column's type can hold, a bool, or a text (for columns of bytes: UTF-8 bytes). A list that is null stays an
                empty one.
            field: a column with a mask, or a list of them.
        """
        return self._then("fill_null", value=_fill(value), field=_one_or_list(field))

    def stack(self, fields: str | Sequence[str], name: str) -> Pipeline:
        """Columns side by side in one field: k columns of shape s become one of shape (k, *s), and go.

        Args:
            fields: the columns, in the order they shall have; of one type and one shape. `check()` says which to `.cast` before.
            name: the new field. It stands behind the others.
        """
        return self._then("stack", fields=_one_or_list(fields), name=name)

    def extract_text(self, field: str | Sequence[str] = "text") -> Pipeline:
        """HTML to its text. Scripts, styles, the head and comments are left out; a line ends where a block (`p`, `div`, `li`, `tr`, ...) begins or
        ends and at `br`; runs of blanks are one blank; in `pre` and `textarea` text stays as it is. What is malformed has a text,
        too.

        Args:
            field: fields of str or bytes (UTF-8); the text takes its place.

        Corrupt for what is not UTF-8; Unsupported for pages of more than 64 MiB, and for elements nested more than 1,024 deep.
        """
        return self._then("extract_text", field=None if field == "text" else _one_or_list(field))

    def tokenize(
        self,
        file: str | os.PathLike[str],
        field: str = "text",
        into: str = "tokens",
        special: bool = True,
        max_length: int | None = None,
        hash: str | None = None,
    ) -> Pipeline:
        """Text to the ids that the package `tokenizers` gives for it, int32, by a native encoder: a ragged field, or padded with
        `.pad("tokens", length=...)`.

        Args:
            file: a tokenizer.json, a local file: byte-level BPE (GPT-2, RoBERTa, Llama 3, Qwen 2, ...), WordPiece (BERT, ...) or Unigram (T5, XLNet, XLM-R, ...).
            field: the field of str; the ids take its place.
            into: what the field of ids is called.
            special: with the ids that the tokenizer puts around each text, as `encode(add_special_tokens=...)`.
            max_length: ids of a text at most, these included, as `enable_truncation(max_length)`: what is beyond them is cut off; all by default.
            hash: of the file (xxh3-128), part of the pipeline's fingerprint; by default the file is read now. A loader refuses another file with
                StateMismatch.

        Unsupported when a loader is opened for tokenizers with parts that are not built in (docs/text.md has the list; truncation, padding, other models): call these in `.map`.
        A text that a normalizer makes more than 16 times as long is Unsupported, too.
        """
        path = os.fspath(file)
        return self._then("tokenize", file=path, field=None if field == "text" else field, into=None if into == "tokens" else into,
                          special=special,
                          max_length=max_length, hash=_hash_of(path, hash))

    def embed(
        self, table: str | os.PathLike[str], field: str = "tokens", into: str = "embedding", hash: str | None = None
    ) -> Pipeline:
        """A row of integers to the rows of a table at these places: (n,) to (n, ...), in the table's own type.

        Args:
            table: a .npy file; its first axis is the id.
            field: the field of integers, which stays; padded with `.pad(field, length=...)` where rows differ in length.
            into: what the field of rows is called.
            hash: as in `tokenize`.

        Corrupt, with the id and its place, for an id that the table does not have.
        """
        path = os.fspath(table)
        return self._then("embed", table=path, field=None if field == "tokens" else field,
                          into=None if into == "embedding" else into, hash=_hash_of(path, hash))

    def pack(self, length: int, field: str = "tokens", *, open_blocks: int = 64, pad_value: float = 0) -> Pipeline:
        """Rows of different lengths side by side in blocks of one length, which are the samples from here on.

        What of a row fills blocks has these to itself, the rest of it goes whole into the first open block with room (first-fit). So it is decided
        once, by the lengths, for all epochs, ranks and seeds: the lengths are taken in a pass over all samples before the first batch, in which
        a `.cache()` in front keeps what is made. `.shuffle()` mixes blocks. Only it and `.batch` may follow.

        A batch of b blocks has these fields, and no others:

        - `tokens` (the packed field's name): (b, length), in its own type
        - `segments`: int32 (b, length), which of the block's rows an element is of, from 1 on; 0 where there is padding
        - `positions`: int32 (b, length), its place in its row

        Args:
            length: elements of a block.
            field: the field of one axis, of numbers; of user code, too.
            open_blocks: blocks that a row may still go into; the fullest is closed where there would be more. More leave less padding.
            pad_value: where no row stands.

        Rows of a table share blocks with those of the same row group only. Of bad samples (`on_error="skip"` or `"replace"`) the place stays
        empty. InvalidArgument where a row is not as long as when the lengths were taken: what stands before must give the same every time.
        """
        return self._then("pack", length=length, field=None if field == "tokens" else field,
                          open_blocks=None if open_blocks == 64 else open_blocks, pad_value=None if pad_value == 0 else pad_value)

    def window(self, n: int, field: str | Sequence[str], stride: int | None = None) -> Pipeline:
        """Windows over the first axis of a sample: (length, ...) becomes (windows, n, ...).

        What is left at the end, shorter than a window, goes. Windows over a whole data set, of which each is a sample, are the
        source's: `fb.hdf5(..., window=n)`.

        Args:
            n: elements of a window.
            field: a column of numbers of known shape, or a list of columns.
            stride: from the beginning of one window to that of the next; `n` by default, so that no element is in two.
        """
        return self._then("window", n=n, field=_one_or_list(field), stride=stride)

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

        `sum`, `mean`, `std` (of the population, as NumPy's), `rms` (the root of the mean of squares), `min`, `max`, and `cusum`, the running sum
        of deviations from the mean, which is as long as its series. Computed in float64, each series in eight interleaved parts, which are added up
        in a fixed order; given as float64 for float64 and integers, float32 for the smaller floats; `min` and `max` in the field's type. NaN goes through.

        Args:
            functions: one of these, or several.
            field: a column of numbers or a list of columns: tensors along `axis`, lists as a whole.
            every: makes one number of each so many elements, in place of one of the whole axis, whose length it must divide.
            axis: the axis of a sample that the series lie along; -1 is the last.
            times: a field of the same shape whose elements these are multiplied with before: `<field>_<times>_<function>`, as float64. The mean of
                voltage times current is the active power.
        """
        names = _one_or_list(functions)
        return self._then("aggregate", functions=names, field=_one_or_list(field), every=every, axis=axis, times=times)

    def map(
        self,
        fn: Callable[..., Mapping[str, Any]],
        fields: str | Sequence[str] | None = None,
        random: bool = False,
        workers: str = "threads",
        version: str | None = None,
    ) -> Pipeline:
        """Your own Python: `fn(sample)` gets a dict of fields and returns one.

        A field is a NumPy array (a copy, yours to write to), str or bytes, or a list of str or of bytes; returned values may also
        be numbers or torch tensors. `fn` runs several times at once. Its exceptions keep type and traceback and gain the
        sample's key as a note; a StopIteration becomes a RuntimeError, as one that leaves a generator does, since it would end
        the loop over the loader.

        Args:
            fn: the function. It must not depend on anything that changes from call to call.
            fields: the fields that `fn` gets, at least one; what it returns is then added to the sample. By default it gets all of
                them, and what it returns is the new sample. Name here also a field that `fn` replaces by one of another type or
                shape: steps behind go by what a field was that is not named.
            random: call `fn(sample, rng)` with a `numpy.random.Generator` made for this sample, epoch and step.
            workers: "threads": on threads of Python's. "processes": in worker processes, as many as the loader's `threads`, for
                functions that hold the interpreter lock; InvalidArgument when the loader is opened if `fn` cannot be pickled.
            version: say when the function changed; part of the pipeline's fingerprint.
        """
        _check_callable(fn, "map")
        function = run_by(workers, ".map", MapFunction(fn, random))
        return self._with_function(
            "map", fn, function, fields=_one_or_list(fields), random=bool(random) or None, version=version
        )

    def filter(self, fn: Callable[[dict[str, Any]], bool], fields: str | Sequence[str] | None = None) -> Pipeline:
        """Keeps the samples for which `fn(sample)` is true.

        Decided once over the whole data set, in a pass that reads only the fields named, and kept: lengths stay known. A sample
        for which a step before fails, so that nothing can be decided, goes by the loader's `on_error`: it is not kept, or raised.

        Args:
            fn: the function.
            fields: the fields that `fn` gets, by default all of them.
        """
        _check_callable(fn, "filter")
        return self._with_function("filter", fn, FilterFunction(fn), fields=_one_or_list(fields))

    def select(self, *fields: str) -> Pipeline:
        """Only these fields. What only the others needed is not read."""
        return self._then("select", fields=list(fields))

    def rename(self, **names: str) -> Pipeline:
        """Gives fields new names: `.rename(old="new")`."""
        return self._then("rename", names=dict(sorted(names.items())))

    def pad(self, field: str, value: float = 0, length: int | None = None) -> Pipeline:
        """Fills ragged fields up, so that a batch is one array instead of `(values, offsets)`.

        Args:
            field: the field; its first axis may differ from sample to sample.
            value: what to fill up with; NaN and infinities for fields of floats.
            length: the length of every row. By default that of the longest in the batch, which depends on the batch size and the
                ranks: what was filled up then is no part of `forebay.digest`.
        """
        return self._then("pad", field=field, value=_float("pad: value", value), length=length)

    def cache(
        self,
        ram: int | str = "2GiB",
        disk: int | str = "50GiB",
        dir: str | os.PathLike[str] | None = None,  # noqa: A002
        *,
        compression: str | None = None,
    ) -> Pipeline:
        """Keeps what the steps before it made, in memory and then on disk, so that later epochs and runs need not make it again.

        Changes speed, never content. (Of a damaged picture all is decoded that is kept, so that a crop no longer gets by with the
        part that is whole.) An entry is known by its object's name and version and by all steps before it, so what has changed is
        made anew. Behind a random step it is refused: the results would be frozen; behind `.map` a disk tier needs `version=`. Of an
        `fb.Dataset` without `version=` nothing is kept on disk, and a warning says so.

        Args:
            ram: bytes of memory of this process, as a number or "2GiB"; 0 for none.
            disk: bytes of the disk that the folder may take, whoever fills it; 0 for none.
            dir: the folder, shared by all jobs of this user on this host; by default `$FOREBAY_CACHE_DIR`, else
                `$XDG_CACHE_HOME/forebay`, else `~/.cache/forebay`. One that others may write to is refused.
            compression: of what is on disk: "zstd" (smaller) or "lz4" (faster), or None.

        Of a budget above what the disk or the machine has, what there is is used, less a reserve, with one warning.
        InvalidArgument when the loader is opened if a budget is less than one entry. A disk that is full but for the reserve,
        read-only or gone ends that tier with one warning, and the run goes on.
        """
        folder = None if dir is None else os.fspath(dir)
        return self._then("cache", ram=ram, disk=disk, dir=folder, compression=compression)

    def batch(self, n: int, last: str = "partial", *, ragged: str | Sequence[str] | None = None) -> Pipeline:
        """`n` samples make a batch on each rank; the last operator.

        Every rank takes the same number of steps. Fixed shapes stack to (n, ...); ragged fields become `(values, offsets)`;
        bytes and text become lists, lists of them lists of lists.

        Of rows that a Dataset or `.map` makes, nothing is known before the first batch of a loader, which decides for all: rows
        of one length make an array, and one of another length later is an error; rows of different lengths make
        `(values, offsets)` in every batch. `.pad` before, or `ragged=`, decides it beforehand. With n=1 they are arrays.

        Args:
            n: samples per batch and rank.
            last: what becomes of an epoch's tail. "partial": dealt out in sizes that differ by one at most; "drop": left
                out; "pad": filled up with repeats, which `batch.padding` counts.
            ragged: fields that a Dataset or `.map` makes, of rows that differ in length: `(values, offsets)` in every batch.
        """
        return self._then("batch", n=n, last=last, ragged=ragged)

    # Looking at it

    @property
    def classes(self) -> list[str]:
        """Names of the classes in the order of their labels. Reads the listing on first use."""
        if self._classes is None:
            self._classes = tuple(self._description.classes())
        return list(self._classes)

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of all that decides what comes out: all but the batch size and caches."""
        return self._description.fingerprint()

    def check(self) -> list[Problem]:
        """Everything that is wrong with this pipeline, as (operator, message, remedy). Touches no storage."""
        return [Problem(*problem) for problem in self._description.check()]

    def to_json(self) -> str:
        """This pipeline as JSON. InvalidArgument where it holds what JSON cannot: functions, data sets, and arrays or tables in
        memory. Arrays in `.npy` files are saved by their paths."""
        return self._description.to_json()

    @classmethod
    def from_json(cls, text: str) -> Pipeline:
        """The pipeline that `to_json` wrote. InvalidArgument where the text is none."""
        return cls(_core.Description.from_json(text))

    def __getattr__(self, name: str) -> Any:
        # Only for what is not there. With `name` and `obj`, Python adds its own suggestion to a traceback.
        if name.startswith("_"):
            raise AttributeError(f"'Pipeline' object has no attribute '{name}'", name=name, obj=self)
        near = _core.suggest(encodable(name), [one for one in dir(type(self)) if not one.startswith("_")])
        hint = f"did you mean '.{near}'?" if near else "help(forebay.Pipeline) lists them"
        raise AttributeError(f"a Pipeline has no operator '{name}'; {hint}", name=name, obj=self)

    def __copy__(self) -> Pipeline:
        return self  # nothing can change it

    def __deepcopy__(self, memo: dict[int, Any]) -> Pipeline:
        return self

    def __str__(self) -> str:
        return self._description.to_text()

    def __repr__(self) -> str:
        return self._description.to_text()

    def __reduce__(self):
        return Pipeline.from_json, (self.to_json(),)

    # Building

    def _then(self, name: str, /, **args: Any) -> Pipeline:
        return Pipeline(self._description.append(name, plain_args(name, args)), self._functions)

    def _with_function(self, name: str, fn: Callable, function: Any, **args: Any) -> Pipeline:
        description = self._description.append(name, plain_args(name, args), f"<{function_name(fn)}>")
        return Pipeline(description, {**self._functions, len(description.steps()) - 1: function})


# Arguments take the one form that C++ and JSON files give them too, so that equal pipelines have equal fingerprints: what is
# not given is left out, and a list of one is its element.


def plain_args(operator: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, as descriptions hold them. InvalidArgument for what no description can hold."""
    plain = {name: _number(value) for name, value in args.items() if value is not None}
    for name, value in plain.items():
        _check_plain(f"{operator}: {name}", value)
    return plain


def _hash_of(path: str, given: str | None) -> str | None:
    return given if given is not None else _core.file_hash(encodable(path)) or None


def _check_plain(what: str, value: Any) -> None:
    if isinstance(value, (list, tuple)):
        for one in value:
            _check_plain(what, one)
    elif isinstance(value, dict):
        for name, one in value.items():
            _check_plain(what, name)
            _check_plain(what, one)
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise InvalidArgument(f"{what} is {value}; whole numbers in a pipeline lie between -2**63 and 2**63 - 1")
    elif isinstance(value, str):
        if encodable(value) != value:
            raise InvalidArgument(f"{what} is {value!r}, which is no valid text")
    elif value is not None and not isinstance(value, float):
        raise InvalidArgument(
            f"{what} is of type {type(value).__name__}; a pipeline is described by numbers, text, and lists of them"
        )


def _number(value: Any) -> Any:
    # NumPy's numbers are not int and float, but mean the same.
    if getattr(value, "shape", None) == ():
        return value.item()
    return [_number(one) for one in value] if isinstance(value, (list, tuple)) else value


def _one_or_list(value: Any) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    return value[0] if len(value) == 1 else list(value)


def _by_field(value: str | Mapping[str, str]) -> str | dict[str, str]:
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


def _range(name: str, value: float | tuple[float, float] | None) -> float | list[float] | None:
    return None if value is None else _numbers(name, value)


def _numbers(name: str, values: Any) -> float | list[float]:
    return _float(name, values) if isinstance(values, numbers.Real) else _one_or_list(_floats(name, values))


def _float(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"{name} is {value!r:.100}; it must be a number that a float holds") from None


def _whole(value: float) -> float | int | str:
    # Whole numbers are whole in every face; JSON has no words for those that are not finite.
    if not math.isfinite(value):
        return str(value)
    return int(value) if value == math.floor(value) and abs(value) <= 2**53 else value


def _scalar(value: Any) -> Any:
    value = _number(value)
    return _whole(value) if isinstance(value, float) else value


def _limit(value: Any, none: float) -> Any:
    return None if value == none else _scalar(value)


def _fill(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise InvalidArgument(f"fill_null: {value!r} is not UTF-8; use .map for other bytes") from None
    return _scalar(value)


def _floats(name: str, values: Any) -> list[float]:
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"{name} is {values!r}; it must be a list of numbers") from None


def _dtype_name(dtype: Any) -> str:
    if isinstance(dtype, str):
        return dtype
    import numpy as np

    return np.dtype(dtype).name


def _check_callable(fn: Any, name: str) -> None:
    if not callable(fn):
        raise InvalidArgument(f"{name}: {fn!r} is not a function")
