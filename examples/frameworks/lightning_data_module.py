"""Lightning: a DataModule whose place is part of every checkpoint, so that training goes on in the middle of an epoch.

    python lightning_data_module.py FOLDER
"""
import logging
import sys
import tempfile
import warnings

import lightning
import torch
from small_net import Dicts, SmallNet, photographs

import forebay as fb


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


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.seen, self.validated = SmallNet(classes=3), [], []

    def training_step(self, batch, index):
        self.seen.append(batch["label"].tolist())
        return self.net(batch["image"], batch["label"])["loss"]

    def validation_step(self, batch, index):
        self.validated.append(batch["label"].tolist())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def train(folder, steps, checkpoint=None, save=None):
    lightning.seed_everything(1)
    module = Module()
    trainer = lightning.Trainer(max_steps=steps, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, limit_val_batches=2, check_val_every_n_epoch=1)
    trainer.fit(module, datamodule=Photographs(folder), ckpt_path=checkpoint)
    if save:
        trainer.save_checkpoint(save)
    return module.seen, module.validated


def main(folder):
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    whole, validated = train(folder, 10)
    with tempfile.TemporaryDirectory() as place:
        first, _ = train(folder, 4, save=f"{place}/4.ckpt")
        rest, _ = train(folder, 10, checkpoint=f"{place}/4.ckpt")
    print("the same batches after a checkpoint in mid-epoch:", "yes" if first + rest == whole else "no")
    print("the same batches in each validation:", "yes" if validated[2:] and validated[2:4] == validated[:2] else "no")


if __name__ == "__main__":
    main(sys.argv[1])
