// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshfind.h"

#include "widgets/look/format.h"

#include <QRegularExpression>
#include <QStringList>

#include <algorithm>

namespace shardboard {

namespace {

/// The mesh axis of that name, else the only one that begins so; -1: none.
int axisNamed(const Mesh& mesh, const QString& name)
{
    int found = -1;
    int begin = 0;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const QString own = qstr(mesh.axis(axis).name);
        if (own.compare(name, Qt::CaseInsensitive) == 0)
            return axis;
        if (own.startsWith(name, Qt::CaseInsensitive)) {
            found = axis;
            ++begin;
        }
    }
    return begin == 1 ? found : -1;
}

} // namespace

MeshPattern::MeshPattern(const QString& text, const Mesh& mesh, const Hardware& hardware)
    : m_empty(text.trimmed().isEmpty())
    , m_devicesPerNode(std::max<std::int64_t>(1, hardware.devicesPerNode()))
{
    static const QRegularExpression between(QStringLiteral("[\\s,;=:]+"));
    const QStringList words = text.split(between, Qt::SkipEmptyParts);
    for (qsizetype i = 0; i < words.size() && m_understood; ++i) {
        const QString word = words[i].toLower();
        bool isNumber = false;
        if (const qlonglong id = word.toLongLong(&isNumber); isNumber) {
            m_understood = m_id < 0 && id >= 0;
            m_id = id;
            continue;
        }
        bool numberNext = false;
        const qlonglong number = i + 1 < words.size() ? words[i + 1].toLongLong(&numberNext) : -1;
        const bool device = word == QLatin1String("device") || word == QLatin1String("devices");
        const bool node = word == QLatin1String("node") || word == QLatin1String("host") || word == QLatin1String("island");
        const int axis = axisNamed(mesh, word);
        if (!numberNext) {
            if (axis >= 0 && words.size() == 1)
                m_axis = axis;
            else
                m_understood = (device || node) && words.size() == 1; // what is still being typed
            m_empty = m_empty || (m_understood && m_axis < 0);
            continue;
        }
        ++i;
        if (axis >= 0)
            m_coordinates.emplace_back(axis, number);
        else if (device)
            m_id = number;
        else if (node)
            m_node = number;
        else
            m_understood = false;
    }
}

bool MeshPattern::matches(const Mesh& mesh, std::int64_t position) const
{
    if (!m_understood)
        return false;
    if (m_empty || m_axis >= 0)
        return true;
    const std::int64_t id = mesh.deviceId(position);
    if ((m_id >= 0 && id != m_id) || (m_node >= 0 && id / m_devicesPerNode != m_node))
        return false;
    return std::all_of(m_coordinates.begin(), m_coordinates.end(),
                       [&](const auto& wanted) { return mesh.coordinate(position, wanted.first) == wanted.second; });
}

std::int64_t MeshPattern::count(const Mesh& mesh) const
{
    std::int64_t out = 0;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        out += matches(mesh, position) ? 1 : 0;
    return out;
}

} // namespace shardboard
