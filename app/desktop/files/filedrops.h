// SPDX-License-Identifier: Apache-2.0
// Files that are dragged onto the window from elsewhere: taken anywhere on it, also over fields and lists that take drops of
// their own, and handed over when the drag is over. Drags inside the window are none of its business.
#pragma once

#include <QObject>
#include <QString>

class QWidget;

namespace shardboard {

class FileDrops : public QObject {
    Q_OBJECT
public:
    explicit FileDrops(QWidget* window);

Q_SIGNALS:
    /// The one local file that was dropped; sent from the event loop, so that questions may be asked.
    void dropped(const QString& path);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* m_window;
};

} // namespace shardboard
