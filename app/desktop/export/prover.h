// SPDX-License-Identifier: Apache-2.0
// Has the framework of a target make the shards of the open design, with a Python of this machine: the export is written into a
// folder that goes away again, and its check is run there. Off the GUI thread; one at a time.
#pragma once

#include "app/worker/proofrun.h"
#include "model/io/exports/exporttarget.h"

#include <QObject>
#include <QString>

#include <memory>

namespace shardboard {

class Document;
class LatestJob;
class TargetStates;

class Prover : public QObject {
    Q_OBJECT
public:
    Prover(Document* document, TargetStates* states, QObject* parent = nullptr);

    /// Of the chosen target; another one that runs is cancelled. `seconds` is the limit of the check.
    void start(const QString& python, double seconds = 600);
    void cancel();
    bool isBusy() const;
    /// Which target is being proven.
    std::size_t target() const { return m_target; }
    /// What the check printed last, while it runs.
    QString progress() const { return m_progress; }

Q_SIGNALS:
    void changed(); ///< began, went on, or ended

private:
    Document* m_document;
    TargetStates* m_states;
    LatestJob* m_job;
    std::size_t m_target = 0;
    QString m_progress;
};

} // namespace shardboard
