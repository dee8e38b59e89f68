// SPDX-License-Identifier: Apache-2.0
// Attention and its gradients where every device has all keys that its queries see.
#include "engine/cuda/attentionunits.h"

#include <algorithm>

namespace shardboard::engine::cuda {

namespace {

bool isForQueries(OpKind kind) { return kind == OpKind::AttentionGradQ || kind == OpKind::SinkAttentionGradQ; }
bool isForKeys(OpKind kind) { return kind == OpKind::AttentionGradK || kind == OpKind::SinkAttentionGradK; }
bool isForValues(OpKind kind) { return kind == OpKind::AttentionGradV || kind == OpKind::SinkAttentionGradV; }

std::int64_t mostQueries(const std::vector<AttentionUnit>& units)
{
    std::int64_t most = 0;
    for (const AttentionUnit& unit : units)
        most = std::max(most, unit.q.box->at(1).size());
    return most;
}

void clear(Launches& launches, Sharded& tensor)
{
    launches.step([runtime = &launches.runtime(), to = &tensor](std::int64_t first, std::int64_t devices) {
        for (std::int64_t device = first; device < first + devices; ++device)
            if (to->elements(device) > 0)
                runtime->set(to->address(device), 0, to->elements(device) * bytesOf(to->element()));
    });
}

} // namespace

std::byte* rowOf(const Sharded& tensor, const AttentionUnit& unit, std::int64_t head, std::int64_t row)
{
    const Box& box = tensor.box(unit.device);
    return tensor.address(unit.device)
        + (headOffset(box, unit.batch, head) + row * box[2].size() * box[3].size()) * bytesOf(tensor.element());
}

std::int64_t strideOf(const Sharded& tensor, std::int64_t device)
{
    const auto& box = tensor.box(device);
    return box.size() < 4 ? 0 : box[2].size() * box[3].size();
}

void addToKeys(Launches& launches, const AttentionCall& attention, const std::vector<AttentionUnit>& units,
               const std::vector<AttentionRows>& rows, std::int64_t first, bool values, Sharded& sums)
{
    std::int64_t mostInGroup = 0;
    for (const AttentionUnit& unit : units)
        mostInGroup = std::max(mostInGroup, unit.inGroup);
    for (std::int64_t inGroup = 0; inGroup <= mostInGroup; ++inGroup) {
        Products products;
        for (std::size_t i = 0; i < units.size(); ++i) {
            const AttentionUnit& unit = units[i];
            if (unit.inGroup != inGroup || rows[i].rows == 0 || rows[i].n == 0)
                continue;
            const Part& right = values ? unit.dy : unit.q;
            Gemm gemm = attention.shape();
            gemm.m = rows[i].n;
            gemm.n = values ? attention.work().valueDim : right.box->at(3).size();
            gemm.k = rows[i].rows;
            gemm.transposeA = true;
            gemm.lda = rows[i].ld;
            gemm.ldb = AttentionCall::stride(right);
            gemm.ldc = strideOf(sums, unit.device);
            gemm.beta = 1;
            products.add(
                unit.device, gemm,
                { rows[i].out.data, attention.head(right, unit.batch, unit.head, first), rowOf(sums, unit, unit.kvHead, 0) });
        }
        launches.multiply(std::move(products));
    }
}

void launchSinkSums(Launches& launches, const std::vector<AttentionUnit>& units, const float* rowValues, Sharded& result)
{
    Table<SumBody::Entry> table;
    std::size_t next = 0;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        for (std::int64_t head = 0; head < result.elements(device); ++head) {
            SumBody::Entry entry;
            entry.out = elementsOf(result, device).from(head);
            entry.write = 1;
            if (next < units.size() && units[next].device == device)
                entry.values = rowValues + units[next].state;
            for (; next < units.size() && units[next].device == device && units[next].head == head; ++next)
                entry.count += units[next].q.box->at(1).size();
            table.add(entry, 1);
        }
        table.endDevice();
    }
    launches.launch(SumBody {}, std::move(table));
}

void launchAttention(Launches& launches, const OpCall& call, Sharded& result)
{
    AttentionCall attention(launches, call, result);
    const auto units = attention.ownUnits();
    Sharded& out =
        attention.element() == Element::F32 && result.element() == Element::BF16 ? launches.like(result, Element::F32) : result;
    const std::int64_t queries = mostQueries(units);
    attention.takeScratch(launches, static_cast<std::int64_t>(units.size()), queries, attention.work().k.shape()[1], false);
    if (launches.planning())
        return;
    for (std::int64_t first = 0; first < queries; first += attention.step()) {
        Products scores;
        Products values;
        const auto table = unitTable<AttentionRows>(units, result.deviceCount(), [&](const AttentionUnit& unit, std::size_t slot) {
            const AttentionRows rows = attention.rowsOf(unit, slot, first);
            attention.addScores(scores, unit, rows, first);
            Gemm gemm = attention.shape();
            gemm.m = rows.rows;
            gemm.n = attention.work().valueDim;
            gemm.k = rows.n;
            gemm.lda = rows.ld;
            gemm.ldb = AttentionCall::stride(unit.v);
            gemm.ldc = strideOf(out, unit.device);
            gemm.halfC = out.element() == Element::BF16;
            if (rows.rows > 0 && rows.n > 0)
                values.add(
                    unit.device, gemm,
                    { rows.out.data, attention.head(unit.v, unit.batch, unit.kvHead, 0), rowOf(out, unit, unit.head, first) });
            return rows;
        });
        ProbabilityBody body;
        body.rule = attention.rule();
        launches.multiply(std::move(scores));
        launches.launch(body, table);
        launches.multiply(std::move(values));
    }
    if (&out != &result)
        launches.convert(out, result);
}

void launchAttentionGradient(Launches& launches, const OpCall& call, Sharded& result)
{
    AttentionCall attention(launches, call, result);
    const bool forQueries = isForQueries(call.kind);
    const bool forKeys = isForKeys(call.kind);
    const bool forValues = isForValues(call.kind);
    const bool forSinks = !forQueries && !forKeys && !forValues;
    const auto units = attention.ownUnits();
    // Products of float32 cannot be written as bfloat16, and sums over many products are kept in float32.
    const bool apart =
        result.element() == Element::BF16 && (forKeys || forValues || (forQueries && attention.element() == Element::F32));
    Sharded& sums = apart ? launches.like(result, Element::F32) : result;
    const std::int64_t queries = mostQueries(units);
    attention.takeScratch(launches, static_cast<std::int64_t>(units.size()), queries, attention.work().k.shape()[1], !forValues);
    std::int64_t states = 0;
    for (const AttentionUnit& unit : units)
        states += unit.q.box->at(1).size();
    float* rowValues = forSinks ? launches.scratch(states) : nullptr;
    if (launches.planning())
        return;
    if (forKeys || forValues)
        clear(launches, sums);
    for (std::int64_t first = 0; first < queries; first += attention.step()) {
        Products scores;
        Products slopes;
        Products gradients;
        std::vector<AttentionRows> all;
        const auto table = unitTable<AttentionRows>(units, result.deviceCount(), [&](const AttentionUnit& unit, std::size_t slot) {
            AttentionRows rows = attention.rowsOf(unit, slot, first);
            attention.addScores(scores, unit, rows, first);
            if (!forValues)
                attention.addSlopes(slopes, unit, rows, first);
            if (forSinks) {
                rows.rowValues = rowValues + unit.state + first;
                rows.out.data = nullptr;
            }
            Gemm gemm = attention.shape();
            gemm.m = rows.rows;
            gemm.n = unit.k.box->at(3).size();
            gemm.k = rows.n;
            gemm.lda = rows.ld;
            gemm.ldb = AttentionCall::stride(unit.k);
            gemm.ldc = strideOf(sums, unit.device);
            gemm.halfC = sums.element() == Element::BF16;
            if (forQueries && rows.rows > 0 && rows.n > 0)
                gradients.add(
                    unit.device, gemm,
                    { rows.out.data, attention.head(unit.k, unit.batch, unit.kvHead, 0), rowOf(sums, unit, unit.head, first) });
            all.push_back(rows);
            return rows;
        });
        launches.multiply(std::move(scores));
        launches.multiply(std::move(slopes));
        if (forValues) {
            ProbabilityBody body;
            body.rule = attention.rule();
            launches.launch(body, table);
        } else {
            ScoreGradientBody body;
            body.rule = attention.rule();
            launches.launch(body, table);
        }
        launches.multiply(std::move(gradients));
        if (forKeys || forValues)
            addToKeys(launches, attention, units, all, first, forValues, sums);
    }
    if (forSinks)
        launchSinkSums(launches, units, rowValues, result);
    if (&sums != &result)
        launches.convert(sums, result);
}

} // namespace shardboard::engine::cuda
