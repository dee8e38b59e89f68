// SPDX-License-Identifier: Apache-2.0
#include "model/modules/moe.h"

#include <algorithm>

namespace shardboard {

namespace {

std::string rangesText(const std::vector<Range>& ranges)
{
    std::string out;
    for (const Range& range : ranges)
        out += (out.empty() ? "" : ", ") + std::to_string(range.lo)
            + (range.size() > 1 ? " to " + std::to_string(range.hi - 1) : std::string());
    return out;
}

Status checkNodes(const MoeParameters& from, const std::string& where)
{
    if (auto status = checkDevices(from.strategy.devices, where); !status.ok())
        return status;
    if (from.node >= from.nodes)
        return inputError(where + ".node_id", "there is no node " + std::to_string(from.node) + " of " + std::to_string(from.nodes),
                          "count nodes from 0");
    return done();
}

/// First expert of a device, and how many it has: both divisions are rounded down, as MAX does.
struct Deal {
    std::int64_t perNode = 0;
    std::int64_t perDevice = 0;
    Range of(std::int64_t node, std::int64_t device) const
    {
        const std::int64_t first = node * perNode + device * perDevice;
        return { first, first + perDevice };
    }
};

/// Experts between what the nodes hold, and behind it.
std::vector<Range> unassignedExperts(const MoeParameters& from, const Deal& deal)
{
    std::vector<Range> gaps;
    std::int64_t next = 0;
    for (std::int64_t node = 0; node <= from.nodes; ++node) {
        const std::int64_t first = node == from.nodes ? from.experts : deal.of(node, 0).lo;
        if (next < first)
            gaps.push_back({ next, first });
        next = std::max(next, node == from.nodes ? first : deal.of(node, from.strategy.devices).lo);
    }
    return gaps;
}

Result<MoeAnswer> expertParallel(const MoeParameters& from, const std::string& where)
{
    if (auto status = checkNodes(from, where); !status.ok())
        return status.error();
    const std::int64_t epSize = from.epSize > 0 ? from.epSize : from.strategy.devices * from.nodes;
    const Deal deal { from.experts / from.nodes, from.experts / epSize };
    MoeAnswer answer;
    answer.gate = answer.sharedExperts = "replicate";
    answer.expert = "replicate over 1";
    answer.moeDimPerDevice = from.moeDim;
    for (std::int64_t device = 0; device < from.strategy.devices; ++device)
        answer.expertRanges.push_back(deal.of(from.node, device));
    if (answer.expertRanges.back().hi > from.experts)
        return inputError(where + ".ep_size",
                          "device " + std::to_string(from.strategy.devices - 1) + " of node " + std::to_string(from.node)
                              + " would hold experts up to " + std::to_string(answer.expertRanges.back().hi) + ", but there are "
                              + std::to_string(from.experts),
                          "ep_size is the number of devices over all nodes");
    if (epSize != from.strategy.devices * from.nodes)
        answer.findings.push_back({ "ep-size", Severity::Error, "ep_size", 0,
                                    "ep_size is " + std::to_string(epSize) + ", but " + std::to_string(from.nodes) + " nodes of "
                                        + std::to_string(from.strategy.devices) + " devices are "
                                        + std::to_string(from.strategy.devices * from.nodes)
                                        + ": experts are held twice or by nobody",
                                    "set ep_size to the number of devices over all nodes" });
    answer.unassigned = unassignedExperts(from, deal);
    if (!answer.unassigned.empty())
        answer.findings.push_back(
            { "unassigned-experts", Severity::Error, "experts", 0,
              "experts " + rangesText(answer.unassigned) + " are on no device: " + std::to_string(from.experts) + " experts over "
                  + std::to_string(epSize) + " devices" + (from.nodes > 1 ? " on " + std::to_string(from.nodes) + " nodes" : "")
                  + " are rounded down, which MAX does not check",
              "use an ep_size that divides the experts" });
    return answer;
}

Result<MoeAnswer> tensorParallel(const MoeParameters& from, const std::string& where)
{
    const std::int64_t devices = from.strategy.devices;
    if (auto status = checkDevices(devices, where); !status.ok())
        return status.error();
    MoeAnswer answer;
    answer.gate = "replicate";
    answer.sharedExperts = "tensor_parallel";
    answer.expert = "tensor_parallel (MLP rules)";
    answer.moeDimPerDevice = from.moeDim / devices;
    if (from.hidden > 0) {
        answer.gateUpStack = Shape { from.experts, 2 * answer.moeDimPerDevice, from.hidden };
        answer.downStack = Shape { from.experts, from.hidden, answer.moeDimPerDevice };
    }
    for (std::int64_t device = 0; device < devices; ++device)
        answer.moeDims.push_back(balancedPart(from.moeDim, devices, device).size());
    if (from.moeDim % devices != 0)
        answer.findings.push_back(
            { "recorded-moe-dim", Severity::Error, "moe_dim", 0,
              "MAX records moe_dim " + std::to_string(answer.moeDimPerDevice) + " for every device (" + std::to_string(from.moeDim)
                  + " over " + std::to_string(devices) + ", rounded down), but the experts' shards on device 0 have "
                  + std::to_string(answer.moeDims.front()) + ": stacking them by the recorded size does not fit",
              "use a number of devices that divides moe_dim" });
    return answer;
}

} // namespace

Result<MoeAnswer> shardMoe(const MoeParameters& parameters, const std::string& where)
{
    if (parameters.strategy.kind() == StrategyKind::ExpertParallel)
        return expertParallel(parameters, where);
    if (parameters.strategy.kind() == StrategyKind::TensorParallel)
        return tensorParallel(parameters, where);
    return unknownStrategy("MoE", parameters.strategy, "tensor_parallel or expert_parallel", where);
}

Result<MoeGateAnswer> shardMoeGate(const MoeParameters& parameters, const std::string& where)
{
    if (parameters.strategy.kind() != StrategyKind::Replicate)
        return unknownStrategy("MoE.gate", parameters.strategy, "replicate", where);
    if (auto status = checkDevices(parameters.strategy.devices, where); !status.ok())
        return status.error();
    MoeGateAnswer answer;
    if (parameters.experts > 0 && parameters.hidden > 0)
        answer.weights.assign(static_cast<std::size_t>(parameters.strategy.devices),
                              Shape { parameters.experts, parameters.hidden });
    return answer;
}

} // namespace shardboard
