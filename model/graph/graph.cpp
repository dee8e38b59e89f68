// SPDX-License-Identifier: Apache-2.0
#include "model/graph/graph.h"

#include <array>

namespace shardboard {

namespace {
constexpr std::array<const char*, 14> kNames { "embedding", "rms_norm", "matmul", "add", "mul", "silu", "gelu",
                                               "split_heads", "merge_heads", "rope", "kv_append", "attention",
                                               "output", "gather_last" };
}

std::string opKindName(OpKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<OpKind> opKindFromName(std::string_view name)
{
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (name == kNames[i])
            return static_cast<OpKind>(i);
    return std::nullopt;
}

std::int64_t Graph::parameterCount() const
{
    std::int64_t count = 0;
    for (const GraphTensor& tensor : tensors)
        if (tensor.spec.role == TensorRole::Weight)
            count += elementCount(tensor.spec.shape).value_or(0) * tensor.copies;
    return count;
}

std::int64_t Graph::weightCount() const
{
    std::int64_t count = 0;
    for (const GraphTensor& tensor : tensors)
        if (tensor.spec.role == TensorRole::Weight)
            count += tensor.copies;
    return count;
}

std::string concreteName(const std::string& name, std::int64_t layer)
{
    std::string out = name;
    if (const auto star = out.find('*'); star != std::string::npos)
        out.replace(star, 1, std::to_string(layer));
    return out;
}

} // namespace shardboard
