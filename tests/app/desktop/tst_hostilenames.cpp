// SPDX-License-Identifier: Apache-2.0
// Designs whose names want to be obeyed, in the real window: whatever a name says, it is shown, nothing is loaded for
// it, and every view, tool tip, menu, box and picture stays usable.
#include "app/desktop/base/actions.h"
#include "app/desktop/base/banner.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/fileconflict.h"
#include "app/desktop/files/savename.h"
#include "app/desktop/panels/workbench.h"
#include "app/desktop/pictures/pictures.h"
#include "app/desktop/window/helpwindow.h"
#include "app/desktop/window/shortcutsheet.h"
#include "model/io/design/designfile.h"
#include "model/session/edithistory.h"
#include "model/text/visibletext.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/app/desktop/textsinks.h"
#include "tests/support/hostilenames.h"
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"
#include "widgets/look/plaintext.h"

#include <QDir>
#include <QDirIterator>

#include <QFile>
#include <QFileDialog>
#include <QImage>
#include <QMessageBox>
#include <QRegularExpression>
#include <QTextBrowser>
#include <QTimer>
#include <QTreeView>
#include <QUrl>
#include <QXmlStreamReader>

#include <cerrno>
#include <sys/inotify.h>
#include <unistd.h>

using namespace shardboard;

namespace {

/// Tells whether anybody has opened a file.
class OpenWatch {
public:
    explicit OpenWatch(const QString& path)
        : m_file(inotify_init1(IN_NONBLOCK | IN_CLOEXEC))
        , m_watch(inotify_add_watch(m_file, QFile::encodeName(path).constData(), IN_OPEN | IN_ACCESS))
    {
    }
    ~OpenWatch() { ::close(m_file); }
    OpenWatch(const OpenWatch&) = delete;
    OpenWatch& operator=(const OpenWatch&) = delete;
    bool works() const { return m_watch >= 0; }
    bool opened() const
    {
        char events[4096];
        return ::read(m_file, events, sizeof events) > 0;
    }

private:
    int m_file;
    int m_watch;
};

std::vector<HostileName> controlNames()
{
    std::vector<HostileName> out = controlHostileNames();
    out.push_back({ "no characters of XML", "a\xef\xbf\xbe\xef\xbf\xbf" });
    return out;
}

/// What every way of loading a file from HTML would need.
std::string loading(const QString& path)
{
    const std::string file = QFile::encodeName(path).toStdString();
    return "<img src=\"" + file + "\"><table background=\"file://" + file + "\"><link rel=stylesheet href=\"" + file
        + "\"><body background=\"" + file + "\">";
}

std::vector<HostileName> allNames()
{
    std::vector<HostileName> out = printableHostileNames();
    for (const HostileName& name : controlNames())
        out.push_back(name);
    for (const HostileName& name : malformedHostileNames())
        out.push_back(name);
    return out;
}

/// One weight of each name.
Design weightsNamed(const std::vector<HostileName>& names, const std::string& model)
{
    Design design = looseDesign("data=2,model=4");
    design.model.name = model;
    design.model.source = model;
    design.model.notUnderstood = "nobody understands " + model;
    design.model.looseWeights.clear();
    for (const HostileName& name : names) {
        design.model.looseWeights.push_back(looseWeight(name.name.c_str(), { 64, 32 }));
        auto& tensor = design.model.looseWeights.back().tensor;
        tensor.name = name.name; // with its NUL
        tensor.dimLabels = { name.name, "in" };
        tensor.logicalNames = { name.name, "embed" };
    }
    design.strategies = { { "*", { StrategyKind::Rowwise, { "model" }, 0, {} }, {} } };
    return design;
}

/// A whole model in which the name stands wherever a name can.
Design modelNamed(const std::string& name)
{
    Design design = knownDesign();
    design.model.layers = 2;
    design.model.name = name;
    design.model.source = name;
    design.model.weightPrefix = name;
    const std::string shown = visibleText(name); // an entry that says more is refused when the design is evaluated
    design.strategies.push_back({ shown + "*q_proj*", { StrategyKind::Columnwise, { "data" }, 0, {} }, {} });
    design.rules.source = shown;
    design.rules.rules = { { shown, { "model", shown }, shown }, { "embed", { shown }, shown }, { shown, {}, shown } };
    Pin pin;
    pin.match = shown + "*";
    pin.dims = { { shown, { "data" } } };
    pin.source = shown;
    design.pins = { pin };
    Hardware own = hardwareOf(design).value();
    own.id = "own";
    own.name = name;
    own.source = name;
    own.device.source = name;
    for (auto& level : own.levels) {
        level.link.name = name;
        level.link.source = name;
    }
    design.hardware = own.id;
    design.ownHardware = own;
    return design;
}

std::string everythingAtOnce(const QString& picture)
{
    return loading(picture) + "<b>&amp;&x \"'%1%2%n [*] \x1b[31m\n\t\xe2\x80\xae" + std::string("\0end", 4);
}

} // namespace

class TestHostileNames : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void init();
    void everyTextOfEveryView_data();
    void everyTextOfEveryView();
    void everyWeightIsShownAsItIs();
    void hoveredWeightsOfAFileTellTheirNames();
    void fileNamesAreShownInBoxes();
    void boxesOfQtArePlainToo();
    void helpAndShortcutsArePlain();
    void veryLongNamesLeaveTheWindowItsSize();
    void picturesAreWellFormed_data();
    void picturesAreWellFormed();
    void shownTextsAreShort();
    void proposedFileNamesStayInTheirFolder();
    void sourcesUseTheHelper();

private:
    /// Checks a dialog or box that comes up, and leaves it.
    void checkNextDialog(TextSinks& sinks, int* seen);
    QString problemsOf(const TextSinks& sinks) const { return sinks.problems().mid(0, 12).join(QLatin1Char('\n')); }
    QString fileNamed(const QString& name, const Design& design) const
    {
        const QString path = m_window->folder.filePath(name);
        return writeDesign(QFile::encodeName(path).toStdString(), design).ok() ? path : QString();
    }

    QTemporaryDir m_folder;
    QString m_picture; ///< what HTML would load
    std::unique_ptr<RealWindow> m_window;
};

void TestHostileNames::initTestCase()
{
    m_picture = m_folder.filePath(QStringLiteral("p.png"));
    QImage image(4, 4, QImage::Format_RGB32);
    image.fill(Qt::red);
    QVERIFY(image.save(m_picture));
    const OpenWatch watch(m_picture);
    if (!watch.works())
        QSKIP("nobody tells here which files are opened");
    QFile file(m_picture);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(watch.opened());
    // It is worth loading: what these tests are against does happen where nobody cares.
    QLabel careless(QString::fromStdString(loading(m_picture)));
    careless.sizeHint();
    QVERIFY(watch.opened());
}

void TestHostileNames::init()
{
    m_window.reset();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    m_window = std::make_unique<RealWindow>(QSize(1600, 1000));
    QVERIFY(m_window->ready);
}

void TestHostileNames::checkNextDialog(TextSinks& sinks, int* seen)
{
    QTimer::singleShot(0, qApp, [&sinks, seen] {
        auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
        QVERIFY(dialog != nullptr);
        ++*seen;
        sinks.walk(dialog);
        sinks.hover(dialog, 3);
        QVERIFY(dialog->width() <= dialog->screen()->size().width());
        dialog->reject();
    });
}

void TestHostileNames::everyTextOfEveryView_data()
{
    QTest::addColumn<bool>("graph");
    QTest::addColumn<QString>("kind");
    for (const bool graph : { false, true })
        for (const char* kind : { "everything", "long", "long HTML" })
            QTest::addRow("%s, %s", graph ? "model" : "weights", kind) << graph << QString::fromLatin1(kind);
}

void TestHostileNames::everyTextOfEveryView()
{
    QFETCH(bool, graph);
    QFETCH(QString, kind);
    const OpenWatch watch(m_picture);
    std::string name = everythingAtOnce(m_picture);
    if (kind != QLatin1String("everything"))
        name = (kind == QLatin1String("long") ? std::string() : loading(m_picture)) + std::string(100'000, 'x');
    std::vector<HostileName> names = allNames();
    names.push_back({ "picture", loading(m_picture) });
    const Status status = m_window->document()->setDesign(graph ? modelNamed(name) : weightsNamed(names, name));
    QVERIFY2(status.ok(), status.ok() ? "" : status.error().text().c_str());
    TextSinks sinks;
    MainWindow* window = m_window->window.get();
    const std::size_t weights = m_window->document()->evaluation()->weights.size();
    for (const Panel* dock : window->workbench()->all()) {
        window->workbench()->raise(dock->objectName());
        m_window->selection()->setWeight(static_cast<int>(sinks.checked())
                                         % static_cast<int>(weights)); // each view with another one
        QCoreApplication::processEvents();
        sinks.walk(window);
        sinks.hover(window, dock->objectName() == QLatin1String("weights") ? 9 : 3);
        QVERIFY2(!watch.opened(), qPrintable(dock->objectName()));
    }
    sinks.contextMenus(window);
    const Design now = m_window->document()->design();
    Design edited = now;
    edited.workload.batch *= 2;
    QVERIFY(m_window->document()->edit(edited, tr("Edit of %1").arg(shownText(name))).ok());
    sinks.walk(window); // the edit's name in the menu and in the history
    QVERIFY2(sinks.problems().isEmpty(), qPrintable(problemsOf(sinks)));
    QVERIFY(sinks.checked() > 1000);
    QVERIFY(sinks.tips() > 20);
    QVERIFY(sinks.menus() > 3);
    QVERIFY(!watch.opened());
}

/// Printable names as they are, the others with their escapes, each in the list and in the view's heading.
void TestHostileNames::everyWeightIsShownAsItIs()
{
    std::vector<HostileName> names;
    for (const HostileName& name : allNames())
        if (name.name.size() < 1000)
            names.push_back(name);
    QVERIFY(m_window->document()->setDesign(weightsNamed(names, "plain")).ok());
    const auto& weights = m_window->document()->evaluation()->weights;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        m_window->selection()->setWeight(static_cast<int>(i));
        QCoreApplication::processEvents();
        TextSinks sinks;
        sinks.walk(m_window->window->showView(QStringLiteral("weights")));
        const QString expected = QString::fromStdString(visibleText(weights[i].spec.name));
        QVERIFY2(sinks.saw(expected), qPrintable(expected));
        QVERIFY2(sinks.problems().isEmpty(), qPrintable(problemsOf(sinks)));
    }
}

/// The way of a user: open a design that somebody has sent, hold the pointer over its weights.
void TestHostileNames::hoveredWeightsOfAFileTellTheirNames()
{
    const OpenWatch watch(m_picture);
    std::vector<HostileName> names = printableHostileNames();
    names.push_back({ "picture", loading(m_picture) });
    const QString path = fileNamed(QStringLiteral("sent.shardboard"), weightsNamed(names, "plain"));
    QVERIFY(m_window->window->fileActions()->openPath(path));
    auto* tree = m_window->child<QTreeView>("weightTree");
    TextSinks sinks;
    for (int row = 0; row < tree->model()->rowCount(); ++row) {
        const QModelIndex index = tree->model()->index(row, 0);
        tree->scrollTo(index);
        sinks.hoverAt(tree->viewport(), tree->visualRect(index).center());
    }
    QCOMPARE(sinks.tips(), static_cast<int>(names.size()));
    for (const HostileName& name : names)
        if (name.name.size() < 1000)
            QVERIFY2(sinks.saw(QString::fromStdString(name.name)), name.what.c_str());
    QVERIFY2(sinks.problems().isEmpty(), qPrintable(problemsOf(sinks)));
    QVERIFY(!watch.opened());
}

void TestHostileNames::fileNamesAreShownInBoxes()
{
    const OpenWatch watch(m_picture);
    const QString coded = QString::fromLatin1(QUrl::toPercentEncoding(m_picture)); // no file's name has a slash
    TextSinks sinks;
    int boxes = 0;
    for (const QString& name :
         { QStringLiteral("<img src=\"%1\">&amp;.shardboard").arg(coded), QStringLiteral("a & b [*] <h1>x.shardboard"),
           QStringLiteral("line\n\u202eend\x1b[31m.shardboard"), QString(220, QLatin1Char('x')) + QStringLiteral(".shardboard") }) {
        const QString path = fileNamed(name, knownDesign());
        QVERIFY2(!path.isEmpty(), qPrintable(name));
        FileActions* files = m_window->window->fileActions();
        QVERIFY(files->openPath(path));
        Design edited = m_window->document()->design();
        edited.workload.batch = 4;
        QVERIFY(m_window->document()->edit(edited, QStringLiteral("Batch 4")).ok());
        sinks.walk(m_window->window.get());
        // Closing asks.
        checkNextDialog(sinks, &boxes);
        QVERIFY(!m_window->window->close());
        // Saving over what somebody else has written asks.
        edited.workload.batch = 32;
        QVERIFY(writeDesign(QFile::encodeName(path).toStdString(), edited).ok());
        checkNextDialog(sinks, &boxes);
        QVERIFY(!files->save());
        // A name without its ending asks when the file is there.
        checkNextDialog(sinks, &boxes);
        QVERIFY(saveName(m_window->window.get(), path.chopped(11), { QStringLiteral(".shardboard") }).isEmpty());
        // Errors, offers and notices.
        QVERIFY(!files->openPath(path + QStringLiteral(".gone")));
        sinks.walk(m_window->window->banner());
        m_window->window->banner()->ask(path, { { QStringLiteral("Yes"), [] {} } });
        sinks.walk(m_window->window->banner());
        sinks.hover(m_window->window->banner(), 2);
        m_window->document()->undoStack()->setClean();
        QVERIFY2(!watch.opened(), qPrintable(name));
    }
    QCOMPARE(boxes, 12);
    QVERIFY2(sinks.problems().isEmpty(), qPrintable(problemsOf(sinks)));
    QVERIFY(sinks.saw(QStringLiteral("Save the changes to “a & b [*] <h1>x.shardboard”?")));
    QVERIFY(sinks.saw(QStringLiteral("Save the changes to “line\\n\\u202eend\\x1b[31m.shardboard”?")));
    QVERIFY(m_window->window->windowTitle().startsWith(QString(220, QLatin1Char('x'))));
}

/// The dialog of files asks itself whether a file may be replaced.
void TestHostileNames::boxesOfQtArePlainToo()
{
    const OpenWatch watch(m_picture);
    const QString name = QStringLiteral("<img src='%1'>.shardboard").arg(QString::fromLatin1(QUrl::toPercentEncoding(m_picture)));
    const QString path = fileNamed(name, knownDesign());
    TextSinks sinks;
    int boxes = 0;
    QFileDialog dialog(m_window->window.get(), QString(), m_window->folder.path());
    dialog.setOption(QFileDialog::DontUseNativeDialog);
    dialog.setAcceptMode(QFileDialog::AcceptSave);
    dialog.setFileMode(QFileDialog::AnyFile);
    dialog.selectFile(name);
    dialog.show();
    QVERIFY(QTest::qWaitForWindowExposed(&dialog));
    QTimer::singleShot(0, qApp, [&] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        QVERIFY(box != nullptr);
        ++boxes;
        QVERIFY(box->text().contains(name));
        sinks.walk(box);
        box->reject();
    });
    QMetaObject::invokeMethod(&dialog, "accept");
    QCOMPARE(boxes, 1);
    dialog.hide();
    checkNextDialog(sinks, &boxes);
    QMessageBox::question(m_window->window.get(), QStringLiteral("Title"), QString::fromStdString(loading(m_picture)));
    QCOMPARE(boxes, 2);
    QVERIFY2(sinks.problems().isEmpty(), qPrintable(problemsOf(sinks)));
    QVERIFY(!watch.opened());
}

/// Undo names the edit that it takes back, also in the pages of the help.
void TestHostileNames::helpAndShortcutsArePlain()
{
    const OpenWatch watch(m_picture);
    const QString name = QString::fromStdString(loading(m_picture)) + QStringLiteral(" ![](%1) **x** | & y").arg(m_picture);
    Design edited = m_window->document()->design();
    edited.workload.batch = 4;
    QVERIFY(m_window->document()->edit(edited, name).ok());
    TextSinks sinks;
    HelpWindow help(*m_window->window->actionRegistry());
    help.showPage(QStringLiteral("shortcuts"));
    help.show();
    QVERIFY(QTest::qWaitForWindowExposed(&help));
    sinks.walk(&help);
    const QString text = help.findChild<QTextBrowser*>()->toPlainText();
    QVERIFY2(text.contains(QStringLiteral("Undo <img src=")) && text.contains(QStringLiteral("**x** | & y")), qPrintable(text));
    ShortcutSheet sheet(*m_window->window->actionRegistry());
    sheet.show();
    sinks.walk(&sheet);
    QVERIFY2(sinks.problems().isEmpty(), qPrintable(problemsOf(sinks)));
    QVERIFY(!watch.opened());
    // Edits come from files, too.
    const auto edits = editsFromText(R"({"shardboard_edits":1,"edits":[{"edit":"a\nb\u001b[31m","patch":[]}]})", "x");
    QVERIFY2(edits.ok(), edits.ok() ? "" : edits.error().text().c_str());
    QCOMPARE(edits.value().front().name, QStringLiteral("a\\nb\\x1b[31m"));
}

void TestHostileNames::veryLongNamesLeaveTheWindowItsSize()
{
    const auto least = [this](const std::string& name) {
        const Status status = m_window->document()->setDesign(modelNamed(name));
        if (!status.ok())
            return QSize();
        for (const Panel* dock : m_window->window->workbench()->all()) {
            m_window->window->workbench()->raise(dock->objectName());
            QCoreApplication::processEvents();
        }
        return m_window->window->minimumSizeHint();
    };
    const QSize usual = least("model.");
    QHash<const QWidget*, int> widths;
    for (const QWidget* widget : m_window->window->findChildren<QWidget*>())
        widths[widget] = widget->minimumSizeHint().width();
    const QSize large = least(std::string(100'000, 'x'));
    QVERIFY(usual.isValid() && large.isValid());
    for (const QWidget* widget : m_window->window->findChildren<QWidget*>()) // to be told which it is
        if (!widget->isWindow() && widths.contains(widget) && widget->minimumSizeHint().width() > widths[widget] + 60
            && widget->minimumWidth() == 0)
            qWarning("%s %s wants %d", widget->metaObject()->className(), qPrintable(widget->objectName()),
                     widget->minimumSizeHint().width());
    QVERIFY2(large.width() <= usual.width() + 60,
             qPrintable(QStringLiteral("%1 instead of %2").arg(large.width()).arg(usual.width())));
    QVERIFY2(large.height() <= usual.height() + 60,
             qPrintable(QStringLiteral("%1 instead of %2").arg(large.height()).arg(usual.height())));
}

void TestHostileNames::picturesAreWellFormed_data()
{
    QTest::addColumn<bool>("graph");
    QTest::newRow("weights of all names") << false;
    QTest::newRow("a model") << true;
}

void TestHostileNames::picturesAreWellFormed()
{
    QFETCH(bool, graph);
    const OpenWatch watch(m_picture);
    const std::string name = everythingAtOnce(m_picture) + "\xef\xbf\xbf";
    QVERIFY(m_window->document()->setDesign(graph ? modelNamed(name) : weightsNamed(allNames(), name)).ok());
    int texts = 0;
    for (const QString& view : m_window->window->viewNames()) {
        QWidget* widget = m_window->window->showView(view);
        widget->setAccessibleName(shownText(name)); // becomes the title
        QCoreApplication::processEvents();
        for (const bool whole : { false, true }) {
            const QString path = m_folder.filePath(QStringLiteral("view.svg"));
            const Status status = writePicture(widget, path, { 1, whole });
            QVERIFY2(status.ok(), status.ok() ? "" : status.error().text().c_str());
            QFile file(path);
            QVERIFY(file.open(QIODevice::ReadOnly));
            QXmlStreamReader xml(&file);
            while (!xml.atEnd()) {
                xml.readNext();
                texts += xml.isStartElement() && xml.name() == QLatin1String("text");
                QVERIFY2(!xml.isEntityReference() && !xml.isDTD(), qPrintable(view));
                if (xml.isCharacters())
                    for (const QChar c : xml.text())
                        QVERIFY2(c.category() != QChar::Other_Control || c.isSpace(), qPrintable(view));
            }
            QVERIFY2(!xml.hasError(), qPrintable(view + QStringLiteral(": ") + xml.errorString()));
        }
        for (const char* suffix : { "pdf", "png" })
            QVERIFY(writePicture(widget, m_folder.filePath(QStringLiteral("view.") + QLatin1String(suffix)), { 1, false }).ok());
    }
    QVERIFY(texts > 100);
    QVERIFY(!watch.opened());
}

void TestHostileNames::shownTextsAreShort()
{
    QCOMPARE(shownText(std::string("plain name")), QStringLiteral("plain name"));
    QCOMPARE(shownText(QStringLiteral("\u5c42 \u00e9\n\x1b\u202e")), QStringLiteral("\u5c42 \u00e9\\n\\x1b\\u202e"));
    QCOMPARE(shownText(std::string("o\xff")), QStringLiteral("o\\xff"));
    QCOMPARE(shownLines(QStringLiteral("a\nb\r")), QStringLiteral("a\nb\\r"));
    for (const std::size_t size :
         { std::size_t { 1299 }, std::size_t { 1300 }, std::size_t { 1301 }, std::size_t { 100'000 }, std::size_t { 3'000'000 } })
        for (const char* unit : { "x", "\xc3\xa9", "\xf0\x9f\xa7\xa9", "\xff" }) {
            std::string text = "begin";
            while (text.size() < size)
                text += unit;
            const QString shown = shownText(text + "end");
            QVERIFY(shown.size() <= kLongestText && shown.startsWith(QLatin1String("begin"))
                    && shown.endsWith(QLatin1String("end")));
            QVERIFY(shown.toUtf8().indexOf("\xef\xbf\xbd") < 0 && shown == QString::fromUtf8(shown.toUtf8())); // no half character
        }
    QCOMPARE(menuText(QStringLiteral("a&b&&c")), QStringLiteral("a&&b&&&&c"));
    QCOMPARE(titleText(QStringLiteral("a[*]b")), QStringLiteral("a[*][*]b"));
}

void TestHostileNames::proposedFileNamesStayInTheirFolder()
{
    for (const HostileName& name : allNames()) {
        const QString part = fileNamePart(shownText(name.name));
        QVERIFY2(!part.contains(QLatin1Char('/')) && !part.startsWith(QLatin1Char('.')) && part.size() <= 130, name.what.c_str());
        QVERIFY2(QDir::cleanPath(QStringLiteral("/folder/") + part + QStringLiteral(".svg")).startsWith(QLatin1String("/folder/")),
                 name.what.c_str());
    }
    QCOMPARE(fileNamePart(QStringLiteral("llama3.1-405b")), QStringLiteral("llama3.1-405b"));
}

/// A new view is right without thinking of it, unless it goes one of these ways; each has its helper, or a place that
/// knows what it does.
void TestHostileNames::sourcesUseTheHelper()
{
    struct Rule {
        const char* pattern;
        QStringList allowed; ///< files
        const char* instead;
    };
    const std::vector<Rule> rules {
        { "QToolTip::showText", { QStringLiteral("plaintext.cpp") }, "showToolTip" },
        { "QMessageBox::(about|aboutQt|critical|information|question|warning)\\s*\\(", {}, "messageBox" },
        { "\\bQMessageBox\\s+\\w+\\s*[({;]|new QMessageBox|make_unique<QMessageBox>",
          { QStringLiteral("messagebox.cpp") },
          "messageBox" },
        { "QInputDialog|QErrorMessage|QProgressDialog|QWhatsThis|QSplashScreen|QGraphicsTextItem|QStaticText|"
          "setWhatsThis",
          {},
          "a label or box of ours" },
        { "setHtml\\s*\\(|insertHtml\\s*\\(|QTextDocumentFragment|Qt::MarkdownText|Qt::AutoText",
          { QStringLiteral("plaintext.cpp"), QStringLiteral("reportfile.cpp") }, // the report escapes what it inserts (tst_report)
          "plain text" },
        { "Qt::RichText",
          { QStringLiteral("weighttable.cpp"), QStringLiteral("collectivesview.cpp"), QStringLiteral("viewheader.cpp") },
          "plain text, or escape what is inserted and say so here" },
        { "rror(\\(\\))?\\.text\\(\\)|qstr\\((\\w+\\.)?(error\\.(what|fix)|finding\\.(message|repair))",
          { QStringLiteral("errortext.cpp"), QStringLiteral("main.cpp") },
          "errorText, which names no options and keys" },
        { "setMarkdown\\s*\\(|QTextBrowser\\(|new QTextEdit", { QStringLiteral("helpwindow.cpp") }, "QPlainTextEdit" },
    };
    int files = 0;
    QStringList found;
    for (const char* folder : { "/widgets", "/app/desktop" }) {
        QDirIterator each(QStringLiteral(SHARDBOARD_SOURCE_DIR) + QLatin1String(folder),
                          { QStringLiteral("*.cpp"), QStringLiteral("*.h") }, QDir::Files, QDirIterator::Subdirectories);
        while (each.hasNext()) {
            QFile file(each.next());
            QVERIFY(file.open(QIODevice::ReadOnly));
            ++files;
            const QString text = QString::fromUtf8(file.readAll());
            for (const Rule& rule : rules)
                if (!rule.allowed.contains(each.fileName()) && text.contains(QRegularExpression(QLatin1String(rule.pattern))))
                    found << each.fileName() + QStringLiteral(" has ") + QLatin1String(rule.pattern) + QStringLiteral("; use ")
                            + QLatin1String(rule.instead);
            const QStringList allowed { QStringLiteral("format.h"), QStringLiteral("plaintext.cpp"),
                                        QStringLiteral("tablecopy.cpp"), QStringLiteral("format.cpp") };
            if (QLatin1String(folder) == QLatin1String("/widgets") && !allowed.contains(each.fileName())
                && text.contains(QStringLiteral("QString::fromStdString(")))
                found << each.fileName() + QStringLiteral(" has QString::fromStdString; use qstr, or verbatim");
        }
    }
    QVERIFY(files > 200);
    QVERIFY2(found.isEmpty(), qPrintable(found.join(QLatin1Char('\n'))));
}

SHARDBOARD_TEST(TestHostileNames, withFonts)
#include "tst_hostilenames.moc"
