"""Lightning: a DataModule whose position is part of every checkpoint.

    python lightning_data_module.py FOLDER CHECKPOINTS

Run it again after a kill: it goes on from its last checkpoint, in the middle of an epoch.
"""
import logging
import sys
import warnings
from pathlib import Path

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from small_net import SAVE_EVERY, STEPS, Dicts, SmallNet, photographs, report

import forebay as fb


# --8<-- [start:module]
class Photographs(lightning.LightningDataModule):
    def __init__(self, folder):
        super().__init__()
        self.pipeline, self.loader, self.saved = photographs(folder), None, None

    def train_dataloader(self):
        if self.loader is None:  # here the processes of a job are there, and Lightning knows their ranks
            self.loader = fb.Loader(self.pipeline, seed=7, rank=self.trainer.global_rank, world_size=self.trainer.world_size, output="torch")
            if self.saved is not None:
                self.loader.load_state_dict(self.saved)
        return Dicts(self.loader, {"image": "image", "label": "label"})

    def val_dataloader(self):
        # restart=True: a sanity check and limit_val_batches leave it in the middle, and each validation begins anew.
        loader = fb.Loader(self.pipeline, rank=self.trainer.global_rank, world_size=self.trainer.world_size, output="torch", restart=True)
        return Dicts(loader, {"image": "image", "label": "label"})

    def state_dict(self):
        return {"loader": self.saved if self.loader is None else self.loader.state_dict()}

    def load_state_dict(self, state):
        self.saved = state["loader"]

    def teardown(self, stage):
        if self.loader is not None:
            self.saved = self.loader.state_dict()  # a checkpoint may be asked for behind the end of fit()
            self.loader.close()
            self.loader = None
# --8<-- [end:module]


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.validated = SmallNet(classes=3), []

    def training_step(self, batch, index):
        loss = self.net(batch["image"], batch["label"])["loss"]
        report(self.global_step + 1, loss)
        return loss

    def validation_step(self, batch, index):
        self.validated.append(batch["label"].tolist())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


def main(folder, checkpoints):
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    lightning.seed_everything(1)
    module = Module()
    # --8<-- [start:fit]
    saving = ModelCheckpoint(checkpoints, every_n_train_steps=SAVE_EVERY, save_last=True)
    trainer = lightning.Trainer(max_steps=STEPS, callbacks=[saving], accelerator="cpu", devices=1, limit_val_batches=2, logger=False,
                                enable_progress_bar=False, enable_model_summary=False)
    last = Path(checkpoints, "last.ckpt")
    trainer.fit(module, datamodule=Photographs(folder), ckpt_path=last if last.exists() else None)
    # --8<-- [end:fit]
    validations = {str(module.validated[i:i + 2]) for i in range(0, len(module.validated), 2)}
    print("the same batches in each validation:", "yes" if len(validations) == 1 else "no")


if __name__ == "__main__":
    main(*sys.argv[1:])
