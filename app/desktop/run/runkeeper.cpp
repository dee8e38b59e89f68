// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/run/runkeeper.h"

#include "app/desktop/base/banner.h"
#include "app/desktop/base/messagebox.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runpanel.h"
#include "model/design/evaluate/evaluate.h"
#include "model/io/design/designfile.h"
#include "model/session/document.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"
#include "widgets/runs/runcomparison.h"
#include "widgets/runs/runshelf.h"
#include "widgets/runs/runsview.h"
#include "widgets/timeline/plotview.h"

#include <QAbstractButton>
#include <QActionGroup>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QMenu>
#include <QTime>

#include <algorithm>
#include <memory>
#include <utility>

namespace shardboard {

RunKeeper::RunKeeper(const Parts& parts, Settings& settings, Banner* banner, QWidget* window)
    : QObject(window)
    , m_parts(parts)
    , m_settings(settings)
    , m_banner(banner)
    , m_window(window)
    , m_opening(new LatestJob(this))
{
    connect(parts.engine, &EngineSession::finished, this, &RunKeeper::finished);
    connect(parts.shelf, &RunShelf::kept, parts.view, &RunsView::setShown);
    connect(parts.shelf, &RunShelf::refused, banner, &Banner::showError);
    connect(parts.view, &RunsView::refused, banner, &Banner::showError);
    connect(parts.view, &RunsView::openWanted, this, &RunKeeper::open);
    connect(parts.view, &RunsView::compareWanted, this, &RunKeeper::compare);
    connect(parts.view, &RunsView::designWanted, this, &RunKeeper::openDesign);
    connect(parts.view, &RunsView::deleteWanted, this, &RunKeeper::askToRemove);
    parts.view->setMoreActions([this](QMenu* menu) { fillMenu(menu); });
    parts.shelf->setLimit(settings.runsLimit());
    parts.shelf->setFolder(settings.runsFolder());
}

void RunKeeper::finished(const RunResult& result)
{
    const RunPanel::Asked& asked = m_parts.panel->asked();
    const auto hardware = hardwareOf(asked.design);
    m_parts.source->setRun({ tr("Run of %1").arg(QTime::currentTime().toString(QStringLiteral("HH:mm"))), result,
                             m_parts.engine->profile(), m_parts.engine->evaluation(),
                             hardware.ok() ? hardware.value() : Hardware {} });
    m_parts.view->setShown({});
    if (!m_settings.keepsRuns())
        return;
    NewRun run;
    run.made = timeStamp();
    run.design = asked.file.isEmpty() ? asked.design.model.name + ".shardboard" : QFile::encodeName(asked.file).toStdString();
    run.hardware = asked.design.hardware;
    run.mesh = asked.design.mesh.text();
    run.options = asked.options;
    run.result = result;
    run.designText = designText(asked.design);
    run.profile = m_parts.engine->profile();
    m_parts.shelf->keep(std::move(run));
}

/// That of the open design where it is the same one, so that it is not taken for an older one.
std::shared_ptr<const Evaluation> RunKeeper::evaluationOf(const Design& design) const
{
    const Document& document = *m_parts.document;
    return document.hasDesign() && comparableDesign(document.design()) == design ? document.evaluation() : nullptr;
}

void RunKeeper::open(const QString& name)
{
    const ShelvedRun* run = m_parts.shelf->find(name.toStdString());
    if (run == nullptr)
        return;
    if (!run->about.problem.empty()) {
        m_banner->showError(qstr(run->about.problem));
        return;
    }
    if (!run->design) {
        m_banner->showError(tr("The design of this run cannot be read: %1").arg(name));
        return;
    }
    const QString folder = m_parts.shelf->folder();
    m_opening->ask([this, name, folder, title = run->title, result = run->about.result, design = *run->design,
                    known = evaluationOf(*run->design)](const std::atomic<bool>&) -> LatestJob::Answer {
        const auto refuse = [this](const Error& error) -> LatestJob::Answer {
            return [this, text = errorText(error)] { m_banner->showError(text); };
        };
        MeasuredRun measured;
        measured.name = tr("Run %1").arg(title);
        measured.result = result;
        measured.evaluation = known;
        if (!known) {
            auto evaluated = evaluate(design, Misfits::Replicate);
            if (!evaluated.ok())
                return refuse(evaluated.error());
            measured.evaluation = std::move(evaluated).value();
        }
        auto profile = keptProfile(QFile::encodeName(folder).toStdString(), name.toStdString());
        if (!profile.ok())
            return refuse(profile.error());
        measured.profile = std::move(profile).value();
        if (const auto hardware = hardwareOf(design); hardware.ok())
            measured.hardware = hardware.value();
        return [this, name, measured = std::move(measured), hardware = qstr(design.hardware)]() mutable {
            m_parts.panel->showResult(measured.result, measured.evaluation, hardware);
            m_parts.source->setRun(std::move(measured));
            m_parts.view->setShown(name);
        };
    });
}

/// Runs of the same model and workload that ran as many layers as the newest of them, which are those that can be compared.
void RunKeeper::tellRuns(PlotView* scaling)
{
    const auto tell = [this, scaling, before = std::make_shared<std::vector<std::string>>()] {
        std::vector<ScaledRun> out;
        std::vector<std::string> names;
        const RunResult* first = nullptr;
        for (const ShelvedRun& run : m_parts.shelf->runs()) {
            const Document& document = *m_parts.document;
            if (!run.design || !run.about.problem.empty() || !document.hasDesign() || run.design->model != document.design().model
                || run.design->workload != document.design().workload)
                continue;
            const RunResult& result = run.about.result;
            first = first == nullptr ? &result : first;
            if (result.backend != first->backend || result.layers != first->layers
                || run.about.options.ends != m_parts.panel->options().ends)
                continue;
            out.push_back({ result.devices, result.stepMedian,
                            run.title.toStdString() + ", " + run.about.mesh + ", " + result.backend + ", "
                                + std::to_string(result.layers) + (result.layers == 1 ? " layer" : " layers") });
            names.push_back(run.about.name);
        }
        if (names == *before)
            return; // planning every mesh takes its time
        *before = names;
        scaling->setRuns(std::move(out));
    };
    connect(m_parts.shelf, &RunShelf::changed, scaling, tell);
    connect(m_parts.document, &Document::evaluated, scaling, tell);
}

void RunKeeper::compare(const QString& a, const QString& b)
{
    const ShelvedRun* first = m_parts.shelf->find(a.toStdString());
    const ShelvedRun* second = m_parts.shelf->find(b.toStdString());
    if (first == nullptr || second == nullptr)
        return;
    for (const ShelvedRun* run : { first, second })
        if (!run->about.problem.empty()) {
            m_banner->showError(qstr(run->about.problem));
            return;
        }
    m_parts.comparison->setRuns(first->about, second->about, first->title, second->title);
    Q_EMIT comparisonWanted();
}

void RunKeeper::openDesign(const QString& name)
{
    const auto design = readDesign(keptDesignPath(QFile::encodeName(m_parts.shelf->folder()).toStdString(), name.toStdString()));
    if (design.ok())
        Q_EMIT designWanted(design.value());
    else
        m_banner->showError(errorText(design.error()));
}

void RunKeeper::askToRemove(const QStringList& names)
{
    const QString what = names.size() == 1 ? tr("Delete the run %1?").arg(shortened(names.front(), kLongestName))
                                           : tr("Delete %1 runs?").arg(names.size());
    const auto box = messageBox(QMessageBox::Question, tr("Delete Runs"), what,
                                tr("What was measured and the design as it ran are removed from the disk."),
                                QMessageBox::Discard | QMessageBox::Cancel, m_window);
    box->button(QMessageBox::Discard)->setText(tr("Delete"));
    box->setDefaultButton(QMessageBox::Cancel);
    if (box->exec() == QMessageBox::Discard)
        remove(names);
}

void RunKeeper::remove(const QStringList& names)
{
    for (const QString& name : names) {
        if (const Status status = m_parts.shelf->remove(name.toStdString()); !status.ok()) {
            m_banner->showError(errorText(status.error()));
            return;
        }
        m_parts.comparison->forget(name.toStdString());
    }
}

/// Where runs are kept, and how much they may take.
void RunKeeper::fillMenu(QMenu* menu)
{
    QAction* every = menu->addAction(tr("Keep Every Run"), this, [this](bool on) { m_settings.setKeepsRuns(on); });
    every->setObjectName(QStringLiteral("runs.keepEvery"));
    every->setCheckable(true);
    every->setChecked(m_settings.keepsRuns());
    QMenu* limits = menu->addMenu(tr("They May Take"));
    auto* group = new QActionGroup(limits);
    for (const qint64 mib : { 256, 1024, 4096, 16384, 0 }) {
        const qint64 bytes = mib << 20;
        QAction* action = limits->addAction(bytes > 0 ? bytesText(bytes) : tr("As Much as There Is"), this, [this, bytes] {
            m_settings.setRunsLimit(bytes);
            m_parts.shelf->setLimit(bytes);
        });
        action->setCheckable(true);
        action->setChecked(m_settings.runsLimit() == bytes);
        group->addAction(action);
    }
    menu->addAction(tr("Folder …"), this, &RunKeeper::chooseFolder)->setObjectName(QStringLiteral("runs.folder"));
    menu->addAction(tr("Read the Folder Again"), m_parts.shelf, &RunShelf::reload);
}

void RunKeeper::chooseFolder()
{
    const QString folder = QFileDialog::getExistingDirectory(m_window, tr("Folder of Runs"), m_parts.shelf->folder());
    if (folder.isEmpty())
        return;
    m_settings.setRunsFolder(folder);
    m_parts.shelf->setFolder(folder);
}

} // namespace shardboard
