// SPDX-License-Identifier: Apache-2.0
#include "model/io/layouts/layoutdiff.h"

#include "model/io/file/naturalorder.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <tuple>
#include <unordered_map>

namespace shardboard {

namespace {

using What = LayoutDifference::What;

std::string namesText(const std::vector<std::string>& names)
{
    std::vector<std::string> shown;
    for (const std::string& name : names)
        shown.push_back(name.empty() ? "none" : name);
    return "(" + joined(shown) + ")";
}

std::optional<std::int64_t> bytesPerDevice(const LaidOutTensor& tensor, DType fallback)
{
    if (!tensor.elementsPerDevice)
        return std::nullopt;
    return bytesOf(*tensor.elementsPerDevice, tensor.dtype.value_or(fallback));
}

class Comparer {
public:
    Comparer(const LayoutTable& left, const LayoutTable& right, DType fallback, LayoutComparison& out)
        : m_leftMesh(left.mesh)
        , m_rightMesh(right.mesh)
        , m_fallback(fallback)
        , m_out(out)
    {
    }

    void compare(const std::vector<LaidOutTensor>& left, const std::vector<LaidOutTensor>& right, bool activations)
    {
        m_activations = activations;
        m_saysNames = says(left, right, [](const LaidOutTensor& tensor) { return tensor.logicalNames.has_value(); });
        m_saysSpecs = says(left, right, [](const LaidOutTensor& tensor) { return tensor.spec.has_value(); });
        // An activation's name may occur twice; its n-th occurrences belong together.
        std::unordered_map<std::string, std::vector<const LaidOutTensor*>> others;
        for (const LaidOutTensor& tensor : right)
            others[tensor.name].push_back(&tensor);
        std::unordered_map<std::string, std::size_t> taken;
        for (const LaidOutTensor& tensor : left) {
            const auto it = others.find(tensor.name);
            const std::size_t index = taken[tensor.name]++;
            if (it == others.end() || index >= it->second.size())
                add(tensor, nullptr, What::OnlyLeft, shown(tensor), "");
            else
                both(tensor, *it->second[index]);
        }
        std::unordered_map<std::string, std::size_t> passed;
        for (const LaidOutTensor& tensor : right)
            if (passed[tensor.name]++ >= taken[tensor.name])
                add(tensor, &tensor, What::OnlyRight, "", shown(tensor));
        if (activations && left.size() == right.size() && m_out.differences.empty())
            order(left, right);
    }

private:
    /// Whether both sides say something of at least one tensor.
    template <class Says>
    static bool says(const std::vector<LaidOutTensor>& left, const std::vector<LaidOutTensor>& right, Says one)
    {
        return std::ranges::any_of(left, one) && std::ranges::any_of(right, one);
    }

    void order(const std::vector<LaidOutTensor>& left, const std::vector<LaidOutTensor>& right)
    {
        for (std::size_t i = 0; i < left.size(); ++i)
            if (left[i].name != right[i].name)
                return add(left[i], nullptr, What::Order, "number " + std::to_string(i + 1),
                           "there " + right[i].name + " is number " + std::to_string(i + 1));
    }

    static std::string shown(const LaidOutTensor& tensor)
    {
        return tensor.spec ? pythonSpecText(*tensor.spec) : tensor.shape ? shapeText(*tensor.shape) : "there";
    }

    void both(const LaidOutTensor& left, const LaidOutTensor& right)
    {
        ++m_out.compared;
        const auto a = bytesPerDevice(left, m_fallback);
        const auto b = bytesPerDevice(right, m_fallback);
        if (a && b && !m_activations) {
            m_out.leftBytes += *a;
            m_out.rightBytes += *b;
        }
        if (left.shape && right.shape && *left.shape != *right.shape)
            add(left, &right, What::Sizes, shapeText(*left.shape), shapeText(*right.shape));
        if (left.dtype && right.dtype && left.dtype != right.dtype)
            add(left, &right, What::Type, dtypeName(*left.dtype), dtypeName(*right.dtype));
        if (left.logicalNames.has_value() != right.logicalNames.has_value() && m_saysNames)
            add(left, &right, What::LogicalNames, left.logicalNames ? namesText(*left.logicalNames) : "missing",
                right.logicalNames ? namesText(*right.logicalNames) : "missing");
        if (left.spec.has_value() != right.spec.has_value() && m_saysSpecs)
            add(left, &right, What::Spec, left.spec ? pythonSpecText(*left.spec) : "missing",
                right.spec ? pythonSpecText(*right.spec) : "missing");
        if (left.logicalNames && right.logicalNames && left.logicalNames != right.logicalNames)
            add(left, &right, What::LogicalNames, namesText(*left.logicalNames), namesText(*right.logicalNames));
        if (left.spec && right.spec && *left.spec != *right.spec) {
            add(left, &right, What::Spec, pythonSpecText(*left.spec), pythonSpecText(*right.spec));
            m_out.differences.back().sameShards = m_leftMesh && m_rightMesh && left.cut == right.cut
                && withoutUselessAxes(*left.spec, *m_leftMesh) == withoutUselessAxes(*right.spec, *m_rightMesh)
                && left.elementsPerDevice == right.elementsPerDevice;
        }
        if (left.spec && right.spec && *left.spec == *right.spec && left.cut != right.cut)
            add(left, &right, What::Cut, left.cut.empty() ? "even" : left.cut, right.cut.empty() ? "even" : right.cut);
        if (left.spec && right.spec && left.stages && right.stages && *left.stages != *right.stages)
            add(left, &right, What::Stages, left.stages->empty() ? "every device" : *left.stages,
                right.stages->empty() ? "every device" : *right.stages);
        if (!(left.spec && right.spec) && left.shards && right.shards && left.shards != right.shards
            && *left.shards != *right.shards)
            add(left, &right, What::Shards, firstDifference(*left.shards, *right.shards),
                firstDifference(*right.shards, *left.shards));
    }

    /// The first line that the other text does not have at its place, shortened.
    static std::string firstDifference(const std::string& text, const std::string& other)
    {
        const auto lines = split(text, '\n');
        const auto others = split(other, '\n');
        for (std::size_t i = 0; i < lines.size(); ++i)
            if (i >= others.size() || lines[i] != others[i])
                return shortened(lines[i], 120);
        return "fewer shards";
    }

    void add(const LaidOutTensor& tensor, const LaidOutTensor* right, What what, std::string a, std::string b)
    {
        LayoutDifference difference;
        difference.tensor = tensor.name;
        difference.activation = m_activations;
        difference.what = what;
        difference.left = std::move(a);
        difference.right = std::move(b);
        if (what != What::OnlyRight)
            difference.leftBytes = bytesPerDevice(tensor, m_fallback);
        if (right)
            difference.rightBytes = bytesPerDevice(*right, m_fallback);
        m_out.differences.push_back(std::move(difference));
    }

    const std::optional<Mesh>& m_leftMesh;
    const std::optional<Mesh>& m_rightMesh;
    DType m_fallback;
    LayoutComparison& m_out;
    bool m_activations = false;
    bool m_saysNames = false;
    bool m_saysSpecs = false;
};

} // namespace

std::string differenceName(LayoutDifference::What what)
{
    constexpr std::array<const char*, 10> kNames { "only-left",     "only-right", "order", "shape",  "dtype",
                                                   "logical-names", "spec",       "cut",   "stages", "shards" };
    return kNames[static_cast<std::size_t>(what)];
}

LayoutComparison compareLayouts(const LayoutTable& left, const LayoutTable& right, DType fallback)
{
    LayoutComparison out;
    if (left.mesh && right.mesh && !(*left.mesh == *right.mesh)) {
        out.leftMesh = left.mesh->text();
        out.rightMesh = right.mesh->text();
        if (out.leftMesh == out.rightMesh)
            out.rightMesh += " (another device order)";
    }
    Comparer comparer(left, right, fallback, out);
    comparer.compare(left.tensors, right.tensors, false);
    // A folder that lacks one of the files of the other is no equal, though what it has may be.
    const auto missing = [&](const LayoutTable& from, const LayoutTable& in, What what) {
        for (const std::string& file : from.files)
            if (!in.files.empty() && !in.files.contains(file)) {
                LayoutDifference difference;
                difference.tensor = file;
                difference.what = what;
                (what == What::OnlyLeft ? difference.left : difference.right) = "the file is there";
                out.differences.push_back(std::move(difference));
            }
    };
    missing(left, right, What::OnlyLeft);
    missing(right, left, What::OnlyRight);
    // A source without activations says nothing about them.
    if (!left.activations.empty() && !right.activations.empty())
        comparer.compare(left.activations, right.activations, true);
    return out;
}

std::vector<DifferenceGroup> groupedDifferences(const std::vector<LayoutDifference>& differences)
{
    std::vector<DifferenceGroup> groups;
    std::map<std::tuple<std::string, int, std::string, std::string, bool>, std::size_t> index;
    for (const LayoutDifference& difference : differences) {
        const std::string name = withoutNumbers(difference.tensor);
        const auto [it, fresh] = index.try_emplace(
            { name, static_cast<int>(difference.what), difference.left, difference.right, difference.activation }, groups.size());
        if (fresh) {
            groups.push_back({ difference, 1 });
            continue;
        }
        groups[it->second].first.tensor = name;
        ++groups[it->second].count;
    }
    return groups;
}

} // namespace shardboard
