// SPDX-License-Identifier: Apache-2.0
// Writing dumps, and the functions that open them.
#include "model/io/maxtext/maxtextdump.h"

#include "model/io/file/openfile.h"
#include "model/io/json/jsontext.h"
#include "model/io/maxtext/maxtextdumpreader.h"

#include <cerrno>
#include <cstring>

namespace shardboard {

namespace {

using Json = nlohmann::ordered_json;

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

template <class Dump>
Result<Dump> only(Result<AnyDump> read, const std::string& path, const char* expected)
{
    if (!read.ok())
        return read.error();
    if (auto* dump = std::get_if<Dump>(&read.value()))
        return std::move(*dump);
    return inputError(path, std::string("this is not ") + expected, "check that this is the right file");
}

} // namespace

std::string dumpValue(const LogicalEntry& entry)
{
    Json out = Json::object();
    out["partition_spec"] = Json::array();
    for (const std::string& name : entry.names)
        out["partition_spec"].push_back(name.empty() ? Json(nullptr) : Json(name));
    if (entry.shape)
        out["shape"] = *entry.shape;
    return text(out);
}

std::string dumpValue(const NamedEntry& entry, const Mesh& mesh)
{
    Json out = Json::object();
    out["mesh"] = { { "axis_names", Json::array() }, { "shape", Json::object() } };
    for (const MeshAxis& axis : mesh.axes()) {
        out["mesh"]["axis_names"].push_back(axis.name);
        out["mesh"]["shape"][axis.name] = axis.size;
    }
    out["partition_spec"] = specJson(entry.spec);
    if (entry.shape)
        out["shape"] = *entry.shape;
    if (!entry.cut.empty())
        out["cut"] = entry.cut;
    if (entry.stages && !entry.stages->empty())
        out["stages"] = *entry.stages;
    return text(out);
}

std::string dumpValue(const ActivationEntry& entry)
{
    return text({ { "logic_axes", entry.names ? pythonNamesText(*entry.names) : "Unknown" },
                  { "PartitionSpec", pythonSpecText(entry.spec) } });
}

DumpWriter::DumpWriter(std::function<void(std::string_view)> write, bool activations)
    : m_write(std::move(write))
    , m_activations(activations)
{
    m_write(m_activations ? "{\n  " + text(kActivationKey) + ": [" : "{");
}

void DumpWriter::add(const std::string& name, const std::string& value)
{
    const std::string indent(m_activations ? 6 : 2, ' ');
    std::string out = m_any ? "," : "";
    m_any = true;
    out += m_activations ? "\n    {\n" : "\n";
    out += indent + text(name) + ": ";
    for (const char c : value) {
        out += c;
        if (c == '\n')
            out += indent;
    }
    m_write(m_activations ? out + "\n    }" : out);
}

void DumpWriter::finish() { m_write(std::string(m_any ? "\n" : "") + (m_activations ? (m_any ? "  ]\n}" : "]\n}") : "}")); }

namespace {

template <class Entries, class ValueOf>
std::string textOf(const Entries& entries, bool activations, ValueOf valueOf)
{
    std::string out;
    DumpWriter writer([&](std::string_view piece) { out += piece; }, activations);
    for (const auto& entry : entries)
        writer.add(entry.name, valueOf(entry));
    writer.finish();
    return out;
}

} // namespace

std::string dumpText(const LogicalDump& dump)
{
    return textOf(dump.entries, false, [](const LogicalEntry& entry) { return dumpValue(entry); });
}

std::string dumpText(const NamedDump& dump)
{
    return textOf(dump.entries, false, [&](const NamedEntry& entry) { return dumpValue(entry, dump.mesh); });
}

std::string dumpText(const ActivationDump& dump)
{
    return textOf(dump.entries, true, [](const ActivationEntry& entry) { return dumpValue(entry); });
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
    if (!dump.ok())
        return dump.error();
    if (auto* logical = std::get_if<LogicalDump>(&dump.value()))
        logical->file = path;
    else if (auto* activations = std::get_if<ActivationDump>(&dump.value()))
        activations->file = path;
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
