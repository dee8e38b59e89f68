// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/savename.h"

#include "app/desktop/base/messagebox.h"

#include <QCoreApplication>
#include <QFileInfo>

#include <algorithm>

namespace shardboard {

QString saveName(QWidget* window, const QString& path, const QStringList& suffixes)
{
    const auto ends = [&](const QString& suffix) { return path.endsWith(suffix, Qt::CaseInsensitive); };
    if (path.isEmpty() || std::any_of(suffixes.begin(), suffixes.end(), ends))
        return path;
    const QString full = path + suffixes.front();
    if (QFileInfo::exists(full)) {
        const QString question = QCoreApplication::translate("saveName", "%1 already exists. Replace it?").arg(full);
        const auto box = messageBox(QMessageBox::Question, QCoreApplication::translate("saveName", "Replace File"), question, {},
                                    QMessageBox::Yes | QMessageBox::No, window);
        box->setDefaultButton(QMessageBox::No);
        if (box->exec() != QMessageBox::Yes)
            return {};
    }
    return full;
}

} // namespace shardboard
