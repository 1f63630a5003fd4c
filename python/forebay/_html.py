"""What a notebook shows for a pipeline and for a batch, as HTML of bounded size.

Everything from data (names, options, texts) is escaped, and the HTML loads nothing.
"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import TYPE_CHECKING, Any

from ._numpy import np

if TYPE_CHECKING:
    from . import _core
    from .pipeline import Pipeline

MOST_STEPS = 100
MOST_FIELDS = 50
MOST_PICTURES = 8
MOST_TEXTS = 8
MOST_CHARACTERS = 200  # of a text or of the options of an operator
PICTURE_SIDE = 96  # pixels
_RED = "#d32f2f"  # readable on the white and on the dark page of a notebook
_LEFT = "text-align: left; vertical-align: top"


def pipeline_html(pipeline: Pipeline) -> str:
    """Returns a table of the steps, top to bottom, and what `check()` finds wrong. Touches no
    storage.
    """
    lines = str(pipeline).split("\n")
    problems = _problems(pipeline)
    if pipeline._description.depth() > 0:
        return _tree(lines) + problems
    rows = [_step(number, line) for number, line in enumerate(lines[:MOST_STEPS])]
    return _table("Pipeline", ("", "operator", "options"), rows, len(lines) - len(rows), "steps") + problems


def _problems(pipeline: Pipeline) -> str:
    found = [f"<li><b>{_text(one.operator)}</b>: {_text(one.message)}; {_text(one.remedy)}</li>" for one in pipeline.check()[:MOST_STEPS]]
    return f'<div style="color: {_RED}">problems:<ul>{"".join(found)}</ul></div>' if found else ""


def _tree(lines: list[str]) -> str:
    """Returns a pipeline with parts as `print` shows it, since a table cannot show what is within what."""
    shown = "\n".join(_text(line) for line in lines[:MOST_STEPS])
    more = f"\nand {len(lines) - MOST_STEPS} more lines" if len(lines) > MOST_STEPS else ""
    pre = f'<pre style="{_LEFT}; font-family: monospace">{shown}{more}</pre>'
    return f"<table>{_caption('Pipeline')}<tbody><tr><td>{pre}</td></tr></tbody></table>"


def batch_html(batch: _core.Batch[Any]) -> str:
    """Returns a table of the fields with type, shape, bytes and their first values: pictures as
    thumbnails, texts decoded.
    """
    fields = batch._descriptions()
    rows = [(_text(name), _text(kind), _size(size), _preview(batch, name, kind)) for name, kind, size in fields[:MOST_FIELDS]]
    padding = f", the last {batch.padding} are padding" if batch.padding else ""
    title = f"Batch of epoch {batch.epoch}, step {batch.step}: {len(batch)} rows{padding}"
    return _table(title, ("field", "type", "bytes", f"first {MOST_TEXTS}"), rows, len(fields) - len(rows), "fields")


def _table(title: str, heads: tuple[str, ...], rows: list[tuple[str, ...]], left_out: int, what: str) -> str:
    # The last column takes the room: names, types and numbers stay on one line.
    cells = [f'<td style="{_LEFT}; white-space: nowrap">'] * (len(heads) - 1) + [f'<td style="{_LEFT}">']
    body = "".join(f"<tr>{''.join(f'{cell}{value}</td>' for cell, value in zip(cells, row))}</tr>" for row in rows)
    more = f'<tr><td colspan="{len(heads)}">and {left_out} more {what}</td></tr>' if left_out else ""
    head = "".join(f'<th style="text-align: left">{one}</th>' for one in heads)
    return f"<table>{_caption(title)}<thead><tr>{head}</tr></thead><tbody>{body}{more}</tbody></table>"


def _caption(title: str) -> str:
    return f'<caption style="text-align: left; font-weight: bold">{title}</caption>'


def _step(number: int, line: str) -> tuple[str, ...]:
    name, _, options = line.strip().lstrip(".").partition("(")
    return ("source" if number == 0 else "&darr;", _code(name), _code(options[:-1]))


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>" if text else ""  # an empty one is a grey box


def _text(text: str) -> str:
    """Returns the text escaped; a long one is cut."""
    return html.escape(text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…")


def _size(size: int) -> str:
    return f"{size:,}"


def _preview(batch: _core.Batch[Any], name: str, kind: str) -> str:
    if kind.startswith("list["):
        return ""
    if "bfloat16" in kind:
        return ""  # NumPy has no such type
    parts = [np.asarray(part) for part in batch.buffers(name)]
    if kind in ("str", "bytes"):
        return "<br>".join(_code(one) for one in _strings(*parts, decode=kind == "str"))
    if len(parts) > 1:  # ragged
        return f"lengths {_code(_numbers(np.diff(parts[1][: MOST_TEXTS + 1])))}"
    values = parts[0]
    if (pictures := _pictures(values)) is not None:
        return "".join(_thumbnail(picture) for picture in pictures)
    return _code(_numbers(values[:MOST_TEXTS].ravel()[:MOST_TEXTS]))


def _numbers(values: np.ndarray[Any, Any]) -> str:
    """Returns the numbers one after another; floats have four digits."""
    return ", ".join(f"{one:.4g}" if isinstance(one, float) else str(one) for one in values.tolist())


def _strings(values: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any], decode: bool) -> list[str]:
    rows = []
    for begin, end in zip(offsets[:MOST_TEXTS], offsets[1 : MOST_TEXTS + 1]):
        # A character has at most four bytes; the rest of a long text is not copied.
        some = values[begin : min(end, begin + 4 * MOST_CHARACTERS + 4)].tobytes()
        rows.append(some.decode("utf-8", "replace") if decode else repr(some[:MOST_CHARACTERS]))
    return rows


def _pictures(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Returns the first rows as (n, height, width, channels), or None if they are no pictures."""
    if values.ndim != 4 or values.dtype.kind not in "uif" or 0 in values.shape:
        return None
    some = values[:MOST_PICTURES]
    if some.shape[3] not in (1, 3, 4) and some.shape[1] in (1, 3, 4):
        some = some.transpose(0, 2, 3, 1)
    return some if some.shape[3] in (1, 3, 4) else None


def _thumbnail(picture: np.ndarray[Any, Any]) -> str:
    """Returns an inline PNG of at most PICTURE_SIDE pixels a side. Only the pixels that it shows are
    read.
    """
    stride = -(-max(picture.shape[:2]) // PICTURE_SIDE)
    data = base64.b64encode(_png(_bytes(picture[::stride, ::stride]))).decode()
    return f'<img src="data:image/png;base64,{data}" style="display: inline-block; margin: 1px">'


def _bytes(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns the pixels as uint8. Other types than uint8 are stretched to their own range."""
    if pixels.dtype == np.uint8:
        return pixels
    wide = np.nan_to_num(pixels.astype(np.float64), posinf=0, neginf=0)
    low, high = wide.min(), wide.max()
    return ((wide - low) * (255 / (high - low) if high > low else 0)).round().astype(np.uint8)


def _png(pixels: np.ndarray[Any, Any]) -> bytes:
    """Encodes (height, width, channels) uint8."""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts)
