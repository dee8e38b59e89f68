// SPDX-License-Identifier: Apache-2.0
#include "widgets/workbench/meshchips.h"

#include "model/text/text.h"

#include "widgets/controls/axisdrag.h"
#include "widgets/controls/contextmenu.h"
#include "widgets/edits/meshorder.h"
#include "widgets/look/axishues.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QDropEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QStyle>
#include <QToolButton>
#include <QToolTip>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

std::string replacedName(std::string spec, const std::string& from, const std::string& to)
{
    for (const char quote : { '\'', '"' }) {
        const std::string old = quote + from + quote;
        const std::string fresh = quote + to + quote;
        for (std::size_t at = spec.find(old); at != std::string::npos; at = spec.find(old, at + fresh.size()))
            spec.replace(at, old.size(), fresh);
    }
    return spec;
}

/// The spec without an axis; a spec that does not parse stays as it is, so that the flow can say what is wrong with it.
std::string specWithout(const std::string& spec, const Mesh& mesh, int axis)
{
    constexpr std::size_t kLargestRank = 16;
    auto layout = parseSpec(spec, mesh, kLargestRank);
    if (!layout.ok())
        return spec;
    const auto drop = [axis](std::vector<AxisRef>& refs) {
        refs.erase(std::remove_if(refs.begin(), refs.end(), [axis](const AxisRef& ref) { return ref.axis == axis; }), refs.end());
    };
    for (auto& dim : layout.value().dims)
        drop(dim);
    drop(layout.value().partial);
    return specText(layout.value(), mesh);
}

} // namespace

Result<Design> withMeshAxis(const Design& design, int index, const MeshAxis& axis)
{
    Design out = design;
    auto axes = design.mesh.axes();
    if (index < 0) {
        axes.push_back(axis);
    } else {
        const std::string old = axes[static_cast<std::size_t>(index)].name;
        axes[static_cast<std::size_t>(index)] = axis;
        for (StrategyEntry& entry : out.strategies) {
            std::replace(entry.strategy.axes.begin(), entry.strategy.axes.end(), old, axis.name);
            entry.strategy.spec = replacedName(entry.strategy.spec, old, axis.name);
        }
        for (LogicalRule& rule : out.rules.rules)
            std::replace(rule.axes.begin(), rule.axes.end(), old, axis.name);
    }
    auto mesh = Mesh::make(axes);
    if (!mesh.ok())
        return mesh.error();
    // An edited device order stays while the number of devices does.
    if (mesh.value().deviceCount() == design.mesh.deviceCount() && !design.mesh.deviceIds().empty())
        mesh = Mesh::make(axes, design.mesh.deviceIds());
    if (!mesh.ok())
        return mesh.error();
    out.mesh = mesh.value();
    return out;
}

Result<Design> withoutMeshAxis(const Design& design, int index)
{
    Design out = design;
    auto axes = design.mesh.axes();
    const std::string name = axes[static_cast<std::size_t>(index)].name;
    axes.erase(axes.begin() + index);
    for (StrategyEntry& entry : out.strategies) {
        auto& used = entry.strategy.axes;
        used.erase(std::remove(used.begin(), used.end(), name), used.end());
        if (used.empty() && entry.strategy.kind != StrategyKind::Spec)
            entry.strategy = Strategy {};
        if (entry.strategy.kind == StrategyKind::Spec)
            entry.strategy.spec = specWithout(entry.strategy.spec, design.mesh, index);
    }
    const auto mesh = Mesh::make(axes);
    if (!mesh.ok())
        return mesh.error();
    out.mesh = mesh.value();
    return out;
}

namespace {

/// All axes in one chip.
class JoinedChip : public QAbstractButton {
public:
    explicit JoinedChip(QWidget* parent)
        : QAbstractButton(parent)
    {
        setObjectName(QStringLiteral("joinedChip"));
        setFocusPolicy(Qt::TabFocus);
        setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    }
    QSize sizeHint() const override
    {
        const QFontMetrics metrics(monoFont(this, -0.5));
        return { metrics.horizontalAdvance(text()) + 22, std::max(24, metrics.height() + 8) };
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        paintChip(painter, rect(), text(), hasFocus() ? Theme::of(this).accent : Theme::of(this).quiet, this, monoFont(this, -0.5));
    }
};

} // namespace

AxisChip::AxisChip(const MeshAxis& axis, int index, const QColor& color, QWidget* parent)
    : QAbstractButton(parent)
    , m_name(qstr(axis.name))
    , m_index(index)
    , m_color(color)
{
    setObjectName(QStringLiteral("chip_") + m_name);
    setText(QStringLiteral("%1 = %2").arg(m_name).arg(axis.size));
    setAccessibleName(tr("mesh axis %1 of size %2").arg(m_name).arg(axis.size));
    setToolTip(tr(
        "Drag onto a tensor dim to cut it, or onto another axis to change the order (Alt+Left, Alt+Right); double-click to edit"));
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::OpenHandCursor);
    setCheckable(true);
    setContextMenuPolicy(Qt::CustomContextMenu);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize AxisChip::sizeHint() const
{
    const QFontMetrics metrics(monoFont(this, -0.5));
    return { metrics.horizontalAdvance(text()) + 22, std::max(24, metrics.height() + 8) };
}

void AxisChip::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    QFont font = monoFont(this, -0.5);
    font.setBold(isChecked());
    paintChip(painter, rect(), text(), m_color, this, font);
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(Theme::of(this).accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), height() / 2.0, height() / 2.0);
    }
}

void AxisChip::mousePressEvent(QMouseEvent* event)
{
    m_pressed = event->pos();
    QAbstractButton::mousePressEvent(event);
}

void AxisChip::mouseMoveEvent(QMouseEvent* event)
{
    if (!(event->buttons() & Qt::LeftButton) || (event->pos() - m_pressed).manhattanLength() < QApplication::startDragDistance())
        return;
    setDown(false);
    dragAxis(this, m_name, m_color);
    Q_EMIT dragged();
}

void AxisChip::mouseDoubleClickEvent(QMouseEvent*) { Q_EMIT editRequested(); }

void AxisChip::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_F2)
        Q_EMIT editRequested();
    else if ((event->modifiers() & Qt::AltModifier) && (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right))
        Q_EMIT moveRequested(event->key() == Qt::Key_Left ? -1 : 1);
    else
        QAbstractButton::keyPressEvent(event);
}

MeshChips::MeshChips(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_row(new QHBoxLayout(this))
    , m_edit(new QLineEdit(this))
    , m_add(new QToolButton(this))
    , m_joined(new JoinedChip(this))
{
    nameWidget(this, "meshChips", tr("Mesh axes"));
    setAcceptDrops(true);
    m_row->setContentsMargins(0, 0, 0, 0);
    m_row->setSpacing(6);
    nameWidget(m_edit, "axisEdit", tr("Name and size of the mesh axis"));
    m_edit->setPlaceholderText(tr("name = size"));
    m_edit->setMinimumWidth(120);
    m_edit->installEventFilter(this);
    m_edit->hide();
    m_add->setObjectName(QStringLiteral("addAxis"));
    m_add->setText(QStringLiteral("+"));
    m_add->setAccessibleName(tr("Add a mesh axis"));
    m_add->setToolTip(tr("Add a mesh axis"));
    m_row->addWidget(m_edit);
    m_row->addWidget(m_add);
    m_row->addWidget(m_joined);
    m_joined->hide();
    connect(m_joined, &QAbstractButton::clicked, this, &MeshChips::showJoined);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    connect(m_add, &QToolButton::clicked, this, [this] { startEdit(-1); });
    connect(m_edit, &QLineEdit::returnPressed, this, [this] { commit(); });
    connect(m_edit, &QLineEdit::textEdited, this, [this] { QToolTip::hideText(); });
    start();
}

void MeshChips::refresh()
{
    stopEdit();
    if (document()->hasDesign()) {
        const Mesh& mesh = document()->design().mesh;
        writeJoined();
        m_joined->setToolTip(tr("%1\nClick for its axes").arg(qstr(mesh.text())));
    }
    const std::vector<MeshAxis> wanted = document()->hasDesign() ? document()->design().mesh.axes() : std::vector<MeshAxis>();
    if (wanted == m_axes && m_chips.size() == wanted.size()) { // the usual edit is none of the mesh
        for (AxisChip* chip : m_chips)
            chip->update();
        showChips();
        selectionChanged();
        return;
    }
    m_axes = wanted;
    int focused = -1; // it stays where it was, also after undo
    for (AxisChip* chip : m_chips) {
        if (chip->hasFocus())
            focused = chip->axisIndex();
        m_row->removeWidget(chip);
        chip->hide();
        chip->deleteLater(); // it may be the sender of the edit
    }
    m_chips.clear();
    for (int i = 0; i < static_cast<int>(m_axes.size()); ++i) {
        auto* chip = new AxisChip(m_axes[static_cast<std::size_t>(i)], i, axisColor(document()->design().mesh, i), this);
        m_row->insertWidget(i, chip);
        m_chips.push_back(chip);
        connect(chip, &AxisChip::editRequested, this, [this, i] { startEdit(i); });
        connect(chip, &AxisChip::dragged, this, &MeshChips::finishDrop, Qt::QueuedConnection);
        connect(chip, &AxisChip::moveRequested, this, [this, i](int by) { moveAxis(i, i + by); });
        connect(chip, &AxisChip::clicked, this, [this, i](bool checked) { selection()->setMeshAxis(checked ? i : -1); });
        connect(chip, &QWidget::customContextMenuRequested, this, [this, chip, i](const QPoint& point) {
            showContextMenu(this, chip->mapToGlobal(point), [&](QMenu* menu) { fillMenu(menu, i); });
        });
        chip->setVisible(!m_isJoined);
        if (i == focused)
            chip->setFocus(Qt::OtherFocusReason);
    }
    showChips();
    selectionChanged();
}

void MeshChips::setJoined(bool joined)
{
    if (joined == m_isJoined)
        return;
    m_isJoined = joined;
    if (m_edited == -2) // else when the editor closes
        showChips();
}

void MeshChips::setBrief(bool brief)
{
    if (brief == m_isBrief)
        return;
    m_isBrief = brief;
    writeJoined();
}

void MeshChips::writeJoined()
{
    if (!document()->hasDesign())
        return;
    const Mesh& mesh = document()->design().mesh;
    const QString devices = counted(mesh.deviceCount(), tr("device"), tr("devices"));
    const QString all = tr("%1 · %2").arg(devices, counted(mesh.axisCount(), tr("axis"), tr("axes")));
    m_joined->setText(m_isBrief ? devices : all);
    m_joined->setAccessibleName(tr("Mesh: %1").arg(all));
    m_joined->updateGeometry();
}

/// Those there is room for.
void MeshChips::showChips()
{
    const bool open = document()->hasDesign();
    for (AxisChip* chip : m_chips)
        chip->setVisible(!m_isJoined);
    m_add->setVisible(open && !m_isJoined);
    m_joined->setVisible(open && m_isJoined);
}

int MeshChips::wholeWidth() const
{
    int out = m_add->sizeHint().width();
    for (const AxisChip* chip : m_chips)
        out += chip->sizeHint().width() + m_row->spacing();
    return out;
}

/// What the chips of the axes offer.
void MeshChips::showJoined()
{
    showContextMenu(this, m_joined->mapToGlobal(QPoint(0, m_joined->height())), [this](QMenu* menu) {
        for (const AxisChip* chip : m_chips)
            fillMenu(menu->addMenu(menuText(chip->text())), chip->axisIndex());
        menu->addSeparator();
        connect(menu->addAction(tr("Add a Mesh Axis …")), &QAction::triggered, this, [this] { startEdit(-1); });
    });
}

void MeshChips::selectionChanged()
{
    for (AxisChip* chip : m_chips)
        chip->setChecked(chip->axisIndex() == selection()->meshAxis());
}

void MeshChips::fillMenu(QMenu* menu, int axis)
{
    const MeshAxis current = document()->design().mesh.axis(axis);
    const QString name = qstr(current.name);
    menu->setToolTipsVisible(true);
    connect(menu->addAction(tr("Edit …")), &QAction::triggered, this, [this, axis] { startEdit(axis); });
    const auto offer = [&](const QString& title, const Result<Design>& design, const QString& text) {
        QAction* action = menu->addAction(title);
        const Status status = design.ok() ? document()->check(design.value()) : Status(design.error());
        action->setEnabled(status.ok());
        if (!status.ok())
            action->setToolTip(errorText(status.error()));
        else
            connect(action, &QAction::triggered, this, [this, edited = design.value(), text] { apply(edited, text); });
    };
    for (const std::int64_t size : { 1, 2, 4, 8, 16 })
        if (size != current.size)
            offer(tr("Size %1").arg(size), withMeshAxis(document()->design(), axis, { current.name, size }),
                  tr("Set mesh axis %1 to %2").arg(name).arg(size));
    for (const int by : { -1, 1 })
        if (axis + by >= 0 && axis + by < document()->design().mesh.axisCount())
            offer(by < 0 ? tr("Move Outward (Alt+Left)") : tr("Move Inward (Alt+Right)"),
                  withAxisMoved(document()->design(), axis, axis + by), tr("Move mesh axis %1").arg(name));
    offer(tr("Remove %1").arg(name), withoutMeshAxis(document()->design(), axis), tr("Remove mesh axis %1").arg(name));
}

void MeshChips::moveAxis(int from, int to)
{
    if (from == to || from < 0 || to < 0 || to >= document()->design().mesh.axisCount())
        return;
    const auto design = withAxisMoved(document()->design(), from, to);
    if (!design.ok() || !apply(design.value(), tr("Move mesh axis %1").arg(qstr(document()->design().mesh.axis(from).name))))
        showToolTip(mapToGlobal(QPoint(0, height())), design.ok() ? m_refusal : errorText(design.error()), this, {}, 15000);
    else if (AxisChip* chip = m_chips[static_cast<std::size_t>(to)])
        chip->setFocus(Qt::OtherFocusReason); // so that it can be moved on
}

/// The place that an axis which is dropped here gets: that of the chip under the pointer; -1: there is none.
int MeshChips::placeAt(const QPoint& point) const
{
    for (const AxisChip* chip : m_chips)
        if (chip->geometry().contains(point))
            return chip->axisIndex();
    return -1;
}

void MeshChips::dragEnterEvent(QDragEnterEvent* event)
{
    const QString name = axisFromMimeData(event->mimeData());
    if (!name.isEmpty() && document()->hasDesign() && document()->design().mesh.find(name.toStdString()) >= 0)
        event->acceptProposedAction();
}

void MeshChips::dragMoveEvent(QDragMoveEvent* event)
{
    const int from = document()->design().mesh.find(axisFromMimeData(event->mimeData()).toStdString());
    const int to = placeAt(event->position().toPoint());
    event->setAccepted(from >= 0 && to >= 0 && to != from);
}

void MeshChips::dropEvent(QDropEvent* event)
{
    const int from = document()->design().mesh.find(axisFromMimeData(event->mimeData()).toStdString());
    const int to = placeAt(event->position().toPoint());
    if (from < 0 || to < 0 || to == from)
        return;
    event->acceptProposedAction();
    m_dropped = { from, to };
    // The chips are made anew: not while one of them is still the source of the drag.
    if (qobject_cast<AxisChip*>(event->source()) == nullptr)
        QMetaObject::invokeMethod(this, &MeshChips::finishDrop, Qt::QueuedConnection);
}

void MeshChips::finishDrop()
{
    if (const auto dropped = std::exchange(m_dropped, std::nullopt))
        moveAxis(dropped->first, dropped->second);
}

void MeshChips::startEdit(int axis)
{
    stopEdit();
    m_edited = axis;
    m_refusal.clear();
    m_row->removeWidget(m_edit);
    m_row->insertWidget(axis < 0 ? static_cast<int>(m_chips.size()) : axis, m_edit);
    m_edit->setText(axis < 0 ? QString() : m_chips[static_cast<std::size_t>(axis)]->text());
    if (axis >= 0)
        m_chips[static_cast<std::size_t>(axis)]->hide();
    m_joined->hide();
    m_edit->show();
    m_edit->setFocus(Qt::OtherFocusReason);
    m_edit->selectAll();
}

/// The focus goes back to where the edit began.
void MeshChips::stopEdit()
{
    const int edited = std::exchange(m_edited, -2);
    const bool focused = m_edit->hasFocus();
    showChips();
    if (focused && m_isJoined)
        m_joined->setFocus(Qt::OtherFocusReason);
    else if (focused && edited >= 0 && edited < static_cast<int>(m_chips.size()))
        m_chips[static_cast<std::size_t>(edited)]->setFocus(Qt::OtherFocusReason);
    else if (focused)
        m_add->setFocus(Qt::OtherFocusReason);
    m_edit->hide();
    if (m_edit->property("refused").toBool()) {
        m_edit->setProperty("refused", false);
        m_edit->style()->unpolish(m_edit);
        m_edit->style()->polish(m_edit);
    }
}

void MeshChips::commit()
{
    if (m_edited < -1)
        return;
    std::string text = m_edit->text().trimmed().toStdString();
    if (m_edited >= 0 && parseInteger(text)) // a size alone is of the axis that it is the chip of
        text = document()->design().mesh.axis(m_edited).name + "=" + text;
    const auto typed = Mesh::parse(text, "mesh axis");
    QString problem;
    if (!typed.ok())
        problem = errorText(typed.error());
    else if (typed.value().axisCount() != 1)
        problem = tr("write one axis as name = size, such as model = 4, or the size alone");
    if (problem.isEmpty()) {
        const MeshAxis axis = typed.value().axis(0);
        const auto design = withMeshAxis(document()->design(), m_edited, axis);
        const QString step = m_edited < 0 ? tr("Add mesh axis %1 = %2") : tr("Set mesh axis %1 to %2");
        if (!design.ok())
            problem = errorText(design.error());
        else if (design.value() == document()->design())
            stopEdit();
        else if (!apply(design.value(), step.arg(qstr(axis.name)).arg(axis.size)))
            problem = m_refusal;
    }
    if (problem.isEmpty())
        return;
    m_refusal = problem;
    m_edit->setProperty("refused", true);
    m_edit->style()->unpolish(m_edit);
    m_edit->style()->polish(m_edit);
    m_edit->setAccessibleDescription(problem);
    showToolTip(m_edit->mapToGlobal(QPoint(0, m_edit->height())), problem, m_edit, {}, 15000);
}

bool MeshChips::apply(const Design& design, const QString& text)
{
    const Status status = document()->edit(design, text);
    m_refusal = status.ok() ? QString() : errorText(status.error());
    return status.ok();
}

bool MeshChips::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_edit && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        stopEdit();
        return true;
    }
    if (watched == m_edit && event->type() == QEvent::FocusOut && m_edited >= -1
        && static_cast<QFocusEvent*>(event)->reason() == Qt::MouseFocusReason)
        stopEdit();
    return DocumentView::eventFilter(watched, event);
}

} // namespace shardboard
