// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/seen.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardboard::conformance {

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

} // namespace

double errorOf(const engine::Sharded& y, const Value& reference)
{
    double mean = 0;
    for (const double value : reference.data)
        mean += value * value / static_cast<double>(reference.data.size());
    std::vector<int> partial;
    for (const AxisRef& ref : y.layout().partial)
        partial.push_back(ref.axis);
    double worst = 0;
    for (std::int64_t device = 0; device < y.deviceCount(); ++device) {
        const engine::Box& box = y.box(device);
        const std::int64_t count = y.elements(device);
        const auto members = y.mesh().group(device, partial);
        double difference = 0;
        double size = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            std::int64_t rest = i;
            std::int64_t index = 0;
            std::int64_t stride = 1;
            for (std::size_t d = box.size(); d-- > 0;) {
                index += (box[d].lo + rest % box[d].size()) * stride;
                rest /= box[d].size();
                stride *= y.shape()[d];
            }
            double value = y.layout().op == ReduceOp::Max ? -std::numeric_limits<double>::infinity() : 0;
            for (const std::int64_t member : members) {
                const double held = double { y.data(member)[i] };
                value = y.layout().op == ReduceOp::Max && !partial.empty() ? std::max(value, held)
                                                                           : (partial.empty() ? held : value + held);
            }
            const double expected = reference.data[at(index)];
            difference += (value - expected) * (value - expected);
            size += expected * expected;
        }
        if (count == 0)
            continue;
        if (!std::isfinite(difference))
            return std::numeric_limits<double>::infinity();
        const double scale = std::max(size, mean * static_cast<double>(count));
        worst = std::max(worst,
                         difference == 0 ? 0
                             : scale > 0 ? std::sqrt(difference / scale)
                                         : std::numeric_limits<double>::infinity());
    }
    return worst;
}

Value madeUp(const engine::Source& source, const Shape& shape)
{
    engine::Box box;
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
        box.push_back({ 0, size });
        count *= size;
    }
    std::vector<float> values(at(count));
    engine::fillBox(source, shape, box, values.data());
    return { shape, std::vector<double>(values.begin(), values.end()) };
}

} // namespace shardboard::conformance
