// SPDX-License-Identifier: Apache-2.0
// Tokens to experts and back in the dense form: x [rows, n] becomes [experts, rows, n], in which the rows of tokens that an
// expert does not get are zeros. Such rows are skipped: they are neither multiplied nor read.
// `gates` are the gates of the experts on this device: gate of row r and local expert e at gates[r * gateStride + e]. An
// expert gets a token where its gate is not 0.
#pragma once

#include <cstdint>
#include <vector>

namespace shardboard::engine {

struct DispatchSizes {
    std::int64_t experts = 0; ///< on this device
    std::int64_t rows = 0; ///< tokens
    std::int64_t n = 0; ///< elements of a token
    std::int64_t gateStride = 0;
};

/// out [experts, rows, n]: x where the expert gets the token, else 0.
void dispatchRows(const DispatchSizes& sizes, const float* x, const float* gates, float* out);
/// dx [rows, n] = sum over the experts that got the token; over the experts of this device, so a partial sum.
void dispatchBackwardRows(const DispatchSizes& sizes, const float* dOut, const float* gates, float* dx);

/// y [rows, n] = sum over the experts of gate * out; over the experts of this device, so a partial sum.
void combineRows(const DispatchSizes& sizes, const float* out, const float* gates, float* y);
/// dOut [experts, rows, n] = gate * dy.
void combineBackwardRows(const DispatchSizes& sizes, const float* dy, const float* gates, float* dOut);
/// dGates (laid out as gates) = dy . out where the expert got the token, else 0. Where n is a part of the elements it is a
/// partial sum.
void combineGateGradient(const DispatchSizes& sizes, const float* dy, const float* out, const float* gates, float* dGates);

/// The rows of x [rows, n] that have an element other than 0, ascending.
std::vector<std::int64_t> nonZeroRows(const float* x, std::int64_t rows, std::int64_t n);
/// packed[i] = x[indices[i]], so that an expert multiplies only the tokens it got.
void packRows(const float* x, const std::vector<std::int64_t>& indices, std::int64_t n, float* packed);
/// x[indices[i]] = packed[i], zeros elsewhere.
void unpackRows(const float* packed, const std::vector<std::int64_t>& indices, std::int64_t rows, std::int64_t n, float* x);

} // namespace shardboard::engine
