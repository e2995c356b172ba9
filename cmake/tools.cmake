# SPDX-License-Identifier: MIT
# The command line, build/tally, and the teaching ladder in it. Included by CMakeLists.txt.
if(EXISTS ${PROJECT_SOURCE_DIR}/cli/main.c) # test/plant/run has a tree without tools
  include(ladder/ladder.cmake)
  file(GLOB cli_sources CONFIGURE_DEPENDS cli/*.c)
  add_executable(tally_cli ${cli_sources} $<TARGET_OBJECTS:tally_ladder>)
  target_include_directories(tally_cli PRIVATE ladder src) # src: only context/context.h (test/layers.sh)
  set_target_properties(tally_cli PROPERTIES OUTPUT_NAME tally)
  target_link_libraries(tally_cli PRIVATE tally_static m)
  target_compile_options(tally_cli PRIVATE ${light})
endif()

# The extensions for databases (sql/, doc/sql.md) where the headers of the engine are.
#   TALLY_SQLITE     tally_sqlite.so, which is installed into LIBDIR/tally (ON where sqlite3ext.h is)
#   TALLY_POSTGRES   the extension for the server of PG_CONFIG: `cmake --install` puts it where that server looks, which
#                    is outside the prefix, so it must be asked for
# DuckDB's is made by sql/duckdb/Makefile, which says where its header is from.
option(TALLY_SQL_SHARED "the extensions use libtally.so; OFF: they have the library inside" OFF)
find_path(TALLY_SQLITE_INCLUDE sqlite3ext.h)
if(TALLY_SQLITE_INCLUDE AND NOT TALLY_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  option(TALLY_SQLITE "the extension for SQLite" ON)
endif()
if(TALLY_SQLITE)
  add_library(tally_sqlite MODULE sql/sqlite/tally_sqlite.c)
  set_target_properties(tally_sqlite PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sql)
  target_include_directories(tally_sqlite PRIVATE ${TALLY_SQLITE_INCLUDE})
  target_link_libraries(tally_sqlite PRIVATE $<IF:$<BOOL:${TALLY_SQL_SHARED}>,tally,tally_static> Threads::Threads m
                        ${CMAKE_DL_LIBS})
  target_link_options(tally_sqlite PRIVATE -Wl,--exclude-libs,ALL)
  if(TALLY_INSTALL)
    include(GNUInstallDirs)
    install(TARGETS tally_sqlite LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tally)
  endif()
endif()

option(TALLY_POSTGRES "the extension for PostgreSQL" OFF)
if(TALLY_POSTGRES)
  find_program(PG_CONFIG pg_config REQUIRED)
  set(extension make -C ${PROJECT_BINARY_DIR}/sql/postgres PG_CONFIG=${PG_CONFIG} with_llvm=no
                TALLY_LIB=$<TARGET_FILE:tally_static> TALLY_INCLUDE=${PROJECT_SOURCE_DIR}/include)
  file(COPY sql/postgres sql/rows.h DESTINATION ${PROJECT_BINARY_DIR}/sql)
  add_custom_target(tally_postgres ALL COMMAND ${extension} DEPENDS tally_static VERBATIM)
  if(TALLY_INSTALL)
    list(JOIN extension "\" \"" words)
    install(CODE "execute_process(COMMAND \"${words}\" install \"DESTDIR=\$ENV{DESTDIR}\" RESULT_VARIABLE bad)
      if(bad)
        message(FATAL_ERROR \"the extension for PostgreSQL was not installed\")
      endif()")
  endif()
endif()
