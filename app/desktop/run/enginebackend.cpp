// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/run/enginebackend.h"

#include "app/worker/messagefields.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"

#include <QObject>

namespace shardboard {

namespace {

using nlohmann::json;

QString shownField(const json& object, const char* key) { return shownText(messageText(object, key)); }

/// `8 threads · 23.4 GiB` of the first device of a backend.
QString deviceText(const json& backend)
{
    QString line;
    const auto devices = backend.find("devices");
    if (devices == backend.end() || !devices->is_array() || devices->empty() || !devices->front().is_object())
        return line;
    const json& device = devices->front();
    if (messageWhole(device, "threads") > 0)
        line += (messageWhole(device, "threads") == 1 ? QObject::tr(" · %1 thread") : QObject::tr(" · %1 threads"))
                    .arg(messageWhole(device, "threads"));
    if (messageWhole(device, "memory_bytes") > 0)
        line += QStringLiteral(" · ") + bytesText(messageWhole(device, "memory_bytes"));
    return line.mid(3);
}

} // namespace

std::vector<EngineBackend> backendsOf(const json& hello)
{
    std::vector<EngineBackend> out;
    const auto backends = hello.find("backends");
    if (backends == hello.end() || !backends->is_array())
        return out;
    for (const json& backend : *backends) {
        if (!backend.is_object())
            continue;
        const auto usable = backend.find("usable");
        const bool can = usable == backend.end() || !usable->is_boolean() || usable->get<bool>();
        const QString reason = shownField(backend, "reason");
        out.push_back({ shownField(backend, "name"), deviceText(backend),
                        can                    ? QString()
                            : reason.isEmpty() ? QObject::tr("the engine does not say why")
                                               : reason });
    }
    return out;
}

QString describe(const std::vector<EngineBackend>& backends)
{
    for (const EngineBackend& backend : backends)
        if (backend.usable())
            return backend.description.isEmpty() ? backend.name : backend.name + QStringLiteral(" · ") + backend.description;
    return {};
}

} // namespace shardboard
