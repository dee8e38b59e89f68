// SPDX-License-Identifier: Apache-2.0
// One choice of notation, followed by every view that writes a layout.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "app/desktop/base/settings.h"
#include "app/desktop/menus/notationmenu.h"

#include "widgets/cost/collectivesmodel.h"
#include "widgets/cost/collectivesview.h"
#include "widgets/document/shownspec.h"
#include "widgets/document/speclabel.h"
#include "widgets/explain/inspector.h"
#include "widgets/flow/flowscene.h"
#include "widgets/look/theme.h"
#include "widgets/strategy/strategyeditor.h"
#include "widgets/tiles/tileview.h"
#include "widgets/weights/weightmodel.h"
#include "widgets/weights/weighttable.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTableView>
#include <QTemporaryDir>
#include <QTreeView>
#include <QUndoStack>

using namespace shardboard;

namespace {

/// o_proj of the known design is cut on dim 1 over model, the minor axis of data=2,model=4.
struct Words {
    Notation notation;
    const char* text;
};
constexpr Words kWords[] = {
    { Notation::Jax, "P(None, 'model')" },
    { Notation::Shardy, "[{}, {\"model\"}]" },
    { Notation::HloV2, "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}" },
    { Notation::HloV1, "{devices=[1,4,2]0,4,1,5,2,6,3,7 last_tile_dim_replicate}" },
    { Notation::DTensor, "R, S(1)" },
    { Notation::Max, "Replicated, Sharded(1)" },
};

QAction* actionNamed(const QMenu& menu, const QString& text)
{
    for (QAction* action : menu.actions())
        if (action->text() == text)
            return action;
    return nullptr;
}

bool hasSpec(const QWidget& view, const QString& text)
{
    const auto labels = view.findChildren<SpecLabel*>();
    return std::any_of(labels.begin(), labels.end(), [&](const SpecLabel* label) { return label->text() == text; });
}

} // namespace

class TestNotationViews : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void everyViewFollows_data();
    void everyViewFollows();
    void whatItCannotSayIsMarked();
    void copyMenuHasAllNotations();
    void tableCopiesInTheNotation();
    void choiceIsNoEdit();
    void menuIsRemembered();
    void longSpecsAreNotCutOff();
};

void TestNotationViews::initTestCase() { applyTheme(*qApp, Theme::light()); }

void TestNotationViews::everyViewFollows_data()
{
    QTest::addColumn<int>("notation");
    QTest::addColumn<QString>("text");
    for (const Words& words : kWords)
        QTest::newRow(notationName(words.notation).c_str()) << static_cast<int>(words.notation) << QString::fromLatin1(words.text);
}

void TestNotationViews::everyViewFollows()
{
    QFETCH(int, notation);
    QFETCH(QString, text);
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const int weight = weightNamed(document, "o_proj");
    document.selection()->setWeight(weight);
    const auto tiles = shownView<TileView>(document, { 640, 420 });
    const auto inspector = shownView<InspectorPanel>(document, { 340, 600 });
    const auto editor = shownView<StrategyEditor>(document, { 340, 600 });
    const auto table = shownView<WeightPanel>(document, { 310, 700 });
    const auto collectives = shownView<CollectivesView>(document, { 900, 240 });
    document.setNotation(static_cast<Notation>(notation));
    inspector->buildNow();
    QCOMPARE(tiles->findChild<SpecLabel*>(QStringLiteral("tileSpec"))->text(), text);
    QVERIFY(hasSpec(*inspector, text) || notation == static_cast<int>(Notation::Jax)); // there with its Nones
    QCOMPARE(editor->findChild<SpecLabel*>(QStringLiteral("previewSpec"))->text(), text);
    auto* tree = table->findChild<QTreeView*>(QStringLiteral("weightTree"));
    QCOMPARE(tree->currentIndex().data(WeightModel::LayoutRole).toString(), text);
    QVERIFY(tree->currentIndex().data(Qt::ToolTipRole).toString().contains(text));
    editor->beginEdit(true);
    QCOMPARE(editor->findChild<QLineEdit*>(QStringLiteral("strategySpec"))->text(), text);

    // Activations: the residual stream [batch, sequence, hidden], batch over data; and what the all-reduces make of it.
    const Layout residual = parseSpec("P('data')", document.design().mesh, 3).value();
    const QString residualText = specIn(static_cast<Notation>(notation), residual, document.design().mesh, true).text;
    const auto& plan = document.evaluation()->plan;
    PlannedSegmentId block { 0 };
    while (plan.segment(block).name != "block")
        ++block;
    const FlowScene scene = makeFlowScene(*document.evaluation(), block, static_cast<Notation>(notation));
    QVERIFY2(scene.residual.endsWith(residualText), qPrintable(scene.residual));
    const auto* rows = collectives->findChild<QTableView*>(QStringLiteral("collectivesTable"))->model();
    QVERIFY2(rows->index(1, 0).data(Qt::ToolTipRole).toString().contains(QStringLiteral("→ ") + residualText),
             qPrintable(rows->index(1, 0).data(Qt::ToolTipRole).toString()));
}

void TestNotationViews::whatItCannotSayIsMarked()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const int weight = weightNamed(document, "o_proj");
    document.selection()->setWeight(weight);
    Strategy strategy;
    strategy.kind = StrategyKind::Spec;
    strategy.spec = "P(None, ('model', 'data'))"; // not in mesh order, so MAX has no word for it
    QVERIFY(document.edit(document.withStrategy(weightAt(document, weight).spec.name, strategy), QStringLiteral("order")).ok());
    const auto tiles = shownView<TileView>(document, { 640, 420 });
    auto* label = tiles->findChild<SpecLabel*>(QStringLiteral("tileSpec"));
    document.setNotation(Notation::Max);
    QCOMPARE(label->text(), QStringLiteral("P(None, ('model', 'data')) (JAX)"));
    QVERIFY2(label->toolTip().startsWith(QStringLiteral("MAX cannot express this layout.")), qPrintable(label->toolTip()));
    QVERIFY2(label->toolTip().contains(QStringLiteral("order")), qPrintable(label->toolTip()));
    document.setNotation(Notation::DTensor);
    QCOMPARE(label->text(), QStringLiteral("_S(1,4), S(1)"));
    QVERIFY(specIn(Notation::DTensor, weightAt(document, weight).layout, document.design().mesh).mark.isEmpty());
}

void TestNotationViews::copyMenuHasAllNotations()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const int weight = weightNamed(document, "o_proj");
    document.selection()->setWeight(weight);
    const auto table = shownView<WeightPanel>(document, { 310, 700 });
    QMenu menu;
    table->fillMenu(&menu);
    auto* copies = menu.findChild<QMenu*>(QStringLiteral("copyLayout"));
    QVERIFY(copies != nullptr);
    QCOMPARE(copies->actions().size(), static_cast<qsizetype>(kNotations.size()));
    for (const Words& words : kWords) {
        QAction* action = actionNamed(*copies, QString::fromStdString(notationTitle(words.notation)));
        QVERIFY(action != nullptr && action->isEnabled());
        action->trigger();
        QCOMPARE(QApplication::clipboard()->text(), QString::fromLatin1(words.text));
    }
    Strategy strategy;
    strategy.kind = StrategyKind::Spec;
    strategy.spec = "P(None, ('model', 'data'))";
    QVERIFY(document.edit(document.withStrategy(weightAt(document, weight).spec.name, strategy), QStringLiteral("order")).ok());
    const auto tiles = shownView<TileView>(document, { 640, 420 });
    QMenu other;
    tiles->fillMenu(&other);
    copies = other.findChild<QMenu*>(QStringLiteral("copyLayout"));
    QVERIFY(copies != nullptr);
    QVERIFY(!actionNamed(*copies, QStringLiteral("MAX"))->isEnabled());
    QVERIFY(!actionNamed(*copies, QStringLiteral("MAX"))->toolTip().isEmpty());
    QVERIFY(actionNamed(*copies, QStringLiteral("JAX"))->isEnabled());
}

void TestNotationViews::tableCopiesInTheNotation()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto table = shownView<WeightPanel>(document, { 310, 700 });
    const int o = weightNamed(document, "o_proj");
    const int up = weightNamed(document, "up_proj");
    document.selection()->setWeights({ o, up }, o);
    document.setNotation(Notation::DTensor);
    QTest::keyClick(table->findChild<QTreeView*>(QStringLiteral("weightTree")), Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(QApplication::clipboard()->text(),
             QStringLiteral("weight\ttype\tshape\tlayers\tlayout\tbytes per device\n"
                            "model.layers.*.self_attn.o_proj.weight\tbf16\t4096 × 4096\t32\tR, S(1)\t8388608\n"
                            "model.layers.*.mlp.up_proj.weight\tbf16\t14336 × 4096\t32\tR, S(0)\t29360128"));
}

void TestNotationViews::choiceIsNoEdit()
{
    Document document;
    const Design design = knownDesign();
    QVERIFY(document.setDesign(design).ok());
    document.setNotation(Notation::Shardy);
    QVERIFY(document.design() == design);
    QCOMPARE(document.undoStack()->count(), 0);
    QVERIFY(!document.isModified());
}

void TestNotationViews::menuIsRemembered()
{
    const QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("settings.ini"));
    {
        Settings settings(file);
        Document document;
        QMenu menu;
        new NotationMenu(&document, settings, &menu);
        QCOMPARE(document.notation(), Notation::Jax);
        QVERIFY(actionNamed(menu, QStringLiteral("JAX"))->isChecked());
        actionNamed(menu, QStringLiteral("DTensor"))->trigger();
        QCOMPARE(document.notation(), Notation::DTensor);
        QVERIFY(!actionNamed(menu, QStringLiteral("JAX"))->isChecked());
    }
    Settings settings(file);
    Document document;
    QMenu menu;
    new NotationMenu(&document, settings, &menu);
    QCOMPARE(document.notation(), Notation::DTensor);
    QVERIFY(actionNamed(menu, QStringLiteral("DTensor"))->isChecked());
}

void TestNotationViews::longSpecsAreNotCutOff()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    document.setNotation(Notation::HloV2);
    const auto inspector = shownView<InspectorPanel>(document, { 300, 600 });
    inspector->buildNow();
    QApplication::processEvents();
    for (const SpecLabel* label : inspector->findChildren<SpecLabel*>()) {
        QVERIFY(label->mapTo(inspector.get(), QPoint(label->width(), 0)).x() <= inspector->width());
        QVERIFY(label->height() >= label->heightForWidth(label->width()));
    }
}

SHARDBOARD_TEST(TestNotationViews)
#include "tst_notationviews.moc"
