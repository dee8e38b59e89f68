// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/legend.h"

#include "widgets/look/theme.h"

#include <QAbstractButton>
#include <QEvent>
#include <QKeyEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardboard {

namespace {

constexpr int kHeight = 22;
constexpr int kSample = 16;
constexpr int kSampleGap = 5;
constexpr int kPadding = 6; ///< at both sides of an entry
constexpr int kLeastText = 22; ///< shorter names are left out

} // namespace

class LegendButton : public QAbstractButton {
public:
    explicit LegendButton(Legend* legend)
        : QAbstractButton(legend)
        , m_legend(legend)
    {
        setCheckable(true);
        setFocusPolicy(Qt::TabFocus);
        setCursor(Qt::PointingHandCursor);
        setAttribute(Qt::WA_Hover);
    }
    void setEntry(const LegendEntry& entry)
    {
        m_paint = entry.paint;
        setObjectName(QStringLiteral("legend.") + entry.key);
        setText(entry.text);
        const QString name = entry.name.isEmpty() ? entry.text : entry.name;
        setAccessibleName(name);
        setAccessibleDescription(tr("Shows what is drawn this way and dims the rest"));
        const QString does = tr("Click: what is drawn this way; again: everything");
        setToolTip((entry.toolTip.isEmpty() ? name : name + QLatin1Char('\n') + entry.toolTip) + QLatin1Char('\n') + does);
        update();
    }
    int textWidth() const { return static_cast<int>(std::ceil(QFontMetricsF(font()).horizontalAdvance(text()))) + 1; }
    QSize sizeHint() const override
    {
        return { 2 * kPadding + kSample + kSampleGap + textWidth(), static_cast<int>(kHeight * textScale(m_legend)) };
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        const Theme& theme = Theme::of(this);
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const QRectF frame = QRectF(rect()).adjusted(0.5, 2.5, -0.5, -2.5);
        if (isChecked() || hasFocus()) {
            painter.setPen(hasFocus() || isChecked() ? QPen(theme.accent, hasFocus() ? 1.5 : 1) : QPen(Qt::NoPen));
            painter.setBrush(isChecked() ? QBrush(theme.selection) : QBrush(Qt::NoBrush));
            painter.drawRoundedRect(frame, 4, 4);
        }
        painter.save();
        m_paint(painter, QRectF(kPadding, height() / 2.0 - 5, kSample, 10), this);
        painter.restore();
        const int room = width() - 2 * kPadding - kSample - kSampleGap + 1;
        if (room < std::min(kLeastText, textWidth()))
            return;
        painter.setPen(isChecked() || underMouse() ? theme.text : theme.quiet);
        painter.drawText(QRect(kPadding + kSample + kSampleGap, 0, room, height()), Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(text(), Qt::ElideRight, room));
    }
    void keyPressEvent(QKeyEvent* event) override
    {
        switch (event->key()) {
        case Qt::Key_Left:
        case Qt::Key_Right:
            m_legend->moveFocus(this, event->key() == Qt::Key_Right ? 1 : -1);
            return;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            click();
            return;
        case Qt::Key_Escape:
            if (m_legend->chosen().isEmpty())
                break;
            m_legend->choose({});
            return;
        default:
            break;
        }
        QAbstractButton::keyPressEvent(event);
    }

private:
    Legend* m_legend;
    std::function<void(QPainter&, const QRectF&, const QWidget*)> m_paint;
};

Legend::Legend(QWidget* parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Legend"));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void Legend::setEntries(std::vector<LegendEntry> entries)
{
    m_entries = std::move(entries);
    while (m_buttons.size() > m_entries.size()) {
        m_buttons.back()->deleteLater();
        m_buttons.back()->hide();
        m_buttons.back()->setObjectName({});
        m_buttons.pop_back();
    }
    while (m_buttons.size() < m_entries.size()) {
        auto* button = new LegendButton(this);
        m_buttons.push_back(button);
        connect(button, &QAbstractButton::clicked, this, [this, button] {
            const auto at = std::find(m_buttons.begin(), m_buttons.end(), button);
            if (at == m_buttons.end())
                return;
            const QString& key = m_entries[static_cast<std::size_t>(at - m_buttons.begin())].key;
            choose(key == m_chosen ? QString() : key);
        });
        button->show();
    }
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        m_buttons[i]->setFont(uiFont(this, -1.5));
        m_buttons[i]->setEntry(m_entries[i]);
        m_buttons[i]->setChecked(m_entries[i].key == m_chosen);
    }
    if (button(m_chosen) == nullptr)
        choose({});
    updateGeometry();
    place();
}

void Legend::choose(const QString& key)
{
    const bool other = key != m_chosen;
    m_chosen = key;
    for (std::size_t i = 0; i < m_entries.size(); ++i)
        m_buttons[i]->setChecked(!key.isEmpty() && m_entries[i].key == key);
    if (other)
        Q_EMIT chosenChanged(key);
}

QWidget* Legend::button(const QString& key) const
{
    for (std::size_t i = 0; i < m_entries.size(); ++i)
        if (m_entries[i].key == key)
            return m_buttons[i];
    return nullptr;
}

void Legend::setMostLines(int lines)
{
    m_mostLines = lines;
    QSizePolicy policy = sizePolicy();
    policy.setHeightForWidth(hasHeightForWidth());
    policy.setVerticalPolicy(hasHeightForWidth() ? QSizePolicy::Minimum : QSizePolicy::Fixed);
    setSizePolicy(policy);
    place();
}

int Legend::lineHeight() const { return static_cast<int>(kHeight * textScale(this)); }

QSize Legend::sizeHint() const
{
    int width = 0;
    for (const LegendButton* button : m_buttons)
        width += button->sizeHint().width();
    return { width, lineHeight() };
}

QSize Legend::minimumSizeHint() const
{
    const int inLine = (static_cast<int>(m_buttons.size()) + m_mostLines - 1) / m_mostLines;
    return { inLine * (2 * kPadding + kSample), lineHeight() };
}

int Legend::heightForWidth(int width) const
{
    const std::vector<QRect> places = placesIn(width);
    return places.empty() ? lineHeight() : places.back().bottom() + 1;
}

std::vector<QRect> Legend::placesIn(int width, int text) const
{
    std::vector<QRect> out;
    QPoint at;
    int line = 1;
    for (const LegendButton* button : m_buttons) {
        const int own = std::min(button->textWidth(), text);
        const bool toTip = own < kLeastText && own < button->textWidth();
        const int wide = 2 * kPadding + kSample + (toTip ? 0 : kSampleGap + own);
        if (at.x() > 0 && at.x() + wide > width && line < m_mostLines) {
            at = { 0, line * lineHeight() };
            ++line;
        }
        out.emplace_back(at, QSize(wide, lineHeight()));
        at.rx() += wide;
    }
    return out;
}

/// Names get the same share of what there is, short ones what they need.
std::vector<QRect> Legend::placesIn(int width) const
{
    const auto fits = [&](int text) {
        return std::ranges::all_of(placesIn(width, text), [width](const QRect& one) { return one.right() < width; });
    };
    int over = 1; // than what fits
    for (const LegendButton* button : m_buttons)
        over = std::max(over, button->textWidth() + 1);
    int text = 0;
    while (over - text > 1) {
        const int middle = (text + over) / 2;
        (fits(middle) ? text : over) = middle;
    }
    return placesIn(width, text);
}

void Legend::place()
{
    const std::vector<QRect> places = placesIn(width());
    for (std::size_t i = 0; i < places.size(); ++i)
        m_buttons[i]->setGeometry(places[i]);
}

void Legend::moveFocus(const LegendButton* from, int by)
{
    const auto at = std::find(m_buttons.begin(), m_buttons.end(), from);
    const auto next = (at - m_buttons.begin()) + by;
    if (at != m_buttons.end() && next >= 0 && next < static_cast<std::ptrdiff_t>(m_buttons.size()))
        m_buttons[static_cast<std::size_t>(next)]->setFocus(by > 0 ? Qt::TabFocusReason : Qt::BacktabFocusReason);
}

void Legend::resizeEvent(QResizeEvent*) { place(); }

void Legend::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) {
        for (LegendButton* button : m_buttons)
            button->setFont(uiFont(this, -1.5));
        updateGeometry();
        place();
    }
}

void paintStrips(QPainter& painter, const QRectF& rect, const std::function<void(QPainter&, const QRect&, int)>& strip)
{
    painter.setRenderHint(QPainter::Antialiasing, false);
    constexpr int kStrips = 3;
    const QRect all = rect.toRect();
    for (int i = 0; i < kStrips; ++i) {
        const int left = all.left() + all.width() * i / kStrips;
        strip(painter, QRect(left, all.top(), all.left() + all.width() * (i + 1) / kStrips - left - 1, all.height()), i);
    }
}

} // namespace shardboard
