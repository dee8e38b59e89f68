// SPDX-License-Identifier: Apache-2.0
#include "engine/calibrate/calibrate.h"

#include "engine/calibrate/programruns.h"
#include "engine/devices/collective.h"
#include "engine/devices/deviceexecutor.h"
#include "engine/devices/team.h"
#include "engine/machine/gemm.h"
#include "engine/machine/limits.h"
#include "engine/machine/machine.h"
#include "engine/machine/measure.h"
#include "engine/ops/execute.h"
#include "engine/run/schedule/stages.h"
#include "engine/simd/fusedrun.h"
#include "model/core/statistics.h"
#include "model/io/measured/profiledocument.h"
#include "model/plan/time/kernelworkof.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <system_error>

namespace shardboard::engine {

namespace {

/// Something to be measured: it takes its memory, and then runs as often as it is asked to.
class Trial {
public:
    virtual ~Trial() = default;
    /// Allocates and fills; in a planning context only the former.
    virtual void prepare(Context& context) = 0;
    /// Seconds of a core.
    virtual double run(Context& context) = 0;
    virtual void release() = 0;
    CalibrationPoint point; ///< all but the times
};

/// Values that are not all alike: zeros are faster on some hardware.
const Source& someValues()
{
    static const Source source { Generator::values(1, "calibration", 0, 1), Rounding::None, 1 };
    return source;
}

std::string shapeText(const Shape& shape)
{
    std::string out;
    for (const std::int64_t size : shape)
        out += (out.empty() ? "[" : ", ") + std::to_string(size);
    return out + "]";
}

class KernelTrial : public Trial {
public:
    enum class Weights {
        Streamed, ///< as in a run: made up, untimed, right before they are multiplied with, so that they lie where a run finds them
        InMemory,
    };
    /// `element`: how the executor holds values. `rounded`: products in bfloat16 of values that are held otherwise. `devices` of
    /// them do the same at the same time, as in a run: they share memory and caches.
    KernelTrial(const char* kind, OpKind op, const std::vector<Shape>& operands, Shape result, Weights weights, Element element,
                int devices, bool rounded = false)
        : m_op(op)
        , m_weights(weights)
        , m_bf16(rounded)
        , m_mesh(Mesh::parse("d=" + std::to_string(devices)).value())
    {
        const DType dtype = rounded || element == Element::BF16 ? DType::BF16 : DType::F32;
        Graph graph;
        PlannedOp planned;
        planned.op = OpId(0);
        Op described { "op", op, {}, TensorId(operands.size()), {} };
        for (std::size_t i = 0; i <= operands.size(); ++i) {
            const Shape& shape = i < operands.size() ? operands[i] : result;
            GraphTensor tensor;
            tensor.spec.shape = shape;
            tensor.spec.dtype = dtype;
            graph.tensors.push_back(std::move(tensor));
            if (i == operands.size())
                break;
            described.operands.push_back(TensorId(i));
            OperandUse use;
            use.tensor = TensorId(i);
            use.before = use.layout = Layout::replicated(shape.size());
            planned.operands.push_back(std::move(use));
            m_operands.emplace_back(shape, Layout::replicated(shape.size()), m_mesh);
            m_operands.back().setElement(element);
        }
        graph.ops.push_back(std::move(described));
        planned.result = Layout::replicated(result.size());
        KernelSettings settings;
        settings.held.gathered = dtype; // of weights
        const KernelWork work = kernelWorkOf(graph, m_mesh, planned, settings); // counted as in a plan
        m_result = Sharded(std::move(result), planned.result, m_mesh);
        m_result.setElement(element);
        point.kind = kind;
        point.what = opKindName(op) + (rounded ? " bf16" : "");
        point.dtype = dtype == DType::BF16 ? "BF16" : "F32";
        for (const Shape& shape : operands)
            point.what += " " + shapeText(shape);
        point.flops = work.flops;
        point.bytes = work.bytes;
        point.work = work;
        point.work.op = {};
    }

    void prepare(Context& context) override
    {
        context.serial = m_mesh.deviceCount() == 1;
        for (std::size_t i = 0; i < m_operands.size(); ++i) {
            Sharded& operand = m_operands[i];
            if (m_op == OpKind::Linear && i == 1 && m_weights == Weights::Streamed) {
                operand.source = someValues();
                continue;
            }
            operand.allocate(context.arena);
            context.executor.fill(context, someValues(), operand);
        }
        m_result.allocate(context.arena);
        context.executor.fill(context, someValues(), m_result);
    }
    double run(Context& context) override
    {
        OpCall call { m_op, {}, {}, point.what };
        call.bf16 = m_bf16;
        for (const Sharded& operand : m_operands)
            call.operands.push_back(&operand);
        return executeOp(context, call, m_result).slowest();
    }
    void release() override
    {
        m_operands.clear();
        m_result = {};
    }

private:
    OpKind m_op;
    Weights m_weights;
    bool m_bf16;
    Mesh m_mesh;
    std::vector<Sharded> m_operands;
    Sharded m_result;
};

class CollectiveTrial : public Trial {
public:
    /// `bytes` is S.
    CollectiveTrial(CollectiveKind kind, std::int64_t members, std::int64_t bytes, Element element)
        : m_mesh(Mesh::parse("d=" + std::to_string(members)).value())
        , m_target(m_mesh)
        , m_kind(kind)
        , m_element(element)
    {
        const std::int64_t size = bytesOf(element);
        const std::int64_t floats = std::max<std::int64_t>(1, bytes / size / (members * members)) * members * members;
        Layout whole = Layout::replicated(2);
        Layout addends = whole;
        addends.partial = { AxisRef { 0 } };
        const Layout rows = Layout::cut(2, 0, { 0 });
        m_shape = { members, floats / members };
        m_step = { kind, { 0 }, whole, whole };
        switch (kind) {
        case CollectiveKind::AllReduce:
            m_step.before = addends;
            break;
        case CollectiveKind::AllGather:
            m_step.before = rows;
            break;
        case CollectiveKind::ReduceScatter:
            m_step.before = addends;
            m_step.after = rows;
            break;
        case CollectiveKind::AllToAll:
            m_step.before = rows;
            m_step.after = Layout::cut(2, 1, { 0 });
            m_shape = { members, floats };
            break;
        default:
            break; // send-recv: each member sends all that it has
        }
        point.kind = collectiveName(kind);
        point.groupSize = members;
        point.messageBytes = floats * size;
        point.dtype = element == Element::BF16 ? "BF16" : "F32";
        point.what = point.kind + " of " + std::to_string(point.messageBytes) + " bytes over " + std::to_string(members);
        point.bytes = trafficOfGroup(point.kind, members, static_cast<double>(point.messageBytes));
    }

    void prepare(Context& context) override
    {
        context.serial = false;
        m_tensor = Sharded(m_shape, m_step.before, m_mesh);
        m_tensor.setElement(m_element);
        m_tensor.allocate(context.arena);
        context.executor.fill(context, someValues(), m_tensor);
        if (context.planning())
            run(context);
    }
    double run(Context& context) override
    {
        if (m_kind == CollectiveKind::SendRecv)
            return executeSend(context, m_tensor, m_target, false).timing.combined;
        return executeStep(context, m_step, m_tensor, false, point.what).timing.combined;
    }
    void release() override { m_tensor = {}; }
    const Mesh& mesh() const { return m_mesh; }

private:
    Mesh m_mesh;
    Mesh m_target; ///< of the stage that a send-recv goes to
    CollectiveKind m_kind;
    Element m_element;
    ReshardStep m_step;
    Shape m_shape;
    Sharded m_tensor;
};

using Trials = std::vector<std::unique_ptr<Trial>>;

/// Each over groups of two, four and eight, for other processes too small to matter and past all caches.
std::vector<std::unique_ptr<CollectiveTrial>> collectiveTrialsOf(const CalibrationOptions& options)
{
    constexpr std::int64_t kKiB = 1024;
    const std::vector<std::int64_t> sizes = options.quick
        ? std::vector<std::int64_t> { 16 * kKiB, 512 * kKiB, 16384 * kKiB }
        : std::vector<std::int64_t> { 4 * kKiB,    32 * kKiB,   256 * kKiB,   1024 * kKiB,
                                      2048 * kKiB, 8192 * kKiB, 16384 * kKiB, 65536 * kKiB };
    std::vector<std::unique_ptr<CollectiveTrial>> out;
    for (const CollectiveKind kind : { CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                       CollectiveKind::AllToAll, CollectiveKind::SendRecv })
        for (const std::int64_t members : { 2, 4, 8 })
            for (const std::int64_t bytes : sizes)
                out.push_back(std::make_unique<CollectiveTrial>(kind, members, bytes, Element::F32));
    return out;
}

/// Where a run multiplies, normalises and attends: few and many rows, small and large products. On as many devices at once as there
/// are workers, up to a number whose memory a large machine has to spare.
Trials kernelTrialsOf(const CalibrationOptions& options, int workers)
{
    constexpr int kMostDevices = 16;
    const int devices = std::clamp(workers, 1, kMostDevices);
    Trials out;
    const auto kernel = [&](const char* kind, OpKind op, std::vector<Shape> operands, Shape result) {
        out.push_back(std::make_unique<KernelTrial>(kind, op, std::move(operands), std::move(result),
                                                    KernelTrial::Weights::Streamed, Element::F32, devices));
    };
    const std::vector<std::int64_t> products = options.quick ? std::vector<std::int64_t> { 32, 128, 512 }
                                                             : std::vector<std::int64_t> { 16, 32, 64, 128, 256, 512, 1024, 2048 };
    for (const std::int64_t n : products)
        kernel("gemm", OpKind::Linear, { { n, n }, { n, n } }, { n, n });
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>> { { 1, 1024, 1024 },
                                                                            { 8, 2048, 1024 },
                                                                            { 16, 2048, 512 },
                                                                            { 64, 1024, 2048 },
                                                                            { 128, 2048, 2048 },
                                                                            { 128, 4096, 896 },
                                                                            { 256, 1024, 4096 },
                                                                            { 512, 256, 1024 },
                                                                            { 2048, 512, 256 } })
        kernel("gemm", OpKind::Linear, { { m, k }, { n, k } }, { m, n });
    // Of one token for each sequence: decoding, whose products read their weights and do little else.
    const std::vector<std::array<std::int64_t, 3>> few = options.quick
        ? std::vector<std::array<std::int64_t, 3>> { { 1, 2048, 1024 }, { 4, 1024, 4096 } }
        : std::vector<std::array<std::int64_t, 3>> { { 1, 512, 1024 },  { 1, 4096, 1024 }, { 1, 1024, 4096 }, { 1, 4096, 4096 },
                                                     { 2, 2048, 2048 }, { 4, 1024, 512 },  { 4, 4096, 1024 }, { 8, 1024, 4096 },
                                                     { 8, 512, 1024 },  { 32, 2048, 2048 } };
    for (const auto& [m, n, k] : few)
        kernel("gemm", OpKind::Linear, { { m, k }, { n, k } }, { m, n });
    // Which kernel a library takes for few rows depends on all dims, and its rate by a factor of five.
    if (!options.quick)
        for (const std::int64_t m : { 1, 2, 4, 8, 16, 32 })
            for (const std::int64_t k : { 256, 512, 1024, 2048 })
                for (const std::int64_t n : { 64, 256, 1024 })
                    kernel("gemm", OpKind::Linear, { { m, k }, { n, k } }, { m, n });
    for (const std::int64_t n : products)
        if (n >= 128 && hasBf16Products())
            out.push_back(std::make_unique<KernelTrial>("gemm", OpKind::Linear, std::vector<Shape> { { n, n }, { n, n } },
                                                        Shape { n, n }, KernelTrial::Weights::Streamed, Element::F32, devices,
                                                        true));
    constexpr std::int64_t kWidth = 1024;
    const std::vector<std::int64_t> rows = options.quick ? std::vector<std::int64_t> { 16, 256, 4096 }
                                                         : std::vector<std::int64_t> { 4, 16, 64, 256, 1024, 4096, 16384 };
    for (const std::int64_t r : rows) {
        kernel("memory", OpKind::Add, { { r, kWidth }, { r, kWidth } }, { r, kWidth });
        kernel("memory", OpKind::Mul, { { r, kWidth }, { r, kWidth } }, { r, kWidth });
        kernel("memory", OpKind::Silu, { { r, kWidth } }, { r, kWidth });
        kernel("memory", OpKind::RmsNorm, { { r, kWidth }, { kWidth } }, { r, kWidth });
    }
    const std::vector<std::int64_t> sequences =
        options.quick ? std::vector<std::int64_t> { 64, 512 } : std::vector<std::int64_t> { 32, 64, 128, 256, 512, 1024, 2048 };
    for (const std::int64_t s : sequences)
        kernel("attention", OpKind::Attention, { { 1, s, 8, 64 }, { 1, s, 2, 64 }, { 1, s, 2, 64 } }, { 1, s, 8, 64 });
    const std::vector<std::int64_t> cached =
        options.quick ? std::vector<std::int64_t> { 1024 } : std::vector<std::int64_t> { 256, 1024, 4096 };
    for (const std::int64_t c : cached) // one token against what was kept of the others
        for (const std::int64_t b : { 1, 8 })
            kernel("attention", OpKind::Attention, { { b, 1, 8, 64 }, { b, c, 2, 64 }, { b, c, 2, 64 } }, { b, 1, 8, 64 });
    const std::vector<std::int64_t> trained =
        options.quick ? std::vector<std::int64_t> { 256 } : std::vector<std::int64_t> { 64, 256, 512 };
    for (const std::int64_t s : trained) {
        const std::vector<Shape> operands { { 1, s, 8, 64 }, { 1, s, 8, 64 }, { 1, s, 2, 64 }, { 1, s, 2, 64 } };
        kernel("attention-backward", OpKind::AttentionGradQ, operands, { 1, s, 8, 64 });
        kernel("attention-backward", OpKind::AttentionGradK, operands, { 1, s, 2, 64 });
    }
    return out;
}

Trials trialsOf(const CalibrationOptions& options, int workers)
{
    Trials out = kernelTrialsOf(options, workers);
    for (auto& trial : collectiveTrialsOf(options))
        out.push_back(std::move(trial));
    return out;
}

/// The least that a collective reads and writes: from how many arrays at once it reads, and what part of it all it writes.
struct LeastWork {
    int sources = 1;
    double written = 0.5;
};
LeastWork leastWorkOf(const CalibrationPoint& point)
{
    const auto n = static_cast<double>(point.groupSize);
    if (point.kind == "all-gather")
        return { 1, n / (n + 1) };
    if (point.kind == "reduce-scatter")
        return { static_cast<int>(point.groupSize), 1 / (n + 1) };
    return { point.kind == "all-reduce" ? static_cast<int>(point.groupSize) : 1, 0.5 };
}

/// Seconds of samples with the memory's rates in turn with them, because on a machine that is shared these change from one
/// moment to the next.
class Alternating {
public:
    Alternating(MemoryProbe& probe, int workers, const CalibrationPoint& point)
        : m_probe(probe)
        , m_workers(workers)
        , m_least(leastWorkOf(point))
    {
    }
    double sample(const std::function<double()>& trial, double bytes)
    {
        const double copy = m_probe.copyRate(m_workers);
        const double store = m_probe.storeRate(m_workers);
        const double read = m_probe.readRate(m_workers, m_least.sources);
        const double seconds = trial();
        m_copy.push_back(copy);
        m_store.push_back(store);
        m_read.push_back(read);
        m_ofCopy.push_back(bytes / copy / seconds);
        m_ofBest.push_back(bytes * std::max({ 1 / copy, m_least.written / store, (1 - m_least.written) / read }) / seconds);
        return seconds;
    }
    void tell(std::size_t samples, CalibrationPoint& point) const
    {
        const auto last = [&](const std::vector<double>& all) {
            return median(std::vector<double>(all.end() - static_cast<std::ptrdiff_t>(std::min(samples, all.size())), all.end()));
        };
        point.copyRate = last(m_copy);
        point.storeRate = last(m_store);
        point.readRate = last(m_read);
        point.ofCopy = last(m_ofCopy);
        point.ofBest = last(m_ofBest);
    }

private:
    MemoryProbe& m_probe;
    int m_workers;
    LeastWork m_least;
    std::vector<double> m_copy;
    std::vector<double> m_store;
    std::vector<double> m_read;
    std::vector<double> m_ofCopy;
    std::vector<double> m_ofBest;
};

/// Where a GPU does the same: sizes of a transformer's block on one of many devices.
Trials gpuTrialsOf(const CalibrationOptions& options)
{
    Trials out;
    const auto kernel = [&](const char* kind, OpKind op, std::vector<Shape> operands, Shape result) {
        out.push_back(std::make_unique<KernelTrial>(kind, op, std::move(operands), std::move(result),
                                                    KernelTrial::Weights::InMemory, Element::BF16, 1));
    };
    const std::vector<std::int64_t> products = options.quick ? std::vector<std::int64_t> { 256, 1024, 4096 }
                                                             : std::vector<std::int64_t> { 128, 256, 512, 1024, 2048, 4096, 8192 };
    for (const std::int64_t n : products)
        kernel("gemm", OpKind::Linear, { { n, n }, { n, n } }, { n, n });
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>> { { 16, 4096, 4096 },
                                                                            { 32768, 512, 4096 },
                                                                            { 32768, 128, 4096 },
                                                                            { 32768, 4096, 512 },
                                                                            { 32768, 1792, 4096 },
                                                                            { 32768, 4096, 1792 } })
        kernel("gemm", OpKind::Linear, { { m, k }, { n, k } }, { m, n });
    constexpr std::int64_t kWidth = 4096;
    const std::vector<std::int64_t> rows = options.quick ? std::vector<std::int64_t> { 64, 2048, 32768 }
                                                         : std::vector<std::int64_t> { 16, 128, 512, 2048, 8192, 32768 };
    for (const std::int64_t r : rows) {
        kernel("memory", OpKind::Add, { { r, kWidth }, { r, kWidth } }, { r, kWidth });
        kernel("memory", OpKind::Mul, { { r, kWidth }, { r, kWidth } }, { r, kWidth });
        kernel("memory", OpKind::Silu, { { r, kWidth } }, { r, kWidth });
        kernel("memory", OpKind::RmsNorm, { { r, kWidth }, { kWidth } }, { r, kWidth });
    }
    const std::vector<std::int64_t> sequences =
        options.quick ? std::vector<std::int64_t> { 512, 4096 } : std::vector<std::int64_t> { 256, 512, 1024, 2048, 4096 };
    for (const std::int64_t s : sequences)
        kernel("attention", OpKind::Attention, { { 8, s, 4, 128 }, { 8, s, 1, 128 }, { 8, s, 1, 128 } }, { 8, s, 4, 128 });
    constexpr std::int64_t kMiB = std::int64_t { 1 } << 20;
    const std::vector<std::int64_t> sizes = options.quick
        ? std::vector<std::int64_t> { kMiB / 16, 4 * kMiB, 256 * kMiB }
        : std::vector<std::int64_t> { kMiB / 64, kMiB / 4, 4 * kMiB, 32 * kMiB, 256 * kMiB };
    for (const CollectiveKind kind : { CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                       CollectiveKind::AllToAll, CollectiveKind::SendRecv })
        for (const std::int64_t members : { 2, 4, 8 })
            for (const std::int64_t bytes : sizes)
                out.push_back(std::make_unique<CollectiveTrial>(kind, members, bytes, Element::BF16));
    return out;
}

std::int64_t memoryOf(const Trials& trials, int workers, Executor& executor)
{
    std::int64_t most = 0;
    for (const auto& trial : trials) {
        Arena arena;
        Context context { arena, executor, nullptr, workers, {} };
        trial->prepare(context);
        if (trial->point.groupSize == 1)
            trial->run(context);
        most = std::max(most, arena.highWater());
        trial->release();
    }
    return most;
}

/// As often as the clock needs to be read off well.
double secondsOfOne(Trial& trial, Context& context)
{
    constexpr double kLeast = 3e-4;
    constexpr int kMost = 256;
    double total = 0;
    int runs = 0;
    do {
        total += trial.run(context);
        ++runs;
    } while (total < kLeast && runs < kMost);
    return total / runs;
}

MeasureRules rulesOf(const CalibrationOptions& options)
{
    return { .trials = options.quick ? 5 : 9,
             .mostRounds = options.quick ? 3 : 5,
             .agree = 0.02,
             .mostSeconds = options.quick ? 0.1 : 0.6 };
}

void checkMemory(std::int64_t needed, std::int64_t available)
{
    if (needed > available)
        throw Failure { "memory",
                        "a calibration needs " + std::to_string(needed >> 20) + " MiB of memory and "
                            + std::to_string(available >> 20) + " MiB are available; use --quick, or end other programs",
                        "" };
}

/// What it measures is told to the point.
void tell(const Measured& measured, CalibrationPoint& point)
{
    point.seconds = measured.median;
    point.spread = measured.spread;
    point.settled = measured.settled;
    point.samples = measured.samples;
}

/// What is measured.
struct Subject {
    Executor& executor;
    std::string machine;
    int workers = 1;
    std::function<Trials()> trials;
    std::function<std::int64_t(std::int64_t arenaBytes)> needed; ///< bytes, those outside the arena included
    std::int64_t cacheShare = kUsualCacheShare;
    /// Floats of each buffer of a probe of the memory, whose own speed is measured beside the collectives that no cache holds; 0:
    /// it is measured apart.
    std::int64_t probed = 0;
};

/// The threads of this process.
Subject coresOf(Executor& executor, int workers, std::function<Trials()> trials)
{
    constexpr std::int64_t kOverhead = std::int64_t { 160 } << 20;
    return { executor,
             processorName() + ", " + gemmName(),
             workers,
             std::move(trials),
             [workers](std::int64_t arenaBytes) { return std::max(arenaBytes, limitsMemory(workers)) + kOverhead; },
             measureCacheShare(), // what was kept may be of a busier day
             probeFloats() };
}

Calibration calibrated(const CalibrationOptions& options, const CalibrateHooks& hooks, const Subject& subject)
{
    Executor& executor = subject.executor;
    const int workers = subject.workers;
    Calibration out;
    out.backend = options.backend;
    out.quick = options.quick;
    out.machine = subject.machine;
    out.workers = workers;
    out.memoryBytes = executor.availableBytes();
    std::int64_t arenaBytes = 0;
    std::int64_t count = 0;
    {
        const Trials planned = subject.trials();
        count = static_cast<std::int64_t>(planned.size());
        arenaBytes = memoryOf(planned, workers, executor)
            + std::max<std::int64_t>(2 * subject.probed * static_cast<std::int64_t>(sizeof(float)), 1024);
    }
    const std::int64_t needed = subject.needed(arenaBytes);
    if (hooks.announce)
        hooks.announce(needed, options.quick ? 10 : 40); // on two to sixteen cores
    checkMemory(needed, out.memoryBytes);
    TaskPool pool(workers, hooks.cancel);
    if (hooks.progress)
        hooks.progress(0, count + 1, "copies and products at their best");
    out.limits = executor.measureLimits(pool);
    Arena arena(DeviceRanks(), executor.reserve({ arenaBytes }, nullptr));
    executor.ready(arena, pool, false);
    const MeasureRules rules = rulesOf(options);
    Context context { arena, executor, &pool, workers, {} };
    context.cacheShare = subject.cacheShare;
    const std::int64_t probed = subject.probed;
    const Block from = arena.allocateFloats(probed);
    const Block to = arena.allocateFloats(probed);
    for (std::int64_t i = 0; i < probed; ++i)
        from.floats()[i] = static_cast<float>(i % 8191) - 4095.0f;
    MemoryProbe probe(pool, from.floats(), to.floats(), probed);
    const Trials trials = subject.trials(); // after the arena, whose memory they give back
    const std::int64_t total = count + 1;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        Trial& trial = *trials[i];
        if (hooks.progress)
            hooks.progress(static_cast<std::int64_t>(i) + 1, total, trial.point.what);
        trial.prepare(context);
        Alternating alternating(probe, workers, trial.point);
        const bool beside =
            probed > 0 && trial.point.groupSize > 1 && context.goesPastCaches(static_cast<std::int64_t>(trial.point.bytes));
        const auto once = [&] { return secondsOfOne(trial, context); };
        const Measured measured = measure([&] { return beside ? alternating.sample(once, trial.point.bytes) : once(); }, rules);
        trial.release();
        if (beside)
            alternating.tell(measured.samples.size(), trial.point);
        tell(measured, trial.point);
        if (measured.median > 0)
            out.points.push_back(trial.point);
    }
    if (hooks.progress)
        hooks.progress(total, total, "measured");
    return out;
}

} // namespace

namespace {

std::variant<Calibration, Failure> attempt(const std::function<Calibration()>& work)
{
    try {
        return work();
    } catch (const Failure& failure) {
        return failure;
    } catch (const Stopped&) {
        return Failure { "cancelled", "the calibration was cancelled", "" };
    } catch (const std::bad_alloc&) {
        return Failure { "memory", "the system gave no more memory; use --quick, or end other programs", "" };
    } catch (const std::system_error& e) { // of a thread that could not be started
        return Failure { "memory",
                         std::string("the system gave no more threads: ") + e.what()
                             + "; end other programs, or give the worker more memory (ulimit -v)",
                         "" };
    } catch (const std::exception& e) {
        return Failure { "internal", e.what(), "" };
    }
}

std::vector<Program> programsOf(const CalibrationOptions& options, const CalibrateHooks& hooks)
{
    if (!hooks.programs)
        return {};
    auto made = hooks.programs(options.quick);
    if (!made.ok())
        throw Failure { "internal", made.error().text(), "calibration" };
    return std::move(made).value();
}

} // namespace

std::variant<Calibration, Failure> calibrate(Executor& executor, const CalibrationOptions& options, const CalibrateHooks& hooks,
                                             int workers)
{
    return attempt([&] {
        const int all = executor.workers(workers);
        const ProgramRuns runs(programsOf(options, hooks), executor, all, options.quick);
        CalibrateHooks both = hooks;
        both.announce = [&](std::int64_t bytes, double seconds) {
            if (hooks.announce)
                hooks.announce(std::max(bytes, runs.neededBytes()), seconds + runs.seconds());
        };
        std::int64_t before = 0; // steps until the programs
        both.progress = [&](std::int64_t step, std::int64_t of, const std::string& what) {
            before = of;
            if (hooks.progress)
                hooks.progress(step, of + runs.count(), what);
        };
        Calibration out = calibrated(options, both, coresOf(executor, all, [&, all] { return trialsOf(options, all); }));
        const auto tellRun = [&](std::int64_t run) {
            if (hooks.progress)
                hooks.progress(before + run, before + runs.count(),
                               "program " + std::to_string(run + 1) + " of " + std::to_string(runs.count()));
        };
        runs.addTo(out, tellRun, hooks.cancel);
        if (hooks.progress && runs.count() > 0)
            hooks.progress(before + runs.count(), before + runs.count(), "measured");
        return out;
    });
}

std::variant<Calibration, Failure> calibrateOn(DeviceExecutor& executor, const std::string& machine,
                                               const CalibrationOptions& options, const CalibrateHooks& hooks)
{
    return attempt([&] {
        return calibrated(options, hooks,
                          { executor, machine, executor.workers(0), [&] { return gpuTrialsOf(options); },
                            [&](std::int64_t arenaBytes) { return arenaBytes + executor.overheadBytes(); } });
    });
}

namespace {

/// The bytes of every rank that a trial takes at most.
std::vector<std::int64_t> memoryByRank(Team& team, Executor& executor, const std::vector<std::unique_ptr<CollectiveTrial>>& trials,
                                       int workers)
{
    std::vector<std::int64_t> most(static_cast<std::size_t>(team.rankCount()), 0);
    for (const auto& trial : trials) {
        Arena arena(executor.deviceRanksOf(trial->mesh(), &team));
        Context context { arena, executor, nullptr, workers, {} };
        PlanningTeam planning(team);
        context.team = &planning;
        trial->prepare(context);
        for (int rank = 0; rank < team.rankCount(); ++rank)
            most[static_cast<std::size_t>(rank)] = std::max(most[static_cast<std::size_t>(rank)], arena.highWater(rank));
        trial->release();
    }
    return most;
}

/// It is over when the last process is; all of them know it, and decide alike.
double slowestOf(Team& team, double seconds)
{
    double slowest = 0;
    for (const auto& said : team.allGather({ seconds }))
        slowest = std::max(slowest, said.front());
    return slowest;
}

Measured measuredByAll(Team& team, CollectiveTrial& trial, Context& context, const MeasureRules& rules)
{
    constexpr double kLeast = 3e-4;
    const double once = slowestOf(team, trial.run(context));
    const int runs = once > 0 ? static_cast<int>(std::clamp(kLeast / once, 1.0, 256.0)) : 1;
    return measure(
        [&] {
            double total = 0;
            for (int run = 0; run < runs; ++run)
                total += trial.run(context);
            return slowestOf(team, total) / runs;
        },
        rules);
}

} // namespace

std::variant<Calibration, Failure> calibrateOn(Team& team, Executor& executor, const CalibrationOptions& options,
                                               const CalibrateHooks& hooks, int workers)
{
    return attempt([&] {
        const auto trials = collectiveTrialsOf(options);
        const auto bytes = memoryByRank(team, executor, trials, workers);
        const std::int64_t ofOthers =
            (team.rankCount() - 1) * processMemory(workers); // which wait while the first one measures kernels
        std::int64_t needed = 0;
        for (const std::int64_t ofRank : bytes)
            needed += ofRank + processMemory(workers);
        Calibration out;
        const auto count = static_cast<std::int64_t>(trials.size());
        std::int64_t before = 0; // steps until the collectives
        if (team.rank() == 0) {
            CalibrateHooks first = hooks;
            first.announce = [&](std::int64_t kernels, double seconds) {
                if (hooks.announce)
                    hooks.announce(std::max(kernels + ofOthers, needed), seconds);
                checkMemory(std::max(kernels + ofOthers, needed), availableMemory()); // before anything is measured
            };
            first.progress = [&](std::int64_t step, std::int64_t of, const std::string& what) {
                before = of;
                if (hooks.progress && step < of)
                    hooks.progress(step, of + count, what);
            };
            const int all = executor.workers(0);
            out = calibrated(options, first, coresOf(executor, all, [&, all] { return kernelTrialsOf(options, all); }));
            out.workers = std::int64_t { workers } * team.rankCount();
        }
        slowestOf(team, 0); // the others have waited until here
        const auto segments = executor.reserve(bytes, &team);
        TaskPool pool(workers, hooks.cancel);
        for (std::int64_t i = 0; i < count; ++i) {
            CollectiveTrial& trial = *trials[static_cast<std::size_t>(i)];
            if (hooks.progress)
                hooks.progress(before + i, before + count, trial.point.what);
            Arena arena(executor.deviceRanksOf(trial.mesh(), &team), segments);
            executor.ready(arena, pool, false);
            Context context { arena, executor, &pool, workers, {} };
            context.team = &team;
            context.cacheShare = cacheShareBytes();
            trial.prepare(context);
            const Measured measured = measuredByAll(team, trial, context, rulesOf(options));
            trial.release();
            tell(measured, trial.point);
            if (measured.median > 0)
                out.points.push_back(trial.point);
        }
        team.hostBarrier(); // nobody's memory goes before all are done with it
        if (hooks.progress)
            hooks.progress(before + count, before + count, "measured");
        return out;
    });
}

} // namespace shardboard::engine
