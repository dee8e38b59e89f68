// SPDX-License-Identifier: Apache-2.0
// Runs that were kept with the design that they ran: a folder for each, in a folder that the user chose.
//
//   ROOT/NAME/kept.json          {"format":"shardboard-run","version":1,"made":"2026-11-23T21:53:01Z","design":"llama.shardboard",
//                                 "hardware":…,"mesh":"data=2,model=4","options":{…}}
//   ROOT/NAME/design.shardboard  the design as it was
//   ROOT/NAME/run.json           the document of `run --json`
//   ROOT/NAME/profile.json       what was measured (model/io/wire/profile.h), where the run measured
#pragma once

#include "model/core/result.h"
#include "model/io/wire/messages.h"
#include "model/io/wire/profile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// What is told of a run in a list.
struct KeptRun {
    std::string name; ///< its folder's
    std::string made; ///< UTC, `2026-11-23T21:53:01Z`
    std::string design; ///< name of the file that ran, for people
    std::string hardware;
    std::string mesh; ///< `data=2,model=4`
    RunOptions options;
    RunResult result;
    std::int64_t bytes = 0; ///< that its files take
    std::string problem; ///< why it cannot be read; then only the name and the bytes are known
};

/// What is written of a new one.
struct NewRun {
    std::string made;
    std::string design;
    std::string hardware;
    std::string mesh;
    RunOptions options;
    RunResult result;
    std::string designText; ///< content of its file
    std::optional<RunProfile> profile;
};

/// $XDG_DATA_HOME/shardboard/runs, or ~/.local/share/shardboard/runs; empty where neither variable is set.
std::string defaultRunsFolder();
/// Errors: not 1 to 100 letters, digits, '.', '-', and '_', or it begins with a '.'.
Status checkRunName(const std::string& name);
/// The same of a name that a run is to get; it may not begin with a '-' either, though older ones may.
Status checkNewName(const std::string& name);
/// A name that nothing in the folder has yet: the design's, and when it was made.
std::string freshRunName(const std::string& root, const std::string& design, const std::string& made);
/// Now, as KeptRun::made.
std::string timeStamp();

/// Writes all files or none. Errors: the name is taken, a file cannot be written.
Status keepRun(const std::string& root, const std::string& name, const NewRun& run);
/// Newest first; a folder that is no run is none, a run that is damaged has its problem. A root that is not there has none.
Result<std::vector<KeptRun>> keptRuns(const std::string& root);
/// Errors name the file.
Result<KeptRun> keptRun(const std::string& root, const std::string& name);
std::string keptDesignPath(const std::string& root, const std::string& name);
/// Nothing where the run did not measure.
Result<std::optional<RunProfile>> keptProfile(const std::string& root, const std::string& name);
/// Removes the files of a run and its folder; anything else in it stays, and the folder with it.
Status removeRun(const std::string& root, const std::string& name);
Status renameRun(const std::string& root, const std::string& name, const std::string& newName);

/// An operation in two runs.
struct RunDifference {
    std::string id;
    std::string kind;
    double a = 0; ///< seconds each
    double b = 0;
    std::int64_t countA = 0; ///< a step; 0: it is not in that run
    std::int64_t countB = 0;
    /// Seconds of a step by which B takes longer.
    double lost() const { return static_cast<double>(countB) * b - static_cast<double>(countA) * a; }
};
/// The most seconds first, lost or won.
std::vector<RunDifference> compareRuns(const RunResult& a, const RunResult& b);

} // namespace shardboard
