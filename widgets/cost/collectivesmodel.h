// SPDX-License-Identifier: Apache-2.0
// The collectives of a plan as a table, in execution order. A snapshot of one evaluation; with the next one the rows that are there
// say something else, and the others come or go at the end.
#pragma once

#include "model/design/evaluation.h"
#include "model/notation/notation.h"

#include <QAbstractTableModel>
#include <QColor>
#include <QFont>

#include <memory>
#include <vector>

namespace shardboard {

class CollectivesModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        KindColumn,
        PhaseColumn,
        AxisColumn,
        GroupColumn,
        TensorColumn,
        BytesColumn,
        CountColumn,
        TimeColumn,
        CauseColumn,
        ColumnCount
    };
    static constexpr int kSortRole = Qt::UserRole; ///< exact numbers instead of rounded texts
    static constexpr int kPhaseRole = Qt::UserRole + 1; ///< a Phase as a number

    explicit CollectivesModel(QObject* parent = nullptr);
    /// `attention` marks the rows for which a device waits more than a tenth of the step.
    void setEvaluation(std::shared_ptr<const Evaluation> evaluation, const QColor& quiet, const QColor& attention,
                       const QFont& mono, Notation notation = Notation::Jax);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QString text(const Collective& collective, int column) const;
    QVariant exact(const Collective& collective, int column) const;
    QString toolTip(const Collective& collective) const;
    bool saysTheSame(const Evaluation& before, int row) const;

    std::shared_ptr<const Evaluation> m_evaluation;
    std::vector<bool> m_heavy; ///< by row
    int m_rows = 0;
    Notation m_notation = Notation::Jax;
    QColor m_quiet;
    QColor m_attention;
    QFont m_mono;
};

} // namespace shardboard
