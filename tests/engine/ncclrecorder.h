// SPDX-License-Identifier: Apache-2.0
// A stand-in for NCCL that plays all ranks: it records every rank's calls, then goes through them as the library would, on
// memory of this process, and says what would hang or be undefined there: members of a communicator that call something else or
// with other counts, dtypes, operations or roots, ranks that are in no group of it, memory of another rank's GPU, sends that nobody
// receives, calls outside of their group.
#pragma once

#include "engine/cuda/bodies.h"
#include "engine/nccl/functions.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace shardboard::engine::nccl::test {

class Recorder {
public:
    struct Entry {
        What what = What::Local;
        const void* from = nullptr;
        void* to = nullptr;
        std::size_t count = 0;
        Element element = Element::F32;
        ReduceOp op = ReduceOp::Sum;
        int peer = -1;
        int communicator = -1;
        Call local;
    };
    /// What is called between ncclGroupStart and ncclGroupEnd, or a call on its own.
    using Unit = std::vector<Entry>;

    /// Whether memory is that of a rank's GPU.
    using Owns = std::function<bool(std::size_t rank, const void* memory, std::size_t bytes)>;

    explicit Recorder(const std::vector<Communicator>& communicators, std::size_t ranks, Owns owns = {})
        : m_communicators(communicators)
        , m_units(ranks)
        , m_open(ranks, false)
        , m_owns(std::move(owns))
    {
    }

    Functions functionsOf(std::size_t rank)
    {
        Functions f;
        f.groupStart = [this, rank] { return open(rank); };
        f.groupEnd = [this, rank] { return close(rank); };
        f.allReduce = [this, rank](const void* from, void* to, std::size_t count, Element element, ReduceOp op, int c) {
            return note(rank, { What::AllReduce, from, to, count, element, op, -1, c, {} });
        };
        f.allGather = [this, rank](const void* from, void* to, std::size_t count, Element element, int c) {
            return note(rank, { What::AllGather, from, to, count, element, ReduceOp::Sum, -1, c, {} });
        };
        f.reduceScatter = [this, rank](const void* from, void* to, std::size_t count, Element element, ReduceOp op, int c) {
            return note(rank, { What::ReduceScatter, from, to, count, element, op, -1, c, {} });
        };
        f.reduce = [this, rank](const void* from, void* to, std::size_t count, Element element, ReduceOp op, int root, int c) {
            return note(rank, { What::Reduce, from, to, count, element, op, root, c, {} });
        };
        f.send = [this, rank](const void* from, std::size_t count, Element element, int peer, int c) {
            return note(rank, { What::Send, from, nullptr, count, element, ReduceOp::Sum, peer, c, {} });
        };
        f.receive = [this, rank](void* to, std::size_t count, Element element, int peer, int c) {
            return note(rank, { What::Receive, nullptr, to, count, element, ReduceOp::Sum, peer, c, {} });
        };
        f.local = [this, rank](const Call& call, const void* from, void* to, Element element) {
            if (m_open[rank])
                return std::string("a copy within a group of calls would not wait for them");
            Entry entry { What::Local, from, to, 0, element, ReduceOp::Sum, -1, -1, call };
            m_units[rank].push_back({ entry });
            return std::string();
        };
        return f;
    }

    const std::vector<std::deque<Unit>>& units() const { return m_units; }

    /// Goes through everything. Empty, or what is wrong.
    std::string settle()
    {
        for (std::size_t rank = 0; rank < m_units.size(); ++rank)
            if (m_open[rank])
                return "rank " + std::to_string(rank) + " leaves a group of calls open";
        for (m_moved = true; m_moved;) {
            m_moved = false;
            for (std::size_t rank = 0; rank < m_units.size(); ++rank)
                while (!m_units[rank].empty()) {
                    if (!advance(rank))
                        break;
                    m_moved = true;
                }
            if (!m_wrong.empty())
                return m_wrong;
        }
        for (std::size_t rank = 0; rank < m_units.size(); ++rank)
            if (!m_units[rank].empty())
                return "rank " + std::to_string(rank) + " waits for ever";
        for (const auto& [key, messages] : m_mail)
            if (!messages.empty())
                return "something sent is never received";
        return {};
    }

private:
    using MailKey = std::tuple<int, std::int64_t, std::int64_t>; ///< communicator, sender, receiver

    std::string open(std::size_t rank)
    {
        if (m_open[rank])
            return "a group within a group";
        m_open[rank] = true;
        m_units[rank].emplace_back();
        return {};
    }
    std::string close(std::size_t rank)
    {
        if (!m_open[rank])
            return "a group ends that did not begin";
        m_open[rank] = false;
        return {};
    }
    std::string note(std::size_t rank, const Entry& entry)
    {
        if (entry.count == 0)
            return "a call for nothing";
        if (entry.communicator < 0 || static_cast<std::size_t>(entry.communicator) >= m_communicators.size())
            return "a communicator that is not there";
        if (m_communicators[static_cast<std::size_t>(entry.communicator)].color[rank] < 0)
            return "a rank calls in a communicator that it is not in";
        const auto size = static_cast<int>(
            m_communicators[static_cast<std::size_t>(entry.communicator)].groupOf(static_cast<std::int64_t>(rank)).size());
        const bool hasPeer = entry.what == What::Send || entry.what == What::Receive || entry.what == What::Reduce;
        if (hasPeer && (entry.peer < 0 || entry.peer >= size))
            return "a peer outside of the communicator";
        const std::size_t bytes = entry.count * static_cast<std::size_t>(bytesOf(entry.element));
        const std::size_t members = static_cast<std::size_t>(size);
        const bool reads = entry.what != What::Receive;
        const bool writes = entry.what != What::Send;
        if (m_owns && reads && !m_owns(rank, entry.from, entry.what == What::ReduceScatter ? bytes * members : bytes))
            return "values are taken from memory of another GPU";
        if (m_owns && writes && !m_owns(rank, entry.to, entry.what == What::AllGather ? bytes * members : bytes))
            return "values are put into memory of another GPU";
        if (m_open[rank])
            m_units[rank].back().push_back(entry);
        else
            m_units[rank].push_back({ entry });
        return {};
    }
    std::int64_t memberOf(const Entry& entry, std::size_t rank, int key) const
    {
        return m_communicators[static_cast<std::size_t>(entry.communicator)].groupOf(
            static_cast<std::int64_t>(rank))[static_cast<std::size_t>(key)];
    }

    bool advance(std::size_t rank)
    {
        Unit& unit = m_units[rank].front();
        if (unit.front().what == What::Local) {
            const Entry& e = unit.front();
            copyRegion(e.local.region, e.local.fromBox, static_cast<const float*>(e.from), e.local.toBox, static_cast<float*>(e.to),
                       e.local.combine);
            m_units[rank].pop_front();
            return true;
        }
        const bool messages =
            std::all_of(unit.begin(), unit.end(), [](const Entry& e) { return e.what == What::Send || e.what == What::Receive; });
        return messages ? advanceMessages(rank, unit) : advanceCollectives(rank, unit);
    }

    bool advanceMessages(std::size_t rank, Unit& unit)
    {
        for (auto it = unit.begin(); it != unit.end();) {
            const auto me = static_cast<std::int64_t>(rank);
            const std::int64_t other = memberOf(*it, rank, it->peer);
            if (it->what == What::Send) {
                const auto* data = static_cast<const std::byte*>(it->from);
                m_mail[{ it->communicator, me, other }].push_back({ { data, data + bytesIn(*it) }, it->element });
            } else {
                auto& box = m_mail[{ it->communicator, other, me }];
                if (box.empty()) {
                    ++it;
                    continue;
                }
                if (box.front().bytes.size() != bytesIn(*it) || box.front().element != it->element) {
                    m_wrong = "rank " + std::to_string(rank) + " receives another count or dtype than is sent";
                    return false;
                }
                std::copy(box.front().bytes.begin(), box.front().bytes.end(), static_cast<std::byte*>(it->to));
                box.pop_front();
            }
            it = unit.erase(it);
            m_moved = true;
        }
        if (!unit.empty())
            return false;
        m_units[rank].pop_front();
        return m_wrong.empty();
    }

    /// All members have to be there with the same calls.
    bool advanceCollectives(std::size_t rank, const Unit& unit)
    {
        const Communicator& communicator = m_communicators[static_cast<std::size_t>(unit.front().communicator)];
        const auto members = communicator.groupOf(static_cast<std::int64_t>(rank));
        for (const std::int64_t member : members) {
            const auto& queue = m_units[static_cast<std::size_t>(member)];
            if (queue.empty() || queue.front().front().what == What::Local)
                return false;
            const Unit& theirs = queue.front();
            const auto same = [&](const Entry& a, const Entry& b) {
                return a.what == b.what && a.count == b.count && a.element == b.element && a.op == b.op && a.peer == b.peer
                    && a.communicator == b.communicator;
            };
            if (theirs.size() != unit.size() || !std::equal(unit.begin(), unit.end(), theirs.begin(), same)) {
                m_wrong = "ranks " + std::to_string(rank) + " and " + std::to_string(member)
                    + " call different things in one communicator";
                return false;
            }
        }
        for (std::size_t i = 0; i < unit.size(); ++i)
            run(members, i);
        for (const std::int64_t member : members)
            m_units[static_cast<std::size_t>(member)].pop_front();
        return true;
    }

    static std::size_t bytesIn(const Entry& entry) { return entry.count * static_cast<std::size_t>(bytesOf(entry.element)); }
    static cuda::Elements elementsAt(const void* memory, Element element)
    {
        cuda::Elements out;
        out.data = const_cast<void*>(memory);
        out.half = element == Element::BF16 ? 1 : 0;
        return out;
    }

    void run(const std::vector<std::int64_t>& members, std::size_t index)
    {
        std::vector<Entry> entries;
        for (const std::int64_t member : members)
            entries.push_back(m_units[static_cast<std::size_t>(member)].front()[index]);
        const Entry& first = entries.front();
        const std::size_t parts = first.what == What::ReduceScatter || first.what == What::AllGather ? members.size() : 1;
        std::vector<float> all(first.count * parts);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (first.what == What::AllGather) {
                all[i] = elementsAt(entries[i / first.count].from, first.element).at(static_cast<std::int64_t>(i % first.count));
                continue;
            }
            all[i] = elementsAt(first.from, first.element).at(static_cast<std::int64_t>(i));
            for (std::size_t m = 1; m < entries.size(); ++m) {
                const float value = elementsAt(entries[m].from, first.element).at(static_cast<std::int64_t>(i));
                all[i] = first.op == ReduceOp::Max ? std::max(all[i], value) : all[i] + value;
            }
        }
        for (std::size_t m = 0; m < entries.size(); ++m) {
            if (first.what == What::Reduce && static_cast<int>(m) != first.peer)
                continue;
            const std::size_t begin = first.what == What::ReduceScatter ? m * first.count : 0;
            const std::size_t count = first.what == What::ReduceScatter ? first.count : all.size();
            cuda::Elements to = elementsAt(entries[m].to, first.element);
            for (std::size_t i = 0; i < count; ++i)
                to.set(static_cast<std::int64_t>(i), all[begin + i]);
        }
    }

    struct Message {
        std::vector<std::byte> bytes;
        Element element;
    };
    const std::vector<Communicator>& m_communicators;
    std::vector<std::deque<Unit>> m_units;
    std::vector<bool> m_open;
    Owns m_owns;
    std::map<MailKey, std::deque<Message>> m_mail;
    std::string m_wrong;
    bool m_moved = false;
};

} // namespace shardboard::engine::nccl::test
