// SPDX-License-Identifier: Apache-2.0
// Deliver: the files for another framework, with what changes against those of the last time. Its act writes them.
#pragma once

#include "app/desktop/panels/modepage.h"

namespace shardboard {

class ExportPanel;

class DeliverPage : public ModePage {
    Q_OBJECT
public:
    DeliverPage(Panel* files, ExportPanel* exporter, QObject* parent);
    void arrange(const QSize& room) override;
    Act act() const override;
    void perform() override;
    void stop() override;

private:
    ExportPanel* m_exporter;
};

} // namespace shardboard
