// SPDX-License-Identifier: Apache-2.0
// Where MAX itself would do something else than the design says, without a word (max-sharding 5.1, 6).
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <unordered_map>

namespace shardboard {

namespace {

constexpr const char* kMaxDefect = "max-defect";

using ByName = std::unordered_map<std::string, const WeightLayout*>;

/// `x.weight` -> `x.bias`
const WeightLayout* biasOf(const ByName& names, const std::string& name)
{
    if (!name.ends_with("weight"))
        return nullptr;
    const auto bias = names.find(name.substr(0, name.size() - 6) + "bias");
    return bias == names.end() || bias->second->unknownShape ? nullptr : bias->second;
}

/// A bias that is cut rowwise is not in the order of the q | k | v rows of a stacked-qkv weight's shard.
void stackedBias(const FinderInput& input, const WeightLayout& weight, const WeightLayout& bias, FindingList& out)
{
    if (weight.strategy.kind != StrategyKind::StackedQkv || bias.misfit)
        return;
    if (bias.strategy == weight.strategy || bias.layout.isReplicated())
        return;
    const auto proposal = propose(input, bias, weight.strategy);
    out.add({ kMaxDefect, Severity::Warning, bias.spec.name, 0,
              "is cut as " + bias.strategy.text() + ", but the rows of " + weight.spec.name
                  + " are cut in Q, K and V: a device's part of the bias does not belong to its rows (MAX before 26.4 cut it so)",
              "cut the bias like the weight" },
            giveStrategy(input, bias, proposal));
}

/// StackedMoE gives its biases the default dim 2 of gate-up, which a bias of two dims does not have.
void gateUpBias(const WeightLayout& weight, FindingList& out)
{
    if (weight.strategy.kind != StrategyKind::GateUp || weight.spec.shape.size() != 2 || weight.misfit
        || !weight.spec.name.ends_with("bias"))
        return;
    out.add({ kMaxDefect, Severity::Note, weight.spec.name, 0,
              "is cut in gate and up on dim " + std::to_string(weight.strategy.dim)
                  + "; MAX's StackedMoE asks for dim 2 here, which a bias of two dims does not have, and fails",
              "check the version of MAX" });
}

} // namespace

void findMaxDefects(const FinderInput& input, FindingList& out)
{
    ByName names;
    for (const WeightLayout& weight : input.evaluation.weights) {
        gateUpBias(weight, out);
        if (weight.strategy.kind != StrategyKind::StackedQkv || weight.misfit)
            continue;
        if (names.empty())
            for (const WeightLayout& other : input.evaluation.weights)
                names.emplace(other.spec.name, &other);
        if (const WeightLayout* bias = biasOf(names, weight.spec.name))
            stackedBias(input, weight, *bias, out);
    }
}

} // namespace shardboard
