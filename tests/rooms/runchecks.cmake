# SPDX-License-Identifier: Apache-2.0
# The checker is held against houses with faults: it must find each of them, and say so by its exit code.
#   cmake -D CHECKROOMS=PROGRAM -D HOUSES=FOLDER -P runchecks.cmake
function(expect house code)
    execute_process(COMMAND ${CHECKROOMS} ${HOUSES}/${house} ${HOUSES}/${house}/rooms.txt
        OUTPUT_VARIABLE said ERROR_VARIABLE complaint RESULT_VARIABLE result)
    file(READ ${HOUSES}/${house}/expected.txt expected)
    string(REPLACE "${HOUSES}/" "" said "${said}${complaint}")
    if(NOT result EQUAL code)
        message(SEND_ERROR "${house}: exit code ${result} instead of ${code}")
    endif()
    if(NOT said STREQUAL expected)
        message(SEND_ERROR "${house}: said\n${said}instead of\n${expected}")
    endif()
endfunction()

expect(right 0)
expect(wrong 1)
expect(circle 1)
expect(unreadable 3)
