// SPDX-License-Identifier: Apache-2.0
// What a step achieves: tokens per second and the share of the devices' peak that does useful work. A value type.
#pragma once

namespace shardboard {

/// All figures are 0 where they mean nothing (no time, no known peak); none is ever NaN or infinite.
struct Performance {
    double tokens = 0; ///< that a step works on: training and prefill all of the batch, decoding one of each sequence
    /// Of a step of the whole model: 6P + 12Lhs for every token of training, a third of it for inference
    /// (model/cost/closedforms/modelflops.h). It has no recomputing and no work that devices do twice, and of tokens that a
    /// capacity factor below 1 drops no experts.
    double modelFlops = 0;
    /// FLOPs of a device over those that it would do without recomputing, and without the products of an optimizer: 1, or more.
    double recomputing = 1;
    /// FLOPs of a device over those that it would do without rows that a capacity factor pads experts with: 1, or more.
    double padding = 1;
    double tokensPerSecondPerDevice = 0;
    double mfu = 0; ///< model FLOPs utilization: modelFlops over what all devices could do in a step at their peak
    double hfu = 0; ///< hardware FLOPs utilization: with what is computed again and padded, and the
                    ///< optimizer's products, mfu times `recomputing` and `padding`
                    ///< (arXiv 2204.02311)

    /// Fills the last three. `peakFlops` is of one device, dense, in the type that the model is computed in.
    void rate(double seconds, double devices, double peakFlops);
};

} // namespace shardboard
