// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/base/actions.h"

#include "app/desktop/base/settings.h"

#include <QAction>
#include <QRegularExpression>

namespace shardboard {

namespace {
constexpr char kWhyNot[] = "whyNot";
}

QString plainText(const QAction* action)
{
    static const QRegularExpression mark(QStringLiteral("&(\\S)")); // && is one that is shown
    return action->text().replace(mark, QStringLiteral("\\1")).trimmed();
}

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
    m_defaults.insert(id, action->shortcuts());
    updateTip(id);
    return action;
}

QAction* Actions::get(const QString& id) const
{
    QAction* action = m_actions.value(id);
    Q_ASSERT(action != nullptr);
    return action;
}

void Actions::setTip(const QString& id, const QString& tip)
{
    m_tips.insert(id, tip);
    updateTip(id);
}

void Actions::setEnabled(const QString& id, bool enabled, const QString& whyNot)
{
    QAction* action = get(id);
    const QVariant why = enabled ? QString() : whyNot;
    if (action->isEnabled() == enabled && action->property(kWhyNot) == why) // after every edit of most of them
        return;
    action->setProperty(kWhyNot, why);
    action->setEnabled(enabled);
    updateTip(id);
}

QString Actions::whyNot(const QAction* action) { return action->isEnabled() ? QString() : action->property(kWhyNot).toString(); }

/// An action that has neither a tip nor keys keeps the tool tip that it came with.
void Actions::updateTip(const QString& id)
{
    QAction* action = get(id);
    const QString why = whyNot(action);
    if (!m_tips.contains(id) && action->shortcut().isEmpty() && m_defaults.value(id).isEmpty() && why.isEmpty())
        return;
    QString tip = m_tips.value(id, plainText(action).remove(QStringLiteral(" …")));
    if (!action->shortcut().isEmpty())
        tip += tr(" (%1)").arg(action->shortcut().toString(QKeySequence::NativeText));
    if (!why.isEmpty())
        tip += QLatin1Char('\n') + tr("Not now: %1").arg(why);
    action->setToolTip(tip);
}

void Actions::setDefaultShortcuts(const QString& id, const QList<QKeySequence>& shortcuts)
{
    m_defaults.insert(id, shortcuts);
    get(id)->setShortcuts(shortcuts);
    updateTip(id);
}

bool Actions::isChanged(const QString& id) const { return get(id)->shortcuts() != defaultShortcuts(id); }

void Actions::setShortcuts(const QString& id, const QList<QKeySequence>& shortcuts)
{
    QAction* action = get(id);
    if (action->shortcuts() == shortcuts)
        return;
    action->setShortcuts(shortcuts);
    updateTip(id);
    if (m_settings != nullptr)
        m_settings->setShortcuts(
            id, isChanged(id) ? std::optional(QKeySequence::listToString(shortcuts, QKeySequence::PortableText)) : std::nullopt);
    Q_EMIT shortcutsChanged(id);
}

void Actions::resetAllShortcuts()
{
    for (const QAction* action : m_order)
        resetShortcuts(action->objectName());
}

QAction* Actions::conflict(const QKeySequence& keys, const QString& id) const
{
    if (keys.isEmpty())
        return nullptr;
    for (QAction* action : m_order)
        if (action->objectName() != id && action->shortcuts().contains(keys))
            return action;
    return nullptr;
}

void Actions::keepIn(Settings& settings)
{
    m_settings = nullptr; // what is read need not be written
    for (const QAction* action : m_order)
        if (const auto kept = settings.shortcuts(action->objectName()))
            setShortcuts(action->objectName(), QKeySequence::listFromString(*kept, QKeySequence::PortableText));
    m_settings = &settings;
}

} // namespace shardboard
