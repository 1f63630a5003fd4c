"""A certificate authority made on the spot, and one certificate by it for everything on loopback."""
import os
import shutil
from pathlib import Path

from servers.daemon import run

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
NAMES = "DNS:localhost,DNS:styled.localhost,IP:127.0.0.1,IP:::1"


def make(folder: Path) -> None:
    """Writes ca.pem, server.pem and server.key (P-256, valid for two days).

    Servers that join others have the same authority, since tests are told of one alone.
    """
    key = [*KEY, "-days", "2"]
    authority = Path(os.environ.get("FOREBAY_TEST_CA", folder / "ca.pem"))
    if authority.with_name("ca.key").exists():
        shutil.copy(authority, folder / "ca.pem")
        shutil.copy(authority.with_name("ca.key"), folder / "ca.key")
    else:
        _make_authority(folder, key)
    run("the server's certificate", ["openssl", "req", "-x509", *key, "-subj", "/CN=localhost", "-CA", folder / "ca.pem",
                                     "-CAkey", folder / "ca.key", "-addext", f"subjectAltName={NAMES}",
                                     "-addext", "basicConstraints=critical,CA:FALSE",
                                     "-keyout", folder / "server.key", "-out", folder / "server.pem"])


def make_odd(folder: Path) -> None:
    """Beside those of make(), others for servers to have (NAME.pem, NAME.key): `elsewhere` is for another host, `expired` ended when it was made; and `client`, for who asks. `other.pem` is an authority that has
    signed nothing but `stranger`, for who asks, too."""
    make(folder)
    for name, names, days, authority in (("elsewhere", "DNS:elsewhere.example", 2, "ca"), ("expired", NAMES, 0, "ca"), ("client", "DNS:client", 2, "ca"), ("stranger", "DNS:stranger", 2, "other")):
        if authority == "other":
            run("another authority", ["openssl", "req", "-x509", *KEY, "-days", "2", "-subj", "/CN=Another authority", "-keyout", folder / "other.key",
                                      "-out", folder / "other.pem"])
        run(f"the certificate '{name}'", ["openssl", "req", "-new", *KEY, "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}",
                                          "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr"])
        run(f"the certificate '{name}'", ["openssl", "x509", "-req", "-in", folder / f"{name}.csr", "-days", days, "-copy_extensions", "copy",
                                          "-CA", folder / f"{authority}.pem", "-CAkey", folder / f"{authority}.key", "-out", folder / f"{name}.pem"])


def _make_authority(folder: Path, key: list[str]) -> None:
    run("the certificate authority", ["openssl", "req", "-x509", *key, "-subj", "/CN=Forebay test authority",
                                      "-keyout", folder / "ca.key", "-out", folder / "ca.pem"])
