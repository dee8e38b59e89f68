// SPDX-License-Identifier: Apache-2.0
// Profile: the memory over a step, and below it what a step costs as predicted and as measured. Its act is a run of the plan.
#pragma once

#include "app/desktop/panels/modepage.h"

namespace shardboard {

class RunAct;

class ProfilePage : public ModePage {
    Q_OBJECT
public:
    ProfilePage(Panel* memory, Panel* cost, Panel* run, const RunAct* act, QObject* parent);
    void arrange(const QSize& room) override;
    Act act() const override;
    void perform() override;
    void stop() override;

private:
    const RunAct* m_run;
    QSplitter* m_all;
};

} // namespace shardboard
