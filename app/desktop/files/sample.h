// SPDX-License-Identifier: Apache-2.0
// Designs that need no file of one's own: the built-in samples and what the New dialog asks for.
#pragma once

#include "model/core/result.h"
#include "model/design/design.h"

#include <QString>

#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct NewDesign {
    std::string model = "llama3-8b"; ///< built-in name, config.json, checkpoint folder or .safetensors file
    std::string mesh = "data=2,model=4";
    std::string hardware = "dgx-h100"; ///< id of a preset, or a hardware file
    std::string preset = "megatron-tp"; ///< of strategies; not looked at with `rules`
    std::string rules; ///< a built-in rule set that lays out everything instead of strategies
    std::optional<LinearModule> module; ///< a ColumnParallelLinear instead of a model
    Workload workload;
};

/// `notes` gets a sentence for everything that the checkpoint has differently and that the preset could not do as named.
Result<Design> makeDesign(const NewDesign& wanted, std::vector<std::string>& notes);

/// Llama 3 8B on 8 H100s, data=2, model=4, Megatron tensor parallelism, prefill of 8 x 4096 tokens.
Result<Design> sampleDesign();

struct Sample {
    QString id; ///< its file is `:/samples/ID.shardboard`
    QString title;
    QString text; ///< what there is to see in it
};

/// The first is sampleDesign().
const std::vector<Sample>& samples();
Result<Design> openSample(const QString& id);

} // namespace shardboard
