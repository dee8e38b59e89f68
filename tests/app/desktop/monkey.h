// SPDX-License-Identifier: Apache-2.0
// A user without a plan: clicks, keys, drags, drops, menus, resizes, opened files, in all modes. Every choice comes from the seed.
#pragma once

#include <QObject>
#include <QPoint>
#include <QRandomGenerator>
#include <QString>

#include <map>

class QWidget;

namespace shardboard {

class MainWindow;

class Monkey {
public:
    /// `folder` has files to open and takes what is saved.
    Monkey(MainWindow& window, const QString& folder, quint32 seed);
    Monkey(const Monkey&) = delete; // its timer calls it
    Monkey& operator=(const Monkey&) = delete;

    void act();
    /// Meanwhile nothing is answered.
    void pause(bool paused) { m_paused = paused; }
    QString last() const { return m_last; } ///< what it did, for whoever asks what broke the window
    /// How often it was where: `mode Explore`, `panel compare` that was in sight, `dialog NewDialog`, `menu`.
    const std::map<QString, int>& visits() const { return m_visits; }

private:
    QWidget* someWidget();
    QPoint somePoint(const QWidget* widget);
    int upTo(int end) { return static_cast<int>(m_random.bounded(end)); }
    void click();
    void key();
    void dragMouse();
    void wheel();
    void trigger();
    void dropAxis();
    void dropFile();
    void resize();
    void undoOrRedo();
    void openSample();
    void changeMode();
    void type();
    void countVisits();
    /// Whatever waits for an answer gets one: menus, boxes, dialogs, drags.
    void answerSoon();
    void answer();
    void answerDialog(QWidget* dialog);

    MainWindow& m_window;
    QString m_folder;
    QRandomGenerator m_random;
    QObject m_answers; ///< ends with the monkey, and its timers with it
    QString m_last;
    std::map<QString, int> m_visits;
    bool m_paused = false;
};

} // namespace shardboard
