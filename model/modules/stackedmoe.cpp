// SPDX-License-Identifier: Apache-2.0
#include "model/modules/stackedmoe.h"

namespace shardboard {

namespace {

constexpr std::int64_t kMxBlock = 32; ///< values with one scale

class StackedMoe {
public:
    StackedMoe(const StackedMoeParameters& from, const std::string& where)
        : m_from(from)
        , m_where(where)
    {
    }

    Result<StackedMoeAnswer> shard()
    {
        if (m_from.strategy.kind() != StrategyKind::TensorParallel)
            return unknownStrategy("StackedMoE", m_from.strategy, "tensor_parallel", m_where);
        if (m_from.hasBias && !m_from.interleaved)
            return refusedBy("IndexError", m_where + ".has_bias",
                             "the bias of gate and up is [experts, 2 x moe_dim], and cutting it as gate_up with its default dim 2 "
                             "leaves its dims",
                             "gate_up on dim 1 is what is meant: use interleaved, or leave out the bias");
        if (m_from.packedMxfp4 && (m_from.hidden % kMxBlock != 0 || m_from.moeDim % kMxBlock != 0))
            return inputError(m_where + ".moe_dim",
                              "MXFP4 has a scale for each 32 values, but hidden is " + std::to_string(m_from.hidden)
                                  + " and moe_dim " + std::to_string(m_from.moeDim),
                              "use multiples of 32");
        if (auto status = weights(); !status.ok())
            return status.error();
        if (auto status = biases(); !status.ok())
            return status.error();
        findSplitPairs();
        return std::move(m_out);
    }

private:
    Status cut(const Strategy& strategy, const Shape& shape, DeviceShapes& into)
    {
        auto shapes = moduleShapes(strategy, m_from.strategy.devices, shape, m_where);
        if (!shapes.ok())
            return shapes.error();
        into = std::move(shapes).value();
        return done();
    }

    Status weights()
    {
        const std::int64_t experts = m_from.experts;
        const std::int64_t both = 2 * m_from.moeDim;
        if (m_from.packedMxfp4) {
            m_out.gateUpStrategy = plainStrategy(StrategyKind::Axiswise, 1);
            m_out.downStrategy = plainStrategy(StrategyKind::Axiswise, 2);
            if (auto status = cut(m_out.gateUpStrategy, { experts, both, m_from.hidden / 2 }, m_out.gateUp); !status.ok())
                return status;
            if (auto status = cut(m_out.downStrategy, { experts, m_from.hidden, m_from.moeDim / 2 }, m_out.down); !status.ok())
                return status;
            return scales();
        }
        m_out.gateUpStrategy = plainStrategy(m_from.interleaved ? StrategyKind::Axiswise : StrategyKind::GateUp, 2);
        m_out.downStrategy = plainStrategy(StrategyKind::Axiswise, 1);
        if (auto status = cut(m_out.gateUpStrategy, { experts, m_from.hidden, both }, m_out.gateUp); !status.ok())
            return status;
        return cut(m_out.downStrategy, { experts, m_from.moeDim, m_from.hidden }, m_out.down);
    }

    Status scales()
    {
        m_out.gateUpScales.emplace();
        m_out.downScales.emplace();
        if (auto status =
                cut(m_out.gateUpStrategy, { m_from.experts, 2 * m_from.moeDim, m_from.hidden / kMxBlock }, *m_out.gateUpScales);
            !status.ok())
            return status;
        if (auto status = cut(m_out.downStrategy, { m_from.experts, m_from.hidden, m_from.moeDim / kMxBlock }, *m_out.downScales);
            !status.ok())
            return status;
        for (std::size_t device = 0; device < m_out.down.size(); ++device) {
            const std::int64_t values = 2 * m_out.down[device][2];
            const std::int64_t scaled = kMxBlock * (*m_out.downScales)[device][2];
            if (values == scaled)
                continue;
            m_out.findings.push_back(
                { "block-cut", Severity::Error, "down_scales", 0,
                  "device " + std::to_string(device) + " holds " + std::to_string(values)
                      + " values of each row of down (dim 2), but scales for " + std::to_string(scaled) + ": blocks of 32 are cut",
                  "use a number of devices that divides the " + std::to_string(m_from.moeDim / kMxBlock) + " blocks of a row" });
            break;
        }
        return done();
    }

    Status biases()
    {
        if (!m_from.hasBias)
            return done();
        m_out.gateUpBias.emplace();
        m_out.downBias.emplace();
        if (auto status = cut(plainStrategy(StrategyKind::Axiswise, 1), { m_from.experts, 2 * m_from.moeDim }, *m_out.gateUpBias);
            !status.ok())
            return status;
        return cut(plainStrategy(StrategyKind::Replicate), { m_from.experts, m_from.hidden }, *m_out.downBias);
    }

    /// What a device has of gate and up must be what it has of down's input.
    void findSplitPairs()
    {
        if (m_from.strategy.devices == 1)
            return;
        if (m_from.packedMxfp4 && !m_from.interleaved) {
            m_out.findings.push_back(
                { "gate-up-order", Severity::Error, "gate_up", 0,
                  "packed gate_up is cut in one run along dim 1 (axiswise), but gate comes first and up behind "
                  "it: the first devices get gate only, the last ones up only",
                  "interleave gate and up, or cut as gate_up on dim 1" });
            return;
        }
        const std::size_t gateUpDim = m_from.packedMxfp4 ? 1 : 2;
        const std::size_t downDim = m_from.packedMxfp4 ? 2 : 1;
        const std::int64_t unit = m_from.packedMxfp4 ? 2 : 1;
        for (std::size_t device = 0; device < m_out.down.size(); ++device) {
            const std::int64_t inner = unit * m_out.down[device][downDim];
            const std::int64_t both = m_out.gateUp[device][gateUpDim];
            if (both == 2 * inner)
                continue;
            m_out.findings.push_back({ "pairs-split", Severity::Error, "gate_up", 0,
                                       "device " + std::to_string(device) + " holds " + std::to_string(both)
                                           + " elements of gate and up together, but " + std::to_string(inner)
                                           + " of down's input, which takes twice as many",
                                       "use a number of devices that divides moe_dim" });
            return;
        }
    }

    const StackedMoeParameters& m_from;
    const std::string& m_where;
    StackedMoeAnswer m_out;
};

} // namespace

Result<StackedMoeAnswer> shardStackedMoe(const StackedMoeParameters& parameters, const std::string& where)
{
    return StackedMoe(parameters, where).shard();
}

} // namespace shardboard
