// SPDX-License-Identifier: Apache-2.0
// Light or dark from the desktop's portal: against a portal of our own on a bus of our own.
#include "app/desktop/menus/desktopscheme.h"
#include "tests/support/runner.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusVirtualObject>
#include <QProcess>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTest>

using namespace shardboard;
using Scheme = DesktopScheme::Scheme;

namespace {

const QString kPath = QStringLiteral("/org/freedesktop/portal/desktop");
const QString kInterface = QStringLiteral("org.freedesktop.portal.Settings");

/// Answers Read as portals do: a variant in a variant.
class Portal : public QDBusVirtualObject {
public:
    uint value = 0;
    QString introspect(const QString&) const override { return {}; }
    bool handleMessage(const QDBusMessage& message, const QDBusConnection& bus) override
    {
        if (message.interface() != kInterface || message.member() != QLatin1String("Read"))
            return false;
        const QVariant inner = QVariant::fromValue(QDBusVariant(value));
        return bus.send(message.createReply(QVariant::fromValue(QDBusVariant(inner))));
    }
};

} // namespace

class TestDesktopScheme : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void numbersOfThePortal()
    {
        QCOMPARE(DesktopScheme::schemeOf(1u), Scheme::Dark);
        QCOMPARE(DesktopScheme::schemeOf(2u), Scheme::Light);
        QCOMPARE(DesktopScheme::schemeOf(0u), Scheme::Unknown);
        QCOMPARE(DesktopScheme::schemeOf(QVariant()), Scheme::Unknown);
        QCOMPARE(DesktopScheme::schemeOf(QStringLiteral("dark")), Scheme::Unknown);
        const QVariant inner = QVariant::fromValue(QDBusVariant(1u));
        QCOMPARE(DesktopScheme::schemeOf(QVariant::fromValue(QDBusVariant(inner))), Scheme::Dark);
    }

    void withoutABus()
    {
        const DesktopScheme scheme(QDBusConnection::connectToBus(QStringLiteral("unix:path=/nonexistent"), QStringLiteral("none")));
        QCOMPARE(scheme.scheme(), Scheme::Unknown);
    }

    void followsThePortal()
    {
        if (QStandardPaths::findExecutable(QStringLiteral("dbus-daemon")).isEmpty())
            QSKIP("there is no dbus-daemon");
        QProcess daemon;
        daemon.start(QStringLiteral("dbus-daemon"),
                     { QStringLiteral("--session"), QStringLiteral("--nofork"), QStringLiteral("--print-address") });
        QVERIFY(daemon.waitForStarted());
        QVERIFY(daemon.waitForReadyRead());
        const QString address = QString::fromUtf8(daemon.readLine()).trimmed();
        {
            QDBusConnection server = QDBusConnection::connectToBus(address, QStringLiteral("server"));
            QDBusConnection client = QDBusConnection::connectToBus(address, QStringLiteral("client"));
            QVERIFY(server.isConnected() && client.isConnected());
            QCOMPARE(DesktopScheme(client).scheme(), Scheme::Unknown); // a bus without a portal
            Portal portal;
            portal.value = 1;
            QVERIFY(server.registerVirtualObject(kPath, &portal));
            QVERIFY(server.registerService(QStringLiteral("org.freedesktop.portal.Desktop")));
            // The portal is in this thread, so that the answer comes after the wait.
            DesktopScheme scheme(client);
            QTRY_COMPARE(scheme.scheme(), Scheme::Dark);
            QSignalSpy changes(&scheme, &DesktopScheme::changed);
            QDBusMessage signal = QDBusMessage::createSignal(kPath, kInterface, QStringLiteral("SettingChanged"));
            signal.setArguments({ QStringLiteral("org.freedesktop.appearance"), QStringLiteral("color-scheme"),
                                  QVariant::fromValue(QDBusVariant(2u)) });
            QVERIFY(server.send(signal));
            QTRY_COMPARE(scheme.scheme(), Scheme::Light);
            signal.setArguments({ QStringLiteral("org.freedesktop.appearance"), QStringLiteral("accent-color"),
                                  QVariant::fromValue(QDBusVariant(1u)) });
            QVERIFY(server.send(signal));
            QTest::qWait(100);
            QCOMPARE(scheme.scheme(), Scheme::Light);
            QCOMPARE(changes.size(), 1);
        }
        QDBusConnection::disconnectFromBus(QStringLiteral("server"));
        QDBusConnection::disconnectFromBus(QStringLiteral("client"));
        daemon.kill();
        daemon.waitForFinished();
    }
};

SHARDBOARD_TEST(TestDesktopScheme)
#include "tst_desktopscheme.moc"
