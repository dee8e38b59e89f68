// SPDX-License-Identifier: Apache-2.0
#include "widgets/runs/runshelf.h"

#include "model/io/design/designfile.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"

#include <QDateTime>
#include <QFile>
#include <QLocale>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

QString titleOf(const KeptRun& run)
{
    const QDateTime made = QDateTime::fromString(qstr(run.made), Qt::ISODate);
    const QString name = qstr(run.name);
    // As freshRunName() ends it where nobody gives a name.
    if (!made.isValid() || !name.contains(made.toUTC().toString(QStringLiteral("-yyyyMMdd-HHmmss"))))
        return name;
    return QLocale().toString(made.toLocalTime(), QStringLiteral("d MMM HH:mm"));
}

std::int64_t bytesOf(const std::vector<KeptRun>& runs)
{
    std::int64_t out = 0;
    for (const KeptRun& run : runs)
        out += run.bytes;
    return out;
}

} // namespace

Design comparableDesign(Design design)
{
    design.viewState.clear();
    return design;
}

RunShelf::RunShelf(QObject* parent)
    : QObject(parent)
    , m_job(new LatestJob(this))
    , m_runs(std::make_shared<const Runs>())
{
    connect(m_job, &LatestJob::answered, this, &RunShelf::next);
}

RunShelf::~RunShelf() = default;

void RunShelf::setFolder(const QString& folder)
{
    if (folder == m_folder)
        return;
    m_folder = folder;
    m_runs = std::make_shared<const Runs>();
    Q_EMIT changed();
    reload();
}

void RunShelf::setLimit(std::int64_t bytes)
{
    m_limit = bytes;
    Q_EMIT changed();
}

const ShelvedRun* RunShelf::find(const std::string& name) const
{
    const auto it = std::ranges::find_if(*m_runs, [&](const ShelvedRun& run) { return run.about.name == name; });
    return it == m_runs->end() ? nullptr : &*it;
}

std::int64_t RunShelf::bytes() const
{
    std::int64_t out = 0;
    for (const ShelvedRun& run : *m_runs)
        out += run.about.bytes;
    return out;
}

bool RunShelf::isBusy() const { return m_job->isBusy() || !m_waiting.empty(); }

void RunShelf::reload()
{
    ask([] { return Report {}; });
}

void RunShelf::keep(NewRun run)
{
    const std::string root = QFile::encodeName(m_folder).toStdString();
    ask([root, limit = m_limit, run = std::move(run)] {
        const auto full = [&](std::int64_t more) -> QString {
            const auto there = keptRuns(root);
            if (limit <= 0 || !there.ok() || bytesOf(there.value()) + more <= limit)
                return {};
            return tr("This run was not kept: those in the folder may take %1. Delete some of them, or allow more.")
                .arg(bytesText(limit));
        };
        if (const QString problem = full(1); !problem.isEmpty())
            return Report { {}, problem };
        const std::string name = freshRunName(root, run.design, run.made);
        if (const Status status = keepRun(root, name, run); !status.ok())
            return Report { {}, tr("This run was not kept. %1").arg(errorText(status.error())) };
        if (const QString problem = full(0); !problem.isEmpty()) { // how large it is, one knows when it is written
            (void)removeRun(root, name);
            return Report { {}, problem };
        }
        return Report { qstr(name), {} };
    });
}

/// The answer comes after all that was asked for before.
void RunShelf::ask(std::function<Report()> first)
{
    m_waiting.push_back(std::move(first));
    if (!m_job->isBusy())
        next();
}

void RunShelf::next()
{
    if (m_waiting.empty() || m_job->isBusy())
        return;
    const auto first = std::exchange(m_waiting.front(), {});
    m_waiting.pop_front();
    m_job->ask([this, first, folder = m_folder, known = m_runs](const std::atomic<bool>&) -> LatestJob::Answer {
        Report report = first();
        auto listed = std::make_shared<Runs>();
        const std::string root = QFile::encodeName(folder).toStdString();
        auto runs = root.empty() ? Result<std::vector<KeptRun>>(std::vector<KeptRun>()) : keptRuns(root);
        if (!runs.ok())
            report.problem = errorText(runs.error());
        else
            for (KeptRun& run : runs.value()) {
                ShelvedRun one;
                const auto before = std::ranges::find_if(
                    *known, [&](const ShelvedRun& old) { return old.about.name == run.name && old.about.made == run.made; });
                if (before != known->end())
                    one.design = before->design;
                else if (auto design = readDesign(keptDesignPath(root, run.name)); run.problem.empty() && design.ok())
                    one.design = comparableDesign(std::move(design).value());
                one.title = titleOf(run);
                one.about = std::move(run);
                listed->push_back(std::move(one));
            }
        return [this, folder, listed, report] {
            if (folder == m_folder) {
                m_runs = listed;
                Q_EMIT changed();
            }
            if (!report.kept.isEmpty())
                Q_EMIT kept(report.kept);
            if (!report.problem.isEmpty())
                Q_EMIT refused(report.problem);
        };
    });
}

Status RunShelf::rename(const std::string& name, const std::string& newName)
{
    if (name == newName)
        return done();
    Status out = renameRun(QFile::encodeName(m_folder).toStdString(), name, newName);
    reload();
    return out;
}

Status RunShelf::remove(const std::string& name)
{
    Status out = removeRun(QFile::encodeName(m_folder).toStdString(), name);
    reload();
    return out;
}

} // namespace shardboard
