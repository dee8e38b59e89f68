// SPDX-License-Identifier: Apache-2.0
// Whether the desktop is light or dark, as its portal tells over D-Bus (org.freedesktop.appearance, color-scheme): Qt 6.4 has no
// hint of its own, and its palette does not follow every desktop.
#pragma once

#include <QDBusConnection>
#include <QDBusVariant>
#include <QObject>
#include <QVariant>

class QDBusPendingCall;

namespace shardboard {

class DesktopScheme : public QObject {
    Q_OBJECT
public:
    enum class Scheme { Unknown, Light, Dark };

    /// Asks at once and waits briefly, so that a window need not change its colours after it was shown. Unknown where there is no
    /// bus, no portal or no preference.
    explicit DesktopScheme(const QDBusConnection& bus, QObject* parent = nullptr);

    Scheme scheme() const { return m_scheme; }
    /// Of the portal's number, however deep in variants: 1 dark, 2 light.
    static Scheme schemeOf(const QVariant& value);

Q_SIGNALS:
    void changed();

private Q_SLOTS:
    void settingChanged(const QString& group, const QString& key, const QDBusVariant& value);

private:
    void take(Scheme scheme);
    void askLater(const QDBusPendingCall& call);

    QDBusConnection m_bus;
    Scheme m_scheme = Scheme::Unknown;
};

} // namespace shardboard
