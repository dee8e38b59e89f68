// SPDX-License-Identifier: Apache-2.0
// Writing dumps, and the functions that open them.
#include "model/formats/maxtextdump.h"

#include "model/formats/jsontext.h"
#include "model/formats/maxtextdumpreader.h"
#include "model/formats/openfile.h"

#include <cerrno>
#include <cstring>

namespace shardboard {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kActivationKey = "Activation Sharding Dump";

/// As Python's json.dump(…, indent=2), which escapes everything beyond ASCII.
std::string text(const Json& document) { return document.dump(2, ' ', true, Json::error_handler_t::replace); }

Json specJson(const DumpSpec& spec)
{
    Json out = Json::array();
    for (const auto& axes : spec) {
        if (axes.empty())
            out.push_back(nullptr);
        else if (axes.size() == 1)
            out.push_back(axes.front());
        else
            out.push_back(axes);
    }
    return out;
}

template <class Dump> Result<Dump> only(Result<AnyDump> read, const std::string& path, const char* expected)
{
    if (!read.ok())
        return read.error();
    if (auto* dump = std::get_if<Dump>(&read.value()))
        return std::move(*dump);
    return inputError(path, std::string("this is not ") + expected, "check that this is the right file");
}

} // namespace

std::string dumpText(const LogicalDump& dump)
{
    Json out = Json::object();
    for (const LogicalEntry& entry : dump.entries) {
        Json& to = out[entry.name];
        to["partition_spec"] = Json::array();
        for (const std::string& name : entry.names)
            to["partition_spec"].push_back(name.empty() ? Json(nullptr) : Json(name));
        if (entry.shape)
            to["shape"] = *entry.shape;
    }
    return text(out);
}

std::string dumpText(const NamedDump& dump)
{
    Json mesh = { { "axis_names", Json::array() }, { "shape", Json::object() } };
    for (const MeshAxis& axis : dump.mesh.axes()) {
        mesh["axis_names"].push_back(axis.name);
        mesh["shape"][axis.name] = axis.size;
    }
    Json out = Json::object();
    for (const NamedEntry& entry : dump.entries) {
        Json& to = out[entry.name];
        to["mesh"] = mesh;
        to["partition_spec"] = specJson(entry.spec);
        if (entry.shape)
            to["shape"] = *entry.shape;
        if (!entry.cut.empty())
            to["cut"] = entry.cut;
        if (entry.stages && !entry.stages->empty())
            to["stages"] = *entry.stages;
    }
    return text(out);
}

std::string dumpText(const ActivationDump& dump)
{
    Json list = Json::array();
    for (const ActivationEntry& entry : dump.entries) {
        Json item = Json::object();
        item[entry.name] = { { "logic_axes", entry.names ? pythonNamesText(*entry.names) : "Unknown" },
                             { "PartitionSpec", pythonSpecText(entry.spec) } };
        list.push_back(std::move(item));
    }
    Json out = Json::object();
    out[kActivationKey] = std::move(list);
    return text(out);
}

Result<AnyDump> dumpFromText(const std::string& text, const std::string& where, DumpCheck check)
{
    std::size_t position = 0;
    const JsonSource source = [&](char* buffer, std::size_t size) {
        const std::size_t count = std::min(size, text.size() - position);
        std::memcpy(buffer, text.data() + position, count);
        position += count;
        return count;
    };
    return readDumpEvents(source, where, check);
}

Result<AnyDump> readDump(const std::string& path, DumpCheck check)
{
    auto file = OpenFile::open(path);
    if (!file.ok())
        return file.error();
    std::string reason;
    const JsonSource source = [&](char* buffer, std::size_t size) {
        const auto count = file.value().read(buffer, size);
        if (!count)
            reason = std::strerror(errno);
        return count.value_or(0);
    };
    auto dump = readDumpEvents(source, path, check);
    if (!reason.empty())
        return inputError(path, "cannot be read: " + reason, "check the file and the disk that it is on");
    return dump;
}

Result<LogicalDump> readLogicalDump(const std::string& path)
{
    return only<LogicalDump>(readDump(path), path, "a dump of logical names");
}

Result<NamedDump> readNamedDump(const std::string& path, DumpCheck check)
{
    return only<NamedDump>(readDump(path, check), path, "a dump of specs on a mesh");
}

Result<ActivationDump> readActivationDump(const std::string& path)
{
    return only<ActivationDump>(readDump(path), path, "a dump of activations");
}

} // namespace shardboard
