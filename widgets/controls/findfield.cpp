// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/findfield.h"

#include <QKeyEvent>

namespace shardboard {

FindField::FindField(QWidget* parent)
    : QLineEdit(parent)
{
    setPlaceholderText(tr("Find"));
    setClearButtonEnabled(true);
}

void FindField::begin()
{
    show(); // it may have given way to others
    setFocus(Qt::ShortcutFocusReason);
    selectAll();
}

void FindField::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
        Q_EMIT nextWanted(event->modifiers() & Qt::ShiftModifier);
        return;
    case Qt::Key_Escape:
        event->setAccepted(!text().isEmpty()); // else there is nothing to let go of but the focus
        clear();
        Q_EMIT left();
        return;
    default:
        QLineEdit::keyPressEvent(event);
    }
}

} // namespace shardboard
