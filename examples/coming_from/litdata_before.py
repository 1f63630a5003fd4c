"""LitData: tokens written once, then streamed in blocks. python litdata_before.py FOLDER TOKENIZER_JSON"""
import json
import sys
from functools import partial
from pathlib import Path

import litdata
import torch
from tokenizers import Tokenizer


def tokens_of(path, tokenizer):
    encode = Tokenizer.from_file(tokenizer).encode
    for line in open(path):
        yield torch.tensor(encode(json.loads(line)["text"]).ids, dtype=torch.int32)


if __name__ == "__main__":
    files = [str(path) for path in sorted(Path(sys.argv[1]).glob("*.jsonl"))]
    litdata.optimize(partial(tokens_of, tokenizer=sys.argv[2]), files, output_dir="optimized", chunk_bytes="1MB", num_workers=1,
                     item_loader=litdata.TokensLoader(block_size=256))
    data = litdata.StreamingDataset("optimized", item_loader=litdata.TokensLoader(block_size=256), shuffle=True, seed=7)
    for block in data:
        pass
    print("blocks of", len(block), "tokens")
