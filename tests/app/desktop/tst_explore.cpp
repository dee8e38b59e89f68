// SPDX-License-Identifier: Apache-2.0
// Explore with real clicks: a search off the GUI thread whose points can be compared and taken, a Stop that keeps the best, steps
// of a difference that are accepted as one edit, a sweep with the numbers of the library, and prices.
#include "model/design/optimize/sweep.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"
#include "widgets/compare/compareview.h"
#include "widgets/explore/designsview.h"
#include "widgets/explore/exploresearch.h"
#include "widgets/explore/pricesview.h"
#include "widgets/explore/searchform.h"
#include "widgets/explore/searchview.h"
#include "widgets/explore/sweepview.h"
#include "widgets/plots/boundchart.h"
#include "widgets/plots/scatterchart.h"
#include "widgets/plots/sweepchart.h"

#include <QCheckBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTimer>
#include <QTreeWidget>

#include <algorithm>
#include <cmath>

using namespace shardboard;

class TestExplore : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { m_it.close(); }

    void searchIsSeenAndKept();
    void windowLivesWhileItSearches();
    void stopKeepsTheBest();
    void limitIsDragged();
    void whatCannotBeSearchedIsSaid();
    void nothingFits();
    void someDifferencesAreOneStep();
    void sweepHasTheNumbersOfTheLibrary();
    void pricesBecomeVariants();

private:
    void start(const char* sample = "llama3-8b")
    {
        m_it.open({ 1600, 1000 });
        m_it.window->workbench()->reset();
        if (sample != nullptr)
            m_it.window->fileActions()->openSample(QLatin1String(sample));
        m_it.window->workbench()->setMode(WorkMode::Explore);
        settle();
        QVERIFY(m_it.document()->hasDesign());
    }
    ExploreSearch* search() const { return m_it.window->findChild<ExploreSearch*>(); }
    ScatterChart* scatter() const { return m_it.child<ScatterChart>("designsChart"); }
    CompareView* compare() const { return m_it.window->findChild<CompareView*>(); }
    QWidget* ground() const { return scatter()->findChild<QWidget*>(); }
    void setMemory(const QString& gib)
    {
        auto* field = m_it.child<QLineEdit>("search.memory");
        field->setFocus();
        field->selectAll();
        QTest::keyClick(field, Qt::Key_Delete);
        QTest::keyClicks(field, gib);
    }
    void run()
    {
        m_it.action("mode.act")->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(!search()->isBusy(), 60000);
        settle();
    }
    /// One that a click at its place means; -1 without one.
    int clickable(bool front) const
    {
        const auto& points = scatter()->content().points;
        for (int point = 0; point < static_cast<int>(points.size()); ++point)
            if (const QPointF at = scatter()->placeOf(point); points[static_cast<std::size_t>(point)].front == front
                && scatter()->rect().contains(at.toPoint()) && scatter()->pointAt(at.toPoint()) == point)
                return point;
        return -1;
    }

    AppWindow m_it;
};

void TestExplore::searchIsSeenAndKept()
{
    start();
    QVERIFY(m_it.child<QLabel>("designsEmpty")->isVisible());
    QVERIFY2(m_it.child<QLabel>("designsEmpty")->text().contains(QStringLiteral("Fastest step below")),
             qPrintable(m_it.child<QLabel>("designsEmpty")->text()));
    m_it.child<QCheckBox>("search.mesh")->click();
    run();
    QVERIFY(search()->result() && search()->result()->best);
    QCOMPARE(search()->tried().size(), search()->result()->planned);
    QVERIFY(search()->tried().size() > 20 && search()->best() >= 0);
    const SearchResult& result = *search()->result();
    // The best is B beside what there is, and all of the window's numbers are those of its plan.
    QVERIFY(compare()->chosen() == -1 && compare()->shown() > 0);
    QCOMPARE(compare()->side(compare()->shown()).evaluation.plan.seconds(), result.front[*result.best].seconds);
    const BoundContent& bound = m_it.child<BoundChart>("searchChart")->content();
    QVERIFY(!bound.moments.empty() && !bound.running);
    QVERIFY(m_it.child<QLabel>("searchCertificate")->text().contains(QStringLiteral("Objective")));
    QVERIFY(std::any_of(scatter()->content().kinds.begin(), scatter()->content().kinds.end(),
                        [](const ScatterKind& kind) { return kind.mark > 0; }));
    QCOMPARE(scatter()->content().flags.size(), std::size_t { 2 });
    // Its points: a click compares, a double click takes, as one step.
    const int point = clickable(true);
    QVERIFY(point >= 0);
    const TriedDesign tried = search()->tried()[static_cast<std::size_t>(point)]; // all kinds are shown: the same order
    QTest::mouseClick(ground(), Qt::LeftButton, Qt::ControlModifier, scatter()->placeOf(point).toPoint());
    QTRY_COMPARE(compare()->side(compare()->chosen()).evaluation.plan.seconds(), tried.seconds);
    QCOMPARE(m_it.document()->undoStack()->count(), 0);
    QTest::mouseMove(ground(), scatter()->placeOf(point).toPoint());
    settle();
    QVERIFY(compare()->hovered() >= 0);
    QCOMPARE(compare()->side(compare()->hovered()).evaluation.plan.seconds(), tried.seconds);
    const Design before = m_it.document()->design();
    QTest::mouseDClick(ground(), Qt::LeftButton, {}, scatter()->placeOf(point).toPoint());
    QTRY_COMPARE(m_it.document()->undoStack()->count(), 1);
    QCOMPARE(m_it.document()->evaluation()->plan.seconds(), tried.seconds);
    QCOMPARE(m_it.document()->design().mesh.text(), tried.mesh.text());
    m_it.document()->undoStack()->undo();
    QVERIFY(m_it.document()->design() == before);
    // By keys: along the front.
    scatter()->setFocus();
    QTest::keyClick(scatter(), Qt::Key_Right);
    QVERIFY(scatter()->current() >= 0 && scatter()->content().points[static_cast<std::size_t>(scatter()->current())].front);
}

/// The loop of events turns all the time.
void TestExplore::windowLivesWhileItSearches()
{
    start("llama3.1-405b-train");
    for (const char* box : { "search.mesh", "search.recompute", "search.microBatches" })
        m_it.child<QCheckBox>(box)->click();
    m_it.action("mode.act")->trigger();
    QElapsedTimer between;
    between.start();
    qint64 longest = 0;
    QTimer beat;
    connect(&beat, &QTimer::timeout, this, [&] { longest = std::max(longest, between.restart()); });
    beat.start(10);
    QTRY_VERIFY_WITH_TIMEOUT(search()->tried().size() > 50, 30000);
    QVERIFY(search()->isBusy());
    QVERIFY(m_it.child<BoundChart>("searchChart")->content().running);
    QVERIFY(m_it.child<QWidget>("searchNow")->isVisible());
    QElapsedTimer stopping;
    stopping.start();
    m_it.action("mode.stop")->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(!search()->isBusy(), 20000);
    beat.stop();
    qInfo() << "longest time between two events" << longest << "ms, stopped after" << stopping.elapsed() << "ms";
    QVERIFY(search()->result() && !search()->result()->complete);
}

void TestExplore::stopKeepsTheBest()
{
    start();
    for (const char* box : { "search.mesh", "search.order" })
        m_it.child<QCheckBox>(box)->click();
    m_it.action("mode.act")->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(search()->best() >= 0, 30000);
    m_it.action("mode.stop")->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(!search()->isBusy(), 20000);
    QVERIFY(search()->result() && search()->result()->best);
    QVERIFY(compare()->otherCount() >= 2);
    const double best = search()->result()->front[*search()->result()->best].seconds;
    QVERIFY(best <= search()->tried()[static_cast<std::size_t>(search()->best())].seconds);
}

void TestExplore::limitIsDragged()
{
    start("llama3.1-405b-train");
    run();
    QVERIFY(scatter()->limitPlace() > 0);
    const double before = scatter()->content().limit;
    const QPoint at(scatter()->width() / 2, static_cast<int>(std::lround(scatter()->limitPlace())));
    int x = at.x();
    while (x < scatter()->width() - 20 && scatter()->pointAt({ static_cast<double>(x), static_cast<double>(at.y()) }) >= 0)
        ++x;
    QTest::mousePress(ground(), Qt::LeftButton, {}, { x, at.y() });
    QTest::mouseMove(ground(), { x, at.y() + 12 });
    QTest::mouseRelease(ground(), Qt::LeftButton, {}, { x, at.y() + 12 });
    const auto request = m_it.window->findChild<SearchForm*>()->request();
    QVERIFY(request.memoryBytes && *request.memoryBytes < before * 1024 * 1024 * 1024 * 0.999);
}

void TestExplore::whatCannotBeSearchedIsSaid()
{
    start();
    auto* form = m_it.window->findChild<SearchForm*>();
    QVERIFY(form->whyNot().isEmpty());
    for (const char* bad : { "many", "-3", "0", "1e30" }) {
        setMemory(QString::fromLatin1(bad));
        QVERIFY2(!form->whyNot().isEmpty() && !m_it.action("mode.act")->isEnabled(), bad);
    }
    setMemory({});
    QVERIFY(form->whyNot().isEmpty() && !form->request().memoryBytes);
    m_it.child<QCheckBox>("search.layouts")->click();
    QVERIFY(!form->whyNot().isEmpty());
    // A prefill has no micro-batches, and nothing to compute again.
    QVERIFY(!m_it.child<QCheckBox>("search.recompute")->isEnabled());
    QVERIFY(!m_it.child<QWidget>("search.devices")->isEnabled());
}

void TestExplore::nothingFits()
{
    start();
    setMemory(QStringLiteral("0.5"));
    run();
    QVERIFY(search()->result() && !search()->result()->best);
    const QString said = m_it.child<QLabel>("searchCertificate")->text();
    QVERIFY2(said.contains(QStringLiteral("Nothing fits")) && said.contains(QStringLiteral("too much")), qPrintable(said));
    QVERIFY(std::all_of(scatter()->content().points.begin(), scatter()->content().points.end(),
                        [](const ScatterPoint& point) { return point.faded; }));
}

/// A single weight of a preset that was kept; then all of it.
void TestExplore::someDifferencesAreOneStep()
{
    start();
    Design other = m_it.document()->design();
    QVERIFY(applyPreset(other, "replicate").ok());
    compare()->addVariant(QStringLiteral("whole"), other, sure(evaluate(other, Misfits::Replicate)));
    compare()->chooseOther(-1);
    compare()->chooseShown(compare()->otherCount() - 1);
    settle();
    auto* list = m_it.child<QTreeWidget>("compareChanges");
    auto* accept = m_it.child<QPushButton>("compareAccept");
    QTRY_COMPARE(compare()->worth().size(), compare()->steps().size());
    QVERIFY(list->topLevelItemCount() > 3 && accept->isEnabled());
    int taken = -1;
    for (int row = 0; row < list->topLevelItemCount(); ++row) {
        const bool wanted = compare()->steps()[static_cast<std::size_t>(row)].name == "self_attn.o_proj";
        taken = wanted ? row : taken;
        list->topLevelItem(row)->setCheckState(0, wanted ? Qt::Checked : Qt::Unchecked);
    }
    QVERIFY(taken >= 0);
    QTRY_COMPARE(compare()->worth().size(), compare()->steps().size());
    const StepWorth worth = compare()->worth()[static_cast<std::size_t>(taken)];
    const double before = m_it.document()->evaluation()->plan.seconds();
    const auto now = m_it.document()->evaluation();
    QCOMPARE(accept->text(), QStringLiteral("Accept 1 Change"));
    QTest::mouseClick(accept, Qt::LeftButton);
    QCOMPARE(m_it.document()->undoStack()->count(), 1);
    QVERIFY(std::abs(m_it.document()->evaluation()->plan.seconds() - before - worth.seconds) <= 1e-9 * before);
    for (std::size_t i = 0; i < now->weights.size(); ++i) {
        const WeightLayout& is = m_it.document()->evaluation()->weights[i];
        const bool chosen = is.spec.name.find("o_proj") != std::string::npos;
        QVERIFY2(chosen ? is.layout.isReplicated() : is.layout == now->weights[i].layout, is.spec.name.c_str());
    }
    m_it.document()->undoStack()->undo();
    settle();
    QTest::mouseClick(accept, Qt::LeftButton); // all of them
    QVERIFY(m_it.document()->design() == other);
}

void TestExplore::sweepHasTheNumbersOfTheLibrary()
{
    start();
    m_it.raise("sweep");
    auto* view = m_it.window->findChild<SweepView*>();
    auto* values = m_it.child<QLineEdit>("sweepValues");
    values->setText(QStringLiteral("1..8"));
    QTest::mouseClick(m_it.child<QPushButton>("sweepStart"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!view->isBusy() && !view->points().empty(), 20000);
    SweepRequest request;
    request.batches = { 1, 2, 4, 8 };
    const auto wanted = sure(sweep(m_it.document()->design(), request));
    const auto& shown = m_it.child<SweepChart>("sweepRate")->content().points;
    QCOMPARE(shown.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        QCOMPARE(view->points()[i].seconds, wanted[i].seconds);
        if (wanted[i].refused.empty())
            QCOMPARE(shown[i].y, wanted[i].tokensPerSecondPerDevice);
        else
            QVERIFY(std::isnan(shown[i].y));
    }
    for (const char* bad : { "", "0", "8..2", "x", "1,,2", "99999999999999" }) {
        values->setText(QString::fromLatin1(bad));
        view->sweep();
        QVERIFY2(m_it.child<QLabel>("sweepEmpty")->isVisible() && !view->isBusy(), bad);
        QVERIFY(!m_it.child<QLabel>("sweepEmpty")->text().contains(QStringLiteral("--")));
    }
}

void TestExplore::pricesBecomeVariants()
{
    start();
    m_it.raise("prices");
    auto* view = m_it.window->findChild<PricesView*>();
    QTest::mouseClick(m_it.child<QPushButton>("pricesStart"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!view->isBusy() && view->answer(), 60000);
    auto* list = m_it.child<QTreeWidget>("pricesList");
    QCOMPARE(list->topLevelItemCount(), static_cast<int>(view->answer()->cases.size()) + 1);
    const auto& cases = view->answer()->cases;
    const auto priced = std::find_if(cases.begin(), cases.end(), [](const WhatIf& one) { return one.feasible; });
    QVERIFY(priced != cases.end());
    const int others = compare()->otherCount();
    list->setCurrentItem(list->topLevelItem(static_cast<int>(priced - cases.begin()) + 1));
    list->setFocus();
    QTest::keyClick(list, Qt::Key_Return);
    QTRY_COMPARE(compare()->otherCount(), others + 1);
    QCOMPARE(compare()->side(compare()->shown()).evaluation.plan.seconds(), priced->objective);
}

SHARDBOARD_TEST(TestExplore)
#include "tst_explore.moc"
