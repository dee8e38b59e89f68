// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/conformance.h"

#include "engine/conformance/modelcases.h"
#include "engine/conformance/oneprogram.h"
#include "engine/conformance/seen.h"
#include "engine/cpu/backend.h"
#include "engine/run/record/tolerance.h"
#include "engine/run/step/runvalues.h"
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "model/text/contains.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <map>
#include <stdexcept>

namespace shardboard::conformance {

using engine::Backend;
using engine::Failure;

namespace {

constexpr std::size_t kReshardCases = 12;
constexpr int kReshardsInCase = 10;
constexpr int kRandomLayouts = 4; ///< of an operation, beside one for every row of its rule

std::vector<Mesh> meshesFor(const Options& options)
{
    std::vector<std::string> texts { "a=2", "a=3", "a=4", "a=2,b=2", "a=3,b=2", "a=2,b=3", "a=2,b=2,c=2", "a=8" };
    if (options.devices > 0)
        texts.push_back("a=" + std::to_string(options.devices));
    std::vector<Mesh> out;
    for (const std::string& text : texts) {
        Mesh mesh = Mesh::parse(text).value();
        if ((options.devices == 0 || mesh.deviceCount() == options.devices) && !contains(out, mesh))
            out.push_back(std::move(mesh));
    }
    return out;
}

std::uint32_t seedOf(const Options& options, const Case& which)
{
    std::uint64_t hash = options.seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(which.dtype);
    for (const char letter : which.name)
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
    return static_cast<std::uint32_t>(hash >> 16);
}

RunOptions runOptions(const Backend& backend, const Case& which, std::uint64_t seed)
{
    RunOptions options;
    options.backend = backend.name;
    options.designDtype = which.dtype != DType::F32;
    options.seed = seed;
    return options;
}

engine::RunLimits poisoned()
{
    engine::RunLimits limits;
    limits.poison = true;
    return limits;
}

std::string numberText(double value)
{
    std::array<char, 32> text {};
    std::snprintf(text.data(), text.size(), "%.2e", value);
    return text.data();
}

/// The whole tensors of a case, by the name under which a run shows them.
std::map<std::string, Value> answers(const Graph& graph, const Program& program, const RunOptions& options)
{
    const engine::ValueMaker maker(program, options);
    std::map<TensorId, Value> values;
    std::map<std::string, Value> out;
    for (const Op& op : graph.ops) {
        std::vector<const Value*> operands;
        for (const TensorId id : op.operands) {
            if (!values.contains(id))
                values[id] = madeUp(maker.sourceOf(id, 0), graph.tensor(id).shape);
            operands.push_back(&values[id]);
        }
        const Shape& shape = graph.tensor(op.result).shape;
        Value cached;
        ReferenceInputs inputs;
        if (definitionOf(op.kind).appends) {
            cached = madeUp(maker.cacheOf(op.result, 0), shape);
            inputs.cached = &cached;
        }
        Value value = reference(op.kind, op.attributes, operands, shape, inputs);
        values[op.result] = value;
        out[graph.tensor(op.result).name] = std::move(value);
    }
    return out;
}

class Trial {
public:
    Trial(const Backend& backend, const Case& which, const Options& options)
        : m_backend(backend)
        , m_case(which)
        , m_random(seedOf(options, which))
        , m_meshes(meshesFor(options))
    {
    }

    CaseResult result;
    std::mt19937& random() { return m_random; }
    const std::vector<Mesh>& meshes() const { return m_meshes; }
    const Mesh& anyMesh() { return m_meshes[m_random() % m_meshes.size()]; }

    /// Runs a program of single operations and compares all their results.
    void run(const Program& program, const std::string& told, double tolerance)
    {
        const RunOptions options = runOptions(m_backend, m_case, m_random());
        const auto expected = answers(program.graph, program, options);
        std::size_t seen = 0;
        engine::RunHooks hooks;
        hooks.value = [&](const engine::SeenValue& value) {
            const auto known = expected.find(value.tensor);
            if (known == expected.end())
                return;
            ++seen;
            judge(errorOf(value.value, known->second), tolerance, told + ", " + value.tensor);
        };
        start(program, options, hooks, told);
        stopIfWrong();
        if (seen != expected.size())
            throw std::runtime_error(told + ": " + std::to_string(seen) + " of " + std::to_string(expected.size())
                                     + " results were shown");
    }

    RunResult start(const Program& program, const RunOptions& options, const engine::RunHooks& hooks, const std::string& told)
    {
        const auto outcome = m_backend.run({ program, options, hooks, poisoned() });
        if (const auto* failure = std::get_if<Failure>(&outcome))
            throw std::runtime_error(told + ": " + failure->where + ": " + failure->message);
        ++result.programs;
        return std::get<RunResult>(outcome);
    }

    void judge(double error, double tolerance, const std::string& told)
    {
        result.worst = std::max(result.worst, error);
        result.tolerance = tolerance;
        if (!(error <= tolerance) && m_wrong.empty())
            m_wrong = told + ": " + numberText(error) + " from what is right, " + numberText(tolerance) + " are allowed";
    }
    void note(const std::string& wrong)
    {
        if (m_wrong.empty())
            m_wrong = wrong;
    }
    /// Not within a hook, which a backend calls from wherever it likes.
    void stopIfWrong() const
    {
        if (!m_wrong.empty())
            throw std::runtime_error(m_wrong);
    }

    const Backend& backend() const { return m_backend; }
    const Case& which() const { return m_case; }
    bool rounded() const { return m_case.dtype != DType::F32; }

private:
    const Backend& m_backend;
    const Case& m_case;
    std::mt19937 m_random;
    std::vector<Mesh> m_meshes;
    std::string m_wrong; ///< what differed first
};

void tryOp(Trial& trial, const OpCase& of)
{
    const Op& op = of.op();
    std::vector<Shape> operands;
    for (const TensorId id : op.operands)
        operands.push_back(of.graph.tensor(id).shape);
    const Shape& shape = of.graph.tensor(op.result).shape;
    const auto rows = ruleOf(op.kind).rows(operands, shape, PickerProfile::Shardboard);
    const bool backward = ruleOf(op.kind).shapes().operands().front().name == "dy";
    const double tolerance = engine::toleranceOf(backward ? Phase::Backward : Phase::Forward, trial.rounded());
    const auto attempt = [&](const Mesh& mesh, const std::vector<std::size_t>& byAxis) {
        RowChoice choice = chooseRows(rows, byAxis, operands, shape, mesh);
        if (op.kind == OpKind::LogitMax && !choice.result.partial.empty())
            choice.result.op = ReduceOp::Max;
        if (!choice.fits)
            return;
        if (const auto program = programOf(of, mesh, choice, trial.which().dtype, trial.random()))
            trial.run(*program, textOf(choice, mesh), tolerance);
    };
    for (const Mesh& mesh : trial.meshes())
        for (std::size_t row = 0; mesh.axisCount() == 1 && mesh.deviceCount() < 4 && row < rows.size(); ++row)
            attempt(mesh, { row });
    for (int i = 0; i < kRandomLayouts; ++i) {
        const Mesh& mesh = trial.anyMesh();
        std::vector<std::size_t> byAxis;
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            byAxis.push_back(trial.random()() % rows.size());
        attempt(mesh, byAxis);
    }
    if (trial.result.programs == 0)
        throw std::runtime_error("no layout could be tried");
}

/// `seen` gets the kinds of collectives. With `execute` false only the programs are made.
void tryReshards(Trial& trial, bool execute, std::set<CollectiveKind>& seen)
{
    const std::vector<Shape> shapes { { 5, 9 },      { 12, 8 },  { 3, 7, 5 },   { 1, 13 },
                                      { 24, 12, 6 }, { 16, 48 }, { 6, 4, 300 }, { 70, 130 } };
    for (int i = 0; i < kReshardsInCase; ++i) {
        const Mesh& mesh = trial.anyMesh();
        const Shape& shape = shapes[trial.random()() % shapes.size()];
        const Layout from = randomLayout(trial.random(), mesh, shape.size(), true);
        Layout to = randomLayout(trial.random(), mesh, shape.size(), true);
        std::erase_if(to.partial, [&](const AxisRef& ref) { return !contains(from.partial, ref); });
        const auto program = reshardProgram(shape, mesh, from, to, trial.which().dtype, trial.random());
        if (!program)
            continue;
        for (const Collective& collective : program->plan.collectives)
            seen.insert(collective.kind);
        if (execute)
            trial.run(*program, mesh.text() + ": " + specText(from, mesh) + " -> " + specText(to, mesh),
                      engine::toleranceOf(Phase::Forward, trial.rounded()));
    }
}

/// A model's results against those of the cpu, which are held to double precision by the cases before and by the unsharded
/// computation; the cpu's own run is compared with that.
void tryModel(Trial& trial, const ModelCase& of, const Options& with)
{
    const auto program = with.programOf(of, trial.which().dtype);
    if (!program.ok())
        throw std::runtime_error(program.error().text());
    RunOptions options = runOptions(trial.backend(), trial.which(), trial.random()());
    options.verify = true;
    std::map<std::string, std::deque<Value>> whole;
    const auto nameOf = [](const engine::SeenValue& value) { return value.tensor + " " + std::to_string(value.microBatch); };
    engine::RunHooks hooks;
    if (trial.backend().name != "cpu") {
        engine::RunHooks collect;
        collect.value = [&](const engine::SeenValue& value) {
            const float* data = value.unsharded->data(0);
            whole[nameOf(value)].push_back({ value.value.shape(), std::vector<double>(data, data + value.unsharded->elements(0)) });
        };
        RunOptions here = options;
        here.backend = "cpu";
        const auto outcome = engine::runOnCpu({ program.value(), here, collect });
        if (const auto* failure = std::get_if<Failure>(&outcome))
            throw std::runtime_error("on the cpu: " + failure->where + ": " + failure->message);
        hooks.value = [&](const engine::SeenValue& value) {
            const auto known = whole.find(nameOf(value));
            if (known == whole.end() || known->second.empty())
                return trial.note(nameOf(value) + " is not a result of the cpu");
            trial.judge(errorOf(value.value, known->second.front()), engine::toleranceOf(Phase::Backward, trial.rounded()),
                        nameOf(value));
            known->second.pop_front();
        };
    }
    const RunResult result = trial.start(program.value(), options, hooks, of.name);
    trial.stopIfWrong();
    trial.result.worst = std::max(trial.result.worst, result.maxRelativeError);
    // From layer to layer roundings to two bytes add up beyond what one operation may be off.
    trial.result.tolerance = result.tolerance * (trial.rounded() ? 2 : 1);
    if (!result.compared || !(result.maxRelativeError <= trial.result.tolerance))
        throw std::runtime_error(result.firstDeviation + " is " + numberText(result.maxRelativeError)
                                 + " from the unsharded computation");
}

const std::vector<OpCase>& knownOps()
{
    static const std::vector<OpCase> all = opCases();
    return all;
}

} // namespace

std::vector<Case> casesFor(const Backend& backend, const Options& options)
{
    std::vector<Case> out;
    for (const DType dtype : { DType::F32, DType::BF16, DType::F16 }) {
        if (!contains(backend.claims, dtype))
            continue;
        const auto add = [&](const std::string& name, std::size_t number) {
            if (name.find(options.filter) != std::string::npos)
                out.push_back({ name, dtype, number });
        };
        const std::string of = ", " + dtypeName(dtype);
        const auto runs = [&](const Op& op) {
            return !backend.onGpus || (definitionOf(op.kind).onGpus && !op.attributes.alibi && !op.attributes.bothWays);
        };
        for (std::size_t i = 0; i < knownOps().size(); ++i)
            if (std::ranges::all_of(knownOps()[i].graph.ops, runs))
                add("op: " + knownOps()[i].name + of, i);
        for (std::size_t i = 0; i < kReshardCases; ++i)
            add("reshard: " + std::to_string(i) + of, i);
        const auto models = options.programOf ? modelCases(options.devices) : std::vector<ModelCase> {};
        for (std::size_t i = 0; i < models.size(); ++i)
            add("model: " + models[i].name + of, i);
    }
    return out;
}

CaseResult runCase(const Case& which, const Backend& backend, const Options& options)
{
    Trial trial(backend, which, options);
    try {
        std::set<CollectiveKind> seen;
        if (which.name.starts_with("op: "))
            tryOp(trial, knownOps().at(which.number));
        else if (which.name.starts_with("reshard: "))
            tryReshards(trial, true, seen);
        else
            tryModel(trial, modelCases(options.devices).at(which.number), options);
        trial.result.passed = true;
    } catch (const std::exception& e) {
        trial.result.message = e.what();
    }
    return trial.result;
}

Summary runAll(const Backend& backend, const Options& options, const std::function<void(const Case&, const CaseResult&)>& tell)
{
    Summary summary;
    for (const Case& which : casesFor(backend, options)) {
        const CaseResult result = runCase(which, backend, options);
        (result.passed ? summary.passed : summary.failed) += 1;
        summary.programs += result.programs;
        if (tell)
            tell(which, result);
    }
    return summary;
}

std::set<CollectiveKind> reshardKinds(const Options& options)
{
    std::set<CollectiveKind> seen;
    const Backend none {};
    for (std::size_t i = 0; i < kReshardCases; ++i) {
        const Case which { "reshard: " + std::to_string(i) + ", f32", DType::F32, i };
        Trial trial(none, which, options);
        tryReshards(trial, false, seen);
    }
    return seen;
}

} // namespace shardboard::conformance
