// SPDX-License-Identifier: Apache-2.0
// A model from GGUF files: their keys stand for its config.json, and names of tensors are those of the family's other checkpoints.
// Source of the names: llama.cpp's gguf-py/gguf/constants.py.
#pragma once

#include "model/io/checkpoint/openmodel.h"

#include <string>
#include <vector>

namespace shardboard {

/// One file, or one of several (`NAME-00001-of-00003.gguf`), whose others lie beside it. A family that is not known, or whose
/// tensors are others, has its weights laid out without a graph.
Result<OpenedModel> openGguf(const std::string& path, const std::string& name);
/// The .gguf files of a folder, without the later ones of several that belong together.
std::vector<std::string> ggufModels(const std::string& folder);

} // namespace shardboard
