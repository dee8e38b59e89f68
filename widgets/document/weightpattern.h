// SPDX-License-Identifier: Apache-2.0
// What a person types to find weights.
#pragma once

#include "model/design/evaluation.h"

#include <QString>

#include <string>

namespace shardboard {

/// `*.mlp.*` (glob), `proj` (part of the name), `dim 0 = model`, `replicated`. Read once, for
/// many weights.
class WeightPattern {
public:
    WeightPattern() = default;
    explicit WeightPattern(const QString& text);
    bool isEmpty() const { return m_kind == Kind::All; }
    bool matches(const WeightLayout& weight) const;

private:
    enum class Kind { All, Replicated, Cut, Glob, Part };
    Kind m_kind = Kind::All;
    std::string m_text; ///< lower case: the glob or the part of the name
    std::string m_around; ///< the glob with anything before and behind
    std::size_t m_dim = 0; ///< of Cut
    QString m_axis;
};

} // namespace shardboard
