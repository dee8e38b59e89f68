// SPDX-License-Identifier: Apache-2.0
#include "widgets/inspectorparts.h"

#include "widgets/speclabel.h"
#include "widgets/theme.h"
#include "widgets/wrappedlabel.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace shardboard {

namespace {

QLabel* coloured(QLabel* label, const QColor& color)
{
    setTextColor(label, color);
    label->setTextFormat(Qt::PlainText);
    return label;
}

} // namespace

Card::Card(const QString& title, const QString& value, const QString& detail, Look look, QWidget* parent)
    : QWidget(parent)
    , m_title(title)
    , m_value(value)
    , m_look(look)
{
    const Theme& theme = Theme::of(parent);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(10, 7, 10, 7);
    column->setSpacing(2);
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    auto* titleLabel = coloured(new WrappedLabel(title, this),
                                look == Look::Attention   ? theme.attention
                                    : look == Look::Error ? theme.error
                                                          : theme.text);
    titleLabel->setFont(uiFont(parent, -0.5, true));
    m_titleLabel = titleLabel;
    line->addWidget(titleLabel, 1);
    if (!value.isEmpty()) {
        auto* valueLabel = coloured(new QLabel(value, this), value == tr("refused") ? theme.error : theme.text);
        valueLabel->setFont(monoFont(parent, -0.5));
        line->addWidget(valueLabel, 0, Qt::AlignTop);
        m_valueLabel = valueLabel;
    }
    column->addLayout(line);
    if (!detail.isEmpty()) {
        auto* detailLabel = coloured(new WrappedLabel(detail, this),
                                     look == Look::Attention || look == Look::Error ? theme.text : theme.quiet);
        detailLabel->setFont(uiFont(parent, -1));
        column->addWidget(detailLabel);
        m_detailLabel = detailLabel;
    }
    setAccessibleName(title);
    setAccessibleDescription(value + QLatin1Char(' ') + detail);
}

void Card::setTexts(const QString& title, const QString& value, const QString& detail)
{
    m_title = title;
    m_value = value;
    m_titleLabel->setText(breakable(title));
    m_titleLabel->setAccessibleName(title);
    if (m_valueLabel) {
        m_valueLabel->setText(value);
        setTextColor(m_valueLabel, value == tr("refused") ? Theme::of(this).error : Theme::of(this).text);
    }
    if (m_detailLabel) {
        m_detailLabel->setText(breakable(detail));
        m_detailLabel->setAccessibleName(detail);
    }
    setAccessibleName(title);
    setAccessibleDescription(value + QLatin1Char(' ') + detail);
}

void Card::setActionable(const QString& toolTip)
{
    m_actionable = true;
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
    setToolTip(toolTip);
}

QPushButton* Card::addButton(const QString& text, const QString& beside)
{
    auto* button = new QPushButton(this);
    button->setProperty("primary", true);
    button->setAccessibleName(text);
    button->setToolTip(text);
    button->setFont(uiFont(this, -0.5, true));
    constexpr int kMost = 272; // the narrowest inspector less its margins
    constexpr int kPadding = 28;
    button->setText(QFontMetrics(button->font()).elidedText(text, Qt::ElideMiddle, kMost - kPadding));
    auto* column = static_cast<QVBoxLayout*>(layout());
    column->addSpacing(4);
    column->addWidget(button, 0, Qt::AlignLeft);
    if (!beside.isEmpty()) {
        auto* label = coloured(new WrappedLabel(beside, this), Theme::of(this).attention);
        label->setFont(uiFont(this, -1, true));
        column->addWidget(label);
    }
    return button;
}

void Card::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor border = theme.line;
    QColor fill = theme.panel;
    if (m_look == Look::Chosen) {
        border = theme.accent;
        fill = theme.selection;
    } else if (m_look == Look::Attention) {
        border = theme.attention;
        fill = theme.attentionFill;
    } else if (m_look == Look::Error) {
        border = theme.error;
        fill = blended(theme.panel, theme.error, 0.1);
    }
    painter.setPen(QPen(hasFocus() ? theme.accent : border, hasFocus() ? 2 : 1));
    painter.setBrush(fill);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kCornerRadius, kCornerRadius);
}

void Card::mouseReleaseEvent(QMouseEvent* event)
{
    if (m_actionable && event->button() == Qt::LeftButton && rect().contains(event->pos()))
        Q_EMIT activated();
}

void Card::keyPressEvent(QKeyEvent* event)
{
    if (m_actionable
        && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space))
        Q_EMIT activated();
    else
        QWidget::keyPressEvent(event);
}

void Card::focusInEvent(QFocusEvent*) { update(); }
void Card::focusOutEvent(QFocusEvent*) { update(); }

InspectorPage::InspectorPage(QWidget* parent)
    : QWidget(parent)
    , m_column(new QVBoxLayout(this))
{
    m_column->setContentsMargins(kPanelMargin, 8, kPanelMargin, kPanelMargin);
    m_column->setSpacing(6);
}

void InspectorPage::section(const QString& title)
{
    m_facts = nullptr;
    const Theme& theme = Theme::of(parentWidget());
    if (!m_first) {
        auto* line = new QWidget(this);
        line->setFixedHeight(1);
        line->setAutoFillBackground(true);
        line->setBackgroundRole(QPalette::Window);
        QPalette palette = line->palette();
        palette.setColor(QPalette::Window, theme.line);
        line->setPalette(palette);
        m_column->addSpacing(6);
        m_column->addWidget(line);
        m_column->addSpacing(2);
    }
    m_first = false;
    auto* label = coloured(new QLabel(title.toUpper(), this), theme.quiet);
    label->setFont(uiFont(parentWidget(), -1.5, true));
    m_column->addWidget(label);
}

/// A new row of facts with its name.
void InspectorPage::factName(const QString& name)
{
    if (!m_facts) {
        m_facts = new QGridLayout;
        m_facts->setContentsMargins(0, 0, 0, 0);
        m_facts->setHorizontalSpacing(12);
        m_facts->setVerticalSpacing(5);
        m_facts->setColumnStretch(1, 1);
        m_column->addLayout(m_facts);
    }
    auto* label = coloured(new QLabel(name, this), Theme::of(parentWidget()).quiet);
    label->setFont(uiFont(parentWidget(), -0.5));
    constexpr int kWidestName = 124; // a third of the panel; names of tensors can be long
    if (label->sizeHint().width() > kWidestName) {
        label->setToolTip(name);
        label->setText(label->fontMetrics().elidedText(name, Qt::ElideMiddle, kWidestName));
    }
    m_facts->addWidget(label, m_facts->rowCount(), 0, Qt::AlignTop);
}

void InspectorPage::fact(const QString& name, const QString& value, const QString& toolTip)
{
    factName(name);
    auto* label = coloured(new WrappedLabel(value, this), Theme::of(parentWidget()).text);
    label->setFont(monoFont(parentWidget(), -1));
    label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setToolTip(toolTip);
    m_facts->addWidget(label, m_facts->rowCount() - 1, 1);
}

void InspectorPage::fact(const QString& name, const ShownSpec& spec, const Layout& layout, const Mesh& mesh)
{
    factName(name);
    auto* label = new SpecLabel(this);
    setTextColor(label, Theme::of(parentWidget()).text);
    label->setTextFont(monoFont(parentWidget(), -1));
    label->setAlignment(Qt::AlignRight);
    label->setSpec(spec, layout, mesh);
    m_facts->addWidget(label, m_facts->rowCount() - 1, 1);
}

void InspectorPage::sentence(const QString& text)
{
    m_facts = nullptr;
    auto* label = coloured(new WrappedLabel(text, this), Theme::of(parentWidget()).text);
    label->setFont(uiFont(parentWidget(), -0.5));
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_column->addWidget(label);
}

QPushButton* InspectorPage::button(const QString& text, const QString& toolTip)
{
    m_facts = nullptr;
    auto* out = new QPushButton(text, this);
    out->setToolTip(toolTip);
    m_column->addWidget(out, 0, Qt::AlignLeft);
    return out;
}

Card* InspectorPage::card(const QString& title, const QString& value, const QString& detail, Card::Look look)
{
    m_facts = nullptr;
    auto* out = new Card(title, value, detail, look, this);
    m_column->addWidget(out);
    return out;
}

/// The scroll area makes the page as wide as its view, never wider: nothing is cut off at its right.
QSize InspectorPage::minimumSizeHint() const { return { 120, QWidget::minimumSizeHint().height() }; }

void InspectorPage::finish() { m_column->addStretch(1); }

} // namespace shardboard
