// SPDX-License-Identifier: Apache-2.0
// All commands of the window under stable ids (`file.open`), each with its text, shortcut and tooltip in one place; menus,
// tool bars, the welcome page and tests ask for them by id. The shortcuts can be changed; what differs from the defaults is kept in
// the settings.
#pragma once

#include <QHash>
#include <QKeySequence>
#include <QList>
#include <QObject>
#include <QString>

#include <functional>
#include <vector>

class QAction;

namespace shardboard {

class Settings;

class Actions : public QObject {
    Q_OBJECT
public:
    explicit Actions(QObject* parent = nullptr);

    QAction* add(const QString& id, const QString& text, const QKeySequence& shortcut, std::function<void()> run);
    /// Takes over an action that something else made (undo, redo).
    QAction* adopt(const QString& id, QAction* action, const QKeySequence& shortcut = {});
    /// The id must exist.
    QAction* get(const QString& id) const;
    /// In the order in which they were added.
    const std::vector<QAction*>& all() const { return m_order; }

    /// What an action does, in a sentence; its tool tip is this, or the action's name, with the present shortcut.
    void setTip(const QString& id, const QString& tip);
    /// `whyNot` says why a disabled one cannot be used now; it is its tool tip then, and what the command palette says.
    void setEnabled(const QString& id, bool enabled, const QString& whyNot);
    /// Why a disabled action cannot be used now: as setEnabled() has it, or its property `whyNot`, which those set that disable
    /// actions without a registry. Empty when nobody said so.
    static QString whyNot(const QAction* action);

    /// Shortcuts with which the program starts; the first one is shown in menus.
    void setDefaultShortcuts(const QString& id, const QList<QKeySequence>& shortcuts);
    QList<QKeySequence> defaultShortcuts(const QString& id) const { return m_defaults.value(id); }
    bool isChanged(const QString& id) const;
    /// Every shortcut of an action; empty for none. Takes nothing from others: ask conflict() first.
    void setShortcuts(const QString& id, const QList<QKeySequence>& shortcuts);
    void resetShortcuts(const QString& id) { setShortcuts(id, defaultShortcuts(id)); }
    void resetAllShortcuts();
    /// Another action than `id` that these keys start, or null.
    QAction* conflict(const QKeySequence& keys, const QString& id) const;
    /// Reads the shortcuts that were changed, and writes those that will be. To be called when all actions are there.
    void keepIn(Settings& settings);

Q_SIGNALS:
    void shortcutsChanged(const QString& id);

private:
    void updateTip(const QString& id);

    QHash<QString, QAction*> m_actions;
    std::vector<QAction*> m_order;
    QHash<QString, QList<QKeySequence>> m_defaults;
    QHash<QString, QString> m_tips;
    Settings* m_settings = nullptr;
};

/// The text of an action without marks of keys and of more to come.
QString plainText(const QAction* action);

} // namespace shardboard
