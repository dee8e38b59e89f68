// SPDX-License-Identifier: Apache-2.0
// Walks through the steps of a plan, one by one or by itself: which step is the current one, and how far the motion of a
// collective has come. Knows no view and no document; views follow its signals.
#pragma once

#include "model/plan/plansteps.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <vector>

namespace shardboard {

class PlanPlayer : public QObject {
    Q_OBJECT
public:
    static constexpr int kCollectiveMilliseconds = 600; ///< a collective that moves data is seen so long
    static constexpr int kOperationMilliseconds = 250;
    static constexpr int kFrameMilliseconds = 33;

    explicit PlanPlayer(QObject* parent = nullptr);

    /// Stops, and forgets where it was.
    void setSteps(std::vector<PlanStep> steps);
    const std::vector<PlanStep>& steps() const { return m_steps; }
    int count() const { return static_cast<int>(m_steps.size()); }
    int index() const { return m_index; } ///< -1: nowhere yet
    PlanStep current() const { return m_index < 0 ? PlanStep {} : m_steps[static_cast<std::size_t>(m_index)]; }
    bool isPlaying() const { return m_playing; }
    /// Whether the current step was walked to, so that its motion is to be seen; not where it only follows a selection.
    bool isShown() const { return m_shown; }
    /// From 0 to 1 through the motion of the current step; 1 without motion.
    double progress() const { return m_progress; }

    /// Without motion a step is shown as it is, until the next.
    void setReducedMotion(bool reduced);
    bool hasReducedMotion() const { return m_reduced; }

    /// The step that a selection made elsewhere belongs to: from here it goes on. Pauses.
    void adopt(int index);

public Q_SLOTS:
    void goTo(int index);
    void first() { goTo(0); }
    void last() { goTo(count() - 1); }
    void back() { goTo(m_index < 0 ? count() - 1 : m_index - 1); }
    void forward() { goTo(m_index + 1); }
    void forwardToCollective() { toCollective(1); }
    void backToCollective() { toCollective(-1); }
    /// From the current step on; from the first one after the last.
    void play();
    void pause();
    void toggle() { m_playing ? pause() : play(); }
    void stop(); ///< pauses and shows no step any more

Q_SIGNALS:
    void stepChanged(); ///< another step is the current one, or none is shown any more
    void progressed(); ///< the motion has gone on
    void playingChanged();

private:
    void toCollective(int by);
    void show(int index);
    void tick();
    void setPlaying(bool playing);
    int duration() const;

    std::vector<PlanStep> m_steps;
    QTimer m_timer;
    QElapsedTimer m_clock;
    int m_index = -1;
    double m_progress = 1;
    bool m_playing = false;
    bool m_shown = false;
    bool m_reduced = false;
};

} // namespace shardboard
