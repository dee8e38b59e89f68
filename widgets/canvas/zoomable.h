// SPDX-License-Identifier: Apache-2.0
// A canvas that may show a part of its picture. A picture in a file of all of it asks for the whole, and gives the part back.
#pragma once

namespace shardboard {

class Zoomable {
public:
    virtual ~Zoomable() = default;
    /// Everything is in sight until it is called with false: then what was in sight before.
    virtual void showWhole(bool whole) = 0;
    /// By so many pixels it would have to be higher to show everything in full size.
    virtual int missingHeight() const { return 0; }

protected:
    Zoomable() = default;
    Zoomable(const Zoomable&) = default;
    Zoomable& operator=(const Zoomable&) = default;
};

} // namespace shardboard
