// SPDX-License-Identifier: Apache-2.0
// A model's dimensions as Hugging Face's config.json says them, so that a framework can build the model without its files.
#pragma once

#include "model/families/modelspec.h"

#include <nlohmann/json.hpp>

namespace shardboard {

/// What shapes depend on; of a model whose architecture is not understood an empty object.
nlohmann::ordered_json modelConfig(const ModelSpec& model);
/// Whether that is all there is to say: not of families whose blocks have keys of their own in their configs.
bool modelConfigSaysAll(const ModelSpec& model);

} // namespace shardboard
