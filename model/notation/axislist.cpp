// SPDX-License-Identifier: Apache-2.0
#include "model/notation/axislist.h"

#include "model/notation/canonical.h"
#include "model/text/text.h"

namespace shardboard {

namespace {

Result<std::string_view> axisName(Scanner& scanner, AxisQuotes quotes)
{
    if (const auto name = scanner.quoted())
        return *name;
    if (quotes == AxisQuotes::Optional)
        if (const std::string_view name = scanner.word(); !name.empty())
            return name;
    return scanner.fail("the name of a mesh axis is missing");
}

Result<AxisRef> axisRef(Scanner& scanner, const Mesh& mesh, AxisQuotes quotes)
{
    const auto name = axisName(scanner, quotes);
    if (!name.ok())
        return name.error();
    AxisRef ref;
    ref.axis = mesh.find(name.value());
    if (ref.axis < 0)
        return inputError(scanner.where(), "the mesh has no axis '" + std::string(name.value()) + "'",
                          "its axes are " + (mesh.axes().empty() ? std::string("none") : mesh.text()));
    if (!scanner.take(":"))
        return ref;
    const bool opened = scanner.take("(");
    const auto pre = opened ? scanner.integer() : std::nullopt;
    const auto size = pre && scanner.take(")") ? scanner.integer() : std::nullopt;
    if (!size)
        return scanner.fail("a sub-axis is not of the form \"axis\":(pre)size");
    const std::int64_t whole = mesh.axis(ref.axis).size;
    if (*pre < 1 || *size < 2 || *pre > whole || whole % *pre != 0 || (whole / *pre) % *size != 0)
        return scanner.fail("sub-axis (" + std::to_string(*pre) + ")" + std::to_string(*size) + " does not divide mesh axis '"
                            + mesh.axis(ref.axis).name + "' of size " + std::to_string(whole)
                            + (*size == 1 ? ", because its size is 1" : ""));
    if (*size == whole)
        return scanner.fail("the sub-axis is all of mesh axis '" + mesh.axis(ref.axis).name + "' and must be written as the axis");
    ref.pre = *pre;
    ref.size = *size;
    return ref;
}

} // namespace

Result<AxisList> readAxisList(Scanner& scanner, const Mesh& mesh, AxisQuotes quotes)
{
    AxisList list;
    if (!scanner.take("{"))
        return scanner.fail("a { is missing");
    while (!scanner.take("}")) {
        if (list.open)
            return scanner.fail("the ? is not the last in its dim");
        if (!list.axes.empty() && !scanner.take(",") && scanner.peek() != '?')
            return scanner.fail("a comma or } is missing");
        if (scanner.take("?")) {
            list.open = true;
            continue;
        }
        const auto ref = axisRef(scanner, mesh, quotes);
        if (!ref.ok())
            return ref.error();
        if (!list.axes.empty() && mergeable(list.axes.back(), ref.value(), mesh) && !ref.value().whole())
            return scanner.fail(axisText(list.axes.back(), mesh) + ", " + axisText(ref.value(), mesh)
                                + " lie side by side and must be written as one");
        list.axes.push_back(ref.value());
    }
    return list;
}

Result<std::vector<AxisRef>> readAxisSet(Scanner& scanner, const Mesh& mesh, AxisQuotes quotes, const std::string& name)
{
    auto list = readAxisList(scanner, mesh, quotes);
    if (!list.ok())
        return list.error();
    if (list.value().open)
        return scanner.fail(name + " cannot hold a ?");
    std::vector<AxisRef> axes = std::move(list).value().axes;
    for (std::size_t i = 1; i < axes.size(); ++i)
        if (axes[i].axis < axes[i - 1].axis || (axes[i].axis == axes[i - 1].axis && axes[i].pre < axes[i - 1].pre))
            return scanner.fail(name + " is not in mesh order: " + axisText(axes[i], mesh) + " comes before "
                                + axisText(axes[i - 1], mesh));
    return axes;
}

Status readMeshAxes(Scanner& scanner, const Mesh& mesh, AxisQuotes quotes)
{
    std::vector<MeshAxis> axes;
    while (!scanner.take("]") && !scanner.take(">")) {
        if (!axes.empty() && !scanner.take(","))
            return scanner.fail("a comma or the end of the mesh is missing");
        const auto name = axisName(scanner, quotes);
        if (!name.ok())
            return name.error();
        const auto size = scanner.take("=") ? scanner.integer() : std::nullopt;
        if (!size)
            return scanner.fail("the size of mesh axis '" + std::string(name.value()) + "' is missing");
        axes.push_back({ std::string(name.value()), *size });
    }
    if (axes != mesh.axes()) {
        std::string named;
        for (const MeshAxis& axis : axes)
            named += (named.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
        return inputError(scanner.where(),
                          "the text is for mesh " + (named.empty() ? "without axes" : named) + ", but the mesh is "
                              + (mesh.axes().empty() ? std::string("one device without axes") : mesh.text()),
                          "give the mesh that the text was written for");
    }
    return done();
}

Status checkDeviceOrder(const Scanner& scanner, const Mesh& mesh, const std::vector<std::int64_t>& ids)
{
    bool same = static_cast<std::int64_t>(ids.size()) == mesh.deviceCount();
    for (std::size_t i = 0; same && i < ids.size(); ++i)
        same = ids[i] == mesh.deviceId(static_cast<std::int64_t>(i));
    if (!same)
        return inputError(scanner.where(), "the text is for another device order than the mesh has",
                          "give the mesh the device ids of the text");
    return done();
}

std::string axisListText(const std::vector<AxisRef>& axes, const Mesh& mesh)
{
    std::vector<std::string> refs;
    for (const AxisRef& ref : axes) {
        const std::string text = axisText(ref, mesh);
        const auto colon = std::min(text.find(':'), text.size());
        refs.push_back('"' + text.substr(0, colon) + '"' + text.substr(colon));
    }
    return "{" + joined(refs) + "}";
}

Status verifyNamedAxes(const Layout& layout, const std::vector<AxisRef>& replicated, const Mesh& mesh, const std::string& where)
{
    Layout all = layout;
    all.partial.insert(all.partial.end(), replicated.begin(), replicated.end());
    return verifyLayout(all, mesh, all.dims.size(), where);
}

} // namespace shardboard
