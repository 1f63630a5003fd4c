"""The build root: Debian 12 with its compiler, or its cross compiler, which links against the glibc of Debian 11.

    /sysroot            headers and stub libraries of the old glibc, headers of the new libstdc++, and nothing else
    /sysroot/usr/local  the libraries of libraries.py
    /toolchain/bin      gcc and g++ that compile and link with these
"""
from pathlib import Path

from wheel_parts.architectures import Architecture
from wheel_parts.roots import DEBIAN, SECURITY, Root, digest, made

COMPILER, GLIBC, SOURCES = "bookworm", "bullseye", "trixie"  # suites; of sources also COMPILER's, where an archive lacks files
GCC = "12"
PACKAGES = ("advancecomp ca-certificates ccache cmake dpkg-dev g++ make nasm ninja-build perl pkg-config python3-dev python3-venv "
            "xz-utils unzip autoconf automake libtool").split()
OLD = "libc6 libc6-dev linux-libc-dev libcrypt1 libcrypt-dev libgcc-s1".split()
HEADERS = "libboost1.74-dev nlohmann-json3-dev libcli11-dev".split()  # libraries that are headers alone

# Pin: packages of the old suite are downloaded by name and never installed.
APT = f"""
cat > /etc/apt/sources.list <<END
deb {DEBIAN} {COMPILER} main
deb {DEBIAN} {COMPILER}-updates main
deb {SECURITY} {COMPILER}-security main
deb {DEBIAN} {GLIBC} main
deb {SECURITY} {GLIBC}-security main
deb-src {DEBIAN} {SOURCES} main
deb-src {DEBIAN} {SOURCES}-updates main
deb-src {SECURITY} {SOURCES}-security main
deb-src {DEBIAN} {COMPILER} main
END
printf 'Package: *\\nPin: release n={GLIBC}*\\nPin-Priority: -1\\n' > /etc/apt/preferences.d/old
echo force-unsafe-io > /etc/dpkg/dpkg.cfg.d/fast
apt-get update -qq
dpkg --configure -a
apt-get -qq -y -f install
apt-get dist-upgrade -qq -y
apt-get install -qq -y --no-install-recommends {' '.join(PACKAGES)}
"""

# The cross compiler's own glibc is newer, and its headers would come before the sysroot's.
CROSS = """
dpkg --add-architecture {debian}
apt-get update -qq
apt-get install -qq -y --no-install-recommends {compiler} qemu-user-static patchelf
dpkg -L libc6-{debian}-cross libc6-dev-{debian}-cross linux-libc-dev-{debian}-cross | grep ^/usr/{triplet}/ | while read -r file; do
  [ -d "$file" ] || rm -f "$file"
done
"""

SYSROOT = """
rm -rf /sysroot && mkdir -p /sysroot /tmp/debs && cd /tmp/debs && rm -f *.deb
newest() {{ apt-cache madison "$1" | grep -F "$2" | head -1 | cut -d '|' -f 2 | tr -d ' '; }}
for name in {packages}; do apt-get download -qq "$name=$(newest "$name" {old})"; done
for file in *.deb; do dpkg-deb -x "$file" /sysroot; done
# Links to libraries are absolute, and would lead to the root's own.
find /sysroot -type l -lname '/*' | while read -r link; do ln -sf "/sysroot$(readlink "$link")" "$link"; done
mkdir -p /sysroot/usr/local/lib /sysroot/lib64
ln -sf ../lib/{triplet}/{loader} /sysroot/lib64/
"""

# Not in the sysroot's own /usr/include: named with -isystem, that would come before the headers of the C++ library.
INCLUDES = f"""
rm -rf /tmp/headers && mkdir -p /tmp/headers && cd /tmp/headers
apt-get download -qq {' '.join(HEADERS)}
for file in *.deb; do dpkg-deb -x "$file" .; done
cp -rf usr/. /sysroot/usr/local/
"""

# libstdc++ becomes part of libforebay.so, and of nothing else that is linked to that; libstdc++.a is a script for the linker that adds the shims. The unwinder
# stays the shared libgcc_s: with one in each file, an exception that passes from one to another ends the process. libpthread, which newer glibcs have in libc,
# is named for libstdc++'s sake.
FOLDERS = "-L/toolchain/lib -B/sysroot/usr/lib/{triplet} -L/sysroot/usr/lib/{triplet} -L/sysroot/lib/{triplet}"
GXX = "-static-libstdc++ -Wl,--push-state,--no-as-needed,-lpthread,--pop-state"
WRAPPERS = f"""
rm -rf /toolchain && mkdir -p /toolchain/bin /toolchain/lib && cd /toolchain
wrapper() {{{{
  printf '#!/bin/sh\nexec /usr/bin/{{prefix}}%s-{GCC} --sysroot=/sysroot {FOLDERS} "$@" %s\n' "$1" "$2" > bin/$1
  chmod +x bin/$1
}}}}
wrapper gcc ''
wrapper g++ '{GXX}'
ln -s gcc bin/cc && ln -s g++ bin/c++
bin/gcc -std=c11 -D_GNU_SOURCE -O2 -fPIC -Wall -Wextra -Werror -c /wheel_parts/glibc_shims.c -o glibc_shims.o
{{prefix}}ar rcs lib/libglibc_shims.a glibc_shims.o
"""

# libforebay.so gives the C++ library to the modules under its private version. The dynamic linker takes a "unique" symbol, such as std::num_get<char>::id, from
# the first library that has the name, whatever its version: the system's. Weak ones it looks for as all others.
CXX_LIBRARY = f"""
cd /toolchain/lib
archive="$({{prefix}}g++-{GCC} -print-file-name=libstdc++.a)"
{{prefix}}nm -g "$archive" 2>/dev/null | awk '$2 == "u" {{{{ print $3 }}}}' | sort -u > unique
{{prefix}}objcopy --weaken-symbols=unique "$archive" libstdc++-weak.a
{{prefix}}nm -g --defined-only libstdc++-weak.a 2>/dev/null | awk 'NF == 3 {{{{ print $3 ";" }}}}' | sort -u > cxx_library.symbols
echo "GROUP ( /toolchain/lib/libstdc++-weak.a /toolchain/lib/libglibc_shims.a )" > libstdc++.a
"""

CROSS_TOOLS = """
for tool in ar nm objcopy ranlib strip; do ln -sf /usr/bin/{triplet}-$tool /toolchain/bin/$tool; done
"""

# Read by toolchain.cmake. A system's name makes CMake take it for a cross compilation.
CMAKE = """set(CMAKE_LIBRARY_ARCHITECTURE {triplet})
"""
CMAKE_CROSS = """set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {machine})
"""


def words_of(architecture: Architecture) -> dict[str, str]:
    """What the commands above are told of the architecture."""
    return {"machine": architecture.machine, "debian": architecture.debian, "triplet": architecture.triplet, "prefix": architecture.prefix, "loader": architecture.loader,
            "compiler": f"g++-{GCC}-{architecture.triplet.replace('_', '-')}", "packages": " ".join(name + architecture.suffix for name in OLD),
            # Mirrors may have the security archive for their own architecture alone.
            "old": f"{GLIBC}/main" if architecture.foreign else GLIBC}


def build_root(path: Path, architecture: Architecture) -> Root:
    """The root in which wheels for this architecture are built."""
    words = words_of(architecture)
    sysroot, wrappers, cxx_library = (text.format(**words) for text in (SYSROOT, WRAPPERS, CXX_LIBRARY))
    root = made(path, COMPILER)
    parts = Path(__file__).parent
    root.once("packages", digest(APT), lambda: root.run(APT, log="packages"))
    if architecture.foreign:
        cross = CROSS.format(**words)
        root.once("cross compiler", digest(APT, cross), lambda: root.run(cross, log="cross-compiler"))
    root.once("sysroot", digest(APT, sysroot), lambda: root.run(sysroot, log="sysroot"))
    root.once("headers", digest(APT, sysroot, INCLUDES), lambda: root.run(INCLUDES, log="headers"))
    (root / "wheel_parts").mkdir(exist_ok=True)
    shims = (parts / "glibc_shims.c").read_bytes()
    (root / "wheel_parts/glibc_shims.c").write_bytes(shims)
    (root / "wheel_parts/architecture.cmake").write_text((CMAKE + (CMAKE_CROSS if architecture.foreign else "")).format(**words))
    root.once("toolchain", digest(APT, sysroot, wrappers, shims), lambda: root.run(wrappers, log="toolchain"))
    if architecture.foreign:
        tools = CROSS_TOOLS.format(**words)
        root.once("cross tools", digest(APT, sysroot, wrappers, shims, tools), lambda: root.run(tools))
    root.once("c++ library", digest(APT, wrappers, shims, cxx_library), lambda: root.run(cxx_library, log="cxx-library"))
    return root


def built_probe(root: Root, source: Path) -> tuple[Path, Path]:
    """A program and a shared object that show in a bare root that exceptions work (tests/wheel/exceptions.cc)."""
    text = (source / "tests/wheel/exceptions.cc").read_bytes()
    (root / "wheel_parts/exceptions.cc").write_bytes(text)
    command = """cd /wheel_parts
        /toolchain/bin/g++ -std=c++20 -O1 -fPIC -shared -DSHARED -Wl,--exclude-libs,ALL exceptions.cc -o thrower.so
        /toolchain/bin/g++ -std=c++20 -O1 exceptions.cc -o catcher -ldl"""
    root.once("probe", digest((root / "stamps/toolchain").read_text(), text, command), lambda: root.run(command, log="probe"))
    return root / "wheel_parts/catcher", root / "wheel_parts/thrower.so"
