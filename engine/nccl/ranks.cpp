// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/ranks.h"

#include "engine/cuda/exchange.h"

namespace shardboard::engine::nccl {

namespace {

std::int64_t bytesAt(const Sharded& tensor, std::int64_t rank) { return tensor.elements(rank) * bytesOf(tensor.element()); }

} // namespace

std::string copyOn(cuda::Runtime& gpu, const Call& call, const void* from, void* to, Element element)
{
    if (volumeOf(call.region) > 0)
        cuda::launchExchange(gpu, cuda::copyLaunch(call.region, call.fromBox, from, call.toBox, to, element, call.combine));
    return {};
}

Ranks::Ranks(const std::vector<cuda::Runtime*>& gpus, Process& process)
    : m_gpus(gpus)
    , m_process(process)
{
}

Ranks::Held Ranks::room(const Sharded& tensor)
{
    constexpr int kOfNaN = 0xff;
    Held out;
    for (std::size_t rank = 0; rank < m_gpus.size(); ++rank) {
        const std::int64_t bytes = std::max<std::int64_t>(1, bytesAt(tensor, static_cast<std::int64_t>(rank)));
        out.shards.push_back(m_gpus[rank]->allocate(bytes));
        m_gpus[rank]->set(out.shards.back(), kOfNaN, bytes);
    }
    return out;
}

Ranks::Held Ranks::upload(const Sharded& tensor)
{
    Held out = room(tensor);
    for (std::size_t rank = 0; rank < m_gpus.size(); ++rank)
        if (const std::int64_t bytes = bytesAt(tensor, static_cast<std::int64_t>(rank)); bytes > 0)
            m_gpus[rank]->copy(out.shards[rank], m_gpus[rank]->table(tensor.address(static_cast<std::int64_t>(rank)), bytes),
                               bytes);
    return out;
}

void Ranks::download(const Held& held, Sharded& tensor)
{
    for (std::size_t rank = 0; rank < m_gpus.size(); ++rank)
        if (const std::int64_t bytes = bytesAt(tensor, static_cast<std::int64_t>(rank)); bytes > 0)
            m_gpus[rank]->download(tensor.address(static_cast<std::int64_t>(rank)), held.shards[rank], bytes);
}

void Ranks::release(Held& held)
{
    for (std::size_t rank = 0; rank < held.shards.size(); ++rank)
        m_gpus[rank]->release(held.shards[rank]);
    held.shards.clear();
}

void Ranks::reshard(const ReshardStep& step, const Sharded& before, const Held& from, const Sharded& after, const Held& to,
                    const std::string& where)
{
    const StepPlan plan = planStep(step, before, after, where);
    std::vector<Buffers> buffers;
    for (std::size_t rank = 0; rank < m_gpus.size(); ++rank) {
        const std::int64_t staging = std::max<std::int64_t>(1, plan.ranks[rank].staging * bytesOf(before.element()));
        buffers.push_back({ from.shards[rank], to.shards[rank], m_gpus[rank]->allocate(staging), before.element() });
    }
    m_process.reshard(plan, buffers);
    for (std::size_t rank = 0; rank < m_gpus.size(); ++rank) {
        m_gpus[rank]->wait();
        m_gpus[rank]->release(buffers[rank].staging);
    }
}

} // namespace shardboard::engine::nccl
