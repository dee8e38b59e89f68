// SPDX-License-Identifier: Apache-2.0
#include "widgets/workbench/modebar.h"

#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QAction>
#include <QButtonGroup>
#include <QEvent>
#include <QPainter>
#include <QToolButton>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kSegment = 84;
constexpr int kInset = 3;

} // namespace

QString modeId(WorkMode mode)
{
    switch (mode) {
    case WorkMode::Design:
        return QStringLiteral("design");
    case WorkMode::Explore:
        return QStringLiteral("explore");
    case WorkMode::Profile:
        return QStringLiteral("profile");
    case WorkMode::Deliver:
        return QStringLiteral("deliver");
    }
    return {};
}

QString modeTitle(WorkMode mode)
{
    switch (mode) {
    case WorkMode::Design:
        return QObject::tr("Design");
    case WorkMode::Explore:
        return QObject::tr("Explore");
    case WorkMode::Profile:
        return QObject::tr("Profile");
    case WorkMode::Deliver:
        return QObject::tr("Deliver");
    }
    return {};
}

QString modeWhat(WorkMode mode)
{
    switch (mode) {
    case WorkMode::Design:
        return QObject::tr("Decide: mesh, tiles and flow, and what they cost to talk");
    case WorkMode::Explore:
        return QObject::tr("Search: variants of the design, and what each change is worth");
    case WorkMode::Profile:
        return QObject::tr("Measure: time and memory of a step, predicted and run");
    case WorkMode::Deliver:
        return QObject::tr("Hand over: the files for another framework, and what they leave out");
    }
    return {};
}

ModeBar::ModeBar(QWidget* parent)
    : QWidget(parent)
{
    nameWidget(this, "modeBar", tr("Modes"));
    auto* row = boxLayout<QHBoxLayout>({ kInset, kInset, kInset, kInset }, 0, this);
    auto* group = new QButtonGroup(this);
    for (std::size_t i = 0; i < kWorkModes.size(); ++i) {
        const WorkMode mode = kWorkModes[i];
        auto* button = new QToolButton(this);
        button->setObjectName(QStringLiteral("mode.") + modeId(mode));
        button->setText(modeTitle(mode));
        button->setAccessibleName(tr("Mode %1").arg(modeTitle(mode)));
        button->setToolTip(modeWhat(mode));
        button->setProperty("segment", true);
        button->setCheckable(true);
        button->setChecked(mode == m_mode);
        button->setFocusPolicy(Qt::TabFocus); // a click leaves the focus where it is
        group->addButton(button);
        row->addWidget(button);
        m_buttons[i] = button;
        connect(button, &QToolButton::clicked, this, [this, mode] { Q_EMIT chosen(mode); });
    }
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    fit();
}

void ModeBar::setMode(WorkMode mode)
{
    m_mode = mode;
    m_buttons[static_cast<std::size_t>(mode)]->setChecked(true);
    fit();
}

void ModeBar::followTip(WorkMode mode, QAction* command)
{
    QToolButton* button = m_buttons[static_cast<std::size_t>(mode)];
    const auto follow = [button, command] { button->setToolTip(command->toolTip()); };
    connect(command, &QAction::changed, button, follow);
    follow();
}

/// All of one width, as wide as a bold name needs.
void ModeBar::fit()
{
    int widest = static_cast<int>(kSegment * std::min(1.25, textScale(this)));
    for (QToolButton* button : m_buttons) {
        button->setFont(uiFont(this, 0, button->isChecked()));
        widest = std::max(widest, QFontMetrics(uiFont(this, 0, true)).horizontalAdvance(button->text()) + 20);
    }
    for (QToolButton* button : m_buttons)
        button->setFixedWidth(widest);
}

void ModeBar::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange && m_buttons.back() != nullptr)
        QMetaObject::invokeMethod(this, &ModeBar::fit, Qt::QueuedConnection); // when all have the new font
}

void ModeBar::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(theme.line);
    painter.setBrush(theme.isDark ? blended(theme.panel, theme.window, 0.6) : theme.window);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCanvasRadius, kCanvasRadius);
}

} // namespace shardboard
