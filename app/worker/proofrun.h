// SPDX-License-Identifier: Apache-2.0
// Has the check of an export run by a Python, and reads what it found. It blocks, so the window calls it on another thread; a check
// that hangs, that ignores signals, that leaves children behind or that prints without end is ended all the same.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace shardboard {

struct ProofRequest {
    std::string python = "python3"; ///< a program of the PATH or a path; `~/` is the home folder
    std::string folder {}; ///< that has the export
    std::string check {}; ///< a file in it
    double seconds = 600; ///< after which it is ended
};

struct ProofAnswer {
    enum class Outcome {
        Equal, ///< all tensors have the same shards
        Differ, ///< some have not
        Skipped, ///< this Python does not have the framework
        Failed, ///< it could not be started, or ended without saying what it compared
        TimedOut,
        Cancelled,
    };
    Outcome outcome = Outcome::Failed;
    std::int64_t equal = 0;
    std::int64_t of = 0; ///< tensors; 0 unless they were compared
    std::string peer {}; ///< with its version: `JAX 0.12.0`
    std::string text {}; ///< a line that says what came out of it
    std::string log {}; ///< the end of all that it printed
    double seconds = 0;
};

/// `equal`, `differ`, `skipped`, `failed`, `timed-out` or `cancelled`.
std::string proofOutcomeName(ProofAnswer::Outcome outcome);

/// `N of N tensors have the same shards in PEER VERSION`; false for every other line.
bool readProofLine(std::string_view line, ProofAnswer& answer);

/// `stopped` is asked some ten times a second; `tell` is called with the last line that it printed.
ProofAnswer runProof(const ProofRequest& request, const std::function<bool()>& stopped = {},
                     const std::function<void(const std::string& line)>& tell = {});

} // namespace shardboard
