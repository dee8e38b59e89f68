// SPDX-License-Identifier: Apache-2.0
// The design under many batches, sequences, micro-batches or numbers of devices, as plots: time of a step, tokens a second on each
// device, memory of a device. All else stays as the design has it, its layouts too.
#pragma once

#include "widgets/document/documentview.h"

#include <cstdint>
#include <vector>

class QLabel;
class QLineEdit;
class QPushButton;

namespace shardboard {

class ChoiceBox;
class ElidedLabel;
class LatestJob;
class SweepChart;
struct SweepPoint;

class SweepView : public DocumentView {
    Q_OBJECT
public:
    explicit SweepView(Document* document, QWidget* parent = nullptr);
    ~SweepView() override;
    QSize sizeHint() const override { return { 720, 240 }; }
    bool isBusy() const;
    void sweep();
    const std::vector<SweepPoint>& points() const { return m_points; }

protected:
    void refresh() override;

private:
    enum class What { Batch, Sequence, MicroBatches, Devices };
    void build();
    What what() const;
    std::int64_t valueOf(const SweepPoint& point) const;
    void proposeValues();
    void draw();
    void showState();
    void showPoint(int index);

    LatestJob* m_job;
    ChoiceBox* m_what;
    QLineEdit* m_values;
    QPushButton* m_start;
    ElidedLabel* m_text;
    QLabel* m_empty;
    QWidget* m_charts;
    SweepChart* m_step;
    SweepChart* m_rate;
    SweepChart* m_memory;
    std::vector<SweepPoint> m_points;
    What m_swept = What::Batch; ///< that the points are of
    double m_limit = 0; ///< bytes of a device
    std::shared_ptr<const Evaluation> m_of; ///< the design that was swept
    QString m_problem;
};

} // namespace shardboard
