// SPDX-License-Identifier: Apache-2.0
// What views and windows include most; all of QtWidgets would take longer to load than it saves.
#pragma once

#include "cmake/precompiled/standard.h"

#include <QAction>
#include <QApplication>
#include <QColor>
#include <QComboBox>
#include <QFont>
#include <QFontMetrics>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QMouseEvent>
#include <QObject>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QString>
#include <QStringList>
#include <QStyle>
#include <QStyledItemDelegate>
#include <QTimer>
#include <QToolButton>
#include <QToolTip>
#include <QTreeView>
#include <QUndoStack>
#include <QVBoxLayout>
#include <QWidget>
