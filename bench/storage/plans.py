"""What is measured: the loaders, and for each measurement the runs of a round."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Loader:
    module: str                 # in rivals/
    folder: str | None          # environment below --rivals; None: Forebay's Python
    extra: tuple = ()           # more entries of the job
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


LOADERS = {
    "forebay": Loader("forebay_s3", None),
    "torch_boto3": Loader("torch_boto3", "s3_torch", (("within", "none"),)),
    "torch_threads": Loader("torch_boto3", "s3_torch", (("within", "threads"),)),
    "torch_asyncio": Loader("torch_asyncio", "s3_torch"),
    "litdata": Loader("litdata_raw", "s3_torch"),
    "s3torchconnector": Loader("s3torchconnector_map", "s3_torch"),
    "spdl": Loader("spdl_boto3", "spdl_s3"),
    "s3fs": Loader("torch_s3fs", "s3_torch"),
    "webdataset": Loader("webdataset_tar", "s3_torch", prepare="shards"),
    "streaming": Loader("streaming_mds", "streaming", (("workers", 1),), prepare="mds"),
    "forebay_local": Loader("forebay_s3", None, (("local", True),)),
    "forebay_decode": Loader("forebay_s3", None, (("decode", True),)),
    "forebay_decode_local": Loader("forebay_s3", None, (("decode", True), ("local", True))),
    "dropin_boto3": Loader("torch_boto3", None, (("within", "none"), ("dropin", True))),
    "torch_pillow_local_0": Loader("torch_pillow_local", "s3_torch", (("workers", 0), ("decode", True))),
    "torch_pillow_local_2": Loader("torch_pillow_local", "s3_torch", (("workers", 2), ("decode", True))),
    "dropin_pillow_local_0": Loader("torch_pillow_local", None, (("workers", 0), ("decode", True), ("dropin", True))),
    "dropin_pillow_local_2": Loader("torch_pillow_local", None, (("workers", 2), ("decode", True), ("dropin", True))),
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
    """The runs of one round, in the order in which they are made."""
    plan = PLANS[options.what]
    made = plan.make(options, plan)
    unknown = sorted({run.loader for run in made if run.loader != "ceiling" and run.loader not in LOADERS})
    if unknown:
        raise SystemExit(f"no such loader: {', '.join(unknown)} (there are: ceiling, {', '.join(LOADERS)})")
    return made
