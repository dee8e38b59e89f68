// SPDX-License-Identifier: Apache-2.0
// The flow of a plan: where its boxes stand, what its lines stand for, folded layers, search; walking through the plan step by step
// and playing it, with what moves between devices, in the real window.
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"

#include "widgets/controls/choicebox.h"
#include "widgets/controls/viewheader.h"
#include "widgets/document/planplayer.h"
#include "widgets/document/steptexts.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/flow/flowlayout.h"
#include "widgets/flow/flowtransport.h"
#include "widgets/flow/flowview.h"
#include "widgets/look/axishues.h"
#include "widgets/look/format.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/mesh/transfers.h"
#include "widgets/tiles/modelcanvas.h"
#include "widgets/tiles/tileview.h"

#include <QAction>
#include <QClipboard>
#include <QElapsedTimer>
#include <QLineEdit>
#include <QMenu>
#include <QSignalSpy>
#include <QToolButton>

#include <algorithm>
#include <random>
#include <set>

using namespace shardboard;

namespace {

Design largeDesign()
{
    Design design = trainingDesign("llama3.1-405b", "pod=4,data=8,fsdp=64,model=8", "tp+fsdp");
    design.workload.batch = 2048;
    return design;
}

/// Of the first segment.
PlanStep step(int operation, int collective = -1)
{
    return { PlannedSegmentId(0), PlannedOpId(operation), CollectiveId(collective) };
}

} // namespace

class TestFlow : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void boxesStandInLines();
    void neighboursByKeys();
    void thicknessFollowsTheAmount();
    void foldedLayersKeepTheTotals_data();
    void foldedLayersKeepTheTotals();
    void inkIsTheLayout();
    void transfersByKind();
    void transfersOfOneGroupWhereThereAreMany();
    void sendsGoAsTheLayoutsSay();
    void pipelinesSendOnward();
    void shortArrowsAreJoined();
    void playerWalksThroughEveryStep();
    void playerMovesInTime();

    void boxesUnfold();
    void linesFollowTheChoice();
    void linesHaveTheColoursOfTheirLayout();
    void keysMoveBetweenItems();
    void searchFindsInAllSegments();
    void menuOfAnItem();
    void steppingSelectsEverywhere();
    void everyCollectiveIsShownInTheMesh();
    void playingStopsAtAnEdit();
    void selectionElsewhereIsTakenUp();
    void reducedMotionDrawsArrows();
    void arrowsStayFewOnManyDevices();
};

void TestFlow::boxesStandInLines()
{
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        std::vector<FlowBox> boxes(1 + random() % 40);
        for (FlowBox& box : boxes)
            box = { QSizeF(30 + static_cast<double>(random() % 180), kFlowBoxHeight), random() % 5 == 0 };
        boxes.back().hanging = false;
        const double width = 260 + static_cast<double>(random() % 900);
        const FlowPlacement placed = placeFlow(boxes, width);
        QCOMPARE(placed.rects.size(), boxes.size());
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            QCOMPARE(placed.rects[i].width(), boxes[i].size.width());
            QVERIFY(QRectF(QPointF(), placed.size).contains(placed.rects[i]));
            for (std::size_t k = 0; k < i; ++k)
                QVERIFY(!placed.rects[i].intersects(placed.rects[k]));
            if (boxes[i].hanging) { // over the one that it belongs to
                std::size_t owner = i;
                while (boxes[owner].hanging)
                    ++owner;
                QVERIFY(placed.rects[i].bottom() < placed.rects[owner].top());
                QVERIFY(placed.rects[owner].top() - placed.rects[i].bottom() < 20);
            }
        }
        // What does not hang stands in reading order.
        QPointF last(-1, -1);
        for (std::size_t i = 0; i < boxes.size(); ++i)
            if (!boxes[i].hanging) {
                const QPointF now = placed.rects[i].topLeft();
                QVERIFY(now.y() > last.y() || (now.y() == last.y() && now.x() > last.x()));
                last = now;
            }
    }
    QVERIFY(placeFlow({}, 500).rects.empty());
}

void TestFlow::neighboursByKeys()
{
    const std::vector<QRectF> rects {
        { 0, 0, 50, 40 }, { 60, 0, 50, 40 }, { 120, 0, 50, 40 }, { 0, 60, 80, 40 }, { 90, 60, 80, 40 }
    };
    QCOMPARE(flowNeighbour(rects, 0, 1, 0), 1);
    QCOMPARE(flowNeighbour(rects, 0, -1, 0), 0);
    QCOMPARE(flowNeighbour(rects, 2, 1, 0), 3); // on to the next line
    QCOMPARE(flowNeighbour(rects, 2, 0, 1), 4);
    QCOMPARE(flowNeighbour(rects, 3, 0, -1), 0);
    QCOMPARE(flowNeighbour(rects, 4, 0, 1), 4);
    QCOMPARE(flowNeighbour(rects, -1, 0, 1), 0);
    QCOMPARE(flowNeighbour({}, 0, 1, 0), -1);
}

void TestFlow::thicknessFollowsTheAmount()
{
    double last = flowStroke(0, 100);
    for (const double amount : { 1.0, 10.0, 50.0, 100.0 }) {
        QVERIFY(flowStroke(amount, 100) > last);
        last = flowStroke(amount, 100);
    }
    QCOMPARE(flowStroke(1000, 100), last); // no thicker than the thickest
    QCOMPARE(flowStroke(5, 0), flowStroke(0, 0));
}

void TestFlow::foldedLayersKeepTheTotals_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QString>("preset");
    QTest::newRow("tensor") << "fsdp=2,model=4"
                            << "tp+fsdp";
    QTest::newRow("fsdp") << "fsdp=8"
                          << "fsdp";
}

void TestFlow::foldedLayersKeepTheTotals()
{
    QFETCH(QString, mesh);
    QFETCH(QString, preset);
    Document document;
    QVERIFY(document.setDesign(trainingDesign("llama3-8b", qPrintable(mesh), qPrintable(preset))).ok());
    const auto evaluation = document.evaluation();
    const Plan& plan = evaluation->plan;
    for (PlannedSegmentId unfolded { 0 }; unfolded < plan.segments.size(); ++unfolded) {
        const Phase phase = plan.segment(unfolded).phase;
        const FlowScene scene = makeFoldedScene(*evaluation, unfolded);
        std::set<PlannedSegmentId> folded;
        std::vector<PlannedSegmentId> order;
        std::int64_t bytes = 0;
        for (const FlowItem& item : scene.items) {
            if (item.kind == FlowItem::Folded) {
                QVERIFY(folded.insert(item.segment).second);
                bytes += item.bytes;
            } else if (item.collective.valid()) {
                bytes += item.bytes * plan.collective(item.collective).count;
            }
            const PlannedSegmentId segment =
                item.collective.valid() ? plan.collective(item.collective).plannedSegment : item.segment;
            if (order.empty() || order.back() != segment)
                order.push_back(segment);
        }
        QVERIFY(std::is_sorted(order.begin(), order.end())); // in the order in which they run
        QVERIFY(folded.count(unfolded) == 0);
        std::int64_t wanted = 0;
        std::size_t segments = 0;
        for (const Collective& collective : plan.collectives)
            if (plan.segment(collective.plannedSegment).phase == phase)
                wanted += collective.bytes * collective.count;
        for (const PlannedSegment& segment : plan.segments)
            segments += segment.phase == phase ? 1 : 0;
        QCOMPARE(bytes, wanted); // whichever is unfolded
        QCOMPARE(folded.size() + 1, segments);
    }
}

void TestFlow::inkIsTheLayout()
{
    Layout layout = Layout::cut(3, 1, { 2, 0 });
    QVERIFY((inkOf(layout) == FlowInk { { 2, 0 }, {} }));
    layout = Layout::replicated(2);
    layout.partial.push_back({ 1, 1, 0 });
    QVERIFY((inkOf(layout) == FlowInk { {}, { 1 } }));
    QVERIFY(inkOf(Layout::replicated(2)) == FlowInk {});
}

void TestFlow::transfersByKind()
{
    Plan plan;
    plan.mesh = Mesh::parse("data=2,model=4").value();
    plan.segments.resize(1);
    Collective collective;
    collective.axes = { 1 };
    collective.groupSize = 4;
    collective.kind = CollectiveKind::AllGather;
    // Device 6 is data 1, model 2: its group is 4 to 7.
    const std::vector<Transfer> ring { { 4, 5, false }, { 5, 6, false }, { 6, 7, false }, { 7, 4, false } };
    QVERIFY(transfersOf(collective, plan, 6) == ring);
    collective.kind = CollectiveKind::ReduceScatter;
    QVERIFY(transfersOf(collective, plan, 4) == ring);
    collective.kind = CollectiveKind::AllReduce;
    for (const Transfer& move : transfersOf(collective, plan, 6))
        QVERIFY(move.both);
    collective.kind = CollectiveKind::AllToAll;
    QCOMPARE(transfersOf(collective, plan, 6).size(), std::size_t { 6 }); // pairs of four
    collective.kind = CollectiveKind::LocalSlice;
    QVERIFY(transfersOf(collective, plan, 6).empty()); // nothing moves
    collective.kind = CollectiveKind::AllReduce;
    collective.axes = { 0 };
    collective.groupSize = 2;
    QVERIFY((transfersOf(collective, plan, 6) == std::vector<Transfer> { { 2, 6, true } })); // across the other axis
    collective.axes = { 0, 1 };
    collective.groupSize = 8;
    QCOMPARE(transfersOf(collective, plan, 3).size(), std::size_t { 8 });
    QCOMPARE(groupNameOf(plan.mesh, { 1 }, 6), std::int64_t { 4 });
    QCOMPARE(groupNameOf(plan.mesh, { 0 }, 6), std::int64_t { 2 });
}

void TestFlow::transfersOfOneGroupWhereThereAreMany()
{
    Plan plan;
    plan.mesh = Mesh::parse("data=16,model=8").value();
    Collective collective;
    collective.kind = CollectiveKind::AllGather;
    collective.axes = { 1 };
    collective.groupSize = 8;
    std::vector<std::int64_t> all(128);
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::int64_t>(i);
    const ShownTransfers every = shownTransfers(collective, plan, all, 20, 1000);
    QCOMPARE(every.groups, std::int64_t { 16 });
    QCOMPARE(every.allGroups, std::int64_t { 16 });
    QCOMPARE(every.moves.size(), std::size_t { 128 });
    const ShownTransfers one = shownTransfers(collective, plan, all, 20, 100); // more than are calm
    QCOMPARE(one.groups, std::int64_t { 1 });
    QVERIFY(one.moves == transfersOf(collective, plan, 20));
    const ShownTransfers some = shownTransfers(collective, plan, { 0, 1, 2, 40 }, 41, 100); // those in sight alone
    QCOMPARE(some.groups, std::int64_t { 2 });
}

void TestFlow::sendsGoAsTheLayoutsSay()
{
    // Axes change places on a dim: device (a, b) takes over the shard of the device that had it.
    Plan plan;
    plan.mesh = Mesh::parse("a=2,b=2").value();
    plan.segments.resize(1);
    Collective collective;
    collective.kind = CollectiveKind::SendRecv;
    collective.axes = { 0, 1 };
    collective.groupSize = 4;
    collective.step = { CollectiveKind::SendRecv, { 0, 1 }, Layout::cut(1, 0, { 0, 1 }), Layout::cut(1, 0, { 1, 0 }) };
    // Part a*2+b before, b*2+a after: 1 and 2 change places, 0 and 3 keep theirs.
    auto moves = transfersOf(collective, plan, 0);
    std::sort(moves.begin(), moves.end(), [](const Transfer& x, const Transfer& y) { return x.from < y.from; });
    QVERIFY((moves == std::vector<Transfer> { { 1, 2, false }, { 2, 1, false } }));
}

void TestFlow::pipelinesSendOnward()
{
    Document document;
    Design design = trainingDesign("llama3-8b", "pipe=4,data=2", "pp-1f1b");
    design.workload.microBatches = 8;
    QVERIFY(document.setDesign(design).ok());
    const Plan& plan = document.evaluation()->plan;
    int seen = 0;
    for (const Collective& collective : plan.collectives) {
        if (collective.kind != CollectiveKind::SendRecv || collective.axes != std::vector { 0 })
            continue;
        ++seen;
        const bool back = plan.segment(collective.plannedSegment).phase == Phase::Backward;
        const auto moves = transfersOf(collective, plan, 1);
        QCOMPARE(moves.size(), std::size_t { 3 }); // and none from the last stage to the first
        for (const Transfer& move : moves)
            QCOMPARE(move.to - move.from, std::int64_t { back ? -2 : 2 });
    }
    QVERIFY(seen >= 2);
}

void TestFlow::shortArrowsAreJoined()
{
    const Mesh mesh = Mesh::parse("x=64").value();
    const MeshGrid grid(mesh);
    std::vector<Transfer> line;
    for (std::int64_t i = 0; i + 1 < 8; ++i)
        line.push_back({ i, i + 1, false });
    QCOMPARE(arrowsOf(line, grid, 40, 14).size(), std::size_t { 7 }); // 40 pixels each
    const auto joined = arrowsOf(line, grid, 3, 14); // 3 pixels each
    QVERIFY(!joined.empty() && joined.size() <= 2);
    QCOMPARE(joined.front().from, grid.cell(0).center() * 3);
    QVERIFY(arrowsOf({}, grid, 40, 14).empty());
}

void TestFlow::playerWalksThroughEveryStep()
{
    PlanPlayer player;
    player.forward();
    QCOMPARE(player.index(), -1); // nothing to walk through
    player.setSteps({ step(0, 0), step(0), step(1, 1), step(1) });
    player.setReducedMotion(true);
    player.forward();
    QCOMPARE(player.index(), 0);
    QVERIFY(player.isShown());
    player.last();
    QCOMPARE(player.index(), 3);
    player.forward();
    QCOMPARE(player.index(), 3);
    player.backToCollective();
    QCOMPARE(player.index(), 2);
    player.backToCollective();
    QCOMPARE(player.index(), 0);
    player.backToCollective();
    QCOMPARE(player.index(), 0);
    player.forwardToCollective();
    QCOMPARE(player.index(), 2);
    player.first();
    player.back();
    QCOMPARE(player.index(), 0);
    player.adopt(2); // what was selected elsewhere is no step that is shown
    QCOMPARE(player.index(), 2);
    QVERIFY(!player.isShown());
    player.setSteps({});
    QCOMPARE(player.index(), -1);
    player.play();
    QVERIFY(!player.isPlaying());
}

void TestFlow::playerMovesInTime()
{
    PlanPlayer player;
    player.setSteps({ step(0, 0), step(0), step(1) });
    std::vector<int> seen;
    std::vector<double> progress;
    connect(&player, &PlanPlayer::stepChanged, this, [&] { seen.push_back(player.index()); });
    connect(&player, &PlanPlayer::progressed, this, [&] {
        if (player.index() == 0)
            progress.push_back(player.progress());
    });
    QElapsedTimer timer;
    timer.start();
    player.play();
    QVERIFY(player.isPlaying());
    QTRY_VERIFY_WITH_TIMEOUT(!player.isPlaying(), 5000);
    QVERIFY(timer.elapsed() >= PlanPlayer::kCollectiveMilliseconds + PlanPlayer::kOperationMilliseconds);
    QVERIFY((seen == std::vector<int> { 0, 1, 2 }));
    QVERIFY(progress.size() >= 3); // it was seen moving
    QVERIFY(std::is_sorted(progress.begin(), progress.end()));
    QCOMPARE(progress.back(), 1.0);
    // From the end it begins anew; a pause keeps the place, and play goes on from there.
    player.play();
    QCOMPARE(player.index(), 0);
    player.pause();
    QVERIFY(!player.isPlaying());
    QCOMPARE(player.index(), 0);
    player.play();
    QCOMPARE(player.index(), 1);
    player.setSteps({ step(0) });
    QVERIFY(!player.isPlaying());
}

void TestFlow::boxesUnfold()
{
    RealWindow real;
    auto* view = real.window->findChild<FlowView*>();
    FlowCanvas* canvas = view->canvas();
    const PlannedSegmentId block = view->segment();
    std::vector<int> folded;
    for (int i = 0; i < static_cast<int>(canvas->scene().items.size()); ++i)
        if (canvas->scene().items[static_cast<std::size_t>(i)].kind == FlowItem::Folded)
            folded.push_back(i);
    QVERIFY(folded.size() >= 2); // before the layers and after them
    const PlannedSegmentId segment = canvas->scene().items[static_cast<std::size_t>(folded.front())].segment;
    QTest::mouseClick(canvas, Qt::LeftButton, {}, canvas->itemRect(folded.front()).center().toPoint());
    QCOMPARE(view->segment(), segment);
    const auto& items = canvas->scene().items;
    QVERIFY(std::any_of(items.begin(), items.end(),
                        [block](const FlowItem& item) { return item.kind == FlowItem::Folded && item.segment == block; }));
    QVERIFY(std::any_of(items.begin(), items.end(),
                        [segment](const FlowItem& item) { return item.kind != FlowItem::Folded && item.segment == segment; }));
}

void TestFlow::linesFollowTheChoice()
{
    RealWindow real;
    QVERIFY(real.document()->setDesign(trainingDesign("llama3-8b", "fsdp=2,model=4", "tp+fsdp")).ok());
    auto* view = real.window->findChild<FlowView*>();
    FlowCanvas* canvas = view->canvas();
    auto* box = real.child<ChoiceBox>("flowThickness");
    const auto check = [&](const auto& amount) {
        double largest = 0;
        for (const Collective& collective : real.document()->evaluation()->plan.collectives)
            largest = std::max(largest, amount(collective));
        int pills = 0;
        for (int i = 0; i < static_cast<int>(canvas->scene().items.size()); ++i) {
            const FlowItem& item = canvas->scene().items[static_cast<std::size_t>(i)];
            if (!item.collective.valid())
                continue;
            ++pills;
            const Collective& collective = real.document()->evaluation()->plan.collective(item.collective);
            QCOMPARE(canvas->strokeOf(i), flowStroke(collective.bytes == 0 ? 0 : amount(collective), largest));
        }
        QVERIFY(pills > 0);
    };
    check([](const Collective& collective) { return static_cast<double>(collective.bytes); });
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Down); // by the keyboard
    QVERIFY(canvas->thickness() == FlowCanvas::Thickness::Time);
    check([](const Collective& collective) { return collective.seconds; });
}

/// In the picture: beside a box whose result is cut over one axis there are pixels of that axis's colour.
void TestFlow::linesHaveTheColoursOfTheirLayout()
{
    RealWindow real;
    auto* canvas = real.window->findChild<FlowCanvas*>();
    const QImage picture = canvas->grab().toImage();
    const double scale = picture.devicePixelRatio();
    int checked = 0;
    for (int i = 0; i < static_cast<int>(canvas->scene().items.size()); ++i) {
        const FlowItem& item = canvas->scene().items[static_cast<std::size_t>(i)];
        const QRectF rect = canvas->itemRect(i);
        if (item.ink.cut.size() != 1 || !item.ink.partial.empty() || item.hanging
            || !canvas->currentView().view().contains(rect.adjusted(0, 0, 12, 0))
            || i + 1 >= static_cast<int>(canvas->scene().items.size()) || canvas->itemRect(i + 1).center().y() != rect.center().y())
            continue;
        const QPointF at(rect.right() + 10, rect.center().y());
        QCOMPARE(picture.pixelColor((at * scale).toPoint()).name(),
                 axisColor(real.document()->design().mesh, item.ink.cut.front()).name());
        ++checked;
    }
    QVERIFY(checked > 0);
}

void TestFlow::keysMoveBetweenItems()
{
    RealWindow real;
    auto* canvas = real.window->findChild<FlowCanvas*>();
    canvas->setFocus();
    real.selection()->clear();
    std::set<CollectiveId> collectives;
    std::set<int> weights;
    const int count = static_cast<int>(canvas->scene().items.size());
    QTest::keyClick(canvas, Qt::Key_Right);
    for (int i = 0; i < count; ++i) {
        QCOMPARE(canvas->current(), i);
        const FlowItem& item = canvas->scene().items[static_cast<std::size_t>(i)];
        if (item.collective.valid()) {
            QCOMPARE(real.selection()->collective(), item.collective);
            collectives.insert(item.collective);
        } else if (item.kind != FlowItem::Folded) {
            QVERIFY(real.selection()->operation().valid());
            if (!item.weights.empty())
                QVERIFY(std::find(item.weights.begin(), item.weights.end(), real.selection()->weight()) != item.weights.end());
        }
        QVERIFY(canvas->currentView().view().intersects(canvas->itemRect(i)));
        if (i + 1 < count)
            QTest::keyClick(canvas, Qt::Key_Right);
    }
    QVERIFY(!collectives.empty());
    QTest::keyClick(canvas, Qt::Key_Up);
    QVERIFY(canvas->current() < count - 1);
}

void TestFlow::searchFindsInAllSegments()
{
    RealWindow real;
    auto* view = real.window->findChild<FlowView*>();
    FlowCanvas* canvas = view->canvas();
    canvas->setFocus();
    QTest::keyClick(canvas, Qt::Key_F, Qt::ControlModifier);
    auto* field = real.child<QLineEdit>("flowFind");
    QVERIFY(field->hasFocus());
    QTest::keyClicks(field, QStringLiteral("all-reduce"));
    int matching = 0;
    for (int i = 0; i < static_cast<int>(canvas->scene().items.size()); ++i) {
        const FlowItem& item = canvas->scene().items[static_cast<std::size_t>(i)];
        if (item.title == QLatin1String("all-reduce"))
            QVERIFY(canvas->matches(i));
        if (item.title == QLatin1String("attention"))
            QVERIFY(!canvas->matches(i));
        matching += canvas->matches(i) ? 1 : 0;
    }
    QVERIFY(matching > 0);
    // Enter goes through all of them, those of folded segments too, and round.
    const Plan& plan = real.document()->evaluation()->plan;
    std::set<CollectiveId> wanted;
    for (CollectiveId i { 0 }; i < plan.collectives.size(); ++i)
        if (plan.collective(i).kind == CollectiveKind::AllReduce)
            wanted.insert(i);
    std::set<CollectiveId> seen;
    for (std::size_t i = 0; i < 2 * wanted.size() + 8; ++i) {
        QTest::keyClick(field, Qt::Key_Return);
        if (real.selection()->collective().valid())
            seen.insert(real.selection()->collective());
    }
    QVERIFY(std::includes(seen.begin(), seen.end(), wanted.begin(), wanted.end()));
    field->clear();
    QTest::keyClicks(field, QStringLiteral("no such thing"));
    const auto* header = view->findChild<ViewHeader*>();
    QVERIFY(header->detail().contains(QStringLiteral("no such thing")));
    QTest::keyClick(field, Qt::Key_Escape);
    QVERIFY(field->text().isEmpty());
    QVERIFY(!header->detail().contains(QStringLiteral("no such thing")));
    QVERIFY(canvas->matches(0));
}

void TestFlow::menuOfAnItem()
{
    RealWindow real;
    auto* view = real.window->findChild<FlowView*>();
    const auto& items = view->canvas()->scene().items;
    int pill = -1;
    for (int i = 0; i < static_cast<int>(items.size()); ++i)
        if (items[static_cast<std::size_t>(i)].collective.valid())
            pill = i;
    QVERIFY(pill >= 0);
    QMenu menu;
    view->fillMenu(&menu, pill);
    const CollectiveId collective = items[static_cast<std::size_t>(pill)].collective;
    const auto choose = [&menu](const QString& text) {
        for (QAction* action : menu.actions())
            if (action->text() == text) {
                action->trigger();
                return true;
            }
        return false;
    };
    QVERIFY(choose(QStringLiteral("Walk to This")));
    QCOMPARE(real.selection()->collective(), collective);
    QCOMPARE(view->player()->current().collective, collective);
    QVERIFY(choose(QStringLiteral("Copy as Text")));
    QVERIFY(QApplication::clipboard()->text().startsWith(items[static_cast<std::size_t>(pill)].title));
    QVERIFY(choose(QStringLiteral("Play from Here")));
    QVERIFY(view->player()->isPlaying());
    view->player()->stop();
    QVERIFY(choose(QStringLiteral("Show Everything\tShift+F")));
    QVERIFY(view->canvas()->currentView().isFitted());
}

/// Through the whole plan by the forward button: every step is selected, marked and in sight.
void TestFlow::steppingSelectsEverywhere()
{
    RealWindow real;
    auto* view = real.window->findChild<FlowView*>();
    auto* forward = real.child<QToolButton>("flowForward");
    auto* transport = real.window->findChild<FlowTransport*>();
    view->player()->setReducedMotion(true);
    const auto evaluation = real.document()->evaluation();
    const auto steps = planSteps(evaluation->plan);
    std::vector<CollectiveId> collectives;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        QVERIFY(forward->isEnabled());
        QTest::mouseClick(forward, Qt::LeftButton);
        const PlanStep& step = steps[i];
        QVERIFY(view->player()->current() == step);
        QCOMPARE(view->segment(), step.segment);
        if (step.collective.valid()) {
            QCOMPARE(real.selection()->collective(), step.collective);
            collectives.push_back(step.collective);
            const Collective& collective = evaluation->plan.collective(step.collective);
            const QString words = transport->words();
            for (const QString& part :
                 { qstr(collectiveName(collective.kind)), qstr(evaluation->plan.mesh.axis(collective.axes.front()).name),
                   bytesText(collective.bytes), secondsText(collective.seconds) })
                QVERIFY2(words.contains(part), qPrintable(words));
        } else {
            QCOMPARE(real.selection()->segment(), step.segment);
            QCOMPARE(real.selection()->operation(), step.operation);
            const OpId op = evaluation->plan.segment(step.segment).ops[step.operation].op;
            if (const int weight = weightOfOp(*evaluation, op); weight >= 0)
                QCOMPARE(real.selection()->weight(), weight);
        }
        const int marked = view->canvas()->step();
        QVERIFY(marked >= 0);
        QVERIFY(view->canvas()->currentView().view().contains(view->canvas()->itemRect(marked).center()));
    }
    QVERIFY(!forward->isEnabled());
    QCOMPARE(collectives.size(), evaluation->plan.collectives.size()); // each once
    QVERIFY(std::is_sorted(collectives.begin(), collectives.end()));
    // And by keys.
    view->canvas()->setFocus();
    QTest::keyClick(view->canvas(), Qt::Key_Home);
    QCOMPARE(view->player()->index(), 0);
    QTest::keyClick(view->canvas(), Qt::Key_Period);
    QCOMPARE(view->player()->index(), 1);
    QTest::keyClick(view->canvas(), Qt::Key_Comma);
    QCOMPARE(view->player()->index(), 0);
    QTest::keyClick(view->canvas(), Qt::Key_End);
    QCOMPARE(view->player()->index(), static_cast<int>(steps.size()) - 1);
    QTest::keyClick(view->canvas(), Qt::Key_Space);
    QVERIFY(view->player()->isPlaying());
    QTest::keyClick(view->canvas(), Qt::Key_Space);
    QVERIFY(!view->player()->isPlaying());
    QTest::keyClick(view->canvas(), Qt::Key_Escape);
    QCOMPARE(view->canvas()->step(), -1);
}

void TestFlow::everyCollectiveIsShownInTheMesh()
{
    RealWindow real;
    QVERIFY(real.document()->setDesign(trainingDesign("llama3-8b", "data=2,fsdp=2,model=4", "tp+fsdp")).ok());
    auto* view = real.window->findChild<FlowView*>();
    MeshCanvas* mesh = real.window->meshView()->canvas();
    const auto evaluation = real.document()->evaluation();
    int moving = 0;
    for (const PlanStep& step : planSteps(evaluation->plan)) {
        view->player()->forward();
        if (!step.collective.valid()) {
            QVERIFY(!mesh->shownTransfer().valid());
            continue;
        }
        QCOMPARE(mesh->shownTransfer(), step.collective);
        const Collective& collective = evaluation->plan.collective(step.collective);
        QCOMPARE(mesh->arrows().empty(), transfersOf(collective, evaluation->plan, 0).empty());
        for (const Arrow& arrow : mesh->arrows())
            QVERIFY(mesh->deviceAt(arrow.from) >= 0 && mesh->deviceAt(arrow.to) >= 0);
        QVERIFY(collective.bytes == 0 || mesh->transferText().contains(bytesText(collective.bytes)));
        moving += mesh->arrows().empty() ? 0 : 1;
        // All groups of so small a mesh: every device takes part.
        std::set<std::int64_t> devices;
        for (const Arrow& arrow : mesh->arrows()) {
            devices.insert(mesh->deviceAt(arrow.from));
            devices.insert(mesh->deviceAt(arrow.to));
        }
        if (collective.kind != CollectiveKind::SendRecv && !mesh->arrows().empty())
            QCOMPARE(devices.size(), std::size_t { 16 });
    }
    QVERIFY(moving > 3);
}

void TestFlow::playingStopsAtAnEdit()
{
    RealWindow real;
    auto* view = real.window->findChild<FlowView*>();
    QTest::mouseClick(real.child<QToolButton>("flowPlay"), Qt::LeftButton);
    QVERIFY(view->player()->isPlaying());
    QTRY_VERIFY_WITH_TIMEOUT(view->player()->index() >= 2, 5000);
    Design other = real.document()->design();
    other.mesh = Mesh::parse("data=4,model=2").value();
    QVERIFY(real.document()->edit(other, QStringLiteral("another mesh")).ok());
    QVERIFY(!view->player()->isPlaying());
    QVERIFY(!view->player()->isShown());
    QVERIFY(!real.window->meshView()->canvas()->shownTransfer().valid());
    QCOMPARE(view->canvas()->step(), -1);
    QTest::qWait(2 * PlanPlayer::kOperationMilliseconds);
    QVERIFY(!view->player()->isShown());
    // The next walk is through the new plan.
    QVERIFY(view->player()->steps() == planSteps(real.document()->evaluation()->plan));
}

void TestFlow::selectionElsewhereIsTakenUp()
{
    RealWindow real;
    auto* view = real.window->findChild<FlowView*>();
    view->player()->play();
    real.selection()->setCollective(CollectiveId(2)); // in the table, say
    QVERIFY(!view->player()->isPlaying());
    QCOMPARE(view->player()->current().collective, CollectiveId(2));
    view->player()->forward();
    QVERIFY(view->player()->current().collective != CollectiveId(2));
    // A device that is selected meanwhile is no reason to stop.
    view->player()->play();
    real.selection()->setDevice(3);
    QVERIFY(view->player()->isPlaying());
    real.selection()->setWeight(weightNamed(*real.document(), "embed_tokens"));
    QVERIFY(!view->player()->isPlaying());
    QVERIFY(!view->player()->isShown());
}

void TestFlow::reducedMotionDrawsArrows()
{
    RealWindow real;
    auto* action = real.window->findChild<QAction*>(QStringLiteral("view.reducedMotion"));
    QVERIFY(!action->isChecked());
    action->trigger();
    QVERIFY(real.settings->reducedMotion().value_or(false));
    auto* view = real.window->findChild<FlowView*>();
    MeshCanvas* mesh = real.window->meshView()->canvas();
    QSignalSpy progressed(view->player(), &PlanPlayer::progressed);
    view->player()->forwardToCollective();
    QCOMPARE(view->player()->progress(), 1.0);
    QVERIFY(!mesh->arrows().empty());
    const QImage still = mesh->grab().toImage();
    QTest::qWait(4 * PlanPlayer::kFrameMilliseconds);
    QCOMPARE(progressed.count(), 0);
    QVERIFY(mesh->grab().toImage() == still);
    // With motion the picture changes by itself.
    action->trigger();
    view->player()->goTo(view->player()->index());
    QVERIFY(view->player()->progress() < 1);
    const QImage begun = mesh->grab().toImage();
    QTest::qWait(6 * PlanPlayer::kFrameMilliseconds);
    QVERIFY(mesh->grab().toImage() != begun);
}

/// 405B over 16,384 devices: a transfer is a few arrows, however many devices it joins.
void TestFlow::arrowsStayFewOnManyDevices()
{
    RealWindow real;
    QVERIFY(real.document()->setDesign(largeDesign()).ok());
    QCOMPARE(real.document()->design().mesh.deviceCount(), std::int64_t { 16384 });
    auto* view = real.window->findChild<FlowView*>();
    MeshCanvas* mesh = real.window->meshView()->canvas();
    int transfers = 0;
    for (int i = 0; i < 60 && i < view->player()->count(); ++i) {
        view->player()->forward();
        QCoreApplication::sendPostedEvents();
        QVERIFY(mesh->arrows().size() <= 200);
        transfers += mesh->shownTransfer().valid();
    }
    QVERIFY(transfers > 0);
}

SHARDBOARD_TEST(TestFlow, withFonts)
#include "tst_flow.moc"
