# SPDX-License-Identifier: Apache-2.0
# Writes the files of a folder as a C++ function that lists their names and texts:
# cmake -D FOLDER=DIR -D FILES=a;b -D OUTPUT=FILE.cpp -D FUNCTION=name -P embedfolder.cmake
set(text "// Made from resources; not for editing.
#include <array>
#include <span>
#include <string_view>
#include <utility>
namespace shardboard {
std::span<const std::pair<std::string_view, std::string_view>> ${FUNCTION}();
std::span<const std::pair<std::string_view, std::string_view>> ${FUNCTION}()
{
    static constexpr auto kTexts = std::to_array<std::pair<std::string_view, std::string_view>>({
")
foreach(name IN LISTS FILES)
    file(READ "${FOLDER}/${name}" content)
    string(APPEND text "        { \"${name}\", R\"resource(${content})resource\" },\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}    });
    return kTexts;
}
} // namespace shardboard
")
