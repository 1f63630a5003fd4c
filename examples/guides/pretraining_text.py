"""Text for pre-training: documents become packed blocks of tokens.

python pretraining_text.py [FOLDER_OF_JSONL TOKENIZER_JSON]
"""
import sys
from pathlib import Path

import forebay as fb
import small_data


def trained_tokenizer(folder, path):
    """A byte-level BPE of 300 entries. A real one comes with your model, as tokenizer.json."""
    import json

    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    texts = (json.loads(line)["text"] for file in sorted(Path(folder).glob("*.jsonl")) for line in open(file))
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(str(path))
    return path


folder = sys.argv[1] if len(sys.argv) > 1 else small_data.books("books")
tokenizer = sys.argv[2] if len(sys.argv) > 2 else trained_tokenizer(folder, "tokenizer.json")

# --8<-- [start:pipeline]
pipeline = (
    fb.jsonl(f"{folder}/*.jsonl", fields={"text": "text"})
    .tokenize(tokenizer)
    .select("tokens")
    .pack(256)               # blocks of 256 tokens; decided once, for all epochs and ranks
    .shuffle()
    .batch(8)
)
# --8<-- [end:pipeline]

# --8<-- [start:loop]
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    print(loader.size, "blocks,", len(loader), "batches")
    for batch in loader:
        tokens, segments, positions = batch["tokens"], batch["segments"], batch["positions"]
    print("tokens", tokens.shape, tokens.dtype)
    print("documents in the first block:", segments[0].max())
    print("share of padding:", round(float((segments == 0).mean()), 3))
# --8<-- [end:loop]
