// SPDX-License-Identifier: Apache-2.0
#include "model/io/safetensors/checkpointindex.h"

#include "model/io/file/textfile.h"
#include "model/io/json/jsontext.h"
#include "model/io/safetensors/safetensors.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <map>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::size_t kLargestIndex = std::size_t { 32 } << 20; // the largest known are below 16 MB
constexpr std::size_t kMostIndexed = 250'000; // they have below 150,000
constexpr std::size_t kMostFiles = 10'000;

/// A file of the folder: not absolute, no way up.
bool staysInside(const std::string& name)
{
    if (name.empty() || name.front() == '/' || name.find('\0') != std::string::npos)
        return false;
    for (const std::string_view part : split(name, '/'))
        if (part.empty() || part == "." || part == "..")
            return false;
    return true;
}

} // namespace

Result<CheckpointIndex> readCheckpointIndex(const std::string& path)
{
    auto text = readTextFile(path, kLargestIndex);
    if (!text.ok())
        return text.error();
    if (const auto pointer = lfsPointerFromText(text.value()))
        return lfsPointerError(path, *pointer);
    JsonLimits limits;
    limits.values = kMostIndexed;
    const auto document = parseJson(text.value(), path, limits);
    if (!document.ok())
        return document.error();
    const json& top = document.value();
    const auto map = top.is_object() ? top.find("weight_map") : top.end();
    if (!top.is_object() || map == top.end() || !map->is_object())
        return inputError(path + ":weight_map", "there is no object of that name", "give the index of a checkpoint");
    CheckpointIndex index;
    std::map<std::string, std::size_t> numbers;
    for (const auto& [tensor, file] : map->items()) {
        if (!file.is_string())
            return inputError(path + ":weight_map." + tensor, "does not name a file", "use the name of a file in the folder");
        if (const auto problem = nameProblem(tensor))
            return inputError(path + ":weight_map", "the tensor name '" + shortened(visibleText(tensor), 80) + "' " + *problem,
                              "rename the tensor");
        const auto name = file.get<std::string>();
        if (const auto problem = nameProblem(name))
            return inputError(path + ":weight_map." + tensor,
                              "the file name '" + shortened(visibleText(name), 80) + "' " + *problem, "rename the file");
        if (!staysInside(name))
            return inputError(path + ":weight_map." + tensor, "names '" + name + "', which is not in the folder",
                              "use the name of a file in the folder");
        const auto [number, isNew] = numbers.emplace(name, index.files.size());
        if (index.files.size() > kMostFiles)
            return inputError(path, "names more than " + std::to_string(kMostFiles) + " files",
                              "check that this is the right file");
        if (isNew)
            index.files.push_back(name);
        index.entries.push_back({ tensor, number->second });
    }
    const auto metadata = top.find("metadata");
    if (metadata != top.end() && metadata->is_object()) {
        const auto size = metadata->find("total_size");
        if (size != metadata->end() && size->is_number() && size->get<double>() >= 0 && size->get<double>() < 9e18)
            index.totalSize = size->get<std::int64_t>();
    }
    return index;
}

} // namespace shardboard
