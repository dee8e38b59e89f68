// SPDX-License-Identifier: Apache-2.0
// Legends name every colour and pattern in view, and a click on an entry, or a key, shows what is drawn so in the same view.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/cost/costview.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/flow/flowview.h"
#include "widgets/look/format.h"
#include "widgets/look/legend.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/tiles/modelcanvas.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"

#include <QAccessible>
#include <QSet>
#include <QSignalSpy>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

using namespace shardboard;

namespace {

QSet<QString> keysOf(const Legend* legend)
{
    QSet<QString> out;
    for (const LegendEntry& entry : legend->entries())
        out.insert(entry.key);
    return out;
}

void click(const Legend* legend, const char* key) { QTest::mouseClick(legend->button(QString::fromLatin1(key)), Qt::LeftButton); }

/// Two weights of five rows over three devices, one padded, one uneven, and others that are whole.
Design unevenDesign()
{
    Design design = looseDesign("model=3");
    design.model.looseWeights.push_back(looseWeight("six", { 5, 4 }));
    for (const auto& [name, rule] : { std::pair("five", CutRule::CeilFlat), std::pair("six", CutRule::Balanced) }) {
        StrategyEntry entry;
        entry.match = name;
        entry.strategy.kind = StrategyKind::Spec;
        entry.strategy.spec = "P('model')";
        entry.cut = rule;
        design.strategies.push_back(entry);
    }
    return design;
}

} // namespace

class TestLegend : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void linesKeepNamesWhole();
    void flowNamesItsColours();
    void flowShowsWhatIsChosen();
    void allWeightsNameTheirPatterns();
    void tilesNameWhatIsNotAlike();
    void costShowsWhatIsChosen();
    void meshNamesItsShards();
    void meshShowsWhatIsChosen();
    void manyShardsAreOneEntry();
    void devicesComeBeforeTheLegend();
    void narrowFlowNamesAxesAlone();
    void keysAndNames();
    void noEntryGoesInLittleRoom();
    void manyEntriesStayInside();
    void choiceOutlivesAnEdit();
};

void TestLegend::flowNamesItsColours()
{
    const ShownView<FlowView> shown(trainingDesign(), { 1200, 400 });
    QVERIFY(shown.ready);
    const Mesh& mesh = shown.document.design().mesh;
    QSet<QString> wanted;
    for (PlannedSegmentId segment { 0 }; segment < shown.document.evaluation()->plan.segments.size(); ++segment) {
        shown.view->showSegment(segment);
        wanted.clear();
        for (const FlowItem& item : shown.view->canvas()->scene().items) {
            for (const int axis : item.ink.cut)
                wanted.insert(QStringLiteral("cut/") + qstr(mesh.axis(axis).name));
            if (!item.ink.partial.empty())
                wanted.insert(QStringLiteral("partial"));
            if (item.ink.cut.empty() && item.ink.partial.empty())
                wanted.insert(QStringLiteral("whole"));
            if (item.kind == FlowItem::CollectivePill && item.bytes > 0)
                wanted.insert(QStringLiteral("collective"));
        }
        for (const int axis : shown.view->canvas()->scene().residualInk.cut)
            wanted.insert(QStringLiteral("cut/") + qstr(mesh.axis(axis).name));
        QCOMPARE(keysOf(shown.view->legend()), wanted);
    }
}

void TestLegend::flowShowsWhatIsChosen()
{
    const ShownView<FlowView> shown(knownDesign(), { 1200, 400 });
    QVERIFY(shown.ready);
    FlowCanvas* canvas = shown.view->canvas();
    const QImage all = canvas->grab().toImage();
    const int model = shown.document.design().mesh.find("model");
    click(shown.view->legend(), "cut/model");
    QVERIFY(canvas->grab().toImage() != all);
    int inside = 0;
    int outside = 0;
    for (int i = 0; i < static_cast<int>(canvas->scene().items.size()); ++i) {
        const auto& cut = canvas->scene().items[static_cast<std::size_t>(i)].ink.cut;
        const bool of = std::find(cut.begin(), cut.end(), model) != cut.end();
        QCOMPARE(canvas->matches(i), of);
        ++(of ? inside : outside);
    }
    QVERIFY(inside > 0 && outside > 0);
    click(shown.view->legend(), "collective"); // instead of the first
    QCOMPARE(shown.view->legend()->chosen(), QStringLiteral("collective"));
    for (int i = 0; i < static_cast<int>(canvas->scene().items.size()); ++i)
        QCOMPARE(canvas->matches(i),
                 canvas->scene().items[static_cast<std::size_t>(i)].bytes > 0
                     && canvas->scene().items[static_cast<std::size_t>(i)].kind == FlowItem::CollectivePill);
    click(shown.view->legend(), "collective");
    QVERIFY(canvas->grab().toImage() == all);
    click(shown.view->legend(), "cut/data");
    canvas->setFocus();
    QTest::keyClick(canvas, Qt::Key_Escape);
    QVERIFY(shown.view->legend()->chosen().isEmpty());
}

void TestLegend::allWeightsNameTheirPatterns()
{
    const ShownView<TileView> shown(unevenDesign(), { 700, 500 });
    QVERIFY(shown.ready);
    shown.view->showAll(true);
    const Legend* legend = shown.view->legend();
    QVERIFY(legend->isVisible());
    QCOMPARE(keysOf(legend),
             QSet<QString>({ QStringLiteral("cut"), QStringLiteral("uneven"), QStringLiteral("padded"), QStringLiteral("whole") }));
    ModelCanvas* canvas = shown.view->modelCanvas();
    const QImage all = canvas->grab().toImage();
    const auto every = canvas->matches();
    const int five = weightNamed(shown.document, "five");
    const int six = weightNamed(shown.document, "six");
    click(legend, "padded");
    QCOMPARE(canvas->matches(), std::vector<int> { five });
    click(legend, "uneven");
    QCOMPARE(canvas->matches(), std::vector<int> { six });
    click(legend, "cut");
    QCOMPARE(canvas->matches(), (std::vector<int> { five, six }));
    click(legend, "whole");
    QCOMPARE(canvas->matches().size(), every.size() - 2);
    click(legend, "whole");
    QCOMPARE(canvas->matches(), every);
    QVERIFY(canvas->grab().toImage() == all);
    // In the design of one device's shards no tile has an edge.
    shown.view->showHeld();
    QCOMPARE(keysOf(legend), QSet<QString>({ QStringLiteral("cut"), QStringLiteral("whole") }));
}

void TestLegend::tilesNameWhatIsNotAlike()
{
    ShownView<TileView> shown(unevenDesign(), { 700, 500 });
    QVERIFY(shown.ready);
    const Legend* legend = shown.view->legend();
    shown.document.selection()->setWeight(weightNamed(shown.document, "plain"));
    QVERIFY(!legend->isVisible()); // whole: the picture says so
    for (const auto& [name, key] : { std::pair("five", "padded"), std::pair("six", "uneven") }) {
        shown.document.selection()->setWeight(weightNamed(shown.document, name));
        QVERIFY(legend->isVisible());
        QCOMPARE(keysOf(legend), QSet<QString>({ QStringLiteral("cut"), QString::fromLatin1(key) }));
        TileCanvas* canvas = shown.view->canvas();
        const QImage all = canvas->grab().toImage();
        click(legend, key);
        const QImage some = canvas->grab().toImage();
        const auto corner = [&](std::int64_t device) { return (canvas->tileRect(device).topLeft() + QPointF(12, 12)).toPoint(); };
        QVERIFY(some.pixel(corner(0)) != all.pixel(corner(0))); // quiet
        QVERIFY(some.pixel(corner(1)) != all.pixel(corner(1)));
        QCOMPARE(some.pixel(corner(2)), all.pixel(corner(2))); // the short one
        click(legend, key);
        QVERIFY(canvas->grab().toImage() == all);
    }
}

void TestLegend::costShowsWhatIsChosen()
{
    const ShownView<CostView> shown(knownDesign(), { 900, 300 });
    QVERIFY(shown.ready);
    auto* tree = shown.child<QWidget>("costTree");
    const QImage all = tree->grab().toImage();
    QCOMPARE(keysOf(shown.view->legend()), QSet<QString>({ QStringLiteral("computes"), QStringLiteral("waits") }));
    click(shown.view->legend(), "computes");
    const QImage computes = tree->grab().toImage();
    click(shown.view->legend(), "waits");
    const QImage waits = tree->grab().toImage();
    QVERIFY(computes != all && waits != all && waits != computes);
    click(shown.view->legend(), "waits");
    QVERIFY(tree->grab().toImage() == all);
}

namespace {

QStringList textsOf(const Legend* legend)
{
    QStringList out;
    for (const LegendEntry& entry : legend->entries())
        out << entry.text;
    return out;
}

} // namespace

void TestLegend::meshNamesItsShards()
{
    ShownView<MeshView> shown(knownDesign(), { 460, 400 });
    QVERIFY(shown.ready);
    const Legend* legend = shown.view->legend();
    const auto named = [](const QString& what) {
        return QStringList { what + QStringLiteral(" 0"), what + QStringLiteral(" 1"), what + QStringLiteral(" 2"),
                             what + QStringLiteral(" 3") };
    };
    QVERIFY(legend->isVisible());
    QCOMPARE(textsOf(legend), named(QStringLiteral("model"))); // nothing is selected: the places along it
    const int weight = weightNamed(shown.document, "o_proj");
    shown.document.selection()->setWeight(weight);
    QCOMPARE(textsOf(legend), named(QStringLiteral("shard")));
    const ShardMap& shards = weightAt(shown.document, weight).shards;
    for (std::int64_t device = 0; device < 8; ++device) { // of each device's colour the entry says what the device holds
        const QWidget* entry = legend->button(QStringLiteral("color/%1").arg(device % 4));
        QVERIFY2(entry->toolTip().contains(shardText(shards.shardAt(device))), qPrintable(entry->toolTip()));
        const QPoint sample(14, entry->height() / 2);
        QCOMPARE(const_cast<QWidget*>(entry)->grab().toImage().pixelColor(sample), shown.view->canvas()->colorAt(device).fill);
    }
    shown.document.selection()->setWeight(weightNamed(shown.document, "model.norm"));
    QCOMPARE(textsOf(legend), named(QStringLiteral("model")));
    shown.child<QToolButton>("meshColoring")->click(); // these colours have their scale in the picture
    QVERIFY(!legend->isVisible() && legend->entries().empty());
    shown.child<QToolButton>("meshColoring")->click();
    QVERIFY(legend->isVisible());
}

void TestLegend::meshShowsWhatIsChosen()
{
    ShownView<MeshView> shown(knownDesign(), { 460, 400 });
    QVERIFY(shown.ready);
    shown.document.selection()->setWeight(weightNamed(shown.document, "o_proj"));
    shown.document.selection()->setDevice(5);
    MeshCanvas* canvas = shown.view->canvas();
    const QImage all = canvas->grab().toImage();
    click(shown.view->legend(), "color/2");
    const QImage some = canvas->grab().toImage();
    for (std::int64_t device = 0; device < 8; ++device) {
        const QPoint at = (canvas->deviceRect(device).topLeft() + QPointF(14, 14)).toPoint();
        QCOMPARE(some.pixel(at) == all.pixel(at), device % 4 == 2);
        QCOMPARE(canvas->isLoud(device), device % 4 == 2);
    }
    canvas->setFocus();
    QTest::keyClick(canvas, Qt::Key_Escape); // first everything is seen again
    QVERIFY(shown.view->legend()->chosen().isEmpty());
    QCOMPARE(shown.document.selection()->device(), std::int64_t { 5 });
    shown.view->legend()->button(QStringLiteral("color/0"))->setFocus();
    QVERIFY(canvas->grab().toImage() == all);
    QTest::keyClick(canvas, Qt::Key_Escape);
    QCOMPARE(shown.document.selection()->device(), std::int64_t { -1 });
    // Another mesh: what is not there any more is not shown alone.
    click(shown.view->legend(), "color/3");
    QVERIFY(shown.document.edit(knownDesign("data=4,model=2"), QStringLiteral("mesh"), Misfits::Replicate).ok());
    QCOMPARE(shown.view->legend()->entries().size(), std::size_t { 2 });
    QVERIFY(shown.view->legend()->chosen().isEmpty());
    for (std::int64_t device = 0; device < 8; ++device)
        QVERIFY(canvas->isLoud(device));
}

void TestLegend::manyShardsAreOneEntry()
{
    ShownView<MeshView> eight(knownDesign("data=1,fsdp=8", "fsdp"), { 460, 400 });
    QVERIFY(eight.ready);
    eight.document.selection()->setWeight(weightNamed(eight.document, "o_proj"));
    const Legend* legend = eight.view->legend();
    QCOMPARE(textsOf(legend), QStringLiteral("0,1,2,3,4,5,6,7").split(QLatin1Char(',')));
    QWidget* last = legend->button(QStringLiteral("color/7"));
    QCOMPARE(last->accessibleName(), QStringLiteral("shard 7"));
    QVERIFY(last->toolTip().startsWith(QStringLiteral("shard 7\n")));
    const QImage drawn = last->grab().toImage(); // its number too, though it is short
    bool ink = false;
    for (int x = last->width() - 14; x < last->width() - 3; ++x)
        for (int y = 4; y < last->height() - 4; ++y)
            ink = ink || drawn.pixel(x, y) != drawn.pixel(last->width() - 1, 1);
    QVERIFY(ink);
    ShownView<MeshView> many(knownDesign("fsdp=16", "fsdp"), { 460, 400 });
    QVERIFY(many.ready);
    many.document.selection()->setWeight(weightNamed(many.document, "o_proj"));
    QCOMPARE(textsOf(many.view->legend()), QStringList { QStringLiteral("16 shards, dark to light") });
    const QImage all = many.view->canvas()->grab().toImage();
    click(many.view->legend(), "all");
    QVERIFY(many.view->canvas()->grab().toImage() == all); // all are drawn so
}

/// In a low view their ids are worth more than the line.
void TestLegend::devicesComeBeforeTheLegend()
{
    ShownView<MeshView> shown(knownDesign(), { 460, 400 });
    QVERIFY(shown.ready);
    QVERIFY(shown.view->legend()->isVisible());
    shown.document.selection()->setWeight(weightNamed(shown.document, "o_proj"));
    click(shown.view->legend(), "color/1");
    shown.view->resize(460, 225);
    QCoreApplication::processEvents();
    QVERIFY(!shown.view->legend()->isVisible());
    QVERIFY(shown.view->canvas()->isLoud(0)); // nothing is quieted by what is not there
    shown.view->resize(460, 400);
    QCoreApplication::processEvents();
    QVERIFY(shown.view->legend()->isVisible());
    // In a narrow one numbers are whole where names would be cut, and the names are told still.
    shown.view->resize(270, 400);
    QCoreApplication::processEvents();
    QCOMPARE(textsOf(shown.view->legend()), QStringLiteral("0,1,2,3").split(QLatin1Char(',')));
    QCOMPARE(shown.view->legend()->button(QStringLiteral("color/1"))->accessibleName(), QStringLiteral("shard 1"));
    shown.view->resize(460, 400);
    QCoreApplication::processEvents();
    QCOMPARE(textsOf(shown.view->legend()).last(), QStringLiteral("shard 3"));
    // Of four rows of devices, at every height: none loses its id for the line.
    Design rows = knownDesign("data=2,fsdp=2,tensor=2", "fsdp");
    QVERIFY(shown.document.edit(rows, QStringLiteral("mesh"), Misfits::Replicate).ok());
    int with = 0;
    for (int height = 225; height <= 500; height += 5) {
        shown.view->resize(300, height);
        QCoreApplication::processEvents();
        const bool legend = shown.view->legend()->isVisible();
        with += legend;
        const int line = legend ? shown.view->legend()->height() : 0;
        QCOMPARE(shown.view->canvas()->fittedIn(shown.view->canvas()->size()).detail,
                 shown.view->canvas()->fittedIn(shown.view->canvas()->size() + QSize(0, line)).detail);
    }
    QVERIFY(with > 5);
    // Of devices that are pixels: they do not shrink to a strip.
    rows = knownDesign("data=16,fsdp=32,tensor=32", "fsdp");
    QVERIFY(shown.document.edit(rows, QStringLiteral("mesh"), Misfits::Replicate).ok());
    with = 0;
    for (int height = 225; height <= 500; height += 5) {
        shown.view->resize(500, height);
        QCoreApplication::processEvents();
        if (!shown.view->legend()->isVisible())
            continue;
        ++with;
        const QSize canvas = shown.view->canvas()->size();
        const int line = shown.view->legend()->height();
        QVERIFY(shown.view->canvas()->fittedIn(canvas).height >= 2 * line
                || shown.view->canvas()->fittedIn(canvas).height
                    >= 0.9 * shown.view->canvas()->fittedIn(canvas + QSize(0, line)).height);
    }
    QVERIFY(with > 5);
}

/// A legend that may have some lines takes as many as its names need, and cuts them short only past the last one.
void TestLegend::linesKeepNamesWhole()
{
    QWidget window;
    auto* column = new QVBoxLayout(&window);
    column->setContentsMargins(0, 0, 0, 0);
    auto* legend = new Legend(&window);
    legend->setMostLines(3);
    std::vector<LegendEntry> entries;
    for (const char* name : { "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv" })
        entries.push_back(
            { QString::fromLatin1(name), QString::fromLatin1(name), {}, [](QPainter&, const QRectF&, const QWidget*) {} });
    legend->setEntries(entries);
    column->addWidget(legend);
    column->addStretch();
    const auto lines = [&](int width) {
        window.resize(width, 300);
        column->activate();
        QSet<int> tops;
        QRegion taken;
        for (const LegendEntry& entry : entries) {
            const QRect at = legend->button(entry.key)->geometry();
            tops.insert(at.top());
            if (!legend->rect().contains(at) || taken.intersects(at))
                return -1;
            taken += at;
        }
        return static_cast<int>(tops.size());
    };
    const auto whole = [&] {
        return std::ranges::all_of(entries, [&](const LegendEntry& entry) {
            const QWidget* button = legend->button(entry.key);
            return button->width() == button->sizeHint().width();
        });
    };
    window.show();
    const int natural = legend->sizeHint().width();
    QVERIFY(lines(natural) == 1 && whole());
    QVERIFY(lines(natural - 1) == 2 && whole()); // not a pixel too few
    QVERIFY(lines(natural / 2 - 30) == 3 && whole());
    QVERIFY(lines(natural / 3 - 10) == 3 && !whole());
    QVERIFY(lines(120) == 3);
}

/// Rather than `cut over mo…`.
void TestLegend::narrowFlowNamesAxesAlone()
{
    ShownView<FlowView> shown(knownDesign(), { 1200, 400 });
    QVERIFY(shown.ready);
    const QString whole = QStringLiteral("cut over model");
    QVERIFY(textsOf(shown.view->legend()).contains(whole));
    shown.view->resize(460, 400);
    QCoreApplication::processEvents();
    QVERIFY(textsOf(shown.view->legend()).contains(QStringLiteral("model")));
    QCOMPARE(shown.view->legend()->button(QStringLiteral("cut/model"))->accessibleName(), whole);
    shown.view->resize(1200, 400);
    QCoreApplication::processEvents();
    QVERIFY(textsOf(shown.view->legend()).contains(whole));
}

void TestLegend::keysAndNames()
{
    const ShownView<FlowView> shown(knownDesign(), { 1200, 400 });
    QVERIFY(shown.ready);
    const Legend* legend = shown.view->legend();
    QSignalSpy chosen(legend, &Legend::chosenChanged);
    const auto& entries = legend->entries();
    QVERIFY(entries.size() > 2);
    for (const LegendEntry& entry : entries) {
        QWidget* button = legend->button(entry.key);
        QCOMPARE(button->accessibleName(), entry.text);
        QVERIFY(button->focusPolicy() & Qt::TabFocus);
        QVERIFY(button->toolTip().startsWith(entry.text));
        QAccessibleInterface* told = QAccessible::queryAccessibleInterface(button);
        QVERIFY(told != nullptr && told->state().checkable);
    }
    QWidget* first = legend->button(entries[0].key);
    QWidget* second = legend->button(entries[1].key);
    first->setFocus();
    QTest::keyClick(first, Qt::Key_Right);
    QVERIFY(second->hasFocus());
    QTest::keyClick(second, Qt::Key_Space);
    QCOMPARE(legend->chosen(), entries[1].key);
    QVERIFY(QAccessible::queryAccessibleInterface(second)->state().checked);
    QTest::keyClick(second, Qt::Key_Return);
    QVERIFY(legend->chosen().isEmpty());
    QTest::keyClick(second, Qt::Key_Space);
    QTest::keyClick(second, Qt::Key_Escape);
    QVERIFY(legend->chosen().isEmpty());
    QCOMPARE(chosen.size(), 4);
}

/// What the division of the room leaves over belongs to one of them, not to each.
void TestLegend::manyEntriesStayInside()
{
    Legend legend;
    std::vector<LegendEntry> entries;
    for (int i = 0; i < 13; ++i)
        entries.push_back({ QString::number(i),
                            QStringLiteral("all-gather over axis %1").arg(i),
                            {},
                            [](QPainter&, const QRectF&, const QWidget*) {} });
    legend.setEntries(entries);
    legend.show();
    for (int width = 13 * 60; width > 13 * 40; --width) {
        legend.resize(width, legend.sizeHint().height());
        const QWidget* last = legend.button(QStringLiteral("12"));
        QVERIFY2(last->geometry().right() < width, qPrintable(QString::number(width)));
        QVERIFY(width < 13 * 56 || last->geometry().right() >= width - 13); // while they have names
    }
}

void TestLegend::noEntryGoesInLittleRoom()
{
    const ShownView<FlowView> shown(knownDesign(), { 1200, 400 });
    QVERIFY(shown.ready);
    const Legend* legend = shown.view->legend();
    for (const int width : { 1200, 500, 320, 260 }) {
        shown.view->resize(width, 400);
        QCoreApplication::processEvents();
        int right = 0;
        for (const LegendEntry& entry : legend->entries()) {
            const QRect place = legend->button(entry.key)->geometry();
            QVERIFY2(place.width() >= 20 && place.left() >= right, qPrintable(entry.key));
            right = place.right();
        }
        QVERIFY2(right < legend->width() && legend->geometry().right() < shown.view->width(), qPrintable(QString::number(width)));
    }
}

void TestLegend::choiceOutlivesAnEdit()
{
    ShownView<FlowView> shown(knownDesign(), { 1200, 400 });
    QVERIFY(shown.ready);
    click(shown.view->legend(), "cut/model");
    Design other = shown.document.design();
    other.workload.batch = 4;
    QVERIFY(shown.document.edit(other, QStringLiteral("batch")).ok());
    QCOMPARE(shown.view->legend()->chosen(), QStringLiteral("cut/model"));
    Design alone = knownDesign("data=8", "replicate");
    QVERIFY(shown.document.edit(alone, QStringLiteral("no model"), Misfits::Replicate).ok());
    QVERIFY(shown.view->legend()->chosen().isEmpty()); // there is nothing drawn so any more
    for (int i = 0; i < static_cast<int>(shown.view->canvas()->scene().items.size()); ++i)
        QVERIFY(shown.view->canvas()->matches(i));
}

SHARDBOARD_TEST(TestLegend)
#include "tst_legend.moc"
