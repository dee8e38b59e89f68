// SPDX-License-Identifier: Apache-2.0
// The colours of the program: the system's, or light or dark by choice; changes at once and is remembered.
#pragma once

#include "app/desktop/settings.h"

#include <QObject>

class QApplication;

namespace shardboard {

class DesktopScheme;

class ThemeControl : public QObject {
    Q_OBJECT
public:
    /// Applies the remembered choice.
    ThemeControl(QApplication& application, Settings& settings, QObject* parent = nullptr);

    ThemeChoice choice() const { return m_choice; }
    /// `remember` is false for a choice that holds for this start only.
    void setChoice(ThemeChoice choice, bool remember = true);
    bool isDark() const;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void apply();
    bool systemIsDark() const;

    QApplication& m_application;
    Settings& m_settings;
    DesktopScheme* m_desktop = nullptr; ///< null without a desktop
    ThemeChoice m_choice;
    bool m_systemDark;
};

} // namespace shardboard
