"""What stands in the tables: every value is a function of its row's number and its column, so it can be computed again.

A column of row keys (`key`, a permutation of 64-bit numbers) tells which row a row is, wherever it was delivered.
"""

import dataclasses

import numpy as np

ODD, SPREAD = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03
INVERSE = pow(ODD, -1, 2**64)
LONGEST_LIST = 20
# How many different values the 26 categorical columns of the Criteo data set have.
CRITEO = (1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992, 5461306, 10,
          5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572)
CRITEO_NULLS = (45, 0, 21, 22, 3, 22, 4, 1, 4, 45, 4, 77, 22)  # per cent of the 13 counts
ZIPF = 1.05


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    kind: str          # key, normal, integer, list_float, list_int, count, category, hex
    number: int        # makes it differ from the others
    size: int = 0      # how many different values
    nulls: int = 0     # per cent

    @property
    def ragged(self):
        return self.kind.startswith("list")


def mixed(value):
    """64 well mixed bits of each 64-bit number (the finaliser of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def bits_of(rows, number, part=0):
    """64 random bits for each row of a column; `part` (a number, or one for each) gives more of them."""
    salt = np.uint64((number + 1) * ODD % 2**64)
    return mixed(np.asarray(rows, np.uint64) * np.uint64(64) + np.asarray(part, np.uint64) + salt)


def keys_of(rows):
    return ((np.asarray(rows, np.uint64) + np.uint64(1)) * np.uint64(ODD)).view(np.int64)


def rows_of(keys):
    """The numbers of the rows with these keys; garbage for keys of no row."""
    return (np.ascontiguousarray(keys).view(np.uint64) * np.uint64(INVERSE) - np.uint64(1)).view(np.int64)


def normal(bits):
    """float32, nearly normal: the sum of four 16-bit numbers."""
    parts = np.ascontiguousarray(bits).view(np.uint16).reshape(-1, 4).sum(1, dtype=np.int32)
    return ((parts - 131070) * np.float32(1 / 37837)).astype(np.float32)


def zipf(bits, size):
    """Ranks from 0 to size - 1, the small ones often: a power law, drawn by its inverse."""
    share = (bits >> np.uint64(11)).astype(np.float64) / 2**53
    rank = (1 + share * ((size + 1) ** (1 - ZIPF) - 1)) ** (1 / (1 - ZIPF)) - 1
    return np.minimum(rank, size - 1).astype(np.uint64)


def hex_text(values):
    """(rows, 8) characters of 32-bit numbers."""
    digits = (values[:, None] >> np.arange(28, -4, -4, np.uint64)) & np.uint64(15)
    return np.frombuffer(b"0123456789abcdef", np.uint8)[digits.astype(np.intp)]


def null_mask(column, rows):
    return bits_of(rows, column.number, 63) % np.uint64(100) < np.uint64(column.nulls)


def values(column, rows):
    """A column's values for these rows: an array, (values, offsets) of lists, or (rows, 8) characters. Nulls are 0."""
    if column.kind == "key":
        return keys_of(rows)
    bits = bits_of(rows, column.number)
    if column.ragged:
        return lists(column, rows, bits)
    if column.kind == "normal":
        return normal(bits)
    if column.kind == "integer":
        return (bits % np.uint64(column.size)).view(np.int64)
    if column.kind == "count":
        counts = np.floor(np.exp(1.6 * normal(bits) + 1.0)).astype(np.float32)
        return np.where(null_mask(column, rows), np.float32(0), counts) if column.nulls else counts
    category = mixed(zipf(bits, column.size) * np.uint64(32) + np.uint64(column.number))
    return category.view(np.int64) if column.kind == "category" else hex_text(category >> np.uint64(32))


def lists(column, rows, bits):
    lengths = (bits % np.uint64(LONGEST_LIST + 1)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    drawn = bits_of(np.repeat(np.asarray(rows), lengths), column.number, place + 1)
    made = normal(drawn) if column.kind == "list_float" else (drawn % np.uint64(50000)).astype(np.int32)
    return made, offsets


def weighted_sum(found, keys):
    """A checksum over a column that does not depend on the rows' order: each value times its row's key, modulo 2^64.

    `found` as from values(). Elements of a list also count by their place in it.
    """
    weights = np.ascontiguousarray(keys).view(np.uint64)
    if isinstance(found, tuple):
        found, offsets = found
        lengths = np.diff(offsets)
        place = (np.arange(offsets[-1] - offsets[0]) - np.repeat(offsets[:-1] - offsets[0], lengths)).astype(np.uint64)
        weights = np.repeat(weights, lengths) + place * np.uint64(SPREAD)
        return int(((plain_bits(found[offsets[0]:offsets[-1]]) + np.uint64(1)) * weights).sum(dtype=np.uint64))
    return int((plain_bits(found) * weights).sum(dtype=np.uint64))


def plain_bits(found):
    found = np.ascontiguousarray(found)
    unsigned = {1: np.uint8, 4: np.uint32, 8: np.uint64}[found.itemsize]
    found = found.view(unsigned)
    return (found.view(np.uint64).ravel() if found.ndim == 2 else found).astype(np.uint64)


def wide():
    """40 float32, 20 int64 of which the first is the key, 5 lists, a label."""
    sizes = (10, 100, 1000, 100_000, 2**40)
    columns = [Column(f"f{i:02}", "normal", i) for i in range(40)]
    columns += [Column("i00", "key", 100)]
    columns += [Column(f"i{i:02}", "integer", 100 + i, sizes[i % 5]) for i in range(1, 20)]
    columns += [Column(f"l{i}", "list_float" if i < 3 else "list_int", 200 + i) for i in range(5)]
    return columns + [Column("label", "integer", 300, 1000)]


def criteo(category="category", nulls=False):
    """13 counts, 26 categories, a label and the key."""
    columns = [Column(f"I{i + 1}", "count", 400 + i, nulls=CRITEO_NULLS[i] if nulls else 0) for i in range(13)]
    columns += [Column(f"C{i + 1}", category, i + 1, size) for i, size in enumerate(CRITEO)]
    return columns + [Column("label", "integer", 500, 2), Column("row", "key", 600)]


@dataclasses.dataclass(frozen=True)
class Table:
    files: str         # name of the folder with the files
    columns: list      # all that the files have
    lists: bool = True # whether lists are read

    @property
    def read(self):
        return [column for column in self.columns if self.lists or not column.ragged]

    @property
    def key(self):
        return next(column.name for column in self.columns if column.kind == "key")


TABLES = {
    "wide": Table("wide", wide(), lists=False),
    "wide_lists": Table("wide", wide()),
    "criteo": Table("criteo", criteo()),
    "criteo_hex": Table("criteo_hex", criteo("hex")),
    "criteo_nulls": Table("criteo_nulls", criteo(nulls=True)),
}
