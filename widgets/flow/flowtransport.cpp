// SPDX-License-Identifier: Apache-2.0
#include "widgets/flow/flowtransport.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/document/planplayer.h"
#include "widgets/document/steptexts.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QEvent>
#include <QIcon>
#include <QPainter>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>

namespace shardboard {

namespace {

enum class Sign { First, Back, Play, Pause, Forward, Last };

QPixmap signPixmap(Sign sign, const QColor& color, double ratio)
{
    constexpr int kSide = 16;
    QPixmap picture(QSize(kSide, kSide) * ratio);
    picture.setDevicePixelRatio(ratio);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    if (sign == Sign::First || sign == Sign::Back) { // the others' mirror images
        painter.translate(kSide, 0);
        painter.scale(-1, 1);
    }
    const auto triangle = [&](double x, double wide) {
        painter.drawPolygon(QPolygonF { QPointF(x, 3), QPointF(x + wide, 8), QPointF(x, 13) });
    };
    switch (sign) {
    case Sign::Play:
        triangle(4, 9);
        break;
    case Sign::Pause:
        painter.drawRect(QRectF(4, 3, 3, 10));
        painter.drawRect(QRectF(9, 3, 3, 10));
        break;
    case Sign::Back:
    case Sign::Forward:
        painter.drawRect(QRectF(3, 3, 2, 10));
        triangle(6.5, 6.5);
        break;
    case Sign::First:
    case Sign::Last:
        triangle(2, 5);
        triangle(7, 5);
        painter.drawRect(QRectF(12, 3, 2, 10));
        break;
    }
    return picture;
}

QIcon signIcon(Sign sign, const QWidget* widget)
{
    const Theme& theme = Theme::of(widget);
    QIcon icon(signPixmap(sign, theme.text, widget->devicePixelRatioF()));
    icon.addPixmap(signPixmap(sign, blended(theme.panel, theme.quiet, 0.5), widget->devicePixelRatioF()), QIcon::Disabled);
    return icon;
}

} // namespace

FlowTransport::FlowTransport(PlanPlayer* player, QWidget* parent)
    : QWidget(parent)
    , m_player(player)
    , m_slider(new QSlider(Qt::Horizontal, this))
    , m_words(new ElidedLabel(this))
{
    nameWidget(this, "flowTransport", tr("Walk through the plan"));
    auto* row = boxLayout<QHBoxLayout>({ kPanelMargin, 0, kPanelMargin, 3 }, 2, this);
    m_first = button("flowFirst", tr("First step"), tr("First step of the plan (Home)"));
    m_back = button("flowBack", tr("Step back"), tr("Back by one step (comma; with Shift to the previous collective)"));
    m_play = button("flowPlay", tr("Play"), tr("Play the plan, or pause (Space)"));
    m_forward = button("flowForward", tr("Step forward"), tr("Forward by one step (period; with Shift to the next collective)"));
    m_last = button("flowLast", tr("Last step"), tr("Last step of the plan (End)"));
    nameWidget(m_slider, "flowSlider", tr("Step of the plan"), tr("All steps of the plan, in order"));
    m_slider->setFixedWidth(120);
    m_words->setObjectName(QStringLiteral("flowStep"));
    m_words->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    row->addSpacing(6);
    row->addWidget(m_slider);
    row->addSpacing(10);
    row->addWidget(m_words, 1);
    connect(m_first, &QToolButton::clicked, player, &PlanPlayer::first);
    connect(m_back, &QToolButton::clicked, player, &PlanPlayer::back);
    connect(m_play, &QToolButton::clicked, player, &PlanPlayer::toggle);
    connect(m_forward, &QToolButton::clicked, player, &PlanPlayer::forward);
    connect(m_last, &QToolButton::clicked, player, &PlanPlayer::last);
    connect(m_slider, &QSlider::valueChanged, player, &PlanPlayer::goTo);
    connect(player, &PlanPlayer::stepChanged, this, &FlowTransport::follow);
    connect(player, &PlanPlayer::playingChanged, this, &FlowTransport::updateIcons);
    updateIcons();
    follow();
}

QToolButton* FlowTransport::button(const char* name, const QString& text, const QString& tip)
{
    auto* out = new QToolButton(this);
    out->setObjectName(QLatin1String(name));
    out->setAccessibleName(text);
    out->setToolTip(tip);
    out->setAutoRaise(true);
    out->setFocusPolicy(Qt::TabFocus);
    layout()->addWidget(out);
    return out;
}

void FlowTransport::setEvaluation(std::shared_ptr<const Evaluation> evaluation)
{
    m_evaluation = std::move(evaluation);
    follow();
}

QString FlowTransport::words() const { return m_words->text(); }

void FlowTransport::follow()
{
    const int count = m_player->count();
    const int index = m_player->index();
    for (QWidget* widget : std::initializer_list<QWidget*> { m_play, m_slider })
        widget->setEnabled(count > 0);
    for (QToolButton* button : { m_first, m_back })
        button->setEnabled(count > 0 && index != 0);
    for (QToolButton* button : { m_forward, m_last })
        button->setEnabled(count > 0 && index + 1 < count);
    const QSignalBlocker blocker(m_slider);
    m_slider->setRange(0, std::max(0, count - 1));
    m_slider->setValue(std::max(0, index));
    QString text;
    if (m_evaluation && count > 0 && index >= 0) {
        const PlanStep step = m_player->current();
        text =
            tr("%1 of %2 · %3 · %4").arg(index + 1).arg(count).arg(stepTitle(*m_evaluation, step), stepDetail(*m_evaluation, step));
    } else if (m_evaluation) {
        text = tr("%1 with %2")
                   .arg(counted(count, tr("step"), tr("steps")),
                        counted(m_evaluation->plan.movingCollectives(), tr("collective"), tr("collectives")));
    }
    m_words->setText(text);
}

void FlowTransport::updateIcons()
{
    m_first->setIcon(signIcon(Sign::First, this));
    m_back->setIcon(signIcon(Sign::Back, this));
    m_play->setIcon(signIcon(m_player->isPlaying() ? Sign::Pause : Sign::Play, this));
    m_play->setAccessibleName(m_player->isPlaying() ? tr("Pause") : tr("Play"));
    m_forward->setIcon(signIcon(Sign::Forward, this));
    m_last->setIcon(signIcon(Sign::Last, this));
    m_words->setFont(uiFont(this, -1));
}

void FlowTransport::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        updateIcons();
}

/// In the text of now: a panel that moves to other tabs gets back the font with which its style sheet found it.
void FlowTransport::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    updateIcons();
}

} // namespace shardboard
