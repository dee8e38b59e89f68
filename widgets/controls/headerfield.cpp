// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/headerfield.h"

#include "widgets/controls/viewheader.h"
#include "widgets/look/theme.h"

#include <QEvent>
#include <QLabel>
#include <QLayout>
#include <QLineEdit>

#include <algorithm>

namespace shardboard {

int widthOf(const QWidget* widget)
{
    return std::clamp(widget->sizeHint().width(), widget->minimumWidth(), widget->maximumWidth());
}

HeaderField::HeaderField(ViewHeader* header, QLineEdit* field, QWidget* other)
    : QObject(header)
    , m_header(header)
    , m_field(field)
    , m_other(other)
{
    header->addRight(field);
    if (other)
        header->addRight(other);
    header->installEventFilter(this);
    field->installEventFilter(this);
    connect(field, &QLineEdit::textChanged, this, &HeaderField::share);
}

void HeaderField::setWanted(bool wanted)
{
    m_wanted = wanted;
    share();
}

/// For the title and all that stands at its right.
bool HeaderField::isEnough() const
{
    const auto* title = m_header->findChild<QLabel*>(QStringLiteral("headerTitle"));
    const QLayout* row = m_header->layout();
    int needed = 2 * kPanelMargin + row->spacing() + QFontMetrics(title->font()).horizontalAdvance(m_header->title());
    for (int i = 2; i < row->count(); ++i) // after title and detail
        if (const QWidget* right = row->itemAt(i)->widget(); right && (right == m_field || right == m_other || !right->isHidden()))
            needed += widthOf(right) + row->spacing();
    return needed <= m_header->width();
}

void HeaderField::share()
{
    const bool used = m_field->hasFocus() || !m_field->text().isEmpty();
    const bool enough = isEnough();
    m_field->setVisible(m_wanted && (used || enough));
    if (m_other)
        m_other->setVisible(m_wanted && (!used || enough));
}

bool HeaderField::eventFilter(QObject* watched, QEvent* event)
{
    const bool focus = event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut;
    if (watched == m_field && focus)
        QMetaObject::invokeMethod(this, &HeaderField::share, Qt::QueuedConnection); // when the focus is where it goes to
    else if (watched == m_header && (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest))
        share();
    if (watched == m_header && event->type() == QEvent::LayoutRequest)
        m_header->setDetail(m_header->detail()); // something at the right has come, gone or got another width
    return QObject::eventFilter(watched, event);
}

} // namespace shardboard
