// SPDX-License-Identifier: Apache-2.0
// What is selected and what is hovered, shared by all views. Owned by the Document; lives on the GUI thread.
// Indices refer to the current Evaluation; the Document maps them to the next evaluation by name after every edit. What is not
// there is not selected: a click may come from a picture of the evaluation before.
#pragma once

#include "model/plan/plan.h"

#include <QObject>

#include <cstdint>
#include <memory>
#include <vector>

namespace shardboard {

struct Evaluation;

class Selection : public QObject {
    Q_OBJECT
public:
    explicit Selection(QObject* parent = nullptr);

    int weight() const { return m_weight; } ///< index into Evaluation::weights, -1 for none
    /// All selected weights in their order, weight() among them; what an edit of "the selection" is about.
    const std::vector<int>& weights() const { return m_weights; }
    std::int64_t device() const { return m_device; } ///< mesh position, -1 for none
    CollectiveId collective() const { return m_collective; }
    /// The selected operation of the planned segment. Of a weight, a collective and an
    /// operation the one that was selected last is what explanations are about.
    PlannedSegmentId segment() const { return m_segment; }
    PlannedOpId operation() const { return m_operation; }
    int meshAxis() const { return m_meshAxis; } ///< index into Mesh::axes, -1 for none
    std::int64_t hoveredDevice() const { return m_hoveredDevice; } ///< mesh position under the mouse in any view, -1
    int hoveredWeight() const
    {
        return m_hoveredWeight;
    } ///< index into Evaluation::weights of what is under the mouse in any view, -1

    /// What the indices refer to from now on. Whoever says so sets all of them anew.
    void setEvaluation(std::shared_ptr<const Evaluation> evaluation);

    /// What is not there is none to all of these.
    void setWeight(int weight); ///< and no other; one that is there takes the place of a collective and an operation
    void setWeights(std::vector<int> weights, int current);
    void setDevice(std::int64_t position);
    void setCollective(CollectiveId collective); ///< one that is there takes the place of an operation
    void setOperation(PlannedSegmentId segment, PlannedOpId operation); ///< one that is there takes the place of a collective
    void setMeshAxis(int axis);
    void setHoveredDevice(std::int64_t position);
    void setHoveredWeight(int weight);
    void clear();

Q_SIGNALS:
    void changed(); ///< anything but what is hovered
    void hoverChanged(); ///< another device
    void weightHoverChanged(); ///< another weight

private:
    void leave();
    bool hasWeight(int weight) const;
    bool hasDevice(std::int64_t position) const;

    std::shared_ptr<const Evaluation> m_evaluation;
    int m_weight = -1;
    std::vector<int> m_weights;
    CollectiveId m_collective;
    PlannedSegmentId m_segment;
    PlannedOpId m_operation;
    int m_meshAxis = -1;
    std::int64_t m_device = -1;
    std::int64_t m_hoveredDevice = -1;
    int m_hoveredWeight = -1;
};

} // namespace shardboard
