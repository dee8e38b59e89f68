// SPDX-License-Identifier: Apache-2.0
// A field in the header of a canvas: what it has is found as one types, Enter goes on to the next one, Esc leaves.
#pragma once

#include <QLineEdit>

namespace shardboard {

class FindField : public QLineEdit {
    Q_OBJECT
public:
    explicit FindField(QWidget* parent = nullptr);
    /// With everything selected, so that typing begins anew.
    void begin();
    /// What is searched for; empty for nothing.
    QString wanted() const { return text().trimmed(); }

Q_SIGNALS:
    void nextWanted(bool back); ///< Enter, or Shift+Enter
    void left(); ///< Esc; the field is empty then

protected:
    void keyPressEvent(QKeyEvent* event) override;
};

} // namespace shardboard
