"""What the catalog says of an operator is what every face has: Python's methods, the C++ header, descriptions and the documents.

A name, an order, a default, a kind of argument or an operator that one of them has and another has not is a failure here."""
import importlib.machinery
import importlib.util
import inspect
import json
import re

import pytest

import forebay as fb
from forebay import _core
from project import ROOT

CATALOG = json.loads(_core.catalog())
OPERATORS = {one["name"]: one for one in CATALOG["operators"]}
SOURCES = {one["name"]: one for one in CATALOG["sources"]}
HEADER = "".join((ROOT / "include/forebay" / name).read_text() for name in ("operator_options.h", "pipeline.h"))
NOTHING = (None, [], inspect.Parameter.empty)

CPP_TYPES = {
    "int": {"int64_t"}, "float": {"double"}, "bool": {"bool"}, "text": {"std::string", "std::string_view"}, "size": {"ImageSize"}, "fields": {"Fields"},
    "dtype": {"std::string_view"}, "bytes": {"ByteSize"}, "floats": {"std::vector<double>"}, "range": {"JitterRange"}, "low and high": {"std::vector<double>"}, "number or word": {"double"},
    "limit": {"double"}, "text or none": {"std::string"}, "path": {"std::string", "std::string_view"}, "file hash": {"std::string"},
    "scalar": {"TableValue"}, "values by field": {"std::map<std::string, std::vector<int64_t>>"},
    "text by field": {"TextByField"}, "int by field": {"IntByField"}, "float by field": {"FloatByField"}, "weights": {"Weights"}, "pairs": {"std::map<std::string, std::string>"}, "json": {"std::vector<std::string>", "std::map<std::string, std::string>", "std::map<std::string, double>", "std::vector<MixStage>"},
}
KINDS = {
    "plain": inspect.Parameter.POSITIONAL_OR_KEYWORD, "named": inspect.Parameter.KEYWORD_ONLY,
    "list": inspect.Parameter.VAR_POSITIONAL, "pairs": inspect.Parameter.VAR_KEYWORD,
}


def args_of(one, face):
    return [arg for arg in one["args"] if arg["faces"] in ("all", face)]


def plain_default(default):
    """As JSON has it, where a list of one is its element."""
    if isinstance(default, (list, tuple)):
        return default[0] if len(default) == 1 else list(default)
    return default


def same_default(one, other):
    one, other = plain_default(one), plain_default(other)
    return (one in NOTHING and other in NOTHING) or (type(one) is bool) == (type(other) is bool) and one == other


# Python


def python_order(args):
    """Those with a place come first, whatever is said between them."""
    return [arg for arg in args if arg["form"] != "named"] + [arg for arg in args if arg["form"] == "named"]


def check_python(one, function, without=()):
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", *without)]
    args = python_order(args_of(one, "python"))
    assert [p.name for p in parameters] == [arg["name"] for arg in args]
    for arg, parameter in zip(args, parameters):
        assert parameter.kind is KINDS[arg["form"]], arg["name"]
        if arg["form"] in ("plain", "named"):
            must = parameter.default is inspect.Parameter.empty
            assert must == arg["required"], f"{arg['name']}: required in one and not in the other"
        assert same_default(parameter.default, arg["default"]), f"{arg['name']}: default"


def test_python_has_the_operators_of_the_catalog():
    other = {"check", "classes", "fingerprint", "from_json", "to_json"}
    assert {name for name in dir(fb.Pipeline) if not name.startswith("_")} - other == set(OPERATORS)


# A table in memory has no pattern; a data set is an object, of which a description holds the length.
NOT_IN_PYTHON = {"arrow": {"pattern": "pattern_or_table"}, "dataset": {"size": "dataset"}, "stream": {"url": "url_or_factory"}}


# `fb.stream` is two sources: of an address, and of a function, which `iterable` is in descriptions.
@pytest.mark.parametrize("name", [name for name in SOURCES if name != "iterable"])
def test_a_python_source_has_the_arguments_of_the_catalog(name):
    one, other_names = SOURCES[name], NOT_IN_PYTHON.get(name, {})
    function = fb.Dataset if name == "dataset" else getattr(fb, name)
    one = {**one, "args": [{**arg, "name": other_names.get(arg["name"], arg["name"])} for arg in one["args"]]}
    if one["kind"] == "table":  # in a program there is always something to read
        one["args"][0]["required"] = True
    check_python(one, function, without={"dataset": ("workers",), "concat": ("named",), "zip": ("named",)}.get(name, ()))


def test_python_has_the_sources_of_the_catalog():
    assert {name.lower() for name in fb.sources.__all__ + fb.mixing.__all__ + fb.streams.__all__} - {"null_mask"} | {"iterable"} == set(SOURCES)


SAMPLES = {"int": 3, "float": 0.5, "bool": True, "text": "x", "size": 5, "floats": [0.25, 0.75], "fields": ["a", "b"], "dtype": "uint8",
           "bytes": "1GiB", "number or word": 1.5, "text by field": {"a": "nearest"}, "int by field": {"a": 2}, "float by field": {"a": 0.5}, "pairs": {"a": "b"}, "json": 1,
           "limit": 0.5, "text or none": "x", "path": "x", "file hash": "x", "range": 0.5, "low and high": [0.25, 0.75], "scalar": 1, "values by field": {"a": 1}, "weights": [0.5, 2.0]}


@pytest.mark.parametrize("name", OPERATORS)
def test_python_writes_each_argument_in_the_catalogs_order(name):
    one = OPERATORS[name]
    given, rest = {}, []
    for arg in args_of(one, "python"):
        if arg["form"] == "list":
            rest = SAMPLES[arg["type"]]
        elif arg["form"] == "pairs":
            given.update(SAMPLES[arg["type"]])
        else:
            given[arg["name"]] = "threads" if arg["use"] == "run" else SAMPLES[arg["type"]]
            if arg["default"] is True:  # a default may be left out
                given[arg["name"]] = False
    if one["function"]:
        rest = [len]
    pipeline = getattr(fb.images("photos"), name)(*rest, **given)
    text = str(pipeline).splitlines()[-1]
    assert text.startswith(f"  .{name}(")
    written = [arg["name"] for arg in args_of(one, "python") if arg["use"] != "run"]
    places = [re.search(rf"[(, ]{arg}=", text) for arg in written]
    assert all(places), f"{written} in {text}"
    assert [place.start() for place in places] == sorted(place.start() for place in places)
    assert not [problem for problem in pipeline.check() if "unknown argument" in problem.message]


# The C++ header


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def split(text):
    """At commas that stand in no brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "<({") - (char in ">)}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def cpp_value(text):
    if text is None or text in ("", "{}"):
        return None
    if text.startswith("{"):
        return [cpp_value(one) for one in split(text[1:-1])]
    if text.startswith('"'):
        return text.strip('"')
    quotient = re.fullmatch(r"([\d.]+) / ([\d.]+)", text)
    if quotient:
        return float(quotient[1]) / float(quotient[2])
    return json.loads(text.replace("'", ""))


def declaration(text):
    """(type, name, default or None where there is none)"""
    left, _, default = text.partition("=")
    kind, name = left.strip().rsplit(" ", 1)
    return kind.strip(), name, default.strip() or None


def members(struct):
    body = re.search(rf"^struct {struct} \{{(.*?)^\}};", HEADER, re.MULTILINE | re.DOTALL).group(1)
    found = []
    for statement in without_comments(body).split(";"):
        parts = split(" ".join(statement.split()))
        for i, part in enumerate(parts):
            kind, name, default = declaration(part) if i == 0 else declaration(f"{found[-1][0]} {part}")
            found.append((kind, name, default))
    return found


def overloads():
    """Of each method that gives a Pipeline, the parameters of its overloads."""
    body = without_comments(re.search(r"^class Pipeline \{(.*?)^\};", HEADER, re.MULTILINE | re.DOTALL).group(1))
    found = {}
    for name, parameters in re.findall(r"^  Pipeline (\w+)\((.*?)\) const(?:;| \{)", body, re.MULTILINE | re.DOTALL):
        found.setdefault(name, []).append([declaration(one) for one in split(" ".join(parameters.split()))])
    return found


CPP = overloads()


def cpp_parts(name):
    """Parameters, members of the options, and whether the options may be left out, of the overload that takes most."""
    longest = max(CPP[name], key=len)
    options = [one for one in longest if one[0].endswith("Options")]
    return [one for one in longest if one not in options], members(options[0][0]) if options else [], [one[2] for one in options] != [None]


IN_CPP = [name for name, one in OPERATORS.items() if one["faces"] != "python"]


def test_cpp_has_the_operators_of_the_catalog():
    assert set(CPP) == set(IN_CPP)


@pytest.mark.parametrize("name", IN_CPP)
def test_a_cpp_method_has_the_arguments_of_the_catalog(name):
    one = OPERATORS[name]
    plain, options, may_be_left_out = cpp_parts(name)
    if one["function"]:
        assert plain.pop(0)[1] == "function"
        options.remove(("std::string", "name", '"function"'))
    args = args_of(one, "c++")
    assert [entry[1] for entry in plain + options] == [arg["name"] for arg in args]
    for i, (arg, (kind, _, default)) in enumerate(zip(args, plain + options)):
        kind = re.sub(r"^std::optional<(.*)>$", r"\1", kind)
        assert kind in CPP_TYPES[arg["type"]], arg["name"]
        assert same_default(cpp_value(default), arg["default"]), f"{arg['name']}: default"
        if i < len(plain) and default is None and not arg["required"]:
            fewer = [parameters for parameters in CPP[name] if arg["name"] not in [one[1] for one in parameters]]
            assert fewer, f"{arg['name']} must be given in C++ only"
    assert may_be_left_out == all(not arg["required"] for arg in args[len(plain):]), "the options"


@pytest.mark.parametrize("name, struct", [("images", "ImagesOptions"), ("manifest", "ManifestOptions"), ("text", "TextOptions"), ("mix", "MixSourceOptions")])
def test_a_cpp_source_has_the_arguments_of_the_catalog(name, struct):
    args = SOURCES[name]["args"][1:]
    assert [one[1] for one in members(struct)] == [arg["name"] for arg in args]
    for arg, (kind, _, default) in zip(args, members(struct)):
        kind = re.sub(r"^std::optional<(.*)>$", r"\1", kind)
        assert kind in CPP_TYPES[arg["type"]]
        assert same_default(cpp_value(default), arg["default"]), arg["name"]


@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_a_cpp_table_has_the_arguments_of_the_catalog(name):
    assert [one[1] for one in members("TableOptions")] == [arg["name"] for arg in SOURCES[name]["args"][1:]]


def test_the_cpp_tar_shards_have_the_arguments_of_the_catalog():
    args = SOURCES["webdataset"]["args"][1:]
    assert [one[1] for one in members("WebdatasetOptions")] == [arg["name"] for arg in args]
    assert same_default(cpp_value(members("WebdatasetOptions")[-1][2]), args[-1]["default"])


# The files that are made of the catalog


def test_the_files_that_are_made_of_the_catalog_are_what_it_says():
    loader = importlib.machinery.SourceFileLoader("operators", str(ROOT / "tools" / "operators"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("operators", loader))
    loader.exec_module(module)
    stale = [str(path.relative_to(ROOT)) for path, text in module.files(CATALOG).items() if path.read_text() != text]
    assert stale == [], "run tools/operators"


# Code that plans knows roles, not names


def test_no_code_that_plans_compares_names():
    places = [path for folder in ("src/pipeline", "src/loader", "src/engine") for path in (ROOT / folder).glob("*.*")]
    names = "|".join([*OPERATORS, *SOURCES])
    compared = re.compile(rf'name\s*[!=]=\s*"(?:{names})"|"(?:{names})"\s*[!=]=|find_step\([^()]*(?:\([^()]*\))?[^()]*"')
    found = [f"{path.name}: {line.strip()}" for path in places + [ROOT / "src/base/schema.h", *(ROOT / "src/cli").glob("*.cc")]
             if not path.name.endswith(("_test.cc", "_test_support.h")) for line in path.read_text().splitlines() if compared.search(line)]
    assert found == []
