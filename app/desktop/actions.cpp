// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/actions.h"

#include <QAction>

namespace shardboard {

Actions::Actions(QObject* parent)
    : QObject(parent)
{
}

QAction* Actions::add(const QString& id, const QString& text, const QKeySequence& shortcut, std::function<void()> run)
{
    auto* action = new QAction(text, this);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    return adopt(id, action, shortcut);
}

QAction* Actions::adopt(const QString& id, QAction* action, const QKeySequence& shortcut)
{
    Q_ASSERT(!m_actions.contains(id));
    action->setObjectName(id);
    if (!shortcut.isEmpty())
        action->setShortcut(shortcut);
    m_actions.insert(id, action);
    m_order.push_back(action);
    return action;
}

QAction* Actions::get(const QString& id) const
{
    QAction* action = m_actions.value(id);
    Q_ASSERT(action != nullptr);
    return action;
}

} // namespace shardboard
