// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/targetstates.h"

#include "model/session/document.h"
#include "widgets/jobs/background.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/format.h"

#include <algorithm>
#include <utility>

namespace shardboard {

TargetState::Kind TargetState::kind() const
{
    if (!refusals)
        return Kind::Unknown;
    if (!refusals->empty())
        return Kind::Refused;
    if (!proof)
        return Kind::Exact;
    if (!proofIsOfNow)
        return proof->answer.outcome == ProofAnswer::Outcome::Equal ? Kind::ProvenBefore : Kind::Exact;
    return proof->answer.outcome == ProofAnswer::Outcome::Equal ? Kind::Proven
        : proof->answer.outcome == ProofAnswer::Outcome::Differ ? Kind::Differs
                                                                : Kind::Exact;
}

QString TargetState::text() const
{
    switch (kind()) {
    case Kind::Unknown:
        return TargetStates::tr("looking …");
    case Kind::Proven:
        return TargetStates::tr("proven with %1 here").arg(qstr(proof->answer.peer));
    case Kind::ProvenBefore:
        return TargetStates::tr("proven before the last edit");
    case Kind::Differs:
        return TargetStates::tr("%1 differ")
            .arg(counted(proof->answer.of - proof->answer.equal, TargetStates::tr("tensor"), TargetStates::tr("tensors")));
    case Kind::Refused: {
        const std::int64_t tensors = refusedTensors(*refusals);
        return tensors == 0
            ? TargetStates::tr("refused as a whole")
            : TargetStates::tr("%1 cannot be said").arg(counted(tensors, TargetStates::tr("tensor"), TargetStates::tr("tensors")));
    }
    default:
        return TargetStates::tr("exact, not checked here");
    }
}

TargetStates::TargetStates(Document* document, std::vector<ExportTarget> targets, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_targets(std::move(targets))
    , m_states(m_targets.size())
    , m_job(new LatestJob(this))
{
    connect(document, &Document::evaluated, this, &TargetStates::follow);
    connect(document, &Document::opened, this, [this] {
        for (TargetState& state : m_states)
            state.proof.reset(); // of another design
        Q_EMIT changed();
    });
}

TargetState TargetStates::state(std::size_t target) const
{
    TargetState out = m_states[target];
    if (m_asked != m_document->evaluation())
        out.refusals.reset();
    out.proofIsOfNow = out.proof && out.proof->of == m_document->evaluation();
    return out;
}

void TargetStates::setCurrent(std::size_t target)
{
    if (target == m_current || target >= m_targets.size())
        return;
    m_current = target;
    Q_EMIT currentChanged();
}

bool TargetStates::choose(const QString& id)
{
    const auto found = std::ranges::find(m_targets, id.toStdString(), &ExportTarget::id);
    if (found == m_targets.end())
        return false;
    setCurrent(static_cast<std::size_t>(found - m_targets.begin()));
    return true;
}

void TargetStates::watch(const QObject* view, bool seen)
{
    std::erase(m_seen, view);
    if (seen)
        m_seen.push_back(view);
    if (!m_seen.empty())
        follow();
}

bool TargetStates::isBusy() const { return m_job->isBusy(); }

void TargetStates::keepProof(std::size_t target, KeptProof proof)
{
    m_states[target].proof = std::move(proof);
    Q_EMIT changed();
}

void TargetStates::follow()
{
    if (!m_document->hasDesign() || m_asked == m_document->evaluation())
        return;
    m_job->forget(); // it is about an older design
    if (!m_seen.empty())
        ask();
    Q_EMIT changed();
}

/// The chosen one first: its answer is waited for.
void TargetStates::ask()
{
    m_asked = m_document->evaluation();
    for (TargetState& state : m_states)
        state.refusals.reset();
    std::vector<std::size_t> order(m_targets.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(m_current), order.end());
    const auto design = std::make_shared<const Design>(m_document->design());
    m_job->askTelling([this, order, design, targets = m_targets,
                       evaluation = m_asked](const std::atomic<bool>& stop, const LatestJob::Tell& tell) -> LatestJob::Answer {
        if (!pauseUnlessStopped(stop))
            return {};
        for (const std::size_t i : order) {
            auto refusals = targets[i].refusals(*design, *evaluation, [&stop] { return stop.load(); });
            if (stop || refusals.cancelled())
                return {};
            auto said = refusals.ok() ? std::move(refusals).value() : std::vector<ExportRefusal> { { refusals.error() } };
            tell([this, i, evaluation, said = std::move(said)] {
                if (evaluation != m_asked)
                    return;
                m_states[i].refusals = said;
                Q_EMIT changed();
            });
        }
        return {};
    });
}

} // namespace shardboard
