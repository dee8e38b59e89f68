// SPDX-License-Identifier: Apache-2.0
// YAML from files that nobody vouches for: bounded size, depth and expansion of aliases, keys that are there twice
// refused, every error with file, line and column. Plain words mean what they mean in YAML 1.1, which Python reads.
#pragma once

#include "model/core/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

struct YamlLimits {
    std::size_t bytes = std::size_t { 1 } << 20; ///< of the text
    int depth = 32; ///< nested lists and maps
    std::size_t values = 200'000; ///< in the whole document, those that aliases repeat included
};

/// One value with its place. A value type.
struct YamlValue {
    enum class Kind { Null, Scalar, List, Map };

    Kind kind = Kind::Null;
    std::string text; ///< of a scalar
    bool plain = true; ///< a scalar without quotes, which may be a number or a truth value
    std::vector<YamlValue> items; ///< of a list; of a map its values
    std::vector<std::string> keys; ///< of a map, one per item, no two alike
    int line = 1;
    int column = 1;

    bool isNull() const { return kind == Kind::Null; }
    bool isList() const { return kind == Kind::List; }
    bool isMap() const { return kind == Kind::Map; }
    /// A scalar that is no number, no truth value and not null.
    bool isText() const;
    /// The value of a key of a map, or null.
    const YamlValue* find(std::string_view key) const;

    std::optional<bool> boolean() const; ///< true, no, Off, …
    std::optional<std::int64_t> integer() const; ///< 150_001, 0x1F, 017, 0b1, 1:30 (sexagesimal)
    std::optional<double> number() const; ///< integers, 1.e-05, .5, .inf

    /// For messages: `a list`, `a map`, `nothing`, `true`, `the number 3`, `'fsdp'`.
    std::string shown() const;
};

/// `FILE:LINE:COLUMN`, from 1.
std::string yamlPlace(const std::string& file, const YamlValue& value);

/// The only document of a text; a text without any value gives Null. Merge keys (`<<`) are followed.
Result<YamlValue> parseYaml(const std::string& text, const std::string& where, const YamlLimits& limits = {});

} // namespace shardboard
