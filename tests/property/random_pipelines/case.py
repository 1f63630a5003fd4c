"""What one random test is: a source, steps and a way of running them. Plain data, so that it travels between processes as JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Step:
    """One operator and its arguments. User code goes by its name in `functions.py`: {"fn": name, "with": {…}}."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.args.items())})"


@dataclass
class Run:
    """One way of running the pipeline; what comes out must not depend on any of it."""

    batch: int = 4
    last: str = "partial"
    world: int = 1
    threads: int | None = None
    requests: int | None = None
    memory: int | None = None
    epochs: int = 1
    cached: bool = False  # with the case's caches, which are left out otherwise; cached runs of a case share their folder
    resume: list[int] | None = None  # after so many steps, with such a batch size on so many ranks
    breaks: bool = False  # the loop is left and entered again after each batch
    json: bool = False  # by way of to_json and from_json
    program: bool = False  # by `forebay run`
    select_first: list[str] | None = None  # before it, the same pipeline with .select(*these) at its end runs on the same caches
    exact_budget: bool = False  # a refusal for want of memory is tried again with exactly the bytes it asks for


@dataclass
class Case:
    """The first run is the one that the others are compared with."""

    seed: int
    source: dict[str, Any]
    steps: list[Step]
    runs: list[Run]
    loader_seed: int = 0
    on_error: str = "raise"

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Case:
        plain = json.loads(text)
        plain["steps"] = [Step(**step) for step in plain["steps"]]
        plain["runs"] = [Run(**run) for run in plain["runs"]]
        return cls(**plain)

    def copy(self) -> Case:
        return Case.from_json(self.to_json())
