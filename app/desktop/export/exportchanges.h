// SPDX-License-Identifier: Apache-2.0
// What the files of an export change in a folder. An export of many devices is a hundred megabytes, so this is asked off the GUI
// thread.
#pragma once

#include "app/desktop/base/linediff.h"
#include "model/io/exports/exportfiles.h"

#include <QString>

#include <atomic>
#include <cstdint>
#include <vector>

namespace shardboard {

struct FileChange {
    bool there = false; ///< the folder has a file of that name
    bool link = false; ///< which is a link, so that nothing is written
    bool same = false; ///< with that content
    bool large = false; ///< one of the two has more than 4 MiB: nobody reads the changes, `diff` has the new beginning
    std::int64_t bytes = 0; ///< of the new content
    LineDiff diff;
    QString text; ///< the new content, of a large file its beginning
};

/// One for each file, against what is in the folder now; an empty folder has none. Ends early, with fewer, when `stop` is set.
std::vector<FileChange> changesOf(const std::vector<ExportedFile>& files, const QString& folder, const std::atomic<bool>& stop);

} // namespace shardboard
