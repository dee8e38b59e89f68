// SPDX-License-Identifier: Apache-2.0
#include "tests/app/desktop/monkey.h"
#include "tests/support/drag.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/sample.h"
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/workbench.h"
#include "app/desktop/window/mainwindow.h"
#include "model/session/document.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QDir>
#include <QFileDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QPointer>
#include <QRegularExpression>
#include <QTest>
#include <QTimer>
#include <QUndoStack>
#include <QWheelEvent>
#include <QWindow>

#include <memory>

namespace shardboard {

namespace {

constexpr int kAnswerMs = 15;

constexpr Qt::Key kKeys[] = { Qt::Key_Tab,      Qt::Key_Backtab,  Qt::Key_Return, Qt::Key_Escape, Qt::Key_Space, Qt::Key_Left,
                              Qt::Key_Right,    Qt::Key_Up,       Qt::Key_Down,   Qt::Key_Home,   Qt::Key_End,   Qt::Key_PageUp,
                              Qt::Key_PageDown, Qt::Key_Delete,   Qt::Key_Insert, Qt::Key_F2,     Qt::Key_Plus,  Qt::Key_Minus,
                              Qt::Key_0,        Qt::Key_F,        Qt::Key_A,      Qt::Key_C,      Qt::Key_V,     Qt::Key_D,
                              Qt::Key_Z,        Qt::Key_Backspace };

const char* const kTexts[] = { "P(None, 'model')",
                               "P(('data','model'))",
                               "model=3",
                               "*.mlp.*",
                               "-1",
                               "99999999999999999999",
                               "R, S(1)",
                               "",
                               "é∑\n\t",
                               "((((",
                               "[{}, {\"model\"}]",
                               "{devices=[1,4]<=[4]}",
                               "data=2,model=4",
                               "*:batch=data",
                               "nan",
                               "1e308" };

} // namespace

Monkey::Monkey(MainWindow& window, const QString& folder, quint32 seed)
    : m_window(window)
    , m_folder(folder)
    , m_random(seed)
{
    answerSoon();
}

/// One timer for each answer: a timer does not come again while what it called waits in a dialog of its own.
void Monkey::answerSoon()
{
    QTimer::singleShot(kAnswerMs, &m_answers, [this] {
        answerSoon();
        if (!m_paused)
            answer();
    });
}

void Monkey::act()
{
    using Deed = void (Monkey::*)();
    static constexpr struct {
        Deed deed;
        int share;
    } deeds[] = { { &Monkey::click, 30 },   { &Monkey::key, 25 },       { &Monkey::dragMouse, 10 }, { &Monkey::wheel, 8 },
                  { &Monkey::trigger, 12 }, { &Monkey::type, 6 },       { &Monkey::dropAxis, 6 },   { &Monkey::dropFile, 1 },
                  { &Monkey::resize, 2 },   { &Monkey::undoOrRedo, 8 }, { &Monkey::openSample, 1 }, { &Monkey::changeMode, 2 } };
    int sum = 0;
    for (const auto& it : deeds)
        sum += it.share;
    int choice = upTo(sum);
    for (const auto& it : deeds) {
        choice -= it.share;
        if (choice < 0) {
            (this->*it.deed)();
            break;
        }
    }
    if (!m_window.isVisible())
        m_window.show();
    QCoreApplication::processEvents();
    countVisits();
}

void Monkey::countVisits()
{
    if (!m_window.document()->hasDesign()) {
        ++m_visits[QStringLiteral("no design")];
        return;
    }
    ++m_visits[QStringLiteral("mode ") + modeTitle(m_window.workbench()->mode())];
    for (const Panel* panel : m_window.workbench()->all())
        if (panel->isVisible())
            ++m_visits[QStringLiteral("panel ") + panel->objectName()];
}

/// One that a hand can reach: not behind another tab, nor scrolled out of sight.
QWidget* Monkey::someWidget()
{
    QWidget* top = QApplication::activeModalWidget();
    if (top == nullptr)
        top = &m_window;
    QList<QWidget*> shown;
    for (QWidget* widget : top->findChildren<QWidget*>()) {
        if (!widget->isVisible() || widget->window() != top || widget->width() <= 2 || widget->height() <= 2)
            continue;
        const QWidget* there = top->childAt(widget->mapTo(top, widget->rect().center()));
        if (there == widget || (there != nullptr && widget->isAncestorOf(there)))
            shown << widget;
    }
    return shown.isEmpty() ? top : shown[upTo(static_cast<int>(shown.size()))];
}

QPoint Monkey::somePoint(const QWidget* widget) { return { upTo(qMax(1, widget->width())), upTo(qMax(1, widget->height())) }; }

void Monkey::click()
{
    const QPointer<QWidget> widget = someWidget();
    const QPoint point = somePoint(widget);
    const int kind = upTo(10);
    m_last = QStringLiteral("click %1 %2").arg(QString::fromLatin1(widget->metaObject()->className()), widget->objectName());
    if (kind == 0)
        QTest::mouseDClick(widget, Qt::LeftButton, {}, point);
    else if (kind == 1) {
        QContextMenuEvent event(QContextMenuEvent::Mouse, point, widget->mapToGlobal(point));
        QApplication::sendEvent(widget, &event);
    } else {
        const Qt::KeyboardModifiers modifiers = kind == 2 ? Qt::ControlModifier : kind == 3 ? Qt::ShiftModifier : Qt::NoModifier;
        QTest::mousePress(widget, Qt::LeftButton, modifiers, point);
        if (widget) // pressing may have put another one in its place
            QTest::mouseRelease(widget, Qt::LeftButton, modifiers, point);
    }
}

void Monkey::key()
{
    QWidget* widget = QApplication::focusWidget() ? QApplication::focusWidget() : someWidget();
    const Qt::Key key = kKeys[upTo(static_cast<int>(std::size(kKeys)))];
    const int modifier = upTo(8);
    const Qt::KeyboardModifiers modifiers = modifier == 0 ? Qt::ControlModifier
        : modifier == 1                                   ? Qt::ShiftModifier
        : modifier == 2                                   ? Qt::AltModifier
                                                          : Qt::NoModifier;
    m_last = QStringLiteral("key %1 to %2").arg(key).arg(widget->objectName());
    // Through the window, which finds out who has the focus, as for a person: a key may put another widget in the place of this
    // one. Pressing may close the window, which QTest::keyClick() does not expect.
    const QPointer<QWindow> window = widget->window()->windowHandle();
    for (const bool press : { true, false })
        if (window)
            QTest::simulateEvent(window, press, key, modifiers, QString(QLatin1Char(QTest::keyToAscii(key))), false);
}

void Monkey::type()
{
    m_last = QStringLiteral("type");
    if (auto* edit = qobject_cast<QLineEdit*>(QApplication::focusWidget());
        edit != nullptr && edit->isEnabled() && !edit->isReadOnly()) {
        edit->setText(QString::fromUtf8(kTexts[upTo(static_cast<int>(std::size(kTexts)))]));
        QTest::keyClick(edit, upTo(2) == 0 ? Qt::Key_Return : Qt::Key_Tab);
        return;
    }
    const auto edits = m_window.findChildren<QLineEdit*>();
    if (!edits.isEmpty())
        edits[upTo(static_cast<int>(edits.size()))]->setFocus();
}

void Monkey::dragMouse()
{
    const QPointer<QWidget> widget = someWidget();
    const QPoint from = somePoint(widget);
    m_last = QStringLiteral("drag in ") + widget->objectName();
    const Qt::MouseButton button = upTo(3) == 0 ? Qt::MiddleButton : Qt::LeftButton;
    QTest::mousePress(widget, button, {}, from);
    for (int i = 1; i <= 4 && widget; ++i)
        QTest::mouseMove(widget, from + QPoint(upTo(60) - 30, upTo(60) - 30));
    if (widget)
        QTest::mouseRelease(widget, button, {}, somePoint(widget));
}

void Monkey::wheel()
{
    QWidget* widget = someWidget();
    const QPointF point = somePoint(widget);
    m_last = QStringLiteral("wheel in ") + widget->objectName();
    QWheelEvent event(point, widget->mapToGlobal(point), {}, QPoint(upTo(3) - 1, upTo(5) - 2) * 120, Qt::NoButton,
                      upTo(4) == 0 ? Qt::ControlModifier : Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &event);
}

void Monkey::trigger()
{
    QList<QAction*> usable;
    for (QAction* action : m_window.findChildren<QAction*>())
        if (action->isEnabled() && action->menu() == nullptr && !action->isSeparator()
            && action->objectName() != QLatin1String("file.quit"))
            usable << action;
    if (usable.isEmpty())
        return;
    QAction* action = usable[upTo(static_cast<int>(usable.size()))];
    m_last = QStringLiteral("action %1 %2").arg(action->objectName(), action->text());
    // Told of another look, Qt goes through all widgets as they were when it began.
    QObject during;
    QStringList gone;
    if (static const QRegularExpression looks(QStringLiteral("^view\\.(theme|contrast|patterns|text)"));
        looks.match(action->objectName()).hasMatch())
        for (QWidget* widget : QApplication::allWidgets()) {
            const QString name = QString::fromLatin1(widget->metaObject()->className()) + QLatin1Char(' ') + widget->objectName();
            QObject::connect(widget, &QObject::destroyed, &during, [&gone, name] { gone << name; });
        }
    action->trigger();
    if (!gone.isEmpty())
        qFatal("gone while all were told of another look: %s", qPrintable(gone.join(QLatin1String(", "))));
}

void Monkey::dropAxis()
{
    if (!m_window.document()->hasDesign())
        return;
    const Mesh& mesh = m_window.document()->design().mesh;
    const QString axis = mesh.axisCount() > 0 && upTo(8) > 0 ? QString::fromStdString(mesh.axis(upTo(mesh.axisCount())).name)
                                                             : QStringLiteral("nothing");
    const std::unique_ptr<QMimeData> data(axisMimeData(axis));
    QWidget* target = upTo(3) == 0 ? someWidget() : m_window.tileView()->canvas();
    const QPoint point = somePoint(target);
    m_last = QStringLiteral("drop axis %1 on %2").arg(axis, target->objectName());
    const test::Drag drag { target, data.get() };
    if (!drag.enter(point))
        return;
    drag.move(point);
    if (upTo(4) == 0)
        m_window.document()->undoStack()->undo(); // in the middle of a drag
    if (upTo(4) == 0)
        drag.leave();
    else
        drag.drop(point);
}

void Monkey::dropFile()
{
    const QStringList files = QDir(m_folder).entryList(QDir::Files);
    const QString file = files.isEmpty() ? m_folder : m_folder + QLatin1Char('/') + files[upTo(static_cast<int>(files.size()))];
    m_last = QStringLiteral("drop file ") + file;
    test::dropFile(&m_window, file, { 50, 50 });
}

void Monkey::resize()
{
    m_last = QStringLiteral("resize");
    m_window.resize(640 + upTo(1400), 480 + upTo(900));
}

void Monkey::undoOrRedo()
{
    QUndoStack* stack = m_window.document()->undoStack();
    m_last = QStringLiteral("undo or redo");
    switch (upTo(4)) {
    case 0:
        stack->redo();
        return;
    case 1:
        if (stack->count() > 0)
            stack->setIndex(upTo(stack->count() + 1));
        return;
    default:
        stack->undo();
    }
}

void Monkey::openSample()
{
    const Sample& sample = samples()[static_cast<std::size_t>(upTo(static_cast<int>(samples().size())))];
    m_last = QStringLiteral("sample ") + sample.id;
    m_window.fileActions()->openSample(sample.id);
}

void Monkey::changeMode()
{
    const WorkMode mode = kWorkModes[static_cast<std::size_t>(upTo(static_cast<int>(kWorkModes.size())))];
    m_last = QStringLiteral("mode ") + modeId(mode);
    for (QAction* action : m_window.findChildren<QAction*>(QStringLiteral("mode.") + modeId(mode)))
        action->trigger();
}

void Monkey::answer()
{
    if (QWidget* popup = QApplication::activePopupWidget()) {
        ++m_visits[QStringLiteral("menu")];
        if (auto* menu = qobject_cast<QMenu*>(popup); menu != nullptr && upTo(3) > 0 && !menu->actions().isEmpty()) {
            QAction* action = menu->actions()[upTo(static_cast<int>(menu->actions().size()))];
            menu->close();
            if (action->isEnabled() && action->menu() == nullptr && action->objectName() != QLatin1String("file.quit"))
                action->trigger();
            return;
        }
        popup->close();
        return;
    }
    if (QWidget* dialog = QApplication::activeModalWidget()) {
        ++m_visits[QStringLiteral("dialog ") + QString::fromLatin1(dialog->metaObject()->className())];
        answerDialog(dialog);
        return;
    }
    if (QApplication::overrideCursor() != nullptr && m_window.windowHandle() != nullptr)
        QTest::keyClick(m_window.windowHandle(), Qt::Key_Escape); // a drag that waits for its end
}

void Monkey::answerDialog(QWidget* dialog)
{
    if (auto* files = qobject_cast<QFileDialog*>(dialog)) {
        const QStringList there = QDir(m_folder).entryList(QDir::Files);
        if (upTo(2) == 0 && files->acceptMode() == QFileDialog::AcceptSave) {
            files->setOption(QFileDialog::DontConfirmOverwrite);
            files->selectFile(m_folder + QStringLiteral("/monkey%1").arg(upTo(5)));
            static_cast<QDialog*>(files)->done(QDialog::Accepted);
        } else if (upTo(2) == 0 && files->fileMode() != QFileDialog::Directory && !there.isEmpty()) {
            files->selectFile(m_folder + QLatin1Char('/') + there[upTo(static_cast<int>(there.size()))]);
            static_cast<QDialog*>(files)->done(QDialog::Accepted);
        } else {
            files->reject();
        }
        return;
    }
    if (auto* box = qobject_cast<QMessageBox*>(dialog)) {
        const auto buttons = box->buttons();
        if (buttons.isEmpty())
            box->reject();
        else
            buttons[upTo(static_cast<int>(buttons.size()))]->click();
        return;
    }
    const int choice = upTo(6);
    if (choice == 0)
        dialog->close();
    else if (choice == 1 && qobject_cast<QDialog*>(dialog) != nullptr)
        static_cast<QDialog*>(dialog)->reject();
    else if (choice < 4)
        key();
    else
        click();
}

} // namespace shardboard
