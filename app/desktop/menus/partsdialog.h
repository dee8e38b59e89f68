// SPDX-License-Identifier: Apache-2.0
// A preset from parts: one choice for each kind of parallelism, what they say, and why they contradict each other where they do.
#pragma once

#include "model/design/design.h"

#include <QDialog>

class QComboBox;
class QLabel;
class QPushButton;

namespace shardboard {

class PartsDialog : public QDialog {
    Q_OBJECT
public:
    /// Starts with the parts of the preset that laid the design out, if it was one of parts.
    explicit PartsDialog(const Design& design, QWidget* parent = nullptr);

    QString preset() const; ///< `pp+tp-sp+fsdp`

private:
    void show(const Design& design);

    QList<QComboBox*> m_forms; ///< by kind of parallelism
    QLabel* m_what;
    QLabel* m_error;
    QPushButton* m_apply = nullptr;
};

} // namespace shardboard
