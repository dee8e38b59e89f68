// SPDX-License-Identifier: Apache-2.0
// How the real window looks when it is asked to look otherwise: size of text, contrast, patterns in place of hues. All of it at
// once, and kept. With SHARDBOARD_PICTURES set to a folder the windows are saved there to be looked at.
#include "app/desktop/panels/workbench.h"
#include "app/desktop/window/fonts.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/look/devicecolors.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"

#include <QAbstractButton>
#include <QCheckBox>
#include <QComboBox>

#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QTableView>
#include <QToolButton>
#include <QTreeView>
#include <QUndoStack>

#include <algorithm>
#include <cmath>
#include <utility>

using namespace shardboard;

namespace {

void savePicture(QWidget* widget, const QString& name)
{
    const QString folder = qEnvironmentVariable("SHARDBOARD_PICTURES");
    if (!folder.isEmpty())
        widget->grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png"));
}

/// How far a colour is from grey, 0 to 255.
int hueOf(QRgb pixel)
{
    const auto [least, most] = std::minmax({ qRed(pixel), qGreen(pixel), qBlue(pixel) });
    return most - least;
}

int strongestHue(const QImage& image)
{
    int out = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            out = std::max(out, hueOf(image.pixel(x, y)));
    return out;
}

struct Lightness {
    double mean = 0; ///< 0 to 255
    double spread = 0; ///< standard deviation: 0 for one colour alone
};

Lightness lightnessOf(const QImage& image)
{
    double sum = 0;
    double squares = 0;
    const double count = std::max(1, image.width() * image.height());
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) {
            const double grey = qGray(image.pixel(x, y));
            sum += grey;
            squares += grey * grey;
        }
    return { sum / count, std::sqrt(std::max(0.0, squares / count - sum / count * sum / count)) };
}

/// Told apart by lightness alone.
bool differ(const QImage& a, const QImage& b) { return std::abs(lightnessOf(a).mean - lightnessOf(b).mean) > 20; }

} // namespace

class TestLook : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QTest::failOnWarning(QRegularExpression(QStringLiteral("^(?!.*propagateSizeHints).*$"))); }
    void cleanup();

    void textSizeByKeys();
    void everythingFollowsTheTextSize();
    void textSizeIsKept();
    void noTextIsClipped_data();
    void noTextIsClipped();
    void headingsAreWholeOrAway();
    void flowIsUsableInLargeText();
    void largeTextDoesNotGrowTheWindow();
    void highContrastIsLiveAndKept();
    void patternsHaveNoHues();
    void patternsAreLiveAndKept();
    void allLooksTogether();

private:
    void settle()
    {
        for (int i = 0; i < 4; ++i)
            QCoreApplication::processEvents();
    }
    QImage cell(MeshCanvas* canvas, std::int64_t position);
    QImage tile(TileCanvas* canvas, std::int64_t position);
    QStringList clipped() const;

    AppWindow m_it;
};

void TestLook::cleanup()
{
    if (m_it.window)
        m_it.window->workbench()->setMode(WorkMode::Design); // the next one begins where this one ends
    if (m_it.theme) {
        m_it.theme->setTextSize(m_it.theme->usualTextSize());
        m_it.theme->setHighContrast(false);
        m_it.theme->setPatternsOnly(false);
        m_it.theme->setChoice(ThemeChoice::System);
    }
    m_it.close();
}

void TestLook::textSizeByKeys()
{
    m_it.open();
    const double usual = m_it.theme->usualTextSize();
    QCOMPARE(usual, 10.0); // as fonts are made without a display
    const auto press = [this](Qt::Key key) { QTest::keyClick(m_it.window.get(), key, Qt::ControlModifier | Qt::ShiftModifier); };
    QVERIFY(!m_it.action("view.textUsual")->isEnabled());
    press(Qt::Key_Plus);
    QCOMPARE(m_it.theme->textSize(), usual + 1);
    press(Qt::Key_Plus);
    QCOMPARE(QApplication::font().pointSizeF(), usual + 2);
    press(Qt::Key_Minus);
    QCOMPARE(QApplication::font().pointSizeF(), usual + 1);
    press(Qt::Key_Underscore); // what Shift makes of the minus
    QCOMPARE(QApplication::font().pointSizeF(), usual);
    for (int i = 0; i < 30; ++i)
        press(Qt::Key_Plus);
    QCOMPARE(m_it.theme->textSize(), ThemeControl::kMostText);
    QVERIFY(!m_it.action("view.textLarger")->isEnabled());
    press(Qt::Key_0);
    QCOMPARE(m_it.theme->textSize(), usual);
    QVERIFY(m_it.action("view.textLarger")->isEnabled());
}

void TestLook::everythingFollowsTheTextSize()
{
    m_it.open({ 1600, 1000 });
    MainWindow* window = m_it.window.get();
    const auto fontOf = [&](const char* name) { return m_it.child<QLabel>(name)->font().pointSizeF(); };
    const double name = fontOf("summaryName");
    const double step = fontOf("summaryStep");
    auto* tree = m_it.child<QTreeView>("weightTree");
    const QAbstractItemView* rows = tree; // protected in the class itself
    const int row = rows->sizeHintForRow(0);
    auto* table = m_it.child<QTableView>("collectivesTable");
    const int tableRow = table->verticalHeader()->defaultSectionSize();
    const int headings = table->horizontalHeader()->sizeHint().height();
    auto* mesh = m_it.child<MeshCanvas>("meshCanvas");
    const QImage before = mesh->grab().toImage();
    auto* flow = m_it.child<QWidget>("flowCanvas");
    const QImage flowBefore = flow->grab().toImage();
    m_it.theme->setTextSize(16);
    settle();
    QCOMPARE(window->font().pointSizeF(), 16.0);
    QCOMPARE(fontOf("summaryName"), name + 6);
    QCOMPARE(fontOf("summaryStep"), step + 6);
    QVERIFY2(rows->sizeHintForRow(0) > row, qPrintable(QString::number(rows->sizeHintForRow(0))));
    QVERIFY(mesh->grab().toImage() != before);
    QVERIFY(flow->grab().toImage().scaled(flowBefore.size()) != flowBefore);
    m_it.raise("collectives"); // in such text the flow may be a tab before it
    settle();
    QVERIFY(table->verticalHeader()->defaultSectionSize() > tableRow);
    QVERIFY(table->verticalHeader()->defaultSectionSize() >= QFontMetrics(table->font()).height());
    QVERIFY(table->horizontalHeader()->sizeHint().height() > headings);
    savePicture(window, QStringLiteral("text-16"));
    m_it.theme->setTextSize(10);
    settle();
    QCOMPARE(mesh->font().pointSizeF(), 10.0);
    QCOMPARE(fontOf("summaryName"), name);
    QCOMPARE(rows->sizeHintForRow(0), row);
    QCOMPARE(table->verticalHeader()->defaultSectionSize(), tableRow);
}

void TestLook::textSizeIsKept()
{
    m_it.open();
    m_it.theme->setTextSize(13);
    m_it.open();
    QCOMPARE(m_it.theme->textSize(), 13.0);
    QCOMPARE(m_it.theme->usualTextSize(), 10.0); // what is kept is not taken for the system's
    QCOMPARE(m_it.window->font().pointSizeF(), 13.0);
    m_it.action("view.textUsual")->trigger();
    m_it.open();
    QCOMPARE(m_it.theme->textSize(), 10.0);
    QCOMPARE(m_it.settings->textSize(), 0.0);
}

/// Texts that need more room than their widget has, with what they lack. What is elided on purpose says all of it in its tool tip.
QStringList TestLook::clipped() const
{
    QStringList out;
    const auto say = [&out](const QWidget* widget, const QString& text, int needed, int has, const char* what) {
        out << QStringLiteral("%1 %2 “%3”: %4 %5 of %6")
                   .arg(QString::fromLatin1(widget->metaObject()->className()), widget->objectName(), text.left(40),
                        QString::fromLatin1(what))
                   .arg(has)
                   .arg(needed);
    };
    for (const QWidget* widget : m_it.window->findChildren<QWidget*>()) {
        if (!widget->isVisible() || widget->width() == 0 || widget->visibleRegion().isEmpty())
            continue;
        const QFontMetrics metrics(widget->font());
        QString text;
        int needed = 0;
        int height = metrics.ascent(); // capitals and small letters are seen whole
        if (const auto* label = qobject_cast<const QLabel*>(widget)) {
            text = label->text();
            if (label->buddy() != nullptr)
                text.remove(QLatin1Char('&'));
            if (text.isEmpty() || !label->pixmap(Qt::ReturnByValue).isNull() || qobject_cast<const ElidedLabel*>(widget))
                continue;
            if (text.endsWith(QChar(0x2026)) || text.contains(QChar(0x2026)))
                continue; // elided, or of what goes on
            if (label->wordWrap()) {
                const int wanted = label->heightForWidth(label->width());
                if (wanted > label->height() + 2)
                    say(widget, text, wanted, label->height(), "height");
                continue;
            }
            needed = label->textFormat() == Qt::RichText || Qt::mightBeRichText(text) ? label->minimumSizeHint().width()
                                                                                      : metrics.size(0, text).width();
        } else if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) {
            text = button->text().remove(QLatin1Char('&'));
            if (text.isEmpty() || button->objectName().startsWith(QLatin1String("legend.")))
                continue; // those of legends elide their names, and have them in their tool tips
            needed = metrics.horizontalAdvance(text);
        } else if (const auto* box = qobject_cast<const QComboBox*>(widget)) {
            text = box->currentText();
            height = metrics.height();
        } else if (qobject_cast<const QLineEdit*>(widget)) {
            height = metrics.height();
        } else {
            continue;
        }
        if (needed > widget->width() + 1)
            say(widget, text, needed, widget->width(), "width");
        if (height > widget->height())
            say(widget, text, height, widget->height(), "height");
    }
    return out;
}

void TestLook::noTextIsClipped_data()
{
    QTest::addColumn<double>("points");
    QTest::addColumn<QSize>("size");
    QTest::newRow("9 pt") << 9.0 << QSize(1280, 800);
    QTest::newRow("10 pt") << 10.0 << QSize(1280, 800);
    QTest::newRow("14 pt") << 14.0 << QSize(1600, 1000);
    QTest::newRow("14 pt, small window") << 14.0 << QSize(1280, 800);
    QTest::newRow("18 pt, small window") << 18.0 << QSize(1280, 800);
    QTest::newRow("18 pt") << 18.0 << QSize(1920, 1200);
}

void TestLook::noTextIsClipped()
{
    QFETCH(double, points);
    QFETCH(QSize, size);
    m_it.open(size, false);
    m_it.window->setAnimated(false); // panels are where they are at once
    m_it.theme->setTextSize(points);
    settle();
    QStringList found = clipped();
    savePicture(m_it.window.get(), QStringLiteral("welcome-%1pt").arg(points));
    m_it.window->fileActions()->openSample();
    settle();
    for (const Panel* dock : m_it.window->workbench()->all()) {
        m_it.window->workbench()->raise(dock->objectName());
        settle();
        QStringList now = clipped();
        if (!now.isEmpty()) { // panels may still be on their way to their sizes
            QTest::qWait(300);
            now = clipped();
        }
        for (const QString& one : std::as_const(now))
            if (!found.contains(one))
                found << one;
        if (points > 12)
            savePicture(m_it.window.get(), QStringLiteral("%1-%2pt").arg(dock->objectName()).arg(points));
    }
    QVERIFY2(found.isEmpty(), qPrintable(found.join(QLatin1Char('\n'))));
}

/// Large text in a small window: columns are as wide as what stands above them, and a title that cannot be read is not there.
void TestLook::headingsAreWholeOrAway()
{
    for (const double points : { 14.0, 18.0 }) {
        m_it.open({ 1280, 800 }, false);
        m_it.window->setAnimated(false);
        m_it.theme->setTextSize(points);
        m_it.window->fileActions()->openSample();
        m_it.window->workbench()->raise(QStringLiteral("collectives"));
        settle();
        const auto* heading = m_it.child<QTableView>("collectivesTable")->horizontalHeader();
        for (int column = 0; column + 1 < heading->count(); ++column) { // the last one is elided as its cells are
            const QString text = heading->model()->headerData(column, Qt::Horizontal).toString();
            if (!heading->isSectionHidden(column))
                QVERIFY2(heading->sectionSize(column) >= QFontMetrics(heading->font()).horizontalAdvance(text) + 8,
                         qPrintable(text));
        }
        m_it.window->tileView()->showAll(true);
        settle();
        for (const QLabel* title : m_it.window->findChildren<QLabel*>(QStringLiteral("headerTitle")))
            if (title->isVisible() && title->text().contains(QChar(0x2026)))
                QVERIFY2(title->text().size() >= 5, qPrintable(title->text()));
        // The ways out of having no rules do not ask for more room than other panels do.
        m_it.window->workbench()->raise(QStringLiteral("rules"));
        settle();
        const auto* rules = m_it.child<QWidget>("rulesView");
        QVERIFY2(rules->minimumSizeHint().width() <= 300 * points / 10,
                 qPrintable(QString::number(rules->minimumSizeHint().width())));
        QVERIFY(m_it.child<QPushButton>("rulesAddFirst")->isVisible());
        m_it.close();
    }
}

/// In the smallest window and text of 144 dots an inch one sees operations, reads them, chooses one, and goes through the plan.
void TestLook::flowIsUsableInLargeText()
{
    m_it.open({ 1024, 640 });
    m_it.window->workbench()->reset(); // whatever the test before it left
    m_it.theme->setTextSize(15);
    settle();
    settle();
    auto* flow = m_it.child<FlowCanvas>("flowCanvas");
    QVERIFY(flow->isVisible());
    const auto wholeOnes = [&] {
        std::vector<int> out;
        for (int i = 0; i < static_cast<int>(flow->scene().items.size()); ++i)
            if (QRectF(flow->rect()).contains(flow->itemRect(i)))
                out.push_back(i);
        return out;
    };
    if (const QString folder = qEnvironmentVariable("SHARDBOARD_PICTURES"); !folder.isEmpty())
        m_it.window->grab().save(folder + QStringLiteral("/flow-large-text.png"));
    QVERIFY(wholeOnes().size() >= 3);
    const int chosen = wholeOnes().back();
    QVERIFY(flow->itemRect(chosen).height() >= 2 * flow->fontMetrics().height()); // two lines of text
    QTest::mouseClick(flow, Qt::LeftButton, {}, flow->itemRect(chosen).center().toPoint());
    QVERIFY(m_it.selection()->operation().valid() || m_it.selection()->collective().valid());
    flow->setFocus();
    const CollectiveId before = m_it.selection()->collective();
    for (int i = 0; i < 12; ++i) {
        QTest::keyClick(flow, Qt::Key_Right);
        settle();
    }
    QVERIFY(m_it.selection()->collective() != before || m_it.selection()->operation().valid());
    QVERIFY(!wholeOnes().empty()); // what is gone to is in sight
}

/// Three mesh axes, three phases: nothing in the largest text asks for more than a small window has.
void TestLook::largeTextDoesNotGrowTheWindow()
{
    m_it.open({ 1280, 800 }, false);
    m_it.window->setAnimated(false);
    m_it.theme->setTextSize(18);
    m_it.window->fileActions()->openSample(QStringLiteral("llama3.1-405b-train"));
    settle();
    QVERIFY(m_it.window->document()->design().mesh.axisCount() >= 2);
    Design design = m_it.window->document()->design();
    design.mesh = Mesh::parse("data=4,fsdp=32,model=8").value();
    QVERIFY(m_it.window->document()->edit(design, QStringLiteral("mesh"), Misfits::Replicate).ok());
    for (const char* dock : { "history", "rules", "collectives" }) {
        m_it.window->workbench()->raise(QString::fromLatin1(dock));
        settle();
        QVERIFY2(m_it.window->width() == 1280,
                 qPrintable(QStringLiteral("%1 with %2").arg(m_it.window->width()).arg(QString::fromLatin1(dock))));
    }
    m_it.window->document()->undoStack()->setClean();
}

void TestLook::highContrastIsLiveAndKept()
{
    m_it.open();
    QAction* contrast = m_it.action("view.contrast");
    auto* mesh = m_it.child<MeshCanvas>("meshCanvas");
    for (const ThemeChoice choice : { ThemeChoice::Light, ThemeChoice::Dark }) {
        m_it.theme->setChoice(choice);
        QImage before;
        QTRY_VERIFY(std::exchange(before, mesh->grab().toImage()) == mesh->grab().toImage()
                    && !before.isNull()); // all has its place
        const QSize size = mesh->size();
        contrast->trigger();
        settle();
        QVERIFY(contrast->isChecked());
        const Theme& theme = Theme::of(m_it.window.get());
        QVERIFY(theme.highContrast);
        QCOMPARE(theme.isDark, choice == ThemeChoice::Dark);
        QCOMPARE(m_it.window->palette().color(QPalette::WindowText), theme.text);
        QCOMPARE(m_it.child<QWidget>("weightTree")->palette().color(QPalette::Base), theme.panel);
        const QImage after = mesh->grab().toImage();
        QVERIFY(after != before);
        QCOMPARE(QColor(after.pixel(2, after.height() - 2)), theme.window); // the canvas prepared its picture anew
        savePicture(m_it.window.get(),
                    choice == ThemeChoice::Dark ? QStringLiteral("contrast-dark") : QStringLiteral("contrast-light"));
        contrast->trigger();
        settle();
        QTRY_COMPARE(mesh->size(), size); // else what is drawn cannot be the same
        QTRY_COMPARE(mesh->grab().toImage(), before);
        QVERIFY(!Theme::of(m_it.window.get()).highContrast);
    }
    contrast->trigger();
    m_it.open();
    QVERIFY(m_it.theme->isHighContrast());
    QVERIFY(Theme::of(m_it.window.get()).highContrast);
    QVERIFY(m_it.action("view.contrast")->isChecked());
}

/// The coloured part of a device at the upper left, above its id.
QImage TestLook::cell(MeshCanvas* canvas, std::int64_t position)
{
    const QRect rect = canvas->deviceRect(position).toRect();
    return canvas->grab(QRect(rect.topLeft() + QPoint(14, 14), QSize(std::max(10, rect.width() - 28), 12))).toImage();
}

QImage TestLook::tile(TileCanvas* canvas, std::int64_t position)
{
    const QRect rect = canvas->tileRect(position).toRect();
    return canvas->grab(QRect(rect.topLeft() + QPoint(4, 6), QSize(24, 24))).toImage();
}

void TestLook::patternsHaveNoHues()
{
    m_it.open({ 1600, 1000 });
    auto* mesh = m_it.child<MeshCanvas>("meshCanvas");
    auto* tiles = m_it.child<TileCanvas>("tileCanvas");
    const auto& weights = m_it.window->document()->evaluation()->weights;
    const auto cut = std::find_if(weights.begin(), weights.end(),
                                  [](const WeightLayout& it) { return it.spec.name.find("o_proj") != std::string::npos; });
    m_it.window->document()->selection()->setWeight(static_cast<int>(cut - weights.begin()));
    settle();
    QVERIFY(strongestHue(cell(mesh, 0)) > 80); // blue
    QVERIFY(strongestHue(tile(tiles, 1)) > 80);
    m_it.action("view.patterns")->trigger();
    for (const ThemeChoice choice : { ThemeChoice::Light, ThemeChoice::Dark }) {
        m_it.theme->setChoice(choice);
        settle();
        // The ink of labels is nearly grey. Devices 0 to 3 hold the four shards, 4 to 7 the same once more.
        for (std::int64_t a = 0; a < 4; ++a) {
            QVERIFY2(strongestHue(cell(mesh, a)) <= 6, qPrintable(QString::number(strongestHue(cell(mesh, a)))));
            QVERIFY2(strongestHue(tile(tiles, a)) <= 6, qPrintable(QString::number(strongestHue(tile(tiles, a)))));
            QVERIFY(!differ(cell(mesh, a), cell(mesh, a + 4)));
            QVERIFY((lightnessOf(tile(tiles, a)).spread > 10) == (a > 0)); // the first one is plain, the others are hatched
            for (std::int64_t b = 0; b < a; ++b) {
                QVERIFY2(differ(cell(mesh, a), cell(mesh, b)), qPrintable(QStringLiteral("devices %1 and %2").arg(a).arg(b)));
                QVERIFY2(differ(tile(tiles, a), tile(tiles, b)), qPrintable(QStringLiteral("tiles %1 and %2").arg(a).arg(b)));
            }
        }
        savePicture(m_it.window.get(),
                    choice == ThemeChoice::Dark ? QStringLiteral("patterns-dark") : QStringLiteral("patterns-light"));
    }
    // Whatever is drawn of parts, wherever: not one pixel of the seven hues.
    const QImage all = m_it.child<QWidget>("tileView")->grab().toImage();
    std::vector<QRgb> hues;
    setPartStyle(PartStyle::Hues);
    for (int i = 0; i < kHueCount; ++i)
        hues.push_back(partColor(i).fill.rgb());
    setPartStyle(PartStyle::Patterns);
    for (int y = 0; y < all.height(); ++y)
        for (int x = 0; x < all.width(); ++x)
            QVERIFY(std::find(hues.begin(), hues.end(), all.pixel(x, y)) == hues.end());
}

void TestLook::patternsAreLiveAndKept()
{
    m_it.open({ 1600, 1000 });
    auto* mesh = m_it.child<MeshCanvas>("meshCanvas");
    auto* weights = m_it.child<QWidget>("weightTree");
    QImage before;
    QImage thumbnails;
    QTRY_VERIFY(std::exchange(before, mesh->grab().toImage()) == mesh->grab().toImage() && !before.isNull()
                && std::exchange(thumbnails, weights->grab().toImage()) == weights->grab().toImage()
                && !thumbnails.isNull()); // all has its place
    m_it.action("view.patterns")->trigger();
    settle();
    QVERIFY(mesh->grab().toImage() != before);
    QVERIFY(weights->grab().toImage() != thumbnails);
    m_it.action("view.patterns")->trigger();
    settle();
    QTRY_COMPARE(mesh->grab().toImage(), before);
    QTRY_COMPARE(weights->grab().toImage(), thumbnails);
    m_it.action("view.patterns")->trigger();
    m_it.open();
    QVERIFY(m_it.theme->isPatternsOnly());
    QCOMPARE(partStyle(), PartStyle::Patterns);
    QVERIFY(m_it.action("view.patterns")->isChecked());
}

void TestLook::allLooksTogether()
{
    m_it.open({ 1600, 1000 });
    m_it.theme->setHighContrast(true);
    m_it.theme->setPatternsOnly(true);
    m_it.theme->setTextSize(14);
    settle();
    QVERIFY(Theme::of(m_it.window.get()).highContrast);
    QCOMPARE(partStyle(), PartStyle::Patterns);
    QCOMPARE(m_it.window->font().pointSizeF(), 14.0);
    savePicture(m_it.window.get(), QStringLiteral("contrast-patterns-14"));
}

SHARDBOARD_TEST(TestLook, withFonts)

#include "tst_look.moc"
