// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/menus/navigationmenu.h"

#include "app/desktop/base/settings.h"
#include "widgets/canvas/navigation.h"
#include "widgets/document/planplayer.h"

#include <QAction>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QDBusVariant>
#include <QMenu>
#include <QSignalBlocker>
#include <QWidget>

namespace shardboard {

NavigationMenu::NavigationMenu(QWidget* window, Settings& settings, QMenu* menu)
    : QObject(menu)
    , m_window(window)
    , m_settings(settings)
{
    QAction* wheel = menu->addAction(tr("&Wheel Scrolls"));
    wheel->setObjectName(QStringLiteral("view.wheelScrolls"));
    wheel->setToolTip(tr("The wheel scrolls the picture, and zooms with Ctrl; otherwise it zooms"));
    wheel->setCheckable(true);
    wheel->setChecked(settings.wheelScrolls());
    connect(wheel, &QAction::toggled, this, [this](bool scrolls) {
        m_settings.setWheelScrolls(scrolls);
        setWheelScrolls(scrolls);
    });
    setWheelScrolls(wheel->isChecked());
    m_motion = menu->addAction(tr("&Reduced Motion"));
    m_motion->setObjectName(QStringLiteral("view.reducedMotion"));
    m_motion->setToolTip(tr("What moves between devices is drawn as arrows that do not move"));
    m_motion->setCheckable(true);
    const auto chosen = settings.reducedMotion();
    m_motion->setChecked(chosen.value_or(false));
    connect(m_motion, &QAction::toggled, this, [this](bool reduced) {
        m_settings.setReducedMotion(reduced);
        setReducedMotion(reduced);
    });
    setReducedMotion(m_motion->isChecked());
    if (!chosen)
        askDesktop();
}

void NavigationMenu::setWheelScrolls(bool scrolls)
{
    for (CanvasNavigation* navigation : m_window->findChildren<CanvasNavigation*>())
        navigation->setWheelScrolls(scrolls);
}

void NavigationMenu::setReducedMotion(bool reduced)
{
    for (PlanPlayer* player : m_window->findChildren<PlanPlayer*>())
        player->setReducedMotion(reduced);
}

/// GNOME's switch, as the portal tells it; nobody waits for the answer.
void NavigationMenu::askDesktop()
{
    const QDBusConnection bus = QDBusConnection::sessionBus();
    if (!bus.isConnected())
        return;
    QDBusMessage question = QDBusMessage::createMethodCall(
        QStringLiteral("org.freedesktop.portal.Desktop"), QStringLiteral("/org/freedesktop/portal/desktop"),
        QStringLiteral("org.freedesktop.portal.Settings"), QStringLiteral("Read"));
    question.setArguments({ QStringLiteral("org.gnome.desktop.interface"), QStringLiteral("enable-animations") });
    auto* watcher = new QDBusPendingCallWatcher(bus.asyncCall(question), this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [this, watcher] {
        watcher->deleteLater();
        const QDBusPendingReply<QVariant> reply = *watcher;
        if (!reply.isValid() || m_settings.reducedMotion())
            return;
        QVariant value = reply.value();
        while (value.userType() == qMetaTypeId<QDBusVariant>())
            value = value.value<QDBusVariant>().variant();
        if (!value.canConvert<bool>() || value.toBool())
            return;
        const QSignalBlocker blocker(m_motion); // the desktop's wish is no choice of the user
        m_motion->setChecked(true);
        setReducedMotion(true);
    });
}

} // namespace shardboard
