// SPDX-License-Identifier: Apache-2.0
// The help page, with the shortcuts of all commands at its end.
#pragma once

#include <QDialog>

namespace shardboard {

class Actions;

class HelpWindow : public QDialog {
    Q_OBJECT
public:
    HelpWindow(const Actions& actions, QWidget* parent = nullptr);
};

} // namespace shardboard
