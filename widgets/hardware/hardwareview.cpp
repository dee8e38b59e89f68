// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // false alarm of g++ 12 on copies of a variant
#endif
#include "widgets/hardware/hardwareview.h"

#include "model/hardware/hardwarechecks.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/file/textfile.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include <QCheckBox>
#include <QFile>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPushButton>
#include <QSignalBlocker>
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
        out += qstr(fabricName(level.fabric)) + (level.inSwitch ? QLatin1Char('+') : QLatin1Char(' '))
            + QString::number(level.wraps.size());
    return out;
}

/// What a check says, beside the field of `key`: it names another field where the refusal is about that.
QString refusalText(const Error& error, const Hardware& hardware, const QString& key)
{
    const QString place = qstr(error.where).mid(1); // after the colon
    if (place != key)
        for (const HardwareSection& section : hardwareSections(hardware))
            for (const HardwareField& field : section.fields)
                if (field.key == place)
                    return QObject::tr("%1, %2: %3").arg(section.title, field.label, problemText(error));
    return problemText(error);
}

} // namespace

QString HardwareView::Row::text() const
{
    if (edit)
        return edit->text();
    if (choice)
        return choice->currentData().toString();
    QString out;
    for (const QCheckBox* flag : flags)
        out += QLatin1Char(flag->isChecked() ? '1' : '0');
    return out;
}

void HardwareView::Row::setText(const QString& text) const
{
    if (edit) {
        edit->setText(text);
        edit->setCursorPosition(0); // names are read from their beginning
    }
    if (choice)
        choice->choose(text);
    for (std::size_t i = 0; i < flags.size(); ++i) {
        const QSignalBlocker blocker(flags[i]);
        flags[i]->setChecked(text.mid(static_cast<qsizetype>(i), 1) == QLatin1String("1"));
    }
}

HardwareView::HardwareView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_preset(new ChoiceBox(false, this))
    , m_open(new QPushButton(tr("Open …"), this))
    , m_save(new QPushButton(tr("Save As …"), this))
    , m_back(new QPushButton(tr("Back to Preset"), this))
    , m_source(new WrappedLabel({}, this))
    , m_empty(new QLabel(this))
    , m_body(new QWidget(this))
    , m_column(new QVBoxLayout(m_body))
{
    nameView("hardwareView", tr("Hardware"));
    buildLayout();
    connect(m_preset, &QComboBox::activated, this, [this] { choosePreset(); });
    connect(m_open, &QPushButton::clicked, this, &HardwareView::openWanted);
    connect(m_save, &QPushButton::clicked, this, &HardwareView::saveWanted);
    connect(m_back, &QPushButton::clicked, this, [this] { backToPreset(); });
    start();
}

QSize HardwareView::sizeHint() const { return { 340, 500 }; }

void HardwareView::refresh()
{
    const bool open = document()->hasDesign();
    for (QWidget* widget : std::initializer_list<QWidget*> { m_preset, m_open, m_save, m_back, m_body })
        widget->setVisible(open);
    m_empty->setVisible(!open);
    showSource();
    if (!open)
        return;
    const auto hardware = hardwareOf(document()->design());
    if (!hardware.ok())
        return; // such a design cannot be opened
    const bool own = document()->design().ownHardware.has_value();
    const QString id = qstr(hardware.value().id);
    if (const QString shape = shapeOf(hardware.value()); m_shape != shape) {
        makeRows(hardware.value());
        m_shape = shape;
    }
    while (m_preset->count() > static_cast<int>(hardwarePresets().size()))
        m_preset->removeItem(m_preset->count() - 1);
    if (own)
        m_preset->addChoice(qstr(hardware.value().name), tr("values of this design"), id);
    m_preset->choose(id);
    m_back->setEnabled(own && findHardware(presetOf(hardware.value().id)).ok());
    m_source->setFullText(own ? tr("Edited, kept in this design. %1").arg(qstr(hardware.value().source))
                              : qstr(hardware.value().source));
    for (const Row& row : m_rows) {
        if (row.edit && row.field.kind == HardwareField::Kind::Number) {
            row.edit->setFont(monoFont(this, -0.5));
            const QString exact = row.field.exactText(hardware.value());
            const QString all = exact.isEmpty() ? QString() : tr("Exactly %1 %2").arg(exact, row.field.unit).trimmed();
            row.edit->setToolTip(row.field.toolTip.isEmpty() || all.isEmpty() ? row.field.toolTip + all
                                                                              : row.field.toolTip + QLatin1Char('\n') + all);
            row.edit->setFixedWidth(static_cast<int>(80 * textScale(this)));
        }
        row.setText(row.field.text(hardware.value()));
        showError(row, {});
    }
    m_levelError->hide();
    const Theme& theme = Theme::of(this);
    for (QLabel* label : m_quiet) {
        setTextColor(label, theme.quiet);
        label->setFont(uiFont(this, -1));
    }
    for (QLabel* title : findChildren<QLabel*>(QStringLiteral("hardwareTitle")))
        title->setFont(uiFont(this, 0, true));
    for (QLabel* label : std::initializer_list<QLabel*> { m_source, m_empty }) {
        setTextColor(label, theme.quiet);
        label->setFont(uiFont(this, -1));
    }
}

/// In little height the fields come first; where the numbers come from is said at the preset, too.
void HardwareView::showSource()
{
    constexpr int kLow = 400;
    m_source->setVisible(!m_body->isHidden() && height() >= static_cast<int>(kLow * textScale(this)));
}

void HardwareView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    showSource();
}

/// Reads a field into `edited` and says what is wrong with it beside it.
bool HardwareView::check(const Row& row, Hardware& edited)
{
    QString error = row.field.apply(edited, row.text());
    if (error.isEmpty())
        if (const Status status = checkHardware(edited, {}); !status.ok())
            error = refusalText(status.error(), edited, row.field.key);
    showError(row, error);
    return error.isEmpty();
}

void HardwareView::commit(std::size_t index)
{
    if (index >= m_rows.size() || !document()->hasDesign())
        return;
    const auto hardware = hardwareOf(document()->design());
    if (!hardware.ok())
        return;
    const Row& row = m_rows[index];
    const QString text = row.text();
    if (text == row.field.text(hardware.value())) {
        showError(row, {});
        return;
    }
    Hardware edited = hardware.value();
    if (!check(row, edited))
        return; // stays as it is, to be mended
    if (edited == hardware.value()) { // the same, written otherwise
        row.setText(row.field.text(edited));
        return;
    }
    const QString words = row.choice ? row.choice->currentText() : row.flags.empty() ? text : QString();
    const QString name = row.field.label.trimmed();
    const Status status = editHardware(std::move(edited), tr("Hardware: %1 %2 %3").arg(name, words, row.field.unit).simplified());
    if (!status.ok())
        showError(m_rows[index], errorText(status.error()));
}

/// As one step, under a name of its own unless it is a preset again.
Status HardwareView::editHardware(Hardware edited, const QString& text)
{
    const std::string suffix = tr(" (edited)").toStdString();
    if (const auto preset = findHardware(edited.id); preset.ok()) {
        edited.id += kOwn;
        if (edited.name == preset.value().name)
            edited.name += suffix;
    } else if (const auto base = findHardware(presetOf(edited.id)); base.ok()) {
        Hardware same = edited; // edited back to the preset's values
        same.id = base.value().id;
        if (same.name == base.value().name + suffix)
            same.name = base.value().name;
        if (same == base.value())
            edited = base.value();
    }
    Design design = document()->design();
    setHardware(design, std::move(edited));
    return document()->edit(design, text, Misfits::Replicate);
}

void HardwareView::addLevel()
{
    const auto hardware = hardwareOf(document()->design());
    if (!hardware.ok())
        return;
    Hardware edited = withOuterLevel(hardware.value(), document()->design().mesh.deviceCount());
    Status status = checkHardware(edited, {});
    if (status.ok())
        status = editHardware(std::move(edited), tr("Hardware: add a level"));
    if (!status.ok())
        showLevelError(status.error(), hardware.value());
}

void HardwareView::removeLevel(std::size_t level)
{
    const auto hardware = hardwareOf(document()->design());
    if (!hardware.ok() || level >= hardware.value().levels.size())
        return;
    Hardware edited = hardware.value();
    edited.levels.erase(edited.levels.begin() + static_cast<std::ptrdiff_t>(level));
    if (level > 0 && level == edited.levels.size() && edited.levels.back().fabric != Fabric::Torus
        && hardware.value().levels.back().size == 0)
        edited.levels.back().size = 0; // the outermost level had room for all the rest, so has the new one
    Status status = checkHardware(edited, {});
    if (status.ok())
        status = editHardware(std::move(edited), tr("Hardware: remove level %1").arg(level + 1));
    if (!status.ok())
        showLevelError(status.error(), hardware.value());
}

void HardwareView::showLevelError(const Error& error, const Hardware& hardware)
{
    m_levelError->setText(refusalText(error, hardware, {}));
    setTextColor(m_levelError, Theme::of(this).error);
    m_levelError->show();
}

/// Arrow keys make a value a tenth larger or smaller, or a count by one.
void HardwareView::step(std::size_t index, double factor)
{
    const Row& row = m_rows[index];
    bool empty = false;
    const auto value = row.field.parse(row.edit->text(), empty);
    if (!value)
        return;
    const double next = row.field.whole ? *value / row.field.scale + (factor > 1 ? 1 : -1) : *value / row.field.scale * factor;
    row.edit->setText(QLocale::c().toString(next, 'g', 4));
    commit(index);
}

/// Arrows step a number, Escape brings back what the design says.
bool HardwareView::keyPressed(const QObject* watched, int key)
{
    const auto row =
        std::find_if(m_rows.begin(), m_rows.end(), [&](const Row& it) { return it.edit == watched || it.choice == watched; });
    if (row == m_rows.end())
        return false;
    if (row->edit && row->field.kind == HardwareField::Kind::Number && (key == Qt::Key_Up || key == Qt::Key_Down)) {
        step(static_cast<std::size_t>(row - m_rows.begin()), key == Qt::Key_Up ? 1.1 : 1 / 1.1);
        return true;
    }
    if (key != Qt::Key_Escape)
        return false;
    if (const auto hardware = hardwareOf(document()->design()); hardware.ok()) {
        const QString text = row->field.text(hardware.value());
        if (row->text() == text && (row->error == nullptr || row->error->isHidden()))
            return false; // nothing to let go of
        row->setText(text);
    }
    showError(*row, {});
    return true;
}

bool HardwareView::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress && keyPressed(watched, static_cast<QKeyEvent*>(event)->key()))
        return true;
    return DocumentView::eventFilter(watched, event);
}

void HardwareView::showError(const Row& row, const QString& text)
{
    row.error->setText(text);
    row.error->setVisible(!text.isEmpty());
    setTextColor(row.error, Theme::of(this).error);
    if (row.edit && row.edit->property("refused").toBool() != !text.isEmpty()) {
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
        Q_EMIT refused(errorText(status.error()));
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
        Q_EMIT refused(errorText(status.error()));
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
    const auto hardware = hardwareOf(document()->design());
    if (!hardware.ok())
        return hardware.error();
    return writeFileAtomically(QFile::encodeName(path).toStdString(), hardwareText(hardware.value()));
}

const HardwareView::Row* HardwareView::rowOf(const QString& key) const
{
    const auto row = std::find_if(m_rows.begin(), m_rows.end(), [&](const Row& it) { return it.field.key == key; });
    return row == m_rows.end() ? nullptr : &*row;
}

QLineEdit* HardwareView::edit(const QString& key) const
{
    const Row* row = rowOf(key);
    return row ? row->edit : nullptr;
}

ChoiceBox* HardwareView::choice(const QString& key) const
{
    const Row* row = rowOf(key);
    return row ? row->choice : nullptr;
}

QString HardwareView::errorOf(const QString& key) const
{
    const Row* row = rowOf(key);
    return row == nullptr || row->error->isHidden() ? QString() : row->error->text();
}

} // namespace shardboard
