"""How a model is laid out over a device mesh: weights, inputs, activations, gradients, and optimizer states.

    from export import batch_shardings, checkpoint, constrain, mesh, shardings, use

    m = mesh()                                               # the devices, in the design's order
    params = jax.device_put(params, shardings(params, m))    # checkpoint names, Flax, nnx, MaxText; TrainState, optax states
    batch = jax.device_put(batch, batch_shardings(batch, m)) # {"tokens": ..., "targets": ...}
    step = jax.jit(step, in_shardings=(shardings(state, m), batch_shardings(batch, m)))

In the program itself:

    weights = use(weights)                       # weights of a layer (or of all) as operations take them: gathered from FSDP shards
    x = constrain("mlp in", norm(x, weight))     # an activation by its name in the plan; activations() lists all with their dims
    layer = checkpoint(layer)                    # training: keeps for the backward pass what the plan keeps; gathers are made again

`constrain` lays out a value as it is made, then as the operations take it (a gather or an all-to-all lies between), and its gradient
on the way back. `use` does the same for weights. Call both inside `jax.jit`; wrap every layer, and what computes the logits, in
`checkpoint`, and call `use` inside of it. Names that a model does not have may be left out, and the compiler decides there: without
`checkpoint` it keeps gathered weights for the backward pass, without `use` it need not gather them at all. A parameter that the design
does not know, or whose shape differs, is an error that names it.

`python export.py` compares the shards that JAX makes with shards.json, on simulated CPU devices (of more than 512 by their numbers alone)
unless JAX_PLATFORMS names others.
"""
