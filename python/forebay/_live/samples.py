"""The first samples of the current batch: pictures, sound, text and numbers for a browser."""

from __future__ import annotations

import base64
import io
import itertools
import re
import struct
import threading
import time
import wave
import zlib
from typing import TYPE_CHECKING, Any, Sequence

from .._numpy import np

if TYPE_CHECKING:
    from ..loader import Loader

_MOST_SAMPLES = 8
_MOST_BYTES = 16 << 20  # of the copied rows of a field
_INTERVAL_S, _LOOKED_AT_S = 1.0, 3.0  # between two batches; after the last look of a browser
_PICTURE_SIDE = 128  # pixels
_LEAST_SIDE = 4  # of a picture; smaller arrays are numbers
_MOST_SOUNDS, _SOUND_S = 4, 5  # that are sent, and seconds of each
_LEAST_SOUND = 800  # values of the shortest sound
_PEAKS = 130  # of a drawn sound
_MOST_NUMBERS, _MOST_LETTERS = 64, 600


class SampleView:
    """Copies the first rows of a batch, at most once a second, and only while somebody looks. It
    holds the rows of one batch.

    The trainer's thread copies; the threads of browsers make pictures and sound of the copy.
    """

    def __init__(self, loader: Loader) -> None:
        self.number = 0  # of the batch that is shown; 0 before the first
        rate = re.findall(r"\brate=(\d+)", str(loader.pipeline))
        self._rate = int(rate[-1]) if rate else None
        self._classes = loader._core.classes()
        self._wanted_until_s = 0.0
        self._next_s = 0.0
        self._lock = threading.Lock()
        self._copied: dict[str, Any] | None = None
        self._shown: dict[str, Any] | None = None

    def want(self) -> None:
        """Says that somebody looks."""
        self._wanted_until_s = time.monotonic() + _LOOKED_AT_S

    def offer(self, batch: Any) -> None:
        """Copies the first rows, if it is time to. Costs nothing otherwise."""
        now = time.monotonic()
        if not self._next_s <= now < self._wanted_until_s:
            return
        self._next_s = now + _INTERVAL_S
        copied = {
            "epoch": batch.epoch, "step": batch.step, "rows": len(batch), "ids": batch.ids[:_MOST_SAMPLES].tolist(),
            "fields": [_copied_field(batch, name) for name in batch],
        }
        with self._lock:
            self._copied, self._shown = copied, None
            self.number += 1

    def shown(self) -> dict[str, Any] | None:
        """Returns the batch as plain values. None before the first."""
        with self._lock:
            if self._copied is None:
                return None
            if self._shown is None:
                self._shown = self._show(self._copied)
            return self._shown

    def _show(self, copied: dict[str, Any]) -> dict[str, Any]:
        titles = [f"id {one}" for one in copied["ids"]]
        for field in copied["fields"]:
            if field["name"] == "label" and self._classes and isinstance(field["rows"], list):
                titles = [f"{title}: {self._classes[int(label)]}" for title, label in zip(titles, field["rows"])]
        return {
            **{name: copied[name] for name in ("epoch", "step", "rows")}, "shown": len(titles),
            "fields": [_field(field, titles, self._rate) for field in copied["fields"]],
        }


def _copied_field(batch: Any, name: str) -> dict[str, Any]:
    """Returns name, type and the first rows of a field. The user may change the batch later."""
    try:
        value = batch[name]
        if isinstance(value, tuple):
            values, offsets = value
            ends = np.asarray(offsets[: _MOST_SAMPLES + 1]).tolist()
            return {"name": name, "type": f"{_dtype(values)}, ragged", "rows": _within([_copy(values[a:b]) for a, b in itertools.pairwise(ends)])}
        if isinstance(value, list):
            return {"name": name, "type": type(value[0]).__name__ if value else "list", "rows": value[:_MOST_SAMPLES]}
        return {"name": name, "type": f"{_dtype(value)} {tuple(value.shape)}", "rows": [_copy(row) for row in value[: _fitting(value)]]}
    except Exception as error:  # a type that nobody thought of does not end the training
        return {"name": name, "type": "cannot be shown", "rows": f"{type(error).__name__}: {error}"}


def _dtype(array: Any) -> str:
    return str(array.dtype).removeprefix("torch.")


def _fitting(array: Any) -> int:
    """Returns how many rows of an array are copied; at least one."""
    of_row = max(1, int(np.prod(array.shape[1:])) * array.dtype.itemsize)
    return max(1, min(_MOST_SAMPLES, _MOST_BYTES // of_row))


def _within(rows: list[Any]) -> list[Any]:
    sizes = itertools.accumulate(row.nbytes for row in rows)
    return [row for i, (row, size) in enumerate(zip(rows, sizes)) if i == 0 or size <= _MOST_BYTES]


def _copy(row: Any) -> np.ndarray:
    if "bfloat16" in str(row.dtype):
        row = row.float() if hasattr(row, "float") else row.astype("float32")
    return np.asarray(row).copy()


def _field(field: dict[str, Any], titles: Sequence[str], rate: int | None) -> dict[str, Any]:
    rows = field["rows"]
    told = {"name": field["name"], "type": field["type"]}
    if isinstance(rows, str) or not rows:
        return {**told, "kind": "texts", "items": [{"text": rows or "no rows", "title": ""}]}
    if not isinstance(rows[0], np.ndarray):
        return {**told, "kind": "texts", "items": [{"text": _text(row), "title": title} for row, title in zip(rows, titles)]}
    pictures = [_pixels(row) for row in rows]
    if all(picture is not None for picture in pictures):
        return {**told, "kind": "pictures", "items": [{"src": _url("image/png", _png(one)), "title": title} for one, title in zip(pictures, titles)]}
    if all(map(_is_sound, rows)):
        hz = rate or 16_000
        note = "" if rate else ", 16 kHz assumed"
        return {**told, "kind": "sounds", "items": [_sound(row, hz, f"{title}, {row.size / hz:.2f} s{note}") for row, title in zip(rows[:_MOST_SOUNDS], titles)]}
    if all(row.ndim == 0 for row in rows):
        return {**told, "kind": "texts", "items": [{"text": ", ".join(_number(row) for row in rows), "title": ""}]}
    return {**told, "kind": "texts", "items": [{"text": _numbers(row), "title": title} for row, title in zip(rows, titles)]}


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError:
            return f"{len(value)} bytes: {value[:24].hex(' ')} …"
    text = value if isinstance(value, str) else ", ".join(map(_text, value[:_MOST_NUMBERS]))
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]} … ({len(text)} letters)"


def _number(value: Any) -> str:
    return f"{value.item():.4g}" if value.dtype.kind == "f" else str(value.item())


def _numbers(row: np.ndarray) -> str:
    flat = row.reshape(-1)
    more = f" … ({flat.size} values)" if flat.size > _MOST_NUMBERS else ""
    return " ".join(_number(value) for value in flat[:_MOST_NUMBERS]) + more


# Pictures


def _pixels(row: np.ndarray) -> np.ndarray | None:
    """Returns a row as uint8 (height, width, 1 or 3). None if it is no picture."""
    if row.ndim == 3 and row.shape[0] in (1, 3, 4) and row.shape[2] not in (1, 3, 4):
        row = row.transpose(1, 2, 0)
    if row.ndim == 2 and row.dtype.kind == "f":  # a spectrogram, or a grey picture
        row = row[:, :, None]
    if row.ndim != 3 or row.shape[2] not in (1, 3, 4) or min(row.shape[:2]) < _LEAST_SIDE or row.dtype.kind not in "buif":
        return None
    return _bytes_of(_smaller(row[:, :, :3] if row.shape[2] == 4 else row))


def _smaller(pixels: np.ndarray) -> np.ndarray:
    """Returns the means of squares of pixels, so that no side is longer than _PICTURE_SIDE."""
    height, width, channels = pixels.shape
    by = -(-max(height, width) // _PICTURE_SIDE)
    if by == 1 or min(height, width) < by:
        return pixels
    squares = pixels[: height // by * by, : width // by * by].reshape(height // by, by, width // by, by, channels)
    return squares.mean((1, 3)).astype(pixels.dtype)


def _bytes_of(pixels: np.ndarray) -> np.ndarray:
    """Returns pixels as uint8. Normalized ones are spread over all brightnesses."""
    if pixels.dtype == np.uint8:
        return pixels
    values = np.nan_to_num(pixels.astype(np.float64))
    low, high = (0.0, 1.0) if pixels.dtype.kind == "f" and values.min() >= 0 and values.max() <= 1 else (values.min(), values.max())
    return ((values - low) * (255 / (high - low or 1))).clip(0, 255).astype(np.uint8)


def _png(pixels: np.ndarray) -> bytes:
    height, width, channels = pixels.shape

    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)  # a filter type begins each line
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(lines.tobytes(), 1)) + part(b"IEND", b"")


# Sound


def _is_sound(row: np.ndarray) -> bool:
    return row.dtype.kind == "f" and (row.ndim == 1 or row.ndim == 2 and row.shape[0] <= 2) and row.shape[-1] >= _LEAST_SOUND


def _sound(row: np.ndarray, hz: int, title: str) -> dict[str, Any]:
    values = np.nan_to_num(row if row.ndim == 1 else row.mean(0)).astype(np.float64)
    spans = np.array_split(np.abs(values), _PEAKS)
    loudest = max(float(np.abs(values).max()), 1e-9)
    return {"src": _url("audio/wav", _wav(values[: _SOUND_S * hz], hz)), "title": title,
            "peaks": [round(float(span.max()) / loudest, 3) for span in spans]}


def _wav(values: np.ndarray, hz: int) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(hz)
        sound.writeframes((values.clip(-1, 1) * 32767).astype("<i2").tobytes())
    return file.getvalue()


def _url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
