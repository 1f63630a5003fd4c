# The libraries that every program with Forebay in it is linked to. Read by this project's build, and by
# find_package(forebay) on the machine of whoever uses it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
pkg_check_modules(jpeg REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(spng REQUIRED IMPORTED_TARGET spng)
pkg_check_modules(webp REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(xml2 REQUIRED IMPORTED_TARGET libxml-2.0)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(curl REQUIRED IMPORTED_TARGET libcurl>=7.88)
pkg_check_modules(crypto REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(ssl REQUIRED IMPORTED_TARGET libssl)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(deflate REQUIRED IMPORTED_TARGET libdeflate)
# Of libforebay.so, and those that it loads at the first use (forebay_behind). The archive is linked to all.
set(FOREBAY_ALWAYS_LIBRARIES
  Threads::Threads fmt::fmt PkgConfig::jpeg PkgConfig::spng PkgConfig::webp PkgConfig::xxhash PkgConfig::zstd PkgConfig::lz4 PkgConfig::deflate)
set(FOREBAY_HTTP_LIBRARIES PkgConfig::curl PkgConfig::ssl PkgConfig::crypto)
set(FOREBAY_XML_LIBRARIES PkgConfig::xml2)
set(FOREBAY_LINKED_LIBRARIES ${FOREBAY_ALWAYS_LIBRARIES} ${FOREBAY_HTTP_LIBRARIES} ${FOREBAY_XML_LIBRARIES})
