// SPDX-License-Identifier: Apache-2.0
// Files in the trace-event format of Chrome and Perfetto (JSON, plain or gzip): an object with `traceEvents`, or the bare list.
// Format: "Trace Event Format" (the document of the Chromium project); what PyTorch, XLA, and NCCL put into names and args was read
// from traces that they wrote (PyTorch 2.15, JAX 0.12).
#pragma once

#include "model/core/result.h"
#include "model/io/json/jsontext.h"
#include "model/io/trace/trace.h"

#include <functional>

namespace shardboard {

/// Errors name FILE:LINE:COLUMN. A file that ends early, as one of a program that crashed does, gives what it has, and a note.
Result<Trace> readTrace(const std::string& path);
/// Is told now and then how many of the file's bytes are read (`all` is 0 where that is not known), and says whether to go on;
/// where not, the result is an error.
using TraceProgress = std::function<bool(std::int64_t done, std::int64_t all)>;
Result<Trace> readTrace(const std::string& path, const TraceProgress& goOn);
Result<Trace> parseTrace(JsonSource source, const std::string& where);

} // namespace shardboard
