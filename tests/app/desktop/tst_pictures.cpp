// SPDX-License-Identifier: Apache-2.0
// Views as pictures in files: drawn, not empty, of the right form; text stays text.
#include "app/desktop/pictures/picturedialog.h"
#include "app/desktop/pictures/pictures.h"
#include "app/desktop/window/fonts.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "widgets/canvas/navigation.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QFile>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollBar>
#include <QSvgRenderer>
#include <QTimer>
#include <QTreeView>
#include <QXmlStreamReader>

#include <cmath>

using namespace shardboard;

class TestPictures : public QObject, private AppWindow {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        makeNew({ 1280, 800 });
        QVERIFY(document()->setDesign(sampleDesign().value()).ok());
    }
    void cleanupTestCase() { drop(); }

    void everyViewInEveryForm_data()
    {
        QTest::addColumn<QString>("view");
        for (const QString& name : window->viewNames())
            QTest::newRow(qPrintable(name)) << name;
    }
    void everyViewInEveryForm()
    {
        QFETCH(QString, view);
        QWidget* widget = window->showView(view);
        QVERIFY(widget != nullptr);
        QCoreApplication::processEvents();
        const auto path = [&](const char* suffix) { return folder.filePath(view + QLatin1String(suffix)); };
        QVERIFY(writePicture(widget, path(".png")).ok());
        const QImage image(path(".png"));
        QCOMPARE(image.size(), widget->size() * 2);
        QSet<QRgb> colours;
        for (int y = 0; y < image.height(); y += 3)
            for (int x = 0; x < image.width(); x += 3)
                colours.insert(image.pixel(x, y));
        QVERIFY2(colours.size() > 3, qPrintable(QString::number(colours.size())));
        QTest::failOnWarning(QRegularExpression(QStringLiteral("QPaintDevice"))); // it knows all that is asked of it
        QVERIFY(writePicture(widget, path(".svg")).ok());
        QFile svg(path(".svg"));
        QVERIFY(svg.open(QIODevice::ReadOnly));
        QXmlStreamReader xml(&svg);
        int drawn = 0;
        while (!xml.atEnd())
            if (xml.readNext() == QXmlStreamReader::StartElement)
                drawn += xml.name() == QLatin1String("text") || xml.name() == QLatin1String("path")
                    || xml.name() == QLatin1String("rect");
        QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
        QVERIFY(drawn > 1); // no findings and no history: a sentence
        QVERIFY(writePicture(widget, path(".pdf")).ok());
        QFile pdf(path(".pdf"));
        QVERIFY(pdf.open(QIODevice::ReadOnly) && pdf.readAll().startsWith("%PDF-"));
    }

    void textStaysText()
    {
        const QString path = at("names.svg");
        QVERIFY(writePicture(window->meshView(), path).ok());
        const QByteArray text = test::contentOf(path);
        QVERIFY(text.contains(">model") && text.contains(">data"));
        QVERIFY2(!text.contains("<image"), "the mesh is a picture of pixels");
    }

    /// Numbers stand in the monospace font, also where a label's text can be selected.
    void textKeepsItsFont()
    {
        QWidget* widget = window->showView(QStringLiteral("inspector"));
        QCoreApplication::processEvents();
        const QString path = at("fonts.svg");
        QVERIFY(writePicture(widget, path).ok());
        const QString text = QString::fromUtf8(test::contentOf(path));
        static const QRegularExpression value(
            QStringLiteral("<text[^>]*font-family=\"([^\"]*)\" font-size=\"([^\"]*)\"[^>]*>[\\d.]+ MiB</text>"));
        const QFont mono = monoFont(widget);
        int values = 0;
        for (auto found = value.globalMatch(text); found.hasNext(); ++values) {
            const auto match = found.next();
            QCOMPARE(match.captured(1), mono.family());
            // In pixels, of which the view has as many as on the screen.
            const double points = match.captured(2).toDouble() * 72 / widget->logicalDpiY();
            QVERIFY2(std::abs(points - mono.pointSizeF()) <= 2, qPrintable(QString::number(points)));
        }
        QVERIFY(values > 0);
    }

    /// Charts, canvases and lists: nothing is copied from the screen's pixels.
    void nothingIsPixelsInVectorPictures_data()
    {
        QTest::addColumn<QString>("view");
        for (const char* name : { "mesh", "tiles", "flow", "memory", "collectives", "cost", "weights", "inspector" })
            QTest::newRow(name) << QString::fromLatin1(name);
    }
    void nothingIsPixelsInVectorPictures()
    {
        QFETCH(QString, view);
        QWidget* widget = window->showView(view);
        QCoreApplication::processEvents();
        const QString path = folder.filePath(view + QStringLiteral("-vector.svg"));
        QVERIFY(writePicture(widget, path).ok());
        const QByteArray text = test::contentOf(path);
        QVERIFY(text.contains("<text"));
        static const QRegularExpression image(QStringLiteral("<image[^>]* width=\"(\\d+)\""));
        for (auto found = image.globalMatch(QString::fromUtf8(text)); found.hasNext();)
            QVERIFY2(found.next().captured(1).toInt() <= 24, "more than an arrow of a button is a picture of pixels");
        if (view == QLatin1String("memory"))
            QVERIFY2(text.contains(">GiB<") && text.contains(">peak<"), "the chart's words are no text");
    }

    /// What the canvas cuts off on the screen is cut off in the file, and text has the size that it has there: drawn again, the
    /// file looks like the screen.
    void nothingLiesBeyondItsFrame_data()
    {
        QTest::addColumn<QString>("view");
        for (const char* name : { "flow", "tiles", "mesh", "collectives", "weights" })
            QTest::newRow(name) << QString::fromLatin1(name);
    }
    void nothingLiesBeyondItsFrame()
    {
        QFETCH(QString, view);
        QWidget* widget = window->showView(view);
        QVERIFY(widget != nullptr);
        QCoreApplication::processEvents();
        for (CanvasNavigation* navigation : widget->findChildren<CanvasNavigation*>())
            navigation->zoom(2.5);
        QCoreApplication::processEvents();
        const QString pixels = folder.filePath(view + QStringLiteral("-again.png"));
        QVERIFY(writePicture(widget, pixels, { 2, false }).ok()); // which has no map in the corner either
        const QImage screen = QImage(pixels)
                                  .scaled(widget->size(), Qt::IgnoreAspectRatio, Qt::SmoothTransformation)
                                  .convertToFormat(QImage::Format_RGB32);
        const QString path = folder.filePath(view + QStringLiteral("-again.svg"));
        QVERIFY(writePicture(widget, path).ok());
        for (CanvasNavigation* navigation : widget->findChildren<CanvasNavigation*>())
            navigation->home();
        QSvgRenderer renderer(path);
        QVERIFY(renderer.isValid());
        QImage again(screen.size(), QImage::Format_RGB32);
        again.fill(screen.pixel(screen.width() - 1, 0));
        QPainter painter(&again);
        renderer.render(&painter, QRectF(QPointF(), screen.size()));
        painter.end();
        // In blocks, so that a letter half a pixel to the side is no difference.
        constexpr int kBlock = 12;
        const auto mean = [](const QImage& image, int left, int top) {
            int sum = 0;
            for (int y = top; y < top + kBlock; ++y)
                for (int x = left; x < left + kBlock; ++x)
                    sum += qGray(image.pixel(x, y));
            return sum / (kBlock * kBlock);
        };
        int blocks = 0;
        int other = 0;
        for (int top = 0; top + kBlock <= screen.height(); top += kBlock)
            for (int left = 0; left + kBlock <= screen.width(); left += kBlock) {
                ++blocks;
                other += std::abs(mean(screen, left, top) - mean(again, left, top)) > 24 ? 1 : 0;
            }
        if (qEnvironmentVariableIsSet("SHARDBOARD_PICTURES")) {
            screen.save(qEnvironmentVariable("SHARDBOARD_PICTURES") + QLatin1Char('/') + view + QStringLiteral("-screen.png"));
            again.save(qEnvironmentVariable("SHARDBOARD_PICTURES") + QLatin1Char('/') + view + QStringLiteral("-again.png"));
        }
        QVERIFY2(other * 50 < blocks, qPrintable(QStringLiteral("%1 of %2").arg(other).arg(blocks)));
    }

    void scales()
    {
        QWidget* view = window->showView(QStringLiteral("memory"));
        QCoreApplication::processEvents();
        const QString path = at("scaled.png");
        QSize last;
        for (const int scale : { 1, 2, 4 }) {
            QVERIFY(writePicture(view, path, { scale, false }).ok());
            const QImage image(path);
            QCOMPARE(image.size(), view->size() * scale);
            QVERIFY(image.size() != last);
            last = image.size();
        }
        // Drawn anew, not stretched: in a stretched picture all pixels of a block of four by four are equal.
        const QImage image(path);
        int finer = 0;
        for (int y = 0; y + 4 <= image.height(); y += 4)
            for (int x = 0; x + 4 <= image.width(); x += 4)
                finer += image.pixel(x, y) != image.pixel(x + 3, y + 3);
        QVERIFY2(finer > 200, qPrintable(QString::number(finer)));
    }

    void allOfAList()
    {
        window->fileActions()->openSample(QStringLiteral("deepseek3-671b-experts"));
        QWidget* view = window->showView(QStringLiteral("weights"));
        auto* tree = view->findChild<QTreeView*>(QStringLiteral("weightTree"));
        tree->expandAll();
        window->resize(1280, 640);
        const QByteArray last = '>' + tree->model()->index(tree->model()->rowCount() - 1, 0).data().toString().toUtf8() + '<';
        QVERIFY(last.size() > 2);
        QCoreApplication::processEvents();
        QVERIFY(tree->verticalScrollBar()->maximum() > 0);
        tree->verticalScrollBar()->setValue(1);
        const int scrolled = tree->verticalScrollBar()->value();
        const QSize size = view->size();
        const QString seen = at("seen.svg");
        const QString all = at("all.svg");
        QVERIFY(writePicture(view, seen, { 1, false }).ok());
        QVERIFY(writePicture(view, all, { 1, true }).ok());
        QVERIFY2(test::contentOf(all).count("<text") > test::contentOf(seen).count("<text"), "rows are missing");
        QVERIFY2(!test::contentOf(seen).contains(last) && test::contentOf(all).contains(last), last.constData());
        QCOMPARE(view->size(), size);
        QCOMPARE(tree->verticalScrollBar()->value(), scrolled);
        QVERIFY(writePicture(view, at("all.png"), { 1, true }).ok());
        QVERIFY(QImage(at("all.png")).height() > size.height());
        window->resize(1280, 800);
        QVERIFY(document()->setDesign(sampleDesign().value()).ok());
    }

    void allOfAZoomedCanvas()
    {
        auto* canvas = window->meshView()->findChild<MeshCanvas*>();
        QVERIFY(canvas != nullptr);
        const auto picture = [&](bool whole) {
            const QString path = at("zoomed.png");
            return writePicture(window->meshView(), path, { 1, whole }).ok() ? QImage(path) : QImage();
        };
        const QImage fitted = picture(false);
        canvas->setFocus();
        for (int i = 0; i < 6; ++i)
            QTest::keyClick(canvas, Qt::Key_Plus);
        const QImage zoomed = picture(false);
        QVERIFY(zoomed != fitted);
        canvas->clearFocus();
        const QImage whole = picture(true);
        const QImage again = picture(false);
        canvas->setFocus();
        QTest::keyClick(canvas, Qt::Key_0);
        canvas->clearFocus();
        QCOMPARE(whole, picture(false));
        QVERIFY(again != whole);
    }

    void dialogProposesAndCompletes()
    {
        const QString place = folder.path();
        PictureDialog dialog(QStringLiteral("Mesh"), { place + QStringLiteral("/llama3-8b-mesh.svg"), {} }, true);
        auto* path = dialog.findChild<QLineEdit*>(QStringLiteral("picture.path"));
        auto* form = dialog.findChild<QComboBox*>(QStringLiteral("picture.form"));
        auto* part = dialog.findChild<QComboBox*>(QStringLiteral("picture.part"));
        const auto save = [&] { return dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Save); };
        QCOMPARE(dialog.choice().path, place + QStringLiteral("/llama3-8b-mesh.svg"));
        QVERIFY(!dialog.choice().options.whole);
        form->setCurrentIndex(4); // the form decides the ending
        QCOMPARE(dialog.choice().path, place + QStringLiteral("/llama3-8b-mesh.png"));
        QCOMPARE(dialog.choice().options.scale, 4);
        path->setText(place + QStringLiteral("/other.pdf")); // a typed ending decides the form
        QCOMPARE(form->currentData().toString(), QStringLiteral("pdf"));
        path->setText(place + QStringLiteral("/bare")); // one is added
        QCOMPARE(dialog.choice().path, place + QStringLiteral("/bare.pdf"));
        path->setText(place + QStringLiteral("/v1.2")); // no ending of a picture
        QCOMPARE(dialog.choice().path, place + QStringLiteral("/v1.2.pdf"));
        part->setCurrentIndex(1);
        QVERIFY(dialog.choice().options.whole);
        QVERIFY(save()->isEnabled());
        path->setText(QStringLiteral("/nonexistent/a.svg"));
        QVERIFY(!save()->isEnabled());
        QVERIFY(dialog.findChild<QLabel*>(QStringLiteral("picture.note"))->text().contains(QStringLiteral("/nonexistent")));
        path->clear();
        QVERIFY(!save()->isEnabled());
        QFile there(place + QStringLiteral("/there.svg"));
        QVERIFY(there.open(QIODevice::WriteOnly));
        path->setText(place + QStringLiteral("/there"));
        form->setCurrentIndex(0);
        QCOMPARE(save()->text(), QStringLiteral("Replace"));
        QCOMPARE(pictureName(QStringLiteral("meta/llama 3"), QStringLiteral("mesh")), QStringLiteral("meta-llama-3-mesh"));
    }

    /// From the menu to the file, beside the design's.
    void menuSavesBesideTheDesign()
    {
        QDir(folder.path()).mkdir(QStringLiteral("project"));
        const QString design = at("project/mine.shardboard");
        QVERIFY(window->fileActions()->saveTo(design));
        QTimer::singleShot(0, qApp, [] {
            auto* dialog = qobject_cast<PictureDialog*>(QApplication::activeModalWidget());
            QVERIFY(dialog != nullptr);
            dialog->accept();
        });
        window->actionRegistry()->get(QStringLiteral("picture.mesh"))->trigger();
        QVERIFY(test::contentOf(at("project/mine-mesh.svg")).contains("<text"));
        QVERIFY(window->banner()->text().contains(QStringLiteral("mine-mesh.svg")));
    }

    void refusals()
    {
        QVERIFY(!writePicture(window.get(), at("a.bmp")).ok());
        const Status status = writePicture(window.get(), QStringLiteral("/nonexistent/a.png"));
        QVERIFY(!status.ok() && status.error().text().find("/nonexistent/a.png") != std::string::npos);
        QVERIFY(window->showView(QStringLiteral("nothing")) == nullptr);
    }
};

SHARDBOARD_TEST(TestPictures, withFonts)

#include "tst_pictures.moc"
