// SPDX-License-Identifier: Apache-2.0
// The parts of a fused dim, one a row: an even part by its size, or heads that stay whole. Parts are added, removed and
// moved; the line below says what they add up to and whether that is the dim (or twice of it, packed).
#pragma once

#include "model/core/strategy.h"

#include <QWidget>

#include <vector>

class QLabel;
class QToolButton;
class QVBoxLayout;

namespace shardboard {

class ChoiceBox;
class NumberEdit;

/// One row.
class SegmentRow : public QWidget {
    Q_OBJECT
public:
    explicit SegmentRow(QWidget* parent);
    void showSegment(const StrategySegment& segment);
    StrategySegment segment() const;
    void setPlace(int place, int count);
    void fitText(); ///< widths that go by the size of the text

Q_SIGNALS:
    void changed();
    void removed();
    void moved(int by);

private:
    void arrange();

    ChoiceBox* m_kind;
    NumberEdit* m_size;
    NumberEdit* m_heads;
    NumberEdit* m_headDim;
    QLabel* m_times;
    QToolButton* m_up;
    QToolButton* m_down;
    QToolButton* m_remove;
};

class SegmentTable : public QWidget {
    Q_OBJECT
public:
    explicit SegmentTable(QWidget* parent = nullptr);

    /// Shows these parts of a dim of `dimSize` elements (-1: not known), without a signal.
    void showSegments(const std::vector<StrategySegment>& segments, std::int64_t dimSize);
    std::vector<StrategySegment> segments() const;

Q_SIGNALS:
    void segmentsChanged();

private:
    void setRowCount(std::size_t count);
    void addRow();
    void change(const std::vector<StrategySegment>& segments);
    void showSum();
    void changeEvent(QEvent* event) override;

    std::vector<SegmentRow*> m_rows;
    QVBoxLayout* m_column;
    QToolButton* m_add;
    QLabel* m_sum;
    std::int64_t m_dimSize = -1;
};

/// `6144 of 6144`, `12288 of 6144, packed in pairs`, `4096 of 6144: 2048 are missing`, `… too many`.
QString segmentSumText(const std::vector<StrategySegment>& segments, std::int64_t dimSize);

} // namespace shardboard
