// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // false alarm of g++ 12 on copies of a variant
#endif
#include "widgets/hardwareview.h"

#include "model/formats/hardwarefile.h"
#include "model/hardware/hardwarechecks.h"
#include "widgets/choicebox.h"
#include "widgets/format.h"
#include "widgets/theme.h"

#include <QFile>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPushButton>
#include <QSaveFile>
#include <QScrollArea>
#include <QStyle>
#include <QVBoxLayout>

#include <algorithm>

namespace shardboard {

namespace {

const std::string kOwn = "-edited"; ///< an edited preset has its own name, so that it is not taken for the preset

std::string presetOf(const std::string& id) { return id.ends_with(kOwn) ? id.substr(0, id.size() - kOwn.size()) : id; }

QString shapeOf(const Hardware& hardware)
{
    QString out;
    for (const Level& level : hardware.levels)
        out += qstr(fabricName(level.fabric)) + (level.inSwitch ? QLatin1Char('+') : QLatin1Char(' '));
    return out;
}

} // namespace

HardwareView::HardwareView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_preset(new ChoiceBox(false, this))
    , m_open(new QPushButton(tr("Open …"), this))
    , m_save(new QPushButton(tr("Save As …"), this))
    , m_back(new QPushButton(tr("Back to Preset"), this))
    , m_source(new QLabel(this))
    , m_empty(new QLabel(this))
    , m_body(new QWidget(this))
    , m_column(new QVBoxLayout(m_body))
{
    setObjectName(QStringLiteral("hardwareView"));
    setAccessibleName(tr("Hardware"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    buildLayout();
    connect(m_preset, &QComboBox::activated, this, [this] { choosePreset(); });
    connect(m_open, &QPushButton::clicked, this, &HardwareView::openWanted);
    connect(m_save, &QPushButton::clicked, this, &HardwareView::saveWanted);
    connect(m_back, &QPushButton::clicked, this, [this] { backToPreset(); });
    start();
}

void HardwareView::buildLayout()
{
    m_preset->setObjectName(QStringLiteral("hardwarePreset"));
    m_preset->setAccessibleName(tr("Hardware preset"));
    m_open->setObjectName(QStringLiteral("hardwareOpen"));
    m_open->setToolTip(tr("Hardware from a file"));
    m_save->setObjectName(QStringLiteral("hardwareSave"));
    m_save->setToolTip(tr("Writes the hardware to a file, to be used by other designs and shardctl --hardware"));
    m_back->setObjectName(QStringLiteral("hardwareBack"));
    m_back->setToolTip(tr("Drops all edited values"));
    m_source->setObjectName(QStringLiteral("hardwareSource"));
    m_source->setWordWrap(true);
    m_source->setTextFormat(Qt::PlainText);
    m_empty->setObjectName(QStringLiteral("hardwareEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setText(tr("No design is open."));
    for (const Hardware& hardware : hardwarePresets())
        m_preset->addChoice(qstr(hardware.name), qstr(hardware.source), qstr(hardware.id));
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(m_open);
    buttons->addWidget(m_save);
    buttons->addWidget(m_back);
    buttons->addStretch(1);
    auto* top = new QVBoxLayout;
    top->setContentsMargins(kPanelMargin, 8, kPanelMargin, 8);
    top->setSpacing(8);
    top->addWidget(m_preset);
    top->addLayout(buttons);
    top->addWidget(m_source);
    m_column->setContentsMargins(kPanelMargin, 0, kPanelMargin, 8);
    m_column->setSpacing(2);
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(m_body);
    scroll->setWidgetResizable(true);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(top);
    column->addWidget(scroll, 1);
    column->addWidget(m_empty, 1);
}

QSize HardwareView::sizeHint() const { return { 340, 500 }; }

void HardwareView::refresh()
{
    const bool open = document()->hasDesign();
    for (QWidget* widget : std::initializer_list<QWidget*> { m_preset, m_open, m_save, m_back, m_source, m_body })
        widget->setVisible(open);
    m_empty->setVisible(!open);
    if (!open)
        return;
    const auto hardware = hardwareOf(document()->design());
    if (!hardware.ok())
        return; // such a design cannot be opened
    const bool own = document()->design().ownHardware.has_value();
    const QString id = qstr(hardware.value().id);
    if (m_shape != shapeOf(hardware.value()))
        makeRows(hardware.value());
    while (m_preset->count() > static_cast<int>(hardwarePresets().size()))
        m_preset->removeItem(m_preset->count() - 1);
    if (own)
        m_preset->addChoice(qstr(hardware.value().name), tr("values of this design"), id);
    m_preset->choose(id);
    m_back->setEnabled(own && findHardware(presetOf(hardware.value().id)).ok());
    m_source->setText(own ? tr("Edited, kept in this design. %1").arg(qstr(hardware.value().source)) : qstr(hardware.value().source));
    for (Row& row : m_rows) {
        row.edit->setFont(monoFont(this, -0.5));
        row.edit->setText(row.field.text(hardware.value()));
        showError(row, {});
    }
    const Theme& theme = Theme::of(this);
    for (QLabel* label : m_quiet)
        setTextColor(label, theme.quiet);
    for (QLabel* label : { m_source, m_empty }) {
        setTextColor(label, theme.quiet);
        label->setFont(uiFont(this, -1));
    }
}

void HardwareView::makeRows(const Hardware& hardware)
{
    m_rows.clear();
    m_quiet.clear();
    while (QLayoutItem* item = m_column->takeAt(0)) {
        if (item->widget())
            item->widget()->deleteLater(); // one of them may be what the edit came from
        delete item;
    }
    for (const HardwareSection& section : hardwareSections(hardware))
        addSection(section);
    m_column->addStretch(1);
    m_shape = shapeOf(hardware);
}

void HardwareView::addSection(const HardwareSection& section)
{
    auto* title = new QLabel(section.title, m_body);
    title->setFont(uiFont(this, 0, true));
    title->setContentsMargins(0, 8, 0, 0);
    m_column->addWidget(title);
    auto* detail = new QLabel(section.detail, m_body);
    detail->setWordWrap(true);
    detail->setFont(uiFont(this, -1));
    detail->setToolTip(section.source);
    m_quiet.push_back(detail);
    m_column->addWidget(detail);
    auto* box = new QWidget(m_body);
    auto* grid = new QGridLayout(box);
    grid->setContentsMargins(0, 2, 0, 4);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(0, 1);
    for (const HardwareField& field : section.fields) {
        const int at = grid->rowCount();
        auto* label = new QLabel(field.label, box);
        auto* edit = new QLineEdit(box);
        edit->setObjectName(QStringLiteral("hardware.") + field.key);
        edit->setAccessibleName(section.title + QStringLiteral(", ") + field.label + (field.unit.isEmpty() ? QString() : QStringLiteral(" in ") + field.unit));
        edit->setToolTip(field.toolTip.isEmpty() ? field.key : field.toolTip + QLatin1Char('\n') + field.key);
        edit->setAlignment(Qt::AlignRight);
        edit->setFixedWidth(92);
        if (field.optional)
            edit->setPlaceholderText(QStringLiteral("–"));
        label->setBuddy(edit);
        auto* unit = new QLabel(field.unit, box);
        unit->setFont(uiFont(this, -1));
        m_quiet.push_back(unit);
        auto* error = new QLabel(box);
        error->setWordWrap(true);
        error->setTextFormat(Qt::PlainText);
        error->setFont(uiFont(this, -1));
        error->hide();
        grid->addWidget(label, at, 0);
        grid->addWidget(edit, at, 1);
        grid->addWidget(unit, at, 2);
        grid->addWidget(error, at + 1, 0, 1, 3);
        const std::size_t index = m_rows.size();
        m_rows.push_back({ field, edit, error });
        edit->installEventFilter(this);
        connect(edit, &QLineEdit::textEdited, this, [this, index] {
            if (const auto hardware = hardwareOf(document()->design()); hardware.ok()) {
                Hardware edited = hardware.value();
                (void)check(m_rows[index], edited);
            }
        });
        connect(edit, &QLineEdit::editingFinished, this, [this, index] { commit(index); });
    }
    m_column->addWidget(box);
}

/// Reads a field into `edited` and says what is wrong with it beside it.
bool HardwareView::check(Row& row, Hardware& edited)
{
    bool empty = false;
    const std::optional<double> value = row.field.parse(row.edit->text(), empty);
    if (!value && !(empty && row.field.optional)) {
        showError(row, empty ? tr("needs a number") : row.field.whole ? tr("is no whole number") : tr("is no number"));
        return false;
    }
    row.field.set(edited, value);
    const Status status = checkHardware(edited, {});
    if (!status.ok()) {
        const Error& error = status.error();
        const QString place = qstr(error.where).mid(1); // after the colon
        QString text = qstr(error.what) + QStringLiteral("; ") + qstr(error.fix);
        if (place != row.field.key)
            text = place + QLatin1Char(' ') + text;
        showError(row, text);
        return false;
    }
    showError(row, {});
    return true;
}

void HardwareView::commit(std::size_t index)
{
    if (index >= m_rows.size() || !document()->hasDesign())
        return;
    const auto hardware = hardwareOf(document()->design());
    if (!hardware.ok())
        return;
    Row& row = m_rows[index];
    if (row.edit->text() == row.field.text(hardware.value())) {
        showError(row, {});
        return;
    }
    Hardware edited = hardware.value();
    if (!check(row, edited))
        return; // stays as it is, to be mended
    if (row.field.get(edited) == row.field.get(hardware.value())) { // the same number, written otherwise
        row.edit->setText(row.field.text(edited));
        return;
    }
    if (const auto preset = findHardware(edited.id); preset.ok()) {
        edited.id += kOwn;
        edited.name += tr(" (edited)").toStdString();
    } else if (const auto base = findHardware(presetOf(edited.id)); base.ok()) {
        Hardware same = edited; // edited back to the preset's values
        same.id = base.value().id;
        same.name = base.value().name;
        if (same == base.value())
            edited = base.value();
    }
    Design design = document()->design();
    const QString text = tr("Hardware: %1 %2 %3").arg(row.field.label.trimmed(), row.edit->text(), row.field.unit).trimmed();
    setHardware(design, std::move(edited));
    const Status status = document()->edit(design, text, Misfits::Replicate);
    if (!status.ok())
        showError(m_rows[index], qstr(status.error().text()));
}

/// Arrow keys make a value a tenth larger or smaller, or a count by one.
void HardwareView::step(std::size_t index, double factor)
{
    Row& row = m_rows[index];
    bool empty = false;
    const auto value = row.field.parse(row.edit->text(), empty);
    if (!value)
        return;
    const double next = row.field.whole ? *value / row.field.scale + (factor > 1 ? 1 : -1) : *value / row.field.scale * factor;
    row.edit->setText(QLocale::c().toString(next, 'g', 4));
    commit(index);
}

bool HardwareView::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress) {
        const auto row = std::find_if(m_rows.begin(), m_rows.end(), [&](const Row& it) { return it.edit == watched; });
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (row != m_rows.end() && (key == Qt::Key_Up || key == Qt::Key_Down)) {
            step(static_cast<std::size_t>(row - m_rows.begin()), key == Qt::Key_Up ? 1.1 : 1 / 1.1);
            return true;
        }
        if (row != m_rows.end() && key == Qt::Key_Escape) {
            if (const auto hardware = hardwareOf(document()->design()); hardware.ok())
                row->edit->setText(row->field.text(hardware.value()));
            showError(*row, {});
            return true;
        }
    }
    return DocumentView::eventFilter(watched, event);
}

void HardwareView::showError(const Row& row, const QString& text)
{
    row.error->setText(text);
    row.error->setVisible(!text.isEmpty());
    setTextColor(row.error, Theme::of(this).error);
    if (row.edit->property("refused").toBool() != !text.isEmpty()) {
        row.edit->setProperty("refused", !text.isEmpty());
        row.edit->style()->unpolish(row.edit);
        row.edit->style()->polish(row.edit);
    }
}

void HardwareView::choosePreset()
{
    const auto preset = findHardware(m_preset->currentData().toString().toStdString());
    if (!preset.ok())
        return; // the design's own: it is chosen already
    Design design = document()->design();
    setHardware(design, preset.value());
    const Status status = document()->edit(design, tr("Hardware %1").arg(qstr(preset.value().id)), Misfits::Replicate);
    if (!status.ok())
        Q_EMIT refused(qstr(status.error().text()));
}

void HardwareView::backToPreset()
{
    const auto preset = findHardware(presetOf(document()->design().hardware));
    if (!preset.ok())
        return;
    Design design = document()->design();
    setHardware(design, preset.value());
    const Status status = document()->edit(design, tr("Back to hardware %1").arg(qstr(preset.value().id)), Misfits::Replicate);
    if (!status.ok())
        Q_EMIT refused(qstr(status.error().text()));
}

Status HardwareView::open(const QString& path)
{
    if (!document()->hasDesign())
        return inputError({}, "no design is open", "open one first");
    const std::string file = QFile::encodeName(path).toStdString();
    QFile in(path);
    if (!in.open(QIODevice::ReadOnly))
        return inputError(file, "cannot be read", "check its name and permissions");
    auto hardware = hardwareFromText(in.readAll().toStdString(), file);
    if (!hardware.ok())
        return hardware.error();
    Design design = document()->design();
    const QString name = qstr(hardware.value().id);
    setHardware(design, std::move(hardware).value());
    return document()->edit(design, tr("Hardware %1 from a file").arg(name), Misfits::Replicate);
}

Status HardwareView::save(const QString& path)
{
    const std::string file = QFile::encodeName(path).toStdString();
    const auto hardware = hardwareOf(document()->design());
    if (!hardware.ok())
        return hardware.error();
    QSaveFile out(path);
    const QByteArray text = QByteArray::fromStdString(hardwareText(hardware.value()));
    if (!out.open(QIODevice::WriteOnly) || out.write(text) != text.size() || !out.commit())
        return inputError(file, "cannot be written", "check the folder's permissions and the space on the disk");
    return done();
}

QLineEdit* HardwareView::edit(const QString& key) const
{
    const auto row = std::find_if(m_rows.begin(), m_rows.end(), [&](const Row& it) { return it.field.key == key; });
    return row == m_rows.end() ? nullptr : row->edit;
}

QString HardwareView::errorOf(const QString& key) const
{
    const auto row = std::find_if(m_rows.begin(), m_rows.end(), [&](const Row& it) { return it.field.key == key; });
    return row == m_rows.end() || row->error->isHidden() ? QString() : row->error->text();
}

} // namespace shardboard
