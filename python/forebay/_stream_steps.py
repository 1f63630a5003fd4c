"""Steps of pipelines whose source has no end."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, Iterable, Sequence

from ._appending import Appending

if TYPE_CHECKING:
    from .pipeline import Pipeline


class StreamSteps(Appending):
    """What a Pipeline has for streams."""

    __slots__ = ()

    def buffer(
        self,
        policy: str = "block",
        bytes: int | str = "64MiB",  # noqa: A002
        *,
        disk: int | str = "10GiB",
        dir: str | os.PathLike[str] | None = None,  # noqa: A002
        on_underrun: str = "wait",
    ) -> Pipeline:
        """What becomes of a stream's records while training does not take them, and what training gets while none come.

        Args:
            policy: "block": nothing is read that there is no room for, so that records wait where they are; nothing is lost. "drop_oldest": those
                go that have waited longest. "sample": at each step a uniform choice of all that came since the last one. "spill": to disk, and
                back in order; nothing is lost while there is room. What is dropped is counted by partition, in stats() and in states.
            bytes: of records in memory, as a number or "256MiB". What one batch needs is read in any case.
            disk: bytes of records on disk, with "spill"; beyond it records wait where they are.
            dir: the folder on disk, with "spill"; by default the system's for temporary files.
            on_underrun: what a step has where training waits for it. "wait": it waits until a whole batch has come. Else it has the records that have come, and
                old ones in the place of the others: "repeat": of the latest step that had new ones; "rehearse": of those that .rehearse() keeps, which says
                in `batch["rehearsed"]` which they are. Old records have the ids that they had. They are drawn at random, by the seed, and are augmented anew;
                states and journals hold them. In the first step there is nothing old, so it waits. stats()["stream"]["missing"] counts them.
        """
        folder = None if dir is None else os.fspath(dir)
        return self._then("buffer", policy=policy, bytes=bytes, disk=disk, dir=folder, on_underrun=on_underrun)

    def rehearse(
        self,
        n: int,
        capacity: int,
        *,
        by: str | None = "label",
        policy: str = "reservoir",
        candidates: int | None = None,
        where: str = "raw",
        ram: int | str | None = None,
    ) -> Pipeline:
        """`n` old samples in each batch beside the new ones, so that a model that learns from new data does not forget what was before.

        Before `.batch(b)`: a batch has the b new samples first, then n old ones (`batch["rehearsed"]`, bool). They are drawn uniformly from what was kept of
        the steps before; in the first step nothing is, and the batch has new ones alone. What is kept and what is drawn is a function of the seed, the samples
        and the steps: the same for any number of ranks, threads and after a resume. An old sample goes through the steps of the pipeline again, with random
        numbers of its own. Of a stream the records are kept, each by one of the ranks, in memory up to `.buffer(bytes=)`, then on disk, and lent from rank to
        rank ahead of the steps that have them; of a data set they are read again: a `.cache()` makes that cheap. Of
        tables and tar shards that takes their row groups; where="here" keeps rows instead.

        Args:
            n: old samples of a batch, per rank.
            capacity: how many are kept: of each class, or in all with policy="balanced" or by=None.
            by: the field of the source that tells the class: a whole number or a text, known without decoding; of tables, tar shards and lines any
                such field, which is read once when the loader is opened. None: one class.
            policy: "reservoir": of each class a uniform sample of all that came (Vitter 1985). "balanced": the classes share the places evenly
                (Chrysakis and Moens 2020). "recent": the latest.
            candidates: how many new samples of a step, over all ranks and drawn at random, may be kept; None: all.
            where: "raw": old samples go through all steps again. "here": they come in at this step as they were when they were new, and only the steps
                behind it (`.rehearse(…, where="here").random_crop(24).batch(b)`) are done anew; random steps before it are not drawn again.
                What the steps before made is kept in memory, so that they need not run again; results never depend on whether it is. `rehearsed` is
                a field of the samples from here on.
            ram: with where="here", bytes of memory for that, on each rank; None: 2 GiB, 0: none.
        """
        return self._then(
            "rehearse", n=n, capacity=capacity, by="" if by is None else by, policy=policy, candidates=candidates,
            where=None if where == "raw" else where, ram=ram)

    def only(self, **values: int | str | Sequence[int | str]) -> Pipeline:
        """Only the samples whose fields have one of the given values: `.only(label=[0, 1])`.

        Decided once over the data set, as a filter is; of fields that the index knows (labels of folders, arrays, columns of a manifest) without
        reading a sample. Ids stay those of the whole data set.

        Args:
            values: for each field a whole number or a text, or several.
        """
        plain = {}
        for name, wanted in values.items():
            many = isinstance(wanted, Iterable) and not isinstance(wanted, (str, bytes))
            plain[name] = [one if isinstance(one, str) else operator.index(one) for one in (wanted if many else [wanted])]
        return self._then("only", values=plain)
