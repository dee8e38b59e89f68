// SPDX-License-Identifier: Apache-2.0
#include "model/io/trace/traceevent.h"

#include <charconv>
#include <cmath>

namespace shardboard {

namespace {

constexpr const char* kCheckTrace = "check that the file is a trace in the trace-event format";

double doubleOf(std::string_view digits)
{
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

/// A text, or a number as it is written; nothing else.
void readWord(JsonCursor& cursor, std::string& out)
{
    if (cursor.next() == '"')
        out = cursor.text();
    else if (cursor.next() == '-' || (cursor.next() >= '0' && cursor.next() <= '9'))
        out = cursor.number();
    else
        cursor.skip();
}

/// A number, or one in a text; 0 where it is something else.
std::int64_t readCount(JsonCursor& cursor)
{
    std::string digits;
    readWord(cursor, digits);
    const double value = doubleOf(digits);
    return value >= 0 && value < 9e18 ? static_cast<std::int64_t>(value) : 0;
}

std::int64_t readTime(JsonCursor& cursor)
{
    std::string digits;
    readWord(cursor, digits);
    std::int64_t out = 0;
    if (!nanosecondsOf(digits, out))
        cursor.fail("this is no time in microseconds", kCheckTrace);
    return out;
}

/// Elements of the tensors in a value of Input Dims: a list of sizes, or of such lists.
std::int64_t readElements(JsonCursor& cursor, int depth)
{
    if (cursor.next() != '[' || depth > 8) {
        cursor.skip();
        return 0;
    }
    std::int64_t sum = 0;
    double product = 1;
    bool sizes = false;
    cursor.list([&] {
        if (cursor.next() == '[') {
            sum += readElements(cursor, depth + 1);
        } else {
            product *= static_cast<double>(readCount(cursor));
            sizes = true;
        }
    });
    return sizes && product < 9e18 ? static_cast<std::int64_t>(product) : sum;
}

void readInputTypes(JsonCursor& cursor, std::string& out)
{
    if (cursor.next() != '[')
        return cursor.skip();
    cursor.list([&] {
        std::string type;
        readWord(cursor, type);
        if (out.empty() && !type.empty() && type != "TensorList" && type != "Scalar" && type != "ScalarList")
            out = type;
    });
}

void readArguments(JsonCursor& cursor, TraceEvent& event)
{
    if (cursor.next() != '{')
        return cursor.skip();
    cursor.object([&](std::string_view key) {
        if (key == "name")
            return readWord(cursor, event.argName);
        if (key == "Collective name")
            return readWord(cursor, event.collective);
        if (key == "dtype")
            return readWord(cursor, event.dtype);
        if (key == "Process Group Ranks")
            return readWord(cursor, event.ranks);
        if (key == "In msg nelems")
            event.in = readCount(cursor);
        else if (key == "Out msg nelems")
            event.out = readCount(cursor);
        else if (key == "Group size")
            event.groupSize = readCount(cursor);
        else if (key == "Input Dims" && cursor.next() == '[')
            cursor.list([&] { event.inputElements.push_back(readElements(cursor, 0)); });
        else if (key == "Input type")
            readInputTypes(cursor, event.inputType);
        else if (event.phase != 'X' && (cursor.next() == '-' || (cursor.next() >= '0' && cursor.next() <= '9'))) {
            const double value = doubleOf(cursor.number());
            if (key == "sort_index")
                event.sortIndex = value;
            event.numbers.emplace_back(key, value);
        } else {
            cursor.skip();
        }
    });
}

} // namespace

bool nanosecondsOf(std::string_view microseconds, std::int64_t& out)
{
    const char* end = microseconds.data() + microseconds.size();
    std::int64_t whole = 0;
    auto [rest, problem] = std::from_chars(microseconds.data(), end, whole);
    if (problem == std::errc() && rest == end) {
        if (std::abs(static_cast<double>(whole)) > 9.2e15)
            return false;
        out = whole * 1000;
        return true;
    }
    if (problem == std::errc() && *rest == '.') {
        std::int64_t part = 0;
        int digits = 0;
        for (++rest; rest != end && *rest >= '0' && *rest <= '9'; ++rest)
            if (digits < 3) {
                part = 10 * part + (*rest - '0');
                ++digits;
            }
        for (; digits < 3; ++digits)
            part *= 10;
        if (rest == end && std::abs(static_cast<double>(whole)) < 9.2e15) {
            out = whole * 1000 + (microseconds.front() == '-' ? -part : part);
            return true;
        }
    }
    double value = 0; // with an exponent, or too large
    const auto [after, wrong] = std::from_chars(microseconds.data(), end, value);
    if (wrong != std::errc() || after != end || !(std::abs(value) < 9.2e15))
        return false;
    out = std::llround(value * 1000);
    return true;
}

void TraceEvent::clear()
{
    phase = 0;
    hasTime = false;
    time = duration = in = out = groupSize = 0;
    sortIndex = std::numeric_limits<double>::quiet_NaN();
    for (std::string* text : { &name, &category, &process, &thread, &argName, &collective, &dtype, &ranks, &inputType })
        text->clear(); // keeps the room
    inputElements.clear();
    numbers.clear();
}

void readTraceEvent(JsonCursor& cursor, TraceEvent& event)
{
    event.clear();
    if (cursor.next() != '{')
        return cursor.fail("an event is expected here", kCheckTrace);
    cursor.object([&](std::string_view key) {
        if (key == "ph") {
            const std::string_view phase = cursor.text();
            event.phase = phase.empty() ? '\0' : phase.front();
        } else if (key == "name") {
            readWord(cursor, event.name);
        } else if (key == "cat") {
            readWord(cursor, event.category);
        } else if (key == "pid") {
            readWord(cursor, event.process);
        } else if (key == "tid") {
            readWord(cursor, event.thread);
        } else if (key == "ts") {
            event.time = readTime(cursor);
            event.hasTime = true;
        } else if (key == "dur") {
            event.duration = readTime(cursor);
        } else if (key == "args") {
            readArguments(cursor, event);
        } else {
            cursor.skip();
        }
    });
}

} // namespace shardboard
