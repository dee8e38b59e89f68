// SPDX-License-Identifier: Apache-2.0
// What the operations on a device share: tables with an entry for every logical device, launches that are timed for all devices
// at once or for one after the other, scratch memory, and operands that are made or converted before the operation begins.
#pragma once

#include "engine/cuda/runtime.h"
#include "engine/ops/bodywork.h"

#include <functional>
#include <optional>
#include <vector>

namespace shardboard::engine::cuda {

/// Products of some devices; those of one shape are done at once.
class Products {
public:
    /// `shape` without products.
    void add(std::int64_t device, const Gemm& shape, const Gemm::Product& product);
    bool empty() const { return m_all.empty(); }
    void run(Runtime& runtime, std::int64_t firstDevice, std::int64_t devices) const;

private:
    struct One {
        std::int64_t device;
        Gemm shape;
        Gemm::Product product;
    };
    std::vector<One> m_all;
};

/// One operation on its way to the device.
class Launches {
public:
    /// `rank`: of the device's memory in the context's arena.
    Launches(Runtime& runtime, Context& context, int rank)
        : m_runtime(runtime)
        , m_context(context)
        , m_rank(rank)
    {
    }
    Launches(const Launches&) = delete;
    Launches& operator=(const Launches&) = delete;

    Runtime& runtime() { return m_runtime; }
    Context& context() { return m_context; }
    int rank() const { return m_rank; }
    bool planning() const { return m_context.planning(); }

    /// Memory until the operation ends, in floats.
    float* scratch(std::int64_t floats);
    /// The same for sums over rows.
    RowSumRoom room()
    {
        return { [this](std::int64_t, std::int64_t floats) { return scratch(floats); }, planning() };
    }
    /// A tensor as this one, of other elements, until the operation ends.
    Sharded& like(const Sharded& tensor, Element element);
    /// The tensor with its values: made now, untimed, when it has only a source.
    const Sharded& present(const Sharded& tensor);
    /// The same values as such elements; converted when they are others.
    const Sharded& as(Element element, const Sharded& tensor);

    /// Appends to what is timed.
    void step(std::function<void(std::int64_t firstDevice, std::int64_t devices)> work) { m_steps.push_back(std::move(work)); }
    template <class Body, class Entry>
    void launch(Body body, Table<Entry> table)
    {
        if (planning() || table.entries.empty() || table.items == 0)
            return;
        body.entries = static_cast<const Entry*>(
            m_runtime.table(table.entries.data(), static_cast<std::int64_t>(table.entries.size() * sizeof(Entry))));
        step([this, body, items = table.items, first = std::move(table.first)](std::int64_t device, std::int64_t devices) {
            const std::int64_t lo = first[static_cast<std::size_t>(device)];
            const std::int64_t hi = first[static_cast<std::size_t>(device + devices)];
            if (hi > lo)
                m_runtime.launch(body, Grid { items, lo, hi - lo });
        });
    }
    template <class Body>
    void launch(BodyWork<Body> work)
    {
        launch(work.body, std::move(work.table));
    }
    void launch(RowSumWork work);
    void multiply(Products products);
    void convert(const Sharded& from, Sharded& to);

    /// For Rope: cosines and sines of the tokens' positions.
    const float* angles = nullptr;

    /// Does it all: for all devices at once, or in a serial context for one after the other.
    Timing run(std::int64_t devices);
    /// Asks for the work of so many devices, untimed.
    void start(std::int64_t firstDevice, std::int64_t devices) const;

private:
    Runtime& m_runtime;
    Context& m_context;
    int m_rank;
    std::vector<Block> m_blocks;
    std::vector<std::unique_ptr<Sharded>> m_tensors;
    std::vector<std::function<void(std::int64_t, std::int64_t)>> m_steps;
};

/// The same for operations that each work for the one device of a GPU: all GPUs at once, or in a serial context one after the
/// other. Times are by number of the operation.
Timing runBeside(const Context& context, const std::vector<Launches*>& operations);
/// Work for the shards of all devices at once.
Timing runAtOnce(Runtime& runtime, std::int64_t devices, const std::function<void()>& work);

/// Fills shards with the values of a source, untimed.
void fillShards(Runtime& runtime, const Source& source, Sharded& tensor);
/// out = kind(a, b, c) for whole shards that lie alike; b and c may be null.
void eachOfShards(Runtime& runtime, Each kind, float number, const Sharded& a, const Sharded* b, Sharded& out);

// The operations, by file.
void launchElementwise(Launches& launches, const OpCall& call, Sharded& result); ///< with what only copies
void launchNorm(Launches& launches, const OpCall& call, Sharded& result);
void launchNormGradient(Launches& launches, const OpCall& call, Sharded& result);
void launchRowSum(Launches& launches, const OpCall& call, Sharded& result);
void launchMove(Launches& launches, const OpCall& call, Sharded& result);
void launchRope(Launches& launches, const OpCall& call, Sharded& result);
void launchKvAppend(Launches& launches, const OpCall& call, Sharded& result);
void launchEmbedding(Launches& launches, const OpCall& call, Sharded& result);
void launchEmbeddingGrad(Launches& launches, const OpCall& call, Sharded& result);
void launchLoss(Launches& launches, const OpCall& call, Sharded& result);
void launchAdamStep(Launches& launches, const OpCall& call, Sharded& result);
void launchLinear(Launches& launches, const OpCall& call, Sharded& result); ///< with its gradients
void launchAbsorb(Launches& launches, const OpCall& call, Sharded& result);
void launchExpertLinear(Launches& launches, const OpCall& call, Sharded& result); ///< with its gradient
void launchGates(Launches& launches, const OpCall& call, Sharded& result);
void launchRoute(Launches& launches, const OpCall& call, Sharded& result); ///< Dispatch, Combine and gradients of tokens
void launchCombineGradGates(Launches& launches, const OpCall& call, Sharded& result);
void launchExpertBias(Launches& launches, const OpCall& call, Sharded& result);
void launchExpertBiasGrad(Launches& launches, const OpCall& call, Sharded& result);
void launchAttention(Launches& launches, const OpCall& call, Sharded& result);
void launchAttentionGradient(Launches& launches, const OpCall& call, Sharded& result);
} // namespace shardboard::engine::cuda
