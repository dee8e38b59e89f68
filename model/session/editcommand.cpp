// SPDX-License-Identifier: Apache-2.0
#include "model/session/editcommand.h"

#include <utility>

namespace shardboard {

EditCommand::EditCommand(Document& document, State before, State after, const QString& text)
    : QUndoCommand(text)
    , m_document(document)
    , m_before(std::move(before))
    , m_after(std::move(after))
{
}

void EditCommand::undo() { adopt(m_before); }

void EditCommand::redo() { adopt(m_after); }

void EditCommand::adopt(State& state)
{
    auto evaluation = state.evaluation.lock();
    if (!evaluation) {
        auto again = evaluate(state.design, Misfits::Replicate);
        if (!again.ok()) // it was evaluated before, and nothing but the design decides
            return;
        evaluation = std::move(again).value();
        state.evaluation = evaluation;
    }
    m_document.adopt(state.design, std::move(evaluation));
}

} // namespace shardboard
