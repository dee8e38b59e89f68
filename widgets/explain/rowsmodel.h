// SPDX-License-Identifier: Apache-2.0
// The rows of an operation as the picker ranked them, per mesh axis, as a table. A snapshot of one explanation.
#pragma once

#include "model/design/evaluation.h"
#include "model/design/explain/explanation.h"

#include <QAbstractTableModel>
#include <QColor>
#include <QFont>
#include <QStyledItemDelegate>

#include <memory>

namespace shardboard {

class RowsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { AxisColumn, RowColumn, PriceColumn, MovesColumn, StepColumn, NoteColumn, ActionColumn, ColumnCount };
    enum Role {
        BarRole = Qt::UserRole, ///< share of the dearest possible row, 0 to 1; -1 for a row that cannot be
        PickedRole
    };
    struct Colors {
        QColor text, quiet, error;
        QFont mono, bold;
    };

    explicit RowsModel(QObject* parent = nullptr);
    void setExplanation(std::shared_ptr<const Evaluation> evaluation, Explanation explanation, bool byTime, const Colors& colors);
    /// What the rows would do if they were pinned, from another explanation of the same thing; all else stays.
    void setEffects(const Explanation& explanation);
    const Explanation& explanation() const { return m_explanation; }
    /// The row of the table, and its mesh axis; null outside.
    const RankedRow* rowAt(int row) const;
    const AxisExplanation* axisAt(int row) const;
    /// All that a row says, in one paragraph; empty outside.
    QString detail(int row) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    struct Place {
        int axis = 0; ///< index into Explanation::axes
        int row = 0;
        bool first = false; ///< of its mesh axis
    };
    QString text(const Place& place, int column) const;
    QString note(const AxisExplanation& axis, const RankedRow& row) const;
    QString toolTip(const AxisExplanation& axis, const RankedRow& row) const;

    std::shared_ptr<const Evaluation> m_evaluation;
    Explanation m_explanation;
    std::vector<Place> m_rows;
    bool m_byTime = true;
    Colors m_colors;
};

/// What a row does, in a few words: `reduce-scatter → sequence`, `nothing moves → whole`. The result's dim goes by its label.
QString rowTitle(const Evaluation& evaluation, const Explanation& explanation, const RankedRow& row);
/// The collectives that a row needs: `all-gather ×3`, `nothing`.
QString movesText(const RankedRow& row);
/// A row as people write it: `S1 R → S1`.
QString rowLabel(const std::string& row);
/// `step −12 %, peak +768 MiB` of an edit.
QString effectText(const EditEffect& effect);

/// Draws the price as a bar with its number.
class PriceDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    static constexpr int kTextWidth = 64; ///< of the number, before the bar
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace shardboard
