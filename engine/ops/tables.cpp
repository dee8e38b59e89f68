// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/tables.h"

#include <cmath>

namespace shardboard::engine {

using namespace bodies;

namespace {

Box wholeBox(const Shape& shape)
{
    Box box;
    for (const std::int64_t size : shape)
        box.push_back({ 0, size });
    return box;
}

} // namespace

Elements elementsOf(const Sharded& tensor, std::int64_t device)
{
    Elements out;
    out.data = tensor.address(device);
    out.half = tensor.element() == Element::BF16 ? 1 : 0;
    return out;
}

BoxMap mapOf(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides, std::int64_t base)
{
    BoxMap map;
    map.base = base;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] == 1)
            continue;
        if (map.dims > 0 && map.stride[map.dims - 1] == sizes[d] * strides[d]) {
            map.size[map.dims - 1] *= sizes[d];
            map.stride[map.dims - 1] = strides[d];
            continue;
        }
        map.size[map.dims] = sizes[d];
        map.stride[map.dims++] = strides[d];
    }
    if (map.dims == 0) {
        map.dims = 1;
        map.size[0] = 1;
        map.stride[0] = 1;
    }
    return map;
}

BoxMap mapOf(const Box& box, const Box& whole)
{
    std::vector<std::int64_t> sizes(box.size());
    std::vector<std::int64_t> strides(box.size());
    std::int64_t stride = 1;
    std::int64_t base = 0;
    for (std::size_t d = box.size(); d-- > 0;) {
        sizes[d] = box[d].size();
        strides[d] = stride;
        base += (box[d].lo - whole[d].lo) * stride;
        stride *= whole[d].size();
    }
    return mapOf(sizes, strides, base);
}

BoxMap mapOf(const Box& box, const Shape& shape) { return mapOf(box, wholeBox(shape)); }

MadeValue madeOf(const Source& source)
{
    MadeValue made;
    made.rule = source.generator.rule();
    made.share = source.share;
    made.rounding = static_cast<std::int32_t>(source.rounding);
    return made;
}

void ropeAngles(std::int64_t first, std::int64_t count, std::int64_t d, double theta, float* table)
{
    for (std::int64_t i = 0; i < d / 2; ++i) {
        const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(d));
        for (std::int64_t s = 0; s < count; ++s) {
            const double angle = static_cast<double>(first + s) * frequency;
            table[s * d + i] = static_cast<float>(std::cos(angle));
            table[s * d + d / 2 + i] = static_cast<float>(std::sin(angle));
        }
    }
}

std::int64_t tilesOf(std::int64_t count, std::int64_t tile) { return (count + tile - 1) / tile; }

} // namespace shardboard::engine
