"""A certificate authority made on the spot, and one certificate by it for everything on loopback."""
import os
import shutil
from pathlib import Path

from servers.daemon import run

NAMES = "DNS:localhost,DNS:styled.localhost,IP:127.0.0.1,IP:::1"


def make(folder: Path) -> None:
    """Writes ca.pem, server.pem and server.key (P-256, valid for two days).

    Servers that join others have the same authority, since tests are told of one alone.
    """
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
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


def _make_authority(folder: Path, key: list[str]) -> None:
    run("the certificate authority", ["openssl", "req", "-x509", *key, "-subj", "/CN=Forebay test authority",
                                      "-keyout", folder / "ca.key", "-out", folder / "ca.pem"])
