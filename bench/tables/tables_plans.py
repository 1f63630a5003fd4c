"""What is measured: the loaders, and for each measurement the runs of a round."""

import dataclasses

from harness import contestants
from harness.contestants import Contestant

STEP_MS = 20        # of the emulated trainer
DEMAND = 0.7        # of the capacity that was measured before
LATENCY_MS = 20


@dataclasses.dataclass(frozen=True)
class Loader(Contestant):
    flags: tuple = ()         # of a program
    cannot: tuple = ()        # tables that it fails on, which is a finding: tried once
    known: tuple = ()         # texts of checks that it is known to fail: told, and no reason for exit code 1


@dataclasses.dataclass(frozen=True)
class Run:
    loader: str
    table: str
    trains: bool = False
    latency_ms: int = 0


NULLS = ("criteo_nulls",)     # the bare loop knows none
RAGGED = ("wide_lists",)      # petastorm wants lists of one length
TEXT = ("criteo_hex",)        # and torch has no strings
ONE_ORDER = ("same order",)
EARLY = (("early", True),)
CACHED = (("cache", {"disk": True}),)
NEEDS = ("forebay", "numpy", "pyarrow")


def bare(*flags):
    return Loader(program="limit_program", flags=flags, cannot=NULLS)


def forebay(*extra, needs=NEEDS):
    return Loader("forebay_table", extra=extra, needs=needs)


LOADERS = {
    "limit": bare(),
    "limit_decode": bare("--no-gather"),
    "gather": bare("--gather-only"),
    "gather_checksum": bare("--gather-only", "--checksum"),
    "forebay": forebay(),
    "forebay_ramp": forebay(("ramp", True)),
    "forebay_torch": forebay(("output", "torch"), needs=(*NEEDS, "torch")),
    "forebay_disk": forebay(("cache", {"ram": 0, "disk": "8GiB"})),
    "forebay_ram": forebay(("cache", {"ram": "4GiB", "disk": 0})),
    "petastorm_batched": Loader("petastorm_batched", "petastorm", EARLY, cannot=RAGGED + TEXT, known=ONE_ORDER),
    "petastorm_raw": Loader("petastorm_raw", "petastorm", cannot=RAGGED, known=ONE_ORDER),
    "petastorm_raw_early": Loader("petastorm_raw", "petastorm", EARLY, cannot=RAGGED, known=ONE_ORDER),
    "petastorm_cache": Loader("petastorm_raw", "petastorm", CACHED, cannot=RAGGED, known=ONE_ORDER),
    "petastorm_cache_early": Loader("petastorm_raw", "petastorm", CACHED + EARLY, cannot=RAGGED, known=ONE_ORDER),
    "torch_workers": Loader("torch_arrow", "torch_arrow", (("workers", 2),)),
    "torch_main": Loader("torch_arrow", "torch_arrow", (("workers", 0),)),
    "polars": Loader("polars_blocks", "polars"),
    "duckdb": Loader("duckdb_blocks", "duckdb"),
    "hf": Loader("hf_torch", "hf_datasets"),
    "ray": Loader("ray_batches", "ray_data"),
    "pyarrow_1": Loader("pyarrow_numpy", "torch_arrow", (("read_threads", 1), ("views", False))),
    "pyarrow_2": Loader("pyarrow_numpy", "torch_arrow", (("read_threads", 2), ("views", False))),
    "pyarrow_views": Loader("pyarrow_numpy", "torch_arrow", (("read_threads", 2), ("views", True))),
}
EPOCH = ("limit", "forebay", "petastorm_batched", "petastorm_raw", "petastorm_raw_early", "torch_workers", "torch_main",
         "polars", "duckdb", "pyarrow_1", "pyarrow_2", "pyarrow_views", "hf", "ray", "forebay_torch")
CACHE = ("gather", "gather_checksum", "forebay_disk", "forebay_ram", "petastorm_cache", "petastorm_cache_early")
RAMPS = ("forebay_ramp",)  # another order than the others of Forebay
TRAINER = ("forebay", "forebay_ramp", "torch_workers", "petastorm_batched")
TABLES = ("wide", "wide_lists", "criteo")
PLANS = {"epoch": EPOCH, "cache": CACHE, "trainer": TRAINER}
# The loader that a measurement's ratios are taken of.
BASES = {"epoch": ("forebay",), "cache": ("forebay_disk", "forebay_ram"), "trainer": ()}


def names(options):
    return contestants.known(options.loaders.split(",") if options.loaders else PLANS[options.what], LOADERS)


def all_tables(options):
    return options.tables.split(",") if options.tables else TABLES


def runs(options, number, present):
    """The runs of one round, in the order in which they are made."""
    made = []
    for table in all_tables(options):
        mine = [name for name in present if number == 0 or table not in LOADERS[name].cannot]
        if options.what == "trainer":
            made.append(Run("forebay", table, latency_ms=LATENCY_MS))
            made += [Run(name, table, trains=True, latency_ms=LATENCY_MS) for name in mine]
        else:
            made += [Run(name, table) for name in mine]
    return made
