// SPDX-License-Identifier: Apache-2.0
// What the command palette finds: every command of the menus with its shortcut, and everything of the open design that can be
// selected: weights, operations, collectives, mesh axes; devices by their number.
#pragma once

#include "widgets/workbench/commandpalette.h"

class QAction;
class QMenuBar;

namespace shardboard {

class Document;

/// All actions of all menus, with the menus they are in as their detail, then those of `commands` that no menu has. Disabled ones
/// say why; `otherwise` is said of those that nobody gave a reason.
std::vector<PaletteEntry> commandEntries(const QMenuBar* bar, const std::vector<QAction*>& commands, const QString& otherwise = {});
/// Those that go to a part of the design. Choosing one selects it.
std::vector<PaletteEntry> designEntries(Document* document);
/// `17` or `device 17`: the device with that id. Nothing for other texts.
std::vector<PaletteEntry> deviceEntries(Document* document, const QString& typed);

} // namespace shardboard
