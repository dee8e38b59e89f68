// SPDX-License-Identifier: Apache-2.0
// Configuration sources laid over each other: what stood where is kept, so that every complaint names its line. Behind
// rulefile.h.
#pragma once

#include "model/io/maxtext/rulefile.h"
#include "model/io/maxtext/rulefilevalues.h"

#include <map>
#include <string>
#include <vector>

namespace shardboard {

enum class RuleLayer { Base, Model, Setting };

struct LayeredValue {
    PlacedValue placed;
    RuleLayer layer = RuleLayer::Base;
};

/// The keys that say something about sharding, the last layer that sets one wins; rules are merged meanwhile.
struct RuleLayers {
    std::map<std::string, LayeredValue> values;
    std::vector<LogicalRule> rules;
    std::string rulesPlace; ///< where the last rules laid over the base come from; empty: only the base's
    std::vector<std::string> warnings;

    const LayeredValue* find(const std::string& key) const;
    void warn(const std::string& place, const std::string& what, const std::string& fix = {});
};

/// A YAML file that holds a map. Errors: cannot be read, not YAML, empty, something else than a map.
Result<PlacedValue> readYamlMap(const std::string& path);
Result<PlacedValue> yamlMapFromText(const std::string& text, const std::string& file);

/// Lays `base`, the model's file and the settings over each other.
Result<RuleLayers> layRules(const RuleSources& sources);

/// Everything that MaxText would refuse or pass over in silence in a finished setup, as warnings.
void warnOfSilence(const RuleLayers& layers, RuleSetup& setup);

} // namespace shardboard
