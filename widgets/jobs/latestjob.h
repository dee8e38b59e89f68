// SPDX-License-Identifier: Apache-2.0
// Work off the GUI thread of which only the latest is wanted: a new request stops the one before, whose answer never comes. Lives
// on the GUI thread; destroying it waits for the work that runs, which should look at its stop flag.
#pragma once

#include <QObject>
#include <QThreadPool>

#include <atomic>
#include <functional>
#include <memory>

namespace shardboard {

class LatestJob : public QObject {
    Q_OBJECT
public:
    /// Shows what was found, on the GUI thread; may be empty.
    using Answer = std::function<void()>;
    /// Runs on another thread, so it must own all that it reads. What it returns after it was forgotten is thrown away.
    using Work = std::function<Answer(const std::atomic<bool>& stop)>;
    /// Called by the work, on its thread: shows on the GUI thread how far it is, while it is wanted.
    using Tell = std::function<void(Answer)>;
    using TellingWork = std::function<Answer(const std::atomic<bool>& stop, const Tell& tell)>;

    explicit LatestJob(QObject* parent = nullptr);
    ~LatestJob() override;

    void ask(Work work);
    void askTelling(TellingWork work);
    /// The work is to end early; it answers with what it has.
    void stop();
    /// No answer is wanted any more.
    void forget();
    bool isBusy() const { return m_run != nullptr; }

Q_SIGNALS:
    void answered(); ///< after the answer was shown

private:
    struct Run {
        std::atomic<bool> stop { false };
        std::atomic<bool> forgotten { false };
    };

    QThreadPool m_pool;
    std::shared_ptr<Run> m_run; ///< that is wanted
};

} // namespace shardboard
