// SPDX-License-Identifier: Apache-2.0
// Deliver: the files for another framework, with what is lost and what changes against those of the last time. Its act writes them.
#pragma once

#include "app/desktop/panels/modepage.h"

namespace shardboard {

class ExportPanel;
class TargetStates;

class DeliverPage : public ModePage {
    Q_OBJECT
public:
    DeliverPage(Panel* files, Panel* names, ExportPanel* exporter, TargetStates* targets, QObject* parent);
    void arrange(const QSize& room) override;
    Act act() const override;
    void perform() override;
    void stop() override;

private:
    ExportPanel* m_exporter;
    TargetStates* m_targets;
};

} // namespace shardboard
