// SPDX-License-Identifier: Apache-2.0
// Message boxes whose text is shown as it is: it names files and models. All boxes of the program are made here.
#pragma once

#include <QMessageBox>

#include <memory>

namespace shardboard {

/// With `buttons`, of which the caller says which is the usual one; `more` stands below in smaller letters.
std::unique_ptr<QMessageBox> messageBox(QMessageBox::Icon icon, const QString& title, const QString& text, const QString& more,
                                        QMessageBox::StandardButtons buttons, QWidget* parent);

} // namespace shardboard
