// SPDX-License-Identifier: Apache-2.0
// What a model has beside the sizes that every decoder has (experts, latent attention, other blocks), as JSON keys. Design
// files and the built-in models write them alike; a key that is absent has the value that most models have.
#pragma once

#include "model/families/modelspec.h"
#include "model/io/json/jsonfields.h"

#include <set>
#include <string>

namespace shardboard {

/// Adds the keys whose values differ from a plain decoder's.
void addModelParts(nlohmann::json& out, const ModelSpec& model);

/// The keys that there are, but for `names`.
const std::set<std::string>& modelPartKeys();

/// Reads the same keys; the first wrong one becomes the error of `fields`.
void readModelParts(JsonFields& fields, ModelSpec& model);

} // namespace shardboard
