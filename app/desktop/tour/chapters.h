// SPDX-License-Identifier: Apache-2.0
// What the tour shows: a table of pictures, in chapters of one design each.
#pragma once

#include <vector>

namespace shardboard {

class MainWindow;
struct Design;

struct TourPicture {
    const char* name; ///< of its file
    const char* panel = ""; ///< that is brought to the front for it
    const char* view = ""; ///< object name of what it is of; empty: the whole window; `panel`: the panel alone
    /// False: this design has no such picture.
    bool (*prepare)(MainWindow& window) = nullptr;
};

struct TourChapter {
    std::vector<TourPicture> pictures;
    /// Edits the design for this chapter alone. False: not every model can be laid out so.
    bool (*edit)(Design& design) = nullptr;
    void (*end)(MainWindow& window) = nullptr;
};

const std::vector<TourChapter>& tourChapters();

} // namespace shardboard
