// SPDX-License-Identifier: Apache-2.0
// The keys of a config.json, or of the `text_config` in one, with what is worth saying about them.
#pragma once

#include "model/core/finding.h"
#include "model/io/json/jsonfields.h"
#include "model/io/safetensors/checkpointfinding.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shardboard {

class ConfigFields {
public:
    static constexpr std::int64_t kLargest = std::int64_t { 1 } << 31;

    /// `path` is where in the file the keys are: `text_config`, or nothing.
    ConfigFields(const nlohmann::json& value, std::string file, const std::string& path)
        : m_fields(value, file, path)
        , m_file(std::move(file))
    {
        m_fields.nullIsAbsent();
    }

    JsonFields& json() { return m_fields; }

    void note(const std::string& kind, Severity severity, const std::string& message, const std::string& repair = {})
    {
        m_findings.push_back(checkpointFinding(kind, severity, m_file, message, repair));
    }
    std::vector<Finding>& findings() { return m_findings; }

private:
    JsonFields m_fields;
    std::string m_file;
    std::vector<Finding> m_findings;
};

} // namespace shardboard
