// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/attentionunits.h"

#include <algorithm>

namespace shardboard::engine::cuda {

namespace {

constexpr std::int64_t kScoreFloats = std::int64_t { 1 } << 28; ///< that exist at once, of all units

} // namespace

AttentionCall::AttentionCall(Launches& launches, const OpCall& call, const Sharded& result)
    : m_call(call)
{
    const bool gradient = call.kind != OpKind::Attention && call.kind != OpKind::SinkAttention;
    const std::size_t products = gradient ? 4 : 3; // dy, q, k, v
    m_element = Element::BF16;
    for (std::size_t i = 0; i < products; ++i)
        if (call.operands[i]->element() == Element::F32)
            m_element = Element::F32;
    for (std::size_t i = 0; i < products; ++i)
        m_call.operands[i] = &launches.as(m_element, *call.operands[i]);
    m_work.emplace(m_call, result);
}

AttentionRule AttentionCall::rule() const
{
    AttentionBlock block;
    block.headDim = m_work->q.shape()[3];
    block.scale = m_call.attributes.scale;
    AttentionRule rule;
    rule.scale = block.scaleOfScores();
    rule.cap = static_cast<float>(m_call.attributes.cap);
    return rule;
}

std::vector<AttentionUnit> AttentionCall::ownUnits() const
{
    std::vector<AttentionUnit> units;
    std::int64_t state = 0;
    for (std::int64_t device = 0; device < m_work->q.deviceCount(); ++device) {
        const Box& q = m_work->q.box(device);
        if (volumeOf(q) == 0)
            continue;
        const auto part = [&](const Sharded& tensor) {
            return Part { tensor.allocated() ? tensor.address(device) : nullptr, &tensor.box(device) };
        };
        // Heads of a sequence after each other, so that all rows of a head of a device lie together.
        for (std::int64_t head = 0; head < q[2].size(); ++head)
            for (std::int64_t batch = 0; batch < q[0].size(); ++batch) {
                AttentionUnit unit;
                unit.device = device;
                unit.batch = batch;
                unit.head = head;
                unit.q = part(m_work->q);
                unit.k = part(m_work->k);
                unit.v = part(m_work->v);
                if (m_work->dy != nullptr)
                    unit.dy = part(*m_work->dy);
                unit.kvHead = m_work->kvHeadOf(q, *unit.k.box, head);
                unit.inGroup = head - m_work->headsOf(q, *unit.k.box, unit.kvHead).lo;
                unit.state = state;
                state += q[1].size();
                units.push_back(unit);
            }
    }
    return units;
}

void AttentionCall::takeScratch(Launches& launches, std::int64_t units, std::int64_t queries, std::int64_t keys, bool slopes)
{
    m_ld = (std::max<std::int64_t>(1, keys) + kPack - 1) / kPack * kPack;
    units = std::max<std::int64_t>(1, units);
    m_step = std::clamp<std::int64_t>(kScoreFloats / (units * m_ld) / 16 * 16, 16, std::max<std::int64_t>(16, queries));
    const std::int64_t floats = units * m_step * m_ld;
    m_scores = launches.scratch(floats);
    if (slopes)
        m_slopes = launches.scratch(floats);
    if (m_element == Element::BF16)
        m_narrow = launches.scratch(floats / 2);
}

AttentionRows AttentionCall::rowsOf(const AttentionUnit& unit, std::size_t slot, std::int64_t first) const
{
    const AttentionBlock sizes = block(unit);
    const std::int64_t offset = static_cast<std::int64_t>(slot) * m_step * m_ld;
    AttentionRows rows;
    rows.scores = m_scores + offset;
    if (m_slopes != nullptr)
        rows.slopes = m_slopes + offset;
    rows.out.data = m_narrow != nullptr ? reinterpret_cast<void*>(m_narrow + offset / 2) : reinterpret_cast<void*>(rows.scores);
    rows.out.half = m_narrow != nullptr ? 1 : 0;
    rows.rows = std::max<std::int64_t>(0, std::min(m_step, sizes.queries - first));
    rows.ld = m_ld;
    rows.seen = sizes.firstQuery + first + 1 - sizes.firstKey;
    rows.n = rows.rows == 0 ? 0 : std::clamp<std::int64_t>(rows.seen + rows.rows - 1, 0, sizes.keys);
    if (m_work->sinks != nullptr) {
        const Sharded& sinks = *m_work->sinks;
        rows.sink = reinterpret_cast<const float*>(sinks.address(unit.device) + unit.head * bytesOf(sinks.element()));
        rows.sinkHalf = sinks.element() == Element::BF16 ? 1 : 0;
    }
    return rows;
}

const std::byte* AttentionCall::head(const Part& part, std::int64_t batch, std::int64_t head, std::int64_t row) const
{
    return part.data + (headOffset(*part.box, batch, head) + row * stride(part)) * bytesOf(m_element);
}

Gemm AttentionCall::shape() const
{
    Gemm gemm;
    gemm.half = m_element == Element::BF16;
    return gemm;
}

void AttentionCall::addScores(Products& products, const AttentionUnit& unit, const AttentionRows& rows, std::int64_t first) const
{
    if (rows.rows == 0 || rows.n == 0)
        return;
    Gemm gemm = shape();
    gemm.m = rows.rows;
    gemm.n = rows.n;
    gemm.k = unit.q.box->at(3).size();
    gemm.transposeB = true;
    gemm.lda = stride(unit.q);
    gemm.ldb = stride(unit.k);
    gemm.ldc = rows.ld;
    gemm.alpha = rule().scale;
    products.add(unit.device, gemm,
                 { head(unit.q, unit.batch, unit.head, first), head(unit.k, unit.batch, unit.kvHead, 0), rows.scores });
}

void AttentionCall::addSlopes(Products& products, const AttentionUnit& unit, const AttentionRows& rows, std::int64_t first) const
{
    if (rows.rows == 0 || rows.n == 0)
        return;
    Gemm gemm = shape();
    gemm.m = rows.rows;
    gemm.n = rows.n;
    gemm.k = m_work->valueDim;
    gemm.transposeB = true;
    gemm.lda = stride(unit.dy);
    gemm.ldb = stride(unit.v);
    gemm.ldc = rows.ld;
    products.add(unit.device, gemm,
                 { head(unit.dy, unit.batch, unit.head, first), head(unit.v, unit.batch, unit.kvHead, 0), rows.slopes });
}

} // namespace shardboard::engine::cuda
