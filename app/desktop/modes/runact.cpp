// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/modes/runact.h"

#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runpanel.h"
#include "model/session/document.h"

#include <utility>

namespace shardboard {

RunAct::RunAct(Document* document, EngineSession* engine, RunPanel* panel, std::function<void()> show, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_engine(engine)
    , m_panel(panel)
    , m_show(std::move(show))
{
    connect(document, &Document::evaluated, this, &RunAct::changed);
    connect(engine, &EngineSession::stateChanged, this, &RunAct::changed);
}

ModePage::Act RunAct::act() const
{
    return { tr("Run"),
             QStringLiteral("▶ "),
             tr("Run the plan on this machine and check its numbers"),
             m_panel->canRun(),
             !m_document->hasDesign() ? tr("no design is open")
                 : m_engine->isBusy() ? tr("a run is in progress")
                                      : tr("this design has nothing to run"),
             m_engine->isBusy() };
}

void RunAct::perform() const
{
    m_show();
    m_panel->run();
}

void RunAct::stop() const { m_panel->cancel(); }

} // namespace shardboard
