#!/usr/bin/env python3
"""Proves that includes run downhill: a module includes only modules of lower layers, and telemetry.

    tools/check_layers.py [ROOT]

Prints every offending line with the rule that it breaks; exit code 1 if there is one. Also refused: include cycles
between files or folders, modules of python/forebay that import each other when they are loaded, third-party headers in
include/forebay, examples that reach behind the public headers, names that say nothing (utils, helpers, common, misc,
manager), two types of the same name, and headers that include the ledger or the JSON library where sources would do.
"""
import ast
import re
import sys
from pathlib import Path

LAYERS = [
    ["base", "telemetry"],
    ["runtime", "codec", "arrow_codec", "plan", "page"],
    ["store", "sound"],
    ["format", "cache", "engine", "cluster"],
    ["pipeline"],
    ["ops", "stream"],
    ["loader", "brokers"],
    ["serve", "study"],
    ["materialize"],
    ["cli", "python", "capi"],
]
LAYER_OF = {module: layer for layer, modules in enumerate(LAYERS) for module in modules}

# Who a public header belongs to: that module, and the layers above it, may include it.
PUBLIC_HEADERS = {
    "status.h": "base", "result.h": "base", "dtype.h": "base", "buffer.h": "base", "tensor.h": "base",
    "string_list.h": "base", "data_warning.h": "base", "c.h": "base",  # declarations alone; src/capi has what they promise
    "ledger.h": "telemetry", "stats/cache.h": "telemetry", "stats/histogram.h": "telemetry", "stats/part.h": "telemetry", "stats/rehearsal.h": "telemetry",
    "stats/step.h": "telemetry", "stats/store.h": "telemetry", "stats/stream.h": "telemetry", "stats/time.h": "telemetry",
    "stats/tuning.h": "telemetry", "engine.h": "engine",
    "argument_types.h": "pipeline", "operator_options.h": "pipeline", "pipeline.h": "pipeline", "problem.h": "pipeline", "batch.h": "pipeline",
    "loader.h": "loader", "versions.h": "loader", "forebay.h": "loader", "shared_loader.h": "serve", "diagnosis.h": "study", "profile.h": "study", "simulation.h": "study", "materialize.h": "materialize",
}

# What takes long to compile or changes often, and the headers that may include it. Others declare what they mention.
FEW_HEADERS = {
    "nlohmann/json.hpp": {
        "cli/failure.h", "codec/json_tree.h", "format/table/fake_table.h", "loader/describe/described_values.h",
        "loader/describe/given_args.h", "ops/column/number.h", "ops/definition/number_or_word.h", "pipeline/op_spec.h",
        "study/pipeline_json.h"},
    "forebay/ledger.h": {"forebay/forebay.h", "serve/wire/ledger_message.h", "study/observation.h"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
EMPTY_WORDS = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}
SOURCES = {".h", ".cc"}


def source_files(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in SOURCES) if folder.is_dir() else []


def includes_of(path):
    """Yields (line number, '"' or '<', name)."""
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1], match[2]


def owner_of(name):
    """The module that an included name belongs to, or None if no module does."""
    first, _, rest = name.partition("/")
    if first == "forebay":
        return PUBLIC_HEADERS.get(rest)
    return first if first in LAYER_OF and rest else None


def may_include(module, other):
    if module == other:
        return True
    if other == "telemetry":
        return module != "base"
    return LAYER_OF[other] < LAYER_OF[module] or (module, other) == ("telemetry", "base")


def check_quoted(module, name):
    """What is wrong with `#include "name"` inside `module`, or None."""
    owner = owner_of(name)
    if owner is None:
        if name.startswith("forebay/"):
            return f"no such public header in the table of {Path(__file__).name}"
        return "names no module: write the path from src/"
    if not may_include(module, owner):
        return f"{module} (layer {LAYER_OF[module]}) may not use {owner} (layer {LAYER_OF[owner]})"
    return None


def check_module_file(module, path):
    for number, kind, name in includes_of(path):
        if kind == '"' and (problem := check_quoted(module, name)):
            yield number, name, problem


def public_name(root, path):
    """As it is included: without the folders include/forebay."""
    return path.relative_to(root / "include" / "forebay").as_posix()


def check_public_header(root, path):
    owner = PUBLIC_HEADERS.get(public_name(root, path))
    if owner is None:
        yield 1, path.name, "a public header without an owner: add it to PUBLIC_HEADERS"
        return
    for number, kind, name in includes_of(path):
        if kind == "<" and not re.fullmatch(r"[a-z_]+|std(int|def)\.h", name):
            yield number, name, "a public header includes only forebay/ and the C++ standard library"
        elif kind == '"' and not name.startswith("forebay/"):
            yield number, name, "a public header includes no private one"
        elif kind == '"' and (problem := check_quoted(owner, name)):
            yield number, name, problem


def check_example(path):
    for number, kind, name in includes_of(path):
        if kind == '"' and not name.startswith("forebay/"):
            yield number, name, "examples use the public headers only"


def check_includes(root):
    for folder in sorted(p for p in (root / "src").iterdir() if p.is_dir()):
        if folder.name not in LAYER_OF and source_files(folder):
            yield folder, 1, folder.name, "a module that is in no layer: add it to LAYERS"
            continue
        for path in source_files(folder):
            yield from ((path, *found) for found in check_module_file(folder.name, path))
    for path in source_files(root / "include" / "forebay"):
        yield from ((path, *found) for found in check_public_header(root, path))
    for path in source_files(root / "examples"):
        yield from ((path, *found) for found in check_example(path))


def check_few(root):
    """Headers that make many files depend on what few of them need."""
    for top in (root / "src", root / "include"):
        for path in source_files(top):
            for number, _, name in includes_of(path):
                few = FEW_HEADERS.get(name)
                if path.suffix == ".h" and few is not None and path.relative_to(top).as_posix() not in few:
                    yield path, number, name, "few headers include this (FEW_HEADERS): declare the types, and include it in sources"


def find_cycle(graph):
    """A list of nodes that include each other in a circle, or []."""
    done, trail = set(), []

    def visit(node):
        if node in trail:
            return trail[trail.index(node):] + [node]
        if node in done:
            return []
        trail.append(node)
        for other in sorted(graph.get(node, ())):
            if cycle := visit(other):
                return cycle
        done.add(trail.pop())
        return []

    return next((cycle for node in sorted(graph) if (cycle := visit(node))), [])


def include_graph(root):
    """File → files of this project that it includes."""
    graph = {}
    for top in (root / "src", root / "include"):
        for path in source_files(top):
            targets = (base / name for _, kind, name in includes_of(path) if kind == '"'
                       for base in (root / "src", root / "include"))
            graph[path] = {target for target in targets if target.is_file()}
    return graph


def without_tests(graph):
    """Nor the headers that only tests include."""
    included = set().union(*graph.values()) if graph else set()
    left = [path for path in graph if path not in included and not path.stem.endswith("_test")]
    product = {}
    while left:
        path = left.pop()
        if path not in product:
            product[path] = graph.get(path, set())
            left.extend(product[path])
    return product


def check_cycles(root):
    graph = include_graph(root)
    folders = {}
    for path, targets in without_tests(graph).items():
        folder = folder_of(root, path)
        folders.setdefault(folder, set()).update({folder_of(root, t) for t in targets} - {folder})
    for kind, cycle in (("files", find_cycle(graph)), ("folders", find_cycle(folders))):
        if cycle:
            names = " -> ".join(str(n.relative_to(root)) if isinstance(n, Path) else n for n in cycle)
            yield root, 0, names, f"{kind} that include each other in a circle"


def python_imports(path, top):
    """The modules of the package that a module imports when it is loaded: neither in functions nor for types alone."""
    package = path.relative_to(top).parent.parts
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.level:
            within = [*package[:len(package) - statement.level + 1], *(statement.module or "").split(".")]
            folder = top.joinpath(*(part for part in within if part))
            for name in statement.names:
                # Something of a module, or a module itself; what a package's own __init__ has comes from there.
                places = [folder.with_suffix(".py"), folder / f"{name.name}.py", folder / name.name / "__init__.py"]
                yield from (place for place in places if place.is_file())


def check_python_cycles(root):
    top = root / "python"
    graph = {path: set(python_imports(path, top)) - {path} for path in sorted(top.rglob("*.py"))} if top.is_dir() else {}
    if cycle := find_cycle(graph):
        yield root, 0, " -> ".join(str(path.relative_to(root)) for path in cycle), "Python modules that import each other in a circle"


def folder_of(root, path):
    """A module, a folder in it, or its public headers: promises that any folder of the module may know."""
    parts = path.relative_to(root).parts
    return "include/" + PUBLIC_HEADERS.get(public_name(root, path), "base") if parts[0] == "include" else "/".join(parts[1:-1])


def check_names(root):
    for top in ("src", "include", "tests", "tools", "bench", "python", "examples"):
        for path in sorted((root / top).rglob("*")) if (root / top).is_dir() else []:
            if "__pycache__" not in path.parts and EMPTY_WORDS & set(re.split(r"[^a-z]+", path.stem.lower())):
                yield path, 0, path.name, "a name that says nothing about what is inside"


NAMESPACE = re.compile(r"(?:inline )?namespace(?: ([\w:]+))? \{$")
TYPE = re.compile(r"(?:class|struct|union|enum class) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: :[^:].*)? ?\{")


def types_of(path):
    """Yields (line number, full name) of types in a namespace that has a name, nested ones left out."""
    spaces = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if match := NAMESPACE.match(line):
            spaces.append(match[1])
        elif line.startswith("}  // namespace"):
            spaces.pop()
        elif None not in spaces and (match := TYPE.match(line)):
            yield number, "::".join([*spaces, match[1]])


def check_types(root):
    """Two types of one name are one to the linker: it keeps one of their destructors, or of the vectors of them."""
    first = {}
    for top in ("src", "include", "tests"):
        for path in source_files(root / top):
            for number, name in types_of(path):
                other = first.setdefault(name, path)
                if other != path:
                    yield path, number, name, f"there is another one in {other.relative_to(root)}"


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).resolve().parent.parent).resolve()
    problems = [*check_includes(root), *check_few(root), *check_cycles(root), *check_python_cycles(root), *check_names(root), *check_types(root)]
    for path, line, name, problem in problems:
        place = path.relative_to(root) if path != root else Path(".")
        print(f"{place}:{line}: {name}: {problem}" if line else f"{place}: {name}: {problem}")
    print(f"layers: {len(problems)} problem{'s' * (len(problems) != 1)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
