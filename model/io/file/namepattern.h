// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace shardboard {

/// A name with every run of digits that stands alone between dots and slashes replaced by `*`.
std::string withoutNumbers(const std::string& name);

} // namespace shardboard
