// SPDX-License-Identifier: Apache-2.0
#include "model/design/presets/presetweights.h"

#include "model/design/presets/looseweights.h"
#include "model/design/presets/presetaxes.h"
#include "model/families/buildgraph.h"
#include "model/ops/opdefinition.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace shardboard {

namespace {

/// Logical names of the dims that tensor parallelism cuts.
bool isTensorDim(const std::string& logical)
{
    return contains({ "q_heads", "kv_heads", "heads", "mlp", "mlp_moe", "activation_mlp", "vocab" }, logical);
}

class PresetBuilder {
public:
    PresetBuilder(const PresetFacts& facts, const Mesh& mesh, const ModelSpec& model, const Workload& workload)
        : m_facts(facts)
        , m_mesh(mesh)
        , m_model(model)
        , m_workload(workload)
        , m_roles(axisRoles(mesh))
    {
    }

    Result<Preset> build()
    {
        if (auto status = choose(); !status.ok())
            return status.error();
        if (!m_model.hasGraph()) {
            looseWeights();
            return std::move(m_preset);
        }
        Workload forward = m_workload;
        forward.logits = Logits::All; // what is said of a dim that is not there does nothing
        forward.kind = WorkloadKind::Prefill;
        forward.microBatches = 1;
        auto graph = buildGraph(m_model, forward);
        if (!graph.ok())
            return graph.error();
        m_graph = std::move(graph).value();
        batch();
        m_preset.strategies.push_back({ "*", {}, std::nullopt });
        for (const std::string& input : inputs())
            m_preset.strategies.push_back({ input, inputStrategy(), std::nullopt });
        std::set<std::string> seen;
        for (const GraphTensor& tensor : m_graph.tensors)
            if (tensor.spec.role == TensorRole::Weight && seen.insert(tensor.spec.name).second)
                weight(tensor.spec);
        if (auto status = furtherTokens(seen); !status.ok())
            return status.error();
        if (!m_model.looseWeights.empty())
            besideTheGraph();
        pins();
        if (m_model.hasParts() && m_mesh.groupSize(m_tensor) > 1)
            note(
                m_model.block.partsApart
                    ? "projections that are one weight in the checkpoint (queries, keys and values; gate and up; those of a state) "
                      "are cut part by part, as Megatron and vLLM cut them: each part is a weight here, named like "
                        + partName()
                    : "projections that are one weight in the checkpoint (queries, keys and values; gate and up; those of a state) "
                      "are cut as one, and what they give is gathered: Megatron and vLLM cut each part by itself and do not "
                      "gather");
        for (const int axis : unused())
            note("mesh axis '" + m_mesh.axis(axis).name + "' is not used by " + m_facts.name + ": its devices all do the same");
        return std::move(m_preset);
    }

private:
    /// Modules that predict further tokens, which training alone has: what they have beside the weights of a layer. Their
    /// projection is cut by what it gives (Megatron-Core, multi_token_prediction.py: a ColumnParallelLinear whose result is
    /// gathered).
    Status furtherTokens(std::set<std::string>& seen)
    {
        if (effective(m_workload).predicted == 0)
            return done();
        auto graph = buildGraph(m_model, m_workload);
        if (!graph.ok())
            return graph.error();
        for (const GraphTensor& tensor : graph.value().tensors) {
            if (tensor.spec.role != TensorRole::Weight)
                continue;
            TensorSpec spec = tensor.spec;
            for (std::int64_t i = 0; i < m_workload.predicted; ++i) {
                const std::string own = ".layers." + std::to_string(m_model.layers + i) + ".";
                if (const auto at = spec.name.find(own); at != std::string::npos)
                    spec.name.replace(at, own.size(), ".layers.*.");
            }
            if (seen.insert(spec.name).second)
                weight(spec);
        }
        return done();
    }

    /// Of the first weight that is a part of one in the checkpoint.
    std::string partName() const
    {
        const auto found = std::ranges::find_if(m_graph.tensors, [](const GraphTensor& tensor) { return tensor.part.present(); });
        return found == m_graph.tensors.end() ? std::string() : found->spec.name;
    }

    const std::string& nameOf(int axis) const { return m_mesh.axis(axis).name; }

    std::vector<std::string> namesOf(const std::vector<int>& axes) const
    {
        std::vector<std::string> names;
        for (const int axis : axes)
            names.push_back(nameOf(axis));
        return names;
    }

    void note(std::string text)
    {
        if (!contains(m_preset.notes, text))
            m_preset.notes.push_back(std::move(text));
    }

    Error lacks(AxisRole role, const std::string& what) const
    {
        return Result<int>(inputError("--mesh", "preset " + m_facts.name + " finds no mesh axis " + what + " in " + m_mesh.text(),
                                      "name one " + roleNames(role)))
            .error();
    }

    /// Gives every wish its mesh axes.
    Status choose()
    {
        if (m_facts.tensor != Wish::No)
            m_tensor = m_roles.tensor;
        if (m_facts.tensor == Wish::Needs && m_tensor.empty()) {
            if (m_roles.unknown.empty())
                return lacks(AxisRole::Tensor, "to cut weights over");
            m_tensor = { m_roles.unknown.back() };
        }
        if (m_facts.experts != Wish::No)
            m_expert = m_roles.expert;
        if (!m_model.hasGraph() && (m_facts.chunks > 0 || m_facts.sequence || m_facts.context == Wish::Needs))
            return inputError("--preset",
                              "preset " + m_facts.name + " lays out activations, and the operations of " + m_model.name
                                  + " are not known",
                              "use replicate, megatron-tp, fsdp, hsdp, tp+fsdp, ep or ep+tp");
        if (m_facts.experts == Wish::Needs && !m_model.moe.present() && m_model.hasGraph())
            return inputError("--preset", "preset " + m_facts.name + " cuts experts, and " + m_model.name + " has none",
                              m_facts.combined ? "leave the part ep out"
                                               : "use megatron-tp, fsdp or another preset for dense models");
        if (m_facts.experts == Wish::Needs && m_expert.empty())
            return lacks(AxisRole::Expert, "for experts");
        if (m_facts.experts == Wish::Needs && m_model.hasGraph() && m_model.moe.experts < m_mesh.groupSize(m_expert))
            return inputError("--mesh",
                              "preset " + m_facts.name + " cuts " + std::to_string(m_model.moe.experts) + " experts over "
                                  + std::to_string(m_mesh.groupSize(m_expert)) + " devices: some would have none",
                              "give the expert axis at most as many devices as there are experts");
        if (m_facts.experts == Wish::Needs && m_model.hasGraph() && m_model.moe.experts % m_mesh.groupSize(m_expert) != 0)
            note(std::to_string(m_model.moe.experts) + " experts do not divide by " + std::to_string(m_mesh.groupSize(m_expert))
                 + " devices: some hold one more");
        if (m_facts.context != Wish::No)
            m_context = m_roles.context;
        if (m_facts.context == Wish::Needs && m_context.empty())
            return lacks(AxisRole::Context, "for the sequence");
        if (m_facts.context == Wish::Needs && m_workload.kind == WorkloadKind::Decode)
            return inputError("--preset", "preset " + m_facts.name + " cuts the sequence, and decoding has one new token",
                              "use it for prefill or training");
        const std::int64_t context = m_mesh.groupSize(m_context);
        if (context > 1 && m_workload.sequence % context != 0)
            return inputError("--sequence",
                              "sequence " + std::to_string(m_workload.sequence) + " does not divide by the "
                                  + std::to_string(context) + " devices of the context axis",
                              "use a multiple");
        if (m_facts.form == ContextForm::Ulysses) {
            const std::int64_t all = context * m_mesh.groupSize(m_tensor);
            if (m_model.heads % all != 0 || (m_model.kvHeads % all != 0 && !m_model.mla.present()))
                return inputError("--preset",
                                  "preset " + m_facts.name + " cuts heads over the context axis, and "
                                      + std::to_string(m_model.heads) + " heads with " + std::to_string(m_model.kvHeads)
                                      + " KV heads do not divide by " + std::to_string(all),
                                  "use cp-ring, or a context axis that divides the KV heads");
        }
        if (auto status = stages(); !status.ok())
            return status;
        m_data = m_roles.data;
        if (m_facts.fsdp != Wish::No) {
            m_fsdp = m_roles.fsdp;
            // Without an axis of that name all data axes shard the weights.
            if (m_fsdp.empty() && m_facts.fsdp == Wish::Needs && !m_facts.replicas)
                m_fsdp = std::exchange(m_data, {});
            const bool others = (m_facts.shardsExperts && !m_expert.empty()) || m_facts.shardsContext;
            if (m_fsdp.empty() && m_facts.fsdp == Wish::Needs && !others)
                return lacks(AxisRole::Fsdp, "to shard weights over");
            if (m_facts.replicas && m_data.empty())
                return inputError("--mesh",
                                  "preset " + m_facts.name
                                      + " needs two mesh axes, one for the shards and one for the replicas, and " + m_mesh.text()
                                      + " has no second",
                                  "name them fsdp and data, or use fsdp");
        } else {
            m_data.insert(m_data.end(), m_roles.fsdp.begin(), m_roles.fsdp.end());
            std::ranges::sort(m_data);
        }
        if (m_facts.data == Wish::Needs && m_data.empty())
            return lacks(AxisRole::Data, "for data parallel");
        spread();
        if (m_facts.sequence && m_workload.kind != WorkloadKind::Decode
            && m_workload.sequence % (m_mesh.groupSize(m_tensor) * context) != 0)
            return inputError("--sequence",
                              "sequence " + std::to_string(m_workload.sequence) + " does not divide by the "
                                  + std::to_string(m_mesh.groupSize(m_tensor)) + " devices of the tensor axis",
                              "use a multiple");
        return done();
    }

    /// What else cuts weights beside the fsdp axes, and experts beside the expert axes.
    void spread()
    {
        m_shards = m_expertShards = m_fsdp;
        if (m_facts.shardsContext)
            for (auto* axes : { &m_shards, &m_expertShards })
                axes->insert(axes->end(), m_context.begin(), m_context.end());
        if (m_facts.shardsExperts)
            m_shards.insert(m_shards.end(), m_expert.begin(), m_expert.end());
        std::ranges::sort(m_shards);
        std::ranges::sort(m_expertShards);
        m_expertHolders = m_expert;
        if (!m_facts.spreadsExperts)
            return;
        m_expertHolders.insert(m_expertHolders.end(), m_tensor.begin(), m_tensor.end());
        if (m_model.moe.experts % m_mesh.groupSize(m_expertHolders) == 0)
            return;
        note(std::to_string(m_model.moe.experts) + " experts do not divide by the "
             + std::to_string(m_mesh.groupSize(m_expertHolders))
             + " devices of the expert and tensor axes: those of a tensor axis hold the same; or add etp");
        m_expertHolders = m_expert;
    }

    Status stages()
    {
        if (m_facts.chunks == 0)
            return done();
        if (m_roles.stage.empty())
            return lacks(AxisRole::Stage, "for stages");
        if (m_model.encoder.present())
            return inputError("--preset",
                              "preset " + m_facts.name + " cuts layers into stages, and " + m_model.name
                                  + " has those of an encoder and of a decoder, which cannot be cut together yet",
                              "use a preset without a pipeline");
        const MeshAxis& axis = m_mesh.axis(m_roles.stage.front());
        if (m_model.layers < axis.size * m_facts.chunks)
            return inputError("--mesh",
                              "preset " + m_facts.name + " cannot cut " + std::to_string(m_model.layers) + " layers into "
                                  + std::to_string(axis.size * m_facts.chunks) + " runs",
                              "use a smaller mesh axis " + axis.name);
        if (m_facts.chunks > 1 && m_workload.microBatches % axis.size != 0)
            return inputError("--micro-batches",
                              "the interleaved schedule needs micro-batches in multiples of its " + std::to_string(axis.size)
                                  + " stages, and there are " + std::to_string(m_workload.microBatches),
                              m_workload.kind == WorkloadKind::Train
                                  ? "use --micro-batches " + std::to_string(axis.size) + ", or pp-1f1b"
                                  : "use pp-1f1b: only training has micro-batches");
        if (m_model.layers % (axis.size * m_facts.chunks) != 0)
            note(std::to_string(m_model.layers) + " layers do not divide by " + std::to_string(axis.size * m_facts.chunks)
                 + " runs: some stages have one more, and the others wait for them");
        if (m_workload.microBatches < axis.size)
            note(
                (m_workload.microBatches == 1 ? "1 micro-batch is" : std::to_string(m_workload.microBatches) + " micro-batches are")
                + " fewer than the " + std::to_string(axis.size) + " stages: most of the time a stage waits; use more");
        m_preset.pipeline = { axis.name, m_facts.chunks };
        m_stage = m_roles.stage.front();
        return done();
    }

    std::vector<std::string> inputs() const
    {
        std::vector<std::string> names { inputName(m_model) };
        if (m_workload.kind == WorkloadKind::Train)
            names.push_back("targets");
        return names;
    }

    /// The batch is cut over all axes whose devices have sequences of their own, in mesh order, as far as it divides.
    void batch()
    {
        std::vector<int> wanted = m_data;
        wanted.insert(wanted.end(), m_fsdp.begin(), m_fsdp.end());
        wanted.insert(wanted.end(), m_expert.begin(), m_expert.end());
        std::ranges::sort(wanted);
        const std::int64_t size = m_workload.batch / m_workload.microBatches;
        std::int64_t parts = 1;
        for (const int axis : wanted) {
            const std::int64_t devices = m_mesh.axis(axis).size;
            if (size % (parts * devices) != 0) {
                note("batch " + std::to_string(size) + " does not divide over mesh axis '" + nameOf(axis) + "' of size "
                     + std::to_string(devices)
                     + (parts > 1 ? " after the " + std::to_string(parts) + " parts of the others" : std::string())
                     + ": its devices all compute the same; use a multiple");
                continue;
            }
            parts *= devices;
            m_batch.push_back(axis);
        }
    }

    static std::string tuple(const std::vector<std::string>& names)
    {
        if (names.empty())
            return "None";
        std::vector<std::string> quoted;
        for (const std::string& name : names)
            quoted.push_back("'" + name + "'");
        return names.size() == 1 ? quoted.front() : "(" + joined(quoted) + ")";
    }

    static Strategy spec(std::vector<std::vector<std::string>> dims)
    {
        while (!dims.empty() && dims.back().empty())
            dims.pop_back();
        Strategy strategy;
        if (dims.empty())
            return strategy; // replicate
        std::vector<std::string> entries;
        for (const auto& dim : dims)
            entries.push_back(tuple(dim));
        strategy.kind = StrategyKind::Spec;
        strategy.spec = "P(" + joined(entries) + ")";
        return strategy;
    }

    Strategy inputStrategy() const { return spec({ namesOf(m_batch), namesOf(m_context) }); }

    /// Of a model whose operations are not known: what is recognized is cut, fully sharded is all.
    void looseWeights()
    {
        const RecognizedWeights found = recognizedWeights(m_model);
        m_preset.strategies.push_back({ "*", {}, std::nullopt });
        for (const TensorSpec& tensor : found.weights)
            weight(tensor);
        const std::size_t unknown = m_model.looseWeights.size() - found.known;
        if (unknown > 0)
            note(std::to_string(unknown) + " weights of unknown shape stay whole on every device");
        if (found.recognized < found.known)
            note(std::to_string(found.recognized) + " of " + std::to_string(found.known)
                 + " weights were recognized by names and shapes; others are cut only where they are fully sharded"
                 + (found.examples.empty() ? std::string() : ": " + joined(found.examples)));
    }

    /// Of other parts of the model, a vision tower say, what is recognized is cut as the rest is, where it divides.
    void besideTheGraph()
    {
        const RecognizedWeights found = recognizedWeights(m_model);
        for (const TensorSpec& tensor : found.weights)
            weight(tensor);
        note(std::to_string(m_model.looseWeights.size())
             + " weights of other parts of the model are laid out without operations: " + std::to_string(found.recognized)
             + " were recognized by names and shapes; they count in memory, and not in the time");
    }

    /// Cuts a weight: the dims of heads, MLP width and vocabulary over the tensor axes, experts over the expert axes, and the
    /// first dim that is left over the fsdp axes.
    void weight(const TensorSpec& tensor)
    {
        std::vector<std::vector<int>> dims(tensor.shape.size());
        const bool isExpert = !tensor.logicalNames.empty() && tensor.logicalNames.front() == "exp";
        bool wholeUnits = false;
        for (std::size_t dim = 0; dim < dims.size() && dim < tensor.logicalNames.size(); ++dim) {
            const std::string& logical = tensor.logicalNames[dim];
            if (logical == "exp")
                dims[dim] = m_expertHolders;
            else if (isTensorDim(logical) && !m_tensor.empty() && !(isExpert && m_facts.spreadsExperts)
                     && fits(tensor, dim, wholeUnits))
                cut(tensor, dims, dim);
            m_expertsCut = m_expertsCut || (isExpert && logical != "exp" && !dims[dim].empty());
        }
        if (tensor.name.ends_with("eh_proj.weight") && !m_tensor.empty() && tensor.shape[0] % m_mesh.groupSize(m_tensor) == 0)
            dims[0] = m_tensor;
        // The router chooses on every device, so that every device needs all of it.
        const bool isRouter = tensor.name.find("router") != std::string::npos || tensor.name.ends_with("mlp.gate.weight")
            || tensor.name.ends_with("block_sparse_moe.gate.weight") || tensor.name.ends_with("e_score_correction_bias");
        const bool isDealtOut = isExpert && !m_expert.empty();
        if (!(isRouter && m_facts.experts != Wish::No) && !(isDealtOut && !m_facts.shardsExperts))
            shardFully(tensor, dims, isDealtOut ? m_expertShards : m_shards);
        Strategy strategy;
        std::vector<std::vector<std::string>> names;
        for (const auto& axes : dims)
            names.push_back(namesOf(axes));
        strategy = spec(names);
        if (strategy.kind == StrategyKind::Replicate)
            return; // as the first entry says
        StrategyEntry entry { tensor.name, strategy, std::nullopt };
        const auto uneven = [&](std::size_t dim) { return tensor.shape[dim] % m_mesh.groupSize(dims[dim]) != 0; };
        for (std::size_t dim = 0; dim < dims.size(); ++dim)
            if (uneven(dim)) // some devices hold one more; a spec alone would have to divide
                entry.cut = CutRule::Balanced;
        if (wholeUnits)
            entry.cut = CutRule::GrainBalanced;
        m_preset.strategies.push_back(std::move(entry));
    }

    void cut(const TensorSpec& tensor, std::vector<std::vector<int>>& dims, std::size_t dim)
    {
        dims[dim] = m_tensor;
        const std::string& label = tensor.dimLabels[dim]; // `out (intermediate)`: activations call it `intermediate`
        const auto open = label.find('(');
        if (open == std::string::npos || !label.ends_with(")")) {
            m_cutTables.insert(label);
            return;
        }
        const std::string inner = label.substr(open + 1, label.size() - open - 2);
        m_cutLabels.insert(inner);
        if (const auto times = inner.find(" x "); times != std::string::npos)
            m_cutLabels.insert(inner.substr(0, times)); // heads, once they are split
    }

    /// Whether a dim can be cut over the tensor axes: heads in whole heads, KV heads only where they divide.
    bool fits(const TensorSpec& tensor, std::size_t dim, bool& wholeUnits)
    {
        const std::int64_t devices = m_mesh.groupSize(m_tensor);
        const std::int64_t unit = dim < tensor.grains.size() ? tensor.grains[dim] : 1;
        const std::int64_t units = tensor.shape[dim] / std::max<std::int64_t>(1, unit);
        const std::string over = " by mesh axis " + quoted(m_tensor) + " of size " + std::to_string(devices);
        if (units % devices == 0)
            return true;
        if (unit <= 1) {
            if (units >= devices)
                return true;
            note(shortName(tensor.name) + " is narrower than the axis: it stays whole");
            return false;
        }
        const std::string& logical = tensor.logicalNames[dim];
        if (logical == "kv_heads" || units < devices || m_model.block.fusedQkv) {
            note(std::to_string(units) + (logical == "kv_heads" ? " KV heads" : " heads or groups of heads") + " do not divide"
                 + over + ": " + shortName(tensor.name) + " stays whole on every device");
            return false;
        }
        note(std::to_string(units) + " heads do not divide" + over + ": " + shortName(tensor.name)
             + " is cut in whole heads, so that some devices hold one more");
        wholeUnits = true;
        return true;
    }

    std::string quoted(const std::vector<int>& axes) const
    {
        std::vector<std::string> names;
        for (const int axis : axes)
            names.push_back("'" + nameOf(axis) + "'");
        return joined(names, " and ");
    }

    static std::string shortName(const std::string& name)
    {
        std::string out = name;
        for (const char* end : { ".weight", ".bias" })
            if (out.ends_with(end))
                out.resize(out.size() - std::string_view(end).size());
        const auto dot = out.rfind('.');
        return dot == std::string::npos ? out : out.substr(dot + 1);
    }

    /// The dim that is not cut yet and has room for the axes: one that divides before one that does not, earlier before later.
    void shardFully(const TensorSpec& tensor, std::vector<std::vector<int>>& dims, const std::vector<int>& axes)
    {
        if (axes.empty())
            return;
        const std::int64_t devices = m_mesh.groupSize(axes);
        std::optional<std::size_t> best;
        for (std::size_t dim = 0; dim < dims.size(); ++dim)
            if (dims[dim].empty() && tensor.shape[dim] >= devices
                && (!best || (tensor.shape[*best] % devices != 0 && tensor.shape[dim] % devices == 0)))
                best = dim;
        if (best) {
            dims[*best] = axes;
            return;
        }
        // A vector that is cut already: further, where it divides.
        for (std::size_t dim = 0; dim < dims.size(); ++dim)
            if (tensor.shape[dim] % (m_mesh.groupSize(dims[dim]) * devices) == 0) {
                dims[dim].insert(dims[dim].end(), axes.begin(), axes.end());
                return;
            }
        note(shortName(tensor.name) + " has too few elements for " + std::to_string(devices) + " devices: it stays as it is");
    }

    Pin pin(std::string match) const
    {
        Pin out;
        out.match = std::move(match);
        out.source = "preset " + m_facts.name;
        return out;
    }

    /// Pins the dim with a label of all activations that match.
    void pinDim(const std::string& match, const std::string& label, const std::vector<int>& axes)
    {
        if (axes.empty())
            return;
        Pin out = pin(match);
        out.dims.push_back({ label, namesOf(axes) });
        m_preset.pins.push_back(std::move(out));
    }

    /// Pins the row that operations that match take over a mesh axis.
    void pinRow(const std::string& match, int axis, std::string row)
    {
        Pin out = pin(match);
        out.axis = nameOf(axis);
        out.row = std::move(row);
        m_preset.pins.push_back(std::move(out));
    }

    void pins()
    {
        if (!m_fsdp.empty() || m_facts.experts != Wish::No || m_facts.context != Wish::No || m_facts.sequence || m_facts.combined)
            pinDim("*", "batch", m_batch);
        pinDim("*", "sequence", m_context);
        if (!m_expert.empty() && !m_facts.spreadsExperts)
            expertPins();
        if (m_facts.sequence && m_workload.kind != WorkloadKind::Decode)
            sequencePins();
        if (!m_expert.empty() && m_facts.spreadsExperts) // whose tensor axes cut other labels elsewhere
            expertPins();
        if (m_facts.form != ContextForm::None)
            contextPins();
    }

    /// What the experts work on lies with the experts; what goes to them and comes back lies with the tokens.
    void expertPins()
    {
        const bool spread = m_expertHolders.size() > m_expert.size();
        if (m_facts.spreadsExperts) { // each device of a tensor axis chooses experts for its part of the sequence
            for (const char* match : { "router logits*", "gates", "dispatched", "routed out", "grad of * from *dispatch" })
                pinDim(match, "sequence", m_tensor);
            for (const int axis : m_tensor)
                pinRow("*add_shared", axis, "S1 S1 -> S1");
        }
        for (const char* match : { "expert *", "grad of expert * from *", "grad of expert *, sum of *", "grad of dispatched",
                                   "grad of dispatched from *", "grad of dispatched, sum of *" }) {
            pinDim(match, "experts", m_expertHolders);
            if (m_facts.spreadsExperts && !spread)
                pinDim(match, "sequence", m_tensor);
        }
        if (spread)
            pinDim("grad of *.experts.*", "experts", m_expertHolders);
        pinDim("grad of expert out* from *combine", "batch", m_expert);
        if (m_facts.spreadsExperts)
            pinDim("grad of expert out* from *combine", "sequence", m_tensor);
    }

    /// Between the cut parts (norms, sums, the residual stream) the sequence is cut; the cut parts keep what they cut, whatever
    /// would be cheaper to move, and so do the gradients of their weights.
    void sequencePins()
    {
        std::set<std::string> seen;
        std::set<TensorId> streams; // sums of other values (of routed and shared experts) stay partial until they meet one
        std::vector<int> cutting = m_context;
        cutting.insert(cutting.end(), m_tensor.begin(), m_tensor.end());
        for (const Segment& segment : m_graph.segments)
            streams.insert(segment.carryIn);
        for (const Op& op : m_graph.ops) {
            const TensorSpec& result = m_graph.tensor(op.result);
            const bool residual = op.kind == OpKind::Add
                && std::ranges::any_of(op.operands, [&](TensorId operand) { return streams.contains(operand); });
            if (residual)
                streams.insert(op.result);
            const OpDefinition& definition = definitionOf(op.kind);
            const bool between = definition.between || residual || addsBias(m_graph, op);
            const bool isStream = result.dimLabels == std::vector<std::string> { "batch", "sequence", "hidden" };
            if (between && isStream && seen.insert(result.name).second)
                pinDim(result.name, "sequence", cutting);
            // Gathered tokens' gradients are less than the partial sums of a table.
            const int table = definition.lookedUp;
            if (table >= 0 && m_cutTables.contains(m_graph.tensor(op.operands[static_cast<std::size_t>(table)]).dimLabels.front()))
                for (const int axis : m_tensor)
                    pinRow(op.name + ".grad_w", axis, "R R -> S0");
        }
        gatherPins();
        for (const std::string& label : m_cutLabels) {
            pinDim("*", label, m_tensor);
            for (const char* side : { "out (", "in (" })
                pinDim("grad of *.weight from *", side + label + ")", m_tensor);
        }
    }

    /// Where each expert is cut, the tokens are gathered before the router reads them, once for all that reads them: what goes
    /// to the experts, and its gradient, is larger by as many as a token chooses. So they are before the projections to latent
    /// vectors, which every device has whole: one gather in place of one for each latent vector and their gradients.
    void gatherPins()
    {
        std::set<std::string> seen;
        for (const Op& op : m_graph.ops) {
            const std::string& result = m_graph.tensor(op.result).name;
            const OpDefinition& definition = definitionOf(op.kind);
            const bool projects = definition.gemm != nullptr;
            const bool router = projects && result.starts_with("router logits");
            const bool latent = projects && (result == "q latent" || result == "latent and rope key raw");
            const bool gathers = latent || (m_expertsCut && (definition.dispatches || router));
            if (!gathers || !seen.insert(op.name).second)
                continue;
            for (const int axis : m_tensor)
                for (const char* again : { "", ".again" })
                    pinRow(op.name + again, axis, "R R -> R");
        }
        if (!m_expertsCut)
            return;
        Pin out = pin("grad of expert out* from *combine");
        out.whole = namesOf(m_tensor);
        m_preset.pins.push_back(std::move(out));
    }

    void contextPins()
    {
        const std::string one = m_model.attentionSinks ? " R -> " : " -> ";
        const std::string heads = m_model.attentionSinks ? " S0 -> " : " -> ";
        for (const int axis : m_context) {
            const auto add = [&](const char* match, const std::string& row) { pinRow(match, axis, row); };
            const auto addAll = [&](const std::string& row, const std::string& q, const std::string& kv, const std::string& sinks) {
                for (const char* match : { "*.attention.grad_k", "*.attention.grad_v" })
                    add(match, row + kv);
                add("*.attention.grad_q", row + q);
                if (m_model.attentionSinks)
                    add("*.attention.grad_sinks", row + sinks);
            };
            switch (m_facts.form) {
            case ContextForm::Ring:
                add("*.attention", "S1 S1 S1" + one + "S1");
                addAll("S1 S1 S1 S1" + one, "S1", "S1", "P");
                break;
            case ContextForm::AllGather:
                add("*.attention", "S1 R R" + one + "S1");
                addAll("S1 S1 R R" + one, "S1", "P", "P");
                break;
            default:
                add("*.attention", "S2 S2 S2" + heads + "S2");
                addAll("S2 S2 S2 S2" + heads, "S2", "S2", "S0");
                break;
            }
        }
    }

    std::vector<int> unused() const
    {
        std::vector<int> out;
        for (int axis = 0; axis < m_mesh.axisCount(); ++axis) {
            bool used = m_mesh.axis(axis).size == 1 || axis == m_stage;
            for (const auto* list : { &m_data, &m_fsdp, &m_tensor, &m_expert, &m_context })
                used = used || std::find(list->begin(), list->end(), axis) != list->end();
            if (!used)
                out.push_back(axis);
        }
        return out;
    }

    const PresetFacts& m_facts;
    const Mesh& m_mesh;
    const ModelSpec& m_model;
    const Workload& m_workload;
    AxisRoles m_roles;
    std::vector<int> m_data, m_fsdp, m_tensor, m_expert, m_context, m_batch;
    std::vector<int> m_shards, m_expertShards; ///< over which weights and experts are cut further
    std::vector<int> m_expertHolders; ///< over which experts are dealt out
    Graph m_graph; ///< of the forward pass
    int m_stage = -1;
    bool m_expertsCut = false; ///< each expert by the tensor axes
    std::set<std::string> m_cutTables; ///< labels of tables' dims that the tensor axes cut
    std::set<std::string> m_cutLabels; ///< labels of activations' dims that the tensor axes cut
    Preset m_preset;
};

} // namespace

Result<Preset> presetFromFacts(const PresetFacts& facts, const Mesh& mesh, const ModelSpec& model, const Workload& workload)
{
    return PresetBuilder(facts, mesh, model, workload).build();
}

} // namespace shardboard
