// SPDX-License-Identifier: Apache-2.0
// An error as the window tells it. The model names places as files and command lines have them (`strategies[3] on NAME`,
// `--preset`); in a window people see neither.
#pragma once

#include "model/core/result.h"

#include <QString>

namespace shardboard {

/// What is wrong and what to do. The place stays where it is a name: of a file, a tensor, an operation.
QString errorText(const Error& error);

} // namespace shardboard
