// SPDX-License-Identifier: Apache-2.0
// Rows of the rule tables are run: every device computes on the part that a row gives it, and what the devices have is put
// together as the row says. A row that is not marked must give what one device computes alone, for all shapes that are
// tried; of those that are marked, each kind must be seen to fail.
#include "model/picker/feasible.h"
#include "tests/support/menutext.h"
#include "tests/support/rowkernels.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QtTest>

#include <random>
#include <set>

using namespace shardboard;
using namespace shardboard::test;
using nlohmann::json;

namespace {

/// An operation to try: shapes of its operands, attributes; `indices` are operands whose values are whole numbers below a bound.
struct Trial {
    std::string op;
    std::vector<Shape> shapes;
    json attributes = json::object();
    std::map<std::size_t, std::int64_t> indices {};
};

class Random {
public:
    explicit Random(unsigned seed)
        : m_engine(seed)
    {
    }
    std::int64_t number(std::int64_t low, std::int64_t high)
    {
        return std::uniform_int_distribution<std::int64_t>(low, high)(m_engine);
    }
    double real() { return std::uniform_real_distribution<double>(-2, 2)(m_engine); }
    Shape shape(std::int64_t lowRank, std::int64_t highRank)
    {
        Shape out;
        for (std::int64_t d = number(lowRank, highRank); d > 0; --d)
            out.push_back(number(1, 7));
        return out;
    }
    std::int64_t dim(const Shape& shape, std::int64_t extra = 0)
    {
        return number(0, static_cast<std::int64_t>(shape.size()) - 1 + extra);
    }
    std::vector<std::int64_t> order(std::size_t n)
    {
        std::vector<std::int64_t> out(n);
        std::iota(out.begin(), out.end(), 0);
        std::ranges::shuffle(out, m_engine);
        return out;
    }
    /// The trailing dims of a shape, some of them 1.
    Shape broadcastOf(const Shape& shape)
    {
        Shape out(shape.begin() + number(0, static_cast<std::int64_t>(shape.size())), shape.end());
        for (std::int64_t& size : out)
            size = number(0, 2) == 0 ? 1 : size;
        return out;
    }

private:
    std::mt19937 m_engine;
};

Trial trialOf(const std::string& op, Random& random)
{
    Trial t { op, {}, json::object() };
    if (op == "matmul" || op == "qmatmul") {
        const std::int64_t k = random.number(1, 6);
        Shape a;
        for (std::int64_t d = random.number(0, 2); d > 0; --d)
            a.push_back(random.number(2, 5));
        Shape b = random.number(0, 1) ? a : random.broadcastOf(a);
        if (random.number(0, 1))
            std::swap(a, b);
        const auto vector = random.number(0, 5);
        if (vector == 0)
            a.clear();
        else
            a.push_back(random.number(1, 6));
        a.push_back(k);
        b.push_back(k);
        if (vector == 1)
            b = { k };
        else
            b.push_back(random.number(1, 6));
        t.shapes = { a, b };
    } else if (op == "outer") {
        t.shapes = { random.shape(1, 1), random.shape(1, 1) };
    } else if (op == "block_scaled_matmul") {
        const std::int64_t n = random.number(1, 6) * kernels::kScaleBlock;
        const std::int64_t k = random.number(1, 6) * kernels::kScaleBlock;
        const std::int64_t m = random.number(1, 6);
        t.shapes = { { m, k }, { n, k }, { k / kernels::kScaleBlock, m }, { n / kernels::kScaleBlock, k / kernels::kScaleBlock } };
    } else if (op == "conv2d" || op == "conv2d_transpose") {
        const std::int64_t groups = op == "conv2d" && random.number(0, 2) == 0 ? 2 : 1;
        const std::int64_t in = random.number(1, 3) * groups;
        const std::int64_t out = random.number(1, 3) * groups;
        t.shapes = { { random.number(1, 4), 4, 3, in }, { 2, 2, op == "conv2d" ? in / groups : out, op == "conv2d" ? out : in } };
        if (random.number(0, 1))
            t.shapes.push_back({ out });
        if (groups > 1)
            t.attributes["groups"] = groups;
    } else if (op == "binary" || op == "linear_binary" || op == "mul" || op == "div" || op == "ternary") {
        const Shape whole = random.shape(1, 3);
        t.shapes = { random.broadcastOf(whole), whole };
        if (op == "ternary")
            t.shapes.push_back(random.broadcastOf(whole));
        if (random.number(0, 1))
            std::swap(t.shapes[0], t.shapes[1]);
        if (random.number(0, 2) == 0)
            t.shapes[0] = t.shapes[1] = whole;
    } else if (op == "layer_norm" || op == "rms_norm") {
        const Shape x = random.shape(1, 3);
        const Shape weight(x.begin() + random.dim(x), x.end());
        t.shapes = { x, weight };
        if (op == "layer_norm")
            t.shapes.push_back(weight);
    } else if (op == "permute") {
        t.shapes = { random.shape(1, 4) };
        t.attributes["dims"] = random.order(t.shapes[0].size());
    } else if (op == "transpose") {
        t.shapes = { random.shape(2, 4) };
        t.attributes = { { "axis_1", random.dim(t.shapes[0]) }, { "axis_2", -1 - random.dim(t.shapes[0]) } };
    } else if (op == "unsqueeze") {
        t.shapes = { random.shape(1, 3) };
        t.attributes["axis"] = random.dim(t.shapes[0], 1);
    } else if (op == "squeeze") {
        t.shapes = { random.shape(1, 3) };
        const std::int64_t axis = random.dim(t.shapes[0]);
        t.shapes[0][static_cast<std::size_t>(axis)] = 1;
        t.attributes["axis"] = axis;
    } else if (op == "flatten") {
        t.shapes = { random.shape(1, 4) };
        const std::int64_t from = random.dim(t.shapes[0]);
        t.attributes = { { "start_dim", from },
                         { "end_dim", random.number(from, static_cast<std::int64_t>(t.shapes[0].size()) - 1) } };
    } else if (op == "reshape") {
        // factors of 2 and 3 put together in two ways
        std::vector<std::int64_t> factors;
        for (std::int64_t i = random.number(2, 5); i > 0; --i)
            factors.push_back(random.number(2, 4));
        const auto grouped = [&] {
            Shape out { 1 };
            for (const std::int64_t f : factors) {
                if (random.number(0, 1))
                    out.push_back(1);
                out.back() *= f;
            }
            return out;
        };
        t.shapes = { grouped() };
        Shape target = grouped();
        t.attributes["shape"] = target;
    } else if (op == "broadcast_to") {
        const Shape whole = random.shape(1, 3);
        t.shapes = { random.broadcastOf(whole) };
        t.attributes["shape"] = whole;
    } else if (op == "concat" || op == "stack") {
        const Shape x = random.shape(1, 3);
        t.shapes.assign(static_cast<std::size_t>(random.number(1, 3)), x);
        const std::int64_t axis = random.dim(x, op == "stack" ? 1 : 0);
        t.attributes["axis"] = axis;
        if (op == "concat")
            for (Shape& shape : t.shapes)
                shape[static_cast<std::size_t>(axis)] = random.number(1, 7);
    } else if (op == "chunk" || op == "split") {
        t.shapes = { random.shape(1, 3) };
        const std::int64_t axis = random.dim(t.shapes[0]);
        t.attributes["axis"] = axis;
        if (op == "chunk") {
            t.attributes["chunks"] = random.number(1, 3);
        } else {
            const std::int64_t a = random.number(1, 2) * 4;
            const std::int64_t b = random.number(1, 6);
            t.attributes["split_sizes"] = random.number(0, 1) ? std::vector { a, std::int64_t { 8 } } : std::vector { b, a };
            t.shapes[0][static_cast<std::size_t>(axis)] =
                t.attributes["split_sizes"][0].get<std::int64_t>() + t.attributes["split_sizes"][1].get<std::int64_t>();
        }
    } else if (op == "slice") {
        t.shapes = { random.shape(1, 4) };
        std::vector<std::int64_t> touched;
        std::vector<std::int64_t> removed;
        std::vector<std::int64_t> inserted;
        for (std::int64_t k = 0; k < static_cast<std::int64_t>(t.shapes[0].size()); ++k) {
            const auto kind = random.number(0, 3);
            if (kind == 0)
                touched.push_back(k);
            if (kind == 1)
                removed.push_back(k);
        }
        if (random.number(0, 2) == 0)
            inserted.push_back(random.number(0, static_cast<std::int64_t>(t.shapes[0].size() - removed.size())));
        t.attributes = { { "touched", touched }, { "removed", removed }, { "inserted", inserted } };
    } else if (op == "pad") {
        t.shapes = { random.shape(1, 3) };
        std::vector<std::int64_t> paddings;
        for (std::size_t i = 0; i < 2 * t.shapes[0].size(); ++i)
            paddings.push_back(random.number(0, 2) == 0 ? random.number(1, 2) : 0);
        t.attributes["paddings"] = paddings;
        const auto value = random.number(0, 2);
        if (value == 0)
            t.attributes["value"] = 1.5;
        if (value == 1) {
            t.attributes["value"] = "tensor";
            t.shapes.push_back({});
        }
    } else if (op == "tile") {
        t.shapes = { random.shape(1, 3) };
        std::vector<std::int64_t> repeats;
        for (std::size_t i = 0; i < t.shapes[0].size(); ++i)
            repeats.push_back(random.number(1, 2));
        t.attributes["repeats"] = repeats;
    } else if (op == "repeat_interleave") {
        t.shapes = { random.shape(1, 3) };
        t.attributes = { { "repeats", random.number(1, 3) }, { "axis", nullptr } };
        if (random.number(0, 3) > 0)
            t.attributes["axis"] = random.dim(t.shapes[0]);
    } else if (op == "gather") {
        t.shapes = { random.shape(1, 3), random.shape(0, 2) };
        const std::int64_t axis = random.dim(t.shapes[0]);
        t.attributes["axis"] = axis;
        t.indices[1] = t.shapes[0][static_cast<std::size_t>(axis)];
    } else if (op == "gather_nd") {
        const Shape batch = random.shape(0, 2);
        Shape x = batch;
        Shape indices = batch;
        for (std::int64_t i = 0; i < 2; ++i)
            x.push_back(3);
        if (random.number(0, 1))
            indices.push_back(random.number(1, 4));
        indices.push_back(random.number(1, 2));
        t.shapes = { x, indices };
        t.attributes["batch_dims"] = batch.size();
        t.indices[1] = 3;
    } else if (op == "scatter") {
        const Shape x = random.shape(1, 3);
        const std::int64_t axis = random.dim(x);
        Shape indices = x;
        for (std::int64_t& size : indices)
            size = random.number(0, 2) == 0 ? random.number(1, size) : size;
        t.shapes = { x, indices, indices };
        t.attributes["axis"] = axis;
        t.indices[2] = x[static_cast<std::size_t>(axis)];
    } else if (op == "buffer_store") {
        const Shape x = random.shape(1, 3);
        Shape source = x;
        if (random.number(0, 1)) {
            std::int64_t& size = source[static_cast<std::size_t>(random.dim(x))];
            size = random.number(1, size);
        }
        t.shapes = { x, source };
    } else if (op == "pool" || op == "linear_pool" || op == "resize") {
        t.shapes = { { random.number(1, 5), random.number(2, 4), random.number(2, 4), random.number(1, 5) } };
    } else if (op == "fold") {
        t.shapes = { random.shape(3, 3) };
    } else if (op == "band_part") {
        t.shapes = { random.shape(2, 4) };
    } else if (op == "as_interleaved_complex") {
        t.shapes = { random.shape(1, 3) };
        t.shapes[0].push_back(2 * random.number(1, 3));
    } else {
        t.shapes = { random.shape(1, 3) };
        const std::set<std::string> along { "reduce", "softmax", "linear_reduce", "mean", "cumsum", "top_k", "argsort", "irfft" };
        if (along.contains(op))
            t.attributes["axis"] = random.dim(t.shapes[0]);
        if (op == "cast" && random.number(0, 1))
            t.attributes["same_dtype"] = true;
    }
    return t;
}

json requestOf(const Trial& trial, const char* profile, std::int64_t devices, int cut)
{
    json inputs = json::array();
    for (const Shape& shape : trial.shapes)
        inputs.push_back({ { "global_shape", shape }, { "placements", { "R" } } });
    if (cut >= 0)
        inputs[0]["placements"] = { "S" + std::to_string(cut) };
    return { { "profile", profile },
             { "op", trial.op },
             { "attrs", trial.attributes },
             { "inputs", inputs },
             { "mesh", { { "shape", { devices } }, { "axes", { "tp" } } } } };
}

/// What each device has of an operand.
std::vector<Array> distributed(const Array& whole, const Placement& placement, std::int64_t devices, Random& random)
{
    std::vector<Array> out(static_cast<std::size_t>(devices), whole);
    if (placement.sharded())
        for (std::int64_t i = 0; i < devices; ++i)
            out[static_cast<std::size_t>(i)] = part(whole, placement.dim, i, devices);
    if (placement.partial()) {
        const double share = placement.reduce == PartialReduce::Avg ? static_cast<double>(devices) : 1;
        Array rest = map(whole, [&](double v) { return v * share; });
        for (std::size_t i = 0; i + 1 < out.size(); ++i) {
            out[i] = map(whole, [&](double) { return random.real(); });
            for (std::size_t k = 0; k < rest.values.size(); ++k)
                rest.values[k] -= out[i].values[k];
        }
        out.back() = rest;
    }
    return out;
}

/// Attributes that name sizes, as the device sees them.
json localAttributes(const Trial& trial, const RowUse& use, const std::vector<Array>& operands, std::int64_t device,
                     std::int64_t devices)
{
    json out = trial.attributes;
    const Placement output = use.result();
    if (trial.op == "reshape" && output.sharded()) {
        auto shape = out["shape"].get<Shape>();
        const auto cut = static_cast<std::size_t>(output.dim);
        shape.at(cut) = 1;
        const std::int64_t others = elementCount(shape).value();
        const auto mine = static_cast<std::int64_t>(operands[0].values.size());
        if (mine % others != 0)
            throw std::runtime_error("not whole");
        shape[cut] = mine / others;
        out["shape"] = shape;
    }
    if (trial.op == "broadcast_to" && output.sharded())
        out["shape"][static_cast<std::size_t>(output.dim)] = operands[0].size(use.to(0).dim);
    const std::int64_t axis = trial.attributes.contains("axis") && trial.attributes["axis"].is_number()
        ? trial.attributes["axis"].get<std::int64_t>()
        : -1;
    if (trial.op == "split" && use.to(0).shards(static_cast<int>(axis)))
        for (json& size : out["split_sizes"])
            size = size.get<std::int64_t>() / devices;
    if (trial.op == "gather" && use.to(0).shards(static_cast<int>(axis))) {
        const std::int64_t rows = trial.shapes[0][static_cast<std::size_t>(axis)];
        out["first_row"] = device * (rows / devices) + std::min(device, rows % devices);
    }
    return out;
}

/// Whether what the devices compute under a row is what one computes alone.
bool holds(const Trial& trial, const RowUse& use, const std::vector<Array>& whole, std::int64_t devices, Random& random)
{
    const Kernel& kernel = rowKernels().at(findFamily(trial.op)->name);
    const auto expected = kernel(whole, trial.attributes);
    std::vector<std::vector<Array>> operands;
    for (std::size_t i = 0; i < whole.size(); ++i)
        operands.push_back(distributed(whole[i], use.to(i), devices, random));
    try {
        std::vector<std::vector<Array>> results(expected.size());
        for (std::int64_t device = 0; device < devices; ++device) {
            std::vector<Array> mine;
            for (const auto& operand : operands)
                mine.push_back(operand[static_cast<std::size_t>(device)]);
            const auto out = kernel(mine, localAttributes(trial, use, mine, device, devices));
            for (std::size_t i = 0; i < results.size(); ++i)
                results[i].push_back(out.at(i));
        }
        const Placement output = use.result();
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (output.sharded()) {
                if (!close(joinAlong(results[i], output.dim), expected[i]))
                    return false;
            } else if (output.partial()) {
                const double share = output.reduce == PartialReduce::Avg ? static_cast<double>(devices) : 1;
                if (!close(map(added(results[i]), [&](double v) { return v / share; }), expected[i]))
                    return false;
            } else {
                for (const Array& result : results[i])
                    if (!close(result, expected[i]))
                        return false;
            }
        }
    } catch (const std::exception&) {
        return false; // the parts do not fit together
    }
    return true;
}

} // namespace

class TestRowSoundness : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void rows_data()
    {
        QTest::addColumn<QString>("op");
        for (const auto& [op, kernel] : rowKernels())
            QTest::newRow(op.c_str()) << QString::fromStdString(op);
    }

    void rows()
    {
        QFETCH(QString, op);
        constexpr int kTrials = 400;
        Random random(static_cast<unsigned>(qHash(op, 7)));
        std::map<std::string, int> failed; // of unsound rows, by reason: how often they were wrong
        std::map<std::string, int> marked;
        std::set<std::string> kinds; // placements that were tried, by profile
        for (int i = 0; i < kTrials && !QTest::currentTestFailed(); ++i) {
            const Trial trial = trialOf(op.toStdString(), random);
            std::vector<Array> whole;
            for (std::size_t k = 0; k < trial.shapes.size(); ++k) {
                const auto bound = trial.indices.find(k);
                whole.push_back(make(trial.shapes[k], [&](const Index&) {
                    return bound == trial.indices.end() ? random.real() : static_cast<double>(random.number(0, bound->second - 1));
                }));
            }
            const std::int64_t devices = random.number(2, 4);
            for (const char* profile : { "G1", "G3", "shardboard" }) {
                // reshape has rows only for what is cut
                const int cuts = trial.op == "reshape" ? static_cast<int>(trial.shapes[0].size()) : 0;
                for (int cut = cuts > 0 ? 0 : -1; cut < cuts; ++cut)
                    tryRows(trial, profile, cut, whole, devices, random, failed, marked, kinds);
            }
        }
        QVERIFY(!kinds.empty());
        for (const auto& [reason, count] : marked)
            QVERIFY2(failed[reason] > 0,
                     (op.toStdString() + ": never seen to fail: " + reason + " (" + std::to_string(count) + " times)").c_str());
    }

private:
    static void tryRows(const Trial& trial, const char* profile, int cut, const std::vector<Array>& whole, std::int64_t devices,
                        Random& random, std::map<std::string, int>& failed, std::map<std::string, int>& marked,
                        std::set<std::string>& kinds)
    {
        const auto question = sure(readPickQuestion(requestOf(trial, profile, devices, cut), "r"));
        const auto expanded = menuOf(question);
        QVERIFY2(std::holds_alternative<Menu>(expanded),
                 std::holds_alternative<Menu>(expanded) ? "" : (trial.op + ": " + std::get<Refusal>(expanded).reason).c_str());
        const Menu& menu = std::get<Menu>(expanded);
        for (std::size_t row = 0; row < menu.rows.size(); ++row) {
            // the operands as the row wants them: nothing moves
            const std::vector<Placement>& now = menu.rows[row].operands;
            std::vector<PickOperand> operands = question.operands;
            for (std::size_t k = 0; k < now.size(); ++k)
                operands[k].placements = { now[k] };
            const std::vector<double> bytes(now.size());
            const PickTask task { question.options, &menu, operands, bytes, &question.mesh };
            const RowUse use { task, now, row, 0 };
            bool fits = feasible(use);
            for (std::size_t k = 0; k < now.size(); ++k)
                if (now[k].sharded() && trial.shapes[k][static_cast<std::size_t>(now[k].dim)] < devices)
                    fits = false; // no picker would cut it
            if (!fits)
                continue;
            const bool right = holds(trial, use, whole, devices, random);
            const char* why = use.unsound();
            std::string shapes;
            for (const Shape& shape : trial.shapes)
                shapes += " [" + shapeText(shape) + "]";
            if (why == nullptr) {
                QVERIFY2(right,
                         (trial.op + " " + trial.attributes.dump() + shapes + " on " + std::to_string(devices) + ", " + profile
                          + ": " + shortText(menu.rows[row]) + " is wrong and not marked")
                             .c_str());
                kinds.insert(std::string(profile) + shortText(menu.rows[row]));
            } else {
                QVERIFY2(std::string(profile) != "shardboard", why);
                ++marked[why];
                failed[why] += right ? 0 : 1;
            }
        }
    }
};

SHARDBOARD_TEST(TestRowSoundness)
#include "tst_rowsoundness.moc"
