// SPDX-License-Identifier: Apache-2.0
// The ordered rules of a design as an item model. It changes nothing itself: what is typed or dropped is handed on as a
// signal, and the document's next evaluation brings the result back.
#pragma once

#include "model/design/evaluation.h"
#include "widgets/document/ruletrace.h"

#include <QAbstractTableModel>
#include <QColor>
#include <QFont>

#include <memory>
#include <vector>

namespace shardboard {

class RuleModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { NumberColumn, NameColumn, AxesColumn, DecidesColumn, LostColumn, ColumnCount };
    /// What the rule does for the selected weight.
    enum class Mark { None, Decides, Skipped, NotAsked };
    struct Look {
        QColor quiet;
        QColor attention;
        QFont mono;
    };
    static constexpr char kMimeType[] = "application/x-shardboard-rules";

    explicit RuleModel(QObject* parent = nullptr);

    /// Rows stay the same rows while their number does, so that selection and editors live through an edit.
    void setDesign(const Design& design, const Evaluation* evaluation, const Look& look);
    /// Marks the rules of a weight; an empty trace marks none.
    void setTrace(const WeightTrace& trace);

    const std::vector<LogicalRule>& rules() const { return m_rules; }
    const LogicalRule& rule(int row) const { return m_rules[static_cast<std::size_t>(row)]; }
    const RuleUse& use(int row) const { return m_uses[static_cast<std::size_t>(row)]; }
    Mark mark(int row) const { return m_marks[static_cast<std::size_t>(row)]; }
    const Mesh& mesh() const { return m_mesh; }
    /// Logical names of the model's dims and of the rules, each once, sorted: what a name is completed from.
    QStringList knownNames() const { return m_names; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
    Qt::DropActions supportedDropActions() const override { return Qt::MoveAction; }
    QStringList mimeTypes() const override;
    QMimeData* mimeData(const QModelIndexList& indexes) const override;
    bool canDropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column,
                         const QModelIndex& parent) const override;
    bool dropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column, const QModelIndex& parent) override;

Q_SIGNALS:
    void changeWanted(int row, const shardboard::LogicalRule& rule);
    void moveWanted(const std::vector<int>& rows, int before);
    void refused(const QString& why);

private:
    QString text(int row, int column) const;
    QString toolTip(int row, int column) const;
    QVariant foreground(int row, int column) const;

    std::vector<LogicalRule> m_rules;
    std::vector<RuleUse> m_uses;
    std::vector<Mark> m_marks;
    QStringList m_names;
    Mesh m_mesh;
    Look m_look;
};

} // namespace shardboard
