# UCX as the package libucx-cu12 of Python brings it, else as the system has it (pkg-config). Gives the imported target forebay_ucx_library and sets
# FOREBAY_UCX_FOUND, and FOREBAY_UCX_LIBRARIES, the folder of the package's libraries where it is there; without UCX everything but its transport is built.
set(FOREBAY_UCX_FOUND OFF)
option(FOREBAY_BUILD_UCX "Build the module for UCX (needs UCX's headers)" ON)

function(forebay_find_ucx)
  set(pythons ${Python_EXECUTABLE} "${PROJECT_SOURCE_DIR}/build/venv/bin/python" python3)
  foreach(python IN LISTS pythons)
    execute_process(
      COMMAND "${python}" -c "import importlib.util as u; print(u.find_spec('libucx').submodule_search_locations[0])"
      OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE folder ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed AND EXISTS "${folder}/lib/libucp.so.0")
      set(packaged "${folder}")
      break()
    endif()
  endforeach()
  add_library(forebay_ucx_library INTERFACE)
  if(packaged)  # its own file for pkg-config names folders that are not there
    target_include_directories(forebay_ucx_library SYSTEM INTERFACE "${packaged}/include")
    target_link_libraries(forebay_ucx_library INTERFACE "${packaged}/lib/libucp.so.0" "${packaged}/lib/libucs.so.0")
    message(STATUS "UCX: ${packaged}")
    set(FOREBAY_UCX_LIBRARIES "${packaged}/lib" PARENT_SCOPE)
  else()
    pkg_check_modules(forebay_ucx_system QUIET IMPORTED_TARGET ucx>=1.13)
    if(NOT forebay_ucx_system_FOUND)
      message(STATUS "UCX: left out, no headers of 1.13 or later; apt install libucx-dev or pip install libucx-cu12, then configure again")
      return()
    endif()
    target_link_libraries(forebay_ucx_library INTERFACE PkgConfig::forebay_ucx_system)
    message(STATUS "UCX: ${forebay_ucx_system_VERSION} of the system")
  endif()
  set(FOREBAY_UCX_FOUND ON PARENT_SCOPE)
endfunction()

if(FOREBAY_BUILD_UCX)
  forebay_find_ucx()
endif()
