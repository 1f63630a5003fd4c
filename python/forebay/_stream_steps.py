"""Steps of pipelines whose source has no end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .pipeline import Pipeline


class StreamSteps:
    """What a Pipeline has for streams."""

    __slots__ = ()

    def buffer(
        self,
        policy: str = "block",
        bytes: int | str = "64MiB",  # noqa: A002
        *,
        disk: int | str = "10GiB",
        dir: str | os.PathLike[str] | None = None,  # noqa: A002
        when_dry: str = "wait",
    ) -> Pipeline:
        """What becomes of a stream's records while training does not take them, and what training does while too few come.

        Args:
            policy: "block": nothing is read that there is no room for, so that records wait where they are; nothing is lost. "drop_oldest": those
                go that have waited longest. "sample": at each step a uniform choice of all that came since the last one. "spill": to disk, and
                back in order; nothing is lost while there is room. What is dropped is counted by partition, in stats() and in states.
            bytes: of records in memory, as a number or "256MiB". What one batch needs is read in any case.
            disk: bytes of records on disk, with "spill"; beyond it records wait where they are.
            dir: the folder on disk, with "spill"; by default the system's for temporary files.
            when_dry: "wait" for records, or "repeat" the latest ones, or "rehearse" those that `.rehearse` keeps.
        """
        folder = None if dir is None else os.fspath(dir)
        return self._then("buffer", policy=policy, bytes=bytes, disk=None if policy != "spill" else disk, dir=folder,
                          when_dry=None if when_dry == "wait" else when_dry)
