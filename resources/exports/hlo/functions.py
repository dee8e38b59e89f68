

def sharding_of(name):
    """XLA's HloSharding of a tensor."""
    from jax._src.lib import xla_client
    return xla_client.HloSharding.from_string(text_of(name))


def annotate(module, names, function="main"):
    """Puts the shardings of this design on the arguments of a function of a StableHLO module. `names` are those of the arguments in
    order: a checkpoint name, an input's, or None. The module is for as many devices as the mesh has."""
    from jax._src.lib.mlir import ir
    annotated_arguments(module, names, function, lambda name: {"mhlo.sharding": json.dumps(text_of(name))})
    with module.context:
        number = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), math.prod(DESIGN["mesh"]["sizes"]))
        module.operation.attributes["mhlo.num_partitions"] = number
    return module


if __name__ == "__main__":
    try:
        from jax._src.lib import xla_client
        xla_client.HloSharding.from_string
    except (ImportError, AttributeError) as problem:
        print(f"skipped: this Python has no JAX whose XLA reads HloSharding ({problem})")
        sys.exit(77)
    run_check(sharding_of)
