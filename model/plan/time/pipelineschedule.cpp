// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/pipelineschedule.h"

#include <algorithm>
#include <limits>

namespace shardboard {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// When each pass is over and what it made has arrived where the next run lies.
class Turns {
public:
    explicit Turns(const PipelineTask& task)
        : m_task(task)
        , m_runs(task.stages * task.chunks)
        , m_forward(static_cast<std::size_t>(m_runs * task.microBatches), kNever)
        , m_backward(m_forward)
        , m_free(static_cast<std::size_t>(task.stages), 0)
    {
        m_out.stages.resize(static_cast<std::size_t>(task.stages));
        for (auto& passes : m_out.stages)
            passes.reserve(static_cast<std::size_t>(task.chunks * task.microBatches * 3));
    }

    PipelineTurns inOrder()
    {
        std::vector<std::int64_t> next(static_cast<std::size_t>(m_task.stages), 0);
        const std::int64_t all = m_task.microBatches * m_task.chunks * (m_task.trains ? 2 : 1);
        for (bool moved = true; moved;) {
            moved = false;
            for (std::int64_t stage = 0; stage < m_task.stages; ++stage)
                for (std::int64_t& index = next[static_cast<std::size_t>(stage)]; index < all; ++index) {
                    const PipelinePass pass = passOf(stage, index);
                    const double ready = readyAt(pass);
                    if (ready == kNever)
                        break;
                    place(static_cast<std::size_t>(stage), pass, ready);
                    moved = true;
                }
        }
        return finished();
    }

    /// The stage that can decide first takes its turn.
    PipelineTurns asReady()
    {
        struct Side { ///< a run on a stage
            std::int64_t run;
            std::int64_t first; ///< micro-batches from here on, every so many of them
            std::int64_t step;
            std::int64_t forward = 0;
            std::int64_t backward = 0;
            std::int64_t weights = 0;
            std::int64_t micro(std::int64_t index) const { return first + index * step; }
        };
        const bool dual = m_task.schedule == PipelineSchedule::DualPipe && m_task.stages > 1;
        const std::int64_t each = m_task.microBatches / (dual ? 2 : 1);
        std::vector<std::vector<Side>> stages;
        for (std::int64_t stage = 0; stage < m_task.stages; ++stage) {
            stages.push_back({ { stage, 0, dual ? 2 : 1 } });
            if (dual)
                stages.back().push_back({ m_task.stages - 1 - stage, 1, 2 });
        }
        for (;;) {
            double earliest = kNever;
            std::size_t chosen = 0;
            Side* side = nullptr;
            PipelinePass pass;
            double ready = 0;
            for (std::size_t stage = 0; stage < stages.size(); ++stage) {
                double best = kNever; // of this stage: the first time at which it can begin something
                int rank = 3;
                for (Side& it : stages[stage]) {
                    const auto consider = [&](PassKind kind, std::int64_t index, double at) {
                        const double start = std::max(at, m_free[stage]);
                        const int order = kind == PassKind::Backward ? 0 : kind == PassKind::Forward ? 1 : 2;
                        if (start > best || (start == best && order >= rank) || start == kNever)
                            return;
                        best = start;
                        rank = order;
                        if (start < earliest || (start == earliest && (chosen == stage || side == nullptr))) {
                            earliest = start;
                            chosen = stage;
                            side = &it;
                            pass = { kind, it.run, it.micro(index), 0, 0 };
                            ready = at;
                        }
                    };
                    const std::int64_t limit = m_task.stages - it.run;
                    if (it.backward < each)
                        consider(PassKind::Backward, it.backward, readyAt({ PassKind::Backward, it.run, it.micro(it.backward) }));
                    const bool room = it.forward - it.backward < limit && it.forward - it.weights < m_task.stages;
                    if (it.forward < each && room)
                        consider(PassKind::Forward, it.forward, readyAt({ PassKind::Forward, it.run, it.micro(it.forward) }));
                    if (it.weights < it.backward)
                        consider(PassKind::Weights, it.weights, 0);
                }
            }
            if (side == nullptr)
                break;
            place(chosen, pass, ready);
            ++(pass.kind == PassKind::Forward ? side->forward : pass.kind == PassKind::Backward ? side->backward : side->weights);
        }
        return finished();
    }

private:
    std::size_t at(std::int64_t run, std::int64_t micro) const
    {
        return static_cast<std::size_t>(run * m_task.microBatches + micro);
    }

    double readyAt(const PipelinePass& pass) const
    {
        if (pass.kind == PassKind::Forward)
            return pass.run == 0 ? 0 : m_forward[at(pass.run - 1, pass.microBatch)];
        if (pass.kind == PassKind::Backward)
            return pass.run + 1 == m_runs ? m_forward[at(pass.run, pass.microBatch)]
                                          : m_backward[at(pass.run + 1, pass.microBatch)];
        return 0;
    }

    double secondsOf(const PipelinePass& pass) const
    {
        const RunSeconds& run = m_task.runs[static_cast<std::size_t>(pass.run)];
        const bool putOff = m_task.schedule != PipelineSchedule::OneForwardOneBackward;
        if (pass.kind == PassKind::Forward)
            return pass.microBatch == firstOf(pass) ? run.firstForward : run.forward;
        if (pass.kind == PassKind::Weights)
            return run.weights;
        const double all = pass.microBatch == lastOf(pass) ? run.lastBackward : run.backward;
        return putOff ? all - run.weights : all;
    }
    /// With DualPipe each of both devices has a first and a last one.
    bool dual() const { return m_task.schedule == PipelineSchedule::DualPipe && m_task.stages > 1; }
    std::int64_t firstOf(const PipelinePass& pass) const { return dual() ? pass.microBatch % 2 : 0; }
    std::int64_t lastOf(const PipelinePass& pass) const
    {
        return dual() ? m_task.microBatches - 2 + pass.microBatch % 2 : m_task.microBatches - 1;
    }

    void place(std::size_t stage, PipelinePass pass, double ready)
    {
        pass.start = std::max(ready, m_free[stage]);
        pass.end = pass.start + secondsOf(pass);
        m_free[stage] = pass.end;
        const bool forward = pass.kind == PassKind::Forward;
        const bool sends = pass.kind != PassKind::Weights && (forward ? pass.run + 1 < m_runs : pass.run > 0) && m_task.stages > 1;
        const double arrived = pass.end + (sends ? (forward ? m_task.sendForward : m_task.sendBackward) : 0);
        if (sends && !m_task.sendsBeside)
            m_free[stage] = arrived;
        if (pass.kind != PassKind::Weights)
            (forward ? m_forward : m_backward)[at(pass.run, pass.microBatch)] = arrived;
        m_out.stages[stage].push_back(pass);
    }

    PipelineTurns finished()
    {
        m_out.ends = m_free;
        return std::move(m_out);
    }

    /// The pass that a stage makes so: some forward ahead, then one of each in turn, then what is left backward.
    PipelinePass passOf(std::int64_t stage, std::int64_t index) const
    {
        const std::int64_t p = m_task.stages;
        const std::int64_t v = m_task.chunks;
        const std::int64_t all = m_task.microBatches * v;
        std::int64_t ahead = v > 1 ? 2 * (p - stage - 1) + (v - 1) * p : p - stage - 1;
        if (v > 1 && m_task.microBatches == p)
            ahead = all;
        ahead = m_task.trains ? std::min(ahead, all) : all;
        const bool inTurn = index >= ahead && index < 2 * all - ahead;
        const bool forward = index < ahead || (inTurn && (index - ahead) % 2 == 0);
        const std::int64_t k = index < ahead ? index
            : !inTurn                        ? index - all
            : forward                        ? ahead + (index - ahead) / 2
                                             : (index - ahead) / 2;
        const PassKind kind = forward ? PassKind::Forward : PassKind::Backward;
        if (v == 1)
            return { kind, stage, k, 0, 0 };
        const std::int64_t chunk = k % (p * v) / p;
        return { kind, (forward ? chunk : v - 1 - chunk) * p + stage, k / (p * v) * p + k % p, 0, 0 };
    }

    const PipelineTask& m_task;
    std::int64_t m_runs;
    std::vector<double> m_forward; ///< by run and micro-batch
    std::vector<double> m_backward;
    std::vector<double> m_free; ///< by stage
    PipelineTurns m_out;
};

} // namespace

PipelineTurns pipelineTurns(const PipelineTask& task)
{
    const bool plain = task.schedule == PipelineSchedule::OneForwardOneBackward;
    return plain ? Turns(task).inOrder() : Turns(task).asReady();
}

} // namespace shardboard
