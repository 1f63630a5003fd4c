"""Imports MosaicML Streaming, which imports torchvision without need for what is measured here.

torchvision's native library fits only the torch it was built with. Where it does not (a CPU build of torch beside
torchvision from the package index), what Streaming takes from it is given as empty names.
"""

import importlib.machinery
import sys
import types

NEEDED = {"torchvision": (), "torchvision.datasets": ("VisionDataset",), "torchvision.transforms": (),
          "torchvision.transforms.functional": ("to_tensor",)}

try:
    import torchvision  # noqa: F401
except RuntimeError:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    for name, members in NEEDED.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)  # others ask whether it is there
        for member in members:
            setattr(sys.modules[name], member, type(member, (), {}))

import streaming  # noqa: E402,F401
