# All third-party libraries of the core, found in one place. The first two are headers only.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
include(ForebayLinked)
