// SPDX-License-Identifier: Apache-2.0
// The optimizer's rule, what is offloaded to the host, modules that predict further tokens, and collectives that go in one call:
// against formulas.
#include "model/design/presets/presets.h"
#include "model/hardware/hostlink.h"
#include "model/ops/opdefinition.h"
#include "model/plan/memory/hosttransfers.h"
#include "model/plan/memory/timeline.h"
#include "model/plan/time/compiledcost.h"
#include "model/plan/time/reprice.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <map>
#include <set>
#include <string>

using namespace shardboard;

namespace {

constexpr std::int64_t kHidden = 1024;
constexpr std::int64_t kMlp = 4096;
constexpr std::int64_t kVocabulary = 4096;
constexpr std::int64_t kLayers = 4;
/// Of a layer: q, k, v, o of 16 heads over 8 KV heads of 64, gate, up, down, two norms.
constexpr std::int64_t kMatrices = kHidden * kHidden * 2 + 2 * kHidden * 512 + 3 * kHidden * kMlp;
constexpr std::int64_t kLayer = kMatrices + 2 * kHidden;

Design trained(const char* mesh, const char* preset)
{
    return designOn(mesh, denseModel(kVocabulary, kHidden, kMlp, kLayers, 16, 8, 64),
                    { WorkloadKind::Train, 16, 2048, DType::BF16 }, preset);
}

std::int64_t hostBytes(const Plan& plan, Phase phase, std::int64_t PlannedSegment::HostTransfer::*way)
{
    std::int64_t sum = 0;
    for (const PlannedSegment& segment : plan.segments)
        sum += segment.phase == phase ? segment.host.count * (segment.host.*way) : 0;
    return sum;
}

std::int64_t callsOf(const Plan& plan)
{
    std::int64_t calls = 0;
    for (const Collective& collective : plan.collectives)
        calls += collective.isCall() ? collective.count : 0;
    return calls;
}

} // namespace

class TestStepsAndHosts : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void statesOfRules()
    {
        const std::int64_t all = kLayers * kLayer + kHidden + 2 * kVocabulary * kHidden;
        const auto states = [](Optimizer rule) {
            Design design = trained("model=1", "replicate");
            design.workload.rule = rule;
            return evaluated(design)->plan.memory.optimizer;
        };
        QCOMPARE(states(Optimizer::Adam), 8 * all);
        QCOMPARE(states(Optimizer::Sgd), 4 * all);
        QCOMPARE(states(Optimizer::Muon), 8 * all - 4 * kLayers * kMatrices);
    }

    /// Five iterations of 4 m m n + 2 m m m on every matrix of a layer.
    void newtonSchulz()
    {
        Design design = trained("fsdp=8", "fsdp");
        design.workload.rule = Optimizer::Muon;
        const auto evaluation = evaluated(design);
        const auto iterated = [](double m, double n) { return 5 * (4 * m * m * n + 2 * m * m * m); };
        const double layer = 2 * iterated(1024, 1024) + 2 * iterated(512, 1024) + 3 * iterated(1024, 4096);
        double flops = 0;
        std::int64_t gathered = 0;
        for (const PlannedSegment& segment : evaluation->plan.segments)
            for (const PlannedOp& op : segment.ops)
                if (evaluation->graph.op(op.op).kind == OpKind::MuonStep) {
                    flops += static_cast<double>(op.count) * op.work.flops;
                    QCOMPARE(op.work.flops, 2 * op.work.gemm.b * op.work.gemm.m * op.work.gemm.n * op.work.gemm.k);
                    for (const CollectiveId id : op.operands[1].collectives) {
                        QCOMPARE(evaluation->plan.collective(id).kind, CollectiveKind::AllGather);
                        gathered += evaluation->plan.collective(id).count * evaluation->plan.collective(id).bytes;
                    }
                }
        QCOMPARE(flops, 4 * layer);
        QCOMPARE(gathered, kLayers * kMatrices * 2); // in bf16
        // Adam's step gathers nothing, and the shard of the result is the weight's.
        design.workload.rule = Optimizer::Adam;
        QVERIFY(evaluated(design)->plan.collectiveBytes() < evaluation->plan.collectiveBytes());
    }

    void offloadedStates()
    {
        Design design = trained("fsdp=8", "fsdp");
        const MemoryByCause before = evaluated(design)->plan.memory;
        design.workload.offload.what = OffloadSet().with(OffloadKind::Optimizer);
        const auto evaluation = evaluated(design);
        const Plan& plan = evaluation->plan;
        QVERIFY(before.optimizer > 0 && before.masterWeights > 0);
        QCOMPARE(plan.memory.optimizer, 0);
        QCOMPARE(plan.memory.masterWeights, 0);
        const std::int64_t parameters = evaluation->parameters / 8;
        QCOMPARE(hostBytes(plan, Phase::Update, &PlannedSegment::HostTransfer::toHost), 2 * parameters); // gradients in bf16
        QCOMPARE(hostBytes(plan, Phase::Update, &PlannedSegment::HostTransfer::toDevice), 2 * parameters);
        QCOMPARE(hostBytes(plan, Phase::Forward, &PlannedSegment::HostTransfer::toDevice), 0);
        // MaxText's steps are made on the device: 12 bytes of states come, and go again. Its weights are f32, so that there is no
        // copy.
        design.memory.choose(Framework::MaxText);
        QCOMPARE(hostBytes(evaluated(design)->plan, Phase::Update, &PlannedSegment::HostTransfer::toHost), 8 * parameters);
    }

    void offloadedWeights()
    {
        Design design = trained("fsdp=8", "fsdp");
        design.workload.microBatches = 2;
        const auto before = evaluated(design);
        design.workload.offload.what = OffloadSet().with(OffloadKind::Weights);
        const auto evaluation = evaluated(design);
        QCOMPARE(before->plan.memory.weights, 2 * evaluation->parameters / 8);
        QCOMPARE(evaluation->plan.memory.weights, 0);
        QVERIFY(evaluation->plan.memory.gathered > before->plan.memory.gathered);
        QCOMPARE(hostBytes(evaluation->plan, Phase::Forward, &PlannedSegment::HostTransfer::toDevice),
                 2 * 2 * evaluation->parameters / 8);
        QCOMPARE(hostBytes(evaluation->plan, Phase::Update, &PlannedSegment::HostTransfer::toHost), 2 * evaluation->parameters / 8);
    }

    /// What layers keep leaves the device, of the first layers or of all; the peak falls by so much, but for what is under way.
    void offloadedActivations()
    {
        Design design = trained("data=8", "replicate");
        const auto before = evaluated(design);
        const auto kept = [](const Plan& plan) { return plan.memory.kept; };
        QVERIFY(kept(before->plan) > 0);
        design.workload.offload.what = OffloadSet().with(OffloadKind::Activations);
        const auto all = evaluated(design);
        QCOMPARE(kept(all->plan), 0);
        const std::int64_t moved = hostBytes(all->plan, Phase::Forward, &PlannedSegment::HostTransfer::toHost);
        QCOMPARE(moved, hostBytes(all->plan, Phase::Backward, &PlannedSegment::HostTransfer::toDevice));
        QVERIFY(all->plan.memory.peak < before->plan.memory.peak);
        design.workload.offload.layers = 1;
        const auto one = evaluated(design);
        QCOMPARE(hostBytes(one->plan, Phase::Forward, &PlannedSegment::HostTransfer::toHost), moved / kLayers);
        design.workload.overlap = Overlap::None.with(OverlapKind::Host);
        QVERIFY(evaluated(design)->plan.seconds() < one->plan.seconds());
    }

    /// In the host's memory: weights, states with the gradients of its step, and what all micro-batches in flight keep.
    void bytesOfTheHost()
    {
        Design design = trained("fsdp=8", "fsdp");
        const std::int64_t parameters = evaluated(design)->parameters / 8;
        const auto host = [&](const char* what) {
            design.workload.offload.what = *offloadFromName(what);
            return shardboard::hostBytes(evaluated(design)->plan);
        };
        QCOMPARE(host("none"), 0);
        QCOMPARE(host("optimizer"), (12 + 2) * parameters);
        QCOMPARE(host("weights"), 2 * parameters);
        const std::int64_t kept = host("activations");
        QCOMPARE(host("optimizer,weights,activations"), 16 * parameters + kept);
        QCOMPARE(kept, hostBytes(evaluated(design)->plan, Phase::Forward, &PlannedSegment::HostTransfer::toHost));
        design.memory.choose(Framework::MaxText); // whose devices step; weights are f32, and there is no copy
        QCOMPARE(host("optimizer"), 8 * parameters);
        // Of four stages the first one has four micro-batches in flight, of one layer each, and the last one has one.
        Design staged = trained("stage=4", "pp-1f1b");
        staged.workload.microBatches = 16;
        staged.workload.offload.what = *offloadFromName("activations");
        const auto evaluation = evaluated(staged);
        const auto& stages = evaluation->plan.pipeline->memory;
        QVERIFY(stages[3].host > 0);
        for (std::int64_t stage = 0; stage < 4; ++stage)
            QCOMPARE(stages[static_cast<std::size_t>(stage)].host, (4 - stage) * stages[3].host);
        QCOMPARE(shardboard::hostBytes(evaluation->plan), 4 * stages[3].host);
    }

    /// A module's weights are gathered while it works and once more backward, as a layer's are; what embedding and head have stays.
    void gathersOfFurtherTokens()
    {
        Design design = trained("fsdp=8", "fsdp");
        design.memory.choose(Framework::TorchTitan);
        design.workload.predicted = 2;
        QVERIFY(applyPreset(design, "fsdp").ok());
        constexpr std::int64_t ends = 2 * (2 * kVocabulary * kHidden + kHidden);
        constexpr std::int64_t module = 2 * (2 * kHidden + 2 * kHidden * kHidden + kLayer + kHidden);
        const auto evaluation = evaluated(design);
        std::map<std::string, std::set<std::int64_t>> gathered; // by the phase and the first word of the operation
        for (const MemoryMoment& moment : memoryTimeline(evaluation->graph, evaluation->plan).moments) {
            const PlannedSegment& segment = evaluation->plan.segment(moment.plannedSegment);
            if (segment.phase == Phase::Update || segment.name.find("head") == std::string::npos)
                continue;
            const std::string name = evaluation->graph.op(moment.op).name;
            const std::string part = name.starts_with("mtp1.") ? "1" : name.starts_with("mtp2.") ? "2" : "end";
            gathered[(segment.phase == Phase::Forward ? "forward " : "backward ") + part].insert(moment.bytes.gathered);
        }
        // One is gathered ahead; forward the first one comes first, backward the last.
        QVERIFY(gathered["forward 1"].contains(ends + 2 * module));
        QCOMPARE(*gathered["forward 2"].rbegin(), ends + module);
        QCOMPARE(*gathered["forward 2"].begin(), ends); // at its loss, by the head that all share
        QCOMPARE(*gathered["forward end"].begin(), ends);
        QVERIFY(gathered["backward 2"].contains(ends + 2 * module));
        QCOMPARE(*gathered["backward 2"].rbegin(), ends + 2 * module);
        QCOMPARE(*gathered["backward 1"].rbegin(), ends + module + 2 * kLayer); // the last layer is next
        std::int64_t moved = 0;
        for (const Collective& collective : evaluation->plan.collectives)
            if (evaluation->graph.tensor(collective.tensor).role == TensorRole::Weight)
                moved += collective.count * collective.bytes;
        QCOMPARE(moved, ends + 2 * 2 * module + 2 * 2 * kLayers * kLayer);
        design.memory.reshardAfterForward = false; // nothing is given back
        const auto kept = evaluated(design);
        QCOMPARE(kept->plan.memory.gathered, ends + 2 * module + 2 * kLayers * kLayer);
    }

    /// PCIe 5 with 55.6 GB/s each way, NVLink-C2C with 225.
    void transfersArePriced()
    {
        Design design = trained("fsdp=8", "fsdp");
        design.workload.offload.what = OffloadSet().with(OffloadKind::Activations);
        const auto seconds = [&](const char* hardware) {
            design.hardware = hardware;
            const auto evaluation = evaluated(design);
            double sum = 0;
            for (const PlannedSegment& segment : evaluation->plan.segments)
                sum += segment.host.seconds;
            return std::pair { sum, evaluation };
        };
        const auto [pcie, plan] = seconds("dgx-h100");
        const std::int64_t bytes = hostBytes(plan->plan, Phase::Forward, &PlannedSegment::HostTransfer::toHost);
        QVERIFY(std::abs(pcie - 2 * static_cast<double>(bytes) / 55.6e9) < 1e-12);
        QVERIFY(plan->plan.exposedSeconds >= pcie);
        // Priced again on other hardware it is what it would be planned there.
        Plan again = plan->plan;
        const auto [c2c, there] = seconds("gb200-nvl72");
        QVERIFY(std::abs(c2c - pcie * 55.6 / 225) < 1e-12);
        const Hardware hardware = sure(findHardware("gb200-nvl72"));
        reprice(plan->graph, again, hardware, DType::BF16);
        QVERIFY(std::abs(again.seconds() - there->plan.seconds()) < 1e-9 * again.seconds());
        CompiledCost compiled(plan->graph, plan->plan, DType::BF16);
        QVERIFY(std::abs(compiled.on(hardware).seconds - there->plan.seconds()) < 1e-9 * again.seconds());
    }

    /// Two norms, a projection of 2 h to h, a layer, and a norm before the head that it shares.
    void furtherTokens()
    {
        Design design = trained("data=2,model=2", "tp-sp");
        const auto before = evaluated(design);
        design.workload.predicted = 2;
        const auto evaluation = evaluated(design);
        QCOMPARE(evaluation->parameters - before->parameters, 2 * (2 * kHidden + 2 * kHidden * kHidden + kLayer + kHidden));
        std::map<std::string, int> kinds;
        for (const Op& op : evaluation->graph.ops)
            kinds[opKindName(op.kind)] += 1;
        QCOMPARE(kinds["embedding"], 3);
        QCOMPARE(kinds["token_loss"], 3);
        std::vector<std::string> cut;
        for (const WeightLayout& weight : evaluation->weights)
            if (weight.spec.name.find("layers.4.mlp.up_proj") != std::string::npos)
                cut.push_back(specText(weight.layout, design.mesh));
        QCOMPARE(cut.size(), std::size_t { 1 });
        QCOMPARE(cut.front(), std::string("P('model')"));
        design.workload.kind = WorkloadKind::Prefill; // where it waits
        QCOMPARE(evaluated(design)->parameters, before->parameters);
    }

    /// Presets lay out what the modules have beside a layer: norms and projection over fsdp, the projection over tensor axes, too.
    /// A new layer's FLOPs, the projection's and the logits' are useful ones.
    void weightsOfFurtherTokens()
    {
        const auto cutOf = [](const Evaluation& evaluation, const Mesh& mesh, const char* name) {
            std::string out;
            for (const WeightLayout& weight : evaluation.weights)
                if (weight.spec.name.find(name) != std::string::npos)
                    out += specText(weight.layout, mesh);
            return out;
        };
        Design design = trained("fsdp=8", "fsdp");
        const auto before = evaluated(design);
        design.workload.predicted = 1;
        const auto presetAgain = applyPreset(design, "fsdp");
        QVERIFY(presetAgain.ok());
        const auto fsdp = evaluated(design);
        for (const char* name : { "eh_proj", "enorm", "hnorm", "shared_head.norm" })
            QCOMPARE(cutOf(*fsdp, design.mesh, name), std::string("P('fsdp')"));
        const double tokens = 16.0 * 2048;
        const double further = 6.0 * (kLayer + 2 * kHidden * kHidden + kVocabulary * kHidden) + 12.0 * 2048 * kHidden;
        const double more = (fsdp->plan.performance.modelFlops - before->plan.performance.modelFlops) / tokens;
        QVERIFY2(std::abs(more / further - 1) < 0.001, std::to_string(more / further).c_str());
        Design tensor = trained("model=4", "megatron-tp");
        tensor.workload.predicted = 1;
        QVERIFY(applyPreset(tensor, "megatron-tp").ok());
        QCOMPARE(cutOf(*evaluated(tensor), tensor.mesh, "eh_proj"), std::string("P('model')"));
    }

    /// What the optimizer multiplies is done, and useful to no token.
    void productsOfMuon()
    {
        Design design = trained("fsdp=8", "fsdp");
        const Performance adam = evaluated(design)->plan.performance;
        design.workload.rule = Optimizer::Muon;
        const Performance muon = evaluated(design)->plan.performance;
        QCOMPARE(muon.modelFlops, adam.modelFlops);
        QCOMPARE(adam.hfu, adam.mfu);
        QVERIFY(muon.hfu > 1.01 * muon.mfu);
    }

    /// A host of which nothing is known is slow; memory that is the host's own frees nothing; an axis cuts states once.
    void hosts()
    {
        Design design = trained("fsdp=8", "fsdp");
        for (const char* id : { "dgx-h100", "gb300-nvl72", "gh200", "dgx-v100", "l40s-server", "mi300x", "tpu-v5e-pod" }) {
            design.hardware = id;
            design.workload.offload = {};
            const double before = evaluated(design)->plan.seconds();
            design.workload.offload.what = OffloadSet().with(OffloadKind::Optimizer);
            QVERIFY2(evaluated(design)->plan.seconds() > before, id);
        }
        design.hardware = "dgx-spark";
        const Plan offloaded = evaluated(design)->plan;
        design.workload.offload = {};
        QVERIFY(offloaded.memory == evaluated(design)->plan.memory);
        design.workload.optimizer.axes = { "fsdp", "fsdp" };
        QVERIFY(!evaluate(design).ok());
    }

    /// In order, the last of n parts of a sequence has 2 - 1/n times the mean device's pairs of attention, in head and tail the
    /// mean.
    void orderOfContext()
    {
        Design design = trained("context=4", "cp-all-gather");
        const auto attention = [](const Design& it) {
            const auto evaluation = evaluated(it);
            double flops = 0;
            for (const PlannedSegment& segment : evaluation->plan.segments)
                for (const PlannedOp& op : segment.ops)
                    if (op.work.kernel == KernelClass::Attention)
                        flops += static_cast<double>(op.count) * op.work.flops;
            return std::pair { flops, evaluation->plan.seconds() };
        };
        const auto [balanced, soon] = attention(design);
        design.workload.contextOrder = ContextOrder::InOrder;
        const auto [last, late] = attention(design);
        QVERIFY(balanced > 0 && std::abs(last / balanced - 1.75) < 1e-9);
        QVERIFY(late > soon);
        // Kernels of PyTorch, one for each part, and their sums.
        design.workload.contextOrder = ContextOrder::HeadTail;
        design.workload.software = Software::Compiled;
        const double parts = attention(design).second;
        design.workload.contextOrder = ContextOrder::InOrder;
        QCOMPARE(attention(design).first, last);
        QVERIFY(parts > 0);
        // Ulysses has whole sequences in attention, and a single device, too.
        for (const auto& [mesh, preset] : { std::pair { "context=4", "cp-ulysses" }, { "data=4", "replicate" } }) {
            Design whole = trained(mesh, preset);
            const auto even = attention(whole);
            whole.workload.contextOrder = ContextOrder::InOrder;
            QVERIFY(attention(whole) == even);
        }
    }

    /// On the last stage of a pipeline.
    void furtherTokensInAPipeline()
    {
        Design design = trained("stage=4,data=2", "pp-1f1b");
        const auto before = evaluated(design);
        design.workload.predicted = 1;
        const auto after = evaluated(design);
        const auto weights = [](const auto& evaluation, std::size_t stage) {
            return evaluation->plan.pipeline->memory[stage].weights;
        };
        QCOMPARE(weights(after, 1), weights(before, 1));
        const std::int64_t module = 2 * kHidden + 2 * kHidden * kHidden + kLayer + kHidden;
        QCOMPARE(weights(after, 3) - weights(before, 3), 2 * (module + kVocabulary * kHidden)); // and the table
        QVERIFY(after->plan.seconds() > before->plan.seconds());
    }

    /// FSDP2 gathers and reduces a block at once: three calls a layer, and the same for each end.
    void blocksInOneCall()
    {
        Design design = trained("fsdp=8", "fsdp");
        const auto apart = evaluated(design);
        QCOMPARE(callsOf(apart->plan), kLayers * 27 + 8);
        design.memory.groupCollectives = true;
        const auto grouped = evaluated(design);
        QCOMPARE(callsOf(grouped->plan), kLayers * 3 + 5);
        QCOMPARE(grouped->plan.collectiveBytes(), apart->plan.collectiveBytes());
        QVERIFY(grouped->plan.collectiveSeconds < apart->plan.collectiveSeconds);
        const Hardware hardware = sure(findHardware("gb200-nvl72"));
        design.hardware = "gb200-nvl72";
        Plan again = grouped->plan;
        reprice(grouped->graph, again, hardware, DType::BF16);
        const double there = evaluated(design)->plan.seconds();
        QVERIFY(std::abs(again.seconds() - there) < 1e-9 * there);
        CompiledCost compiled(grouped->graph, grouped->plan, DType::BF16);
        QVERIFY(std::abs(compiled.on(hardware).seconds - there) < 1e-9 * there);
        // Frameworks that do, unless told otherwise; XLA does not.
        design.memory.groupCollectives.reset();
        design.memory.choose(Framework::TorchTitan);
        QCOMPARE(callsOf(evaluated(design)->plan), kLayers * 3 + 2 + 2);
        design.memory.choose(Framework::MaxText);
        QVERIFY(callsOf(evaluated(design)->plan) > kLayers * 20);
    }
};

SHARDBOARD_TEST(TestStepsAndHosts)
#include "tst_stepsandhosts.moc"
