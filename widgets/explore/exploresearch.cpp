// SPDX-License-Identifier: Apache-2.0
#include "widgets/explore/exploresearch.h"

#include "model/design/evaluate/evaluate.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

namespace shardboard {

namespace {

constexpr int kLookMs = 120; ///< between two looks at what came
constexpr std::size_t kMostFound = 12; ///< designs of a front that are kept as variants
constexpr std::size_t kMostTried = 200'000; ///< that are remembered

TriedDesign triedOf(const SearchedDesign& found)
{
    const bool whole = found.preset == kOptimalLayouts;
    return { found.design.mesh,
             found.preset,
             found.design.workload,
             found.design.pipeline,
             whole ? std::make_shared<const Design>(found.design) : nullptr,
             searchedSettings(found.design),
             found.seconds,
             found.tokensPerSecondPerDevice,
             found.leastBytes,
             found.slowBytes,
             found.fits,
             false };
}

double valueOf(const TriedDesign& tried, SearchObjective objective)
{
    switch (objective) {
    case SearchObjective::StepTime:
        return tried.seconds;
    case SearchObjective::TokensPerDevice:
        return -tried.tokensPerSecondPerDevice;
    case SearchObjective::Memory:
        return tried.leastBytes;
    case SearchObjective::SlowestLink:
        return tried.slowBytes;
    }
    return tried.seconds;
}

QString foundName(const std::string& preset, const std::string& settings)
{
    return qstr(preset) + QStringLiteral(", ") + qstr(settings);
}

struct KeptDesign {
    QString name;
    Design design;
    std::shared_ptr<const Evaluation> evaluation;
};

/// The best and what else is on the front, evaluated with findings; the best first.
std::vector<KeptDesign> keptOf(const SearchResult& result, const std::atomic<bool>& stop)
{
    std::vector<const SearchedDesign*> order;
    if (result.best)
        order.push_back(&result.front[*result.best]);
    else if (result.nearest)
        order.push_back(&*result.nearest);
    for (std::size_t i = 0; i < result.front.size(); ++i)
        if (result.best && i != *result.best)
            order.push_back(&result.front[i]);
    std::vector<KeptDesign> out;
    for (std::size_t i = 0; i < order.size() && i < kMostFound; ++i) {
        if (stop && i > 0)
            break; // the best is worth its evaluation even then
        if (const auto evaluation = evaluate(order[i]->design, Misfits::Replicate); evaluation.ok())
            out.push_back(
                { foundName(order[i]->preset, searchedSettings(order[i]->design)), order[i]->design, evaluation.value() });
    }
    return out;
}

} // namespace

QString requestText(const ExploreRequest& request)
{
    QString out;
    switch (request.objective) {
    case SearchObjective::StepTime:
        out = QObject::tr("Fastest step");
        break;
    case SearchObjective::TokensPerDevice:
        out = QObject::tr("Most tokens a second on each device");
        break;
    case SearchObjective::Memory:
        out = QObject::tr("Least memory");
        break;
    case SearchObjective::SlowestLink:
        out = QObject::tr("Fewest bytes over the slowest link");
        break;
    }
    if (request.memoryBytes)
        out += QObject::tr(" below %1").arg(bytesText(static_cast<std::int64_t>(*request.memoryBytes)));
    if (request.mostSeconds)
        out += QObject::tr(" within %1 a step").arg(secondsText(*request.mostSeconds));
    return out + QObject::tr(" on %1").arg(counted(request.devices, QObject::tr("device"), QObject::tr("devices")));
}

QString TriedDesign::name() const { return foundName(preset, settings); }

ExploreSearch::ExploreSearch(QObject* parent)
    : QObject(parent)
    , m_job(new LatestJob(this))
    , m_opening(new LatestJob(this))
{
    m_timer.setInterval(kLookMs);
    connect(&m_timer, &QTimer::timeout, this, &ExploreSearch::look);
    connect(m_job, &LatestJob::answered, this, &ExploreSearch::changed);
}

ExploreSearch::~ExploreSearch() = default;

bool ExploreSearch::isBusy() const { return m_job->isBusy(); }

double ExploreSearch::seconds() const
{
    return isBusy() ? std::chrono::duration<double>(std::chrono::steady_clock::now() - m_began).count() : m_took;
}

void ExploreSearch::start(const Design& design, const ExploreRequest& request)
{
    clear();
    m_request = request;
    m_begun = std::make_shared<const Design>(design);
    m_inbox = std::make_shared<Inbox>();
    m_began = std::chrono::steady_clock::now();
    m_job->ask([this, begun = m_begun, request, inbox = m_inbox](const std::atomic<bool>& stop) {
        SearchOptions options;
        options.parts = request.parts;
        options.devices = request.devices;
        options.objective = request.objective;
        options.memoryBytes = request.memoryBytes;
        options.mostSeconds = request.mostSeconds;
        options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
        options.deadline = std::chrono::steady_clock::now()
            + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(request.seconds));
        options.cancelled = &stop;
        options.tried = [&](const SearchedDesign& found) {
            TriedDesign tried = triedOf(found);
            const std::lock_guard lock(inbox->mutex);
            inbox->tried.push_back(std::move(tried));
        };
        options.progress = [&](const SearchProgress& progress) {
            const std::lock_guard lock(inbox->mutex);
            inbox->progress.push_back(progress);
        };
        auto result = searchDesigns(*begun, options);
        auto kept = result.ok() ? keptOf(result.value(), stop) : std::vector<KeptDesign>();
        return LatestJob::Answer([this, result = std::move(result), kept = std::move(kept)] {
            finish(result);
            for (const KeptDesign& one : kept)
                Q_EMIT found(one.name, one.design, one.evaluation);
        });
    });
    m_timer.start();
    Q_EMIT changed();
}

void ExploreSearch::stop()
{
    if (!isBusy())
        return;
    m_stopping = true;
    m_job->stop();
    Q_EMIT changed();
}

void ExploreSearch::clear()
{
    m_job->forget();
    m_opening->forget();
    m_timer.stop();
    m_inbox.reset();
    m_begun.reset();
    m_tried.clear();
    m_history.clear();
    m_latest = {};
    m_result.reset();
    m_problem.clear();
    m_fitting = 0;
    m_took = 0;
    m_best = -1;
    m_stopping = false;
    Q_EMIT progressed();
    Q_EMIT changed();
}

/// Takes in what came since the last look.
void ExploreSearch::look()
{
    if (!m_inbox)
        return;
    std::vector<TriedDesign> tried;
    std::vector<SearchProgress> progress;
    {
        const std::lock_guard lock(m_inbox->mutex);
        tried.swap(m_inbox->tried);
        progress.swap(m_inbox->progress);
    }
    for (const SearchProgress& now : progress) {
        if (m_history.empty() || now.best != m_history.back().best || now.bound != m_history.back().bound)
            m_history.push_back(now);
        m_latest = now;
    }
    for (TriedDesign& one : tried) {
        if (m_tried.size() >= kMostTried)
            break;
        m_fitting += one.fits ? 1 : 0;
        m_tried.push_back(std::move(one));
    }
    if (!tried.empty())
        markFront();
    Q_EMIT progressed();
}

void ExploreSearch::markFront()
{
    std::vector<std::size_t> order;
    m_best = -1;
    for (std::size_t i = 0; i < m_tried.size(); ++i) {
        m_tried[i].front = false;
        if (!m_tried[i].fits)
            continue;
        order.push_back(i);
        if (m_best < 0
            || valueOf(m_tried[i], m_request.objective) < valueOf(m_tried[static_cast<std::size_t>(m_best)], m_request.objective))
            m_best = static_cast<int>(i);
    }
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
        return std::pair(m_tried[a].seconds, m_tried[a].leastBytes) < std::pair(m_tried[b].seconds, m_tried[b].leastBytes);
    });
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t i : order)
        if (m_tried[i].leastBytes < least) {
            least = m_tried[i].leastBytes;
            m_tried[i].front = true;
        }
}

void ExploreSearch::finish(Result<SearchResult> result)
{
    look();
    m_timer.stop();
    m_took = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_began).count();
    m_stopping = false;
    if (result.ok())
        m_result = std::move(result).value();
    else
        m_problem = errorText(result.error());
    Q_EMIT progressed();
}

void ExploreSearch::open(int point)
{
    if (point < 0 || point >= static_cast<int>(m_tried.size()))
        return;
    m_opening->ask([this, point, begun = m_begun, tried = m_tried[static_cast<std::size_t>(point)]](const std::atomic<bool>&) {
        const auto design = tried.whole ? Result<Design>(*tried.whole)
                                        : designAgain(*begun, tried.mesh, tried.preset, tried.workload, tried.pipeline);
        const auto evaluation =
            design.ok() ? evaluate(design.value(), Misfits::Replicate) : Result<std::shared_ptr<const Evaluation>>(design.error());
        return LatestJob::Answer([this, point, name = tried.name(), design, evaluation] {
            if (evaluation.ok())
                Q_EMIT opened(point, name, design.value(), evaluation.value());
            else
                Q_EMIT refused(errorText(evaluation.error()));
        });
    });
}

} // namespace shardboard
