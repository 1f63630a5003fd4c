"""Steps that work on text and on what is made of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Sequence

from . import _core
from ._appending import Appending, _one_or_list
from ._user_exceptions import encodable

if TYPE_CHECKING:
    from .pipeline import Pipeline


class TextSteps(Appending):
    """What a Pipeline has for text, tokens and rows of different lengths."""

    __slots__ = ()

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
            file: a tokenizer.json, a local file: BPE of bytes (GPT-2, RoBERTa, Llama 3, Qwen 2, ...) or of characters (Llama 2, Mistral, Gemma, ...), WordPiece
                (BERT, ...) or Unigram (T5, XLNet, XLM-R, ...). Its `truncation` and `padding` are not looked at: see `max_length` and `.pad`.
            field: the field of str; the ids take its place.
            into: what the field of ids is called.
            special: with the ids that the tokenizer puts around each text, as `encode(add_special_tokens=...)`.
            max_length: ids of a text at most, these included, as `enable_truncation(max_length)`: what is beyond them is cut off; all by default.
            hash: of the file (xxh3-128), part of the pipeline's fingerprint; by default the file is read now. A loader refuses another file with
                StateMismatch.

        Unsupported when a loader is opened for tokenizers with parts that are not built in (docs/text.md has the list): call these in `.map`.
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
            field: the field of one axis, of numbers; of user code, too. Other fields (labels, masks) would be lost, which is InvalidArgument: leave them out by
                `.select("tokens")` before. `key` goes without a word.
            open_blocks: blocks that a row may still go into; the fullest is closed where there would be more. More leave less padding.
            pad_value: where no row stands.

        Rows of a table share blocks with those of the same row group only. Of bad samples (`on_error="skip"` or `"replace"`) the place stays
        empty. InvalidArgument where a row is not as long as when the lengths were taken: what stands before must give the same every time.
        """
        return self._then("pack", length=length, field=None if field == "tokens" else field,
                          open_blocks=None if open_blocks == 64 else open_blocks, pad_value=None if pad_value == 0 else pad_value)


def _hash_of(path: str, given: str | None) -> str | None:
    return given if given is not None else _core.file_hash(encodable(path)) or None
