"""Small data sets for the guides, the same on every run. Each function writes a folder, unless it is there, and returns its path."""
import csv
import json
import struct
import wave
from pathlib import Path

import numpy as np

CLASSES = ("cat", "dog", "fish")
WORDS = "the a small large red blue cat dog fish runs sleeps swims and near under house river today again never".split()


def write_picture(path, draw):
    from PIL import Image

    height, width = (int(side) for side in draw.integers(80, 200, 2))
    coarse = Image.fromarray(draw.integers(0, 256, (6, 6, 3), dtype=np.uint8))
    coarse.resize((width, height), Image.Resampling.BICUBIC).save(path, quality=90)


def sentence(draw):
    return " ".join(draw.choice(WORDS, int(draw.integers(4, 12))))


def photos(root, per_class=20, seed=0):
    """A folder per class with JPEG files."""
    root, draw = Path(root), np.random.default_rng(seed)
    for name in CLASSES:
        (root / name).mkdir(parents=True, exist_ok=True)
        for i in range(per_class):
            write_picture(root / name / f"{name}_{i:03d}.jpg", draw)
    return root


def masks(photos, root):
    """For each photograph but the first a PNG of its size in a folder of the same name: 1 where it is bright, else 0."""
    from PIL import Image

    photos, root = Path(photos), Path(root)
    for path in sorted(photos.rglob("*.jpg"))[1:]:
        mask = root / path.relative_to(photos).with_suffix(".png")
        mask.parent.mkdir(parents=True, exist_ok=True)
        grey = np.asarray(Image.open(path).convert("L"))
        Image.fromarray((grey > 128).astype(np.uint8)).save(mask)
    return root


def books(root, files=6, documents=50):
    """JSON lines, one document each, as most text corpora have them."""
    root, draw = Path(root), np.random.default_rng(1)
    root.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        with open(root / f"part-{number:03d}.jsonl", "w") as file:
            for _ in range(documents):
                file.write(json.dumps({"text": ". ".join(sentence(draw) for _ in range(int(draw.integers(1, 8))))}) + "\n")
    return root


def corpora(root, lines=(("web", 2400), ("code", 900), ("math", 300)), files=3):
    """A folder for each kind of text, with JSON lines."""
    root, draw = Path(root), np.random.default_rng(5)
    for name, count in lines:
        (root / name).mkdir(parents=True, exist_ok=True)
        for number in range(files):
            with open(root / name / f"part-{number}.jsonl", "w") as file:
                file.writelines(json.dumps({"text": f"{name} {sentence(draw)}"}) + "\n" for _ in range(count // files))
    return root


def megatron_files(root, documents=(("web", 1500), ("code", 600), ("math", 200), ("chats", 400)), vocabulary=1000):
    """Indexed data sets as Megatron-LM's preprocess_data.py writes them: tokens of documents in NAME.bin, and their places in NAME.idx.
    chats_mask has a number for each token of chats: 1 for those of the answer, behind the question."""
    root, draw = Path(root), np.random.default_rng(7)
    root.mkdir(parents=True, exist_ok=True)
    for name, count in documents:
        lengths = draw.integers(20, 200, count)
        tokens = draw.integers(1, vocabulary, int(lengths.sum())).astype("<u2")
        tokens[np.cumsum(lengths) - 1] = 0                     # the end of a document
        write_indexed(root / name, lengths, tokens)
        if name == "chats":
            questions = draw.integers(5, 15, count)
            write_indexed(root / "chats_mask", lengths, np.concatenate([np.arange(length) >= question for length, question in zip(lengths, questions, strict=True)]).astype("u1"))
    return root


def write_indexed(prefix, lengths, values):
    """An indexed data set of Megatron-LM, of uint16 or uint8."""
    values.tofile(f"{prefix}.bin")
    count, pointers = len(lengths), np.concatenate([[0], np.cumsum(lengths)[:-1] * values.itemsize])
    header = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, {1: 1, 2: 8}[values.itemsize], count, count + 1)         # version, type, sequences, documents
    arrays = lengths.astype("<i4"), pointers.astype("<i8"), np.arange(count + 1).astype("<i8")
    Path(f"{prefix}.idx").write_bytes(header + b"".join(array.tobytes() for array in arrays))


def questions(root, old=1000, new=4000):
    """A Parquet file with old questions and a file of JSON lines with new ones, with the same two fields."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    root, draw = Path(root), np.random.default_rng(6)
    root.mkdir(parents=True, exist_ok=True)
    rows = [{"text": sentence(draw), "score": int(draw.integers(0, 10))} for _ in range(old + new)]
    pq.write_table(pa.Table.from_pylist(rows[:old]), root / "old.parquet", row_group_size=100)
    with open(root / "new.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows[old:])
    return root


def chats(root, count=600):
    """A Parquet file with conversations: their tokens, and a mask that is 1 for those of the answer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    root, draw = Path(root), np.random.default_rng(8)
    root.mkdir(parents=True, exist_ok=True)
    rows = []
    for _ in range(count):
        question, answer = (int(1 + length) for length in draw.lognormal(2.5, 0.8, 2))
        rows.append({"tokens": draw.integers(3, 1000, question + answer), "loss_mask": [0] * question + [1] * answer})
    types = pa.schema({"tokens": pa.list_(pa.int32()), "loss_mask": pa.list_(pa.uint8())})
    pq.write_table(pa.Table.from_pylist(rows, schema=types), root / "chats.parquet", row_group_size=300)
    return root


def clicks(root, files=3, rows=4000):
    """Parquet files with numbers, a text, nulls and a list."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    root, draw = Path(root), np.random.default_rng(2)
    root.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        price = np.round(draw.exponential(20, rows), 2)
        table = pa.table({
            "label": draw.integers(0, 2, rows),
            "price": pa.array(price, pa.float32(), mask=draw.random(rows) < 0.1),
            "age": pa.array(draw.integers(18, 90, rows), pa.int32(), mask=draw.random(rows) < 0.2),
            "country": draw.choice(["de", "fr", "is", "pt"], rows),
            "visits": [list(range(int(n))) for n in draw.integers(0, 5, rows)],
        })
        pq.write_table(table, root / f"part-{number}.parquet", row_group_size=1000)
    return root


def speech(root, speakers=("ann", "bob"), each=8, rate=8000):
    """WAV files of tones, between half a second and one and a half."""
    root, draw = Path(root), np.random.default_rng(3)
    for name in speakers:
        (root / name).mkdir(parents=True, exist_ok=True)
        for i in range(each):
            time = np.arange(int(draw.uniform(0.5, 1.5) * rate)) / rate
            tone = 0.4 * np.sin(2 * np.pi * draw.uniform(200, 900) * time)
            with wave.open(str(root / name / f"{i}.wav"), "wb") as file:
                file.setnchannels(1), file.setsampwidth(2), file.setframerate(rate)
                file.writeframes(struct.pack(f"<{len(tone)}h", *(tone * 32767).astype(int)))
    return root


def noises(root, kinds=(("rain", 3), ("street", 5)), rate=8000):
    """WAV files of noise, two seconds each, in a folder for each kind; and noises.csv with the columns path and kind."""
    root, draw = Path(root), np.random.default_rng(6)
    rows = []
    for name, count in kinds:
        (root / name).mkdir(parents=True, exist_ok=True)
        for i in range(count):
            noise = np.clip(0.1 * draw.standard_normal(2 * rate), -1, 1)
            with wave.open(str(root / name / f"{i}.wav"), "wb") as file:
                file.setnchannels(1), file.setsampwidth(2), file.setframerate(rate)
                file.writeframes(struct.pack(f"<{len(noise)}h", *(noise * 32767).astype(int)))
            rows.append(f"{name}/{i}.wav,{name}\n")
    (root / "noises.csv").write_text("path,kind\n" + "".join(rows))
    return root / "noises.csv"


def pairs(root, count=48):
    """Pictures, and captions.csv with the columns path and caption."""
    root, draw = Path(root), np.random.default_rng(4)
    (root / "pictures").mkdir(parents=True, exist_ok=True)
    with open(root / "captions.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["path", "caption"])
        for i in range(count):
            write_picture(root / "pictures" / f"{i:04d}.jpg", draw)
            rows.writerow([f"pictures/{i:04d}.jpg", sentence(draw)])
    return root


def tokenizer(books, path):
    """A byte-level BPE of 300 entries, trained on the books. A real one comes with your model, as tokenizer.json."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator((json.loads(line)["text"] for file in sorted(Path(books).glob("*.jsonl")) for line in open(file)), trainer)
    made.save(str(path))
    return path


def words_tokenizer(path):
    """Words by their place in a small vocabulary."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordPiece({word: number for number, word in enumerate(["[PAD]", "[UNK]", *WORDS])}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(path))
    return path
