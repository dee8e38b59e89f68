// SPDX-License-Identifier: Apache-2.0
// What a framework calls the weights of a model, and how its parameters are made of them: transposed, split into heads, fused,
// stacked over layers or experts. Value types; the tables are data, resources/names/*.json, one for families that share it.
//
// Each dim of a weight is a product of factors (heads x head dim), and each dim of a parameter is one of the same factors, in the
// order that the framework has. That says every map there is, as einops patterns do: `(heads head_dim) in -> in heads head_dim`.
#pragma once

#include "model/core/tensor.h"
#include "model/families/modelspec.h"
#include "model/io/names/namescheme.h"
#include "model/ops/graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

struct NameFactor {
    /// Of a factor that is no dim of the parameter: it holds one index of it, for every one of which there is a parameter. The
    /// first is said by the number in place of the last `*` of the name.
    static constexpr std::int64_t kNumbered = -2;
    static constexpr std::int64_t kAll = -1;

    std::string label; ///< heads, in, layers
    std::int64_t size = 1; ///< of the joined factor that of all sources together
    std::int64_t taken = kAll; ///< kAll, kNumbered, or the index that this parameter holds
    friend bool operator==(const NameFactor&, const NameFactor&) = default;
};

/// A parameter of a framework, or one in each layer.
struct NamedParameter {
    std::string name; ///< with `*` for the number of the layer, where layers are not stacked
    std::vector<std::string> sources; ///< weights of the design; several are joined along the factor `joined`
    std::int64_t firstLayer = -1; ///< -1 outside layers
    std::int64_t layers = 1;
    std::int64_t firstNumber = 0; ///< that stands in the name for the first layer
    bool stacked = false; ///< over the layers, which are then dim 0 of `from`
    std::vector<NameFactor> factors;
    std::vector<std::vector<int>> from; ///< factors of each dim of a source, major first
    std::vector<std::vector<int>> dims; ///< factors of each dim of the parameter, major first
    int joined = -1; ///< factor along which the sources lie side by side; -1 where there is one source
    std::vector<std::int64_t> parts; ///< its size in each source
    std::string
        view; ///< the whole as a pattern, for people: `(heads head_dim) in -> in heads head_dim`; empty where nothing changes
    /// How the framework's converter puts the elements of a dim, where that is not as in the weight: `the two halves of a head in
    /// turn`.
    std::string order;
    /// Of each dim, as the framework's own rules name it, empty for a dim without a name (MaxText); empty: no dim is named.
    std::vector<std::string> logicalNames;

    Shape shape() const;
    friend bool operator==(const NamedParameter&, const NamedParameter&) = default;
};

/// A weight of the design that the framework does not have as a parameter.
struct UnnamedWeight {
    std::string weight;
    std::string reason;
    friend bool operator==(const UnnamedWeight&, const UnnamedWeight&) = default;
};

struct ParameterNames {
    NameScheme scheme = NameScheme::HuggingFace;
    std::vector<NamedParameter> parameters;
    std::vector<UnnamedWeight> missing;
};

/// All parameters of the model under that scheme (of a graph that has parts of weights, the weights that
/// they are parts of, as Hugging Face's); every element of every weight is in exactly one of them, unless the weight is
/// listed as missing. Error: the framework, or its table, does not have this family; the model is no decoder that is understood.
Result<ParameterNames> namesOf(const ModelSpec& model, NameScheme scheme);

/// Families that have a table, sorted.
std::vector<std::string> namedFamilies();

/// A weight of a model, once for all layers that have it in the same shape.
struct ModelWeight {
    TensorSpec spec;
    std::int64_t firstLayer = -1; ///< -1 outside layers
    std::int64_t layers = 1;
    WeightPart part {}; ///< where it lies in a weight of the checkpoint
};
/// In the order of the model.
Result<std::vector<ModelWeight>> weightsOf(const ModelSpec& model);

/// Name of a parameter in a layer of the model, `model.layers.3.…`; where experts are parameters each, that `*` stays.
std::string nameInLayer(const NamedParameter& parameter, std::int64_t layer);

} // namespace shardboard
