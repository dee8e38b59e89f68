// SPDX-License-Identifier: Apache-2.0
#include "model/plots/plot.h"

#include "model/text/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardboard {

namespace {

/// A field of a CSV file.
std::string csvField(const std::string& text)
{
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string out = "\"";
    for (const char byte : text)
        out += byte == '"' ? std::string("\"\"") : std::string(1, byte);
    return out + '"';
}

std::string shortNumber(double value)
{
    struct Prefix {
        double size;
        const char* text;
    };
    constexpr Prefix kPrefixes[] = { { 1e18, "E" }, { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } };
    for (const Prefix& prefix : kPrefixes)
        if (std::abs(value) >= prefix.size * 0.9995)
            return formatted("%.3g%s", value / prefix.size, prefix.text);
    return formatted("%.3g", value);
}

std::string shortBytes(double value)
{
    constexpr const char* kUnits[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    std::size_t unit = 0;
    while (std::abs(value) >= 1023.5 && unit + 1 < std::size(kUnits)) {
        value /= 1024;
        ++unit;
    }
    return formatted(std::abs(value) >= 99.95 ? "%.0f %s" : "%.3g %s", value, kUnits[unit]);
}

} // namespace

bool Plot::isEmpty() const
{
    return std::ranges::all_of(series, [](const PlotSeries& one) { return one.points.empty(); });
}

std::string plotValue(PlotUnit unit, double value)
{
    switch (unit) {
    case PlotUnit::Bytes:
        return shortBytes(value);
    case PlotUnit::Seconds:
        return value == 0 ? "0 s" : secondsText(value);
    case PlotUnit::Number:
        break;
    }
    return shortNumber(value);
}

PlotRange plotRange(const Plot& plot, bool ofY)
{
    const PlotAxis& axis = ofY ? plot.y : plot.x;
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const PlotSeries& one : plot.series)
        for (const PlotPoint& point : one.points) {
            const double value = ofY ? point.y : point.x;
            if (!std::isfinite(value) || (axis.logarithmic && value <= 0))
                continue;
            least = std::min(least, value);
            most = std::max(most, value);
        }
    if (!(least <= most))
        return {};
    if (axis.logarithmic) {
        const double room = std::max(std::pow(most / least, 0.05), 1.25);
        return { least / room, most * room };
    }
    least = std::min(least, 0.0);
    const double room = most > least ? 0.06 * (most - least) : 1;
    return { least, ofY ? most + room : std::max(most, least + 1e-12) };
}

std::vector<PlotTick> plotTicks(const PlotAxis& axis, const PlotRange& range, int most)
{
    std::vector<PlotTick> out;
    most = std::max(most, 2);
    if (axis.logarithmic) {
        if (!(range.from > 0) || !(range.to > range.from))
            return out;
        const double base = axis.unit == PlotUnit::Bytes ? 2 : 10;
        const auto first = static_cast<int>(std::ceil(std::log(range.from) / std::log(base) - 1e-9));
        const auto last = static_cast<int>(std::floor(std::log(range.to) / std::log(base) + 1e-9));
        int step = 1;
        while ((last - first) / step + 1 > most)
            step = axis.unit != PlotUnit::Bytes ? step + 1 : step < 5 ? 5 : step + 5;
        const int begin = first + ((-first) % step + step) % step; // multiples of the step, whatever the range begins with
        for (int power = begin; power <= last; power += step)
            out.push_back({ std::pow(base, power), plotValue(axis.unit, std::pow(base, power)) });
        if (out.size() < 2 && axis.unit != PlotUnit::Bytes) { // less than a decade or two: 2 and 5 as well
            out.clear();
            for (int power = first - 1; power <= last; ++power)
                for (const double digit : { 1.0, 2.0, 5.0 })
                    if (const double value = digit * std::pow(base, power);
                        value >= range.from && value <= range.to && static_cast<int>(out.size()) < most)
                        out.push_back({ value, plotValue(axis.unit, value) });
        }
        return out;
    }
    const double span = range.to - range.from;
    if (!(span > 0) || !std::isfinite(span))
        return out;
    double unit = 1;
    if (axis.unit == PlotUnit::Bytes)
        while (unit * 1024 <= span)
            unit *= 1024;
    double step = unit * std::pow(10.0, std::floor(std::log10(span / unit / most)));
    for (int i = 0; span / step > most; ++i)
        step *= i % 3 == 1 ? 2.5 : 2; // 1, 2, 5, 10
    for (double at = std::ceil(range.from / step - 1e-9) * step; at <= range.to + 1e-9 * span; at += step)
        out.push_back({ std::abs(at) < 1e-9 * step ? 0 : at, plotValue(axis.unit, std::abs(at) < 1e-9 * step ? 0 : at) });
    return out;
}

std::string plotCsv(const Plot& plot)
{
    std::string out = "series," + csvField(plot.x.title) + "," + csvField(plot.y.title) + ",what\r\n";
    for (const PlotSeries& one : plot.series)
        for (const PlotPoint& point : one.points)
            out += csvField(one.name) + formatted(",%.17g,%.17g,", point.x, point.y) + csvField(point.what) + "\r\n";
    return out;
}

} // namespace shardboard
