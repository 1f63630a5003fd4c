# The libraries that every program with Forebay in it is linked to. Read by this project's build, and by find_package(forebay) on the machine of
# whoever uses it. A library that is missing stops the configuration, with all others that are, and the packages of Debian that have them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
include("${CMAKE_CURRENT_LIST_DIR}/ForebayPart.cmake")

find_package(fmt QUIET)
forebay_find(missing packages
  jpeg libjpeg libjpeg62-turbo-dev  spng spng libspng-dev  webp libwebp libwebp-dev  xxhash libxxhash libxxhash-dev
  zstd libzstd libzstd-dev  lz4 liblz4 liblz4-dev  deflate libdeflate libdeflate-dev)
if(NOT fmt_FOUND)
  list(APPEND missing fmt)
  list(APPEND packages libfmt-dev)
endif()
if(missing)
  list(JOIN missing ", " missing)
  list(JOIN packages " " packages)
  message(FATAL_ERROR "Forebay needs ${missing}, found none. On Debian: apt-get install ${packages}")
endif()
set(FOREBAY_ALWAYS_LIBRARIES
  Threads::Threads fmt::fmt PkgConfig::jpeg PkgConfig::spng PkgConfig::webp PkgConfig::xxhash PkgConfig::zstd PkgConfig::lz4 PkgConfig::deflate)

# Those that libforebay.so loads at the first use (forebay_behind), and the archive is linked to if it was built with them.
forebay_part(HTTP "http(s)://, s3:// and peers=" curl libcurl>=7.88 libcurl4-openssl-dev  ssl libssl libssl-dev  crypto libcrypto libssl-dev)
forebay_part(XML "S3 and the text of HTML" xml2 libxml-2.0 libxml2-dev)
set(FOREBAY_LINKED_LIBRARIES ${FOREBAY_ALWAYS_LIBRARIES})
foreach(part HTTP XML)
  if(FOREBAY_${part}_FOUND)
    list(APPEND FOREBAY_LINKED_LIBRARIES ${FOREBAY_${part}_LIBRARIES})
  endif()
endforeach()
