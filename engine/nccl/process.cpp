// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/process.h"

#include "engine/machine/failure.h"

#include <algorithm>

namespace shardboard::engine::nccl {

std::vector<Turn> turnsOf(const StepPlan& plan)
{
    std::vector<Turn> turns;
    std::vector<std::size_t> next(plan.ranks.size(), 0);
    const auto callsOf = [&](std::size_t rank) -> const std::vector<Call>& { return plan.ranks[rank].calls; };
    for (bool more = true; more;) {
        Turn copies;
        Turn group { true, {} };
        for (std::size_t rank = 0; rank < next.size(); ++rank) {
            const std::vector<Call>& calls = callsOf(rank);
            const auto number = static_cast<std::int64_t>(rank);
            for (; next[rank] < calls.size() && calls[next[rank]].what == What::Local; ++next[rank])
                copies.calls.emplace_back(number, calls[next[rank]]);
            if (next[rank] == calls.size())
                continue;
            if (calls[next[rank]].what != What::GroupStart) {
                group.calls.emplace_back(number, calls[next[rank]++]);
                continue;
            }
            for (++next[rank]; next[rank] < calls.size() && calls[next[rank]].what != What::GroupEnd; ++next[rank])
                group.calls.emplace_back(number, calls[next[rank]]);
            ++next[rank];
        }
        more = !copies.calls.empty() || !group.calls.empty();
        if (!copies.calls.empty())
            turns.push_back(std::move(copies));
        if (!group.calls.empty())
            turns.push_back(std::move(group));
    }
    return turns;
}

Process::Process(std::vector<Functions> ranks, Split split)
    : m_ranks(std::move(ranks))
    , m_split(std::move(split))
{
    while (m_first + 1 < m_ranks.size() && !isOwn(m_first))
        ++m_first;
}

namespace {

/// What it says counts no more.
void endAfterError(const Functions& functions)
{
    try {
        (void)functions.groupEnd();
    } catch (const Stopped&) { // the error is what is told
    }
}

} // namespace

/// By who is with whom: mesh axes of other names may span the same groups.
int Process::numberOf(const Communicator& communicator)
{
    const auto known =
        std::find_if(m_known.begin(), m_known.end(), [&](const Known& k) { return k.groups == communicator.groups; });
    if (known != m_known.end())
        return known->number;
    int number = 0;
    if (const std::string error = m_split(communicator, number); !error.empty())
        throw Failure { "internal", "ncclCommSplit: " + error, "nccl" };
    m_known.push_back({ communicator.groups, number });
    return number;
}

void Process::reshard(const StepPlan& plan, const std::vector<Buffers>& buffers)
{
    if (plan.ranks.size() != m_ranks.size() || buffers.size() != m_ranks.size())
        throw Failure { "internal",
                        "a step of " + std::to_string(plan.ranks.size()) + " ranks for " + std::to_string(m_ranks.size()) + " GPUs",
                        "nccl" };
    std::vector<int> numbers;
    for (const Communicator& communicator : plan.communicators)
        numbers.push_back(numberOf(communicator));
    const auto check = [](const std::string& error) {
        if (!error.empty())
            throw Failure { "internal", "a group of calls of NCCL: " + error, "nccl" };
    };
    const Functions& first = m_ranks[m_first];
    for (Turn& turn : turnsOf(plan)) {
        std::erase_if(turn.calls, [&](const auto& each) { return !isOwn(static_cast<std::size_t>(each.first)); });
        if (turn.calls.empty())
            continue;
        if (turn.grouped)
            check(first.groupStart());
        try {
            for (auto [rank, call] : turn.calls) {
                if (call.communicator >= 0)
                    call.communicator = numbers[static_cast<std::size_t>(call.communicator)];
                RankPlan one;
                one.calls.push_back(std::move(call));
                execute(one, m_ranks[static_cast<std::size_t>(rank)], buffers[static_cast<std::size_t>(rank)]);
            }
        } catch (...) {
            if (turn.grouped) // in an open group whatever comes after would wait for its end
                endAfterError(first);
            throw;
        }
        if (turn.grouped)
            check(first.groupEnd());
    }
}

} // namespace shardboard::engine::nccl
