// SPDX-License-Identifier: Apache-2.0
// Evaluations that undo and redo come back to. One of a model whose layers are all told apart has dozens of MiB, so that not
// every step can keep its own: the latest are kept, the others are made again from their designs.
#pragma once

#include "model/design/evaluation.h"

#include <cstdint>
#include <deque>
#include <memory>

namespace shardboard {

class KeptEvaluations {
public:
    /// Bytes of all evaluations that are kept; the latest one is, whatever its size.
    explicit KeptEvaluations(std::int64_t budget)
        : m_budget(budget)
    {
    }
    /// As the latest; lets go of the oldest for which there is no room.
    void keep(const std::shared_ptr<const Evaluation>& evaluation);
    void setBudget(std::int64_t bytes);
    void clear() { m_kept.clear(); }
    std::int64_t bytes() const;

private:
    struct Kept {
        std::shared_ptr<const Evaluation> evaluation;
        std::int64_t bytes;
    };
    void letGo();

    std::int64_t m_budget;
    std::deque<Kept> m_kept; ///< latest last
};

/// What an evaluation takes, roughly: 1.3 to 1.5 KiB for each operation, collective, tensor and weight (measured for llama3.1-405b,
/// 41 MiB with every layer told apart), and what it has once.
std::int64_t roughBytes(const Evaluation& evaluation);

} // namespace shardboard
