// SPDX-License-Identifier: Apache-2.0
// What a worker may run on, as its hello tells it.
#pragma once

#include <QString>

#include <nlohmann/json.hpp>

#include <vector>

namespace shardboard {

struct EngineBackend {
    QString name; ///< one of kBackendNames
    QString description; ///< `8 threads · 23.4 GiB`; may be empty
    QString unusable; ///< why it cannot be used and what to do about it; empty: it can
    bool usable() const { return unusable.isEmpty(); }
};

/// In the order of the hello. A worker that says nothing of `usable` has no backend that it cannot use.
std::vector<EngineBackend> backendsOf(const nlohmann::json& hello);

/// `cpu · 8 threads · 23.4 GiB` of the first backend that can be used.
QString describe(const std::vector<EngineBackend>& backends);

} // namespace shardboard
