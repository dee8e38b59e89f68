// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/viewheader.h"

#include "widgets/controls/headerfield.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include <QEvent>
#include <QLabel>
#include <QResizeEvent>

#include <algorithm>

namespace shardboard {

namespace {

const QString kBetween = QStringLiteral(" › ");

}

ViewHeader::ViewHeader(const QString& title, QWidget* parent)
    : QWidget(parent)
    , m_title(new QLabel(this))
    , m_detail(new QLabel(this))
    , m_titleText(title)
{
    auto* row = boxLayout<QHBoxLayout>({ kPanelMargin, 8, kPanelMargin, 4 }, 8, this);
    row->addWidget(m_title);
    row->addWidget(m_detail, 1);
    m_title->setObjectName(QStringLiteral("headerTitle"));
    m_detail->setObjectName(QStringLiteral("headerDetail"));
    m_title->setTextFormat(Qt::PlainText);
    m_detail->setTextFormat(Qt::PlainText);
    connect(m_detail, &QLabel::linkActivated, this, [this](const QString& step) { Q_EMIT stepChosen(step.toInt()); });
    m_detail->setMinimumWidth(0);
    m_title->setMinimumWidth(1); // it is elided before it makes the view wider
    m_detail->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    updateLook();
}

void ViewHeader::setTitle(const QString& title)
{
    m_titleText = title;
    elide();
}

void ViewHeader::setTitleMono(bool mono)
{
    m_mono = mono;
    updateLook();
}

void ViewHeader::setDetailAtRight() { m_detail->setAlignment(Qt::AlignRight | Qt::AlignVCenter); }

void ViewHeader::setDetail(const QString& detail)
{
    m_detailText = detail;
    m_path.clear();
    elide();
}

void ViewHeader::setPath(const QStringList& steps)
{
    m_detailText = steps.join(kBetween);
    m_path = steps;
    elide();
}

QString ViewHeader::title() const { return m_titleText; }
QString ViewHeader::detail() const { return m_detailText; }

void ViewHeader::addRight(QWidget* widget) { layout()->addWidget(widget); }

/// What stands at the right may have come, gone, or got another text.
bool ViewHeader::event(QEvent* event)
{
    const bool done = QWidget::event(event);
    if (event->type() == QEvent::LayoutRequest)
        elide();
    return done;
}

void ViewHeader::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if ((event->type() != QEvent::PaletteChange && event->type() != QEvent::FontChange) || m_lookPending)
        return;
    m_lookPending = true; // later: a style sheet that is being applied puts the colours back that it found
    const auto follow = [this] {
        m_lookPending = false;
        updateLook();
    };
    QMetaObject::invokeMethod(this, follow, Qt::QueuedConnection);
}

void ViewHeader::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    elide();
}

/// In the text of now: a panel that was closed is not told of another.
void ViewHeader::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    updateLook();
}

void ViewHeader::updateLook()
{
    QFont bold = m_mono ? monoFont(this) : uiFont(this);
    bold.setBold(true);
    m_title->setFont(bold);
    m_detail->setFont(uiFont(this, -1));
    setTextColor(m_detail, Theme::of(this).quiet);
    elide();
}

void ViewHeader::elide()
{
    const QFontMetrics titleMetrics(m_title->font());
    int room = width() - 2 * kPanelMargin - 8;
    for (int i = 2; i < layout()->count(); ++i) // after title and detail
        if (const QWidget* right = layout()->itemAt(i)->widget(); right && !right->isHidden())
            room -= widthOf(right) + layout()->spacing();
    room = std::max(0, room);
    // A tensor's name is long for what all of its neighbours share; where there is no room that goes first.
    const bool fits = !m_mono || titleMetrics.horizontalAdvance(m_titleText) <= room;
    const QString wanted = fits ? m_titleText : shortName(m_titleText.toStdString());
    const QString shown = titleMetrics.elidedText(wanted, Qt::ElideMiddle, room);
    constexpr qsizetype kReadable = 5; // `A…s` says nothing
    m_title->setText(shown == wanted || shown.size() >= kReadable ? shown : QString());
    m_title->setVisible(!m_titleText.isEmpty()); // no gap before what follows
    m_title->setToolTip(m_title->text() == m_titleText ? QString() : m_titleText);
    layout()->activate(); // the title has just got another width
    showDetail();
}

void ViewHeader::showDetail()
{
    const QString shown = QFontMetrics(m_detail->font()).elidedText(m_detailText, Qt::ElideRight, m_detail->width());
    m_detail->setToolTip(shown == m_detailText ? QString() : m_detailText);
    const bool linked = m_path.size() > 1;
    m_detail->setTextFormat(linked ? Qt::RichText : Qt::PlainText);
    m_detail->setTextInteractionFlags(linked ? Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard : Qt::NoTextInteraction);
    m_detail->setFocusPolicy(linked ? Qt::TabFocus : Qt::NoFocus);
    m_detail->setAccessibleName(linked ? m_detailText : QString());
    m_detail->setText(linked ? pathIn(m_detail->width()) : shown);
}

QString ViewHeader::pathIn(int room) const
{
    const QFontMetrics metrics(m_detail->font());
    qsizetype from = 0;
    const auto words = [&] { return (from > 0 ? QStringList { QStringLiteral("…") } : QStringList()) + m_path.sliced(from); };
    const auto wide = [&] { return metrics.horizontalAdvance(words().join(kBetween)) + 2; };
    while (from + 1 < m_path.size() && wide() > room)
        ++from;
    QStringList shown = words();
    if (const int over = wide() - room; over > 0)
        shown.last() = metrics.elidedText(shown.last(), Qt::ElideRight, metrics.horizontalAdvance(shown.last()) - over);
    const QString color = Theme::of(this).accent.name();
    QString out;
    for (qsizetype i = 0; i < shown.size(); ++i) {
        const QString text = shown[i].toHtmlEscaped();
        const qsizetype step = m_path.size() - shown.size() + i;
        out += i + 1 == shown.size()
            ? text
            : QStringLiteral("<a href=\"%1\" style=\"color:%2;text-decoration:none\">%3</a>").arg(step).arg(color, text) + kBetween;
    }
    return out;
}

} // namespace shardboard
