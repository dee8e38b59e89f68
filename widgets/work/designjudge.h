// SPDX-License-Identifier: Apache-2.0
// Evaluates designs that are not the document's, off the GUI thread, one at a time; while one runs only the latest
// request waits, so that typing never builds a queue. Lives on the GUI thread; destroying it waits for the running
// evaluation.
#pragma once

#include "model/design/evaluation.h"

#include <QObject>
#include <QThreadPool>

#include <optional>

namespace shardboard {

class DesignJudge : public QObject {
    Q_OBJECT
public:
    explicit DesignJudge(QObject* parent = nullptr);
    ~DesignJudge() override;

    /// Asks for an evaluation; the answers to earlier requests no longer come.
    void ask(const Design& design);
    /// No answer is wanted any more.
    void forget();
    bool isBusy() const { return m_running; }
    /// The last answer, or null when it is not there or no longer wanted.
    const Result<std::shared_ptr<const Evaluation>>* answer() const { return m_answer ? &*m_answer : nullptr; }

Q_SIGNALS:
    void answered();

private:
    void start();
    void finish(int request, Result<std::shared_ptr<const Evaluation>> answer);

    QThreadPool m_pool;
    std::optional<Design> m_waiting;
    std::optional<Result<std::shared_ptr<const Evaluation>>> m_answer;
    int m_request = 0;
    bool m_running = false;
};

} // namespace shardboard
