# SPDX-License-Identifier: Apache-2.0
# Writes the files of a folder as C++ strings by name: cmake -D FOLDER=DIR -D FILES=a;b -D OUTPUT=FILE.cpp -P embedfolder.cmake
set(text "// Made from resources; not for editing.
#include \"model/io/exports/exporttext.h\"
#include <array>
#include <utility>
namespace shardboard {
std::string_view exportText(std::string_view name)
{
    static constexpr auto kTexts = std::to_array<std::pair<std::string_view, std::string_view>>({
")
foreach(name IN LISTS FILES)
    file(READ "${FOLDER}/${name}" content)
    string(APPEND text "        { \"${name}\", R\"resource(${content})resource\" },\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}    });
    for (const auto& [known, content] : kTexts)
        if (known == name)
            return content;
    return {};
}
} // namespace shardboard
")
