// SPDX-License-Identifier: Apache-2.0
// The desktop program's arguments. Plain parsing, done before Qt needs a display.
#pragma once

#include "model/core/result.h"

#include <QSize>
#include <QString>
#include <QStringList>

namespace shardboard {

struct CommandLine {
    QString file; ///< empty: none given
    QString tourFolder; ///< empty: no tour
    QString picture; ///< a file to write a picture of `view` to; empty: none
    QString view { QStringLiteral("window") };
    int scale = 2; ///< of a png: pixels for each of the view
    bool whole = false; ///< a picture of all of the view, not only of what is in sight
    QString exportFolder; ///< a folder to export to; empty: none
    QString exportTarget { QStringLiteral("jax") }; ///< id of the target
    QString theme; ///< light, dark, or empty for the system's (tour: both)
    QSize size { 1600, 1000 };
    bool sizeGiven = false;
    bool help = false;
    bool version = false;
};

/// `arguments` without the program's name. Errors are of the kind usage.
Result<CommandLine> parseCommandLine(const QStringList& arguments);
QString helpText();

} // namespace shardboard
