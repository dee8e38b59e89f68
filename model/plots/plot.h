// SPDX-License-Identifier: Apache-2.0
// A picture of numbers over numbers, as values: axes with units, series, and what each point is. Views draw it; it is also a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

enum class PlotUnit : std::uint8_t {
    Number, ///< 1, 10, 1k, 1M
    Bytes, ///< binary: 1 KiB, 32 KiB, 1 MiB
    Seconds, ///< 1 µs, 1 ms
};

struct PlotAxis {
    std::string title; ///< with its unit: `GB/s`, `bytes of a collective`
    PlotUnit unit = PlotUnit::Number;
    bool logarithmic = false;
    friend bool operator==(const PlotAxis&, const PlotAxis&) = default;
};

enum class PlotMark : std::uint8_t { None, Circle, Square, Triangle, Diamond };

struct PlotPoint {
    double x = 0;
    double y = 0;
    std::string what {}; ///< of which it tells, for people
    std::int32_t item = -1; ///< index into the items of a timeline; -1: none
    friend bool operator==(const PlotPoint&, const PlotPoint&) = default;
};

struct PlotSeries {
    std::string name;
    PlotMark mark = PlotMark::None; ///< of its points; None: a line through them
    bool dashed = false; ///< a line of another kind: a limit, an ideal
    bool steps = false; ///< a line that keeps its value up to the next point
    bool filled = false; ///< down to the series before
    bool hollow = false; ///< predicted: its marks are outlines
    int hue = -1; ///< of the series that are told apart by hues; -1: as text
    std::vector<PlotPoint> points {};
    std::string group {}; ///< what all of its hue are called together; empty: it has no other of its hue
    friend bool operator==(const PlotSeries&, const PlotSeries&) = default;
};

struct Plot {
    std::string id; ///< `roofline`, for names of files
    PlotAxis x {};
    PlotAxis y {};
    std::vector<PlotSeries> series {};
    std::vector<std::string> notes {}; ///< what one has to know of it, for people
    bool isEmpty() const;
    friend bool operator==(const Plot&, const Plot&) = default;
};

/// The part of an axis that all points lie in, with some room at its ends; on a logarithmic axis what is not positive does not
/// count. 1 to 10 where there is nothing.
struct PlotRange {
    double from = 1;
    double to = 10;
};
PlotRange plotRange(const Plot& plot, bool ofY);

struct PlotTick {
    double value = 0;
    std::string text;
};
/// At most so many, at round values, from left to right.
std::vector<PlotTick> plotTicks(const PlotAxis& axis, const PlotRange& range, int most);

/// `1.5 ms`, `32 KiB`, `2.31k`.
std::string plotValue(PlotUnit unit, double value);

/// RFC 4180: `series,X,Y,what` and a line for each point, numbers with all their digits.
std::string plotCsv(const Plot& plot);

} // namespace shardboard
