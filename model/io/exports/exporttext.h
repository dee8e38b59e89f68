// SPDX-License-Identifier: Apache-2.0
// Text that stands in exports as it is: code of generated modules, kept as files under resources/exports, so that it can be
// read, run and checked as what it is. What a design says never goes into it: that stands beside it as literals.
#pragma once

#include <string_view>

namespace shardboard {

/// The file `resources/exports/NAME`, e.g. `jax/functions.py`. A name that is not there is a mistake of the caller: empty.
std::string_view exportText(std::string_view name);

} // namespace shardboard
