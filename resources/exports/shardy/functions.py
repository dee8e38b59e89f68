

def parsed(text):
    """An MLIR module that Shardy has verified."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    context = mlir.make_ir_context()
    with context, ir.Location.unknown(context):
        module = ir.Module.parse(text)
        module.operation.verify()
    return module


def mesh_text():
    """The mesh as it stands in a module: `sdy.mesh @mesh = <["data"=2, "model"=4]>`."""
    mesh = DESIGN["mesh"]
    axes = ", ".join(f'"{axis}"={size}' for axis, size in zip(mesh["axes"], mesh["sizes"]))
    ids = f", device_ids=[{', '.join(map(str, mesh['device_ids']))}]" if "device_ids" in mesh else ""
    return f"sdy.mesh @mesh = <[{axes}]{ids}>"


def annotate(module, names, function="main"):
    """Puts the mesh into a StableHLO module, and the shardings of this design on the arguments of a function. `names` are those of
    the arguments in order: a checkpoint name, an input's, or None. The module is for as many devices as the mesh has, and has no
    other mesh of this name."""
    from jax._src.lib.mlir import ir
    meshes = [op for op in module.body.operations if op.operation.name == "sdy.mesh"]
    with module.context, ir.Location.unknown(module.context):
        mesh = ir.Module.parse(mesh_text()).body.operations[0]
        same = [op for op in meshes if ir.StringAttr(op.attributes["sym_name"]).value == "mesh"]
        if same and same[0].attributes["mesh"] != mesh.attributes["mesh"]:
            raise ValueError(f"the module has another mesh: {same[0].attributes['mesh']}")
        if not same:
            ir.InsertionPoint.at_block_begin(module.body).insert(mesh.operation.clone())
        number = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), math.prod(DESIGN["mesh"]["sizes"]))
        module.operation.attributes["mhlo.num_partitions"] = number
    return annotated_arguments(module, names, function, lambda name: {"sdy.sharding": text_of(name)})


def hlo_shardings(module):
    """What XLA makes of the shardings of the parameters of a module: HloShardings in order, None for a parameter without one."""
    from jax._src.lib import _jax, xla_client
    hlo = _jax.mlir.mlir_module_to_xla_computation(str(module), use_tuple_args=False, return_tuple=False).as_hlo_text()
    entry = hlo[hlo.index("\nENTRY "):]
    found = {int(number): sharding for number, sharding in re.findall(
        r" parameter\(([0-9]+)\)(?:, sharding=(\{(?:[^{}]|\{[^{}]*\})*\}))?", entry)}
    return [xla_client.HloSharding.from_string(found[i]) if found[i] else None for i in range(len(found))]


def names_of(module, function="main"):
    """The names of the arguments of a function, which are their locations."""
    from jax._src.lib.mlir import ir
    found = [op for op in module.body.operations
             if op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == function]
    return [argument.location.name_str for argument in found[0].arguments] if found else []


def shardings_of_design():
    """design.mlir as XLA reads it: HloSharding by the name of the argument."""
    with open(os.path.join(FOLDER, "design.mlir"), encoding="utf-8") as file:
        module = parsed(file.read())
    return dict(zip(names_of(module), hlo_shardings(module), strict=True))


def sharding_of(name):
    """The HloSharding that XLA makes of the text of a tensor."""
    return converted(text_of(name), tuple(entry_of(name)["shape"]))


@functools.cache  # layers have the same
def converted(sharding, shape):
    type_ = f"tensor<{''.join(f'{size}x' for size in shape)}i8>"
    return hlo_shardings(parsed(f"{mesh_text()}\nfunc.func public @main(%0: {type_} {{sdy.sharding = {sharding}}}) {{ return }}"))[0]


if __name__ == "__main__":
    try:
        from jax._src.interpreters import mlir
        from jax._src.lib import _jax, xla_client
        from jax._src.lib.mlir.dialects import sdy
        _jax.mlir.mlir_module_to_xla_computation, xla_client.HloSharding.from_string
    except (ImportError, AttributeError) as problem:
        print(f"skipped: this Python has no JAX that reads Shardy ({problem})")
        sys.exit(77)
    made = shardings_of_design()

    def of_both(name):
        """What design.mlir says, where shardings.json says the same."""
        of_module = made.get(name)
        if of_module is None or str(of_module) != str(sharding_of(name)):
            raise ValueError(f"design.mlir and {FILE} differ in {name!a}")
        return of_module

    run_check(of_both)
