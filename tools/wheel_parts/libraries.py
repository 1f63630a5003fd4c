"""The libraries that a wheel contains: built from Debian's newest sources, with Debian's fixes, with what Forebay uses and no more.

All are static but two kinds, which are shared libraries in the wheel's folder forebay.libs: those under the LGPL, since whoever wants another version
of one puts it in that file's place, and OpenSSL, which four modules use and which is the largest.
"""
import shutil
from dataclasses import dataclass
from pathlib import Path

from wheel_parts.architectures import Architecture
from wheel_parts.roots import Failed, Root, digest
from wheel_parts.sources import unpacked

PREFIX = "/sysroot/usr/local"


@dataclass(frozen=True)
class Library:
    """One row: Debian's name of the source package, and the commands that build and install it in the unpacked source."""

    source: str
    build: str


HELPERS = """
cmake_install() {
  cmake -S "${source:-.}" -B build.forebay -G Ninja -Wno-dev -DCMAKE_TOOLCHAIN_FILE=/wheel_parts/toolchain.cmake -DCMAKE_BUILD_TYPE=Release \\
    -DCMAKE_INSTALL_PREFIX=$PREFIX -DCMAKE_INSTALL_LIBDIR:STRING=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF "$@"
  cmake --build build.forebay -j$JOBS
  cmake --install build.forebay
}
# package NAME VERSION REQUIRES LIBS: what pkg-config is to say, for libraries that do not say it, or not of a static library.
package() {
  printf '%s\\n' "Name: $1" "Description: $1" "Version: $2" "Requires: $3" "Cflags: -I$PREFIX/include" "Libs: -L$PREFIX/lib $4" > $PREFIX/lib/pkgconfig/$1.pc
}
"""

LIBRARIES = [
    Library("zlib", "./configure --prefix=$PREFIX --static; make -j$JOBS libz.a; make install"),
    Library("libjpeg-turbo", "cmake_install -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DREQUIRE_SIMD=ON"),
    Library("libspng", """
        mkdir -p $PREFIX/include $PREFIX/lib/pkgconfig
        $CC $CFLAGS -DSPNG_STATIC -I$PREFIX/include -c spng/spng.c -o spng.o
        ar rcs $PREFIX/lib/libspng.a spng.o
        cp spng/spng.h $PREFIX/include/
        package spng $VERSION zlib '-lspng -lm'"""),
    Library("libwebp", """cmake_install -DWEBP_BUILD_ANIM_UTILS=OFF -DWEBP_BUILD_CWEBP=OFF -DWEBP_BUILD_DWEBP=OFF -DWEBP_BUILD_GIF2WEBP=OFF \\
        -DWEBP_BUILD_IMG2WEBP=OFF -DWEBP_BUILD_VWEBP=OFF -DWEBP_BUILD_WEBPINFO=OFF -DWEBP_BUILD_WEBPMUX=OFF -DWEBP_BUILD_LIBWEBPMUX=OFF \\
        -DWEBP_BUILD_EXTRAS=OFF"""),
    Library("libxml2", """cmake_install $(for part in C14N CATALOG DEBUG DOCB FTP HTTP ICONV ICU ISO8859X LEGACY LZMA MODULES PATTERN PROGRAMS PYTHON \\
        READER REGEXPS SCHEMAS SCHEMATRON TESTS VALID WRITER XINCLUDE XPATH XPTR ZLIB; do echo -DLIBXML2_WITH_$part=OFF; done) -DLIBXML2_WITH_ISO8859X=ON"""),
    Library("xxhash", "source=cmake_unofficial cmake_install -DXXHASH_BUILD_XXHSUM=OFF"),
    Library("libzstd", "source=build/cmake cmake_install -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_TESTS=OFF -DZSTD_LEGACY_SUPPORT=OFF"),
    Library("lz4", "source=build/cmake cmake_install -DBUILD_STATIC_LIBS=ON -DLZ4_BUILD_CLI=OFF"),
    Library("libdeflate", """
        if [ -e CMakeLists.txt ]; then cmake_install -DLIBDEFLATE_BUILD_SHARED_LIB=OFF -DLIBDEFLATE_BUILD_GZIP=OFF
        else  # before 1.15
          make -j$JOBS install PREFIX=$PREFIX DISABLE_SHARED=1
        fi"""),
    Library("fmtlib", "cmake_install -DFMT_TEST=OFF -DFMT_DOC=OFF"),
    Library("openssl", """
        ./Configure $OPENSSL_TARGET --prefix=$PREFIX --libdir=lib --openssldir=/etc/ssl no-shared no-tests no-docs no-apps no-module no-engine no-legacy \\
          no-quic no-cmp no-cms no-ct no-ts no-srp no-gost no-comp no-dgram no-sctp no-ui-console no-afalgeng no-padlockeng \\
          no-aria no-bf no-blake2 no-camellia no-cast no-idea no-mdc2 no-rc2 no-rc4 no-rc5 no-rmd160 no-seed no-siphash no-sm2 no-sm3 no-sm4 no-whirlpool \\
          no-ml-dsa no-slh-dsa
        make -j$JOBS build_libs >/dev/null
        make install_dev >/dev/null
        cd $PREFIX/lib
        shared() {
          name=lib$1; shift
          $CC -shared -Wl,--gc-sections -Wl,-Bsymbolic -Wl,-z,defs -Wl,-soname,$name.so.3 -o $name.so.3 \\
            -Wl,--whole-archive $name.a -Wl,--no-whole-archive "$@" -ldl -lpthread
          ln -sf $name.so.3 $name.so
          rm $name.a
        }
        shared crypto
        shared ssl -L. -lcrypto"""),
    Library("nghttp2", "cmake_install -DENABLE_LIB_ONLY=ON -DENABLE_STATIC_LIB=ON -DBUILD_STATIC_LIBS=ON -DENABLE_DOC=OFF"),
    Library("curl", """cmake_install -DBUILD_CURL_EXE=OFF -DHTTP_ONLY=ON -DCURL_USE_OPENSSL=ON -DUSE_NGHTTP2=ON -DCURL_ZLIB=ON -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF \\
        -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF -DUSE_LIBIDN2=OFF -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none -DBUILD_LIBCURL_DOCS=OFF \\
        -DBUILD_MISC_DOCS=OFF -DENABLE_CURL_MANUAL=OFF -DCURL_ENABLE_NTLM=OFF -DCURL_DISABLE_NTLM=ON -DENABLE_UNIX_SOCKETS=ON -DBUILD_EXAMPLES=OFF"""),
    Library("hiredis", "cmake_install -DDISABLE_TESTS=ON"),
    Library("nats.c", """
        cmake_install -DNATS_BUILD_STREAMING=OFF -DNATS_BUILD_EXAMPLES=OFF -DNATS_BUILD_LIB_SHARED=OFF -DNATS_BUILD_WITH_TLS=ON
        [ ! -e $PREFIX/lib/libnats_static.a ] || mv $PREFIX/lib/libnats_static.a $PREFIX/lib/libnats.a
        package libnats 3 'libssl libcrypto' '-lnats -lpthread -lrt'"""),
    Library("librdkafka", """
        export CFLAGS="$CFLAGS -DXXH_NAMESPACE=rdkafka_"  # it has a copy of xxHash
        # For size: it waits for the network.
        cmake_install -DCMAKE_BUILD_TYPE=MinSizeRel -DRDKAFKA_BUILD_STATIC=ON -DRDKAFKA_BUILD_EXAMPLES=OFF -DRDKAFKA_BUILD_TESTS=OFF -DWITH_SSL=ON -DWITH_ZLIB=ON -DWITH_ZSTD=ON \\
          -DENABLE_LZ4_EXT=ON -DWITH_SASL=OFF -DWITH_SASL_SCRAM=ON -DWITH_SASL_OAUTHBEARER=ON -DWITH_CURL=OFF -DWITH_PLUGINS=OFF
        package rdkafka $VERSION 'libssl libcrypto zlib libzstd liblz4' '-lrdkafka -lm -lpthread -ldl -lrt'"""),
    Library("libogg", "cmake_install -DINSTALL_DOCS=OFF"),
    Library("libvorbis", "cmake_install"),
    Library("opus", "cmake_install"),
    Library("flac", """cmake_install -DBUILD_CXXLIBS=OFF -DBUILD_PROGRAMS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOCS=OFF -DINSTALL_MANPAGES=OFF -DWITH_OGG=ON \\
        -DENABLE_MULTITHREADING=OFF"""),
    Library("libsndfile", """cmake_install -DBUILD_SHARED_LIBS=ON -DBUILD_PROGRAMS=OFF -DBUILD_EXAMPLES=OFF -DENABLE_MPEG=OFF -DENABLE_EXTERNAL_LIBS=ON \\
        -DENABLE_CPACK=OFF -DENABLE_PACKAGE_CONFIG=ON -DINSTALL_MANPAGES=OFF"""),
    Library("libsoxr", "cmake_install -DBUILD_SHARED_LIBS=ON -DBUILD_TESTS=OFF -DBUILD_EXAMPLES=OFF -DWITH_OPENMP=OFF"),
    Library("mpg123", """
        ./configure $HOST --prefix=$PREFIX --libdir=$PREFIX/lib --enable-shared --disable-static --disable-components --enable-libmpg123 --disable-dependency-tracking
        make -j$JOBS
        make install"""),
]

# What Forebay's CMake asks pkg-config for. Without one of the last seven it would leave a module out, and say so where nobody looks.
NAMES = "libjpeg spng libwebp libxml-2.0 libxxhash libcurl libcrypto libssl libzstd liblz4 libdeflate hiredis libnats rdkafka sndfile flac libmpg123 soxr"

# The licences of libraries that are headers alone come from their packages, and those of the C++ library and the unwinder from the compiler's.
OTHER_LICENCES = {"boost": f"{PREFIX}/share/doc/libboost1.74-dev", "nlohmann-json": f"{PREFIX}/share/doc/nlohmann-json3-dev",
                  "cli11": f"{PREFIX}/share/doc/libcli11-dev", "gcc": "/usr/share/doc/gcc-12-base"}


def variables(architecture: Architecture) -> dict[str, str]:
    """What a recipe has to know of the architecture."""
    return {"OPENSSL_TARGET": architecture.openssl, "HOST": f"--host={architecture.triplet}" if architecture.foreign else ""}


def recipe(library: Library) -> str:
    return f"""
    export PREFIX={PREFIX} PATH=/toolchain/bin:$PATH CC="ccache /toolchain/bin/gcc" CXX="ccache /toolchain/bin/g++" CFLAGS="-O2 -fPIC -ffunction-sections -fdata-sections"
    export CXXFLAGS="$CFLAGS" PKG_CONFIG_LIBDIR=$PREFIX/lib/pkgconfig:$PREFIX/share/pkgconfig PKG_CONFIG="pkg-config --static" CCACHE_DIR=/ccache
    {HELPERS}
    cd /sources/{library.source}
    VERSION=${{DEBIAN_VERSION%-*}}
    mkdir -p $PREFIX/licences
    cp debian/copyright $PREFIX/licences/{library.source}.txt 2>/dev/null || cp LICENSE* $PREFIX/licences/{library.source}.txt
    echo $DEBIAN_VERSION > $PREFIX/licences/{library.source}.version
    {library.build}
    cd / && rm -rf /sources/{library.source}
    """


def _build(root: Root, architecture: Architecture, library: Library, given: Path | None, jobs: int) -> None:
    if given is None:
        version = unpacked(root, library.source)
    else:
        folder, version = root / f"sources/{library.source}", "given"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(given, folder)
    root.run(recipe(library), log=library.source, DEBIAN_VERSION=version.partition(":")[2] or version, JOBS=str(jobs),
             **variables(architecture))


def build_libraries(root: Root, architecture: Architecture, given: dict[str, str], jobs: int) -> None:
    """Builds what is not built yet, in the order of the table. `given` has folders with sources, by library."""
    if strangers := set(given) - {library.source for library in LIBRARIES}:
        raise Failed(f"no such library: {', '.join(strangers)}")
    (root / "wheel_parts/toolchain.cmake").write_bytes((Path(__file__).parent / "toolchain.cmake").read_bytes())
    # A library is built again if its recipe changes or the compiler's, not if one that it is built with does: then remove the root.
    for library in LIBRARIES:
        source = given.get(library.source)
        key = digest((root / "stamps/toolchain").read_text(), recipe(library), source)
        root.once(library.source, key, lambda library=library, source=source: _build(root, architecture, library, Path(source) if source else None, jobs))
    root.run(f"PKG_CONFIG_LIBDIR={PREFIX}/lib/pkgconfig pkg-config --static --print-errors --exists {NAMES}")
