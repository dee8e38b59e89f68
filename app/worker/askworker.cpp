// SPDX-License-Identifier: Apache-2.0
#include "app/worker/askworker.h"

#include "app/worker/workerclient.h"

#include <utility>

namespace shardboard {

using nlohmann::json;

Error engineError(const std::string& what, const std::string& where, const std::string& fix)
{
    return Error { ErrorCode::Engine, where, what, fix };
}

Result<json> askWorker(const std::string& engine, json request, const std::function<void(const json&)>& onMessage,
                       const std::atomic<bool>& cancel)
{
    constexpr double kLook = 0.1; // how often the cancel is looked at
    using Kind = WorkerEvent::Kind;
    WorkerClient client(engine);
    client.request(std::move(request));
    while (true) {
        if (cancel)
            client.cancel();
        auto event = client.next();
        if (!event) {
            client.wait(kLook);
            continue;
        }
        switch (event->kind) {
        case Kind::Queued:
            if (onMessage)
                onMessage({ { "type", "waiting" }, { "what", event->text } });
            break;
        case Kind::Message:
            if (onMessage)
                onMessage(event->message);
            break;
        case Kind::Result:
            return std::move(event->message);
        case Kind::Refused:
            if (event->error.where.empty())
                event->error.where = "engine";
            return event->error;
        case Kind::Cancelled:
            return Cancelled {};
        case Kind::Failed:
            if (cancel)
                return Cancelled {}; // as was asked; one that goes on is ended on the way out
            return event->error;
        case Kind::Hello:
        case Kind::Other:
            break;
        }
    }
}

} // namespace shardboard
