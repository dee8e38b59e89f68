// SPDX-License-Identifier: Apache-2.0
#include "model/session/editcommand.h"

#include "model/design/evaluate/evaluate.h"

#include <utility>

namespace shardboard {

namespace {

/// As it stands in the menu, where an & would underline a letter.
QString menuText(const QString& text)
{
    constexpr qsizetype kEnd = 50;
    const QString brief = text.size() <= 2 * kEnd ? text : text.left(kEnd) + QStringLiteral("…") + text.right(kEnd);
    return QString(brief).replace(QLatin1Char('&'), QLatin1String("&&"));
}

} // namespace

EditCommand::EditCommand(Document& document, State before, State after, const QString& text)
    : QUndoCommand(text + QLatin1Char('\n') + menuText(text)) // Qt takes what follows the line for the menu's
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
