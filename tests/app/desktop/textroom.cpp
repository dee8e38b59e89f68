// SPDX-License-Identifier: Apache-2.0
#include "tests/app/desktop/textroom.h"

#include "widgets/canvas/canvaswidget.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractScrollArea>
#include <QAction>
#include <QApplication>
#include <QBoxLayout>
#include <QFontMetricsF>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QScrollBar>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QTextEdit>
#include <QTreeView>

#include <algorithm>
#include <map>

namespace shardboard {

namespace {

constexpr double kTouching = 1.5; ///< pixels that letters may reach over: they are rounded to pixels, and lean out of their width
const QChar kDots(0x2026);

/// Notes the texts and draws nothing.
class NotingEngine : public QPaintEngine {
public:
    struct Note {
        QWidget* widget;
        QString text;
        QRectF ink; ///< in the widget
        QRectF seen;
    };

    NotingEngine()
        : QPaintEngine(AllFeatures)
    {
    }
    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    Type type() const override { return User; }
    void updateState(const QPaintEngineState&) override { }
    void drawPath(const QPainterPath&) override { }
    void drawPolygon(const QPointF*, int, PolygonDrawMode) override { }
    void drawPolygon(const QPoint*, int, PolygonDrawMode) override { }
    void drawRects(const QRectF*, int) override { }
    void drawRects(const QRect*, int) override { }
    void drawLines(const QLineF*, int) override { }
    void drawLines(const QLine*, int) override { }
    void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override { }
    void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override { }
    void drawTiledPixmap(const QRectF&, const QPixmap&, const QPointF&) override { }

    void drawTextItem(const QPointF& at, const QTextItem& item) override
    {
        if (item.text().trimmed().isEmpty() || painter()->opacity() == 0 || painter()->pen().color().alpha() == 0)
            return;
        const QRectF letters = QFontMetricsF(item.font()).tightBoundingRect(item.text()).translated(at);
        const QTransform onDevice = painter()->combinedTransform();
        const QRectF ink = onDevice.mapRect(letters);
        QRectF seen = ink & QRectF(widget->rect());
        if (painter()->hasClipping())
            seen &= onDevice.map(painter()->clipPath()).boundingRect();
        notes.append({ widget, item.text(), ink, seen });
    }

    QWidget* widget = nullptr; ///< that is being painted
    QList<Note> notes;
};

/// Tells the engine whose turn it is: all widgets of a window are painted in one go, each by one event.
class PaintWatch : public QObject {
public:
    explicit PaintWatch(NotingEngine& engine)
        : m_engine(engine)
    {
        qApp->installEventFilter(this);
    }

protected:
    bool eventFilter(QObject* object, QEvent* event) override
    {
        if (event->type() == QEvent::Paint)
            m_engine.widget = qobject_cast<QWidget*>(object);
        return false;
    }

private:
    NotingEngine& m_engine;
};

class NotingDevice : public QPaintDevice {
public:
    explicit NotingDevice(const QWidget* widget)
        : m_widget(widget)
    {
    }
    QPaintEngine* paintEngine() const override { return &m_engine; }
    NotingEngine& engine() const { return m_engine; }

protected:
    int metric(PaintDeviceMetric metric) const override
    {
        switch (metric) {
        case PdmWidth:
            return m_widget->width();
        case PdmHeight:
            return m_widget->height();
        case PdmDpiX:
        case PdmPhysicalDpiX:
            return m_widget->logicalDpiX();
        case PdmDpiY:
        case PdmPhysicalDpiY:
            return m_widget->logicalDpiY();
        case PdmDevicePixelRatio:
            return 1;
        case PdmDepth:
            return 32;
        default:
            return QPaintDevice::metric(metric);
        }
    }

private:
    mutable NotingEngine m_engine;
    const QWidget* m_widget;
};

QString describe(const QWidget* widget)
{
    QStringList path;
    for (const QWidget* at = widget; at != nullptr && path.size() < 3; at = at->parentWidget())
        if (!at->objectName().isEmpty() && !at->objectName().startsWith(QLatin1String("qt_")))
            path.prepend(at->objectName());
    return QString::fromLatin1(widget->metaObject()->className()).section(QStringLiteral("::"), -1) + QLatin1Char(' ')
        + path.join(QStringLiteral(" > "));
}

QString place(const QRectF& rect)
{
    return QStringLiteral("%1,%2 %3x%4")
        .arg(rect.x(), 0, 'f', 0)
        .arg(rect.y(), 0, 'f', 0)
        .arg(rect.width(), 0, 'f', 0)
        .arg(rect.height(), 0, 'f', 0);
}

const QAbstractScrollArea* scrollAreaOf(const QWidget* widget)
{
    for (const QWidget* at = widget; at != nullptr; at = at->parentWidget())
        if (const auto* area = qobject_cast<const QAbstractScrollArea*>(at))
            return area;
    return nullptr;
}

/// Where a scroll bar brings what is missing.
bool canScroll(const QWidget* widget, Qt::Orientation orientation)
{
    if (const auto* canvas = qobject_cast<const CanvasWidget*>(widget)) {
        const QRectF world = canvas->currentView().toScreen(canvas->currentView().world());
        return orientation == Qt::Vertical ? world.height() > canvas->height() : world.width() > canvas->width();
    }
    for (const QAbstractScrollArea* area = scrollAreaOf(widget); area != nullptr; area = scrollAreaOf(area->parentWidget())) {
        const QScrollBar* bar = orientation == Qt::Vertical ? area->verticalScrollBar() : area->horizontalScrollBar();
        if (bar->maximum() > bar->minimum() && (orientation == Qt::Vertical || bar->isVisible()))
            return true;
    }
    return false;
}

/// What people write may be longer than its field.
bool isField(const QWidget* widget) { return qobject_cast<const QLineEdit*>(widget) != nullptr; }

/// Not where the dots of a button say that a dialog follows.
bool isElided(const PaintedText& it)
{
    const auto* button = qobject_cast<const QAbstractButton*>(it.widget);
    return it.text.size() > 1 && it.text.contains(kDots) && (button == nullptr || button->text() != it.text);
}

/// In front of its neighbors, and not laid out beside them: a drawer, a list that hangs from a button.
bool floats(const QWidget* widget)
{
    const QWidget* parent = widget->parentWidget();
    return qobject_cast<const QSplitter*>(parent) == nullptr && qobject_cast<const QAbstractScrollArea*>(parent) == nullptr
        && qobject_cast<const QStackedWidget*>(parent) == nullptr
        && (parent->layout() == nullptr || parent->layout()->indexOf(const_cast<QWidget*>(widget)) < 0);
}

/// Where something floats in front of the widget, in the window. What its own children cover is not among that: they stay.
QRegion floatingOver(const QWidget* widget, const QWidget* window)
{
    QRegion out;
    for (const QWidget* at = widget; at != window; at = at->parentWidget()) {
        const QWidget* parent = at->parentWidget();
        bool behind = true;
        for (const QObject* child : parent->children()) { // the last is in front
            const auto* other = qobject_cast<const QWidget*>(child);
            if (other == at)
                behind = false;
            else if (!behind && other != nullptr && other->isVisible() && !other->isWindow() && floats(other))
                out += QRect(other->mapTo(window, QPoint()), other->size());
        }
    }
    return out;
}

/// What its ancestors leave of it.
QRect clipped(const QWidget* widget, const QWidget* window)
{
    QRect out(widget->mapTo(window, QPoint()), widget->size());
    for (const QWidget* at = widget->parentWidget(); at != nullptr && at != window; at = at->parentWidget())
        out &= QRect(at->mapTo(window, QPoint()), at->size());
    return out & window->rect();
}

} // namespace

QList<PaintedText> paintedTexts(QWidget* window)
{
    QList<PaintedText> out;
    NotingDevice device(window);
    {
        const PaintWatch watch(device.engine());
        QPainter painter(&device);
        window->render(&painter, {}, {}, QWidget::DrawChildren);
    }
    struct Place {
        QPointF origin;
        QRegion visible;
        QRegion floating;
    };
    std::map<const QWidget*, Place> places;
    for (const auto& note : device.engine().notes) {
        QWidget* widget = note.widget;
        auto [known, isNew] = places.try_emplace(widget);
        if (isNew) {
            const QPoint origin = widget->mapTo(window, QPoint());
            known->second = { origin, widget->visibleRegion().translated(origin), floatingOver(widget, window) };
        }
        const auto& [origin, visible, floating] = known->second;
        const QRectF ink = note.ink.translated(origin);
        const QRectF unclipped = note.seen.translated(origin);
        const QRectF seen = unclipped & QRectF((visible & unclipped.toAlignedRect()).boundingRect());
        if (seen.isEmpty())
            continue;
        const QRectF area =
            floating.intersects(ink.toAlignedRect()) ? QRectF(clipped(widget, window)) : QRectF(visible.boundingRect());
        out.append({ widget, note.text, ink, seen, unclipped & area, area });
    }
    return out;
}

QStringList cutTexts(const QList<PaintedText>& texts)
{
    QStringList out;
    for (const PaintedText& it : texts) {
        const double sideways = std::max(it.room.left() - it.ink.left(), it.ink.right() - it.room.right());
        const double upright = std::max(it.room.top() - it.ink.top(), it.ink.bottom() - it.room.bottom());
        const bool wide = sideways > kTouching && !isField(it.widget) && !canScroll(it.widget, Qt::Horizontal);
        const bool high = upright > kTouching && !canScroll(it.widget, Qt::Vertical);
        if (wide || high)
            out << QStringLiteral("cut %1: “%2” by %3 at %4 in %5")
                       .arg(describe(it.widget), it.text.left(60))
                       .arg(wide ? sideways : upright, 0, 'f', 1)
                       .arg(place(it.ink), place(it.area));
    }
    return out;
}

QStringList overlappingTexts(const QList<PaintedText>& texts)
{
    QStringList out;
    for (qsizetype i = 0; i < texts.size(); ++i)
        for (qsizetype j = i + 1; j < texts.size(); ++j) {
            const PaintedText& a = texts[i];
            const PaintedText& b = texts[j];
            const QRectF both = a.seen & b.seen;
            if (both.width() <= kTouching || both.height() <= kTouching)
                continue;
            if (a.widget == b.widget && a.text == b.text && (a.ink.topLeft() - b.ink.topLeft()).manhattanLength() < 4)
                continue; // a rim around the letters
            out << QStringLiteral("overlap %1: “%2” at %3 and %4: “%5” at %6")
                       .arg(describe(a.widget), a.text.left(40), place(a.ink), describe(b.widget), b.text.left(40), place(b.ink));
        }
    return out;
}

namespace {

QHeaderView* columnsOf(const QAbstractItemView* view)
{
    if (const auto* table = qobject_cast<const QTableView*>(view))
        return table->horizontalHeader();
    if (const auto* tree = qobject_cast<const QTreeView*>(view))
        return tree->header();
    return nullptr;
}

/// Pixels that a column has beyond what its rows in sight and its heading ask for.
int spare(const QAbstractItemView* view, const QHeaderView* header, int column)
{
    const int wanted = std::max(view->sizeHintForColumn(column), header->isVisible() ? header->sectionSizeHint(column) : 0);
    return header->sectionSize(column) - wanted;
}

} // namespace

QStringList needlesslyElided(QWidget* window, const QList<PaintedText>& texts)
{
    QStringList out;
    for (const PaintedText& it : texts) {
        if (!isElided(it))
            continue;
        const int worthIt = std::max(12, 2 * it.widget->fontMetrics().averageCharWidth()); // pixels: about a letter and a half
        const auto* view = qobject_cast<const QAbstractItemView*>(it.widget->parentWidget());
        if (view != nullptr && view->viewport() == it.widget) {
            QHeaderView* header = columnsOf(view);
            if (header == nullptr)
                continue;
            const int x = static_cast<int>(it.ink.center().x()) - it.widget->mapTo(window, QPoint()).x();
            const int column = header->logicalIndexAt(x);
            static const QRegularExpression number(QStringLiteral("^[−+]?\\d[\\d.,]*[ \u2026][^ ]*$"));
            if (number.match(it.text).hasMatch()) // rather a name or a column goes
                out << QStringLiteral("elided %1: the number “%2”").arg(describe(view), it.text);
            for (int other = 0; other < header->count(); ++other)
                if (other != column && !header->isSectionHidden(other) && spare(view, header, other) > worthIt)
                    out << QStringLiteral("elided %1: “%2” while column %3 has %4 pixels to spare")
                               .arg(describe(view), it.text.left(60))
                               .arg(other)
                               .arg(spare(view, header, other));
            continue;
        }
        const QWidget* parent = it.widget->parentWidget();
        const auto* row = parent != nullptr ? qobject_cast<const QBoxLayout*>(parent->layout()) : nullptr;
        if (row == nullptr || row->direction() > QBoxLayout::RightToLeft || row->indexOf(const_cast<QWidget*>(it.widget)) < 0)
            continue;
        int free = 0;
        for (int i = 0; i < row->count(); ++i) {
            QLayoutItem* item = row->itemAt(i);
            if (item->widget() == it.widget || (item->widget() != nullptr && item->widget()->isHidden()))
                continue;
            const int wanted = item->spacerItem() != nullptr ? item->minimumSize().width() : item->sizeHint().width();
            free += std::max(0, item->geometry().width() - wanted);
        }
        if (free > worthIt)
            out << QStringLiteral("elided %1: “%2” while its neighbors have %3 pixels to spare")
                       .arg(describe(it.widget), it.text.left(60))
                       .arg(free);
    }
    return out;
}

namespace {

void addRows(const QAbstractItemView& view, const QModelIndex& parent, QList<SaidText>& out)
{
    constexpr int kMost = 300; // of one list: the rest is said in the same words
    const QAbstractItemModel& model = *view.model();
    for (int row = 0; row < std::min(kMost, model.rowCount(parent)); ++row)
        for (int column = 0; column < model.columnCount(parent); ++column) {
            const QModelIndex index = model.index(row, column, parent);
            for (const int role : { Qt::DisplayRole, Qt::ToolTipRole, Qt::AccessibleTextRole })
                out.append({ &view, index.data(role).toString() });
            if (column == 0 && model.hasChildren(index))
                addRows(view, index, out);
        }
}

} // namespace

QList<SaidText> saidTexts(QWidget* window)
{
    QList<SaidText> out;
    for (const PaintedText& painted : paintedTexts(window))
        if (qobject_cast<const QPlainTextEdit*>(painted.widget->parentWidget()) == nullptr)
            out.append({ painted.widget, painted.text });
    for (const QWidget* widget : window->findChildren<QWidget*>()) {
        for (const QString& text : { widget->toolTip(), widget->statusTip(), widget->accessibleName() })
            out.append({ widget, text });
        if (const auto* label = qobject_cast<const QLabel*>(widget))
            out.append({ widget, label->text() });
        else if (const auto* button = qobject_cast<const QAbstractButton*>(widget))
            out.append({ widget, button->text() });
        else if (const auto* field = qobject_cast<const QLineEdit*>(widget))
            out.append({ widget, field->placeholderText() });
        else if (const auto* view = qobject_cast<const QAbstractItemView*>(widget); view != nullptr && view->model() != nullptr) {
            addRows(*view, {}, out);
            for (int column = 0; column < view->model()->columnCount(); ++column)
                for (const int role : { Qt::DisplayRole, Qt::ToolTipRole })
                    out.append({ widget, view->model()->headerData(column, Qt::Horizontal, role).toString() });
        }
    }
    for (const QAction* action : window->findChildren<QAction*>())
        for (const QString& text : { action->text(), action->toolTip(), action->statusTip() })
            out.append({ window, text });
    out.removeIf([](const SaidText& it) { return it.text.isEmpty(); });
    return out;
}

namespace {

QStringList matching(const QList<SaidText>& said, const QRegularExpression& expression)
{
    QStringList out;
    for (const SaidText& it : said)
        if (expression.match(it.text).hasMatch())
            out << it.text;
    out.removeDuplicates();
    return out;
}

} // namespace

QStringList foreignWords(const QList<SaidText>& said)
{
    static const QRegularExpression foreign(QStringLiteral(
        "(?<![\\w-])--[a-z]" // an option
        "|\\$\\.[a-z]|\"[a-z_]+\": ?(?:[\"\\d{\\[-]|true|false|null)|(?<![\\w./])(?:/[a-z_]+)+/\\d+(?![\\w/])" // JSON and its paths
        "|\\b(?:axes|device_ids|levels|pins|rules|sizes|strategies|traits)\\[\\d+\\]"
        "|\\b(?:device|host|link|memory|mesh|pipeline|workload)\\.[a-z]+_[a-z_]+"
        "|\\b(?:on_reshard|auto_reshard|allow_partial_to_sharded|allowed_transitions|budget_bytes_per_device|"
        "head_aware_columnwise|stacked_qkv)\\b|\\bpolicy\\.[a-z]")); // MAX
    return matching(said, foreign);
}

QStringList ungroupedNumbers(const QList<SaidText>& said)
{
    static const QRegularExpression number(QStringLiteral(
        "(?<![\\w.,:/×–#-])(?<!× |dim |sequence |device |id |arXiv |RTX |RTX PRO )\\d{4,}(?![\\w,:/×–-]| ×|\\.[a-z*])"));
    // Of what is not a number, for sure: names that hold ids of devices, and shapes, of which a label shows one dim.
    static const QRegularExpression other(QStringLiteral("^dim \\d|devices? \\d|^(?:\\d+, )*\\d+$"));
    QList<SaidText> numbers;
    for (const SaidText& it : said) {
        const bool field = qobject_cast<const QLineEdit*>(it.widget) != nullptr;
        const auto* list = qobject_cast<const QAbstractScrollArea*>(it.widget->parentWidget()); // that paints
        const QString name = (list != nullptr ? list : it.widget)->objectName();
        // Shapes of norms have one dim, and parts of a dim are ranges.
        const bool shapes = name == QLatin1String("weightTree") || name == QLatin1String("cutsTable");
        for (const QString& line : it.text.split(QLatin1Char('\n')))
            if (!field && !shapes
                && (!other.match(line).hasMatch() || qobject_cast<const QAbstractItemView*>(it.widget->parentWidget())))
                numbers.append({ it.widget, line });
    }
    return matching(numbers, number);
}

} // namespace shardboard
