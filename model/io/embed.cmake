# SPDX-License-Identifier: Apache-2.0
# Writes a text file as a C++ string: cmake -D INPUT=FILE -D OUTPUT=FILE.cpp -D NAME=kName -P embed.cmake
file(READ "${INPUT}" content)
file(WRITE "${OUTPUT}" "// Made from ${NAME}'s resource; not for editing.
namespace shardboard {
extern const char* const ${NAME};
const char* const ${NAME} = R\"resource(${content})resource\";
} // namespace shardboard
")
