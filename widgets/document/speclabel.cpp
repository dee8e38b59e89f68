// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/speclabel.h"

#include "widgets/controls/contextmenu.h"
#include "widgets/look/theme.h"

#include <QContextMenuEvent>
#include <QMenu>
#include <QPainter>
#include <QStringList>
#include <QTextLayout>
#include <QTextOption>

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardboard {

namespace {

constexpr QChar kBreak(0x200B); ///< a place without width where a line may end

/// The pieces that cannot be broken are no wider than this.
bool fits(const QString& text, const QFont& font, int width)
{
    const QFontMetrics metrics(font);
    const QStringList pieces = QString(text).replace(kBreak, QLatin1Char(' ')).split(QLatin1Char(' '));
    return std::all_of(pieces.begin(), pieces.end(),
                       [&](const QString& piece) { return metrics.horizontalAdvance(piece) <= width; });
}

/// The text with places to end a line, and a font in which it can be broken there: HloSharding before `<=` and `T`,
/// long lists after a comma; somewhat smaller where that spares a break inside a word.
std::pair<QString, QFont> broken(const QString& text, const QFont& font, int width)
{
    QString parts = text;
    parts.replace(QLatin1String("<="), kBreak + QLatin1String("<="))
        .replace(QLatin1String("]T("), QLatin1Char(']') + QString(kBreak) + QLatin1String("T("));
    QString lists = parts;
    lists.replace(QLatin1Char(','), QLatin1Char(',') + QString(kBreak));
    for (const QString& candidate : { text, parts, lists })
        for (double smaller = 0; smaller <= 2; smaller += 0.5) {
            QFont tried = font;
            tried.setPointSizeF(font.pointSizeF() - smaller);
            if (tried.pointSizeF() >= 6 && fits(candidate, tried, width))
                return { candidate, tried };
        }
    return { lists, font };
}

/// Breaks the text into lines of this width; answers their height.
double arrange(QTextLayout& layout, Qt::Alignment alignment, int width)
{
    QTextOption option(alignment);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout.setTextOption(option);
    layout.beginLayout();
    double y = 0;
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(std::max(width, 1));
        line.setPosition(QPointF(0, y));
        y += std::ceil(line.height());
    }
    layout.endLayout();
    return y;
}

} // namespace

SpecLabel::SpecLabel(QWidget* parent)
    : QWidget(parent)
    , m_font(monoFont(this))
{
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void SpecLabel::setSpec(const ShownSpec& spec, const Layout& layout, const Mesh& mesh)
{
    m_layout = layout;
    m_mesh = mesh;
    setToolTip(spec.toolTip);
    if (spec.marked() == m_text)
        return;
    m_text = spec.marked();
    setAccessibleName(m_text);
    updateGeometry();
    update();
}

void SpecLabel::setAlignment(Qt::Alignment alignment)
{
    m_alignment = alignment;
    update();
}

void SpecLabel::setTextFont(const QFont& font)
{
    m_font = font;
    updateGeometry();
    update();
}

QSize SpecLabel::sizeHint() const
{
    const QFontMetrics metrics(m_font);
    return { metrics.horizontalAdvance(m_text) + 2, metrics.height() };
}

QSize SpecLabel::minimumSizeHint() const { return { 60, QFontMetrics(m_font).height() }; }

int SpecLabel::heightForWidth(int width) const
{
    const auto [text, font] = broken(m_text, m_font, width);
    QTextLayout layout(text, font);
    return std::max(static_cast<int>(arrange(layout, m_alignment, width)), QFontMetrics(m_font).height());
}

void SpecLabel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setPen(palette().color(QPalette::Text));
    const auto [text, font] = broken(m_text, m_font, width());
    QTextLayout layout(text, font);
    arrange(layout, m_alignment, width());
    layout.draw(&painter, QPointF(0, 0));
}

void SpecLabel::fillMenu(QMenu* menu) const { addCopyMenu(menu, m_layout, m_mesh); }

void SpecLabel::contextMenuEvent(QContextMenuEvent* event)
{
    showContextMenu(this, event->globalPos(), [this](QMenu* menu) { fillMenu(menu); });
}

} // namespace shardboard
