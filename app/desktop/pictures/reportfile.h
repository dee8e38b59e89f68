// SPDX-License-Identifier: Apache-2.0
// The report of a design (model/io/report) as a file: HTML, or the same document on pages as PDF.
#pragma once

#include "model/core/result.h"
#include "model/io/report/report.h"

#include <QByteArray>
#include <QString>

namespace shardboard {

/// By the suffix, html or pdf. Errors name the path.
Status writeReport(const ReportInput& input, const QString& path);
/// A page of reportHtml() on A4, its pictures as lines and text. Empty: it could not be drawn.
QByteArray reportPdf(const std::string& html);

} // namespace shardboard
