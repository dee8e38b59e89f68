def flags():
    """The settings as flags of Megatron-LM, which have the same words."""
    out = []
    for name, value in SETTINGS.items():
        out.append("--" + name.replace("_", "-"))
        if value is not True:
            out.append(str(value))
    return out


def configure(provider):
    """Gives a model provider of Megatron-Bridge the settings that it has fields for; batches and the optimizer's are the trainer's. An
    error names what differs when it is one of another model, or has no such groups of ranks."""
    wrong = [f"{name} is {getattr(provider, name)}, in the design {size}" for name, size in SIZES.items()
             if getattr(provider, name, None) not in (None, size)]
    wrong += [f"it has no {name}" for name in SETTINGS if name.endswith("parallel_size") and not hasattr(provider, name)]
    if wrong:
        raise ValueError(f"the provider is not one of this design, {MODEL!a}: {'; '.join(wrong)}")
    for name, value in SETTINGS.items():
        if hasattr(provider, name):
            setattr(provider, name, value)
    return provider


if __name__ == "__main__":
    print(" ".join(flags()))
