// SPDX-License-Identifier: Apache-2.0
// shardctl pick: what MAX's per-op picker, or ours, picks for one operation, at which price, and what else there was.
#include "app/ctl/commands.h"
#include "app/ctl/request.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/max/pickrequest.h"
#include "model/picker/report.h"

#include <iostream>

namespace shardboard {

namespace {

/// A line for each key, and for each element of the longer lists.
std::string textOf(const nlohmann::ordered_json& answer)
{
    std::string out;
    for (const auto& [key, value] : answer.items()) {
        out += (out.empty() ? "{\n " : ",\n ") + jsonText(nlohmann::json(key)) + ": ";
        if (!value.is_array() || value.empty() || !value.front().is_object()) {
            out += jsonText(value);
            continue;
        }
        for (std::size_t i = 0; i < value.size(); ++i)
            out += (i == 0 ? "[\n  " : ",\n  ") + jsonText(value[i]);
        out += "]";
    }
    return out + "\n}\n";
}

} // namespace

int pickCommand(const Arguments& arguments)
{
    const auto request = readRequest(arguments.positional().front());
    if (!request.ok())
        return report(request.error());
    const auto& [document, where] = request.value();
    const auto question = readPickQuestion(document, where);
    if (!question.ok())
        return report(question.error());
    const PickAnswer answer = pickOperation(question.value());
    const bool refused = answer.refusal.has_value();
    const bool json = arguments.has("--json");
    if (!refused || (json && !answer.candidates.empty())) // a script gets the candidates of a refusal, too
        std::cout << textOf(pickAnswerJson(question.value(), answer));
    const bool told = arguments.has("--report") || (question.value().options.onReshard == OnReshard::Warn && !refused);
    if (told && !json)
        std::cerr << pickReport(question.value(), answer);
    return refused ? report(pickError(*answer.refusal, where)) : kDone;
}

} // namespace shardboard
