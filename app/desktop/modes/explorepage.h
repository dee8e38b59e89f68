// SPDX-License-Identifier: Apache-2.0
// Explore: variants of the design, and what two of them differ in. Its act tries every preset on this mesh.
#pragma once

#include "app/desktop/panels/modepage.h"

namespace shardboard {

class CompareView;
class Document;
class PresetSearch;

class ExplorePage : public ModePage {
    Q_OBJECT
public:
    ExplorePage(Document* document, Panel* variants, Panel* compare, CompareView* comparison, QObject* parent);
    void arrange(const QSize& room) override;
    Act act() const override;
    void perform() override;
    void stop() override;

Q_SIGNALS:
    void told(const QString& message); ///< what became of a search

private:
    void followDesign();

    Document* m_document;
    PresetSearch* m_search;
    QSplitter* m_all;
};

} // namespace shardboard
