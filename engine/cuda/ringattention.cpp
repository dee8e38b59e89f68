// SPDX-License-Identifier: Apache-2.0
// Attention and its gradients where every device has a range of the sequence: parts go around a ring of devices, and a running
// softmax stands for those that were there already. As engine/executeringattention.cpp does it, with a device's units.
#include "engine/cuda/attentionunits.h"
#include "engine/ringexchange.h"

#include <algorithm>

namespace shardboard::engine::cuda {

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

class Ring {
public:
    Ring(Runtime& runtime, Context& context, const OpCall& call, Sharded& result)
        : m_runtime(runtime)
        , m_context(context)
        , m_call(call)
        , m_result(result)
        , m_base(runtime, context)
        , m_attention(m_base, call, result)
        , m_first(m_attention.work().first)
    {
        Arena none;
        Context here { none, nullptr, 1, {} };
        const RingExchange order(here, call, { m_first + 1 }, RingExchange::Reading::InPlace);
        m_hops = order.hops();
        const Sharded& q = m_attention.work().q;
        std::int64_t states = 0;
        std::int64_t units = 0;
        std::int64_t keys = 1;
        for (std::int64_t device = 0; device < q.deviceCount(); ++device) {
            m_members.emplace_back();
            for (std::int64_t hop = 0; hop < m_hops; ++hop)
                m_members.back().push_back(order.memberAt(device, hop));
            const Box& box = q.box(device);
            m_stateOf.push_back(states);
            states += box[0].size() * box[1].size() * box[2].size();
            m_queries = std::max(m_queries, box[1].size());
            units += box[0].size() * box[2].size();
            keys = std::max(keys, m_attention.work().k.box(device)[1].size());
        }
        m_attention.takeScratch(m_base, units, m_queries, keys, m_first > 0);
        m_highest = m_base.scratch(states);
        m_sum = m_base.scratch(states);
        if (m_first > 0) {
            m_dots = m_base.scratch(states);
            m_rowValues = m_base.scratch(states);
        }
        m_values = m_first > 0 ? &m_base.like(*m_attention.work().dy, Element::F32)
            : result.element() == Element::F32 ? &result
                                               : &m_base.like(result, Element::F32);
        for (RingTransfer& transfer : *call.rings)
            if (!transfer.shared && m_hops > 1)
                m_rooms.push_back(roomFor(transfer));
    }

    Timing forward()
    {
        if (m_base.planning())
            return {};
        Timing timing = m_base.run(m_result.deviceCount());
        timing += attend(true);
        timing += finish();
        return timing;
    }

    Timing backward()
    {
        const OpKind kind = m_call.kind;
        const bool forQueries = kind == OpKind::AttentionGradQ || kind == OpKind::SinkAttentionGradQ;
        const bool forValues = kind == OpKind::AttentionGradV || kind == OpKind::SinkAttentionGradV;
        const bool forSinks = kind == OpKind::SinkAttentionGradS;
        Sharded& sums = forSinks || m_result.element() == Element::F32 ? m_result : m_base.like(m_result, Element::F32);
        if (m_base.planning())
            return {};
        Timing timing = m_base.run(m_result.deviceCount());
        timing += attend(forSinks);
        timing += finish();
        if (forSinks)
            timing += sinks();
        else if (forQueries)
            timing += ofQueries(sums);
        else
            timing += ofKeys(sums, forValues);
        if (&sums != &m_result) {
            Launches last(m_runtime, m_context);
            last.convert(sums, m_result);
            timing += last.run(m_result.deviceCount());
        }
        return timing;
    }

private:
    /// What arrives of an operand, by device.
    struct Room {
        RingTransfer* transfer = nullptr;
        std::vector<std::int64_t> offsets; ///< bytes
        std::byte* memory = nullptr;
    };

    Room roomFor(RingTransfer& transfer)
    {
        const Sharded& tensor = *m_attention.call().operands[transfer.operand];
        Room room;
        room.transfer = &transfer;
        std::int64_t end = 0;
        for (std::int64_t device = 0; device < tensor.deviceCount(); ++device) {
            std::int64_t most = 0;
            for (const std::int64_t member : m_members[at(device)])
                most = std::max(most, tensor.elements(member));
            room.offsets.push_back(end);
            end += (most + 63) / 64 * 64 * bytesOf(tensor.element());
        }
        room.memory = reinterpret_cast<std::byte*>(m_base.scratch((end + 3) / 4));
        return room;
    }

    /// Brings the parts of a hop.
    void go(std::int64_t hop)
    {
        for (Room& room : m_rooms) {
            if (hop == 0)
                continue;
            const Sharded& tensor = *m_attention.call().operands[room.transfer->operand];
            Launches copies(m_runtime, m_context);
            Table<EachBody::Entry> table;
            for (std::int64_t device = 0; device < tensor.deviceCount(); ++device) {
                const std::int64_t owner = m_members[at(device)][at(hop)];
                EachBody::Entry entry;
                entry.a = elementsOf(tensor, owner);
                entry.out = entry.a;
                entry.out.data = room.memory + room.offsets[at(device)];
                entry.count = tensor.elements(owner);
                table.add(entry, tilesOf(entry.count));
                table.endDevice();
            }
            EachBody body;
            if (room.transfer->broken && hop + 1 == m_hops)
                body.kind = Each::Scale; // by zero: what arrives is lost
            copies.launch(body, std::move(table));
            room.transfer->timing += copies.run(tensor.deviceCount());
        }
    }

    Part part(std::int64_t device, std::size_t operand, std::int64_t hop, bool travels, bool inPlace) const
    {
        const Sharded& tensor = *m_attention.call().operands[operand];
        const std::int64_t owner = travels ? m_members[at(device)][at(hop)] : device;
        if (travels && hop > 0 && !inPlace)
            for (const Room& room : m_rooms)
                if (room.transfer->operand == operand)
                    return { room.memory + room.offsets[at(device)], &tensor.box(owner) };
        return { tensor.address(owner), &tensor.box(owner) };
    }

    /// The work of a hop: with own queries on parts of keys and values, or with queries that came on own keys.
    std::vector<AttentionUnit> unitsAt(std::int64_t hop, bool queriesTravel, bool inPlace) const
    {
        const AttentionWork& work = m_attention.work();
        std::vector<AttentionUnit> units;
        for (std::int64_t device = 0; device < work.q.deviceCount(); ++device) {
            const std::int64_t owner = queriesTravel ? m_members[at(device)][at(hop)] : device;
            const Box& q = work.q.box(owner);
            const Part keys = part(device, m_first + 1, hop, !queriesTravel, inPlace);
            if (volumeOf(q) == 0 || volumeOf(*keys.box) == 0)
                continue;
            for (std::int64_t head = 0; head < q[2].size(); ++head)
                for (std::int64_t batch = 0; batch < q[0].size(); ++batch) {
                    AttentionUnit unit;
                    unit.device = device;
                    unit.batch = batch;
                    unit.head = head;
                    unit.q = part(device, m_first, hop, queriesTravel, inPlace);
                    unit.k = keys;
                    unit.v = part(device, m_first + 2, hop, !queriesTravel, inPlace);
                    if (work.dy != nullptr)
                        unit.dy = part(device, 0, hop, queriesTravel, inPlace);
                    unit.kvHead = work.kvHeadOf(q, *keys.box, head);
                    if (unit.kvHead < 0 || unit.kvHead >= keys.box->at(2).size())
                        continue;
                    unit.inGroup = head - work.headsOf(q, *keys.box, unit.kvHead).lo;
                    unit.state = m_stateOf[at(owner)] + (head * q[0].size() + batch) * q[1].size();
                    units.push_back(unit);
                }
        }
        return units;
    }

    void clear(Launches& launches, Sharded& tensor) const
    {
        launches.step([runtime = &m_runtime, to = &tensor](std::int64_t first, std::int64_t devices) {
            for (std::int64_t device = first; device < first + devices; ++device)
                if (to->elements(device) > 0)
                    runtime->set(to->address(device), 0, to->elements(device) * bytesOf(to->element()));
        });
    }

    AttentionRows rowsAt(const AttentionUnit& unit, std::size_t slot, std::int64_t first) const
    {
        AttentionRows rows = m_attention.rowsOf(unit, slot, first);
        rows.highest = m_highest + unit.state + first;
        rows.sum = m_sum + unit.state + first;
        if (m_dots != nullptr)
            rows.dots = m_dots + unit.state + first;
        return rows;
    }

    /// Goes around once: states and the sums over the values.
    Timing attend(bool copied)
    {
        Timing timing;
        const AttentionWork& work = m_attention.work();
        for (std::int64_t hop = 0; hop < m_hops; ++hop) {
            if (copied)
                go(hop);
            const auto units = unitsAt(hop, false, !copied);
            Launches launches(m_runtime, m_context);
            if (hop == 0) {
                clear(launches, *m_values);
                launches.launch(StateBody {}, unitTable<StateBody::Entry>(ownUnits(), m_result.deviceCount(), [&](const AttentionUnit& unit, std::size_t) {
                    StateBody::Entry entry;
                    entry.highest = m_highest + unit.state;
                    entry.sum = m_sum + unit.state;
                    if (work.sinks != nullptr)
                        entry.sink = elementsOf(*work.sinks, unit.device).from(unit.head);
                    entry.rows = unit.q.box->at(1).size();
                    return entry;
                }));
            }
            for (std::int64_t first = 0; first < m_queries; first += m_attention.step()) {
                Products scores;
                Products values;
                auto table = unitTable<AttentionRows>(units, m_result.deviceCount(), [&](const AttentionUnit& unit, std::size_t slot) {
                    AttentionRows rows = rowsAt(unit, slot, first);
                    m_attention.addScores(scores, unit, rows, first);
                    auto* out = reinterpret_cast<float*>(rowOf(*m_values, unit, unit.head, first));
                    rows.result = out;
                    rows.resultStride = strideOf(*m_values, unit.device);
                    rows.valueDim = static_cast<std::int32_t>(work.valueDim);
                    Gemm gemm = m_attention.shape();
                    gemm.m = rows.rows;
                    gemm.n = work.valueDim;
                    gemm.k = rows.n;
                    gemm.lda = rows.ld;
                    gemm.ldb = AttentionCall::stride(unit.v);
                    gemm.ldc = rows.resultStride;
                    gemm.beta = 1;
                    if (rows.rows > 0 && rows.n > 0)
                        values.add(unit.device, gemm, { rows.out.data, m_attention.head(unit.v, unit.batch, unit.kvHead, 0), out });
                    return rows;
                });
                ProbabilityBody body;
                body.rule = m_attention.rule();
                launches.multiply(std::move(scores));
                launches.launch(body, std::move(table));
                launches.multiply(std::move(values));
            }
            timing += launches.run(m_result.deviceCount());
        }
        return timing;
    }

    std::vector<AttentionUnit> ownUnits() const { return unitsAt(0, false, true); }

    /// Forward: the result. For gradients: of every query dy times the result.
    Timing finish()
    {
        const AttentionWork& work = m_attention.work();
        Launches launches(m_runtime, m_context);
        launches.launch(HeadRowBody {}, unitTable<HeadRowBody::Entry>(ownUnits(), m_result.deviceCount(), [&](const AttentionUnit& unit, std::size_t) {
            HeadRowBody::Entry entry;
            entry.result = reinterpret_cast<const float*>(rowOf(*m_values, unit, unit.head, 0));
            entry.resultStride = strideOf(*m_values, unit.device);
            entry.sum = m_sum + unit.state;
            entry.rows = unit.q.box->at(1).size();
            entry.n = work.valueDim;
            if (work.dy == nullptr) {
                entry.out.data = rowOf(m_result, unit, unit.head, 0);
                entry.out.half = m_result.element() == Element::BF16 ? 1 : 0;
                entry.outStride = strideOf(m_result, unit.device);
            } else {
                entry.dots = m_dots + unit.state;
                entry.dy.data = rowOf(*work.dy, unit, unit.head, 0);
                entry.dy.half = work.dy->element() == Element::BF16 ? 1 : 0;
                entry.dyStride = strideOf(*work.dy, unit.device);
            }
            return entry;
        }));
        return launches.run(m_result.deviceCount());
    }

    Timing ofQueries(Sharded& sums)
    {
        Timing timing;
        for (std::int64_t hop = 0; hop < m_hops; ++hop) {
            go(hop);
            const auto units = unitsAt(hop, false, false);
            Launches launches(m_runtime, m_context);
            if (hop == 0)
                clear(launches, sums);
            for (std::int64_t first = 0; first < m_queries; first += m_attention.step()) {
                Products scores;
                Products slopes;
                Products gradients;
                auto table = unitTable<AttentionRows>(units, m_result.deviceCount(), [&](const AttentionUnit& unit, std::size_t slot) {
                    const AttentionRows rows = rowsAt(unit, slot, first);
                    m_attention.addScores(scores, unit, rows, first);
                    m_attention.addSlopes(slopes, unit, rows, first);
                    Gemm gemm = m_attention.shape();
                    gemm.m = rows.rows;
                    gemm.n = unit.k.box->at(3).size();
                    gemm.k = rows.n;
                    gemm.lda = rows.ld;
                    gemm.ldb = AttentionCall::stride(unit.k);
                    gemm.ldc = strideOf(sums, unit.device);
                    gemm.beta = 1;
                    if (rows.rows > 0 && rows.n > 0)
                        gradients.add(unit.device, gemm,
                                      { rows.out.data, m_attention.head(unit.k, unit.batch, unit.kvHead, 0), rowOf(sums, unit, unit.head, first) });
                    return rows;
                });
                ScoreGradientBody body;
                body.rule = m_attention.rule();
                launches.multiply(std::move(scores));
                launches.multiply(std::move(slopes));
                launches.launch(body, std::move(table));
                launches.multiply(std::move(gradients));
            }
            timing += launches.run(m_result.deviceCount());
        }
        return timing;
    }

    /// The softmax's maxima and sums are so small that they are read where they are.
    Timing ofKeys(Sharded& sums, bool values)
    {
        Timing timing;
        for (std::int64_t hop = 0; hop < m_hops; ++hop) {
            go(hop);
            const auto units = unitsAt(hop, true, false);
            Launches launches(m_runtime, m_context);
            if (hop == 0)
                clear(launches, sums);
            for (std::int64_t first = 0; first < m_queries; first += m_attention.step()) {
                Products scores;
                Products slopes;
                std::vector<AttentionRows> all;
                auto table = unitTable<AttentionRows>(units, m_result.deviceCount(), [&](const AttentionUnit& unit, std::size_t slot) {
                    const AttentionRows rows = rowsAt(unit, slot, first);
                    m_attention.addScores(scores, unit, rows, first);
                    if (!values)
                        m_attention.addSlopes(slopes, unit, rows, first);
                    all.push_back(rows);
                    return rows;
                });
                launches.multiply(std::move(scores));
                launches.multiply(std::move(slopes));
                if (values) {
                    ProbabilityBody body;
                    body.rule = m_attention.rule();
                    body.finished = 1;
                    launches.launch(body, std::move(table));
                } else {
                    ScoreGradientBody body;
                    body.rule = m_attention.rule();
                    launches.launch(body, std::move(table));
                }
                addToKeys(launches, m_attention, units, all, first, values, sums);
            }
            timing += launches.run(m_result.deviceCount());
        }
        return timing;
    }

    Timing sinks()
    {
        const auto units = ownUnits();
        Launches launches(m_runtime, m_context);
        ScoreGradientBody body;
        body.rule = m_attention.rule();
        launches.launch(body, unitTable<AttentionRows>(units, m_result.deviceCount(), [&](const AttentionUnit& unit, std::size_t) {
            AttentionRows rows = rowsAt(unit, 0, 0);
            rows.rows = unit.q.box->at(1).size();
            rows.n = 0; // no scores: what is needed of them is in the states
            rows.out.data = nullptr;
            rows.rowValues = m_rowValues + unit.state;
            return rows;
        }));
        launchSinkSums(launches, units, m_rowValues, m_result);
        return launches.run(m_result.deviceCount());
    }

    Runtime& m_runtime;
    Context& m_context;
    const OpCall& m_call;
    Sharded& m_result;
    Launches m_base; ///< its memory lasts as long as the ring
    AttentionCall m_attention;
    std::size_t m_first; ///< number of the queries among the operands
    std::int64_t m_hops = 1;
    std::int64_t m_queries = 0;
    std::vector<std::vector<std::int64_t>> m_members; ///< by device, then by hop
    std::vector<std::int64_t> m_stateOf;
    std::vector<Room> m_rooms;
    float* m_highest = nullptr;
    float* m_sum = nullptr;
    float* m_dots = nullptr;
    float* m_rowValues = nullptr;
    Sharded* m_values = nullptr; ///< sums over the values, float32
};

} // namespace

Timing runRingAttention(Runtime& runtime, Context& context, const OpCall& call, Sharded& result)
{
    Ring ring(runtime, context, call, result);
    return call.kind == OpKind::Attention || call.kind == OpKind::SinkAttention ? ring.forward() : ring.backward();
}

} // namespace shardboard::engine::cuda
