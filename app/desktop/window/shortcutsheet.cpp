// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/shortcutsheet.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/window/keyfield.h"
#include "app/desktop/window/viewkeys.h"
#include "widgets/controls/windowplace.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"

#include <QAction>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>

namespace shardboard {

namespace {

enum Column { CommandColumn, GroupColumn, KeysColumn, ColumnCount };
constexpr int kIdRole = Qt::UserRole;

/// `file.open` is of the group File; an id's first part is the menu that it is in.
QString groupOf(const QString& id)
{
    QString group = id.section(QLatin1Char('.'), 0, 0);
    if (group == QLatin1String("compare") || group == QLatin1String("hardware"))
        group = QStringLiteral("design");
    else if (group == QLatin1String("picture"))
        group = QObject::tr("save picture");
    group[0] = group[0].toUpper();
    return group;
}

QString keysText(const QList<QKeySequence>& keys) { return QKeySequence::listToString(keys, QKeySequence::NativeText); }

} // namespace

QString ShortcutSheet::viewKey(const QKeySequence& keys)
{
    QStringList out;
    for (const ViewKey& key : viewKeys())
        if (key.keys.contains(keys))
            out << key.does;
    return out.join(QStringLiteral("; "));
}

ShortcutSheet::ShortcutSheet(Actions& actions, QWidget* parent)
    : QDialog(parent)
    , m_actions(actions)
    , m_filter(new QLineEdit(this))
    , m_list(new QTreeWidget(this))
    , m_name(new QLabel(this))
    , m_keys(new KeyField(this))
    , m_set(new QPushButton(tr("&Set"), this))
    , m_take(new QPushButton(this))
    , m_none(new QPushButton(tr("&No Keys"), this))
    , m_reset(new QPushButton(tr("&Reset"), this))
    , m_resetAll(new QPushButton(tr("Reset &All"), this))
    , m_message(new QLabel(this))
{
    setObjectName(QStringLiteral("shortcutSheet"));
    setWindowTitle(tr("Keyboard Shortcuts"));
    buildLayout();
    connect(m_filter, &QLineEdit::textChanged, this, &ShortcutSheet::filter);
    connect(m_list, &QTreeWidget::currentItemChanged, this, &ShortcutSheet::choose);
    connect(m_list, &QTreeWidget::itemActivated, this, [this] { m_keys->setFocus(Qt::OtherFocusReason); });
    connect(m_keys, &KeyField::keysPressed, this, &ShortcutSheet::showConflict);
    connect(m_keys, &QLineEdit::returnPressed, m_set, &QPushButton::click); // which is disabled where nothing is changed
    connect(m_set, &QPushButton::clicked, this, [this] { setKeys(false); });
    connect(m_take, &QPushButton::clicked, this, [this] { setKeys(true); });
    connect(m_none, &QPushButton::clicked, this, [this] {
        m_actions.setShortcuts(currentId(), {});
        choose();
    });
    connect(m_reset, &QPushButton::clicked, this, [this] {
        const QString id = currentId();
        for (const QKeySequence& keys : m_actions.defaultShortcuts(id))
            if (QAction* other = m_actions.conflict(keys, id)) {
                say(tr("%1 is the key of %2 now; reset that first, or give it another one.")
                        .arg(keys.toString(QKeySequence::NativeText), plainText(other)),
                    true);
                return;
            }
        m_actions.resetShortcuts(id);
        choose();
    });
    connect(m_resetAll, &QPushButton::clicked, this, [this] {
        m_actions.resetAllShortcuts();
        choose();
        say(tr("All commands have their default keys."), false);
    });
    connect(&m_actions, &Actions::shortcutsChanged, this, &ShortcutSheet::fill);
    fill();
    resize(720, 620);
    fitToScreen(this);
}

void ShortcutSheet::buildLayout()
{
    nameWidget(m_filter, "shortcuts.filter", tr("Filter of the commands"));
    m_filter->setPlaceholderText(tr("Filter by name or keys, e.g. save or ctrl+s"));
    m_filter->setClearButtonEnabled(true);
    nameWidget(m_list, "shortcuts.list", tr("Commands and their keys"));
    m_list->setColumnCount(ColumnCount);
    m_list->setHeaderLabels({ tr("Command"), tr("Menu"), tr("Keys") });
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setAllColumnsShowFocus(true);
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(CommandColumn, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(GroupColumn, QHeaderView::ResizeToContents);
    m_list->header()->setSectionResizeMode(KeysColumn, QHeaderView::ResizeToContents);
    makeCopyable(m_list);
    m_name->setObjectName(QStringLiteral("shortcuts.name"));
    m_name->setTextFormat(Qt::PlainText);
    nameWidget(m_keys, "shortcuts.keys", tr("New keys"));
    m_name->setBuddy(m_keys);
    m_set->setObjectName(QStringLiteral("shortcuts.set"));
    m_take->setObjectName(QStringLiteral("shortcuts.take"));
    nameWidget(m_none, "shortcuts.none", {}, tr("The command is in menus and in the command palette only"));
    nameWidget(m_reset, "shortcuts.reset", {}, tr("The default keys of this command"));
    nameWidget(m_resetAll, "shortcuts.resetAll", {}, tr("The default keys of all commands"));
    for (QPushButton* button : { m_set, m_take, m_none, m_reset, m_resetAll })
        button->setAutoDefault(false); // Enter in the list goes to the keys
    m_take->hide();
    m_message->setObjectName(QStringLiteral("shortcuts.message"));
    m_message->setWordWrap(true);
    m_message->setTextFormat(Qt::PlainText);
    auto* close = new QPushButton(tr("&Close"), this);
    close->setObjectName(QStringLiteral("shortcuts.close"));
    close->setAutoDefault(false);
    connect(close, &QPushButton::clicked, this, &QDialog::accept);
    auto* keys = new QHBoxLayout;
    keys->addWidget(m_name);
    keys->addWidget(m_keys, 1);
    keys->addWidget(m_set);
    keys->addWidget(m_none);
    keys->addWidget(m_reset);
    auto* below = new QHBoxLayout;
    below->addWidget(m_message, 1);
    below->addWidget(m_take);
    auto* last = new QHBoxLayout;
    last->addWidget(m_resetAll);
    last->addStretch(1);
    last->addWidget(close);
    auto* column = boxLayout<QVBoxLayout>({ kPanelMargin, kPanelMargin, kPanelMargin, kPanelMargin }, 8, this);
    column->addWidget(m_filter);
    column->addWidget(m_list, 1);
    column->addLayout(keys);
    column->addLayout(below);
    column->addLayout(last);
}

void ShortcutSheet::showEvent(QShowEvent* event)
{
    fill(); // names of panels carry counts
    QDialog::showEvent(event);
}

void ShortcutSheet::fill()
{
    const QString current = currentId();
    {
        const QSignalBlocker blocker(m_list);
        m_list->clear();
        bool changed = false;
        for (const QAction* action : m_actions.all()) {
            const QString id = action->objectName();
            auto* item = new QTreeWidgetItem(m_list, { plainText(action), groupOf(id), keysText(action->shortcuts()) });
            item->setData(CommandColumn, kIdRole, id);
            item->setSizeHint(CommandColumn, QSize(20, rowHeight(m_list)));
            if (m_actions.isChanged(id)) { // by weight and by words
                changed = true;
                item->setFont(KeysColumn, uiFont(m_list, 0, true));
                const QString usual = keysText(m_actions.defaultShortcuts(id));
                item->setToolTip(KeysColumn,
                                 usual.isEmpty() ? tr("changed; default: none") : tr("changed; default: %1").arg(usual));
            }
            if (id == current)
                m_list->setCurrentItem(item);
        }
        for (const ViewKey& key : viewKeys()) {
            auto* item = new QTreeWidgetItem(
                m_list, { key.does.left(1).toUpper() + key.does.mid(1), tr("in views: %1").arg(key.where), keysText(key.keys) });
            item->setSizeHint(CommandColumn, QSize(20, rowHeight(m_list)));
        }
        m_resetAll->setEnabled(changed);
        if (m_list->currentItem() == nullptr)
            m_list->setCurrentItem(m_list->topLevelItem(0));
    }
    filter();
    choose();
}

void ShortcutSheet::filter()
{
    const QString text = m_filter->text().trimmed();
    int shown = 0;
    for (int row = 0; row < m_list->topLevelItemCount(); ++row) {
        QTreeWidgetItem* item = m_list->topLevelItem(row);
        bool found = text.isEmpty();
        for (int column = 0; column < ColumnCount; ++column)
            found = found || item->text(column).contains(text, Qt::CaseInsensitive);
        item->setHidden(!found);
        shown += found ? 1 : 0;
    }
    if (shown == 0)
        say(tr("No command has this in its name or keys. Press Esc to clear the filter."), false);
    else if (m_message->text().startsWith(tr("No command")))
        say({}, false);
}

QString ShortcutSheet::currentId() const
{
    const QTreeWidgetItem* item = m_list->currentItem();
    return item == nullptr ? QString() : item->data(CommandColumn, kIdRole).toString();
}

void ShortcutSheet::choose()
{
    const QString id = currentId();
    m_keys->setEnabled(!id.isEmpty());
    if (id.isEmpty()) {
        for (QPushButton* button : { m_none, m_reset, m_set })
            button->setEnabled(false);
        m_take->hide();
        m_keys->setKeys({});
        m_name->setText(tr("Keys of a view"));
        say(tr("The view uses them while it has the focus; they cannot be changed."), false);
        return;
    }
    const QAction* action = m_actions.get(id);
    m_name->setText(tr("Keys of %1").arg(m_list->currentItem()->text(CommandColumn)));
    m_keys->setKeys(action->shortcut());
    m_none->setEnabled(!action->shortcut().isEmpty());
    m_reset->setEnabled(m_actions.isChanged(id));
    m_set->setEnabled(false);
    m_take->hide();
    say({}, false);
}

/// Says whether the keys that were pressed can be had.
void ShortcutSheet::showConflict()
{
    const QKeySequence keys = m_keys->keys();
    const QString id = currentId();
    if (id.isEmpty())
        return;
    const QString name = keys.toString(QKeySequence::NativeText);
    const QAction* other = m_actions.conflict(keys, id);
    m_take->setVisible(other != nullptr);
    m_set->setEnabled(other == nullptr && !keys.isEmpty() && keys != m_actions.get(id)->shortcut());
    if (other != nullptr) {
        m_take->setText(tr("&Take It from %1").arg(plainText(other)));
        say(tr("%1 is the key of %2.").arg(name, plainText(other)), true);
    } else if (const QString inside = viewKey(keys); !inside.isEmpty()) {
        say(tr("In a view %1 %2; there the view has it.").arg(name, inside), false);
    } else {
        say(keys.isEmpty() || keys == m_actions.get(id)->shortcut() ? QString() : tr("%1 is free.").arg(name), false);
    }
}

void ShortcutSheet::setKeys(bool takeThem)
{
    const QString id = currentId();
    const QKeySequence keys = m_keys->keys();
    if (id.isEmpty() || keys.isEmpty())
        return;
    if (QAction* other = m_actions.conflict(keys, id)) {
        if (!takeThem)
            return;
        QList<QKeySequence> left = other->shortcuts();
        left.removeAll(keys);
        m_actions.setShortcuts(other->objectName(), left);
    }
    m_actions.setShortcuts(id, { keys });
    say(tr("%1 is the key of %2 now.").arg(keys.toString(QKeySequence::NativeText), plainText(m_actions.get(id))), false);
    m_list->setFocus(Qt::OtherFocusReason);
}

void ShortcutSheet::say(const QString& text, bool refused)
{
    setTextColor(m_message, refused ? Theme::of(this).error : Theme::of(this).quiet);
    m_message->setText(text);
}

} // namespace shardboard
