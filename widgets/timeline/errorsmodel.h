// SPDX-License-Identifier: Apache-2.0
// Rows of an ErrorTable, and the step that they add up to as the last one.
#pragma once

#include "model/io/lanes/errortable.h"

#include <QAbstractTableModel>
#include <QColor>
#include <QFont>

#include <map>
#include <string>

namespace shardboard {

class ErrorsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Operation, Predicted, Measured, Lost, RelativeError, Bound, Constant, Count, ColumnCount };
    static constexpr int kSortRole = Qt::UserRole;
    static constexpr int kTotalRole = Qt::UserRole + 1; ///< true for the sum

    using QAbstractTableModel::QAbstractTableModel;

    struct Look {
        QColor attention;
        QColor quiet;
        QFont mono {};
        QFont bold {};
        bool stale = false; ///< of another design: all of it is quiet
    };
    /// `unmatched`: collectives of a trace that are none of the plan's, by reason; rows of their own, without a prediction.
    void setTable(const ErrorTable& table, const std::map<std::string, std::int64_t>& unmatched, const Look& look);
    const ErrorTable& table() const { return m_table; }
    /// Item of a row, -1: it is of none.
    int itemOf(int row) const;
    int rowOf(int item) const; ///< -1: none

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QString text(const ErrorRow& row, int column) const;
    QVariant sortKey(const ErrorRow& row, int column) const;
    QString tip(const ErrorRow& row) const;
    ErrorRow rowAt(int row) const;
    bool isTotal(int row) const { return row == static_cast<int>(m_table.rows.size()); }

    ErrorTable m_table;
    std::vector<std::pair<std::string, std::int64_t>> m_unmatched;
    Look m_look;
};

} // namespace shardboard
