// SPDX-License-Identifier: Apache-2.0
// The list of pins with real clicks and keys: what it says of each, which do nothing, adding and removing as steps of the
// history.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/explain/pinsview.h"
#include "widgets/look/theme.h"
#include "widgets/tables/notedelegate.h"

#include <QApplication>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTest>
#include <QTreeWidget>
#include <QUndoStack>

#include <memory>

using namespace shardboard;

namespace {

enum { Number, Names, Says, Source, State };

/// One pin of the preset, one by hand that counts, one of a label that no activation has, one that no row meets.
Design pinnedDesign()
{
    Design design = knownDesign("fsdp=2,model=4", "tp+fsdp");
    (void)applyPreset(design, "tp+fsdp").ok();
    for (const char* text : { "self_attn.residual@model=S1 S1 -> S1", "*:sequense=fsdp", "self_attn.q_proj@model=P R -> P" })
        design.pins.push_back(parsePin(text).value());
    return design;
}

struct ShownPins : ShownView<PinsView> {
    explicit ShownPins(const Design& design)
        : ShownView(design, { 940, 260 })
    {
    }
    QTreeWidget* list() const { return view->findChild<QTreeWidget*>(QStringLiteral("pinsList")); }
    QLineEdit* field() const { return view->findChild<QLineEdit*>(QStringLiteral("pinsNew")); }
    QString state(int row) const { return list()->topLevelItem(row)->data(State, NoteDelegate::TextRole).toString(); }
    int rowOf(const char* pin) const
    {
        for (std::size_t i = 0; i < document.design().pins.size(); ++i)
            if (pinText(document.design().pins[i]) == pin)
                return static_cast<int>(i);
        return -1;
    }
};

} // namespace

class TestPinsView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, Theme::light()); }
    void saysWhatEachPinIs();
    void deadAndUnmetPinsAreTold();
    void narrowRowsSayItAll();
    void removingSeveralIsOneStep();
    void deleteRemovesTheCurrentOne();
    void addsWhatIsWritten();
    void whatIsNoPinIsRefused();
    void profilesOfMaxKnowNoPins();
    void emptyListSaysHowToMakeOne();
};

void TestPinsView::saysWhatEachPinIs()
{
    ShownPins shown(pinnedDesign());
    QVERIFY(shown.ready);
    const auto& pins = shown.document.design().pins;
    QCOMPARE(static_cast<std::size_t>(shown.list()->topLevelItemCount()), pins.size());
    QVERIFY(pins.front().source == "preset tp+fsdp");
    const QTreeWidgetItem* preset = shown.list()->topLevelItem(0);
    QCOMPARE(preset->text(Names), QStringLiteral("all activations"));
    QCOMPARE(preset->text(Says), QStringLiteral("batch over fsdp"));
    QCOMPARE(preset->text(Source), QStringLiteral("preset tp+fsdp"));
    const QTreeWidgetItem* hand = shown.list()->topLevelItem(shown.rowOf("self_attn.residual@model=S1 S1 -> S1"));
    QCOMPARE(hand->text(Names), QStringLiteral("self_attn.residual"));
    QCOMPARE(hand->text(Says), QStringLiteral("row S1 S1 → S1 over model"));
    QCOMPARE(hand->text(Source), QStringLiteral("hand"));
    shown.view->showPin(2);
    QCOMPARE(shown.list()->indexOfTopLevelItem(shown.list()->currentItem()), 2);
    QVERIFY(shown.list()->currentItem()->isSelected());
}

void TestPinsView::deadAndUnmetPinsAreTold()
{
    ShownPins shown(pinnedDesign());
    QVERIFY(shown.ready);
    QCOMPARE(shown.state(0), QString());
    QCOMPARE(shown.state(shown.rowOf("self_attn.residual@model=S1 S1 -> S1")), QString());
    const QString dead = shown.state(shown.rowOf("*:sequense=fsdp"));
    QVERIFY2(dead.startsWith(QStringLiteral("does nothing:")) && dead.contains(QStringLiteral("sequense")), qPrintable(dead));
    const QString unmet = shown.state(shown.rowOf("self_attn.q_proj@model=P R -> P"));
    QVERIFY2(unmet.startsWith(QStringLiteral("was ignored at")), qPrintable(unmet));
    // All of it is read: the row is as high as its lines.
    shown.view->resize(520, 260);
    QTRY_VERIFY(shown.list()->visualItemRect(shown.list()->topLevelItem(shown.rowOf("*:sequense=fsdp"))).height() > kRowHeight);
}

void TestPinsView::narrowRowsSayItAll()
{
    ShownPins shown(pinnedDesign());
    QVERIFY(shown.ready);
    shown.view->resize(280, 500);
    QCoreApplication::processEvents();
    QVERIFY(shown.list()->isColumnHidden(Says) && shown.list()->isColumnHidden(State) && !shown.list()->isColumnHidden(Names));
    QVERIFY(shown.list()->header()->length() <= shown.list()->viewport()->width()); // nothing beside it
    const int dead = shown.rowOf("*:sequense=fsdp");
    const QString text = shown.list()->topLevelItem(dead)->data(Names, NoteDelegate::TextRole).toString();
    QVERIFY2(text.contains(QStringLiteral("sequense over fsdp")) && text.contains(shown.state(dead)), qPrintable(text));
    QVERIFY(shown.list()
                ->topLevelItem(0)
                ->data(Names, NoteDelegate::TextRole)
                .toString()
                .endsWith(QStringLiteral("by preset tp+fsdp")));
    QVERIFY(shown.list()->visualItemRect(shown.list()->topLevelItem(dead)).height() > 2 * kRowHeight);
    shown.view->resize(940, 260);
    QCoreApplication::processEvents();
    QVERIFY(!shown.list()->isColumnHidden(Says) && shown.list()->columnWidth(Says) > 100);
}

void TestPinsView::removingSeveralIsOneStep()
{
    ShownPins shown(pinnedDesign());
    QVERIFY(shown.ready);
    const Design before = shown.document.design();
    QVERIFY(!shown.button("pinsRemove")->isEnabled());
    const int first = shown.rowOf("*:sequense=fsdp");
    const int second = shown.rowOf("self_attn.q_proj@model=P R -> P");
    shown.list()->topLevelItem(first)->setSelected(true);
    shown.list()->topLevelItem(second)->setSelected(true);
    QTest::mouseClick(shown.button("pinsRemove"), Qt::LeftButton);
    QCOMPARE(shown.document.undoStack()->count(), 1);
    QCOMPARE(shown.document.undoStack()->undoText(), QStringLiteral("Remove 2 pins"));
    QCOMPARE(shown.document.design().pins.size(), before.pins.size() - 2);
    QCOMPARE(shown.rowOf("*:sequense=fsdp"), -1);
    QVERIFY(shown.rowOf("self_attn.residual@model=S1 S1 -> S1") >= 0);
    QCOMPARE(static_cast<std::size_t>(shown.list()->topLevelItemCount()), before.pins.size() - 2);
    shown.document.undoStack()->undo();
    QVERIFY(shown.document.design() == before);
    QCOMPARE(static_cast<std::size_t>(shown.list()->topLevelItemCount()), before.pins.size());
}

void TestPinsView::deleteRemovesTheCurrentOne()
{
    ShownPins shown(pinnedDesign());
    QVERIFY(shown.ready);
    const int row = shown.rowOf("self_attn.residual@model=S1 S1 -> S1");
    shown.view->showPin(row);
    QTest::keyClick(shown.list(), Qt::Key_Delete);
    QCOMPARE(shown.rowOf("self_attn.residual@model=S1 S1 -> S1"), -1);
    QCOMPARE(shown.document.undoStack()->undoText(), QStringLiteral("Remove the pin self_attn.residual@model=S1 S1 -> S1"));
}

void TestPinsView::addsWhatIsWritten()
{
    ShownPins shown(knownDesign());
    QVERIFY(shown.ready);
    QVERIFY(!shown.button("pinsAdd")->isEnabled());
    QTest::keyClicks(shown.field(), QStringLiteral("residual:sequence=model"));
    QTest::keyClick(shown.field(), Qt::Key_Return);
    QCOMPARE(shown.document.design().pins.size(), std::size_t { 1 });
    QCOMPARE(pinText(shown.document.design().pins.front()), std::string("residual:sequence=model"));
    QVERIFY(shown.document.design().pins.front().source.empty());
    QVERIFY(shown.field()->text().isEmpty());
    QVERIFY(shown.list()->isVisible());
    shown.document.undoStack()->undo();
    QVERIFY(shown.document.design() == knownDesign());
}

void TestPinsView::whatIsNoPinIsRefused()
{
    ShownPins shown(knownDesign());
    QVERIFY(shown.ready);
    QTest::keyClicks(shown.field(), QStringLiteral("nonsense"));
    QTest::mouseClick(shown.button("pinsAdd"), Qt::LeftButton);
    const auto* message = shown.view->findChild<QLabel*>(QStringLiteral("pinsMessage"));
    QVERIFY(message->isVisible() && !message->text().isEmpty());
    QCOMPARE(shown.document.undoStack()->count(), 0);
    QCOMPARE(shown.field()->text(), QStringLiteral("nonsense")); // to be mended
}

void TestPinsView::profilesOfMaxKnowNoPins()
{
    Design design = pinnedDesign();
    design.picker.profile = PickerProfile::G1;
    ShownPins shown(design);
    QVERIFY(shown.ready);
    for (int row = 0; row < shown.list()->topLevelItemCount(); ++row)
        QVERIFY2(!shown.state(row).isEmpty(), qPrintable(QString::number(row)));
    QVERIFY(shown.state(0).contains(QStringLiteral("G1 does not support pins")));
}

void TestPinsView::emptyListSaysHowToMakeOne()
{
    ShownPins shown(knownDesign());
    QVERIFY(shown.ready);
    QVERIFY(!shown.list()->isVisible());
    const auto* empty = shown.view->findChild<QLabel*>(QStringLiteral("pinsEmpty"));
    QVERIFY(empty->isVisible() && empty->text().contains(QStringLiteral("Pin this")));
}

SHARDBOARD_TEST(TestPinsView)
#include "tst_pinsview.moc"
