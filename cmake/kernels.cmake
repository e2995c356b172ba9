# SPDX-License-Identifier: MIT
# CUDA kernels compiled with the library and embedded in it (doc/gpu.md), so that a user needs the driver only.
#   TALLY_CUDA_KERNELS   none      compile at run time, by NVRTC (default)
#                        common    the set of cmake/embedded.h: 10 minutes of one processor, 12 MB
#                        all       every built-in operator and type, for packages: 2.6 hours of one processor, 190 MB
#                                  (reckoned from `common`)
#                        a list    as in sum/f32;ema:0.1/f64, or sum/f32/scan: that shape of embedded.h alone
#                        auto      common where a CUDA toolkit is, else none
#   TALLY_CUDA_ARCHS     compute capabilities with machine code of their own; what comes after the last gets its PTX
#   TALLY_CUDA_CACHE     where compiled programs stay from one build to the next
#   TALLY_CUDA_JOBS      processes that compile (0: the processors here)
set(TALLY_CUDA_KERNELS none CACHE STRING
    "CUDA kernels to embed: none, auto, common, all, or a list such as sum/f32;mean/f64")
set(TALLY_CUDA_ARCHS "80;90;100" CACHE STRING "compute capabilities to embed CUDA kernels for")
set(TALLY_CUDA_CACHE ${PROJECT_BINARY_DIR}/cuda CACHE PATH "folder of compiled CUDA kernels")
set(TALLY_CUDA_JOBS 0 CACHE STRING "processes that compile CUDA kernels; 0: the processors here")

set(toolkits $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda /opt/cuda)
find_library(TALLY_NVRTC NAMES nvrtc libnvrtc.so.13 libnvrtc.so.12 HINTS ${toolkits} PATH_SUFFIXES lib64 lib)
find_program(TALLY_FATBINARY fatbinary HINTS ${toolkits} PATH_SUFFIXES bin)
mark_as_advanced(TALLY_NVRTC TALLY_FATBINARY)

set(cuda_kernels ${TALLY_CUDA_KERNELS})
set(cuda_here FALSE) # can kernels be compiled here?
if(TALLY_NVRTC AND TALLY_FATBINARY AND NOT CMAKE_CROSSCOMPILING)
  set(cuda_here TRUE)
endif()
if(cuda_kernels STREQUAL "auto")
  set(cuda_kernels none)
  if(cuda_here)
    set(cuda_kernels common)
  endif()
elseif(NOT cuda_kernels STREQUAL "none" AND NOT cuda_here)
  message(FATAL_ERROR "TALLY_CUDA_KERNELS is '${TALLY_CUDA_KERNELS}', which needs libnvrtc (${TALLY_NVRTC}) and "
          "fatbinary (${TALLY_FATBINARY}) of a CUDA toolkit, and no cross build: set CUDA_HOME, or "
          "TALLY_CUDA_KERNELS=none")
endif()

# The compiler of archives: the operators' tables and texts, and what it calls of the library, without kernels of
# processors and without an archive.
if(cuda_here)
  add_library(tally_core STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tally_objects>)
  add_executable(make_kernels EXCLUDE_FROM_ALL cmake/kernels.c $<TARGET_OBJECTS:tally_texts> ${scalar_objects})
  target_include_directories(make_kernels PRIVATE src include)
  target_compile_definitions(make_kernels PRIVATE TALLY_BUILDING)
  target_link_libraries(make_kernels PRIVATE tally_core Threads::Threads m ${CMAKE_DL_LIBS})
  target_compile_options(make_kernels PRIVATE ${light})
endif()

# An object library NAME that holds the archive of SET for ARCHS, or an empty one (src/gpu/cuda/cuda.h). The assembler
# includes it, because a compiler takes minutes for such an array. QUICK: slow kernels, for a test, in a quarter of the
# time, which are kept elsewhere.
function(tally_archive name set archs)
  set(compiler make_kernels)
  set(cache ${TALLY_CUDA_CACHE})
  if("QUICK" IN_LIST ARGN)
    set(compiler ${CMAKE_COMMAND} -E env TALLY_CUDA_QUICK=1 $<TARGET_FILE:make_kernels>)
    set(cache ${PROJECT_BINARY_DIR}/tests/cuda)
  endif()
  string(REPLACE ";" "," set "${set}")
  string(REPLACE ";" "," archs "${archs}")
  set(source ${PROJECT_BINARY_DIR}/${name}.c)
  set(archive ${PROJECT_BINARY_DIR}/${name}.bin)
  set(text "#include \"gpu/cuda/cuda.h\"\nconst unsigned char tl_embedded[sizeof(tl_archive_head)] = {0};\n")
  if(NOT set STREQUAL "none")
    set(text [[__asm__(".pushsection .rodata\n.balign 64\n.globl tl_embedded\n.hidden tl_embedded\n"
        "tl_embedded:\n.incbin \"@archive@\"\n.popsection\n");
]])
    add_custom_command(OUTPUT ${archive}
      COMMAND ${compiler} ${archive} ${cache} ${TALLY_NVRTC} ${TALLY_FATBINARY} ${TALLY_CUDA_JOBS} ${archs}
              ${set}
      DEPENDS make_kernels COMMENT "CUDA kernels: ${set} for ${archs}" VERBATIM)
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${archive})
  endif()
  file(CONFIGURE OUTPUT ${source} CONTENT "${text}" @ONLY) # written only if it changes
  add_library(${name} OBJECT ${source})
  # a compiler cache does not see that the archive changes
  set_target_properties(${name} PROPERTIES C_COMPILER_LAUNCHER "")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
endfunction()
tally_archive(tally_embedded "${cuda_kernels}" "${TALLY_CUDA_ARCHS}")
