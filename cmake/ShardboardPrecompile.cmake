# SPDX-License-Identifier: Apache-2.0
# Precompiled headers: parsing the standard library, nlohmann/json and Qt is most of the work of a cold build. Sources still
# include all that they use, and build without warnings either way. Where a compiler cache is shared between checkouts,
# SHARDBOARD_PRECOMPILE=OFF shares more of it.
#   shardboard_precompile(TARGET HEADERS standard.h)    precompiles cmake/precompiled/standard.h for this target
#   shardboard_precompile(TARGET REUSE OTHER)           uses what OTHER precompiled; it must be compiled with the same flags

# Only g++ is asked for it: the others insist on equal definitions where one precompiled header serves several targets.
set(precompile_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(precompile_default ON)
endif()
option(SHARDBOARD_PRECOMPILE "Precompile the headers of the libraries in use" ${precompile_default})

# ccache takes sources with precompiled headers only when told so, and then works from the compiler's dependencies, which
# also spares it a run of the preprocessor for each source.
if(SHARDBOARD_PRECOMPILE AND CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
endif()

function(shardboard_precompile TARGET)
    cmake_parse_arguments(ARG "" "HEADERS;REUSE" "" ${ARGN})
    if(NOT SHARDBOARD_PRECOMPILE)
        return()
    endif()
    if(ARG_REUSE)
        target_precompile_headers(${TARGET} REUSE_FROM ${ARG_REUSE})
    else()
        target_precompile_headers(${TARGET} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/${ARG_HEADERS})
    endif()
    # Without its precompiled header a source is compiled slower, not wrong. What g++ would not say of the inside of
    # std::string it says when that comes from a precompiled header (the false alarm of -Wno-restrict in another form).
    target_compile_options(${TARGET} PRIVATE
        -Wno-error=invalid-pch -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endfunction()
