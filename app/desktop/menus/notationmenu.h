// SPDX-License-Identifier: Apache-2.0
// The menu of the notations in which layouts are written; the choice holds at once, in every view, and is remembered.
#pragma once

#include <QObject>

class QMenu;

namespace shardboard {

class Document;
class Settings;

class NotationMenu : public QObject {
    Q_OBJECT
public:
    /// Fills `menu`, which owns it, and gives the document the remembered choice.
    NotationMenu(Document* document, Settings& settings, QMenu* menu);
};

} // namespace shardboard
