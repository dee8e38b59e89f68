// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/keyfield.h"

#include <QKeyEvent>

namespace shardboard {

namespace {

bool isModifier(int key)
{
    return key == Qt::Key_Shift || key == Qt::Key_Control || key == Qt::Key_Meta || key == Qt::Key_Alt || key == Qt::Key_AltGr
        || key == Qt::Key_unknown || key == 0;
}

/// Keys by which the field is left, as everywhere.
bool isOfDialogs(const QKeyEvent& event)
{
    const auto held = event.modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier);
    if (held != Qt::NoModifier)
        return false;
    switch (event.key()) {
    case Qt::Key_Tab:
    case Qt::Key_Backtab:
    case Qt::Key_Escape:
    case Qt::Key_Return:
    case Qt::Key_Enter:
        return true;
    default:
        return false;
    }
}

QKeySequence chordOf(const QKeyEvent& event)
{
    Qt::KeyboardModifiers held = event.modifiers() & ~(Qt::KeypadModifier | Qt::GroupSwitchModifier);
    // Shift makes another character of a key that is no letter: `?`, not Shift+?.
    const QString text = event.text();
    if ((held & Qt::ShiftModifier) && !text.isEmpty() && text.front().isPrint() && !text.front().isLetterOrNumber()
        && !text.front().isSpace())
        held &= ~Qt::ShiftModifier;
    return QKeySequence(QKeyCombination(held, static_cast<Qt::Key>(event.key())));
}

} // namespace

KeyField::KeyField(QWidget* parent)
    : QLineEdit(parent)
{
    setReadOnly(true);
    setContextMenuPolicy(Qt::NoContextMenu);
    setPlaceholderText(tr("Press the new keys"));
}

void KeyField::setKeys(const QKeySequence& keys)
{
    m_keys = keys;
    setText(keys.toString(QKeySequence::NativeText));
}

bool KeyField::event(QEvent* event)
{
    if (event->type() == QEvent::ShortcutOverride && !isOfDialogs(*static_cast<QKeyEvent*>(event))) {
        event->accept(); // they are to be seen here, not to do what they do
        return true;
    }
    return QLineEdit::event(event);
}

void KeyField::keyPressEvent(QKeyEvent* event)
{
    if (isOfDialogs(*event)) {
        QLineEdit::keyPressEvent(event);
        return;
    }
    event->accept();
    if (isModifier(event->key()))
        return;
    const bool empties =
        (event->key() == Qt::Key_Backspace || event->key() == Qt::Key_Delete) && event->modifiers() == Qt::NoModifier;
    const QKeySequence pressed = empties ? QKeySequence() : chordOf(*event);
    if (pressed == m_keys)
        return;
    setKeys(pressed);
    Q_EMIT keysPressed();
}

} // namespace shardboard
