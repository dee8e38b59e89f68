// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/fileconflict.h"

#include "app/desktop/base/difftext.h"
#include "model/io/file/textfile.h"
#include "widgets/controls/windowplace.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLocale>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace shardboard {

namespace {

constexpr std::size_t kMostCompared = std::size_t { 4 } << 20; ///< bytes, line by line

QString timeText(const FileIdentity& file)
{
    return QLocale().toString(QDateTime::fromMSecsSinceEpoch(file.modified), QLocale::ShortFormat);
}

} // namespace

FileState stateOf(const QString& path, const FileIdentity& known)
{
    const FileIdentity now = identityOf(path);
    return now.sameContent(known) ? FileState::Same : now.exists() ? FileState::Changed : FileState::Removed;
}

FileConflict::FileConflict(const QString& what, const QString& more, const QString& path, const std::string& mine,
                           const std::vector<Choice>& choices, QWidget* window)
    : QDialog(window)
    , m_difference(new QPlainTextEdit(this))
{
    setObjectName(QStringLiteral("fileConflict"));
    auto* title = new WrappedLabel(shownText(what), this);
    title->setObjectName(QStringLiteral("conflict.what"));
    title->setFont(uiFont(this, 0, true));
    auto* explanation = new WrappedLabel(more, this);
    nameWidget(m_difference, "conflict.difference", tr("Difference"));
    m_difference->setReadOnly(true);
    m_difference->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_difference->setTabChangesFocus(true);
    m_difference->setFont(monoFont(this, -0.5));
    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    for (const Choice& choice : choices) {
        auto* button = new QPushButton(choice.text, this);
        button->setObjectName(QLatin1String("conflict.") + QLatin1String(choice.name));
        button->setAutoDefault(false);
        connect(button, &QPushButton::clicked, this, [this, answer = choice.answer] {
            m_answer = answer;
            accept();
        });
        buttons->addWidget(button);
        if (&choice == &choices.front()) {
            button->setDefault(true);
            button->setFocus();
        }
    }
    auto* column = new QVBoxLayout(this);
    column->addWidget(title);
    column->addWidget(explanation);
    column->addWidget(m_difference, 1);
    column->addLayout(buttons);
    if (QFileInfo::exists(path)) {
        showDifference(path, mine);
        resize(820, 560);
    } else {
        m_difference->hide();
        resize(560, 160);
    }
    fitToScreen(this);
}

void FileConflict::showDifference(const QString& path, const std::string& mine)
{
    const auto theirs = readTextFile(QFile::encodeName(path).toStdString(), kMostCompared);
    if (!theirs.ok() || mine.size() > kMostCompared) {
        m_difference->setPlainText(theirs.ok() ? tr("They are too large to compare here.") : errorText(theirs.error()));
        return;
    }
    const LineDiff diff = lineDiff(QString::fromStdString(theirs.value()), QString::fromStdString(mine));
    if (diff.same())
        m_difference->setPlainText(tr("Line by line, the two are the same."));
    else
        showDiff(m_difference, diff.lines, true);
}

FileConflict::Answer FileConflict::ask()
{
    exec();
    return m_answer;
}

FileConflict::Answer FileConflict::askBeforeSave(const QString& path, const std::string& mine, QWidget* window)
{
    const FileIdentity now = outsideOf(path);
    const Choice saveAs { Answer::SaveAs, tr("Save &As …"), "saveAs" };
    const Choice cancel { Answer::Cancel, tr("Cancel"), "cancel" };
    if (!now.exists()) {
        FileConflict box(tr("%1 no longer exists.").arg(QDir::toNativeSeparators(path)),
                         tr("Another program has removed or renamed it since this design was read from it or saved to it."), path,
                         mine, { saveAs, { Answer::Overwrite, tr("&Write It Again"), "overwrite" }, cancel }, window);
        box.setWindowTitle(tr("File Removed"));
        return box.ask();
    }
    FileConflict box(tr("%1 is not what this design was read from.").arg(QDir::toNativeSeparators(path)),
                     tr("Another program or window has changed it; the version there is from %1. Saving replaces it. Lines with − "
                        "are only in the file, lines with + only in this window.")
                         .arg(timeText(now)),
                     path, mine,
                     { saveAs,
                       { Answer::Overwrite, tr("&Overwrite"), "overwrite" },
                       { Answer::Reload, tr("&Discard Mine and Reload"), "reload" },
                       cancel },
                     window);
    box.setWindowTitle(tr("File Changed"));
    return box.ask();
}

FileConflict::Answer FileConflict::askBeforeRestore(const QString& path, const std::string& mine, QWidget* window)
{
    const FileIdentity now = outsideOf(path);
    const QString what = now.exists() ? tr("%1 is not what these changes were made to.").arg(QDir::toNativeSeparators(path))
                                      : tr("%1 no longer exists.").arg(QDir::toNativeSeparators(path));
    const QString more = now.exists()
        ? tr("It has changed since; the version there is from %1. Restoring leaves it alone, and saving asks again. Lines with − "
             "are only in the file, lines with + only in the unsaved changes.")
              .arg(timeText(now))
        : tr("The changes can still be restored; saving asks where to.");
    std::vector<Choice> choices { { Answer::Restore, tr("&Restore"), "restore" } };
    if (now.exists())
        choices.push_back({ Answer::Reload, tr("&Open the File Instead"), "reload" });
    choices.push_back({ Answer::Cancel, tr("Cancel"), "cancel" });
    FileConflict box(what, more, path, mine, choices, window);
    box.setWindowTitle(tr("Restore Changes"));
    return box.ask();
}

} // namespace shardboard
