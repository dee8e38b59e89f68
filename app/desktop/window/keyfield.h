// SPDX-License-Identifier: Apache-2.0
// A field that takes the keys that are pressed in it as a shortcut: one chord, at once. Tab, Esc and Enter keep their meaning;
// Backspace empties it.
#pragma once

#include <QKeySequence>
#include <QLineEdit>

namespace shardboard {

class KeyField : public QLineEdit {
    Q_OBJECT
public:
    explicit KeyField(QWidget* parent = nullptr);

    QKeySequence keys() const { return m_keys; }
    /// Shows them, without a signal.
    void setKeys(const QKeySequence& keys);

Q_SIGNALS:
    void keysPressed(); ///< others than before

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QKeySequence m_keys;
};

} // namespace shardboard
