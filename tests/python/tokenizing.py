"""What the tests of `.tokenize()` share: ids by a loader, and SentencePiece's own table of characters."""
import io
import json

import numpy as np

import forebay as fb


def tokens(tmp_path, tokenizer, texts, loader={}, **options):
    """The ids of each text, by a loader."""
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    pipeline = fb.jsonl(str(tmp_path / "texts.jsonl")).tokenize(tmp_path / "tokenizer.json", **options).batch(100)
    found = []
    with fb.Loader(pipeline, **loader) as opened:
        for batch in opened:
            values, offsets = batch["tokens"]
            assert values.dtype == np.int32 and "text" not in batch
            found += [values[a:b].tolist() for a, b in zip(offsets[:-1], offsets[1:])]
    return found


def novels(shared):
    """Lines of real books."""
    lines = []
    for path in sorted((shared / "text" / "novels").rglob("*.txt")):
        lines += path.read_text(encoding="utf-8-sig").splitlines()[:3000]
    return lines


def _field(message, number):
    """The first field of that number in a protobuf message, if it is bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            varint()
        elif key & 7 == 2:
            size = varint()
            if key >> 3 == number:
                return message[at:at + size]
            at += size
        else:
            at += 4 if key & 7 == 5 else 8
    raise KeyError(number)


def charsmap(rule="nmt_nfkc"):
    """`precompiled_charsmap` of a model that SentencePiece makes by one of its own rules."""
    import sentencepiece

    made = io.BytesIO()
    lines = [f"{a} {b} some words to learn of {a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=made, vocab_size=30, normalization_rule_name=rule, minloglevel=3)
    return _field(_field(made.getvalue(), 3), 2)
