# forebay_module(NAME [SELDOM [OFTEN files...]] DEPS modules... LIBS targets...)
#
# SELDOM: what takes time for each sample of a loader is in other modules, in libraries or in the kernel. The module is compiled at -O1, in three quarters
# of the time; all but the files OFTEN, which have loops over bytes or elements.
#
# One folder under src/ is one static library `forebay_NAME`. Every *.cc in it is compiled, except *_test.cc, which make
# the one test program `NAME_test`. Symbols are visible, so that libforebay.so (src/capi) can give them to the Python module and the program.
include(GNUInstallDirs)
if(FOREBAY_BUILD_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# Results must not depend on the instruction set, so products and sums are never contracted into FMAs.
add_library(forebay_options INTERFACE)
target_compile_options(forebay_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -ffp-contract=off)
if(FOREBAY_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # a fixture in an unnamed namespace, seen through an #include
  target_compile_options(forebay_options INTERFACE -Wno-subobject-linkage)
endif()
# gcc looks for garbage whenever its memory has doubled, which takes 7 % of the time of a module. Where each core, and so each compiler, has the memory for it,
# it begins at 1 GB.
cmake_host_system_information(RESULT memory_mb QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR memory_mb_a_core "${memory_mb} / ${cores}")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND memory_mb_a_core GREATER 3750)
  target_compile_options(forebay_options INTERFACE $<$<CONFIG:Release>:--param=ggc-min-heapsize=1048576>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # std::stable_sort of libstdc++ 12 uses std::get_temporary_buffer
  target_compile_options(forebay_options INTERFACE -Wno-deprecated-declarations)
endif()
if(FOREBAY_SANITIZE)
  target_compile_options(forebay_options INTERFACE -fsanitize=${FOREBAY_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  # A sanitizer's library calls dlopen() in place of the program, whose run path the loader then follows only if it is of the old kind.
  target_link_options(forebay_options INTERFACE -fsanitize=${FOREBAY_SANITIZE} LINKER:--disable-new-dtags)
endif()

if(FOREBAY_BUILD_FUZZ)  # all code tells the fuzzer which branches it took
  target_compile_options(forebay_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Tests link with what users get; they themselves need not be fast, and compile in two thirds of the time.
add_library(forebay_test_options INTERFACE)
target_compile_options(forebay_test_options INTERFACE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
target_link_libraries(forebay_test_options INTERFACE forebay_options)

function(forebay_seldom target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

function(forebay_module name)
  cmake_parse_arguments(ARG "SELDOM" "" "OFTEN;DEPS;LIBS;PRIVATE_LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc" "${CMAKE_CURRENT_SOURCE_DIR}/*/*.cc")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(behind_sources)  # which forebay_behind() has set
    list(REMOVE_ITEM sources ${behind_sources})
    list(APPEND sources ${behind_stand_ins})
  endif()

  if(NOT sources)  # interfaces only
    list(TRANSFORM ARG_DEPS PREPEND forebay_)
    add_library(forebay_${name} INTERFACE)
    target_link_libraries(forebay_${name} INTERFACE ${ARG_DEPS} ${ARG_LIBS})
    return()
  endif()
  add_library(forebay_${name} STATIC ${sources})
  set_target_properties(forebay_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0 CXX_VISIBILITY_PRESET default)  # 0: all together
  target_compile_options(forebay_${name} PRIVATE -fno-semantic-interposition)  # visible functions are inlined as hidden ones are
  get_property(modules GLOBAL PROPERTY FOREBAY_MODULES)
  if(ARG_SELDOM)
    forebay_seldom(forebay_${name})
    set_source_files_properties(${ARG_OFTEN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
    list(APPEND modules forebay_${name})
  else()  # first, since a linker takes the first of equal instances of a template
    list(PREPEND modules forebay_${name})
  endif()
  set_property(GLOBAL PROPERTY FOREBAY_MODULES ${modules})
  target_include_directories(forebay_${name} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
  set(deps ${ARG_DEPS})
  list(TRANSFORM deps PREPEND forebay_)
  target_link_libraries(forebay_${name} PUBLIC ${deps} ${ARG_LIBS} PRIVATE ${ARG_PRIVATE_LIBS} ${behind_targets}
                                        $<BUILD_INTERFACE:forebay_options>)
  forebay_test(${name} SOURCES ${tests} LIBS forebay_${name})
endfunction()

# forebay_test(NAME SOURCES files... LIBS targets...): the one test program of a module, NAME_test.
function(forebay_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  if(NOT FOREBAY_BUILD_TESTS OR NOT ARG_SOURCES)
    return()
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${ARG_LIBS} forebay_test_options GTest::gtest_main)
  target_compile_definitions(${name}_test PRIVATE FOREBAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name}_test COMMAND ${name}_test)
  set_tests_properties(${name}_test PROPERTIES TIMEOUT 600)
endfunction()

add_custom_target(forebay_loaded_modules)  # all that forebay_loaded() makes; wheels name it

# forebay_loaded(NAME [PYTHON_ONLY] STATIC library SOURCES files... COMMON files... BEHIND files... LIBS targets...)
#
# libforebay_NAME.so, which is loaded when it is first needed (base/shared_module.h): its own sources, which are also a static library that tests
# link. It gives out one C function, and stands beside the Python package and libforebay.so. What else it needs of Forebay it takes from libforebay.so
# in a wheel, which has that beside it. Elsewhere programs with the archive load it, too: there it has `base` and the COMMON sources in it. It always has
# the BEHIND sources, which the library has only in modules of forebay_behind().
function(forebay_loaded name)
  cmake_parse_arguments(ARG "PYTHON_ONLY" "STATIC" "SOURCES;COMMON;BEHIND;LIBS" ${ARGN})
  add_library(${ARG_STATIC} STATIC ${ARG_SOURCES})
  set_target_properties(${ARG_STATIC} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  target_include_directories(${ARG_STATIC} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${ARG_STATIC} PUBLIC forebay_base ${ARG_LIBS} PRIVATE forebay_options)

  if(SKBUILD)
    add_library(forebay_${name} MODULE ${ARG_BEHIND} $<TARGET_OBJECTS:${ARG_STATIC}>)
    target_link_libraries(forebay_${name} PRIVATE forebay_engine_shared ${ARG_LIBS})
    target_link_options(forebay_${name} PRIVATE LINKER:--as-needed LINKER:-z,defs)
    set_target_properties(forebay_${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
  else()
    add_library(forebay_${name} MODULE ${ARG_COMMON} ${ARG_BEHIND} $<TARGET_OBJECTS:${ARG_STATIC}>)
    target_link_libraries(forebay_${name} PRIVATE forebay_base ${ARG_LIBS} forebay_options)
  endif()
  add_dependencies(forebay_loaded_modules forebay_${name})
  target_link_options(forebay_${name} PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/loaded.map")
  set_target_properties(forebay_${name} PROPERTIES LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/python/forebay" LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/loaded.map")
  install(TARGETS forebay_${name} LIBRARY DESTINATION forebay COMPONENT python)
  if(FOREBAY_INSTALL_CPP AND NOT ARG_PYTHON_ONLY)
    install(TARGETS forebay_${name} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
    set_property(GLOBAL APPEND PROPERTY FOREBAY_INSTALLED_CPP forebay_${name})
  endif()
endfunction()

# forebay_accompanied(MODULE NAME): whoever builds the module of Forebay builds libforebay_NAME.so as well. In a wheel that one is built behind libforebay.so.
function(forebay_accompanied module name)
  if(NOT SKBUILD)
    add_dependencies(forebay_${module} forebay_${name})
  endif()
endfunction()

# forebay_behind(NAME LIBRARY [SELDOM] SOURCES patterns... ENTRY file STAND_IN file)
#
# Before forebay_module(NAME). These sources of the module use libraries that most programs never need, ${FOREBAY_LIBRARY_LIBRARIES}. The static archive has them as
# it has all others. libforebay.so has STAND_IN in their place, which loads libforebay_LIBRARY.so at the first use; that shared object has them, and ENTRY, its C function.
# Where the libraries are missing, the archive has STAND_IN as well: it says what is missing, or loads the module of another build.
function(forebay_behind name library)
  cmake_parse_arguments(ARG "SELDOM" "ENTRY;STAND_IN" "SOURCES" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_SOURCES})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  set(target forebay_${name}_${library})
  string(TOUPPER ${library} word)
  set(behind_sources ${behind_sources} ${sources} PARENT_SCOPE)
  if(NOT FOREBAY_${word}_FOUND)
    set(behind_stand_ins ${behind_stand_ins} "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_STAND_IN}" PARENT_SCOPE)
    return()
  endif()
  add_library(${target} STATIC ${sources})
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  target_link_libraries(${target} PUBLIC forebay_${name} PRIVATE ${FOREBAY_${word}_LIBRARIES} $<BUILD_INTERFACE:forebay_options>)
  if(ARG_SELDOM)
    forebay_seldom(${target})
  endif()
  set_property(GLOBAL APPEND PROPERTY FOREBAY_BEHIND_${word} ${target})
  set_property(GLOBAL APPEND PROPERTY FOREBAY_ENTRIES_${word} "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_ENTRY}")
  set_property(GLOBAL APPEND PROPERTY FOREBAY_STAND_INS "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_STAND_IN}")
  set(behind_targets ${behind_targets} ${target} PARENT_SCOPE)
endfunction()
