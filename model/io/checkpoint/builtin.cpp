// SPDX-License-Identifier: Apache-2.0
#include "model/io/checkpoint/openmodel.h"
#include "model/io/huggingface/familyfile.h"
#include "model/io/huggingface/modelparts.h"
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsontext.h"
#include "model/text/text.h"

namespace shardboard {

extern const char* const kBuiltinModelsJson;

namespace {

struct BuiltinModel {
    ModelSpec spec;
    std::int64_t published = 0;
    std::int64_t active = 0;
};

constexpr const char* kFile = "resources/models/models.json";
constexpr std::int64_t kLargest = std::int64_t { 1 } << 62;

AttentionBias biasFromText(const std::string& text)
{
    if (text == "qkv")
        return AttentionBias::Qkv;
    return text == "qkvo" ? AttentionBias::Qkvo : AttentionBias::None;
}

BuiltinModel builtinFromJson(const nlohmann::json& entry)
{
    JsonFields fields(entry, kFile, "");
    BuiltinModel out;
    ModelSpec& spec = out.spec;
    spec.name = fields.text("name");
    spec.source = "builtin:" + spec.name;
    spec.family = fields.text("family");
    spec.vocabSize = fields.integer("vocab", 1, kLargest);
    spec.hiddenSize = fields.integer("hidden", 1, kLargest);
    spec.intermediateSize = fields.integer("intermediate", 1, kLargest);
    spec.layers = fields.integer("layers", 1, kLargest);
    spec.heads = fields.integer("heads", 1, kLargest);
    spec.kvHeads = fields.integer("kv_heads", 1, kLargest);
    spec.headDim = fields.integer("head_dim", 1, kLargest, 0);
    spec.activation = fields.text("activation", "silu");
    spec.tiedEmbeddings = fields.flag("tied", false);
    spec.qkNorm = fields.flag("qk_norm", false);
    spec.attentionBias = biasFromText(fields.text("attention_bias", "none"));
    spec.norm.epsilon = fields.number("eps", 0, 1);
    spec.ropeTheta = fields.number("rope_theta", 0, 1e18);
    readModelParts(fields, spec);
    if (spec.slidingWindow > 0 && spec.windowPeriod < 0)
        spec.windowPeriod = windowPeriodOf(spec.family);
    if (spec.mla.present())
        spec.headDim = spec.mla.nopeHeadDim + spec.mla.ropeHeadDim;
    out.published = fields.integer("parameters", 1, kLargest);
    out.active = fields.integer("active", 1, kLargest, out.published);
    return out;
}

/// In the order of the resource. Our own file: what is wrong in it is found by the tests, not by a user.
const std::vector<BuiltinModel>& builtinModels()
{
    static const std::vector<BuiltinModel> models = [] {
        std::vector<BuiltinModel> out;
        const auto document = parseJson(kBuiltinModelsJson, kFile);
        if (document.ok())
            for (const nlohmann::json& entry : document.value())
                out.push_back(builtinFromJson(entry));
        return out;
    }();
    return models;
}

const BuiltinModel* findBuiltin(const std::string& name)
{
    for (const BuiltinModel& model : builtinModels())
        if (model.spec.name == name)
            return &model;
    return nullptr;
}

} // namespace

std::vector<std::string> builtinModelNames()
{
    std::vector<std::string> names;
    for (const BuiltinModel& model : builtinModels())
        names.push_back(model.spec.name);
    return names;
}

Result<ModelSpec> builtinModel(const std::string& name, const std::string& where)
{
    if (const BuiltinModel* model = findBuiltin(name))
        return model->spec;
    return inputError(where, "there is no built-in model '" + name + "'", "known are " + joined(builtinModelNames()));
}

std::int64_t publishedParameters(const std::string& name)
{
    const BuiltinModel* model = findBuiltin(name);
    return model ? model->published : 0;
}

std::int64_t publishedActiveParameters(const std::string& name)
{
    const BuiltinModel* model = findBuiltin(name);
    return model ? model->active : 0;
}

} // namespace shardboard
