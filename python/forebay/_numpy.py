"""NumPy, which is imported when it is first used: it takes longer than all the rest of `import forebay`."""

from __future__ import annotations

from ._typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    import numpy as np
else:

    class _NumPyWhenUsed:
        def __getattr__(self, name: str) -> Any:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)  # the next use finds it without this function
            return value

    np = _NumPyWhenUsed()
