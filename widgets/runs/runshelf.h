// SPDX-License-Identifier: Apache-2.0
// The runs that are kept in a folder, those of `shardctl run --keep` and of the window alike: listed, kept, renamed, and deleted.
// Files are read and written off the GUI thread, one thing after the other; views follow changed().
#pragma once

#include "model/core/result.h"
#include "model/design/design.h"
#include "model/io/runs/keptruns.h"

#include <QObject>
#include <QString>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace shardboard {

class LatestJob;

/// A kept run with the design that it ran.
struct ShelvedRun {
    KeptRun about;
    std::optional<Design> design; ///< nothing where it cannot be read; as comparableDesign() makes it
    QString title; ///< its name where a person gave it one, or else when it was made
};

/// Without the state of windows, which is no part of what a design says.
Design comparableDesign(Design design);

class RunShelf : public QObject {
    Q_OBJECT
public:
    explicit RunShelf(QObject* parent = nullptr);
    ~RunShelf() override;

    /// Another one is read at once.
    void setFolder(const QString& folder);
    QString folder() const { return m_folder; }
    /// Bytes that the runs in the folder may take; a run beyond is not kept, and that is said. 0: as many as there is room for.
    void setLimit(std::int64_t bytes);
    std::int64_t limit() const { return m_limit; }

    const std::vector<ShelvedRun>& runs() const { return *m_runs; } ///< newest first
    const ShelvedRun* find(const std::string& name) const; ///< null: there is none
    std::int64_t bytes() const; ///< of all of them
    bool isBusy() const;

    /// Lists the folder again.
    void reload();
    void keep(NewRun run);
    Status rename(const std::string& name, const std::string& newName);
    Status remove(const std::string& name);

Q_SIGNALS:
    void changed();
    void kept(const QString& name);
    void refused(const QString& message); ///< a run could not be kept, or the folder not be read

private:
    using Runs = std::vector<ShelvedRun>;
    struct Report { ///< of what was done before the folder was listed
        QString kept {};
        QString problem {};
    };
    void ask(std::function<Report()> first);
    void next();

    LatestJob* m_job;
    std::deque<std::function<Report()>> m_waiting;
    QString m_folder;
    std::int64_t m_limit = 0;
    std::shared_ptr<const Runs> m_runs;
};

} // namespace shardboard
