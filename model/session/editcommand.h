// SPDX-License-Identifier: Apache-2.0
// One edit of the design as an undo step. It holds both designs by value, each with its evaluation, so that undo and
// redo are instant and never evaluate again.
#pragma once

#include "model/session/document.h"

#include <QUndoCommand>

namespace shardboard {

class EditCommand : public QUndoCommand {
public:
    struct State {
        Design design;
        std::shared_ptr<const Evaluation> evaluation;
    };

    EditCommand(Document& document, State before, State after, const QString& text);
    const Design& before() const { return m_before.design; }
    const Design& after() const { return m_after.design; }
    void undo() override;
    void redo() override;

private:
    Document& m_document; // owns the undo stack and so this command
    State m_before;
    State m_after;
};

} // namespace shardboard
