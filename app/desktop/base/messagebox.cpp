// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/base/messagebox.h"

#include "widgets/look/plaintext.h"

#include <QLabel>

namespace shardboard {

std::unique_ptr<QMessageBox> messageBox(QMessageBox::Icon icon, const QString& title, const QString& text, const QString& more,
                                        QMessageBox::StandardButtons buttons, QWidget* parent)
{
    auto box = std::make_unique<QMessageBox>(icon, title, QString(), buttons, parent);
    box->setTextFormat(Qt::PlainText);
    box->setText(shownLines(text));
    box->setInformativeText(shownLines(more));
    for (QLabel* label : box->findChildren<QLabel*>()) // the format is of the first alone
        label->setTextFormat(Qt::PlainText);
    return box;
}

} // namespace shardboard
