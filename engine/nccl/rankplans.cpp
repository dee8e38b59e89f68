// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/rankplans.h"

#include "engine/machine/failure.h"
#include "engine/machine/index.h"

#include <numeric>

namespace shardboard::engine::nccl {

namespace {

constexpr int kNoColor = -1; // NCCL_SPLIT_NOCOLOR

Call bracket(What what)
{
    Call call;
    call.what = what;
    return call;
}

} // namespace

std::vector<int> ranksOf(const Mesh& mesh, const DeviceRanks& deviceRanks)
{
    std::vector<int> ranks;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        ranks.push_back(deviceRanks.of(mesh, position));
    return ranks;
}

Communicator onRanks(const Communicator& communicator, const std::vector<int>& rankOf, std::size_t ranks)
{
    Communicator out;
    out.axes = communicator.axes;
    out.color.assign(ranks, kNoColor);
    out.key.assign(ranks, 0);
    for (std::size_t position = 0; position < rankOf.size(); ++position) {
        out.color[at(rankOf[position])] = communicator.color[position];
        out.key[at(rankOf[position])] = communicator.key[position];
    }
    for (const auto& group : communicator.groups) {
        out.groups.emplace_back();
        for (const std::int64_t position : group)
            out.groups.back().push_back(rankOf[at(position)]);
    }
    return out;
}

StepPlan onRanks(StepPlan plan, const std::vector<int>& rankOf, std::size_t ranks)
{
    StepPlan out;
    for (const Communicator& communicator : plan.communicators)
        out.communicators.push_back(onRanks(communicator, rankOf, ranks));
    out.ranks.resize(ranks);
    for (std::size_t position = 0; position < rankOf.size(); ++position)
        out.ranks[at(rankOf[position])] = std::move(plan.ranks[position]);
    return out;
}

Communicator everyone(std::size_t ranks)
{
    Communicator out;
    out.color.assign(ranks, 0);
    out.key.resize(ranks);
    std::iota(out.key.begin(), out.key.end(), 0);
    out.groups.emplace_back(ranks);
    std::iota(out.groups.front().begin(), out.groups.front().end(), 0);
    return out;
}

StepPlan planMoves(const Communicator& among, const std::vector<Move>& moves, const std::vector<std::byte*>& bases, Element element)
{
    StepPlan out;
    out.communicators.push_back(among);
    out.ranks.resize(bases.size());
    std::vector<std::vector<Call>> grouped(bases.size());
    const auto offsetOf = [&](Buffer buffer, int rank, const std::byte* address) {
        return BufferOffset { buffer, (address - bases[at(rank)]) / bytesOf(element) };
    };
    for (const Move& move : moves) {
        if (move.count == 0)
            continue;
        const BufferOffset source = offsetOf(Buffer::Before, move.from, move.source);
        const BufferOffset target = offsetOf(Buffer::After, move.to, move.target);
        Call call;
        call.from = source;
        call.to = target;
        if (move.from == move.to) {
            call.region = call.fromBox = call.toBox = { { 0, move.count } };
            out.ranks[at(move.from)].calls.push_back(call);
            continue;
        }
        if (among.color[at(move.from)] != among.color[at(move.to)] || among.color[at(move.to)] == kNoColor)
            throw Failure { "internal",
                            "ranks " + std::to_string(move.from) + " and " + std::to_string(move.to) + " share no communicator",
                            "nccl" };
        call.count = move.count;
        call.communicator = 0;
        call.what = What::Send;
        call.peer = among.key[at(move.to)];
        grouped[at(move.from)].push_back(call);
        call.what = What::Receive;
        call.peer = among.key[at(move.from)];
        grouped[at(move.to)].push_back(call);
    }
    bool any = false;
    for (std::size_t rank = 0; rank < grouped.size(); ++rank) {
        if (grouped[rank].empty())
            continue;
        any = true;
        auto& calls = out.ranks[rank].calls;
        calls.push_back(bracket(What::GroupStart));
        calls.insert(calls.end(), grouped[rank].begin(), grouped[rank].end());
        calls.push_back(bracket(What::GroupEnd));
    }
    if (!any)
        out.communicators.clear(); // none is split for copies alone
    return out;
}

} // namespace shardboard::engine::nccl
