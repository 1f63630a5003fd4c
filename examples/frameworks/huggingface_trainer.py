"""Hugging Face's Trainer: the loader in place of its own, its place beside every checkpoint.

    python huggingface_trainer.py FOLDER
"""
import json
import sys
import tempfile
from pathlib import Path

import torch
from small_net import Dicts, SmallNet, photographs
from transformers import Trainer, TrainerCallback, TrainingArguments

import forebay as fb

STATE = "forebay.json"


class ForebayTrainer(Trainer):
    """Trains over a pipeline. `ignore_data_skip=True` in its arguments: the loader goes to its place by itself, at no cost."""

    def __init__(self, *, pipeline, fields, **others):
        super().__init__(**others)
        self.loader = fb.Loader(pipeline, seed=7, rank=self.args.process_index, world_size=self.args.world_size, output="torch")
        self.fields = fields
        self.add_callback(SavesPlace(self.loader))

    def get_train_dataloader(self):
        return Dicts(self.loader, self.fields)

    def train(self, resume_from_checkpoint=None, **others):
        if isinstance(resume_from_checkpoint, str):
            self.loader.load_state_dict(json.loads((Path(resume_from_checkpoint) / STATE).read_text()))
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **others)


class SavesPlace(TrainerCallback):
    def __init__(self, loader):
        self.loader = loader

    def on_save(self, args, state, control, **others):
        if state.is_world_process_zero:  # it is the same on all
            (Path(args.output_dir) / f"checkpoint-{state.global_step}" / STATE).write_text(json.dumps(self.loader.state_dict()))


class Seen(SmallNet):
    """Notes the labels of each step."""

    def __init__(self, classes):
        super().__init__(classes)
        self.seen = []

    def forward(self, image, labels=None):
        self.seen.append(labels.tolist())
        return super().forward(image, labels)


def train(folder, place, steps, checkpoint=None):
    torch.manual_seed(1)
    arguments = TrainingArguments(output_dir=place, max_steps=steps, save_steps=4, per_device_train_batch_size=4, use_cpu=True, report_to=[],
                                  disable_tqdm=True, ignore_data_skip=True, logging_strategy="no", remove_unused_columns=False)
    net = Seen(classes=3)
    trainer = ForebayTrainer(model=net, args=arguments, pipeline=photographs(folder), fields={"image": "image", "label": "labels"})
    trainer.train(resume_from_checkpoint=checkpoint)
    trainer.loader.close()
    return net.seen


def main(folder):
    with tempfile.TemporaryDirectory() as place:
        whole = train(folder, f"{place}/whole", 10)
        first = train(folder, f"{place}/parts", 4)
        rest = train(folder, f"{place}/parts", 10, checkpoint=f"{place}/parts/checkpoint-4")
    print("the same batches after a checkpoint in mid-epoch:", "yes" if first + rest == whole else "no")


if __name__ == "__main__":
    main(sys.argv[1])
