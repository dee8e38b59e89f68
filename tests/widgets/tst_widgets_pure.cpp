// SPDX-License-Identifier: Apache-2.0
// What views compute without a window: numbers as text, colours, zoom, the grid of a mesh, tiles, the flow.
#include "tests/support/families.h"
#include "tests/support/runner.h"
#include "tests/widgets/widgets_support.h"

#include "model/design/evaluate/evaluate.h"
#include "widgets/canvas/viewport.h"

#include "widgets/document/devicememory.h"
#include "widgets/flow/flowscene.h"
#include "widgets/look/axishues.h"
#include "widgets/look/devicecolors.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/shards/tilescene.h"
#include "widgets/weights/weightmodel.h"
#include "widgets/workbench/meshchips.h"

#include <QTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

using namespace shardboard;

class TestWidgetsPure : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void bytes_data();
    void bytes();
    void seconds_data();
    void seconds();
    void countsAreGrouped();
    void labelsAreReadable();
    void neighboursDifferInLightness();
    void huesStayApartForTheColourBlind();
    void pastSevenThereIsHatching();
    void patternsNeedNoHue();
    void themesAreReadable();
    void devicesWithEqualShardsShareAColour();
    void axesKeepTheirColour();
    void manyPartsGoFromDarkToLight();
    void indicesOfAllDevices();
    void zoomKeepsThePointUnderTheCursor();
    void worldCannotLeaveTheView();
    void tilesCoverTheTensor_data();
    void tilesCoverTheTensor();
    void manyTilesBecomeAnImage();
    void filterRules_data();
    void filterRules();
    void flowHasTwoAllReducesInALayer();
    void flowGroupsOperationsOfEveryFamily_data();
    void flowGroupsOperationsOfEveryFamily();
    void renamedAxisIsFollowedByStrategies();
    void removedAxisLeavesStrategies();
};

void TestWidgetsPure::bytes_data()
{
    QTest::addColumn<qlonglong>("value");
    QTest::addColumn<QString>("text");
    QTest::newRow("zero") << 0LL << QStringLiteral("0 B");
    QTest::newRow("below a KiB") << 999LL << QStringLiteral("999 B");
    QTest::newRow("8 MiB") << (8LL << 20) << QStringLiteral("8 MiB");
    QTest::newRow("three digits") << 46278246000LL << QStringLiteral("43.1 GiB");
    QTest::newRow("1000 MiB is not four digits") << (1000LL << 20) << QStringLiteral("0.977 GiB");
    QTest::newRow("112 MiB") << (112LL << 20) << QStringLiteral("112 MiB");
    QTest::newRow("rounds up a digit") << 10732LL << QStringLiteral("10.5 KiB");
}

void TestWidgetsPure::bytes()
{
    QFETCH(qlonglong, value);
    QTEST(bytesText(value), "text");
}

void TestWidgetsPure::seconds_data()
{
    QTest::addColumn<double>("value");
    QTest::addColumn<QString>("text");
    QTest::newRow("zero") << 0.0 << QStringLiteral("0 s");
    QTest::newRow("ms") << 0.1314 << QStringLiteral("131 ms");
    QTest::newRow("us") << 5.5e-6 << QStringLiteral("5.5 µs");
    QTest::newRow("s") << 2.25 << QStringLiteral("2.25 s");
    QTest::newRow("next unit") << 0.9999 << QStringLiteral("1 s");
}

void TestWidgetsPure::seconds()
{
    QFETCH(double, value);
    QTEST(secondsText(value), "text");
}

void TestWidgetsPure::countsAreGrouped()
{
    QCOMPARE(countText(8030261248), QStringLiteral("8,030,261,248"));
    QCOMPARE(countText(-1234), QStringLiteral("-1,234"));
    QCOMPARE(digitsText(26516.4), QStringLiteral("26,516"));
    QCOMPARE(digitsText(999.6), QStringLiteral("1,000"));
    QCOMPARE(digitsText(0.98765), QStringLiteral("0.988"));
    QCOMPARE(digitsText(9.996), QStringLiteral("10"));
    QCOMPARE(rateText(3.35e12), QStringLiteral("3,350 GB/s"));
    QCOMPARE(counted(16384, QStringLiteral("device"), QStringLiteral("devices")), QStringLiteral("16,384 devices"));
    QCOMPARE(countText(291), QStringLiteral("291"));
}

void TestWidgetsPure::labelsAreReadable()
{
    for (int i = 0; i < 35; ++i) {
        const PartColor color = partColor(i);
        QVERIFY2(contrastRatio(color.fill, color.label) >= 4.5, qPrintable(QString::number(i)));
        if (color.hatch != Qt::NoBrush)
            QVERIFY2(contrastRatio(color.hatchColor, color.label) >= 4.5, qPrintable(QString::number(i)));
    }
    QVERIFY(std::abs(contrastRatio(Qt::black, Qt::white) - 21) < 0.01);
}

void TestWidgetsPure::neighboursDifferInLightness()
{
    const auto lightness = [](const QColor& c) { // L* from the contrast with black: (Y + 0.05) / 0.05
        const double y = contrastRatio(c, Qt::black) * 0.05 - 0.05;
        return 116 * std::cbrt(y) - 16;
    };
    for (int i = 0; i + 1 < kHueCount; ++i)
        QVERIFY2(std::abs(lightness(partColor(i).fill) - lightness(partColor(i + 1).fill)) >= 10, qPrintable(QString::number(i)));
}

/// In CIELAB, as eyes of three kinds see them (Machado, Oliveira and Fernandes 2009, severity 1).
void TestWidgetsPure::huesStayApartForTheColourBlind()
{
    using Matrix = std::array<std::array<double, 3>, 3>;
    constexpr Matrix kinds[] = {
        { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } },
        { { { 0.152286, 1.052583, -0.204868 }, { 0.114503, 0.786281, 0.099216 }, { -0.003882, -0.048116, 1.051998 } } },
        { { { 0.367322, 0.860646, -0.227968 }, { 0.280085, 0.672501, 0.047413 }, { -0.011820, 0.042940, 0.968881 } } },
        { { { 1.255528, -0.076749, -0.178779 }, { -0.078411, 0.930809, 0.147602 }, { 0.004733, 0.691367, 0.303900 } } },
    };
    const auto lab = [](const QColor& color, const Matrix& eye) {
        const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
        const std::array<double, 3> rgb { linear(color.redF()), linear(color.greenF()), linear(color.blueF()) };
        const auto times = [](const Matrix& m, const std::array<double, 3>& v) {
            std::array<double, 3> out {};
            for (std::size_t i = 0; i < 3; ++i)
                out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
            return out;
        };
        std::array<double, 3> seen = times(eye, rgb);
        for (double& value : seen)
            value = std::clamp(value, 0.0, 1.0);
        constexpr Matrix toXyz {
            { { 0.4124564, 0.3575761, 0.1804375 }, { 0.2126729, 0.7151522, 0.0721750 }, { 0.0193339, 0.1191920, 0.9503041 } }
        };
        const std::array<double, 3> xyz = times(toXyz, seen);
        const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
        const double x = f(xyz[0] / 0.95047);
        const double y = f(xyz[1]);
        const double z = f(xyz[2] / 1.08883);
        return std::array<double, 3> { 116 * y - 16, 500 * (x - y), 200 * (y - z) };
    };
    for (const Matrix& eye : kinds)
        for (int a = 0; a < kHueCount; ++a)
            for (int b = 0; b < a; ++b) {
                const auto p = lab(partColor(a).fill, eye);
                const auto q = lab(partColor(b).fill, eye);
                const double distance = std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
                QVERIFY2(distance >= 15,
                         qPrintable(QStringLiteral("%1 and %2 for kind %3: %4").arg(a).arg(b).arg(&eye - kinds).arg(distance)));
            }
}

void TestWidgetsPure::pastSevenThereIsHatching()
{
    for (int i = 0; i < kHueCount; ++i) {
        QCOMPARE(partColor(i).hatch, Qt::NoBrush);
        QCOMPARE(partColor(i + kHueCount).fill, partColor(i).fill);
        QVERIFY(partColor(i + kHueCount).hatch != Qt::NoBrush);
        QVERIFY(partColor(i + kHueCount).hatch != partColor(i + 2 * kHueCount).hatch);
    }
}

/// Greys alone; each of 56 is another one, neighbours by grey and by pattern, and labels are read on all of it.
void TestWidgetsPure::patternsNeedNoHue()
{
    setPartStyle(PartStyle::Patterns);
    std::set<std::pair<QRgb, int>> seen;
    for (int i = 0; i < 56; ++i) {
        const PartColor color = partColor(i);
        for (const QColor& one : { color.fill, color.hatchColor, hueColor(i) })
            QVERIFY(one.red() == one.green() && one.green() == one.blue());
        QVERIFY2(contrastRatio(color.fill, color.label) >= 4.5, qPrintable(QString::number(i)));
        QVERIFY2(color.hatch == Qt::NoBrush || contrastRatio(color.hatchColor, color.label) >= 4.5, qPrintable(QString::number(i)));
        QVERIFY2(color.hatch == Qt::NoBrush || contrastRatio(color.hatchColor, color.fill) >= 1.8, qPrintable(QString::number(i)));
        QVERIFY(seen.emplace(color.fill.rgb(), static_cast<int>(color.hatch)).second);
        QVERIFY(color.fill != partColor(i + 1).fill && color.hatch != partColor(i + 1).hatch);
        QVERIFY2(contrastRatio(color.fill, partColor(i + 1).fill) >= 1.3, qPrintable(QString::number(i)));
    }
    for (const double fill : { 0.0, 0.4, 1.0, 1.3 }) {
        const PartColor heat = heatColor(fill, Theme::dark());
        QVERIFY(heat.fill.red() == heat.fill.green() && heat.fill.green() == heat.fill.blue());
        QCOMPARE(heat.hatch != Qt::NoBrush, fill > 1);
        QVERIFY(contrastRatio(heat.fill, heat.label) >= 4.5);
    }
    setPartStyle(PartStyle::Hues);
    QVERIFY(partColor(0).fill.red() != partColor(0).fill.blue());
}

void TestWidgetsPure::themesAreReadable()
{
    for (const Theme& theme : { Theme::light(), Theme::dark(), Theme::contrastLight(), Theme::contrastDark() }) {
        for (const QColor& background : { theme.window, theme.panel, theme.selection }) {
            QVERIFY(contrastRatio(theme.text, background) >= 7);
            QVERIFY(contrastRatio(theme.quiet, background) >= 4.0);
        }
        QVERIFY(contrastRatio(theme.attention, theme.attentionFill) >= 4.5);
        QVERIFY(contrastRatio(theme.onAccent, theme.accent) >= 4.5);
        const QPalette palette = theme.palette();
        QVERIFY(contrastRatio(palette.color(QPalette::PlaceholderText), palette.color(QPalette::Base)) >= 4.0);
        QVERIFY(palette.color(QPalette::Disabled, QPalette::Text) != palette.color(QPalette::Active, QPalette::Text));
        QVERIFY(!theme.styleSheet().contains(QLatin1Char('@')));
        if (!theme.highContrast)
            continue;
        for (const QColor& background : { theme.window, theme.panel, theme.selection })
            QVERIFY(contrastRatio(theme.quiet, background) >= 7);
        QVERIFY(contrastRatio(theme.line, theme.panel) >= 3);
        QVERIFY(contrastRatio(theme.attention, theme.attentionFill) >= 7 && contrastRatio(theme.error, theme.panel) >= 7);
        QVERIFY(contrastRatio(theme.onAccent, theme.accent) >= 7 && contrastRatio(theme.accent, theme.panel) >= 7);
        QVERIFY(contrastRatio(palette.color(QPalette::Disabled, QPalette::Text), theme.panel) >= 4.5);
    }
}

void TestWidgetsPure::devicesWithEqualShardsShareAColour()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const Mesh& mesh = document.design().mesh;
    const DeviceColors cut(mesh, &weightAt(document, weightNamed(document, "o_proj")).shards);
    const DeviceColors whole(mesh, &weightAt(document, weightNamed(document, "model.norm")).shards);
    for (std::int64_t position = 0; position < 8; ++position) {
        QCOMPARE(cut.indexAt(position), position % 4);
        QCOMPARE(whole.indexAt(position), position % 4);
    }
}

/// Whatever the order; and no two axes have the same one.
void TestWidgetsPure::axesKeepTheirColour()
{
    std::vector<MeshAxis> axes { { "data", 2 }, { "model", 2 }, { "rows", 2 }, { "columns", 2 }, { "fsdp", 2 }, { "z", 2 } };
    std::sort(axes.begin(), axes.end(), [](const MeshAxis& a, const MeshAxis& b) { return a.name < b.name; });
    std::map<std::string, int> hues;
    do {
        const AxisHues of(axes);
        std::set<int> seen;
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const int hue = of.hueOf(static_cast<int>(i));
            QCOMPARE(hues.emplace(axes[i].name, hue).first->second, hue);
            seen.insert(hue);
        }
        QCOMPARE(seen.size(), axes.size());
    } while (std::next_permutation(axes.begin(), axes.end(), [](const MeshAxis& a, const MeshAxis& b) { return a.name < b.name; }));
    QCOMPARE(axisColor(Mesh::parse("data=2,model=4").value(), 0), QColor(0xE6, 0x9F, 0x00));
    QCOMPARE(axisColor(Mesh::parse("model=4,data=2").value(), 1), QColor(0xE6, 0x9F, 0x00));
}

void TestWidgetsPure::manyPartsGoFromDarkToLight()
{
    const Mesh mesh = Mesh::parse("data=2,model=128").value();
    const PartColors parts(mesh, 1);
    QVERIFY(parts.isRamp());
    double last = 0;
    for (std::int64_t i = 0; i < 128; ++i) {
        const PartColor color = parts.at(i);
        const double light = contrastRatio(color.fill, Qt::black);
        QVERIFY2(light >= last, qPrintable(QString::number(i)));
        QVERIFY2(contrastRatio(color.fill, color.label) >= 4.5, qPrintable(QString::number(i)));
        QCOMPARE(color.hatch, Qt::NoBrush);
        last = light;
    }
    QVERIFY(contrastRatio(parts.at(0).fill, parts.at(127).fill) > 6);
    QVERIFY(!PartColors(Mesh::parse("model=7").value(), 0).isRamp());
    QCOMPARE(PartColors(Mesh::parse("model=7").value(), 0).at(3).fill, partColor(3).fill);
}

/// As one by one, also where axes cut in another order than that of the mesh.
void TestWidgetsPure::indicesOfAllDevices()
{
    const Mesh mesh = Mesh::parse("data=2,fsdp=3,model=4").value();
    for (const char* spec : { "P('model')", "P(('model', 'data'))", "P('fsdp', ('model', 'data'))", "P()" }) {
        const ShardMap shards = shardsOf({ 48, 48 }, parseSpec(spec, mesh, 2).value(), mesh, CutRule::Balanced, "test").value();
        const DeviceColors colors(mesh, &shards);
        const auto all = colors.indices();
        QCOMPARE(static_cast<std::int64_t>(all.size()), mesh.deviceCount());
        for (std::int64_t i = 0; i < mesh.deviceCount(); ++i)
            QCOMPARE(static_cast<std::int64_t>(all[static_cast<std::size_t>(i)]), colors.indexAt(i));
    }
}

void TestWidgetsPure::zoomKeepsThePointUnderTheCursor()
{
    Viewport viewport;
    viewport.setView({ 10, 20, 400, 300 });
    viewport.setWorld({ 0, 0, 100, 50 }, 1000);
    QCOMPARE(viewport.scale(), 4.0);
    const QPointF cursor(150, 130);
    const QPointF before = viewport.toWorld(cursor);
    viewport.zoomAt(cursor, 2.5);
    QCOMPARE(viewport.scale(), 10.0);
    const QPointF after = viewport.toWorld(cursor);
    QVERIFY(std::hypot(after.x() - before.x(), after.y() - before.y()) * viewport.scale() <= 1.0);
    viewport.zoomAt(cursor, 1e-6);
    QVERIFY(viewport.isFitted());
}

void TestWidgetsPure::worldCannotLeaveTheView()
{
    Viewport viewport;
    viewport.setView({ 0, 0, 400, 400 });
    viewport.setWorld({ 0, 0, 100, 100 }, 1000);
    viewport.zoomAt({ 200, 200 }, 3);
    viewport.pan({ 1e6, -1e6 });
    const QRectF seen = viewport.visibleWorld();
    QVERIFY(std::abs(seen.left()) < 1e-9);
    QVERIFY(std::abs(seen.bottom() - 100) < 1e-9);
}

void TestWidgetsPure::tilesCoverTheTensor_data()
{
    QTest::addColumn<QString>("shape");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<int>("tiles");
    QTest::newRow("columns") << "4096,4096"
                             << "P(None, 'model')" << 4;
    QTest::newRow("both") << "4096,4096"
                          << "P('data', 'model')" << 8;
    QTest::newRow("one dim twice") << "4096,4096"
                                   << "P(('model', 'data'))" << 8;
    QTest::newRow("uneven") << "10,7"
                            << "P('model')" << 4;
    QTest::newRow("vector") << "9"
                            << "P('model')" << 4;
    QTest::newRow("whole") << "5,6"
                           << "P()" << 1;
    QTest::newRow("rank 3") << "2,8,4"
                            << "P(None, 'model', 'data')" << 8;
}

void TestWidgetsPure::tilesCoverTheTensor()
{
    QFETCH(QString, shape);
    QFETCH(QString, spec);
    QFETCH(int, tiles);
    const Mesh mesh = Mesh::parse("data=2,model=4").value();
    WeightLayout weight;
    weight.spec.shape = parseShape(shape.toStdString()).value();
    weight.layout = parseSpec(spec.toStdString(), mesh, weight.spec.shape.size()).value();
    weight.shards = shardsOf(weight.spec.shape, weight.layout, mesh, CutRule::Balanced, "test").value();
    const TileScene scene = makeTileScene(weight);
    QCOMPARE(static_cast<int>(scene.tiles.size()), tiles);
    std::int64_t area = 0;
    std::int64_t owners = 0;
    for (const Tile& tile : scene.tiles) {
        area += scene.rows[static_cast<std::size_t>(tile.row)].range.size()
            * scene.columns[static_cast<std::size_t>(tile.column)].range.size();
        owners += tile.owners;
    }
    QCOMPARE(area, scene.rowSize * scene.columnSize);
    QCOMPARE(owners, std::int64_t { 8 });
    // A tile's centre belongs to a device that says the same of itself.
    for (const Tile& tile : scene.tiles) {
        const Range& r = scene.rows[static_cast<std::size_t>(tile.row)].range;
        const Range& c = scene.columns[static_cast<std::size_t>(tile.column)].range;
        const double y = (static_cast<double>(r.lo + r.hi) / 2) / static_cast<double>(scene.rowSize);
        const double x = (static_cast<double>(c.lo + c.hi) / 2) / static_cast<double>(scene.columnSize);
        const std::int64_t owner = scene.ownerAt(x, y);
        QCOMPARE(owner, tile.firstOwner);
        const auto own = scene.tilesOf(owner);
        QCOMPARE(own.size(), std::size_t { 1 });
        QCOMPARE(own.front(), std::make_pair(tile.row, tile.column));
    }
}

void TestWidgetsPure::manyTilesBecomeAnImage()
{
    const Mesh mesh = Mesh::parse("data=128,model=128").value();
    WeightLayout weight;
    weight.spec.shape = { 4096, 4096 };
    weight.layout = parseSpec("P('data', 'model')", mesh, 2).value();
    weight.shards = shardsOf(weight.spec.shape, weight.layout, mesh, CutRule::Balanced, "test").value();
    const TileScene scene = makeTileScene(weight);
    QVERIFY(scene.tiles.empty());
    QCOMPARE(scene.tileCount, std::int64_t { 16384 });
    QCOMPARE(scene.image.size(), QSize(128, 128));
    QCOMPARE(QColor(scene.image.pixel(5, 3)), PartColors(weight.shards).at(3 * 128 + 5).fill);
}

void TestWidgetsPure::filterRules_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("weight");
    QTest::addColumn<bool>("shown");
    QTest::newRow("nothing typed") << ""
                                   << "o_proj" << true;
    QTest::newRow("part of the name") << "O_PROJ"
                                      << "o_proj" << true;
    QTest::newRow("another part") << "mlp"
                                  << "o_proj" << false;
    QTest::newRow("glob") << "*.mlp.*"
                          << "down_proj" << true;
    QTest::newRow("glob that does not fit") << "*.mlp.*"
                                            << "o_proj" << false;
    QTest::newRow("dim and axis") << "dim 1 = model"
                                  << "o_proj" << true;
    QTest::newRow("other dim") << "dim 0 = model"
                               << "o_proj" << false;
    QTest::newRow("no such dim") << "dim 7 = model"
                                 << "o_proj" << false;
    QTest::newRow("replicated") << "replicated"
                                << "input_layernorm" << true;
    QTest::newRow("not replicated") << "Replicated"
                                    << "o_proj" << false;
}

void TestWidgetsPure::filterRules()
{
    QFETCH(QString, text);
    QFETCH(QString, weight);
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    QTEST(WeightPattern(text).matches(weightAt(document, weightNamed(document, weight.toStdString()))), "shown");
}

void TestWidgetsPure::flowHasTwoAllReducesInALayer()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto evaluation = document.evaluation();
    PlannedSegmentId block;
    for (PlannedSegmentId i { 0 }; i < evaluation->plan.segments.size(); ++i)
        if (evaluation->plan.segment(i).count > 1)
            block = i;
    const FlowScene scene = makeFlowScene(*evaluation, block);
    QStringList titles;
    std::size_t ops = 0;
    for (const FlowItem& item : scene.items) {
        titles << item.title;
        ops += item.ops.size();
    }
    // Every operation of the layer is in exactly one box.
    QCOMPARE(ops, evaluation->plan.segment(block).ops.size());
    QCOMPARE(titles.join(QLatin1Char('|')),
             QStringLiteral("rms norm|q · k · v|attention|o_proj|all-reduce|add|rms norm|gate · up|silu · "
                            "mul|down_proj|all-reduce|add"));
    QVERIFY(makeFlowScene(*evaluation, PlannedSegmentId(99)).items.empty());
}

void TestWidgetsPure::flowGroupsOperationsOfEveryFamily_data()
{
    QTest::addColumn<QString>("family");
    QTest::addColumn<int>("phase");
    QTest::addColumn<QString>("titles");
    QTest::newRow("sinks and clamped swiglu")
        << "gpt_oss" << static_cast<int>(Phase::Forward)
        << "rms norm|q · k · v|sink attention|o_proj|add|rms norm|router|top k gates|dispatch|expert matmul t|expert "
           "bias|clamped swiglu|expert matmul t|expert bias|combine|add";
    QTest::newRow("sinks and clamped swiglu, backward")
        << "gpt_oss" << static_cast<int>(Phase::Backward)
        << "∂ combine|∂ combine|grad|∂ expert bias|expert matmul|∂ down_proj|∂ swiglu|spread other|spread other|add|∂ expert "
           "bias|expert matmul|∂ gate_up_proj|∂ dispatch|∂ top k gates|sum leading|∂ router|add|grad|∂ "
           "post_attention_layernorm|add|sum leading|∂ o_proj|∂ sink attention|sum leading|∂ v_proj|sum leading|∂ k_proj|sum "
           "leading|∂ q_proj|add|add|grad|∂ input_layernorm|add|gradients of 17 weights";
    QTest::newRow("gelu by tanh") << "gemma" << static_cast<int>(Phase::Forward)
                                  << "rms norm|q · k · v|attention|o_proj|add|rms norm|gate · up|gelu tanh · mul|down_proj|add";
    QTest::newRow("layer norms, backward")
        << "falcon" << static_cast<int>(Phase::Backward)
        << "∂ dense_4h_to_h|∂ gelu|∂ dense_h_to_4h|∂ dense|∂ attention|pad last|pad last|merge groups|pad last|add|add|merge "
           "heads|∂ query_key_value|grad|∂ ln_mlp|sum leading|grad|∂ ln_attn|sum leading|add|add|gradients of 8 weights";
}

void TestWidgetsPure::flowGroupsOperationsOfEveryFamily()
{
    QFETCH(QString, family);
    QFETCH(int, phase);
    Design design = knownDesign();
    design.model = test::familyModel(family.toStdString());
    design.workload = { WorkloadKind::Train, 4, 8, DType::BF16 };
    design.strategies.clear();
    const auto evaluation = evaluate(design);
    QVERIFY2(evaluation.ok(), evaluation.ok() ? "" : evaluation.error().text().c_str());
    const auto& segments = evaluation.value()->plan.segments;
    const auto block = std::find_if(segments.begin(), segments.end(), [phase](const PlannedSegment& segment) {
        return segment.count > 1 && segment.phase == static_cast<Phase>(phase);
    });
    QVERIFY(block != segments.end());
    QStringList titles;
    for (const FlowItem& item : makeFlowScene(*evaluation.value(), PlannedSegmentId(block - segments.begin())).items)
        if (item.kind != FlowItem::CollectivePill)
            titles << item.title;
    QTEST(titles.join(QLatin1Char('|')), "titles");
}

void TestWidgetsPure::renamedAxisIsFollowedByStrategies()
{
    Design design = knownDesign();
    StrategyEntry entry;
    entry.match = "lm_head.weight";
    entry.strategy.kind = StrategyKind::Spec;
    entry.strategy.spec = "P('model')";
    design.strategies.push_back(entry);
    const auto renamed = withMeshAxis(design, 1, { "tp", 8 });
    QVERIFY(renamed.ok());
    QCOMPARE(renamed.value().mesh.text(), std::string("data=2,tp=8"));
    QCOMPARE(renamed.value().strategies.back().strategy.spec, std::string("P('tp')"));
    QVERIFY(evaluate(renamed.value()).ok());
    QVERIFY(!withMeshAxis(design, 1, { "data", 4 }).ok());
    QVERIFY(!withMeshAxis(design, 1, { "model", std::int64_t { 1 } << 40 }).ok());
}

void TestWidgetsPure::removedAxisLeavesStrategies()
{
    Design design = knownDesign();
    StrategyEntry entry;
    entry.match = "lm_head.weight";
    entry.strategy.kind = StrategyKind::Spec;
    entry.strategy.spec = "P(('data', 'model'))";
    design.strategies.push_back(entry);
    const auto without = withoutMeshAxis(design, 1);
    QVERIFY(without.ok());
    QCOMPARE(without.value().mesh.text(), std::string("data=2"));
    QCOMPARE(without.value().strategies.back().strategy.spec, std::string("P('data')"));
    const auto evaluation = evaluate(without.value());
    QVERIFY(evaluation.ok());
    for (const WeightLayout& weight : evaluation.value()->weights)
        if (weight.spec.name.find("o_proj") != std::string::npos)
            QVERIFY(weight.layout.isReplicated());
}

SHARDBOARD_TEST(TestWidgetsPure)
#include "tst_widgets_pure.moc"
