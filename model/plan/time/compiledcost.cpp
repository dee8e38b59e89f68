// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/compiledcost.h"

#include "model/cost/kerneltime.h"
#include "model/cost/leveltraffic.h"
#include "model/plan/collectiveprice.h"
#include "model/plan/memory/hosttransfers.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/hosttime.h"
#include "model/plan/time/reprice.h"

#include <algorithm>
#include <numeric>

namespace shardboard {

CompiledCost::CompiledCost(const Graph& graph, const Plan& plan, DType dtype)
    : m_schedule(graph, plan)
    , m_dtype(dtype)
{
    m_plan.mesh = plan.mesh;
    m_mesh = std::make_shared<const Mesh>(plan.mesh);
    m_plan.pipeline = plan.pipeline;
    m_plan.microBatches = plan.microBatches;
    m_plan.overlap = plan.overlap;
    m_plan.performance = plan.performance;
    m_plan.memory = plan.memory;
    m_plan.reservedBytes = plan.reservedBytes;
    m_plan.besideBytes = plan.besideBytes;
    for (const PlannedSegment& planned : plan.segments) {
        PlannedSegment segment;
        segment.segment = planned.segment;
        segment.phase = planned.phase;
        segment.host = planned.host;
        m_plan.segments.push_back(std::move(segment));
    }
    compile(graph, plan);
    m_answers.resize(m_questions.size());
    m_seconds.resize(m_kernels.size());
    m_host.resize(m_kernels.size());
    m_byPart.resize(plan.segments.size());
}

void CompiledCost::compile(const Graph& graph, const Plan& plan)
{
    const StepTasks tasks = m_schedule.tasks();
    std::vector<std::uint32_t> placeOf(tasks.count);
    std::iota(placeOf.begin(), placeOf.end(), 0);
    if (m_schedule.isSerial())
        m_schedule.tasks() = merged(tasks, placeOf);
    const auto& parts = m_schedule.tasks().parts;
    for (std::size_t part = 0; part < parts.size(); ++part)
        for (std::size_t i = 0; i < parts[part].tasks.size(); ++i)
            m_places.push_back({ part, i, m_schedule.timesOf(part, parts[part].tasks[i]) });
    for (std::size_t part = 0; part < parts.size(); ++part)
        for (const StepTask& task : tasks.parts[part].tasks) {
            if (task.mode == TaskMode::Compute)
                addOperations(graph, plan, part, task, placeOf[task.number]);
            else if (task.collective.valid())
                addCollective(plan, task, placeOf[task.number]);
        }
    compileHost(graph, plan, tasks, placeOf);
    for (const Collective& collective : plan.collectives)
        if (isStageSend(plan, collective)) {
            Collective send;
            send.axes = collective.axes;
            send.bytes = collective.bytes;
            send.step = collective.step;
            m_sends.emplace_back(std::move(send), sendPlace(graph, plan, collective));
            m_sendCounts.push_back(static_cast<double>(collective.count));
        }
}

void CompiledCost::compileHost(const Graph& graph, const Plan& plan, const StepTasks& tasks,
                               const std::vector<std::uint32_t>& placeOf)
{
    for (std::size_t part = 0; part < plan.segments.size(); ++part) {
        const PlannedSegment& segment = plan.segments[part];
        HostPart& host = m_hostParts.emplace_back();
        host.passes = passesOf(segment, plan.microBatches);
        for (const StepTask& task : tasks.parts[part].tasks) {
            if (task.mode != TaskMode::Compute)
                continue;
            for (std::size_t i = task.firstOp; i < task.endOp; ++i) {
                const PlannedOp& op = segment.ops[i];
                for (const CollectiveId id : waitedFor(graph, plan, op)) {
                    const Collective& collective = plan.collective(id);
                    const double times = static_cast<double>(collective.count * hopsOf(plan, collective)) / host.passes;
                    host.entries.push_back({ questionOf(plan, collective), times * shareOfCall(collective), 0, true, false });
                }
                if (op.work.kernel == KernelClass::None)
                    continue;
                const auto kernel = static_cast<std::size_t>(std::ranges::find(m_kernels, op.work) - m_kernels.begin());
                host.entries.push_back({ kernel, static_cast<double>(op.count) / host.passes, placeOf[task.number], false,
                                         putsOff(graph, plan, part, op) });
            }
        }
    }
}

/// The order of all other schedules does not depend on gradients of weights.
bool CompiledCost::putsOff(const Graph& graph, const Plan& plan, std::size_t part, const PlannedOp& op) const
{
    const bool putOff = plan.pipeline && putsOffWeights(plan.pipeline->schedule);
    return putOff && plan.segments[part].phase == Phase::Backward && makesWeightGradient(graph, op);
}

/// Those that are alike are of the same part, and not far.
void CompiledCost::add(std::vector<Share>& to, const Share& share)
{
    constexpr std::ptrdiff_t kFar = 256;
    const auto from = to.end() - std::min(kFar, std::ssize(to));
    const auto alike = std::find_if(from, to.end(), [&](const Share& it) { return it.of == share.of && it.task == share.task; });
    if (alike != to.end())
        alike->times += share.times;
    else
        to.push_back(share);
}

void CompiledCost::addOperations(const Graph& graph, const Plan& plan, std::size_t part, const StepTask& task, std::size_t place)
{
    for (std::size_t i = task.firstOp; i < task.endOp; ++i) {
        const PlannedOp& op = plan.segments[part].ops[i];
        if (op.work.kernel == KernelClass::None)
            continue;
        const auto known = std::ranges::find(m_kernels, op.work);
        const auto kernel = static_cast<std::size_t>(known - m_kernels.begin());
        if (known == m_kernels.end())
            m_kernels.push_back(op.work);
        const double times = static_cast<double>(op.count) / m_places[place].times;
        add(m_computing, { kernel, place, times });
        if (putsOff(graph, plan, part, op))
            add(m_gradients, { kernel, part, times });
    }
}

std::size_t CompiledCost::questionOf(const Plan& plan, const Collective& collective)
{
    const std::int64_t called = collective.groupBytes > 0 ? collective.groupBytes : collective.bytes;
    const Price price { pricedAs(collective, plan.mesh), collective.axes, called / hopsOf(plan, collective), collective.copies };
    const auto priced = std::ranges::find(m_questions, price);
    const auto place = static_cast<std::size_t>(priced - m_questions.begin());
    if (priced == m_questions.end())
        m_questions.push_back(price);
    return place;
}

void CompiledCost::addCollective(const Plan& plan, const StepTask& task, std::size_t place)
{
    const Collective& collective = plan.collective(task.collective);
    const auto hops = static_cast<double>(hopsOf(plan, collective));
    add(m_moving, { questionOf(plan, collective), place, task.occurrences * hops * shareOfCall(collective) });
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
    if (!m_schedule.isSerial())
        findStreams();
    m_asked = m_prices->edition();
    m_sendSeconds = {};
    m_allSends = 0;
    for (std::size_t i = 0; i < m_sends.size(); ++i) {
        const auto& [send, place] = m_sends[i];
        const double seconds = sendPrice(send, *m_prices).seconds;
        m_sendSeconds.*place.first += place.second * seconds;
        m_allSends += m_sendCounts[i] * seconds;
    }
}

/// Of other hardware collectives can reach other links.
void CompiledCost::findStreams()
{
    StepTasks& tasks = m_schedule.tasks();
    tasks.streams.resize(1);
    for (const Share& share : m_moving) {
        const std::size_t level = widestLevel(m_prices->footprint(m_questions[share.of].axes));
        task(m_places[share.task]).stream = tasks.streamOf(m_prices->hardware().levels[level].link.id);
    }
    for (const Place& place : m_places)
        if (StepTask& copies = task(place); copies.mode != TaskMode::Compute && !copies.collective.valid())
            copies.stream = tasks.streamOf("host");
}

/// As model/plan/time/hosttime.h has it.
void CompiledCost::waitForHost(const KernelConstants& kernels)
{
    for (std::size_t i = 0; i < m_kernels.size(); ++i)
        m_host[i] = hostSeconds(m_kernels[i], kernels);
    for (std::size_t part = 0; part < m_hostParts.size(); ++part)
        waitForHost(part);
}

void CompiledCost::waitForHost(std::size_t part)
{
    const HostPart& of = m_hostParts[part];
    m_hostSteps.clear();
    for (const HostEntry& entry : of.entries) {
        if (entry.moves)
            m_hostSteps.push_back({ 0, entry.times * m_answers[entry.of], false });
        else
            m_hostSteps.push_back(
                { entry.times * m_host[entry.of], entry.times * m_seconds[entry.of], m_kernels[entry.of].readsBack });
    }
    if (!hostWaits(m_hostSteps, m_waits))
        return;
    for (std::size_t i = 0; i < of.entries.size(); ++i) {
        const double seconds = m_waits[i] * of.passes;
        if (seconds == 0)
            continue;
        const HostEntry& entry = of.entries[i];
        const double each = seconds / m_places[entry.place].times;
        task(m_places[entry.place]).seconds += each;
        m_byPart[part] += seconds;
        if (entry.putOff)
            m_schedule.tasks().parts[part].weightGradients += each;
    }
}

void CompiledCost::priceKernels(const Hardware& hardware)
{
    for (std::size_t i = 0; i < m_kernels.size(); ++i)
        m_seconds[i] = kernelSeconds(m_kernels[i], hardware);
    for (const Place& place : m_places)
        task(place).seconds = 0;
    std::ranges::fill(m_byPart, 0);
    for (const Share& share : m_computing) {
        const double seconds = share.times * m_seconds[share.of];
        const Place& place = m_places[share.task];
        task(place).seconds += seconds;
        m_byPart[place.part] += seconds * place.times;
    }
    for (const Share& share : m_gradients)
        m_schedule.tasks().parts[share.task].weightGradients = 0;
    for (const Share& share : m_gradients)
        m_schedule.tasks().parts[share.task].weightGradients += share.times * m_seconds[share.of];
    if (startsFromHost(m_plan, hardware))
        waitForHost(hardware.device.kernels);
}

StepCost CompiledCost::on(const Hardware& hardware)
{
    if (!m_prices)
        m_prices = std::make_shared<CollectivePrices>(*m_mesh, hardware);
    m_prices->setHardware(hardware);
    if (m_asked != m_prices->edition()) // a copy of this may have asked for other hardware
        askPrices();
    priceKernels(hardware);
    StepCost out;
    for (const double seconds : m_byPart)
        out.computeSeconds += seconds;
    for (const Share& share : m_moving)
        task(m_places[share.task]).seconds += share.times * m_answers[share.of];
    out.collectiveSeconds = m_allSends;
    for (const Place& place : m_places) {
        StepTask& moved = task(place);
        if (moved.mode == TaskMode::Compute)
            continue;
        if (!moved.collective.valid())
            moved.seconds = moved.occurrences * hostSeconds(m_plan.segments[place.part].host, hardware.device);
        out.collectiveSeconds += moved.seconds * place.times;
    }
    m_schedule.run(m_plan, m_sendSeconds, kernelShareOf(hardware.device));
    out.seconds = m_schedule.seconds();
    out.exposedSeconds = m_schedule.exposedSends();
    for (const double seconds : m_schedule.exposed())
        out.exposedSeconds += seconds;
    setReserved(m_plan, hardware);
    out.performance = m_plan.performance;
    out.memory = m_plan.memory;
    out.peakBytes = m_plan.memory.total();
    out.fits = static_cast<double>(out.peakBytes) <= hardware.memoryBytes();
    out.performance.rate(out.seconds, static_cast<double>(m_plan.mesh.deviceCount()), hardware.peakFlops(m_dtype));
    return out;
}

} // namespace shardboard
