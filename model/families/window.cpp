// SPDX-License-Identifier: Apache-2.0
#include "model/families/window.h"

#include "model/text/numbers.h"

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

double mean(const ModelSpec& model, double windowed)
{
    const auto layers = static_cast<double>(model.layers);
    return 1 - static_cast<double>(windowedLayers(model)) / layers * (1 - windowed);
}

bool reaches(const ModelSpec& model, std::int64_t tokens) { return windowedLayers(model) > 0 && model.slidingWindow < tokens; }

} // namespace

std::int64_t fullEvery(const ModelSpec& model) { return model.slidingWindow <= 0 || model.mla.present() ? -1 : model.windowPeriod; }

std::int64_t windowedLayers(const ModelSpec& model)
{
    const std::int64_t every = fullEvery(model);
    return every < 0 ? 0 : every == 0 ? model.layers : model.layers - model.layers / every;
}

double cachedShare(const ModelSpec& model, std::int64_t tokens)
{
    return reaches(model, tokens) ? mean(model, static_cast<double>(model.slidingWindow) / static_cast<double>(tokens)) : 1;
}

double attendedShare(const ModelSpec& model, std::int64_t tokens)
{
    if (!reaches(model, tokens))
        return 1;
    const auto n = static_cast<double>(tokens);
    const auto w = static_cast<double>(model.slidingWindow);
    return mean(model, (w * (w + 1) / 2 + (n - w) * w) / (n * (n + 1) / 2));
}

std::string windowText(const ModelSpec& model, std::int64_t tokens)
{
    const std::string& pattern = model.block.pattern;
    if (pattern.find('w') != std::string::npos) { // each kind of layer is planned by itself
        const auto layersOf = [&](char letter) { return std::count(pattern.begin(), pattern.end(), letter); };
        std::string text;
        for (const auto& [letter, window] : { std::pair { 'a', model.slidingWindow }, std::pair { 'w', model.other.window } })
            if (window > 0 && window < tokens)
                text += (text.empty() ? "sliding windows of " : ", of ") + countText(window) + " tokens in "
                    + std::to_string(layersOf(letter)) + " of " + std::to_string(model.layers) + " layers";
        return text;
    }
    if (!reaches(model, tokens))
        return {};
    return "sliding windows of " + countText(model.slidingWindow) + " tokens in " + std::to_string(windowedLayers(model)) + " of "
        + std::to_string(model.layers)
        + " layers: KV cache and attention of each layer are the mean of all of them, so their sums are exact";
}

} // namespace shardboard
