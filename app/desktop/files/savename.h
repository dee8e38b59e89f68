// SPDX-License-Identifier: Apache-2.0
// Names of files that somebody typed without their ending.
#pragma once

#include <QStringList>

class QWidget;

namespace shardboard {

/// `path` with the first of `suffixes` (`.shardboard`) unless it ends in one of them; what stands behind another dot, as in
/// `llama3.1-405b`, is a part of the name. Asks before a file is replaced that the dialog did not ask about; empty when it must not
/// be.
QString saveName(QWidget* window, const QString& path, const QStringList& suffixes);

} // namespace shardboard
