"""Random legal pipelines against a model; see random_pipelines/README.md."""
import subprocess
import sys
import tempfile

import pytest

pytest.importorskip("pyarrow")

from .random_pipelines import model, rules, sources  # noqa: E402
from .random_pipelines.broken import BROKEN  # noqa: E402
from .random_pipelines.fields import Illegal  # noqa: E402
from .random_pipelines.generator import generate  # noqa: E402
from .random_pipelines.pool import ROOT, check_all  # noqa: E402
from .random_pipelines.run import shrunk, tell  # noqa: E402
from .random_pipelines.reproduce import reproduction  # noqa: E402
from .random_pipelines.values import Bad  # noqa: E402

FIXED = range(300)


def test_300_random_pipelines_do_as_the_model_says():
    failed, illegal = [], 0
    for question, answer in check_all([{"seed": seed} for seed in FIXED], jobs=2):
        illegal += "illegal" in answer
        if "kind" in answer:
            failed.append((question, answer))
    told = "\n\n".join(f"seed {question['seed']}: {answer['kind']}\n{tell(question, answer, 20, 60)}" for question, answer in failed[:3])
    assert not failed, f"{len(failed)} pipelines, seeds {[question['seed'] for question, _ in failed]}; the first ones:\n\n{told}"
    assert illegal < len(FIXED) / 20


@pytest.mark.parametrize("name", BROKEN)
def test_a_wrong_answer_is_found_and_made_small(name):
    questions = [{"seed": seed, "break": name} for seed in FIXED if any(step.name == name for step in generate(seed).steps)]
    question, answer = next((q, a) for q, a in check_all(questions, jobs=2) if a.get("kind", "").startswith("value"))
    case, failure = shrunk(question, answer["kind"], seconds=20)
    assert name in [step.name for step in case.steps] and len(case.steps) <= 3
    assert len(case.runs) == 1 and failure.kind == answer["kind"]
    text = reproduction(case, failure)
    assert f".{name}(" in text and f"Seed {case.seed}" in text
    # Forebay is right, so the program runs.
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=tempfile.gettempdir())
    assert done.returncode == 0, done.stderr


def test_rules_and_model_agree_about_every_field():
    for seed in range(200):
        case = generate(seed)
        with tempfile.TemporaryDirectory() as folder:
            source = sources.open_source(case.source, folder)
            schema = rules.schema_of(source.schema, case.steps)
            try:
                ids, rows = model.expected(case, source)
            except (model.Failed, Illegal):
                continue
        for row in (rows[i] for i in ids):
            assert set(row.fields) == set(schema), seed
            for name, value in row.fields.items():
                _agree(seed, name, schema[name], value)


def _agree(seed, name, it, value):
    if isinstance(value, Bad):
        assert not it.safe, (seed, name)
    elif it.kind != "numbers":
        kind = str if it.kind in ("text", "texts") else bytes
        assert isinstance(value.value, list) == it.listed, (seed, name)
        assert all(isinstance(one, kind) for one in (value.value if it.listed else [value.value])), (seed, name)
    else:
        shape = value.value.shape
        assert value.value.dtype == it.dtype and len(shape) == len(it.shape), (seed, name)
        assert all(a is None or a == b for a, b in zip(it.shape, shape)) and (value.exact or not it.exact), (seed, name)


def test_the_command_replays_a_seed():
    done = subprocess.run([sys.executable, "-m", "tests.property.random_pipelines", "--replay", "3", "--no-shrink"],
                          capture_output=True, text=True, cwd=ROOT)
    assert "1 pipelines, 0 failed" in done.stdout, done.stdout + done.stderr
