// SPDX-License-Identifier: Apache-2.0
// Attention and its gradients where every device has a range of the sequence: parts go around a ring of devices, and a running
// softmax stands for those that were there already. As engine/ops/executeringattention.cpp does it, with a device's units. Round by
// round: on one GPU with all devices parts are copied, or read where they lie; on a GPU for every device they arrive before a
// round.
#include "engine/cuda/attentionunits.h"
#include "engine/cuda/preparedop.h"
#include "engine/machine/index.h"
#include "engine/ops/attention/ringexchange.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace shardboard::engine::cuda {

namespace {

class Ring : public PreparedOp {
public:
    Ring(Runtime& runtime, Context& context, int rank, const OpCall& call, Sharded& result, const PartOf* part)
        : m_runtime(runtime)
        , m_context(context)
        , m_all(part != nullptr ? part->all : call)
        , m_apart(part != nullptr)
        , m_result(result)
        , m_base(runtime, context, rank)
        , m_attention(m_base, call, result)
        , m_first(m_attention.work().first)
    {
        Arena none;
        Context here { none, context.executor, nullptr, 1, {} };
        const RingExchange order(here, m_all, { m_first + 1 }, RingExchange::Reading::InPlace);
        m_hops = order.hops();
        const Sharded& all = *m_all.operands[m_first];
        std::int64_t states = 0;
        std::int64_t units = 0;
        std::int64_t keys = 1;
        for (std::int64_t device = 0; device < all.deviceCount(); ++device) {
            const Box& box = all.box(device);
            const std::int64_t own = box[0].size() * box[1].size() * box[2].size();
            m_queries = std::max(m_queries, box[1].size());
            keys = std::max(keys, m_all.operands[m_first + 1]->box(device)[1].size());
            if (m_apart) { // enough for the queries of every device that may come
                units = std::max(units, box[0].size() * box[2].size());
                states = std::max(states, own);
                continue;
            }
            m_stateOf.push_back(states);
            states += own;
            units += box[0].size() * box[2].size();
        }
        for (std::int64_t device = 0; device < m_result.deviceCount(); ++device) {
            m_members.emplace_back();
            for (std::int64_t hop = 0; hop < m_hops; ++hop)
                m_members.back().push_back(order.memberAt(m_apart ? part->device : device, hop));
        }
        m_attention.takeScratch(m_base, units, m_queries, keys, m_first > 0);
        m_states = takeStates(states);
        if (m_first > 0)
            m_rowValues = m_base.scratch(states);
        m_values = m_first > 0                 ? &m_base.like(*m_attention.work().dy, Element::F32)
            : result.element() == Element::F32 ? &result
                                               : &m_base.like(result, Element::F32);
        const OpKind kind = call.kind;
        const bool forward = kind == OpKind::Attention || kind == OpKind::SinkAttention;
        const bool forSinks = kind == OpKind::SinkAttentionGradS;
        Sharded& sums = forward || forSinks || result.element() == Element::F32 ? result : m_base.like(result, Element::F32);
        const bool forQueries = kind == OpKind::AttentionGradQ || kind == OpKind::SinkAttentionGradQ;
        const bool forValues = kind == OpKind::AttentionGradV || kind == OpKind::SinkAttentionGradV;
        if (!m_apart)
            for (RingTransfer& transfer : *call.rings)
                if (!transfer.shared && m_hops > 1)
                    m_rooms.push_back(roomFor(transfer));
        const std::vector<std::size_t> keysAndValues { m_first + 1, m_first + 2 };
        const std::vector<std::size_t> queries { m_first, 0 };
        if (m_apart && m_hops > 1) {
            for (const std::size_t operand : keysAndValues)
                m_rooms.push_back(roomFor(operand));
            for (const std::size_t operand : queries)
                if (!forward && !forQueries && !forSinks)
                    m_rooms.push_back(roomFor(operand));
            if (!forward && !forQueries && !forSinks)
                m_cameStates = takeStates(states);
        }
        if (m_base.planning())
            return;

        m_rounds.push_back({ {}, {} }); // what the base was asked for
        const bool counted = forward || forSinks;
        for (std::int64_t hop = 0; hop < m_hops; ++hop)
            m_rounds.push_back({ arrivalOf(hop, keysAndValues, false, counted), [this, hop, counted] { attend(hop, counted); } });
        m_rounds.push_back({ {}, [this] { finish(); } });
        if (forSinks)
            m_rounds.push_back({ {}, [this] { sinks(); } });
        for (std::int64_t hop = 0; hop < m_hops && !forward && !forSinks; ++hop)
            if (forQueries)
                m_rounds.push_back(
                    { arrivalOf(hop, keysAndValues, false, true), [this, hop, to = &sums] { ofQueries(hop, *to); } });
            else
                m_rounds.push_back(
                    { arrivalOf(hop, queries, true, true), [this, hop, forValues, to = &sums] { ofKeys(hop, *to, forValues); } });
        if (&sums != &result)
            m_rounds.push_back({ {}, [this, from = &sums] { m_now->convert(*from, m_result); } });
    }

    std::size_t rounds() const override { return m_rounds.size(); }
    Arrival arrival(std::size_t round) const override { return m_rounds[round].arrival; }
    Launches& round(std::size_t number) override
    {
        if (number == 0)
            return m_base;
        m_now.emplace(m_runtime, m_context, m_base.rank());
        m_rounds[number].work();
        return *m_now;
    }
    Values own(std::size_t operand) const override
    {
        const Sharded& tensor = *m_attention.call().operands[operand];
        return { tensor.address(0), tensor.elements(0), tensor.element() };
    }
    Values room(std::size_t operand) const override
    {
        for (const Room& room : m_rooms)
            if (room.operand == operand)
                return { room.memory, 0, m_attention.call().operands[operand]->element() };
        return {};
    }
    std::vector<Values> ownStates() const override { return valuesOf(m_states); }
    std::vector<Values> stateRooms() const override { return valuesOf(m_cameStates); }
    void bringHere(std::size_t round) override
    {
        if (m_rounds[round].arrival.counted)
            go(m_rounds[round].arrival.hop);
    }

private:
    struct Round {
        Arrival arrival;
        std::function<void()> work; ///< into m_now
    };
    /// Of the softmax, for queries.
    struct States {
        std::int64_t count = 0;
        float* highest = nullptr;
        float* sum = nullptr;
        float* dots = nullptr; ///< of gradients
    };
    /// What arrives of an operand, by device.
    struct Room {
        std::size_t operand = 0;
        RingTransfer* transfer = nullptr; ///< null where it is brought by others
        std::vector<std::int64_t> offsets; ///< bytes
        std::byte* memory = nullptr;
    };

    States takeStates(std::int64_t count)
    {
        States out;
        out.count = count;
        out.highest = m_base.scratch(count);
        out.sum = m_base.scratch(count);
        if (m_first > 0)
            out.dots = m_base.scratch(count);
        return out;
    }
    std::vector<Values> valuesOf(const States& states) const
    {
        std::vector<Values> out;
        for (float* values : { states.highest, states.sum, states.dots })
            if (values != nullptr)
                out.push_back({ reinterpret_cast<std::byte*>(values), statesAt(0, 0), Element::F32 });
        return out;
    }
    /// How many the device has with the queries of a hop.
    std::int64_t statesAt(std::int64_t device, std::int64_t hop) const
    {
        const Box& box = m_all.operands[m_first]->box(m_members[at(device)][at(hop)]);
        return box[0].size() * box[1].size() * box[2].size();
    }

    Arrival arrivalOf(std::int64_t hop, const std::vector<std::size_t>& operands, bool states, bool counted) const
    {
        return hop == 0 ? Arrival {} : Arrival { hop, operands, states, counted };
    }

    /// For the parts of any member, of the one device of this GPU.
    Room roomFor(std::size_t operand)
    {
        const Sharded& tensor = *m_all.operands[operand];
        std::int64_t most = 0;
        for (const std::int64_t member : m_members[0])
            most = std::max(most, tensor.elements(member));
        Room room { operand, nullptr, { 0 }, nullptr };
        room.memory = reinterpret_cast<std::byte*>(m_base.scratch((most * bytesOf(m_attention.element()) + 3) / 4));
        return room;
    }

    Room roomFor(RingTransfer& transfer)
    {
        const Sharded& tensor = *m_attention.call().operands[transfer.operand];
        Room room;
        room.operand = transfer.operand;
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
            const Sharded& tensor = *m_attention.call().operands[room.transfer->operand];
            Launches copies(m_runtime, m_context, m_base.rank());
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
        if (!travels || hop == 0)
            return { tensor.address(device), &tensor.box(device) };
        const std::int64_t owner = m_members[at(device)][at(hop)];
        const Box& box = m_all.operands[operand]->box(owner);
        if (!inPlace || m_apart)
            for (const Room& room : m_rooms)
                if (room.operand == operand)
                    return { room.memory + room.offsets[at(device)], &box };
        return { tensor.address(owner), &box };
    }

    /// The work of a hop: with own queries on parts of keys and values, or with queries that came on own keys.
    std::vector<AttentionUnit> unitsAt(std::int64_t hop, bool queriesTravel, bool inPlace) const
    {
        const AttentionWork& work = m_attention.work();
        std::vector<AttentionUnit> units;
        for (std::int64_t device = 0; device < work.q.deviceCount(); ++device) {
            const Part queries = part(device, m_first, hop, queriesTravel, inPlace);
            const Box& q = *queries.box;
            const Part keys = part(device, m_first + 1, hop, !queriesTravel, inPlace);
            if (volumeOf(q) == 0 || volumeOf(*keys.box) == 0)
                continue;
            for (std::int64_t head = 0; head < q[2].size(); ++head)
                for (std::int64_t batch = 0; batch < q[0].size(); ++batch) {
                    AttentionUnit unit;
                    unit.device = device;
                    unit.batch = batch;
                    unit.head = head;
                    unit.q = queries;
                    unit.k = keys;
                    unit.v = part(device, m_first + 2, hop, !queriesTravel, inPlace);
                    if (work.dy != nullptr)
                        unit.dy = part(device, 0, hop, queriesTravel, inPlace);
                    unit.kvHead = work.kvHeadOf(q, *keys.box, head);
                    if (unit.kvHead < 0 || unit.kvHead >= keys.box->at(2).size())
                        continue;
                    unit.inGroup = head - work.headsOf(q, *keys.box, unit.kvHead).lo;
                    unit.state = firstState(device, queriesTravel ? hop : 0) + (head * q[0].size() + batch) * q[1].size();
                    units.push_back(unit);
                }
        }
        return units;
    }

    /// On a GPU of its own a device has its states, and those that came, from the beginning.
    std::int64_t firstState(std::int64_t device, std::int64_t hop) const
    {
        return m_apart ? 0 : m_stateOf[at(m_members[at(device)][at(hop)])];
    }

    void clear(Launches& launches, Sharded& tensor) const
    {
        launches.step([runtime = &m_runtime, to = &tensor](std::int64_t first, std::int64_t devices) {
            for (std::int64_t device = first; device < first + devices; ++device)
                if (to->elements(device) > 0)
                    runtime->set(to->address(device), 0, to->elements(device) * bytesOf(to->element()));
        });
    }

    AttentionRows rowsAt(const AttentionUnit& unit, std::size_t slot, std::int64_t first, bool came = false) const
    {
        const States& states = came ? m_cameStates : m_states;
        AttentionRows rows = m_attention.rowsOf(unit, slot, first);
        rows.highest = states.highest + unit.state + first;
        rows.sum = states.sum + unit.state + first;
        if (states.dots != nullptr)
            rows.dots = states.dots + unit.state + first;
        return rows;
    }

    /// Once around: states and the sums over the values.
    void attend(std::int64_t hop, bool copied)
    {
        const AttentionWork& work = m_attention.work();
        const auto units = unitsAt(hop, false, !copied);
        Launches& launches = *m_now;
        if (hop == 0) {
            clear(launches, *m_values);
            launches.launch(
                StateBody {},
                unitTable<StateBody::Entry>(ownUnits(), m_result.deviceCount(), [&](const AttentionUnit& unit, std::size_t) {
                    StateBody::Entry entry;
                    entry.highest = m_states.highest + unit.state;
                    entry.sum = m_states.sum + unit.state;
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
    }

    std::vector<AttentionUnit> ownUnits() const { return unitsAt(0, false, true); }

    /// Forward: the result. For gradients: of every query dy times the result.
    void finish()
    {
        const AttentionWork& work = m_attention.work();
        Launches& launches = *m_now;
        launches.launch(
            HeadRowBody {},
            unitTable<HeadRowBody::Entry>(ownUnits(), m_result.deviceCount(), [&](const AttentionUnit& unit, std::size_t) {
                HeadRowBody::Entry entry;
                entry.result = reinterpret_cast<const float*>(rowOf(*m_values, unit, unit.head, 0));
                entry.resultStride = strideOf(*m_values, unit.device);
                entry.sum = m_states.sum + unit.state;
                entry.rows = unit.q.box->at(1).size();
                entry.n = work.valueDim;
                if (work.dy == nullptr) {
                    entry.out.data = rowOf(m_result, unit, unit.head, 0);
                    entry.out.half = m_result.element() == Element::BF16 ? 1 : 0;
                    entry.outStride = strideOf(m_result, unit.device);
                } else {
                    entry.dots = m_states.dots + unit.state;
                    entry.dy.data = rowOf(*work.dy, unit, unit.head, 0);
                    entry.dy.half = work.dy->element() == Element::BF16 ? 1 : 0;
                    entry.dyStride = strideOf(*work.dy, unit.device);
                }
                return entry;
            }));
    }

    void ofQueries(std::int64_t hop, Sharded& sums)
    {
        const auto units = unitsAt(hop, false, false);
        Launches& launches = *m_now;
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
                                  { rows.out.data, m_attention.head(unit.k, unit.batch, unit.kvHead, 0),
                                    rowOf(sums, unit, unit.head, first) });
                return rows;
            });
            ScoreGradientBody body;
            body.rule = m_attention.rule();
            launches.multiply(std::move(scores));
            launches.multiply(std::move(slopes));
            launches.launch(body, std::move(table));
            launches.multiply(std::move(gradients));
        }
    }

    /// On one GPU the softmax's maxima and sums are read where they are.
    void ofKeys(std::int64_t hop, Sharded& sums, bool values)
    {
        const auto units = unitsAt(hop, true, false);
        Launches& launches = *m_now;
        if (hop == 0)
            clear(launches, sums);
        for (std::int64_t first = 0; first < m_queries; first += m_attention.step()) {
            Products scores;
            Products slopes;
            std::vector<AttentionRows> all;
            auto table = unitTable<AttentionRows>(units, m_result.deviceCount(), [&](const AttentionUnit& unit, std::size_t slot) {
                const AttentionRows rows = rowsAt(unit, slot, first, m_apart && hop > 0);
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
    }

    void sinks()
    {
        const auto units = ownUnits();
        Launches& launches = *m_now;
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
    }

    Runtime& m_runtime;
    Context& m_context;
    const OpCall& m_all; ///< the same operation on all devices
    bool m_apart; ///< works for one device of several
    Sharded& m_result;
    Launches m_base; ///< its memory lasts as long as the ring
    AttentionCall m_attention;
    std::size_t m_first; ///< number of the queries among the operands
    std::int64_t m_hops = 1;
    std::int64_t m_queries = 0;
    std::vector<std::vector<std::int64_t>> m_members; ///< by device, then by hop
    std::vector<std::int64_t> m_stateOf;
    std::vector<Room> m_rooms;
    States m_states;
    States m_cameStates;
    float* m_rowValues = nullptr;
    Sharded* m_values = nullptr; ///< sums over the values, float32
    std::vector<Round> m_rounds;
    std::optional<Launches> m_now;
};

} // namespace

std::unique_ptr<PreparedOp> prepareRingAttention(Runtime& runtime, Context& context, int rank, const OpCall& call, Sharded& result,
                                                 const PartOf* part)
{
    return std::make_unique<Ring>(runtime, context, rank, call, result, part);
}

} // namespace shardboard::engine::cuda
