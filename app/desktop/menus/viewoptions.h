// SPDX-License-Identifier: Apache-2.0
// How the window looks, as commands of the View menu: light or dark, contrast, patterns in place of hues, size of text.
#pragma once

class QMenu;
class QWidget;

namespace shardboard {

class Actions;
class ThemeControl;

/// Adds the commands to `actions` (`view.theme.…`, `view.contrast`, `view.patterns`, `view.textLarger`, `view.textSmaller`,
/// `view.textUsual`) and the menus Theme and Text Size to `view`. Both outlive the menu.
void addViewOptions(Actions& actions, ThemeControl& theme, QMenu* view);

} // namespace shardboard
