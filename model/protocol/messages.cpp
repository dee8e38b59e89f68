// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/messages.h"

#include <cmath>
#include <limits>

namespace shardboard {

namespace {

using nlohmann::json;

/// Reads typed keys of one object; remembers the first key that is wrong. Missing keys leave the default.
class Reader {
public:
    Reader(const json& object, std::string where)
        : m_object(object)
        , m_where(std::move(where))
    {
        if (!object.is_object())
            m_wrong = inputError(m_where, "must be an object");
    }

    void text(const char* key, std::string& out)
    {
        if (const json* value = find(key); value != nullptr) {
            if (value->is_string())
                out = value->get<std::string>();
            else
                wrong(key, "a text");
        }
    }
    void flag(const char* key, bool& out)
    {
        if (const json* value = find(key); value != nullptr) {
            if (value->is_boolean())
                out = value->get<bool>();
            else
                wrong(key, "true or false");
        }
    }
    void integer(const char* key, std::int64_t& out, std::int64_t lowest)
    {
        if (const json* value = find(key); value != nullptr) {
            const bool fits = value->is_number_integer()
                && (!value->is_number_unsigned()
                    || value->get<std::uint64_t>() <= std::uint64_t { std::numeric_limits<std::int64_t>::max() });
            if (fits && value->get<std::int64_t>() >= lowest)
                out = value->get<std::int64_t>();
            else
                wrong(key, "a whole number of at least " + std::to_string(lowest));
        }
    }
    /// null stands for a value that is not finite.
    void number(const char* key, double& out)
    {
        if (const json* value = find(key); value != nullptr) {
            if (value->is_null())
                out = std::numeric_limits<double>::infinity();
            else if (value->is_number())
                out = value->get<double>();
            else
                wrong(key, "a number");
        }
    }
    const json* find(const char* key) const
    {
        if (m_wrong)
            return nullptr;
        const auto it = m_object.find(key);
        return it == m_object.end() ? nullptr : &*it;
    }
    void wrong(const char* key, const std::string& expected)
    {
        if (!m_wrong)
            m_wrong = inputError(m_where + "." + key, "must be " + expected);
    }
    const std::optional<Error>& error() const { return m_wrong; }

private:
    const json& m_object;
    std::string m_where;
    std::optional<Error> m_wrong;
};

/// JSON has no infinity.
json finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json operationToJson(const RunOperation& operation)
{
    json out = { { "id", operation.id }, { "kind", operation.kind }, { "median_seconds", operation.medianSeconds },
                 { "predicted_seconds", operation.predictedSeconds }, { "bytes", operation.bytes },
                 { "count", operation.count } };
    if (operation.relativeError >= 0)
        out["relative_error"] = finite(operation.relativeError);
    return out;
}

Result<RunOperation> operationFromJson(const json& value, const std::string& where)
{
    RunOperation out;
    Reader reader(value, where);
    reader.text("id", out.id);
    reader.text("kind", out.kind);
    reader.number("median_seconds", out.medianSeconds);
    reader.number("predicted_seconds", out.predictedSeconds);
    reader.integer("bytes", out.bytes, 0);
    reader.integer("count", out.count, 0);
    reader.number("relative_error", out.relativeError);
    if (reader.error())
        return *reader.error();
    return out;
}

} // namespace

json toJson(const RunOptions& options)
{
    return { { "backend", options.backend }, { "layers", options.layers }, { "steps", options.steps },
             { "verify", options.verify }, { "design_dtype", options.designDtype }, { "ends", options.ends },
             { "break_collective", options.breakCollective }, { "seed", options.seed } };
}

Result<RunOptions> runOptionsFromJson(const json& value)
{
    RunOptions out;
    Reader reader(value, "options");
    reader.text("backend", out.backend);
    reader.integer("layers", out.layers, 0);
    reader.integer("steps", out.steps, 1);
    reader.flag("verify", out.verify);
    reader.flag("design_dtype", out.designDtype);
    reader.flag("ends", out.ends);
    reader.text("break_collective", out.breakCollective);
    if (const json* seed = reader.find("seed"); seed != nullptr) {
        if (seed->is_number_unsigned())
            out.seed = seed->get<std::uint64_t>();
        else
            reader.wrong("seed", "a whole number of at least 0");
    }
    if (reader.error())
        return *reader.error();
    return out;
}

json toJson(const RunResult& result)
{
    json operations = json::array();
    for (const RunOperation& operation : result.operations)
        operations.push_back(operationToJson(operation));
    json out = { { "backend", result.backend }, { "devices", result.devices }, { "steps", result.steps },
                 { "layers", result.layers }, { "verified", result.verified }, { "compared", result.compared },
                 { "worst_op", result.worstOp }, { "first_deviation", result.firstDeviation },
                 { "step_seconds",
                   { { "median", result.stepMedian }, { "min", result.stepMin }, { "max", result.stepMax } } },
                 { "predicted_step_seconds", result.predictedStepSeconds }, { "peak_bytes", result.peakBytes },
                 { "operations", std::move(operations) } };
    out["max_relative_error"] = result.compared ? finite(result.maxRelativeError) : json(nullptr);
    out["tolerance"] = result.compared ? json(result.tolerance) : json(nullptr);
    return out;
}

Result<RunResult> runResultFromJson(const json& value)
{
    RunResult out;
    Reader reader(value, "run");
    reader.text("backend", out.backend);
    reader.integer("devices", out.devices, 0);
    reader.integer("steps", out.steps, 0);
    reader.integer("layers", out.layers, 0);
    reader.flag("verified", out.verified);
    reader.flag("compared", out.compared);
    reader.text("worst_op", out.worstOp);
    reader.text("first_deviation", out.firstDeviation);
    reader.number("predicted_step_seconds", out.predictedStepSeconds);
    reader.integer("peak_bytes", out.peakBytes, 0);
    if (out.compared) {
        reader.number("max_relative_error", out.maxRelativeError);
        reader.number("tolerance", out.tolerance);
    }
    if (const json* seconds = reader.find("step_seconds"); seconds != nullptr) {
        Reader inner(*seconds, "run.step_seconds");
        inner.number("median", out.stepMedian);
        inner.number("min", out.stepMin);
        inner.number("max", out.stepMax);
        if (inner.error())
            return *inner.error();
    }
    if (const json* operations = reader.find("operations"); operations != nullptr) {
        if (!operations->is_array())
            return inputError("run.operations", "must be a list");
        for (std::size_t i = 0; i < operations->size(); ++i) {
            auto operation = operationFromJson((*operations)[i], "run.operations[" + std::to_string(i) + "]");
            if (!operation.ok())
                return operation.error();
            out.operations.push_back(std::move(operation).value());
        }
    }
    if (reader.error())
        return *reader.error();
    return out;
}

} // namespace shardboard
