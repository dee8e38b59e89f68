// SPDX-License-Identifier: Apache-2.0
// For programs and libraries that read and write JSON.
#pragma once

#include "cmake/precompiled/standard.h"

#include <filesystem>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>
