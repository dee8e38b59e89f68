// SPDX-License-Identifier: Apache-2.0
#include "model/io/huggingface/hffamilies.h"

#include <array>

namespace shardboard {

namespace {

constexpr std::array kFamilies {
    Family { "llama", "Llama", 32000, 4096, 11008, 32, 32, 0, 0 },
    Family { "mistral", "Mistral", 32000, 4096, 14336, 32, 32, 8, 0 },
    Family { "mixtral", "Mixtral", 32000, 4096, 14336, 32, 32, 8, 0, 1e6, 1e-5 },
    Family { "qwen2", "Qwen2", 151936, 4096, 22016, 32, 32, 0, 0 },
    Family { "qwen3", "Qwen3", 151936, 4096, 22016, 32, 32, 0, 128 },
    Family { "qwen3_moe", "Qwen3Moe", 151936, 2048, 6144, 24, 32, 4, 0 },
    Family { "deepseek_v2", "DeepseekV2", 32000, 4096, 11008, 32, 32, 0, 0 },
    Family { "deepseek_v3", "DeepseekV3", 129280, 7168, 18432, 61, 128, 0, 0 },
    Family { "kimi_k2", "KimiK2", 163840, 7168, 18432, 61, 64, 0, 0 },
    Family { "gpt_oss", "GptOss", 201088, 2880, 2880, 36, 64, 8, 64, 150000, 1e-5 },
    Family { "gemma", "Gemma", 256000, 3072, 24576, 28, 16, 16, 256, 10000, 1e-6, true },
    Family { "gemma2", "Gemma2", 256000, 2304, 9216, 26, 8, 4, 256, 10000, 1e-6, true },
    Family { "gemma3_text", "Gemma3", 262208, 2304, 9216, 26, 8, 4, 256, 1e6, 1e-6, true },
    Family { "falcon", "Falcon", 65024, 4544, 0, 32, 71, 0, 0, 10000, 1e-5, true },
};

} // namespace

const Family* familyOf(const std::string& type)
{
    for (const Family& family : kFamilies)
        if (type == family.type)
            return &family;
    return nullptr;
}

std::vector<std::string> familyTypes()
{
    std::vector<std::string> types;
    for (const Family& family : kFamilies)
        types.emplace_back(family.type);
    return types;
}

std::string typeOfClass(const std::string& className)
{
    for (const Family& family : kFamilies)
        for (const char* ending : { "ForCausalLM", "Model", "TextModel" })
            if (className == std::string(family.className) + ending)
                return family.type;
    return className;
}

bool hasLatentAttention(const Family& family)
{
    const std::string type = family.type;
    return type == "deepseek_v2" || type == "deepseek_v3" || type == "kimi_k2";
}

} // namespace shardboard
