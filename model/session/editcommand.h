// SPDX-License-Identifier: Apache-2.0
// One edit of the design as an undo step. It holds both designs by value. Their evaluations are the document's to keep: undo and
// redo are instant while it has them, and evaluate again where it has let them go.
#pragma once

#include "model/session/document.h"

#include <QUndoCommand>

namespace shardboard {

class EditCommand : public QUndoCommand {
public:
    struct State {
        Design design;
        std::weak_ptr<const Evaluation> evaluation;
    };

    EditCommand(Document& document, State before, State after, const QString& text);
    const Design& before() const { return m_before.design; }
    const Design& after() const { return m_after.design; }
    void undo() override;
    void redo() override;

private:
    void adopt(State& state);

    Document& m_document; // owns the undo stack and so this command
    State m_before;
    State m_after;
};

} // namespace shardboard
