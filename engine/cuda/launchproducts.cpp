// SPDX-License-Identifier: Apache-2.0
// Operations that are matrix products: those of one shape are done at once for all devices, heads and experts.
#include "engine/cuda/launches.h"

namespace shardboard::engine::cuda {

namespace {

/// Two operands of one kind of element and a result that the products can write.
struct Typed {
    Typed(Launches& on, const Sharded& first, const Sharded& second, Sharded& to)
        : launches(on)
        , element(first.element() == Element::BF16 && second.element() == Element::BF16 ? Element::BF16 : Element::F32)
        , a(launches.as(element, launches.present(first)))
        , b(launches.as(element, launches.present(second)))
        , c(element == Element::F32 && to.element() == Element::BF16 ? launches.like(to, Element::F32) : to)
        , result(to)
    {
        shape.half = element == Element::BF16;
        shape.halfC = c.element() == Element::BF16;
    }

    static const void* from(const Sharded& tensor, std::int64_t device, std::int64_t offset)
    {
        return tensor.address(device) + offset * bytesOf(tensor.element());
    }
    /// With the offsets in elements.
    void add(std::int64_t device, std::int64_t offsetA, std::int64_t offsetB, std::int64_t offsetC)
    {
        if (shape.m == 0 || shape.n == 0)
            return;
        products.add(device, shape,
                     { from(a, device, offsetA), from(b, device, offsetB), c.address(device) + offsetC * bytesOf(c.element()) });
    }
    /// A device with nothing to sum over has zeros.
    void clear(std::int64_t device)
    {
        launches.step([this, to = &c, device, runtime = &launches.runtime()](std::int64_t first, std::int64_t devices) {
            if (device >= first && device < first + devices && to->elements(device) > 0)
                runtime->set(to->address(device), 0, to->elements(device) * bytesOf(to->element()));
        });
    }
    void finish()
    {
        launches.multiply(std::move(products));
        if (&c != &result)
            launches.convert(c, result);
    }

    Launches& launches;
    Element element;
    const Sharded& a;
    const Sharded& b;
    Sharded& c;
    Sharded& result;
    Gemm shape;
    Products products;
};

} // namespace

void launchLinear(Launches& launches, const OpCall& call, Sharded& result)
{
    Typed work(launches, *call.operands[0], *call.operands[1], result);
    if (launches.planning())
        return;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        const Box& a = work.a.box(device);
        const Box& b = work.b.box(device);
        const Box& y = result.box(device);
        Gemm& g = work.shape;
        if (call.kind == OpKind::Linear) { // y = x Wt
            g.m = rowsOf(y);
            g.n = y.back().size();
            g.k = a.back().size();
            g.transposeB = true;
            g.ldb = g.k;
        } else if (call.kind == OpKind::LinearGradX || call.kind == OpKind::LinearT) { // dx = dy W
            g.m = rowsOf(y);
            g.n = y.back().size();
            g.k = a.back().size();
            g.ldb = g.n;
        } else { // dW = dyT x
            g.m = y[0].size();
            g.n = y[1].size();
            g.k = rowsOf(b);
            g.transposeA = true;
            g.ldb = g.n;
        }
        g.lda = g.transposeA ? g.m : g.k;
        g.ldc = g.n;
        if (g.k == 0)
            work.clear(device);
        else
            work.add(device, 0, 0, 0);
    }
    work.finish();
}

void launchAbsorb(Launches& launches, const OpCall& call, Sharded& result)
{
    Typed work(launches, *call.operands[0], *call.operands[1], result);
    if (launches.planning())
        return;
    const bool keys = call.kind == OpKind::AbsorbKeys;
    const std::int64_t unit = work.b.shape()[0] / result.shape()[2]; // rows of the weight that belong to a head
    const std::int64_t part = keys ? work.a.shape()[3] : result.shape()[3]; // of them the first, or the last
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        const Box& out = result.box(device);
        const std::int64_t latent = work.b.box(device)[1].size();
        Gemm& g = work.shape;
        g.m = out[0].size() * out[1].size();
        g.n = out[3].size();
        g.k = work.a.box(device)[3].size();
        g.transposeB = !keys;
        g.lda = out[2].size() * g.k;
        g.ldb = latent;
        g.ldc = out[2].size() * g.n;
        if (g.k == 0)
            work.clear(device);
        for (std::int64_t head = 0; head < out[2].size() && g.k > 0; ++head)
            work.add(device, head * g.k, (head * unit + (keys ? 0 : unit - part)) * latent, head * g.n);
    }
    work.finish();
}

void launchExpertLinear(Launches& launches, const OpCall& call, Sharded& result)
{
    Typed work(launches, *call.operands[0], *call.operands[1], result);
    if (launches.planning())
        return;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        const Box& a = work.a.box(device);
        const Box& b = work.b.box(device);
        const Box& y = result.box(device);
        const std::int64_t tokens = a[1].size() * a[2].size();
        Gemm& g = work.shape;
        g.n = y.back().size();
        g.ldc = g.n;
        if (call.kind == OpKind::ExpertLinearGradW) { // of every expert aT b
            g.m = y[1].size();
            g.k = tokens;
            g.transposeA = true;
            g.lda = g.m;
            g.ldb = g.n;
        } else {
            g.m = tokens;
            g.k = a[3].size();
            g.transposeB = call.kind == OpKind::ExpertLinear;
            g.lda = g.k;
            g.ldb = g.transposeB ? g.k : g.n;
        }
        if (g.k == 0)
            work.clear(device);
        for (std::int64_t expert = 0; expert < y[0].size() && g.k > 0; ++expert)
            work.add(device, expert * volumeOf(a) / a[0].size(), expert * volumeOf(b) / b[0].size(), expert * g.m * g.n);
    }
    work.finish();
}

} // namespace shardboard::engine::cuda
