// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/banner.h"

#include "widgets/theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace shardboard {

Banner::Banner(QWidget* parent)
    : QFrame(parent)
    , m_label(new QLabel(this))
{
    setObjectName(QStringLiteral("banner"));
    setAutoFillBackground(true);
    m_label->setWordWrap(true);
    m_label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_label->setTextFormat(Qt::PlainText);
    auto* close = new QToolButton(this);
    close->setText(tr("Close"));
    close->setObjectName(QStringLiteral("banner.close"));
    close->setAutoRaise(true);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(kPanelMargin, 8, 8, 8);
    layout->addWidget(m_label, 1);
    layout->addWidget(close);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    hide();
}

void Banner::showError(const QString& text) { showText(text, true); }

void Banner::showInfo(const QString& text) { showText(text, false); }

QString Banner::text() const { return m_label->text(); }

void Banner::showText(const QString& text, bool error)
{
    m_error = error;
    m_label->setText(text);
    m_label->setAccessibleName(text);
    applyColors();
    show();
}

void Banner::applyColors()
{
    const Theme& theme = Theme::of(parentWidget() ? parentWidget() : this);
    QPalette colors = theme.palette();
    colors.setColor(QPalette::Window, m_error ? blended(theme.panel, theme.error, 0.14) : theme.selection);
    setPalette(colors);
    QPalette text = colors;
    text.setColor(QPalette::WindowText, m_error ? theme.error : theme.text);
    m_label->setPalette(text);
}

void Banner::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::StyleChange && isVisible())
        applyColors();
    QFrame::changeEvent(event);
}

} // namespace shardboard
