// SPDX-License-Identifier: Apache-2.0
// Reads a dump piece by piece, so that every complaint has its line. Behind maxtextdump.h.
#pragma once

#include "model/io/json/jsontext.h"
#include "model/io/maxtext/maxtextdump.h"

namespace shardboard {

Result<AnyDump> readDumpEvents(const JsonSource& source, const std::string& where, DumpCheck check);

} // namespace shardboard
