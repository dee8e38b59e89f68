// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/viewkeys.h"

#include <QObject>

namespace shardboard {

std::vector<ViewKey> viewKeys()
{
    const QString pictures = QObject::tr("Pictures");
    const QString flow = QObject::tr("Flow");
    const QString lists = QObject::tr("Lists");
    const QString legends = QObject::tr("Legends");
    return {
        { { Qt::Key_F }, pictures, QObject::tr("fits the selection into a picture") },
        { { Qt::SHIFT | Qt::Key_F }, pictures, QObject::tr("fits everything into a picture") },
        { { Qt::Key_0 }, pictures, QObject::tr("resets what a picture shows") },
        { { Qt::Key_Plus }, pictures, QObject::tr("zooms a picture in") },
        { { Qt::Key_Minus }, pictures, QObject::tr("zooms a picture out") },
        { { Qt::Key_Left, Qt::Key_Right, Qt::Key_Up, Qt::Key_Down },
          pictures,
          QObject::tr("goes to the device, tile, weight or operation next to it") },
        { { Qt::Key_Space }, flow, QObject::tr("plays the plan, or pauses") },
        { { Qt::Key_Period }, flow, QObject::tr("goes to the next step of the plan") },
        { { Qt::Key_Comma }, flow, QObject::tr("goes back to the previous step") },
        { { Qt::SHIFT | Qt::Key_Period, Qt::Key_Greater }, flow, QObject::tr("goes to the next collective") },
        { { Qt::SHIFT | Qt::Key_Comma, Qt::Key_Less }, flow, QObject::tr("goes back to the previous collective") },
        { { Qt::Key_Home }, flow, QObject::tr("goes to the first step of the plan") },
        { { Qt::Key_End }, flow, QObject::tr("goes to the last step of the plan") },
        { { Qt::Key_Space }, legends, QObject::tr("shows what an entry is about, or everything again") },
        { { Qt::Key_Space }, lists, QObject::tr("selects or presses what has the focus") },
        { { Qt::CTRL | Qt::Key_F }, lists, QObject::tr("goes to the filter of a list, or to the find field of a picture") },
        { { Qt::CTRL | Qt::Key_C }, lists, QObject::tr("copies what is selected in a list") },
        { { Qt::CTRL | Qt::Key_V }, lists, QObject::tr("pastes a strategy onto the selected weights") },
        { { Qt::CTRL | Qt::Key_A }, lists, QObject::tr("selects everything in a list") },
        { { Qt::Key_Return }, lists, QObject::tr("opens or edits what is selected") },
        { { Qt::Key_F2 }, lists, QObject::tr("edits what is selected") },
        { { Qt::Key_Delete }, lists, QObject::tr("removes what is selected") },
        { { Qt::Key_Escape }, lists, QObject::tr("clears a filter, ends a walk through the plan, or clears a selection") },
    };
}

} // namespace shardboard
