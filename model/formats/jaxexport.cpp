// SPDX-License-Identifier: Apache-2.0
#include "model/formats/jaxexport.h"

#include "model/formats/shardsjson.h"

#include <nlohmann/json.hpp>

namespace shardboard {

namespace {

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

/// JAX cuts strictly and knows no sub-axes.
Status checkWeight(const WeightLayout& weight, const Mesh& mesh)
{
    if (weight.unknownShape)
        return inputError(weight.spec.name, "its shape is not known, so it cannot be exported to JAX",
                          "open the model with its weight files");
    for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim) {
        const std::int64_t parts = partsOf(weight.layout.dims[dim], mesh);
        if (weight.spec.shape[dim] % parts != 0)
            return inputError(weight.spec.name, "JAX cannot cut dim " + std::to_string(dim) + " of size "
                                  + std::to_string(weight.spec.shape[dim]) + " into " + std::to_string(parts)
                                  + " equal parts",
                              "pad the dim to a multiple of " + std::to_string(parts) + " or cut it over other mesh axes");
        for (const AxisRef& ref : weight.layout.dims[dim])
            if (!ref.whole())
                return inputError(weight.spec.name, "JAX cannot cut over a part of mesh axis '" + mesh.axis(ref.axis).name + "'",
                                  "split the mesh axis into two axes");
    }
    return done();
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

const char* const kFunctions = R"(

def mesh(devices=None):
    """The device mesh, in exactly this device order (jax.make_mesh may reorder)."""
    by_id = {d.id: d for d in (devices or jax.devices())}
    missing = [i for i in ORDER if i not in by_id]
    if missing:
        raise ValueError(f"this design needs device ids {missing[:8]}, but JAX has {len(by_id)} devices")
    grid = np.array([by_id[i] for i in ORDER], dtype=object)
    return Mesh(grid.reshape([n for _, n in AXES]), [a for a, _ in AXES])


def spec_of(name):
    """PartitionSpec of a weight by its checkpoint name; dims are those of the checkpoint, [out, in]."""
    for pattern, spec in LAYOUT.items():
        if fnmatch.fnmatchcase(name, pattern):
            return spec
    raise KeyError(f"the design says nothing about {name}")


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
    entries = tuple(spec) + (None,) * (ndim - len(tuple(spec)))
    return P(*reversed(entries))


def shardings(tree, m):
    """A tree of NamedSharding like `tree`, whose leaves are arrays or shapes."""
    def pick(path, leaf):
        key = jax.tree_util.keystr(path, simple=True, separator="/")
        return NamedSharding(m, spec_of_leaf(key, len(leaf.shape)))
    return jax.tree_util.tree_map_with_path(pick, tree)


def check(path):
    """Compares the shards that JAX makes of LAYOUT with shards.json; returns the names that differ."""
    with open(path, encoding="utf-8") as file:
        want = json.load(file)
    m = mesh()
    wrong = []
    for tensor in want["tensors"]:
        shape = tuple(tensor["shape"])
        sharding = NamedSharding(m, spec_of(tensor["name"]))
        got = {d.id: [[list(s.indices(n)[:2]) for s, n in zip(index, shape)]]
               for d, index in sharding.devices_indices_map(shape).items()}
        expected = {i: shard["pieces"] for shard in tensor["shards"] for i in shard["devices"]}
        if got != expected:
            wrong.append(tensor["name"])
    return wrong, len(want["tensors"])


if __name__ == "__main__":
    wrong, total = check(os.path.join(os.path.dirname(os.path.abspath(__file__)), "shards.json"))
    print(f"{total - len(wrong)} of {total} tensors have the same shards in JAX")
    for name in wrong[:20]:
        print("differs:", name)
    sys.exit(1 if wrong else 0)
)";

std::string moduleText(const Design& design, const Evaluation& evaluation)
{
    const Mesh& mesh = design.mesh;
    std::string text = "# " + design.model.name + ", " + std::to_string(mesh.deviceCount()) + " devices, mesh " + mesh.text()
        + ". Generated by Shardboard.\n"
          "# Check it against shards.json without accelerators:\n"
          "#   JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count="
        + std::to_string(mesh.deviceCount()) + " python export.py\n";
    text += "import fnmatch\nimport json\nimport os\nimport sys\n\nimport jax\nimport numpy as np\n"
            "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n\n";
    text += "AXES = (";
    for (const MeshAxis& axis : mesh.axes())
        text += "(" + quoted(axis.name) + ", " + std::to_string(axis.size) + "), ";
    if (!mesh.axes().empty())
        text.pop_back();
    text += ")\n";
    if (mesh.deviceIds().empty()) {
        text += "ORDER = list(range(" + std::to_string(mesh.deviceCount()) + "))  # device ids, row-major over AXES\n";
    } else {
        text += "ORDER = " + nlohmann::json(mesh.deviceIds()).dump() + "  # device ids, row-major over AXES\n";
    }
    text += "PREFIX = " + quoted(design.model.weightPrefix) + "  # of checkpoint names inside the decoder\n\n";
    text += "# By checkpoint name; one entry per tensor dim, [out, in].\nLAYOUT = {\n";
    std::string inputs;
    for (const WeightLayout& weight : evaluation.weights) {
        const std::string spec = specText(weight.layout, mesh);
        if (weight.spec.role == TensorRole::Weight)
            for (const std::string& pattern : patternsOf(weight, design.model.layers))
                text += "    " + quoted(pattern) + ": " + spec + ",\n";
        else
            inputs += "    " + quoted(weight.spec.name) + ": " + spec + ",\n";
    }
    text += "}\n\nINPUTS = {\n" + inputs + "}\n";
    return text + kFunctions;
}

} // namespace

Result<std::vector<ExportedFile>> exportJax(const Design& design, const Evaluation& evaluation, const std::function<bool()>& stopped)
{
    for (const WeightLayout& weight : evaluation.weights)
        if (auto status = checkWeight(weight, design.mesh); !status.ok())
            return status.error();
    auto shards = shardsJson(design, evaluation, stopped);
    if (shards.cancelled())
        return Cancelled {};
    if (!shards.ok())
        return shards.error();
    return std::vector<ExportedFile> { { "export.py", moduleText(design, evaluation) },
                                       { "shards.json", std::move(shards).value() } };
}

std::vector<Error> jaxRefusals(const Design& design, const Evaluation& evaluation)
{
    std::vector<Error> out;
    for (const WeightLayout& weight : evaluation.weights)
        if (auto status = checkWeight(weight, design.mesh); !status.ok())
            out.push_back(status.error());
    return out;
}

} // namespace shardboard
