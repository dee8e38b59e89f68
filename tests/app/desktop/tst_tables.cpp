// SPDX-License-Identifier: Apache-2.0
// Every table of the real window copies all that is selected, with its headings, in three forms; what a person does to columns
// stays.
#include "app/desktop/panels/workbench.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "widgets/edits/strategyclip.h"
#include "widgets/tables/tablecopy.h"

#include <QClipboard>

#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QListView>
#include <QMimeData>
#include <QStandardItemModel>
#include <QTableView>
#include <QTableWidget>
#include <QTreeView>
#include <QTreeWidget>
#include <QUndoStack>

using namespace shardboard;

namespace {

QString clip() { return QApplication::clipboard()->text(); }

const QHeaderView* headerOf(const QAbstractItemView* view)
{
    if (const auto* table = qobject_cast<const QTableView*>(view))
        return table->horizontalHeader();
    const auto* tree = qobject_cast<const QTreeView*>(view);
    return tree == nullptr ? nullptr : tree->header();
}

/// Drags the right border of a column by some pixels, as a person does.
void dragBorder(QHeaderView* header, int column, int by)
{
    const QPoint at(header->sectionViewportPosition(column) + header->sectionSize(column) - 1, header->height() / 2);
    QTest::mousePress(header->viewport(), Qt::LeftButton, Qt::NoModifier, at);
    QMouseEvent move(QEvent::MouseMove, QPointF(at + QPoint(by, 0)), QPointF(header->viewport()->mapToGlobal(at + QPoint(by, 0))),
                     Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(header->viewport(), &move);
    QTest::mouseRelease(header->viewport(), Qt::LeftButton, Qt::NoModifier, at + QPoint(by, 0));
    QCoreApplication::processEvents();
}

} // namespace

class TestTables : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { m_it.close(); }

    void formsQuoteWhatTheyMust();
    void selectedCellsOfATable();
    void selectedRowsOfATree();
    void everyTableCopies();
    void weightsCopyTheirStrategyToo();
    void widthsStay();
    void orderAndSortingStay();
    void wrongColumnsInTheSettingsAreLeftAside();

private:
    AppWindow m_it;
};

void TestTables::formsQuoteWhatTheyMust()
{
    const TableText table { { QStringLiteral("name"), QStringLiteral("a, \"b\"") },
                            { { QStringLiteral("x"), QStringLiteral("1,5") },
                              { QStringLiteral("say \"hi\""), QStringLiteral("µs") } } };
    QCOMPARE(asTsv(table), QStringLiteral("name\ta, \"b\"\nx\t1,5\nsay \"hi\"\tµs"));
    QCOMPARE(asCsv(table), QStringLiteral("name,\"a, \"\"b\"\"\"\r\nx,\"1,5\"\r\n\"say \"\"hi\"\"\",µs\r\n"));
    const QJsonArray json = QJsonDocument::fromJson(asJson(table).toUtf8()).array();
    QCOMPARE(json.size(), 2);
    QCOMPARE(json[1].toObject().value(QStringLiteral("name")).toString(), QStringLiteral("say \"hi\""));
    QCOMPARE(json[0].toObject().value(QStringLiteral("a, \"b\"")).toString(), QStringLiteral("1,5"));
    QCOMPARE(asTsv({}), QString());
}

void TestTables::selectedCellsOfATable()
{
    QTableWidget table(3, 3);
    table.setHorizontalHeaderLabels({ QStringLiteral("A"), QStringLiteral("B"), QStringLiteral("C") });
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column)
            table.setItem(row, column, new QTableWidgetItem(QStringLiteral("%1%2").arg(row).arg(column)));
    table.item(1, 2)->setText(QStringLiteral("two\nlines\tof it"));
    makeCopyable(&table);
    table.setCurrentCell(0, 0, QItemSelectionModel::Clear);
    QTest::keySequence(&table, QKeySequence::Copy); // nothing is selected, nothing happens
    QApplication::clipboard()->setText(QStringLiteral("before"));
    QTest::keySequence(&table, QKeySequence::Copy);
    QCOMPARE(clip(), QStringLiteral("before"));
    table.item(0, 0)->setSelected(true);
    table.item(1, 2)->setSelected(true);
    QTest::keySequence(&table, QKeySequence::Copy);
    QCOMPARE(clip(), QStringLiteral("A\tC\n00\t\n\ttwo lines of it")); // a hole stays a hole
    table.horizontalHeader()->moveSection(2, 0); // as it is seen
    QTest::keySequence(&table, QKeySequence::Copy);
    QCOMPARE(clip(), QStringLiteral("C\tA\n\t00\ntwo lines of it\t"));
    table.selectAll();
    table.setRowHidden(2, true);
    table.findChild<QAction*>(QStringLiteral("table.copyCsv"))->trigger();
    QCOMPARE(clip(), QStringLiteral("C,A,B\r\n02,00,01\r\ntwo lines of it,10,11\r\n"));
    table.findChild<QAction*>(QStringLiteral("table.copyJson"))->trigger();
    QCOMPARE(QJsonDocument::fromJson(clip().toUtf8()).array().at(1).toObject().value(QStringLiteral("B")).toString(),
             QStringLiteral("11"));
    QCOMPARE(table.contextMenuPolicy(), Qt::ActionsContextMenu);
}

void TestTables::selectedRowsOfATree()
{
    QTreeWidget tree;
    tree.setHeaderLabels({ QStringLiteral("part"), QStringLiteral("time"), QString() });
    tree.setSelectionMode(QAbstractItemView::ExtendedSelection);
    auto* second = new QTreeWidgetItem({ QStringLiteral("b"), QStringLiteral("2 ms") });
    auto* first = new QTreeWidgetItem({ QStringLiteral("a"), QStringLiteral("1 ms") });
    tree.addTopLevelItems({ first, second });
    first->addChild(new QTreeWidgetItem({ QStringLiteral("a.x"), QStringLiteral("0.5 ms") }));
    tree.expandAll();
    makeCopyable(&tree);
    tree.selectAll();
    tree.setColumnHidden(1, true); // for want of room
    QTest::keySequence(&tree, QKeySequence::Copy);
    QCOMPARE(clip(), QStringLiteral("part\ttime\na\t1 ms\na.x\t0.5 ms\nb\t2 ms"));
}

void TestTables::everyTableCopies()
{
    m_it.open({ 1600, 1000 });
    Document* document = m_it.window->document();
    m_it.action("compare.keep")->trigger();
    Design edited = document->design();
    edited.workload.batch = 16;
    QVERIFY(document->edit(edited, QStringLiteral("Batch 16")).ok());
    document->selection()->setCollective(CollectiveId(0));
    int copied = 0;
    for (const Panel* dock : m_it.window->workbench()->all()) {
        m_it.window->workbench()->raise(dock->objectName());
        for (int i = 0; i < 4; ++i)
            QCoreApplication::processEvents();
        for (QAbstractItemView* view : dock->widget()->findChildren<QAbstractItemView*>()) {
            if (view->inherits("QComboBoxListView") || qobject_cast<QHeaderView*>(view) || view->model() == nullptr
                || view->objectName().startsWith(QLatin1String("qt_")))
                continue;
            const QByteArray what = (dock->objectName() + QLatin1Char('/') + view->objectName()).toUtf8();
            for (const char* name : { "table.copy", "table.copyCsv", "table.copyJson" })
                QVERIFY2(view->findChild<QAction*>(QLatin1String(name), Qt::FindDirectChildrenOnly) != nullptr, what.constData());
            QVERIFY2(view->contextMenuPolicy() == Qt::ActionsContextMenu || view->contextMenuPolicy() == Qt::CustomContextMenu,
                     what.constData());
            if (view->model()->rowCount() == 0 || !view->isVisible())
                continue;
            QApplication::clipboard()->clear();
            view->selectAll();
            if (view->selectionMode() == QAbstractItemView::SingleSelection)
                view->setCurrentIndex(view->model()->index(0, 0));
            if (view->selectionModel()->selectedIndexes().isEmpty())
                view->selectionModel()->select(view->model()->index(0, 0),
                                               QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
            QTest::keySequence(view, QKeySequence::Copy);
            const QStringList lines = clip().split(QLatin1Char('\n'));
            QVERIFY2(lines.size() >= 2, what + " copied " + clip().toUtf8());
            QVERIFY2(!lines.front().trimmed().isEmpty(), what + " has no heading: " + clip().toUtf8());
            const auto cells = lines.front().count(QLatin1Char('\t'));
            bool any = false;
            for (const QString& line : lines) {
                QVERIFY2(line.count(QLatin1Char('\t')) == cells, what + ": " + line.toUtf8());
                any = any || (line != lines.front() && !line.trimmed().isEmpty());
            }
            QVERIFY2(any, what + " copied headings alone");
            view->findChild<QAction*>(QStringLiteral("table.copyJson"))->trigger();
            QVERIFY2(QJsonDocument::fromJson(clip().toUtf8()).isArray(), what.constData());
            ++copied;
        }
    }
    QVERIFY2(copied >= 6, qPrintable(QString::number(copied)));
}

void TestTables::weightsCopyTheirStrategyToo()
{
    m_it.open();
    auto* tree = m_it.child<QTreeView>("weightTree");
    const auto& weights = m_it.window->document()->evaluation()->weights;
    std::vector<int> two;
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (weights[i].spec.name.find("up_proj") != std::string::npos || weights[i].spec.name.find("o_proj") != std::string::npos)
            two.push_back(static_cast<int>(i));
    m_it.window->document()->selection()->setWeights(two, two.front());
    QTest::keySequence(tree, QKeySequence::Copy);
    const QStringList lines = clip().split(QLatin1Char('\n'));
    QCOMPARE(lines.size(), static_cast<int>(two.size()) + 1);
    QCOMPARE(lines.front().section(QLatin1Char('\t'), 0, 0), QStringLiteral("weight"));
    QCOMPARE(lines.at(1).section(QLatin1Char('\t'), 5),
             QString::number(weights[static_cast<std::size_t>(two.front())].bytesPerDevice));
    const auto strategy = strategyFromMimeData(QApplication::clipboard()->mimeData());
    QVERIFY(strategy.has_value());
    QVERIFY(*strategy == weights[static_cast<std::size_t>(two.front())].strategy);
}

void TestTables::widthsStay()
{
    m_it.open({ 1600, 1000 });
    m_it.window->workbench()->raise(QStringLiteral("collectives"));
    QCoreApplication::processEvents();
    auto* header = m_it.child<QTableView>("collectivesTable")->horizontalHeader();
    const int usual = header->sectionSize(0);
    dragBorder(header, 0, 45);
    const int wide = header->sectionSize(0);
    QCOMPARE(wide, usual + 45);
    m_it.window->resize(1300, 900); // the view fits its columns anew
    QCoreApplication::processEvents();
    m_it.window->fileActions()->openSample(QStringLiteral("llama3.1-405b-train")); // and for another model
    for (int i = 0; i < 4; ++i)
        QCoreApplication::processEvents();
    QCOMPARE(header->sectionSize(0), wide);
    m_it.open({ 1600, 1000 });
    m_it.window->workbench()->raise(QStringLiteral("collectives"));
    for (int i = 0; i < 4; ++i)
        QCoreApplication::processEvents();
    header = m_it.child<QTableView>("collectivesTable")->horizontalHeader();
    QCOMPARE(header->sectionSize(0), wide);
    QVERIFY(header->sectionSize(1) != wide + 1); // and the others are the view's
}

void TestTables::orderAndSortingStay()
{
    m_it.open({ 1600, 1000 });
    m_it.window->workbench()->raise(QStringLiteral("collectives"));
    QCoreApplication::processEvents();
    auto* table = m_it.child<QTableView>("collectivesTable");
    QHeaderView* header = table->horizontalHeader();
    const int bytes = 5;
    const QPoint heading(header->sectionViewportPosition(bytes) + header->sectionSize(bytes) / 2, header->height() / 2);
    QTest::mouseClick(header->viewport(), Qt::LeftButton, Qt::NoModifier, heading);
    QCoreApplication::processEvents();
    QCOMPARE(header->sortIndicatorSection(), bytes);
    const auto order = header->sortIndicatorOrder();
    // A heading dragged past its neighbour.
    const QPoint from(header->sectionViewportPosition(0) + 20, header->height() / 2);
    int next = 1;
    while (header->isSectionHidden(next)) // phases of inference
        ++next;
    const QPoint to(header->sectionViewportPosition(next) + header->sectionSize(next) - 4, header->height() / 2);
    QTest::mousePress(header->viewport(), Qt::LeftButton, Qt::NoModifier, from);
    for (int step = 1; step <= 8; ++step) {
        const QPoint at = from + (to - from) * step / 8;
        QMouseEvent move(QEvent::MouseMove, QPointF(at), QPointF(header->viewport()->mapToGlobal(at)), Qt::NoButton, Qt::LeftButton,
                         Qt::NoModifier);
        QApplication::sendEvent(header->viewport(), &move);
    }
    QTest::mouseRelease(header->viewport(), Qt::LeftButton, Qt::NoModifier, to);
    QCoreApplication::processEvents();
    QCOMPARE(header->visualIndex(0), next);
    const QString first = table->model()->index(0, 0).data().toString() + table->model()->index(0, bytes).data().toString();
    m_it.open({ 1600, 1000 });
    QCoreApplication::processEvents();
    table = m_it.child<QTableView>("collectivesTable");
    header = table->horizontalHeader();
    QCOMPARE(header->visualIndex(0), next);
    QCOMPARE(header->sortIndicatorSection(), bytes);
    QCOMPARE(header->sortIndicatorOrder(), order);
    QCOMPARE(table->model()->index(0, 0).data().toString() + table->model()->index(0, bytes).data().toString(), first);
}

void TestTables::wrongColumnsInTheSettingsAreLeftAside()
{
    m_it.open({ 1600, 1000 }, false);
    QVariantMap wrong;
    wrong.insert(QStringLiteral("widths"),
                 QVariantMap { { QStringLiteral("0"), -5 },
                               { QStringLiteral("99"), 100 },
                               { QStringLiteral("x"), 20 },
                               { QStringLiteral("1"), 1000000 } });
    wrong.insert(QStringLiteral("order"), QVariantList { 3, 3 });
    wrong.insert(QStringLiteral("sort"), QVariantList { 77, 9 });
    m_it.settings->setColumns(QStringLiteral("collectivesTable"), wrong);
    m_it.open({ 1600, 1000 });
    const QHeaderView* header = headerOf(m_it.child<QTableView>("collectivesTable"));
    for (int column = 0; column < header->count(); ++column) {
        QCOMPARE(header->visualIndex(column), column);
        QVERIFY(header->isSectionHidden(column) || (header->sectionSize(column) > 10 && header->sectionSize(column) < 2000));
    }
}

SHARDBOARD_TEST(TestTables)

#include "tst_tables.moc"
