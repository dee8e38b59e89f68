// SPDX-License-Identifier: Apache-2.0
#include "model/io/jax/jaxexport.h"

#include "model/io/exports/leftout.h"
#include "model/io/exports/pythontext.h"
#include "model/io/shards/shardsjson.h"
#include "model/text/numbers.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace shardboard {

namespace {

std::string rangesText(const std::vector<Range>& ranges)
{
    std::string text;
    for (const Range& range : ranges)
        text += (text.empty() ? "" : " + ") + std::to_string(range.lo) + ":" + std::to_string(range.hi);
    return text.empty() ? "nothing" : text;
}

/// Ranges that lie side by side as one; empty ones are nothing.
std::vector<Range> joinedRanges(const std::vector<Range>& ranges)
{
    std::vector<Range> out;
    for (const Range& range : ranges) {
        if (range.size() == 0)
            continue;
        if (!out.empty() && out.back().hi == range.lo)
            out.back().hi = range.hi;
        else
            out.push_back(range);
    }
    return out;
}

/// Whether a dim has equal parts at once, without a look at each.
bool isEven(const DimCut& cut, std::int64_t size)
{
    const CutSegment& segment = cut.segments().front();
    return cut.segments().size() == 1 && segment.begin == 0 && segment.size == size && segment.numerator == segment.denominator
        && size % segment.unit == 0 && size / segment.unit % cut.count() == 0;
}

/// Why JAX has other parts of a dim than the plan: what is wrong and what to do.
std::optional<Error> otherParts(const std::string& name, std::size_t dim, std::int64_t size, const DimCut& cut)
{
    const std::int64_t parts = cut.count();
    const std::string text = "dim " + std::to_string(dim);
    if (size % parts != 0)
        return inputError(
            name, "JAX cannot cut " + text + " of size " + std::to_string(size) + " into " + std::to_string(parts) + " equal parts",
            "pad the dim to a multiple of " + std::to_string(parts) + " or cut it over other mesh axes");
    if (isEven(cut, size))
        return std::nullopt;
    for (std::int64_t i = 0; i < parts; ++i) {
        const std::vector<Range> held = joinedRanges(cut.part(i));
        const std::vector<Range> inJax = joinedRanges({ { size / parts * i, size / parts * (i + 1) } });
        if (held == inJax)
            continue;
        const std::int64_t unit = cut.segments().front().unit;
        const bool fused = cut.segments().size() > 1;
        const std::string how = fused ? " is cut in " + std::to_string(cut.segments().size()) + " segments"
            : unit > 1                ? " is cut in whole units of " + std::to_string(unit)
                                      : " is cut by the rule " + cutRuleName(cut.rule());
        return inputError(name,
                          text + how + " over " + std::to_string(parts) + " devices: part " + std::to_string(i) + " is "
                              + rangesText(held) + ", in JAX " + rangesText(inJax),
                          fused ? "cut the dim as a whole, or not at all"
                              : unit > 1
                              ? "cut it over mesh axes that divide its " + std::to_string(size / unit) + " units, or evenly"
                              : "cut it evenly");
    }
    return std::nullopt;
}

/// Why JAX has other shards of a weight than the plan.
std::optional<Error> refusalOf(const WeightLayout& weight, const Mesh& mesh)
{
    const std::string& name = weight.spec.name;
    if (weight.misfit)
        return inputError(name, "its strategy cannot be applied, so that it is replicated instead: " + weight.misfit->error.what,
                          weight.misfit->error.fix.empty() ? "give it another strategy" : weight.misfit->error.fix);
    if (weight.unknownShape)
        return inputError(name, "its shape is not known, so it cannot be exported to JAX", "open the model with its weight files");
    for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim) {
        for (const AxisRef& ref : weight.layout.dims[dim])
            if (!ref.whole())
                return inputError(name, "JAX cannot cut over a part of mesh axis '" + mesh.axis(ref.axis).name + "'",
                                  "split the mesh axis into two axes");
        if (auto error = otherParts(name, dim, weight.spec.shape[dim], weight.shards.cuts()[dim]))
            return error;
    }
    return std::nullopt;
}

/// `model.layers.3.x` and `model.layers.*.x` both become a pattern; a block that stands for some layers names each.
std::vector<std::string> patternsOf(const WeightLayout& weight, std::int64_t layers)
{
    if (weight.firstLayer < 0 || weight.copies == layers)
        return { weight.spec.name };
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < weight.copies; ++i)
        names.push_back(concreteName(weight.spec.name, weight.firstLayer + i));
    return names;
}

const char* const kFunctions = R"python(

def mesh(devices=None):
    """The device mesh, in exactly this device order (jax.make_mesh may reorder)."""
    by_id = {d.id: d for d in (devices or jax.devices())}
    missing = [i for i in ORDER if i not in by_id]
    if missing:
        raise ValueError(f"this design needs device ids {missing[:8]}, but JAX has {len(by_id)} devices")
    grid = np.empty(len(ORDER), dtype=object)
    grid[:] = [by_id[i] for i in ORDER]
    return Mesh(grid.reshape([n for _, n in AXES]), [a for a, _ in AXES])


def spec_of(name):
    """PartitionSpec of a weight by its checkpoint name; dims are those of the checkpoint, [out, in]."""
    if name in LAYOUT:
        return LAYOUT[name]
    for number in re.finditer(r"(?:^|(?<=\.))[0-9]+(?=\.)", name):  # of the layer
        pattern = name[:number.start()] + "*" + name[number.end():]
        if pattern in LAYOUT:
            return LAYOUT[pattern]
    raise KeyError(f"the design says nothing about {name!a}")


def entries_of(spec, ndim):
    """What cuts each dim: None, the name of a mesh axis, or a tuple of names."""
    entries = tuple(getattr(spec, "partitions", spec))
    return entries + (None,) * (ndim - len(entries))


def spec_of_leaf(key, ndim):
    """PartitionSpec of a leaf of a Flax-like tree: a kernel [in, out] is the checkpoint's weight transposed."""
    parts = key.replace("/", ".").split(".")
    if parts[0] == "params":
        parts = parts[1:]
    leaf = {"kernel": "weight", "embedding": "weight", "scale": "weight"}.get(parts[-1], parts[-1])
    name = ".".join(parts[:-1] + [leaf])
    if not name.startswith((PREFIX, "lm_head.")):
        name = PREFIX + name
    spec = spec_of(name)
    if parts[-1] != "kernel":
        return spec
    return P(*reversed(entries_of(spec, ndim)))


def shardings(tree, m):
    """A tree of NamedSharding like `tree`, whose leaves are arrays or shapes."""
    def pick(path, leaf):
        key = jax.tree_util.keystr(path, simple=True, separator="/")
        return NamedSharding(m, spec_of_leaf(key, len(leaf.shape)))
    return jax.tree_util.tree_map_with_path(pick, tree)


def joined(pieces, dim):
    """Pieces that lie side by side along `dim` as one; those that hold nothing are left out."""
    out = []
    for piece in pieces:
        if any(lo == hi for lo, hi in piece):
            continue
        last = out[-1] if out else None
        if last and dim is not None and last[dim][1] == piece[dim][0] and all(
                a == b for i, (a, b) in enumerate(zip(last, piece)) if i != dim):
            last[dim][1] = piece[dim][1]
        else:
            out.append([list(range_) for range_ in piece])
    return out


def check(path):
    """Compares the shards that JAX makes of LAYOUT with shards.json, which comes from the plan of the design; returns the names
    that differ and how many tensors there are."""
    with open(path, encoding="utf-8") as file:
        want = json.load(file)
    is_mesh = [list(zip(want["mesh"]["axes"], want["mesh"]["sizes"])), want["mesh"]["device_ids"]]
    if is_mesh != [list(AXES), ORDER]:
        raise ValueError("shards.json is for another mesh: export both files together")
    if len({tensor["name"] for tensor in want["tensors"]}) != WEIGHTS:
        raise ValueError(f"shards.json does not have the {WEIGHTS} weights of this design: export both files together")
    m = mesh()
    made = {}  # layers have the same
    wrong = []
    for tensor in want["tensors"]:
        shape = tuple(tensor["shape"])
        spec = spec_of(tensor["name"])
        key = (shape, entries_of(spec, len(shape)))
        if key not in made:
            try:
                indices = NamedSharding(m, spec).devices_indices_map(shape)
            except ValueError:  # a dim that does not divide, a mesh axis that is not there
                indices = {}
            made[key] = {d.id: joined([[s.indices(n)[:2] for s, n in zip(index, shape)]], None)
                         for d, index in indices.items()}
        expected = {}
        for shard in tensor["shards"]:
            expected.update(dict.fromkeys(shard["devices"], joined(shard["pieces"], shard["join_dim"])))
        if made[key] != expected:
            wrong.append(tensor["name"])
    return wrong, len(want["tensors"])


if __name__ == "__main__":
    wrong, total = check(os.path.join(os.path.dirname(os.path.abspath(__file__)), "shards.json"))
    print(f"{total - len(wrong)} of {total} tensors have the same shards in JAX")
    for name in wrong[:20]:
        print("differs:", ascii(name))
    sys.stdout.flush()
    os._exit(1 if wrong else 0)  # JAX takes minutes to put thousands of made-up devices away
)python";

/// `P("data", ("model", "pod"))`
std::string specCode(const Layout& layout, const Mesh& mesh)
{
    std::vector<std::string> entries;
    for (const auto& axes : layout.dims) {
        std::string entry;
        for (const AxisRef& ref : axes)
            entry += (entry.empty() ? "" : ", ") + pythonLiteral(mesh.axis(ref.axis).name);
        entries.push_back(axes.empty() ? "None" : axes.size() == 1 ? entry : "(" + entry + ")");
    }
    while (!entries.empty() && entries.back() == "None")
        entries.pop_back();
    std::string text;
    for (const std::string& entry : entries)
        text += (text.empty() ? "" : ", ") + entry;
    return "P(" + text + ")";
}

/// Device ids as a list, many a line.
std::string idsCode(const std::vector<std::int64_t>& ids)
{
    constexpr std::size_t kPerLine = 16;
    std::string text = "[";
    for (std::size_t i = 0; i < ids.size(); ++i)
        text += (i % kPerLine == 0 ? "\n    " : " ") + std::to_string(ids[i]) + ",";
    return text + "\n]";
}

/// What a person sees first. Names stand in literals alone, here and everywhere: a comment would end at a line break in one.
std::string headCode(const Design& design)
{
    const std::vector<std::int64_t>& ids = design.mesh.deviceIds();
    const std::int64_t devices = ids.empty() ? design.mesh.deviceCount() : 1 + *std::ranges::max_element(ids);
    std::string text =
        "# Generated by Shardboard: how the weights of a model are laid out over a device mesh.\n"
        "# `python export.py` compares it with shards.json, on simulated CPU devices unless JAX_PLATFORMS names others.\n";
    text += "MODEL = " + pythonLiteral(design.model.name) + "\n";
    const std::vector<std::string> leftOut = jaxLeftOut(design);
    text += leftOut.empty() ? "# Weights and inputs are laid out; XLA decides about all other values.\n"
                            : "# Weights and inputs are laid out; XLA decides about all other values. Left out of the design:\n";
    text += "LEFT_OUT = (";
    for (const std::string& line : leftOut)
        text += "\n    " + pythonLiteral(line) + ",";
    text += leftOut.empty() ? ")\n\n" : "\n)\n\n";
    text += "import json\nimport os\nimport re\nimport sys\n\n"
            "if __name__ == \"__main__\" and os.environ.setdefault(\"JAX_PLATFORMS\", \"cpu\") == \"cpu\":\n"
            "    os.environ[\"XLA_FLAGS\"] = os.environ.get(\"XLA_FLAGS\", \"\") + \" --xla_force_host_platform_device_count="
        + std::to_string(devices)
        + "\"\n\nimport jax\nimport numpy as np\nfrom jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n\n";
    return text;
}

/// Layers apart.
std::int64_t weightCount(const Evaluation& evaluation)
{
    std::int64_t count = 0;
    for (const WeightLayout& weight : evaluation.weights)
        count += weight.spec.role == TensorRole::Weight ? weight.copies : 0;
    return count;
}

std::string moduleText(const Design& design, const Evaluation& evaluation)
{
    const Mesh& mesh = design.mesh;
    std::string text = headCode(design) + "AXES = (";
    for (const MeshAxis& axis : mesh.axes())
        text += "(" + pythonLiteral(axis.name) + ", " + std::to_string(axis.size) + "), ";
    if (!mesh.axes().empty())
        text.pop_back();
    text += ")\nORDER = ";
    text += mesh.deviceIds().empty() ? "list(range(" + std::to_string(mesh.deviceCount()) + "))" : idsCode(mesh.deviceIds());
    text += "  # device ids, row-major over AXES\n";
    text += "PREFIX = " + pythonLiteral(design.model.weightPrefix) + "  # of checkpoint names inside the decoder\n";
    std::string layout;
    std::string inputs;
    for (const WeightLayout& weight : evaluation.weights) {
        const std::string spec = specCode(weight.layout, mesh);
        if (weight.spec.role != TensorRole::Weight) {
            inputs += "    " + pythonLiteral(weight.spec.name) + ": " + spec + ",\n";
            continue;
        }
        for (const std::string& pattern : patternsOf(weight, design.model.layers))
            layout += "    " + pythonLiteral(pattern) + ": " + spec + ",\n";
    }
    text += "WEIGHTS = " + std::to_string(weightCount(evaluation)) + "  # in shards.json, each layer apart\n\n";
    text += "# By checkpoint name, with * for the number of a layer; one entry per tensor dim, [out, in].\n"
            "# The experts of a layer are one tensor, stacked on dim 0, with * for their number.\nLAYOUT = {\n"
        + layout;
    return text + "}\n\nINPUTS = {\n" + inputs + "}\n" + kFunctions;
}

/// All of them; cancelled when `stopped` says so.
Result<std::vector<ExportRefusal>> refusalsOf(const Design& design, const Evaluation& evaluation,
                                              const std::function<bool()>& stopped)
{
    std::vector<ExportRefusal> out;
    const int stages = design.mesh.find(design.pipeline.axis);
    if (stages >= 0 && design.mesh.axis(stages).size > 1)
        out.push_back({ inputError("pipeline",
                                   "each layer lies on the devices of its stage alone, of which mesh axis '"
                                       + design.mesh.axis(stages).name + "' has " + std::to_string(design.mesh.axis(stages).size)
                                       + ", and a JAX mesh has every weight on all devices",
                                   "export a design without the pipeline, on the mesh of one stage") });
    if (const std::int64_t bytes = shardsJsonBytes(design.mesh, evaluation); bytes > kMostShardsBytes)
        out.push_back(
            { inputError("mesh",
                         "shards.json would take " + bytesText(bytes) + ", because it lists the ids of all "
                             + countText(design.mesh.deviceCount()) + " devices for each of " + countText(weightCount(evaluation))
                             + " weights, and more than " + bytesText(kMostShardsBytes) + " is not useful",
                         "export the design on a mesh with smaller axes or of fewer layers, which has the same layouts") });
    constexpr std::size_t kMostAxes = 32; // NumPy 2 has 64
    if (const std::size_t axes = design.mesh.axes().size(); axes > kMostAxes)
        out.push_back(
            { inputError("mesh",
                         "has " + std::to_string(axes) + " axes, and JAX keeps devices in an array of NumPy, which has at most "
                             + std::to_string(kMostAxes),
                         "leave out axes of size 1, or make one of some") });
    std::unordered_set<std::string> names; // of a graph they differ
    for (const ModelSpec::LooseWeight& weight : design.model.looseWeights)
        if (!names.insert(weight.tensor.name).second)
            out.push_back({ inputError(weight.tensor.name, "two weights have this name, and an export tells them apart by it",
                                       "rename one of them"),
                            1 });
    for (const WeightLayout& weight : evaluation.weights) {
        if (stopped && stopped())
            return Cancelled {};
        if (auto error = refusalOf(weight, design.mesh))
            out.push_back({ std::move(*error), weight.copies });
    }
    return out;
}

} // namespace

std::vector<std::string> jaxLeftOut(const Design& design) { return leftOutOf(design, "XLA"); }

Result<std::vector<ExportedFile>> exportJax(const Design& design, std::shared_ptr<const Evaluation> evaluation,
                                            const std::function<bool()>& stopped)
{
    const auto refusals = refusalsOf(design, *evaluation, stopped);
    if (refusals.cancelled())
        return Cancelled {};
    if (!refusals.value().empty())
        return refusalError(refusals.value(), "JAX");
    std::string text = moduleText(design, *evaluation);
    auto shards = shardsJson(design.mesh, std::move(evaluation));
    if (!shards.ok())
        return shards.error();
    return std::vector<ExportedFile> { { "export.py", textSource(std::move(text)) }, { "shards.json", std::move(shards).value() } };
}

std::vector<ExportRefusal> jaxRefusals(const Design& design, const Evaluation& evaluation)
{
    return refusalsOf(design, evaluation, {}).value();
}

} // namespace shardboard
