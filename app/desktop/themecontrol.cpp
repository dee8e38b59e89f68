// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/themecontrol.h"

#include "app/desktop/desktopscheme.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QEvent>

namespace shardboard {

namespace {

/// A tour and a test have the colours that they ask for.
bool hasDesktop() { return QGuiApplication::platformName() != QLatin1String("offscreen") && QGuiApplication::platformName() != QLatin1String("minimal"); }

} // namespace

ThemeControl::ThemeControl(QApplication& application, Settings& settings, QObject* parent)
    : QObject(parent)
    , m_application(application)
    , m_settings(settings)
    , m_desktop(hasDesktop() ? new DesktopScheme(QDBusConnection::sessionBus(), this) : nullptr)
    , m_choice(settings.theme())
    , m_systemDark(systemIsDark())
{
    apply();
    const auto follow = [this] {
        m_systemDark = systemIsDark();
        apply();
    };
    if (m_desktop != nullptr)
        connect(m_desktop, &DesktopScheme::changed, this, follow);
    application.installEventFilter(this);
}

/// The desktop's word; else its palette, which is what an unset one is.
bool ThemeControl::systemIsDark() const
{
    using Scheme = DesktopScheme::Scheme;
    if (m_desktop != nullptr && m_desktop->scheme() != Scheme::Unknown)
        return m_desktop->scheme() == Scheme::Dark;
    m_application.setPalette(QPalette());
    return QApplication::palette().color(QPalette::Window).lightness() < 128;
}

void ThemeControl::setChoice(ThemeChoice choice, bool remember)
{
    if (choice == m_choice)
        return;
    m_choice = choice;
    if (remember)
        m_settings.setTheme(choice);
    apply();
}

bool ThemeControl::isDark() const
{
    return m_choice == ThemeChoice::Dark || (m_choice == ThemeChoice::System && m_systemDark);
}

void ThemeControl::apply() { applyTheme(m_application, isDark() ? Theme::dark() : Theme::light()); }

bool ThemeControl::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == &m_application && event->type() == QEvent::ThemeChange) {
        m_systemDark = systemIsDark();
        apply();
    }
    return QObject::eventFilter(watched, event);
}

} // namespace shardboard
