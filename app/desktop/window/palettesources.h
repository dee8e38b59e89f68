// SPDX-License-Identifier: Apache-2.0
// What the command palette finds: every command of the menus with its shortcut, and everything of the open design that can be
// selected: weights, operations, collectives, mesh axes; devices by their number; settings, totals, findings, rules and pages of
// the help.
#pragma once

#include "widgets/document/findingplace.h"
#include "widgets/workbench/commandpalette.h"

#include <functional>

class QAction;
class QMenuBar;

namespace shardboard {

class Document;

/// All actions of all menus, with the menus they are in as their detail, then those of `commands` that no menu has. Disabled ones
/// say why; `otherwise` is said of those that nobody gave a reason.
std::vector<PaletteEntry> commandEntries(const QMenuBar* bar, const std::vector<QAction*>& commands, const QString& otherwise = {});
/// Those that go to a part of the design. Choosing one selects it.
std::vector<PaletteEntry> designEntries(Document* document);
/// The fields of the settings with their values; choosing one calls `edit` with its id.
std::vector<PaletteEntry> settingEntries(const Document* document, const std::function<void(const QString&)>& edit);
/// Step, memory, MFU and other totals with their values; choosing one calls `show` with the panel that takes it apart.
std::vector<PaletteEntry> numberEntries(const Document* document, const std::function<void(const QString&)>& show);
/// Findings, worst first; choosing one selects what it is about, or calls `show` with the place that is in no selection.
std::vector<PaletteEntry> findingEntries(Document* document, const std::function<void(const FindingPlace&)>& show);
/// Logical axis rules; choosing one calls `show` with its name.
std::vector<PaletteEntry> ruleEntries(const Document* document, const std::function<void(const QString&)>& show);
/// Pages of the help; choosing one calls `show` with the page.
std::vector<PaletteEntry> helpEntries(const std::function<void(const QString&)>& show);
/// `17` or `device 17`: the device with that id. Nothing for other texts.
std::vector<PaletteEntry> deviceEntries(Document* document, const QString& typed);

} // namespace shardboard
