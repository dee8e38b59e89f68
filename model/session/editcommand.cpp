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

void EditCommand::undo() { m_document.adopt(m_before.design, m_before.evaluation); }

void EditCommand::redo() { m_document.adopt(m_after.design, m_after.evaluation); }

} // namespace shardboard
