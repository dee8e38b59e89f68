// SPDX-License-Identifier: Apache-2.0
#include "model/families/activation.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

// Source: ACT2FN of transformers.
constexpr std::array kActivations {
    Activation { "silu", OpKind::Silu, " silu swish " },
    Activation { "gelu", OpKind::Gelu, " gelu gelu_python gelu_10 " }, // with the error function
    Activation { "gelu_tanh", OpKind::GeluTanh, " gelu_new gelu_pytorch_tanh gelu_python_tanh gelu_fast gelu_accurate " },
    Activation { "relu2", OpKind::SquaredRelu, " relu2 " }, // Nemotron
    Activation { "relu", OpKind::Relu, " relu " }, // OPT
};

template <class Fits>
const Activation* activationThat(Fits fits)
{
    const auto it = std::ranges::find_if(kActivations, fits);
    return it == kActivations.end() ? nullptr : &*it;
}

} // namespace

const Activation* findActivation(std::string_view name)
{
    return activationThat([&](const Activation& each) { return name == each.name; });
}

const Activation* findConfigActivation(std::string_view name)
{
    if (name.find(' ') != std::string_view::npos)
        return nullptr;
    const std::string word = " " + std::string(name) + " ";
    return activationThat(
        [&](const Activation& each) { return std::string_view(each.configNames).find(word) != std::string_view::npos; });
}

std::string knownActivations()
{
    std::string text = "use ";
    for (const Activation& each : kActivations)
        text += std::string(&each == &kActivations.front() ? "" : &each == &kActivations.back() ? " or " : ", ") + each.name;
    return text;
}

} // namespace shardboard
