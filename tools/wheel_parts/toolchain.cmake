# CMake in the build root: the old glibc's headers and libraries, and of other libraries those of the wheel alone, all of them static where they can be.
set(CMAKE_C_COMPILER /toolchain/bin/gcc)
set(CMAKE_CXX_COMPILER /toolchain/bin/g++)
set(CMAKE_C_COMPILER_LAUNCHER ccache)
set(CMAKE_CXX_COMPILER_LAUNCHER ccache)
set(CMAKE_FIND_ROOT_PATH /sysroot/usr/local /sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)  # Python's headers are the root's
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)  # nanobind is a package of Python's
include(/wheel_parts/architecture.cmake)
set(CMAKE_PREFIX_PATH /sysroot/usr/local)
set(ENV{PKG_CONFIG_LIBDIR} /sysroot/usr/local/lib/pkgconfig:/sysroot/usr/local/share/pkgconfig)
set(PKG_CONFIG_ARGN --static)
# What is linked in is nobody else's business: of two libraries with the same names in one process, each is used by its owner alone.
file(GLOB archives RELATIVE /sysroot/usr/local/lib /sysroot/usr/local/lib/*.a)
list(JOIN archives ":" archives)
set(without_unused "-Wl,--gc-sections")  # the libraries are compiled with a section for each function
set(private "-Wl,--exclude-libs,libgcc.a:libglibc_shims.a:${archives}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "${without_unused} ${private}:libstdc++-weak.a")
# libforebay.so gives out the C++ library, which is in no other file.
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${without_unused} ${private}")
file(READ /toolchain/lib/cxx_library.symbols FOREBAY_CXX_LIBRARY_SYMBOLS)
set(CMAKE_EXE_LINKER_FLAGS_INIT "${without_unused}")
