// SPDX-License-Identifier: Apache-2.0
// The five cut rules on one tensor dim as a table: sizes of the parts, which devices hold other elements than under the
// balanced rule, padding; or why a rule refuses. And the delegate that draws the parts as a bar in the devices'
// colours.
#pragma once

#include "model/core/cutcomparison.h"
#include "widgets/look/partcolors.h"

#include <QAbstractTableModel>
#include <QColor>
#include <QFont>
#include <QStyledItemDelegate>

namespace shardboard {

class CutsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { RuleColumn, BarColumn, SizesColumn, DiffersColumn, PaddingColumn, ColumnCount };
    static constexpr int kCurrentRole = Qt::UserRole; ///< whether the weight is cut by this rule
    static constexpr int kRefusedRole = Qt::UserRole + 1;

    struct Look {
        QColor quiet;
        QColor error;
        QFont mono;
        QFont bold;
    };

    explicit CutsModel(QObject* parent = nullptr);
    /// `colors` has the index of each part in `palette`; `rowBytes` the bytes of one element of the dim with all of the other
    /// dims; `current` is the rule that the weight is cut by, where it is cut like this.
    void setComparison(const CutComparison& comparison, const Mesh& mesh, std::vector<std::int64_t> colors,
                       const PartColors& palette, std::int64_t rowBytes, std::optional<CutRule> current, const Look& look);
    void clear();
    /// Whether the rules' names have who cuts by them beside them; else that is in the tool tip only.
    void setUsersShown(bool shown);
    bool isEmpty() const { return m_empty; }
    const CutComparison& comparison() const { return m_comparison; }
    PartColor colorOf(std::int64_t part) const { return m_palette.at(m_colors[static_cast<std::size_t>(part)]); }
    const CutRow& row(int index) const { return m_comparison.rows[static_cast<std::size_t>(index)]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QString text(const CutRow& row, int column) const;
    QString toolTip(const CutRow& row, int column) const;
    QString differsText(const CutRow& row, std::size_t most) const;

    CutComparison m_comparison;
    Mesh m_mesh;
    std::vector<std::int64_t> m_colors;
    PartColors m_palette;
    std::int64_t m_rowBytes = 0;
    std::optional<CutRule> m_current;
    Look m_look;
    bool m_empty = true;
    bool m_usersShown = true;
};

class CutBarDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit CutBarDelegate(const CutsModel* model, QObject* parent);
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    void paintParts(QPainter& painter, const QRectF& bar, const CutRow& row, const QWidget* widget) const;
    void paintManyParts(QPainter& painter, const QRect& bar, const CutRow& row) const;

    const CutsModel* m_model;
};

} // namespace shardboard
