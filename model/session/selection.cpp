// SPDX-License-Identifier: Apache-2.0
#include "model/session/selection.h"

#include "model/design/evaluation.h"
#include "model/text/contains.h"

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

bool isIndex(int index, std::size_t count) { return index >= 0 && static_cast<std::size_t>(index) < count; }

} // namespace

Selection::Selection(QObject* parent)
    : QObject(parent)
{
}

void Selection::setEvaluation(std::shared_ptr<const Evaluation> evaluation) { m_evaluation = std::move(evaluation); }

bool Selection::hasWeight(int weight) const { return m_evaluation && isIndex(weight, m_evaluation->weights.size()); }

bool Selection::hasDevice(std::int64_t position) const
{
    return m_evaluation && position >= 0 && position < m_evaluation->plan.mesh.deviceCount();
}

void Selection::setWeight(int weight) { setWeights({}, weight); }

void Selection::setWeights(std::vector<int> weights, int current)
{
    weights.erase(std::remove_if(weights.begin(), weights.end(), [this](int weight) { return !hasWeight(weight); }), weights.end());
    if (!hasWeight(current)) {
        current = -1;
        weights.clear();
    }
    if (current >= 0 && !contains(weights, current))
        weights.push_back(current);
    std::ranges::sort(weights);
    const bool takesPlace = current >= 0 && (m_collective.valid() || m_operation.valid());
    if (m_weight == current && m_weights == weights && !takesPlace)
        return;
    if (takesPlace)
        leave();
    m_weight = current;
    m_weights = std::move(weights);
    Q_EMIT changed();
}

void Selection::setDevice(std::int64_t position)
{
    position = hasDevice(position) ? position : -1;
    if (m_device == position)
        return;
    m_device = position;
    Q_EMIT changed();
}

void Selection::setCollective(CollectiveId collective)
{
    if (!m_evaluation || collective >= m_evaluation->plan.collectives.size())
        collective = {};
    if (m_collective == collective)
        return;
    if (collective.valid())
        leave();
    m_collective = collective;
    Q_EMIT changed();
}

void Selection::setOperation(PlannedSegmentId segment, PlannedOpId operation)
{
    if (!m_evaluation || segment >= m_evaluation->plan.segments.size()
        || operation >= m_evaluation->plan.segment(segment).ops.size()) {
        segment = {};
        operation = {};
    }
    if (m_segment == segment && m_operation == operation)
        return;
    if (operation.valid())
        leave();
    m_segment = segment;
    m_operation = operation;
    Q_EMIT changed();
}

/// The collective and the operation.
void Selection::leave()
{
    m_collective = {};
    m_segment = {};
    m_operation = {};
}

void Selection::setMeshAxis(int axis)
{
    if (!m_evaluation || !isIndex(axis, m_evaluation->plan.mesh.axes().size()))
        axis = -1;
    if (m_meshAxis == axis)
        return;
    m_meshAxis = axis;
    Q_EMIT changed();
}

void Selection::setHoveredDevice(std::int64_t position)
{
    position = hasDevice(position) ? position : -1;
    if (m_hoveredDevice == position)
        return;
    m_hoveredDevice = position;
    Q_EMIT hoverChanged();
}

void Selection::setHoveredWeight(int weight)
{
    weight = hasWeight(weight) ? weight : -1;
    if (m_hoveredWeight == weight)
        return;
    m_hoveredWeight = weight;
    Q_EMIT weightHoverChanged();
}

void Selection::clear()
{
    const bool any = m_weight >= 0 || m_device >= 0 || m_collective.valid() || m_operation.valid() || m_meshAxis >= 0;
    m_weight = -1;
    m_weights.clear();
    m_device = -1;
    leave();
    m_meshAxis = -1;
    if (any)
        Q_EMIT changed();
    setHoveredDevice(-1);
    setHoveredWeight(-1);
}

} // namespace shardboard
