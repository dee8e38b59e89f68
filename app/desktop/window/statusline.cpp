// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/statusline.h"

#include "app/desktop/run/enginesession.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/document/documentview.h"
#include "widgets/document/shownspec.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include <QEvent>
#include <QLabel>
#include <QStatusBar>

#include <algorithm>
#include <initializer_list>

namespace shardboard {

StatusLine::StatusLine(Document* document, EngineSession* engine, QStatusBar* bar)
    : QObject(bar)
    , m_document(document)
    , m_engine(engine)
    , m_bar(bar)
{
    m_engineLabel = new ElidedLabel(bar);
    m_planLabel = new ElidedLabel(bar);
    m_specLabel = new QLabel(bar);
    m_engineLabel->setObjectName(QStringLiteral("status.engine"));
    m_planLabel->setObjectName(QStringLiteral("status.plan"));
    m_specLabel->setObjectName(QStringLiteral("status.spec"));
    for (QWidget* label : std::initializer_list<QWidget*> { m_engineLabel, m_planLabel, m_specLabel })
        label->setForegroundRole(QPalette::PlaceholderText);
    m_specLabel->setTextInteractionFlags(Qt::TextSelectableByMouse);
    bar->setSizeGripEnabled(false);
    bar->setContentsMargins(kPanelMargin - 6, 0, kPanelMargin - 6, 0);
    bar->addWidget(m_engineLabel, 1);
    bar->addWidget(m_planLabel, 1);
    bar->addWidget(m_specLabel);
    connect(document, &Document::evaluated, this, &StatusLine::update);
    connect(document, &Document::filePathChanged, this, &StatusLine::update);
    connect(document, &Document::modifiedChanged, this, &StatusLine::update);
    connect(document, &Document::notationChanged, this, &StatusLine::update);
    connect(document->selection(), &Selection::changed, this, &StatusLine::update);
    connect(engine, &EngineSession::stateChanged, this, &StatusLine::update);
    bar->installEventFilter(this);
    update();
}

bool StatusLine::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::FontChange || event->type() == QEvent::Resize)
        update();
    return QObject::eventFilter(watched, event);
}

void StatusLine::update()
{
    using State = EngineSession::State;
    const State state = m_engine->state();
    m_engineLabel->setText(state == State::Off            ? tr("engine: starts with the first run")
                               : state == State::Starting ? tr("engine: starting")
                               : state == State::Ready    ? tr("engine: %1 · ready").arg(m_engine->description())
                               : state == State::Running  ? tr("engine: %1 · running").arg(m_engine->description())
                                                          : tr("engine: ended, see Run"));
    if (!m_document->hasDesign()) {
        m_planLabel->setText(QString());
        m_specLabel->clear();
        return;
    }
    m_planLabel->setText(tr("plan in %1 · %2")
                             .arg(secondsText(m_document->evaluationSeconds()),
                                  m_document->isModified()               ? tr("not saved")
                                      : m_document->filePath().isEmpty() ? tr("unchanged")
                                                                         : tr("saved")));
    const WeightLayout* weight = selectedWeight(*m_document);
    const Mesh& mesh = m_document->evaluation()->plan.mesh;
    QString spec;
    if (weight != nullptr)
        spec = shownSpec(*m_document, weight->layout).marked() + QStringLiteral("   ")
            + qstr(m_document->notation() == Notation::Jax ? placementsText(weight->layout, mesh) : specText(weight->layout, mesh));
    const int most = std::min(620, m_bar->width() * 2 / 5); // it never keeps the window from getting narrower
    m_specLabel->setFont(monoFont(m_bar)); // as large as the text beside it
    m_specLabel->setText(QFontMetrics(m_specLabel->font()).elidedText(spec, Qt::ElideMiddle, most));
    m_specLabel->setToolTip(spec);
}

} // namespace shardboard
