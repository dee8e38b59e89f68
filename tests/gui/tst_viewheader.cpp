// SPDX-License-Identifier: Apache-2.0
// The headings of views in small windows: what is written is whole, elided or not there, whatever stands beside it; the field that
// finds things gives way until it is used.
#include "app/desktop/fonts.h"
#include "tests/gui/testwindow.h"
#include "tests/gui/widgets_support.h"
#include "widgets/documentview.h"
#include "widgets/findfield.h"
#include "widgets/flowview.h"
#include "widgets/planplayer.h"

#include <QLabel>
#include <QStringList>
#include <QToolButton>
#include <QUndoStack>

using namespace shardboard;

class TestViewHeader : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nothingIsCutInSmallWindows_data();
    void nothingIsCutInSmallWindows();
    void fieldIsThereWhenItIsUsed();
};

namespace {

void settle()
{
    for (int i = 0; i < 5; ++i)
        QCoreApplication::processEvents();
}

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
    QTest::newRow("1280x800, 14 pt") << QSize(1280, 800) << 14.0;
}

void TestViewHeader::nothingIsCutInSmallWindows()
{
    QFETCH(QSize, size);
    QFETCH(double, points);
    TestWindow test(size);
    test.theme.setTextSize(points);
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    QVERIFY(test.document()->setDesign(trainingDesign()).ok()); // with a choice of phases in the flow
    settle();
    QCOMPARE(cutTexts(test.window.get()), QStringList());
    test.find<FlowView>("flowView")->player()->first();
    settle();
    QCOMPARE(cutTexts(test.window.get()), QStringList());
    test.find<QToolButton>("tileAll")->setChecked(true);
    settle();
    QCOMPARE(cutTexts(test.window.get()), QStringList());
    for (const char* name : { "tileView", "flowView", "meshView" }) {
        auto* view = test.find<QWidget>(name);
        view->findChild<FindField*>()->begin();
        settle();
        QVERIFY2(cutTexts(view).isEmpty(), qPrintable(QLatin1String(name) + QLatin1String(": ") + cutTexts(view).join(QLatin1String(", "))));
    }
    test.document()->undoStack()->setClean();
}

void TestViewHeader::fieldIsThereWhenItIsUsed()
{
    TestWindow test({ 1024, 640 });
    test.window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(test.window.get()));
    QVERIFY(test.document()->setDesign(trainingDesign()).ok());
    test.find<QToolButton>("tileAll")->setChecked(true);
    settle();
    auto* field = test.find<FindField>("tileFind");
    auto* held = test.find<QToolButton>("tileHeld");
    QVERIFY(!field->isVisible());
    QVERIFY(held->isVisible());
    QTest::keyClick(test.find<QWidget>("modelCanvas"), Qt::Key_F, Qt::ControlModifier);
    settle();
    QVERIFY(field->isVisible() && field->hasFocus());
    QVERIFY(!held->isVisible());
    QTest::keyClicks(field, QStringLiteral("norm"));
    test.find<QWidget>("weightTree")->setFocus(); // what is searched for stays in sight
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

int main(int argc, char** argv)
{
    QApplication app(argc, argv);
    ensureFonts(app);
    TestViewHeader test;
    return QTest::qExec(&test, argc, argv);
}

#include "tst_viewheader.moc"
