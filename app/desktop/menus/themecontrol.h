// SPDX-License-Identifier: Apache-2.0
// The look of the program: colours as the system has them, or light or dark by choice, with more contrast or with patterns in place
// of hues, and the size of text. Changes at once and is remembered.
#pragma once

#include "app/desktop/base/settings.h"

#include <QObject>

class QApplication;

namespace shardboard {

class DesktopScheme;

class ThemeControl : public QObject {
    Q_OBJECT
public:
    /// Applies the remembered choice.
    ThemeControl(QApplication& application, Settings& settings, QObject* parent = nullptr);
    ~ThemeControl() override;

    ThemeChoice choice() const { return m_choice; }
    /// `remember` is false for a choice that holds for this start only.
    void setChoice(ThemeChoice choice, bool remember = true);
    bool isDark() const;
    bool isHighContrast() const { return m_highContrast; }
    void setHighContrast(bool on);
    bool isPatternsOnly() const { return m_patternsOnly; }
    void setPatternsOnly(bool on);

    static constexpr double kLeastText = 8; ///< points
    static constexpr double kMostText = 20;
    double textSize() const { return m_textSize; }
    double usualTextSize() const { return m_usualTextSize; } ///< the system's
    /// Kept within the bounds above.
    void setTextSize(double points);

Q_SIGNALS:
    void changed();

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
    bool m_highContrast;
    bool m_patternsOnly;
    double m_usualTextSize;
    double m_textSize;
};

} // namespace shardboard
