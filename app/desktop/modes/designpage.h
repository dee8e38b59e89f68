// SPDX-License-Identifier: Apache-2.0
// Design: mesh, tiles and flow, and below them what the devices say to each other. Its act is a run of the plan.
#pragma once

#include "app/desktop/panels/modepage.h"

namespace shardboard {

class RunAct;

class DesignPage : public ModePage {
    Q_OBJECT
public:
    struct Views {
        Panel* mesh;
        Panel* tiles;
        Panel* flow;
        std::vector<Panel*> below;
    };
    DesignPage(const Views& views, const RunAct* run, QObject* parent);
    void arrange(const QSize& room) override;
    Act act() const override;
    void perform() override;
    void stop() override;

private:
    const RunAct* m_run;
    QSplitter* m_upper;
    QSplitter* m_bench; ///< mesh and tiles, flow
    QSplitter* m_all;
    PanelGroup* m_flow = nullptr;
};

} // namespace shardboard
