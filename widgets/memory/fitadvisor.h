// SPDX-License-Identifier: Apache-2.0
// Looks for what would make a design fit into memory, off the GUI thread; tells how far it is and can be stopped. Lives on
// the GUI thread; destroying it stops the search and waits for the evaluation that runs.
#pragma once

#include "model/design/evaluate/fitadvice.h"
#include "widgets/jobs/latestjob.h"

#include <QObject>

#include <optional>

namespace shardboard {

class FitAdvisor : public QObject {
    Q_OBJECT
public:
    explicit FitAdvisor(QObject* parent = nullptr);

    /// Starts a search; an earlier one is stopped and never answers.
    void ask(const Design& design);
    /// Stops the search; what was found so far is told.
    void stop() { m_job.stop(); }
    /// Stops the search; nothing is told any more.
    void forget();
    bool isBusy() const { return m_job.isBusy(); }
    int tried() const { return m_tried; }
    /// The last answer, or null. An error has no advice.
    const FitAdvice* advice() const { return m_advice ? &*m_advice : nullptr; }

Q_SIGNALS:
    void progressed(int tried);
    void answered();

private:
    std::optional<FitAdvice> m_advice;
    int m_tried = 0;
    LatestJob m_job;
};

} // namespace shardboard
