// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/base/banner.h"

#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QPushButton>
#include <QToolButton>

namespace shardboard {

Banner::Banner(QWidget* parent)
    : QFrame(parent)
    , m_label(new WrappedLabel({}, this))
{
    setObjectName(QStringLiteral("banner"));
    setAutoFillBackground(true);
    m_label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* close = new QToolButton(this);
    close->setText(tr("Close"));
    close->setObjectName(QStringLiteral("banner.close"));
    close->setAutoRaise(true);
    m_layout = new QHBoxLayout(this);
    m_layout->setContentsMargins(kPanelMargin, 8, 8, 8);
    m_layout->addWidget(m_label, 1);
    m_layout->addWidget(close);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    hide();
}

void Banner::showError(const QString& text) { showText(text, true); }

void Banner::showInfo(const QString& text) { showText(text, false); }

void Banner::ask(const QString& text, const std::vector<Choice>& choices)
{
    showText(text, false);
    for (const Choice& choice : choices) {
        auto* button = new QPushButton(choice.text, this);
        button->setObjectName(QStringLiteral("banner.choice%1").arg(m_choices.size()));
        connect(button, &QPushButton::clicked, this, [this, run = choice.run] {
            hide();
            run();
        });
        m_layout->insertWidget(m_layout->count() - 1, button);
        m_choices.push_back(button);
    }
}

QString Banner::text() const { return m_label->fullText(); }

void Banner::showText(const QString& text, bool error)
{
    m_error = error;
    for (QPushButton* button : m_choices) {
        button->hide();
        button->deleteLater(); // it may be the one that was clicked
    }
    m_choices.clear();
    m_label->setFullText(shownLines(text));
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
