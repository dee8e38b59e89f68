// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/compiledcost.h"

#include "model/cost/kerneltime.h"
#include "model/plan/collectiveprice.h"
#include "model/plan/memory/hosttransfers.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/hosttime.h"
#include "model/plan/time/reprice.h"

#include <algorithm>

namespace shardboard {

CompiledCost::CompiledCost(const Graph& graph, const Plan& plan, DType dtype)
    : m_times(plan.segments.size())
    , m_dtype(dtype)
{
    m_frame.segments = graph.segments;
    for (Segment& segment : m_frame.segments)
        segment.ops.clear();
    m_plan.mesh = plan.mesh;
    m_mesh = std::make_shared<const Mesh>(plan.mesh);
    m_plan.pipeline = plan.pipeline;
    m_plan.microBatches = plan.microBatches;
    m_plan.overlap = plan.overlap;
    m_plan.performance = plan.performance;
    m_plan.memory = plan.memory;
    m_plan.reservedBytes = plan.reservedBytes;
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        PlannedSegment segment = plan.segments[s];
        segment.ops.clear();
        segment.kept.clear();
        m_plan.segments.push_back(std::move(segment));
        const std::size_t first = m_kernels.size();
        for (const PlannedOp& op : plan.segments[s].ops) {
            if (op.work.kernel == KernelClass::None)
                continue;
            const auto from = m_kernels.begin() + static_cast<std::ptrdiff_t>(first);
            const auto alike = std::find_if(from, m_kernels.end(), [&](const Kernel& k) { return k.work == op.work; });
            if (alike != m_kernels.end())
                alike->count += static_cast<double>(op.count);
            else
                m_kernels.push_back({ op.work, static_cast<double>(op.count), s });
        }
    }
    for (const Collective& collective : plan.collectives) {
        if (collective.kind == CollectiveKind::LocalSlice)
            continue;
        if (isStageSend(plan, collective)) {
            Collective send;
            send.axes = collective.axes;
            send.bytes = collective.bytes;
            send.step = collective.step;
            m_sends.emplace_back(std::move(send), static_cast<double>(collective.count));
            continue;
        }
        const std::int64_t hops = hopsOf(plan, collective);
        const std::int64_t called = collective.groupBytes > 0 ? collective.groupBytes : collective.bytes;
        const Price price { pricedAs(collective, plan.mesh), collective.axes, called / hops, collective.copies };
        const auto priced = std::ranges::find(m_questions, price);
        const auto place = static_cast<std::size_t>(priced - m_questions.begin());
        if (priced == m_questions.end())
            m_questions.push_back(price);
        const Transfer transfer { place, static_cast<double>(collective.count * hops) * shareOfCall(collective),
                                  collective.plannedSegment, overlapKindOf(graph, plan, collective) };
        const auto alike = std::ranges::find_if(m_transfers, [&](const Transfer& t) {
            return t.price == transfer.price && t.segment == transfer.segment && t.kind == transfer.kind;
        });
        if (alike != m_transfers.end())
            alike->count += transfer.count;
        else
            m_transfers.push_back(transfer);
    }
    m_answers.resize(m_questions.size());
}

void CompiledCost::askPrices()
{
    for (std::size_t i = 0; i < m_questions.size(); ++i) {
        const Price& price = m_questions[i];
        const auto seconds = [&](std::int64_t bytes) { return m_prices->secondsAtOnce(price.kind, price.axes, bytes); };
        m_answers[i] = price.copies == 0
            ? seconds(price.bytes)
            : oncePerNode(price.bytes, price.copies, m_prices->footprint(price.axes), m_prices->hardware(), seconds);
    }
    m_asked = m_prices->edition();
    m_sendSeconds = 0;
    for (const auto& [send, count] : m_sends)
        m_sendSeconds += count * sendPrice(send, *m_prices).seconds;
}

/// As model/plan/time/hosttime.h has it.
void CompiledCost::waitForHost(const KernelConstants& kernels)
{
    std::vector<double> host(m_times.size(), 0);
    for (const Kernel& kernel : m_kernels)
        host[kernel.segment] += kernel.count * hostSeconds(kernel.work, kernels);
    for (std::size_t i = 0; i < host.size(); ++i)
        m_times[i].compute = std::max(m_times[i].compute, host[i]);
}

StepCost CompiledCost::on(const Hardware& hardware)
{
    if (!m_prices)
        m_prices = std::make_shared<CollectivePrices>(*m_mesh, hardware);
    m_prices->setHardware(hardware);
    if (m_asked != m_prices->edition()) // a copy of this may have asked for other hardware
        askPrices();
    std::ranges::fill(m_times, SegmentTime {});
    for (const Kernel& kernel : m_kernels)
        m_times[kernel.segment].compute += kernel.count * kernelSeconds(kernel.work, hardware);
    if (startsFromHost(m_plan, hardware))
        waitForHost(hardware.device.kernels);
    for (const Transfer& transfer : m_transfers)
        m_times[transfer.segment].add(transfer.kind, transfer.count * m_answers[transfer.price]);
    for (std::size_t s = 0; s < m_times.size(); ++s)
        m_times[s].add(OverlapKind::Host, hostSeconds(m_plan.segments[s].host, hardware.device));
    for (SegmentTime& time : m_times)
        time.hide(m_plan.overlap);
    setStepTimes(m_frame, m_times, m_sendSeconds, m_plan);
    setReserved(m_plan, hardware);
    StepCost out { m_plan.seconds(),   m_plan.computeSeconds, m_plan.collectiveSeconds, m_plan.exposedSeconds,
                   m_plan.performance, m_plan.memory,         m_plan.memory.total(),    true };
    out.fits = static_cast<double>(out.peakBytes) <= hardware.memoryBytes();
    out.performance.rate(out.seconds, static_cast<double>(m_plan.mesh.deviceCount()), hardware.peakFlops(m_dtype));
    return out;
}

} // namespace shardboard
