# SPDX-License-Identifier: Apache-2.0
"""Llamas, and models that are nearly one, in plain JAX, as several people would write them, laid out by an export alone: prefill and a
training step with Adam.

A writing differs in how parameters are named and stacked, in how attention and the loss are computed, in the optimizer, and in how much
of the export it calls.
"""
import dataclasses

import jax
import jax.numpy as jnp


@dataclasses.dataclass(frozen=True)
class Sizes:
    layers: int = 2
    hidden: int = 256
    intermediate: int = 512
    heads: int = 8
    kv_heads: int = 4
    head_dim: int = 32
    vocabulary: int = 1280
    batch: int = 16
    sequence: int = 128
    dtype: str = "f32"
    experts: int = 0  # Mixtral's, two for a token; 0: a dense model
    biases: bool = False  # Qwen2's, of queries, keys, and values
    tied: bool = False  # the embedding is the head
    gemma: bool = False  # Gemma 2: a norm before and after each half of a layer, a scaled embedding, capped logits


@dataclasses.dataclass(frozen=True)
class Writing:
    """How the program is written. The export is told nothing of it."""
    flax: bool = False  # kernels [in, out], named as Flax names them; else checkpoint names, [out, in]
    scanned: bool = False  # layers stacked, by lax.scan; else a Python loop
    heads_first: bool = False  # attention over [batch, heads, sequence, head dim], keys and values repeated
    optax: bool = False  # adamw and its states; else Adam by hand
    library_loss: bool = False  # optax's loss; else by hand with each of its values constrained
    called: tuple = ("constrain", "use", "checkpoint")  # of the export, inside of the program
    only: tuple = ()  # activations that are constrained; () for all


class Llama:
    def __init__(self, export, sizes, writing=Writing()):
        self.export, self.sizes, self.writing = export, sizes, writing
        self.dtype = {"f32": jnp.float32, "bf16": jnp.bfloat16}[sizes.dtype]

    # --- What of the export is called ---

    def constrain(self, name, x, dims=None):
        wanted = "constrain" in self.writing.called and (not self.writing.only or name in self.writing.only)
        return self.export.constrain(name, x, dims=dims) if wanted else x

    def use(self, weights):
        return self.export.use(weights) if "use" in self.writing.called else weights

    def checkpoint(self, function):
        return self.export.checkpoint(function) if "checkpoint" in self.writing.called else function

    # --- Parameters ---

    def shapes(self):
        """Parameters, as shapes."""
        s = self.sizes

        def linear(out, into, bias=False):
            return {**({"kernel": (into, out)} if self.writing.flax else {"weight": (out, into)}), **({"bias": (out,)} if bias else {})}

        def scale(name="scale"):
            return {name if self.writing.flax else "weight": (s.hidden,)}
        def experts(out, into):
            return {"weight": (s.experts, out, into)}
        if s.experts:
            mlp = {"block_sparse_moe": {"gate": linear(s.experts, s.hidden),
                                        "experts": {"w1": experts(s.intermediate, s.hidden), "w3": experts(s.intermediate, s.hidden),
                                                    "w2": experts(s.hidden, s.intermediate)}}}
        else:
            mlp = {"mlp": {"gate_proj": linear(s.intermediate, s.hidden), "up_proj": linear(s.intermediate, s.hidden),
                           "down_proj": linear(s.hidden, s.intermediate)}}
        norms = ("input", "post_attention", *(("pre_feedforward", "post_feedforward") if s.gemma else ()))
        layer = {
            **{name + "_layernorm": scale("weight") for name in norms},
            "self_attn": {**{name + "_proj": linear(heads * s.head_dim, s.hidden, s.biases)
                             for name, heads in (("q", s.heads), ("k", s.kv_heads), ("v", s.kv_heads))},
                          "o_proj": linear(s.hidden, s.heads * s.head_dim)},
            **mlp,
        }
        is_shape = {"is_leaf": lambda x: isinstance(x, tuple)}
        layers = (jax.tree.map(lambda shape: (s.layers, *shape), layer, **is_shape) if self.writing.scanned
                  else {str(i): layer for i in range(s.layers)})
        table = {"embedding" if self.writing.flax else "weight": (s.vocabulary, s.hidden)}
        model = {"embed_tokens": table, "norm": scale("weight"), "layers": layers}
        return {"model": model, **({} if s.tied else {"lm_head": linear(s.vocabulary, s.hidden)})}

    def parameters(self):
        return jax.tree.map(lambda shape: jax.ShapeDtypeStruct(shape, self.dtype), self.shapes(), is_leaf=lambda x: isinstance(x, tuple))

    @staticmethod
    def linear(x, weights):
        return x @ weights["kernel"] if "kernel" in weights else x @ weights["weight"].T

    # --- The model ---

    def norm(self, x, weights):
        scale = next(iter(weights.values()))
        return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * (1 + scale if self.sizes.gemma else scale)

    def capped(self, x, cap):
        return cap * jnp.tanh(x / cap) if self.sizes.gemma else x

    def rotated(self, x):
        half = self.sizes.head_dim // 2
        angles = jnp.arange(x.shape[1])[:, None] * 1e4 ** (-jnp.arange(half) / half)
        cos, sin = jnp.cos(angles)[None, :, None].astype(x.dtype), jnp.sin(angles)[None, :, None].astype(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def attention(self, q, k, v):
        """[batch, sequence, heads, head dim] of each."""
        s = self.sizes
        if self.writing.heads_first:
            q, k, v = (jnp.swapaxes(x, 1, 2) for x in (q, k, v))
            k, v = (jnp.repeat(x, s.heads // s.kv_heads, axis=1) for x in (k, v))
            scores = self.capped(q @ jnp.swapaxes(k, 2, 3) / s.head_dim ** 0.5, 50)
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
            return jnp.swapaxes(jax.nn.softmax(scores, axis=-1) @ v, 1, 2)
        q = q.reshape(*q.shape[:2], s.kv_heads, s.heads // s.kv_heads, s.head_dim)
        scores = self.capped(jnp.einsum("bqhgd,bkhd->bhgqk", q, k) / s.head_dim ** 0.5, 50)
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        out = jnp.einsum("bhgqk,bkhd->bqhgd", jax.nn.softmax(scores, axis=-1), v)
        return out.reshape(*out.shape[:2], s.heads, s.head_dim)

    def mlp(self, h, w):
        c = self.constrain
        gate, up = c("mlp gate", self.linear(h, w["mlp"]["gate_proj"])), c("mlp up", self.linear(h, w["mlp"]["up_proj"]))
        active = jax.nn.gelu(gate) if self.sizes.gemma else jax.nn.silu(gate)
        return self.linear(c("mlp hidden", c("mlp gate active", active) * up), w["mlp"]["down_proj"])

    def experts(self, h, w):
        """Each token of a sequence goes to two experts, which take equally many of it; those that come too late are left out."""
        c, s = self.constrain, self.sizes
        w = w["block_sparse_moe"]
        gates = jax.nn.softmax(c("router logits", self.linear(h, w["gate"])), axis=-1)
        first = jax.nn.one_hot(jnp.argmax(gates, axis=-1), s.experts, dtype=h.dtype)
        second = jax.nn.one_hot(jnp.argmax(jnp.where(first > 0, -1, gates), axis=-1), s.experts, dtype=h.dtype)
        gates = c("gates", gates * (first + second))
        taken = gates > 0
        place = jnp.cumsum(taken, axis=1) - 1
        slots = jax.nn.one_hot(jnp.where(taken, place, -1), h.shape[1] * 2 // s.experts, dtype=h.dtype)  # [batch, sequence, experts, slot]
        x = c("dispatched", jnp.einsum("bsec,bsh->ebch", slots, h))
        gate = c("expert gate", jnp.einsum("ebch,eih->ebci", x, w["experts"]["w1"]["weight"]))
        up = c("expert up", jnp.einsum("ebch,eih->ebci", x, w["experts"]["w3"]["weight"]))
        x = c("expert hidden", c("expert gate active", jax.nn.silu(gate)) * up)
        x = c("expert out", jnp.einsum("ebci,ehi->ebch", x, w["experts"]["w2"]["weight"]))
        return c("routed out", jnp.einsum("bsec,ebch->bsh", slots * gates[..., None], x))

    def layer(self, x, weights):
        c, s = self.constrain, self.sizes
        w = self.use(weights)
        h = c("attention in", self.norm(x, w["input_layernorm"]))

        def heads(name, count):
            own = w["self_attn"][name + "_proj"]
            y = self.linear(h, own)
            y = c(name, c(name + " before bias", y) + own["bias"] if s.biases else y)
            return c(name + " heads", y.reshape(*y.shape[:2], count, s.head_dim))
        q, k, v = heads("q", s.heads), heads("k", s.kv_heads), heads("v", s.kv_heads)
        out = c("attention heads", self.attention(c("q rotated", self.rotated(q)), c("k rotated", self.rotated(k)), v))
        out = c("attention values", out.reshape(*out.shape[:2], s.heads * s.head_dim))
        out = c("attention out", self.linear(out, w["self_attn"]["o_proj"]))
        if s.gemma:
            x = c("residual", x + c("attention out normed", self.norm(out, w["post_attention_layernorm"])))
            out = c("mlp out", self.mlp(c("mlp in", self.norm(x, w["pre_feedforward_layernorm"])), w))
            return c("layer out", x + c("mlp out normed", self.norm(out, w["post_feedforward_layernorm"])))
        x = c("residual", x + out)
        h = c("mlp in", self.norm(x, w["post_attention_layernorm"]))
        return c("layer out", x + (self.experts(h, w) if s.experts else c("mlp out", self.mlp(h, w))))

    def head(self, x, weights):
        c, w = self.constrain, self.use(weights)
        h = c("head in", self.norm(x, w["model"]["norm"]))
        if self.sizes.tied:
            logits = c("logits", h @ next(iter(w["model"]["embed_tokens"].values())).T)
        else:
            logits = c("logits", self.linear(h, w["lm_head"]))
        return c("logits capped", self.capped(logits, 30)) if self.sizes.gemma else logits

    def logits(self, params, tokens, last=True):
        c, model = self.constrain, params["model"]
        table = next(iter(self.use({"embed_tokens": model["embed_tokens"]})["embed_tokens"].values()))
        x = c("embedding", jnp.take(table, tokens, axis=0))
        if self.sizes.gemma:
            x = c("embedding scaled", x * self.sizes.hidden ** 0.5)
        x = c("residual stream", x)
        layer = self.checkpoint(self.layer)
        if self.writing.scanned:
            x, _ = jax.lax.scan(lambda carry, weights: (layer(carry, weights), None), x, model["layers"])
        else:
            for i in range(self.sizes.layers):
                x = layer(x, model["layers"][str(i)])
        if last:
            x = c("last token", x[:, -1:])
        ends = {"model": {"norm": model["norm"], "embed_tokens": model["embed_tokens"]}} if self.sizes.tied else {
            "model": {"norm": model["norm"]}, "lm_head": params["lm_head"]}
        return self.checkpoint(self.head)(x, ends)

    # --- Training ---

    def loss(self, params, batch):
        c = self.constrain
        z = self.logits(params, batch["tokens"], last=False).astype(jnp.float32)
        if self.writing.library_loss:
            import optax
            return optax.softmax_cross_entropy_with_integer_labels(z, batch["targets"]).mean()
        largest = c("largest logit", jax.lax.stop_gradient(z.max(axis=-1)))
        total = c("sum of exponentials", jnp.exp(z - largest[..., None]).sum(axis=-1))
        target = c("target logit", jnp.take_along_axis(z, batch["targets"][..., None], axis=-1)[..., 0])
        return c("token loss", jnp.log(total) + largest - target).mean()

    def state(self):
        """What a step takes and makes: parameters and the optimizer's states, as shapes."""
        params = self.parameters()
        if self.writing.optax:
            return {"params": params, "opt_state": jax.eval_shape(self.optimizer().init, params)}
        states = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, jnp.float32), params)
        return {"params": params, "opt_state": {"mu": states, "nu": states}}

    @staticmethod
    def optimizer():
        import optax
        return optax.adamw(1e-3)

    def step(self, state, batch):
        value, gradients = jax.value_and_grad(self.loss)(state["params"], batch)
        if self.writing.optax:
            import optax
            updates, states = self.optimizer().update(gradients, state["opt_state"], state["params"])
            return {"params": optax.apply_updates(state["params"], updates), "opt_state": states}, value
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["opt_state"]["mu"], gradients)
        nu = jax.tree.map(lambda n, g: 0.99 * n + 0.01 * g * g, state["opt_state"]["nu"], gradients)
        params = jax.tree.map(lambda p, m, n: (p - 1e-3 * m / (jnp.sqrt(n) + 1e-8)).astype(p.dtype), state["params"], mu, nu)
        return {"params": params, "opt_state": {"mu": mu, "nu": nu}}, value


def compiled(model, training, devices):
    """Text of the program that XLA makes of a model on those devices."""
    export, s = model.export, model.sizes
    m = export.mesh(devices)

    def described(tree, shardings):
        return jax.tree.map(lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), tree, shardings)
    batch = {name: jax.ShapeDtypeStruct((s.batch, s.sequence), jnp.int32) for name in (("tokens", "targets") if training else ("tokens",))}
    batch = described(batch, export.batch_shardings(batch, m))
    with jax.default_matmul_precision("highest"):  # or a TPU multiplies in bf16 and gathers what it has cast
        if training:
            state = described(model.state(), export.shardings(model.state(), m))
            out = jax.tree.map(lambda leaf: leaf.sharding, state)
            lowered = jax.jit(model.step, out_shardings=(out, None), donate_argnums=0).lower(state, batch)
        else:
            params = model.parameters()
            lowered = jax.jit(model.logits).lower(described(params, export.shardings(params, m)), batch["tokens"])
        return lowered.compile().as_text()
