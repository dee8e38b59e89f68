// SPDX-License-Identifier: Apache-2.0
// For test programs of the desktop program and its views.
#pragma once

#include "cmake/precompiled/test.h"
#include "cmake/precompiled/widgets.h"
