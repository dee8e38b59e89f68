// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/optimize.h"

#include "model/design/optimize/layoutdesign.h"
#include "model/design/presets/presetparts.h"
#include "model/design/presets/presets.h"
#include "model/plan/planner/pickattempts.h"
#include "model/text/glob.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <thread>

namespace shardboard {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kObjectives { "step-time", "memory" };
constexpr int kRounds = 8; ///< of rates, where a step's time is not the sum of its parts
constexpr int kPrices = 24; ///< of memory

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class LayoutOptimizer {
public:
    LayoutOptimizer(const Design& design, const OptimizeOptions& options)
        : m_design(design)
        , m_options(options)
        , m_begin(Clock::now())
    {
        m_out.limit = options.memoryBytes.value_or(0);
        m_out.certificate.lowerBound = 0;
    }

    Result<OptimizedDesign> run()
    {
        auto base = planOnly(m_design);
        if (!base.ok())
            return base.error();
        m_base = base.value();
        auto hardware = hardwareOf(m_design);
        if (!hardware.ok())
            return hardware.error();
        m_hardware = std::move(hardware).value();
        if (auto status = verify(); !status.ok())
            return status.error();
        m_out.certificate.greedy = objectiveOf(*m_base);
        m_out.certificate.greedyFits = fits(*m_base);
        if (m_options.forbid.empty()) // else it may have what is forbidden
            offer(m_design, m_base, "the design itself");
        startFromPresets();
        const auto begun = Clock::now();
        if (m_design.model.hasGraph() && m_design.mesh.deviceCount() > 1) {
            if (auto status = search(); !status.ok())
                m_out.certificate.notExact.push_back("layouts were not searched: " + status.error().where + ": "
                                                     + status.error().what);
        } else {
            m_out.certificate.lowerBound = m_bestObjective;
        }
        m_out.certificate.searchSeconds = secondsSince(begun);
        finish();
        return std::move(m_out);
    }

private:
    Status verify() const
    {
        for (const auto& [pattern, axis] : m_options.forbid)
            if (m_design.mesh.find(axis) < 0)
                return usageError("--forbid", "the mesh " + m_design.mesh.text() + " has no axis '" + axis + "'",
                                  "use one that it has");
        for (const std::string& pattern : m_options.keep)
            if (std::ranges::none_of(m_base->weights, [&](const WeightLayout& w) { return globMatch(pattern, w.spec.name); }))
                return usageError("--keep", "no weight is called '" + pattern + "'", "shardctl tiles lists them");
        return done();
    }

    double objectiveOf(const Evaluation& evaluation) const
    {
        return m_options.objective == LayoutObjective::Memory ? static_cast<double>(evaluation.plan.memory.peak)
                                                              : evaluation.plan.seconds();
    }
    /// As the plan says it: with the allocator at its best.
    bool fits(const Evaluation& evaluation) const
    {
        return !m_options.memoryBytes || static_cast<double>(evaluation.plan.memory.least) <= *m_options.memoryBytes;
    }
    bool stopped() const
    {
        return (m_options.cancelled != nullptr && *m_options.cancelled)
            || (m_options.deadline != Clock::time_point::max() && Clock::now() >= m_options.deadline);
    }

    void report(const std::string& what)
    {
        OptimizeProgress now { secondsSince(m_begin), m_bestObjective, m_out.certificate.lowerBound, what };
        m_out.certificate.history.push_back(now);
        if (m_options.progress)
            m_options.progress(now);
    }

    /// Takes a design that is better than the best so far. What fits is better than what does not.
    bool offer(const Design& design, const std::shared_ptr<const Evaluation>& evaluation, const std::string& what)
    {
        if (m_options.tried)
            m_options.tried(design, *evaluation, what);
        const auto needed = static_cast<double>(evaluation->plan.memory.least);
        if (needed < m_leastPeak) {
            m_leastPeak = needed;
            m_leastDesign = design;
            m_leastEvaluation = evaluation;
        }
        if (!fits(*evaluation) || !(objectiveOf(*evaluation) < m_bestObjective))
            return false;
        m_bestObjective = objectiveOf(*evaluation);
        m_out.design = design;
        m_out.evaluation = evaluation;
        m_out.certificate.winner = what;
        m_out.certificate.modelled = 0;
        report(what);
        return true;
    }

    /// Whether layouts that somebody fixed are as they were.
    bool keepsWhatIsKept(const Evaluation& other) const
    {
        const auto layouts = layoutsOf(other);
        return std::ranges::all_of(m_base->weights, [&](const WeightLayout& weight) {
            if (!keeps(weight.spec.name))
                return true;
            const auto there = layouts.find({ weight.spec.name, weight.firstLayer });
            return there != layouts.end() && *there->second == weight.layout;
        });
    }
    /// By name and layer: a joined projection may be several weights in one of two evaluations.
    using LayoutsByName = std::map<std::pair<std::string, std::int64_t>, const Layout*>;
    static LayoutsByName layoutsOf(const Evaluation& of)
    {
        LayoutsByName out;
        for (const WeightLayout& weight : of.weights)
            out.try_emplace({ weight.spec.name, weight.firstLayer }, &weight.layout);
        return out;
    }
    bool keeps(const std::string& name) const
    {
        return std::ranges::any_of(m_options.keep, [&](const std::string& pattern) { return globMatch(pattern, name); });
    }

    /// Presets that change nothing but layouts, planned on two cores.
    void startFromPresets()
    {
        if (!m_options.forbid.empty() || !m_design.model.hasGraph())
            return;
        struct Preset {
            std::string name;
            Design design;
            std::shared_ptr<const Evaluation> evaluation {};
        };
        std::vector<Preset> presets;
        for (const std::string& name : presetsFor(m_design.mesh, m_design.model)) {
            Design other = m_design;
            const auto notes = applyPreset(other, name);
            if (notes.ok() && other.pipeline == m_design.pipeline)
                presets.push_back({ name, std::move(other) });
        }
        std::atomic<std::size_t> next = 0;
        const auto plan = [&] {
            for (std::size_t i = next++; i < presets.size() && !stopped(); i = next++)
                if (auto evaluation = planOnly(presets[i].design); evaluation.ok())
                    presets[i].evaluation = std::move(evaluation).value();
        };
        std::thread helper(plan);
        plan();
        helper.join();
        for (const Preset& preset : presets)
            if (preset.evaluation && keepsWhatIsKept(*preset.evaluation))
                offer(preset.design, preset.evaluation, "preset " + preset.name);
    }

    Status search()
    {
        m_mesh = pickedMesh(m_design.mesh, m_design.pipeline);
        LayoutLimits limits;
        for (const Pin& pin : m_design.pins)
            if (pin.source.empty())
                limits.pins.push_back(pin);
        for (const auto& [pattern, axis] : m_options.forbid)
            limits.forbidden.emplace_back(pattern, m_design.mesh.find(axis));
        limits.groups = axisGroups(m_mesh);
        auto space = layoutSpace(m_base->graph, m_mesh, limits, m_layouts);
        if (!space.ok())
            return space.error();
        m_whole = std::move(space).value();
        m_prices = std::make_unique<LayoutPrices>(m_base->graph, m_design.mesh, m_hardware, m_design.workload.dispatch, m_layouts);
        StepRates rates = ratesAt(m_base->graph, start().plan, m_hardware.levels.size());
        for (int round = 0; round < kRounds && !stopped(); ++round) {
            build(rates);
            if (!m_network.complete) {
                m_out.certificate.notExact.push_back("the time was over before everything was priced");
                break;
            }
            const auto evaluation = m_options.objective == LayoutObjective::Memory ? leastMemory() : fastest();
            if (!evaluation || !isUneven())
                break;
            const double before = m_bestObjective;
            rates = mixed(rates, ratesAt(m_base->graph, evaluation->plan, m_hardware.levels.size()), 1.0 / (round + 2));
            if (round > 2 && m_bestObjective - m_out.certificate.lowerBound < 1e-9 * before)
                break;
        }
        return done();
    }

    /// Whose rates are taken first: the best so far, if it was planned on the same graph.
    const Evaluation& start() const
    {
        const auto same = [&](const Graph& graph) {
            return graph.segments.size() == m_base->graph.segments.size() && graph.tensors.size() == m_base->graph.tensors.size()
                && graph.ops.size() == m_base->graph.ops.size();
        };
        return m_out.evaluation && same(m_out.evaluation->graph) ? *m_out.evaluation : *m_base;
    }

    /// Whether a step's time is more than a sum: of what overlaps, or waits for stages.
    bool isUneven() const { return m_base->plan.overlap != Overlap::None || m_base->plan.pipeline.has_value(); }

    NetworkRequest requestOf(const StepRates& rates, const LayoutSpace& space)
    {
        return { m_base->graph,
                 m_mesh,
                 m_hardware,
                 m_design.workload,
                 m_design.memory,
                 m_base->plan,
                 rates,
                 space,
                 m_layouts,
                 *m_prices,
                 [this](TensorId tensor) { return keeps(m_base->graph.tensor(tensor).name); },
                 [this] { return stopped(); },
                 true };
    }

    /// Whether several mesh axes are taken as one.
    bool isGrouped() const
    {
        for (std::size_t b = 1; b < m_whole.axes.size(); ++b)
            for (std::size_t a = 0; a < b; ++a)
                if (m_whole.alike(a, b))
                    return true;
        return false;
    }

    /// What cannot be part of a better design than the best so far is left out: it is cheaper not to price it.
    void build(const StepRates& rates)
    {
        m_space = m_options.objective == LayoutObjective::StepTime && m_bestObjective < kInfinity
            ? withoutDear(requestOf(rates, m_whole), m_bestObjective)
            : m_whole;
        const NetworkRequest request = requestOf(rates, m_space);
        m_network = layoutNetwork(request);
        m_out.certificate.nodes = m_network.sizes.size();
        m_out.certificate.strategies = static_cast<std::size_t>(std::ranges::max(m_network.sizes));
    }

    struct Answer {
        std::shared_ptr<const Evaluation> evaluation;
        minplus::LeastCost least;
        double bytes = 0;
    };

    /// The best layouts where a byte costs so many seconds, evaluated.
    std::optional<Answer> solve(double price)
    {
        minplus::LeastOptions options;
        options.deadline = m_options.deadline;
        options.cancelled = m_options.cancelled;
        Answer out;
        out.least = minplus::least(m_network.costs(price), options);
        ++m_out.certificate.solved;
        m_out.certificate.width = std::max(m_out.certificate.width, out.least.width);
        m_out.certificate.table = std::max(m_out.certificate.table, out.least.table);
        if (out.least.values.empty())
            return std::nullopt;
        const Design design = designOf(m_design, m_base->graph, m_mesh, m_space, m_network, m_layouts, out.least.values,
                                       [this](TensorId tensor) { return keeps(m_base->graph.tensor(tensor).name); });
        auto evaluation = planOnly(design);
        if (!evaluation.ok())
            return std::nullopt;
        out.evaluation = evaluation.value();
        out.bytes = m_network.bytes(out.least.values);
        const double modelled = m_network.seconds(out.least.values);
        if (offer(design, out.evaluation, "layouts") && m_options.objective == LayoutObjective::StepTime)
            m_out.certificate.modelled = modelled;
        if (out.bytes > static_cast<double>(out.evaluation->plan.memory.least) * (1 + 1e-9))
            m_overcounted = true;
        return out;
    }

    void raiseBound(double bound)
    {
        if (bound <= m_out.certificate.lowerBound || isGrouped())
            return;
        m_out.certificate.lowerBound = bound;
        report("bound");
    }

    std::shared_ptr<const Evaluation> fastest()
    {
        const auto free = solve(0);
        if (!free)
            return nullptr;
        raiseBound(free->least.bound);
        if (!m_options.memoryBytes || fits(*free->evaluation))
            return free->evaluation;
        return withinMemory(*free);
    }

    /// A price for memory that is as low as possible and high enough: bisected in its logarithm. Each one bounds the objective:
    /// seconds + price x (bytes - limit) is no more than the seconds of what fits.
    std::shared_ptr<const Evaluation> withinMemory(const Answer& free)
    {
        const double limit = *m_options.memoryBytes;
        double low = 0;
        double high = free.least.cost / std::max(1.0, free.bytes);
        std::shared_ptr<const Evaluation> last;
        bool found = false;
        for (int i = 0; i < kPrices && !stopped(); ++i) {
            const double price = !found ? high : low == 0 ? high / 8 : std::sqrt(low * high);
            const auto answer = solve(price);
            if (!answer)
                break;
            if (!m_overcounted)
                raiseBound(answer->least.bound - price * limit);
            if (fits(*answer->evaluation)) {
                found = true;
                high = price;
                last = answer->evaluation;
            } else {
                low = price;
                if (!found)
                    high *= 8;
                if (!found && i > 12)
                    break;
            }
            if (found && low > 0 && high / low < 1.0005)
                break;
        }
        return last;
    }

    std::shared_ptr<const Evaluation> leastMemory()
    {
        const auto answer = solve(1e6); // seconds a byte: all the bytes first
        return answer ? answer->evaluation : nullptr;
    }

    void finish()
    {
        Certificate& certificate = m_out.certificate;
        if (!m_out.evaluation) {
            m_out.feasible = false;
            m_out.design = m_leastEvaluation ? m_leastDesign : m_design;
            m_out.evaluation = m_leastEvaluation ? m_leastEvaluation : m_base;
            m_out.missingBytes = std::max(0.0, static_cast<double>(m_out.evaluation->plan.memory.least) - m_out.limit);
            certificate.winner = "none";
            certificate.lowerBound = 0; // of what? nothing fits
            m_bestObjective = objectiveOf(*m_out.evaluation);
        }
        certificate.objective = m_bestObjective;
        if (m_options.objective == LayoutObjective::Memory)
            certificate.notExact.push_back("the least memory has no lower bound: it is a peak, and no sum");
        certificate.proved = certificate.lowerBound > 0 && certificate.lowerBound <= certificate.objective * (1 + 1e-9)
            && m_whole.axes.size() < static_cast<std::size_t>(kManyAxes) && !m_overcounted;
        // Designs outside of the network can be better than all in it; the bound is then theirs.
        if (certificate.lowerBound > certificate.objective) {
            if (certificate.lowerBound > certificate.objective * (1 + 1e-9))
                certificate.notExact.push_back(certificate.winner == "layouts"
                                                   ? "the network counts more for its best layouts than their plan takes"
                                                   : certificate.winner + " is better than all tied layouts");
            certificate.lowerBound = certificate.objective;
        }
        say();
        describeChanges();
        certificate.seconds = secondsSince(m_begin);
        report("done");
    }

    void say()
    {
        Certificate& certificate = m_out.certificate;
        certificate.exact.push_back("all layouts of weights and activations at once, each mesh axis on any dim, whole, or partial");
        certificate.exact.push_back("forward and backward pass together, with kernels and collectives as the plan prices them");
        certificate.notExact.push_back("gradients are cut over the same factor as their operation; layers of one kind are alike");
        certificate.notExact.push_back(
            "mesh axes that cut one dim of an activation stand in mesh order; the first layer's entry is that of the others");
        if (m_whole.axes.size() >= static_cast<std::size_t>(kManyAxes))
            certificate.notExact.push_back("a value changes over two mesh axes at once at most, and weights are only gathered");
        if (isGrouped())
            certificate.notExact.push_back("some of the mesh axes always cut alike, so that there is no lower bound");
        if (isUneven())
            certificate.notExact.push_back("collectives that overlap, and stages, are counted by their share in the step's time");
        if (m_design.workload.rule == Optimizer::Muon)
            certificate.notExact.push_back("Muon's products and what it gathers are only in the evaluation");
        if (m_design.workload.offload.any())
            certificate.notExact.push_back("copies to the host and the optimizer's step there are only in the evaluation");
        if (m_options.memoryBytes)
            certificate.notExact.push_back(
                m_overcounted ? "memory: weights and what is kept, which some plan has less of, so that the bound is none"
                              : "memory: weights and what is kept; what comes and goes is only in the evaluation");
    }

    void describeChanges()
    {
        const LayoutsByName before = layoutsOf(*m_base);
        const LayoutsByName after = layoutsOf(*m_out.evaluation);
        for (const WeightLayout& weight : m_base->weights) {
            const auto there = after.find({ weight.spec.name, weight.firstLayer });
            if (there == after.end())
                m_out.changes.push_back({ weight.spec.name, specText(weight.layout, m_design.mesh), "cut in its parts" });
            else if (*there->second != weight.layout)
                m_out.changes.push_back(
                    { weight.spec.name, specText(weight.layout, m_design.mesh), specText(*there->second, m_design.mesh) });
        }
        for (const WeightLayout& weight : m_out.evaluation->weights)
            if (!before.contains({ weight.spec.name, weight.firstLayer }))
                m_out.changes.push_back(
                    { weight.spec.name, "part of a joined weight, or joined of parts", specText(weight.layout, m_design.mesh) });
    }

    const Design& m_design;
    const OptimizeOptions& m_options;
    const Clock::time_point m_begin;
    std::shared_ptr<const Evaluation> m_base;
    Hardware m_hardware;
    Mesh m_mesh;
    LayoutNumbers m_layouts;
    LayoutSpace m_whole;
    LayoutSpace m_space; ///< part of it
    std::unique_ptr<LayoutPrices> m_prices;
    LayoutNetwork m_network;
    double m_bestObjective = kInfinity;
    double m_leastPeak = kInfinity;
    Design m_leastDesign;
    std::shared_ptr<const Evaluation> m_leastEvaluation;
    bool m_overcounted = false;
    OptimizedDesign m_out;
};

} // namespace

std::string layoutObjectiveName(LayoutObjective objective) { return kObjectives[static_cast<std::size_t>(objective)]; }

std::optional<LayoutObjective> layoutObjectiveFromName(std::string_view name)
{
    const auto found = std::ranges::find(kObjectives, name);
    return found == kObjectives.end() ? std::nullopt : std::optional(static_cast<LayoutObjective>(found - kObjectives.begin()));
}

Result<OptimizedDesign> optimizeLayouts(const Design& design, const OptimizeOptions& options)
{
    return LayoutOptimizer(design, options).run();
}

Result<double> usableMemory(const Design& design)
{
    const auto hardware = hardwareOf(design);
    if (!hardware.ok())
        return hardware.error();
    return hardware.value().memoryBytes();
}

} // namespace shardboard
