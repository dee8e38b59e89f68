// SPDX-License-Identifier: Apache-2.0
// The weights of a model as a tree for views: weights outside layers at the top level, those of repeated layers in a
// group each. A snapshot of one evaluation, replaced as a whole; rows hold no pointers into it.
#pragma once

#include "model/design/evaluation.h"
#include "model/notation/notation.h"
#include "widgets/document/weightpattern.h"
#include "widgets/look/partstyle.h"

#include <QAbstractItemModel>
#include <QColor>
#include <QHash>
#include <QImage>
#include <QSortFilterProxyModel>

#include <memory>
#include <string>
#include <vector>

namespace shardboard {

class WeightModel : public QAbstractItemModel {
    Q_OBJECT
public:
    /// Of a weight with a finding that it is replicated, by how much that matters.
    enum class Mark { None, Note, Attention };
    enum Role {
        WeightRole = Qt::UserRole, ///< index into Evaluation::weights, -1 for a group
        NameRole, ///< full name
        ShapeRole,
        BytesRole, ///< of all copies, whole model
        BytesPerDeviceRole, ///< of one copy, -1 when unknown; a group: of all its layers on the device with the most
        LayoutRole, ///< in the notation that was asked for
        ThumbnailRole, ///< QImage, empty for groups
        ReplicatedRole, ///< a Mark: a large weight that lies whole on every device while others are cut
        OrderRole ///< position in the model
    };
    explicit WeightModel(QObject* parent = nullptr);

    void setEvaluation(std::shared_ptr<const Evaluation> evaluation, const QColor& empty, const QColor& outline,
                       Notation notation = Notation::Jax);
    QModelIndex indexOfWeight(int weight) const;
    /// Index into Evaluation::weights, -1 for a group.
    int weightAt(const QModelIndex& index) const { return m_nodes[index.internalId()].weight; }
    const Evaluation* evaluation() const { return m_evaluation.get(); }

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

private:
    struct Node {
        int weight = -1;
        int parent = -1; ///< index of the group's node, -1 at the top
        int row = 0;
        std::vector<int> children;
        QString title;
        mutable QImage thumbnail; ///< made when it is first asked for: of many weights few are seen
        Mark replicated = Mark::None;
        std::int64_t bytes = 0;
        std::int64_t bytesPerDevice = 0;
    };
    int addGroup(const WeightLayout& weight);
    int addGroup(const QString& title);
    void groupByPath();
    void addWeight(int weight, Mark replicated);
    bool tellsOther(const Node& now, const Node& then, const Evaluation& before) const;
    QVariant groupData(const Node& node, int role) const;

    std::shared_ptr<const Evaluation> m_evaluation;
    Notation m_notation = Notation::Jax;
    PartStyle m_partStyle = PartStyle::Hues;
    QColor m_empty; ///< of thumbnails
    QColor m_outline;
    std::vector<Node> m_nodes;
    std::vector<int> m_ofWeight; ///< index of its node
    std::vector<int> m_top;
    QHash<QString, int> m_groupOf; ///< node of each group, by its title
};

/// The cut of a weight in 24 x 24 pixels: tiles in the owners' colours, an empty frame where it is whole everywhere.
QImage cutThumbnail(const WeightLayout& weight, const QColor& empty, const QColor& outline);

/// Filters by a WeightPattern. Groups stay as long as one of their weights does.
class WeightFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit WeightFilter(QObject* parent = nullptr);
    void setText(const QString& text); ///< as a WeightPattern
    /// How many weights pass.
    int matches() const;

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

private:
    WeightPattern m_pattern;
};

} // namespace shardboard
