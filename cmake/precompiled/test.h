// SPDX-License-Identifier: Apache-2.0
// For test programs.
#pragma once

#include "cmake/precompiled/json.h"

#include <random>

#include <QtTest>
