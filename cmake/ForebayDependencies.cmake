# All third-party libraries of the core, found in one place.
find_package(nlohmann_json REQUIRED)
include(ForebayLinked)
# Client libraries of brokers, each of which may be missing: then its module (src/brokers) is left out.
foreach(library hiredis libnats rdkafka)
  pkg_check_modules(${library} QUIET IMPORTED_TARGET ${library})
endforeach()
