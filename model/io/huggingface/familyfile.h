// SPDX-License-Identifier: Apache-2.0
// A family of models as data (resources/families): what the keys of its config.json mean, which blocks its layers have, and what
// its checkpoints call their weights. A new family of blocks that are known is a file; one may lie beside a checkpoint, too. The
// page resources/help/families.md says how to write one.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct FamilyFile {
    /// What is said of a model where a condition holds.
    struct Remark {
        std::string when; ///< an expression; empty: always
        std::string text; ///< `{expression}` stands for its value
    };

    /// A weight whose blocks are not known, so that no graph has it.
    struct Weight {
        std::string pattern; ///< of its name
        std::vector<std::string> shape; ///< an expression for each dim
        std::string layers {}; ///< letters of the layer pattern: where `*` stands for a layer, of these alone
    };

    std::string file;
    std::string type; ///< `model_type`
    std::vector<std::string> otherTypes; ///< that are the same
    std::string className; ///< beginning of `architectures` where `model_type` is missing
    std::string source; ///< where it was looked up
    nlohmann::json config = nlohmann::json::object(); ///< the defaults of the configuration class, which also give the type
    std::vector<std::string> required; ///< keys that a config has to have
    std::map<std::string, std::string> model; ///< keys of a design's model, by expressions over the config
    std::map<std::string, std::string> names; ///< ModelSpec::names
    std::string prefix = "model.";
    std::vector<Weight> weights; ///< where operations are not known and no header tells shapes; the first that fits counts
    std::vector<Remark> stops; ///< reasons why the operations are not known
    std::vector<Remark> notes; ///< what the graph leaves out without another shape
    std::vector<std::string> ignored; ///< keys that change neither shapes nor operations
    std::vector<std::string> beside; ///< patterns of weights that are stored and are not in the graph

    /// Whether it says enough for a graph; else only what is missing, and what shapes weights have.
    bool isPlanned() const { return !model.empty(); }
};

/// One document. `base` gives the family that another one is `like`; null where there is none of that type.
Result<FamilyFile> readFamilyFile(const std::string& text, const std::string& file,
                                  const std::function<const FamilyFile*(const std::string& type)>& base);

/// All that are built in, in the order of their types; an error is a mistake in one of them.
const Result<std::vector<FamilyFile>>& builtinFamilies();
/// Null where the type is not known.
const FamilyFile* familyOf(const std::string& type);
bool isPlannedFamily(const std::string& type);
/// The types of all built-in families that can be planned, without their other names.
std::vector<std::string> familyTypes();
/// The type that a class of `architectures` stands for, e.g. `Qwen3ForCausalLM`; else the class itself.
std::string typeOfClass(const std::string& className);
/// ModelSpec::windowPeriod of a config that says nothing; -1 where the family has none.
std::int64_t windowPeriodOf(const std::string& type);

} // namespace shardboard
