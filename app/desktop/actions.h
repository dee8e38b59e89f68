// SPDX-License-Identifier: Apache-2.0
// All commands of the window under stable ids (`file.open`), each with its text, shortcut and tooltip in one place; menus,
// tool bars, the welcome page and tests ask for them by id.
#pragma once

#include <QHash>
#include <QKeySequence>
#include <QObject>
#include <QString>

#include <functional>
#include <vector>

class QAction;

namespace shardboard {

class Actions : public QObject {
    Q_OBJECT
public:
    explicit Actions(QObject* parent = nullptr);

    QAction* add(const QString& id, const QString& text, const QKeySequence& shortcut, std::function<void()> run);
    /// Takes over an action that something else made (undo, redo, docks).
    QAction* adopt(const QString& id, QAction* action, const QKeySequence& shortcut = {});
    /// The id must exist.
    QAction* get(const QString& id) const;
    /// In the order in which they were added.
    const std::vector<QAction*>& all() const { return m_order; }

private:
    QHash<QString, QAction*> m_actions;
    std::vector<QAction*> m_order;
};

} // namespace shardboard
