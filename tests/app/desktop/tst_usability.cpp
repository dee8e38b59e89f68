// SPDX-License-Identifier: Apache-2.0
// The real window as people use it: it comes back as it was left and where it can be seen, fits small screens, names everything for
// screen readers, and is used by keys alone, in the order of reading and with the focus in sight.
#include "app/desktop/base/banner.h"
#include "app/desktop/files/newdialog.h"
#include "app/desktop/files/recentfiles.h"
#include "app/desktop/panels/workbench.h"
#include "app/desktop/window/helpwindow.h"
#include "app/desktop/window/shortcutsheet.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "widgets/controls/windowplace.h"
#include "widgets/flow/flowcanvas.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractScrollArea>
#include <QAccessible>
#include <QComboBox>

#include <QFile>
#include <QHeaderView>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QSplitter>
#include <QTabBar>
#include <QTimer>
#include <QToolBar>
#include <QToolButton>

#include <algorithm>
#include <set>

using namespace shardboard;

namespace {

QString describe(const QWidget* widget)
{
    QStringList path;
    for (const QWidget* at = widget; at != nullptr && path.size() < 4; at = at->parentWidget())
        path.prepend(QString::fromLatin1(at->metaObject()->className()).section(QStringLiteral("::"), -1) + QLatin1Char('#')
                     + at->objectName());
    return path.join(QStringLiteral(" › "));
}

/// Roles of what a person can use.
bool isControl(QAccessible::Role role)
{
    switch (role) {
    case QAccessible::PushButton:
    case QAccessible::ButtonMenu:
    case QAccessible::ButtonDropDown:
    case QAccessible::CheckBox:
    case QAccessible::RadioButton:
    case QAccessible::ComboBox:
    case QAccessible::EditableText:
    case QAccessible::SpinBox:
    case QAccessible::Slider:
    case QAccessible::Dial:
    case QAccessible::List:
    case QAccessible::Table:
    case QAccessible::Tree:
    case QAccessible::PageTab:
    case QAccessible::MenuItem:
    case QAccessible::ProgressBar:
        return true;
    default:
        return false;
    }
}

bool hasItems(QAccessible::Role role)
{
    return role == QAccessible::List || role == QAccessible::Table || role == QAccessible::Tree || role == QAccessible::ComboBox;
}

/// Controls without a name, in all that can be seen below an interface.
void findNameless(QAccessibleInterface* from, QStringList& out, int& controls, const QString& path = {})
{
    if (from == nullptr || !from->isValid() || from->state().invisible)
        return;
    const QString here = path + QStringLiteral(" › ")
        + (from->object()
               ? QString::fromLatin1(from->object()->metaObject()->className()) + QLatin1Char('#') + from->object()->objectName()
               : QString::number(from->role()));
    if (isControl(from->role())) {
        ++controls;
        if (from->text(QAccessible::Name).trimmed().isEmpty())
            out << here;
    }
    if (hasItems(from->role()))
        return;
    for (int i = 0; i < from->childCount(); ++i)
        findNameless(from->child(i), out, controls, here);
}

bool takesTab(const QWidget* widget)
{
    if (const auto* tabs = qobject_cast<const QTabBar*>(widget); tabs != nullptr && tabs->count() == 0)
        return false; // Qt keeps one for panels that may come
    return widget->isVisible() && widget->isEnabled() && (widget->focusPolicy() & Qt::TabFocus) && widget->focusProxy() == nullptr
        && widget->width() > 0 && widget->height() > 0 && !widget->visibleRegion().isEmpty();
}

/// The panel that a widget is in.
QWidget* panelOf(QWidget* widget)
{
    QWidget* out = widget;
    for (QWidget* at = widget; at != nullptr; at = at->parentWidget()) {
        if (qobject_cast<Panel*>(at))
            return at;
        if (at->objectName().endsWith(QLatin1String("View")) || at->objectName() == QLatin1String("summaryBar")
            || at->objectName() == QLatin1String("banner"))
            out = at;
    }
    return out;
}

/// How many points of two pictures of one size differ.
int differences(const QImage& a, const QImage& b)
{
    int out = 0;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x)
            out += a.pixel(x, y) != b.pixel(x, y) ? 1 : 0;
    return out;
}

} // namespace

class TestUsability : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { m_it.close(); }

    void threeWaysOnByTabAndEnter();
    void recentListIsCleared();
    void layoutComesBack();
    void unreadableLayoutFallsBack();
    void resetBringsEverythingBack();
    void usableOnASmallScreen();
    void panelThatComesTakesNoOthersRoom();
    void flowIsInSightAtOnce_data();
    void flowIsInSightAtOnce();
    void dialogsFitSmallScreens();
    void windowsAreMovedBackIntoSight_data();
    void windowsAreMovedBackIntoSight();
    void savedPositionBeyondTheScreen();
    void everyControlHasAName();
    void buttonsWithoutWordsHaveToolTips();
    void everythingIsReachedByTab();
    void tabFollowsReading();
    void focusIsSeen();

private:
    std::vector<QWidget*> tabStops();

    AppWindow m_it;
};

void TestUsability::threeWaysOnByTabAndEnter()
{
    m_it.open({ 1280, 800 }, false);
    std::set<QString> reached;
    for (int i = 0; i < 40; ++i) {
        if (const QWidget* at = QApplication::focusWidget())
            reached.insert(at->objectName());
        QTest::keyClick(m_it.window.get(), Qt::Key_Tab);
    }
    for (const char* name : { "welcome.sample", "welcome.new", "welcome.open" })
        QVERIFY2(reached.count(QString::fromLatin1(name)) == 1, name);
    for (const char* name : { "welcome.new", "welcome.open" }) {
        bool asked = false;
        QTimer::singleShot(0, qApp, [&asked] {
            if (auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget())) {
                asked = true;
                dialog->reject();
            }
        });
        auto* button = m_it.child<QPushButton>(name);
        button->setFocus();
        QTest::keyClick(button, Qt::Key_Return);
        settle();
        QVERIFY2(asked, name);
        QVERIFY(!m_it.window->document()->hasDesign());
    }
    auto* sample = m_it.child<QPushButton>("welcome.sample");
    sample->setFocus();
    QTest::keyClick(sample, Qt::Key_Return);
    QVERIFY(m_it.window->document()->hasDesign());
}

void TestUsability::recentListIsCleared()
{
    m_it.open({ 1280, 800 }, false);
    RecentFiles* recent = m_it.window->recentFiles();
    recent->add(m_it.folder.filePath(QStringLiteral("gone.shardboard")));
    auto* list = m_it.child<QListWidget>("welcome.recent");
    QVERIFY(list->isVisible());
    QVERIFY(!(list->item(0)->flags() & Qt::ItemIsEnabled)); // greyed
    QVERIFY(list->item(0)->toolTip().contains(QStringLiteral("no longer exists")));
    QMenu menu;
    recent->attach(&menu);
    QVERIFY(!menu.actions().constFirst()->isEnabled());
    menu.actions().constLast()->trigger();
    QVERIFY(recent->files().isEmpty());
    QVERIFY(!list->isVisible());
    QVERIFY(m_it.settings->recentFiles().isEmpty());
}

void TestUsability::layoutComesBack()
{
    m_it.open({ 1360, 780 });
    Workbench* bench = m_it.window->workbench();
    m_it.raise("cuts");
    m_it.child<QSplitter>("benchSplitter")->setSizes({ 250, 250 });
    bench->setMode(WorkMode::Explore);
    m_it.child<QSplitter>("exploreSplitter")->setSizes({ 120, 400 });
    m_it.raise("hardware"); // comes when it is asked for
    settle();
    const QList<int> design = m_it.child<QSplitter>("benchSplitter")->sizes();
    const QList<int> explore = m_it.child<QSplitter>("exploreSplitter")->sizes();
    const QSize size = m_it.window->size();
    m_it.open({});
    bench = m_it.window->workbench();
    QCOMPARE(m_it.window->height(), size.height());
    QVERIFY(m_it.window->width() < size.width()); // the screen of the test is not so wide
    QCOMPARE(bench->mode(), WorkMode::Explore);
    QVERIFY(bench->find(QStringLiteral("hardware"))->group() != nullptr);
    const auto share = [](const QList<int>& sizes) { return 100 * sizes[0] / (sizes[0] + sizes[1]); };
    settle();
    QVERIFY(std::abs(share(m_it.child<QSplitter>("exploreSplitter")->sizes()) - share(explore)) <= 3);
    bench->setMode(WorkMode::Design);
    settle();
    QVERIFY(bench->find(QStringLiteral("cuts"))->isVisible());
    const QList<int> now = m_it.child<QSplitter>("benchSplitter")->sizes();
    QVERIFY2(std::abs(share(now) - share(design)) <= 3, qPrintable(QStringLiteral("%1 of %2").arg(share(now)).arg(share(design))));
}

void TestUsability::unreadableLayoutFallsBack()
{
    m_it.open();
    Workbench* bench = m_it.window->workbench();
    const QByteArray older = m_it.window->saveState(1); // as a version before this one wrote it
    for (const QByteArray& state : { QByteArray("garbage"), QByteArray(), older, bench->save().left(40) }) {
        m_it.raise("cuts");
        m_it.raise("memory");
        QVERIFY(!bench->restore(state));
        settle();
        QCOMPARE(bench->mode(), WorkMode::Design);
        QVERIFY(bench->find(QStringLiteral("collectives"))->isVisible());
    }
    m_it.settings->setWindow(QByteArray("no geometry"), QByteArray("no state"));
    MainWindow another(*m_it.settings, *m_it.theme); // a start with such settings
    another.resize(1280, 800);
    another.show();
    another.fileActions()->openSample();
    settle();
    for (const char* name : { "weights", "collectives", "inspector" })
        QVERIFY2(another.workbench()->find(QString::fromLatin1(name))->isVisible(), name);
    const auto sizes = another.findChild<QSplitter*>(QStringLiteral("benchSplitter"))->sizes();
    QVERIFY(sizes[0] > 100 && sizes[1] > 100);
}

void TestUsability::resetBringsEverythingBack()
{
    m_it.open();
    Workbench* bench = m_it.window->workbench();
    m_it.child<QToolBar>("summary")->hide();
    m_it.raise("hardware");
    m_it.raise("memory");
    bench->toggleMaximized(bench->find(QStringLiteral("memory")));
    m_it.child<QSplitter>("upperSplitter")->setSizes({ 900, 100 });
    m_it.action("view.reset")->trigger();
    settle();
    QVERIFY(bench->find(QStringLiteral("weights"))->isVisible());
    QVERIFY(m_it.child<QToolBar>("summary")->isVisible());
    QVERIFY(bench->maximized() == nullptr);
    QCOMPARE(bench->mode(), WorkMode::Design);
    QVERIFY(bench->find(QStringLiteral("hardware"))->group() == nullptr); // as at first
    const auto sizes = m_it.child<QSplitter>("upperSplitter")->sizes();
    QVERIFY(sizes[1] > sizes[0]);
}

void TestUsability::usableOnASmallScreen()
{
    m_it.open({ 1024, 640 });
    settle();
    QCOMPARE(m_it.window->size(), QSize(1024, 640)); // nothing asks for more
    for (const Panel* dock : m_it.window->workbench()->all()) {
        m_it.window->workbench()->raise(dock->objectName());
        settle();
        QVERIFY2(
            m_it.window->size() == QSize(1024, 640),
            qPrintable(QStringLiteral("%1 %2 x %3").arg(dock->objectName()).arg(m_it.window->width()).arg(m_it.window->height())));
        QVERIFY2(dock->widget()->height() >= 60, qPrintable(dock->objectName()));
    }
    // Run and Export are in the bar still, and whole.
    for (const QPushButton* button : m_it.child<QWidget>("summaryBar")->findChildren<QPushButton*>())
        if (button->isVisible())
            QVERIFY2(m_it.window->rect().contains(QRect(button->mapTo(m_it.window.get(), QPoint()), button->size())),
                     qPrintable(button->text()));
    m_it.window->workbench()->raise(QStringLiteral("inspector"));
    settle();
    for (const char* name : { "meshCanvas", "tileCanvas", "weightTree" })
        QVERIFY2(m_it.child<QWidget>(name)->width() >= 150 && m_it.child<QWidget>(name)->height() >= 100, name);
}

/// A panel that comes does not take the room of the weights, and what it took comes back; columns stay from mode to mode.
void TestUsability::panelThatComesTakesNoOthersRoom()
{
    m_it.open({ 1280, 800 });
    settle();
    Workbench* bench = m_it.window->workbench();
    const int left = bench->find(QStringLiteral("weights"))->width();
    const int right = bench->find(QStringLiteral("inspector"))->width();
    bench->raise(QStringLiteral("hardware"));
    settle();
    QCOMPARE(bench->find(QStringLiteral("weights"))->width(), left);
    bench->close(bench->find(QStringLiteral("hardware")));
    settle();
    QCOMPARE(bench->find(QStringLiteral("inspector"))->width(), right);
    for (const WorkMode mode : kWorkModes) {
        bench->setMode(mode);
        settle();
        QCOMPARE(bench->find(QStringLiteral("weights"))->width(), left);
        QCOMPARE(bench->find(QStringLiteral("inspector"))->width(), right);
    }
}

void TestUsability::flowIsInSightAtOnce_data()
{
    QTest::addColumn<QString>("sample");
    for (const char* id : { "llama3-8b", "llama3-8b-mistake", "llama3-8b-one-gpu" })
        QTest::newRow(id) << QString::fromLatin1(id);
}

/// A block with its collectives is seen at first, all lines of it and large enough to be read.
void TestUsability::flowIsInSightAtOnce()
{
    QFETCH(QString, sample);
    m_it.open({ 1280, 800 }, false);
    m_it.window->fileActions()->openSample(sample);
    settle();
    const auto* flow = m_it.child<FlowCanvas>("flowCanvas");
    const QRectF view = flow->currentView().view();
    QVERIFY2(flow->currentView().scale() >= 0.75, qPrintable(QString::number(flow->currentView().scale())));
    for (int i = 0; i < static_cast<int>(flow->scene().items.size()); ++i)
        QVERIFY2(view.contains(flow->itemRect(i)),
                 qPrintable(QStringLiteral("%1: %2 of %3 at scale %4")
                                .arg(flow->scene().items[static_cast<std::size_t>(i)].title)
                                .arg(flow->itemRect(i).bottom())
                                .arg(view.bottom())
                                .arg(flow->currentView().scale())));
}

void TestUsability::dialogsFitSmallScreens()
{
    m_it.open();
    const QSize small(1024, 640);
    const auto check = [&](QWidget* dialog, const char* what) {
        dialog->show();
        settle();
        const QSize screen = dialog->screen()->availableSize();
        QVERIFY2(dialog->minimumSizeHint().width() <= small.width() && dialog->minimumSizeHint().height() <= small.height(), what);
        QVERIFY2(dialog->width() <= screen.width() && dialog->height() <= screen.height(), what);
        dialog->close();
    };
    for (const double points : { 10.0, 14.0 }) {
        m_it.theme->setTextSize(points);
        NewDialog making;
        check(&making, "new");
        HelpWindow help(*m_it.window->actionRegistry());
        check(&help, "help");
        ShortcutSheet sheet(*m_it.window->actionRegistry());
        check(&sheet, "shortcuts");
    }
    m_it.theme->setTextSize(m_it.theme->usualTextSize());
}

void TestUsability::windowsAreMovedBackIntoSight_data()
{
    QTest::addColumn<QRect>("wanted");
    QTest::addColumn<QRect>("placed");
    QTest::newRow("within") << QRect(200, 100, 400, 300) << QRect(200, 100, 400, 300);
    QTest::newRow("right of it") << QRect(5000, 100, 400, 300) << QRect(700, 100, 400, 300);
    QTest::newRow("above it") << QRect(200, -900, 400, 300) << QRect(200, 50, 400, 300);
    QTest::newRow("too large") << QRect(0, 0, 3000, 2000) << QRect(100, 50, 1000, 600);
    QTest::newRow("half below") << QRect(200, 500, 400, 300) << QRect(200, 350, 400, 300);
}

void TestUsability::windowsAreMovedBackIntoSight()
{
    QFETCH(QRect, wanted);
    QTEST(placedWithin(wanted, QRect(100, 50, 1000, 600)), "placed");
    QVERIFY(QRect(100, 50, 1000, 600).contains(placedWithin(wanted, QRect(100, 50, 1000, 600), QSize(4, 30))));
}

void TestUsability::savedPositionBeyondTheScreen()
{
    m_it.open({ 700, 500 }, false);
    m_it.window->move(6000, 4000); // on a screen that will be gone
    settle();
    m_it.open({}, false);
    const QRect screen = m_it.window->screen()->availableGeometry();
    const QRect seen = screen.intersected(QRect(m_it.window->pos(), m_it.window->size()));
    QVERIFY2(seen.width() >= 300 && seen.height() >= 300,
             qPrintable(QStringLiteral("%1, %2").arg(m_it.window->x()).arg(m_it.window->y())));
    QVERIFY(m_it.window->width() <= screen.width());
    QWidget lost;
    lost.setGeometry(-3000, 90, 300, 200);
    fitToScreen(&lost);
    QVERIFY(screen.contains(QRect(lost.pos(), lost.size())));
    QWidget half; // a part of it is seen, so it was put there
    half.setGeometry(screen.right() - 149, 90, 300, 200);
    const QPoint before = half.pos();
    fitToScreen(&half);
    QCOMPARE(half.pos(), before);
}

void TestUsability::everyControlHasAName()
{
    m_it.open({ 1280, 800 }, false);
    QStringList nameless;
    int controls = 0;
    findNameless(QAccessible::queryAccessibleInterface(m_it.window.get()), nameless, controls);
    m_it.window->fileActions()->openSample();
    m_it.action("compare.keep")->trigger();
    for (const Panel* dock : m_it.window->workbench()->all()) {
        m_it.window->workbench()->raise(dock->objectName());
        settle();
        findNameless(QAccessible::queryAccessibleInterface(m_it.window.get()), nameless, controls);
    }
    NewDialog making;
    HelpWindow help(*m_it.window->actionRegistry());
    ShortcutSheet sheet(*m_it.window->actionRegistry());
    for (QWidget* dialog : std::initializer_list<QWidget*> { &making, &help, &sheet }) {
        dialog->show();
        settle();
        findNameless(QAccessible::queryAccessibleInterface(dialog), nameless, controls);
    }
    nameless.removeDuplicates();
    QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join(QLatin1Char('\n'))));
    QVERIFY2(controls > 200, qPrintable(QString::number(controls))); // it did look
}

void TestUsability::buttonsWithoutWordsHaveToolTips()
{
    m_it.open();
    QStringList silent;
    int seen = 0;
    for (const Panel* dock : m_it.window->workbench()->all()) {
        m_it.window->workbench()->raise(dock->objectName());
        settle();
        for (const QAbstractButton* button : m_it.window->findChildren<QAbstractButton*>()) {
            const QString text = button->text();
            const bool words = std::count_if(text.begin(), text.end(), [](QChar c) { return c.isLetter(); }) > 1;
            if (!button->isVisible() || words || button->objectName().startsWith(QLatin1String("qt_"))
                || qobject_cast<const QTabBar*>(button->parentWidget()) || qobject_cast<const QLineEdit*>(button->parentWidget()))
                continue; // parts of Qt's own fields and tab bars
            ++seen;
            if (button->toolTip().isEmpty())
                silent << describe(button);
        }
    }
    silent.removeDuplicates();
    QVERIFY2(silent.isEmpty(), qPrintable(silent.join(QLatin1Char('\n'))));
    QVERIFY(seen > 5);
}

/// Everything that Tab comes to, in its order, once around.
std::vector<QWidget*> TestUsability::tabStops()
{
    std::vector<QWidget*> out;
    m_it.child<QWidget>("weightTree")->setFocus();
    for (int i = 0; i < 600; ++i) {
        QWidget* at = QApplication::focusWidget();
        if (at == nullptr || std::find(out.begin(), out.end(), at) != out.end())
            break;
        out.push_back(at);
        QTest::keyClick(at, Qt::Key_Tab);
    }
    return out;
}

void TestUsability::everythingIsReachedByTab()
{
    m_it.open({ 1600, 1000 });
    m_it.window->setAnimated(false); // panels are where they are at once
    QTest::qWait(300); // but those that come back with the layout
    QStringList missed;
    std::size_t most = 0;
    for (const Panel* dock : m_it.window->workbench()->all()) {
        m_it.window->workbench()->raise(dock->objectName());
        settle();
        const auto stops = tabStops();
        most = std::max(most, stops.size());
        for (QWidget* widget : m_it.window->findChildren<QWidget*>())
            if (takesTab(widget) && widget->window() == m_it.window.get()
                && std::find(stops.begin(), stops.end(), widget) == stops.end())
                missed << dock->objectName() + QStringLiteral(": ") + describe(widget);
        // What is used with the mouse can be used by keys: a canvas or list takes the focus.
        for (const QAbstractItemView* view : dock->widget()->findChildren<QAbstractItemView*>())
            if (!qobject_cast<const QHeaderView*>(view) && view->isVisible() && view->isEnabled()
                && !(view->focusPolicy() & Qt::TabFocus) && view->window() == m_it.window.get())
                missed << describe(view) + QStringLiteral(" takes no focus");
    }
    missed.removeDuplicates();
    QVERIFY2(missed.isEmpty(), qPrintable(missed.join(QLatin1Char('\n'))));
    QVERIFY2(most > 25, qPrintable(QString::number(most)));
}

/// One panel after the other; within a panel from above to below, and a row from left to right. What stands beside several rows is
/// a column of its own, before or after them.
void TestUsability::tabFollowsReading()
{
    m_it.open({ 1600, 1000 });
    m_it.window->setAnimated(false); // panels are where they are at once
    QTest::qWait(300); // but those that come back with the layout
    QStringList wrong;
    int pairs = 0;
    const auto walk = [&] {
        settle();
        const auto stops = tabStops();
        for (const QScrollArea* area : m_it.window->findChildren<QScrollArea*>())
            area->verticalScrollBar()->setValue(0); // as it is read
        std::set<QWidget*> left { panelOf(stops.front()) }; // that Tab has gone out of; the walk begins within the first
        for (std::size_t i = 1; i < stops.size(); ++i) {
            QWidget* const before = stops[i - 1];
            QWidget* const after = stops[i];
            QWidget* const panel = panelOf(before);
            if (panel != panelOf(after)) {
                if (i > 1 && panel != panelOf(stops.front()))
                    left.insert(panel);
                if (panelOf(after) != panelOf(stops.front()) && left.count(panelOf(after)) == 1)
                    wrong << QStringLiteral("back to ") + describe(after);
                continue;
            }
            if (before->isAncestorOf(after) || after->isAncestorOf(before))
                continue;
            ++pairs;
            const QRect a(before->mapTo(panel, QPoint()), before->size());
            const QRect b(after->mapTo(panel, QPoint()), after->size());
            const bool above = b.bottom() <= a.top() && b.left() <= a.right(); // and not a column further right
            const bool leftOf = b.right() <= a.left() && b.top() <= a.center().y() && a.top() <= b.center().y()
                && std::abs(a.height() - b.height()) < 16;
            if (above || leftOf)
                wrong << describe(before) + QStringLiteral("  →  ") + describe(after);
        }
    };
    for (const Panel* dock : m_it.window->workbench()->all()) {
        m_it.window->workbench()->raise(dock->objectName());
        walk();
    }
    // With an edit, what it enables is in its place, too.
    Design design = m_it.window->document()->design();
    design.workload.batch *= 2;
    QVERIFY(m_it.window->document()->edit(design, QStringLiteral("Another batch")).ok());
    m_it.window->workbench()->raise(QStringLiteral("history"));
    walk();
    m_it.child<Banner>("banner")->ask(QStringLiteral("Which?"),
                                      { { QStringLiteral("This one"), [] {} }, { QStringLiteral("The other one"), [] {} } });
    walk();
    wrong.removeDuplicates();
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(QLatin1Char('\n'))));
    QVERIFY2(pairs > 200, qPrintable(QString::number(pairs)));
}

/// Every stop of Tab looks otherwise with the focus than without: by a frame, not by a caret alone.
void TestUsability::focusIsSeen()
{
    m_it.open({ 1600, 1000 });
    m_it.window->setAnimated(false); // panels are where they are at once
    QTest::qWait(300); // but those that come back with the layout
    constexpr int kLeast = 30; // points
    for (const ThemeChoice choice : { ThemeChoice::Light, ThemeChoice::Dark }) {
        m_it.theme->setChoice(choice);
        QStringList unseen;
        std::size_t seen = 0;
        for (const Panel* dock : m_it.window->workbench()->all()) {
            m_it.window->workbench()->raise(dock->objectName());
            settle();
            std::set<QWidget*> met;
            m_it.child<QWidget>("weightTree")->setFocus();
            for (QWidget* at = QApplication::focusWidget(); at != nullptr && met.insert(at).second;
                 at = QApplication::focusWidget()) {
                settle();
                const QRect around = QRect(at->mapTo(m_it.window.get(), QPoint()), at->size())
                                         .adjusted(-4, -4, 4, 4)
                                         .intersected(m_it.window->rect());
                const QImage with = m_it.window->grab(around).toImage();
                at->clearFocus();
                settle();
                const int points = differences(with, m_it.window->grab(around).toImage());
                if (points < kLeast)
                    unseen << describe(at) + QStringLiteral(" %1").arg(points);
                at->setFocus(Qt::OtherFocusReason);
                QTest::keyClick(at, Qt::Key_Tab); // scrolls to what comes
            }
            seen += met.size();
        }
        m_it.theme->setChoice(ThemeChoice::System);
        unseen.removeDuplicates();
        QVERIFY2(unseen.isEmpty(), qPrintable(unseen.join(QLatin1Char('\n'))));
        QVERIFY2(seen > 200, qPrintable(QString::number(seen)));
    }
}

SHARDBOARD_TEST(TestUsability)

#include "tst_usability.moc"
