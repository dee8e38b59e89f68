// SPDX-License-Identifier: Apache-2.0
// MaxText's sharding dumps: logical_shardings.json (logical names of every weight), named_shardings.json (their specs
// on a mesh) and input_shardings.json (activations, as texts of Python tuples). Read in today's and in older forms (no
// shapes, other mesh axes), written byte for byte as MaxText does.
//
// Reading keeps the order of the file. Errors give FILE:LINE:COLUMN: not JSON, a wrong type, an axis that the mesh
// lacks, an axis used twice, a spec longer than the shape, a mesh that differs from entry to entry, a dim that does not
// divide.
#pragma once

#include "model/core/mesh.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shardboard {

using DumpSpec = std::vector<std::vector<std::string>>; ///< per tensor dim its mesh axes, major first

struct LogicalEntry {
    std::string name; ///< `.params/['params']/['decoder']/…`
    std::vector<std::string> names; ///< logical name per tensor dim, empty for an unnamed one
    std::optional<std::vector<std::int64_t>> shape; ///< global
    friend bool operator==(const LogicalEntry&, const LogicalEntry&) = default;
};

struct NamedEntry {
    std::string name;
    DumpSpec spec; ///< size-one axes included
    std::optional<std::vector<std::int64_t>> shape {}; ///< global; older dumps have none
    /// Our addition, key `cut`, only where a weight is not cut evenly as a whole: the cut rule, and the strategy of a
    /// fused one.
    std::string cut {};
    /// Our addition, key `stages`, only of a pipeline: on which stages the weight lies, `stage=0,3` with the mesh axis of the
    /// stages before.
    std::optional<std::string> stages {};
    friend bool operator==(const NamedEntry&, const NamedEntry&) = default;
};

struct ActivationEntry {
    std::string name; ///< `attentions/query: bfloat16[192,2048,16,128]`
    std::optional<std::vector<std::string>> names; ///< nothing for `Unknown`
    DumpSpec spec; ///< may be shorter than the rank; size-one axes removed
    friend bool operator==(const ActivationEntry&, const ActivationEntry&) = default;
};

struct LogicalDump {
    std::vector<LogicalEntry> entries;
    std::string file {}; ///< it was read from, for errors
};
struct NamedDump {
    Mesh mesh;
    std::vector<NamedEntry> entries;
};
/// The only key of their file.
inline constexpr const char* kActivationKey = "Activation Sharding Dump";

struct ActivationDump {
    std::vector<ActivationEntry> entries;
    std::string file {}; ///< it was read from, for errors
};
using AnyDump = std::variant<LogicalDump, NamedDump, ActivationDump>;

/// Whether a dim that its axes do not divide is refused, as JAX does for weights.
enum class DumpCheck { Strict, AllowIndivisible };

/// Any of the three files; which one is told by its content.
Result<AnyDump> readDump(const std::string& path, DumpCheck check = DumpCheck::Strict);
Result<AnyDump> dumpFromText(const std::string& text, const std::string& where, DumpCheck check = DumpCheck::Strict);
Result<LogicalDump> readLogicalDump(const std::string& path);
Result<NamedDump> readNamedDump(const std::string& path, DumpCheck check = DumpCheck::Strict);
Result<ActivationDump> readActivationDump(const std::string& path);

std::string dumpText(const LogicalDump& dump);
std::string dumpText(const NamedDump& dump);
std::string dumpText(const ActivationDump& dump);

/// What a dump says of an entry, without its name: the same for all layers of a model.
std::string dumpValue(const LogicalEntry& entry);
std::string dumpValue(const NamedEntry& entry, const Mesh& mesh);
std::string dumpValue(const ActivationEntry& entry);

/// Writes a dump entry by entry. Names must differ, but for those of activations.
class DumpWriter {
public:
    DumpWriter(std::function<void(std::string_view)> write, bool activations);
    void add(const std::string& name, const std::string& value);
    void finish();

private:
    std::function<void(std::string_view)> m_write;
    bool m_activations;
    bool m_any = false;
};

/// `P('fsdp',)`, `P(('fsdp', 'expert'), None)`, `P()`.
std::string pythonSpecText(const DumpSpec& spec);
Result<DumpSpec> specFromPython(std::string_view text, const std::string& where);
/// `('embed', None)`, `('norm',)`, `()`; an unnamed dim is None.
std::string pythonNamesText(const std::vector<std::string>& names);
Result<std::vector<std::string>> namesFromPython(std::string_view text, const std::string& where);

/// The shape in an activation's name, or nothing.
std::optional<std::vector<std::int64_t>> activationShape(std::string_view name);

/// What the folders of a dump are called: `MODEL/TOPOLOGY/slice_N/rule_NAME_key=value…`.
struct DumpFolder {
    std::string model;
    std::string topology;
    std::int64_t slices = 1;
    std::string rule = "default"; ///< older dumps have no folder for it
    std::vector<std::pair<std::string, std::string>> options; ///< in order
    friend bool operator==(const DumpFolder&, const DumpFolder&) = default;
};
/// From the last folders of a path. `rules` lists the known rule names, because keys contain underscores.
Result<DumpFolder> readDumpFolderName(std::string_view path, const std::vector<std::string>& rules);
std::string dumpFolderName(const DumpFolder& folder);

} // namespace shardboard
