// SPDX-License-Identifier: Apache-2.0
// The strategy editor with real keys and clicks on a real document.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "model/design/evaluate/evaluate.h"
#include "widgets/controls/axispicker.h"
#include "widgets/controls/card.h"
#include "widgets/controls/numberedit.h"
#include "widgets/document/speclabel.h"
#include "widgets/explain/inspectorpage.h"
#include "widgets/look/errortext.h"
#include "widgets/look/theme.h"
#include "widgets/shards/tilestrip.h"
#include "widgets/strategy/segmenttable.h"
#include "widgets/strategy/strategyeditor.h"
#include "widgets/weights/weightmodel.h"
#include "widgets/weights/weighttable.h"

#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalSpy>
#include <QSpinBox>
#include <QToolButton>
#include <QTreeView>
#include <QUndoStack>

using namespace shardboard;

namespace {

/// An editor on one weight of a document, and its fields by name.
struct ShownEditor {
    Document document;
    std::unique_ptr<StrategyEditor> editor;

    bool open(const Design& design, const char* weight)
    {
        if (!document.setDesign(design).ok())
            return false;
        document.selection()->setWeight(weightNamed(document, weight));
        editor = shownView<StrategyEditor>(document, { 340, 620 });
        return editor != nullptr;
    }
    template <class T>
    T* field(const char* name) const
    {
        return editor->findChild<T*>(QString::fromLatin1(name));
    }
    void chooseKind(StrategyKind kind) { chooseByKeys(field<ChoiceBox>("strategyKind"), static_cast<int>(kind)); }
    bool visible(const char* name) const { return field<QWidget>(name)->isVisibleTo(editor.get()); }
    QString sizes() const { return field<QLabel>("previewSizes")->text(); }
    QString spec() const { return field<SpecLabel>("previewSpec")->text(); }
    QString refusal() const
    {
        const auto* card = field<Card>("strategyRefusal");
        return card && card->isVisibleTo(editor.get()) ? card->accessibleDescription() : QString();
    }
    void clickApply() { QTest::mouseClick(field<QPushButton>("strategyApply"), Qt::LeftButton); }
    void type(const char* name, const QString& text)
    {
        auto* edit = field<QLineEdit>(name);
        edit->setFocus();
        edit->selectAll();
        QTest::keyClicks(edit, text);
    }
    const WeightLayout& weight() const { return weightAt(document, document.selection()->weight()); }
};

} // namespace

class TestStrategyEditor : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void lives();
    void everyKindHasItsParametersAndNoOthers_data();
    void everyKindHasItsParametersAndNoOthers();
    void everyKindCutsAsItSays_data();
    void everyKindCutsAsItSays();
    void previewChangesNothing();
    void applyIsOneUndoStep();
    void orderOfTheAxesIsMajorFirst();
    void axesMoveByTheMouse();
    void partsAreAddedRemovedAndMoved();
    void specIsReadInAnyNotation_data();
    void specIsReadInAnyNotation();
    void wrongSpecIsRefusedInPlace();
    void refusalOfThePlanIsShown();
    void cutRuleIsStored();
    void oneLayerAndAllLayers();
    void severalWeightsAreOneStep();
    void draftOutlivesAnEditElsewhere();
    void revertGoesBack();
    void switchingKindsLosesNothing();
    void tableAsksForTheEditor();
    void everyKindFitsIntoTheNarrowestPanel();
};

void TestStrategyEditor::initTestCase() { applyTheme(*qApp, Theme::light()); }

void TestStrategyEditor::lives()
{
    Document document;
    const auto editor = shownView<StrategyEditor>(document, { 340, 620 });
    QVERIFY(editor->findChild<QLabel*>(QStringLiteral("strategyEmpty"))->isVisible());
    editor->beginEdit(true);
    editor->apply();
    editor->revert();
    QVERIFY(document.setDesign(knownDesign()).ok());
    QVERIFY(editor->findChild<QLabel*>(QStringLiteral("strategyEmpty"))->isVisible()); // nothing is selected
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    QVERIFY(!editor->findChild<QLabel*>(QStringLiteral("strategyEmpty"))->isVisible());
}

void TestStrategyEditor::everyKindHasItsParametersAndNoOthers_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("title");
    QTest::addColumn<QString>("fields"); // of: axes dim heads segments spec cut
    const auto row = [](StrategyKind kind, const char* title, const char* fields) {
        QTest::newRow(title) << static_cast<int>(kind) << QString::fromLatin1(title) << QString::fromLatin1(fields);
    };
    row(StrategyKind::Replicate, "replicate", "");
    row(StrategyKind::Rowwise, "rowwise (dim 0)", "axes cut");
    row(StrategyKind::Columnwise, "columnwise (dim 1)", "axes cut");
    row(StrategyKind::Axiswise, "axiswise (dim 1)", "axes dim cut");
    row(StrategyKind::HeadAwareColumnwise, "head-aware-columnwise (dim 1)", "axes heads cut");
    row(StrategyKind::StackedQkv, "stacked-qkv (dim 0)", "axes heads cut");
    row(StrategyKind::GateUp, "gate-up (dim 0)", "axes dim cut");
    row(StrategyKind::Segmented, "segmented (dim 1)", "axes dim segments cut");
    row(StrategyKind::Spec, "written spec", "spec cut");
}

void TestStrategyEditor::everyKindHasItsParametersAndNoOthers()
{
    QFETCH(int, kind);
    QFETCH(QString, title);
    QFETCH(QString, fields);
    ShownEditor bench;
    QVERIFY(bench.open(knownDesign(), "o_proj")); // cut on dim 1
    bench.chooseKind(static_cast<StrategyKind>(kind));
    QCOMPARE(bench.field<ChoiceBox>("strategyKind")->currentText(), title);
    QStringList shown;
    for (const char* name : { "axes", "dim", "heads", "segments", "spec", "cut" }) {
        const QString object =
            QStringLiteral("strategy") + QString::fromLatin1(name).left(1).toUpper() + QString::fromLatin1(name).mid(1);
        if (bench.visible(object.toLatin1().constData()))
            shown << QString::fromLatin1(name);
    }
    QCOMPARE(shown.join(QLatin1Char(' ')), fields);
}

void TestStrategyEditor::everyKindCutsAsItSays_data()
{
    QTest::addColumn<QString>("weight");
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("sizes"); // over model=3; computed by hand
    const auto row = [](const char* weight, StrategyKind kind, const char* spec, const char* sizes) {
        QTest::newRow(
            qPrintable(QStringLiteral("%1 %2").arg(QLatin1String(weight), QString::fromStdString(strategyKindName(kind)))))
            << QString::fromLatin1(weight) << static_cast<int>(kind) << QString::fromLatin1(spec) << QString::fromUtf8(sizes);
    };
    row("plain", StrategyKind::Rowwise, "P('model')", "6, 5 × 2"); // 16 = 6 + 5 + 5
    row("plain", StrategyKind::Columnwise, "P(None, 'model')", "4, 3 × 2"); // 10
    row("plain", StrategyKind::Axiswise, "P('model')", "6, 5 × 2");
    row("o", StrategyKind::HeadAwareColumnwise, "P(None, 'model')", "1408 × 2, 1280"); // 11, 11, 10 heads of 128
    row("o_fp4", StrategyKind::HeadAwareColumnwise, "P(None, 'model')", "704 × 2, 640"); // two columns in one
    row("stacked", StrategyKind::StackedQkv, "P('model')", "4224 × 2, 3840"); // three times 11, 11, 10 heads
    row("qkv", StrategyKind::Segmented, "P('model')", "2176 × 2, 1792"); // (11+3+3, 11+3+3, 10+2+2) heads
    row("gate_up", StrategyKind::GateUp, "P('model')", "9558 × 2, 9556"); // 14336 = 4779 + 4779 + 4778, twice
    row("experts", StrategyKind::GateUp, "P(None, None, 'model')", "9558 × 2, 9556");
}

void TestStrategyEditor::everyKindCutsAsItSays()
{
    QFETCH(QString, weight);
    QFETCH(int, kind);
    QFETCH(QString, spec);
    QFETCH(QString, sizes);
    ShownEditor bench;
    Design design = looseDesign("model=3");
    QVERIFY(bench.open(design, weight.toLatin1().constData()));
    bench.document.selection()->setWeight(-1);
    for (std::size_t i = 0; i < bench.document.evaluation()->weights.size(); ++i)
        if (bench.document.evaluation()->weights[i].spec.name == weight.toStdString())
            bench.document.selection()->setWeight(static_cast<int>(i));
    bench.chooseKind(static_cast<StrategyKind>(kind));
    QCOMPARE(bench.refusal(), QString());
    QCOMPARE(bench.spec(), spec);
    QCOMPARE(bench.sizes(), sizes);
    QVERIFY(bench.document.design() == design);
    bench.clickApply();
    QCOMPARE(bench.document.undoStack()->count(), 1);
    QCOMPARE(bench.weight().strategy.kind, static_cast<StrategyKind>(kind));
    QCOMPARE(specOf(bench.document, bench.document.selection()->weight()), spec.toStdString());
    bench.document.undoStack()->undo();
    QVERIFY(bench.document.design() == design);
}

void TestStrategyEditor::previewChangesNothing()
{
    ShownEditor bench;
    const Design design = knownDesign();
    QVERIFY(bench.open(design, "o_proj"));
    bench.chooseKind(StrategyKind::Replicate);
    Design edited = Document::withStrategy(design, bench.weight().spec.name, Strategy {});
    const auto expected = evaluate(edited);
    QVERIFY(expected.ok());
    const auto peak = expected.value()->plan.memory.peak;
    const auto before = bench.document.evaluation()->plan.memory.peak;
    QVERIFY(peak > before);
    auto* memory = bench.field<QLabel>("previewMemory");
    QTRY_VERIFY(memory->toolTip().contains(QString::number(peak).right(3)));
    QVERIFY2(memory->text().contains(QStringLiteral("+768 MiB")),
             qPrintable(memory->text())); // 32 layers of 32 - 8 MiB
    QCOMPARE(bench.field<TileStrip>("tileStrip")->scene().replicated, true);
    QVERIFY(bench.document.design() == design);
    QCOMPARE(bench.document.undoStack()->count(), 0);
}

void TestStrategyEditor::applyIsOneUndoStep()
{
    ShownEditor bench;
    const Design design = knownDesign();
    QVERIFY(bench.open(design, "o_proj"));
    QVERIFY(!bench.field<QPushButton>("strategyApply")->isEnabled());
    bench.chooseKind(StrategyKind::Rowwise);
    QVERIFY(bench.field<QPushButton>("strategyApply")->isEnabled());
    bench.clickApply();
    QCOMPARE(bench.document.undoStack()->count(), 1);
    QCOMPARE(bench.document.undoStack()->undoText(), QStringLiteral("self_attn.o_proj: rowwise (dim 0) over model"));
    QCOMPARE(bench.weight().copies, std::int64_t { 32 });
    QCOMPARE(specOf(bench.document, bench.document.selection()->weight()), std::string("P('model')"));
    QVERIFY(!bench.field<QPushButton>("strategyApply")->isEnabled());
    bench.document.undoStack()->undo();
    QVERIFY(bench.document.design() == design);
    QCOMPARE(bench.field<ChoiceBox>("strategyKind")->currentText(), QStringLiteral("columnwise (dim 1)"));
}

void TestStrategyEditor::orderOfTheAxesIsMajorFirst()
{
    ShownEditor bench;
    QVERIFY(bench.open(knownDesign(), "o_proj"));
    auto* picker = bench.field<AxisPicker>("strategyAxes");
    QMenu menu;
    picker->fillMenu(&menu);
    QCOMPARE(menu.actions().size(), 1);
    QCOMPARE(menu.actions().front()->text(), QStringLiteral("data = 2"));
    menu.actions().front()->trigger();
    QCOMPARE(bench.spec(), QStringLiteral("P(None, ('model', 'data'))"));
    QCOMPARE(bench.sizes(), QStringLiteral("512 × 8"));
    QTest::keyClick(picker->chips().back(), Qt::Key_Left, Qt::AltModifier);
    QCOMPARE(bench.spec(), QStringLiteral("P(None, ('data', 'model'))"));
    bench.clickApply();
    QCOMPARE(bench.weight().strategy.axes, (std::vector<std::string> { "data", "model" }));
    QTest::keyClick(picker->chips().front(), Qt::Key_Delete);
    QCOMPARE(bench.spec(), QStringLiteral("P(None, 'model')"));
    QTest::keyClick(picker->chips().front(), Qt::Key_Delete);
    QVERIFY2(bench.refusal().contains(QStringLiteral("names no mesh axis")), qPrintable(bench.refusal()));
    QVERIFY(!bench.field<QPushButton>("strategyApply")->isEnabled());
}

void TestStrategyEditor::axesMoveByTheMouse()
{
    ShownEditor bench;
    QVERIFY(bench.open(knownDesign("pod=2,data=2,model=2"), "o_proj"));
    auto* picker = bench.field<AxisPicker>("strategyAxes");
    picker->setAxes({ "pod", "data", "model" });
    Q_EMIT picker->axesChanged();
    PickedAxis* model = picker->chips().back();
    const QPoint start(12, model->height() / 2);
    QTest::mousePress(model, Qt::LeftButton, {}, start);
    QTest::mouseMove(model, model->mapFromParent(picker->chips()[1]->geometry().center()));
    QTest::mouseMove(model, model->mapFromParent(picker->chips()[0]->geometry().center()));
    QTest::mouseRelease(model, Qt::LeftButton, {}, start);
    QCOMPARE(picker->axes(), (std::vector<std::string> { "model", "pod", "data" }));
    QCOMPARE(bench.spec(), QStringLiteral("P(None, ('model', 'pod', 'data'))"));
    QTest::mouseClick(picker->chips()[1], Qt::LeftButton, {}, picker->chips()[1]->crossRect().center());
    QCOMPARE(bench.spec(), QStringLiteral("P(None, ('model', 'data'))"));
}

void TestStrategyEditor::partsAreAddedRemovedAndMoved()
{
    ShownEditor bench;
    QVERIFY(bench.open(looseDesign("model=2"), "qkv"));
    bench.chooseKind(StrategyKind::Segmented);
    auto* table = bench.field<SegmentTable>("strategySegments");
    const StrategySegment q { 0, 32, 128 };
    const StrategySegment kv { 0, 8, 128 };
    QCOMPARE(table->segments(), (std::vector<StrategySegment> { q, kv, kv }));
    auto* sum = bench.field<QLabel>("segmentSum");
    QCOMPARE(sum->text(), QStringLiteral("6,144 of 6,144"));
    const auto buttons = [&](const char* name) { return table->findChildren<QToolButton*>(QString::fromLatin1(name)); };
    QTest::mouseClick(buttons("segmentDown").front(), Qt::LeftButton);
    QCOMPARE(table->segments(), (std::vector<StrategySegment> { kv, q, kv }));
    QTest::mouseClick(buttons("segmentRemove").back(), Qt::LeftButton);
    QCOMPARE(table->segments(), (std::vector<StrategySegment> { kv, q }));
    QCOMPARE(sum->text(), QStringLiteral("5,120 of 6,144: 1,024 missing"));
    QVERIFY2(bench.refusal().contains(QStringLiteral("add up to 5120")), qPrintable(bench.refusal()));
    QTest::mouseClick(buttons("segmentAdd").front(), Qt::LeftButton);
    QCOMPARE(table->segments(), (std::vector<StrategySegment> { kv, q, { 1024, 0, 0 } }));
    QCOMPARE(bench.refusal(), QString());
    bench.clickApply();
    QCOMPARE(bench.weight().strategy.segments, (std::vector<StrategySegment> { kv, q, { 1024, 0, 0 } }));
    QCOMPARE(segmentSumText({ { 12288, 0, 0 } }, 6144), QStringLiteral("12,288 of 6,144, two packed in one"));
    QCOMPARE(segmentSumText({ { 7000, 0, 0 } }, 6144), QStringLiteral("7,000 of 6,144: 856 too many"));
}

void TestStrategyEditor::specIsReadInAnyNotation_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("stored"); // of a tensor of rank 2 on data=2,model=4
    QTest::newRow("jax") << "P(None, ('data', 'model'))"
                         << "P(None, ('data', 'model'))";
    QTest::newRow("shardy") << "[{\"data\"}, {\"model\"}]"
                            << "P('data', 'model')";
    QTest::newRow("hlo v2") << "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"
                            << "P('model')";
    QTest::newRow("hlo v1") << "{devices=[4,1,2]0,4,1,5,2,6,3,7 last_tile_dim_replicate}"
                            << "P('model')";
    QTest::newRow("dtensor") << "S(1), S(0)"
                             << "P('model', 'data')";
    QTest::newRow("max") << "Replicated, Sharded(0)"
                         << "P('model')";
}

void TestStrategyEditor::specIsReadInAnyNotation()
{
    QFETCH(QString, text);
    QFETCH(QString, stored);
    ShownEditor bench;
    QVERIFY(bench.open(knownDesign(), "o_proj"));
    bench.editor->beginEdit(true);
    auto* edit = bench.field<QLineEdit>("strategySpec");
    QCOMPARE(QApplication::focusWidget(), edit);
    bench.type("strategySpec", text);
    QCOMPARE(edit->text(), text);
    QCOMPARE(bench.refusal(), QString());
    QCOMPARE(bench.spec(), stored);
    QTest::keyClick(edit, Qt::Key_Return);
    QCOMPARE(bench.document.undoStack()->count(), 1);
    QCOMPARE(bench.weight().strategy.spec, stored.toStdString());
}

void TestStrategyEditor::wrongSpecIsRefusedInPlace()
{
    ShownEditor bench;
    QVERIFY(bench.open(knownDesign(), "o_proj"));
    bench.editor->beginEdit(true);
    auto* edit = bench.field<QLineEdit>("strategySpec");
    const std::pair<const char*, const char*> wrong[] = { { "P('modle')", "modle" },
                                                          { "P('model', 'model')", "model" },
                                                          { "P(None, None, 'model')", "dims" },
                                                          { "what", "notation" },
                                                          { "S(5), R", "5" } };
    for (const auto& [text, named] : wrong) {
        bench.type("strategySpec", QString::fromLatin1(text));
        QVERIFY2(bench.refusal().contains(QString::fromLatin1(named)), qPrintable(bench.refusal()));
        QVERIFY(edit->property("refused").toBool());
        QTest::keyClick(edit, Qt::Key_Return);
        QCOMPARE(bench.document.undoStack()->count(), 0);
    }
    bench.type("strategySpec", QStringLiteral("P('data')"));
    QVERIFY(!edit->property("refused").toBool());
    QCOMPARE(bench.refusal(), QString());
}

void TestStrategyEditor::refusalOfThePlanIsShown()
{
    ShownEditor bench;
    QVERIFY(bench.open(knownDesign(), "o_proj"));
    bench.chooseKind(StrategyKind::GateUp); // cuts, but o_proj is no fused weight to the plan
    Design edited = Document::withStrategy(bench.document.design(), bench.weight().spec.name, bench.editor->draft().stored());
    const auto expected = evaluate(edited);
    QVERIFY(!expected.ok());
    QTRY_COMPARE(bench.refusal().trimmed(), errorText(expected.error()));
    QVERIFY(!bench.field<QPushButton>("strategyApply")->isEnabled());
    QVERIFY(!bench.field<QLabel>("previewStep")->isVisibleTo(bench.editor.get()));
}

void TestStrategyEditor::cutRuleIsStored()
{
    ShownEditor bench;
    QVERIFY(bench.open(looseDesign("model=4"), "five"));
    bench.chooseKind(StrategyKind::Rowwise);
    QCOMPARE(bench.sizes(), QStringLiteral("2, 1 × 3"));
    auto* rule = bench.field<ChoiceBox>("strategyCut");
    QCOMPARE(rule->currentText(), QStringLiteral("default: balanced"));
    chooseByKeys(rule, static_cast<int>(CutRule::CeilFlat));
    QCOMPARE(bench.sizes(), QStringLiteral("2 × 2, 1, 0"));
    chooseByKeys(rule, static_cast<int>(CutRule::Strict));
    QVERIFY2(bench.refusal().contains(QStringLiteral("divide")), qPrintable(bench.refusal()));
    chooseByKeys(rule, static_cast<int>(CutRule::CeilFlat));
    bench.clickApply();
    QVERIFY(bench.document.design().strategies.back().cut == CutRule::CeilFlat);
    chooseByKeys(rule, -1);
    bench.clickApply();
    QVERIFY(!bench.document.design().strategies.back().cut);
    QCOMPARE(bench.document.undoStack()->count(), 2);
}

void TestStrategyEditor::oneLayerAndAllLayers()
{
    ShownEditor bench;
    QVERIFY(bench.open(knownDesign(), "up_proj"));
    bench.chooseKind(StrategyKind::Replicate);
    auto* scope = bench.field<ChoiceBox>("strategyScope");
    QCOMPARE(scope->currentText(), QStringLiteral("all 32 layers"));
    chooseByKeys(scope, static_cast<int>(DraftScope::OneLayer));
    auto* layer = bench.field<QSpinBox>("strategyLayer");
    QVERIFY(layer->isVisible());
    layer->setValue(5);
    bench.clickApply();
    const auto rows = [&] {
        std::vector<std::pair<std::int64_t, bool>> out; // first layer, replicated
        for (const WeightLayout& weight : bench.document.evaluation()->weights)
            if (weight.spec.name.find("up_proj") != std::string::npos)
                out.emplace_back(weight.firstLayer, weight.layout.isReplicated());
        return out;
    };
    QCOMPARE(rows(), (std::vector<std::pair<std::int64_t, bool>> { { 0, false }, { 5, true }, { 6, false } }));
    // From the exception back to all layers, exception included.
    for (std::size_t i = 0; i < bench.document.evaluation()->weights.size(); ++i)
        if (weightAt(bench.document, static_cast<int>(i)).firstLayer == 5
            && weightAt(bench.document, static_cast<int>(i)).spec.name.find("up_proj") != std::string::npos)
            bench.document.selection()->setWeight(static_cast<int>(i));
    QCOMPARE(scope->currentText(), QStringLiteral("layer 5"));
    bench.chooseKind(StrategyKind::Columnwise);
    chooseByKeys(scope, static_cast<int>(DraftScope::AllLayers));
    bench.clickApply();
    QCOMPARE(rows(), (std::vector<std::pair<std::int64_t, bool>> { { 0, false } }));
    QCOMPARE(specOf(bench.document, weightNamed(bench.document, "up_proj")), std::string("P(None, 'model')"));
    QCOMPARE(bench.document.undoStack()->count(), 2);
}

void TestStrategyEditor::severalWeightsAreOneStep()
{
    ShownEditor bench;
    const Design design = knownDesign();
    QVERIFY(bench.open(design, "up_proj"));
    const int up = weightNamed(bench.document, "up_proj");
    const int gate = weightNamed(bench.document, "gate_proj");
    bench.document.selection()->setWeights({ up, gate }, up);
    bench.chooseKind(StrategyKind::Replicate);
    bench.clickApply();
    QCOMPARE(bench.document.undoStack()->count(), 1);
    QVERIFY(weightAt(bench.document, up).layout.isReplicated());
    QVERIFY(weightAt(bench.document, gate).layout.isReplicated());
    QCOMPARE(bench.document.selection()->weights(), (std::vector<int> { std::min(up, gate), std::max(up, gate) }));
    bench.document.undoStack()->undo();
    QVERIFY(bench.document.design() == design);
}

void TestStrategyEditor::draftOutlivesAnEditElsewhere()
{
    ShownEditor bench;
    QVERIFY(bench.open(knownDesign(), "o_proj"));
    bench.chooseKind(StrategyKind::Rowwise);
    const std::string other = weightAt(bench.document, weightNamed(bench.document, "up_proj")).spec.name;
    QVERIFY(bench.document.edit(bench.document.withStrategy(other, Strategy {}), QStringLiteral("other")).ok());
    QCOMPARE(bench.editor->draft().strategy.kind, StrategyKind::Rowwise);
    // An edit of the weight itself is what the editor shows then.
    QVERIFY(bench.document.edit(bench.document.withStrategy(bench.weight().spec.name, Strategy {}), QStringLiteral("same")).ok());
    QCOMPARE(bench.editor->draft().strategy.kind, StrategyKind::Replicate);
}

void TestStrategyEditor::revertGoesBack()
{
    ShownEditor bench;
    QVERIFY(bench.open(knownDesign(), "o_proj"));
    const StrategyDraft before = bench.editor->draft();
    bench.chooseKind(StrategyKind::Segmented);
    QVERIFY(bench.editor->draft() != before);
    QTest::mouseClick(bench.field<QPushButton>("strategyRevert"), Qt::LeftButton);
    QVERIFY(bench.editor->draft() == before);
    QVERIFY(!bench.field<QPushButton>("strategyApply")->isEnabled());
}

void TestStrategyEditor::switchingKindsLosesNothing()
{
    ShownEditor bench;
    QVERIFY(bench.open(looseDesign("model=2"), "qkv"));
    bench.chooseKind(StrategyKind::Spec);
    bench.type("strategySpec", QStringLiteral("P('mod"));
    bench.chooseKind(StrategyKind::Replicate);
    bench.chooseKind(StrategyKind::Spec);
    QCOMPARE(bench.field<QLineEdit>("strategySpec")->text(), QStringLiteral("P('mod"));
    QVERIFY(bench.editor->draft().stored().axes.empty());
}

void TestStrategyEditor::tableAsksForTheEditor()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto panel = shownView<WeightPanel>(document, { 310, 700 });
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    QSignalSpy asked(panel.get(), &WeightPanel::strategyRequested);
    auto* tree = panel->findChild<QTreeView*>(QStringLiteral("weightTree"));
    tree->setFocus();
    QTest::keyClick(tree, Qt::Key_F2);
    QCOMPARE(asked.count(), 1);
    const QPoint row = tree->visualRect(tree->currentIndex()).center();
    QTest::mouseClick(tree->viewport(), Qt::LeftButton, {}, row);
    QTest::mouseDClick(tree->viewport(), Qt::LeftButton, {}, row);
    QCOMPARE(asked.count(), 2);
    QMenu menu;
    panel->fillMenu(&menu);
    for (QAction* action : menu.actions())
        if (action->text() == QStringLiteral("Write a spec …"))
            action->trigger();
    QCOMPARE(asked.count(), 3);
    QCOMPARE(asked.last().first().toBool(), true);
}

void TestStrategyEditor::everyKindFitsIntoTheNarrowestPanel()
{
    ShownEditor bench;
    QVERIFY(bench.open(looseDesign("a_long_axis_name=2,another_long_name=2"), "qkv"));
    bench.editor->resize(300, 560);
    const auto* page = bench.field<QScrollArea>("strategyScroll");
    for (const StrategyKind kind : weightKinds()) {
        bench.chooseKind(kind);
        QApplication::processEvents();
        QVERIFY(bench.editor->minimumSizeHint().width() <= 300);
        QVERIFY2(page->widget()->minimumSizeHint().width() <= page->viewport()->width(), strategyKindName(kind).c_str());
        QCOMPARE(namelessIn(*bench.editor), QString());
    }
}

SHARDBOARD_TEST(TestStrategyEditor)
#include "tst_strategyeditor.moc"
