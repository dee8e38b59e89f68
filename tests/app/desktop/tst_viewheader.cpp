// SPDX-License-Identifier: Apache-2.0
// A step of training in small windows, which has more to choose from than the sample: headings are whole, elided or not there,
// whatever stands beside them; the field that finds things gives way until it is used; nothing makes the window larger.
#include "app/desktop/window/fonts.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"
#include "tests/widgets/widgets_support.h"
#include "widgets/controls/findfield.h"
#include "widgets/controls/viewheader.h"
#include "widgets/document/documentview.h"
#include "widgets/document/planplayer.h"
#include "widgets/flow/flowview.h"
#include "widgets/mesh/meshcanvas.h"

#include <QLabel>
#include <QStatusBar>
#include <QStringList>
#include <QToolButton>
#include <QUndoStack>

using namespace shardboard;

class TestViewHeader : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nothingIsCutInSmallWindows_data();
    void nothingIsCutInSmallWindows();
    void titleKeepsItsRoom();
    void fieldIsThereWhenItIsUsed();
    void windowsStayAsTheyAre_data();
    void windowsStayAsTheyAre();
    void movingDevicesComeBeforeWords();
    void textBesideTheWalkFollowsItsSize();
};

namespace {

/// Texts of headings that have less room than they take.
QStringList cutTexts(const QWidget* window)
{
    QStringList out;
    const auto see = [&out](const QWidget* widget, const QString& text, int needed) {
        if (widget->isVisible() && !text.isEmpty() && needed > widget->width() + 1)
            out << QStringLiteral("%1: %2 of %3").arg(text).arg(widget->width()).arg(needed);
    };
    for (const ViewHeader* header : window->findChildren<ViewHeader*>()) {
        for (const QLabel* label : header->findChildren<QLabel*>())
            see(label, label->text(), QFontMetrics(label->font()).horizontalAdvance(label->text()));
        for (const QToolButton* button : header->findChildren<QToolButton*>())
            if (!button->text().isEmpty())
                see(button, button->text(), button->minimumSizeHint().width());
    }
    return out;
}

} // namespace

void TestViewHeader::nothingIsCutInSmallWindows_data()
{
    QTest::addColumn<QSize>("size");
    QTest::addColumn<double>("points");
    QTest::newRow("1024x640") << QSize(1024, 640) << 10.0;
    QTest::newRow("1280x800") << QSize(1280, 800) << 10.0;
}

void TestViewHeader::nothingIsCutInSmallWindows()
{
    QFETCH(QSize, size);
    QFETCH(double, points);
    TestWindow test(size);
    test.theme->setTextSize(points);
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    QVERIFY(test.document()->setDesign(trainingDesign()).ok()); // with a choice of phases in the flow
    settle();
    QCOMPARE(cutTexts(test.window.get()), QStringList());
    test.child<FlowView>("flowView")->player()->first();
    settle();
    QCOMPARE(cutTexts(test.window.get()), QStringList());
    test.child<QToolButton>("tileAll")->setChecked(true);
    settle();
    QCOMPARE(cutTexts(test.window.get()), QStringList());
    for (const char* name : { "tileView", "flowView", "meshView" }) {
        auto* view = test.child<QWidget>(name);
        view->findChild<FindField*>()->begin();
        settle();
        QVERIFY2(cutTexts(view).isEmpty(),
                 qPrintable(QLatin1String(name) + QLatin1String(": ") + cutTexts(view).join(QLatin1String(", "))));
    }
    test.document()->undoStack()->setClean();
}

/// A button that comes later takes its room from the title, which says so.
void TestViewHeader::titleKeepsItsRoom()
{
    QWidget window;
    auto* header = new ViewHeader(QStringLiteral("Runs kept"), &window);
    auto* button = new QToolButton;
    button->setText(QStringLiteral("Compare"));
    button->hide();
    header->addRight(button);
    window.resize(400, 60);
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window));
    for (int width = 160; width <= 260; width += 4) {
        button->hide();
        header->resize(width, 36);
        settle();
        button->show();
        settle();
        const QString cut = cutTexts(&window).join(QStringLiteral(", "));
        QVERIFY2(cut.isEmpty(), qPrintable(QStringLiteral("%1 wide: %2").arg(width).arg(cut)));
    }
}

void TestViewHeader::fieldIsThereWhenItIsUsed()
{
    TestWindow test({ 1024, 640 });
    test.window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(test.window.get()));
    QVERIFY(test.document()->setDesign(trainingDesign()).ok());
    test.child<QToolButton>("tileAll")->setChecked(true);
    settle();
    auto* field = test.child<FindField>("tileFind");
    auto* held = test.child<QToolButton>("tileHeld");
    QVERIFY(!field->isVisible());
    QVERIFY(held->isVisible());
    QTest::keyClick(test.child<QWidget>("modelCanvas"), Qt::Key_F, Qt::ControlModifier);
    settle();
    QVERIFY(field->isVisible() && field->hasFocus());
    QVERIFY(!held->isVisible());
    QTest::keyClicks(field, QStringLiteral("norm"));
    test.child<QWidget>("weightTree")->setFocus(); // what is searched for stays in sight
    settle();
    QVERIFY(field->isVisible());
    field->setFocus();
    QTest::keyClick(field, Qt::Key_Escape);
    settle();
    QVERIFY(!field->isVisible());
    QVERIFY(held->isVisible());
    test.window->resize(1600, 1000);
    settle();
    QVERIFY(field->isVisible() && held->isVisible());
    test.document()->undoStack()->setClean();
}

void TestViewHeader::windowsStayAsTheyAre_data()
{
    QTest::addColumn<QSize>("size");
    QTest::addColumn<double>("points");
    QTest::newRow("1024x640") << QSize(1024, 640) << 10.0;
    QTest::newRow("1280x800, 14 pt") << QSize(1280, 800) << 14.0;
}

void TestViewHeader::windowsStayAsTheyAre()
{
    QFETCH(QSize, size);
    QFETCH(double, points);
    TestWindow test(size);
    test.theme->setTextSize(points);
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    QVERIFY(test.document()->setDesign(trainingDesign("llama3.1-405b", "pipe=2,fsdp=16,model=8")).ok());
    settle();
    QVERIFY(test.window->statusBar()->minimumSizeHint().width() < size.width() * 2 / 3); // its texts give way
    QCOMPARE(test.window->size(), size);
    test.child<FlowView>("flowView")->player()->first();
    test.child<QToolButton>("tileAll")->setChecked(true);
    settle();
    QCOMPARE(test.window->size(), size);
    test.raise("collectives"); // in such windows the flow is a tab before it
    settle();
    QCOMPARE(test.window->size(), size);
    const auto* picker = test.child<QToolButton>("pickerButton");
    QVERIFY(picker->isVisible());
    QVERIFY2(picker->fontMetrics().horizontalAdvance(picker->text()) <= picker->width(), qPrintable(picker->text()));
    test.window->resize(1900, 1000);
    settle();
    QVERIFY2(picker->text().contains(QLatin1String("greedy")) && !picker->text().contains(QChar(0x2026)),
             qPrintable(picker->text()));
    test.document()->undoStack()->setClean();
}

void TestViewHeader::movingDevicesComeBeforeWords()
{
    TestWindow test({ 1024, 640 });
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    QVERIFY(test.document()->setDesign(trainingDesign("llama3.1-405b", "pipe=2,fsdp=16,model=8")).ok());
    test.child<FlowView>("flowView")->player()->first();
    settle();
    const auto* canvas = test.child<MeshCanvas>("meshCanvas");
    const QRectF all = canvas->deviceRect(0).united(canvas->deviceRect(255));
    QVERIFY2(all.height() >= 24 && QRectF(canvas->rect()).contains(all), qPrintable(QString::number(all.height())));
    test.document()->undoStack()->setClean();
}

void TestViewHeader::textBesideTheWalkFollowsItsSize()
{
    TestWindow test({ 1600, 1000 });
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    QVERIFY(test.document()->setDesign(trainingDesign()).ok());
    settle();
    const auto* words = test.child<QWidget>("flowStep");
    const auto* residual = test.child<QWidget>("flowResidual");
    const double before = words->font().pointSizeF();
    const double residualBefore = residual->font().pointSizeF();
    test.theme->setTextSize(16);
    settle();
    QCOMPARE(words->font().pointSizeF(), before + 6); // also when the flow has become a tab
    QCOMPARE(residual->font().pointSizeF(), residualBefore + 6);
    const auto* thickness = test.child<QWidget>("flowThickness");
    QVERIFY(thickness->width() > thickness->fontMetrics().horizontalAdvance(QStringLiteral("Bytes")) + 20);
    test.document()->undoStack()->setClean();
}

SHARDBOARD_TEST(TestViewHeader, withFonts)

#include "tst_viewheader.moc"
