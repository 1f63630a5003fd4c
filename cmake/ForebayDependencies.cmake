# All third-party libraries, found in one place: those that everything needs, and those of parts that are left out where one is missing.
# CONTRIBUTING.md lists them with Debian's packages.
include(ForebayLinked)

find_package(nlohmann_json QUIET)
if(NOT nlohmann_json_FOUND)
  message(FATAL_ERROR "Forebay needs nlohmann_json, found none. On Debian: apt-get install nlohmann-json3-dev")
endif()
if(FOREBAY_BUILD_CLI)
  find_package(CLI11 QUIET)
  if(NOT CLI11_FOUND)
    message(FATAL_ERROR "the program forebay needs CLI11, found none. On Debian: apt-get install libcli11-dev; -DFOREBAY_BUILD_CLI=OFF leaves it out")
  endif()
endif()

# Headers alone, which only the listener for peers includes.
find_path(FOREBAY_BOOST_HEADERS boost/beast.hpp)
if(FOREBAY_HTTP_FOUND AND NOT FOREBAY_BOOST_HEADERS)
  set(FOREBAY_HTTP_FOUND OFF)
  list(REMOVE_ITEM FOREBAY_LINKED_LIBRARIES ${FOREBAY_HTTP_LIBRARIES})
  message(STATUS "http(s)://, s3:// and peers=: left out, no Boost.Beast. On Debian: apt-get install libboost-dev, then configure again")
endif()
if(FOREBAY_BUILD_TESTS AND NOT (FOREBAY_HTTP_FOUND AND FOREBAY_XML_FOUND))
  message(FATAL_ERROR "the tests need the parts that are left out above: install their libraries, or configure with -DFOREBAY_BUILD_TESTS=OFF")
endif()

forebay_part(SOUND "Sound" sndfile sndfile libsndfile1-dev  flac flac libflac-dev  libmpg123 libmpg123 libmpg123-dev  soxr soxr libsoxr-dev)
# Brokers are spoken to by TLS, too.
forebay_part(REDIS "redis://" ssl libssl libssl-dev  crypto libcrypto libssl-dev  hiredis hiredis libhiredis-dev)
forebay_part(NATS "nats://" ssl libssl libssl-dev  crypto libcrypto libssl-dev  libnats libnats libnats-dev)
forebay_part(KAFKA "kafka://" ssl libssl libssl-dev  crypto libcrypto libssl-dev  rdkafka rdkafka librdkafka-dev)
