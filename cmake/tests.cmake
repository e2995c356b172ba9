# SPDX-License-Identifier: MIT
# The examples and every test. Included at the end of CMakeLists.txt if this is the whole project. Tests are found by
# name:
#   test/test_*.c     a program linked with the static library, may include src/; exit 0 is a pass, 77 a skip
#   test/test_*.sh    a script; gets TALLY_CLI, TALLY_SOURCE, TALLY_BUILD and CC
#   test/fuzz_*.c     a libFuzzer target, built when the compiler is clang and TALLY_SANITIZE is empty or has `address`
#   ladder/test/      the same three of the course
#   examples/*.c      built here, compared with examples/expected.txt by test/test_examples.sh
# Each test runs in a folder of its own, <build>/tests/<test>.
enable_testing()
find_package(Threads REQUIRED)

# Scripts run programs of this machine, so a cross build leaves them out; they have no threads of their own to check.
set(scripted OFF)
if(TARGET tally_cli AND NOT CMAKE_CROSSCOMPILING AND NOT TALLY_SANITIZE MATCHES thread)
  set(scripted ON)
endif()

# ---- examples: build/examples/<name> ----
if(scripted)
  file(GLOB examples CONFIGURE_DEPENDS examples/*.c)
endif()
foreach(source IN LISTS examples)
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  target_link_libraries(example_${name} PRIVATE tally_static m)
endforeach()

# ---- tests ----
# What PoCL compiles is kept for the tests of this build, because a program takes it seconds. The library's own disk
# cache is not kept. PoCL's method `loops`, with texts whose loops stay loops, compiles in a quarter of the time of PoCL
# 3.1's default (9 s instead of 38 s for the programs of argmax u8), and without optimization in a quarter of that again
# (0.6 s for reduce, scan and a window). The code is slower, so test_lanes, which runs more than it compiles, has it
# optimized. test_opencl.sh also takes the texts and PoCL as users have them.
set(TALLY_TEST_POCL "${PROJECT_BINARY_DIR}/tests/pocl" CACHE PATH "where PoCL keeps the kernels that tests compile")
file(MAKE_DIRECTORY ${TALLY_TEST_POCL})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/gpu/opencl/prelude_opencl.h)
file(READ src/gpu/opencl/prelude_opencl.h text)
string(REGEX REPLACE "#define UNROLL +_Pragma\\(\"unroll\"\\)" "#define UNROLL" rolled "${text}")
if(rolled STREQUAL text)
  message(FATAL_ERROR "src/gpu/opencl/prelude_opencl.h: there is no UNROLL to take away for the tests")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/tests/kernels/gpu/opencl/prelude_opencl.h "${rolled}")
set(pocl_quick "POCL_WORK_GROUP_METHOD=loops" "POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable"
    "TALLY_KERNELS=${PROJECT_BINARY_DIR}/tests/kernels")
set(test_environment "POCL_CACHE_DIR=${TALLY_TEST_POCL}"
    "TALLY_SOURCE=${PROJECT_SOURCE_DIR}" "TALLY_BUILD=${PROJECT_BINARY_DIR}" "CC=${CMAKE_C_COMPILER}"
    "TALLY_SANITIZE=${TALLY_SANITIZE}"
    "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"
    # less freed memory is kept, and of a block's calls the last alone, so that a process begins in half the time:
    # scripts begin thousands
    "ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0:quarantine_size_mb=16:thread_local_quarantine_size_kb=64:\
malloc_context_size=1"
    "TSAN_OPTIONS=allocator_may_return_null=1:ignore_noninstrumented_modules=1:halt_on_error=1")
option(TALLY_TEST_LONG "the tests run every case they have (scripts/test long)" OFF)
set(timeout 900)
if(TALLY_TEST_LONG)
  list(APPEND test_environment "TALLY_TEST_LONG=1")
  set(timeout 7200)
elseif(CMAKE_CROSSCOMPILING OR TALLY_SANITIZE)
  list(APPEND test_environment "TALLY_TEST_QUICK=1")
endif()
if(TARGET tally_cli)
  list(APPEND test_environment "TALLY_CLI=$<TARGET_FILE:tally_cli>")
endif()

function(tally_test name)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tests/${name})
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests/${name})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${test_environment}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${pocl_quick})
  if(name STREQUAL test_lanes)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "POCL_EXTRA_BUILD_FLAGS=")
  endif()
  # first: what takes longest alone, so that no processor waits for it at the end
  set(longest "emulated|ladder_sh|user_sh|install_sh|nvrtc|opencl_sh|ladder_browser_sh|reference_sh|bits|user")
  set(long "ladder_export_sh|places|many|devices|gpu|exact|mpi_sh|lanes|spans_sh|layouts|cli_fields_sh|cliffs_sh")
  if(name MATCHES "^test_(${longest})$")
    set_tests_properties(${name} PROPERTIES COST 200)
  elseif(name MATCHES "^test_(${long})$")
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()

# rests: is the next test one that this half of the tests leaves out? Its program is not built then.
set(TALLY_TEST_HALF "" CACHE STRING "0 or 1: every second test alone (scripts/test)")
set(turn 0)
macro(next_turn)
  math(EXPR turn "1 - ${turn}")
  set(rests OFF)
  if(NOT TALLY_TEST_HALF STREQUAL "" AND NOT TALLY_TEST_HALF EQUAL turn)
    set(rests ON)
  endif()
endmacro()

# every operator and nan form of ops.def
set(operators)
foreach(row IN LISTS rows)
  if(row MATCHES "^OPERATOR\\(([a-z0-9_]+), *[a-z0-9_]+, *[IUF]+, *[A-Z]+, *[A-Z0-9]+, *([A-Z]+),")
    list(APPEND operators ${CMAKE_MATCH_1})
    if(CMAKE_MATCH_2 STREQUAL YES)
      list(APPEND operators nan${CMAKE_MATCH_1})
    endif()
  endif()
endforeach()

file(GLOB programs CONFIGURE_DEPENDS test/test_*.c)
if(TARGET tally_ladder)
  file(GLOB course CONFIGURE_DEPENDS ladder/test/test_*.c)
  list(APPEND programs ${course})
endif()
# What is built again. Under an emulator: what runs kernels. With the thread sanitizer: what has threads.
# With the address sanitizer: all but what compiles at run time, what is about the texts, the law's trees, and the
# ladder's wrong kernels (test_ladder has the model); of the GPU tests those of the engine (PoCL itself is not watched,
# and leaks).
if(CMAKE_CROSSCOMPILING)
  list(FILTER programs INCLUDE REGEX "/test_(bits|exact|golden|grid|inputs|laws|narrow|probe|ranges)\\.c$")
elseif(TALLY_SANITIZE MATCHES thread)
  set(few "api|better|bits|by_key|exact|files|fragment|grid|groups|inputs|keys|large|narrow|probe|ranges|slots|stream")
  list(FILTER programs INCLUDE REGEX "/test_(${few}|text|threads|wide|writers)\\.c$")
elseif(TALLY_SANITIZE)
  set(few "promises|nvrtc|embed|graphs|many|devices|pieces|segments|windows|clmem|grids|lanes|layouts|ladder_nvrtc")
  list(FILTER programs EXCLUDE REGEX "/test_(${few}|trace|ladder_wrong|emulated|places)\\.c$")
endif()
if(CMAKE_C_COMPILER_ID MATCHES "Clang") # compiled by it, some programs did not end in a minute; why is not known
  list(FILTER programs EXCLUDE REGEX "/test_(emulated|places)\\.c$")
endif()

foreach(source IN LISTS programs)
  get_filename_component(name ${source} NAME_WE)
  if(NOT name STREQUAL test_bits)
    next_turn()
    if(rests)
      continue()
    endif()
  endif()
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE src include test)
  target_compile_definitions(${name} PRIVATE TALLY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(NOT TALLY_SANITIZE MATCHES address)
    target_compile_options(${name} PRIVATE -O1) # they are compiled more often than they run
  endif()
  # What a test computes itself took most of its time under the thread sanitizer. One that neither starts threads nor
  # forks is watched where it copies and compares memory, which the sanitizer sees in any program; the library always.
  file(STRINGS ${source} threads REGEX "pthread|threads_pool|fork\\(")
  if(TALLY_SANITIZE MATCHES thread AND NOT threads)
    target_compile_options(${name} PRIVATE -fno-sanitize=all)
  endif()
  if(TALLY_SANITIZE MATCHES thread)
    target_compile_definitions(${name} PRIVATE CHECK_LEAST_THREADS=2)
  endif()
  if(TALLY_SANITIZE OR CMAKE_CROSSCOMPILING)
    target_compile_definitions(${name} PRIVATE CHECK_SLOW=1)
  endif()
  target_compile_definitions(${name} PRIVATE ${text_blocks})
  target_link_libraries(${name} PRIVATE tally_static m)
  if(name MATCHES "^test_ladder")
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:tally_ladder>)
    target_include_directories(${name} PRIVATE ladder)
  endif()
  # The full matrix takes an hour under the thread sanitizer or an emulator, and a minute under the others. There, one
  # operator of each kind runs; test_golden has all of them.
  if(name STREQUAL test_bits AND (CMAKE_CROSSCOMPILING OR TALLY_SANITIZE))
    foreach(case "sum f32" "sum i16" "mean f16" "var f64" "max f32" "argmin u8" "nanmean f64" "ema f32" "xor u64")
      string(REPLACE " " ";" arguments ${case})
      string(REPLACE " " "_" label ${case})
      next_turn()
      if(NOT rests)
        tally_test(${name}_${label} ${name} ${arguments})
      endif()
    endforeach()
  elseif(TALLY_TEST_LONG AND name MATCHES "^test_(bits|devices)$") # many processes, which ctest runs side by side
    foreach(operator IN LISTS operators)
      tally_test(${name}_${operator} ${name} ${operator})
    endforeach()
  else()
    tally_test(${name} ${name})
  endif()
endforeach()
# test_bits under sanitizers has an instruction set that the library has not, of the operators that it takes there
# alone, compiled by this compiler. The linker takes its table of instruction sets, not the library's.
set(TALLY_FEW "" CACHE STRING "an instruction set for test_bits under sanitizers (scripts/test)")
if(TALLY_FEW AND TALLY_SANITIZE)
  set(left_out "")
  foreach(file IN LISTS seen ITEMS isa)
    set(few_sources src/cpu/instances.c)
    if(file STREQUAL "isa")
      set(few_sources ${isa_sources})
    endif()
    if(file MATCHES "^(sum|mean|var|max|argmin|nansum|nanmean|ema|xor|isa)$")
      set(definitions ${instances_of_${file}})
      if(file MATCHES "^(mean|var|ema)$") # test_bits takes floats there
        list(FILTER definitions EXCLUDE REGEX "TL_KINDS_[IU]")
      endif()
      add_library(few_${file} OBJECT ${few_sources})
      target_include_directories(few_${file} PRIVATE src include)
      target_compile_definitions(few_${file} PRIVATE TALLY_BUILDING TL_ISA=${TALLY_FEW} ${definitions})
      target_compile_options(few_${file} PRIVATE ${isa_flags_${TALLY_FEW}} -Wno-attributes -fno-sanitize=all -O1)
      target_sources(test_bits PRIVATE $<TARGET_OBJECTS:few_${file}>)
    else()
      string(APPEND left_out "const void *const tl_kernels_${file}_${TALLY_FEW}[] = {0};\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/left_out.c CONTENT "${left_out}")
  target_sources(test_bits PRIVATE src/cpu/isas.c ${PROJECT_BINARY_DIR}/left_out.c)
  target_compile_definitions(test_bits PRIVATE TALLY_BUILDING ${isa_defs} TALLY_HAVE_${TALLY_FEW}=1)
endif()

# Five minutes otherwise: the seed picks what runs. Without this variable, or with TALLY_TEST_LONG, all of it does.
foreach(name IN ITEMS test_bits test_golden test_gpu test_ladder test_ladder_wrong test_lanes test_large test_many
        test_pieces test_places test_segments test_user test_windows)
  if(TEST ${name} AND NOT TALLY_TEST_LONG)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "TALLY_TEST_QUICK=1")
  endif()
endforeach()

# CUDA's texts run on this processor. With sanitizers, in these tests alone, where the compiler has them: what the texts
# are compiled with at run time, and what the program is linked with. The linker lets it put itself before the pool.
if(TARGET test_emulated)
  include(CheckCSourceCompiles)
  # Null is an address of no block. At -O0 the others see nothing here, and compile for a quarter of the time.
  set(watched -fsanitize=address,undefined -fno-sanitize=null,pointer-overflow,object-size,vptr)
  set(CMAKE_REQUIRED_LINK_OPTIONS ${watched})
  check_c_source_compiles("int main(void) { return 0; }" TALLY_HAVE_SANITIZERS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  set(watching "")
  if(TALLY_HAVE_SANITIZERS)
    target_link_options(test_emulated PRIVATE ${watched})
    string(REPLACE ";" " " watching "${watched} --param asan-stack=0") # a fiber's stack is none of a thread's
  endif()
  target_compile_definitions(test_emulated PRIVATE "EMULATED_CXX=\"${CMAKE_C_COMPILER} -x c++ ${watching}\"")
  target_compile_definitions(test_places PRIVATE "EMULATED_CXX=\"${CMAKE_C_COMPILER} -x c++\"")
  foreach(name test_emulated test_places)
    target_link_options(${name} PRIVATE -Wl,--wrap=tl_gpu_take,--wrap=tl_gpu_give)
  endforeach()
endif()

# The matrix computes its references itself, which takes three times as long when a sanitizer checks every access.
if(TALLY_SANITIZE)
  set_source_files_properties(test/test_bits.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
  set_source_files_properties(test/test_exact.c test/test_large.c test/test_ranges.c test/test_narrow.c
                              test/test_golden.c PROPERTIES COMPILE_OPTIONS "-fno-sanitize=undefined;-O1")
endif()
# Operators of users, which are compiled at run time and not watched there, by -O1: that takes two thirds of the time of
# -O3. Some have -O3 in test_readme.sh and test_install.sh, all in scripts/test long.
if(TEST test_user AND NOT TALLY_TEST_LONG)
  set(quick -O1)
  if(TALLY_SANITIZE)
    set(quick -O0)
  endif()
  file(WRITE ${PROJECT_BINARY_DIR}/quick-cc "exec ${CMAKE_C_COMPILER} \"$@\" ${quick}\n")
  set_property(TEST test_user APPEND PROPERTY ENVIRONMENT "CC=sh ${PROJECT_BINARY_DIR}/quick-cc")
endif()

# test_promises compiles every operator's text with the test's own lines behind it, and a text that keeps no promise.
if(TARGET test_promises)
  set(text_of_liar liar)
  set(instances_of_liar TL_FILE=liar TL_TEXT=liar TL_OUT_ACC=1 TL_RULE_WIDE=1 TL_KINDS_I=1 TL_KINDS_F=1)
  foreach(file IN LISTS seen ITEMS liar)
    set(folder ../../src/op)
    if(file STREQUAL liar)
      set(folder .)
    endif()
    add_library(promises_${file} OBJECT test/promises/rows.c)
    target_include_directories(promises_${file} PRIVATE src include test)
    target_compile_definitions(promises_${file} PRIVATE ${instances_of_${file}}
                               "TL_PROMISE_TEXT=\"${folder}/${text_of_${file}}.h\"")
    target_compile_options(promises_${file} PRIVATE -Wno-attributes -O0)
    target_sources(test_promises PRIVATE $<TARGET_OBJECTS:promises_${file}>)
  endforeach()
endif()

# A CUDA driver and an NVRTC that are none, each in a folder of its own: test_better and test_slots have both,
# test_embed the driver, and an archive of its own in place of the library's (the linker takes the first).
function(fake_library name file)
  add_library(fake_${name} SHARED test/fake/${name}.c)
  set_target_properties(fake_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake/${name}
                        OUTPUT_NAME ${name} SUFFIX ${file} C_VISIBILITY_PRESET default)
endfunction()
if(TEST test_better OR TEST test_slots)
  fake_library(cuda .so.1)
  fake_library(nvrtc .so.13)
  set(fakes ${PROJECT_BINARY_DIR}/fake)
  foreach(name IN ITEMS test_better test_slots)
    if(TEST ${name})
      add_dependencies(${name} fake_cuda fake_nvrtc)
      set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${fakes}/cuda:${fakes}/nvrtc")
    endif()
  endforeach()
endif()
if(TARGET make_kernels AND TEST test_embed AND NOT TALLY_SANITIZE)
  tally_archive(test_archive "sum/f32/reduce;sum/f32/scan;sum/f32/window_walk3" "80;90" QUICK)
  target_sources(test_embed PRIVATE $<TARGET_OBJECTS:test_archive>)
  add_dependencies(test_embed fake_cuda)
  set_tests_properties(test_embed PROPERTIES ENVIRONMENT "${test_environment};TALLY_FAKE_CUDA=${fakes}/cuda")
endif()

# Leaks are looked for where allocation is the subject. LLVM 14's leak checker guesses where the thread-local data of
# opened libraries is, and crashed on its guess in one run of ten: it does without them.
foreach(name IN ITEMS test_memory test_api test_text test_files test_writers test_fragment test_ladder)
  if(TEST ${name})
    string(REGEX MATCH "ASAN_OPTIONS=[^;]*" leaks "${test_environment}")
    string(REPLACE "detect_leaks=0" "detect_leaks=1:intercept_tls_get_addr=0" leaks "${leaks}")
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "${leaks}") # the last value of a variable counts
  endif()
endforeach()

if(scripted)
  find_program(BASH bash)
  file(GLOB scripts CONFIGURE_DEPENDS test/test_*.sh ladder/test/test_*.sh)
  # They read sources and documents, compile what must not compile, compare results with Python's, run the ladder, which
  # has tests of its own, load the library into a database (fuzz_digits has that code), or say what is wrong in texts of
  # users (fuzz_user and test_user): no sanitizer sees more.
  set(texts test_exact test_harness test_ladder test_links test_packaging test_readme test_reference test_texts
      test_user)
  foreach(source IN LISTS scripts)
    get_filename_component(name ${source} NAME_WE)
    if(TALLY_SANITIZE AND (name IN_LIST texts OR name MATCHES "^test_sql"))
      continue()
    endif()
    next_turn()
    if(rests)
      continue()
    endif()
    tally_test(${name}_sh ${BASH} ${source})
  endforeach()
  if(NOT TALLY_SANITIZE)
    tally_test(format ${BASH} ${PROJECT_SOURCE_DIR}/scripts/format)
    tally_test(layers ${BASH} ${PROJECT_SOURCE_DIR}/test/layers.sh)
    tally_test(house ${BASH} -c "python3 ${PROJECT_SOURCE_DIR}/scripts/house")
  endif()
endif()

# ---- fuzz targets: the readers compiled with coverage, the rest from the static library ----
if(CMAKE_C_COMPILER_ID MATCHES "Clang" AND NOT CMAKE_CROSSCOMPILING AND
   (NOT TALLY_SANITIZE OR TALLY_SANITIZE MATCHES address))
  set(fuzz_definitions TALLY_BUILDING TL_TEXT_SHARE=64 TL_TEXT_SMALL=16)
  set(fuzz_options -O0 -fsanitize=fuzzer,address,undefined -fno-sanitize=null,object-size)
  file(GLOB fuzzers CONFIGURE_DEPENDS test/fuzz_*.c ladder/test/fuzz_*.c)
  file(GLOB readers CONFIGURE_DEPENDS src/io/*.c src/io/netcdf/*.c)
  add_library(fuzz_readers OBJECT ${readers})
  target_include_directories(fuzz_readers PRIVATE src include)
  target_compile_definitions(fuzz_readers PRIVATE ${fuzz_definitions})
  target_compile_options(fuzz_readers PRIVATE ${fuzz_options})
  file(GLOB model CONFIGURE_DEPENDS ladder/model/*.c ladder/foreign*.c)
  foreach(source IN LISTS fuzzers)
    get_filename_component(name ${source} NAME_WE)
    next_turn()
    if(rests)
      continue()
    endif()
    if(name STREQUAL fuzz_ladder)
      add_executable(${name} ${source} ${model} ladder/assignment.c ladder/data.c ladder/text.c ladder/toml.c)
      target_compile_definitions(${name} PRIVATE MODEL_WORK_LEAST=20000)
      target_include_directories(${name} PRIVATE ladder)
    else()
      add_executable(${name} ${source} $<TARGET_OBJECTS:fuzz_readers>)
    endif()
    target_include_directories(${name} PRIVATE src include)
    target_compile_definitions(${name} PRIVATE ${fuzz_definitions})
    target_compile_options(${name} PRIVATE ${fuzz_options})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_libraries(${name} PRIVATE tally_static Threads::Threads m)
    string(REPLACE fuzz_ "" what ${name})
    get_filename_component(corpus ${source} DIRECTORY)
    set(corpus ${corpus}/corpus/${what}.txt) # small inputs that found something, or that lead somewhere
    set(unpack "rm -rf corpus && python3 ${PROJECT_SOURCE_DIR}/test/corpus.py unpack ${corpus} corpus")
    set(found ${PROJECT_BINARY_DIR}/tests/${name}/found) # what the run finds goes into the first folder
    file(REMOVE_RECURSE ${found})
    file(MAKE_DIRECTORY ${found})
    tally_test(${name} sh -c "${unpack} && exec $<TARGET_FILE:${name}> -seed=1 -runs=20000 \
-max_total_time=2 -verbosity=0 -error_exitcode=1 ${found} corpus")
  endforeach()
endif()
