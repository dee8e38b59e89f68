// SPDX-License-Identifier: Apache-2.0
// Work that may take longer than a moment, off the GUI thread, in a row that tells of it: after 0.2 s what is done and a button
// that cancels it, after 1 s how far it is. What is quicker shows nothing. A cancel is answered at once, and is no error: the
// answer of work that was cancelled never comes, whenever it ends. One piece of work at a time; a new one cancels the one before.
#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

#include <atomic>
#include <functional>
#include <memory>

class QProgressBar;
class QPushButton;

namespace shardboard {

class ElidedLabel;
class LatestJob;

class LongWork : public QWidget {
    Q_OBJECT
public:
    /// How the work tells how far it is and learns that it is not wanted any more. Used on the work's thread.
    class Control {
    public:
        bool stopped() const { return m_stop; }
        /// `done` of `of` parts; with 0 parts it is not known how many there are.
        void tell(int done, int of)
        {
            m_of = of;
            m_done = done;
        }

    private:
        friend class LongWork;
        std::atomic<bool> m_stop { false };
        std::atomic<int> m_done { 0 };
        std::atomic<int> m_of { 0 };
    };
    using Answer = std::function<void()>; ///< shows what was found, on the GUI thread; may be empty
    using Work = std::function<Answer(Control&)>; ///< owns all that it reads

    explicit LongWork(QWidget* parent = nullptr);
    ~LongWork() override; ///< waits for the work that runs

    void start(const QString& what, Work work);
    void cancel();
    bool isBusy() const;

Q_SIGNALS:
    void cancelled();
    void ended(); ///< by its answer or by a cancel

private:
    void follow();
    void stop();

    LatestJob* m_job;
    ElidedLabel* m_what;
    QProgressBar* m_progress;
    QPushButton* m_cancel;
    QTimer m_timer; ///< runs while work does
    QElapsedTimer m_since;
    std::shared_ptr<Control> m_control;
};

} // namespace shardboard
