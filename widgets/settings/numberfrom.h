// SPDX-License-Identifier: Apache-2.0
// Numbers as people type them into fields.
#pragma once

#include <QString>

#include <optional>

namespace shardboard {

/// A number as people write it: digits with or without separators of thousands (space, comma, apostrophe), one point. Nothing for
/// anything else.
std::optional<double> numberFrom(const QString& text);

} // namespace shardboard
