// SPDX-License-Identifier: Apache-2.0
// Python in generated files. What comes from a design stands there only as a literal, and this makes all of them.
#pragma once

#include <string>
#include <string_view>

namespace shardboard {

/// The text as a string literal of Python in double quotes, which reads back as the same text: printable ASCII stays,
/// all else is escaped (\n, \x1b, \u2028, \U0001f600), so that no text ends the literal or its line, and none looks
/// like something else. A byte that is no UTF-8 becomes \udc80 … \udcff, as Python names such bytes of a file's name
/// (surrogateescape).
std::string pythonLiteral(std::string_view text);

/// The shortest digits that read back as the number, the same in every locale.
std::string decimalDigits(double number);

} // namespace shardboard
