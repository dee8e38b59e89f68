// SPDX-License-Identifier: Apache-2.0
// Every kind of error that can be typed or opened, provoked once: wrong files of each format and wrong command lines of each
// command. Each says in one line what happened, to what (the file, option or name is in it), and behind a semicolon what to do.
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <functional>
#include <vector>

using namespace shardboard::test;

namespace {

struct File {
    const char* name;
    const char* text;
};

// Characters of three bytes, so many that a message cuts them, and one byte before them: it must not cut inside one.
#define WIDE "\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82"
#define MANY_WIDE "x" WIDE WIDE WIDE WIDE

const File kFiles[] = {
    { "empty.shardboard", "" },
    { "text.shardboard", "hello" },
    { "cut.shardboard", "{\"format\": \"shardboard-design\", \"version\": 1" },
    { "other.shardboard", "{\"a\": 1}" },
    { "newer.shardboard", "{\"format\": \"shardboard\", \"version\": 999}" },
    { "config/config.json", "{\"model_type\": \"llama\"}" },
    { "family/config.json", "{\"model_type\": \"mystery\", \"hidden_size\": 64}" },
    { "heads/config.json",
      "{\"model_type\":\"llama\",\"vocab_size\":320,\"hidden_size\":64,\"intermediate_size\":192,\"num_hidden_layers\":3,\"num_"
      "attention_heads\":7,\"num_key_value_heads\":4,\"rms_norm_eps\":1e-5}" },
    { "negative/config.json",
      "{\"model_type\":\"llama\",\"vocab_size\":-1,\"hidden_size\":64,\"intermediate_size\":192,\"num_hidden_layers\":3,\"num_"
      "attention_heads\":8,\"num_key_value_heads\":4,\"rms_norm_eps\":1e-5}" },
    { "words/config.json",
      "{\"model_type\":\"llama\",\"vocab_size\":\"many\",\"hidden_size\":64,\"intermediate_size\":192,\"num_hidden_layers\":3,"
      "\"num_attention_heads\":8,\"num_key_value_heads\":4}" },
    { "range/config.json", "{\"model_type\":\"llama\",\"vocab_size\":1e999}" },
    { "short.safetensors", "abc" },
    { "good/config.json",
      "{\"model_type\":\"llama\",\"vocab_size\":320,\"hidden_size\":64,\"intermediate_size\":192,\"num_hidden_layers\":3,\"num_"
      "attention_heads\":8,\"num_key_value_heads\":4,\"rms_norm_eps\":1e-5,\"torch_dtype\":\"bfloat16\"}" },
    { "hardware.json", "{\"format\": \"shardboard-hardware\", \"version\": 1, \"base\": \"nosuch\"}" },
    { "speed.json",
      "{\"format\": \"shardboard-hardware\", \"version\": 1, \"base\": \"dgx-h100\", \"device\": {\"memory_bytes\": -5}}" },
    { "key.json", "{\"format\": \"shardboard-hardware\", \"version\": 1, \"base\": \"dgx-h100\", \"devise\": {}}" },
    { "broken.yml", "logical_axis_rules: [['a', 'b'" },
    { "wrong.yml", "logical_axis_rules: 7\n" },
    { "axis.yml", "mesh_axes: ['data']\nlogical_axis_rules: [['embed', ['nosuch']]]\n" },
    { "shards.json", "{\"format\": \"shardboard-shards\", \"version\": 1}" },
    { "logical.json", "{\"a\": \"b\"}" },
    { "module.json", "{\"module\": \"Nosuch\", \"params\": {\"num_devices\": 4}}" },
    { "moduleparams.json", "{\"module\": \"Linear\", \"params\": {}}" },
    { "pick.json",
      "{\"profile\": \"G1\", \"op\": \"nosuch\", \"mesh\": {\"shape\": [2], \"axes\": [\"model\"]}, \"inputs\": "
      "[{\"global_shape\": [4, 8], \"placements\": [\"R\"], \"dtype\": \"float32\"}]}" },
    { "pickshape.json",
      "{\"profile\": \"G1\", \"op\": \"matmul\", \"mesh\": {\"shape\": [2], \"axes\": [\"model\"]}, \"inputs\": "
      "[{\"global_shape\": [4, \"x\"], \"placements\": [\"R\"], \"dtype\": \"float32\"}]}" },
    { "pickprofile.json",
      "{\"profile\": \"G9\", \"op\": \"matmul\", \"mesh\": {\"shape\": [2], \"axes\": [\"model\"]}, \"inputs\": []}" },
    { "pickplaces.json",
      "{\"profile\": \"G1\", \"op\": \"matmul\", \"mesh\": {\"shape\": [2], \"axes\": [\"model\"]}, \"inputs\": "
      "[{\"global_shape\": [4, 8], \"placements\": [\"Q\"], \"dtype\": \"float32\"}, {\"global_shape\": [8, 4], \"placements\": "
      "[\"R\"], \"dtype\": \"float32\"}]}" },
    { "notjson.json", "{'a': 1}" },
    { "count/config.json",
      "{\"model_type\":\"llama\",\"vocab_size\":2147483648,\"hidden_size\":2147483648,\"intermediate_size\":192,\"num_hidden_"
      "layers\":90000,\"num_attention_heads\":8,\"num_key_value_heads\":4}" },
    { "epsilon/config.json",
      "{\"model_type\":\"llama\",\"vocab_size\":320,\"hidden_size\":64,\"intermediate_size\":192,\"num_hidden_layers\":3,\"num_"
      "attention_heads\":8,\"num_key_value_heads\":4,\"rms_norm_eps\":\"" MANY_WIDE "\"}" },
    { "version.shardboard", "{\"format\": \"shardboard\", \"version\": \"" MANY_WIDE "\"}" },
    { "modulewide.json", "{\"module\": \"Linear\", \"params\": \"" MANY_WIDE "\"}" },
    { "pickwide.json",
      "{\"profile\": \"G1\", \"op\": \"matmul\", \"mesh\": {\"shape\": [2], \"axes\": [\"model\"]}, \"inputs\": "
      "[{\"global_shape\": [4, 8], \"placements\": [\"" MANY_WIDE "\"]}, {\"global_shape\": [8, 8], \"placements\": [\"R\"]}]}" },
    { "wide.yml", "logical_axis_rules: \"" MANY_WIDE "\"\n" },
    { "twice.json", "{\"w\": {\"partition_spec\": [\"embed\", \"embed\"]}}" },
    { "flatten.json",
      "{\"op\": \"flatten\", \"attrs\": {\"start_dim\": 1, \"end_dim\": 0}, \"mesh\": {\"shape\": [2], \"axes\": [\"a\"]}, "
      "\"inputs\": [{\"global_shape\": [4, 4], \"placements\": [\"R\"]}]}" },
};

struct Wrong {
    const char* name;
    QStringList arguments;
    const char* about; ///< what the message has to name
};

const std::vector<Wrong> kWrong {
    { "no such command", { "frobnicate" }, "frobnicate" },
    { "nothing named", { "plan" }, "DESIGN" },
    { "one too many", { "plan", "d.shardboard", "e.shardboard" }, "e.shardboard" },
    { "no such option", { "plan", "d.shardboard", "--nope" }, "--nope" },
    { "option without value", { "plan", "d.shardboard", "--hardware" }, "--hardware" },
    { "option twice", { "plan", "d.shardboard", "--picker", "greedy", "--picker", "greedy" }, "--picker" },
    { "mesh size a word", { "new", "--model", "llama3-8b", "--mesh", "data=x", "-o", "m.shardboard" }, "--mesh" },
    { "mesh size 0", { "new", "--model", "llama3-8b", "--mesh", "data=0", "-o", "m.shardboard" }, "data" },
    { "mesh axis twice", { "new", "--model", "llama3-8b", "--mesh", "data=2,data=2", "-o", "m.shardboard" }, "data" },
    { "empty mesh", { "new", "--model", "llama3-8b", "--mesh", "", "-o", "m.shardboard" }, "mesh" },
    { "mesh too large", { "new", "--model", "llama3-8b", "--mesh", "data=99999999,model=99999999", "-o", "m.shardboard" }, "mesh" },
    { "no such model", { "new", "--model", "nosuch", "--mesh", "data=2", "-o", "m.shardboard" }, "nosuch" },
    { "no output named", { "new", "--model", "llama3-8b", "--mesh", "data=2" }, "-o" },
    { "no such preset",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--preset", "nosuch" },
      "nosuch" },
    { "no such workload",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "nosuch" },
      "nosuch" },
    { "batch a word",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--batch", "abc" },
      "--batch" },
    { "batch below 1",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--batch", "-1" },
      "--batch" },
    { "sequence 0",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--sequence", "0" },
      "--sequence" },
    { "no such dtype",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--dtype", "f7" },
      "f7" },
    { "no such recompute",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "train", "--recompute",
        "nosuch" },
      "nosuch" },
    { "no such optimizer",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "train", "--optimizer",
        "nosuch" },
      "nosuch" },
    { "optimizer without training",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--optimizer", "muon" },
      "--optimizer" },
    { "no such offload",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "train", "--offload",
        "weights,nosuch" },
      "nosuch" },
    { "offload of nothing",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "train", "--offload",
        "" },
      "--offload" },
    { "layers of no offload",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "train",
        "--offload-layers", "3" },
      "--offload-layers" },
    { "offload of fewer layers than none",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "train", "--offload",
        "weights", "--offload-layers", "-1" },
      "--offload-layers" },
    { "every 0th layer",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "train", "--recompute",
        "full", "--recompute-every", "0" },
      "--recompute-every" },
    { "every second layer of a prefill",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--recompute-every", "2" },
      "--recompute-every" },
    { "too many further tokens",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "train", "--mtp",
        "99999999999999999999" },
      "--mtp" },
    { "further tokens of a prefill",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--mtp", "1" },
      "--mtp" },
    { "no such grouping",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "train",
        "--group-collectives", "sometimes" },
      "sometimes" },
    { "recompute without training",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--recompute", "full" },
      "--recompute" },
    { "micro batches 0",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--workload", "train",
        "--micro-batches", "0" },
      "--micro-batches" },
    { "no pin",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--pin", "nonsense" },
      "nonsense" },
    { "no such hardware",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--hardware", "nosuch" },
      "nosuch" },
    { "no such attention",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--attention", "nosuch" },
      "nosuch" },
    { "no such overlap",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--overlap", "nosuch" },
      "nosuch" },
    { "no such logits",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--logits", "nosuch" },
      "nosuch" },
    { "no such software",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--software", "nosuch" },
      "nosuch" },
    { "no folder to write to",
      { "new", "--model", "llama3-8b", "--mesh", "data=2", "-o", "/no/such/folder/m.shardboard" },
      "/no/such/folder" },
    { "rules that are not there",
      { "new", "--model", "llama3-8b", "-o", "made.shardboard", "--rules", "nosuch.yml", "--devices-per-slice", "8" },
      "nosuch.yml" },
    { "hardware of no base",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--hardware", "hardware.json" },
      "hardware.json" },
    { "hardware of negative memory",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--hardware", "speed.json" },
      "memory_bytes" },
    { "hardware key misspelt",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--hardware", "key.json" },
      "devise" },
    { "hardware no JSON",
      { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", "made.shardboard", "--hardware", "notjson.json" },
      "notjson.json" },
    { "config of nothing", { "new", "--model", "config/config.json", "--mesh", "data=2", "-o", "m.shardboard" }, "config.json" },
    { "unknown family", { "new", "--model", "family/config.json", "--mesh", "data=2", "-o", "m.shardboard" }, "mystery" },
    { "heads that do not divide", { "new", "--model", "heads/config.json", "--mesh", "data=2", "-o", "m.shardboard" }, "heads" },
    { "negative vocabulary", { "new", "--model", "negative/config.json", "--mesh", "data=2", "-o", "m.shardboard" }, "vocab_size" },
    { "vocabulary a word", { "new", "--model", "words/config.json", "--mesh", "data=2", "-o", "m.shardboard" }, "vocab_size" },
    { "number out of range", { "new", "--model", "range/config.json", "--mesh", "data=2", "-o", "m.shardboard" }, "config.json" },
    { "short checkpoint",
      { "new", "--model", "short.safetensors", "--mesh", "data=2", "-o", "m.shardboard" },
      "short.safetensors" },
    { "header beyond the file",
      { "new", "--model", "huge.safetensors", "--mesh", "data=2", "-o", "m.shardboard" },
      "huge.safetensors" },
    { "header no JSON", { "new", "--model", "text.safetensors", "--mesh", "data=2", "-o", "m.shardboard" }, "text.safetensors" },
    { "folder without a model", { "new", "--model", "emptyfolder", "--mesh", "data=2", "-o", "m.shardboard" }, "emptyfolder" },
    { "design not there", { "plan", "nosuch.shardboard" }, "nosuch.shardboard" },
    { "design a folder", { "plan", "emptyfolder" }, "emptyfolder" },
    { "design empty", { "plan", "empty.shardboard" }, "empty.shardboard" },
    { "design no JSON", { "plan", "text.shardboard" }, "text.shardboard" },
    { "design cut off", { "plan", "cut.shardboard" }, "cut.shardboard" },
    { "design something else", { "plan", "other.shardboard" }, "other.shardboard" },
    { "design of a newer version", { "plan", "newer.shardboard" }, "999" },
    { "design nested deep", { "plan", "deep.shardboard" }, "deep.shardboard" },
    { "design of a mesh a word", { "plan", "mesh.shardboard" }, "mesh" },
    { "design of an unknown axis", { "plan", "axis.shardboard" }, "nosuch" },
    { "design of an unknown strategy", { "plan", "strategy.shardboard" }, "nosuch" },
    { "design of unknown hardware", { "plan", "hardware.shardboard" }, "nosuch" },
    { "design of batch 0", { "plan", "batch.shardboard" }, "batch" },
    { "design of a wrong spec", { "plan", "spec.shardboard" }, "spec" },
    { "no such picker", { "plan", "d.shardboard", "--picker", "nosuch" }, "nosuch" },
    { "no such profile", { "plan", "d.shardboard", "--profile", "G9" }, "G9" },
    { "no such mode", { "plan", "d.shardboard", "--on-reshard", "shout" }, "shout" },
    { "no such transition", { "plan", "d.shardboard", "--allow-transitions", "P->Q" }, "P->Q" },
    { "budget a word", { "plan", "d.shardboard", "--profile", "G0", "--budget", "lots" }, "--budget" },
    { "refused by a mode", { "plan", "d.shardboard", "--on-reshard", "raise" }, "all-reduce" },
    { "compared with nothing", { "plan", "d.shardboard", "--against", "nosuch.shardboard" }, "nosuch.shardboard" },
    { "explain nothing", { "explain", "d.shardboard", "nosuch" }, "nosuch" },
    { "what-if a word", { "explain", "d.shardboard", "q_proj", "--what-if", "x" }, "--what-if" },
    { "repair that is not there", { "check", "d.shardboard", "--repair", "999", "-o", "r.shardboard" }, "999" },
    { "repair a word", { "check", "d.shardboard", "--repair", "x", "-o", "r.shardboard" }, "--repair" },
    { "backend not there", { "run", "d.shardboard", "--backend", "nosuch" }, "nosuch" },
    { "engine not there", { "run", "d.shardboard", "--layers", "1", "--engine", "/no/such/engine" }, "/no/such/engine" },
    { "engine that dies", { "run", "d.shardboard", "--layers", "1", "--engine", "/bin/false" }, "/bin/false" },
    { "layers below 0", { "run", "d.shardboard", "--layers", "-2" }, "--layers" },
    { "steps 0", { "run", "d.shardboard", "--steps", "0" }, "--steps" },
    { "profile nowhere", { "run", "d.shardboard", "--layers", "1", "--profile", "/no/such/p.json" }, "/no/such" },
    { "projected on nothing", { "run", "d.shardboard", "--layers", "1", "--project", "nosuch" }, "nosuch" },
    { "export to nothing", { "export", "d.shardboard", "--to", "nosuch", "-o", "out" }, "nosuch" },
    { "export into a file", { "export", "d.shardboard", "--to", "jax", "-o", "notjson.json" }, "notjson.json" },
    { "export onto a folder", { "export", "d.shardboard", "--to", "jax", "-o", "taken" }, "export.py is written" },
    { "export that cannot be said", { "export", "uneven.shardboard", "--to", "jax", "-o", "out" }, "embed_tokens" },
    { "export through a link", { "export", "d.shardboard", "--to", "jax", "-o", "links" }, "links/shards.json: is a link" },
    { "export of a million devices",
      { "export", "million.shardboard", "--to", "jax", "-o", "out" },
      "million.shardboard:mesh: shards.json would take" },
    { "export of a pipeline", { "export", "stages.shardboard", "--to", "jax", "-o", "out" }, "stages.shardboard:pipeline" },
    { "dump through a link", { "dump", "d.shardboard", "-o", "links" }, "links/input_shardings.json: is a link" },
    { "dump nowhere", { "dump", "d.shardboard", "-o", "notjson.json" }, "notjson.json" },
    { "difference to nothing", { "diff", "d.shardboard", "nosuch" }, "nosuch" },
    { "difference to what is no layout", { "diff", "d.shardboard", "other.shardboard" }, "other.shardboard" },
    { "shards of nothing", { "diff", "d.shardboard", "shards.json" }, "shards.json" },
    { "dump of a wrong form", { "diff", "d.shardboard", "logical.json" }, "logical.json" },
    { "no such benchmark", { "bench", "nosuch" }, "nosuch" },
    { "calibration nowhere", { "calibrate", "-o", "/no/such/here.json" }, "/no/such" },
    { "no such preset of hardware", { "hardware", "nosuch" }, "nosuch" },
    { "shape a word", { "tiles", "--shape", "10,x", "--mesh", "model=2", "--strategy", "rowwise" }, "--shape" },
    { "no strategy or spec", { "tiles", "--shape", "10,4", "--mesh", "model=2" }, "--strategy" },
    { "no such strategy", { "tiles", "--shape", "10,4", "--mesh", "model=2", "--strategy", "nosuch" }, "nosuch" },
    { "dim beyond the shape", { "tiles", "--shape", "10,4", "--mesh", "model=2", "--strategy", "axiswise", "--dim", "7" }, "7" },
    { "strategy without heads", { "tiles", "--shape", "12,4", "--mesh", "model=2", "--strategy", "stacked-qkv" }, "--num-heads" },
    { "gate-up of an odd dim", { "tiles", "--shape", "7,4", "--mesh", "model=2", "--strategy", "gate-up", "--dim", "0" }, "7" },
    { "segments that do not add up",
      { "tiles", "--shape", "10,4", "--mesh", "model=2", "--strategy", "segmented", "--dim", "0", "--segment", "even:3" },
      "3" },
    { "no segment",
      { "tiles", "--shape", "10,4", "--mesh", "model=2", "--strategy", "segmented", "--dim", "0", "--segment", "odd:3" },
      "odd:3" },
    { "no such cut rule",
      { "tiles", "--shape", "10,4", "--mesh", "model=2", "--strategy", "rowwise", "--cut", "nosuch" },
      "nosuch" },
    { "cut that does not divide",
      { "tiles", "--shape", "10,4", "--mesh", "model=4", "--strategy", "rowwise", "--cut", "strict" },
      "10" },
    { "axis that is not there",
      { "tiles", "--shape", "10,4", "--mesh", "model=2", "--strategy", "rowwise", "--axis", "nosuch" },
      "nosuch" },
    { "spec of no axis", { "tiles", "--shape", "10,4", "--mesh", "model=2", "--spec", "P('nosuch')" }, "nosuch" },
    { "spec of an axis twice", { "tiles", "--shape", "10,4", "--mesh", "model=2", "--spec", "P('model','model')" }, "model" },
    { "spec of too many dims", { "tiles", "--shape", "10,4", "--mesh", "model=2", "--spec", "P(None,None,'model')" }, "dims" },
    { "spec cut off", { "tiles", "--shape", "10,4", "--mesh", "model=2", "--spec", "P('model" }, "P('model" },
    { "cuts beyond the shape", { "cuts", "--shape", "10,4", "--mesh", "model=2", "--dim", "5", "--axis", "model" }, "5" },
    { "grain 0", { "cuts", "--shape", "10,4", "--mesh", "model=2", "--dim", "0", "--axis", "model", "--grain", "0" }, "--grain" },
    { "placement of no kind", { "notation", "--mesh", "data=2,model=2", "R, Q" }, "Q" },
    { "sharding of other devices", { "notation", "--mesh", "data=2", "{devices=[3]<=[3]}" }, "3" },
    { "sharding cut off", { "notation", "--mesh", "model=2", "[{\"model\"" }, "TEXT" },
    { "no such notation", { "notation", "--mesh", "model=2", "--from", "nosuch", "P('model')" }, "nosuch" },
    { "notation that cannot say it",
      { "notation", "--mesh", "data=2,model=2", "--to", "hlo", "P('data') partial model" },
      "partial" },
    { "no such module", { "module", "module.json" }, "Nosuch" },
    { "module without parameters", { "module", "moduleparams.json" }, "moduleparams.json" },
    { "module no JSON", { "module", "notjson.json" }, "notjson.json" },
    { "no such operation", { "pick", "pick.json" }, "nosuch" },
    { "shape of an operand", { "pick", "pickshape.json" }, "pickshape.json" },
    { "profile of a request", { "pick", "pickprofile.json" }, "G9" },
    { "placement of a request", { "pick", "pickplaces.json" }, "Q" },
    { "request no JSON", { "pick", "notjson.json" }, "notjson.json" },
    { "no such action", { "rules", "nosuch" }, "nosuch" },
    { "no such rule set", { "rules", "show", "nosuch" }, "nosuch" },
    { "YAML cut off", { "rules", "show", "broken.yml" }, "broken.yml" },
    { "rules a number", { "rules", "show", "wrong.yml" }, "wrong.yml" },
    { "option of no value", { "rules", "show", "default", "--set", "nokey" }, "nokey" },
    { "no such topology", { "rules", "resolve", "--topology", "nosuch", "--logical", "logical.json" }, "nosuch" },
    { "rules without devices", { "rules", "resolve", "--logical", "logical.json" }, "--devices-per-slice" },
    { "logical names of a wrong form",
      { "rules", "resolve", "--devices-per-slice", "8", "--logical", "logical.json" },
      "logical.json" },
    { "two equal dim names", { "rules", "resolve", "--devices-per-slice", "8", "--logical", "twice.json" }, "twice.json:w: " },
    { "weights too large to count",
      { "new", "--model", "count/config.json", "--mesh", "data=2", "-o", "m.shardboard" },
      "count/config.json:vocab_size: " },
    { "weights of a design too large to count", { "plan", "count.shardboard" }, "count.shardboard:model.vocab_size: " },
    { "text for a number", { "new", "--model", "epsilon/config.json", "--mesh", "data=2", "-o", "m.shardboard" }, "rms_norm_eps" },
    { "version a text", { "plan", "version.shardboard" }, "version.shardboard:version: " },
    { "parameters a text", { "module", "modulewide.json" }, "modulewide.json:params: " },
    { "placement a text", { "pick", "pickwide.json" }, "pickwide.json:inputs[0].placements[0]: " },
    { "rules a text", { "rules", "show", "wide.yml" }, "wide.yml:1:" },
    { "mesh of wide letters",
      { "tiles", "--shape", "8,8", "--mesh", QStringLiteral("x").append(QString(400, QChar(0x5c42))), "--strategy", "rowwise" },
      "--mesh: 'x" },
    { "YAML nested deep", { "rules", "show", "deep.yml" }, "deep.yml:1:" },
    { "dims in the wrong order", { "pick", "flatten.json" }, "flatten.json:attrs.start_dim: " },
    { "export that cannot be said, of a file",
      { "export", "uneven.shardboard", "--to", "jax", "-o", "out" },
      "uneven.shardboard:" },
    { "dump that cannot be said", { "dump", "turned.shardboard", "-o", "out" }, "turned.shardboard:mesh.device_ids: " },
    { "tensor of no dump", { "rules", "explain", "--devices-per-slice", "8", "--names", "embed,mlp", "--shape", "3" }, "--shape" },
};

/// What stands in the way of a message being one that helps; empty: nothing.
QString flaw(const QString& text, const QString& about)
{
    if (text.count(QLatin1Char('\n')) != 0)
        return QStringLiteral("not one line");
    if (text.contains(QChar::ReplacementCharacter))
        return QStringLiteral("is cut inside a character");
    if (!text.startsWith(QLatin1String("shardctl")))
        return QStringLiteral("does not say which program");
    if (!text.contains(about))
        return QStringLiteral("does not name ") + about;
    const auto end = text.lastIndexOf(QLatin1String("; "));
    if (end < 0)
        return QStringLiteral("does not say what to do");
    const QString what = text.left(end);
    const QString fix = text.mid(end + 2);
    if (fix.split(QLatin1Char(' '), Qt::SkipEmptyParts).size() < 2)
        return QStringLiteral("hardly says what to do");
    static const QRegularExpression detail(QStringLiteral("^(expected|nothing|at |found|because|invalid)"));
    if (detail.match(fix).hasMatch())
        return QStringLiteral("says a detail in place of what to do");
    static const QRegularExpression ended(QStringLiteral("[\\w\\)\\]\\}'\"…>=*.]$"));
    if (!ended.match(fix).hasMatch() || !ended.match(what).hasMatch())
        return QStringLiteral("ends in the middle");
    // Only words of people: no types, functions or numbers of errors of libraries.
    static const QRegularExpression internal(
        QStringLiteral("std::|nlohmann|json\\.exception|YAML::|exception\\b|errno|0x[0-9a-f]{4}|nullptr|basic_string|vector|"
                       "\\bassert|abort|core dumped|\\(nil\\)|unknown error"));
    if (internal.match(text).hasMatch())
        return QStringLiteral("speaks of what is inside: ") + internal.match(text).captured();
    return {};
}

} // namespace

class TestMessages : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void cleanupTestCase() { QDir::setCurrent(m_before); }
    void flawsAreFound_data();
    void flawsAreFound();
    void enoughAreLookedAt();
    void filesHere();
    void wrong_data();
    void wrong();

private:
    void change(const QString& name, const std::function<void(QJsonObject&)>& edit);

    QTemporaryDir m_folder;
    QString m_before = QDir::currentPath();
    QJsonObject m_design;
};

/// A copy of the design that differs in one thing.
void TestMessages::change(const QString& name, const std::function<void(QJsonObject&)>& edit)
{
    QJsonObject design = m_design;
    edit(design);
    QVERIFY(writeFile(name, QJsonDocument(design).toJson()));
}

void TestMessages::initTestCase()
{
    QVERIFY(QDir::setCurrent(m_folder.path()));
    for (const File& file : kFiles)
        QVERIFY(writeFile(QString::fromLatin1(file.name), file.text));
    QVERIFY(writeFile(QStringLiteral("deep.shardboard"), QByteArray(3000, '[')));
    QVERIFY(writeFile(QStringLiteral("deep.yml"), "a: " + QByteArray(100, '[') + QByteArray(100, ']')));
    QVERIFY(writeFile(QStringLiteral("huge.safetensors"), QByteArray(7, '\xff') + QByteArray("\x7f{}", 3)));
    QVERIFY(writeFile(QStringLiteral("text.safetensors"), QByteArray("\x04\0\0\0\0\0\0\0oops", 12)));
    QVERIFY(QDir().mkpath(QStringLiteral("emptyfolder")) && QDir().mkpath(QStringLiteral("taken/shards.json")));
    QVERIFY(QDir().mkpath(QStringLiteral("links")));
    for (const char* name : { "links/shards.json", "links/input_shardings.json" })
        QVERIFY(QFile::link(QStringLiteral("nowhere"), QString::fromLatin1(name)));
    const Outcome made = shardctl({ "new", "--model", "good/config.json", "--mesh", "data=2,model=4", "--preset", "megatron-tp",
                                    "--batch", "4", "--sequence", "16", "-o", "d.shardboard" });
    QVERIFY2(made.code == 0, qPrintable(made.err));
    m_design = QJsonDocument::fromJson(contentOf(QStringLiteral("d.shardboard"))).object();
    const auto add = [](QJsonObject& object, const QJsonObject& strategy) {
        QJsonArray all = object[QStringLiteral("strategies")].toArray();
        all.append(strategy);
        object[QStringLiteral("strategies")] = all;
    };
    const auto set = [](QJsonObject& object, const char* part, const char* key, const QJsonValue& value) {
        QJsonObject inner = object[QLatin1String(part)].toObject();
        inner[QLatin1String(key)] = value;
        object[QLatin1String(part)] = inner;
    };
    change(QStringLiteral("mesh.shardboard"), [](QJsonObject& it) { it[QStringLiteral("mesh")] = QStringLiteral("words"); });
    change(QStringLiteral("hardware.shardboard"),
           [](QJsonObject& it) { it[QStringLiteral("hardware")] = QStringLiteral("nosuch"); });
    change(QStringLiteral("axis.shardboard"), [&](QJsonObject& it) {
        add(it, { { "match", "*norm*" }, { "strategy", "rowwise" }, { "axes", QJsonArray { "nosuch" } } });
    });
    change(QStringLiteral("strategy.shardboard"), [&](QJsonObject& it) {
        add(it, { { "match", "*" }, { "strategy", "nosuch" } });
    });
    change(QStringLiteral("spec.shardboard"), [&](QJsonObject& it) {
        add(it, { { "match", "*norm*" }, { "strategy", "spec" }, { "spec", "P('model" } });
    });
    change(QStringLiteral("batch.shardboard"), [&](QJsonObject& it) { set(it, "workload", "batch", 0); });
    change(QStringLiteral("million.shardboard"), [&](QJsonObject& it) {
        set(it, "mesh", "sizes", QJsonArray { 1024, 1024 });
        set(it, "model", "num_hidden_layers", 8);
        set(it, "workload", "batch", 1024);
    });
    change(QStringLiteral("stages.shardboard"), [](QJsonObject& it) {
        it[QStringLiteral("pipeline")] = QJsonObject { { QStringLiteral("axis"), QStringLiteral("data") } };
    });
    change(QStringLiteral("uneven.shardboard"), [&](QJsonObject& it) { set(it, "model", "vocab_size", 321); });
    change(QStringLiteral("turned.shardboard"), [&](QJsonObject& it) {
        set(it, "mesh", "device_ids", QJsonArray { 7, 6, 5, 4, 3, 2, 1, 0 });
    });
    change(QStringLiteral("count.shardboard"), [&](QJsonObject& it) {
        set(it, "model", "vocab_size", qint64 { 1 } << 31);
        set(it, "model", "hidden_size", qint64 { 1 } << 31);
        set(it, "model", "num_hidden_layers", 90000);
    });
}

/// A file that is named without a folder is the file, and not the folder `.`.
void TestMessages::filesHere()
{
    QVERIFY(QDir::setCurrent(m_folder.filePath(QStringLiteral("family"))));
    const Outcome outcome = shardctl({ "new", "--model", "config.json", "--mesh", "data=2", "-o", "m.shardboard" });
    QVERIFY(QDir::setCurrent(m_folder.path()));
    QCOMPARE(outcome.code, 3);
    const QString found = flaw(outcome.err.trimmed(), QStringLiteral("shardctl: config.json: "));
    QVERIFY2(found.isEmpty(), qPrintable(found + QStringLiteral(": ") + outcome.err));
}

/// The measure itself: each of these is a bad message.
void TestMessages::flawsAreFound_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("told");
    QTest::newRow("good") << QStringLiteral("shardctl: a.json: is a folder; name a file in it") << QString();
    QTest::newRow("no fix") << QStringLiteral("shardctl: a.json: cannot be read") << QStringLiteral("does not say what to do");
    QTest::newRow("a detail for a fix") << QStringLiteral("shardctl: a.json:1:2: not valid JSON; expected '}'")
                                        << QStringLiteral("says a detail");
    QTest::newRow("nameless") << QStringLiteral("shardctl: cannot be read; check the path")
                              << QStringLiteral("does not name a.json");
    QTest::newRow("of a library") << QStringLiteral("shardctl: a.json: [json.exception.parse_error.101]; check the file")
                                  << QStringLiteral("speaks of what is inside");
    QTest::newRow("cut character") << QString::fromUtf8("shardctl: a.json: cannot be '\xe5\xb1...'; use a number")
                                   << QStringLiteral("is cut inside a character");
    QTest::newRow("cut") << QStringLiteral("shardctl: a.json: cannot be read: ; check the file")
                         << QStringLiteral("ends in the middle");
    QTest::newRow("lines") << QStringLiteral("shardctl: a.json: cannot\nbe read; check the file") << QStringLiteral("not one line");
}

void TestMessages::flawsAreFound()
{
    QFETCH(QString, text);
    QFETCH(QString, told);
    const QString found = flaw(text, QStringLiteral("a.json"));
    QVERIFY2(told.isEmpty() ? found.isEmpty() : found.startsWith(told), qPrintable(found));
}

/// Of every command, and of every kind of file.
void TestMessages::enoughAreLookedAt()
{
    QVERIFY(kWrong.size() >= 100);
    for (const char* command : { "plan", "new", "explain", "check", "run", "export", "dump", "diff", "bench", "calibrate",
                                 "hardware", "tiles", "cuts", "notation", "module", "pick", "rules" })
        QVERIFY2(std::ranges::any_of(kWrong, [&](const Wrong& it) { return it.arguments.front() == QLatin1String(command); }),
                 command);
}

void TestMessages::wrong_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("about");
    for (const Wrong& it : kWrong)
        QTest::newRow(it.name) << it.arguments << QString::fromUtf8(it.about);
}

void TestMessages::wrong()
{
    QFETCH(QStringList, arguments);
    QFETCH(QString, about);
    const Outcome outcome = shardctl(arguments);
    QVERIFY2(outcome.code >= 2 && outcome.code <= 4, qPrintable(QStringLiteral("%1: %2").arg(outcome.code).arg(outcome.err)));
    const QString text = outcome.err.trimmed().section(QLatin1Char('\n'), -1); // before it, what a run announces
    const QString found = flaw(text, about);
    QVERIFY2(found.isEmpty(), qPrintable(found + QStringLiteral(": ") + text));
    QCOMPARE(outcome.out, QString()); // no result beside an error
}

SHARDBOARD_TEST(TestMessages)
#include "tst_messages.moc"
