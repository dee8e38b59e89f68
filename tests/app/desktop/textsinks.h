// SPDX-License-Identifier: Apache-2.0
// Every text that a window shows or tells, wherever Qt could obey it instead: labels, tool tips, boxes, items, actions,
// menus, what screen readers are told. Each problem is one line; an empty list is what a test wants.
#pragma once

#include <QAbstractItemModel>
#include <QAbstractItemView>
#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QHelpEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPointer>
#include <QScreen>
#include <QSet>
#include <QStringList>
#include <QTextBlock>
#include <QTextDocument>
#include <QTextEdit>
#include <QTimer>
#include <QToolTip>

#include <utility>

namespace shardboard {

class TextSinks {
public:
    /// Longer texts are laid out for a noticeable time.
    static constexpr qsizetype kLongest = 8000;

    QStringList problems() const { return m_problems; }
    int checked() const { return m_checked; } ///< texts
    int tips() const { return m_tips; } ///< tool tips that came up
    bool saw(const QString& text) const { return m_seen.contains(text); } ///< as the whole of a text, or of one of its lines

    /// All that a window or dialog has now, hidden parts too; tool tips where it is painted.
    void walk(QWidget* top)
    {
        texts(top, QStringLiteral("windowTitle"), top->windowTitle());
        for (const auto& widget : partsOf<QWidget>(top))
            if (widget != nullptr)
                walkWidget(widget);
        walkWidget(top);
        for (const QAction* action : top->findChildren<QAction*>())
            if (!action->parent()->objectName().startsWith(QLatin1String("qt_")))
                walkAction(action);
        for (const auto& menu : partsOf<QMenu>(top)) {
            if (menu == nullptr || menu->objectName().startsWith(QLatin1String("qt_")))
                continue; // Qt's own, of fields
            Q_EMIT menu->aboutToShow(); // some fill themselves then
            for (const QAction* action : menu->actions())
                walkAction(action);
        }
        walkAccessible(QAccessible::queryAccessibleInterface(top), 0);
    }

    /// Holds the pointer still at many points of every part that is in sight.
    void hover(QWidget* top, int steps = 9)
    {
        for (const auto& widget : partsOf<QWidget>(top)) {
            if (widget == nullptr || !widget->isVisible() || widget->width() < 8 || widget->height() < 8)
                continue;
            const bool large = widget->width() > 120 && widget->height() > 60;
            const int count = large ? steps : 1;
            for (int x = 0; x < count && widget != nullptr; ++x)
                for (int y = 0; y < count && widget != nullptr; ++y)
                    hoverAt(widget, { widget->width() * (2 * x + 1) / (2 * count), widget->height() * (2 * y + 1) / (2 * count) });
        }
    }

    void hoverAt(QWidget* widget, const QPoint& at)
    {
        const QPoint global = widget->mapToGlobal(at);
        QHelpEvent help(QEvent::ToolTip, at, global);
        QApplication::sendEvent(widget, &help);
        checkTip(widget);
        QHelpEvent what(QEvent::QueryWhatsThis, at, global);
        QApplication::sendEvent(widget, &what);
    }

    /// Asks every part that is in sight for its menu.
    void contextMenus(QWidget* top)
    {
        for (const auto& widget : partsOf<QWidget>(top)) {
            if (widget == nullptr || !widget->isVisible() || widget->width() < 40 || widget->height() < 20)
                continue;
            const QPoint at = widget->rect().center();
            QContextMenuEvent event(QContextMenuEvent::Mouse, at, widget->mapToGlobal(at));
            QTimer::singleShot(0, qApp, [this] { leaveMenu(); }); // some wait for an answer
            QApplication::sendEvent(widget, &event);
            QCoreApplication::processEvents();
            QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete); // menus go when they are closed
        }
    }
    int menus() const { return m_menus; }

private:
    /// Some go while the others are looked at.
    template <class Part>
    static QList<QPointer<Part>> partsOf(const QWidget* top)
    {
        QList<QPointer<Part>> out;
        for (Part* part : top->findChildren<Part*>())
            out.push_back(part);
        return out;
    }

    static QString describe(const QObject* object)
    {
        QStringList path;
        for (const QObject* at = object; at != nullptr && path.size() < 4; at = at->parent())
            path.prepend(QString::fromLatin1(at->metaObject()->className()).section(QStringLiteral("::"), -1) + QLatin1Char('#')
                         + at->objectName());
        return path.join(QStringLiteral(" > "));
    }

    void note(const QObject* where, const QString& what, const QString& why)
    {
        const QString line = describe(where) + QStringLiteral(": ") + what + QLatin1Char(' ') + why;
        if (!m_problems.contains(line))
            m_problems << line;
    }

    /// What would be obeyed rather than shown (Unicode: Cc, what turns the direction of writing, what ends lines, byte
    /// order marks).
    static bool isObeyed(QChar c)
    {
        const char16_t code = c.unicode();
        return (c.category() == QChar::Other_Control && code != u'\n') || code == 0x61c || code == 0x200e || code == 0x200f
            || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
    }

    void texts(const QObject* where, const QString& what, const QString& text)
    {
        if (text.isEmpty())
            return;
        ++m_checked;
        for (const QChar c : text)
            if (isObeyed(c)) {
                note(where, what,
                     QStringLiteral("has the character %1 in “%2”").arg(QString::number(c.unicode(), 16), text.left(80)));
                break;
            }
        if (text.size() > kLongest)
            note(where, what, QStringLiteral("has %1 characters").arg(text.size()));
        for (const QString& line : text.split(QLatin1Char('\n')))
            m_seen.insert(line);
        m_seen.insert(text);
    }

    void walkWidget(QWidget* widget)
    {
        texts(widget, QStringLiteral("toolTip"), widget->toolTip());
        texts(widget, QStringLiteral("statusTip"), widget->statusTip());
        texts(widget, QStringLiteral("accessibleName"), widget->accessibleName());
        texts(widget, QStringLiteral("accessibleDescription"), widget->accessibleDescription());
        if (Qt::mightBeRichText(widget->whatsThis()))
            note(widget, QStringLiteral("whatsThis"), QStringLiteral("may be rich text"));
        if (auto* label = qobject_cast<QLabel*>(widget)) {
            label->ensurePolished(); // as before it is shown
            texts(label, QStringLiteral("text"), label->text());
            // What is rich on purpose has links of its own and nothing to load.
            const bool own =
                label->textFormat() == Qt::RichText && !label->text().contains(QLatin1String("<img"), Qt::CaseInsensitive);
            if (label->textFormat() != Qt::PlainText && !own)
                note(label, QStringLiteral("text"), QStringLiteral("is not plain"));
        }
        if (const auto* edit = qobject_cast<QTextEdit*>(widget))
            walkDocument(edit, *edit->document());
        if (const auto* box = qobject_cast<QComboBox*>(widget))
            for (int i = 0; i < box->count(); ++i) {
                texts(box, QStringLiteral("item"), box->itemText(i));
                texts(box, QStringLiteral("item's tip"), box->itemData(i, Qt::ToolTipRole).toString());
            }
        if (auto* view = qobject_cast<QAbstractItemView*>(widget);
            view != nullptr && view->model() != nullptr && !qobject_cast<QHeaderView*>(widget)) {
            walkModel(view, *view->model(), {});
            for (const Qt::Orientation orientation : { Qt::Horizontal, Qt::Vertical })
                for (int i = 0; i < (orientation == Qt::Horizontal ? view->model()->columnCount() : 0); ++i)
                    for (const int role : { Qt::DisplayRole, Qt::ToolTipRole })
                        texts(view, QStringLiteral("header"), view->model()->headerData(i, orientation, role).toString());
        }
        for (const char* property : { "text", "title", "windowTitle" }) {
            const QVariant value = widget->property(property);
            if (value.userType() == QMetaType::QString && !qobject_cast<QLineEdit*>(widget))
                texts(widget, QString::fromLatin1(property), value.toString());
        }
    }

    void walkModel(const QAbstractItemView* view, const QAbstractItemModel& model, const QModelIndex& parent)
    {
        constexpr int kMostRows = 400; // of lists that repeat themselves
        for (int row = 0; row < std::min(model.rowCount(parent), kMostRows); ++row)
            for (int column = 0; column < model.columnCount(parent); ++column) {
                const QModelIndex index = model.index(row, column, parent);
                for (const int role : { int(Qt::DisplayRole), int(Qt::ToolTipRole), int(Qt::StatusTipRole), int(Qt::WhatsThisRole),
                                        int(Qt::AccessibleTextRole), int(Qt::AccessibleDescriptionRole) }) {
                    const QVariant value = model.data(index, role);
                    if (value.userType() == QMetaType::QString)
                        texts(view, QStringLiteral("row %1 column %2 role %3").arg(row).arg(column).arg(role), value.toString());
                }
                if (column == 0)
                    walkModel(view, model, index);
            }
    }

    void walkAction(const QAction* action)
    {
        // What follows a tab is the key.
        for (const auto& [what, text] : { std::pair("text", action->text()), std::pair("iconText", action->iconText()),
                                          std::pair("toolTip", action->toolTip()) })
            texts(action, QString::fromLatin1(what),
                  text.count(QLatin1Char('\t')) == 1 ? text.section(QLatin1Char('\t'), 0, 0) : text);
        texts(action, QStringLiteral("statusTip"), action->statusTip());
        if (Qt::mightBeRichText(action->whatsThis()))
            note(action, QStringLiteral("whatsThis"), QStringLiteral("may be rich text"));
    }

    void walkDocument(const QWidget* where, const QTextDocument& document)
    {
        for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
            for (auto part = block.begin(); !part.atEnd(); ++part)
                if (part.fragment().charFormat().isImageFormat()
                    && !part.fragment().charFormat().toImageFormat().name().startsWith(QLatin1Char(':')))
                    note(where, QStringLiteral("document"),
                         QStringLiteral("has the picture ") + part.fragment().charFormat().toImageFormat().name());
    }

    void walkAccessible(QAccessibleInterface* item, int depth)
    {
        constexpr int kMostChildren = 400;
        if (item == nullptr || !item->isValid() || depth > 12)
            return;
        for (const QAccessible::Text part : { QAccessible::Name, QAccessible::Description, QAccessible::Help })
            texts(item->object() != nullptr ? item->object() : qApp, QStringLiteral("accessible text"), item->text(part));
        for (int i = 0; i < std::min(item->childCount(), kMostChildren); ++i)
            walkAccessible(item->child(i), depth + 1);
    }

    void leaveMenu()
    {
        while (auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget())) {
            ++m_menus;
            const bool ours = !menu->objectName().startsWith(QLatin1String("qt_"));
            for (const QAction* action : ours ? menu->actions() : QList<QAction*>()) {
                walkAction(action);
                for (const QAction* inside : action->menu() != nullptr ? action->menu()->actions() : QList<QAction*>())
                    walkAction(inside);
            }
            if (menu->width() > menu->screen()->size().width())
                note(menu, QStringLiteral("menu"), QStringLiteral("is wider than the screen"));
            menu->close();
        }
    }

    void checkTip(const QWidget* where)
    {
        if (!QToolTip::isVisible())
            return;
        for (const QWidget* top : QApplication::topLevelWidgets()) {
            const auto* label = qobject_cast<const QLabel*>(top);
            if (label == nullptr || !label->inherits("QTipLabel") || !label->isVisible())
                continue;
            ++m_tips;
            texts(where, QStringLiteral("tip"), label->text());
            if (label->textFormat() != Qt::PlainText)
                note(where, QStringLiteral("tip"), QStringLiteral("is not plain"));
            if (const QSize most = label->screen()->size(); label->width() > most.width() || label->height() > most.height())
                note(where, QStringLiteral("tip"),
                     QStringLiteral("is larger than the screen: %1 x %2").arg(label->width()).arg(label->height()));
        }
        QToolTip::hideText();
    }

    QStringList m_problems;
    QSet<QString> m_seen;
    int m_checked = 0;
    int m_tips = 0;
    int m_menus = 0;
};

} // namespace shardboard
