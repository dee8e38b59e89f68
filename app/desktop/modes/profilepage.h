// SPDX-License-Identifier: Apache-2.0
// Profile: the timeline of a step, or the memory over it, over all the width; below it what a step costs as predicted and as
// measured, where the prediction was wrong, and plots, which are tabs beside that in narrow windows. Its act is a run of the plan.
#pragma once

#include "app/desktop/panels/modepage.h"

namespace shardboard {

class RunAct;

class ProfilePage : public ModePage {
    Q_OBJECT
public:
    struct Panels {
        Panel* timeline;
        Panel* cost;
        Panel* errors;
        Panel* run;
        Panel* twoRuns;
        Panel* calibration;
        Panel* memory;
        std::vector<Panel*> plotsOfWork; ///< tabs of a place of their own
        std::vector<Panel*> plotsOfBytes; ///< the same
    };
    ProfilePage(const Panels& panels, const RunAct* act, QObject* parent);
    void arrange(const QSize& room) override;
    Act act() const override;
    void perform() override;
    void stop() override;

private:
    const RunAct* m_run;
    QSplitter* m_all;
};

} // namespace shardboard
