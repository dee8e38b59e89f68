// SPDX-License-Identifier: Apache-2.0
#include "app/worker/runinworker.h"

#include "app/worker/askworker.h"
#include "app/worker/messagefields.h"
#include "model/io/wire/planjson.h"

#include <utility>

namespace shardboard {

using nlohmann::json;

Result<RunResult> runInWorker(const Graph& graph, const Plan& plan, const RunOptions& options, const std::string& engine,
                              const RunReports& reports, const std::atomic<bool>& cancel)
{
    const auto onMessage = [&](const json& message) {
        const std::string type = messageText(message, "type");
        if (type == "waiting" && reports.waiting)
            reports.waiting(messageText(message, "what"));
        else if (type == "announce" && reports.announce)
            reports.announce(messageWhole(message, "bytes"), messageNumber(message, "seconds"));
        else if (type == "progress" && reports.progress)
            reports.progress(messageWhole(message, "step"), messageWhole(message, "of"), messageText(message, "what"));
    };
    json request = { { "type", "run" }, { "plan", planToJson(graph, plan) }, { "options", toJson(options) } };
    const auto answer = askWorker(engine, std::move(request), onMessage, cancel);
    if (answer.cancelled())
        return Cancelled {};
    if (!answer.ok())
        return answer.error();
    const json& message = answer.value();
    auto result = runResultFromJson(message.contains("run") ? message["run"] : json());
    if (!result.ok())
        return engineError(result.error().what, result.error().where);
    if (options.profile != ProfileMode::None) {
        auto profile = message.contains("profile")
            ? profileFromJson(message["profile"])
            : Result<RunProfile>(engineError("it measured no profile", "engine", "use programs of the same version"));
        if (!profile.ok())
            return engineError(profile.error().what, profile.error().where, profile.error().fix);
        if (reports.profile)
            reports.profile(std::move(profile).value());
    }
    return result;
}

} // namespace shardboard
