// SPDX-License-Identifier: Apache-2.0
// Colours, fonts and measures of the workbench, light and dark, each also with high contrast. A value type; views ask for it with
// Theme::of(), which goes by the widget's palette, so that nothing global has to be kept in step.
#pragma once

#include "widgets/look/partstyle.h"

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>

class QApplication;
class QWidget;

namespace shardboard {

struct Theme {
    bool isDark = false;
    bool highContrast = false; ///< text at least 7:1, lines at least 3:1 against what they lie on
    QColor window; ///< background of canvases
    QColor panel; ///< background of lists and inspectors
    QColor line; ///< separators and quiet outlines
    QColor text;
    QColor quiet; ///< secondary text, readable on window and panel
    QColor accent;
    QColor onAccent; ///< text on accent
    QColor selection; ///< background of selected rows
    QColor attention; ///< collectives and findings
    QColor attentionFill; ///< background of attention
    QColor error;
    QColor good; ///< what was proven; strings in code
    QColor track; ///< empty part of a bar, fill of a replicated tile

    static Theme light();
    static Theme dark();
    static Theme contrastLight();
    static Theme contrastDark();
    /// The theme that a widget's palette belongs to.
    static const Theme& of(const QWidget* widget);

    QPalette palette() const; ///< complete: placeholder text, tool tips and the disabled group too
    QString styleSheet() const;
};

inline constexpr int kPanelMargin = 16; ///< inside a panel, in device-independent pixels
inline constexpr int kRowHeight = 28;
inline constexpr int kTwoLineRowHeight = 46;
/// How much larger the widget's text is than the 10 points that the measures of canvases are made for; at least 1.
double textScale(const QWidget* widget);
/// Height of a row with one line of the widget's text.
int rowHeight(const QWidget* widget);
inline constexpr int kCornerRadius = 6;
inline constexpr int kCanvasRadius = 8;

/// Fusion, the theme's palette and its style sheet for the whole program, and how parts are told apart.
void applyTheme(QApplication& application, const Theme& theme, PartStyle parts = PartStyle::Hues);
/// While it lives there is no style sheet. Under one, a widget that gets another parent, and everything in it, takes its style
/// anew; a window that is put together from its parts does that at every level.
class StyleSheetOff {
public:
    explicit StyleSheetOff(QApplication& application);
    ~StyleSheetOff();
    StyleSheetOff(const StyleSheetOff&) = delete;
    StyleSheetOff& operator=(const StyleSheetOff&) = delete;

private:
    QApplication& m_application;
    QString m_sheet;
};
/// Fonts of the whole program at this size. Widgets that set fonts of their own follow with FontChange.
void applyTextSize(QApplication& application, double points);

/// The system's monospace font at the size of the widget's font, `delta` points larger.
QFont monoFont(const QWidget* widget, double delta = 0);
/// The widget's font, `delta` points larger and maybe bold.
QFont uiFont(const QWidget* widget, double delta = 0, bool bold = false);
/// Colours a label's text, on whatever background role it inherits.
void setTextColor(QWidget* label, const QColor& color);
/// `top` over `base` with an opacity in [0, 1].
QColor blended(const QColor& base, const QColor& top, double opacity);

} // namespace shardboard
