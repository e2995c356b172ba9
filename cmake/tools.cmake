# SPDX-License-Identifier: MIT
# The command line, build/tally, and the teaching ladder in it. Included by CMakeLists.txt.
if(EXISTS ${PROJECT_SOURCE_DIR}/cli/main.c) # test/plant/run has a tree without tools
  include(ladder/ladder.cmake)
  file(GLOB cli_sources CONFIGURE_DEPENDS cli/*.c)
  add_executable(tally_cli ${cli_sources} $<TARGET_OBJECTS:tally_ladder>)
  target_include_directories(tally_cli PRIVATE ladder src) # src: only context/hint.h (test/layers.sh)
  set_target_properties(tally_cli PROPERTIES OUTPUT_NAME tally)
  target_link_libraries(tally_cli PRIVATE tally_static m)
endif()
