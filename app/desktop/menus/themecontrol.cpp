// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/menus/themecontrol.h"

#include "app/desktop/menus/desktopscheme.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QEvent>
#include <QFontInfo>

#include <algorithm>

namespace shardboard {

namespace {

/// A tour and a test have the colours that they ask for.
bool hasDesktop()
{
    return QGuiApplication::platformName() != QLatin1String("offscreen")
        && QGuiApplication::platformName() != QLatin1String("minimal");
}

} // namespace

ThemeControl::ThemeControl(QApplication& application, Settings& settings, QObject* parent)
    : QObject(parent)
    , m_application(application)
    , m_settings(settings)
    , m_desktop(hasDesktop() ? new DesktopScheme(QDBusConnection::sessionBus(), this) : nullptr)
    , m_choice(settings.theme())
    , m_systemDark(systemIsDark())
    , m_highContrast(settings.highContrast())
    , m_patternsOnly(settings.patternsOnly())
    , m_usualTextSize(application.font().pointSizeF() > 0 ? application.font().pointSizeF()
                                                          : QFontInfo(application.font()).pointSizeF())
    , m_textSize(m_usualTextSize)
{
    apply();
    if (settings.textSize() > 0)
        setTextSize(settings.textSize());
    const auto follow = [this] {
        m_systemDark = systemIsDark();
        apply();
    };
    if (m_desktop != nullptr)
        connect(m_desktop, &DesktopScheme::changed, this, follow);
    application.installEventFilter(this);
}

ThemeControl::~ThemeControl()
{
    if (!qFuzzyCompare(m_textSize, m_usualTextSize))
        applyTextSize(m_application, m_usualTextSize);
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

void ThemeControl::setHighContrast(bool on)
{
    if (on == m_highContrast)
        return;
    m_highContrast = on;
    m_settings.setHighContrast(on);
    apply();
}

void ThemeControl::setPatternsOnly(bool on)
{
    if (on == m_patternsOnly)
        return;
    m_patternsOnly = on;
    m_settings.setPatternsOnly(on);
    apply();
}

void ThemeControl::setTextSize(double points)
{
    const double wanted = std::clamp(points, kLeastText, kMostText);
    if (qFuzzyCompare(wanted, m_textSize))
        return;
    m_textSize = wanted;
    m_settings.setTextSize(qFuzzyCompare(wanted, m_usualTextSize) ? 0 : wanted);
    applyTextSize(m_application, wanted);
    Q_EMIT changed();
}

bool ThemeControl::isDark() const { return m_choice == ThemeChoice::Dark || (m_choice == ThemeChoice::System && m_systemDark); }

void ThemeControl::apply()
{
    const Theme theme =
        m_highContrast ? (isDark() ? Theme::contrastDark() : Theme::contrastLight()) : (isDark() ? Theme::dark() : Theme::light());
    applyTheme(m_application, theme, m_patternsOnly ? PartStyle::Patterns : PartStyle::Hues);
    Q_EMIT changed();
}

bool ThemeControl::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == &m_application && event->type() == QEvent::ThemeChange) {
        m_systemDark = systemIsDark();
        apply();
    }
    return QObject::eventFilter(watched, event);
}

} // namespace shardboard
