// SPDX-License-Identifier: Apache-2.0
// What a test cannot do without: where it cannot be made, the test ends with the reason.
#pragma once

#include "model/core/result.h"

#include <QtGlobal>

#include <source_location>
#include <utility>

namespace shardboard {

template <class T>
T sure(Result<T> result, const std::source_location& place = std::source_location::current())
{
    if (!result.ok())
        qFatal("%s:%u: %s", place.file_name(), static_cast<unsigned>(place.line()),
               result.cancelled() ? "cancelled" : result.error().text().c_str());
    return std::move(result).value();
}

} // namespace shardboard
