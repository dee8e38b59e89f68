// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/rulefiles.h"

#include "app/desktop/base/banner.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/savename.h"
#include "model/session/document.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/rules/rulesview.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>

namespace shardboard {

namespace {

QString ruleFilter() { return RuleFiles::tr("Mesh and rules (*.yml *.yaml);;All files (*)"); }

} // namespace

RuleFiles::RuleFiles(Document* document, RulesView* view, Settings& settings, Banner* banner, QWidget* window)
    : QObject(window)
    , m_document(document)
    , m_view(view)
    , m_settings(settings)
    , m_banner(banner)
    , m_window(window)
{
    connect(view, &RulesView::openRequested, this, &RuleFiles::open);
    connect(view, &RulesView::saveRequested, this, &RuleFiles::save);
    connect(view, &RulesView::taken, this, &RuleFiles::taken);
    connect(view, &RulesView::failed, this, [this](const QString& why) { m_banner->showError(why); });
}

bool RuleFiles::isRuleFile(const QString& path)
{
    const QString suffix = QFileInfo(path).suffix().toLower();
    return suffix == QLatin1String("yml") || suffix == QLatin1String("yaml");
}

void RuleFiles::open()
{
    const QString path = QFileDialog::getOpenFileName(m_window, tr("Open Rules"), m_settings.lastFolder(), ruleFilter());
    if (!path.isEmpty())
        openPath(path);
}

bool RuleFiles::openPath(const QString& path)
{
    const Status status = m_view->openFile(path);
    if (!status.ok()) {
        m_banner->showError(errorText(status.error()));
        return false;
    }
    m_banner->hide();
    m_settings.setLastFolder(QFileInfo(path).absolutePath());
    return true;
}

void RuleFiles::save()
{
    const QString proposal = m_settings.lastFolder() + QStringLiteral("/rules.yml");
    const QString path =
        saveName(m_window, QFileDialog::getSaveFileName(m_window, tr("Save Rules"), proposal, ruleFilter()),
                 { QStringLiteral(".yml"), QStringLiteral(".yaml"), QStringLiteral(".json"), QStringLiteral(".py") });
    if (!path.isEmpty())
        saveTo(path);
}

bool RuleFiles::saveTo(const QString& path)
{
    const Status status = m_view->saveFile(path);
    if (!status.ok()) {
        m_banner->showError(errorText(status.error()));
        return false;
    }
    m_settings.setLastFolder(QFileInfo(path).absolutePath());
    m_banner->showInfo(tr("Wrote the rules to %1").arg(QDir::toNativeSeparators(path)));
    return true;
}

} // namespace shardboard
