// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/pictures/picturedialog.h"

#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace shardboard {

namespace {

constexpr int kScaleRole = Qt::UserRole + 1;

void addForm(QComboBox* box, const QString& text, const char* suffix, int scale)
{
    box->addItem(text, QString::fromLatin1(suffix));
    box->setItemData(box->count() - 1, scale, kScaleRole);
}

/// A name with the ending of the form: in place of that of another form, after any other text.
QString withSuffix(const QString& path, const QString& suffix)
{
    const QString last = QFileInfo(path).suffix();
    if (last.toLower() == suffix)
        return path;
    const QString stem = isPictureSuffix(last.toLower()) ? path.chopped(last.size() + 1) : path;
    return stem + QLatin1Char('.') + suffix;
}

} // namespace

PictureDialog::PictureDialog(const QString& view, const Choice& proposal, bool hasParts, QWidget* parent)
    : QDialog(parent)
    , m_path(new QLineEdit(this))
    , m_form(new QComboBox(this))
    , m_part(new QComboBox(this))
    , m_note(new QLabel(this))
{
    setObjectName(QStringLiteral("pictureDialog"));
    setWindowTitle(tr("Save Picture of %1").arg(view));
    nameWidget(m_path, "picture.path", tr("File"));
    m_path->setMinimumWidth(380);
    nameWidget(m_form, "picture.form", tr("Form"));
    addForm(m_form, tr("SVG – text stays text, lines stay lines"), "svg", 1);
    addForm(m_form, tr("PDF – text stays text, lines stay lines"), "pdf", 1);
    addForm(m_form, tr("PNG – as on the screen (1×)"), "png", 1);
    addForm(m_form, tr("PNG – for fine screens (2×)"), "png", 2);
    addForm(m_form, tr("PNG – for print (4×)"), "png", 4);
    nameWidget(m_part, "picture.part", tr("Part"));
    m_part->addItem(tr("What is visible"), false);
    m_part->addItem(tr("All of it, without scrolling or zoom"), true);
    m_part->setCurrentIndex(proposal.options.whole && hasParts ? 1 : 0);
    m_part->setEnabled(hasParts);
    m_part->setToolTip(hasParts ? QString() : tr("All of the window is visible"));
    m_note->setObjectName(QStringLiteral("picture.note"));
    m_note->setWordWrap(true);
    m_note->setTextFormat(Qt::PlainText); // it names files
    auto* browseButton = new QPushButton(tr("Browse …"), this);
    browseButton->setObjectName(QStringLiteral("picture.browse"));
    browseButton->setAutoDefault(false);
    auto* file = new QHBoxLayout;
    file->addWidget(m_path, 1);
    file->addWidget(browseButton);
    auto* form = new QFormLayout;
    form->addRow(tr("F&ile"), file);
    form->addRow(tr("F&orm"), m_form);
    form->addRow(tr("&Part"), m_part);
    if (auto* label = qobject_cast<QLabel*>(form->labelForField(file)))
        label->setBuddy(m_path);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel, this);
    m_save = buttons->button(QDialogButtonBox::Save);
    auto* column = new QVBoxLayout(this);
    column->addLayout(form);
    column->addWidget(m_note);
    column->addWidget(buttons);
    m_path->setText(proposal.path);
    const QString suffix = QFileInfo(proposal.path).suffix().toLower();
    for (int i = 0; i < m_form->count(); ++i)
        if (m_form->itemData(i).toString() == suffix
            && (suffix != QLatin1String("png") || m_form->itemData(i, kScaleRole).toInt() == proposal.options.scale))
            m_form->setCurrentIndex(i);
    connect(m_form, &QComboBox::currentIndexChanged, this, &PictureDialog::formChanged);
    connect(m_path, &QLineEdit::textChanged, this, &PictureDialog::pathChanged);
    connect(browseButton, &QPushButton::clicked, this, &PictureDialog::browse);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    pathChanged();
}

PictureDialog::Choice PictureDialog::choice() const
{
    Choice out;
    out.path = withSuffix(QDir::fromNativeSeparators(m_path->text().trimmed()), m_form->currentData().toString());
    out.options.scale = m_form->currentData(kScaleRole).toInt();
    out.options.whole = m_part->currentData().toBool();
    return out;
}

void PictureDialog::formChanged()
{
    if (const QString text = m_path->text().trimmed(); !text.isEmpty())
        m_path->setText(withSuffix(text, m_form->currentData().toString()));
    pathChanged();
}

/// The form follows a typed ending; what will happen to a file that is there is said before, not asked afterwards.
void PictureDialog::pathChanged()
{
    const QString typed = m_path->text().trimmed();
    const QString suffix = QFileInfo(typed).suffix().toLower();
    if (isPictureSuffix(suffix) && suffix != m_form->currentData().toString())
        m_form->setCurrentIndex(m_form->findData(suffix));
    const QFileInfo file(choice().path);
    const bool named = !typed.isEmpty() && !QFileInfo(typed).isDir() && !typed.endsWith(QLatin1Char('/'));
    const bool folder = file.absoluteDir().exists();
    m_save->setEnabled(named && folder);
    m_save->setText(named && file.exists() ? tr("Replace") : tr("Save"));
    m_note->setText(!named              ? tr("Name a file.")
                        : !folder       ? tr("There is no folder %1.").arg(shownText(QDir::toNativeSeparators(file.absolutePath())))
                        : file.exists() ? tr("%1 exists and will be replaced.").arg(shownText(file.fileName()))
                        : file.fileName() != QFileInfo(typed).fileName() ? tr("It will be %1.").arg(shownText(file.fileName()))
                                                                         : QString());
    setTextColor(m_note, named && !folder ? Theme::of(this).error : Theme::of(this).quiet);
}

void PictureDialog::browse()
{
    const QString suffix = m_form->currentData().toString();
    const QString path =
        QFileDialog::getSaveFileName(this, windowTitle(), choice().path, QStringLiteral("%1 (*.%2)").arg(suffix.toUpper(), suffix),
                                     nullptr, QFileDialog::DontConfirmOverwrite);
    if (!path.isEmpty())
        m_path->setText(withSuffix(path, suffix));
}

} // namespace shardboard
