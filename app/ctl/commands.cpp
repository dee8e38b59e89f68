// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/commands.h"
#include "app/ctl/memoryoptions.h"
#include "app/ctl/pipelineoptions.h"

#include "model/design/evaluate/evaluate.h"
#include "model/io/design/designfile.h"
#include "model/io/max/modulejson.h"
#include "model/io/max/pickrequest.h"
#include "model/io/targets/targets.h"

#include <algorithm>
#include <iostream>

namespace shardboard {

namespace {

/// The targets as they are, and what holds for all of them.
std::string exportHelp()
{
    std::string out = "Targets:\n";
    for (const ExportTarget& target : exportTargets())
        out += "  " + target.id + std::string(12 - std::min<std::size_t>(11, target.id.size()), ' ') + target.title + ": "
            + target.summary + "\n";
    return out
        + "A layout that the target cannot express exactly is refused by name, and nothing is written. What else the design has "
          "and\n"
          "the files do not is listed on stderr and at their head. Existing files of the same names are replaced; a link of such "
          "a\n"
          "name is refused, because it leads out of the folder. --prove exits 0 when all shards are equal, 1 when some differ, 3 "
          "when\n"
          "this Python does not have the framework.\n";
}

} // namespace

const std::vector<Command>& commands()
{
    static const OptionSpec kJson { "--json", "", "one JSON document on stdout" };
    static const OptionSpec kRanks {
        "--ranks", "N",
        "processes that mpirun starts for mpi (one per device, at most one per core; with --hosts, all of theirs) or nccl (one)"
    };
    static const OptionSpec kHosts { "--hosts", "LIST",
                                     "hosts to run on, for mpi and nccl: host1:2,host2:2 or a hostfile (this host)" };
    static const std::vector<Command> kCommands {
        { "models", "lists the built-in models", {}, { kJson }, modelsCommand, {} },
        { "hardware",
          "lists the hardware presets, or shows one with its units and sources",
          { "[ID]" },
          { { "--here", "",
              "the GPUs of this machine and their memory as the worker reads them, with the constants of the "
              "built-in device" },
            { "--engine", "COMMAND", "command that starts the worker (shardboard-engine beside shardctl)" },
            kJson },
          hardwareCommand,
          "With --json, one preset is printed as a hardware file that can be edited and given to --hardware; ID can also be such a "
          "file.\n"
          "{\"format\": \"shardboard-hardware\", \"version\": 1, \"base\": \"dgx-h100\", \"levels\": [{}, {\"link\":\n"
          "{\"bytes_per_second\": 2e10}}]} gives only what differs.\n" },
        { "new",
          "makes a design from a model and a mesh",
          {},
          withPipelineOptions(withMemoryOptions(
              { { "--model", "MODEL", "built-in name, config.json, checkpoint folder, FILE.safetensors, or FILE.gguf" },
                { "--in-dim", "N", "for --model column-parallel-linear, a single module: y = x Wt, W [out, in]" },
                { "--out-dim", "N", "for the same" },
                { "--bias", "", "for the same: add a bias" },
                { "--tied", "", "for the same: the weight is also an embedding table, in which tokens are looked up" },
                { "--mesh", "AXES", "device mesh, e.g. data=2,model=4" },
                { "--hardware", "ID", "hardware preset, or a hardware file *.json (dgx-h100)" },
                { "--workload", "KIND", "prefill, decode or train (prefill)" },
                { "--micro-batches", "N", "train: split the batch into this many parts (1)" },
                { "--recompute", "WHAT",
                  "train: none, selective, by-op (TorchTitan), full, or a list of parts of a layer: norms, activations, attention, "
                  "rotation, qkv, "
                  "latent-up, output, mlp-in, mlp-out, experts, shared-experts, residuals, second-products; or as frameworks say: "
                  "Megatron's modules (core_attn, mla_up_proj, ...), MaxText's policies (minimal, ...) (none)" },
                { "--recompute-layers", "N",
                  "train: only the first N layers of every run of layers of a stage recompute (0: all)" },
                { "--recompute-every", "N",
                  "train: of these every N-th layer of a stage recomputes, as TorchTitan's selective recompute by a number does "
                  "(1: "
                  "all of them)" },
                { "--shard-optimizer", "AXES",
                  "train: mesh axes that cut the optimizer states where they do not cut the weights (ZeRO-1)" },
                { "--shard-gradients", "", "train: gradients too, in every micro-batch (ZeRO-2)" },
                { "--optimizer", "RULE", "train: adam, muon (matrices of layers; the rest adam) or sgd (with momentum) (adam)" },
                { "--offload", "WHAT",
                  "train: what lies in the memory of the host: none, or a list of optimizer (states; the host makes the step), "
                  "weights, "
                  "and activations (what layers keep) (none)" },
                { "--offload-layers", "N", "train: only that of the first N layers of every run of layers of a stage (0: all)" },
                { "--mtp", "N",
                  "train: modules that predict further tokens, behind the layers (DeepSeek-V3) (as many as the model's config.json "
                  "says)" },
                { "--attention", "KERNEL", "flash, or unfused: scores are written to memory (flash)" },
                { "--overlap", "WHAT",
                  "collectives that run while the device computes: none, weights (those of weights and their gradients, like "
                  "FSDP), "
                  "all, or a list of weight-gathers, gradient-scatters, tensor (async TP), experts, context, sends and host "
                  "(none)" },
                { "--batch", "N", "sequences in a step (8)" },
                { "--sequence", "N", "tokens in a sequence; for decode, entries in the KV cache (4096)" },
                { "--logits", "WHICH", "prefill: of the last token of each sequence, to serve, or of all, to score texts (last)" },
                { "--software", "WHOSE",
                  "kernels other than matrix products: fused (Megatron-LM, XLA), compiled (torch.compile) or eager (fused)" },
                { "--dispatch", "HOW",
                  "tokens of a mixture of experts: per-expert, or per-node, once to every node of their experts (DeepEP, HybridEP) "
                  "(per-expert)" },
                { "--context-order", "HOW",
                  "which tokens a device has of a sequence that is cut: head-tail, a part of its front and one of its end, or "
                  "in-order (head-tail)" },
                { "--capacity-factor", "F", "rows that are reserved for an expert, by those of an even choice (0: dropless)" },
                { "--graphs", "", "kernels are recorded in CUDA graphs, which saves a part of every launch" },
                { "--dtype", "TYPE",
                  "bf16, f16, f32 or f8e4m3 (as released); training in f8e4m3 keeps bf16 except in the layers' products; a device "
                  "without fp8 computes in bf16" },
                { "--fp8", "RECIPE",
                  "train with --dtype f8e4m3: how values are scaled: delayed, tensorwise (current), rowwise, blockwise, mxfp8 or "
                  "nvfp4" },
                { "--fp8-gather", "", "the same: weights of the layers' products are gathered in fp8" },
                { "--precision", "TYPES",
                  "what is held in another type than --dtype says, e.g. weights=f32,gradients=f32: of weights, activations, cache, "
                  "gradients, optimizer, master (the optimizer's copy of the weights), and reductions (of gradients)" },
                { "--preset", "NAME",
                  "replicate, megatron-tp, tp-sp, fsdp, hsdp, tp+fsdp, tp-sp+fsdp, ep, ep+tp, cp-ring, cp-all-gather,\n"
                  "cp-ulysses, pp-1f1b, pp-interleaved, or parts joined by +, see below (replicate; for a module megatron-tp)" },
                { "--pin", "PIN",
                  "how activations are laid out, '*:batch=data,fsdp', or which row an operation takes, "
                  "'block/self_attn.attention@context=S1 R R -> S1'; may be repeated",
                  true },
                { "--rules", "FILE",
                  "logical axis rules instead: mesh-and-rule file (YAML) or built-in rule set; the design then has no strategies, "
                  "because those come before rules" },
                { "--devices-per-slice", "N", "with --rules: use the mesh of the rules, on this many devices" },
                { "--topology", "NAME", "accelerator instead, e.g. tpu7x-16" },
                { "--slices", "N", "slices (1)" },
                { "--base", "FILE", "with --rules: base.yml, or a built-in rule set (default)" },
                { "--set", "KEY=VALUE", "with --rules: an option as on MaxText's command line; may be repeated", true },
                { "-o", "FILE", "design file to write" },
                kJson })),
          newCommand,
          presetPartsText() },
        { "tiles",
          "shows the shards of one weight",
          {},
          { { "--shape", "SIZES", "of the weight, e.g. 6144,4096" },
            { "--mesh", "AXES", "device mesh, e.g. model=4" },
            { "--strategy", "KIND",
              "replicate, rowwise (dim 0), columnwise (dim 1), axiswise, head-aware-columnwise,"
              " stacked-qkv, gate-up, segmented" },
            { "--dim", "N", "tensor dim for axiswise, gate-up (2) and segmented; negative counts from the end" },
            { "--num-heads", "N", "heads, for head-aware-columnwise and stacked-qkv" },
            { "--head-dim", "N", "elements of a head, for the same" },
            { "--segment", "SEGMENT", "even:SIZE or heads:NUMBER:HEAD_DIM, for segmented; may be repeated, in order", true },
            { "--axis", "NAMES", "mesh axes to cut over, major first (the only one)" },
            { "--spec", "SPEC", "a layout in any notation instead, e.g. \"P(None,'model')\" or \"R, S(1)\"" },
            { "--cut", "RULE", "strict, ceil-flat, ceil-nested, balanced, grain-balanced (strategies: balanced; --spec: strict)" },
            { "--grain", "N", "elements that stay together, for --cut grain-balanced" },
            { "--dtype", "TYPE", "for the bytes (bf16)" },
            kJson },
          tilesCommand,
          "MAX's rowwise cuts dim 0, which others call column-parallel; columnwise cuts dim 1, row-parallel.\n" },
        { "module",
          "shows what a module makes of its weights under a strategy",
          { "REQUEST" },
          { { "-o", "FILE", "also write a design of the module, to plan and run it (ColumnParallelLinear)" }, kJson },
          moduleCommand,
          moduleHelp() },
        { "notation",
          "reads a layout in one notation and writes it in the others",
          { "TEXT" },
          { { "--mesh", "AXES", "device mesh, e.g. data=2,model=4" },
            { "--device-ids", "IDS", "the device of each mesh position, row-major (0,1,2,…)" },
            { "--rank", "N", "tensor dims (2)" },
            { "--shape", "SIZES", "of the tensor instead, e.g. 16,8" },
            { "--from", "NOTATION", "jax, shardy, hlo, hlo-v1, dtensor or max (detected)" },
            { "--to", "NOTATION", "write this one alone; exit 3 if it cannot express the layout" },
            { "--dtype", "TYPE", "for the short form with sizes (bf16)" },
            kJson },
          notationCommand,
          "TEXT is for example \"P(('model','data'))\", '[{\"model\"}, {}]', '{devices=[4,1,2]<=[2,4]T(1,0) "
          "last_tile_dim_replicate}',\n"
          "'R, S(0)' (one placement per mesh axis) or 'Replicated, Sharded(0)'. Mesh axes of size 1 cut nothing: HloSharding\n"
          "omits them, and DTensor and MAX omit their place in an order. DTensor's _S is torch's private _StridedShard.\n" },
        { "cuts",
          "compares the five cut rules for one tensor",
          {},
          { { "--shape", "SIZES", "of the tensor, e.g. 10,4" },
            { "--mesh", "AXES", "device mesh, e.g. data=2,model=3" },
            { "--dim", "N", "the dim to cut; negative counts from the end" },
            { "--axis", "NAMES", "mesh axes to cut it over, major first" },
            { "--spec", "SPEC", "a layout in any notation instead, e.g. \"P(('data','model'))\"" },
            { "--grain", "N", "elements that stay together, which grain-balanced needs" },
            kJson },
          cutsCommand,
          "Padding is what is added when every part is padded to the largest. Devices are mesh positions, row-major; in JSON\n"
          "runs of them are half-open, and sizes are pairs of a size and how many parts have it.\n" },
        { "rules",
          "logical axis rules of MaxText: resolve, explain, list, show",
          { "ACTION", "[RULES]" },
          { { "--base", "FILE", "base.yml, or a built-in rule set (default)" },
            { "--model-rules", "FILE", "a model's YAML file, whose rules are merged" },
            { "--set", "KEY=VALUE", "an option as on MaxText's command line; may be repeated", true },
            { "--rules", "FILE", "custom mesh-and-rule file, or a built-in rule set: replaces mesh and rules" },
            { "--devices-per-slice", "N", "devices of one slice" },
            { "--topology", "NAME", "accelerator instead, e.g. tpu7x-16" },
            { "--slices", "N", "slices (1)" },
            { "--outside-pipeline", "", "the rules that apply to layers outside the pipeline" },
            { "--logical", "FILE", "logical_shardings.json, input_shardings.json, or a folder of both" },
            { "-o", "FILE", "resolve: where to write; a folder if the input is one (standard output)" },
            { "--tensor", "NAME", "explain: a tensor of the dump, or the last parts of its name" },
            { "--names", "NAMES", "explain: logical names instead, e.g. embed,layers,mlp; null for none" },
            { "--shape", "SIZES", "explain: shape of the tensor of --names" },
            { "--dtype", "TYPE", "explain: dtype, for the bytes (f32)" },
            kJson },
          rulesCommand,
          "  resolve   turns logical names into specs: named_shardings.json as MaxText dumps it\n"
          "  explain   which rule decided each dim of a tensor, which were skipped and why\n"
          "  list      the built-in rule sets\n"
          "  show      all rules of a rule set or file, in order\n" },
        { "pick",
          "shows what MAX's picker, or ours, picks for one operation, and every candidate",
          { "REQUEST" },
          { { "--report", "", "also report on stderr what moves and what the alternatives were, in any mode" }, kJson },
          pickCommand,
          pickHelp() },
        { "plan",
          "shows collectives with their causes, time and memory",
          { "DESIGN" },
          withMemoryOptions(
              { { "--hardware", "ID", "hardware preset or file in place of the design's" },
                { "--picker", "NAME", "greedy, partials-only, none, or optimal: with the layouts that optimize finds" },
                { "--profile", "NAME",
                  "shardboard (pins, vocabulary-parallel embedding), a released MAX (max-26.6, max-26.7), or a generation of it as "
                  "documented: G0, G1 (greedy), G2, G3 (auto_reshard)" },
                { "--on-reshard", "MODE",
                  "silent, warn (report on stderr what moves) or raise (exit 3 if anything does); with --profile max-26.7 raise "
                  "unless given" },
                { "--allow-partial-to-sharded", "",
                  "let partial values be reduced to shards (reduce-scatter; not in G2, G3 and max-26.7)" },
                { "--allow-transitions", "SET", "in G2, G3 and max-26.7: DEFAULT, ALL, or pairs such as P->R,S->R" },
                { "--budget", "BYTES", "in G0: the most that a device may hold of an operation's operands; 0: no limit" },
                { "--parts", "", "also show time and memory of each part of the model and phase (JSON always has them)" },
                { "--timeline", "FILE",
                  "also write the predicted step as a trace for Perfetto: what runs when on every stream, and why devices wait (in "
                  "JSON timeline sums it up)" },
                { "--why-time", "", "also show what the seconds of a device's step are made of (JSON always has it)" },
                { "--against", "OTHER", "what differs from another design, and what each one costs" },
                kJson }),
          planCommand,
          "In JSON, lost_seconds of a fix is relative to the design as it is: below 0 means faster. For a pipeline, totals.seconds "
          "is\n"
          "pipeline.stage_seconds + bubble_seconds + update_seconds; compute, collectives and exposed add up all stages, as parts "
          "do.\n"
          "totals.device is a device of the busiest stage: compute_seconds + exposed_collective_seconds + bubble_seconds is "
          "totals.seconds.\n"
          "Where something is offloaded, exposed_collective_seconds also counts waiting for the copies (host_seconds).\n"
          "Of a part, device_seconds are those of a device that has it; exposed_seconds are those of collectives in which devices "
          "do "
          "not\n"
          "compute. With --against all times and bytes are of one device.\n"
          "All rows of a plan are sound in every profile. MAX has none for attention, experts, the loss and gradients: those of\n"
          "profile shardboard are used, without vocabulary parallel embedding and rings. Pins apply only in profile "
          "shardboard.\n" },
        { "explain",
          "shows why a tensor, operation or collective is as it is, and the alternatives",
          { "DESIGN", "WHAT" },
          { { "--what-if", "N", "evaluate the design with the pin of the N cheapest alternatives (3; for several matches 0)" },
            kJson },
          explainCommand,
          "WHAT is a collective's id, an operation (block/self_attn.q_proj), or a tensor (a weight, with * or a layer's number; "
          "an\n"
          "activation); the last part of such a name; or a glob. A row's price is that of its own reshards: profile shardboard "
          "ranks\n"
          "by their time, those of MAX by bytes. A pin that takes another row is written as for shardctl new --pin. In JSON, "
          "collective_bytes\n"
          "of an effect are those of one device in a step.\n" },
        { "check",
          "lists findings with the smallest repair; exit 1 when there are warnings or errors",
          { "DESIGN" },
          { { "--repair", "N", "applies the repair of finding N, or all of them, and lists what is left" },
            { "-o", "FILE", "design file to write, with --repair" },
            kJson },
          checkCommand,
          "An error means that the design cannot be planned or does not fit; a warning costs something that was probably not "
          "intended;\n"
          "a note is worth knowing, and with notes alone the exit code is 0. In JSON, cost_kind says whether cost_bytes are held "
          "(memory\n"
          "of a device) or moved (by collectives, in a step); none: findings of this kind have no bytes.\n" },
        { "run",
          "runs the plan with real data and checks its numbers",
          { "DESIGN" },
          { { "--backend", "NAME", "cpu, mpi, cuda or nccl, if the worker has it (cpu)" },
            { "--layers", "N", "layers to run (all)" },
            { "--steps", "N", "timed repetitions (1)" },
            { "--dtype", "TYPE", "f32, or design: values rounded to the design's dtype (f32)" },
            { "--verify", "", "compare every operation with the unsharded computation" },
            { "--no-ends", "", "leave out embedding and head" },
            { "--profile", "FILE", "write how long every operation and collective took on every device" },
            { "--profile-mode", "MODE",
              "serial: one device alone at a time, for its cost; batched: all at once, for throughput (batched)" },
            { "--trace", "FILE", "write a timeline that Perfetto and chrome://tracing open" },
            { "--keep", "FOLDER",
              "keep the run with its design, measured as with --profile; see shardctl runs (~/.local/share/shardboard/runs)", false,
              true },
            { "--name", "NAME", "with --keep: what the run is called (the design's name and the time)" },
            { "--project", "HARDWARE",
              "also predict a step with this hardware's communication, overlap and bubbles, by the cost model" },
            { "--seed", "N", "seed of the generated weights (1)" },
            kRanks,
            kHosts,
            { "--engine", "COMMAND", "command that starts the worker (shardboard-engine beside shardctl)" },
            { "--break-collective", "ID", "test hook: execute this collective (or any) wrongly" },
            kJson },
          runDesignCommand,
          {} },
        { "runs",
          "lists, shows, compares, renames, or deletes runs that were kept",
          { "WHAT", "[NAME]", "[OTHER]" },
          { { "--folder", "FOLDER", "where they are kept (~/.local/share/shardboard/runs)" }, kJson },
          runsCommand,
          "WHAT is one of\n"
          "  list            all runs, newest first, and what they take on the disk\n"
          "  show NAME       what ran, its operations, and where its design is\n"
          "  compare A B     operation by operation, the largest differences of a step first\n"
          "  rename A NEW    gives a run another name\n"
          "  delete NAME     removes a run with its design\n"
          "shardctl run --keep keeps one.\n" },
        { "report",
          "writes a design as one HTML page: mesh, layouts, findings, time, memory, timeline, comparison, run",
          { "DESIGN" },
          { { "-o", "FILE", "page to write (report.html)" },
            { .name = "--compare", .value = "DESIGN", .help = "other designs beside it", .repeats = true },
            { "--run", "NAME", "a run that was kept of it (shardctl runs list)" },
            { "--other-run", "NAME", "another one, compared with it operation by operation" },
            { "--runs", "FOLDER", "where runs are kept" } },
          reportCommand,
          "The page holds everything that it shows and needs no network; its pictures are inline SVG.\n" },
        { "trace",
          "tells what a trace holds, and which of its collectives are those of a plan",
          { "TRACE" },
          { { "--design", "DESIGN", "match its collectives with the plan of this design" }, kJson },
          traceCommand,
          "TRACE is a file in the trace-event format (JSON, plain or gzip), as PyTorch, JAX, and run --trace write it. Times of a\n"
          "lane count once where slices lie over each other. Collectives are matched by kind, size, and device group, as far as "
          "the\n"
          "trace tells them; those that are not in the plan are listed with the reason. A file that ends early is read as far as\n"
          "it goes, with a note.\n" },
        { "calibrate",
          "measures this machine and writes hardware for designs: --hardware FILE",
          {},
          { { "--backend", "NAME", "cpu, mpi, cuda or nccl, if the worker has it (cpu)" },
            { "-o", "FILE", "hardware file to write" },
            { "--quick", "", "fewer and smaller sizes: under 20 seconds" },
            kRanks,
            kHosts,
            { "--engine", "COMMAND", "command that starts the worker (shardboard-engine beside shardctl)" },
            kJson },
          calibrateCommand,
          "A logical device is one thread with a core of its own; all devices share the memory (for mpi: collectives between "
          "processes of one\n"
          "host). Fits products, kernels bound by memory,\n"
          "attention and collectives, and reports how far the measured times are from the model's. Medians are taken, but a busy\n"
          "machine still measures slower than it is. The engine computes in float32, whatever a design's dtype.\n" },
        { "export",
          "writes the configuration of another framework, and shards.json",
          { "DESIGN" },
          { { "--to", "TARGET", "one of the targets below" },
            { "-o", "FOLDER", "where to write" },
            { .name = "--prove",
              .value = "[PYTHON]",
              .help = "then have the framework itself make the shards, with this Python (python3)",
              .mayBeAlone = true },
            { "--targets", "", "instead: what each target can say of the design, and who has checked it" },
            kJson },
          exportCommand,
          exportHelp() },
        { "names",
          "shows what frameworks call the weights of a design",
          { "DESIGN" },
          { { "--scheme", "NAME", "one alone: huggingface, flax, nnx, maxtext, maxtext-unscanned, megatron or vllm" }, kJson },
          namesCommand,
          "Each parameter with the weights that it is made of, and what happens to them: transposed, dims split, fused, "
          "stacked.\n" },
        { "optimize",
          "finds the best layouts of a design, all at once, with a lower bound",
          { "DESIGN" },
          { { "-o", "FILE", "design file to write" },
            { "--memory", "GIB", "what a device may need, such as 80 or 80GiB; none: no limit (the device's memory)" },
            { "--objective", "WHAT", "step-time, or memory; with --search also tokens-per-device or slowest-link (step-time)" },
            { "--keep", "PATTERN", "weights whose layouts stay as they are; may be repeated", true },
            { "--forbid", "PATTERN@AXIS", "activations that may not be cut over a mesh axis; may be repeated", true },
            { "--search", "WHAT",
              "what may change instead: a list of mesh, order, micro-batches, virtual-stages, recompute, zero "
              "and precision; each design is laid out by a preset; with layouts, those of the best are optimized, too" },
            { "--devices", "N", "with --search mesh: how many devices (those of the design)" },
            { "--hardware", "ID", "hardware preset or file in place of the design's" },
            { "--front", "FOLDER", "with --search: where to write the designs of the front" },
            { "--what-if", "", "also by how much it changes with a GiB more or less, and with each weight on every device" },
            { "--within", "SECONDS", "with --search: a step may not take longer" },
            { "--time", "SECONDS", "until the answer is there, counted from the start of the process (60)" },
            kJson },
          optimizeCommand,
          "Layouts of weights and activations alone change; mesh, workload and pipeline stay. Pins set by hand are kept, those of "
          "presets\nare replaced. The answer is planned as any design is, and is never worse than the design itself or a preset. "
          "If "
          "nothing\nfits into the memory it exits 3 and says how much is missing.\n" },
        { "sweep",
          "plans a design for many batches, sequences, micro-batches, and numbers of devices",
          { "DESIGN" },
          { { "--over", "SETTINGS",
              "all in one, such as batch=1..256,sequence=2048,8192: settings are called as the options below" },
            { "--batch", "VALUES", "sequences in a step: a list such as 8,16,32, or 8..512 for powers of two" },
            { "--sequence", "VALUES", "tokens in a sequence" },
            { "--micro-batches", "VALUES", "parts of the batch, for training" },
            { "--devices", "VALUES", "all devices: the first data or fsdp axis grows or shrinks" },
            kJson },
          sweepCommand,
          "Every combination of values is a point, planned with the layouts of the design. What is not given stays as it is.\n" },
        { "solve",
          "finds the best assignment of a general layout problem, with a lower bound",
          { "PROBLEM" },
          { { "--time", "SECONDS", "until the answer is there, counted from the start of the process (60)" },
            { "--threads", "N", "threads that search (one per core)" },
            { "--seed", "N", "where chance begins (1)" },
            kJson },
          solveCommand,
          "PROBLEM is a JSON file in the format of the IOPDDL contest, or the same compressed (*.json.gz):\n"
          "{\"problem\": {\"nodes\": {\"intervals\": [[from, until], …], \"costs\": [[…], …], \"usages\": [[…], …]},\n"
          "\"edges\": {\"nodes\": [[i, j], …], \"costs\": [[…], …]}, \"usage_limit\": n}}. One strategy is chosen for each node, "
          "so that\n"
          "node and edge costs sum to the least, and the usage is nowhere over the limit (if one is given). Ctrl-C ends with the\n"
          "best so far. If no assignment is feasible it exits 3 and names the time and the amount.\n" },
        { "dump",
          "writes the layout as golden files, for diff in a CI",
          { "DESIGN" },
          { { "-o", "FOLDER", "where to write logical_, named_ and input_shardings.json" } },
          dumpCommand,
          "The files have the form of MaxText's sharding dumps. Values that stay partial are left out.\n"
          "A link in place of one of the files is refused, because it leads out of the folder.\n" },
        { "diff",
          "compares two layouts entry by entry; exit 1 when they differ",
          { "LEFT", "RIGHT" },
          { { "--logical", "FILE", "for two rule sets: logical names of tensors, a logical_shardings.json" },
            { "--design", "DESIGN", "or the design whose weights and mesh they are applied to" },
            { "--devices-per-slice", "N", "with --logical: devices of a slice" },
            { "--slices", "N", "number of slices (1)" },
            { "--base", "FILE", "base configuration under rule files (built in)" },
            { "--model-rules", "FILE", "a model's own rules" },
            { "--set", "KEY=VALUE", "an option, e.g. ici_fsdp_parallelism=-1; may be repeated", true },
            { "--dtype", "TYPE", "of tensors that do not give theirs, for the bytes (f32)" },
            kJson },
          diffCommand,
          "LEFT and RIGHT are each a design, a folder of dumps or one of its files, a shards.json, a MaxText rule file\n"
          "(*.yml), or the name of a built-in rule set. What one side does not specify is not compared.\n" },
        { "bench",
          "measures how long an edit takes to evaluate and all weights to resolve, small and large",
          { "[NAME]" },
          { kRanks,
            kHosts,
            { "--engine", "COMMAND", "for mpi: command that starts the worker (shardboard-engine beside shardctl)" },
            kJson },
          benchCommand,
          "  engine    products and collectives of the worker, against the best rates of this machine (all sizes if named, else a "
          "few)\n"
          "  evaluate  from an edit to its consequences: layouts, plan, memory, findings\n"
          "  mpi       collectives between processes, against those of the MPI library (only if named)\n"
          "  price     an existing plan again, on the same hardware and after an edit of a link\n"
          "  pick      the row of a menu for an operation, on each mesh axis\n"
          "  reshard   the cheapest steps between layouts on four mesh axes\n"
          "  resolve   layouts and shards of every weight of a 126-layer model on 131,072 devices\n"
          "  sweep     a point of a sweep, on one core, beside planning a design\n" },
    };
    return kCommands;
}

int report(const Error& error)
{
    std::cerr << (error.where.starts_with("shardctl") ? "" : "shardctl: ") << error.text() << "\n";
    switch (error.code) {
    case ErrorCode::Usage:
        return kUsage;
    case ErrorCode::Input:
        return kInput;
    case ErrorCode::Engine:
        return kEngineFailed;
    }
    return kInput;
}

Error ofFile(const std::string& path, Error error)
{
    if (error.code == ErrorCode::Input)
        error.where = error.where.empty() ? path : path + ":" + error.where;
    return error;
}

Result<OpenDesign> openDesign(const std::string& path, Misfits misfits, const std::function<Status(Design&)>& edit)
{
    auto design = readDesign(path);
    if (!design.ok())
        return design.error();
    if (edit)
        if (const Status edited = edit(design.value()); !edited.ok())
            return edited.error();
    auto evaluation = evaluate(design.value(), misfits);
    if (!evaluation.ok())
        return ofFile(path, evaluation.error());
    return OpenDesign { std::move(design).value(), std::move(evaluation).value() };
}

void printFinding(const Finding& finding)
{
    std::cerr << severityName(finding.severity) << ": " // on one line, whatever a file's names hold
              << inputError(finding.where, finding.message, finding.repair).text() << "\n";
}

} // namespace shardboard
