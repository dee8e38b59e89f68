// SPDX-License-Identifier: Apache-2.0
// The commands that save a view as a picture (`picture.NAME`).
#pragma once

#include "app/desktop/pictures/pictures.h"

#include <QList>
#include <QObject>
#include <QString>

#include <functional>
#include <vector>

class QAction;
class QMenu;

namespace shardboard {

class Actions;
class Banner;
class Document;
class Settings;

class PictureActions : public QObject {
    Q_OBJECT
public:
    struct View {
        QString name;
        QString title;
    };
    /// `show` brings a view to the front and returns it.
    PictureActions(Document* document, Settings& settings, Banner* banner, QWidget* window,
                   std::function<QWidget*(const QString&)> show);

    void add(Actions* actions, const std::vector<View>& views);
    void attach(QMenu* menu) const;
    void setEnabled(bool enabled);

private:
    void save(const View& view);

    Document* m_document;
    Settings& m_settings;
    Banner* m_banner;
    QWidget* m_window;
    std::function<QWidget*(const QString&)> m_show;
    QList<QAction*> m_commands;
    PictureOptions m_options; ///< of the last picture
    QString m_suffix { QStringLiteral("svg") };
};

} // namespace shardboard
