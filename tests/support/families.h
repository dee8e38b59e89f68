// SPDX-License-Identifier: Apache-2.0
// A tiny model of every family, for tests.
#pragma once

#include "app/engine/families.h"

namespace shardboard::test {

using conformance::familyModel;
using conformance::familyNames;

} // namespace shardboard::test
