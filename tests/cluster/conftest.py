"""Fixtures of jobs over namespaced hosts."""
import pytest

from project import write_photos


@pytest.fixture(scope="session", autouse=True)
def hosts_possible():
    from lab import absent

    if why := absent():
        pytest.skip(f"NAMESPACES ABSENT: {why}")


@pytest.fixture(scope="session")
def many_photos(tmp_path_factory):
    """240 small pictures in three class folders."""
    return write_photos(tmp_path_factory.mktemp("hosts") / "photos", per_class=80)


@pytest.fixture
def objects(tmp_path, many_photos):
    """Makes an object server at the storage of a lab; it ends with the test."""
    from lab import ObjectServer

    made = []

    def make(lab):
        made.append(ObjectServer(lab.storage, lab.STORAGE, tmp_path / f"store-{len(made)}", many_photos))
        return made[-1]

    yield make
    for server in made:
        server.close()
