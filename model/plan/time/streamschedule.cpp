// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/streamschedule.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardboard {

namespace {

/// Seconds that are rounding alone.
double dust(double now) { return 1e-14 + 1e-15 * now; }

} // namespace

double kernelShareOf(const DeviceSpec& device)
{
    constexpr double kMultiprocessors = 20;
    const auto all = static_cast<double>(device.multiprocessors);
    return device.kind == DeviceKind::Gpu && all > 2 * kMultiprocessors ? kMultiprocessors / all : 0;
}

void StreamSchedule::restart(const StepTasks& tasks, double kernelShare, ScheduleRecord* record)
{
    m_tasks = &tasks;
    m_share = std::clamp(kernelShare, 0.0, 0.9);
    m_links.resize(tasks.streams.size() - 1);
    m_record = record;
    m_now = 0;
    m_unit = 0;
    m_underWay = 0;
    m_cold = true;
    for (Link& link : m_links) {
        link.clock = 0;
        link.placed.clear();
        for (auto& jobs : link.jobs)
            jobs.clear();
    }
    m_next.clear();
    m_nextOfThis.clear();
    m_exposed.assign(tasks.count, 0);
}

double StreamSchedule::Link::backlog() const
{
    double out = 0;
    for (const auto& rank : jobs)
        for (const Job& job : rank)
            out += job.left;
    return out;
}

bool StreamSchedule::isThere(const StepTask& task, const Unit& unit)
{
    return task.when == TaskWhen::Always || (task.when == TaskWhen::First ? unit.first : unit.last);
}

void StreamSchedule::record(const ScheduledPiece& piece)
{
    if (m_record == nullptr || piece.end <= piece.start)
        return;
    auto& pieces = m_record->pieces;
    // What goes on as before is one piece.
    for (std::size_t i = pieces.size(); i-- > m_record->border && i + 4 > pieces.size();) {
        ScheduledPiece& last = pieces[i];
        if (last.task == piece.task && last.part == piece.part && last.end == piece.start && last.waited == piece.waited
            && last.layer == piece.layer && last.microBatch == piece.microBatch) {
            last.end = piece.end;
            return;
        }
    }
    pieces.push_back(piece);
}

/// Accounts for a link up to a time. `share` of it is time in which the compute stream waits, or by which it is slower.
void StreamSchedule::pull(Link& link, double time, double share)
{
    const bool waited = share == 1;
    while (link.clock < time) {
        if (!link.placed.empty() && link.placed.front().start <= link.clock) {
            const Placed& front = link.placed.front();
            const double end = std::min(time, front.end);
            record({ link.clock, end, front.task, front.part, m_at.layer, m_at.microBatch, waited });
            credit(*front.task, (end - link.clock) * share);
            link.clock = end;
            if (end >= front.end) {
                link.placed.erase(link.placed.begin());
                --m_underWay;
            }
            continue;
        }
        const double limit = link.placed.empty() ? time : std::min(time, link.placed.front().start);
        const auto jobs = std::ranges::find_if(link.jobs, [](const auto& rank) { return !rank.empty(); });
        if (jobs == link.jobs.end()) {
            link.clock = limit;
            continue;
        }
        Job& job = jobs->front();
        const double seconds = std::min(job.left, limit - link.clock);
        record({ link.clock, link.clock + seconds, job.task, job.part, job.layer, job.microBatch, waited });
        credit(*job.task, seconds * share);
        link.clock += seconds;
        job.left -= seconds;
        if (job.left <= dust(link.clock)) {
            jobs->erase(jobs->begin());
            --m_underWay;
        }
    }
}

void StreamSchedule::sync()
{
    for (Link& link : m_links)
        pull(link, m_now, 0);
}

/// Whether a link carries something now, and until when that stays so.
bool StreamSchedule::busy(const Link& link, double& until) const
{
    const double placed = link.placed.empty() ? kNever : link.placed.front().start;
    if (placed <= m_now) {
        until = link.placed.front().end;
        return true;
    }
    const double backlog = link.backlog();
    const bool carries = backlog > dust(m_now);
    until = std::min(placed, carries ? m_now + backlog : kNever);
    return carries;
}

void StreamSchedule::waitUntil(Link& link, double time)
{
    if (time <= m_now)
        return;
    sync();
    pull(link, time, 1);
    m_now = time;
}

void StreamSchedule::compute(PlannedSegmentId part, const StepTask& task)
{
    const double start = m_now;
    if (m_underWay == 0) { // nothing runs beside it
        m_now += task.seconds;
        record({ start, m_now, &task, part, m_at.layer, m_at.microBatch, false });
        return;
    }
    sync();
    double left = task.seconds;
    while (left > dust(m_now)) {
        double until = kNever;
        Link* slowing = nullptr;
        for (Link& link : m_links) {
            double change = kNever;
            if (busy(link, change) && slowing == nullptr)
                slowing = &link;
            until = std::min(until, change);
        }
        const double rate = slowing != nullptr ? 1 - m_share : 1;
        const double needed = m_now + left / rate;
        const double end = std::min(needed, until);
        for (Link& link : m_links)
            pull(link, end, &link == slowing ? m_share : 0);
        left = end >= needed ? 0 : left - (end - m_now) * rate;
        m_now = end;
    }
    record({ start, m_now, &task, part, m_at.layer, m_at.microBatch, false });
}

void StreamSchedule::serial(PlannedSegmentId part, const StepTask& task)
{
    if (m_underWay == 0) {
        record({ m_now, m_now + task.seconds, &task, part, m_at.layer, m_at.microBatch, true });
        credit(task, task.seconds);
        m_now += task.seconds;
        return;
    }
    sync();
    Link& link = linkOf(task);
    waitForPlaced(link);
    link.placed.push_back({ &task, part, m_now, m_now + task.seconds });
    ++m_underWay;
    waitUntil(link, m_now + task.seconds);
}

void StreamSchedule::waitForPlaced(Link& link)
{
    if (!link.placed.empty())
        waitUntil(link, link.placed.back().end);
}

/// Collectives in pieces and the operations behind them: with one piece in n of each they can begin, and have one to go when all
/// are there. So first pieces go before the others: keys and values of a ring come together.
std::size_t StreamSchedule::besideNext(const Unit& which, const std::vector<StepTask>& tasks, std::size_t index)
{
    sync();
    std::size_t next = index;
    std::size_t count = 0;
    const StepTask* last = nullptr;
    const auto takesPart = [&](const StepTask& task) { return isThere(task, which) && task.seconds > 0; };
    for (; next < tasks.size() && tasks[next].mode == TaskMode::BesideNext; ++next) {
        if (!takesPart(tasks[next]))
            continue;
        if (last == nullptr)
            waitForPlaced(linkOf(tasks[next]));
        last = &tasks[next];
        ++count;
    }
    if (last == nullptr)
        return next;
    double end = m_now;
    double begin = m_now;
    const auto place = [&](const StepTask& task, double seconds) {
        if (seconds <= 0)
            return;
        linkOf(task).placed.push_back({ &task, which.part, end, end + seconds });
        ++m_underWay;
        end += seconds;
    };
    for (std::size_t i = index; i < next; ++i)
        if (takesPart(tasks[i])) {
            begin += tasks[i].seconds / tasks[i].pieces;
            place(tasks[i], count > 1 ? tasks[i].seconds / tasks[i].pieces : tasks[i].seconds);
        }
    for (std::size_t i = index; i < next && count > 1; ++i)
        if (takesPart(tasks[i]))
            place(tasks[i], tasks[i].seconds - tasks[i].seconds / tasks[i].pieces);
    const double pieces = last->pieces;
    Link& link = linkOf(*last);
    const bool computes = next < tasks.size() && tasks[next].mode == TaskMode::Compute;
    if (!computes) {
        waitUntil(link, end);
        return next;
    }
    const double seconds = tasks[next].seconds;
    waitUntil(link, std::max(begin, std::min(end, end + seconds / pieces - seconds)));
    compute(which.part, tasks[next]);
    waitUntil(link, end);
    return next + 1;
}

/// A collective of what the operations of a run make, in pieces: it begins with the first and ends one piece after them.
void StreamSchedule::placeBesideLast(PlannedSegmentId part, const StepTask& run, const StepTask& collective)
{
    sync();
    Link& link = linkOf(collective);
    waitForPlaced(link);
    const double piece = collective.seconds / collective.pieces;
    const double slowed = run.seconds + m_share / (1 - m_share) * std::min(run.seconds, collective.seconds - piece);
    const double start = std::max(m_now + run.seconds / collective.pieces, m_now + slowed + piece - collective.seconds);
    link.placed.push_back({ &collective, part, start, start + collective.seconds });
    ++m_underWay;
}

void StreamSchedule::enqueue(const Unit& which, TaskMode mode, std::int64_t number)
{
    for (const StepTask& task : m_tasks->parts[which.part].tasks)
        if (task.mode == mode && task.seconds > 0 && isThere(task, which)) {
            ++m_underWay;
            linkOf(task).jobs[mode == TaskMode::Early ? Ahead : Halves].push_back(
                { &task, which.part, task.seconds, number, which.layer, which.microBatch });
        }
}

void StreamSchedule::waitForTask(const StepTask& task, std::int64_t number)
{
    if (m_underWay == 0)
        return;
    sync();
    Link& link = linkOf(task);
    auto& jobs = link.jobs[Ahead];
    const auto job = std::ranges::find_if(jobs, [&](const Job& it) { return it.task == &task && it.unit == number; });
    if (job == jobs.end())
        return;
    waitForPlaced(link);
    double seconds = 0;
    for (const Job& first : link.jobs[Halves])
        seconds += first.left;
    for (auto it = jobs.begin(); it <= job; ++it)
        seconds += it->left;
    waitUntil(link, m_now + seconds);
}

/// For the jobs of a rank, and what goes first, of layers before that one.
void StreamSchedule::waitForRank(Rank rank, std::int64_t before)
{
    if (m_underWay == 0)
        return;
    sync();
    for (Link& link : m_links) {
        const auto& jobs = link.jobs[rank];
        if (jobs.empty() || jobs.front().unit >= before)
            continue;
        waitForPlaced(link);
        double seconds = 0;
        for (int first = 0; first < rank; ++first)
            for (const Job& job : link.jobs[static_cast<std::size_t>(first)])
                seconds += job.left;
        for (const Job& job : jobs)
            if (job.unit < before)
                seconds += job.left;
        waitUntil(link, m_now + seconds);
        sync();
    }
}

void StreamSchedule::unit(const Unit& which, const Unit& next)
{
    const std::vector<StepTask>& tasks = m_tasks->parts[which.part].tasks;
    m_at = which;
    sync();
    if (m_record != nullptr)
        m_record->border = m_record->pieces.size();
    if (m_cold)
        enqueue(which, TaskMode::Early, m_unit);
    enqueue(which, TaskMode::Within, m_unit);
    if (next.part.valid())
        enqueue(next, TaskMode::Early, m_unit + 1);
    m_cold = !next.part.valid();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const StepTask& task = tasks[i];
        if (task.mode == TaskMode::BesideNext) {
            i = besideNext(which, tasks, i) - 1;
            continue;
        }
        if (!isThere(task, which) || (task.mode != TaskMode::Compute && task.seconds <= 0))
            continue;
        switch (task.mode) {
        case TaskMode::Compute: {
            const bool beside = i + 1 < tasks.size() && tasks[i + 1].mode == TaskMode::BesideLast && isThere(tasks[i + 1], which)
                && tasks[i + 1].seconds > 0;
            if (beside)
                placeBesideLast(which.part, task, tasks[i + 1]);
            compute(which.part, task);
            if (beside) {
                waitForPlaced(linkOf(tasks[i + 1]));
                ++i;
            }
            break;
        }
        case TaskMode::Serial:
        case TaskMode::BesideLast: // of nothing that was computed just before
            serial(which.part, task);
            break;
        case TaskMode::Early:
            waitForTask(task, m_unit);
            break;
        case TaskMode::Late:
            if (task.isNext) {
                m_nextOfThis.push_back({ &task, which.part, task.seconds, m_unit + 1, which.layer, which.microBatch });
                break;
            }
            sync();
            ++m_underWay;
            linkOf(task).jobs[Behind].push_back({ &task, which.part, task.seconds, m_unit, which.layer, which.microBatch });
            break;
        case TaskMode::Within:
        case TaskMode::BesideNext:
            break;
        }
    }
    waitForRank(Halves, m_unit + 1);
    waitForRank(Behind, m_unit);
    sync();
    startNext();
    ++m_unit;
}

/// What the layer before has made is there.
void StreamSchedule::startNext()
{
    for (const Job& job : m_next) {
        ++m_underWay;
        linkOf(*job.task).jobs[Behind].push_back(job);
    }
    m_next.clear();
    m_next.swap(m_nextOfThis);
}

void StreamSchedule::drain()
{
    for (const Rank rank : { Halves, Ahead, Behind })
        waitForRank(rank, m_unit + 3);
    while (!m_next.empty()) {
        startNext();
        waitForRank(Behind, m_unit + 3);
    }
    sync();
}

void StreamSchedule::note(State& out) const
{
    out.now = m_now;
    out.exposed = m_exposed;
    out.ahead.clear();
    for (const Link& link : m_links)
        for (const auto& rank : link.jobs) {
            out.ahead.push_back(static_cast<double>(rank.size()));
            for (const Job& job : rank) {
                out.ahead.push_back(job.left);
                out.ahead.push_back(static_cast<double>(m_unit - job.unit));
                out.ahead.push_back(static_cast<double>(job.part.number()));
            }
        }
    for (const Job& job : m_next)
        out.ahead.push_back(static_cast<double>(job.part.number()));
}

/// But for rounding, which grows with the time that has passed.
bool StreamSchedule::alike(const State& a, const State& b)
{
    const double rounding = 16e-15 * b.now;
    return std::ranges::equal(a.ahead, b.ahead, [rounding](double x, double y) {
        return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y)) + rounding;
    });
}

/// What has happened since then happens so many times more.
void StreamSchedule::skip(const State& before, std::int64_t times, std::size_t firstPiece, bool layers)
{
    if (times <= 0)
        return;
    const double stride = m_now - before.now;
    if (m_record != nullptr)
        m_record->repeats.push_back({ firstPiece, m_record->pieces.size(), times, stride, layers });
    const auto n = static_cast<double>(times);
    m_now += n * stride;
    for (Link& link : m_links) {
        link.clock = m_now;
        for (auto& jobs : link.jobs)
            for (Job& job : jobs)
                (layers ? job.layer : job.microBatch) += times;
    }
    for (Job& job : m_next)
        (layers ? job.layer : job.microBatch) += times;
    for (std::size_t i = 0; i < m_exposed.size(); ++i)
        m_exposed[i] += n * (m_exposed[i] - before.exposed[i]);
}

/// One after the other: a sum.
void StreamSchedule::runSerial(const std::vector<LayerRun>& sequence, std::int64_t microBatches, bool first, bool last)
{
    for (const LayerRun& run : sequence)
        for (const StepTask& task : m_tasks->parts[run.part].tasks) {
            const std::int64_t times = task.when == TaskWhen::Always ? microBatches
                : (task.when == TaskWhen::First ? first : last)      ? 1
                                                                     : 0;
            const double seconds = static_cast<double>(times * run.layers) * task.seconds;
            m_now += seconds;
            if (task.mode != TaskMode::Compute)
                credit(task, seconds);
        }
}

void StreamSchedule::run(const std::vector<LayerRun>& sequence, std::int64_t microBatches, bool first, bool last)
{
    if (sequence.empty())
        return;
    const auto isSerial = [this](const LayerRun& run) { return m_tasks->parts[run.part].isSerial(); };
    if (m_record == nullptr && m_underWay == 0 && std::ranges::all_of(sequence, isSerial)) {
        runSerial(sequence, microBatches, first, last);
        return;
    }
    const auto pieces = [this] { return m_record != nullptr ? m_record->pieces.size() : 0; };
    for (std::int64_t micro = 0; micro < microBatches; ++micro) {
        const std::size_t firstPiece = pieces();
        const auto at = [&](std::size_t part, std::int64_t layer, std::int64_t of) {
            return Unit { sequence[part].part, layer, of, first && of == 0, last && of + 1 == microBatches };
        };
        for (std::size_t p = 0; p < sequence.size(); ++p) {
            const Unit after = p + 1 < sequence.size() ? at(p + 1, 0, micro)
                : micro + 1 < microBatches             ? at(0, 0, micro + 1)
                                                       : Unit {};
            const std::int64_t layers = sequence[p].layers;
            for (std::int64_t layer = 0; layer < layers; ++layer) {
                const std::size_t here = pieces();
                unit(at(p, layer, micro), layer + 1 < layers ? at(p, layer + 1, micro) : after);
                if (layer + 3 > layers)
                    continue;
                note(m_after);
                if (layer > 0 && alike(m_before, m_after)) {
                    const std::int64_t times = layers - 2 - layer;
                    skip(m_before, times, here, true);
                    layer += times;
                }
                std::swap(m_before, m_after);
            }
        }
        if (micro + 3 > microBatches)
            continue;
        note(m_microAfter);
        if (micro > 0 && alike(m_microBefore, m_microAfter)) {
            const std::int64_t times = microBatches - 2 - micro;
            skip(m_microBefore, times, firstPiece, false);
            micro += times;
        }
        std::swap(m_microBefore, m_microAfter);
    }
}

} // namespace shardboard
