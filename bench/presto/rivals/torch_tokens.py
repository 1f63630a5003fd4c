"""PyTorch's DataLoader with worker processes: selectolax (lexbor) or lxml takes the text, `tokenizers` encodes a batch at a time, one thread a worker."""

import glob
import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the workers are the parallelism: its threads beside them made it slower

import numpy as np
import tokenizers
import torch
from torch.utils.data import DataLoader, Dataset

BLOCKS = "h1, p, li"  # all text of these pages stands in them


def selectolax_text(page):
    from selectolax.lexbor import LexborHTMLParser
    return "\n".join(" ".join(block.text().replace("\u00a0", "\0").split()).replace("\0", "\u00a0") for block in LexborHTMLParser(page).css(BLOCKS))


def lxml_text(page):
    import lxml.html
    tree = lxml.html.document_fromstring(page.decode())
    return "\n".join(" ".join(block.text_content().replace("\u00a0", "\0").split()).replace("\0", "\u00a0") for block in tree.iter("h1", "p", "li"))


class Pages(Dataset):
    """Asked for a whole batch at a time."""

    def __init__(self, job):
        self.paths = sorted(glob.glob(os.path.join(job.folder, "*.html")))
        self.text = {"selectolax": selectolax_text, "lxml": lxml_text}[job.parser]
        self.tokenizer = tokenizers.Tokenizer.from_file(job.tokenizer)

    def __len__(self):
        return len(self.paths)

    def __getitems__(self, indices):
        texts = []
        for index in indices:
            with open(self.paths[index], "rb") as file:
                texts.append(self.text(file.read()))
        return self.tokenizer.encode_batch_fast(texts)


def collate(encoded):
    ids = [np.array(one.ids, np.int32) for one in encoded]
    offsets = np.zeros(len(ids) + 1, np.int64)
    np.cumsum([len(one) for one in ids], out=offsets[1:])
    return torch.from_numpy(np.concatenate(ids)), torch.from_numpy(offsets)


class Opened:
    def __init__(self, job):
        self.loader = DataLoader(Pages(job), batch_size=job.batch, num_workers=job.threads, collate_fn=collate, persistent_workers=True, prefetch_factor=4)
        self.about = {"name": f"DataLoader, {job.parser} and tokenizers", "version": f"torch {torch.__version__}, tokenizers {tokenizers.__version__}",
                      "settings": {"num_workers": job.threads, "prefetch_factor": 4, "encode_batch_fast": "a batch a call"}}

    def epoch(self):
        for values, offsets in self.loader:
            yield values.numpy(), offsets.numpy()

    def close(self):
        self.loader = None


def open_loader(job):
    return Opened(job)
