// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/newdialog.h"

#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/hardware/hardware.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/rules/rulesetup.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"
#include "widgets/rules/ruledelegate.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTimer>
#include <QVBoxLayout>

namespace shardboard {

namespace {

QSpinBox* countBox(const QString& name, int value, QWidget* parent)
{
    auto* box = new QSpinBox(parent);
    box->setObjectName(name);
    box->setRange(1, std::numeric_limits<int>::max());
    box->setValue(value);
    box->setGroupSeparatorShown(true);
    return box;
}

const QString kModule = QStringLiteral("ColumnParallelLinear");

} // namespace

NewDialog::NewDialog(QWidget* parent)
    : QDialog(parent)
    , m_model(new QComboBox(this))
    , m_form(new QFormLayout)
    , m_inDim(countBox(QStringLiteral("new.inDim"), 4096, this))
    , m_outDim(countBox(QStringLiteral("new.outDim"), 14336, this))
    , m_bias(new QCheckBox(tr("has a bias"), this))
    , m_tied(new QCheckBox(tr("weight is tied to an embedding"), this))
    , m_mesh(new QLineEdit(QStringLiteral("data=2,model=4"), this))
    , m_hardware(new QComboBox(this))
    , m_workload(new QComboBox(this))
    , m_batch(countBox(QStringLiteral("new.batch"), 8, this))
    , m_sequence(countBox(QStringLiteral("new.sequence"), 4096, this))
    , m_logits(new QComboBox(this))
    , m_microBatches(countBox(QStringLiteral("new.microBatches"), 1, this))
    , m_recompute(new QComboBox(this))
    , m_attention(new QComboBox(this))
    , m_overlap(new QComboBox(this))
    , m_software(new QComboBox(this))
    , m_dtype(new QComboBox(this))
    , m_preset(new QComboBox(this))
    , m_presetWhat(new QLabel(this))
    , m_preview(new QLabel(this))
    , m_error(new QLabel(this))
    , m_settled(new QTimer(this))
    , m_previewing(new LatestJob(this))
{
    setObjectName(QStringLiteral("newDialog"));
    setWindowTitle(tr("New Design"));
    m_model->setObjectName(QStringLiteral("new.model"));
    m_mesh->setObjectName(QStringLiteral("new.mesh"));
    m_preset->setObjectName(QStringLiteral("new.preset"));
    m_error->setObjectName(QStringLiteral("new.error"));
    m_bias->setObjectName(QStringLiteral("new.bias"));
    nameWidget(m_tied, "new.tied", {},
               tr("The weight is also an embedding table: tokens are looked up in it first. It cannot have a bias."));
    m_model->setEditable(true);
    m_model->setToolTip(tr("A built-in model, or the path of a config.json, a checkpoint folder, or a .safetensors or .gguf file"));
    for (const std::string& name : builtinModelNames())
        m_model->addItem(qstr(name));
    m_model->insertSeparator(m_model->count());
    m_model->addItem(kModule);
    m_model->setItemData(m_model->count() - 1, tr("A single module: a matmul per device, its bias, the all-gather"),
                         Qt::ToolTipRole);
    m_model->setCurrentText(QStringLiteral("llama3-8b"));
    m_mesh->setToolTip(tr("Mesh axes in order, the first slowest: NAME=SIZE,NAME=SIZE"));
    m_hardware->setObjectName(QStringLiteral("new.hardware"));
    m_hardware->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon); // names are long
    for (const Hardware& hardware : hardwarePresets())
        m_hardware->addItem(qstr(hardware.name), qstr(hardware.id));
    m_workload->setObjectName(QStringLiteral("new.workload"));
    for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train })
        m_workload->addItem(qstr(workloadName(kind)), static_cast<int>(kind));
    nameWidget(m_logits, "new.logits", tr("Logits"),
               tr("The tokens whose logits a prefill computes: the last one of each sequence, to serve, or all, to score texts"));
    for (const Logits which : { Logits::Last, Logits::All })
        m_logits->addItem(which == Logits::Last ? tr("logits of last token") : tr("logits of all tokens"), static_cast<int>(which));
    m_microBatches->setToolTip(tr("The batch is split into this many parts; their gradients are summed"));
    nameWidget(m_recompute, "new.recompute", {},
               tr("Activations that are recomputed for the backward pass instead of being saved"));
    for (const Recompute what : { Recompute::None, Recompute::Selective, Recompute::ByOp, Recompute::Full })
        m_recompute->addItem(qstr(recomputeName(what)), qstr(recomputeName(what)));
    nameWidget(m_attention, "new.attention", {},
               tr("flash: one kernel whose scores never reach memory; unfused: scores are written, read and kept"));
    for (const AttentionKernel kernel : { AttentionKernel::Flash, AttentionKernel::Unfused })
        m_attention->addItem(qstr(attentionKernelName(kernel)), static_cast<int>(kernel));
    nameWidget(m_overlap, "new.overlap", {},
               tr("Collectives that run while the device computes: none, those of weights and gradients, or all (a lower bound)"));
    for (const Overlap overlap : { Overlap::None, Overlap::Weights, Overlap::All })
        m_overlap->addItem(qstr(overlapName(overlap)), qstr(overlapName(overlap)));
    nameWidget(
        m_software, "new.software", {},
        tr("Whose kernels run beside the products: fused (Megatron-LM, XLA), compiled (torch.compile) or eager (PyTorch alone)"));
    for (const Software software : { Software::Fused, Software::Compiled, Software::Eager })
        m_software->addItem(qstr(softwareName(software)), static_cast<int>(software));
    m_presetWhat->setObjectName(QStringLiteral("new.presetWhat"));
    m_presetWhat->setWordWrap(true);
    m_presetWhat->setTextFormat(Qt::PlainText);
    setTextColor(m_presetWhat, Theme::of(this).quiet);
    nameWidget(m_dtype, "new.dtype", {},
               tr("f8e4m3: one byte for everything in inference; in training only for the layers' products, the rest stays bf16"));
    for (const DType type : computeTypes())
        m_dtype->addItem(qstr(dtypeName(type)), static_cast<int>(type));
    for (const std::string& name : presetNames()) {
        m_preset->addItem(qstr(name));
        m_preset->setItemData(m_preset->count() - 1, qstr(presetWhat(name)), Qt::ToolTipRole);
    }
    m_preset->insertSeparator(m_preset->count());
    for (const std::string& name : rulePresetNames()) {
        m_preset->addItem(tr("rules %1").arg(qstr(name)), qstr(name));
        m_preset->setItemData(m_preset->count() - 1, qstr(rulePresetSummary(name)), Qt::ToolTipRole);
    }
    m_preset->setEditable(true);
    m_preset->setInsertPolicy(QComboBox::NoInsert);
    m_preset->setToolTip(tr("A preset, or parts of your own choice joined by +, such as pp+tp-sp+fsdp; or a set of rules"));
    QStringList parts;
    for (const PresetPart& part : presetParts())
        parts << QLatin1String(part.name);
    completeLastWord(m_preset->lineEdit(), parts, QLatin1Char('+'));
    m_preset->setCurrentText(QStringLiteral("megatron-tp"));
    m_preview->setObjectName(QStringLiteral("new.preview"));
    m_preview->setWordWrap(true);
    m_preview->setTextFormat(Qt::PlainText);
    m_preview->setMinimumHeight(3 * QFontMetrics(m_preview->font()).lineSpacing()); // it must not jump at every key
    m_preview->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_error->setWordWrap(true);
    m_error->setTextFormat(Qt::PlainText);
    QPalette colors = m_error->palette();
    colors.setColor(QPalette::WindowText, Theme::of(this).error);
    m_error->setPalette(colors);

    auto* browseFolder = new QPushButton(tr("&Folder …"), this);
    auto* browseFile = new QPushButton(tr("F&ile …"), this);
    auto* modelRow = new QHBoxLayout;
    modelRow->addWidget(m_model, 1);
    modelRow->addWidget(browseFolder);
    modelRow->addWidget(browseFile);
    auto* form = m_form;
    auto* modelLabel = new QLabel(tr("&Model"), this);
    modelLabel->setBuddy(m_model);
    form->addRow(modelLabel, modelRow);
    form->addRow(tr("&In dim"), m_inDim);
    form->addRow(tr("&Out dim"), m_outDim);
    form->addRow(QString(), m_bias);
    form->addRow(QString(), m_tied);
    form->addRow(tr("Me&sh"), m_mesh);
    auto* hardwareFile = new QPushButton(tr("Fi&le …"), this);
    nameWidget(hardwareFile, "new.hardwareFile", {}, tr("Hardware from a file, as the hardware editor and shardctl write it"));
    auto* hardwareRow = new QHBoxLayout;
    hardwareRow->addWidget(m_hardware, 1);
    hardwareRow->addWidget(hardwareFile);
    auto* hardwareLabel = new QLabel(tr("&Hardware"), this);
    hardwareLabel->setBuddy(m_hardware);
    form->addRow(hardwareLabel, hardwareRow);
    auto* workloadRow = new QHBoxLayout; // a row of its own would not fit small screens
    workloadRow->addWidget(m_workload, 1);
    workloadRow->addWidget(m_logits, 1);
    auto* workloadLabel = new QLabel(tr("&Workload"), this);
    workloadLabel->setBuddy(m_workload);
    form->addRow(workloadLabel, workloadRow);
    form->addRow(tr("&Batch"), m_batch);
    form->addRow(tr("Se&quence"), m_sequence);
    form->addRow(tr("Mi&cro-batches"), m_microBatches);
    form->addRow(tr("&Recompute"), m_recompute);
    form->addRow(tr("&Attention"), m_attention);
    form->addRow(tr("O&verlap"), m_overlap);
    form->addRow(tr("Softwar&e"), m_software);
    form->addRow(tr("&Type"), m_dtype);
    form->addRow(tr("&Layout"), m_preset);
    form->addRow(QString(), m_presetWhat);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    buttons->button(QDialogButtonBox::Ok)->setText(tr("Create"));
    buttons->button(QDialogButtonBox::Ok)->setProperty("primary", true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kPanelMargin, kPanelMargin, kPanelMargin, kPanelMargin);
    layout->addLayout(form);
    layout->addWidget(m_preview);
    layout->addWidget(m_error);
    layout->addWidget(buttons);
    m_model->setMinimumWidth(260);
    connect(m_model, &QComboBox::currentTextChanged, this, [this] { showModule(); });
    connect(m_workload, &QComboBox::currentIndexChanged, this, [this] { showWorkload(); });
    connect(m_preset, &QComboBox::currentTextChanged, this, [this] { showPreset(); });
    showPreset();
    showModule();
    constexpr int kMomentMs = 60;
    m_settled->setSingleShot(true);
    m_settled->setInterval(kMomentMs);
    connect(m_settled, &QTimer::timeout, this, &NewDialog::preview);
    const auto changed = [this] { m_settled->start(); };
    connect(m_mesh, &QLineEdit::textChanged, this, changed);
    for (QComboBox* box :
         { m_model, m_hardware, m_workload, m_logits, m_recompute, m_attention, m_overlap, m_software, m_dtype, m_preset })
        connect(box, &QComboBox::currentTextChanged, this, changed);
    for (QSpinBox* box : { m_inDim, m_outDim, m_batch, m_sequence, m_microBatches })
        connect(box, &QSpinBox::valueChanged, this, changed);
    for (QCheckBox* box : { m_bias, m_tied })
        connect(box, &QCheckBox::toggled, this, changed);
    m_settled->start();
    connect(browseFolder, &QPushButton::clicked, this, [this] { browse(true); });
    connect(hardwareFile, &QPushButton::clicked, this, [this] { browseHardware(); });
    connect(browseFile, &QPushButton::clicked, this, [this] { browse(false); });
    connect(buttons, &QDialogButtonBox::accepted, this, &NewDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &NewDialog::reject);
}

void NewDialog::setModel(const QString& nameOrPath) { m_model->setCurrentText(nameOrPath); }
void NewDialog::setModule()
{
    setWindowTitle(tr("New Module"));
    m_model->setCurrentText(kModule);
}

bool NewDialog::isModule() const { return m_model->currentText().trimmed() == kModule; }

void NewDialog::showModule()
{
    for (QWidget* field : std::initializer_list<QWidget*> { m_inDim, m_outDim, m_bias, m_tied }) {
        field->setVisible(isModule());
        if (QWidget* label = m_form->labelForField(field))
            label->setVisible(isModule());
    }
    showWorkload();
}

/// Micro-batches and recompute are of training; which logits there are is a question of a model's prefill.
void NewDialog::showWorkload()
{
    const auto kind = static_cast<WorkloadKind>(m_workload->currentData().toInt());
    const auto show = [this](QWidget* field, bool shown) {
        field->setVisible(shown);
        m_form->labelForField(field)->setVisible(shown);
    };
    m_logits->setVisible(kind == WorkloadKind::Prefill && !isModule());
    show(m_microBatches, kind == WorkloadKind::Train);
    show(m_recompute, kind == WorkloadKind::Train);
    adjustSize();
}

void NewDialog::showPreset()
{
    const QString text = m_preset->currentText().trimmed();
    const int index = m_preset->findText(text);
    const auto facts = presetFactsOf(text.toStdString());
    m_presetWhat->setText(index >= 0       ? m_preset->itemData(index, Qt::ToolTipRole).toString()
                              : facts.ok() ? qstr(facts.value().what)
                                           : errorText(facts.error()));
    adjustSize();
}

void NewDialog::browse(bool folder)
{
    const QString path = folder
        ? QFileDialog::getExistingDirectory(this, tr("Checkpoint Folder"))
        : QFileDialog::getOpenFileName(this, tr("Model"), {}, tr("Models (config.json *.safetensors *.gguf);;All files (*)"));
    if (!path.isEmpty())
        m_model->setCurrentText(path);
}

void NewDialog::setHardwareFile(const QString& path)
{
    int index = m_hardware->findData(path);
    if (index < 0) {
        index = m_hardware->count();
        m_hardware->addItem(shownText(QFileInfo(path).fileName()), path);
        m_hardware->setItemData(index, shownText(path), Qt::ToolTipRole);
    }
    m_hardware->setCurrentIndex(index);
}

void NewDialog::browseHardware()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Hardware"), {}, tr("Hardware (*.json);;All files (*)"));
    if (!path.isEmpty())
        setHardwareFile(path);
}

NewDesign NewDialog::wanted() const
{
    NewDesign wanted;
    wanted.model = m_model->currentText().trimmed().toLocal8Bit().toStdString();
    wanted.mesh = m_mesh->text().toStdString();
    wanted.hardware = QFile::encodeName(m_hardware->currentData().toString()).toStdString();
    wanted.preset = m_preset->currentText().trimmed().toStdString();
    if (const int index = m_preset->findText(m_preset->currentText()); index >= 0)
        wanted.rules = m_preset->itemData(index).toString().toStdString();
    if (isModule())
        wanted.module = LinearModule { m_inDim->value(), m_outDim->value(), m_bias->isChecked(), m_tied->isChecked() };
    wanted.workload = { static_cast<WorkloadKind>(m_workload->currentData().toInt()), m_batch->value(), m_sequence->value(),
                        static_cast<DType>(m_dtype->currentData().toInt()) };
    wanted.workload.attention = static_cast<AttentionKernel>(m_attention->currentData().toInt());
    wanted.workload.overlap = overlapFromName(m_overlap->currentData().toString().toStdString()).value_or(Overlap::None);
    wanted.workload.software = static_cast<Software>(m_software->currentData().toInt());
    if (!isModule()) // waits until it is a prefill
        wanted.workload.logits = static_cast<Logits>(m_logits->currentData().toInt());
    if (wanted.workload.kind == WorkloadKind::Train) {
        wanted.workload.microBatches = m_microBatches->value();
        wanted.workload.recompute =
            recomputeFromName(m_recompute->currentData().toString().toStdString()).value_or(Recompute::None);
    }
    return wanted;
}

NewPreview previewOf(const NewDesign& wanted)
{
    std::vector<std::string> notes;
    const auto made = makeDesign(wanted, notes);
    if (!made.ok())
        return { .refusal = made.cancelled() ? QString() : errorText(made.error()) };
    const auto evaluation = planOnly(made.value(), Misfits::Replicate);
    if (!evaluation.ok())
        return { .refusal = evaluation.cancelled() ? QString() : errorText(evaluation.error()) };
    return { evaluation.value()->parameters, made.value().mesh.deviceCount(), costOf(made.value(), *evaluation.value()), {} };
}

QString previewText(const NewPreview& preview)
{
    if (!preview.refusal.isEmpty())
        return preview.refusal;
    constexpr double kBillion = 1e9;
    const auto parameters = static_cast<double>(preview.parameters);
    QStringList lines { QObject::tr("%1 parameters · %2")
                            .arg(parameters >= kBillion ? QObject::tr("%1 billion").arg(digitsText(parameters / kBillion))
                                                        : countText(preview.parameters),
                                 counted(preview.devices, QObject::tr("device"), QObject::tr("devices"))) };
    if (preview.cost.peakBytes > 0)
        lines << QObject::tr("memory per device %1 of %2, %3")
                     .arg(bytesText(preview.cost.peakBytes), bytesText(preview.cost.limitBytes), fitText(preview.cost));
    if (preview.cost.seconds > 0)
        lines << QObject::tr("step about %1").arg(secondsText(preview.cost.seconds));
    return lines.join(QLatin1Char('\n'));
}

/// What the design would be that Create makes of the fields as they are, found out elsewhere: a checkpoint has many headers.
void NewDialog::preview()
{
    m_preview->setEnabled(false); // what it says is of the fields as they were
    m_previewing->ask([this, asked = wanted()](const std::atomic<bool>&) {
        return LatestJob::Answer([this, found = previewOf(asked)] {
            m_preview->setEnabled(true);
            m_preview->setText(previewText(found));
            const Theme& theme = Theme::of(this);
            setTextColor(m_preview,
                         found.refusal.isEmpty() && found.cost.fits() ? theme.text
                             : found.refusal.isEmpty()                ? theme.error
                                                                      : theme.quiet);
            adjustSize();
        });
    });
}

void NewDialog::accept()
{
    m_notes.clear();
    const auto made = makeDesign(wanted(), m_notes);
    if (!made.ok()) {
        m_error->setText(errorText(made.error()));
        return;
    }
    const auto evaluation = evaluate(made.value(), Misfits::Replicate); // what does not fit is a finding with its repair
    if (!evaluation.ok()) {
        m_error->setText(errorText(evaluation.error()));
        return;
    }
    m_design = made.value();
    QDialog::accept();
}

} // namespace shardboard
