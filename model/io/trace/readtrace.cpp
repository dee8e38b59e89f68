// SPDX-License-Identifier: Apache-2.0
#include "model/io/trace/readtrace.h"

#include "model/io/file/gunzip.h"
#include "model/io/file/naturalorder.h"
#include "model/io/file/openfile.h"
#include "model/io/file/textfile.h"
#include "model/io/trace/collectivenames.h"
#include "model/io/trace/traceevent.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace shardboard {

namespace {

constexpr std::size_t kMostSlices = std::size_t { 1 } << 27;
constexpr std::size_t kLargestUnpacked = std::size_t { 2 } << 30;

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view> {}(text); }
};
using Numbered = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

/// What the metadata says of a process or thread.
struct Named {
    std::string name;
    double order = std::numeric_limits<double>::quiet_NaN();
};

std::vector<std::int64_t> ranksOf(std::string_view text)
{
    std::vector<std::int64_t> out;
    if (text.find("...") != std::string_view::npos) // a long list that PyTorch has shortened
        return out;
    const char* at = text.data();
    const char* end = text.data() + text.size();
    while (at != end) {
        std::int64_t rank = 0;
        const auto [rest, problem] = std::from_chars(at, end, rank);
        if (problem == std::errc())
            out.push_back(rank);
        at = problem == std::errc() ? rest : at + 1;
    }
    return out;
}

class TraceReader {
public:
    TraceReader(JsonSource source, const std::string& where)
        : m_cursor(std::move(source), where)
        , m_where(where)
    {
    }

    Result<Trace> read()
    {
        if (m_cursor.next() == '[')
            events();
        else
            m_cursor.object([&](std::string_view key) {
                if (key == "traceEvents")
                    events();
                else
                    m_cursor.skip();
            });
        m_cursor.end();
        const bool useful = m_lists > 0 && m_count > 0;
        if (m_cursor.error() && !(m_cursor.cutOff() && useful))
            return *m_cursor.error();
        if (m_lists == 0)
            return inputError(m_where + ":traceEvents", "is missing", "give a trace in the trace-event format (JSON)");
        finish();
        return std::move(m_trace);
    }

private:
    void events()
    {
        ++m_lists;
        m_cursor.list([&] {
            readTraceEvent(m_cursor, m_event);
            if (m_cursor.good())
                take();
        });
    }

    void take()
    {
        ++m_count;
        switch (m_event.phase) {
        case 'X':
            return slice(m_event.duration);
        case 'B':
            m_open[laneOf()].push_back(m_trace.slices.size());
            return slice(-1);
        case 'E':
            return endSlice();
        case 'M':
            return metadata();
        case 'C':
            for (const auto& [name, value] : m_event.numbers)
                counter(m_event.numbers.size() == 1 ? m_event.name : m_event.name + " " + name, value);
            return;
        case 'i':
        case 'I':
            if (m_event.name == "[memory]") // of PyTorch
                for (const auto& [name, value] : m_event.numbers)
                    if (name == "Total Allocated")
                        return counter("memory", value);
            ++m_leftOut["instants"];
            return;
        case 's':
        case 't':
        case 'f':
            ++m_leftOut["flow events"];
            return;
        case 0:
            return; // XLA ends its lists with an empty event
        default:
            ++m_leftOut["events of other kinds"];
        }
    }

    std::uint32_t laneOf()
    {
        m_key = m_event.process;
        m_key += '\0';
        m_key += m_event.thread;
        if (const auto found = m_lanes.find(m_key); found != m_lanes.end())
            return found->second;
        const auto lane = static_cast<std::uint32_t>(m_keys.size());
        m_lanes.emplace(m_key, lane);
        m_keys.emplace_back(m_event.process, m_event.thread);
        return lane;
    }

    std::uint32_t nameOf(const std::string& name)
    {
        if (const auto found = m_names.find(name); found != m_names.end())
            return found->second;
        const auto index = static_cast<std::uint32_t>(m_trace.names.size());
        m_names.emplace(name, index);
        m_trace.names.push_back(name);
        return index;
    }

    void slice(std::int64_t duration)
    {
        if (!m_event.hasTime) {
            ++m_leftOut["slices without a time"];
            if (m_event.phase == 'B')
                m_open[laneOf()].pop_back();
            return;
        }
        if (duration < 0 && m_event.phase == 'X') {
            ++m_leftOut["slices of negative length"];
            return;
        }
        if (m_trace.slices.size() >= kMostSlices)
            return m_cursor.fail("there are more than 2^27 slices", "record fewer steps");
        TraceSlice out;
        out.start = m_event.time;
        out.duration = duration;
        out.lane = laneOf();
        out.name = nameOf(m_event.name);
        collective(m_trace.slices.size());
        m_trace.slices.push_back(out);
    }

    void endSlice()
    {
        auto& open = m_open[laneOf()];
        if (open.empty() || !m_event.hasTime) {
            ++m_leftOut["ends without a begin"];
            return;
        }
        TraceSlice& begun = m_trace.slices[open.back()];
        begun.duration = std::max<std::int64_t>(0, m_event.time - begun.start);
        open.pop_back();
    }

    void metadata()
    {
        const bool thread = m_event.name.starts_with("thread_");
        if (!thread && !m_event.name.starts_with("process_"))
            return;
        Named& named = thread ? m_threads[{ m_event.process, m_event.thread }] : m_processes[m_event.process];
        if (m_event.name.ends_with("_name"))
            named.name = m_event.argName;
        else if (m_event.name.ends_with("_sort_index"))
            named.order = m_event.sortIndex;
    }

    void counter(const std::string& name, double value)
    {
        if (!m_event.hasTime)
            return;
        TraceCounter& counter = m_counters[{ m_event.process, name }];
        counter.times.push_back(m_event.time);
        counter.values.push_back(value);
    }

    void collective(std::size_t slice)
    {
        const auto argument = collectiveOfArgument(m_event.collective);
        const auto named = collectiveOfSlice(m_event.name, m_event.category);
        const bool kernel = m_event.category == "kernel" || m_event.category == "collective";
        if (!named && !argument)
            return;
        const CollectiveSource source = named ? named->source : kernel ? CollectiveSource::Kernel : CollectiveSource::Call;
        TraceCollective out;
        out.kind = argument ? *argument : named->kind;
        out.slice = slice;
        out.groupSize = m_event.groupSize;
        out.ranks = ranksOf(m_event.ranks);
        const bool gathers = out.kind == CollectiveKind::AllGather;
        if (m_event.in > 0 || m_event.out > 0) {
            out.elements = gathers ? m_event.out : m_event.in;
        } else if (source == CollectiveSource::Call && !m_event.inputElements.empty()) {
            // The result comes first, but where there is only one.
            const bool second = out.kind == CollectiveKind::ReduceScatter || out.kind == CollectiveKind::AllToAll;
            const std::size_t at = second ? 1 : 0;
            out.elements = at < m_event.inputElements.size() ? m_event.inputElements[at] : 0;
        } else if (source == CollectiveSource::Worker && !m_event.inputElements.empty() && !gathers) {
            out.elements = m_event.inputElements.front();
        }
        out.bytes = out.elements * bytesOfElement(m_event.dtype.empty() ? m_event.inputType : m_event.dtype);
        m_found[static_cast<std::size_t>(source)].push_back(std::move(out));
    }

    static std::string shown(const std::string& name, const std::string& number) { return name.empty() ? number : name; }

    /// Lanes in the order that the metadata asks for, then as they came.
    void orderLanes()
    {
        struct Row {
            double process;
            double thread;
            std::size_t came;
        };
        const auto orderOf = [](double order) { return std::isnan(order) ? std::numeric_limits<double>::infinity() : order; };
        std::vector<Row> rows;
        std::map<std::string, std::size_t> processCame;
        for (std::size_t lane = 0; lane < m_keys.size(); ++lane) {
            processCame.emplace(m_keys[lane].first, lane);
            rows.push_back({ orderOf(m_processes[m_keys[lane].first].order), orderOf(m_threads[m_keys[lane]].order), lane });
        }
        std::ranges::sort(rows, [&](const Row& a, const Row& b) {
            const auto key = [&](const Row& row) {
                return std::tuple(row.process, processCame[m_keys[row.came].first], row.thread);
            };
            if (key(a) != key(b))
                return key(a) < key(b);
            return naturalLess(m_keys[a.came].second, m_keys[b.came].second);
        });
        std::vector<std::uint32_t> place(m_keys.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            place[rows[i].came] = static_cast<std::uint32_t>(i);
            const auto& [process, thread] = m_keys[rows[i].came];
            TraceLane lane;
            lane.process = shown(m_processes[process].name, process);
            lane.thread = shown(m_threads[m_keys[rows[i].came]].name, thread);
            m_trace.lanes.push_back(std::move(lane));
        }
        for (TraceSlice& slice : m_trace.slices)
            slice.lane = place[slice.lane];
    }

    void closeOpen()
    {
        std::int64_t last = std::numeric_limits<std::int64_t>::min();
        for (const TraceSlice& slice : m_trace.slices)
            last = std::max(last, slice.start + std::max<std::int64_t>(0, slice.duration));
        std::int64_t open = 0;
        for (const auto& [lane, slices] : m_open)
            for (const std::size_t slice : slices) {
                m_trace.slices[slice].duration = last - m_trace.slices[slice].start;
                ++open;
            }
        if (open > 0)
            m_leftOut["slices that do not end, drawn to the end of the trace"] = open;
    }

    void takeCollectives()
    {
        for (auto& found : m_found)
            if (!found.empty()) {
                m_trace.collectives = std::move(found);
                break;
            }
        for (std::size_t i = 0; i < m_trace.collectives.size(); ++i)
            m_trace.slices[m_trace.collectives[i].slice].collective = static_cast<std::int32_t>(i);
    }

    void sortSlices()
    {
        std::ranges::sort(m_trace.slices, [](const TraceSlice& a, const TraceSlice& b) {
            return std::tuple(a.lane, a.start, -a.duration, a.collective) < std::tuple(b.lane, b.start, -b.duration, b.collective);
        });
        std::vector<std::int64_t> ends; // of the slices around the present one
        std::int64_t covered = 0;
        for (std::size_t i = 0; i < m_trace.slices.size(); ++i) {
            TraceSlice& slice = m_trace.slices[i];
            TraceLane& lane = m_trace.lanes[slice.lane];
            if (lane.count == 0) {
                lane.first = i;
                ends.clear();
                covered = std::numeric_limits<std::int64_t>::min();
            }
            ++lane.count;
            while (!ends.empty() && ends.back() <= slice.start)
                ends.pop_back();
            slice.depth = static_cast<std::uint32_t>(ends.size());
            ends.push_back(slice.end());
            lane.depth = std::max(lane.depth, slice.depth + 1);
            lane.busy += std::max<std::int64_t>(0, slice.end() - std::max(covered, slice.start));
            covered = std::max(covered, slice.end());
            if (slice.collective >= 0)
                m_trace.collectives[static_cast<std::size_t>(slice.collective)].slice = i;
        }
    }

    static void sortByTime(TraceCounter& counter)
    {
        if (std::ranges::is_sorted(counter.times))
            return;
        std::vector<std::pair<std::int64_t, double>> points;
        for (std::size_t i = 0; i < counter.times.size(); ++i)
            points.emplace_back(counter.times[i], counter.values[i]);
        std::ranges::stable_sort(points, {}, &std::pair<std::int64_t, double>::first);
        for (std::size_t i = 0; i < points.size(); ++i)
            std::tie(counter.times[i], counter.values[i]) = points[i];
    }

    /// Times from the first slice on, collectives in their order.
    void countFromStart()
    {
        std::int64_t first = std::numeric_limits<std::int64_t>::max();
        for (const TraceSlice& slice : m_trace.slices)
            first = std::min(first, slice.start);
        for (auto& [key, counter] : m_counters) {
            sortByTime(counter);
            if (m_trace.slices.empty())
                first = std::min(first, counter.times.front());
        }
        for (TraceSlice& slice : m_trace.slices) {
            slice.start -= first;
            m_trace.end = std::max(m_trace.end, slice.end());
        }
        for (auto& [key, counter] : m_counters) {
            for (std::int64_t& time : counter.times)
                time -= first;
            counter.process = shown(m_processes[key.first].name, key.first);
            counter.name = key.second;
            m_trace.counters.push_back(std::move(counter));
        }
        std::vector<std::size_t> order(m_trace.collectives.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            order[i] = i;
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return m_trace.slices[m_trace.collectives[i].slice].start; });
        std::vector<TraceCollective> sorted;
        sorted.reserve(order.size());
        for (const std::size_t i : order) {
            m_trace.slices[m_trace.collectives[i].slice].collective = static_cast<std::int32_t>(sorted.size());
            sorted.push_back(std::move(m_trace.collectives[i]));
        }
        m_trace.collectives = std::move(sorted);
    }

    void finish()
    {
        if (m_cursor.error())
            m_trace.notes.push_back("the file is cut off: " + m_cursor.error()->where + ": " + m_cursor.error()->what);
        closeOpen();
        for (const auto& [what, count] : m_leftOut)
            m_trace.notes.push_back(std::to_string(count) + " " + what);
        takeCollectives();
        orderLanes();
        sortSlices();
        countFromStart();
    }

    JsonCursor m_cursor;
    std::string m_where;
    TraceEvent m_event;
    Trace m_trace;
    std::size_t m_lists = 0;
    std::size_t m_count = 0;
    std::string m_key;
    Numbered m_lanes;
    std::vector<std::pair<std::string, std::string>> m_keys; ///< process and thread of every lane
    Numbered m_names;
    std::map<std::string, Named> m_processes;
    std::map<std::pair<std::string, std::string>, Named> m_threads;
    std::map<std::uint32_t, std::vector<std::size_t>> m_open; ///< by lane: slices that have begun
    std::map<std::pair<std::string, std::string>, TraceCounter> m_counters;
    std::array<std::vector<TraceCollective>, 4> m_found; ///< by CollectiveSource
    std::map<std::string, std::int64_t> m_leftOut;
};

} // namespace

Result<Trace> parseTrace(JsonSource source, const std::string& where) { return TraceReader(std::move(source), where).read(); }

Result<Trace> readTrace(const std::string& path) { return readTrace(path, {}); }

Result<Trace> readTrace(const std::string& path, const TraceProgress& goOn)
{
    auto opened = OpenFile::open(path);
    if (!opened.ok())
        return opened.error();
    OpenFile& file = opened.value();
    char head[2] {};
    std::size_t inHead = 0;
    while (inHead < sizeof head) {
        const auto got = file.read(head + inHead, sizeof head - inHead);
        if (!got)
            return inputError(path, "cannot be read", "check the file and its disk");
        if (*got == 0)
            break;
        inHead += *got;
    }
    if (isGzip(std::string_view(head, inHead))) {
        const auto packed = readTextFile(path);
        if (!packed.ok())
            return packed.error();
        const auto text = gunzip(packed.value(), path, kLargestUnpacked);
        if (!text.ok())
            return text.error();
        return parseTrace(jsonSource(text.value()), path);
    }
    bool broken = false;
    bool cancelled = false;
    std::int64_t done = 0;
    const auto source = [&, given = std::size_t { 0 }](char* buffer, std::size_t size) mutable -> std::size_t {
        std::size_t filled = 0;
        cancelled = cancelled || (goOn && !goOn(done, file.size()));
        if (cancelled)
            return 0;
        for (; given < inHead && filled < size; ++given)
            buffer[filled++] = head[given];
        while (filled < size) {
            const auto got = file.read(buffer + filled, size - filled);
            broken = broken || !got;
            if (!got || *got == 0)
                break;
            filled += *got;
        }
        done += static_cast<std::int64_t>(filled);
        return filled;
    };
    auto out = parseTrace(source, path);
    if (cancelled)
        return inputError(path, "was not read to its end", "it was cancelled");
    if (broken)
        return inputError(path, "cannot be read to its end", "check the file and its disk");
    return out;
}

} // namespace shardboard
