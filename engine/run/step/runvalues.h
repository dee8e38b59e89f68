// SPDX-License-Identifier: Apache-2.0
// The values that exist at a moment of a run: tensors on the mesh, each in one or several layouts, and the tensors of the
// unsharded reference.
#pragma once

#include "engine/devices/context.h"
#include "engine/devices/sharded.h"
#include "model/io/wire/messages.h"
#include "model/plan/program.h"

#include <list>
#include <map>
#include <string>

namespace shardboard::engine {

/// Versions of tensors by layout.
class RunValues {
public:
    Sharded* find(TensorId tensor, const Layout& layout);
    Sharded& put(TensorId tensor, Sharded value);
    void drop(TensorId tensor, const Layout& layout);
    /// Layouts in which a tensor exists now.
    std::vector<Layout> layouts(TensorId tensor) const;
    /// Takes a version out; it must exist.
    Sharded take(TensorId tensor, const Layout& layout);
    void clear() { m_versions.clear(); }

private:
    std::map<TensorId, std::list<Sharded>> m_versions;
};

/// Makes weights, inputs, cached tokens and, where a run begins in the middle of the model, the residual stream.
class ValueMaker {
public:
    ValueMaker(const Program& program, const RunOptions& options);

    /// Values of a weight or input of a layer. Inputs are others in every micro-batch.
    Source sourceOf(TensorId tensor, std::int64_t layer, std::int64_t microBatch = 0) const;
    /// Tokens that were in the cache before, for the result of a KvAppend.
    Source cacheOf(TensorId tensor, std::int64_t layer) const;
    /// The residual stream that enters the first segment of a run, or its gradient that enters the last one.
    Source streamOf(TensorId tensor, std::int64_t microBatch = 0) const;
    Rounding roundingOfTensor(TensorId tensor) const;

private:
    Source make(TensorId tensor, const std::string& name) const;

    const Graph& m_graph;
    const RunOptions& m_options;
    std::map<TensorId, std::int64_t> m_vocabulary; ///< of tensors that hold tokens or targets
};

/// Takes memory and fills all shards from the tensor's source. Where the value is partial every device gets an equal share.
void materialize(Context& context, Sharded& tensor);
/// Rounds all shards in rank.
void roundSharded(Context& context, Rounding rounding, Sharded& tensor);
/// sum += value, shard by shard; both lie alike.
void addSharded(Context& context, const Sharded& value, Sharded& sum);
/// The same values in memory of their own.
Sharded copyOf(Context& context, const Sharded& value);
/// Multiplies all shards in rank.
void scaleSharded(Context& context, float factor, Sharded& tensor);
/// Number of devices over which a value of this layout is partial.
std::int64_t partialDevices(const Layout& layout, const Mesh& mesh);

} // namespace shardboard::engine
