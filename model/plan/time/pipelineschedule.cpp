// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/pipelineschedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace shardboard {

namespace {

struct OrderedPass : PipelinePass {
    bool pairs = false; ///< made at the same time as the next one: what both make is there when both are over
};
using Order = std::vector<OrderedPass>; ///< of a stage

/// Some passes forward ahead, then one of each in turn, then what is left backward.
Order oneForwardOneBackward(const PipelineTask& task, std::int64_t stage)
{
    const std::int64_t p = task.stages;
    const std::int64_t v = task.chunks;
    const std::int64_t all = task.microBatches * v;
    std::int64_t ahead = v > 1 ? 2 * (p - stage - 1) + (v - 1) * p : p - stage - 1;
    if (v > 1 && task.microBatches == p)
        ahead = all;
    if (task.schedule == PipelineSchedule::GPipe) // as ScheduleGPipe of torch.distributed.pipelining
        ahead = all;
    ahead = task.trains ? std::min(ahead, all) : all;
    const auto pass = [&](PassKind kind, std::int64_t k) -> OrderedPass {
        if (v == 1)
            return { { kind, stage, k } };
        const std::int64_t chunk = k % (p * v) / p;
        return { { kind, (kind == PassKind::Forward ? chunk : v - 1 - chunk) * p + stage, k / (p * v) * p + k % p } };
    };
    Order out;
    for (std::int64_t k = 0; k < ahead; ++k)
        out.push_back(pass(PassKind::Forward, k));
    for (std::int64_t k = 0; task.trains && k < all; ++k) {
        if (ahead + k < all)
            out.push_back(pass(PassKind::Forward, ahead + k));
        out.push_back(pass(PassKind::Backward, k));
    }
    return out;
}

/// Gradients of weights wait until the stage has put off as many as it may, and fill the gaps between the last passes backward.
Order zeroBubble(const PipelineTask& task, std::int64_t stage)
{
    const std::int64_t m = task.microBatches;
    Order out;
    std::int64_t backward = 0;
    std::int64_t weights = 0;
    const auto add = [&](PassKind kind, std::int64_t micro) {
        out.push_back({ { kind, stage, micro, kind == PassKind::Backward } });
    };
    const std::int64_t ahead = std::min(task.stages - stage - 1, m);
    for (std::int64_t forward = 0; forward < m; ++forward) {
        add(PassKind::Forward, forward);
        if (forward < ahead)
            continue;
        add(PassKind::Backward, backward++);
        if (backward - weights > stage)
            add(PassKind::Weights, weights++);
    }
    while (backward < m) {
        add(PassKind::Backward, backward++);
        add(PassKind::Weights, weights++);
    }
    while (weights < m)
        add(PassKind::Weights, weights++);
    return out;
}

/// The eight steps of step() in deepseek-ai/DualPipe, with its names: micro-batches of direction 0 enter at this half's end.
class DualPipeOrder {
public:
    DualPipeOrder(const PipelineTask& task, std::int64_t stage)
        : m_stages(task.stages)
        , m_stage(stage)
    {
        const std::int64_t half = m_stages / 2;
        const std::int64_t rank = std::min(stage, m_stages - 1 - stage);
        for (std::int64_t i = 0; i < 2 * (half - rank - 1); ++i)
            forward(0);
        for (std::int64_t i = 0; i < rank + 1; ++i) {
            forward(0);
            forward(1);
        }
        for (std::int64_t i = 0; i < half - rank - 1; ++i) {
            backward(1, true);
            weights();
            forward(1);
        }
        for (std::int64_t i = 0; i < task.microBatches / 2 - m_stages + rank + 1; ++i) {
            forward(0);
            m_out.back().pairs = i > 0 || rank != half - 1;
            backward(1, false);
            forward(1);
            m_out.back().pairs = true;
            backward(0, false);
        }
        for (std::int64_t i = 0; i < half - rank - 1; ++i) {
            backward(1, false);
            forward(1);
            m_out.back().pairs = true;
            backward(0, false);
        }
        bool putsOff = false;
        for (std::int64_t i = 0; i < rank + 1; ++i) {
            const bool turn = i == (rank + 1) / 2;
            putsOff = putsOff || (turn && rank % 2 == 1);
            backward(1, putsOff);
            putsOff = putsOff || (turn && rank % 2 == 0);
            backward(0, putsOff);
        }
        for (std::int64_t i = 0; i < half - rank - 1; ++i) {
            weights();
            backward(0, true);
        }
        for (std::int64_t i = 0; i < rank + 1; ++i)
            weights();
    }

    Order take() { return std::move(m_out); }

private:
    /// Micro-batches that enter at stage 0 have even numbers.
    OrderedPass pass(PassKind kind, std::int64_t direction, std::int64_t index, bool putsOff = false) const
    {
        const std::int64_t odd = direction ^ (m_stage >= m_stages / 2 ? 1 : 0);
        return { { kind, odd == 0 ? m_stage : m_stages - 1 - m_stage, 2 * index + odd, putsOff } };
    }
    void forward(std::int64_t direction) { m_out.push_back(pass(PassKind::Forward, direction, m_forward[direction]++)); }
    void backward(std::int64_t direction, bool putsOff)
    {
        m_out.push_back(pass(PassKind::Backward, direction, m_backward[direction]++, putsOff));
        if (putsOff)
            m_putOff.push_back(m_out.back());
    }
    void weights()
    {
        const PipelinePass& of = m_putOff[m_made++];
        m_out.push_back({ { PassKind::Weights, of.run, of.microBatch } });
    }

    std::int64_t m_stages;
    std::int64_t m_stage;
    std::int64_t m_forward[2] {}; ///< by direction, how many there were
    std::int64_t m_backward[2] {};
    Order m_putOff;
    std::size_t m_made = 0; ///< of these
    Order m_out;
};

Order orderOf(const PipelineTask& task, std::int64_t stage)
{
    if (task.schedule == PipelineSchedule::ZeroBubble)
        return zeroBubble(task, stage);
    if (task.schedule == PipelineSchedule::DualPipe && task.stages > 1)
        return DualPipeOrder(task, stage).take();
    return oneForwardOneBackward(task, stage);
}

} // namespace

/// The stages' passes in an order in which each comes behind what it needs, and their times.
class OrderedTurns {
public:
    OrderedTurns(const PipelineTask& task, PipelineEnds& out)
        : m_task(task)
        , m_dual(task.schedule == PipelineSchedule::DualPipe && task.stages > 1)
        , m_runs(task.stages * task.chunks)
        , m_out(out)
    {
    }

    bool isKnown() const
    {
        return !m_out.m_order.empty() && m_out.m_schedule == m_task.schedule && m_out.m_runs == m_runs
            && m_out.m_stages == m_task.stages && m_out.m_microBatches == m_task.microBatches && m_out.m_trains == m_task.trains;
    }

    /// Stage after stage goes as far as what it needs is there.
    void find(std::vector<std::pair<std::size_t, PipelinePass>>* passes)
    {
        m_out.m_schedule = m_task.schedule;
        m_out.m_runs = m_runs;
        m_out.m_stages = m_task.stages;
        m_out.m_microBatches = m_task.microBatches;
        m_out.m_trains = m_task.trains;
        std::vector<Order> orders;
        for (std::int64_t stage = 0; stage < m_task.stages; ++stage)
            orders.push_back(orderOf(m_task, stage));
        m_out.m_order.clear();
        m_out.m_order.reserve(orders.size() * orders.front().size());
        m_place.assign(static_cast<std::size_t>(2 * m_runs * m_task.microBatches), kNowhere);
        std::vector<std::size_t> next(orders.size(), 0);
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t stage = 0; stage < orders.size(); ++stage) {
                const Order& order = orders[stage];
                for (std::size_t& index = next[stage]; index < order.size(); ++index) {
                    const OrderedPass& pass = order[index];
                    // Of a pair both or none, one behind the other.
                    const bool begun = index > 0 && order[index - 1].pairs;
                    if (!begun && (!isReady(pass) || (pass.pairs && !isReady(order[index + 1]))))
                        break;
                    add(stage, pass);
                    if (passes != nullptr)
                        passes->emplace_back(stage, pass);
                    moved = true;
                }
            }
        }
        m_out.m_arrived.resize(m_out.m_order.size());
    }

    /// `each` is told every pass with its start, its end, and when what it made has arrived.
    template <class Each>
    void run(Each each)
    {
        using Ends = PipelineEnds;
        m_out.m_lengths.resize(static_cast<std::size_t>(m_runs) * Ends::kLengths);
        for (std::size_t run = 0; run < m_task.runs.size(); ++run) {
            const RunSeconds& of = m_task.runs[run];
            double* lengths = &m_out.m_lengths[run * Ends::kLengths];
            lengths[Ends::Forward] = of.forward;
            lengths[Ends::FirstForward] = of.firstForward;
            lengths[Ends::Backward] = of.backward;
            lengths[Ends::LastBackward] = of.lastBackward;
            lengths[Ends::BackwardAlone] = of.backward - of.weights;
            lengths[Ends::LastBackwardAlone] = of.lastBackward - of.weights;
            lengths[Ends::Weights] = of.weights;
        }
        const std::array<double, 3> sends { 0, m_task.sendForward, m_task.sendBackward };
        m_out.m_ends.assign(static_cast<std::size_t>(m_task.stages), 0);
        m_out.m_links.assign(m_task.sendsBeside ? 2 * m_out.m_ends.size() : 0, 0);
        for (std::size_t i = 0; i < m_out.m_order.size(); ++i) {
            const Ends::Pass& pass = m_out.m_order[i];
            double& free = m_out.m_ends[pass.stage];
            if (pass.send >= kPairs) {
                const double start = std::max({ free, readyFor(i), readyFor(i + 1) });
                const double middle = start + m_out.m_lengths[pass.length];
                const double end = middle + m_out.m_lengths[m_out.m_order[i + 1].length];
                free = end;
                const std::uint32_t send = pass.send - kPairs;
                each(i, start, middle, sendOn(pass.stage, send, end, sends[send], free, i));
                ++i;
                const std::uint32_t other = m_out.m_order[i].send;
                each(i, middle, end, sendOn(pass.stage, other, m_task.sendsBeside ? end : free, sends[other], free, i));
                continue;
            }
            const double start = pass.from == i ? free : std::max(free, m_out.m_arrived[pass.from]);
            const double end = start + m_out.m_lengths[pass.length];
            free = end;
            each(i, start, end, sendOn(pass.stage, pass.send, end, sends[pass.send], free, i));
        }
    }

private:
    static constexpr std::uint32_t kPairs = 4; ///< beside what is sent
    static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

    std::uint32_t& placeOf(bool forward, std::int64_t run, std::int64_t micro)
    {
        return m_place[static_cast<std::size_t>(((forward ? 0 : m_runs) + run) * m_task.microBatches + micro)];
    }

    double readyFor(std::size_t i) const
    {
        const std::size_t from = m_out.m_order[i].from;
        return from == i ? 0 : m_out.m_arrived[from];
    }

    /// When what a pass made has arrived, after `seconds` on its way; a stage that does not work on meanwhile is free then.
    double sendOn(std::uint32_t stage, std::uint32_t way, double end, double seconds, double& free, std::size_t i)
    {
        double arrived = end + seconds;
        if (!m_task.sendsBeside) {
            free = arrived;
        } else if (way != 0) { // behind the sends that are under way
            double& link = m_out.m_links[2 * stage + way - 1];
            arrived = link = std::max(end, link) + seconds;
        }
        m_out.m_arrived[i] = arrived;
        return arrived;
    }

    /// With DualPipe each of both devices has a first and a last one.
    bool isApart(const PipelinePass& pass) const
    {
        const std::int64_t direction = m_dual ? pass.microBatch % 2 : 0;
        if (pass.kind == PassKind::Forward)
            return pass.microBatch == direction;
        return pass.microBatch == (m_dual ? m_task.microBatches - 2 + direction : m_task.microBatches - 1);
    }

    PipelineEnds::Length lengthOf(const PipelinePass& pass) const
    {
        using Ends = PipelineEnds;
        if (pass.kind == PassKind::Weights)
            return Ends::Weights;
        if (pass.kind == PassKind::Forward)
            return isApart(pass) ? Ends::FirstForward : Ends::Forward;
        if (pass.putsOff)
            return isApart(pass) ? Ends::LastBackwardAlone : Ends::BackwardAlone;
        return isApart(pass) ? Ends::LastBackward : Ends::Backward;
    }

    /// Where the pass is that it needs; here: none.
    std::uint32_t neededBy(const PipelinePass& pass, std::uint32_t here)
    {
        const bool forward = pass.kind == PassKind::Forward;
        if (pass.kind == PassKind::Weights || (forward && pass.run == 0))
            return here; // gradients of weights need what the stage has made before
        if (!forward && pass.run + 1 == m_runs)
            return placeOf(true, pass.run, pass.microBatch);
        return forward ? placeOf(true, pass.run - 1, pass.microBatch) : placeOf(false, pass.run + 1, pass.microBatch);
    }

    bool isReady(const PipelinePass& pass) { return neededBy(pass, 0) != kNowhere; }

    void add(std::size_t stage, const OrderedPass& pass)
    {
        const auto here = static_cast<std::uint32_t>(m_out.m_order.size());
        const bool forward = pass.kind == PassKind::Forward;
        const bool puts = pass.kind != PassKind::Weights;
        const std::uint32_t from = neededBy(pass, here);
        const bool sends = puts && m_task.stages > 1 && (forward ? pass.run + 1 < m_runs : pass.run > 0);
        const std::uint32_t send = (!sends ? 0 : forward ? 1 : 2) + (pass.pairs ? kPairs : 0);
        m_out.m_order.push_back(
            { static_cast<std::uint32_t>(stage),
              static_cast<std::uint32_t>(pass.run) * PipelineEnds::kLengths + static_cast<std::uint32_t>(lengthOf(pass)), from,
              send });
        if (puts)
            placeOf(forward, pass.run, pass.microBatch) = here;
    }

    const PipelineTask& m_task;
    bool m_dual;
    std::int64_t m_runs;
    PipelineEnds& m_out;
    std::vector<std::uint32_t> m_place; ///< in the order, by direction, run and micro-batch
};

PipelineTurns pipelineTurns(const PipelineTask& task)
{
    PipelineEnds ends;
    std::vector<std::pair<std::size_t, PipelinePass>> passes; // with their stages
    OrderedTurns turns(task, ends);
    turns.find(&passes);
    PipelineTurns out;
    out.stages.resize(static_cast<std::size_t>(task.stages));
    turns.run([&](std::size_t i, double start, double end, double arrived) {
        auto& [stage, pass] = passes[i];
        pass.start = start;
        pass.end = end;
        pass.arrived = arrived;
        out.stages[stage].push_back(pass);
    });
    out.ends = ends.of(task);
    return out;
}

const std::vector<double>& PipelineEnds::of(const PipelineTask& task)
{
    OrderedTurns turns(task, *this);
    if (!turns.isKnown())
        turns.find(nullptr);
    turns.run([](std::size_t, double, double, double) {});
    return m_ends;
}

} // namespace shardboard
