"""What is measured: the loaders, and for each measurement the runs of a round."""

import dataclasses

from harness import contestants
from harness.contestants import Contestant


@dataclasses.dataclass(frozen=True)
class Loader(Contestant):
    prepare: str | None = None  # files of its own: rivals/write_NAME.py makes them


@dataclasses.dataclass(frozen=True)
class Run:
    loader: str
    latency_ms: int
    requests: str = "auto"
    faults: dict = dataclasses.field(default_factory=dict)
    reads: int = 0


@dataclasses.dataclass(frozen=True)
class Plan:
    make: object  # (options, self) -> [Run]
    loaders: tuple
    latencies: tuple
    rounds: int = 3
    requests: tuple = ("auto",)
    faults: tuple = ({},)
    reads: int = 0


def dropin(module, *extra):
    """In Forebay's Python, with all that the data set needs."""
    return Loader(module, extra=(*extra, ("dropin", True)),
                  needs=("forebay", "torch", "boto3" if module == "torch_boto3" else "PIL"))


LOADERS = {
    "ceiling": Loader(program="ceiling"),
    "forebay": Loader("forebay_s3"),
    "torch_boto3": Loader("torch_boto3", "s3_torch", (("within", "none"),)),
    "torch_threads": Loader("torch_boto3", "s3_torch", (("within", "threads"),)),
    "torch_asyncio": Loader("torch_asyncio", "s3_torch"),
    "litdata": Loader("litdata_raw", "s3_torch"),
    "s3torchconnector": Loader("s3torchconnector_map", "s3_torch"),
    "spdl": Loader("spdl_boto3", "spdl_s3"),
    "s3fs": Loader("torch_s3fs", "s3_torch"),
    "webdataset": Loader("webdataset_tar", "s3_torch", prepare="shards"),
    "streaming": Loader("streaming_mds", "streaming", (("workers", 1),), prepare="mds"),
    "forebay_local": Loader("forebay_s3", extra=(("local", True),)),
    "forebay_decode": Loader("forebay_s3", extra=(("decode", True),)),
    "forebay_decode_local": Loader("forebay_s3", extra=(("decode", True), ("local", True))),
    "dropin_boto3": dropin("torch_boto3", ("within", "none")),
    "torch_pillow_local_0": Loader("torch_pillow_local", "s3_torch", (("workers", 0), ("decode", True))),
    "torch_pillow_local_2": Loader("torch_pillow_local", "s3_torch", (("workers", 2), ("decode", True))),
    "dropin_pillow_local_0": dropin("torch_pillow_local", ("workers", 0), ("decode", True)),
    "dropin_pillow_local_2": dropin("torch_pillow_local", ("workers", 2), ("decode", True)),
}
RIVALS = ("torch_boto3", "torch_threads", "torch_asyncio", "litdata", "s3torchconnector", "spdl", "s3fs", "webdataset",
          "streaming")
CEILING = ("64", "256", "1024")


def each_loader(options, plan):
    """Every loader at every latency under every fault, and the ceiling at several depths of its own."""
    runs = []
    for latency in options.latencies or plan.latencies:
        for name in options.loaders.split(",") if options.loaders else plan.loaders:
            for faults in plan.faults:
                for requests in CEILING if name == "ceiling" else ("auto",):
                    runs.append(Run(name, latency, requests, faults, options.reads or plan.reads))
    return runs


def each_depth(options, plan):
    """Every loader at every number of requests."""
    depths = options.requests.split(",") if options.requests else plan.requests
    loaders = options.loaders.split(",") if options.loaders else plan.loaders
    return [Run(name, latency, requests, {}, options.reads or plan.reads) for latency in options.latencies or plan.latencies
            for name in loaders for requests in depths if name != "ceiling" or requests != "auto"]


DEPTHS = ("auto", "1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024")
PLANS = {
    "fetch": Plan(each_loader, ("ceiling", "forebay", *RIVALS), (20, 100)),
    "sweep": Plan(each_depth, ("ceiling", "forebay"), (20, 100), 1, DEPTHS, reads=20_000),
    "local": Plan(each_depth, ("forebay", "forebay_local"), (0,), 9, ("auto", "1", "2", "4", "8", "16", "32", "64"),
                  reads=20_000),
    "decode": Plan(each_loader, ("forebay_decode", "forebay_decode_local", "forebay"), (20,)),
    "faults": Plan(each_loader, ("forebay", *RIVALS[:-2]), (20, 100),
                   faults=({}, *({share: 0.02} for share in ("share_503", "share_503_retry", "share_closed",
                                                             "share_truncated")))),
    "dropin": Plan(each_loader, ("dropin_boto3", "torch_boto3"), (100,)),
    "dropin_local": Plan(each_loader, ("dropin_pillow_local_0", "dropin_pillow_local_2", "torch_pillow_local_0",
                                       "torch_pillow_local_2"), (0,)),
}


def runs(options):
    """The runs of one round, in the order in which they are made, but for loaders that are missing here."""
    plan = PLANS[options.what]
    made = plan.make(options, plan)
    names = contestants.known(dict.fromkeys(run.loader for run in made), LOADERS)
    present = contestants.present(names, LOADERS, options)
    return [run for run in made if run.loader in present]
