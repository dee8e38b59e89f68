// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/partcolors.h"

#include "widgets/look/axishues.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace shardboard {

namespace {

constexpr std::int64_t kSteps = 64; ///< of lightness that can be told apart at all
constexpr std::int64_t kShifts = 16; ///< from hue to hue
constexpr double kDarkest = 30; ///< L*
constexpr double kLightest = 89;

using Ramp = std::array<QRgb, kSteps>;

double lightness(const QColor& color)
{
    const double y = contrastRatio(color, Qt::black) * 0.05 - 0.05;
    return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

QColor between(const QColor& a, const QColor& b, double share)
{
    const auto part = [share](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * share)); };
    return QColor(part(a.red(), b.red()), part(a.green(), b.green()), part(a.blue(), b.blue()));
}

/// A hue with black or white in it, just so much that it has the wanted lightness.
QColor withLightness(const QColor& hue, double wanted)
{
    const bool darker = lightness(hue) > wanted;
    const QColor end = darker ? QColor(Qt::black) : QColor(Qt::white);
    double low = 0;
    double high = 1;
    for (int i = 0; i < 12; ++i) {
        const double middle = (low + high) / 2;
        const bool enough = darker ? lightness(between(hue, end, middle)) < wanted : lightness(between(hue, end, middle)) > wanted;
        (enough ? high : low) = middle;
    }
    return between(hue, end, (low + high) / 2);
}

Ramp rampOf(const QColor& hue)
{
    Ramp out {};
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] =
            withLightness(hue, kDarkest + (kLightest - kDarkest) * static_cast<double>(i) / static_cast<double>(kSteps - 1)).rgb();
    return out;
}

const Ramp& ramp(int hue)
{
    static const auto hues = [] {
        std::array<Ramp, kHueCount> out {};
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = rampOf(plainHue(static_cast<int>(i)));
        return out;
    }();
    static const Ramp grey = rampOf(QColor(0x80, 0x80, 0x80));
    return partStyle() == PartStyle::Patterns ? grey : hues[static_cast<std::size_t>(hue)];
}

/// Spread over the steps there are.
std::int64_t spread(std::int64_t index, std::int64_t count, std::int64_t steps)
{
    return count < 2 ? 0 : count <= steps ? index : index * steps / count;
}

} // namespace

PartColors::PartColors(const ShardMap& shards)
{
    std::vector<Factor> factors;
    for (const DimCut& cut : shards.cuts())
        for (const AxisRef& ref : cut.axes())
            if (const std::int64_t size = sizeOf(ref, shards.mesh()); size > 1)
                factors.push_back({ ref.axis, size, 1 });
    set(shards.mesh(), factors);
}

PartColors::PartColors(const Mesh& mesh, int axis)
{
    if (axis >= 0)
        set(mesh, { { axis, mesh.axis(axis).size, 1 } });
}

void PartColors::set(const Mesh& mesh, const std::vector<Factor>& factors)
{
    Factor next;
    for (std::size_t i = factors.size(); i-- > 0;) {
        Factor factor = factors[i];
        factor.stride = m_count;
        m_count *= factor.size;
        if (factor.size > m_main.size) {
            next = m_main;
            m_main = factor;
        } else if (factor.size > next.size) {
            next = factor;
        }
    }
    const AxisHues hues(mesh);
    m_hue = hues.hueOf(m_main.axis);
    m_shift = next.axis;
    m_otherHue = next.axis < 0 ? m_hue : hues.hueOf(next.axis);
    if (next.axis >= 0 && m_otherHue == m_hue)
        m_otherHue = (m_hue + 3) % kHueCount; // two parts of one axis
}

bool PartColors::isRamp() const { return m_count > (partStyle() == PartStyle::Patterns ? colorCount() : kHueCount); }

std::size_t PartColors::inkCount() const
{
    if (!isRamp())
        return static_cast<std::size_t>(m_count);
    return static_cast<std::size_t>(std::min(m_main.size, kSteps) * std::min(m_count / m_main.size, kShifts));
}

std::size_t PartColors::inkOf(std::int64_t part) const
{
    if (!isRamp())
        return static_cast<std::size_t>(std::max<std::int64_t>(part, 0));
    const std::int64_t along = part / m_main.stride % m_main.size;
    const std::int64_t others = part / (m_main.stride * m_main.size) * m_main.stride + part % m_main.stride;
    const std::int64_t rest = m_count / m_main.size;
    return static_cast<std::size_t>(spread(others, rest, kShifts) * std::min(m_main.size, kSteps)
                                    + spread(along, m_main.size, kSteps));
}

/// Those of a ramp are kept until another one is asked for: a mesh asks for one for each of its devices.
PartColor PartColors::ink(std::size_t index) const
{
    if (!isRamp())
        return partColor(static_cast<std::int64_t>(index));
    using Key = std::tuple<PartStyle, int, int, std::int64_t, std::int64_t>;
    thread_local Key known {};
    thread_local std::vector<PartColor> inks;
    const Key key { partStyle(), m_hue, m_otherHue, m_count, m_main.size };
    if (inks.empty() || key != known) {
        inks.clear();
        for (std::size_t i = 0; i < inkCount(); ++i)
            inks.push_back(rampInk(i));
        known = key;
    }
    return index < inks.size() ? inks[index] : rampInk(index);
}

PartColor PartColors::rampInk(std::size_t index) const
{
    const std::int64_t steps = std::min(m_main.size, kSteps);
    const std::int64_t shifts = std::min(m_count / m_main.size, kShifts);
    const std::int64_t along = static_cast<std::int64_t>(index) % steps;
    const std::int64_t shift = static_cast<std::int64_t>(index) / steps;
    const auto level = static_cast<std::size_t>(steps < 2 ? 0 : along * (kSteps - 1) / (steps - 1));
    PartColor out;
    out.fill = between(QColor(ramp(m_hue)[level]), QColor(ramp(m_otherHue)[level]),
                       shifts < 2 ? 0 : static_cast<double>(shift) / static_cast<double>(shifts - 1));
    const QColor dark(QRgb(0xff0b0d10u));
    out.label = contrastRatio(out.fill, Qt::white) >= 4.5 ? QColor(Qt::white)
        : contrastRatio(out.fill, dark) >= 4.5            ? dark
                                                          : QColor(Qt::black);
    return out;
}

PartColor PartColors::at(std::int64_t part) const { return ink(inkOf(part)); }

} // namespace shardboard
