// SPDX-License-Identifier: Apache-2.0
#include "widgets/tables/tablecopy.h"

#include "widgets/document/documentview.h"
#include "widgets/tables/notedelegate.h"

#include <QAbstractItemView>
#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QKeySequence>
#include <QMenu>
#include <QMimeData>
#include <QTableView>
#include <QTreeView>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace shardboard {

namespace {

constexpr char kCopy[] = "table.copy";
constexpr char kCopyCsv[] = "table.copyCsv";
constexpr char kCopyJson[] = "table.copyJson";

QString oneLine(QString text)
{
    for (const char16_t breaking : { u'\n', u'\r', u'\t', u'\u2028' })
        text.replace(QChar(breaking), QLatin1Char(' '));
    return text.trimmed();
}

/// Its text, or what a delegate draws in its place.
QString cellText(const QModelIndex& index)
{
    QString text = index.data(Qt::DisplayRole).toString();
    if (text.isEmpty())
        text = index.data(Qt::AccessibleTextRole).toString();
    if (text.isEmpty()) {
        QStringList parts { index.data(NoteDelegate::TitleRole).toString(), index.data(NoteDelegate::TextRole).toString() };
        parts.removeAll(QString());
        text = parts.join(QStringLiteral(": "));
    }
    return oneLine(text);
}

/// Rows from the root down to an index, which is the order in which a tree shows them.
std::vector<int> pathOf(const QModelIndex& index)
{
    std::vector<int> path;
    for (QModelIndex at = index; at.isValid(); at = at.parent())
        path.push_back(at.row());
    std::reverse(path.begin(), path.end());
    return path;
}

const QHeaderView* headerOf(const QAbstractItemView* view)
{
    if (const auto* table = qobject_cast<const QTableView*>(view))
        return table->horizontalHeader();
    const auto* tree = qobject_cast<const QTreeView*>(view);
    return tree == nullptr ? nullptr : tree->header();
}

bool isHidden(const QAbstractItemView* view, const QModelIndex& index)
{
    if (const auto* tree = qobject_cast<const QTreeView*>(view))
        return tree->isRowHidden(index.row(), index.parent());
    const auto* table = qobject_cast<const QTableView*>(view);
    return table != nullptr && table->isRowHidden(index.row());
}

class CopyKeys : public QObject {
public:
    CopyKeys(QAbstractItemView* view, QAction* copy)
        : QObject(view)
        , m_copy(copy)
    {
        view->installEventFilter(this);
    }

protected:
    /// The view would copy the current cell alone.
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->matches(QKeySequence::Copy)) {
            m_copy->trigger();
            return true;
        }
        return QObject::eventFilter(watched, event);
    }

private:
    QAction* m_copy;
};

} // namespace

QString asTsv(const TableText& table)
{
    QStringList lines { table.header.join(QLatin1Char('\t')) };
    for (const QStringList& row : table.rows)
        lines << row.join(QLatin1Char('\t'));
    return lines.join(QLatin1Char('\n'));
}

QString asCsv(const TableText& table)
{
    const auto line = [](const QStringList& cells) {
        QStringList out;
        for (QString cell : cells) {
            if (cell.contains(QLatin1Char(',')) || cell.contains(QLatin1Char('"')) || cell.contains(QLatin1Char('\n')))
                cell = QLatin1Char('"') + cell.replace(QLatin1Char('"'), QStringLiteral("\"\"")) + QLatin1Char('"');
            out << cell;
        }
        return out.join(QLatin1Char(',')) + QStringLiteral("\r\n");
    };
    QString out = line(table.header);
    for (const QStringList& row : table.rows)
        out += line(row);
    return out;
}

QString asJson(const TableText& table)
{
    auto all = nlohmann::ordered_json::array();
    for (const QStringList& row : table.rows) {
        auto object = nlohmann::ordered_json::object();
        for (qsizetype i = 0; i < row.size(); ++i) {
            const QString name = table.header.value(i);
            object[name.isEmpty() ? "column " + std::to_string(i + 1) : name.toStdString()] = row[i].toStdString();
        }
        all.push_back(std::move(object));
    }
    return QString::fromStdString(all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

TableText selectedCells(const QAbstractItemView* view)
{
    TableText out;
    if (view->selectionModel() == nullptr)
        return out;
    const QHeaderView* header = headerOf(view);
    std::map<std::vector<int>, QModelIndex> rows; // by path; the index is of column 0
    std::set<std::pair<std::vector<int>, int>> cells;
    std::set<int> columns;
    const bool wholeRows = view->selectionBehavior() == QAbstractItemView::SelectRows;
    for (const QModelIndex& index : view->selectionModel()->selectedIndexes()) {
        if (isHidden(view, index))
            continue;
        const std::vector<int> path = pathOf(index);
        rows.emplace(path, index.siblingAtColumn(0));
        if (wholeRows)
            continue;
        cells.emplace(path, index.column());
        columns.insert(index.column());
    }
    if (rows.empty())
        return out;
    const QAbstractItemModel* model = view->model();
    if (wholeRows)
        for (int column = 0; column < model->columnCount(); ++column)
            columns.insert(column);
    std::vector<int> order(columns.begin(), columns.end());
    if (header != nullptr)
        std::sort(order.begin(), order.end(), [header](int a, int b) { return header->visualIndex(a) < header->visualIndex(b); });
    std::vector<QStringList> texts; // by column
    for (const int column : order) {
        const QVariant heading = model->headerData(column, Qt::Horizontal);
        QStringList text { heading.userType() == QMetaType::Int ? QString()
                                                                : oneLine(heading.toString()) }; // a number: it has none
        if (text.front().isEmpty() && model->columnCount() == 1)
            text.front() = view->accessibleName();
        for (const auto& [path, index] : rows)
            text << (wholeRows || cells.count({ path, column }) > 0 ? cellText(index.siblingAtColumn(column)) : QString());
        if (std::any_of(text.begin(), text.end(), [](const QString& cell) { return !cell.isEmpty(); }))
            texts.push_back(std::move(text));
    }
    for (const QStringList& text : texts)
        out.header << text.front();
    for (qsizetype row = 1; row <= static_cast<qsizetype>(rows.size()); ++row) {
        QStringList line;
        for (const QStringList& text : texts)
            line << text[row];
        out.rows << line;
    }
    return out;
}

void makeCopyable(QAbstractItemView* view, std::function<TableText()> cells, std::function<void(QMimeData*)> more)
{
    const auto table = [view, cells = std::move(cells)] {
        wakeViewsAround(view);
        return cells ? cells() : selectedCells(view);
    };
    const auto add = [view](const char* name, const QString& text, const std::function<void()>& run) {
        auto* action = new QAction(text, view);
        action->setObjectName(QLatin1String(name));
        QObject::connect(action, &QAction::triggered, view, run);
        view->addAction(action);
        return action;
    };
    QAction* copy = add(kCopy, QObject::tr("&Copy"), [table, more = std::move(more)] {
        const TableText text = table();
        if (text.rows.isEmpty())
            return;
        auto* data = new QMimeData;
        data->setText(asTsv(text));
        if (more)
            more(data);
        QGuiApplication::clipboard()->setMimeData(data);
    });
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    const auto put = [table](QString (*form)(const TableText&)) {
        if (const TableText text = table(); !text.rows.isEmpty())
            QGuiApplication::clipboard()->setText(form(text));
    };
    add(kCopyCsv, QObject::tr("Copy as CS&V"), [put] { put(asCsv); });
    add(kCopyJson, QObject::tr("Copy as &JSON"), [put] { put(asJson); });
    new CopyKeys(view, copy);
    if (view->contextMenuPolicy() == Qt::DefaultContextMenu)
        view->setContextMenuPolicy(Qt::ActionsContextMenu);
}

void addCopyActions(QMenu* menu, const QAbstractItemView* view)
{
    menu->addSeparator();
    for (const char* name : { kCopy, kCopyCsv, kCopyJson })
        if (auto* action = view->findChild<QAction*>(QLatin1String(name), Qt::FindDirectChildrenOnly))
            menu->addAction(action);
}

} // namespace shardboard
