# Arrow C++ as the pyarrow wheel brings it: headers and libraries, no package file. Gives the imported targets forebay_pa_arrow and
# forebay_pa_parquet and sets FOREBAY_ARROW_FOUND; without pyarrow everything but tables is built.
set(FOREBAY_PYARROW "26.0" CACHE STRING "Release of pyarrow that tables are built with")
set(FOREBAY_ARROW_FOUND OFF)
option(FOREBAY_BUILD_ARROW "Build the module that reads Parquet and Arrow (needs pyarrow)" ON)

function(forebay_find_arrow)
  set(pythons ${Python_EXECUTABLE} "${PROJECT_SOURCE_DIR}/build/venv/bin/python" python3)
  foreach(python IN LISTS pythons)
    # Without what `import pyarrow` does to a process, which sanitizers in the environment may not like.
    execute_process(
      COMMAND "${python}" -c "import pyarrow as p; b = p.cpp_build_info; print(p.__version__, p.get_include(), p.get_library_dirs()[0], b.so_version, sep=';')"
      OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed)
    if(failed)
      continue()
    endif()
    list(GET found 0 version)
    if(NOT version MATCHES "^${FOREBAY_PYARROW}\\.")
      set(wrong "${version}")
      continue()
    endif()
    list(GET found 1 headers)
    list(GET found 2 folder)
    list(GET found 3 so_version)
    foreach(name arrow parquet)
      add_library(forebay_pa_${name} SHARED IMPORTED GLOBAL)
      set_target_properties(forebay_pa_${name} PROPERTIES IMPORTED_LOCATION "${folder}/lib${name}.so.${so_version}"
                                                          INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${headers}"
                                                          INTERFACE_INCLUDE_DIRECTORIES "${headers}")
    endforeach()
    set_property(TARGET forebay_pa_parquet PROPERTY INTERFACE_LINK_LIBRARIES forebay_pa_arrow)
    message(STATUS "Parquet and Arrow: pyarrow ${version} of ${python}")
    set(FOREBAY_ARROW_FOUND ON PARENT_SCOPE)
    set(FOREBAY_ARROW_LIBRARIES "${folder}" PARENT_SCOPE)
    return()
  endforeach()
  if(wrong)
    set(wrong " (found ${wrong})")
  endif()
  message(STATUS "Parquet and Arrow: left out, no pyarrow ${FOREBAY_PYARROW}${wrong}; pip install 'pyarrow==${FOREBAY_PYARROW}.*', then configure again")
endfunction()

if(FOREBAY_BUILD_ARROW)
  forebay_find_arrow()
endif()
