// SPDX-License-Identifier: Apache-2.0
// The measured times of a run as a table: an operation or collective a row, in program order.
#pragma once

#include "model/io/wire/messages.h"
#include "model/plan/reshard/reshard.h"

#include <QAbstractTableModel>
#include <QColor>
#include <QFont>

namespace shardboard {

class RunModel : public QAbstractTableModel {
    Q_OBJECT
public:
    /// What matters most first, so that a narrow table needs no scrolling for it.
    enum Column { Operation, Measured, Predicted, RelativeError, Kind, Bytes, Count, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    /// `hardware` is what the predictions are for, another machine than the one that ran as a rule.
    void setResult(const RunResult& result, const QString& hardware);
    void clear();
    /// Of a layout that is no longer shown: its numbers stand in `ink`. An invalid colour: they are of the present one.
    void setStale(const QColor& ink);
    /// What numbers are written in.
    void setMono(const QFont& font);
    const RunResult& result() const { return m_result; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QString text(const RunOperation& operation, int column) const;
    QString exactText(const RunOperation& operation, int column) const;
    QString wholeText(const RunOperation& operation) const;

    RunResult m_result;
    QString m_hardware;
    QColor m_stale;
    QFont m_mono;
};

/// `3.1e-07`, `exact` for 0, `not finite`.
QString relativeErrorText(double error);
/// What a run proved, in one sentence.
QString verdictText(const RunResult& result);

} // namespace shardboard
