// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/weightpattern.h"

#include "model/text/glob.h"
#include "widgets/edits/weightedits.h"
#include "widgets/look/format.h"

#include <QRegularExpression>

namespace shardboard {

namespace {

/// Names are plain as a rule, and there can be many.
std::string lowerOf(const std::string& text)
{
    std::string out = text;
    for (char& c : out) {
        if (static_cast<unsigned char>(c) >= 0x80)
            return verbatim(text).toLower().toStdString();
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

std::string lowerOf(const QString& text) { return text.toLower().toStdString(); }

} // namespace

WeightPattern::WeightPattern(const QString& text)
{
    const QString wanted = text.trimmed();
    if (wanted.isEmpty())
        return;
    if (wanted.compare(QLatin1String("replicated"), Qt::CaseInsensitive) == 0) {
        m_kind = Kind::Replicated;
        return;
    }
    static const QRegularExpression cut(QStringLiteral("^dim\\s*(\\d{1,3})\\s*=\\s*(\\S+)$"),
                                        QRegularExpression::CaseInsensitiveOption);
    if (const auto match = cut.match(wanted); match.hasMatch()) {
        m_kind = Kind::Cut;
        m_dim = match.captured(1).toUInt();
        m_axis = match.captured(2);
        return;
    }
    const bool glob = wanted.contains(QLatin1Char('*')) || wanted.contains(QLatin1Char('?')) || wanted.contains(QLatin1Char('['));
    m_kind = glob ? Kind::Glob : Kind::Part;
    m_text = lowerOf(wanted);
    m_around = "*" + m_text + "*";
}

bool WeightPattern::matches(const WeightLayout& weight) const
{
    switch (m_kind) {
    case Kind::All:
        return true;
    case Kind::Replicated:
        return weight.layout.isReplicated();
    case Kind::Cut:
        if (m_dim >= weight.layout.dims.size())
            return false;
        for (const int axis : axesOnDim(weight.layout, static_cast<int>(m_dim)))
            if (qstr(weight.shards.mesh().axis(axis).name).compare(m_axis, Qt::CaseInsensitive) == 0)
                return true;
        return false;
    case Kind::Glob: {
        const std::string name = lowerOf(weight.spec.name);
        return globMatch(m_text, name) || globMatch(m_around, name);
    }
    case Kind::Part:
        return lowerOf(weight.spec.name).find(m_text) != std::string::npos;
    }
    return false;
}

} // namespace shardboard
