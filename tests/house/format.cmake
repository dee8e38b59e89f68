# SPDX-License-Identifier: Apache-2.0
# Holds every source to .clang-format: cmake -D CLANG_FORMAT=clang-format-14 -D SOURCE=FOLDER -P format.cmake
# "clang-format -i FILE" puts a file right. Several at once, since that is all that the machine has to do.
file(GLOB_RECURSE files RELATIVE ${SOURCE}
    ${SOURCE}/app/*.cpp ${SOURCE}/app/*.h ${SOURCE}/engine/*.cpp ${SOURCE}/engine/*.h ${SOURCE}/engine/*.cu
    ${SOURCE}/model/*.cpp ${SOURCE}/model/*.h ${SOURCE}/tests/*.cpp ${SOURCE}/tests/*.h
    ${SOURCE}/widgets/*.cpp ${SOURCE}/widgets/*.h ${SOURCE}/cmake/*.h)
list(LENGTH files count)
if(count LESS 100)
    message(FATAL_ERROR "found only ${count} sources below ${SOURCE}")
endif()
execute_process(COMMAND ${CLANG_FORMAT} --dry-run -Werror --ferror-limit=1 ${files}
    WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE result ERROR_VARIABLE complaints)
if(result)
    string(REGEX MATCHALL "[^\n]*:[0-9]+:[0-9]+: [^\n]*" complaints "${complaints}")
    list(JOIN complaints "\n  " complaints)
    message(NOTICE "  ${complaints}")
    message(FATAL_ERROR "The layout is not what .clang-format says; clang-format -i (version 14) puts these files right.")
endif()
message(STATUS "${count} sources are as .clang-format has them")
