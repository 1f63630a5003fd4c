"""Hugging Face datasets: JSON lines, tokenized and padded. python huggingface_before.py FOLDER TOKENIZER_JSON"""
import sys

import datasets
from tokenizers import Tokenizer
from torch.utils.data import DataLoader

tokenizer = Tokenizer.from_file(sys.argv[2])
tokenizer.enable_padding(length=64)
tokenizer.enable_truncation(64)

datasets.disable_progress_bars()
data = datasets.load_dataset("json", data_files=f"{sys.argv[1]}/*.jsonl", split="train", cache_dir="hf_cache")
data = data.map(lambda rows: {"tokens": [one.ids for one in tokenizer.encode_batch(rows["text"])]}, batched=True, remove_columns=["text"])
loader = DataLoader(data.with_format("torch"), batch_size=16, shuffle=True)
total = 0
for batch in loader:
    total += int(batch["tokens"].sum())
print(len(data), "documents,", len(loader), "batches of", batch["tokens"].shape[1], "tokens, sum", total)
