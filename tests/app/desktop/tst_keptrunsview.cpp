// SPDX-License-Identifier: Apache-2.0
// Runs of the real window are kept with their design, listed, named, compared, opened, and deleted; the folder is the one that
// `shardctl runs` reads. Plots of a run are written as pictures and tables.
#include "app/desktop/pictures/plotfiles.h"
#include "app/desktop/run/calibrationpage.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runkeeper.h"
#include "app/desktop/run/runpanel.h"
#include "model/io/design/designfile.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/runs/keptruns.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "widgets/compare/compareview.h"
#include "widgets/look/format.h"
#include "widgets/plots/xyplot.h"
#include "widgets/runs/runcomparison.h"
#include "widgets/runs/runlist.h"
#include "widgets/runs/runshelf.h"
#include "widgets/runs/runsview.h"
#include "widgets/timeline/plotview.h"
#include "widgets/timeline/timelinesource.h"

#include <QDir>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTreeWidget>
#include <QUndoStack>

#include <cmath>
#include <set>
#include <tuple>

using namespace shardboard;

namespace {

struct RunsWindow : TestWindow {
    RunsWindow()
    {
        settings->setRunsFolder(folder.filePath(QStringLiteral("runs")));
        settings->setRunsLimit(0);
        window.reset(); // the folder is read when the window is made
        makeWindow({ 1600, 1000 });
        ready = QTest::qWaitForWindowExposed(window.get());
        window->fileActions()->openSample();
        raise("timeline");
        settle();
    }
    RunShelf* shelf() const { return window->findChild<RunShelf*>(); }
    RunsView* view() const { return window->findChild<RunsView*>(); }
    TimelineSource* source() const { return window->findChild<TimelineSource*>(); }
    std::string root() const { return shelf()->folder().toStdString(); }
    bool runOnce()
    {
        const std::size_t before = shelf()->runs().size();
        window->runPanel()->run();
        return QTest::qWaitFor([&] { return shelf()->runs().size() == before + 1 && !shelf()->isBusy(); }, 30000);
    }
    bool waitForShelf() const
    {
        return QTest::qWaitFor([this] { return !shelf()->isBusy(); }, 30000);
    }
    QListWidgetItem* row(int at) const { return view()->list()->item(at); }
    bool ready = false;
};

} // namespace

class TestKeptRunsView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void runsAreKeptWithTheirDesign()
    {
        RunsWindow test;
        QVERIFY(test.ready);
        QVERIFY(test.view()->list()->count() == 0);
        QVERIFY(test.window->runPanel()->form()->isVisible()); // above the list
        QVERIFY(test.runOnce());
        // The same library that the command line reads.
        const auto runs = keptRuns(test.root());
        QVERIFY(runs.ok() && runs.value().size() == 1);
        const KeptRun& run = runs.value().front();
        QVERIFY(run.problem.empty());
        QCOMPARE(run.mesh, test.document()->design().mesh.text());
        QCOMPARE(run.result.operations.size(), std::size_t { 1 });
        const auto design = readDesign(keptDesignPath(test.root(), run.name));
        QVERIFY(design.ok());
        QCOMPARE(designText(comparableDesign(design.value())), designText(comparableDesign(test.document()->design())));
        QCOMPARE(test.view()->list()->count(), 1);
        QCOMPARE(test.row(0)->data(RunList::kStateRole).toString(), QStringLiteral("verified"));
        QVERIFY(test.row(0)->data(RunList::kWhatRole).toString().startsWith(QStringLiteral("cpu · 8 devices")));
        QVERIFY(test.row(0)->data(RunList::kShownRole).toBool()); // it is what the timeline shows
        // An edit makes it one of an older design; undo takes that back.
        Design other = test.document()->design();
        other.workload.batch *= 2;
        QVERIFY(test.document()->edit(other, QStringLiteral("Larger")).ok());
        settle();
        QCOMPARE(test.row(0)->data(RunList::kStateRole).toString(), QStringLiteral("older design"));
        test.document()->undoStack()->undo();
        settle();
        QCOMPARE(test.row(0)->data(RunList::kStateRole).toString(), QStringLiteral("verified"));
    }

    /// Of another window, and of another design: its own prediction is what it stands beside.
    void keptRunsAreOpened()
    {
        RunsWindow test;
        QVERIFY(test.ready && test.runOnce());
        Design other = test.document()->design();
        other.workload.batch *= 2;
        QVERIFY(test.document()->edit(other, QStringLiteral("Larger")).ok());
        QVERIFY(test.runOnce());
        QCOMPARE(test.view()->list()->count(), 2);
        QVERIFY(!test.source()->isStale());
        const QString older = test.row(1)->data(RunList::kNameRole).toString();
        test.view()->list()->clearSelection();
        test.view()->list()->setCurrentItem(test.row(1), QItemSelectionModel::ClearAndSelect);
        QVERIFY(QTest::qWaitFor([&] { return test.source()->isStale(); }, 30000));
        QVERIFY(test.source()->shown() == TimelineSource::Shown::Run);
        QVERIFY(test.row(1)->data(RunList::kShownRole).toBool() && !test.row(0)->data(RunList::kShownRole).toBool());
        QCOMPARE(test.source()->run()->evaluation->plan.mesh.text(), test.document()->design().mesh.text());
        QVERIFY(test.source()->run()->evaluation != test.document()->evaluation());
        QVERIFY(test.source()->detail().contains(QStringLiteral("older design")));
        // Its design can be opened: unsaved, so that the kept one stays as it was.
        test.document()->undoStack()->setClean();
        Q_EMIT test.view()->designWanted(older);
        settle();
        QVERIFY(test.document()->filePath().isEmpty());
        QCOMPARE(test.document()->design().workload.batch * 2, other.workload.batch);
    }

    void namedComparedAndDeleted()
    {
        RunsWindow test;
        QVERIFY(test.ready && test.runOnce() && test.runOnce());
        RunList* list = test.view()->list();
        list->setFocus();
        list->setCurrentItem(test.row(1), QItemSelectionModel::ClearAndSelect);
        settle();
        QVERIFY(test.waitForShelf());
        const auto name = [&](const QString& typed) {
            QTest::keyClick(list, Qt::Key_F2);
            auto* field = list->findChild<QLineEdit*>();
            QVERIFY(field != nullptr);
            field->setText(typed);
            QTest::keyClick(field, Qt::Key_Return);
            settle(); // the field hands over what was typed after the key
            QVERIFY(QTest::qWaitFor([&] { return !test.shelf()->isBusy(); }, 30000));
            settle();
        };
        name(QStringLiteral("base-line"));
        QVERIFY(test.shelf()->find("base-line") != nullptr);
        QCOMPARE(test.shelf()->find("base-line")->title, QStringLiteral("base-line"));
        QVERIFY(keptRun(test.root(), "base-line").ok());
        // What cannot be a name is refused, with the reason, and the run keeps its own.
        list->setCurrentItem(test.row(1), QItemSelectionModel::ClearAndSelect);
        name(QStringLiteral("../elsewhere"));
        QVERIFY(test.window->banner()->isError() && test.window->banner()->text().contains(QStringLiteral("elsewhere")));
        QVERIFY(test.shelf()->find("base-line") != nullptr);
        // Two of them, operation by operation, which add up to the step.
        list->selectAll();
        auto* compare = test.child<QAbstractButton>("runsCompare");
        QVERIFY(compare->isEnabled());
        compare->click();
        settle();
        auto* comparison = test.window->findChild<RunComparison*>();
        QVERIFY(comparison->isVisible());
        QTreeWidget* table = comparison->table();
        QVERIFY(table->topLevelItemCount() >= 2);
        double sum = 0;
        for (int row = 0; row + 1 < table->topLevelItemCount(); ++row)
            sum += table->topLevelItem(row)->data(1, Qt::UserRole).toDouble();
        const QTreeWidgetItem* step = table->topLevelItem(table->topLevelItemCount() - 1);
        QCOMPARE(step->text(0), QStringLiteral("step"));
        QVERIFY(std::abs(sum - step->data(1, Qt::UserRole).toDouble()) < 1e-12);
        table->sortByColumn(1, Qt::DescendingOrder);
        QCOMPARE(table->topLevelItem(table->topLevelItemCount() - 1)->text(0), QStringLiteral("step"));
        // Deleted, after a question, which is another test's.
        test.window->findChild<RunKeeper*>()->remove({ QStringLiteral("base-line") });
        QVERIFY(QTest::qWaitFor([&] { return test.shelf()->runs().size() == 1; }, 30000));
        QVERIFY(!keptRun(test.root(), "base-line").ok());
        QVERIFY(!table->isVisible());
    }

    void theLimitIsSaid()
    {
        RunsWindow test;
        QVERIFY(test.ready && test.runOnce());
        const std::int64_t one = test.shelf()->bytes();
        QVERIFY(one > 0);
        test.shelf()->setLimit(one + one / 2);
        test.window->runPanel()->run();
        QVERIFY(QTest::qWaitFor([&] { return test.window->banner()->isError(); }, 30000));
        QVERIFY(test.window->banner()->text().contains(QStringLiteral("not kept")));
        QCOMPARE(keptRuns(test.root()).value().size(), std::size_t { 1 });
        QCOMPARE(test.shelf()->runs().size(), std::size_t { 1 });
        // What does not want to be kept is not.
        test.shelf()->setLimit(0);
        test.settings->setKeepsRuns(false);
        QSignalSpy finished(test.window->engine(), &EngineSession::finished);
        test.window->runPanel()->run();
        QVERIFY(finished.wait(30000));
        QVERIFY(test.waitForShelf());
        QCOMPARE(keptRuns(test.root()).value().size(), std::size_t { 1 });
    }

    /// Others' files in the folder neither hide the runs nor are lost.
    void hostileFolders()
    {
        RunsWindow test;
        QVERIFY(test.ready && test.runOnce());
        const QString root = test.shelf()->folder();
        for (const auto& [folder, file, text] :
             { std::tuple { "damaged", "kept.json", "{\"format\":\"shardboard-run\"" }, std::tuple { "other", "notes.txt", "mine" },
               std::tuple { "nodesign", "kept.json", "[]" } }) {
            QVERIFY(QDir(root).mkpath(QLatin1String(folder)));
            QFile out(root + QLatin1Char('/') + QLatin1String(folder) + QLatin1Char('/') + QLatin1String(file));
            QVERIFY(out.open(QIODevice::WriteOnly) && out.write(text) > 0);
        }
        const QString good = test.row(0)->data(RunList::kNameRole).toString();
        QVERIFY(QFile::remove(QString::fromStdString(keptDesignPath(test.root(), good.toStdString()))));
        test.shelf()->reload();
        QVERIFY(test.waitForShelf());
        settle();
        QCOMPARE(test.view()->list()->count(), 3);
        int damaged = 0;
        for (int row = 0; row < 3; ++row)
            if (test.row(row)->data(RunList::kStateRole).toString() == QStringLiteral("cannot be read")) {
                ++damaged;
                test.window->findChild<RunKeeper*>()->open(test.row(row)->data(RunList::kNameRole).toString());
                QVERIFY(test.window->banner()->isError());
            }
        QCOMPARE(damaged, 2);
        // A folder that cannot be one.
        QFile file(root + QStringLiteral("/other/notes.txt"));
        test.shelf()->setFolder(file.fileName());
        QVERIFY(test.waitForShelf());
        settle();
        QCOMPARE(test.view()->list()->count(), 0);
        QVERIFY(file.exists());
    }

    /// A run that is asked for while another one runs comes after it, with the design of the moment in which it was asked for.
    void runsQueue()
    {
        RunsWindow test;
        QVERIFY(test.ready);
        test.window->runPanel()->run();
        auto* later = test.child<QPushButton>("run.later");
        QVERIFY(test.window->engine()->isBusy() && later->isVisibleTo(later->parentWidget()));
        Design other = test.document()->design();
        other.workload.batch *= 2;
        QVERIFY(test.document()->edit(other, QStringLiteral("Larger")).ok());
        later->click();
        QCOMPARE(test.window->runPanel()->waiting(), 1);
        test.document()->undoStack()->undo();
        QVERIFY(QTest::qWaitFor([&] { return test.shelf()->runs().size() == 2; }, 30000));
        QVERIFY(!test.window->engine()->isBusy());
        std::set<std::int64_t> batches;
        for (const ShelvedRun& run : test.shelf()->runs())
            batches.insert(run.design->workload.batch);
        QCOMPARE(batches, (std::set { other.workload.batch / 2, other.workload.batch }));
        // Stop ends what waits as well.
        test.window->runPanel()->run();
        later->click();
        test.window->runPanel()->cancel();
        QCOMPARE(test.window->runPanel()->waiting(), 0);
    }

    /// The same document as HTML and as PDF: the design, a variant, the run, and the run that it is compared with.
    void reportsHaveVariantsAndRuns()
    {
        RunsWindow test;
        QVERIFY(test.ready && test.runOnce() && test.runOnce());
        test.window->findChild<CompareView*>()->keep();
        Design other = test.document()->design();
        other.workload.batch *= 2;
        QVERIFY(test.document()->edit(other, QStringLiteral("Larger")).ok());
        test.document()->undoStack()->undo();
        test.view()->list()->selectAll();
        test.child<QAbstractButton>("runsCompare")->click();
        settle();
        const QString page = test.folder.filePath(QStringLiteral("r.html"));
        const QString pages = test.folder.filePath(QStringLiteral("r.pdf"));
        QVERIFY(test.window->writeReportTo(page).ok() && test.window->writeReportTo(pages).ok());
        QVERIFY(!test.window->writeReportTo(test.folder.filePath(QStringLiteral("r.doc"))).ok());
        QFile html(page);
        QVERIFY(html.open(QIODevice::ReadOnly));
        const QByteArray text = html.readAll();
        for (const char* part : { "<h2>Mesh", "<h2>Run", "<h2>Runs ", "<svg", "self_attn.o_proj" })
            QVERIFY2(text.contains(part), part);
        QFile pdf(pages);
        QVERIFY(pdf.open(QIODevice::ReadOnly));
        const QByteArray content = pdf.readAll();
        QVERIFY(content.startsWith("%PDF-") && content.size() > 20000);
        QVERIFY(content.count("/Type /Page\n") + content.count("/Type /Page ") >= 2 || content.contains("/Count "));
    }

    /// Of a machine that follows the laws exactly the fit is exact; the design is priced anew with it, and undo takes that back.
    void calibrationIsGuided()
    {
        RunsWindow test;
        QVERIFY(test.ready);
        test.raise("calibration");
        auto* page = test.window->findChild<CalibrationPage*>();
        QVERIFY(page->isVisible() && !page->fit() && page->hardwareText().empty());
        Calibration measured;
        measured.backend = "cpu";
        measured.machine = "made up";
        measured.workers = 2;
        measured.memoryBytes = std::int64_t { 8 } << 30;
        measured.limits = { 200e9, 400e9, 40e9, 60e9 };
        const auto add = [&](const char* kind, double flops, double bytes, double seconds, std::int64_t members = 1) {
            CalibrationPoint point;
            point.kind = point.what = kind;
            point.flops = flops;
            point.bytes = bytes;
            point.groupSize = members;
            point.seconds = seconds;
            point.settled = true;
            point.samples = { seconds };
            measured.points.push_back(point);
        };
        for (const double n : { 64.0, 256.0, 512.0, 1024.0, 2048.0 })
            add("gemm", 2 * n * n * n, 12 * n * n, 2e-6 + std::max(2 * n * n * n / 180e9, 12 * n * n / 28e9));
        for (const double bytes : { 1e5, 1e6, 1e7, 1e8 })
            add("memory", 0, bytes, 2e-6 + bytes / 28e9);
        for (const double s : { 256.0, 512.0, 1024.0 })
            add("attention", 1024 * s * s, 10 * s, 2e-6 + 1024 * s * s / 80e9);
        for (const double bytes : { 1e5, 1e6, 1e7, 1e8 })
            add("all-reduce", 0, bytes, 5e-6 + bytes / 60e9, 2);
        page->setCalibration(measured);
        QVERIFY(page->fit());
        QVERIFY(page->laws()->topLevelItemCount() >= 5);
        for (const FitReport& report : page->fit()->fits)
            QVERIFY2(report.residual.mean < 0.05, report.name.c_str());
        std::size_t points = 0;
        for (const PlotSeries& one : page->chart()->plot().series)
            if (one.mark != PlotMark::None)
                points += one.points.size();
        QCOMPARE(points, measured.points.size());
        const auto file = hardwareFromJson(nlohmann::json::parse(page->hardwareText()), "file");
        QVERIFY(file.ok());
        const double before = test.document()->evaluation()->plan.seconds();
        page->useForDesign();
        QVERIFY(test.document()->design().ownHardware == page->fit()->hardware);
        const double after = test.document()->evaluation()->plan.seconds();
        QVERIFY(after > 2 * before); // a laptop is slower than a DGX
        test.document()->undoStack()->undo();
        QVERIFY(std::abs(test.document()->evaluation()->plan.seconds() - before) < 1e-12);
        // Points that make no machine are refused, and the fit that was there stays.
        measured.points.resize(2);
        page->setCalibration(measured);
        QVERIFY(test.window->banner()->isError() && page->fit());
    }

    void plotsAreSaved()
    {
        RunsWindow test;
        QVERIFY(test.ready);
        const auto plots = test.window->findChildren<PlotView*>();
        QCOMPARE(plots.size(), 5);
        for (PlotView* view : plots) {
            if (view->kind() == PlotView::Kind::Accuracy)
                continue; // nothing was measured
            test.raise(view->parentWidget()->objectName().toLatin1().constData());
            for (QWidget* at = view; at != nullptr; at = at->parentWidget())
                if (auto* panel = qobject_cast<Panel*>(at))
                    test.raise(panel->objectName().toLatin1().constData());
            QVERIFY(QTest::qWaitFor([&] { return !view->plot().isEmpty(); }, 30000));
            settle();
            QVERIFY(view->chart()->isVisible());
            for (const char* suffix : { "png", "svg", "pdf", "csv" }) {
                const QString path = test.folder.filePath(qstr(view->plot().id) + QLatin1Char('.') + QLatin1String(suffix));
                const Status status = writePlot(view, path);
                QVERIFY2(status.ok(), qPrintable(path));
                QFile file(path);
                QVERIFY(file.open(QIODevice::ReadOnly));
                const QByteArray content = file.readAll();
                QVERIFY(content.size() > 100);
                if (QLatin1String(suffix) == QLatin1String("csv")) {
                    std::size_t points = 0;
                    for (const PlotSeries& one : view->plot().series)
                        points += one.points.size();
                    QCOMPARE(static_cast<std::size_t>(content.count('\n')), points + 1);
                } else if (QLatin1String(suffix) == QLatin1String("svg")) {
                    QVERIFY(content.contains("<text") && content.count("<path") + content.count("<polyline") > 3);
                }
            }
            QVERIFY(!writePlot(view, test.folder.filePath(QStringLiteral("x.jpeg"))).ok());
            // The arrow keys go through its points, which it tells.
            view->chart()->setFocus();
            QTest::keyClick(view->chart(), Qt::Key_Right);
            QVERIFY(view->chart()->current().valid() && !view->chart()->currentText().isEmpty());
            for (int i = 0; i < 20; ++i)
                QTest::keyClick(view->chart(), i % 3 == 0 ? Qt::Key_Down : Qt::Key_Right);
            QVERIFY(view->chart()->current().valid());
        }
    }
};

SHARDBOARD_TEST(TestKeptRunsView)
#include "tst_keptrunsview.moc"
