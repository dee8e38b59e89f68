// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/modes/presetsearch.h"

#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "widgets/jobs/latestjob.h"

#include <vector>

namespace shardboard {

PresetSearch::PresetSearch(QObject* parent)
    : QObject(parent)
    , m_job(new LatestJob(this))
{
    connect(m_job, &LatestJob::answered, this, &PresetSearch::changed);
}

bool PresetSearch::isBusy() const { return m_job->isBusy(); }

void PresetSearch::start(const Design& design)
{
    m_job->askTelling([this, design](const std::atomic<bool>& stop, const LatestJob::Tell& tell) {
        for (const std::string& name : presetsFor(design.mesh, design.model)) {
            if (stop)
                break;
            Design tried = design;
            if (const auto applied = applyPreset(tried, name); !applied.ok())
                continue;
            const auto evaluation = evaluate(tried, Misfits::Replicate);
            if (evaluation.ok())
                tell([this, name, tried, evaluation = evaluation.value()] {
                    Q_EMIT found(QString::fromStdString(name), tried, evaluation);
                });
        }
        return LatestJob::Answer([] {});
    });
    Q_EMIT changed();
}

void PresetSearch::stop()
{
    if (!isBusy())
        return;
    m_job->forget();
    Q_EMIT changed();
}

} // namespace shardboard
