// SPDX-License-Identifier: Apache-2.0
// The help says what is there: every view has its page, every link and every menu that a page names exists, and the first steps
// lead where they say, with the numbers that they say.
#include "app/desktop/export/exportaction.h"
#include "app/desktop/window/fonts.h"
#include "app/desktop/window/helpwindow.h"
#include "tests/app/desktop/appwindow.h"

#include "model/io/targets/targets.h"
#include "model/session/selection.h"
#include "tests/support/runner.h"
#include "widgets/compare/compareview.h"
#include "widgets/look/format.h"
#include "widgets/memory/fitadvisor.h"
#include "widgets/mesh/meshview.h"

#include <QDir>

#include <QFile>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QRegularExpression>

using namespace shardboard;

namespace {

QString textOf(const QString& page)
{
    QFile file(QStringLiteral(":/help/%1.md").arg(page));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

QString plain(QString text) { return text.remove(QLatin1Char('&')).trimmed(); }

/// The action at the end of a path through menus. Null: there is none.
QAction* actionAt(const QList<QAction*>& actions, const QStringList& path)
{
    for (QAction* action : actions) {
        if (plain(action->text()) != path.front())
            continue;
        if (path.size() == 1)
            return action;
        return action->menu() == nullptr ? nullptr : actionAt(action->menu()->actions(), path.mid(1));
    }
    return nullptr;
}

} // namespace

class TestHelp : public QObject, private AppWindow {
    Q_OBJECT
private Q_SLOTS:
    void init() { makeNew(); }
    void cleanup() { drop(); }

    void everyFileIsAPageAndEveryPageAFile();
    void everyViewHasItsPage();
    void linksLead();
    void menusExist();
    void f1OpensThePageOfTheView();
    void firstSteps();

private:
    QAction* at(const QString& path) const { return actionAt(window->menuBar()->actions(), path.split(QStringLiteral(" ▸ "))); }
    QString peak() const { return bytesText(document()->evaluation()->plan.memory.peak); }
    QString step() const { return secondsText(document()->evaluation()->plan.seconds()); }
};

void TestHelp::everyFileIsAPageAndEveryPageAFile()
{
    QStringList files = QDir(QStringLiteral(":/help")).entryList();
    files.replaceInStrings(QRegularExpression(QStringLiteral("\\.md$")), QString());
    QStringList pages = HelpWindow::pages();
    files.sort();
    pages.sort();
    QCOMPARE(files, pages);
    for (const QString& page : pages)
        QVERIFY2(textOf(page).startsWith(QLatin1String("# ")), qPrintable(page));
}

void TestHelp::everyViewHasItsPage()
{
    QMap<QString, QString> others;
    for (const char* panel : { "searchForm", "designs", "prices" })
        others[QLatin1String(panel)] = QStringLiteral("search");
    for (const char* panel : { "runForm", "twoRuns" })
        others[QLatin1String(panel)] = QStringLiteral("run");
    for (const char* panel : { "roofline", "accuracy", "scaling", "bandwidth", "memoryPlot" })
        others[QLatin1String(panel)] = QStringLiteral("plots");
    for (const char* panel : { "targets", "names", "proof" })
        others[QLatin1String(panel)] = QStringLiteral("export");
    for (const Panel* dock : window->workbench()->all())
        QCOMPARE(HelpWindow::pageOf(dock->widget()), others.value(dock->objectName(), dock->objectName()));
    QCOMPARE(HelpWindow::pageOf(window->meshView()), QStringLiteral("mesh"));
    QCOMPARE(HelpWindow::pageOf(window->findChild<QWidget*>(QStringLiteral("tileCanvas"))), QStringLiteral("tiles"));
    QCOMPARE(HelpWindow::pageOf(window->findChild<QWidget*>(QStringLiteral("flowView"))), QStringLiteral("flow"));
    QCOMPARE(HelpWindow::pageOf(nullptr), QStringLiteral("index"));
}

void TestHelp::linksLead()
{
    static const QRegularExpression link(QStringLiteral("\\]\\(([^)]*)\\)"));
    int found = 0;
    for (const QString& page : HelpWindow::pages()) {
        for (auto it = link.globalMatch(textOf(page)); it.hasNext(); ++found) {
            const QString target = it.next().captured(1);
            QVERIFY2(target.endsWith(QLatin1String(".md")) && HelpWindow::pages().contains(target.chopped(3)),
                     qPrintable(page + QStringLiteral(": ") + target));
        }
    }
    QVERIFY(found > 20);
}

void TestHelp::menusExist()
{
    static const QRegularExpression menu(QStringLiteral("\\*([A-Z][^*]* ▸ [^*]*)\\*"));
    int found = 0;
    for (const QString& page : HelpWindow::pages()) {
        for (auto it = menu.globalMatch(textOf(page).replace(QLatin1Char('\n'), QLatin1Char(' '))); it.hasNext(); ++found) {
            const QString path = it.next().captured(1);
            QVERIFY2(at(path) != nullptr, qPrintable(page + QStringLiteral(": ") + path));
        }
    }
    QVERIFY(found > 15);
}

void TestHelp::f1OpensThePageOfTheView()
{
    at(QStringLiteral("File ▸ Samples ▸ Llama 3 8B on 8 GPUs"))->trigger();
    auto* tree = window->findChild<QWidget*>(QStringLiteral("weightTree"));
    tree->setFocus();
    QTRY_VERIFY(tree->hasFocus());
    window->actionRegistry()->get(QStringLiteral("help.show"))->trigger();
    auto* help = window->findChild<HelpWindow*>();
    QVERIFY(help != nullptr && help->isVisible());
    QCOMPARE(help->page(), QStringLiteral("weights"));
    help->showPage(QStringLiteral("shortcuts"));
    QCOMPARE(help->page(), QStringLiteral("shortcuts"));
    help->findChild<QListWidget*>(QStringLiteral("help.pages"))->setCurrentRow(0);
    QCOMPARE(help->page(), QStringLiteral("index"));
}

/// Each step of the page, with what the page says of it.
void TestHelp::firstSteps()
{
    const QString text = textOf(QStringLiteral("first-steps"));
    const auto says = [&text](const QString& value) {
        const bool said = text.contains(value);
        if (!said)
            qWarning() << "the page does not say" << value;
        return said;
    };
    at(QStringLiteral("File ▸ Samples ▸ Llama 3 8B with a mistake"))->trigger(); // 1
    QVERIFY(says(step()) && says(peak()));
    const auto finding = document()->evaluation()->findings.front(); // 2
    QVERIFY(says(bytesText(finding.costBytes)));
    auto* list = window->findChild<QWidget*>(QStringLiteral("findings"));
    QVERIFY(list != nullptr);
    at(QStringLiteral("Design ▸ Keep for Comparison"))->trigger(); // 4
    QVERIFY(says(qstr(finding.fix->text)));
    QVERIFY(window->actionRegistry()->get(QStringLiteral("edit.repair"))->isEnabled());
    window->actionRegistry()->get(QStringLiteral("edit.repair"))->trigger();
    QVERIFY(document()->evaluation()->findings.empty());
    QVERIFY(says(step()) && says(peak()));
    at(QStringLiteral("Design ▸ Workload ▸ train"))->trigger(); // 5
    QVERIFY(document()->evaluation()->findings.empty());
    window->actionRegistry()->get(QStringLiteral("design.settings"))->trigger();
    auto* batch = window->findChild<QLineEdit*>(QStringLiteral("workload.batch"));
    batch->setText(QStringLiteral("16"));
    QTest::keyClick(batch, Qt::Key_Return);
    QVERIFY(says(peak()));
    QCOMPARE(document()->evaluation()->findings.front().kind, std::string("over-memory"));
    window->workbench()->raise(QStringLiteral("memory"));
    QPushButton* apply = nullptr;
    const auto offered = [&] {
        for (QPushButton* button : window->workbench()->find(QStringLiteral("memory"))->findChildren<QPushButton*>())
            if (button->text() == QLatin1String("Apply") && button->isVisible() && button->isEnabled()) {
                apply = button;
                return true;
            }
        return false;
    };
    QTRY_VERIFY_WITH_TIMEOUT(offered(), 20000);
    QTest::mouseClick(apply, Qt::LeftButton);
    QTRY_COMPARE(document()->evaluation()->findings.front().kind, std::string("tight-memory"));
    QCOMPARE(document()->evaluation()->findings.size(), std::size_t { 1 });
    QVERIFY(says(peak()));
    window->workbench()->raise(QStringLiteral("compare")); // 6
    auto* compare = window->findChild<CompareView*>();
    QVERIFY(compare != nullptr && compare->isVisible());
    const auto written = exportTo(*findExportTarget("jax"), *document(), folder.path()); // 8
    QVERIFY2(written.ok(), written.ok() ? "" : written.error().text().c_str());
    QVERIFY(QFile::exists(AppWindow::at("export.py")) && QFile::exists(AppWindow::at("shards.json")));
}

SHARDBOARD_TEST(TestHelp, withFonts)

#include "tst_help.moc"
