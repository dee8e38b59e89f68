// SPDX-License-Identifier: Apache-2.0
// What each export target can say of the open design, which of them is chosen, and which was proven here and when. Asked off the
// GUI thread, and only while somebody looks: of very many devices a target takes its time. An edit asks anew.
#pragma once

#include "app/worker/proofrun.h"
#include "model/io/exports/exporttarget.h"

#include <QDateTime>
#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace shardboard {

class Document;
class LatestJob;

/// What a check on this machine found.
struct KeptProof {
    ProofAnswer answer;
    std::shared_ptr<const Evaluation> of; ///< the design that it is about
    QDateTime when;
};

struct TargetState {
    enum class Kind {
        Unknown, ///< not asked yet
        Exact, ///< not run here
        Proven,
        ProvenBefore, ///< before the last edit
        Differs, ///< its check found other shards
        Refused,
    };
    std::optional<std::vector<ExportRefusal>> refusals; ///< of the design as it is now; nothing: not known yet
    std::optional<KeptProof> proof; ///< the last one, maybe of an older design
    bool proofIsOfNow = false;

    Kind kind() const;
    /// `exact, not checked here`, `2 tensors cannot be said`
    QString text() const;
};

class TargetStates : public QObject {
    Q_OBJECT
public:
    TargetStates(Document* document, std::vector<ExportTarget> targets, QObject* parent = nullptr);

    const std::vector<ExportTarget>& targets() const { return m_targets; }
    TargetState state(std::size_t target) const;
    std::size_t current() const { return m_current; }
    const ExportTarget& currentTarget() const { return m_targets[m_current]; }
    void setCurrent(std::size_t target);
    /// False where there is none of that id.
    bool choose(const QString& id);

    /// Views that show states say so while they are seen.
    void watch(const QObject* view, bool seen);
    bool isBusy() const;

    void keepProof(std::size_t target, KeptProof proof);

Q_SIGNALS:
    void changed(); ///< what some target can say, or was proven
    void currentChanged();

private:
    void follow();
    void ask();

    Document* m_document;
    std::vector<ExportTarget> m_targets;
    std::vector<TargetState> m_states;
    std::size_t m_current = 0;
    LatestJob* m_job;
    std::shared_ptr<const Evaluation> m_asked; ///< what m_states are of
    std::vector<const QObject*> m_seen;
};

} // namespace shardboard
