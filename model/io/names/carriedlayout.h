// SPDX-License-Identifier: Apache-2.0
// The layout of a weight carried over to the parameter that a framework has in its place.
#pragma once

#include "model/core/layout.h"
#include "model/design/evaluation.h"
#include "model/io/names/parameternames.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

struct CarriedLayout {
    Layout layout; ///< of the parameter's dims
    /// Dim in which sources lie side by side and each is cut on its own: every device holds its part of each. -1: none, and the
    /// layout alone says which elements a device holds.
    int segmentedDim = -1;
    std::vector<std::int64_t> segments; ///< sizes of the sources in that dim
    friend bool operator==(const CarriedLayout&, const CarriedLayout&) = default;
};

/// `layouts` are those of the parameter's sources, with the dims that they have in the design. Errors say why the parameter
/// cannot be laid out so: a cut that ends inside a head, sources that are cut differently, a dim whose devices would hold
/// elements that do not lie side by side, experts that are parameters each.
Result<CarriedLayout> carriedLayout(const NamedParameter& parameter, const std::vector<Layout>& layouts, const Mesh& mesh);

/// A parameter of a design: stacked ones once, others once for all layers that have the same layout.
struct LaidOutParameter {
    const NamedParameter* parameter = nullptr; ///< in the names that were given
    std::int64_t firstLayer = -1; ///< -1 outside layers
    std::int64_t layers = 1;
    Result<CarriedLayout> carried;

    /// Whether it is all layers that the parameter has, so that the name with `*` says it.
    bool whole() const { return layers == parameter->layers; }
};

/// In the order of the names. A stacked parameter whose layers differ has an error that names two of them.
std::vector<LaidOutParameter> laidOutParameters(const ParameterNames& names, const Evaluation& evaluation, const Mesh& mesh);

} // namespace shardboard
