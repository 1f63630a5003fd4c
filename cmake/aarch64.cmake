# Cross compilation for aarch64 (tools/aarch64): Debian's compiler, and a root with Debian's packages for arm64, whose programs qemu runs.
set(FOREBAY_ARM_ROOT "$ENV{FOREBAY_ARM_ROOT}" CACHE PATH "Root with the packages for arm64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FOREBAY_ARM_ROOT)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_SYSROOT "${FOREBAY_ARM_ROOT}")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "${FOREBAY_ARM_ROOT}")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "${FOREBAY_ARM_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${FOREBAY_ARM_ROOT}/usr/lib/pkgconfig:${FOREBAY_ARM_ROOT}/usr/share/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${FOREBAY_ARM_ROOT}")
