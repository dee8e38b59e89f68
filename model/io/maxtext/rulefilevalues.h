// SPDX-License-Identifier: Apache-2.0
// The values of rule files: rules, lists of mesh axes and options, each checked where it stands.
#pragma once

#include "model/io/yaml/yamltext.h"
#include "model/rules/logicalrules.h"

#include <string>
#include <vector>

namespace shardboard {

/// A value with the file it stands in.
struct PlacedValue {
    YamlValue value;
    std::string file; ///< a path, or `--set KEY`, where places inside mean nothing

    std::string place() const; ///< `FILE:LINE:COLUMN`
    std::string linePlace(const YamlValue& part) const; ///< `FILE:LINE` of a part of the value
    Error error(const YamlValue& part, std::string what, std::string fix) const;
};

/// `[[name, axes], …]`; axes are a list of names, one name, an empty list or null. Errors: not a list, a rule that is
/// no pair, a list inside a list of axes, a number where a name is expected.
Result<std::vector<LogicalRule>> rulesFromYaml(const PlacedValue& list);
/// A flat list of names, no two alike.
Result<std::vector<std::string>> namesFromYaml(const PlacedValue& list, const std::string& what);
/// data_sharding: a list that holds one list of mesh axes, or a flat list, which `flat` tells.
Result<std::vector<std::string>> dataShardingFromYaml(const PlacedValue& list, bool& flat);
Result<std::string> textFromYaml(const PlacedValue& value); ///< null is the empty text
Result<bool> flagFromYaml(const PlacedValue& value);
/// At least 1, or -1.
Result<std::int64_t> parallelismFromYaml(const PlacedValue& value);

} // namespace shardboard
