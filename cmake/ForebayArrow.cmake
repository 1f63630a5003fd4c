# Arrow C++ as the wheels of pyarrow bring it: headers and libraries, no package file. Each release of Arrow has an ABI and library names of its own
# (libarrow.so.2600 is that of 26.0), so each gets a module of its own (docs/decisions/0067-pyarrow-releases.md).
#
# Sets FOREBAY_ARROW_RELEASES, oldest first and named as the libraries are (1800;1801;2600), and for each of them FOREBAY_ARROW_FOLDER_2600 and the
# imported targets forebay_pa_arrow_2600 and forebay_pa_parquet_2600. Without pyarrow everything but tables is built.
set(FOREBAY_ARROWS "" CACHE PATH "Folder with the releases of pyarrow to build tables for (tools/arrow_releases makes it); empty: the installed one")
option(FOREBAY_BUILD_ARROW "Build the modules that read Parquet and Arrow (needs pyarrow)" ON)
set(FOREBAY_ARROW_OLDEST 1800)
set(FOREBAY_ARROW_RELEASES "")

# The folder of the pyarrow that is installed for this build's Python. Does not import it, which sanitizers in the environment may not like.
function(forebay_installed_pyarrow result)
  set(${result} "" PARENT_SCOPE)
  foreach(python ${Python_EXECUTABLE} "${PROJECT_SOURCE_DIR}/build/venv/bin/python" python3)
    execute_process(COMMAND "${python}" -c "import importlib.util; print(importlib.util.find_spec('pyarrow').submodule_search_locations[0])"
                    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
      set(${result} "${found}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Appends the release in this folder to FOREBAY_ARROW_RELEASES. Of two with the same names, such as 19.0.0 and 19.0.1, the last counts.
function(forebay_add_arrow folder)
  file(GLOB library "${folder}/libarrow.so.*")
  if(NOT library MATCHES "/libarrow\\.so\\.([0-9]+)$" OR NOT EXISTS "${folder}/include/parquet/arrow/reader.h")
    message(STATUS "Parquet and Arrow: ${folder} is left out, it has no libarrow.so.* with its headers")
    return()
  endif()
  set(release ${CMAKE_MATCH_1})
  if(release LESS FOREBAY_ARROW_OLDEST)
    message(STATUS "Parquet and Arrow: ${folder} is left out, pyarrow 18 is the oldest that Forebay is built with")
    return()
  endif()
  foreach(name arrow parquet)
    if(NOT TARGET forebay_pa_${name}_${release})
      add_library(forebay_pa_${name}_${release} SHARED IMPORTED GLOBAL)
    endif()
    set_target_properties(forebay_pa_${name}_${release} PROPERTIES
      IMPORTED_LOCATION "${folder}/lib${name}.so.${release}" INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${folder}/include"
      INTERFACE_INCLUDE_DIRECTORIES "${folder}/include")
  endforeach()
  set_property(TARGET forebay_pa_parquet_${release} PROPERTY INTERFACE_LINK_LIBRARIES forebay_pa_arrow_${release})
  list(APPEND FOREBAY_ARROW_RELEASES ${release})
  list(REMOVE_DUPLICATES FOREBAY_ARROW_RELEASES)
  list(SORT FOREBAY_ARROW_RELEASES COMPARE NATURAL)
  set(FOREBAY_ARROW_RELEASES ${FOREBAY_ARROW_RELEASES} PARENT_SCOPE)
  set(FOREBAY_ARROW_FOLDER_${release} "${folder}" PARENT_SCOPE)
endfunction()

if(FOREBAY_BUILD_ARROW)
  if(FOREBAY_ARROWS)
    file(GLOB folders "${FOREBAY_ARROWS}/*/pyarrow")
    list(SORT folders COMPARE NATURAL)
  else()
    forebay_installed_pyarrow(folders)
  endif()
  foreach(folder IN LISTS folders)
    forebay_add_arrow("${folder}")
  endforeach()
  if(FOREBAY_ARROW_RELEASES)
    message(STATUS "Parquet and Arrow: ${FOREBAY_ARROW_RELEASES} of ${folders}")
  elseif(FOREBAY_ARROWS)
    message(FATAL_ERROR "FOREBAY_ARROWS=${FOREBAY_ARROWS} has no release of pyarrow: expected folders such as 26.0.1/pyarrow, which tools/arrow_releases makes")
  else()
    message(STATUS "Parquet and Arrow: left out, no pyarrow; pip install 'pyarrow>=18', then configure again")
  endif()
endif()
