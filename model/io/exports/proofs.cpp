// SPDX-License-Identifier: Apache-2.0
#include "model/io/exports/proofs.h"

#include "model/io/exports/exporttext.h"
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsontext.h"
#include "model/text/numbers.h"

#include <algorithm>

namespace shardboard {

namespace {

constexpr std::int64_t kMost = std::int64_t { 1 } << 53;

bool isDate(const std::string& text)
{
    constexpr std::string_view kForm = "dddd-dd-dd";
    return text.size() == kForm.size()
        && std::ranges::equal(text, kForm, [](char c, char form) { return form == 'd' ? c >= '0' && c <= '9' : c == form; });
}

} // namespace

Result<std::vector<ProjectProof>> readProjectProofs(const std::string& json, const std::string& where)
{
    auto parsed = parseJson(json, where);
    if (!parsed.ok())
        return parsed.error();
    if (!parsed.value().is_array())
        return inputError(where, "is not a list of proofs", "write it with the scripts of tests/peers");
    const nlohmann::json document { { "proofs", std::move(parsed).value() } };
    JsonFields fields(document, where);
    std::vector<ProjectProof> out;
    fields.objects("proofs", [&out](JsonFields& one) {
        ProjectProof proof;
        proof.target = one.text("target");
        proof.peer = one.text("peer");
        proof.date = one.text("date");
        proof.exports = one.integer("exports", 1, kMost);
        proof.tensors = one.integer("tensors", 1, kMost, proof.exports);
        proof.refused = one.integer("refused", 0, kMost, 0);
        if (!one.error() && !isDate(proof.date))
            one.fail("date", "'" + proof.date + "' is no date", "write it as 2026-01-31");
        out.push_back(std::move(proof));
    });
    if (fields.error())
        return *fields.error();
    return out;
}

std::vector<ProjectProof> projectProofsOf(std::string_view target)
{
    static const std::vector<ProjectProof> kAll = [] {
        const std::string_view text = exportText("proofs.json");
        auto read = readProjectProofs(text.empty() ? "[]" : std::string(text), "proofs.json");
        auto all = read.ok() ? std::move(read).value() : std::vector<ProjectProof> {}; // that it can be read is tested
        std::ranges::stable_sort(all, std::ranges::greater {}, &ProjectProof::date);
        return all;
    }();
    std::vector<ProjectProof> out;
    std::ranges::copy_if(kAll, std::back_inserter(out), [&](const ProjectProof& proof) { return proof.target == target; });
    return out;
}

std::string projectProofText(const ProjectProof& proof)
{
    return "checked by the project with " + proof.peer + " on " + proof.date + ", " + countText(proof.exports)
        + (proof.exports == 1 ? " export" : " exports");
}

} // namespace shardboard
