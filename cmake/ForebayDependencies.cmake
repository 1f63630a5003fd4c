# All third-party libraries of the core, found in one place.
find_package(nlohmann_json REQUIRED)
include(ForebayLinked)
