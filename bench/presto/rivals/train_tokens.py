"""Trains a tokenizer of GPT-2's kind on the text of the pages."""

import glob
import html
import os
import re

from tokenizers import Tokenizer, models, pre_tokenizers, trainers


def train(job):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    texts = (html.unescape(re.sub(r"<[^>]*>", "", open(path, encoding="utf-8").read().partition("<main>")[2]))
             for path in sorted(glob.glob(os.path.join(job.folder, "*.html")))[:500])
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=16000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.save(job.path)
    return {"seconds": 0.0}
