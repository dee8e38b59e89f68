// SPDX-License-Identifier: Apache-2.0
// An error as the window tells it, the only way by which one comes to a widget. The model names places as files and command lines
// have them (`strategies[3] on NAME`, `FILE:mesh.sizes[0]`, `--preset`); in a window people see neither options, nor keys of
// files, nor keywords of MAX.
#pragma once

#include "model/core/result.h"

#include <QString>

#include <string>

namespace shardboard {

/// What is wrong and what to do. The place stays where it is a name: of a file, a tensor, an operation.
QString errorText(const Error& error);
/// The same without its place, for what stands beside that.
QString problemText(const Error& error);
/// A sentence of the model that is no error, such as a finding's, told in the same words.
QString toldText(const std::string& sentence);

} // namespace shardboard
