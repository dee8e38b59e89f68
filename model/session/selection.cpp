// SPDX-License-Identifier: Apache-2.0
#include "model/session/selection.h"

#include <algorithm>
#include <utility>

namespace shardboard {

Selection::Selection(QObject* parent)
    : QObject(parent)
{
}

void Selection::setWeight(int weight) { setWeights({}, weight); }

void Selection::setWeights(std::vector<int> weights, int current)
{
    if (current < 0)
        weights.clear();
    else if (std::find(weights.begin(), weights.end(), current) == weights.end())
        weights.push_back(current);
    std::sort(weights.begin(), weights.end());
    const bool takesPlace = current >= 0 && (m_collective >= 0 || m_operation >= 0);
    if (m_weight == current && m_weights == weights && !takesPlace)
        return;
    if (takesPlace)
        m_collective = m_segment = m_operation = -1;
    m_weight = current;
    m_weights = std::move(weights);
    Q_EMIT changed();
}

void Selection::setDevice(std::int64_t position)
{
    if (m_device == position)
        return;
    m_device = position;
    Q_EMIT changed();
}

void Selection::setCollective(int collective)
{
    if (m_collective == collective)
        return;
    m_collective = collective;
    if (collective >= 0)
        m_segment = m_operation = -1;
    Q_EMIT changed();
}

void Selection::setOperation(int segment, int operation)
{
    if (operation < 0 || segment < 0)
        segment = operation = -1;
    if (m_segment == segment && m_operation == operation)
        return;
    m_segment = segment;
    m_operation = operation;
    if (operation >= 0)
        m_collective = -1;
    Q_EMIT changed();
}

void Selection::setMeshAxis(int axis)
{
    if (m_meshAxis == axis)
        return;
    m_meshAxis = axis;
    Q_EMIT changed();
}

void Selection::setHoveredDevice(std::int64_t position)
{
    if (m_hoveredDevice == position)
        return;
    m_hoveredDevice = position;
    Q_EMIT hoverChanged();
}

void Selection::setHoveredWeight(int weight)
{
    if (m_hoveredWeight == weight)
        return;
    m_hoveredWeight = weight;
    Q_EMIT weightHoverChanged();
}

void Selection::clear()
{
    const bool any = m_weight >= 0 || m_device >= 0 || m_collective >= 0 || m_operation >= 0 || m_meshAxis >= 0;
    m_weight = -1;
    m_weights.clear();
    m_device = -1;
    m_collective = m_segment = m_operation = -1;
    m_meshAxis = -1;
    if (any)
        Q_EMIT changed();
    setHoveredDevice(-1);
    setHoveredWeight(-1);
}

} // namespace shardboard
