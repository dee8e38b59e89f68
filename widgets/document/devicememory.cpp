// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/devicememory.h"

#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include <QObject>

#include <algorithm>

namespace shardboard {

DeviceMemory::DeviceMemory(const Plan& plan, double limitBytes)
    : m_mesh(plan.mesh)
    , m_limit(limitBytes)
{
    if (plan.pipeline && plan.pipeline->memory.size() > 1 && plan.pipeline->axis >= 0) {
        m_axis = plan.pipeline->axis;
        for (const MemoryByCause& stage : plan.pipeline->memory)
            m_peaks.push_back(stage.peak);
    } else {
        m_peaks.push_back(plan.memory.peak);
    }
}

std::int64_t DeviceMemory::stageAt(std::int64_t position) const
{
    const std::int64_t stage = m_axis >= 0 ? m_mesh.coordinate(position, m_axis) : 0;
    return std::min(stage, std::max<std::int64_t>(stages() - 1, 0));
}

std::int64_t DeviceMemory::peakAt(std::int64_t position) const
{
    return m_peaks.empty() ? 0 : m_peaks[static_cast<std::size_t>(stageAt(position))];
}

double DeviceMemory::fillAt(std::int64_t position) const
{
    return m_limit > 0 ? static_cast<double>(peakAt(position)) / m_limit : 0;
}

QString DeviceMemory::legend() const
{
    if (m_axis < 0)
        return QObject::tr("peak of memory, the same on every device");
    const auto [least, most] = std::minmax_element(m_peaks.begin(), m_peaks.end());
    return QObject::tr("peak of each stage of %1: %2 to %3")
        .arg(qstr(m_mesh.axis(m_axis).name), bytesText(*least), bytesText(*most));
}

PartColor heatColor(double fill, const Theme& theme)
{
    constexpr double kFaintest = 0.10;
    PartColor out;
    const bool tooMuch = fill > 1;
    const bool grey = partStyle() == PartStyle::Patterns;
    const double darkness = kFaintest + (1 - kFaintest) * std::clamp(fill, 0.0, 1.0);
    const QColor faint(0xF4, 0xF4, 0xF4);
    const QColor strong(0x20, 0x20, 0x20);
    if (grey)
        out.fill = blended(theme.isDark ? strong : faint, theme.isDark ? faint : strong, darkness);
    else
        out.fill = tooMuch ? theme.error : blended(theme.panel, theme.accent, darkness);
    const QColor light(0xFF, 0xFF, 0xFF);
    const QColor dark(0x10, 0x14, 0x18);
    out.label = contrastRatio(light, out.fill) > contrastRatio(dark, out.fill) ? light : dark;
    if (tooMuch) {
        out.hatch = Qt::BDiagPattern;
        out.hatchColor = grey ? blended(out.fill, out.label, 0.3) : blended(out.fill, out.label == light ? dark : light, 0.25);
    }
    return out;
}

} // namespace shardboard
