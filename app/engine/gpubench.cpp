// SPDX-License-Identifier: Apache-2.0
// shardboard-gpubench: what the CUDA backend's collectives and products reach on this GPU, in one JSON document: device, clocks,
// the rate of a copy measured in the same run, samples. Every timed result is compared with what it should be. With --stand-in it
// goes through the same on the CPU with tiny sizes, to test itself.
#include "engine/cuda/cudaexecutor.h"
#include "engine/cuda/hostruntime.h"
#include "engine/cuda/launches.h"
#include "engine/devices/collective.h"
#include "engine/devices/compare.h"
#ifdef SHARDBOARD_WITH_CUDA
#include "engine/cuda/cudaruntime.h"
#endif
#include "engine/machine/failure.h"
#include "engine/machine/measure.h"
#include "engine/ops/execute.h"
#include "engine/run/step/runvalues.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>

namespace shardboard::engine::cuda {

namespace {

using nlohmann::json;

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr MeasureRules kRules { .trials = 9, .mostRounds = 4, .agree = 0.02, .mostSeconds = 0.25 };

struct Setup {
    Runtime& runtime;
    CudaExecutor& executor;
    TaskPool& pool;
    bool tiny = false;
    double copyRate = 0;
};

json sampled(const Measured& measured)
{
    return { { "seconds", measured.median },
             { "spread", measured.spread },
             { "settled", measured.settled },
             { "samples", measured.samples } };
}

/// What a kind does to a tensor of `floats` elements over n devices; the bytes are the least that has to be read and written.
struct Kind {
    const char* name;
    CollectiveKind kind;
    bool partialBefore, cutBefore, cutAfter;
};
constexpr Kind kKinds[] {
    { "all-reduce", CollectiveKind::AllReduce, true, false, false },
    { "all-gather", CollectiveKind::AllGather, false, true, false },
    { "reduce-scatter", CollectiveKind::ReduceScatter, true, false, true },
    { "all-to-all", CollectiveKind::AllToAll, false, true, true },
};

/// `perDevice`: bytes that each device holds before.
json collective(Setup& setup, const Kind& kind, std::int64_t n, std::int64_t perDevice, Element element)
{
    const Mesh mesh = Mesh::parse("d=" + std::to_string(n)).value();
    const std::int64_t own = perDevice / bytesOf(element) / n * n;
    Layout before = Layout::replicated(2);
    Layout after = before;
    Shape shape { n, own / n };
    if (kind.partialBefore)
        before.partial = { AxisRef { 0 } };
    if (kind.cutBefore) {
        before = Layout::cut(2, 0, { 0 });
        shape = { n, own };
    }
    if (kind.cutAfter)
        after = Layout::cut(2, kind.cutBefore ? 1 : 0, { 0 });
    const ReshardStep step { kind.kind, { 0 }, before, after };
    const Source source { Generator::values(7, kind.name, 0, 1), Rounding::None, 1 };
    Arena planning;
    Context plan { planning, setup.executor, nullptr, 1, {} };
    {
        Sharded planned(shape, before, mesh);
        planned.setElement(element);
        planned.allocate(planning);
        Sharded also(shape, after, mesh);
        also.setElement(element);
        also.allocate(planning);
        Sharded reference(shape, Layout::replicated(2), mesh);
        reference.source = source;
        relativeError(plan, also, reference);
    }
    json row { { "kind", kind.name },
               { "n", n },
               { "bytes_per_device", own * bytesOf(element) },
               { "dtype", element == Element::BF16 ? "bf16" : "f32" } };
    if (planning.highWater() + setup.executor.overheadBytes() > setup.executor.availableBytes()) {
        row["left_out"] = "does not fit into the memory of the GPU";
        return row;
    }
    Arena arena(setup.executor.reserve(planning.highWater()), planning.highWater());
    Context context { arena, setup.executor, &setup.pool, 1, {} };
    Sharded from(shape, before, mesh);
    from.setElement(element);
    from.source = source;
    materialize(context, from);
    Sharded result(shape, after, mesh);
    result.setElement(element);
    result.allocate(arena);
    setup.executor.poison(result.address(0), result.bytes());
    const Measured measured =
        measure([&] { return setup.executor.reshard(context, step, from, false, kind.name, result).combined; }, kRules);
    Sharded reference(shape, Layout::replicated(2), mesh);
    reference.source = source;
    row.update(sampled(measured));
    const double bytes = static_cast<double>(from.totalElements() + result.totalElements()) * static_cast<double>(bytesOf(element));
    row["bytes_moved"] = bytes;
    row["rate"] = bytes / measured.median;
    row["of_copy_rate"] = bytes / measured.median / setup.copyRate;
    row["relative_error"] = relativeError(context, result, reference);
    const double error = row["relative_error"];
    row["right"] = error <= (element == Element::BF16 ? 1e-2 : 1e-6);
    return row;
}

/// n products at once against one product of the same work, and one after the other.
json products(Setup& setup, std::int64_t n, std::int64_t m, std::int64_t columns, std::int64_t k, bool half)
{
    const std::int64_t size = half ? 2 : 4;
    const std::int64_t elements = n * (m * k + columns * k + m * columns);
    json row { { "n", n }, { "m", m }, { "columns", columns }, { "k", k }, { "dtype", half ? "bf16" : "f32" } };
    if (elements * size + setup.executor.overheadBytes() > setup.executor.availableBytes()) {
        row["left_out"] = "does not fit into the memory of the GPU";
        return row;
    }
    std::byte* const memory = setup.executor.reserve(elements * size);
    FillBody fill;
    FillBody::Entry filled;
    filled.out.data = memory;
    filled.out.half = half ? 1 : 0;
    filled.count = elements;
    filled.map = mapOf(Box { { 0, elements } }, Shape { elements });
    fill.entries = static_cast<const FillBody::Entry*>(setup.runtime.table(&filled, sizeof filled));
    fill.value.rule = Generator::values(3, "products", 0, 1).rule();
    setup.runtime.launch(fill, Grid { tilesOf(elements), 0, 1 });
    std::byte* const b = memory + n * m * k * size;
    std::byte* const c = b + n * columns * k * size;
    Gemm all;
    all.m = m;
    all.n = columns;
    all.k = k;
    all.lda = all.ldb = k;
    all.ldc = columns;
    all.transposeB = true;
    all.half = all.halfC = half;
    for (std::int64_t i = 0; i < n; ++i)
        all.products.push_back({ memory + i * m * k * size, b + i * columns * k * size, c + i * m * columns * size });
    Gemm one = all; // the same work: n times the rows
    one.m = n * m;
    one.products = { { memory, b, c } };
    const double flops = 2.0 * static_cast<double>(n * m) * static_cast<double>(columns) * static_cast<double>(k);
    const auto timed = [&](const std::function<void()>& work) {
        return measure([&] { return runAtOnce(setup.runtime, 1, work).combined; }, kRules);
    };
    // In turns, so that both see the same clocks.
    const Measured single = timed([&] { setup.runtime.gemm(one); });
    const Measured batched = timed([&] { setup.runtime.gemm(all); });
    const Measured again = timed([&] { setup.runtime.gemm(one); });
    const Measured apart = timed([&] {
        for (const Gemm::Product& product : all.products) {
            Gemm each = all;
            each.products = { product };
            setup.runtime.gemm(each);
        }
    });
    row["one"] = sampled(single);
    row["one_again"] = sampled(again);
    row["batched"] = sampled(batched);
    row["one_by_one"] = sampled(apart);
    row["flops"] = flops;
    row["batched_rate"] = flops / batched.median;
    row["one_rate"] = flops / std::min(single.median, again.median);
    row["batched_over_one"] = batched.median / std::min(single.median, again.median);
    return row;
}

/// One block of a Llama on n devices, forward: operation by operation, and as one recorded graph.
class Block {
public:
    struct Sizes {
        std::int64_t n, batch, sequence, hidden, heads, kvHeads, headDim, inner;
    };
    Block(Setup& setup, const Sizes& sizes)
        : m_setup(setup)
        , m_s(sizes)
        , m_mesh(Mesh::parse("d=" + std::to_string(sizes.n)).value())
    {
    }

    json run()
    {
        json row { { "devices", m_s.n },
                   { "batch", m_s.batch },
                   { "sequence", m_s.sequence },
                   { "hidden", m_s.hidden },
                   { "dtype", "bf16" } };
        Arena planning;
        Context plan { planning, m_setup.executor, nullptr, 1, {} };
        make(plan);
        step(plan);
        m_tensors.clear();
        if (planning.highWater() + m_setup.executor.overheadBytes() > m_setup.executor.availableBytes()) {
            row["left_out"] = "does not fit into the memory of the GPU";
            return row;
        }
        Arena arena(m_setup.executor.reserve(planning.highWater()), planning.highWater());
        Context context { arena, m_setup.executor, &m_setup.pool, 1, {} };
        make(context);
        const Measured eager = measure([&] { return step(context); }, kRules);
        const double before = m_setup.executor.meanSquare(context, tensor("out"));
        m_setup.executor.poison(tensor("out").address(0), tensor("out").bytes());
        m_setup.runtime.beginRecording();
        step(context);
        const std::unique_ptr<Replay> graph = m_setup.runtime.endRecording();
        const Measured replayed = measure([&] { return runAtOnce(m_setup.runtime, 1, [&] { graph->run(); }).combined; }, kRules);
        m_setup.runtime.wait();
        const double after = m_setup.executor.meanSquare(context, tensor("out"));
        row["operations"] = sampled(eager); // the sum of their times on the GPU
        row["graph"] = sampled(replayed);
        row["graph_over_operations"] = replayed.median / eager.median;
        row["right"] = before > 0 && before == after;
        m_tensors.clear();
        return row;
    }

private:
    Sharded& tensor(const std::string& name) { return m_tensors.at(name); }
    void add(Context& context, const std::string& name, Shape shape, int cutDim, bool isMade = false, bool partial = false)
    {
        Layout layout = cutDim >= 0 ? Layout::cut(shape.size(), cutDim, { 0 }) : Layout::replicated(shape.size());
        if (partial)
            layout.partial = { AxisRef { 0 } };
        const std::int64_t columns = shape.back();
        Sharded made(std::move(shape), layout, m_mesh);
        made.setElement(Element::BF16);
        if (isMade) {
            made.source =
                Source { Generator::values(1, name, 0, 1.0 / std::sqrt(static_cast<double>(columns))), Rounding::BF16, 1 };
            materialize(context, made);
        } else {
            made.allocate(context.arena);
        }
        m_tensors.insert_or_assign(name, std::move(made));
    }
    void make(Context& context)
    {
        const Shape stream { m_s.batch, m_s.sequence, m_s.hidden };
        const std::int64_t q = m_s.heads * m_s.headDim;
        const std::int64_t k = m_s.kvHeads * m_s.headDim;
        add(context, "x", stream, -1, true);
        for (const char* name : { "norm", "norm2" })
            add(context, name, { m_s.hidden }, -1, true);
        add(context, "wq", { q, m_s.hidden }, 0, true);
        add(context, "wk", { k, m_s.hidden }, 0, true);
        add(context, "wv", { k, m_s.hidden }, 0, true);
        add(context, "wo", { m_s.hidden, q }, 1, true);
        add(context, "wg", { m_s.inner, m_s.hidden }, 0, true);
        add(context, "wu", { m_s.inner, m_s.hidden }, 0, true);
        add(context, "wd", { m_s.hidden, m_s.inner }, 1, true);
        for (const char* name : { "h", "sum", "h2", "out", "o", "d" })
            add(context, name, stream, -1);
        for (const char* name : { "o partial", "d partial" })
            add(context, name, stream, -1, false, true);
        add(context, "q flat", { m_s.batch, m_s.sequence, q }, 2);
        add(context, "k flat", { m_s.batch, m_s.sequence, k }, 2);
        add(context, "v flat", { m_s.batch, m_s.sequence, k }, 2);
        for (const char* name : { "q", "q turned", "a" })
            add(context, name, { m_s.batch, m_s.sequence, m_s.heads, m_s.headDim }, 2);
        for (const char* name : { "k", "k turned", "v" })
            add(context, name, { m_s.batch, m_s.sequence, m_s.kvHeads, m_s.headDim }, 2);
        add(context, "a flat", { m_s.batch, m_s.sequence, q }, 2);
        for (const char* name : { "g", "u", "s", "p" })
            add(context, name, { m_s.batch, m_s.sequence, m_s.inner }, 2);
    }
    double op(Context& context, OpKind kind, const std::vector<std::string>& operands, const std::string& result)
    {
        OpAttributes attributes;
        attributes.epsilon = 1e-5;
        attributes.ropeTheta = 500000;
        OpCall call { kind, attributes, {}, result };
        for (const std::string& operand : operands)
            call.operands.push_back(&tensor(operand));
        return executeOp(context, call, tensor(result)).slowest();
    }
    double allReduce(Context& context, const std::string& from, const std::string& to)
    {
        const ReshardStep step { CollectiveKind::AllReduce, { 0 }, tensor(from).layout(), tensor(to).layout() };
        return m_setup.executor.reshard(context, step, tensor(from), false, to, tensor(to)).combined;
    }
    double step(Context& context)
    {
        double seconds = op(context, OpKind::RmsNorm, { "x", "norm" }, "h");
        for (const std::string part : { "q", "k", "v" }) {
            seconds += op(context, OpKind::Linear, { "h", "w" + part }, part + " flat");
            seconds += op(context, OpKind::SplitHeads, { part + " flat" }, part);
            if (part != "v")
                seconds += op(context, OpKind::Rope, { part }, part + " turned");
        }
        seconds += op(context, OpKind::Attention, { "q turned", "k turned", "v" }, "a");
        seconds += op(context, OpKind::MergeHeads, { "a" }, "a flat");
        seconds += op(context, OpKind::Linear, { "a flat", "wo" }, "o partial");
        seconds += allReduce(context, "o partial", "o");
        seconds += op(context, OpKind::Add, { "x", "o" }, "sum");
        seconds += op(context, OpKind::RmsNorm, { "sum", "norm2" }, "h2");
        seconds += op(context, OpKind::Linear, { "h2", "wg" }, "g");
        seconds += op(context, OpKind::Linear, { "h2", "wu" }, "u");
        seconds += op(context, OpKind::Silu, { "g" }, "s");
        seconds += op(context, OpKind::Mul, { "s", "u" }, "p");
        seconds += op(context, OpKind::Linear, { "p", "wd" }, "d partial");
        seconds += allReduce(context, "d partial", "d");
        return seconds + op(context, OpKind::Add, { "sum", "d" }, "out");
    }

    Setup& m_setup;
    Sizes m_s;
    Mesh m_mesh;
    std::map<std::string, Sharded> m_tensors;
};

int run(bool standIn, const std::string& path)
{
    std::unique_ptr<Runtime> runtime;
    if (standIn)
        runtime = std::make_unique<HostRuntime>(std::int64_t { 2 } << 30);
#ifdef SHARDBOARD_WITH_CUDA
    else
        runtime = makeCudaRuntime();
#else
    if (runtime == nullptr)
        throw Failure { "backend", "this build has no CUDA; nvcc was not found when it was configured", "" };
#endif
    CudaExecutor executor(*runtime);
    TaskPool pool(1, nullptr);
    Setup setup { *runtime, executor, pool, standIn, 0 };
    json out { { "device", runtime->name() },
               { "stand_in", standIn },
               { "memory_bytes", runtime->totalBytes() },
               { "clock_mhz_before", runtime->clock() } };
    const MachineLimits limits = executor.measureLimits(pool);
    setup.copyRate = limits.copyBytesAll > 0 ? limits.copyBytesAll : 1;
    out["limits"] = { { "copy_bytes_per_second", limits.copyBytesAll },
                      { "gemm_f32_flops", limits.gemmFlopsOne },
                      { "gemm_bf16_flops", limits.gemmFlopsAll } };
    std::fprintf(stderr, "%s: copies %.2f TB/s, products %.1f (f32) and %.1f (bf16) TFLOP/s\n", runtime->name().c_str(),
                 limits.copyBytesAll / 1e12, limits.gemmFlopsOne / 1e12, limits.gemmFlopsAll / 1e12);
    bool right = true;
    out["collectives"] = json::array();
    const std::vector<std::int64_t> sizes = standIn
        ? std::vector<std::int64_t> { 4 * kKiB, 64 * kKiB }
        : std::vector<std::int64_t> { 16 * kKiB, 64 * kKiB, kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB, 1024 * kMiB };
    for (const Kind& kind : kKinds)
        for (const std::int64_t n : { 2, 4, 8, 16 })
            for (const std::int64_t size : sizes)
                for (const Element element : { Element::F32, Element::BF16 }) {
                    // An all-gather makes n times of what a device has: its result is as large as the others' at most.
                    const std::int64_t bytes = kind.kind == CollectiveKind::AllGather && size > 64 * kMiB ? size / n : size;
                    json row = collective(setup, kind, n, bytes, element);
                    right = right && (!row.contains("right") || row["right"].get<bool>());
                    if (row.contains("rate"))
                        std::fprintf(stderr, "%-14s n=%2lld %9.3f MiB %s %9.1f us %5.1f %% of the copy rate%s\n", kind.name,
                                     static_cast<long long>(n), static_cast<double>(bytes) / static_cast<double>(kMiB),
                                     element == Element::BF16 ? "bf16" : "f32 ", 1e6 * row["seconds"].get<double>(),
                                     100 * row["of_copy_rate"].get<double>(), row["right"].get<bool>() ? "" : "  WRONG");
                    out["collectives"].push_back(std::move(row));
                }
    out["products"] = json::array();
    struct Size {
        std::int64_t n, m, columns, k;
    };
    const std::vector<Size> products = standIn
        ? std::vector<Size> { { 2, 16, 8, 24 } }
        : std::vector<Size> { { 8, 4096, 4096, 4096 }, { 8, 32768, 512, 4096 }, { 8, 32768, 4096, 512 },  { 8, 32768, 1792, 4096 },
                              { 2, 2048, 2048, 2048 }, { 4, 2048, 2048, 2048 }, { 16, 1024, 1024, 1024 }, { 8, 512, 512, 512 } };
    for (const Size& size : products)
        for (const bool half : { true, false }) {
            json row = cuda::products(setup, size.n, size.m, size.columns, size.k, half);
            if (row.contains("batched_rate"))
                std::fprintf(stderr,
                             "products       n=%2lld %lldx%lldx%lld %s %7.1f TFLOP/s at once, %7.1f as one: %.3f of its time\n",
                             static_cast<long long>(size.n), static_cast<long long>(size.m), static_cast<long long>(size.columns),
                             static_cast<long long>(size.k), half ? "bf16" : "f32 ", row["batched_rate"].get<double>() / 1e12,
                             row["one_rate"].get<double>() / 1e12, row["batched_over_one"].get<double>());
            out["products"].push_back(std::move(row));
        }
    json block =
        Block(setup, standIn ? Block::Sizes { 2, 1, 8, 32, 4, 2, 8, 48 } : Block::Sizes { 8, 8, 4096, 4096, 32, 8, 128, 14336 })
            .run();
    right = right && (!block.contains("right") || block["right"].get<bool>());
    if (block.contains("graph"))
        std::fprintf(stderr, "a block of Llama 3 8B over 8: %.3f ms by operations, %.3f ms as a graph%s\n",
                     1e3 * block["operations"]["seconds"].get<double>(), 1e3 * block["graph"]["seconds"].get<double>(),
                     block["right"].get<bool>() ? "" : "  WRONG");
    out["block"] = std::move(block);
    out["clock_mhz_after"] = runtime->clock();
    out["all_right"] = right;
    if (path.empty())
        std::printf("%s\n", out.dump(1).c_str());
    else
        std::ofstream(path) << out.dump(1) << "\n";
    return right ? 0 : 1;
}

} // namespace

} // namespace shardboard::engine::cuda

int main(int argc, char** argv)
{
    bool standIn = false;
    std::string path;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--stand-in") {
            standIn = true;
        } else if (argument == "-o" && i + 1 < argc) {
            path = argv[++i];
        } else {
            std::fputs("usage: shardboard-gpubench [--stand-in] [-o FILE]\n", stderr);
            return 2;
        }
    }
    try {
        return shardboard::engine::cuda::run(standIn, path);
    } catch (const shardboard::engine::Failure& failure) {
        std::fprintf(stderr, "shardboard-gpubench: %s\n", failure.message.c_str());
        return 4;
    }
}
