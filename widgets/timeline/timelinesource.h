// SPDX-License-Identifier: Apache-2.0
// Which timeline is shown, and the errors that belong to it: the prediction of the open design, its last run, or the trace of
// another program. Made off the GUI thread; views follow changed().
#pragma once

#include "model/design/evaluation.h"
#include "model/hardware/hardware.h"
#include "model/io/lanes/errortable.h"
#include "model/io/trace/trace.h"
#include "model/io/wire/profile.h"
#include "model/timeline/lanes.h"

#include <QObject>
#include <QString>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace shardboard {

class Document;
class LatestJob;

/// What a run measured, and what it was of.
struct MeasuredRun {
    QString name; ///< `run of 14:02`
    RunResult result;
    std::optional<RunProfile> profile {};
    std::shared_ptr<const Evaluation> evaluation;
    Hardware hardware; ///< that the prediction is for
};

/// The trace of any program, read and matched.
struct OpenedTrace {
    QString name;
    std::shared_ptr<const Timeline> timeline;
    ErrorTable errors;
    std::map<std::string, std::int64_t> unmatched; ///< collectives that are none of the plan's, by reason
    std::int64_t collectives = 0; ///< all of them
};

/// On any thread. `evaluation` null: nothing is matched.
OpenedTrace openedTrace(const QString& name, const Trace& trace, const std::shared_ptr<const Evaluation>& evaluation,
                        const Hardware& hardware);

class TimelineSource : public QObject {
    Q_OBJECT
public:
    enum class Shown { Prediction, Run, Trace };

    explicit TimelineSource(Document* document, QObject* parent = nullptr);

    Shown shown() const { return m_shown; }
    void show(Shown shown);
    bool has(Shown shown) const;
    QString nameOf(Shown shown) const; ///< as a choice; empty: there is none

    void setRun(MeasuredRun run); ///< and shows it
    void setTrace(OpenedTrace trace); ///< and shows it
    /// The prediction is made anew if it is shown and of an earlier design; changed() comes when it is there.
    void follow();
    /// The same, and changed() at once.
    void refresh();

    const MeasuredRun* run() const { return m_run ? &*m_run : nullptr; }
    /// Of the run, the step that is shown; -1: none of which all was kept.
    std::int64_t step() const { return m_runErrors.step; }
    /// Null: there is none, or it is being made.
    std::shared_ptr<const Timeline> timeline() const;
    const ErrorTable* errors() const; ///< null: nothing was measured
    const std::map<std::string, std::int64_t>& unmatched() const; ///< of the trace that is shown
    std::int64_t collectives() const; ///< of the trace that is shown
    bool isBusy() const;
    /// The run is of another design than the one that is open.
    bool isStale() const;
    /// `step 3 of 9 · 4 devices`, what the view says beside its title.
    QString detail() const;

    /// Selects it in the document; -1 or what the design does not have any more: nothing.
    void select(std::int32_t item) const;
    /// The item that is selected in the document; -1: none of these.
    std::int32_t selected() const;

Q_SIGNALS:
    void changed();
    /// A view wants this item seen in the timeline.
    void itemWanted(int item);

private:
    void makePrediction();
    void makeRun();

    Document* m_document;
    LatestJob* m_job;
    Shown m_shown = Shown::Prediction;
    std::shared_ptr<const Evaluation> m_predictedOf;
    std::shared_ptr<const Timeline> m_predicted;
    std::optional<MeasuredRun> m_run;
    std::shared_ptr<const Timeline> m_runLanes;
    ErrorTable m_runErrors;
    std::optional<OpenedTrace> m_trace;
};

} // namespace shardboard
