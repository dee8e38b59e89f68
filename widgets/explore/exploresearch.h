// SPDX-License-Identifier: Apache-2.0
// A search for better designs, off the GUI thread: what was tried so far, the best and the bound over time. It is of the design
// that it began with, whatever is edited since. Lives on the GUI thread; views follow its signals.
#pragma once

#include "widgets/explore/explorerequest.h"

#include "model/design/evaluation.h"

#include <QObject>
#include <QTimer>

#include <memory>
#include <mutex>
#include <vector>

namespace shardboard {

class LatestJob;

/// A design that was planned, small enough to keep all of them.
struct TriedDesign {
    Mesh mesh;
    std::string preset; ///< as SearchedDesign has it
    Workload workload;
    PipelineSpec pipeline;
    std::shared_ptr<const Design> whole; ///< where those do not make it again
    std::string settings; ///< searchedSettings()
    double seconds = 0;
    double tokensPerSecondPerDevice = 0;
    double leastBytes = 0; ///< of a device: what has to fit
    double slowBytes = 0;
    bool fits = true;
    bool front = false; ///< nothing that fits is as fast and smaller, or as small and faster
    QString name() const; ///< `tp+fsdp, 4 micro-batches`
};

class ExploreSearch : public QObject {
    Q_OBJECT
public:
    explicit ExploreSearch(QObject* parent = nullptr);
    ~ExploreSearch() override;

    void start(const Design& design, const ExploreRequest& request);
    /// What was found so far is the answer.
    void stop();
    /// Forgets everything.
    void clear();
    bool isBusy() const;
    bool isStopping() const { return m_stopping; } ///< asked to, and not there yet

    const ExploreRequest& request() const { return m_request; }
    const std::vector<TriedDesign>& tried() const { return m_tried; }
    std::size_t fitting() const { return m_fitting; }
    const std::vector<SearchProgress>& history() const { return m_history; } ///< each time that best or bound changed
    const SearchProgress& latest() const { return m_latest; }
    /// Seconds since it began; of one that is over, those that it took.
    double seconds() const;
    /// Of the last one that ended.
    const std::optional<SearchResult>& result() const { return m_result; }
    const QString& problem() const { return m_problem; } ///< why there is no result
    /// Index of the best that fits, -1 without one.
    int best() const { return m_best; }
    /// Evaluates the design of a point off the GUI thread, and tells of it as opened().
    void open(int point);

Q_SIGNALS:
    void changed(); ///< started, told to stop, or over
    void progressed(); ///< more was tried
    /// A design that is worth keeping, of a search that is over: the best first.
    void found(const QString& name, const shardboard::Design& design, std::shared_ptr<const shardboard::Evaluation> evaluation);
    void opened(int point, const QString& name, const shardboard::Design& design,
                std::shared_ptr<const shardboard::Evaluation> evaluation);
    void refused(const QString& message);

private:
    /// What comes from the threads of the search, until it is looked at.
    struct Inbox {
        std::mutex mutex;
        std::vector<TriedDesign> tried;
        std::vector<SearchProgress> progress;
    };
    void look();
    void markFront();
    void finish(Result<SearchResult> result);

    LatestJob* m_job;
    LatestJob* m_opening;
    QTimer m_timer; ///< runs while it searches
    std::shared_ptr<Inbox> m_inbox;
    ExploreRequest m_request;
    std::shared_ptr<const Design> m_begun;
    std::vector<TriedDesign> m_tried;
    std::size_t m_fitting = 0;
    std::vector<SearchProgress> m_history;
    SearchProgress m_latest;
    std::optional<SearchResult> m_result;
    QString m_problem;
    std::chrono::steady_clock::time_point m_began;
    double m_took = 0;
    int m_best = -1;
    bool m_stopping = false;
};

} // namespace shardboard
