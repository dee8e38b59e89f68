// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/theme.h"

#include <QApplication>
#include <QEvent>
#include <QFontDatabase>
#include <QFontInfo>
#include <QPointer>
#include <QStyle>
#include <QStyleFactory>
#include <QWidget>

#include <algorithm>

namespace shardboard {

namespace {

QColor hex(unsigned rgb) { return QColor(QRgb(rgb | 0xff000000u)); }

} // namespace

Theme Theme::light()
{
    Theme out;
    out.window = hex(0xF6F7F9);
    out.panel = hex(0xFFFFFF);
    out.line = hex(0xE1E4E8);
    out.text = hex(0x1F2328);
    out.quiet = hex(0x667085);
    out.accent = hex(0x2563EB);
    out.onAccent = hex(0xFFFFFF);
    out.selection = hex(0xE8F0FE);
    out.attention = hex(0xB45309);
    out.attentionFill = hex(0xFEF3C7);
    out.error = hex(0xB42318);
    out.good = hex(0x19764A);
    out.track = hex(0xECEEF2);
    return out;
}

Theme Theme::dark()
{
    Theme out;
    out.isDark = true;
    out.window = hex(0x14161A);
    out.panel = hex(0x1B1E24);
    out.line = hex(0x2B3038);
    out.text = hex(0xE6E8EB);
    out.quiet = hex(0x98A2B3);
    out.accent = hex(0x5B8DEF);
    out.onAccent = hex(0x0B0D10);
    out.selection = hex(0x22314F);
    out.attention = hex(0xF5B94A);
    out.attentionFill = hex(0x3A2E14);
    out.error = hex(0xF97066);
    out.good = hex(0x5FC795);
    out.track = hex(0x262B33);
    return out;
}

Theme Theme::contrastLight()
{
    Theme out;
    out.highContrast = true;
    out.window = hex(0xFFFFFF);
    out.panel = hex(0xFFFFFF);
    out.line = hex(0x6B6B6B);
    out.text = hex(0x000000);
    out.quiet = hex(0x2E2E2E);
    out.accent = hex(0x0039B3);
    out.onAccent = hex(0xFFFFFF);
    out.selection = hex(0xCFE0FF);
    out.attention = hex(0x7A3300);
    out.attentionFill = hex(0xFFF1C9);
    out.error = hex(0xA00000);
    out.good = hex(0x00542B);
    out.track = hex(0xD5D5D5);
    return out;
}

Theme Theme::contrastDark()
{
    Theme out;
    out.isDark = true;
    out.highContrast = true;
    out.window = hex(0x000000);
    out.panel = hex(0x000000);
    out.line = hex(0x8A8A8A);
    out.text = hex(0xFFFFFF);
    out.quiet = hex(0xD6D6D6);
    out.accent = hex(0x8AB8FF);
    out.onAccent = hex(0x000000);
    out.selection = hex(0x1F3A6E);
    out.attention = hex(0xFFD25E);
    out.attentionFill = hex(0x2B2100);
    out.error = hex(0xFF9A90);
    out.good = hex(0x7FE3B0);
    out.track = hex(0x3A3A3A);
    return out;
}

const Theme& Theme::of(const QWidget* widget)
{
    static const Theme contrastLightTheme = contrastLight();
    static const Theme contrastDarkTheme = contrastDark();
    static const Theme lightTheme = light();
    static const Theme darkTheme = dark();
    // Not by Window, which style sheets make transparent in places.
    const QColor background = widget->palette().color(QPalette::Active, QPalette::AlternateBase);
    if (background.lightness() < 128)
        return background == contrastDarkTheme.window ? contrastDarkTheme : darkTheme;
    return background == contrastLightTheme.window ? contrastLightTheme : lightTheme;
}

QPalette Theme::palette() const
{
    QPalette out;
    const QColor disabled = blended(panel, quiet, highContrast ? 0.8 : 0.65);
    out.setColor(QPalette::Window, window);
    out.setColor(QPalette::WindowText, text);
    out.setColor(QPalette::Base, panel);
    out.setColor(QPalette::AlternateBase, window);
    out.setColor(QPalette::Text, text);
    out.setColor(QPalette::PlaceholderText, quiet);
    out.setColor(QPalette::Button, panel);
    out.setColor(QPalette::ButtonText, text);
    out.setColor(QPalette::BrightText, error);
    out.setColor(QPalette::ToolTipBase, panel);
    out.setColor(QPalette::ToolTipText, text);
    out.setColor(QPalette::Highlight, accent);
    out.setColor(QPalette::HighlightedText, onAccent);
    out.setColor(QPalette::Link, accent);
    out.setColor(QPalette::LinkVisited, accent);
    out.setColor(QPalette::Light, isDark ? blended(panel, text, 0.12) : QColor(Qt::white));
    out.setColor(QPalette::Midlight, line);
    out.setColor(QPalette::Mid, line);
    out.setColor(QPalette::Dark, blended(line, text, 0.25));
    out.setColor(QPalette::Shadow, isDark ? QColor(Qt::black) : blended(line, text, 0.5));
    for (const auto role : { QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::PlaceholderText,
                             QPalette::HighlightedText, QPalette::ToolTipText, QPalette::Link })
        out.setColor(QPalette::Disabled, role, disabled);
    out.setColor(QPalette::Disabled, QPalette::Highlight, line);
    return out;
}

QString Theme::styleSheet() const
{
    QString css = QStringLiteral(R"(
QToolTip { background: @panel; color: @text; border: 1px solid @line; padding: 4px 6px; }
QMenu { background: @panel; border: 1px solid @line; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 20px; border-radius: 4px; }
QMenu::item:selected { background: @selection; color: @text; }
QMenu::item:disabled { color: @disabled; }
QMenu::separator { height: 1px; background: @line; margin: 4px 8px; }
QLineEdit { background: @field; color: @text; border: 1px solid @line;
    border-radius: 6px; padding: 4px 8px; selection-background-color: @accent; selection-color: @onAccent; }
QLineEdit:focus { border: 1px solid @accent; }
QLineEdit[refused="true"] { border: 1px solid @error; }
QPushButton { background: @panel; color: @text; border: 1px solid @line; border-radius: 6px; padding: 5px 12px;
    outline: none; }
QPushButton:hover { background: @selection; }
QPushButton:focus { border: 1px solid @accent; }
QPushButton:disabled { color: @disabled; }
QPushButton[primary="true"] { background: @accent; color: @onAccent; border: 1px solid @accent; font-weight: bold; }
QPushButton[primary="true"]:hover { background: @accentHover; }
QPushButton[primary="true"]:focus { border: 2px solid @text; padding: 4px 11px; }
QPushButton[link="true"] { background: transparent; border: 1px solid transparent; color: @accent; text-align: left; padding: 4px 0px; }
QPushButton[link="true"]:hover { text-decoration: underline; }
QPushButton[link="true"]:focus { border: 1px solid @accent; }
QPushButton[primary="true"]:disabled { background: @line; color: @disabled; border: 1px solid @line; }
QPushButton[field="true"] { background: @field; color: @quiet; text-align: left; font-weight: normal; }
QPushButton[badge] { padding: 4px 10px; border-radius: 13px; }
QPushButton[badge="warning"] { background: @attentionFill; color: @attention; border: 1px solid @attention; font-weight: bold; }
QPushButton[badge="error"] { color: @error; border: 1px solid @error; font-weight: bold; }
QPushButton[badge]:focus { border: 2px solid @accent; padding: 3px 9px; }
QToolButton { background: transparent; color: @text; border: 1px solid transparent; border-radius: 6px; padding: 3px 6px; }
QToolButton[outlined="true"] { background: @panel; border: 1px solid @line; padding: 4px 8px; }
QToolButton[heading="true"] { color: @quiet; padding: 2px 4px 2px 0px; }
QToolButton#closeTab { padding: 0px; color: @quiet; }
QToolButton[segment="true"] { padding: 5px 0px; color: @quiet; }
QToolButton[segment="true"]:checked { color: @text; }
QToolButton:hover { background: @selection; }
QToolButton:checked { background: @selection; border: 1px solid @accent; }
QToolButton:focus { border: 1px solid @accent; }
QToolButton[segment="true"]:checked:focus { border: 2px solid @text; padding: 4px 0px; }
QToolButton[outlined="true"]:focus { border: 1px solid @accent; }
QToolButton::menu-indicator { image: none; }
QToolButton:disabled { color: @disabled; }
QAbstractItemView { background: @panel; color: @text; border: 1px solid transparent; outline: none;
    selection-background-color: @selection; selection-color: @text; }
QAbstractItemView:focus { border: 1px solid @accent; }
QTreeView::item, QTableView::item, QListView::item { border: none; padding: 0 8px; }
QTreeView::item:selected, QTableView::item:selected, QListView::item:selected { background: @selection; color: @text; }
QHeaderView { background: @panel; border: none; }
QHeaderView::section { background: @panel; color: @quiet; border: none; border-bottom: 1px solid @line; padding: 4px 1px 4px 8px; }
QHeaderView::up-arrow, QHeaderView::down-arrow { subcontrol-origin: border; subcontrol-position: center right; top: 1px; width: 7px; height: 7px; }
QTabWidget::pane { border: none; border-top: 1px solid @line; background: @panel; }
QTabBar { background: transparent; }
QTabBar::tab { background: transparent; color: @quiet; border: none; border-bottom: 2px solid transparent;
    padding: 6px 4px; margin: 0 6px; }
QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabBar::tab:focus { color: @accent; background: @selection; border-radius: 4px; }
QPlainTextEdit { border: 1px solid @line; }
QPlainTextEdit:focus { border: 1px solid @accent; }
#dropDown { background: @panel; border: 1px solid @line; border-radius: 6px; }
QScrollArea { border: 1px solid transparent; background: transparent; }
QScrollArea:focus { border: 1px solid @accent; }
QScrollBar { background: transparent; border: none; }
QScrollBar:vertical { width: 10px; margin: 0; }
QScrollBar:horizontal { height: 10px; margin: 0; }
QScrollBar::handle { background: @handle; border-radius: 4px; margin: 1px; }
QScrollBar::handle:vertical { min-height: 24px; }
QScrollBar::handle:horizontal { min-width: 24px; }
QScrollBar::handle:hover { background: @quiet; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSlider::groove:horizontal { background: @handle; height: 4px; border-radius: 2px; }
QSlider::sub-page:horizontal { background: @accent; height: 4px; border-radius: 2px; }
QSlider::handle:horizontal { background: @panel; border: 2px solid @accent; width: 8px; margin: -4px 0; border-radius: 6px; }
QSlider::handle:horizontal:focus { background: @accent; }
QSlider::handle:horizontal:disabled { border: 2px solid @disabled; }
QSlider::sub-page:horizontal:disabled { background: @disabled; }
QSplitter::handle { background: @line; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QMainWindow::separator { background: @line; width: 1px; height: 1px; }
QMenuBar { background: @panel; color: @text; border-bottom: 1px solid @line; padding: 2px 8px; }
QMenuBar::item { background: transparent; padding: 4px 8px; border-radius: 4px; }
QMenuBar::item:selected { background: @selection; }
QToolBar { background: @panel; border: none; border-bottom: 1px solid @line; padding: 0; spacing: 0; }
QProgressBar { background: @track; color: @text; border: none; border-radius: 6px; text-align: center; min-height: 16px; }
QProgressBar::chunk { background: @accent; border-radius: 6px; }
QStatusBar { background: @panel; color: @quiet; border-top: 1px solid @line; }
QStatusBar::item { border: none; }
)");
    if (highContrast)
        css += QStringLiteral(R"(
QToolTip, QMenu { border: 1px solid @text; }
QMenu::item:selected, QMenuBar::item:selected { background: @accent; color: @onAccent; }
QLineEdit, QPushButton, QToolButton[outlined="true"] { border: 1px solid @quiet; }
QLineEdit:focus, QPushButton:focus, QToolButton:focus, QToolButton[outlined="true"]:focus { border: 2px solid @accent; }
QPushButton[primary="true"]:focus { border: 3px solid @text; }
QPushButton:disabled { border: 1px dashed @quiet; }
QTabBar::tab:selected { border-bottom: 3px solid @accent; }
QAbstractItemView { border: 1px solid @line; }
QAbstractItemView:focus { border: 2px solid @accent; }
QHeaderView { border: none; }
QScrollBar::handle { background: @quiet; }
)");
    const auto put = [&css](const char* name, const QColor& color) {
        css.replace(QLatin1Char('@') + QLatin1String(name) + QLatin1Char(';'), color.name() + QLatin1Char(';'));
    };
    put("panel", panel);
    put("track", track);
    put("text", text);
    put("line", line);
    put("selection", selection);
    put("disabled", blended(panel, quiet, highContrast ? 0.8 : 0.65));
    put("field", isDark ? blended(panel, window, 0.6) : blended(panel, window, 1.0));
    put("accent", accent);
    put("onAccent", onAccent);
    put("accentHover", blended(accent, text, 0.15));
    put("attention", attention);
    put("attentionFill", attentionFill);
    put("error", error);
    put("quiet", quiet);
    put("handle", blended(panel, quiet, 0.4));
    return css;
}

void applyTheme(QApplication& application, const Theme& theme, PartStyle parts)
{
    setPartStyle(parts);
    // Changing a style sheet polishes a widget once more for each of its ancestors (updateObjects() in Qt's qstylesheetstyle.cpp),
    // which takes seconds in a deep window. Taking it off and setting another one visits every widget twice, and that is all.
    application.setStyleSheet({});
    const QString fusion = QStringLiteral("fusion");
    if (application.style()->name() != fusion)
        if (QStyle* style = QStyleFactory::create(fusion))
            application.setStyle(style);
    QPalette palette = theme.palette();
    if (parts == PartStyle::Patterns) // another palette, so that everybody is told who has prepared colours of parts
        palette.setColor(QPalette::LinkVisited, theme.text);
    application.setPalette(palette);
    // Fusion draws the frames of these a good deal darker than their window, which on a dark one is not to be seen.
    QPalette framed = palette;
    if (theme.isDark)
        framed.setColor(QPalette::Window, theme.highContrast ? theme.quiet : blended(theme.line, theme.quiet, 0.6));
    for (const char* name : { "QAbstractSpinBox", "QCheckBox", "QRadioButton" })
        QApplication::setPalette(framed, name);
    application.setStyleSheet(theme.styleSheet());
}

StyleSheetOff::StyleSheetOff(QApplication& application)
    : m_application(application)
    , m_sheet(application.styleSheet())
{
    m_application.setStyleSheet({});
}

StyleSheetOff::~StyleSheetOff() { m_application.setStyleSheet(m_sheet); }

void applyTextSize(QApplication& application, double points)
{
    QFont font = application.font();
    font.setPointSizeF(points);
    application.setFont(font);
    // Under a style sheet a font goes from the application to its windows and no further.
    const auto widgets = QApplication::allWidgets();
    const QList<QPointer<QWidget>> all(widgets.begin(), widgets.end()); // one may remove others
    for (const QPointer<QWidget>& widget : all)
        if (widget) {
            QEvent event(QEvent::ApplicationFontChange);
            QCoreApplication::sendEvent(widget, &event);
        }
}

namespace {

QFont sized(QFont font, const QWidget* widget, double delta)
{
    const double points = widget->font().pointSizeF() > 0 ? widget->font().pointSizeF() : QFontInfo(widget->font()).pointSizeF();
    font.setPointSizeF(std::max(6.0, points + delta));
    return font;
}

} // namespace

double textScale(const QWidget* widget)
{
    constexpr double kPoints = 10;
    const double points = widget->font().pointSizeF(); // asked for each cell of a picture; below 0 for a font in pixels
    return std::max(1.0, (points > 0 ? points : QFontInfo(widget->font()).pointSizeF()) / kPoints);
}

int rowHeight(const QWidget* widget) { return std::max(kRowHeight, widget->fontMetrics().height() + 10); }

QFont monoFont(const QWidget* widget, double delta)
{
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    if (!QFontInfo(font).fixedPitch()) {
        font = QFont(QStringLiteral("monospace"));
        font.setStyleHint(QFont::Monospace);
    }
    return sized(font, widget, delta);
}

QFont uiFont(const QWidget* widget, double delta, bool bold)
{
    QFont font = sized(widget->font(), widget, delta);
    font.setBold(bold);
    return font;
}

void setTextColor(QWidget* label, const QColor& color)
{
    QPalette palette = label->palette();
    palette.setColor(QPalette::WindowText, color);
    palette.setColor(QPalette::Text, color);
    label->setPalette(palette);
}

QColor blended(const QColor& base, const QColor& top, double opacity)
{
    const auto mix = [opacity](float a, float b) { return static_cast<float>(a + (b - a) * opacity); };
    return QColor::fromRgbF(mix(base.redF(), top.redF()), mix(base.greenF(), top.greenF()), mix(base.blueF(), top.blueF()));
}

} // namespace shardboard
