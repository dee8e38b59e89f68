// SPDX-License-Identifier: Apache-2.0
// A program that gets no more memory has to say so, and that takes some.
#pragma once

namespace shardboard {

/// Puts a little memory by. When `new` fails for the first time that is given back before bad_alloc is thrown, so that who
/// catches it can make an answer. Where nobody can catch it, because it is thrown while objects go (those of the JSON library
/// want memory to go), the program says `lastWords` on standard error and ends with `exitCode`. Once, at the beginning of main().
void keepMemoryInReserve(const char* lastWords, int exitCode);

} // namespace shardboard
