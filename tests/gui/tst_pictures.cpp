// SPDX-License-Identifier: Apache-2.0
// Views as pictures in files: drawn, not empty, of the right form; text stays text.
#include "app/desktop/fonts.h"
#include "app/desktop/mainwindow.h"
#include "app/desktop/pictures.h"
#include "app/desktop/sample.h"
#include "app/desktop/settings.h"
#include "app/desktop/themecontrol.h"
#include "model/session/document.h"
#include "widgets/meshview.h"

#include <QApplication>
#include <QFile>
#include <QImage>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>

#include <memory>

using namespace shardboard;

class TestPictures : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        m_settings = std::make_unique<Settings>(m_folder.filePath(QStringLiteral("settings.ini")));
        m_theme = std::make_unique<ThemeControl>(*qApp, *m_settings);
        m_window = std::make_unique<MainWindow>(*m_settings, *m_theme);
        m_window->resize(1280, 800);
        m_window->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_window.get()));
        QVERIFY(m_window->document()->setDesign(sampleDesign().value()).ok());
    }
    void cleanupTestCase()
    {
        m_window.reset();
        m_theme.reset();
    }

    void everyViewInEveryForm_data()
    {
        QTest::addColumn<QString>("view");
        for (const QString& name : m_window->viewNames())
            QTest::newRow(qPrintable(name)) << name;
    }
    void everyViewInEveryForm()
    {
        QFETCH(QString, view);
        QWidget* widget = m_window->showView(view);
        QVERIFY(widget != nullptr);
        QCoreApplication::processEvents();
        const auto path = [&](const char* suffix) { return m_folder.filePath(view + QLatin1String(suffix)); };
        QVERIFY(writePicture(widget, path(".png")).ok());
        const QImage image(path(".png"));
        QCOMPARE(image.size(), widget->size() * 2);
        QSet<QRgb> colours;
        for (int y = 0; y < image.height(); y += 3)
            for (int x = 0; x < image.width(); x += 3)
                colours.insert(image.pixel(x, y));
        QVERIFY2(colours.size() > 3, qPrintable(QString::number(colours.size())));
        QVERIFY(writePicture(widget, path(".svg")).ok());
        QFile svg(path(".svg"));
        QVERIFY(svg.open(QIODevice::ReadOnly));
        QXmlStreamReader xml(&svg);
        int drawn = 0;
        while (!xml.atEnd())
            if (xml.readNext() == QXmlStreamReader::StartElement)
                drawn += xml.name() == QLatin1String("text") || xml.name() == QLatin1String("path") || xml.name() == QLatin1String("rect");
        QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
        QVERIFY(drawn > 1); // no findings and no history: a sentence
        QVERIFY(writePicture(widget, path(".pdf")).ok());
        QFile pdf(path(".pdf"));
        QVERIFY(pdf.open(QIODevice::ReadOnly) && pdf.readAll().startsWith("%PDF-"));
    }

    void textStaysText()
    {
        const QString path = m_folder.filePath(QStringLiteral("names.svg"));
        QVERIFY(writePicture(m_window->meshView(), path).ok());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray text = file.readAll();
        QVERIFY(text.contains(">model") && text.contains(">data"));
        QVERIFY2(!text.contains("<image"), "the mesh is a picture of pixels");
    }

    void refusals()
    {
        QVERIFY(!writePicture(m_window.get(), m_folder.filePath(QStringLiteral("a.bmp"))).ok());
        const Status status = writePicture(m_window.get(), QStringLiteral("/nonexistent/a.png"));
        QVERIFY(!status.ok() && status.error().text().find("/nonexistent/a.png") != std::string::npos);
        QCOMPARE(withPictureSuffix(QStringLiteral("a"), QStringLiteral("PNG (*.png)")), QStringLiteral("a.png"));
        QCOMPARE(withPictureSuffix(QStringLiteral("a.svg"), QStringLiteral("PNG (*.png)")), QStringLiteral("a.svg"));
        QVERIFY(m_window->showView(QStringLiteral("nothing")) == nullptr);
    }

private:
    QTemporaryDir m_folder;
    std::unique_ptr<Settings> m_settings;
    std::unique_ptr<ThemeControl> m_theme;
    std::unique_ptr<MainWindow> m_window;
};

int main(int argc, char** argv)
{
    QApplication application(argc, argv);
    ensureFonts(application);
    TestPictures test;
    return QTest::qExec(&test, argc, argv);
}

#include "tst_pictures.moc"
