"""Describing a pipeline: immutable, printable, saved as JSON, judged all at once, and touching no storage."""
import inspect
import pickle
import typing

import numpy as np
import pytest

import forebay as fb

OPERATORS = ["shuffle", "take", "decode_image", "resize", "center_crop", "random_crop", "random_resized_crop", "random_flip",
             "color_jitter", "normalize", "layout", "cast", "map", "filter", "select", "rename", "pad", "cache", "batch"]
SOURCES = ["images", "files", "manifest", "arrays", "parquet", "arrow", "Dataset"]


def described():
    return (fb.images("photos/train").shuffle().decode_image().random_resized_crop(224).random_flip()
            .normalize(fb.IMAGENET).batch(64))


def test_the_example_of_the_documentation_has_no_problem():
    assert described().check() == []


def test_every_operator_has_the_documented_name_a_signature_and_a_docstring():
    for name in OPERATORS:
        method = getattr(fb.Pipeline, name)
        assert inspect.getdoc(method), name
        assert inspect.signature(method).return_annotation == "Pipeline", name
    for name in SOURCES:
        assert inspect.getdoc(getattr(fb, name)), name
    for name in ["check", "to_json", "from_json", "classes"]:
        assert inspect.getdoc(inspect.getattr_static(fb.Pipeline, name)), name


def test_every_public_name_has_a_docstring():
    for name in fb.__all__:
        if name != "IMAGENET":
            assert inspect.getdoc(getattr(fb, name)), name
    for name, member in inspect.getmembers(fb.Loader):
        if not name.startswith("_"):
            assert inspect.getdoc(inspect.getattr_static(fb.Loader, name)), name


@pytest.mark.parametrize("owner", [fb.Pipeline, fb.Loader])
def test_every_method_is_of_the_class_that_users_know(owner):
    """Whichever private module it stands in: help(), errors of wrong arguments and pickles name the class."""
    methods = {name: inspect.getattr_static(owner, name) for name in dir(owner) if not name.startswith("_")}
    for name, method in methods.items():
        if inspect.isfunction(method):
            assert (method.__module__, method.__qualname__) == (owner.__module__, f"{owner.__name__}.{name}")
            with pytest.raises(TypeError, match=rf"^{owner.__name__}\.{name}\(\) "):
                method()


@pytest.mark.parametrize("name", [name for name in dir(fb.Pipeline) if inspect.isfunction(inspect.getattr_static(fb.Pipeline, name))])
def test_annotations_of_pipelines_can_be_evaluated(name):
    hints = typing.get_type_hints(getattr(fb.Pipeline, name))
    assert name.startswith("_") or name in ("check", "to_json") or hints["return"] is fb.Pipeline


def test_documented_defaults_are_in_the_signatures():
    def defaults(method):
        parameters = inspect.signature(method).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    assert defaults(fb.images) == {"split_by": "folder", "classes": None}
    assert defaults(fb.manifest) == {"root": None, "path": "path", "header": True, "columns": None, "types": None}
    assert defaults(fb.Pipeline.decode_image)["max_pixels"] == 100_000_000
    assert defaults(fb.Pipeline.random_resized_crop)["scale"] == (0.08, 1.0)
    assert defaults(fb.Pipeline.random_resized_crop)["ratio"] == (3 / 4, 4 / 3)
    assert defaults(fb.Pipeline.random_flip) == {"p": 0.5, "field": "image"}
    assert defaults(fb.Pipeline.batch) == {"last": "partial", "ragged": None}
    assert defaults(fb.Loader) == {
        "seed": 0, "epochs": None, "rank": None, "world_size": None, "mesh": None, "threads": "auto", "requests": "auto", "memory": "auto",
        "on_error": "raise", "max_errors": None, "output": "numpy", "storage_options": None, "shard_by": "auto", "hosts": None, "peers": None,
        "restart": False, "steps_per_epoch": None, "journal": None, "rehearsal": None,
        "share": None, "together": False, "progress": False, "pin_memory": False}


def test_a_call_makes_a_new_pipeline_and_leaves_the_old_one():
    source = fb.images("photos")
    longer = source.shuffle().batch(4)
    assert len(str(source).splitlines()) == 1
    assert len(str(longer).splitlines()) == 3


def test_print_has_one_line_per_operator():
    lines = str(described()).splitlines()
    assert len(lines) == 7
    assert "images" in lines[0] and "photos/train" in lines[0]
    assert "random_resized_crop" in lines[3] and "224" in lines[3]


def test_describing_touches_no_storage():
    fb.images("/nowhere/at/all").decode_image().batch(4).check()
    fb.files("/nowhere/*.bin").batch(4).check()
    fb.manifest("/nowhere.csv").batch(4).check()


def test_json_and_back():
    text = described().to_json()
    again = fb.Pipeline.from_json(text)
    assert again.to_json() == text
    assert str(again) == str(described())
    assert again.fingerprint == described().fingerprint


def test_json_has_the_one_form_that_all_faces_write():
    import json

    steps = json.loads(described().to_json())["steps"]
    assert [list(step.items()) for step in steps] == [
        [("op", "images"), ("root", "photos/train"), ("split_by", "folder")],
        [("op", "shuffle")],
        [("op", "decode_image"), ("mode", "rgb"), ("max_pixels", 100_000_000)],
        [("op", "random_resized_crop"), ("n", 224), ("scale", [0.08, 1.0]), ("ratio", [3 / 4, 4 / 3]),
         ("interpolation", "bilinear"), ("field", "image")],
        [("op", "random_flip"), ("p", 0.5), ("field", "image")],
        [("op", "normalize"), ("mean", [0.485, 0.456, 0.406]), ("std", [0.229, 0.224, 0.225]), ("field", "image")],
        [("op", "batch"), ("n", 64), ("last", "partial")],
    ]
    one = fb.images("x").decode_image(field="image").color_jitter(0.4).center_crop([32]).normalize([0.5], [0.5], field=["image"])
    two = fb.images("x").decode_image(field=["image"]).color_jitter([0.4]).center_crop(32).normalize((0.5,), (0.5,))
    assert one.to_json() == two.to_json()


def test_a_pipeline_travels_to_another_process():
    assert str(pickle.loads(pickle.dumps(described()))) == str(described())


def test_json_refuses_functions_and_names_them():
    with pytest.raises(fb.InvalidArgument, match="json_refuses_functions"):
        fb.images("photos").map(lambda sample: sample).to_json()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"forebay_pipeline": 1, "steps": 3}', '{"forebay_pipeline": 1, "steps": [1]}'])
def test_json_that_is_no_pipeline_is_refused(text):
    with pytest.raises(fb.InvalidArgument):
        fb.Pipeline.from_json(text)


def test_the_fingerprint_leaves_out_batch_size_and_holds_the_rest():
    base = fb.images("a").shuffle().decode_image().resize(32)
    assert base.batch(4).fingerprint == base.batch(8).fingerprint
    assert base.batch(4).fingerprint != base.random_flip().batch(4).fingerprint
    assert base.batch(4).fingerprint != base.resize(31).batch(4).fingerprint


def test_the_fingerprint_of_a_function_is_its_name_not_its_address():
    def steps():
        def augment(sample):
            return sample

        return fb.arrays(x=np.zeros(3)).map(augment)

    assert steps().fingerprint == steps().fingerprint


def test_check_lists_every_problem_at_once_with_its_remedy():
    pipeline = (fb.images("photos").random_crop(32).decode_image(mode="sepia").normalize([0.5, 0.5], [0.5])
                .select("imagf").batch(0).batch(4))
    problems = pipeline.check()
    assert len(problems) >= 4
    for problem in problems:
        assert problem.operator and problem.message and problem.remedy
        assert problem.remedy in str(problem)
    operators = " ".join(problem.operator for problem in problems)
    for name in ["random_crop", "decode_image", "select", "batch"]:
        assert name in operators


def test_a_loader_refuses_with_the_same_list():
    pipeline = fb.images("photos").random_crop(32).batch(4).batch(4)
    with pytest.raises(fb.InvalidArgument) as caught:
        fb.Loader(pipeline)
    assert caught.value.problems == pipeline.check()
    for problem in pipeline.check():
        assert problem.message in str(caught.value)


def test_check_says_where_one_shape_is_missing():
    problems = fb.images("photos").decode_image().batch(8).check()
    assert len(problems) == 1
    assert any(word in problems[0].remedy for word in ("crop", "resize"))


def test_normalize_takes_both_at_once_or_one_by_one():
    pair = fb.images("x").decode_image().normalize(fb.IMAGENET)
    apart = fb.images("x").decode_image().normalize(fb.IMAGENET.mean, std=np.array(fb.IMAGENET.std))
    assert pair.fingerprint == apart.fingerprint
    with pytest.raises(fb.InvalidArgument, match="mean and std"):
        fb.images("x").normalize([0.5, 0.5, 0.5])


def test_numpy_numbers_and_types_are_taken():
    one = fb.images("x").decode_image().resize(np.int64(32)).cast(np.float32)
    two = fb.images("x").decode_image().resize(32).cast("float32")
    assert one.fingerprint == two.fingerprint


def test_misspelt_arguments_are_python_errors():
    with pytest.raises(TypeError, match="interpolatoin"):
        fb.images("x").resize(32, interpolatoin="nearest")
    with pytest.raises(fb.InvalidArgument, match="not a function"):
        fb.images("x").map("augment")
