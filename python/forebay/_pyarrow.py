"""The place of the installed pyarrow."""

import importlib.util
import os

from . import _core


def find_pyarrow() -> None:
    """Tells the engine the folder of the pyarrow that `import pyarrow` would import, and does not
    import it. The engine loads Arrow's libraries from there with the first table."""
    try:
        found = importlib.util.find_spec("pyarrow")
    except (ImportError, ValueError):  # ValueError: a stand-in in sys.modules without a spec
        return
    if found is not None and found.origin is not None:
        _core.look_for_arrow_in(os.path.dirname(found.origin))
