// SPDX-License-Identifier: Apache-2.0
#include "model/text/numbers.h"

#include <cstdarg>
#include <cstdio>

namespace shardboard {

std::string counted(std::int64_t count, const std::string& what) { return countText(count) + " " + what + (count == 1 ? "" : "s"); }

std::string formattedList(const char* format, std::va_list arguments)
{
    std::va_list again;
    va_copy(again, arguments);
    const int size = std::vsnprintf(nullptr, 0, format, arguments);
    std::string text(static_cast<std::size_t>(size < 0 ? 0 : size) + 1, '\0');
    std::vsnprintf(text.data(), text.size(), format, again);
    va_end(again);
    text.pop_back();
    return text;
}

std::string formatted(const char* format, ...)
{
    std::va_list arguments;
    va_start(arguments, format);
    std::string text = formattedList(format, arguments);
    va_end(arguments);
    return text;
}

} // namespace shardboard
