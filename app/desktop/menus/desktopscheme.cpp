// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/menus/desktopscheme.h"

#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>

namespace shardboard {

namespace {

constexpr int kWaitMs = 100;
const QString kService = QStringLiteral("org.freedesktop.portal.Desktop");
const QString kPath = QStringLiteral("/org/freedesktop/portal/desktop");
const QString kInterface = QStringLiteral("org.freedesktop.portal.Settings");
const QString kGroup = QStringLiteral("org.freedesktop.appearance");
const QString kKey = QStringLiteral("color-scheme");

} // namespace

DesktopScheme::DesktopScheme(const QDBusConnection& bus, QObject* parent)
    : QObject(parent)
    , m_bus(bus)
{
    if (!m_bus.isConnected())
        return;
    m_bus.connect(kService, kPath, kInterface, QStringLiteral("SettingChanged"), this,
                  SLOT(settingChanged(QString, QString, QDBusVariant)));
    QDBusMessage question = QDBusMessage::createMethodCall(kService, kPath, kInterface, QStringLiteral("Read"));
    question.setArguments({ kGroup, kKey });
    const QDBusMessage answer = m_bus.call(question, QDBus::Block, kWaitMs);
    if (answer.type() == QDBusMessage::ReplyMessage)
        m_scheme = schemeOf(answer.arguments().value(0));
    else if (QDBusError(answer).type() == QDBusError::NoReply)
        askLater(m_bus.asyncCall(question)); // the portal is only starting
}

void DesktopScheme::askLater(const QDBusPendingCall& call)
{
    auto* watcher = new QDBusPendingCallWatcher(call, this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [this, watcher] {
        const QDBusPendingReply<QVariant> reply = *watcher;
        if (reply.isValid())
            take(schemeOf(reply.value()));
        watcher->deleteLater();
    });
}

DesktopScheme::Scheme DesktopScheme::schemeOf(const QVariant& value)
{
    QVariant inner = value;
    while (inner.canConvert<QDBusVariant>() && inner.userType() == qMetaTypeId<QDBusVariant>())
        inner = inner.value<QDBusVariant>().variant();
    switch (inner.toUInt()) {
    case 1:
        return Scheme::Dark;
    case 2:
        return Scheme::Light;
    default:
        return Scheme::Unknown;
    }
}

void DesktopScheme::settingChanged(const QString& group, const QString& key, const QDBusVariant& value)
{
    if (group == kGroup && key == kKey)
        take(schemeOf(value.variant()));
}

void DesktopScheme::take(Scheme scheme)
{
    if (scheme == m_scheme)
        return;
    m_scheme = scheme;
    Q_EMIT changed();
}

} // namespace shardboard
