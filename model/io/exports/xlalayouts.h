// SPDX-License-Identifier: Apache-2.0
// What the exports to XLA's partitioners share: which designs they can say, and the document that gives the layout of every tensor
// as a text.
#pragma once

#include "model/design/evaluation.h"
#include "model/io/exports/exportfiles.h"

#include <functional>
#include <string>
#include <vector>

namespace shardboard {

/// A layout in the target's notation; an error where it has no form.
using LayoutText = std::function<Result<std::string>(const Layout& layout)>;

/// XLA cuts a dim into tiles of equal size over the product of its mesh axes, pads the last ones, and numbers devices from 0.
/// Refused besides: a layout that has no form in `text`.
Result<std::vector<ExportRefusal>> xlaRefusals(const Design& design, const Evaluation& evaluation, const std::string& framework,
                                               const LayoutText& text, const std::function<bool()>& stopped);

/// Whether XLA cuts every dim of a value where the plan does.
bool cutAsXla(const TensorSpec& spec, const Layout& layout, const Mesh& mesh);

/// What of a design is in none of these exports. Pins of values are in them.
std::vector<std::string> xlaLeftOut(const Design& design, const Evaluation& evaluation, const LayoutText& text);

/// `{"model", "tensors", "left_out", "mesh", "weights", "inputs", "activations"}`: how many weights shards.json has; by name, with
/// `*` for the layer's number where all layers are alike, `{"dtype", "shape", "sharding"}`. Activations are those of the forward
/// pass, by part of the model and operation; the ones that the target has no form for are left out.
std::string xlaLayoutsJson(const Design& design, const Evaluation& evaluation, const LayoutText& text);

/// ASCII in quotes, with all else escaped.
std::string asciiJson(const std::string& text);
/// A name as shards.json and these documents have it: bytes that are no UTF-8 are replaced.
std::string cleanName(const std::string& text);

} // namespace shardboard
