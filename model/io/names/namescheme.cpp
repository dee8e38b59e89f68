// SPDX-License-Identifier: Apache-2.0
#include "model/io/names/namescheme.h"

#include "model/text/names.h"

namespace shardboard {

namespace {

constexpr std::array kNames { "huggingface", "flax", "nnx", "maxtext", "maxtext-unscanned", "megatron", "vllm" };
constexpr std::array kTitles { "Hugging Face modules (transformers 5)",
                               "Flax Linen (transformers 4)",
                               "Flax nnx",
                               "MaxText, scanned layers",
                               "MaxText, unscanned layers",
                               "Megatron-core",
                               "vLLM" };
static_assert(kNames.size() == kNameSchemes.size() && kTitles.size() == kNameSchemes.size());

} // namespace

std::string nameSchemeName(NameScheme scheme) { return nameIn(kNames, scheme); }
std::string nameSchemeTitle(NameScheme scheme) { return nameIn(kTitles, scheme); }
std::optional<NameScheme> nameSchemeFromName(std::string_view name) { return namedIn<NameScheme>(kNames, name); }

} // namespace shardboard
