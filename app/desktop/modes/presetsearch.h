// SPDX-License-Identifier: Apache-2.0
// Evaluates every preset for a design's mesh, model and workload, off the GUI thread, and tells of each as it is found. What a
// preset refuses is left out.
#pragma once

#include "model/design/design.h"
#include "model/design/evaluation.h"

#include <QObject>
#include <QString>

#include <memory>

namespace shardboard {

class LatestJob;

class PresetSearch : public QObject {
    Q_OBJECT
public:
    explicit PresetSearch(QObject* parent = nullptr);

    void start(const Design& design);
    /// What was found so far stays.
    void stop();
    bool isBusy() const;

Q_SIGNALS:
    void found(const QString& name, const shardboard::Design& design, std::shared_ptr<const shardboard::Evaluation> evaluation);
    void changed(); ///< started or ended

private:
    LatestJob* m_job;
};

} // namespace shardboard
