// SPDX-License-Identifier: Apache-2.0
// Why there is a collective and what else there was, with real clicks: causes, ranked rows, pins set and removed as steps of
// the history; and that long names fit, in the view and in the inspector.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "model/design/explain/explain.h"
#include "widgets/controls/card.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/explain/explainview.h"
#include "widgets/explain/inspector.h"
#include "widgets/explain/rowsmodel.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QUndoStack>

#include <algorithm>
#include <memory>
#include <set>

using namespace shardboard;

namespace {

CollectiveId collectiveOf(const Document& document, CollectiveKind kind, const std::string& tensor)
{
    const auto evaluation = document.evaluation();
    const auto& all = evaluation->plan.collectives;
    for (CollectiveId i { 0 }; i < all.size(); ++i)
        if (all[i].kind == kind && evaluation->graph.tensor(all[i].tensor).name == tensor)
            return i;
    return {};
}

struct ShownExplanation : ShownView<ExplainView> {
    explicit ShownExplanation(const Design& design)
        : ShownView(design, { 950, 260 })
    {
    }
    QTableView* table() const { return view->findChild<QTableView*>(QStringLiteral("explainRows")); }
    QString label(const char* name) const { return unbroken(child<QLabel>(name)->text()); }
    QList<Card*> causes() const
    {
        QList<Card*> out;
        for (int i = 1; auto* card = view->findChild<Card*>(QStringLiteral("cause.%1").arg(i)); ++i)
            out << card;
        return out;
    }
    /// Of a row that takes this text, the table's row, or -1.
    int rowOf(const std::string& axis, const std::string& text) const
    {
        for (int row = 0; row < view->rows().rowCount(); ++row)
            if (view->rows().rowAt(row)->row == text
                && document.evaluation()->plan.mesh.axis(view->rows().axisAt(row)->axis).name == axis)
                return row;
        return -1;
    }
    void selectOperation(const char* name) const
    {
        const auto targets = explainTargets(*document.evaluation(), name);
        document.selection()->setOperation(targets.value().front().segment, targets.value().front().op);
        view->buildNow();
    }
};

} // namespace

class TestExplainView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, Theme::light()); }
    void nothingSelectedSaysWhatToDo();
    void collectiveShowsItsCausesAndRankedRows();
    void pinThisIsOneStepAndUnpinTakesItBack();
    void pinOfTheInspectorIsTheSame();
    void effectsComeAfterwardsAndOfTheLatestOnly();
    void inspectorTellsEffectsAfterwards();
    void alternativesAreLaidOutAsTheyCome();
    void pinThatDecidedIsNamed();
    void gradientsHaveCausesAndNoRows();
    void causesLeadToWhatTheySpeakOf();
    void operationIsChosenInTheBox();
    void profilesOfMaxTellTheirBytes();
    void everyColumnIsInSight();
    void causesStandAboveRowsInAColumn();
    void longNamesFitTheInspector();
    void wrappedTextIsCopiedAsItIs();
    void rowsInWords();
};

void TestExplainView::nothingSelectedSaysWhatToDo()
{
    ShownExplanation shown(knownDesign());
    QVERIFY(shown.ready);
    shown.view->buildNow();
    QVERIFY(shown.label("explainNote").contains(QStringLiteral("Select a collective")));
    QVERIFY(!shown.table()->isVisible());
}

void TestExplainView::collectiveShowsItsCausesAndRankedRows()
{
    ShownExplanation shown(knownDesign());
    QVERIFY(shown.ready);
    const CollectiveId collective = collectiveOf(shown.document, CollectiveKind::AllReduce, "attention out");
    QVERIFY(collective.valid());
    shown.document.selection()->setCollective(collective);
    QTRY_VERIFY(shown.table()->isVisible());
    QCOMPARE(shown.view->findChild<ElidedLabel*>(QStringLiteral("explainTitle"))->text(),
             QStringLiteral("all-reduce of attention out, before block/self_attn.residual"));
    // From the root on: the weight that is cut, the product that is partial, the operation that needs it whole.
    const auto causes = shown.causes();
    QCOMPARE(causes.size(), 3);
    QVERIFY(causes[0]->title().contains(QStringLiteral("o_proj.weight is cut on dim 1")));
    QVERIFY(causes[1]->title().contains(QStringLiteral("partial over model")));
    QVERIFY(causes[2]->title().contains(QStringLiteral("self_attn.residual needs whole values")));
    // Its own mesh axis comes first; per mesh axis one row is picked, and what is possible stands by its price.
    const RowsModel& rows = shown.view->rows();
    const Mesh& mesh = shown.document.design().mesh;
    QCOMPARE(rows.axisAt(0)->axis, mesh.find("model"));
    std::set<int> axes;
    for (int row = 0; row < rows.rowCount(); ++row)
        axes.insert(rows.axisAt(row)->axis);
    QCOMPARE(axes.size(), std::size_t { 2 });
    for (const int axis : axes) {
        int picked = 0;
        double last = 0;
        for (int row = 0; row < rows.rowCount(); ++row) {
            if (rows.axisAt(row)->axis != axis)
                continue;
            const RankedRow& ranked = *rows.rowAt(row);
            picked += ranked.verdict == RankedRow::Verdict::Picked;
            if (ranked.verdict == RankedRow::Verdict::Impossible)
                continue;
            QVERIFY2(ranked.rank >= last, ranked.row.c_str());
            last = ranked.rank;
        }
        QCOMPARE(picked, 1);
    }
    // The current row is the picked one of the first mesh axis, and all that it says is told below.
    QCOMPARE(rows.rowAt(shown.table()->currentIndex().row())->row, std::string("R R -> R"));
    QVERIFY(shown.label("explainDetail").contains(QStringLiteral("all-reduce → whole")));
    shown.table()->setCurrentIndex(rows.index(shown.rowOf("model", "S1 S1 -> S1"), 0));
    QVERIFY(shown.label("explainDetail").contains(QStringLiteral("refused: a partial value may not be reduced to shards")));
}

void TestExplainView::pinThisIsOneStepAndUnpinTakesItBack()
{
    ShownExplanation shown(knownDesign());
    QVERIFY(shown.ready);
    const Design before = shown.document.design();
    shown.document.selection()->setCollective(collectiveOf(shown.document, CollectiveKind::AllReduce, "attention out"));
    QTRY_VERIFY(shown.button("pin.model.S1 S1 -> S1"));
    const QString text = shown.button("pin.model.S1 S1 -> S1")->accessibleName();
    QTest::mouseClick(shown.button("pin.model.S1 S1 -> S1"), Qt::LeftButton);
    QTRY_COMPARE(shown.document.undoStack()->count(), 1);
    QCOMPARE(shown.document.undoStack()->undoText(), text);
    QCOMPARE(shown.document.design().pins.size(), std::size_t { 1 });
    const Pin pin = shown.document.design().pins.front();
    QCOMPARE(pin.match, std::string("self_attn.residual"));
    QCOMPARE(pin.axis, std::string("model"));
    QCOMPARE(pin.row, std::string("S1 S1 -> S1"));
    // The all-reduce has become a reduce-scatter to the sequence.
    QVERIFY(!collectiveOf(shown.document, CollectiveKind::AllReduce, "attention out").valid());
    QVERIFY(collectiveOf(shown.document, CollectiveKind::ReduceScatter, "attention out").valid());
    const Design pinned = shown.document.design();

    shown.document.undoStack()->undo();
    QVERIFY(shown.document.design() == before);
    QVERIFY(collectiveOf(shown.document, CollectiveKind::AllReduce, "attention out").valid());
    shown.document.undoStack()->redo();
    QVERIFY(shown.document.design() == pinned);
    QVERIFY(collectiveOf(shown.document, CollectiveKind::ReduceScatter, "attention out").valid());

    shown.selectOperation("block/self_attn.residual");
    QVERIFY(shown.button("unpin.model"));
    shown.table()->setCurrentIndex(shown.view->rows().index(shown.rowOf("model", "S1 S1 -> S1"), 0));
    QVERIFY(shown.label("explainDetail").contains(QStringLiteral("pinned")));
    QTest::mouseClick(shown.button("unpin.model"), Qt::LeftButton);
    QTRY_VERIFY(shown.document.design() == before);
    QCOMPARE(shown.document.undoStack()->count(), 2);
    QVERIFY(collectiveOf(shown.document, CollectiveKind::AllReduce, "attention out").valid());
    QTRY_VERIFY(!shown.button("unpin.model")); // the view follows
}

void TestExplainView::pinOfTheInspectorIsTheSame()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    InspectorPanel panel(&document);
    panel.resize(340, 900);
    panel.show();
    document.selection()->setCollective(collectiveOf(document, CollectiveKind::AllReduce, "attention out"));
    panel.buildNow();
    const auto cards = panel.findChildren<Card*>();
    const auto card = std::find_if(cards.begin(), cards.end(),
                                   [](const Card* it) { return it->title() == QStringLiteral("reduce-scatter → sequence"); });
    QVERIFY(card != cards.end());
    auto* button = (*card)->findChild<QPushButton*>(QStringLiteral("inspectorPin"));
    QVERIFY(button);
    button->click();
    QTRY_COMPARE(document.design().pins.size(), std::size_t { 1 });
    QCOMPARE(document.design().pins.front().row, std::string("S1 S1 -> S1"));
    QVERIFY(collectiveOf(document, CollectiveKind::ReduceScatter, "attention out").valid());
    document.undoStack()->undo();
    QVERIFY(document.design() == knownDesign());
}

/// Rows are there at once; what they would do is evaluated elsewhere, and what is not selected any more never arrives.
void TestExplainView::effectsComeAfterwardsAndOfTheLatestOnly()
{
    ShownExplanation shown(knownDesign());
    QVERIFY(shown.ready);
    const CollectiveId first = collectiveOf(shown.document, CollectiveKind::AllReduce, "attention out");
    const CollectiveId second = collectiveOf(shown.document, CollectiveKind::AllReduce, "mlp out");
    QVERIFY(first.valid() && second.valid());
    const auto effects = [&](const AxisExplanation& axis, const std::string& row) -> std::optional<EditEffect> {
        for (const RankedRow& it : axis.rows)
            if (it.row == row)
                return it.effect;
        return std::nullopt;
    };
    const auto evaluation = shown.document.evaluation();
    for (const CollectiveId collective : { second, first, second }) {
        shown.document.selection()->setCollective(collective == first ? second : first); // at once followed by the other
        QCoreApplication::processEvents();
        shown.document.selection()->setCollective(collective);
        QTRY_COMPARE(shown.view->rows().explanation().target.collective, collective);
        const Explanation expected =
            explain(shown.document.design(), *evaluation, collectiveTarget(*evaluation, collective), { 24, nullptr });
        const auto matches = [&] {
            int told = 0;
            const RowsModel& rows = shown.view->rows();
            for (int row = 0; row < rows.rowCount(); ++row)
                for (const AxisExplanation& axis : expected.axes) {
                    if (axis.axis != rows.axisAt(row)->axis)
                        continue;
                    const auto wanted = effects(axis, rows.rowAt(row)->row);
                    const auto& shownEffect = rows.rowAt(row)->effect;
                    if (wanted.has_value() != shownEffect.has_value() || (wanted && wanted->seconds != shownEffect->seconds))
                        return 0;
                    told += wanted ? 1 : 0;
                }
            return told;
        };
        QTRY_VERIFY(matches() > 0);
        QTest::qWait(20);
        QVERIFY(matches() > 0);
    }
}

void TestExplainView::inspectorTellsEffectsAfterwards()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    InspectorPanel panel(&document);
    panel.resize(340, 900);
    panel.show();
    document.selection()->setCollective(collectiveOf(document, CollectiveKind::AllReduce, "attention out"));
    const auto details = [&panel] {
        QStringList out;
        for (const Card* card : panel.findChildren<Card*>())
            if (card->accessibleDescription().contains(QStringLiteral("pinned: ")))
                out << card->accessibleDescription();
        return out;
    };
    QTRY_VERIFY(!details().filter(QStringLiteral("step")).isEmpty());
    QVERIFY(details().filter(QStringLiteral("…")).isEmpty());
    const QStringList later = details();
    panel.buildNow();
    QCOMPARE(details(), later);
}

/// What is painted next is whole: a picture may be taken at any time.
void TestExplainView::alternativesAreLaidOutAsTheyCome()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    InspectorPanel panel(&document);
    panel.resize(300, 900);
    panel.show();
    int told = 0;
    QStringList clipped;
    const auto* job = panel.findChild<LatestJob*>(QStringLiteral("alternativesJob"));
    QVERIFY(job != nullptr);
    connect(job, &LatestJob::answered, this, [&] {
        for (const Card* card : panel.findChildren<Card*>()) {
            const auto labels = card->findChildren<QLabel*>();
            for (const QLabel* label : labels)
                if (label->isVisible() && !label->text().isEmpty() && label->height() < label->heightForWidth(label->width()))
                    clipped << label->text();
            for (const QLabel* label : labels)
                if (label->isVisible() && label->text() == card->value() && ++told > 0
                    && label->width() < label->sizeHint().width())
                    clipped << label->text();
        }
    });
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    QTRY_VERIFY(told >= 4);
    QCOMPARE(clipped, QStringList());
}

void TestExplainView::pinThatDecidedIsNamed()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign("llama3-8b", "fsdp=8", "fsdp")).ok());
    const auto evaluation = document.evaluation();
    int gathers = 0;
    for (const Collective& it : evaluation->plan.collectives) {
        if (it.kind != CollectiveKind::AllGather || evaluation->graph.tensor(it.tensor).role != TensorRole::Weight)
            continue;
        ++gathers;
        QVERIFY2(it.reason.find("cheapest") == std::string::npos, it.reason.c_str());
        QVERIFY2(it.reason.find("needs it whole: preset fsdp keeps") != std::string::npos, it.reason.c_str());
    }
    QVERIFY(gathers > 10);
    InspectorPanel panel(&document);
    panel.show();
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    panel.buildNow();
    QStringList titles;
    for (const Card* card : panel.findChildren<Card*>())
        titles << card->title();
    QVERIFY(titles.contains(QStringLiteral("all-gather over fsdp · forward")));
    QVERIFY(titles.contains(QStringLiteral("all-gather over fsdp · backward")));
}

void TestExplainView::gradientsHaveCausesAndNoRows()
{
    ShownExplanation shown(trainingDesign("llama3-8b", "fsdp=8", "fsdp"));
    QVERIFY(shown.ready);
    const auto evaluation = shown.document.evaluation();
    const auto& all = evaluation->plan.collectives;
    const auto scatter =
        std::find_if(all.begin(), all.end(), [](const Collective& it) { return it.kind == CollectiveKind::ReduceScatter; });
    QVERIFY(scatter != all.end());
    shown.document.selection()->setCollective(CollectiveId(scatter - all.begin()));
    QTRY_VERIFY(!shown.causes().isEmpty());
    QVERIFY(!shown.table()->isVisible());
    QVERIFY(shown.label("explainNote").contains(QStringLiteral("nothing is picked here")));
    // A cause that is a pin leads to it.
    const QSignalSpy named(shown.view.get(), &ExplainView::pinNamed);
    for (Card* card : shown.causes())
        if (card->toolTip() == QStringLiteral("Show this pin"))
            QTest::mouseClick(card, Qt::LeftButton);
    QTRY_COMPARE(named.count(), 1);
    QCOMPARE(named.first().first().toInt(), 0);
}

void TestExplainView::causesLeadToWhatTheySpeakOf()
{
    ShownExplanation shown(knownDesign());
    QVERIFY(shown.ready);
    shown.document.selection()->setCollective(collectiveOf(shown.document, CollectiveKind::AllReduce, "attention out"));
    QTRY_COMPARE(shown.causes().size(), 3);
    QTest::mouseClick(shown.causes()[0], Qt::LeftButton);
    QTRY_COMPARE(shown.document.selection()->weight(), weightNamed(shown.document, "o_proj"));
    QVERIFY(!shown.document.selection()->collective().valid());
    QTRY_VERIFY(shown.label("explainNote").contains(QStringLiteral("written, not picked")));
}

void TestExplainView::operationIsChosenInTheBox()
{
    ShownExplanation shown(knownDesign());
    QVERIFY(shown.ready);
    auto* box = shown.view->findChild<ChoiceBox*>(QStringLiteral("explainOperation"));
    const auto evaluation = shown.document.evaluation();
    std::size_t operations = 0;
    for (const PlannedSegment& segment : evaluation->plan.segments)
        operations += segment.ops.size();
    QCOMPARE(static_cast<std::size_t>(box->count()), operations);
    const int index = box->findText(QStringLiteral("block/self_attn.attention"));
    QVERIFY(index >= 0);
    box->setCurrentIndex(index);
    Q_EMIT box->activated(index);
    const Selection& selection = *shown.document.selection();
    const auto& planned = evaluation->plan.segment(selection.segment()).ops[selection.operation()];
    QCOMPARE(evaluation->graph.op(planned.op).name, std::string("self_attn.attention"));
    QTRY_VERIFY(shown.view->rows().rowCount() > 0);
    QCOMPARE(box->currentIndex(), index);
}

void TestExplainView::profilesOfMaxTellTheirBytes()
{
    Design design = knownDesign();
    design.picker.profile = PickerProfile::G1;
    ShownExplanation shown(design);
    QVERIFY(shown.ready);
    shown.selectOperation("block/self_attn.residual");
    QVERIFY(shown.view->rows().rowCount() > 0);
    const int row = shown.rowOf("model", "R R -> R");
    QVERIFY(row >= 0);
    const QString price = shown.view->rows().index(row, RowsModel::PriceColumn).data().toString();
    QCOMPARE(price, secondsText(shown.view->rows().rowAt(row)->seconds)); // predicted, as everywhere; the bytes in the tooltip
    const QString tip = shown.view->rows().index(row, RowsModel::PriceColumn).data(Qt::ToolTipRole).toString();
    QVERIFY2(tip.contains(QStringLiteral("as MAX counts: ")), qPrintable(tip));
    for (const QPushButton* button : shown.table()->findChildren<QPushButton*>())
        QFAIL(qPrintable(button->objectName())); // nothing that could be pinned
}

void TestExplainView::everyColumnIsInSight()
{
    ShownExplanation shown(trainingDesign("deepseek2-16b", "data=2,fsdp=2,expert=4", "ep"));
    QVERIFY(shown.ready);
    for (const int width : { 950, 710, 1400 }) {
        shown.view->resize(width, 260);
        shown.selectOperation("self_attn.attention");
        QTRY_VERIFY(shown.table()->isVisible());
        QTest::qWait(20);
        const int right =
            shown.table()->columnViewportPosition(RowsModel::ActionColumn) + shown.table()->columnWidth(RowsModel::ActionColumn);
        QVERIFY2(right <= shown.table()->viewport()->width(), qPrintable(QString::number(width)));
        QVERIFY(!shown.table()->isColumnHidden(RowsModel::PriceColumn));
        auto* causes = shown.view->findChild<QScrollArea*>(QStringLiteral("explainCauses"));
        QVERIFY(causes->widget()->width() <= causes->viewport()->width());
    }
    // The title gives way to the box beside it.
    auto* title = shown.view->findChild<ElidedLabel*>(QStringLiteral("explainTitle"));
    shown.view->resize(420, 260);
    shown.document.selection()->setCollective(lastId(shown.document.evaluation()->plan.collectives));
    shown.view->buildNow();
    QTRY_VERIFY(title->shownText() != title->text());
    QVERIFY(title->geometry().right() < shown.view->findChild<ChoiceBox*>(QStringLiteral("explainOperation"))->geometry().left());
}

void TestExplainView::longNamesFitTheInspector()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign("deepseek2-16b", "data=2,fsdp=2,expert=4", "ep")).ok());
    InspectorPanel panel(&document);
    panel.resize(300, 700);
    panel.show();
    QVERIFY(QTest::qWaitForWindowExposed(&panel));
    auto* scroll = panel.findChild<QScrollArea*>(QStringLiteral("inspectorScroll"));
    const auto fits = [&] {
        panel.buildNow();
        QTest::qWait(10);
        const QWidget* page = scroll->widget();
        if (page->width() > scroll->viewport()->width())
            return false;
        for (const QWidget* child : page->findChildren<QWidget*>())
            if (child->isVisible() && child->mapTo(page, QPoint(child->width(), 0)).x() > page->width())
                return false;
        return true;
    };
    CollectiveId longest;
    std::size_t most = 0;
    const auto evaluation = document.evaluation();
    for (CollectiveId i { 0 }; i < evaluation->plan.collectives.size(); ++i)
        if (const std::size_t size = evaluation->graph.tensor(evaluation->plan.collective(i).tensor).name.size(); size > most) {
            most = size;
            longest = i;
        }
    QVERIFY(most > 60);
    document.selection()->setCollective(longest);
    QVERIFY(fits());
    document.selection()->setWeight(weightNamed(document, "shared_experts.down_proj"));
    QVERIFY(fits());
    document.selection()->clear();
    QVERIFY(fits());
}

void TestExplainView::wrappedTextIsCopiedAsItIs()
{
    const QString text = QStringLiteral("grad of model.layers.*.mlp.experts.*.gate_proj.weight costs 4.93 ms, *:batch=data,fsdp");
    QVERIFY(breakable(text) != text);
    QCOMPARE(unbroken(breakable(text)), text);
    QVERIFY(breakable(text).contains(QStringLiteral("4.93"))); // numbers stay together
    WrappedLabel label(text);
    label.setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    label.show();
    QCOMPARE(label.fullText(), text);
    label.setSelection(0, static_cast<int>(label.text().size()));
    QTest::keyClick(&label, Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(QApplication::clipboard()->text(), text);
    QVERIFY(label.minimumSizeHint().width() <= 60);
    QVERIFY(label.heightForWidth(150) > label.heightForWidth(1000));
}

void TestExplainView::rowsInWords()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto targets = explainTargets(*document.evaluation(), "block/self_attn.residual");
    QVERIFY(targets.ok());
    const Explanation why = explain(document.design(), *document.evaluation(), targets.value().front());
    const auto words = [&](const char* axis, const char* row) {
        for (const AxisExplanation& it : why.axes)
            for (const RankedRow& ranked : it.rows)
                if (ranked.row == row && document.design().mesh.axis(it.axis).name == axis)
                    return rowTitle(*document.evaluation(), why, ranked);
        return QString();
    };
    QCOMPARE(words("model", "R R -> R"), QStringLiteral("all-reduce → whole"));
    QCOMPARE(words("model", "S1 S1 -> S1"), QStringLiteral("reduce-scatter → sequence"));
    QCOMPARE(words("data", "S0 S0 -> S0"), QStringLiteral("nothing moves → batch"));
    RankedRow row;
    row.moves = { { CollectiveKind::AllGather, 0, TensorId(0), 8, 1 },
                  { CollectiveKind::AllGather, 1, TensorId(0), 8, 1 },
                  { CollectiveKind::AllToAll, 2, TensorId(0), 8, 1 } };
    QCOMPARE(movesText(row), QStringLiteral("all-gather ×2, all-to-all"));
    row.moves.clear();
    QCOMPARE(movesText(row), QStringLiteral("nothing"));
}

/// In the column of the inspector causes and rows each have all of its width.
void TestExplainView::causesStandAboveRowsInAColumn()
{
    ShownExplanation shown(knownDesign());
    QVERIFY(shown.ready);
    shown.document.selection()->setCollective(collectiveOf(shown.document, CollectiveKind::AllReduce, "attention out"));
    QTRY_VERIFY(shown.table()->isVisible());
    const auto* causes = shown.view->findChild<QScrollArea*>(QStringLiteral("explainCauses"));
    const auto right = [&](const QWidget* widget) { return widget->mapTo(shown.view.get(), widget->rect().bottomRight()).x(); };
    QVERIFY(right(causes) < shown.table()->mapTo(shown.view.get(), QPoint()).x());
    shown.view->resize(290, 500);
    QTRY_VERIFY(right(causes) > 270);
    QVERIFY(right(shown.table()) > 270 && shown.table()->width() > 250);
    QVERIFY(shown.table()->height() > 80 && causes->height() > 80);
    shown.view->resize(950, 260);
    QTRY_VERIFY(right(causes) < shown.table()->mapTo(shown.view.get(), QPoint()).x());
}

SHARDBOARD_TEST(TestExplainView)
#include "tst_explainview.moc"
