"""Hugging Face's Trainer: the loader in place of its own, its position beside every checkpoint.

    python huggingface_trainer.py FOLDER CHECKPOINTS

Run it again after a kill: it goes on from its last checkpoint, in the middle of an epoch.
"""
import json
import sys
from pathlib import Path

import torch
from small_net import SAVE_EVERY, STEPS, Dicts, SmallNet, photographs, report
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

import forebay as fb

# --8<-- [start:trainer]
STATE = "forebay.json"


class ForebayTrainer(Trainer):
    """Trains over a pipeline. `ignore_data_skip=True` in its arguments: the loader goes to its position by itself, at no cost."""

    def __init__(self, *, pipeline, fields, **others):
        super().__init__(**others)
        self.loader = fb.Loader(pipeline, seed=7, rank=self.args.process_index, world_size=self.args.world_size, output="torch")
        self.fields = fields
        self.add_callback(SavesPosition(self.loader))

    def get_train_dataloader(self):
        return Dicts(self.loader, self.fields)

    def train(self, resume_from_checkpoint=None, **others):
        if isinstance(resume_from_checkpoint, str):
            self.loader.load_state_dict(json.loads(Path(resume_from_checkpoint, STATE).read_text()))
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **others)


class SavesPosition(TrainerCallback):
    def __init__(self, loader):
        self.loader = loader

    def on_save(self, args, state, control, **others):
        if state.is_world_process_zero:  # it is the same on all
            Path(args.output_dir, f"checkpoint-{state.global_step}", STATE).write_text(json.dumps(self.loader.state_dict()))
# --8<-- [end:trainer]


class Reporting(ForebayTrainer):
    def training_step(self, *args, **others):
        loss = super().training_step(*args, **others)
        report(self.state.global_step + 1, loss)
        return loss


def main(folder, checkpoints):
    torch.manual_seed(1)
    # --8<-- [start:train]
    arguments = TrainingArguments(output_dir=checkpoints, max_steps=STEPS, save_steps=SAVE_EVERY, ignore_data_skip=True, remove_unused_columns=False,
                                  per_device_train_batch_size=4, use_cpu=True, report_to=[], disable_tqdm=True, logging_strategy="no")
    trainer = Reporting(model=SmallNet(classes=3), args=arguments, pipeline=photographs(folder), fields={"image": "image", "label": "labels"})
    trainer.train(resume_from_checkpoint=get_last_checkpoint(checkpoints) if Path(checkpoints).exists() else None)
    # --8<-- [end:train]
    trainer.loader.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
