// SPDX-License-Identifier: Apache-2.0
// What comes of the runs of the window: each is shown beside the prediction, and kept with its design. Those that were kept are
// opened, compared, and deleted.
#pragma once

#include "model/design/design.h"
#include "widgets/timeline/timelinesource.h"

#include <QObject>
#include <QString>

class QMenu;

namespace shardboard {

class Banner;
class Document;
class EngineSession;
class LatestJob;
class PlotView;
class RunComparison;
class RunPanel;
class RunShelf;
class RunsView;
class Settings;

class RunKeeper : public QObject {
    Q_OBJECT
public:
    struct Parts {
        Document* document;
        EngineSession* engine;
        RunPanel* panel;
        TimelineSource* source;
        RunShelf* shelf;
        RunsView* view;
        RunComparison* comparison;
    };
    RunKeeper(const Parts& parts, Settings& settings, Banner* banner, QWidget* window);

    /// Shows a kept run: its lanes beside the prediction of its own design.
    void open(const QString& name);
    /// The view hears which runs of the open model there are, now and later.
    void tellRuns(PlotView* scaling);
    /// Without a question.
    void remove(const QStringList& names);

Q_SIGNALS:
    void comparisonWanted(); ///< it is to come to the front
    void designWanted(const Design& design); ///< to be opened as one that was never saved

private:
    void finished(const RunResult& result);
    void compare(const QString& a, const QString& b);
    void openDesign(const QString& name);
    void askToRemove(const QStringList& names);
    void fillMenu(QMenu* menu);
    void chooseFolder();
    std::shared_ptr<const Evaluation> evaluationOf(const Design& design) const;

    Parts m_parts;
    Settings& m_settings;
    Banner* m_banner;
    QWidget* m_window;
    LatestJob* m_opening;
};

} // namespace shardboard
