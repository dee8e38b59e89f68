// SPDX-License-Identifier: Apache-2.0
// The bar by which one steps through a plan or plays it: first, back, play, forward, last, a slider over all steps, and in words
// what the current one is.
#pragma once

#include "model/design/evaluation.h"

#include <QWidget>

class QSlider;
class QToolButton;

namespace shardboard {

class ElidedLabel;
class PlanPlayer;

class FlowTransport : public QWidget {
    Q_OBJECT
public:
    explicit FlowTransport(PlanPlayer* player, QWidget* parent = nullptr);
    void setEvaluation(std::shared_ptr<const Evaluation> evaluation);
    QString words() const; ///< all of them

protected:
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    QToolButton* button(const char* name, const QString& text, const QString& tip);
    void follow();
    void updateIcons();

    PlanPlayer* m_player;
    std::shared_ptr<const Evaluation> m_evaluation;
    QToolButton* m_first;
    QToolButton* m_back;
    QToolButton* m_play;
    QToolButton* m_forward;
    QToolButton* m_last;
    QSlider* m_slider;
    ElidedLabel* m_words;
};

} // namespace shardboard
