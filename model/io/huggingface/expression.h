// SPDX-License-Identifier: Apache-2.0
// What a family file says of a model, as expressions over the keys of its config.json:
//
//   num_key_value_heads ?? num_attention_heads        the first that is not null
//   norm_type == 'rms' ? 2 : 4      not a and b or c      a + b - c * d / e % f
//   $head_dim                       another value of the family file
//   rope_parameters.rope_theta      a key of an object in the config
//
// Values are numbers, true and false, texts, lists, and null, which is also what a key is that is nowhere. A calculation with null
// is null. Functions: sqrt, whole (towards zero), min, max, length(list), count(list, value), every(list, value): n where the items
// at n - 1, 2 n - 1, ... and no others are the value, 0 where none is, else null; leading(list): n where a list holds 0 to n - 1
// and nothing else, else null; first(list): its first item, or what is no list; holds(key): whether the config has the key, be it
// null; item(list, n): counted from 0; letters(list or text, 'full_attention=a mamba=r'): a text with the letter of each item, null
// where one has none; repeated(text, n): over and over, cut to n letters; placed(list, n): n letters, `a` at
// the places that a list has and `r` elsewhere. length() and count() take texts, too. Texts are joined by +.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace shardboard {

/// Where names get their values. Errors are the document's: they name a file and a key.
struct ExpressionNames {
    std::function<Result<nlohmann::json>(const std::string& key)> config;
    std::function<Result<nlohmann::json>(const std::string& name)> own; ///< of `$name`
    std::function<bool(const std::string& key)> holds;
};

/// `where` names the expression in errors of the expression itself. At most 2,000 characters, nested at most 60 deep.
Result<nlohmann::json> evaluateExpression(std::string_view text, const ExpressionNames& names, const std::string& where);

/// The keys of the config (of dotted ones the first part) that an expression names; nothing for one that cannot be read.
std::set<std::string> keysOfExpression(std::string_view text);
/// Whether it can be read.
Status checkExpression(std::string_view text, const std::string& where);

} // namespace shardboard
