// SPDX-License-Identifier: Apache-2.0
// Requests as JSON, from a file or from standard input (`-`).
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <string>

namespace shardboard {

struct Request {
    nlohmann::json document;
    std::string where; ///< names it in errors
};

/// Errors: not readable, larger than 1 MiB, no JSON.
Result<Request> readRequest(const std::string& path);

} // namespace shardboard
