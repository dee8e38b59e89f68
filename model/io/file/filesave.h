// SPDX-License-Identifier: Apache-2.0
// A file that is written piece by piece and takes its place all at once: until then what was there is whole.
#pragma once

#include "model/core/result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace shardboard {

/// What happens to a link in place of the file: it is followed and stays a link, or refused, because it leads out of the folder
/// that was chosen for files whose names are not.
enum class Links { Follow, Refuse };
/// An error where the path is a link.
Status refuseLink(const std::string& path);

/// Writes to a temporary file in the folder of the target, which finish() syncs and renames; a save that is not
/// finished leaves nothing. The temporary files of programs that were killed meanwhile go with the next save into their
/// folder. A link stays a link, what it names is replaced; the rights of what is replaced are kept.
class FileSave {
public:
    static Result<FileSave> begin(const std::string& path, Links links = Links::Follow);
    FileSave(FileSave&& other) noexcept;
    FileSave(const FileSave&) = delete;
    FileSave& operator=(const FileSave&) = delete;
    FileSave& operator=(FileSave&&) = delete;
    ~FileSave();

    /// What goes wrong here is told by finish().
    void append(std::string_view text);
    bool good() const { return m_problem == 0; }
    Status finish();

private:
    FileSave(std::string path, std::string target, std::string temporary, int file)
        : m_path(std::move(path))
        , m_target(std::move(target))
        , m_temporary(std::move(temporary))
        , m_file(file)
    {
    }
    void write(std::string_view text);
    void discard();

    std::string m_path; ///< as it was given, for errors
    std::string m_target; ///< where it lies
    std::string m_temporary;
    int m_file = -1;
    int m_problem = 0; ///< errno of the first write that failed
    std::string m_waiting; ///< not written yet: many pieces are small
};

} // namespace shardboard
