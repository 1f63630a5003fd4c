"""The reader: rebuilds whole row groups from a loader's batches."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any, Iterator

import numpy as np

from ..errors import InvalidArgument
from ..loader import Loader
from ..pipeline import Pipeline
from ._values import Column, Schema, SchemaField, array_of, finished, frame_of, in_rows, join, masks_of, numpy_type, python_names, take

_MOST_ROWS = 65_536  # most rows of a batch; larger row groups are assembled from several batches


@dataclass
class Settings:
    """The settings that the arguments result in."""

    shuffle_row_groups: bool
    shuffle_rows: bool
    num_epochs: int | None
    predicate: Any
    transform_spec: Any
    cache: tuple[str | None, str | None, int | None]
    options: dict[str, Any]


class Reader:
    """Iterates over namedtuples of arrays, one per row group. `make_batch_reader` creates it. Use
    it from one thread at a time.

    Attributes:
        num_epochs: as given.
        schema: the fields; `schema.fields` by name.
        last_row_consumed: whether all epochs have been read.
        batched_output, is_batched_reader: True.
        ngram: None.
    """

    batched_output = True
    is_batched_reader = True
    ngram = None

    def __init__(self, source: Pipeline, schema_fields: Any, settings: Settings) -> None:
        self.num_epochs: int | None = settings.num_epochs
        self.last_row_consumed: bool = False
        self.stopped: bool = False
        self._settings = settings
        # Reads the files' indexes for the columns and the beginnings of row groups. The loader
        # below reuses what was opened.
        with Loader(source, **_of_one(settings.options)) as look:
            found, self._begins = look._core.source_fields(), np.array(look._core.row_groups(), dtype=np.int64)
            opened = Pipeline(look._core.opened())
        self._fields, self._columns = _chosen(found, schema_fields, settings.transform_spec)
        self.schema: Any = _transformed(self._fields, settings.transform_spec)
        if settings.predicate is not None:
            _check_predicate(settings.predicate)
        columns = self._columns.values()
        names = [column.source for column in columns] + [mask for column in columns for mask in column.masks]
        self._pipeline = self._steps(opened.select(*names))
        self._open()

    def _open(self) -> None:
        self._loader = Loader(self._pipeline, epochs=self.num_epochs, **self._settings.options)
        self._groups = self._all()
        self._failed: Exception | None = None

    def _steps(self, pipeline: Pipeline) -> Pipeline:
        kind, location, limit = self._settings.cache
        if kind == "local-disk":
            if location is None or limit is None:
                raise ValueError("cache_type='local-disk' needs cache_location= and cache_size_limit=")
            pipeline = pipeline.cache(ram=0, disk=limit, dir=location)
        elif kind not in (None, "null"):
            raise ValueError(f"Unknown cache_type: {kind}; it can be 'null' or 'local-disk'")
        if self._settings.shuffle_row_groups:
            pipeline = pipeline.shuffle(block=1, lanes=self._settings.options["world_size"])
        # Batches that hold most row groups whole save cutting.
        rows = np.diff(self._begins)
        return pipeline.batch(int(min(max(rows.max(initial=1), 1), _MOST_ROWS)))

    # Iteration

    def __iter__(self) -> Reader:
        return self

    def __next__(self) -> Any:
        if self.stopped:
            raise RuntimeError("the reader has been stopped: its `with` block or its stop() lies behind; make another one")
        if self._failed is not None:  # a generator that has raised would only report its end
            raise self._failed
        try:
            return next(self._groups)
        except StopIteration:
            self.last_row_consumed = True
            raise
        except Exception as error:
            self._failed = error
            raise

    def next(self) -> Any:
        """Returns the next item, as `next(reader)` does."""
        return self.__next__()

    def _all(self) -> Iterator[Any]:
        if self._settings.predicate is not None:
            _check_names(self._settings.predicate, self._fields)
        epoch = 0
        while self.num_epochs is None or epoch < self.num_epochs:
            for group, ids, columns in self._row_groups():
                item = self._item(columns, self._order(ids, epoch, group))
                if item is not None:
                    yield item
            epoch += 1

    def _row_groups(self) -> Iterator[tuple[int, np.ndarray, dict[str, Any]]]:
        """Yields row group, ids and fields, in the order of the epoch. Rows of a group are
        consecutive.
        """
        current, pieces = -1, []
        for batch in self._loader:
            rows = len(batch) - batch.padding
            ids = batch.ids[:rows]
            groups = np.searchsorted(self._begins, ids, side="right") - 1
            columns = {name: in_rows(batch[name]) for name in batch.keys()}
            edges = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), rows]
            for begin, end in zip(edges, edges[1:]):
                if begin == end:
                    continue
                if pieces and groups[begin] != current:
                    yield current, *_joined(pieces)
                    pieces = []
                current = int(groups[begin])
                pieces.append((ids[begin:end], {name: values[begin:end] for name, values in columns.items()}))
        if pieces:
            yield current, *_joined(pieces)

    def _order(self, ids: np.ndarray, epoch: int, group: int) -> np.ndarray | None:
        """Returns the order of the rows of a group; None for the original order."""
        if self._settings.shuffle_row_groups:
            return None if self._settings.shuffle_rows else np.argsort(ids)
        if not self._settings.shuffle_rows:
            return None
        draw = np.random.Philox(key=self._settings.options["seed"], counter=[0, 0, epoch, group])
        return np.random.Generator(draw).permutation(len(ids))

    def _item(self, columns: dict[str, Any], order: np.ndarray | None) -> Any:
        if order is not None:
            columns = {name: take(values, order) for name, values in columns.items()}
        made = {}
        for field in self._fields:
            column = self._columns[field.name]
            rows, items = (columns[mask] if mask in column.masks else None for mask in masks_of(column.source))
            made[field.name] = finished(columns[column.source], rows, items, field.numpy_dtype, column.time)
        if self._settings.predicate is not None:
            keep = self._kept({name: made[name] for name in sorted(self._settings.predicate.get_fields())})
            if not keep.any():
                return None
            made = {name: values[keep] for name, values in made.items()}
        if self._settings.transform_spec is not None:
            made = self._transform(made)
        return self.schema.make_namedtuple(**made)

    def _kept(self, fields: dict[str, np.ndarray]) -> np.ndarray:
        """Returns which rows the predicate keeps. As in petastorm, a predicate that uses only
        partition folders gets single values.
        """
        predicate = self._settings.predicate
        if not all(self._columns[name].of_folder for name in fields):
            return np.asarray(predicate.do_include(frame_of(fields)), dtype=bool)
        rows = min(map(len, fields.values()), default=0)
        return np.full(rows, bool(predicate.do_include({name: values[0] for name, values in fields.items()})))

    def _transform(self, fields: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        spec = self._settings.transform_spec
        frame = frame_of(fields)
        if spec.func is not None:
            frame = spec.func(frame)
        have, need = set(frame.columns) - set(spec.removed_fields), set(self.schema.fields)
        if spec.selected_fields is not None:
            have &= need
        if have != need:
            raise ValueError(f"transform_spec: the function gave the fields {sorted(have)}, and by edit_fields and removed_fields "
                             f"they are {sorted(need)}")
        edited = {name for name, *_ in spec.edit_fields}
        times = {name: column.time for name, column in self._columns.items() if name not in edited}
        return {name: array_of(frame[name], field.shape, field.numpy_dtype, times.get(name, ""))
                for name, field in self.schema.fields.items()}

    # Closing

    def reset(self) -> None:
        """Restarts with the first epoch. NotImplementedError before all rows have been read, as in
        petastorm.
        """
        if not self.last_row_consumed:
            raise NotImplementedError("a reader can be reset when all its rows have been read; make another one")
        if self.stopped:
            return
        self.last_row_consumed = False
        self._loader.close()
        self._open()

    def stop(self) -> None:
        """Stops the threads, in bounded time."""
        self.stopped = True
        self._loader.close()

    def join(self) -> None:
        """Does nothing, because `stop()` leaves nothing to wait for."""

    def cleanup_cache(self) -> None:
        """Does nothing: the cache stays for the next run. `forebay cache clear` empties it."""

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Returns the loader's counters."""
        return self._loader.stats()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()
        self.join()


def _of_one(options: dict[str, Any]) -> dict[str, Any]:
    return options | {"rank": 0, "world_size": 1}


def _joined(pieces: list[tuple[np.ndarray, dict[str, Any]]]) -> tuple[np.ndarray, dict[str, Any]]:
    ids = np.concatenate([ids for ids, _ in pieces])
    return ids, {name: join([columns[name] for _, columns in pieces]) for name in pieces[0][1]}


def _chosen(
    found: list[tuple[str, str, list[int], str, bool, bool]], patterns: Any, spec: Any
) -> tuple[list[SchemaField], dict[str, Column]]:
    """Returns the fields that match, and how each is read."""
    sources = {source for source, *_ in found}
    made = {source for source, *_, is_mask in found if is_mask}  # excludes columns of the table that happen to have such a name
    masks = {source: tuple(mask for mask in masks_of(source) if mask in made) for source in sources - made}
    names = python_names([source for source, *_ in found if source not in made])
    columns = {names[source]: Column(source, masks[source], time, of_folder)
               for source, _, _, time, of_folder, _ in found if source in names}
    fields = [SchemaField(names[source], numpy_type(word, time), tuple(None if n < 0 else n for n in shape), None, bool(masks[source]))
              for source, word, shape, time, *_ in found if source in names]
    if patterns is not None and (isinstance(patterns, str) or not all(isinstance(one, str) for one in patterns)):
        raise InvalidArgument(f"make_batch_reader: schema_fields={patterns!r} cannot be honoured; give a list of regular expressions")
    if patterns is not None:
        chosen = [field for field in fields if any(_matches(pattern, field.name, columns) for pattern in patterns)]
    else:
        unknown = _nested(found) if spec is not None else set()
        chosen = [field for field in fields if columns[field.name].source not in unknown or _is_named(field.name, spec)]
    if not chosen:
        raise RuntimeError(f"No fields matching the criteria {list(patterns or [])!r} were found; there are "
                           f"{', '.join(field.name for field in fields)}")
    return chosen, {field.name: columns[field.name] for field in chosen}


def _matches(pattern: str, name: str, columns: dict[str, Column]) -> bool:
    return bool(re.fullmatch(pattern, name) or re.fullmatch(pattern, columns[name].source))


def _nested(found: list[tuple[str, str, list[int], str, bool, bool]]) -> set[str]:
    """Returns the fields from structs and lists of lists. petastorm omits such columns, so
    functions written for it do not expect them.
    """
    sources = {source for source, *_ in found}
    of_arrays = {source for source, _, shape, *_ in found if len(shape) > 1 and shape[0] < 0}
    return of_arrays | {source for source in sources if "." in source or f"{source}.lengths" in sources}


def _is_named(name: str, spec: Any) -> bool:
    return name in (spec.selected_fields or ()) or any(name == edited for edited, *_ in spec.edit_fields)


def _transformed(fields: list[SchemaField], spec: Any) -> Schema:
    if spec is None:
        return Schema(fields)
    edited = [SchemaField(name, np.dtype(dtype).type, tuple(shape), None, nullable) for name, dtype, shape, nullable in spec.edit_fields]
    gone = {field.name for field in edited} | set(spec.removed_fields)
    made = [field for field in fields if field.name not in gone] + edited
    if spec.selected_fields is not None:
        by_name = {field.name: field for field in made}
        unknown = [name for name in spec.selected_fields if name not in by_name]
        if unknown:
            warnings.warn(f"transform_spec: selected_fields names {', '.join(unknown)}, which are no fields", stacklevel=4)
        made = [by_name[name] for name in spec.selected_fields if name in by_name]
    return Schema(made)


def _check_predicate(predicate: Any) -> None:
    if not callable(getattr(predicate, "get_fields", None)) or not callable(getattr(predicate, "do_include", None)):
        raise ValueError(f"predicate is {predicate!r}; it needs get_fields() and do_include(frame)")


def _check_names(predicate: Any, fields: list[SchemaField]) -> None:
    """Checks the predicate's names when the first item is requested. As in petastorm, programs
    expect the error there.
    """
    wanted = set(predicate.get_fields())
    if not wanted:
        raise ValueError("predicate: get_fields() names no field; it must name those that do_include() looks at")
    unknown = wanted - {field.name for field in fields}
    if unknown:
        raise ValueError(f"predicate: {', '.join(sorted(unknown))} are no fields of the reader; "
                         f"those are {', '.join(field.name for field in fields)}")
