// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/cudaexecutor.h"

#include "engine/cpu/cpuexecutor.h"
#include "engine/cuda/launches.h"
#include "engine/devices/compare.h"
#include "engine/machine/failure.h"
#include "engine/machine/index.h"
#include "engine/machine/measure.h"
#include "engine/ops/opbody.h"
#include "model/io/wire/messages.h"
#include "model/ops/opdefinition.h"
#include "model/plan/program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace shardboard::engine::cuda {

namespace {

constexpr std::int64_t kMiB = std::int64_t { 1 } << 20;

using Launch = void (*)(Launches&, const OpCall&, Sharded&);

// One launch for several bodies of the CPU.
constexpr Launch launchOutput = launchElementwise, launchHeads = launchElementwise, launchGroups = launchElementwise;
constexpr Launch launchSlice = launchMove, launchJoin = launchMove, launchPad = launchMove, launchSumHeads = launchMove;
constexpr Launch launchLinearGradX = launchLinear, launchLinearGradW = launchLinear, launchExpertLinearGradW = launchExpertLinear;
constexpr Launch launchGatesGrad = launchGates;
constexpr Launch launchDispatch = launchRoute, launchDispatchGrad = launchRoute, launchCombine = launchRoute,
                 launchCombineGradY = launchRoute;

/// Of operations whose definitions say that GPUs have none: checkForKernels refuses a program with them.
void launchNothing(Launches&, const OpCall& call, Sharded&)
{
    throw Failure { "backend", "unusable: the CUDA backend has no such operation", call.where };
}
constexpr Launch launchHeadScale = launchNothing, launchHeadRows = launchNothing, launchHeadScaleGradW = launchNothing,
                 launchAddPositions = launchNothing, launchAddPositionsGrad = launchNothing, launchCausalConv = launchNothing,
                 launchCausalConvGradW = launchNothing, launchStateScan = launchNothing, launchStateScanGradient = launchNothing,
                 launchStateAppend = launchNothing, launchStateRead = launchNothing;

#define SHARDBOARD_OP_BODY(Body) launch##Body,
constexpr Launch kLaunches[] = { SHARDBOARD_OP_BODIES(SHARDBOARD_OP_BODY) };
#undef SHARDBOARD_OP_BODY

} // namespace

void planHere(Context& context, const OpCall& call, Sharded& result)
{
    CpuExecutor cpu;
    Arena none;
    Context here { none, cpu, nullptr, 1, {} };
    cpu.op(here, call, result);
    context.work.flops += here.work.flops;
    context.work.generated += here.work.generated;
    context.work.touched += here.work.touched;
}

bool onlyNames(OpKind kind) { return bodyOf(kind) == OpBody::Output; }

CudaExecutor::CudaExecutor(Runtime& runtime, int rank)
    : m_runtime(runtime)
    , m_rank(rank)
{
}

CudaExecutor::~CudaExecutor()
{
    if (m_heap != nullptr)
        m_runtime.release(m_heap);
}

void CudaExecutor::check(const Program& program, const RunOptions&) const { checkForKernels(program); }

void checkForKernels(const Program& program)
{
    for (const PlannedSegment& segment : program.plan.segments)
        for (const PlannedOp& planned : segment.ops) {
            const Op& op = program.graph.op(planned.op);
            const std::string where = segment.name + "/" + op.name;
            if (!definitionOf(op.kind).onGpus || op.attributes.alibi || op.attributes.bothWays)
                throw Failure { "backend",
                                "unusable: the CUDA backend has no " + opKindName(op.kind)
                                    + (op.attributes.alibi          ? " with ALiBi"
                                           : op.attributes.bothWays ? " in both directions"
                                                                    : "")
                                    + " yet; run on the CPU",
                                where };
            const OpBody body = bodyOf(op.kind);
            const bool gates = body == OpBody::Gates || body == OpBody::GatesGrad;
            if (gates && op.attributes.groups > kMostGroups)
                throw Failure { "backend",
                                "unusable: the CUDA router takes at most " + std::to_string(kMostGroups) + " groups of experts",
                                where };
            // For each choice it walks through all experts (lastOfBest), and nobody can stop a kernel.
            constexpr std::int64_t kMostTried = 1 << 20;
            const std::int64_t experts = gates ? program.graph.tensor(op.result).shape.back() : 1;
            const std::int64_t chosen = op.attributes.chosen;
            if (gates && experts > kMostTried / std::max<std::int64_t>(1, chosen))
                throw Failure { "backend",
                                "unusable: the CUDA router goes through all " + std::to_string(experts)
                                    + " experts for each of the " + std::to_string(chosen) + " that a token chooses, and "
                                    + std::to_string(experts) + " times " + std::to_string(chosen) + " is more than "
                                    + std::to_string(kMostTried) + "; choose fewer experts, or run on the CPU",
                                where };
        }
}

std::int64_t CudaExecutor::availableBytes() const { return m_runtime.freeBytes() + m_heapBytes; }

/// Tables, angles, and what the libraries take.
std::int64_t CudaExecutor::overheadBytes() const { return 256 * kMiB; }

std::vector<Arena::Segment> CudaExecutor::reserve(const std::vector<std::int64_t>& bytesByRank, Team*)
{
    return { { reserve(bytesByRank.front()), bytesByRank.front() } };
}

std::byte* CudaExecutor::reserve(std::int64_t bytes)
{
    bytes = std::max<std::int64_t>(bytes, 256);
    if (bytes > m_heapBytes) {
        if (m_heap != nullptr)
            m_runtime.release(m_heap);
        m_heap = nullptr;
        m_heapBytes = 0;
        m_heap = m_runtime.allocate(bytes);
        m_heapBytes = bytes;
    }
    return m_heap;
}

void CudaExecutor::poison(std::byte* memory, std::int64_t bytes) { m_runtime.set(memory, 0xff, bytes); }

double CudaExecutor::secondsOf(const Work& work, int) const
{
    return work.flops / (0.5 * m_runtime.flopsGuess(false)) + (work.generated + 4 * work.touched) * 4 / m_runtime.bytesGuess()
        + 0.5;
}

Element CudaExecutor::elementOf(Rounding rounding) const { return rounding == Rounding::BF16 ? Element::BF16 : Element::F32; }

const float* CudaExecutor::anglesOf(const OpCall& call, std::int64_t sequence, std::int64_t d)
{
    const auto [entry, isNew] =
        m_angles.emplace(std::tuple { call.attributes.position, sequence, d, call.attributes.ropeTheta }, nullptr);
    if (isNew) {
        std::vector<float> table(at(sequence * d));
        ropeAngles(call.attributes.position, sequence, d, call.attributes.ropeTheta, table.data());
        entry->second =
            static_cast<const float*>(m_runtime.table(table.data(), static_cast<std::int64_t>(table.size() * sizeof(float))));
    }
    return entry->second;
}

Timing CudaExecutor::op(Context& context, const OpCall& call, Sharded& result)
{
    if (context.planning())
        planHere(context, call, result);
    const auto prepared = prepare(context, call, result, nullptr);
    Timing timing;
    for (std::size_t round = 0; round < prepared->rounds() && !context.planning(); ++round) {
        prepared->bringHere(round);
        timing += prepared->round(round).run(result.deviceCount());
    }
    if (onlyNames(call.kind))
        timing.seconds.assign(timing.seconds.size(), 0.0);
    return timing;
}

std::unique_ptr<PreparedOp> CudaExecutor::prepare(Context& context, const OpCall& call, Sharded& result, const PartOf* part)
{
    if (call.rings != nullptr && !call.rings->empty())
        return prepareRingAttention(m_runtime, context, m_rank, call, result, part);
    auto out = std::make_unique<SinglePrepared>(m_runtime, context, m_rank);
    Launches& launches = out->round(0);
    const OpBody body = bodyOf(call.kind);
    if (body == OpBody::Rope && !context.planning())
        launches.angles = anglesOf(call, result.shape()[1], rotatedOf(call, result));
    kLaunches[static_cast<std::size_t>(body)](launches, call, result);
    return out;
}

Timing CudaExecutor::exchange(const Sharded& before, const Sharded& after, const std::vector<std::vector<Transfer>>& transfers,
                              bool onto, Sharded* zeroFirst)
{
    std::vector<ExchangeLaunch> launches;
    for (const Regions& regions : regionsOf(before, after, transfers, onto))
        for (ExchangeLaunch& launch : exchangeLaunches(before, after, regions))
            launches.push_back(std::move(launch));
    return runAtOnce(m_runtime, after.deviceCount(), [&] {
        if (zeroFirst != nullptr)
            m_runtime.set(zeroFirst->address(0), 0, zeroFirst->bytes());
        for (const ExchangeLaunch& launch : launches)
            launchExchange(m_runtime, launch);
    });
}

Timing CudaExecutor::reshard(Context& context, const ReshardStep& step, const Sharded& before, bool broken,
                             const std::string& where, Sharded& after)
{
    context.work.touched += static_cast<double>(before.totalElements() + after.totalElements());
    std::vector<std::vector<Transfer>> transfers;
    for (std::int64_t device = 0; device < after.deviceCount(); ++device) {
        transfers.push_back(transfersOf(step, before, after, device, where));
        if (broken)
            breakTransfers(transfers.back(), device);
    }
    if (context.planning())
        return {};
    return exchange(before, after, transfers, broken, broken ? &after : nullptr);
}

Timing CudaExecutor::send(Context& context, const Sharded& value, bool broken, Sharded& there)
{
    if (context.planning())
        return {};
    return runAtOnce(m_runtime, value.deviceCount(), [&] {
        if (broken)
            m_runtime.set(there.address(0), 0, there.bytes());
        else
            eachOfShards(m_runtime, Each::Copy, 0, value, nullptr, there);
    });
}

void CudaExecutor::fill(Context& context, const Source& source, Sharded& tensor)
{
    if (!context.planning())
        fillShards(m_runtime, source, tensor);
}

void CudaExecutor::round(Context& context, Rounding rounding, Sharded& tensor)
{
    const bool already = rounding == Rounding::BF16 && tensor.element() == Element::BF16;
    if (!context.planning() && !already)
        eachOfShards(m_runtime, Each::Round, static_cast<float>(rounding), tensor, nullptr, tensor);
}

void CudaExecutor::add(Context& context, const Sharded& value, Sharded& sum)
{
    if (!context.planning())
        eachOfShards(m_runtime, Each::Add, 0, sum, &value, sum);
}

void CudaExecutor::copy(Context& context, const Sharded& value, Sharded& copy)
{
    if (!context.planning())
        m_runtime.copy(copy.address(0), value.address(0), value.bytes());
}

void CudaExecutor::scale(Context& context, float factor, Sharded& tensor)
{
    if (!context.planning())
        eachOfShards(m_runtime, Each::Scale, factor, tensor, nullptr, tensor);
}

void CudaExecutor::assemble(Context& context, const Sharded& value, Sharded& whole)
{
    if (context.planning())
        return;
    std::vector<std::vector<Transfer>> transfers(1);
    for (std::int64_t device = 0; device < value.deviceCount(); ++device) {
        const Box& box = value.box(device);
        const auto same = [&](const Transfer& t) { return t.region == box; };
        if (volumeOf(box) > 0 && std::none_of(transfers[0].begin(), transfers[0].end(), same))
            transfers[0].push_back({ device, box, false });
    }
    exchange(value, whole, transfers, false, nullptr);
}

double CudaExecutor::relativeError(Context& context, const Sharded& y, const Sharded& reference, double among)
{
    const bool highest = y.layout().op == ReduceOp::Max;
    std::vector<CompareBody::Entry> entries;
    std::vector<void*> pointers;
    std::vector<std::int64_t> devices;
    std::int64_t items = 0;
    std::int64_t all = 0;
    for (std::int64_t device = 0; device < y.deviceCount(); ++device) {
        const auto members = addendsOf(y, device);
        if (y.elements(device) == 0 || members.empty())
            continue;
        CompareBody::Entry entry;
        entry.firstAddend = static_cast<std::int64_t>(pointers.size());
        entry.addends = static_cast<std::int64_t>(members.size());
        entry.half = y.element() == Element::BF16 ? 1 : 0;
        entry.highest = highest ? 1 : 0;
        entry.map = mapOf(y.box(device), y.shape());
        entry.count = y.elements(device);
        if (!context.planning()) {
            for (const std::int64_t member : members)
                pointers.push_back(y.address(member));
            if (reference.allocated())
                entry.reference = elementsOf(reference, 0);
        }
        entries.push_back(entry);
        devices.push_back(device);
        items = std::max(items, tilesOf(entry.count, kCompareTile));
        all += tilesOf(entry.count, kCompareTile);
    }
    const Block sums =
        context.arena.allocateOn(m_rank, std::max<std::int64_t>(1, all) * 2 * static_cast<std::int64_t>(sizeof(double)));
    if (context.planning() || entries.empty())
        return 0;
    auto* next = reinterpret_cast<double*>(sums.memory(m_rank));
    for (CompareBody::Entry& entry : entries) {
        entry.sums = next;
        next += 2 * tilesOf(entry.count, kCompareTile);
    }
    CompareBody body;
    body.entries = static_cast<const CompareBody::Entry*>(
        m_runtime.table(entries.data(), static_cast<std::int64_t>(entries.size() * sizeof entries[0])));
    body.pointers =
        static_cast<void* const*>(m_runtime.table(pointers.data(), static_cast<std::int64_t>(pointers.size() * sizeof(void*))));
    if (reference.source)
        body.made = madeOf(*reference.source);
    m_runtime.launch(body, Grid { items, 0, static_cast<std::int64_t>(entries.size()) });
    std::vector<double> values(at(2 * all));
    m_runtime.download(values.data(), sums.memory(m_rank), static_cast<std::int64_t>(values.size() * sizeof(double)));

    std::vector<SquareSums> parts;
    std::size_t value = 0;
    for (const CompareBody::Entry& entry : entries) {
        SquareSums part;
        part.count = entry.count;
        for (std::int64_t item = 0; item < tilesOf(entry.count, kCompareTile); ++item) {
            part.difference += values[value++];
            part.reference += values[value++];
        }
        parts.push_back(part);
    }
    return worstError(parts, among);
}

double CudaExecutor::meanSquare(Context& context, const Sharded& reference)
{
    const std::int64_t count = reference.elements(0);
    const std::int64_t items = tilesOf(count, kCompareTile);
    const Block sums =
        context.arena.allocateOn(m_rank, std::max<std::int64_t>(1, items) * 2 * static_cast<std::int64_t>(sizeof(double)));
    if (context.planning() || count == 0)
        return 0;
    CompareBody::Entry entry;
    entry.reference = elementsOf(reference, 0);
    entry.map = mapOf(reference.box(0), reference.shape());
    entry.count = count;
    entry.sums = reinterpret_cast<double*>(sums.memory(m_rank));
    CompareBody body;
    body.entries = static_cast<const CompareBody::Entry*>(m_runtime.table(&entry, sizeof entry));
    m_runtime.launch(body, Grid { items, 0, 1 });
    std::vector<double> values(at(2 * items));
    m_runtime.download(values.data(), sums.memory(m_rank), static_cast<std::int64_t>(values.size() * sizeof(double)));
    double sum = 0;
    for (std::size_t i = 1; i < values.size(); i += 2)
        sum += values[i];
    return sum / static_cast<double>(count);
}

void CudaExecutor::bringHere(const Sharded& value, Sharded& there)
{
    std::vector<std::byte> bytes;
    for (std::int64_t device = 0; device < value.deviceCount(); ++device) {
        const std::int64_t count = value.elements(device);
        if (count == 0)
            continue;
        bytes.resize(at(count * bytesOf(value.element())));
        m_runtime.download(bytes.data(), value.address(device), static_cast<std::int64_t>(bytes.size()));
        Elements from;
        from.data = bytes.data();
        from.half = value.element() == Element::BF16 ? 1 : 0;
        for (std::int64_t i = 0; i < count; ++i)
            there.data(device)[i] = from.at(i);
    }
}

MachineLimits CudaExecutor::measureLimits(TaskPool&)
{
    const std::int64_t copyBytes = std::min<std::int64_t>(512 * kMiB, m_runtime.freeBytes() / 8 / 4096 * 4096);
    constexpr std::int64_t kSide = 4096;
    const std::int64_t productBytes = 3 * kSide * kSide * 4;
    if (copyBytes < kMiB || productBytes > copyBytes * 2)
        return {};
    std::byte* const memory = m_runtime.allocate(2 * copyBytes);
    const auto fastest = [&](const std::function<void()>& work) {
        return measure([&] { return runAtOnce(m_runtime, 1, work).combined; },
                       { .trials = 7, .mostRounds = 4, .agree = 0.02, .mostSeconds = 0.3 })
            .median;
    };
    FillBody fill;
    FillBody::Entry filled;
    filled.out.data = memory;
    filled.count = copyBytes / 4;
    filled.map = mapOf(Box { { 0, filled.count } }, Shape { filled.count });
    fill.entries = static_cast<const FillBody::Entry*>(m_runtime.table(&filled, sizeof filled));
    fill.value.rule = Generator::values(1, "limits", 0, 1).rule();
    m_runtime.launch(fill, Grid { tilesOf(filled.count), 0, 1 });

    MachineLimits out;
    EachBody copyOf;
    EachBody::Entry entry;
    entry.a.data = memory;
    entry.out.data = memory + copyBytes;
    entry.count = copyBytes / 4;
    copyOf.entries = static_cast<const EachBody::Entry*>(m_runtime.table(&entry, sizeof entry));
    const double byKernel = fastest([&] { m_runtime.launch(copyOf, Grid { tilesOf(entry.count), 0, 1 }); });
    const double byDriver = fastest([&] { m_runtime.copy(memory + copyBytes, memory, copyBytes); });
    out.copyBytesOne = out.copyBytesAll = 2 * static_cast<double>(copyBytes) / std::min(byKernel, byDriver);
    Gemm gemm;
    gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = kSide;
    gemm.transposeB = true;
    gemm.products = { { memory, memory + productBytes / 3, memory + copyBytes } };
    for (const bool half : { false, true }) {
        gemm.half = gemm.halfC = half;
        const double rate = 2.0 * static_cast<double>(kSide * kSide * kSide) / fastest([&] { m_runtime.gemm(gemm); });
        (half ? out.gemmFlopsAll : out.gemmFlopsOne) = rate;
    }
    m_runtime.release(memory);
    return out;
}

} // namespace shardboard::engine::cuda
