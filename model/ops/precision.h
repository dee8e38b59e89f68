// SPDX-License-Identifier: Apache-2.0
// What each kind of data is held in, where the workload's dtype does not say it. A value type; part of a workload.
#pragma once

#include "model/core/result.h"
#include "model/core/tensor.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardboard {

struct Workload;

/// Absent: as the workload's dtype and the framework have it (HeldTypes).
struct Precision {
    std::optional<DType> weights; ///< as they are stored; they are cast (and gathered) to what products are computed in
    std::optional<DType> activations;
    std::optional<DType> cache; ///< keys and values for the tokens to come
    std::optional<DType> gradients; ///< of weights, as they are kept and added up over micro-batches
    std::optional<DType> optimizer; ///< each moment
    std::optional<DType> master; ///< the optimizer's copy of the weights; there is none where it is that of the weights
    std::optional<DType> reductions; ///< collectives of gradients of weights
    friend bool operator==(const Precision&, const Precision&) = default;
};

/// A kind of data, for documents, options, and people.
struct PrecisionMember {
    const char* key; ///< `weights`
    const char* name; ///< `gradient reductions`
    std::optional<DType> Precision::*type;
    std::span<const DType> types; ///< that it can be held in
    bool training; ///< only training has it
};
std::span<const PrecisionMember> precisionMembers();
/// `bf16, f16 or f32`
std::string typeList(const PrecisionMember& member);

/// From `weights=f32,gradients=f32`, over what is set already. Errors (usage): a name or type that there is not.
Status readPrecision(std::string_view text, Precision& precision, const std::string& where);
/// The other way round; empty where nothing is set.
std::string precisionText(const Precision& precision);
/// Errors: a type in which such data is not held.
Status verifyPrecision(const Precision& precision, const std::string& where);

/// What is held in what, all said.
struct HeldTypes {
    DType weights = DType::BF16; ///< as stored
    DType gradients = DType::BF16; ///< as kept for the optimizer's step
    DType optimizer = DType::F32;
    DType master = DType::F32;
    DType reductions = DType::BF16;
    DType gathered = DType::BF16; ///< weights while they are gathered and read: stored types that are wider are cast before
    /// The optimizer has a copy of the weights beside those that are stored.
    bool copiesWeights() const { return master != weights; }
    /// Bytes of optimizer states for one parameter: moments, of which Adam has two (arXiv 1910.02054), and the copy.
    double momentBytes(int moments) const { return moments * bitsOf(optimizer) / 8.0; }
    double masterBytes() const { return copiesWeights() ? bitsOf(master) / 8.0 : 0; }
    friend bool operator==(const HeldTypes&, const HeldTypes&) = default;
};

/// Of a workload: weights and reductions in storageType(), gradients too but f32 where micro-batches are added up, optimizer
/// states in f32; `precision` of the workload goes before `usual` (what a framework does), and both before these.
HeldTypes heldTypes(const Workload& workload, const Precision& usual = {});

} // namespace shardboard
