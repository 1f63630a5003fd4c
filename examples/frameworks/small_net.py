"""What the examples train: a small network over photographs of a folder."""
import torch
from torch import nn

import forebay as fb

torch.set_num_threads(1)  # or sums, and so the last digits of a loss, could differ from run to run

STEPS = 12
SAVE_EVERY = 4


# --8<-- [start:pipeline]
def photographs(folder, batch=4):
    """Tensors of 32 × 32 and labels; the last batch is as long as all others."""
    return (fb.images(folder).shuffle().decode_image().random_resized_crop(32).random_flip().normalize(fb.IMAGENET)
            .select("image", "label").batch(batch, last="pad"))
# --8<-- [end:pipeline]


class SmallNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, classes))

    def forward(self, image, labels=None):
        scores = self.layers(image)
        if labels is None:
            return scores
        return {"loss": nn.functional.cross_entropy(scores, labels), "logits": scores}


# --8<-- [start:dicts]
class Dicts:
    """A loader's batches as dicts of tensors, which frameworks know how to move to their devices; all else is the loader's."""

    def __init__(self, loader, names):
        self.loader, self.names = loader, names  # field → what it is called here

    def __iter__(self):
        for batch in self.loader:
            yield {name: torch.as_tensor(batch[field]) for field, name in self.names.items()}

    def __len__(self):
        return len(self.loader)

    def set_epoch(self, epoch):
        self.loader.set_epoch(epoch)
# --8<-- [end:dicts]


def report(step, loss, file=None):
    """Prints the loss of a step to its last digit."""
    print(f"step {step}: loss {loss.item()!r}", flush=True, file=file)
