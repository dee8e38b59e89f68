// SPDX-License-Identifier: Apache-2.0
// The tour: a PNG of every view and of the whole window, for the README and for looking at what was built.
#pragma once

#include "app/desktop/window/commandline.h"

class QApplication;

namespace shardboard {

/// Of one view, in the light theme unless the line asks for the dark one. Errors: an unknown view, and those of writePicture().
Status writeOnePicture(QApplication& application, const CommandLine& line);
/// Writes main.png, welcome.png, weights.png, … into the folder; `main-light.png` and `main-dark.png` when no theme is
/// given. Leaves the user's settings alone. Errors: the design cannot be read, a picture cannot be written.
Status writeTour(QApplication& application, const CommandLine& line);

} // namespace shardboard
