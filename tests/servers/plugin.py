"""The fixtures `servers` and `faults` for all Python tests; tests/conftest.py loads them."""
import os
from collections.abc import Callable, Iterator

import pytest

from servers.faults import Control
from servers.running import KINDS, Servers, absent, is_running


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[..., dict[str, str]]]:
    """`servers("ceph", "nginx")` gives the variables of running servers; they start at first use and end with the session.

    Skips the test where packages are missing; fails it with FOREBAY_REQUIRE_SERVERS=1.
    """
    started: list[Servers] = []
    before = dict(os.environ)

    def need(*wanted: str) -> dict[str, str]:
        wanted = ("ceph", *wanted) if "faults" in wanted and "ceph" not in wanted else wanted
        for name in wanted:
            if not is_running(name) and (why := absent(name)):
                (pytest.fail if os.environ.get("FOREBAY_REQUIRE_SERVERS") == "1" else pytest.skip)(f"SERVERS ABSENT: {why}")
        if missing := [name for name in wanted if not is_running(name)]:
            more = Servers(missing).start()
            started.append(more)
            os.environ.update(more.variables)  # so that the programs that tests start find them too
        return {key: value for key, value in os.environ.items() if key.startswith("FOREBAY_TEST_")}

    try:
        yield need
    finally:
        for one in reversed(started):
            one.stop()
        for kind in KINDS:
            for variable in kind.VARIABLES:
                if variable not in before:
                    os.environ.pop(variable, None)


@pytest.fixture
def faults(servers: Callable[..., dict[str, str]]) -> Iterator[Control]:
    """The knobs of the fault proxy in front of Ceph, without faults before and after the test."""
    control = Control(servers("ceph", "faults")["FOREBAY_TEST_FAULTS_CONTROL"])
    control.reset()
    control.wait_until_idle()
    yield control
    control.reset()
