// SPDX-License-Identifier: Apache-2.0
// The families of Hugging Face models whose config.json is understood, and how each writes its experts, its latent
// attention and its blocks.
#pragma once

#include "model/families/modelspec.h"
#include "model/io/huggingface/configfields.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

/// A family with the defaults of its configuration class: what a `text_config` leaves out, and what any config does where
/// the class decides.
struct Family {
    const char* type; ///< `model_type`
    const char* className; ///< beginning of `architectures` where `model_type` is missing
    std::int64_t vocab, hidden, intermediate, layers, heads;
    std::int64_t kvHeads; ///< 0: as many as heads
    std::int64_t headDim; ///< 0: hidden / heads
    double ropeTheta = 10000;
    double epsilon = 1e-6;
    bool tied = false;
};

/// Null where the type is not known.
const Family* familyOf(const std::string& type);
/// All types, in the order of the table.
std::vector<std::string> familyTypes();
/// The type that a class of `architectures` stands for, e.g. `Qwen3ForCausalLM`; else the class itself.
std::string typeOfClass(const std::string& className);

bool hasLatentAttention(const Family& family);

/// Each fills its part of `model`; what cannot be expressed goes into `notUnderstood`.
void readExperts(ConfigFields& config, const Family& family, ModelSpec& model);
void readLatentAttention(ConfigFields& config, ModelSpec& model);
void readGemma(ConfigFields& config, const Family& family, ModelSpec& model);
void readFalcon(ConfigFields& config, ModelSpec& model);

} // namespace shardboard
