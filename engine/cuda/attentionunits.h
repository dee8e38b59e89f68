// SPDX-License-Identifier: Apache-2.0
// Attention on a device as matrix products with work on rows between them. A unit is a query head of a sequence on a logical
// device; all units are worked on at once, some of their queries at a time, so that the scores of few queries exist.
#pragma once

#include "engine/cuda/launches.h"
#include "engine/ops/attention/attentionwork.h"

#include <optional>
#include <vector>

namespace shardboard::engine::cuda {

/// Keys, values or queries that units work on: a device's own, or what came to it.
struct Part {
    const std::byte* data = nullptr;
    const Box* box = nullptr;
};

struct AttentionUnit {
    std::int64_t device = 0;
    std::int64_t batch = 0;
    std::int64_t head = 0; ///< of the queries, local
    std::int64_t kvHead = 0; ///< local to the keys that it works on
    std::int64_t inGroup = 0; ///< which of the query heads of its KV head it is
    Part q, k, v, dy;
    std::int64_t state = 0; ///< where its running maxima and sums begin
};

/// Operands of one kind of element, and the scratch memory of a call.
class AttentionCall {
public:
    /// `units` and `queries`: the most units of all devices together and the most queries of one.
    AttentionCall(Launches& launches, const OpCall& call, const Sharded& result);

    /// Its operands as products can read them.
    const OpCall& call() const { return m_call; }
    const AttentionWork& work() const { return *m_work; }
    Element element() const { return m_element; }
    AttentionRule rule() const;

    /// All query heads with the parts that devices have themselves.
    std::vector<AttentionUnit> ownUnits() const;
    /// Memory for the scores of so many queries of all units; `slopes` for gradients.
    void takeScratch(Launches& launches, std::int64_t units, std::int64_t queries, std::int64_t keys, bool slopes);
    std::int64_t step() const { return m_step; }

    /// The rows [first, first + step) of a unit, filled but for what only some calls need.
    AttentionRows rowsOf(const AttentionUnit& unit, std::size_t slot, std::int64_t first) const;
    AttentionBlock block(const AttentionUnit& unit) const { return m_work->block(*unit.q.box, *unit.k.box, 0); }

    /// Where row `row` of a head begins.
    const std::byte* head(const Part& part, std::int64_t batch, std::int64_t head, std::int64_t row) const;
    static std::int64_t stride(const Part& part) { return part.box->at(2).size() * part.box->at(3).size(); }

    /// scores = scale q kT, and for gradients slopes = dy vT.
    void addScores(Products& products, const AttentionUnit& unit, const AttentionRows& rows, std::int64_t first) const;
    void addSlopes(Products& products, const AttentionUnit& unit, const AttentionRows& rows, std::int64_t first) const;
    Gemm shape() const;

private:
    OpCall m_call;
    std::optional<AttentionWork> m_work;
    Element m_element = Element::F32;
    std::int64_t m_step = 1;
    std::int64_t m_ld = 0;
    float* m_scores = nullptr;
    float* m_slopes = nullptr;
    float* m_narrow = nullptr; ///< probabilities in bfloat16
};

/// A table with an entry for every unit, in order of the devices.
template <class Entry, class Make>
Table<Entry> unitTable(const std::vector<AttentionUnit>& units, std::int64_t devices, Make make)
{
    Table<Entry> table;
    std::size_t next = 0;
    for (std::int64_t device = 0; device < devices; ++device) {
        for (; next < units.size() && units[next].device == device; ++next) {
            const Entry entry = make(units[next], next);
            table.add(entry, entry.rows);
        }
        table.endDevice();
    }
    return table;
}

/// Where a row of a head begins in the device's own shard of a tensor [B,S,h,d], and the distance of its rows in elements.
std::byte* rowOf(const Sharded& tensor, const AttentionUnit& unit, std::int64_t head, std::int64_t row);
/// 0 for one without heads, as the gradient of sinks.
std::int64_t strideOf(const Sharded& tensor, std::int64_t device);

/// For keys and values: the query heads of a KV head add to the same rows, one after the other.
void addToKeys(Launches& launches, const AttentionCall& attention, const std::vector<AttentionUnit>& units,
               const std::vector<AttentionRows>& rows, std::int64_t first, bool values, Sharded& sums);
/// The gradients of sinks from those of the rows; units are in the order of devices, heads and sequences.
void launchSinkSums(Launches& launches, const std::vector<AttentionUnit>& units, const float* rowValues, Sharded& result);

} // namespace shardboard::engine::cuda
