"""Fixtures of all Python tests. This file also puts its folder on the path, so that they can import `project`."""
import pytest

from project import BUILD, run
from servers.plugin import faults, servers  # noqa: F401


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A prefix with the C++ library as `cmake --install` leaves it."""
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "cpp")
    return prefix
