// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/hlo/hlotarget.h"

#include "model/io/exports/exporttext.h"
#include "model/io/exports/xlalayouts.h"
#include "model/notation/notation.h"

namespace shardboard {

namespace {

/// V2 where the device ids are an iota, else V1, which lists them.
LayoutText textOn(const Mesh& mesh)
{
    return [&mesh](const Layout& layout) {
        auto text = writeLayout(Notation::HloV2, layout, mesh);
        return text.ok() ? text : writeLayout(Notation::HloV1, layout, mesh);
    };
}

Result<std::vector<ExportedFile>> filesOf(const Design& design, const Evaluation& evaluation)
{
    return std::vector<ExportedFile> {
        { "hlo_shardings.json", textSource(xlaLayoutsJson(design, evaluation, textOn(design.mesh))) },
        { "hlo_shardings.py",
          textSource(std::string(exportText("hlo/head.py")) + std::string(exportText("xla/layouts.py")) + "\n\n"
                     + std::string(exportText("shards/joined.py")) + std::string(exportText("hlo/functions.py"))) },
    };
}

} // namespace

ExportTarget hloTarget()
{
    return { .id = "hlo",
             .title = "HloSharding",
             .summary = "HloSharding of weights, inputs and activations by name, as JSON",
             .check = "hlo_shardings.py",
             .refusals =
                 [](const Design& design, const Evaluation& evaluation, const std::function<bool()>& stopped) {
                     return xlaRefusals(design, evaluation, "XLA", textOn(design.mesh), stopped);
                 },
             .leftOut = [](const Design& design,
                           const Evaluation& evaluation) { return xlaLeftOut(design, evaluation, textOn(design.mesh)); },
             .usage =
                 [](const Design&, const Evaluation&) {
                     return std::string(
                         "from hlo_shardings import annotate\n"
                         "module = jax.jit(step, keep_unused=True).lower(*arguments).compiler_ir(\"stablehlo\")\n"
                         "annotate(module, names)  # of its arguments in order, None for what is to stay as it is\n");
                 },
             .files = filesOf };
}

} // namespace shardboard
