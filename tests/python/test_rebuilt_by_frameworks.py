"""What frameworks make of a loader: they take it as it is, make the same again, or get an error that names their own switch."""
import inspect
import itertools
import logging

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: forebay.torch needs it")
data = torch.utils.data

import forebay as fb  # noqa: E402
from forebay import _process_group  # noqa: E402
from forebay.torch import DataLoader  # noqa: E402


class Rows(data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return i


def pipeline(n=12):
    return fb.arrays(x=np.arange(n)).shuffle()


def made_again(loader, **changes):
    """By public attributes that are arguments of the constructor, as Lightning does it."""
    arguments = inspect.signature(loader.__init__).parameters.keys() | inspect.signature(data.DataLoader.__init__).parameters.keys()
    found = {name: value for name, value in vars(loader).items() if not name.startswith("_") and name in arguments}
    for name in ("sampler", "batch_sampler", "shuffle"):
        found.pop(name, None)
    found["multiprocessing_context"] = loader.multiprocessing_context
    return type(loader)(**{**found, **changes})


@pytest.mark.parametrize("options", [
    {"num_workers": 2, "thread_safe": True, "prefetch_factor": 3}, {"num_workers": 2, "snapshot_every_n_steps": 5}, {"timeout": 0, "drop_last": True}])
def test_a_loader_that_is_made_again_is_the_same_but_for_its_sampler(options):
    loader = DataLoader(Rows(), 2, shuffle=True, **options)
    again = made_again(loader, sampler=data.DistributedSampler(Rows(), 2, 0, shuffle=False))
    assert type(again) is DataLoader
    for name, value in options.items():
        assert getattr(again, name) == value
    iterator = iter(again)
    assert next(iterator).tolist() == [0, 2]
    resumed = made_again(again, sampler=data.DistributedSampler(Rows(), 2, 0, shuffle=False))
    resumed.load_state_dict(again.state_dict())
    assert [batch.tolist() for batch in resumed] == [batch.tolist() for batch in iterator] == [[4, 6], [8, 10]]


def test_the_order_of_a_pipeline_counts_as_distributed_and_is_told_the_epoch():
    loader = DataLoader(pipeline(), 3)
    assert isinstance(loader.sampler, data.DistributedSampler), "or frameworks would put one in"
    assert (loader.sampler.rank, loader.sampler.num_replicas, len(loader.sampler)) == (0, 1, 12)
    loader.sampler.set_epoch(3)
    assert loader.state_dict()["epoch"] == 3
    with pytest.raises(TypeError, match="decided by the engine"):
        iter(loader.sampler)


@pytest.mark.parametrize("change", [{"sampler": data.SequentialSampler(Rows())}, {"batch_sampler": data.BatchSampler(range(12), 2, False), "batch_size": 1}])
def test_a_sampler_for_a_pipeline_is_refused_with_lightnings_switch(change):
    with pytest.raises(fb.InvalidArgument, match=r"Trainer\(use_distributed_sampler=False\).*forebay\.Loader\(pipeline, output='torch'\)"):
        made_again(DataLoader(pipeline(), 3), **change)


@pytest.mark.parametrize("make", [lambda: DataLoader(Rows(), 2, num_workers=2, thread_safe=True), lambda: DataLoader(pipeline(), 3)])
def test_what_accelerate_would_lose_is_refused_with_the_way_out(make):
    with pytest.raises(fb.InvalidArgument, match=r"Leave it out of prepare\(\).*register_for_checkpointing"):
        getattr(make(), "_is_accelerate_prepared", False)


def test_of_a_plain_loader_the_log_says_that_its_state_goes(caplog, monkeypatch):
    monkeypatch.setattr("forebay.torch._loader._told", set())
    with caplog.at_level(logging.WARNING, "forebay"):
        assert getattr(DataLoader(Rows(), 2), "_is_accelerate_prepared", False) is False
    assert "use_stateful_dataloader=True" in caplog.text


# Ranks


def test_ranks_come_from_the_process_group(monkeypatch):
    monkeypatch.setattr(_process_group, "place", lambda: (1, 2))
    with fb.Loader(pipeline().batch(2)) as loader:
        assert (loader.rank, loader.world_size) == (1, 2)
    assert (DataLoader(pipeline(), 2).sampler.rank, len(DataLoader(pipeline(), 2))) == (1, 3)
    with fb.Loader(pipeline().batch(2), rank=0, world_size=3) as loader:
        assert (loader.rank, loader.world_size) == (0, 3)
        assert len(list(loader)) == 2


@pytest.mark.parametrize("make", [lambda: fb.Loader(pipeline().batch(2)), lambda: DataLoader(pipeline(), 2)])
def test_a_loader_that_was_opened_before_the_group_says_so(make, monkeypatch):
    monkeypatch.setattr(_process_group, "place", lambda: None)
    loader = make()
    monkeypatch.setattr(_process_group, "place", lambda: (1, 2))
    with pytest.raises(fb.InvalidArgument, match=r"rank 0 of 1.*rank 1 of 2.*train_dataloader\(\)"):
        next(iter(loader))


def test_without_a_group_there_is_no_place():
    assert _process_group.place() is None


# The frameworks themselves


def test_accelerate_prepares_no_loader_that_it_would_spoil():
    accelerate = pytest.importorskip("accelerate", reason="ACCELERATE ABSENT")
    accelerator = accelerate.Accelerator(cpu=True)
    for loader in (DataLoader(Rows(), 2, num_workers=1, thread_safe=True), DataLoader(pipeline(), 3)):
        with pytest.raises(fb.InvalidArgument, match=r"Leave it out of prepare\(\)"):
            accelerator.prepare(loader)
    plain = accelerator.prepare(DataLoader(Rows(), 2))
    assert [batch.tolist() for batch in plain] == [[i, i + 1] for i in range(0, 12, 2)]
    with fb.Loader(pipeline().batch(3), output="torch") as loader:
        assert accelerator.prepare(loader) is loader
        accelerator.register_for_checkpointing(loader)


def _module(lightning):
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(1, 1)
            self.seen, self.validated = [], []

        def _items(self, batch):
            return (batch["x"] if hasattr(batch, "keys") else batch).tolist()

        def training_step(self, batch, _):
            self.seen.append(self._items(batch))
            return self.net(torch.ones(1, 1)).sum()

        def validation_step(self, batch, _):
            self.validated.append(self._items(batch))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Module()


QUIET = {"accelerator": "cpu", "logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [
    lambda: DataLoader(Rows(), 3, num_workers=1, thread_safe=True), lambda: DataLoader(fb.arrays(x=np.arange(12)), 3),
    lambda: fb.Loader(fb.arrays(x=np.arange(12)).batch(3), output="torch", restart=True)])
def test_lightning_validates_the_same_batches_each_time(make):
    lightning = pytest.importorskip("lightning", reason="LIGHTNING ABSENT")
    module = _module(lightning)
    trainer = lightning.Trainer(max_epochs=2, devices=1, limit_val_batches=2, num_sanity_val_steps=1, **QUIET)
    trainer.fit(module, DataLoader(Rows(), 3), make())
    assert module.validated == [[0, 1, 2]] + 2 * [[0, 1, 2], [3, 4, 5]]
    assert module.seen == 2 * [[i, i + 1, i + 2] for i in range(0, 12, 3)]


RANKS = """
    import json, os, sys
    import lightning, numpy as np, torch
    import forebay as fb
    from forebay.torch import DataLoader

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.seen = torch.nn.Linear(1, 1), []
        def training_step(self, batch, _):
            self.seen += (batch["x"] if hasattr(batch, "keys") else batch[0]).tolist()
            return self.net(torch.ones(1, 1)).sum()
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)
        def train_dataloader(self):
            rows = torch.utils.data.TensorDataset(torch.arange(12))
            return {
                "a pipeline": lambda: DataLoader(fb.arrays(x=np.arange(12)), 3, shuffle=True),
                "a loader": lambda: fb.Loader(fb.arrays(x=np.arange(12)).shuffle().batch(3), output="torch"),
                "threads": lambda: DataLoader(rows, 3, shuffle=True, num_workers=1, thread_safe=True),
            }[sys.argv[1]]()
        def on_fit_end(self):
            with open(os.path.join(sys.argv[2], f"{self.global_rank}.json"), "w") as file:
                json.dump([self.seen, type(self.trainer.train_dataloader).__module__, getattr(self.trainer.train_dataloader, "thread_safe", None)], file)

    lightning.Trainer(max_epochs=1, devices=2, strategy="ddp", accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                      enable_model_summary=False).fit(Module())
"""


@pytest.mark.parametrize("what", ["a pipeline", "a loader", "threads"])
def test_lightnings_ranks_share_the_data_set(what, tmp_path):
    pytest.importorskip("lightning", reason="LIGHTNING ABSENT")
    import json
    import subprocess
    import sys
    import textwrap

    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(RANKS))
    done = subprocess.run([sys.executable, program, what, tmp_path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    seen, kinds, threads = zip(*[json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)], strict=True)
    assert sorted(itertools.chain(*seen)) == list(range(12)), "each sample once, on one of the ranks"
    assert all(kind.startswith("forebay") for kind in kinds)
    assert threads == ((None, None) if what == "a loader" else (True, True))
