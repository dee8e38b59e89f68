// SPDX-License-Identifier: Apache-2.0
#include "model/modules/attention.h"

#include "model/core/checked.h"

namespace shardboard {

namespace {

Strategy headStrategy(StrategyKind kind, std::int64_t heads, std::int64_t headDim)
{
    Strategy strategy = plainStrategy(kind);
    strategy.numHeads = heads;
    strategy.headDim = headDim;
    return strategy;
}

/// Projections that are apart are cut by rows, whatever the heads are; the output projection by heads.
void findSplitHeads(const AttentionParameters& from, const char* name, std::int64_t heads, std::vector<Finding>& findings)
{
    if (heads % from.strategy.devices == 0)
        return;
    const std::int64_t rows = heads * from.headDim;
    std::string where;
    for (std::int64_t device = 0; device < from.strategy.devices && where.empty(); ++device)
        if (balancedPart(rows, from.strategy.devices, device).hi
            != balancedPart(heads, from.strategy.devices, device).hi * from.headDim)
            where = "device " + std::to_string(device) + " ends at row "
                + std::to_string(balancedPart(rows, from.strategy.devices, device).hi) + ", inside or between other heads than its "
                + std::to_string(balancedPart(heads, from.strategy.devices, device).size());
    if (where.empty())
        return;
    findings.push_back({ "heads-split", Severity::Error, name, 0,
                         std::string(name) + " is cut rowwise (dim 0) without regard to heads: " + std::to_string(heads)
                             + " heads do not divide by " + std::to_string(from.strategy.devices) + ", and " + where,
                         "cut it in heads (segmented, heads:" + std::to_string(heads) + ":" + std::to_string(from.headDim)
                             + "), or use a number of devices that divides the heads" });
}

/// A query head must lie with the KV head that serves it.
void findSplitGroups(const AttentionParameters& from, std::vector<Finding>& findings)
{
    const std::int64_t group = from.heads / from.kvHeads;
    for (std::int64_t device = 0; device < from.strategy.devices; ++device) {
        const Range q = balancedPart(from.heads, from.strategy.devices, device);
        const Range kv = balancedPart(from.kvHeads, from.strategy.devices, device);
        if (q.size() == 0 || (q.lo >= kv.lo * group && q.hi <= kv.hi * group))
            continue;
        findings.push_back(
            { "groups-split", Severity::Error, "k_proj", 0,
              "device " + std::to_string(device) + " has query heads " + std::to_string(q.lo) + " to " + std::to_string(q.hi)
                  + ", which use KV heads " + std::to_string(q.lo / group) + " to " + std::to_string((q.hi + group - 1) / group)
                  + ", but it holds KV heads " + std::to_string(kv.lo) + " to " + std::to_string(kv.hi),
              "use a number of devices that divides the " + std::to_string(from.kvHeads) + " KV heads, or replicate K and V" });
        return;
    }
}

void findUnevenHeads(const AttentionParameters& from, std::vector<Finding>& findings)
{
    const std::int64_t rest = from.heads % from.strategy.devices;
    if (rest != 0)
        findings.push_back({ "heads-per-device", Severity::Warning, "heads", 0,
                             std::to_string(from.heads) + " heads over " + std::to_string(from.strategy.devices)
                                 + " devices: the first " + std::to_string(rest)
                                 + " get one more. MAX has copies of compute_heads_per_device that refuse this, but "
                                   "only when asked for one "
                                   "of these first devices",
                             "use a number of devices that divides the heads" });
    if (from.heads < from.strategy.devices)
        findings.push_back({ "idle-devices", Severity::Warning, "heads", 0,
                             std::to_string(from.strategy.devices - from.heads) + " of " + std::to_string(from.strategy.devices)
                                 + " devices have no head and compute nothing",
                             "use at most " + std::to_string(from.heads) + " devices" });
}

Status checkParameters(const AttentionParameters& from, const std::string& where)
{
    if (from.kvHeads < 1 || from.heads < 1 || from.heads % from.kvHeads != 0)
        return inputError(where + ".num_kv_heads",
                          std::to_string(from.heads) + " query heads do not divide over " + std::to_string(from.kvHeads)
                              + " KV heads",
                          "each KV head serves the same number of query heads");
    if (const auto width = checkedMultiply(from.heads, from.headDim); !width || *width > kLargestModuleSize)
        return inputError(where + ".head_dim", "heads times head_dim is larger than 2^31", "use smaller sizes");
    if (from.strategy.kind() != StrategyKind::TensorParallel && from.strategy.kind() != StrategyKind::Replicate)
        return unknownStrategy("Attention", from.strategy, "replicate or tensor_parallel", where);
    if (from.stackedQkv && from.kvHeads != from.heads && from.strategy.kind() == StrategyKind::TensorParallel)
        return refusedBy("ValueError", where + ".num_kv_heads",
                         "a stacked weight is cut into three equal parts Q, K and V, but K and V have "
                             + std::to_string(from.kvHeads) + " heads and Q has " + std::to_string(from.heads),
                         "keep q_proj, k_proj and v_proj apart, or cut the stack as segmented");
    return checkDevices(from.strategy.devices, where);
}

} // namespace

Result<AttentionAnswer> shardAttention(const AttentionParameters& from, const std::string& where)
{
    if (auto status = checkParameters(from, where); !status.ok())
        return status.error();
    const bool parallel = from.strategy.kind() == StrategyKind::TensorParallel;
    const std::int64_t qRows = from.heads * from.headDim;
    const std::int64_t kvRows = from.kvHeads * from.headDim;
    const Strategy whole = plainStrategy(StrategyKind::Replicate);
    AttentionAnswer answer;
    const auto cut = [&](const Strategy& strategy, const Shape& shape, DeviceShapes& into) -> Status {
        auto shapes = moduleShapes(parallel ? strategy : whole, from.strategy.devices, shape, where);
        if (!shapes.ok())
            return shapes.error();
        into = std::move(shapes).value();
        return done();
    };
    const Strategy rows = plainStrategy(StrategyKind::Rowwise);
    std::vector<Status> statuses;
    if (from.stackedQkv) {
        statuses.push_back(
            cut(headStrategy(StrategyKind::StackedQkv, from.heads, from.headDim), { qRows + 2 * kvRows, from.hidden }, answer.qkv));
    } else {
        statuses.push_back(cut(rows, { qRows, from.hidden }, answer.q));
        statuses.push_back(cut(rows, { kvRows, from.hidden }, answer.k));
        statuses.push_back(cut(rows, { kvRows, from.hidden }, answer.v));
    }
    statuses.push_back(
        cut(headStrategy(StrategyKind::HeadAwareColumnwise, from.heads, from.headDim), { from.hidden, qRows }, answer.output));
    for (const Status& status : statuses)
        if (!status.ok())
            return status.error();
    for (const Shape& shape : answer.output)
        answer.heads.push_back(shape[1] / from.headDim);
    answer.qkvStrategy = !parallel ? "replicate" : from.stackedQkv ? "stacked_qkv" : "rowwise";
    answer.outputStrategy = parallel ? "head_aware_columnwise" : "replicate";
    if (!parallel)
        return answer;
    findUnevenHeads(from, answer.findings);
    if (!from.stackedQkv) {
        findSplitHeads(from, "q_proj", from.heads, answer.findings);
        if (from.kvHeads != from.heads)
            findSplitHeads(from, "k_proj", from.kvHeads, answer.findings);
        findSplitGroups(from, answer.findings);
    }
    return answer;
}

} // namespace shardboard
