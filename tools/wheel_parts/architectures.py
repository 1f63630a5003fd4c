"""The processors that wheels are made for: this machine's, or another's by a cross compiler and qemu."""
import platform
from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    machine: str  # as `uname -m` and the platforms of wheels say it
    debian: str
    openssl: str  # OpenSSL's own name
    loader: str  # glibc's dynamic loader

    @property
    def triplet(self) -> str:
        return f"{self.machine}-linux-gnu"

    @property
    def foreign(self) -> bool:
        return self.machine != platform.machine()

    @property
    def prefix(self) -> str:
        """What the names of the compiler's programs begin with."""
        return f"{self.triplet}-" if self.foreign else ""

    @property
    def suffix(self) -> str:
        """What the names of Debian's packages end with."""
        return f":{self.debian}" if self.foreign else ""

    @property
    def qemu(self) -> str:
        """Debian's program that runs this architecture's programs."""
        return f"qemu-{self.machine}-static"


ARCHITECTURES = {one.machine: one for one in (
    Architecture("x86_64", "amd64", "linux-x86_64", "ld-linux-x86-64.so.2"),
    Architecture("aarch64", "arm64", "linux-aarch64", "ld-linux-aarch64.so.1"),
)}
