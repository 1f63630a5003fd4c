"""What runs here: Forebay, its compiler, its libraries and its modules."""

from __future__ import annotations

from . import _core
from ._pyarrow import find_pyarrow
from ._typing import Any


def versions() -> dict[str, Any]:
    """Returns the versions of everything that runs, to be attached to a report of a defect. The same
    as `forebay --version --json` prints.

    Returns:
        "forebay" (the version), "revision" (the commit that was built, "" if unknown), "compiler",
        "processor" (instruction sets of this processor that Forebay has code for), "libraries"
        (version by name), and "modules": by name a dict of "loads" (bool) and "detail" (the
        libraries of the module, or why it does not load and the remedy). A module is a part of
        Forebay that is loaded when it is first used. This call loads all of them.
    """
    import json  # imported here so that importing the package stays fast

    find_pyarrow()
    return json.loads(_core.versions())
