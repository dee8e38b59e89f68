// SPDX-License-Identifier: Apache-2.0
// What a value is over one mesh axis: a copy on every device, cut along a tensor dim, partial values that are still to be
// reduced, or nothing that is known. The codes are those of MAX's test vectors: R, S0, P, Pavg, Pmin, Pmax, U.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

enum class PartialReduce : std::uint8_t { Sum, Avg, Min, Max };

struct Placement {
    enum class Kind : std::uint8_t { Replicated, Sharded, Partial, Unknown };
    Kind kind = Kind::Replicated;
    int dim = 0; ///< tensor dim of Sharded, else 0
    PartialReduce reduce = PartialReduce::Sum; ///< of Partial, else Sum

    std::string code() const; ///< R, S<dim>, P, Pavg, Pmin, Pmax, U
    /// The placement of a code, or nothing when it is none.
    static std::optional<Placement> parse(std::string_view code);

    bool replicated() const { return kind == Kind::Replicated; }
    bool sharded() const { return kind == Kind::Sharded; }
    bool partial() const { return kind == Kind::Partial; }
    bool unknown() const { return kind == Kind::Unknown; }
    bool shards(int tensorDim) const { return sharded() && dim == tensorDim; }

    friend bool operator==(const Placement&, const Placement&) = default;
};

inline Placement replicatedPlacement() { return {}; }
inline Placement shardedPlacement(int dim) { return { Placement::Kind::Sharded, dim }; }
inline Placement partialPlacement(PartialReduce reduce = PartialReduce::Sum) { return { Placement::Kind::Partial, 0, reduce }; }
inline Placement unknownPlacement() { return { Placement::Kind::Unknown }; }

} // namespace shardboard
