// SPDX-License-Identifier: Apache-2.0
// A program that gets no more memory has to say so, and that takes some.
#pragma once

namespace shardboard {

/// Puts a little memory by. When `new` fails for the first time that is given back before bad_alloc is thrown, so that who
/// catches it can make an answer. Once, at the beginning of main().
void keepMemoryInReserve();

} // namespace shardboard
