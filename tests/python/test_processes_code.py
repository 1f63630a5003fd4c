"""User code gets to worker processes from wherever it was written: scripts, `python -c`, notebooks, inner functions, modules."""
import collections
import dataclasses
import enum
import functools
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from loading import script

import forebay as fb
from forebay._processes import ProcessPool

PROGRAM = """
import abc, collections, dataclasses, enum, functools
import numpy as np
import forebay as fb
from forebay._processes import ProcessPool

SCALE = 3
Point = collections.namedtuple("Point", "x y", defaults=[5])

class Shape(abc.ABC):
    kinds = {}

    def __init_subclass__(cls):
        Shape.kinds[cls.__name__] = cls

    @abc.abstractmethod
    def area(self): ...

@dataclasses.dataclass(order=True)
class Square(Shape):
    side: int = 2
    tags: list = dataclasses.field(default_factory=list)

    def area(self):
        return self.side ** 2 * SCALE

    @property
    def half(self):
        return self.side / 2

    @classmethod
    def unit(cls):
        return cls(1)

    @staticmethod
    def name():
        return "square"

class Big(Square):
    __slots__ = ("extra",)

    def area(self):
        return 10 * super().area()

class Color(enum.Enum):
    RED = 1
    BLUE = 2

    def lower(self):
        return self.name.lower()

class Odd(Exception):
    pass

@functools.lru_cache(maxsize=10)
def cached(n):
    return n if n < 2 else cached(n - 1) + cached(n - 2)

def check(sample):
    if sample["x"] == 13:
        raise Odd("13")
    return sample

def everything(sample):
    big = Big(3)
    big.extra = 1
    assert big.area() == 270 and Square.unit().half == 0.5 and Square.name() == "square" and Square(1) < Square(2)
    assert isinstance(big, Shape) and set(Shape.kinds) >= {"Square", "Big"}
    try:
        Shape()
    except TypeError:
        pass
    else:
        raise AssertionError("abstract")
    assert Point(1) == (1, 5) and Color(2) is Color.BLUE and Color.RED.lower() == "red"
    assert [n for n in map(lambda n: n * SCALE, range(3))] == [0, 3, 6]
    assert np.arange(3).sum() == 3  # imports a module from C code
    return {"x": np.int64(cached(20) + sample["x"] * SCALE)}

def results():
    return Point(1, np.arange(3)), Square(4, ["a"]), Color.BLUE, Big

with fb.Loader(fb.arrays(x=np.arange(20)).map(everything, workers="processes").batch(20), epochs=1, threads=2) as loader:
    print(next(iter(loader))["x"][:3].tolist())
with ProcessPool(lambda: results, 1, "test") as pool:
    point, square, color, cls = pool.call(0)
    print(type(point) is Point, square == Square(4, ["a"]), color is Color.BLUE, cls is Big)
try:
    with fb.Loader(fb.arrays(x=np.arange(20)).map(check, workers="processes").batch(20), threads=1) as loader:
        list(loader)
except Odd as error:
    print("Odd", error)
"""
PRINTS = "[6765, 6768, 6771]\nTrue True True True\nOdd 13\n"


def run(*command, **options):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_dash_c():
    assert run("-c", PROGRAM, stdin=subprocess.DEVNULL) == PRINTS


def test_a_script_without_a_guard(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    assert run(tmp_path / "train.py") == PRINTS
    assert run("train.py", cwd=tmp_path) == PRINTS


def test_a_program_from_standard_input():
    assert run("-", input=PROGRAM) == PRINTS


def test_a_module_run_with_dash_m(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "tools.py").write_text("def twice(n):\n    return 2 * n\n")
    (tmp_path / "package" / "train.py").write_text(textwrap.dedent("""
        from forebay._processes import ProcessPool
        from .tools import twice

        def work(n):
            from . import tools
            return twice(n), tools.twice(n)

        with ProcessPool(lambda: work, 1, "test") as pool:
            print(pool.call(0, 4))
    """))
    assert run("-m", "package.train", cwd=tmp_path) == "(8, 8)\n"


def test_a_session_in_which_code_is_run_piece_by_piece_as_in_a_notebook():
    cells = """
        import code
        shell = code.InteractiveInterpreter(__import__("__main__").__dict__)

        def cell(text):
            exec(compile(text, "<cell>", "exec"), __import__("__main__").__dict__)

        cell("import forebay as fb, numpy as np")
        cell("factor = 2")
        cell("def f(sample): return {'x': sample['x'] * factor}")
        run = "with fb.Loader(fb.arrays(x=np.arange(4)).map(f, workers='processes').batch(4), threads=1) as loader: "
        run += "print(next(iter(loader))['x'].tolist())"
        cell(run)
        cell("factor = 5")
        cell(run)
        cell("def f(sample): return {'x': sample['x'] + 100}")
        cell(run)
    """
    assert script(cells).out == "[0, 2, 4, 6]\n[0, 5, 10, 15]\n[100, 101, 102, 103]\n"


def test_the_program_is_not_run_again_in_the_workers(tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent("""
        from forebay._processes import ProcessPool
        print("once")

        def work():
            return __name__, __file__.rpartition("/")[2]

        with ProcessPool(lambda: work, 2, "test") as pool:
            print(pool.call(0), pool.call(1))
    """))
    assert run(tmp_path / "train.py") == "once\n('__main__', 'train.py') ('__main__', 'train.py')\n"


def test_workers_have_folder_path_arguments_and_environment_of_the_moment(tmp_path):
    text = """
        import os, sys
        from forebay._processes import ProcessPool

        def look():
            return os.getcwd(), sys.argv[1:], sys.path[0], os.environ.get("GIVEN"), "OMP_NUM_THREADS" in os.environ

        with ProcessPool(lambda: look, 1, "first") as pool:
            pool.call(0)
        os.chdir(sys.argv[1])
        sys.path.insert(0, "/somewhere")
        os.environ["GIVEN"] = "yes"
        with ProcessPool(lambda: look, 1, "second") as pool:
            print(pool.call(0) == (sys.argv[1], sys.argv[1:], "/somewhere", "yes", True))
    """
    assert script(text, tmp_path).out == "True\n"


# From a module


def outer(n):
    def inner(m):
        return n + m + OFFSET

    return inner


OFFSET = 1000


class Adder:
    def __init__(self, n):
        self.n = n

    def add(self, m):
        return self.n + m


@pytest.mark.parametrize("function", [outer(1), lambda m: m + 1001, Adder(1001).add, functools.partial(outer(1)),
                                      functools.partial(lambda n, m: n + m, 1001)])
def test_lambdas_inner_functions_methods_and_partials(function):
    with ProcessPool(lambda: function, 1, "test") as pool:
        assert pool.call(0, 5) == 1006


def test_inner_functions_that_call_themselves_and_each_other():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n > 0 and even(n - 1)

    with ProcessPool(lambda: even, 1, "test") as pool:
        assert [pool.call(0, n) for n in range(4)] == [True, False, True, False]


def test_inner_classes():
    @dataclasses.dataclass
    class Local:
        n: int = 1

        def twice(self):
            return 2 * self.n

    class Derived(Local):
        def twice(self):
            return super().twice() + 1

    class Kind(enum.IntEnum):
        A = 1

    Pair = collections.namedtuple("Pair", "a b")

    with ProcessPool(lambda: lambda n: (Derived(n).twice(), int(Kind.A), tuple(Pair(1, 2))), 1, "test") as pool:
        assert pool.call(0, 4) == (9, 1, (1, 2))


def test_cached_properties_and_classes_derived_from_those_of_the_program():
    @dataclasses.dataclass
    class Local:
        n: int
        tags: list = dataclasses.field(default_factory=list)

        @functools.cached_property
        def twice(self):
            return 2 * self.n

    def derived(n):
        @dataclasses.dataclass
        class Derived(Local):
            more: int = 3

        one = Derived(n)
        return one.twice, one.twice, one.tags, one.more

    with ProcessPool(lambda: derived, 1, "test") as pool:
        assert pool.call(0, 4) == (8, 8, [], 3)


def test_only_the_globals_that_are_used_travel():
    text = """
        import threading
        from forebay._processes import ProcessPool

        unused = threading.Lock()

        class Record:
            unused = 5

        def work(record):
            return record.unused

        with ProcessPool(lambda: lambda: work(Record()), 1, "test") as pool:
            print(pool.call(0))
    """
    outcome = script(text)
    assert outcome.out == "5\n", outcome.err


@pytest.mark.parametrize("code, words", [
    ("lock = threading.Lock()\ndef f(s):\n    with lock: return s", ["the global 'lock' of the function 'f'", "type lock"]),
    ("class C:\n    def __init__(self): self.deep = {'a': [open('/dev/null')]}\n    def __call__(self, s): return s\nf = C()",
     ["the attribute 'deep' of C", "element 'a' of the dict", "TextIOWrapper"]),
    ("def make():\n    g = (i for i in [1])\n    return lambda s: next(g)\nf = make()", ["the variable 'g' around it", "generator"]),
    ("loader = fb.Loader(fb.arrays(x=np.arange(3)).batch(1))\ndef f(s): return loader",
     ["the global 'loader'", "Loader"])])
def test_what_cannot_be_sent_is_named_with_the_way_out(code, words):
    text = "import threading\nimport numpy as np\nimport forebay as fb\n" + code + textwrap.dedent("""
        try:
            fb.Loader(fb.arrays(x=np.arange(4)).map(f, workers="processes").batch(2))
        except fb.InvalidArgument as error:
            print(error)
    """)
    outcome = script(text)
    for word in [*words, "workers='threads'"]:
        assert word in outcome.out, outcome.out + outcome.err


def test_what_a_worker_lacks_is_told(tmp_path):
    text = """
        import sys, types
        import numpy as np
        import forebay as fb
        sys.path.insert(0, sys.argv[1])
        import vanishing
        sys.path.pop(0)
        with fb.Loader(fb.arrays(x=np.arange(4)).map(vanishing.f, workers="processes").batch(2), threads=1) as loader:
            try:
                next(iter(loader))
            except ModuleNotFoundError as error:
                print(error)
    """
    (tmp_path / "vanishing.py").write_text("def f(sample): return sample\n")
    outcome = script(text, tmp_path)
    assert outcome.out == "No module named 'vanishing'\n", outcome.err


def test_arrays_in_a_closure_arrive():
    table = np.arange(100_000)
    pipeline = fb.arrays(x=np.arange(8)).map(lambda s: {"y": table[-1 - s["x"]]}, workers="processes").batch(8)
    with fb.Loader(pipeline, epochs=1, threads=1) as loader:
        assert next(iter(loader))["y"].tolist() == list(range(99_999, 99_991, -1))
