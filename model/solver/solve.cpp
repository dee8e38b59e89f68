// SPDX-License-Identifier: Apache-2.0
#include "model/solver/solve.h"

#include "model/solver/ascent.h"
#include "model/solver/exhaustive.h"
#include "model/solver/incumbent.h"
#include "model/solver/search.h"
#include "model/solver/start.h"
#include "model/solver/usage.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>

namespace shardboard::solver {

namespace {

using Clock = Options::Clock;

constexpr std::int64_t kExhaustSteps = 4'000'000;
constexpr std::size_t kExhaustNodes = 24;
constexpr int kFirstPrices = 60; ///< steps of the ascent until others start with its prices
constexpr int kNextPrices = 50;
constexpr double kAscentShare = 0.25; ///< of the time, at most
constexpr double kStartShare = 0.15; ///< of the time that is left then
constexpr int kSearchPerStart = 12; ///< time of the search for each further start

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The least of every cost, added up.
Wide simpleBound(const Problem& problem)
{
    Wide out = 0;
    for (std::size_t node = 0; node < problem.nodes(); ++node)
        out += std::ranges::min(problem.costs(node));
    for (const Edge& edge : problem.edges) {
        const auto begin = problem.edgeCosts.begin() + static_cast<std::ptrdiff_t>(edge.costs);
        const auto rows = static_cast<std::ptrdiff_t>(problem.strategies(static_cast<std::size_t>(edge.a)));
        const auto columns = static_cast<std::ptrdiff_t>(problem.strategies(static_cast<std::size_t>(edge.b)));
        out += *std::min_element(begin, begin + rows * columns);
    }
    return out;
}

/// One run on several threads: one raises the bound first, the others search with the prices that it has until then.
class Run {
public:
    Run(const Problem& problem, const Options& options, Clock::time_point begin)
        : m_problem(problem)
        , m_options(options)
        , m_begin(begin)
        , m_network(simplify(problem))
        , m_incumbent(m_network, leastUsage(m_network))
    {
    }

    void run(Solution& solution)
    {
        std::vector<std::thread> helpers;
        for (int i = 1; i < m_options.threads; ++i)
            helpers.emplace_back([this, i] { help(i); });
        lead(solution);
        for (std::thread& helper : helpers)
            helper.join();
        solution.assignment = m_network.expand(m_incumbent.copy().choice);
    }

private:
    struct Board {
        std::vector<double> prices;
        int version = 0;
    };

    bool stopped() const
    {
        return m_closed || Clock::now() >= m_options.deadline || (m_options.cancelled != nullptr && *m_options.cancelled);
    }

    void lead(Solution& solution)
    {
        const double share = m_options.threads > 1 ? kAscentShare : kAscentShare / 2;
        const auto until = m_begin + std::chrono::duration_cast<Clock::duration>((m_options.deadline - m_begin) * share);
        Ascent ascent(m_network);
        Incumbent::Copy copy = m_incumbent.copy();
        std::vector<int> all(static_cast<std::size_t>(m_network.nodes()));
        std::iota(all.begin(), all.end(), 0);
        for (int i = 1; !stopped() && Clock::now() < until && !ascent.settled(); ++i) {
            ascent.step();
            m_incumbent.offer(copy, all, ascent.decoded());
            if (ascent.bound() > m_incumbent.cost() - 1 + 1e-6)
                break;
            if (i >= kFirstPrices && i % kNextPrices == 0)
                publish(ascent);
            report(ascent.bound());
        }
        publish(ascent);
        prove(solution, ascent);
        if (!isClosed(solution)) {
            improve(ascent.prices(), m_options.seed, [&](Search&) {
                report(static_cast<double>(solution.bound));
                return !isClosed(solution);
            });
        }
        m_closed = true;
        m_published.notify_all();
    }

    /// Assignments of different origin, and what is good in each of them; then the search, with another origin every now and then.
    /// `goesOn(search)` is asked after each step.
    template <class GoesOn>
    void improve(const std::vector<double>& prices, std::uint64_t seed, GoesOn goesOn)
    {
        const auto stop = [this] { return stopped(); };
        Incumbent::Copy copy = m_incumbent.copy();
        Start start(m_network, prices, seed);
        auto begun = Clock::now();
        Clock::duration took {};
        const auto another = [&] {
            const auto now = Clock::now();
            if (const auto found = start.next(stop))
                m_incumbent.offerParts(copy, *found);
            begun = Clock::now();
            took = begun - now;
        };
        const auto until = begun + std::chrono::duration_cast<Clock::duration>((m_options.deadline - begun) * kStartShare);
        do
            another();
        while (!stopped() && Clock::now() < until && m_network.nodes() > 0);
        Search search(m_network, m_incumbent, seed, stop);
        search.usePrices(prices);
        search.useRelaxation(start.relaxation());
        while (!stopped() && m_network.nodes() > 0) {
            search.step();
            if (!goesOn(search))
                return;
            if (const auto now = Clock::now(); now - begun > kSearchPerStart * took && now + 2 * took < m_options.deadline)
                another();
        }
    }

    void help(int number)
    {
        Board board;
        {
            std::unique_lock lock(m_mutex);
            m_published.wait_until(lock, m_options.deadline, [&] { return m_board.version > 0 || m_closed; });
            board = m_board;
        }
        if (board.version == 0 || stopped())
            return;
        const std::uint64_t seed = m_options.seed + 1000003 * static_cast<std::uint64_t>(number);
        improve(board.prices, seed, [&](Search& search) {
            const std::lock_guard lock(m_mutex);
            if (m_board.version != board.version) {
                board.version = m_board.version;
                search.usePrices(m_board.prices);
            }
            return true;
        });
    }

    void publish(const Ascent& ascent)
    {
        {
            const std::lock_guard lock(m_mutex);
            m_board.prices = ascent.prices();
            ++m_board.version;
        }
        m_published.notify_all();
    }

    void prove(Solution& solution, Ascent& ascent)
    {
        Proof proof = proofOf(m_network, ascent.prices(), ascent.best());
        const std::optional<Wide> bound = boundOf(m_problem, proof);
        if (bound && *bound > solution.bound) {
            solution.bound = *bound;
            solution.proof = std::move(proof);
        }
        solution.boundSeconds = secondsSince(m_begin);
    }

    /// The search does not see forbidden costs as they are.
    bool isClosed(const Solution& solution) const
    {
        const auto bound = static_cast<double>(solution.bound);
        return m_incumbent.cost() < bound + 0.5 && bound < kForbiddenCost;
    }

    void report(double bound)
    {
        if (!m_options.progress || secondsSince(m_reported) < 0.5)
            return;
        m_reported = Clock::now();
        m_options.progress({ secondsSince(m_begin), m_incumbent.cost(), bound });
    }

    const Problem& m_problem;
    const Options& m_options;
    Clock::time_point m_begin;
    Clock::time_point m_reported {};
    Network m_network;
    Incumbent m_incumbent;
    std::mutex m_mutex;
    std::condition_variable m_published;
    Board m_board;
    std::atomic<bool> m_closed { false };
};

} // namespace

Solution solve(const Problem& problem, const Options& options)
{
    const auto begin = Clock::now();
    Solution out;
    out.infeasible = leastExcess(problem);
    if (out.infeasible) {
        out.seconds = secondsSince(begin);
        return out;
    }
    out.bound = simpleBound(problem);
    if (options.enumerate && problem.nodes() <= kExhaustNodes)
        if (auto best = exhaust(problem, kExhaustSteps)) {
            out.assignment = std::move(*best);
            out.enumerated = true;
        }
    if (!out.enumerated)
        Run(problem, options, begin).run(out);
    out.cost = evaluate(problem, out.assignment).cost;
    if (out.enumerated)
        out.bound = out.cost;
    out.optimal = out.bound == out.cost;
    out.seconds = secondsSince(begin);
    return out;
}

} // namespace shardboard::solver
