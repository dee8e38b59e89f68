// SPDX-License-Identifier: Apache-2.0
// The act of the modes that run the plan: what it says, and whether it can be done now.
#pragma once

#include "app/desktop/panels/modepage.h"

#include <functional>

namespace shardboard {

class Document;
class EngineSession;
class RunPanel;

class RunAct : public QObject {
    Q_OBJECT
public:
    /// `show` brings the results to the front.
    RunAct(Document* document, EngineSession* engine, RunPanel* panel, std::function<void()> show, QObject* parent);

    ModePage::Act act() const;
    void perform() const;
    void stop() const;

Q_SIGNALS:
    void changed();

private:
    Document* m_document;
    EngineSession* m_engine;
    RunPanel* m_panel;
    std::function<void()> m_show;
};

} // namespace shardboard
