// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/prover.h"

#include "app/desktop/export/targetstates.h"
#include "model/io/targets/targets.h"
#include "model/session/document.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"

#include <QFile>
#include <QTemporaryDir>

namespace shardboard {

namespace {

ProofAnswer failed(const Error& error)
{
    ProofAnswer out;
    out.text = errorText(error).toStdString();
    return out;
}

/// Writes the export and runs its check.
ProofAnswer proofOf(const ExportTarget& target, const Design& design, std::shared_ptr<const Evaluation> evaluation,
                    ProofRequest request, const std::function<bool()>& stopped, const std::function<void(const std::string&)>& tell)
{
    const QTemporaryDir folder;
    if (!folder.isValid())
        return failed(inputError("temporary folder", "cannot be made", "check the space on the disk"));
    const auto files = exportDesign(target, design, std::move(evaluation), stopped);
    if (files.cancelled())
        return { .outcome = ProofAnswer::Outcome::Cancelled };
    if (!files.ok())
        return failed(files.error());
    request.folder = QFile::encodeName(folder.path()).toStdString();
    const Status written = writeExport(request.folder, files.value(), stopped);
    if (written.cancelled())
        return { .outcome = ProofAnswer::Outcome::Cancelled };
    return written.ok() ? runProof(request, stopped, tell) : failed(written.error());
}

} // namespace

Prover::Prover(Document* document, TargetStates* states, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_states(states)
    , m_job(new LatestJob(this))
{
    connect(document, &Document::opened, this, &Prover::cancel); // it would be about another design
}

bool Prover::isBusy() const { return m_job->isBusy(); }

void Prover::start(const QString& python, double seconds)
{
    if (!m_document->hasDesign())
        return;
    m_target = m_states->current();
    m_progress.clear();
    const auto design = std::make_shared<const Design>(m_document->design());
    const ProofRequest request {
        .python = python.toStdString(), .folder = {}, .check = m_states->currentTarget().check, .seconds = seconds
    };
    m_job->askTelling(
        [this, design, request, i = m_target, target = m_states->currentTarget(),
         evaluation = m_document->evaluation()](const std::atomic<bool>& stop, const LatestJob::Tell& tell) -> LatestJob::Answer {
            const auto told = [&](const std::string& line) {
                tell([this, line] {
                    m_progress = qstr(line);
                    Q_EMIT changed();
                });
            };
            const ProofAnswer answer = proofOf(
                target, *design, evaluation, request, [&stop] { return stop.load(); }, told);
            return [this, i, answer, evaluation] {
                m_states->keepProof(i, { answer, evaluation, QDateTime::currentDateTime() });
                Q_EMIT changed();
            };
        });
    Q_EMIT changed();
}

void Prover::cancel()
{
    if (!isBusy())
        return;
    m_job->forget(); // the check is ended within a moment, and nobody waits for it
    m_progress.clear();
    Q_EMIT changed();
}

} // namespace shardboard
