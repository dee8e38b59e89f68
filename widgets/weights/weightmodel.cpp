// SPDX-License-Identifier: Apache-2.0
#include "widgets/weights/weightmodel.h"

#include "model/design/deviceweights.h"
#include "model/design/findings/findings.h"
#include "model/text/glob.h"
#include "widgets/document/shownspec.h"
#include "widgets/edits/weightedits.h"
#include "widgets/look/devicecolors.h"
#include "widgets/look/format.h"
#include "widgets/shards/tilescene.h"

#include <QPainter>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace shardboard {

namespace {

constexpr int kThumbnail = 24;
constexpr double kThumbnailScale = 2; ///< pixels are kept for twofold scale, so that it is crisp there too

/// Of more parts than pixels each pixel shows one.
void paintPixels(QImage& image, const QRect& room, const TileScene& scene)
{
    const auto band = [](const std::vector<Band>& bands, int at, int length) -> const Band& {
        return bands[bands.size() * static_cast<std::size_t>(at) / static_cast<std::size_t>(length)];
    };
    for (int y = 0; y < room.height(); ++y)
        for (int x = 0; x < room.width(); ++x)
            image.setPixel(
                room.left() + x, room.top() + y,
                scene.colors.at(colorOfParts(scene, band(scene.rows, y, room.height()), band(scene.columns, x, room.width())))
                    .fill.rgba());
}

/// Where a weight lives: up to the number of its layer or expert, else all but its own name. Empty: it lives nowhere.
QString parentPath(const QString& name)
{
    const QStringList parts = name.split(QLatin1Char('.'));
    for (qsizetype i = parts.size() - 1; i-- > 0;) {
        bool number = false;
        (void)parts[i].toInt(&number);
        if (number)
            return parts.mid(0, i + 1).join(QLatin1Char('.'));
    }
    return parts.size() < 2 ? QString() : parts.mid(0, parts.size() - 1).join(QLatin1Char('.'));
}

} // namespace

QImage cutThumbnail(const WeightLayout& weight, const QColor& empty, const QColor& outline)
{
    const int side = static_cast<int>(kThumbnail * kThumbnailScale);
    QImage image(side, side, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    const bool flat = weight.spec.shape.size() < 2;
    const QRect room = flat ? QRect(0, side / 3, side, side / 3) : QRect(0, 0, side, side);
    QPainter painter(&image);
    const TileScene scene = weight.unknownShape ? TileScene() : makeTileFrame(weight);
    if (weight.unknownShape || scene.replicated) {
        painter.fillRect(room, outline);
        painter.fillRect(room.adjusted(2, 2, -2, -2), empty);
        return image;
    }
    if (scene.rows.size() > static_cast<std::size_t>(side) || scene.columns.size() > static_cast<std::size_t>(side)) {
        paintPixels(image, room, scene);
        return image;
    }
    const auto place = [](int from, int length, std::int64_t at, std::int64_t size) {
        return from
            + static_cast<int>(std::lround(static_cast<double>(length) * static_cast<double>(at) / static_cast<double>(size)));
    };
    for (const Band& row : scene.rows)
        for (const Band& column : scene.columns) {
            QRect rect(QPoint(place(room.left(), room.width(), column.range.lo, scene.columnSize),
                              place(room.top(), room.height(), row.range.lo, scene.rowSize)),
                       QPoint(place(room.left(), room.width(), column.range.hi, scene.columnSize) - 1,
                              place(room.top(), room.height(), row.range.hi, scene.rowSize) - 1));
            if (scene.columns.size() > 1 && rect.width() > 5)
                rect.setWidth(rect.width() - 2);
            if (scene.rows.size() > 1 && rect.height() > 5)
                rect.setHeight(rect.height() - 2);
            const PartColor color = scene.colors.at(colorOfParts(scene, row, column));
            painter.fillRect(rect, color.fill);
            if (color.hatch != Qt::NoBrush)
                painter.fillRect(rect, QBrush(color.hatchColor, color.hatch));
        }
    return image;
}

WeightModel::WeightModel(QObject* parent)
    : QAbstractItemModel(parent)
{
}

int WeightModel::addGroup(const WeightLayout& weight)
{
    QString title = tr("layers × %1").arg(weight.copies);
    if (weight.firstLayer > 0 || weight.segment != "block")
        title = weight.copies == 1 ? tr("layer %1").arg(weight.firstLayer)
                                   : tr("layers %1–%2").arg(weight.firstLayer).arg(weight.firstLayer + weight.copies - 1);
    return addGroup(title);
}

int WeightModel::addGroup(const QString& title)
{
    if (const auto known = m_groupOf.constFind(title); known != m_groupOf.constEnd())
        return *known;
    Node group;
    group.title = title;
    group.row = static_cast<int>(m_top.size());
    m_nodes.push_back(std::move(group));
    m_top.push_back(static_cast<int>(m_nodes.size()) - 1);
    m_groupOf.insert(title, m_top.back());
    return m_top.back();
}

void WeightModel::addWeight(int weight, Mark replicated)
{
    const WeightLayout& from = m_evaluation->weights[static_cast<std::size_t>(weight)];
    Node node;
    node.weight = weight;
    node.title = from.firstLayer >= 0 ? shortName(from.spec.name) : qstr(from.spec.name);
    // Loose weights are not grouped by layer: the layer's number must survive when the name is shortened.
    if (node.title.startsWith(QLatin1String("model.layers.")))
        node.title.remove(0, 6);
    if (node.title.endsWith(QLatin1String(".weight")))
        node.title.chop(7);
    node.bytes = bytesOf(from.spec) * from.copies;
    node.bytesPerDevice = from.bytesPerDevice;
    node.replicated = replicated;
    const int self = static_cast<int>(m_nodes.size());
    if (from.firstLayer < 0) {
        node.row = static_cast<int>(m_top.size());
        m_nodes.push_back(std::move(node));
        m_top.push_back(self);
        return;
    }
    node.parent = addGroup(from); // may move the nodes
    Node& group = m_nodes[static_cast<std::size_t>(node.parent)];
    node.row = static_cast<int>(group.children.size());
    group.children.push_back(static_cast<int>(m_nodes.size()));
    group.bytes += node.bytes;
    group.bytesPerDevice += node.bytesPerDevice * mostCopiesOn(m_evaluation->plan, from);
    m_nodes.push_back(std::move(node));
}

/// Weights that no graph takes: those of one path under a group, each with what is left of its name. A group of one would only hide
/// it.
void WeightModel::groupByPath()
{
    std::map<QString, int> members;
    const auto pathOf = [this](int node) { return parentPath(m_nodes[static_cast<std::size_t>(node)].title); };
    for (const int top : m_top)
        if (const QString path = pathOf(top); !path.isEmpty())
            ++members[path];
    for (const int node : std::exchange(m_top, {})) {
        const QString path = pathOf(node);
        const auto known = members.find(path);
        if (known == members.end() || known->second < 2) {
            m_nodes[static_cast<std::size_t>(node)].row = static_cast<int>(m_top.size());
            m_top.push_back(node);
            continue;
        }
        const int parent = addGroup(path);
        Node& group = m_nodes[static_cast<std::size_t>(parent)];
        Node& weight = m_nodes[static_cast<std::size_t>(node)];
        weight.title.remove(0, path.size() + 1);
        weight.parent = parent;
        weight.row = static_cast<int>(group.children.size());
        group.children.push_back(node);
        group.bytes += weight.bytes;
        group.bytesPerDevice += std::max<std::int64_t>(0, weight.bytesPerDevice);
    }
}

void WeightModel::setEvaluation(std::shared_ptr<const Evaluation> evaluation, const QColor& empty, const QColor& outline,
                                Notation notation)
{
    std::vector<Node> nodes = std::exchange(m_nodes, {});
    std::vector<int> top = std::exchange(m_top, {});
    m_groupOf.clear();
    const auto before = std::exchange(m_evaluation, std::move(evaluation));
    const bool sameLook = notation == m_notation && empty == m_empty && outline == m_outline && partStyle() == m_partStyle;
    m_partStyle = partStyle();
    m_notation = notation;
    m_empty = empty;
    m_outline = outline;
    std::map<std::string_view, Mark> replicated;
    if (m_evaluation)
        for (const Finding& finding : m_evaluation->findings)
            if (finding.kind == "silently-replicated" || finding.kind == "replicated")
                replicated.emplace(finding.where, isDefect(finding) ? Mark::Attention : Mark::Note);
    for (std::size_t i = 0; m_evaluation && i < m_evaluation->weights.size(); ++i) {
        const auto found = replicated.find(m_evaluation->weights[i].spec.name);
        addWeight(static_cast<int>(i), found == replicated.end() ? Mark::None : found->second);
    }
    if (m_evaluation && m_evaluation->graph.ops.empty())
        groupByPath();
    m_ofWeight.assign(m_evaluation ? m_evaluation->weights.size() : 0, -1);
    for (std::size_t i = 0; i < m_nodes.size(); ++i)
        if (m_nodes[i].weight >= 0)
            m_ofWeight[static_cast<std::size_t>(m_nodes[i].weight)] = static_cast<int>(i);
    const bool same =
        m_top == top && std::equal(m_nodes.begin(), m_nodes.end(), nodes.begin(), nodes.end(), [](const Node& x, const Node& y) {
            return x.weight == y.weight && x.parent == y.parent && x.row == y.row && x.children == y.children && x.title == y.title;
        });
    if (same) { // the usual edit: the same rows, some with other content, so that views keep what they have laid out
        std::vector<std::size_t> changed;
        for (std::size_t i = 0; i < m_nodes.size(); ++i)
            if (!sameLook || !before || tellsOther(m_nodes[i], nodes[i], *before))
                changed.push_back(i);
            else
                m_nodes[i].thumbnail = nodes[i].thumbnail;
        constexpr std::size_t kManyRows = 500; // a view looks for the place of each; laying out all of them takes less time
        if (changed.size() > kManyRows) {
            Q_EMIT layoutAboutToBeChanged();
            Q_EMIT layoutChanged();
            return;
        }
        for (const std::size_t i : changed) {
            const QModelIndex index = createIndex(m_nodes[i].row, 0, static_cast<quintptr>(i));
            Q_EMIT dataChanged(index, index);
        }
        return;
    }
    std::swap(m_nodes, nodes);
    std::swap(m_top, top);
    beginResetModel();
    m_nodes = std::move(nodes);
    m_top = std::move(top);
    endResetModel();
}

/// Whether a row says anything else than it said for the evaluation before.
bool WeightModel::tellsOther(const Node& now, const Node& then, const Evaluation& before) const
{
    if (now.bytes != then.bytes || now.bytesPerDevice != then.bytesPerDevice || now.replicated != then.replicated)
        return true;
    if (now.weight < 0)
        return false;
    const WeightLayout& a = m_evaluation->weights[static_cast<std::size_t>(now.weight)];
    const WeightLayout& b = before.weights[static_cast<std::size_t>(then.weight)];
    return !(a.layout == b.layout && a.strategy == b.strategy && a.cut == b.cut && a.spec == b.spec
             && a.unknownShape == b.unknownShape && a.shards.mesh() == b.shards.mesh());
}

QModelIndex WeightModel::indexOfWeight(int weight) const
{
    if (weight < 0 || weight >= static_cast<int>(m_ofWeight.size()))
        return {};
    const int node = m_ofWeight[static_cast<std::size_t>(weight)];
    return createIndex(m_nodes[static_cast<std::size_t>(node)].row, 0, static_cast<quintptr>(node));
}

QModelIndex WeightModel::index(int row, int column, const QModelIndex& parent) const
{
    if (!hasIndex(row, column, parent))
        return {};
    const auto& rows = parent.isValid() ? m_nodes[parent.internalId()].children : m_top;
    return createIndex(row, column, static_cast<quintptr>(rows[static_cast<std::size_t>(row)]));
}

QModelIndex WeightModel::parent(const QModelIndex& child) const
{
    if (!child.isValid())
        return {};
    const int parent = m_nodes[child.internalId()].parent;
    if (parent < 0)
        return {};
    return createIndex(m_nodes[static_cast<std::size_t>(parent)].row, 0, static_cast<quintptr>(parent));
}

int WeightModel::rowCount(const QModelIndex& parent) const
{
    if (!parent.isValid())
        return static_cast<int>(m_top.size());
    return parent.column() > 0 ? 0 : static_cast<int>(m_nodes[parent.internalId()].children.size());
}

int WeightModel::columnCount(const QModelIndex&) const { return 1; }

QVariant WeightModel::groupData(const Node& node, int role) const
{
    switch (role) {
    case Qt::DisplayRole:
    case NameRole:
        return node.title;
    case Qt::ToolTipRole:
        return tr("%1 per device, %2 in all").arg(exactBytesText(node.bytesPerDevice), exactBytesText(node.bytes));
    case WeightRole:
        return -1;
    case BytesRole:
        return static_cast<qlonglong>(node.bytes);
    case BytesPerDeviceRole:
        return static_cast<qlonglong>(node.bytesPerDevice);
    case OrderRole:
        return node.row;
    case ReplicatedRole:
        return static_cast<int>(Mark::None);
    default:
        return {};
    }
}

QVariant WeightModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.internalId() >= m_nodes.size())
        return {};
    const Node& node = m_nodes[index.internalId()];
    if (node.weight < 0)
        return groupData(node, role);
    const WeightLayout& weight = m_evaluation->weights[static_cast<std::size_t>(node.weight)];
    switch (role) {
    case Qt::DisplayRole:
        return node.title;
    case Qt::EditRole:
    case LayoutRole:
        return specIn(m_notation, weight.layout, weight.shards.mesh()).marked();
    case Qt::ToolTipRole: {
        const ShownSpec spec = specIn(m_notation, weight.layout, weight.shards.mesh());
        return QStringLiteral("%1\n%2\n%3\n%4")
            .arg(qstr(weight.spec.name), spec.reason.isEmpty() ? spec.text : spec.marked() + QLatin1Char('\n') + spec.toolTip,
                 parallelText(weight), tr("%1 per device and layer").arg(exactBytesText(node.bytesPerDevice)));
    }
    case Qt::AccessibleTextRole:
        return QStringLiteral("%1, %2, %3").arg(node.title, shapeLabel(weight.spec.shape), parallelText(weight));
    case WeightRole:
        return node.weight;
    case NameRole:
        return qstr(weight.spec.name);
    case ShapeRole:
        return weight.unknownShape ? tr("shape unknown") : shapeLabel(weight.spec.shape);
    case BytesRole:
        return static_cast<qlonglong>(node.bytes);
    case BytesPerDeviceRole:
        return weight.unknownShape ? -1 : static_cast<qlonglong>(node.bytesPerDevice);
    case ThumbnailRole:
        if (node.thumbnail.isNull())
            node.thumbnail = cutThumbnail(weight, m_empty, m_outline);
        return node.thumbnail;
    case ReplicatedRole:
        return static_cast<int>(node.replicated);
    case OrderRole:
        return node.row;
    default:
        return {};
    }
}

WeightFilter::WeightFilter(QObject* parent)
    : QSortFilterProxyModel(parent)
{
    setRecursiveFilteringEnabled(true);
    setSortRole(WeightModel::OrderRole);
}

void WeightFilter::setText(const QString& text)
{
    // Of thousands of rows those that go would be told in thousands of runs, each of which views follow: it is quicker to begin
    // anew.
    QAbstractItemModel* const source = sourceModel();
    setSourceModel(nullptr);
    m_pattern = WeightPattern(text);
    setSourceModel(source);
}

int WeightFilter::matches() const
{
    int out = 0;
    for (int row = 0; row < rowCount(); ++row) {
        const QModelIndex top = index(row, 0);
        out += top.data(WeightModel::WeightRole).toInt() >= 0 ? 1 : rowCount(top);
    }
    return out;
}

bool WeightFilter::filterAcceptsRow(int row, const QModelIndex& parent) const
{
    const auto* model = static_cast<const WeightModel*>(sourceModel());
    const int weight = model->weightAt(model->index(row, 0, parent));
    if (weight < 0)
        return m_pattern.isEmpty(); // else it stays because of its weights
    return m_pattern.matches(model->evaluation()->weights[static_cast<std::size_t>(weight)]);
}

bool WeightFilter::lessThan(const QModelIndex& left, const QModelIndex& right) const
{
    const QVariant a = left.data(sortRole());
    const QVariant b = right.data(sortRole());
    if (a.userType() == QMetaType::QString || b.userType() == QMetaType::QString)
        return a.toString().compare(b.toString(), Qt::CaseInsensitive) < 0;
    return a.toLongLong() < b.toLongLong();
}

} // namespace shardboard
