// SPDX-License-Identifier: Apache-2.0
// Goes through the operations of a step, planning or for real.
#pragma once

#include "engine/devices/context.h"
#include "engine/ops/execute.h"
#include "engine/run/profiler.h"
#include "engine/run/runner.h"
#include "engine/run/runrecord.h"
#include "engine/run/runvalues.h"
#include "engine/run/schedule.h"
#include "engine/run/stages.h"
#include "engine/run/waitingvalues.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardboard::engine {

class PassageRunner {
public:
    /// All arguments must outlive it.
    PassageRunner(const Program& program, const RunOptions& options, const RunHooks& hooks, Context& context, RunRecord& record);
    PassageRunner(const PassageRunner&) = delete; // tensors point at its meshes
    PassageRunner& operator=(const PassageRunner&) = delete;

    /// Times go there, too; null: nowhere else. Counts what the devices hold when the arena does.
    void setProfiler(Profiler* profiler) { m_profiler = profiler; }
    /// Steps that will run, for the progress.
    void setSteps(std::int64_t steps) { m_steps = steps; }
    /// Where several processes run the program, the first one gets the times of all when a step is over.
    void runStep(const std::vector<Passage>& passages, bool verify);
    /// Whether somebody wants to see each value; every process has to know, and only the first one calls the hook.
    void showValues(bool wanted) { m_showsValues = wanted; }
    /// Whether the test hook has broken a collective.
    bool broke() const { return m_broke; }

private:
    /// An operand on its way into an operation: somebody else's value, or one made for it.
    struct Operand {
        const Sharded* value = nullptr;
        std::optional<Sharded> own;
    };

    void runPassage(const Passage& passage);
    void beginPassage(const Passage& passage);
    void enterCarried(const Passage& passage);
    void enterWaiting(const Passage& passage);
    void endPassage(const Passage& passage);
    void keepForBackward(const Passage& passage);
    void leaveForOthers(const Passage& passage);
    void accumulate(const WaitingValues::Key& key, Sharded value, WaitingValues& waiting);
    Sharded sent(const Passage& passage, const Collective& collective, Sharded value, const Mesh& target, const Sharded* reference);
    const Collective& sendOf(const Passage& passage, const OperandUse& use) const;
    Sharded broughtInto(const Layout& wanted, Sharded value, const std::string& where);
    bool takesBf16(const Op& op) const;
    void runOp(const Passage& passage, std::size_t index);
    Operand fetch(const Passage& passage, const PlannedOp& planned, std::size_t operand);
    std::vector<RingTransfer> ringsOf(const PlannedOp& planned);
    void recordRings(const PlannedOp& planned, const std::vector<RingTransfer>& rings, double start);
    void runCollective(const Passage& passage, const Collective& collective, Operand& operand);
    bool mayTakeOver(const Passage& passage, std::size_t index) const;
    void keepOperands(const Passage& passage, std::size_t index, std::vector<Operand>& operands);
    void chooseAlike(const Op& op, const OpCall& call);
    void runReference(const Passage& passage, std::size_t index, const std::string& id, const Sharded& result);
    void compare(const Passage& passage, const std::string& id, TensorId tensor, const Sharded& value, const Sharded& reference);
    void dropDead(const Passage& passage, std::size_t index);

    /// Whether a tensor (in this layout; null: in any) is wanted after the passage.
    bool stays(const Passage& passage, TensorId tensor, const Layout* layout) const;
    std::string idOf(const Passage& passage, const Op& op) const;
    double tolerance(const Passage& passage) const;
    void show(const Passage& passage, TensorId tensor);

    /// A tensor of the run, without memory.
    Sharded fresh(TensorId tensor, const Layout& layout) const;
    Sharded referenceSource(TensorId tensor, const Source& source) const;
    bool isMade(TensorId tensor) const;
    Layout wholeLayout(TensorId tensor) const; ///< in which the reference has it
    bool breaks(const Collective& collective);
    /// Whether an operation after `index` takes the tensor in this layout (any layout: null).
    static bool usedLater(const Passage& passage, std::size_t index, TensorId tensor, const Layout* layout);
    /// An execution whose times on other processes are still to come.
    struct Execution {
        RunOperation what;
        const PlannedOp* op = nullptr; ///< or
        const Collective* collective = nullptr;
        Profiler::Place place;
        const Mesh* mesh = nullptr;
        Timing timing;
        double start = 0;
    };
    void record(Execution execution);
    void write(const Execution& execution);
    void gatherTimes();
    void recordTime(const RunOperation& what, double seconds, const Mesh& mesh, const Timing& timing, double start);
    void recordOp(const RunOperation& what, const PlannedOp& planned, const Timing& timing, double start);
    void recordCollective(const Collective& collective, const Timing& timing, double start);
    bool leads() const;
    Profiler::Place place() const { return { m_passage->layer, m_passage->microBatch }; }

    const Program& m_program;
    const Graph& m_graph;
    const RunOptions& m_options;
    const RunHooks& m_hooks;
    Context& m_context;
    RunRecord& m_record;
    ValueMaker m_maker;
    Mesh m_single; ///< of the reference
    Stages m_stages;
    const Mesh* m_mesh = nullptr; ///< of the stage that works now
    const Passage* m_passage = nullptr; ///< that runs now
    Profiler* m_profiler = nullptr;
    std::int64_t m_steps = 1;
    RunValues m_values;
    RunValues m_reference;
    std::map<TensorId, double> m_among; ///< mean square of what the values of a tensor were chosen from
    std::map<TensorId, Layout> m_current; ///< layout that stands for a tensor now
    std::vector<std::vector<TensorId>> m_leaving; ///< by segment of the graph
    WaitingValues m_waiting;
    WaitingValues m_referenceWaiting;
    std::set<std::string> m_ambiguous; ///< `segment/operation` that several phases have
    Sharded m_carry; ///< what goes to the next passage; invalid when nothing came before
    Sharded m_referenceCarry;
    std::int64_t m_carryRun = 0; ///< where it lies
    std::vector<Execution> m_executions; ///< of this step, where several processes run the program
    bool m_showsValues = false;
    bool m_verify = false;
    bool m_broke = false;
    std::string m_brokenId;
    std::int64_t m_done = 0; ///< operations of all steps
    std::int64_t m_total = 0;
    double m_begin = 0;
};

} // namespace shardboard::engine
