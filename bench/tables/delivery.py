"""What a loader delivered: which rows, in which order and batches, and with the right values."""

import hashlib

import numpy as np

from data_sets import table_values

DTYPES = {"key": "int64", "integer": "int64", "category": "int64", "normal": "float32", "count": "float32"}
LOOKED_AT = 20  # batches of an epoch whose row groups are counted


class Delivery:
    """Collects batches; end_epoch() says where an epoch ends."""

    def __init__(self, job, loader):
        table = table_values.TABLES[job.table]
        self.job, self.columns = job, [column for column in table.columns if column.name in set(job.columns)]
        self.key = table.key
        scalars = [column for column in self.columns if column.kind in DTYPES]
        self.dtypes = {column.name: np.dtype(DTYPES[column.kind]) for column in scalars}
        self.quick = [column.name for column in scalars if column.kind != "key"][1::20]
        self.array = getattr(loader, "array", lambda batch, name: batch[name])
        self.rows, self.epochs, self.wrong = 0, [], {}
        self._new_epoch()

    def _new_epoch(self):
        self.ids, self.sizes, self.at = np.empty(self.job.rows, np.int32), [], 0
        self.sums = dict.fromkeys(self.quick, 0)

    def tell(self, what, count=1):
        if count:
            self.wrong[what] = self.wrong.get(what, 0) + int(count)

    def finished(self):
        """All rows are there: only the epoch's end is still to come."""
        return self.at >= self.job.rows

    def touch(self, batch):
        """About the least that makes a lazy loader deliver: keys, arrays of all columns, and checksums of a few."""
        keys = np.asarray(self.array(batch, self.key))
        ids = table_values.rows_of(keys)
        room = self.ids[self.at:self.at + len(ids)]
        inside = (ids >= 0) & (ids < self.job.rows)
        self.tell("keys that are of no row", len(ids) - np.count_nonzero(inside))
        self.tell("rows above the table's number in an epoch", len(ids) - len(room))
        room[:] = np.where(inside, ids, 0)[:len(room)]
        self.at += len(ids)
        self.rows += len(ids)
        self.sizes.append(len(ids))
        for name, dtype in self.dtypes.items():
            found = np.asarray(self.array(batch, name))
            if found.dtype != dtype:
                self.tell(f"batches with {name} as {found.dtype}")
            if len(found) != len(keys):
                self.tell(f"batches with another number of values of {name} than of keys")
            if name in self.sums:
                self.sums[name] += table_values.weighted_sum(found, keys)
        return keys

    def prove(self, batch):
        """Every value."""
        keys = self.touch(batch)
        self.proof_ids.append(table_values.rows_of(keys))
        for column in self.columns:
            found = delivered_values(column, self.array(batch, column.name))
            self.proof[column.name] = (self.proof[column.name] + table_values.weighted_sum(found, keys)) % 2**64

    def start_proof(self):
        self.proof = dict.fromkeys((column.name for column in self.columns), 0)
        self.proof_ids = []

    def end_proof(self):
        """Compares with the table's own checksums or, where these are not all of its rows, with computed ones."""
        ids = np.concatenate([*self.proof_ids, np.empty(0, np.int64)]).astype(np.int64)
        whole = len(ids) == self.job.rows and len(np.unique(ids)) == len(ids)
        keys = table_values.keys_of(ids)
        for column in self.columns:
            expected = self.job.sums[column.name] if whole else \
                table_values.weighted_sum(table_values.values(column, ids), keys)
            self.tell(f"columns with wrong values: {column.name}", self.proof[column.name] != expected)
        return {"rows": len(ids), "columns": len(self.proof), "whole_epoch": whole}

    def end_epoch(self):
        job, ids = self.job, self.ids[:min(self.at, self.job.rows)]
        counts = np.bincount(ids, minlength=job.rows)
        starts = np.cumsum([0, *self.sizes])
        looked = range(0, len(self.sizes), max(1, len(self.sizes) // LOOKED_AT))
        groups = [len(np.unique(ids[starts[i]:starts[i + 1]] // job.group_rows)) for i in looked]
        epoch = {"rows": self.at, "lost": int((counts == 0).sum()), "repeated": int((counts > 1).sum()),
                 "batches": len(self.sizes), "other_sizes": sum(size != job.batch for size in self.sizes),
                 "largest": max(self.sizes, default=0), "groups_a_batch": float(np.median(groups)) if groups else 0.0,
                 "in_sequence": float(np.mean(np.diff(ids) == 1)) if len(ids) > 1 else 1.0,
                 "order": hashlib.sha256(ids.tobytes()).hexdigest()[:16]}
        for name, found in self.sums.items():
            if not epoch["lost"] and not epoch["repeated"]:
                self.tell(f"epochs with wrong values of {name}", found % 2**64 != job.sums[name])
        self.epochs.append(epoch)
        self._new_epoch()

    def result(self):
        return {"epochs": self.epochs, "problems": [f"{count} {what}" for what, count in sorted(self.wrong.items())]}


def delivered_values(column, found):
    """What table_values.values() would give, from any of the forms that loaders have."""
    if column.ragged:
        if isinstance(found, tuple):
            return tuple(np.asarray(part) for part in found)
        lengths = [len(one) for one in found]
        return np.concatenate([np.asarray(one) for one in found]), np.concatenate([[0], np.cumsum(lengths)])
    if column.nulls:  # rivals give NaN for them
        return np.nan_to_num(np.asarray(found))
    if column.kind != "hex":
        return np.asarray(found)
    if isinstance(found, tuple):
        text, offsets = (np.asarray(part) for part in found)
        characters = text[offsets[0]:offsets[-1]]
    else:
        characters = np.frombuffer("".join(map(str, found)).encode(), np.uint8)
    return characters.reshape(-1, 8)
