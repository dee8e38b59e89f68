# SPDX-License-Identifier: Apache-2.0
# Language, warnings, sanitizers, and the function that every library of the project is made with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(shardboard_options INTERFACE)
target_include_directories(shardboard_options INTERFACE ${PROJECT_SOURCE_DIR})
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND warnings -Wno-restrict) # false alarm on operator+ of std::string in g++ 12 (GCC bug 105651)
endif()
# The compiler that we develop with says nothing about our code; what other versions will say nobody knows before.
set(werror_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
    set(werror_default ON)
endif()
option(SHARDBOARD_WERROR "Treat warnings as errors (by default with g++ 12 alone)" ${werror_default})
if(SHARDBOARD_WERROR)
    list(APPEND warnings -Werror)
endif()
target_compile_options(shardboard_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
if(SHARDBOARD_CHECKED)
    target_compile_definitions(shardboard_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(SHARDBOARD_SANITIZE)
    # g++ 12 takes an empty std::optional that two values are compared with for one without a value (-Wmaybe-uninitialized).
    target_compile_options(shardboard_options INTERFACE
        -fsanitize=address,undefined -fno-omit-frame-pointer -Wno-maybe-uninitialized)
    target_link_options(shardboard_options INTERFACE -fsanitize=address,undefined)
endif()

# Strict Qt for our own code; QCustomPlot's header cannot live with it, so widgets/plots leaves it out.
add_library(shardboard_qt_strict INTERFACE)
target_compile_definitions(shardboard_qt_strict INTERFACE
    QT_NO_CAST_FROM_ASCII QT_NO_CAST_TO_ASCII QT_NO_URL_CAST_FROM_STRING QT_NO_KEYWORDS QT_NO_FOREACH
    QT_DISABLE_DEPRECATED_BEFORE=0x060400)

# How much optimization a part of the project is worth in a Release build; most of the compiler's time goes there.
#   shardboard_optimize(TARGET HOT)    what is measured by "shardctl bench" and the run of a model: as Release says
#   shardboard_optimize(TARGET WARM)   -O2: what is linked before hot parts, because the linker takes the first copy of a template
#   shardboard_optimize(TARGET COLD)   -O1, and the standard library checks subscripts and empty containers
# Who sets CMAKE_CXX_FLAGS_RELEASE gets that everywhere.
set(SHARDBOARD_TUNED OFF)
if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
    set(SHARDBOARD_TUNED ON)
endif()
function(shardboard_optimize TARGET LEVEL)
    if(LEVEL STREQUAL "COLD" AND NOT SHARDBOARD_CHECKED)
        target_compile_definitions(${TARGET} PRIVATE _GLIBCXX_ASSERTIONS)
    endif()
    if(SHARDBOARD_TUNED AND LEVEL STREQUAL "WARM")
        target_compile_options(${TARGET} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O2>)
    elseif(SHARDBOARD_TUNED AND LEVEL STREQUAL "COLD")
        target_compile_options(${TARGET} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
    endif()
endfunction()
