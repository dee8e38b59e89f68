// SPDX-License-Identifier: Apache-2.0
// The tables of names as they are written, before a model gives them sizes. Behind parameternames.h.
#pragma once

#include "model/core/result.h"
#include "model/io/names/namescheme.h"
#include "model/io/names/parameternames.h"
#include "model/io/names/viewpattern.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// Layers of a model that a parameter is of.
struct NamedLayers {
    enum class Kind {
        All,
        Dense, ///< those before the first with experts
        Sparse, ///< those with experts
        Cycles, ///< as many whole cycles of `cycle` layers as there are
        Rest ///< what is left after them
    };
    Kind kind = Kind::All;
    std::int64_t cycle = 1;
    bool ownNumbers = false; ///< the number in the name counts from the first of these layers, else it is that in the model
};

struct NameEntry {
    std::string name; ///< `{prefix}` stands for what is before `embed_tokens` in the checkpoint
    std::vector<std::string> sources; ///< without that prefix
    std::optional<ViewPattern> view; ///< absent: the source as it is
    std::string viewText;
    NamedLayers layers;
    std::vector<std::string> logicalNames; ///< of the parameter's dims, empty for a dim without one
    std::string order; ///< NamedParameter::order
    std::string orderIn; ///< models that it holds for, by their names: `llama3.1*`
};

struct NameTable {
    std::vector<NameEntry> entries;
    bool othersSame = false; ///< weights that no entry has are parameters of the same name
    std::vector<UnnamedWeight> missing; ///< patterns of weights without the prefix
    std::vector<std::string> only; ///< families that the framework has, of those of the file; with a reason
    std::string reason; ///< empty: it has all
};

struct FamilyNames {
    std::string file;
    std::vector<std::string> families;
    std::map<NameScheme, NameTable> schemes;
};

Result<FamilyNames> readNameTables(const std::string& text, const std::string& file);

/// All that are built in; an error is a mistake in one of them.
const Result<std::vector<FamilyNames>>& builtinNameTables();

} // namespace shardboard
