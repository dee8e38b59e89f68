// SPDX-License-Identifier: Apache-2.0
// Colours, fonts and measures of the workbench, light and dark. A value type; views ask for it with Theme::of(), which
// goes by the lightness of the widget's palette, so that nothing global has to be kept in step.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>

class QApplication;
class QWidget;

namespace shardboard {

struct Theme {
    bool isDark = false;
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
    QColor track; ///< empty part of a bar, fill of a replicated tile

    static Theme light();
    static Theme dark();
    /// The theme that a widget's palette belongs to.
    static const Theme& of(const QWidget* widget);

    QPalette palette() const; ///< complete: placeholder text, tool tips and the disabled group too
    QString styleSheet() const;
};

inline constexpr int kPanelMargin = 16; ///< inside a panel, in device-independent pixels
inline constexpr int kRowHeight = 28;
inline constexpr int kTwoLineRowHeight = 46;
inline constexpr int kCornerRadius = 6;
inline constexpr int kCanvasRadius = 8;

/// Fusion, the theme's palette and its style sheet for the whole program.
void applyTheme(QApplication& application, const Theme& theme);

/// The system's monospace font at the size of the widget's font, `delta` points larger.
QFont monoFont(const QWidget* widget, double delta = 0);
/// The widget's font, `delta` points larger and maybe bold.
QFont uiFont(const QWidget* widget, double delta = 0, bool bold = false);
/// Colours a label's text, on whatever background role it inherits.
void setTextColor(QWidget* label, const QColor& color);
/// `top` over `base` with an opacity in [0, 1].
QColor blended(const QColor& base, const QColor& top, double opacity);

} // namespace shardboard
