# What `cmake --install` and `pip install .` put where, in three components:
#
#   cpp      the C++ library, the shared library with the C interface, their public headers, and what find_package(forebay) and pkg-config need
#   program  the command line
#   python   the extension module and the shared library (a wheel takes this one and the program, and no headers)
#
# The C++ library is one static archive of all modules: a C++ interface of version 0.x promises no stable ABI, which a shared
# library would seem to; and a program gets only the parts that it calls. See docs/decisions/0001-one-static-archive.md. The shared library is the
# C interface, and the engine of the Python module and of the program: docs/decisions/0063-one-shared-engine.md.
include(CMakePackageConfigHelpers)

set(objects "")
foreach(kind MODULES BEHIND_HTTP BEHIND_XML)
  get_property(targets GLOBAL PROPERTY FOREBAY_${kind})
  list(APPEND objects ${targets})
endforeach()
list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")

add_library(forebay_library STATIC ${objects})
add_library(forebay::forebay ALIAS forebay_library)
set_target_properties(forebay_library PROPERTIES OUTPUT_NAME forebay EXPORT_NAME forebay LINKER_LANGUAGE CXX)
target_compile_features(forebay_library PUBLIC cxx_std_20)
target_include_directories(forebay_library PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(forebay_library PRIVATE ${FOREBAY_LINKED_LIBRARIES} ${CMAKE_DL_LIBS})
# Where programs find the modules that are loaded when needed.
target_link_options(forebay_library INTERFACE "$<INSTALL_INTERFACE:LINKER:-rpath,$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}>")
# A shared library of a user's does not give out Forebay's symbols, which are visible in the archive.
target_link_options(forebay_library INTERFACE "LINKER:--exclude-libs,libforebay.a")

if(FOREBAY_INSTALL_CPP)
  set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/forebay")
  install(TARGETS forebay_library EXPORT forebay_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
  install(EXPORT forebay_targets NAMESPACE forebay:: FILE forebayTargets.cmake DESTINATION "${package_dir}" COMPONENT cpp)
  install(TARGETS forebay_c EXPORT forebay_c_targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
  install(EXPORT forebay_c_targets NAMESPACE forebay:: FILE forebayCTargets.cmake DESTINATION "${package_dir}" COMPONENT cpp)
  # All that `cmake --install --component cpp` needs, for a build that makes only a part.
  get_property(loaded GLOBAL PROPERTY FOREBAY_INSTALLED_CPP)
  add_custom_target(installed_cpp DEPENDS forebay_library forebay_c ${loaded})
  file(RELATIVE_PATH FOREBAY_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  configure_file(cmake/forebay.pc.in "${CMAKE_CURRENT_BINARY_DIR}/forebay.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/forebay.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT cpp)
  install(DIRECTORY include/forebay DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT cpp FILES_MATCHING PATTERN "*.h")

  set(FOREBAY_LINKED_PARTS "")
  foreach(part HTTP XML)
    if(FOREBAY_${part}_FOUND)
      string(APPEND FOREBAY_LINKED_PARTS " ${part}")
    endif()
  endforeach()
  configure_package_config_file(cmake/forebayConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/forebayConfig.cmake"
                                INSTALL_DESTINATION "${package_dir}")
  write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/forebayConfigVersion.cmake"
                                   COMPATIBILITY SameMinorVersion)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/forebayConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/forebayConfigVersion.cmake"
                cmake/ForebayLinked.cmake cmake/ForebayPart.cmake
          DESTINATION "${package_dir}" COMPONENT cpp)
endif()
