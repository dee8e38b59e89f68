// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/dispatch.h"

#include "engine/ops/kernels/reduce.h"
#include "engine/simd/simd.h"
#include "engine/simd/vectors.h"

#include <algorithm>

namespace shardboard::engine {

void addScaled(const float* x, float factor, std::int64_t n, float* sum);

SHARDBOARD_CLONES void addScaled(const float* x, float factor, std::int64_t n, float* sum)
{
    for (std::int64_t i = 0; i < n; ++i)
        sum[i] += factor * x[i];
}

void dispatchRows(const DispatchSizes& sizes, const float* x, const float* gates, float* out)
{
    const std::int64_t n = sizes.n;
    for (std::int64_t e = 0; e < sizes.experts; ++e)
        for (std::int64_t r = 0; r < sizes.rows; ++r) {
            float* to = out + (e * sizes.rows + r) * n;
            if (gates[r * sizes.gateStride + e] != 0)
                std::copy(x + r * n, x + (r + 1) * n, to);
            else
                std::fill(to, to + n, 0.0f);
        }
}

void dispatchBackwardRows(const DispatchSizes& sizes, const float* dOut, const float* gates, float* dx)
{
    const std::int64_t n = sizes.n;
    std::fill(dx, dx + sizes.rows * n, 0.0f);
    for (std::int64_t e = 0; e < sizes.experts; ++e)
        for (std::int64_t r = 0; r < sizes.rows; ++r)
            if (gates[r * sizes.gateStride + e] != 0)
                addInto(dOut + (e * sizes.rows + r) * n, n, dx + r * n);
}

void combineRows(const DispatchSizes& sizes, const float* out, const float* gates, float* y)
{
    const std::int64_t n = sizes.n;
    std::fill(y, y + sizes.rows * n, 0.0f);
    for (std::int64_t e = 0; e < sizes.experts; ++e)
        for (std::int64_t r = 0; r < sizes.rows; ++r)
            if (const float gate = gates[r * sizes.gateStride + e]; gate != 0)
                addScaled(out + (e * sizes.rows + r) * n, gate, n, y + r * n);
}

void combineBackwardRows(const DispatchSizes& sizes, const float* dy, const float* gates, float* dOut)
{
    const std::int64_t n = sizes.n;
    for (std::int64_t e = 0; e < sizes.experts; ++e)
        for (std::int64_t r = 0; r < sizes.rows; ++r) {
            float* to = dOut + (e * sizes.rows + r) * n;
            if (const float gate = gates[r * sizes.gateStride + e]; gate != 0)
                scaleRow(dy + r * n, gate, n, to);
            else
                std::fill(to, to + n, 0.0f);
        }
}

void combineGateGradient(const DispatchSizes& sizes, const float* dy, const float* out, const float* gates, float* dGates)
{
    const std::int64_t n = sizes.n;
    for (std::int64_t e = 0; e < sizes.experts; ++e)
        for (std::int64_t r = 0; r < sizes.rows; ++r) {
            float& slope = dGates[r * sizes.gateStride + e];
            slope = 0;
            if (gates[r * sizes.gateStride + e] != 0)
                rowDots(dy + r * n, out + (e * sizes.rows + r) * n, 1, n, &slope);
        }
}

std::vector<std::int64_t> nonZeroRows(const float* x, std::int64_t rows, std::int64_t n)
{
    std::vector<std::int64_t> indices;
    for (std::int64_t r = 0; r < rows; ++r)
        if (std::any_of(x + r * n, x + (r + 1) * n, [](float value) { return value != 0; }))
            indices.push_back(r);
    return indices;
}

void packRows(const float* x, const std::vector<std::int64_t>& indices, std::int64_t n, float* packed)
{
    for (const std::int64_t row : indices)
        packed = std::copy(x + row * n, x + (row + 1) * n, packed);
}

void unpackRows(const float* packed, const std::vector<std::int64_t>& indices, std::int64_t rows, std::int64_t n, float* x)
{
    std::fill(x, x + rows * n, 0.0f);
    for (const std::int64_t row : indices) {
        std::copy(packed, packed + n, x + row * n);
        packed += n;
    }
}

} // namespace shardboard::engine
