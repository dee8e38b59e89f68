// SPDX-License-Identifier: Apache-2.0
// Linear and Embedding: the operations with large weights, which are made up in row chunks and never whole in memory.
#include "engine/machine/failure.h"
#include "engine/machine/gemm.h"
#include "engine/machine/index.h"
#include "engine/ops/bodywork.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kLeastRows = 16;
constexpr double kFlopsAtOnce =
    8e9; ///< a cancelled run stops within one such product; in smaller ones the library packs the weight anew too often

/// Rows of a weight that are made up at once.
std::int64_t chunkRows(std::int64_t columns) { return std::max(kLeastRows, kChunkFloats / std::max<std::int64_t>(1, columns)); }

std::int64_t widestRow(const Sharded& weight)
{
    std::int64_t widest = 0;
    for (std::int64_t device = 0; device < weight.deviceCount(); ++device)
        widest = std::max(widest, weight.box(device)[1].size());
    return widest;
}

void checkLinear(const OpCall& call, const Sharded& result, std::int64_t device)
{
    const Box& x = call.operands[0]->box(device);
    const Box& weight = call.operands[1]->box(device);
    const Box& y = result.box(device);
    if (volumeOf(y) == 0)
        return;
    for (std::size_t d = 0; d + 1 < x.size(); ++d)
        requireSame(x[d], y[d], call, "rows of operand and result");
    requireSame(x.back(), weight[1], call, "the summed dim of operand and weight");
    requireSame(y.back(), weight[0], call, "columns of the result and rows of the weight");
}

struct WeightChunk {
    std::int64_t device = 0;
    std::int64_t first = 0; ///< rows of the device's shard of the weight
    std::int64_t last = 0;
};

/// y[:, first..last) = x weight[first..last, :]T on one device, in products that are short enough to be cancelled.
void multiplyChunk(const Context& context, const OpCall& call, const Sharded& x, const float* weight, const WeightChunk& chunk,
                   Sharded& result)
{
    const std::int64_t n = result.box(chunk.device).back().size();
    const std::int64_t k = x.box(chunk.device).back().size();
    const std::int64_t rows = result.elements(chunk.device) / n;
    const std::int64_t count = chunk.last - chunk.first;
    const double flopsOfRow = 2.0 * static_cast<double>(count) * static_cast<double>(std::max<std::int64_t>(1, k));
    std::int64_t step = std::max<std::int64_t>(16, static_cast<std::int64_t>(kFlopsAtOnce / flopsOfRow));
    if (call.bf16) // which are copied
        step = std::clamp<std::int64_t>(kChunkFloats / std::max<std::int64_t>(1, k), 16, step);
    for (std::int64_t row = 0; row < rows; row += step) {
        context.pool->checkCancelled();
        const float* left = x.data(chunk.device) + row * k;
        float* out = result.data(chunk.device) + row * n + chunk.first;
        if (call.bf16)
            bf16gemm(false, true, std::min(step, rows - row), count, k, left, k, weight, k, 0, out, n);
        else
            sgemm(false, true, std::min(step, rows - row), count, k, 1, left, k, weight, k, 0, out, n);
    }
}

} // namespace

Timing executeLinear(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const Sharded& weight = *call.operands[1];
    const std::int64_t rowsAtOnce = chunkRows(widestRow(weight));
    std::vector<WeightChunk> chunks;
    std::vector<std::int64_t> devices;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        checkLinear(call, result, device);
        const std::int64_t n = result.box(device).back().size();
        const std::int64_t k = x.box(device).back().size();
        if (result.elements(device) == 0)
            continue;
        context.work.flops += 2.0 * static_cast<double>(result.elements(device)) * static_cast<double>(k);
        if (!weight.allocated())
            context.work.generated += static_cast<double>(n) * static_cast<double>(k);
        for (std::int64_t row = 0; row < n; row += rowsAtOnce) {
            chunks.push_back({ device, row, std::min(n, row + rowsAtOnce) });
            devices.push_back(device);
        }
    }
    const std::int64_t scratchFloats = weight.allocated() ? 0 : rowsAtOnce * widestRow(weight);
    const Block scratch = context.scratch(scratchFloats);
    if (context.planning())
        return {};
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int worker) {
        const WeightChunk& chunk = chunks[index];
        if (weight.allocated()) {
            const std::int64_t k = weight.box(chunk.device)[1].size();
            multiplyChunk(context, call, x, weight.data(chunk.device) + chunk.first * k, chunk, result);
            return 0.0;
        }
        Box box = weight.box(chunk.device);
        const double start = coreSeconds();
        float* made = scratch.floats() + worker * Context::scratchStride(scratchFloats);
        box[0] = { box[0].lo + chunk.first, box[0].lo + chunk.last };
        fillBox(*weight.source, weight.shape(), box, made);
        const double spent = coreSeconds() - start;
        multiplyChunk(context, call, x, made, chunk, result);
        return spent;
    });
}

Timing executeEmbedding(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& tokens = *call.operands[0];
    const Sharded& table = *call.operands[1];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        for (std::size_t d = 0; d < tokens.shape().size(); ++d)
            requireSame(tokens.box(device)[d], result.box(device)[d], call, "tokens and result");
        requireSame(table.box(device)[1], result.box(device).back(), call, "columns of table and result");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 2;
    if (!table.allocated())
        context.work.generated += static_cast<double>(result.totalElements());
    const std::int64_t pieceFloats = std::max<std::int64_t>(1 << 16, widestRow(table));
    const std::int64_t scratchFloats = table.allocated() ? 0 : pieceFloats;
    const Block scratch = context.scratch(scratchFloats);
    if (context.planning())
        return {};
    const auto work = embeddingWork(call, result);
    return runRows(context, result, rowPieces(result, 1, pieceFloats), [&](const RowPiece& piece, int worker) {
        bodies::EmbeddingBody::Entry entry = work.table.entries[at(piece.device)];
        entry.tokens = entry.tokens.from(piece.first);
        entry.out = entry.out.from(piece.first * entry.n);
        entry.rows = piece.last - piece.first;
        const double start = coreSeconds();
        if (!table.allocated()) {
            float* made = scratch.floats() + worker * Context::scratchStride(scratchFloats);
            const Box& held = table.box(piece.device);
            for (std::int64_t row = 0; row < entry.rows; ++row)
                if (const std::int64_t id = bodies::EmbeddingBody::idOf(entry, row); id >= 0)
                    fillBox(*table.source, table.shape(), { { held[0].lo + id, held[0].lo + id + 1 }, held[1] },
                            made + row * entry.n);
            entry.table.data = made;
            entry.byToken = 1;
        }
        const double spent = coreSeconds() - start;
        bodies::EmbeddingBody body = work.body;
        body.entries = &entry;
        runItems(body, 0, 0, entry.rows);
        return spent;
    });
}

} // namespace shardboard::engine
