// SPDX-License-Identifier: Apache-2.0
// The timeline and the table of errors in the real views: moving by wheel, keys and mouse, selection both ways, runs, and the
// traces of other programs with what could not be matched.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/jobs/latestjob.h"
#include "widgets/jobs/longwork.h"
#include "widgets/look/legend.h"
#include "widgets/timeline/errorsmodel.h"
#include "widgets/timeline/errorsview.h"
#include "widgets/timeline/timelinecanvas.h"
#include "widgets/timeline/timelineview.h"

#include <QLabel>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QVBoxLayout>
#include <QWheelEvent>

#include <cmath>
#include <map>

using namespace shardboard;

namespace {

/// A document with both views, as they stand in the window.
struct ShownTimeline {
    explicit ShownTimeline(const Design& design)
        : source(&document)
        , timeline(new TimelineView(&document, &source))
        , errors(new ErrorsView(&document, &source))
    {
        QVBoxLayout* column = new QVBoxLayout(&window);
        column->addWidget(timeline);
        column->addWidget(errors);
        ready = document.setDesign(design).ok();
        window.resize(1200, 800);
        window.show();
        ready = ready && QTest::qWaitForWindowExposed(&window) && QTest::qWaitFor([&] { return !source.isBusy(); }, 30000);
        QTest::qWait(1);
    }
    TimelineCanvas* canvas() const { return timeline->canvas(); }
    bool waitForWork() const
    {
        return QTest::qWaitFor([&] { return !timeline->work()->isBusy(); }, 30000);
    }
    /// Where an interval is, on the canvas.
    QPoint at(std::size_t lane, std::size_t interval) const { return canvas()->rectOf(lane, interval).center().toPoint(); }

    Document document;
    TimelineSource source;
    QWidget window;
    TimelineView* timeline; // owned by the window
    ErrorsView* errors; // the same
    bool ready = false;
};

void turnWheel(QWidget* widget, const QPointF& at, int delta, Qt::KeyboardModifiers keys = Qt::NoModifier)
{
    QWheelEvent event(at, widget->mapToGlobal(at), {}, QPoint(0, delta), Qt::NoButton, keys, Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &event);
}

/// A run of every operation and collective of the first planned segment, on two devices.
MeasuredRun runOf(const Document& document)
{
    MeasuredRun run;
    run.name = QStringLiteral("Run of 14:02");
    run.evaluation = document.evaluation();
    run.hardware = hardwareOf(document.design()).value();
    run.result.devices = 2;
    run.result.steps = 1;
    run.result.layers = 1;
    run.result.backend = "cpu";
    RunProfile profile;
    profile.mode = ProfileMode::Batched;
    profile.devices = { { 0, "device 0", 0, 0, {} }, { 1, "device 1", 0, 0, {} } };
    const Plan& plan = run.evaluation->plan;
    std::int64_t index = 0;
    const auto add = [&](const std::string& id, const std::string& kind, bool collective, double seconds) {
        ProfileOperation operation;
        operation.id = id;
        operation.kind = kind;
        operation.collective = collective;
        operation.predictedSeconds = seconds;
        profile.operations.push_back(operation);
        const double took = seconds * (index % 3 == 0 ? 1.5 : 0.9);
        profile.events.push_back({ index, 0, 0, 0, took, took, { { 0, 0, 1, took, 1 << 20 }, { 1, 0, 1, 0.5 * took, 1 << 19 } } });
        ++index;
    };
    for (const TimelineItem& item : timelineItems(run.evaluation->graph, plan)) {
        if (item.segment.number() > 1)
            continue;
        const double seconds = item.collective.valid() ? plan.collective(item.collective).seconds
                                                       : plan.segment(item.segment).ops[item.operation].seconds;
        if (seconds > 0)
            add(item.id, item.kind, item.collective.valid(), seconds);
    }
    run.profile = profile;
    return run;
}

} // namespace

class TestTimelineView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void predictionIsThereAtOnce();
    void wheelZoomsAtThePointer();
    void keysAndDragsMove();
    void rulerTakesARange();
    void rulerTellsTimesApart();
    void selectionIsShared();
    void runsStandBesideThePrediction();
    void theFullStopFollowsThePath();
    void tableAddsUpAndLeads();
    void tracesAreOpenedAndMatched();
    void badTracesSayWhy();
    void legendShowsOneKind();
    void withoutADesign();
    void rowsAreItemsForScreenReaders();
};

void TestTimelineView::predictionIsThereAtOnce()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    const Timeline* timeline = shown.canvas()->timeline();
    QVERIFY(timeline != nullptr && timeline->lanes.size() >= 2);
    QVERIFY(std::abs(timeline->seconds - shown.document.evaluation()->plan.seconds()) < 0.2 * timeline->seconds);
    QVERIFY(
        shown.timeline->findChild<QLabel*>(QStringLiteral("timelineNotes"))->text().contains(QLatin1String("Not measured yet")));
    QVERIFY(shown.errors->findChild<QLabel*>(QStringLiteral("errorsEmpty"))->isVisible());
    QVERIFY(!shown.canvas()->memoryArea().isEmpty());
    // All of the step is in sight, and nothing else.
    QVERIFY(shown.canvas()->timeWindow().from <= 0);
    QVERIFY(shown.canvas()->timeWindow().to() >= timeline->seconds);
    // Another design, another prediction.
    Design other = shown.document.design();
    other.workload.batch *= 2;
    const double before = timeline->seconds;
    shown.canvas()->zoom(8);
    QVERIFY(shown.document.edit(other, QStringLiteral("Larger")).ok());
    QVERIFY(shown.canvas()->isVisible() && shown.canvas()->timeline() != nullptr); // nothing flickers
    QVERIFY(QTest::qWaitFor([&] { return shown.canvas()->timeline()->seconds != before; }, 30000));
    QVERIFY(shown.canvas()->timeline()->seconds > 1.5 * before);
    QVERIFY(shown.canvas()->timeWindow().to() >= shown.canvas()->timeline()->seconds);
    // An edit that leaves the time leaves the part that is looked at.
    shown.canvas()->zoom(8);
    const TimeWindow zoomed = shown.canvas()->timeWindow();
    const Timeline* same = shown.canvas()->timeline();
    other.memory.contextBytes *= 2;
    QVERIFY(shown.document.edit(other, QStringLiteral("Memory")).ok());
    QVERIFY(QTest::qWaitFor([&] { return shown.canvas()->timeline() != same; }, 30000));
    QCOMPARE(shown.canvas()->timeWindow().from, zoomed.from);
    QCOMPARE(shown.canvas()->timeWindow().secondsPerPixel, zoomed.secondsPerPixel);
}

void TestTimelineView::wheelZoomsAtThePointer()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    TimelineCanvas* canvas = shown.canvas();
    const QRectF area = canvas->lanesArea();
    const double pixel = std::floor(0.3 * area.width());
    const QPointF at(area.left() + pixel, area.center().y());
    const double time = canvas->timeWindow().timeAt(pixel);
    for (int i = 0; i < 60; ++i) {
        turnWheel(canvas, at, 120);
        QVERIFY(std::abs(canvas->timeWindow().timeAt(pixel) - time) <= 1e-6 * canvas->timeline()->seconds);
    }
    QVERIFY(canvas->timeWindow().secondsPerPixel < 1e-7); // down to microseconds
    const double from = canvas->timeWindow().from;
    turnWheel(canvas, at, -120, Qt::ShiftModifier);
    QVERIFY(canvas->timeWindow().from > from);
    for (int i = 0; i < 100; ++i)
        turnWheel(canvas, at, -120);
    QVERIFY(canvas->timeWindow().from <= 0 && canvas->timeWindow().to() >= canvas->timeline()->seconds);
}

void TestTimelineView::keysAndDragsMove()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    TimelineCanvas* canvas = shown.canvas();
    canvas->setFocus();
    const double whole = canvas->timeWindow().secondsPerPixel;
    QTest::keyClick(canvas, Qt::Key_W);
    QTest::keyClick(canvas, Qt::Key_W);
    QVERIFY(canvas->timeWindow().secondsPerPixel < 0.5 * whole);
    const double from = canvas->timeWindow().from;
    QTest::keyClick(canvas, Qt::Key_D);
    const double right = canvas->timeWindow().from;
    QVERIFY(right > from);
    QTest::keyClick(canvas, Qt::Key_A);
    QVERIFY(std::abs(canvas->timeWindow().from - from) < 1e-9);
    const QPoint at = canvas->lanesArea().center().toPoint();
    QTest::mousePress(canvas, Qt::LeftButton, {}, at);
    QTest::mouseMove(canvas, at - QPoint(40, 0));
    QTest::mouseMove(canvas, at - QPoint(100, 0));
    QTest::mouseRelease(canvas, Qt::LeftButton, {}, at - QPoint(100, 0));
    QVERIFY(std::abs(canvas->timeWindow().from - from - 100 * canvas->timeWindow().secondsPerPixel)
            < 2 * canvas->timeWindow().secondsPerPixel);
    QVERIFY(canvas->current().interval < 0); // a drag chooses nothing
    QTest::keyClick(canvas, Qt::Key_F, Qt::ShiftModifier);
    QVERIFY(std::abs(canvas->timeWindow().secondsPerPixel - whole) < 1e-12);
    QTest::keyClick(canvas, Qt::Key_Right);
    QCOMPARE(canvas->current().interval, std::ptrdiff_t { 0 });
    QTest::keyClick(canvas, Qt::Key_Right);
    QCOMPARE(canvas->current().interval, std::ptrdiff_t { 1 });
    QTest::keyClick(canvas, Qt::Key_F);
    const LaneInterval& it = canvas->timeline()->lanes.front().intervals[1];
    QVERIFY(std::abs(canvas->timeWindow().secondsPerPixel * canvas->timeWindow().width - 3 * it.seconds) < 1e-6 * it.seconds);
    QVERIFY(canvas->rectOf(0, 1).width() > 0.3 * canvas->lanesArea().width());
    QTest::keyClick(canvas, Qt::Key_S);
    QVERIFY(canvas->rectOf(0, 1).width() < 0.3 * canvas->lanesArea().width());
}

void TestTimelineView::rulerTakesARange()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    TimelineCanvas* canvas = shown.canvas();
    const QRectF area = canvas->lanesArea();
    const double from = canvas->timeWindow().timeAt(100);
    const double to = canvas->timeWindow().timeAt(300);
    const auto at = [&](int pixel) { return QPoint(static_cast<int>(area.left()) + pixel, static_cast<int>(area.top()) - 6); };
    QTest::mousePress(canvas, Qt::LeftButton, {}, at(100));
    QTest::mouseMove(canvas, at(200));
    QTest::mouseMove(canvas, at(300));
    QTest::mouseRelease(canvas, Qt::LeftButton, {}, at(300));
    const double slack = 3 * (to - from) / 200;
    QVERIFY(std::abs(canvas->timeWindow().from - from) < slack);
    QVERIFY(std::abs(canvas->timeWindow().to() - to) < slack);
}

/// However near: no text stands twice, and each is that of its time.
void TestTimelineView::rulerTellsTimesApart()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    const double all = shown.canvas()->timeline()->seconds;
    const std::map<QString, double> units {
        { QStringLiteral("s"), 1 }, { QStringLiteral("ms"), 1e-3 }, { QStringLiteral("µs"), 1e-6 }, { QStringLiteral("ns"), 1e-9 }
    };
    for (const double from : { 0.0, 0.3, 0.9 })
        for (double scale = 1e-10; scale < all / 500; scale *= 7) {
            shown.canvas()->setWindow(from * all, scale);
            const auto marks = shown.canvas()->rulerMarks();
            QVERIFY(marks.size() >= 2);
            for (std::size_t i = 0; i < marks.size(); ++i) {
                const auto& [time, text] = marks[i];
                QVERIFY2(i == 0 || text != marks[i - 1].second, qPrintable(text));
                const QStringList parts = text.split(QLatin1Char(' '));
                QVERIFY2(std::abs(parts[0].toDouble() * units.at(parts[1]) - time) < 1e-3 * (marks[1].first - marks[0].first),
                         qPrintable(text));
            }
        }
}

void TestTimelineView::selectionIsShared()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    TimelineCanvas* canvas = shown.canvas();
    const auto& intervals = canvas->timeline()->lanes.front().intervals;
    const auto found = std::find_if(intervals.begin(), intervals.end(), [&](const LaneInterval& it) {
        return it.item >= 0 && canvas->timeline()->items[static_cast<std::size_t>(it.item)].operation.valid() && it.seconds > 1e-3;
    });
    QVERIFY(found != intervals.end());
    const TimelineItem& item = canvas->timeline()->items[static_cast<std::size_t>(found->item)];
    canvas->setWindow(found->start - found->seconds, 4 * found->seconds / canvas->timeWindow().width);
    const auto index = static_cast<std::size_t>(found - intervals.begin());
    QVERIFY(canvas->textOf(canvas->placeAt(shown.at(0, index))).startsWith(QString::fromStdString(item.id)));
    QTest::mouseClick(canvas, Qt::LeftButton, {}, shown.at(0, index));
    QCOMPARE(shown.document.selection()->operation(), item.operation);
    QCOMPARE(shown.document.selection()->segment(), item.segment);
    QCOMPARE(canvas->selectedItem(), found->item);
    // And from elsewhere.
    shown.document.selection()->setCollective(CollectiveId(0));
    const std::int32_t collective = canvas->selectedItem();
    QVERIFY(collective >= 0 && canvas->timeline()->items[static_cast<std::size_t>(collective)].collective == CollectiveId(0));
}

void TestTimelineView::runsStandBesideThePrediction()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    shown.source.setRun(runOf(shown.document));
    TimelineCanvas* canvas = shown.canvas();
    QCOMPARE(canvas->rowCount(), 2);
    QCOMPARE(canvas->timeline()->lanes.size(), std::size_t { 4 });
    auto* box = shown.timeline->findChild<ChoiceBox*>(QStringLiteral("timelineShown"));
    QVERIFY(box->isVisible());
    QCOMPARE(box->currentText(), QStringLiteral("Run of 14:02"));
    // Above what was predicted, below it what was measured, of the same executions.
    const double step = shown.source.errors()->measured;
    QVERIFY(std::abs(std::max(step, shown.source.errors()->predicted) - canvas->timeline()->seconds) < 1e-12);
    const QRectF predicted = canvas->rectOf(0, 0);
    const QRectF measured = canvas->rectOf(1, 0);
    QVERIFY(predicted.bottom() <= measured.top() && predicted.height() < measured.height());
    QVERIFY(std::abs(predicted.left() - measured.left()) < 1);
    // Back to the prediction by the box.
    box->setCurrentIndex(0);
    Q_EMIT box->activated(0);
    QVERIFY(shown.source.shown() == TimelineSource::Shown::Prediction);
    QVERIFY(QTest::qWaitFor([&] { return canvas->timeline() != nullptr && canvas->timeline()->lanes.front().predicted; }, 30000));
    // Of an edited design the run is an older one.
    shown.source.show(TimelineSource::Shown::Run);
    Design other = shown.document.design();
    other.workload.batch *= 2;
    QVERIFY(shown.document.edit(other, QStringLiteral("Larger")).ok());
    QVERIFY(shown.source.detail().contains(QLatin1String("older design")));
}

/// From interval to interval, each on the lane that the path is on at that time, forwards and back; and it is drawn.
void TestTimelineView::theFullStopFollowsThePath()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    TimelineCanvas* canvas = shown.canvas();
    for (const bool measured : { false, true }) {
        if (measured)
            shown.source.setRun(runOf(shown.document));
        const Timeline& timeline = *canvas->timeline();
        QVERIFY(!timeline.path.empty());
        const QImage with = canvas->grab().toImage();
        canvas->setPathShown(false);
        QVERIFY(canvas->grab().toImage() != with);
        canvas->setPathShown(true);
        canvas->setFocus();
        double at = -1;
        std::vector<TimelineCanvas::Place> places;
        for (int i = 0; i < 12; ++i) {
            QTest::keyClick(canvas, Qt::Key_Period);
            const auto place = canvas->current();
            QVERIFY(place.interval >= 0);
            const LaneInterval& it = timeline.lanes[place.lane].intervals[static_cast<std::size_t>(place.interval)];
            QVERIFY(it.start > at);
            at = it.start;
            QVERIFY(std::any_of(timeline.path.begin(), timeline.path.end(), [&](const PathPart& part) {
                return part.lane == place.lane && part.start <= it.start + 1e-9 && part.end >= it.start;
            }));
            places.push_back(place);
        }
        QTest::keyClick(canvas, Qt::Key_Greater, Qt::ShiftModifier);
        QCOMPARE(canvas->current().interval, places[places.size() - 2].interval);
    }
}

void TestTimelineView::tableAddsUpAndLeads()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    shown.source.setRun(runOf(shown.document));
    ErrorsModel* model = shown.errors->model();
    const ErrorTable& table = model->table();
    QCOMPARE(model->rowCount(), static_cast<int>(table.rows.size()) + 1);
    double measured = 0;
    for (const ErrorRow& row : table.rows)
        measured += row.measured;
    QVERIFY(std::abs(measured - table.measured) < 1e-12);
    // The lanes of a device are the step, too.
    for (const Lane& lane : shown.canvas()->timeline()->lanes) {
        double all = 0;
        for (const LaneInterval& it : lane.intervals)
            all += it.seconds;
        QVERIFY(std::abs(all - (lane.predicted ? table.predicted : table.measured)) < 1e-9);
    }
    for (std::size_t i = 1; i < table.rows.size(); ++i)
        QVERIFY(std::abs(table.rows[i - 1].lost()) >= std::abs(table.rows[i].lost()));
    QVERIFY(!table.rows.front().boundBy.empty() && !table.rows.front().constant.empty());
    // A click shows it, wherever one is in time, and selects it.
    QTableView* view = shown.errors->table();
    shown.canvas()->setWindow(0.9 * table.measured, 1e-6);
    const QModelIndex index = view->model()->index(2, 0);
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(index).center());
    const std::int32_t item = table.rows[2].item;
    QCOMPARE(shown.canvas()->selectedItem(), item);
    QCOMPARE(shown.source.selected(), item);
    const auto place = shown.canvas()->current();
    QVERIFY(place.interval >= 0 && !shown.canvas()->timeline()->lanes[place.lane].predicted);
    QVERIFY(shown.canvas()->rectOf(place.lane, static_cast<std::size_t>(place.interval)).width() >= 20);
    // The step stays below, however the table is sorted.
    for (const Qt::SortOrder order : { Qt::AscendingOrder, Qt::DescendingOrder }) {
        view->sortByColumn(ErrorsModel::Measured, order);
        QCOMPARE(view->model()->index(view->model()->rowCount() - 1, 0).data().toString(), QStringLiteral("step"));
    }
}

void TestTimelineView::tracesAreOpenedAndMatched()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    const Plan& plan = shown.document.evaluation()->plan;
    const auto gather = std::find_if(plan.collectives.begin(), plan.collectives.end(),
                                     [](const Collective& one) { return one.kind == CollectiveKind::AllGather; });
    QVERIFY(gather != plan.collectives.end());
    QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("other.json")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    const auto slice = [](const QByteArray& kind, std::int64_t elements, std::int64_t group, int at) {
        return QByteArray("{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"cat\":\"kernel\",\"name\":\"ncclDevKernel_") + kind
            + "\",\"ts\":" + QByteArray::number(at) + ",\"dur\":40,\"args\":{\"Collective name\":\"" + kind
            + "\",\"In msg nelems\":" + QByteArray::number(static_cast<qlonglong>(elements / group))
            + ",\"Out msg nelems\":" + QByteArray::number(static_cast<qlonglong>(elements))
            + ",\"dtype\":\"BFloat16\",\"Group size\":" + QByteArray::number(static_cast<qlonglong>(group)) + "}}";
    };
    file.write("{\"traceEvents\":[" + slice("AllGather", gather->bytes / 2, gather->groupSize, 0) + ","
               + slice("AllGather", 12344, 77, 100) + "]}");
    file.close();
    shown.timeline->openTrace(file.fileName());
    QVERIFY(shown.waitForWork());
    QVERIFY(shown.source.shown() == TimelineSource::Shown::Trace);
    QCOMPARE(shown.source.collectives(), std::int64_t { 2 });
    QCOMPARE(shown.canvas()->timeline()->lanes.size(), std::size_t { 1 });
    const auto& intervals = shown.canvas()->timeline()->lanes.front().intervals;
    QVERIFY(intervals[0].item >= 0 && intervals[1].item < 0);
    // The table has the one that is in the plan, and the reason for the other.
    QStringList rows;
    for (int i = 0; i < shown.errors->model()->rowCount(); ++i)
        rows << shown.errors->model()->index(i, 0).data().toString();
    QCOMPARE(rows.size(), 3);
    QVERIFY2(rows.back().contains(QLatin1String("in groups of 77")), qPrintable(rows.back()));
    QTest::mouseClick(shown.canvas(), Qt::LeftButton, {}, shown.at(0, 0));
    QVERIFY(shown.document.selection()->collective().valid());
}

void TestTimelineView::badTracesSayWhy()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    QSignalSpy refused(shown.timeline, &TimelineView::refused);
    QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("bad.json")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{\"events\":[]}");
    file.close();
    shown.timeline->openTrace(file.fileName());
    QVERIFY(shown.waitForWork());
    QCOMPARE(refused.count(), 1);
    QVERIFY(refused.front().front().toString().contains(QLatin1String("traceEvents")));
    shown.timeline->openTrace(folder.filePath(QStringLiteral("none.json")));
    QVERIFY(shown.waitForWork());
    QCOMPARE(refused.count(), 2);
    QVERIFY(shown.source.shown() == TimelineSource::Shown::Prediction); // what was there stays
}

void TestTimelineView::legendShowsOneKind()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    QStringList names;
    for (const LegendEntry& entry : shown.timeline->legend()->entries())
        names << entry.text;
    for (const char* name : { "forward", "backward", "update", "collective" })
        QVERIFY2(names.contains(QLatin1String(name)), name);
    const QImage before = shown.canvas()->grab().toImage();
    shown.timeline->legend()->choose(shown.timeline->legend()->entries().front().key);
    Q_EMIT shown.timeline->legend()->chosenChanged(shown.timeline->legend()->chosen());
    QVERIFY(shown.canvas()->grab().toImage() != before);
}

void TestTimelineView::withoutADesign()
{
    Document document;
    TimelineSource source(&document);
    TimelineView view(&document, &source);
    ErrorsView errors(&document, &source);
    view.resize(800, 300);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QCOMPARE(view.findChild<QLabel*>(QStringLiteral("timelineEmpty"))->text(), QStringLiteral("No design is open."));
    QVERIFY(!view.canvas()->isVisible());
    QTest::keyClick(view.canvas(), Qt::Key_W);
    QVERIFY(document.setDesign(looseDesign("data=2,model=4")).ok());
    QVERIFY(view.findChild<QLabel*>(QStringLiteral("timelineEmpty"))->text().contains(QLatin1String("weights only")));
}

void TestTimelineView::rowsAreItemsForScreenReaders()
{
    ShownTimeline shown(trainingDesign());
    QVERIFY(shown.ready);
    shown.source.setRun(runOf(shown.document));
    TimelineCanvas* canvas = shown.canvas();
    QCOMPARE(canvas->accessibleCount(), 2);
    QVERIFY(canvas->accessibleItemName(0).startsWith(QLatin1String("device 0, measured")));
    QVERIFY(canvas->accessibleItemName(1).contains(QLatin1String("idle")));
    QCOMPARE(canvas->accessibleItemAt(canvas->accessibleItemRect(1).center()), 1);
    canvas->accessibleActivate(1);
    QCOMPARE(canvas->accessibleCurrent(), 1);
    QVERIFY(canvas->accessibleItemName(7).isEmpty());
}

SHARDBOARD_TEST(TestTimelineView)
#include "tst_timelineview.moc"
