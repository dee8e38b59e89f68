// SPDX-License-Identifier: Apache-2.0
// Reads the `params` of a question about a module, under the several names that people use for the same thing. What is
// wrong first sticks, as in JsonFields.
#pragma once

#include "model/io/json/jsonfields.h"
#include "model/modules/columnparallel.h"
#include "model/modules/linear.h"

#include <initializer_list>

namespace shardboard {

class ModuleParameters {
public:
    ModuleParameters(const nlohmann::json& value, const std::string& file);

    std::string where() const { return m_fields.place(); }
    const std::optional<Error>& error() const { return m_fields.error(); }
    JsonFields& fields() { return m_fields; }

    /// The first of several names that is there; the first name when none is.
    const char* present(std::initializer_list<const char*> names);
    /// Whether one of these is there and says something else than false.
    bool says(std::initializer_list<const char*> names);
    std::int64_t size(std::initializer_list<const char*> names, std::optional<std::int64_t> fallback = std::nullopt);
    /// `num_devices`, or how many `devices` lists.
    std::int64_t devices();
    ModuleStrategy strategy(std::optional<std::string> fallback = std::nullopt);
    /// The strategy of one weight, with its own parameters.
    ModuleStrategy weightStrategy();
    /// [out, in] of a Linear.
    void linearShape(LinearParameters& linear);
    std::optional<LinearScales> scales(bool required);
    ColumnParallelParameters columnParallel();

private:
    void readSegments(Strategy& strategy);

    JsonFields m_fields;
};

} // namespace shardboard
