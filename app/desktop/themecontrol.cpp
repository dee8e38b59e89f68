// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/themecontrol.h"

#include "widgets/theme.h"

#include <QApplication>
#include <QEvent>

namespace shardboard {

namespace {

/// Qt 6.4 has no colour scheme hint; an unset palette is the system's.
bool systemIsDark(QApplication& application)
{
    application.setPalette(QPalette());
    return QApplication::palette().color(QPalette::Window).lightness() < 128;
}

} // namespace

ThemeControl::ThemeControl(QApplication& application, Settings& settings, QObject* parent)
    : QObject(parent)
    , m_application(application)
    , m_settings(settings)
    , m_choice(settings.theme())
    , m_systemDark(systemIsDark(application))
{
    apply();
    application.installEventFilter(this);
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
        m_systemDark = systemIsDark(m_application);
        apply();
    }
    return QObject::eventFilter(watched, event);
}

} // namespace shardboard
