// SPDX-License-Identifier: Apache-2.0
// Decimal numbers in units: 66.9 TFLOP/s is 6.69e13, where 66.9 * 1e12 is 66900000000000.01.
#pragma once

namespace shardboard {

/// The double nearest to value x 10^exponent, `value` being a decimal number of at most 12 digits.
double inUnits(double value, int exponent);
inline double micro(double value) { return inUnits(value, -6); }
inline double giga(double value) { return inUnits(value, 9); }
inline double tera(double value) { return inUnits(value, 12); }

} // namespace shardboard
