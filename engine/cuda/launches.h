// SPDX-License-Identifier: Apache-2.0
// What the operations on a device share: tables with an entry for every logical device, launches that are timed for all devices
// at once or for one after the other, scratch memory, and operands that are made or converted before the operation begins.
#pragma once

#include "engine/cuda/runtime.h"
#include "engine/ops/execute.h"

#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

namespace shardboard::engine::cuda {

/// Elements of a device's shard.
Elements elementsOf(const Sharded& tensor, std::int64_t device);
/// From a box to a buffer that holds `whole` row by row.
BoxMap mapOf(const Box& box, const Box& whole);
/// From a box to a tensor of this shape.
BoxMap mapOf(const Box& box, const Shape& shape);
/// From indices that count through `sizes` to offsets of these strides.
BoxMap mapOf(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides, std::int64_t base);
MadeValue madeOf(const Source& source);
std::int64_t tilesOf(std::int64_t count, std::int64_t tile = kTile);

/// Entries of a launch, in order of the devices that they work for.
template <class Entry>
struct Table {
    static_assert(std::has_unique_object_representations_v<Entry>, "entries are compared byte by byte");
    std::vector<Entry> entries;
    std::vector<std::int64_t> first { 0 }; ///< of each device, and behind the last
    std::int64_t items = 0; ///< of the entry that has most

    void add(const Entry& entry, std::int64_t itemsOfEntry)
    {
        entries.push_back(entry);
        items = items < itemsOfEntry ? itemsOfEntry : items;
    }
    void endDevice() { first.push_back(static_cast<std::int64_t>(entries.size())); }
};

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
    void multiply(Products products);
    void convert(const Sharded& from, Sharded& to);

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
void launchElementwise(Launches& launches, const OpCall& call, Sharded& result);
void launchNorm(Launches& launches, const OpCall& call, Sharded& result);
void launchRowSum(Launches& launches, const OpCall& call, Sharded& result);
void launchMove(Launches& launches, const OpCall& call, Sharded& result);
void launchRope(Launches& launches, const OpCall& call, Sharded& result, const float* angles);
void launchKvAppend(Launches& launches, const OpCall& call, Sharded& result);
void launchEmbedding(Launches& launches, const OpCall& call, Sharded& result);
void launchEmbeddingGradient(Launches& launches, const OpCall& call, Sharded& result);
void launchLoss(Launches& launches, const OpCall& call, Sharded& result);
void launchAdam(Launches& launches, const OpCall& call, Sharded& result);
void launchLinear(Launches& launches, const OpCall& call, Sharded& result); ///< with its gradients
void launchAbsorb(Launches& launches, const OpCall& call, Sharded& result);
void launchExpertLinear(Launches& launches, const OpCall& call, Sharded& result); ///< with its gradient
void launchGates(Launches& launches, const OpCall& call, Sharded& result);
void launchRoute(Launches& launches, const OpCall& call, Sharded& result); ///< Dispatch, Combine and their gradients
void launchExpertBias(Launches& launches, const OpCall& call, Sharded& result); ///< with its gradient
void launchAttention(Launches& launches, const OpCall& call, Sharded& result);
void launchAttentionGradient(Launches& launches, const OpCall& call, Sharded& result);
} // namespace shardboard::engine::cuda
