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
    /// Runs on another thread, so it must own all that it reads. What it returns after it was stopped is thrown away.
    using Work = std::function<Answer(const std::atomic<bool>& stop)>;

    explicit LatestJob(QObject* parent = nullptr);
    ~LatestJob() override;

    void ask(Work work);
    /// No answer is wanted any more.
    void forget();
    bool isBusy() const { return m_busy; }

private:
    QThreadPool m_pool;
    std::shared_ptr<std::atomic<bool>> m_stop;
    int m_request = 0;
    bool m_busy = false;
};

} // namespace shardboard
