// SPDX-License-Identifier: Apache-2.0
// Bytes of one device by what they are there for. Value types.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace shardboard {

struct MemoryBytes {
    std::int64_t weights = 0; ///< as stored; with full sharding the device's part
    std::int64_t masterWeights = 0; ///< training: the f32 copy of weights that are not f32 themselves
    std::int64_t optimizer = 0; ///< training: Adam's two moments, f32
    std::int64_t gradients = 0; ///< training: of weights; those that wait for their reduction, and the reduced ones
    std::int64_t activations = 0; ///< but for logits; with those kept for the backward pass
    std::int64_t kept = 0; ///< part of `activations`: what layers that do not work at the moment keep for the backward pass
    std::int64_t logits = 0; ///< what has the vocabulary as a dim: logits, their copy in f32 for the loss, and gradients
    std::int64_t kvCache = 0;
    std::int64_t gathered = 0; ///< weights gathered for their use, with those that are gathered ahead
    std::int64_t reshard = 0; ///< copies of activations while they are brought into another layout
    std::int64_t reserve = 0; ///< what the allocator holds and cannot use: MemorySettings::reserveShare
    std::int64_t runtime = 0; ///< what the driver keeps, the context of the process, and buffers of communicators

    /// Of all causes; saturates.
    std::int64_t total() const;
    friend bool operator==(const MemoryBytes&, const MemoryBytes&) = default;
};

/// A cause that bars, tables and documents show; `kept` is none, it is part of one.
struct MemoryCause {
    const char* key; ///< in documents: `kv_cache`
    const char* name; ///< for people: `KV cache`
    std::int64_t MemoryBytes::*bytes;
    bool always; ///< is shown even where there is nothing of it
};
/// In the order in which they are stacked: what stays first.
std::span<const MemoryCause> memoryCauses();

/// The moment at which a device needs the most. Of a pipeline that of the stage that needs the most.
struct MemoryByCause : MemoryBytes {
    std::int64_t peak = 0; ///< sum of all causes
    std::int64_t least = 0; ///< the same with the reserve of an allocator at its best
    std::int64_t most = 0; ///< and at its worst
    std::int64_t host = 0; ///< what of the device lies in the memory of its host, at most; in no other sum
    std::string peakAt; ///< the operation: `block/mlp.up_proj`, with the phase in front where it is not the forward one
};

/// Of a device: fits also with the allocator at its worst; fits if the allocator does well (it gives blocks back before it gives
/// up); or does not.
enum class Fit { Fits, Tight, DoesNotFit };
Fit fitOf(std::int64_t least, std::int64_t most, std::int64_t limit);
inline Fit fitOf(const MemoryByCause& memory, std::int64_t limit) { return fitOf(memory.least, memory.most, limit); }
const char* fitName(Fit fit); ///< fits, tight, does not fit

} // namespace shardboard
